"""Results that contradict each other: of one job in two folders; and lines that are cut off."""

from __future__ import annotations

import csv
import json
import zipfile
from collections import Counter
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from harness import ZERO, add_method

import mdbench
from mdbench.cli import main
from mdbench.cli.options import Exit
from mdbench.records import Record, RecordStore, Status

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mdbench.workspace import Workspace

DATASETS = ["rc-circuit", "autocatalysis"]


@pytest.fixture
def genuine(command_line: Workspace, monkeypatch: pytest.MonkeyPatch) -> list[Record]:
    monkeypatch.setenv("COLUMNS", "200")
    add_method(command_line, "zero", ZERO)
    line = ["run", "--algorithm", "zero", "--data-type", "ode", "--work", "20"]
    assert main([*line, "--dataset", *DATASETS, "--result-dir", "a"]) == Exit.DONE
    return RecordStore(Path("a/zero-ode.jsonl")).read()


def rows_of(table: str) -> list[dict[str, str]]:
    with Path(table).open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def put(folder: str, records: Sequence[Record], tail: str = "") -> None:
    Path(folder).mkdir(exist_ok=True)
    text = "".join(record.to_line() + "\n" for record in records)
    Path(folder, "zero-ode.jsonl").write_text(text + tail, encoding="utf-8")


def changed(record: Record, **values: Any) -> Record:
    return record.model_copy(update=values)


def later(record: Record, **values: Any) -> Record:
    started = record.measured.started + timedelta(hours=1)
    measured = record.measured.model_copy(update={"started": started})
    return changed(record, measured=measured, **values)


def test_another_result_of_a_job_in_another_folder_is_a_failed_reproduction(
    genuine: list[Record], capsys: pytest.CaptureFixture[str]
) -> None:
    put("b", [later(genuine[0], equations=("0.5",)), genuine[1]])
    capsys.readouterr()
    assert main(["report", "a", "b", "--text"]) == Exit.NOT_AS_WISHED
    printed = capsys.readouterr().out
    assert "1 job with another result in another file, a failed reproduction" in printed
    for word in ("zero", genuine[0].dataset, "a/zero-ode.jsonl", "b/zero-ode.jsonl"):
        assert word in printed
    assert main(["report", "a", "b", "--json"]) == Exit.NOT_AS_WISHED
    (conflict,) = json.loads(capsys.readouterr().out)["conflicts"]
    assert conflict["key"] == genuine[0].key
    assert conflict["failed_reproduction"] is True
    assert main(["combine", "a", "b", "--out", "t.csv"]) == Exit.NOT_AS_WISHED
    assert "failed reproduction" in capsys.readouterr().out
    by_file = {(row["file"], row["key"]): row["conflict"] for row in rows_of("t.csv")}
    assert by_file == {
        ("a/zero-ode.jsonl", genuine[0].key): "b/zero-ode.jsonl",
        ("b/zero-ode.jsonl", genuine[0].key): "a/zero-ode.jsonl",
        ("a/zero-ode.jsonl", genuine[1].key): "",
        ("b/zero-ode.jsonl", genuine[1].key): "",
    }
    assert len(rows_of("t.csv")) == 4


@pytest.mark.parametrize("case", ["equal", "slower", "one folder", "ended by a limit", "other key"])
def test_what_is_no_failed_reproduction_says_so(
    genuine: list[Record], case: str, capsys: pytest.CaptureFixture[str]
) -> None:
    first, second = genuine
    other = later(first, equations=("0.5",))
    records = {
        "equal": [first, second],
        "slower": [later(first), second],
        "one folder": [other, second],
        "ended by a limit": [changed(other, status=Status.PARTIAL), second],
        "other key": [changed(other, key="0" * 64), second],
    }[case]
    put("b", records)
    places = ["b"] if case == "one folder" else ["a", "b"]
    capsys.readouterr()
    for line in (["report", *places, "--text"], ["combine", *places, "--out", "t.csv"]):
        assert main(line) == Exit.DONE
        assert ("another result" in capsys.readouterr().out) is (case == "ended by a limit")


def test_a_bundle_with_a_part_of_its_study_says_so(
    genuine: list[Record], capsys: pytest.CaptureFixture[str]
) -> None:
    del genuine
    study = (
        'schema = 1\nalgorithm = "zero"\ndata_type = "ode"\nwork = 20\n'
        f"dataset = {json.dumps(DATASETS)}\n"
    )
    Path("s.toml").write_text(study, encoding="utf-8")
    line = ["run", "--study", "s.toml", "--result-dir", "c"]
    assert main(line) == Exit.DONE
    path = Path("c/zero-ode.jsonl")
    whole = path.read_text(encoding="utf-8")
    for text, left in ((whole, 0), (whole.splitlines(keepends=True)[0], 1)):
        path.write_text(text, encoding="utf-8")
        capsys.readouterr()
        assert main(["bundle", "c", "--study", "s.toml", "--out", "b.zip"]) == Exit.DONE
        printed = capsys.readouterr().out
        assert ("1 of 2 jobs of the study have no record" in printed) is bool(left)
        with zipfile.ZipFile("b.zip") as archive:
            assert json.loads(archive.read("bundle.json"))["jobs_left"] == left
            citation = archive.read("CITATION.cff").decode()
        assert ("1 job of the study without a record" in citation) is bool(left)


def test_a_last_line_that_is_cut_off_is_named(
    genuine: list[Record], capsys: pytest.CaptureFixture[str]
) -> None:
    tail = genuine[1].to_line()[:500]
    put("b", genuine[:1], tail)
    capsys.readouterr()
    for line in (["report", "b", "--text"], ["combine", "b", "--out", "t.csv"]):
        assert main(line) == Exit.DONE
        printed = capsys.readouterr().out
        assert "b/zero-ode.jsonl: its last line is cut off (500 bytes) and left out" in printed
    # A whole record without its newline is a record, and an empty file has nothing cut off.
    put("b", genuine[:1], genuine[1].to_line())
    assert main(["combine", "b", "--out", "t.csv"]) == Exit.DONE
    printed = capsys.readouterr().out
    assert "cut off" not in printed
    assert "2 records of 1 file" in printed


def test_a_method_under_another_name_replaces_nobody(
    genuine: list[Record], capsys: pytest.CaptureFixture[str]
) -> None:
    """The same keys under another name, with better scores and a newer date, in each place."""
    renamed = [later(one, algorithm="superzero", metrics={"nmse": 1e-20}) for one in genuine]
    put("b", renamed)
    put("c", [*genuine, *renamed])
    put("d", [*renamed, *genuine])
    for places in (["a", "b"], ["b", "a"], ["c"], ["d"]):
        capsys.readouterr()
        assert main(["report", *places, "--json"]) == Exit.DONE
        content = json.loads(capsys.readouterr().out)
        assert content["conflicts"] == []
        (board,) = content["data_types"].values()
        assert {row["method"] for row in board["rows"]} == {"zero", "superzero"}
        assert main(["report", *places, "--text"]) == Exit.DONE
        assert "2 jobs of superzero and zero with the same key" in capsys.readouterr().out
        assert main(["combine", *places, "--out", "t.csv"]) == Exit.DONE
        assert "2 jobs of superzero and zero with the same key" in capsys.readouterr().out
        kept = Counter(row["algorithm"] for row in rows_of("t.csv"))
        assert kept == {"zero": 2, "superzero": 2}
        assert Counter(mdbench.load(places[-1])["algorithm"]) <= kept
    assert Counter(mdbench.load("c")["algorithm"]) == kept
    assert main(["bundle", "c", "--out", "c.zip"]) == Exit.DONE
    assert main(["combine", "c.zip", "--out", "t.csv"]) == Exit.DONE
    assert len(rows_of("t.csv")) == 4


@pytest.mark.parametrize("case", ["alone", "after its own", "before its own"])
def test_a_record_under_another_name_is_not_that_of_a_job(
    genuine: list[Record], case: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """A run goes on as if records of other names were not in its file."""
    renamed = [later(one, algorithm="superzero") for one in genuine]
    records = {
        "alone": renamed,
        "after its own": [*genuine, *renamed],
        "before its own": [*renamed, *genuine],
    }[case]
    put("a", records)
    line = ["--algorithm", "zero", "--data-type", "ode", "--work", "20", "--dataset", *DATASETS]
    capsys.readouterr()
    assert main(["plan", *line, "--result-dir", "a", "--why"]) == Exit.DONE
    due = "it has no record" in capsys.readouterr().out
    assert main(["run", *line, "--result-dir", "a"]) == Exit.DONE
    left = Counter(record.algorithm for record in RecordStore(Path("a/zero-ode.jsonl")).read())
    assert left == {"zero": 2, "superzero": 2}
    assert due is (case == "alone")
    assert main(["run", *line, "--result-dir", "a"]) == Exit.DONE  # and then it is done
    assert len(RecordStore(Path("a/zero-ode.jsonl")).read()) == left.total()
