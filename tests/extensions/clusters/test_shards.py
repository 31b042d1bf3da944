"""Pieces of a plan: what tasks leave is brought home, every key once; and what SLURM is asked."""

from __future__ import annotations

import os
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from clusters import open_here, outcome, place_with, plan_of
from harness import HereRuntime, Quiet, execute

from mdbench.errors import MdbenchError, RecordsError, UnavailableError, UsageError
from mdbench.extensions.clusters.node import NodeRequest
from mdbench.extensions.clusters.shards import (
    Shard,
    ShardCollector,
    ShardFiles,
    merge,
    merge_earlier_round,
    unmerged_rounds,
)
from mdbench.extensions.clusters.slurm import SlurmBackend, active
from mdbench.records import RecordStore, Status

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from mdbench.records import Record
    from mdbench.runs.plan import Plan


@pytest.fixture(scope="module")
def plan(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Plan]:
    folder = tmp_path_factory.mktemp("pieces")
    before = Path.cwd()
    os.chdir(folder)
    yield plan_of(place_with(folder, folder / "home"), n_jobs=1)
    os.chdir(before)


@pytest.fixture(scope="module")
def done(plan: Plan) -> Sequence[Record]:
    return list(execute(plan, HereRuntime(), Quiet()).records)


@pytest.fixture
def files(plan: Plan, done: Sequence[Record], tmp_path: Path) -> ShardFiles:
    """A round of two pieces, of which nothing has been done."""
    order = NodeRequest.of(plan, HereRuntime(), name="one", opens=open_here)
    keyed = [(job, record.key) for job, record in zip(plan.jobs, done, strict=True)]
    return ShardFiles.make(tmp_path / "results", order, [keyed[:2], keyed[2:]])


def left_by(files: ShardFiles, number: int, *lines: str) -> None:
    folder = files.records(number)
    folder.mkdir(exist_ok=True)
    with (folder / "waits-ode.jsonl").open("a", encoding="utf-8") as file:
        file.writelines(lines)


def lines(records: Sequence[Record]) -> list[str]:
    return [record.to_line() + "\n" for record in records]


def home(files: ShardFiles) -> RecordStore:
    return RecordStore(files.folder.parent.parent / "waits-ode.jsonl")


def test_all_come_home_and_nothing_is_left(files: ShardFiles, done: Sequence[Record]) -> None:
    left_by(files, 0, *lines(done[:2]))
    left_by(files, 1, *lines(done[2:]))
    results = home(files).path.parent
    assert [each.folder for each in unmerged_rounds(results)] == [files.folder]
    assert f"{len(done)} records" in merge_earlier_round(files, results)
    assert outcome(home(files).read()) == outcome(done)
    assert unmerged_rounds(results) == []


def test_a_record_comes_home_once(files: ShardFiles, done: Sequence[Record]) -> None:
    left_by(files, 0, *lines([done[0], done[0], done[1]]))
    left_by(files, 1, *lines([done[2]]))
    results = home(files).path.parent
    with home(files).open_for_writing() as writer:
        writer.append(done[2])  # brought home already, before somebody was killed
    merged = merge(files, results)
    assert merged.twice == [done[0].key]
    assert sorted(outcome(home(files).read())) == sorted(one.key for one in done[:3])


def test_what_was_not_asked_for_stays(files: ShardFiles, done: Sequence[Record]) -> None:
    left_by(files, 0, *lines(done[2:3]))
    merged = merge(files, home(files).path.parent)
    assert merged.foreign == {0: 1}
    assert files.records(0).is_dir()
    assert home(files).read() == []


def test_interrupted_and_torn_records_are_missing(
    files: ShardFiles, done: Sequence[Record]
) -> None:
    stopped = done[0].model_copy(update={"status": Status.INTERRUPTED})
    first, second, *_ = lines(done)
    left_by(files, 0, *lines([stopped]), second[:100])
    gathering = ShardCollector(files)
    assert gathering.poll().lines == {}
    assert len(gathering.missing) == len(done)
    # The task is begun again: what was torn is mended, and the rest is written.
    path = files.records(0) / "waits-ode.jsonl"
    path.write_text(lines([stopped])[0] + second + first, encoding="utf-8")
    assert {key for key, _ in gathering.poll().lines["waits-ode"]} == {one.key for one in done[:2]}
    assert gathering.poll().lines == {}
    assert gathering.missing == {one.key for one in done[2:]}


def test_what_is_no_record_is_reported(files: ShardFiles) -> None:
    left_by(files, 0, "hello\n")
    with pytest.raises(RecordsError, match="no record"):
        merge(files, home(files).path.parent)


def test_a_task_begun_again_goes_on(
    plan: Plan, files: ShardFiles, done: Sequence[Record], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mdbench.extensions.clusters.shards.signal.signal", lambda *_: None)
    monkeypatch.setattr("mdbench.runs.calibration.CALIBRATION_SAMPLES", 1)
    first, second, *_ = lines(done)
    left_by(files, 0, first, second[:50])
    Shard(files.folder, 0, 1e6)()
    assert files.troubles() == []
    found = RecordStore(files.records(0) / "waits-ode.jsonl").read()
    assert outcome(found) == outcome(done[:2])
    assert found[0] == done[0]  # not done again
    assert found[1].measured.speed is not None
    Shard(files.folder, 1, 1.0)()  # no job is begun that may not end in time
    assert (
        not list(files.records(1).glob("*.jsonl"))
        or not RecordStore(files.records(1) / "waits-ode.jsonl").read()
    )
    assert plan.jobs


def no_docker(*_: object, **__: object) -> HereRuntime:
    raise UnavailableError("No Docker engine answers.", "Start it.")


def test_a_node_that_can_do_nothing_reports_it(files: ShardFiles, tmp_path: Path) -> None:
    order = replace(files.order, opens=no_docker)
    other = ShardFiles.make(tmp_path, order, files.shards)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("mdbench.extensions.clusters.shards.signal.signal", lambda *_: None)
        Shard(other.folder, 0, 1e6)()
    ((host, message, hint),) = other.troubles()
    assert "No Docker engine answers." in message
    assert (bool(host), hint) == (True, "Start it.")


@pytest.fixture
def slurm_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Programs that say what SLURM 22.05 was heard to say, from files."""
    folder = tmp_path / "bin"
    folder.mkdir()
    for name in ("sbatch", "srun", "squeue", "scontrol", "scancel"):
        path = folder / name
        path.write_text(
            f"#!{sys.executable}\nimport pathlib, sys\n"
            f"here = pathlib.Path({str(folder)!r})\n"
            f"with (here / 'asked').open('a') as f: f.write(' '.join(['{name}', *sys.argv[1:]]))\n"
            f"said = here / '{name}.says'\n"
            "out, err, code = eval(said.read_text()) if said.exists() else ('', '', 0)\n"
            "sys.stdout.write(out); sys.stderr.write(err); sys.exit(code)\n",
            encoding="utf-8",
        )
        path.chmod(0o755)
    monkeypatch.setenv("PATH", str(folder), prepend=os.pathsep)
    return folder


def says(folder: Path, name: str, out: str = "", err: str = "", code: int = 0) -> None:
    (folder / f"{name}.says").write_text(repr((out, err, code)), encoding="utf-8")


def test_the_queue_states_which_tasks_are_left(slurm_says: Path) -> None:
    says(slurm_says, "squeue", out="12_3\n12_4\n")
    assert active("slurm", ["12_3", "12_4", "12_5"]) == {"12_3", "12_4"}
    says(slurm_says, "squeue", err="slurm_load_jobs error: Invalid job id specified\n", code=1)
    assert active("slurm", ["12_3"]) == set()
    assert active("slurm", []) == set()
    assert "--jobs=12 " in (slurm_says / "asked").read_text(encoding="utf-8")


REFUSED = (
    "sbatch: error: invalid partition specified: nope\n"
    "sbatch: error: Batch job submission failed: Invalid partition name specified\n"
)


def test_what_slurm_refuses_is_reported(plan: Plan, slurm_says: Path, tmp_path: Path) -> None:
    says(slurm_says, "sbatch", err=REFUSED, code=1)
    says(slurm_says, "scontrol", out="MaxArraySize            = 3\n")
    elsewhere = replace(plan, result_dir=tmp_path / "elsewhere", n_jobs=9)
    slurm = SlurmBackend(options={"partition": "nope"}, opens=open_here)
    with pytest.raises(UsageError, match="Invalid partition name"):
        execute(elsewhere, HereRuntime(), Quiet(), slurm)
    assert unmerged_rounds(elsewhere.result_dir) == []
    text = (slurm_says / "asked").read_text(encoding="utf-8")
    assert "sbatch" in text


@pytest.mark.parametrize(("given", "words"), [("1h", "whole minutes"), ("1", "time=")])
def test_a_task_s_time_has_to_be_enough(
    plan: Plan, slurm_says: Path, tmp_path: Path, given: str, words: str
) -> None:
    elsewhere = replace(plan, result_dir=tmp_path / "elsewhere")
    with pytest.raises(MdbenchError) as caught:
        execute(
            elsewhere,
            HereRuntime(),
            Quiet(),
            SlurmBackend(options={"time": given}, opens=open_here),
        )
    assert words in str(caught.value)
    assert not (slurm_says / "asked").exists() or "sbatch" not in (slurm_says / "asked").read_text(
        encoding="utf-8"
    )


def test_tasks_of_an_earlier_command_are_waited_for(
    files: ShardFiles, done: Sequence[Record], slurm_says: Path
) -> None:
    """Whoever sent them was killed; the tasks end, and their records come home."""
    files.submitted("slurm", ["7_0", "7_1"])
    left_by(files, 0, *lines(done[:2]))
    says(slurm_says, "squeue", out="7_1\n")
    observer = Quiet()
    told = observer.message

    def end(text: str) -> None:
        told(text)
        if len(observer.messages) > 1:
            return
        left_by(files, 1, *lines(done[2:]))
        says(slurm_says, "squeue")

    observer.message = end  # type: ignore[method-assign]
    SlurmBackend(opens=open_here, poll_seconds=0.01).prepare(home(files).path.parent, observer)
    assert "1 task of an earlier command still running" in observer.messages[0]
    assert outcome(home(files).read()) == outcome(done)
