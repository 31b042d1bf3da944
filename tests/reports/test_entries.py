from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from reporting import data, result, write

from mdbench.errors import RecordsError, UsageError
from mdbench.records import read_folder, read_latest, results_files

if TYPE_CHECKING:
    from pathlib import Path


def test_a_folder_may_be_half_finished(tmp_path: Path) -> None:
    folder = write(tmp_path / "results", [data("sindy"), data("operon", status="timeout")])
    write(folder / "cluster" / "node1", [data("zero")])
    (folder / "logs").mkdir()
    (folder / "logs" / "x.jsonl").write_text("no record\n", encoding="utf-8")
    (folder / "mean-ode.jsonl").write_text("", encoding="utf-8")
    with (folder / "sindy-ode.jsonl").open("a", encoding="utf-8") as file:
        file.write(json.dumps(data("sindy", "chua"))[:200])  # still being written
    names = [result.algorithm for result in read_latest(folder)]
    assert sorted(names) == ["operon", "sindy", "zero"]


def test_the_newest_answer_to_a_question_stands(tmp_path: Path) -> None:
    old = data(nmse=1.0, started="2026-01-01T00:00:00Z")
    new = data(nmse=0.5, started="2026-01-02T00:00:00Z")
    other_key = {**data(nmse=0.25, started="2026-01-03T00:00:00Z"), "key": "0" * 64}
    stopped = {
        **data(status="interrupted", started="2026-01-04T00:00:00Z"),
        "key": "1" * 64,
    }
    folder = write(tmp_path, [old, new])
    assert [one.metrics["nmse"] for one in read_latest(folder)] == [0.5]
    write(tmp_path, [other_key, stopped])
    assert len(read_folder(folder)) == 3
    (one,) = read_latest(folder)
    assert one.metrics["nmse"] == 0.25  # a job that was stopped says nothing


def test_options_that_ask_another_question_are_systems_of_their_own() -> None:
    plain = result()
    released = result(system="lorenz (released)")
    assert released.case != plain.case


def test_what_is_not_the_methods_fault_is_separated() -> None:
    assert not result(status="unavailable").attempted
    assert result(status="timeout").attempted
    assert not result(status="timeout").answered
    assert result(status="partial").answered


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("no record\n", "line 2 is damaged"),
        ('{"schema":99}\n', "line 2: this record has schema 99"),
        ("[]\n", "line 2 is damaged"),
    ],
)
def test_damage_is_named(tmp_path: Path, line: str, said: str) -> None:
    folder = write(tmp_path, [data()])
    with (folder / "sindy-ode.jsonl").open("a", encoding="utf-8") as file:
        file.write(line)
    with pytest.raises(RecordsError, match=said):
        read_folder(folder)


def test_a_missing_key_is_named(tmp_path: Path) -> None:
    broken = data()
    del broken["status"]
    with pytest.raises(RecordsError, match=r"sindy-ode\.jsonl, line 1 is damaged: status"):
        read_latest(write(tmp_path, [broken]))


def test_what_is_not_there_is_said(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no folder"):
        results_files(tmp_path / "nowhere")
    with pytest.raises(UsageError, match="no results file"):
        results_files(tmp_path)
