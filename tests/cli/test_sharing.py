"""``mdbench bundle`` and ``mdbench compare``, as they are typed."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from reporting import data

from mdbench.cli import main
from mdbench.cli.options import Exit

if TYPE_CHECKING:
    from pathlib import Path

    from pytest import CaptureFixture  # noqa: PT013


@pytest.fixture
def results(tmp_path: Path) -> Path:
    folder = tmp_path / "results"
    folder.mkdir()
    rows = [data(dataset=f"system-{n}", nmse=10.0 ** -(n + 1)) for n in range(6)]
    lines = "".join(json.dumps(row) + "\n" for row in rows)
    (folder / "sindy-ode.jsonl").write_text(lines, encoding="utf-8")
    return folder


@pytest.fixture
def better(results: Path, tmp_path: Path) -> Path:
    folder = tmp_path / "better"
    folder.mkdir()
    text = (results / "sindy-ode.jsonl").read_text(encoding="utf-8")
    rows = [json.loads(line) for line in text.splitlines()]
    for row in rows:
        row["metrics"]["nmse"] /= 10
    lines = "".join(json.dumps(row) + "\n" for row in rows)
    (folder / "sindy-ode.jsonl").write_text(lines, encoding="utf-8")
    return folder


def test_a_bundle_is_read_by_all_that_read_results(
    results: Path, better: Path, tmp_path: Path, capsys: CaptureFixture[str]
) -> None:
    out = tmp_path / "results.zip"
    assert main(["bundle", str(results), "--out", str(out), "--author", "Doe, Jane"]) == Exit.DONE
    told = capsys.readouterr().out
    assert "6 records in" in told
    assert "SHA-256" in told
    assert "made with others: sindy" in told
    reports = []
    for place in (results, out):
        assert main(["report", str(place), "--text"]) == Exit.DONE
        head, found = capsys.readouterr().out.split("ode: 6 results")
        assert "derivatives: smooth" in head
        reports.append(found)
    assert reports[0] == reports[1]
    table = tmp_path / "table.csv"
    assert main(["combine", str(out), "--out", str(table)]) == Exit.DONE
    assert table.read_text(encoding="utf-8").count("\n") == 7
    assert main(["export", str(out), "--markdown"]) == Exit.DONE
    assert main(["compare", str(out), str(better)]) == Exit.DONE
    assert "system-0 · clean  better" in capsys.readouterr().out


def test_what_changed_is_printed_as_json(
    results: Path, better: Path, capsys: CaptureFixture[str]
) -> None:
    assert main(["compare", str(results), str(better), "--json"]) == Exit.DONE
    found = json.loads(capsys.readouterr().out)
    (method,) = found["methods"]
    assert (method["pairs"], method["better"], method["says"]) == (6, 6, "better")
    assert method["p"] == pytest.approx(2 / 2**6)
    assert len(found["changed"]) == 6
    assert found["changed"][0]["before"]["metrics"]["nmse"] == pytest.approx(0.1)


def test_many_changes_are_cut_unless_all_are_asked_for(
    tmp_path: Path, capsys: CaptureFixture[str]
) -> None:
    for name, nmse in (("a", 0.1), ("b", 0.01)):
        (tmp_path / name).mkdir()
        rows = [data(dataset=f"system-{n}", nmse=nmse) for n in range(25)]
        lines = "".join(json.dumps(row) + "\n" for row in rows)
        (tmp_path / name / "sindy-ode.jsonl").write_text(lines, encoding="utf-8")
    asked = ["compare", str(tmp_path / "a"), str(tmp_path / "b")]
    assert main(asked) == Exit.DONE
    assert "5 more changed; all of them: --each" in capsys.readouterr().out
    assert main([*asked, "--each"]) == Exit.DONE
    assert capsys.readouterr().out.count("better  NMSE") == 25


def test_what_cannot_be_compared_is_said(
    results: Path, tmp_path: Path, capsys: CaptureFixture[str]
) -> None:
    other = tmp_path / "other"
    other.mkdir()
    line = json.dumps(data("operon")) + "\n"
    (other / "operon-ode.jsonl").write_text(line, encoding="utf-8")
    assert main(["compare", str(results), str(other)]) == Exit.ERROR
    assert "no question in common" in capsys.readouterr().err
    assert main(["compare", str(results), str(tmp_path / "nothing")]) == Exit.ERROR
    assert "There is no folder" in capsys.readouterr().err


def test_a_tampered_bundle_is_refused_by_name(
    results: Path, tmp_path: Path, capsys: CaptureFixture[str]
) -> None:
    out = tmp_path / "results.zip"
    assert main(["bundle", str(results), "--out", str(out)]) == Exit.DONE
    content = bytearray(out.read_bytes())
    content[content.rfind(b"records/sindy-ode.jsonl")] = ord("q")
    out.write_bytes(content)
    for verb in (["report"], ["reproduce"]):
        assert main([*verb, str(out)]) == Exit.ERROR
        assert str(out) in capsys.readouterr().err
