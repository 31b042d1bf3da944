"""``mdbench bundle`` and ``mdbench compare``, as they are typed."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from reporting import data

from mdbench.cli import main
from mdbench.cli.options import Exit
from mdbench.records import RecordStore

if TYPE_CHECKING:
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


@pytest.mark.extension("papers")
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
        head, found = capsys.readouterr().out.split("ode, limit 60 s, strict: 6 results")
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
    assert "no job in common" in capsys.readouterr().err
    assert main(["compare", str(results), str(tmp_path / "nothing")]) == Exit.ERROR
    assert "There is no folder" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["results.tar.gz", "results", "results.zip.jsonl"])
def test_a_bundle_has_the_name_of_its_kind(
    results: Path, tmp_path: Path, capsys: CaptureFixture[str], name: str
) -> None:
    assert main(["bundle", str(results), "--out", str(tmp_path / name)]) == Exit.ERROR
    assert "--out results.zip" in capsys.readouterr().err
    assert not (tmp_path / name).is_file()


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


def write(folder: Path, rows: list[dict[str, Any]]) -> Path:
    folder.mkdir()
    lines = "".join(json.dumps(row) + "\n" for row in rows)
    (folder / "all.jsonl").write_text(lines, encoding="utf-8")
    return folder


@pytest.mark.extension("papers")
def test_every_verb_keeps_what_a_study_asked_for(
    tmp_path: Path, capsys: CaptureFixture[str]
) -> None:
    study = tmp_path / "mine.toml"
    study.write_text("schema = 1\n", encoding="utf-8")
    mine, theirs = hashlib.sha256(study.read_bytes()).hexdigest(), "ab" * 32
    # Both asked the same question of sindy: the newest record is the other study's.
    late: dict[str, Any] = {"started": "2030-01-01T00:00:00Z"}
    rows = [data("sindy", study=mine), data("sindy", study=theirs, nmse=0.5, **late)]
    rows[1] |= {"key": "f" * 64}
    folder = write(tmp_path / "a", [*rows, data("operon", study=mine), data("gplearn")])
    for given in (str(study), mine[:12]):
        assert main(["report", str(folder), "--json", "--study", given]) == Exit.DONE
        board = json.loads(capsys.readouterr().out)["data_types"]["ode"]
        values = {row["method"]: row["values"]["nmse"]["value"] for row in board["rows"]}
        assert values == {"operon": 1e-3, "sindy": 1e-3}
        assert main(["export", str(folder), "--markdown", "--study", given]) == Exit.DONE
        shown = capsys.readouterr().out
        assert ("operon" in shown, "gplearn" in shown, "0.50" in shown) == (True, False, False)
        table = tmp_path / "t.csv"
        assert main(["combine", str(folder), "--out", str(table), "--study", given]) == Exit.DONE
        assert "2 records" in capsys.readouterr().out
        line = ["bundle", str(folder), "--out", str(tmp_path / "b.zip"), "--study", given]
        assert main(line) == Exit.DONE
        assert "2 records" in capsys.readouterr().out
    other = write(tmp_path / "b", [data("sindy", study=mine, nmse=0.1), data("gplearn")])
    line = ["compare", str(folder), str(other), "--json", "--study"]
    assert main([*line, str(study)]) == Exit.DONE
    (method,) = json.loads(capsys.readouterr().out)["methods"]
    assert (method["method"], method["pairs"], method["worse"]) == ("sindy", 1, 1)
    assert main([*line, theirs]) == Exit.ERROR
    assert f"{other} has no such records" in capsys.readouterr().err


def test_several_studies_and_authors_may_be_named(
    tmp_path: Path, capsys: CaptureFixture[str]
) -> None:
    rows = [data(name, study=digit * 64) for name, digit in (("sindy", "a"), ("operon", "b"))]
    folder = write(tmp_path / "a", [*rows, data("gplearn", study="c" * 64)])
    asked = ["--study", "aaaaaa", "--study", "bbbbbb", str(folder)]
    assert main(["report", "--json", *asked]) == Exit.DONE
    board = json.loads(capsys.readouterr().out)["data_types"]["ode"]
    assert [row["method"] for row in board["rows"]] == ["operon", "sindy"]
    authors = ["--author", "Doe, Jane", "--author", "Roe, Richard"]
    assert main(["bundle", *asked, *authors, "--out", str(tmp_path / "b.zip")]) == Exit.DONE
    assert "2 records" in capsys.readouterr().out
    assert main(["run", "--study", "a.toml", "--study", "b.toml"]) == Exit.ERROR
    assert "--study was given 2 times" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ("nowhere.toml", "there is no such file"),
        ("abcdef12", "No record in"),
        ("", "has an empty value"),
        ("ab", "there is no such file"),
    ],
)
def test_a_study_that_asked_for_nothing_is_an_error(
    given: str, says: str, results: Path, capsys: CaptureFixture[str]
) -> None:
    assert main(["report", str(results), "--text", "--study", given]) == Exit.ERROR
    assert says in capsys.readouterr().err


def test_budgets_are_apart_and_one_can_be_asked_for(
    tmp_path: Path, capsys: CaptureFixture[str]
) -> None:
    def rows(nmse: float, timeout_s: float) -> list[dict[str, Any]]:
        budget = data()["budget"] | {"timeout_s": timeout_s}
        found = [data("sindy", f"s{n}", nmse=nmse, budget=budget) for n in range(6)]
        return [one | {"key": f"{n:02d}{timeout_s:062.0f}"} for n, one in enumerate(found)]

    folder = write(tmp_path / "a", [*rows(0.1, 10.0), *rows(0.2, 60.0)])
    assert main(["report", str(folder), "--text"]) == Exit.DONE
    shown = capsys.readouterr().out
    assert "ode, limit 10 s, strict: 6 results" in shown
    assert "ode, limit 60 s, strict: 6 results" in shown
    assert main(["report", str(folder), "--text", "--budget", "60"]) == Exit.DONE
    shown = capsys.readouterr().out
    assert ("0.20" in shown, "0.10" in shown) == (True, False)
    assert main(["report", str(folder), "--text", "--budget", "7"]) == Exit.ERROR
    assert "There are: limit 10 s, limit 60 s" in capsys.readouterr().err
    other = write(tmp_path / "b", rows(0.01, 10.0))
    assert main(["compare", str(folder), str(other), "--json"]) == Exit.DONE
    (method,) = json.loads(capsys.readouterr().out)["methods"]
    assert (method["class"], method["pairs"]) == ("limit 10 s, strict", 6)
    longer = write(tmp_path / "c", rows(0.01, 3600.0))
    assert main(["compare", str(other), str(longer)]) == Exit.ERROR
    assert "--across-budgets" in capsys.readouterr().err
    line = ["compare", str(other), str(longer), "--across-budgets", "--json"]
    assert main(line) == Exit.DONE
    (method,) = json.loads(capsys.readouterr().out)["methods"]
    assert (method["class"], method["same"]) == ("strict", 6)
    assert main(["compare", str(folder), str(longer), "--across-budgets"]) == Exit.ERROR
    assert "with limit 10 s and with limit 60 s" in capsys.readouterr().err


@pytest.mark.skipif(not Path("/proc/locks").exists(), reason="no Linux: locks cannot be seen")
def test_while_a_run_writes_reports_say_so(
    results: Path, tmp_path: Path, capsys: CaptureFixture[str]
) -> None:
    page = tmp_path / "page.html"
    line = ["report", str(results), "--text", "--out", str(page)]
    note = "A run is in progress"
    with RecordStore(results / "sindy-ode.jsonl").open_for_writing():
        assert main(line) == Exit.DONE
        assert note in capsys.readouterr().out
        assert note in page.read_text(encoding="utf-8")
        assert main(["report", str(results), "--json"]) == Exit.DONE
        assert json.loads(capsys.readouterr().out)["in_progress"] is True
    assert main(line) == Exit.DONE
    assert note not in capsys.readouterr().out
    assert note not in page.read_text(encoding="utf-8")
    assert main(["report", str(results), "--json"]) == Exit.DONE
    assert json.loads(capsys.readouterr().out)["in_progress"] is False
