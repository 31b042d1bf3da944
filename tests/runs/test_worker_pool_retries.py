"""What fails by no doing of a method is tried again; what is the method's own is not."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from harness import HereRuntime, Quiet, add_method, execute, make_workspace

from mdbench.errors import MethodError, UnavailableError, UsageError
from mdbench.records import RERUN_ALWAYS, Status
from mdbench.runs.options import read_count, read_rerun
from mdbench.runs.plan import make_plan
from mdbench.runs.study import RunOptions
from mdbench.runs.worker_pool import LONGEST_WAIT_S, EnvironmentCache, RetryPolicy
from mdbench.runtimes.base import WorkerGoneError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from mdbench.methods import Method
    from mdbench.records import Record
    from mdbench.runtimes.base import Prepared
    from mdbench.runtimes.venv import VenvWorker


@pytest.fixture(autouse=True)
def _at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mdbench.runs.worker_pool.FIRST_WAIT_S", 0.0)


class Failing(HereRuntime):
    """Fails so many times, by this error, where it is told to."""

    def __init__(self, times: int, error: Exception, at: str = "prepare") -> None:
        super().__init__()
        self.left, self.error, self.at, self.calls = times, error, at, 0

    def _fail(self, at: str) -> None:
        if at == self.at:
            self.calls += 1
            self.left -= 1
            if self.left >= 0:
                raise self.error

    def prepare(self, method: Method) -> Prepared:
        self._fail("prepare")
        return super().prepare(method)

    def start(self, *given: Any, **more: Any) -> VenvWorker:
        self._fail("start")
        worker = super().start(*given, **more)
        receive = worker.receive

        def lossy(timeout: float | None) -> Any:
            try:
                self._fail("receive")
            except WorkerGoneError:
                worker.interrupt()
                raise
            return receive(timeout)

        worker.receive = lossy  # type: ignore[method-assign]
        return worker


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("home")


def run(tmp_path: Path, runtime: HereRuntime, retries: int, datasets: int = 1) -> Sequence[Record]:
    workspace = make_workspace(tmp_path)
    add_method(workspace, "zero")
    names = ("rc-circuit", "velocity-falling-object")[:datasets]
    options = RunOptions(("zero",), "ode", names, retries=retries, n_jobs=1)
    plan = make_plan(replace(options, result_dir=tmp_path / "results"), workspace)
    return execute(plan, runtime, Quiet()).records


PASSING = UnavailableError("no network for a moment", passing=True)
LOST = WorkerGoneError("the container was lost", lost=True)


@pytest.mark.parametrize(("at", "error"), [("prepare", PASSING), ("start", PASSING)])
def test_what_passes_is_tried_again(tmp_path: Path, at: str, error: Exception) -> None:
    runtime = Failing(2, error, at)
    (record,) = run(tmp_path, runtime, retries=2)
    assert record.status is Status.OK
    assert runtime.calls == 3
    assert record.measured.retries == (2 if at == "start" else 0)  # an environment is nobody's job


def test_a_job_whose_worker_is_lost_is_done_by_another(tmp_path: Path) -> None:
    (record,) = run(tmp_path, Failing(1, LOST, "receive"), retries=1)
    assert (record.status, record.measured.retries) == (Status.OK, 1)


@pytest.mark.parametrize("at", ["prepare", "start", "receive"])
def test_patience_has_an_end(tmp_path: Path, at: str) -> None:
    runtime = Failing(99, LOST if at == "receive" else PASSING, at)
    record, other = run(tmp_path, runtime, retries=2, datasets=2)
    assert record.status is other.status is Status.UNAVAILABLE
    assert record.measured.retries == other.measured.retries == 2
    # An environment is not tried anew for each job; a worker is.
    assert runtime.calls == (3 if at == "prepare" else 6)


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (UnavailableError("no bubblewrap here"), Status.UNAVAILABLE),
        (MethodError("no lock"), Status.FAILED),
    ],
)
@pytest.mark.parametrize("at", ["prepare", "start"])
def test_what_would_fail_again_is_not_tried(
    tmp_path: Path, error: Exception, status: Status, at: str
) -> None:
    runtime = Failing(99, error, at)
    (record,) = run(tmp_path, runtime, retries=5)
    assert (record.status, record.measured.retries) == (status, 0)
    assert runtime.calls == 1


def test_a_method_s_own_failure_is_not_tried_again(tmp_path: Path) -> None:
    gone = WorkerGoneError("the worker ended with exit status 3", 3)
    runtime = Failing(1, gone, "receive")
    (record,) = run(tmp_path, runtime, retries=5)
    assert (record.status, record.measured.retries) == (Status.CRASHED, 0)


def test_waits_grow_up_to_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mdbench.runs.worker_pool.FIRST_WAIT_S", 1.0)
    waits = list(RetryPolicy(6).waits())
    assert waits == [1.0, 5.0, 25.0, LONGEST_WAIT_S, LONGEST_WAIT_S, LONGEST_WAIT_S]
    assert list(RetryPolicy(0).waits()) == []


def test_an_end_ends_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mdbench.runs.worker_pool.FIRST_WAIT_S", 1e6)
    patience = RetryPolicy(3)
    tries = patience.tries()
    assert next(tries) == 0
    patience.end()
    assert list(tries) == []


def test_a_run_without_patience_tries_once(tmp_path: Path) -> None:
    runtime = Failing(1, PASSING)
    workspace = make_workspace(tmp_path)
    add_method(workspace, "zero")
    plan = make_plan(RunOptions(("zero",), "ode", ("rc-circuit",)), workspace)
    environments = EnvironmentCache(runtime)
    for _ in range(2):
        with pytest.raises(UnavailableError):
            environments.get(plan.catalog.method("zero"))
    assert runtime.calls == 1


def test_what_is_typed() -> None:
    assert read_count("--retries", "0") == 0
    with pytest.raises(UsageError, match="from 0 on"):
        read_count("--retries", "-1")
    assert set(read_rerun("--rerun", "infrastructure")) == RERUN_ALWAYS
    with pytest.raises(UsageError, match="infrastructure"):
        read_rerun("--rerun", "infrastucture")
