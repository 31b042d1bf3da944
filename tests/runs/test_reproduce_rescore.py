"""Old records get new scores where their answers suffice, and no record is lost."""

from __future__ import annotations

import csv
import errno
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from harness import ROOT, add_method

from mdbench.cli import main
from mdbench.cli.rescore import JOURNAL
from mdbench.errors import RecordsError
from mdbench.records import Record, RecordStore, Status, key_of
from mdbench.records.files import pack, read_records
from mdbench.runs.catalog import Catalog
from mdbench.runs.reproduce import _PIECE, RescoredRecord, rescore_all, rescored
from mdbench.workspace import Workspace

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence


Output = pytest.CaptureFixture[str]
FILE = Path("results/zero-ode.jsonl")
LINE = ["--algorithm", "zero", "--data-type", "ode", "--dataset", "rc-circuit"]


@pytest.fixture
def workspace(command_line: Workspace, monkeypatch: pytest.MonkeyPatch) -> Workspace:
    monkeypatch.setenv("COLUMNS", "200")
    add_method(command_line, "zero")
    assert main(["run", *LINE]) == 0
    return command_line


def the_record() -> Record:
    (record,) = RecordStore(FILE).read()
    return record


def old(**changes: Any) -> Record:
    """Make of the record what an earlier scorer, or another answer, would have left."""
    record = the_record()
    parts = {name: part for name, part in record.key_parts.items() if name != "scorer"}
    parts |= {"scoring": "2", **changes.pop("parts", {})}
    data = record.model_dump(by_alias=True) | {"key_parts": parts, "key": key_of(parts)} | changes
    return Record.model_validate(data)


def test_an_answer_is_scored_again(workspace: Workspace) -> None:
    right = the_record()
    wrong = old(metrics={"nmse": 9.0, "agreement": 1e-7}, judged_by=("nmse",), floor=None, notes={})
    done = rescored(wrong, Catalog(workspace))
    assert done.left == ""
    assert done.after.metrics == {**right.metrics, "agreement": 1e-7}
    names = ("key", "key_parts", "judged_by", "floor", "notes", "provenance", "measured")
    for name in names:
        assert getattr(done.after, name) == getattr(right, name), name
    assert done.changes["nmse"] == (9.0, pytest.approx(1.0))
    assert "agreement" not in done.changes
    assert not rescored(done.after, Catalog(workspace)).changes


def test_an_answer_that_contradicted_itself_is_no_answer_any_more(workspace: Workspace) -> None:
    done = rescored(old(metrics={"nmse": 1.4e-10, "agreement": 0.9}), Catalog(workspace))
    assert done.after.status is Status.INVALID_OUTPUT
    assert "contradict" in done.after.reason
    assert (done.after.equations, done.after.metrics) == (None, {})
    assert (done.after.hyperparameters, done.after.selection) == (None, None)
    assert done.changes["status"] == ("ok", "invalid_output")


def test_a_failure_stays_one_and_is_judged_by_what_an_answer_would_be(workspace: Workspace) -> None:
    failed = old(status="timeout", reason="late", equations=None, metrics={}, judged_by=("nmse",))
    done = rescored(failed, Catalog(workspace))
    assert (done.after.status, done.after.reason) == (Status.TIMEOUT, "late")
    assert done.after.judged_by == the_record().judged_by
    assert done.after.key == the_record().key
    assert (done.left, done.changes) == ("", {})


def test_what_does_not_suffice_is_left(workspace: Workspace) -> None:
    cases: list[tuple[dict[str, Any], str]] = [
        ({"protocol": "published"}, "predictions are scored"),
        ({"status": "invalid_output", "equations": None, "metrics": {}}, "was refused"),
        ({"equations": None}, "no equations"),
        ({"parts": {"dataset": "0" * 64}}, "not the same any more"),
        ({"dataset": "gone"}, "gone"),
        ({"data_type": "gone"}, "no data type 'gone'"),
    ]
    for changes, reason in cases:
        record = old(**changes)
        done = rescored(record, Catalog(workspace))
        assert reason in done.left
        assert done.after is record
        assert not done.changes


def test_data_of_another_processor_serve_if_the_error_comes_out_again(workspace: Workspace) -> None:
    right = the_record()
    error = right.metrics["nmse"]
    assert isinstance(error, float)
    there = right.provenance.machine.model_copy(update={"cpu": "another"})
    elsewhere = right.provenance.model_copy(update={"machine": there})
    kept = "0" * 64

    def scored(metrics: dict[str, Any], **changes: Any) -> RescoredRecord:
        record = old(provenance=elsewhere, parts={"dataset": kept}, metrics=metrics, **changes)
        return rescored(record, Catalog(workspace))

    for same in (error, error * (1 + 1e-8)):
        done = scored(right.metrics | {"nmse": same, "complexity": 7.0})
        assert (done.left, done.after.metrics) == ("", right.metrics)
        # The key names what the method was given, so it is not that of a job here.
        assert done.after.key_parts["dataset"] == kept
        assert done.after.key_parts["scorer"] == right.key_parts["scorer"]
        assert done.after.key != right.key
        assert done.after.provenance.machine.cpu == "another"
    for other in (error * (1 + 1e-4), "other", 1e-13):
        assert "not the same any more" in scored(right.metrics | {"nmse": other}).left
    assert scored({}, status="timeout", reason="late", equations=None).left == ""


@pytest.mark.usefixtures("workspace")
def test_what_was_chosen_after_less_work_is_scored_again() -> None:
    right = the_record()
    wrong = [
        {"work_s": 2.0, "equations": None, "metrics": {}},
        {"work_s": 10.0, "equations": right.equations, "metrics": {"nmse": 9.0}},
        {"work_s": 60.0, "equations": ["sin("], "metrics": {"nmse": 9.0}},
    ]
    before = old(measured=right.measured.model_dump() | {"smaller_budgets": wrong})
    first, second, third = rescored(
        before, Catalog(Workspace.find())
    ).after.measured.smaller_budgets
    assert (first.equations, first.metrics) == (None, {})
    assert second.equations == right.equations
    comparable = {name: value for name, value in right.metrics.items() if name != "agreement"}
    assert second.metrics == pytest.approx(comparable)  # that one is of predictions
    assert (third.equations, third.metrics) == (None, {})


def write(*records: Record) -> bytes:
    FILE.write_text("".join(f"{record.to_line()}\n" for record in records), encoding="utf-8")
    return FILE.read_bytes()


@pytest.mark.usefixtures("workspace")
def test_the_command_states_what_changed(capsys: Output) -> None:
    right = the_record()
    lines = write(
        old(metrics={"nmse": 9.0}),
        old(protocol="published"),
        old(metrics={"nmse": 1.0, "agreement": 0.9}),
    )
    capsys.readouterr()
    assert main(["rescore", str(FILE), "--dry-run"]) == 0
    assert FILE.read_bytes() == lines
    text = capsys.readouterr().out
    assert "zero · rc-circuit  finished -> invalid output: its predictions contradict" in text
    assert "results/zero-ode.jsonl: 2 of 3 records scored again, and 2 would change." in text
    assert "left as they are: 1, as under published predictions are scored" in text
    assert "changed: nmse 2, " in text
    assert main(["rescore", "results"]) == 0
    assert "2 of 3 records scored again, and 2 changed." in capsys.readouterr().out
    assert main(["rescore", "results"]) == 0
    assert "1 of 3 records scored again, and 0 changed." in capsys.readouterr().out
    first, second, third = RecordStore(FILE).read()
    assert first.metrics["nmse"] == right.metrics["nmse"]
    assert second.protocol == "published"
    assert third.status is Status.INVALID_OUTPUT
    assert [path.name for path in FILE.parent.glob("[!l]*")] == [FILE.name]
    assert main(["plan", "--why", *LINE]) == 0  # the key is that of a job of today
    assert "0 of 1 job would be run" in capsys.readouterr().out


@pytest.mark.usefixtures("workspace")
def test_where_nothing_can_be_written_no_option_of_run_is_named(
    monkeypatch: pytest.MonkeyPatch, capsys: Output
) -> None:
    really = os.open

    def refuse(path: Any, *options: Any, **others: Any) -> int:
        if str(path).endswith(FILE.name):
            raise OSError(errno.EROFS, "Read-only file system")
        return really(path, *options, **others)

    monkeypatch.setattr(os, "open", refuse)
    assert main(["rescore", str(FILE)]) == 2
    said = capsys.readouterr().err
    assert "read-only file system" in said
    assert "--result-dir" not in said
    assert "rescore the copy" in said


@pytest.mark.slow  # processes that import what scores
@pytest.mark.usefixtures("workspace")
def test_several_processes_give_what_one_gives() -> None:
    numbers = range(2 * _PIECE + 3)  # three pieces for two processes
    several = [old(metrics={"nmse": float(n)}, parts={"seed": str(n)}) for n in numbers]
    several[5] = old(protocol="published")
    before = write(*several)
    written = {}
    for jobs in ("1", "2"):
        FILE.write_bytes(before)
        done = subprocess.run(  # in a process of its own, with which the others end
            [sys.executable, "-m", "mdbench", "rescore", str(FILE), "--n-jobs", jobs],
            capture_output=True,
            text=True,
            check=False,
            timeout=1800,
        )
        assert done.returncode == 0, done.stderr
        said = f"{len(several) - 1} of {len(several)} records scored again, and {len(several) - 1} "
        assert said in done.stdout
        written[jobs] = FILE.read_bytes()
    assert written["1"] == written["2"] != before
    assert [record.key for record in RecordStore(FILE).read()] != [one.key for one in several]


@pytest.mark.usefixtures("workspace")
def test_the_file_is_written_whole_or_not_at_all(capsys: Output) -> None:
    before = write(old(metrics={"nmse": 9.0}), old(metrics={"nmse": 8.0}))

    def stop(records: Iterable[Record]) -> Iterator[Record]:
        for record in records:
            if record.metrics["nmse"] == 8.0:
                raise KeyboardInterrupt
            yield record

    with pytest.raises(KeyboardInterrupt):
        RecordStore(FILE).rewrite(stop)
    assert FILE.read_bytes() == before
    with RecordStore(FILE).open_for_writing(), pytest.raises(RecordsError, match="written by"):
        RecordStore(FILE).rewrite(iter)
    FILE.write_bytes(before + b'{"schema":1,"mdb')  # a run was killed
    assert main(["rescore", str(FILE)]) == 0
    assert len(RecordStore(FILE).read()) == 2
    assert main(["rescore", "nowhere"]) == 2
    assert "There is no folder nowhere" in capsys.readouterr().err


def test_a_packed_file_is_packed_again_and_changes_are_listed(
    workspace: Workspace, tmp_path: Path
) -> None:
    del workspace
    write(old(metrics={"nmse": 9.0}), old(metrics={"nmse": 0.0}))
    packed = tmp_path / "in" / "old.jsonl.xz"
    pack(packed, RecordStore(FILE).read())
    changes = tmp_path / "changes.csv"
    assert main(["rescore", str(packed.parent), "--changes", str(changes)]) == 0
    assert main(["rescore", str(FILE)]) == 0
    assert [*read_records(packed)] == RecordStore(FILE).read()
    with changes.open(newline="") as file:
        rows = [*csv.DictReader(file)]
    records = RecordStore(FILE).read()
    assert [(row["key"], row["before"]) for row in rows if row["score"] == "nmse"] == [
        (record.key, before)
        for record, before in zip(records, ("9.0", "0.0"), strict=True)
        if record.metrics["nmse"] != float(before)
    ]
    # Nothing changes any more.
    assert main(["rescore", str(packed), "--changes", str(changes)]) == 0
    assert changes.read_text().splitlines() == [",".join(rows[0])]


def test_a_run_that_was_ended_goes_on_where_it_was(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch, capsys: Output
) -> None:
    del workspace
    several = [old(metrics={"nmse": 9.0 + n}, parts={"seed": str(n)}) for n in range(4)]
    before = write(*several)
    scored: list[str] = []
    stop_after = 2

    def some(records: Sequence[Record], *_: Any, **__: Any) -> Iterator[RescoredRecord]:
        for record in records:
            if len(scored) == stop_after:
                raise KeyboardInterrupt
            scored.append(record.key)
            yield RescoredRecord(record, record.model_copy(update={"metrics": {"nmse": 1.0}}))

    monkeypatch.setattr("mdbench.cli.rescore.rescore_all", some)
    assert main(["rescore", str(FILE)]) != 0
    assert FILE.read_bytes() == before
    journal = FILE.with_name(JOURNAL)
    assert len(journal.read_text().splitlines()) == 1 + 2
    with journal.open("a") as file:
        file.write('["zero-ode.jsonl", 2, "cut')  # as by a kill
    scored.clear()
    stop_after = 9
    assert main(["rescore", str(FILE)]) == 0
    assert scored == [record.key for record in several[2:]]
    assert "2 records of 4 were scored by a run that was ended" in capsys.readouterr().out
    assert [record.metrics["nmse"] for record in RecordStore(FILE).read()] == [1.0] * 4
    assert not journal.exists()


def test_what_other_code_has_scored_is_scored_again(workspace: Workspace) -> None:
    del workspace
    write(old(metrics={"nmse": 9.0}))
    record = RecordStore(FILE).read()[0]
    line = json.dumps([FILE.name, 0, record.key, record.to_line(), ""])
    FILE.with_name(JOURNAL).write_text(f'["other", {{}}, false]\n{line}\n')
    assert main(["rescore", str(FILE)]) == 0
    assert RecordStore(FILE).read()[0].metrics["nmse"] != 9.0


def test_records_of_one_dataset_are_scored_one_after_the_other(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    del workspace
    folder = FILE.parent
    record = RecordStore(FILE).read()[0]
    for name in ("a", "b"):
        mixed = [record.model_copy(update={"dataset": name}) for name in ("one", "two", "one")]
        text = "".join(f"{copy.to_line()}\n" for copy in mixed)
        (folder / f"{name}.jsonl").write_text(text)
    FILE.unlink()
    order: list[str] = []

    def same(records: Sequence[Record], *_: Any, **__: Any) -> Iterator[RescoredRecord]:
        order.extend(record.dataset for record in records)
        return (RescoredRecord(record, record) for record in records)

    monkeypatch.setattr("mdbench.cli.rescore.rescore_all", same)
    before = [(folder / f"{name}.jsonl").read_bytes() for name in "ab"]
    assert main(["rescore", str(folder)]) == 0
    assert order == ["one"] * 4 + ["two"] * 2
    assert [(folder / f"{name}.jsonl").read_bytes() for name in "ab"] == before


def test_changes_that_cannot_be_written_cost_nothing(workspace: Workspace, capsys: Output) -> None:
    del workspace
    before = write(old(metrics={"nmse": 9.0}))
    assert main(["rescore", str(FILE), "--changes", "nowhere/changes.csv"]) == 2
    assert "nowhere/changes.csv cannot be written" in capsys.readouterr().err
    assert FILE.read_bytes() == before


@pytest.mark.parametrize(
    ("reuse", "scorer", "believed"),
    [(True, None, True), (False, None, False), (True, "1", False), (True, "x", False)],
)
def test_what_is_computed_as_before_is_taken_from_records_where_that_is_asked_for(
    reuse: bool, scorer: str | None, believed: bool
) -> None:
    source = ROOT / "docs" / "results" / "edition-1.jsonl.xz"
    record = next(
        record
        for record in read_records(source)
        if record.data_type == "srsd" and record.metrics.get("solution") == 1.0
    )
    forged = record.model_copy(
        update={
            "metrics": {**record.metrics, "solution": 0.0, "nmse": 9.0},
            "key_parts": {**record.key_parts, **({"scorer": scorer} if scorer else {})},
        }
    )
    [done] = rescore_all([forged], Workspace.find(), 1, reuse=reuse)
    assert done.left == ""
    assert done.after.metrics["solution"] == (0.0 if believed else 1.0)
    assert done.after.metrics["nmse"] == pytest.approx(record.metrics["nmse"], abs=1e-12)


@pytest.mark.parametrize("reuse", [True, False])
def test_an_answer_of_another_form_is_not_compared_with_all_laws_again(reuse: bool) -> None:
    source = ROOT / "docs" / "results" / "measurements.jsonl.xz"
    right, identified = (
        next(
            record
            for record in read_records(source)
            if record.metrics.get("same_law") == 1.0
            and (record.metrics.get("identified") == 1.0) is is_identified
        )
        for is_identified in (False, True)
    )
    forged = [
        record.model_copy(update={"metrics": {**record.metrics, "same_law": 0.0}})
        for record in (right, identified)
    ]
    done = rescore_all(forged, Workspace.find(), 1, reuse=reuse)
    scores = [scored.after.metrics["same_law"] for scored in done]
    assert scores == [0.0 if reuse else 1.0, 1.0]  # an identified law is of its own form
