"""Under which conditions jobs run: load, speed, energy, cores; and what they score over time."""

from __future__ import annotations

import os
import tempfile
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from harness import HereRuntime, Quiet, add_method, execute, known, make_workspace

from mdbench.backends.local import LocalBackend
from mdbench.datatypes.base import Answer, Candidate, ScoredCandidate, Scores
from mdbench.records import Status
from mdbench.runs.plan import make_plan, resolve_jobs
from mdbench.runs.record import commit_of_clone, energy_meter
from mdbench.runs.scoring import (
    SHARES,
    JobResult,
    ScoredResult,
    anytime_curve,
    at_smaller_budgets,
)
from mdbench.runs.spec import JobSpec
from mdbench.runs.study import RunOptions
from mdbench.runtimes.processes import pin_workers_to, worker_cores
from mdbench.runtimes.worker import run_in_launcher_thread

if TYPE_CHECKING:
    from pathlib import Path

    from mdbench.records import Record

TELLS = """
import os
import numpy as np
from mdbench.worker import Candidate

class Adapter:
    def __init__(self, *, seed, threads): ...
    def fit(self, problem):
        cores = sorted(os.sched_getaffinity(0))
        threads = [os.environ.get(name) for name in (
            "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "JULIA_NUM_THREADS")]
        print("cores", cores, "threads", threads)
        self.X = problem.X
    def candidates(self):
        for slope in (0.5, -0.36):
            yield Candidate((f"{slope}*u0",), slope * self.X)
    def choose(self, indices):
        (self.index,) = indices
    def predict(self, problem):
        return (0.5, -0.36)[self.index] * problem.X
    def equations(self):
        return [f"{(0.5, -0.36)[self.index]}*u0"]
"""


@pytest.fixture(autouse=True)
def _own_claims(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(tempfile, "tempdir", None)


def test_a_record_states_where_and_how_its_job_ran(tmp_path: Path) -> None:
    workspace = make_workspace(tmp_path)
    add_method(workspace, "tells", TELLS, tuning="front")
    options = RunOptions(
        ("tells",), "ode", ("rc-circuit",), n_jobs=1, result_dir=tmp_path / "results"
    )
    plan = make_plan(replace(options, timeout_s=1000.0), workspace)
    (record,) = execute(plan, HereRuntime(), Quiet(), LocalBackend(calibrated=True)).records
    measured = record.measured
    assert len(measured.cores) == 1
    assert set(measured.cores) <= os.sched_getaffinity(0)
    text = (tmp_path / "results" / known(record.log)).read_text(encoding="utf-8")
    assert f"cores {list(measured.cores)} threads ['1', '1', '1', '1']" in text
    assert known(measured.load) >= 0
    assert known(measured.speed) > 0
    assert known(measured.speed_before) > 0
    assert known(measured.speed_after) > 0
    assert [each.share for each in measured.anytime] == list(SHARES)  # there within 10 s
    assert {each.score for each in measured.anytime} == {record.metrics[record.judged_by[0]]}


def test_workers_are_pinned_and_who_starts_them_is_not() -> None:
    everything = os.sched_getaffinity(0)
    one = min(everything)
    assert worker_cores() is None
    with pin_workers_to((one,)):
        assert worker_cores() == (one,)
        assert run_in_launcher_thread(lambda: os.sched_getaffinity(0)) == {one}
        assert os.sched_getaffinity(0) == everything
    assert worker_cores() is None
    assert run_in_launcher_thread(lambda: os.sched_getaffinity(0)) == everything


def test_energy_is_that_of_all_packages(tmp_path: Path) -> None:
    def count(name: str, joules: float) -> None:
        folder = tmp_path / name
        folder.mkdir(exist_ok=True)
        (folder / "energy_uj").write_text(f"{int(joules * 1e6)}\n", encoding="ascii")
        (folder / "max_energy_range_uj").write_text("100000000\n", encoding="ascii")

    assert energy_meter(tmp_path / "nowhere")() is None
    count("intel-rapl:0", 10.0)
    count("intel-rapl:1", 99.0)
    count("intel-rapl:0:0", 5.0)  # a part of the first package
    joules = energy_meter(tmp_path)
    count("intel-rapl:0", 12.5)
    count("intel-rapl:1", 1.0)  # it began again at 100 J
    count("intel-rapl:0:0", 500.0)
    assert joules() == pytest.approx(2.5 + 2.0)


def task_of(place: Any, name: str) -> tuple[Any, Any]:
    plan = make_plan(RunOptions(("tells",), "ode", (name,)), place)
    (one,) = resolve_jobs(plan, HereRuntime())
    return one.data_type, plan.catalog.task(one, plan.catalog.load(one.job))


def offer(index: int, text: str, fitness: float, seconds: float, work: float) -> ScoredCandidate:
    candidate = Candidate(index, (text,), {}, None, None, seconds, work)
    return ScoredCandidate(candidate, -fitness, 3, fitness)


def budget(**limits: float) -> JobSpec:
    return JobSpec(
        algorithm="tells",
        data_type="ode",
        dataset="rc-circuit",
        snr_db=None,
        seed=0,
        threads=1,
        **{"timeout_s": 1e6, **limits},  # type: ignore[arg-type]
    )


def test_scores_so_far_follow_what_had_come(tmp_path: Path) -> None:
    workspace = make_workspace(tmp_path)
    add_method(workspace, "tells", TELLS, tuning="front")
    data_type, task = task_of(workspace, "rc-circuit")
    primary = data_type.metrics[0].name
    final = Scores({primary: 0.25})
    offers = [  # on a machine so busy that each took ten times as long
        offer(0, "0.5*u0", 0.1, seconds=15.0, work=1.5),
        offer(1, "0", 0.3, seconds=80.0, work=8.0),
        offer(2, "2*u0", 0.2, seconds=90.0, work=9.0),
    ]
    outcome = JobResult(
        Status.OK, candidates=offers, answered_s=300.0, answered_work_s=30.0, work_s=31.0
    )
    in_work = budget(work_s=100.0)
    found = anytime_curve(data_type, task, outcome, final, in_work)
    by_share = {each.share: each.score for each in found}
    assert list(by_share) == [0.02, 0.05, 0.1, 0.2, 0.5, 1.0]  # nothing had come by 1 s
    assert by_share[0.02] == by_share[0.05] != by_share[0.1]
    assert by_share[0.1] == by_share[0.2] == pytest.approx(1.0)  # 0 explains nothing
    assert by_share[0.5] == by_share[1.0] == 0.25
    moments = {each.share: (each.time_s, each.work_s) for each in found}
    assert moments == {
        0.02: (15.0, 1.5),
        0.05: (15.0, 1.5),
        0.1: (90.0, 9.0),
        0.2: (90.0, 9.0),
        0.5: (300.0, 30.0),
        1.0: (300.0, 30.0),
    }
    in_time = anytime_curve(data_type, task, outcome, final, budget(timeout_s=1000.0))
    assert in_time == found  # of ten times the seconds
    late = JobResult(Status.PARTIAL, candidates=offers, work_s=100.0)
    assert anytime_curve(data_type, task, late, final, in_work)[-2].score == by_share[0.2]
    stopped = JobResult(Status.TIMEOUT, candidates=offers, work_s=100.0)
    assert anytime_curve(data_type, task, stopped, final, in_work) == ()


def test_answers_after_less_work_have_all_scores(tmp_path: Path) -> None:
    workspace = make_workspace(tmp_path)
    add_method(workspace, "tells", TELLS, tuning="front")
    data_type, task = task_of(workspace, "rc-circuit")
    (truth,) = task.dataset.truth
    offers = [
        offer(0, "0.5*u0", 0.1, seconds=1.0, work=2.5),
        offer(1, truth, 0.3, seconds=2.0, work=9.0),
        offer(2, "2*u0", 0.9, seconds=3.0, work=10.5),
        offer(3, "sin(", 0.95, seconds=3.0, work=55.0),
    ]
    final = Scores({"identified": 0.0})
    outcome = JobResult(Status.OK, candidates=offers, work_s=119.0, answer=Answer(("2*u0",)))

    def smaller(work: float | None, **changes: Any) -> list[Any]:
        job = budget() if work is None else budget(work_s=work)
        scored = ScoredResult(replace(outcome, **changes), ("2*u0",), final)
        return list(at_smaller_budgets(data_type, task, scored, job))

    after_2, after_10, after_60 = smaller(120.0)
    assert (after_2.work_s, after_2.equations, after_2.metrics) == (2.0, None, {})
    assert (after_10.work_s, after_10.equations) == (10.0, (truth,))
    assert (
        after_10.metrics
        == data_type.score(task, data_type.read_answer(task, Answer((truth,)))).metrics
    )
    assert after_10.metrics["identified"] == 1
    assert (after_60.work_s, after_60.equations) == (60.0, None)  # it cannot be read
    # Budgets of half the limit at most, and none without a limit of work.
    assert [one.work_s for one in smaller(20.0)] == [2.0, 10.0]
    assert [one.work_s for one in smaller(19.9)] == [2.0]
    assert smaller(3.9) == smaller(None) == smaller(120.0, work_s=None) == []
    # From the answer on it is the answer.
    after_2, after_10, after_60 = smaller(120.0, answered_work_s=9.5)
    assert after_2.equations is None
    assert after_10.equations == after_60.equations == ("2*u0",)
    assert after_10.metrics == after_60.metrics == final.metrics


def test_the_same_score_by_the_short_way(tmp_path: Path) -> None:
    workspace = make_workspace(tmp_path)
    add_method(workspace, "tells", TELLS, tuning="front")
    plan = make_plan(
        RunOptions(("tells",), "ode", ("rc-circuit",), result_dir=tmp_path / "r"), workspace
    )
    (record,) = execute(plan, HereRuntime(), Quiet()).records
    _same(record, *task_of(workspace, "rc-circuit"))


def _same(record: Record, data_type: Any, task: Any) -> None:
    answer = data_type.read_answer(task, Answer(known(record.equations)))
    assert data_type.primary_score(task, answer) == record.metrics[data_type.metrics[0].name]


@pytest.mark.parametrize(("ends", "commit"), [(1, {"commit": "abc"}), (9, {})])
def test_a_signal_that_ends_git_costs_no_commit(
    ends: int, commit: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A scheduler that ends all processes of a task leaves time for its record."""
    git = tmp_path / "git"
    git.write_text(
        f"#!/bin/sh\necho >>{tmp_path}/asked\n"
        f"[ $(wc -l <{tmp_path}/asked) -gt {ends} ] || kill -TERM $$\necho abc\n"
    )
    git.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    assert commit_of_clone.__wrapped__() == commit
    assert len((tmp_path / "asked").read_text()) == (2 if commit else 3)
