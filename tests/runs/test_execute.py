"""Whole runs with throw-away methods: statuses, records, resume, interruption."""

from __future__ import annotations

import io
import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from harness import (
    ROOT,
    ZERO,
    HereRuntime,
    Quiet,
    add_method,
    children,
    execute,
    is_running,
    known,
    make_workspace,
    one_worker,
    out_of_time,
    wait_until,
)
from rich.console import Console

from eqverdict import equation
from eqverdict.limited_process import LimitedProcess
from mdbench import datatypes
from mdbench.datatypes.facts import Protocol
from mdbench.datatypes.ode import simulation
from mdbench.datatypes.ode.data_type import Ode
from mdbench.errors import MdbenchError, RecordsError, ScorerError, UnavailableError
from mdbench.records import SCHEMA, Record, RecordStore, Status, comparable
from mdbench.records.store import RecordWriter
from mdbench.reports.systems import summary_line
from mdbench.reports.terminal import run_table
from mdbench.runs import session
from mdbench.runs.exchange import END_SECONDS, JobExchange
from mdbench.runs.plan import make_plan
from mdbench.runs.study import RunOptions
from mdbench.runtimes import processes
from mdbench.runtimes.environments.subprocesses import running

if TYPE_CHECKING:
    from mdbench.datatypes.base import Answer, Scores, Selection
    from mdbench.datatypes.equations.base import EquationTask
    from mdbench.methods import Method
    from mdbench.runs.execute import Summary
    from mdbench.runs.scoring import JobResult
    from mdbench.runs.spec import JobSpec
    from mdbench.runtimes.base import Prepared
    from mdbench.workspace import Workspace


@pytest.fixture
def workspace(tmp_path: Path, data_home: Path) -> Workspace:
    return make_workspace(tmp_path, data_home)


@pytest.fixture(scope="session")
def data_home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("home")


def run(
    workspace: Workspace,
    *algorithms: str,
    observer: Quiet | None = None,
    wrapped: bool | None = None,
    **changes: Any,
) -> Summary:
    options = RunOptions(
        algorithms=algorithms,
        data_type="ode",
        datasets=("rc-circuit",),
        result_dir=workspace.root / "results",
        n_jobs=1,
        timeout_s=100.0,
    )
    plan = make_plan(replace(options, **changes), workspace)
    summary = execute(plan, HereRuntime(wrapped=wrapped), observer or Quiet())
    assert not children()
    return summary


def only(summary: Summary) -> Record:
    (record,) = summary.records
    return record


def log_of(workspace: Workspace, record: Record) -> bytes:
    assert record.log is not None
    return (workspace.root / "results" / record.log).read_bytes()


def adapter(
    fit: str = "pass", predict: str = "np.zeros((len(p.X), 1))", equations: str = "['0']"
) -> str:
    return f"""
import ctypes, os, signal, subprocess, sys, time
import numpy as np
from mdbench.worker import Candidate, Unavailable, Unsupported

class Adapter:
    def __init__(self, *, seed, threads): ...
    def fit(self, p):
        {fit}
    def predict(self, p):
        return {predict}
    def equations(self):
        return {equations}
"""


def test_zero_is_a_legal_answer(workspace: Workspace) -> None:
    add_method(workspace, "zero")
    record = only(run(workspace, "zero"))
    assert record.status is Status.OK
    assert record.reason == ""
    assert record.equations == ("0",)
    assert record.metrics["complexity"] == 1
    assert record.metrics["nmse"] == pytest.approx(1.0)
    assert record.metrics["agreement"] == 0.0
    assert record.truth is not None
    assert record.target_source == "equations"
    assert known(record.measured.wall_s) > known(record.measured.fit_s) > 0
    assert record.measured.peak_memory_mb is not None


BAD = {
    "raises at fit": (
        adapter(fit="raise ValueError('no luck')"),
        Status.FAILED,
        "ValueError: no luck",
    ),
    "cannot": (adapter(fit="raise Unsupported('too short')"), Status.UNSUPPORTED, "too short"),
    "lacks too late": (
        adapter(predict="(_ for _ in ()).throw(Unavailable('no weights'))"),
        Status.FAILED,
        "raised Unavailable after its fit: no weights",
    ),
    "no memory": (adapter(fit="raise MemoryError"), Status.OUT_OF_MEMORY, "MemoryError"),
    "NaN": (
        adapter(predict="np.full((len(p.X), 1), np.nan)"),
        Status.INVALID_OUTPUT,
        "59 of 59 predictions are not finite",
    ),
    "one infinity": (
        adapter(predict="np.array([[np.inf]] + [[0.0]] * (len(p.X) - 1))"),
        Status.INVALID_OUTPUT,
        "1 of 59 predictions are not finite",
    ),
    "a flat shape": (
        adapter(predict="np.zeros(len(p.X))"),
        Status.INVALID_OUTPUT,
        "predictions of shape (118,); (118, 1) expected",
    ),
    "too many rows": (
        adapter(predict="np.zeros((10 * len(p.X), 1))"),
        Status.INVALID_OUTPUT,
        "predictions of shape (1180, 1)",
    ),
    "text for numbers": (
        adapter(predict="'hello'"),
        Status.INVALID_OUTPUT,
        "predictions of shape (); (118, 1) expected",
    ),
    "two equations": (
        adapter(equations="['0', '1']"),
        Status.INVALID_OUTPUT,
        "2 equations; 1 expected",
    ),
    "a string of equations": (adapter(equations="'u0'"), Status.FAILED, "it must give a list"),
    "no equation": (adapter(equations="['hello world']"), Status.INVALID_OUTPUT, ""),
    "an unknown name": (adapter(equations="['u7']"), Status.INVALID_OUTPUT, "u7"),
    "an attack": (
        adapter(equations='[\'__import__("os").system("touch /tmp/mdbench-was-attacked")\']'),
        Status.INVALID_OUTPUT,
        "",
    ),
    "a tower": (adapter(equations="['9**9**9**9']"), Status.INVALID_OUTPUT, ""),
    "a megabyte": (adapter(equations="['u0+' * 350_000 + '1']"), Status.INVALID_OUTPUT, ""),
    "exits": (adapter(fit="os._exit(3)"), Status.CRASHED, "exit status 3"),
    "exits with success": (adapter(fit="os._exit(0)"), Status.CRASHED, "exit status 0"),
    **{
        f"raises SystemExit({code})": (
            adapter(fit=f"raise SystemExit({code})"),
            Status.CRASHED,
            f"exit status {status} ",
        )
        for code, status in {"": 0, "0": 0, "7": 7, "'no data'": 1, "2**80": 0, "-1": 255}.items()
    },
    "is killed": (adapter(fit="os.kill(os.getpid(), 9)"), Status.CRASHED, "SIGKILL"),
    "segfaults": (adapter(fit="ctypes.string_at(0)"), Status.CRASHED, "SIGSEGV"),
    "aborts": (adapter(fit="os.abort()"), Status.CRASHED, "SIGABRT"),
    "raises KeyboardInterrupt": (
        adapter(fit="raise KeyboardInterrupt"),
        Status.CRASHED,
        "exit status 1",
    ),
}


@pytest.fixture(scope="module")
def failures(
    tmp_path_factory: pytest.TempPathFactory, data_home: Path
) -> dict[str, tuple[Record, Record]]:
    """The record of each case, and that of an honest job after it, all of one worker."""
    workspace = make_workspace(tmp_path_factory.mktemp("bad"), data_home)
    texts = [text for bad, _, _ in BAD.values() for text in (bad, ZERO)]
    ended = one_worker(workspace, texts)
    return dict(zip(BAD, zip(ended[::2], ended[1::2], strict=True), strict=True))


@pytest.mark.parametrize("name", BAD)
def test_every_failure_has_its_cause(name: str, failures: dict[str, tuple[Record, Record]]) -> None:
    _, status, reason = BAD[name]
    bad, good = failures[name]
    assert bad.status is status, bad.reason
    assert reason in bad.reason
    assert bad.equations is None
    assert "nmse" not in bad.metrics
    assert good.status is Status.OK
    assert not Path("/tmp/mdbench-was-attacked").exists()


def test_an_import_that_fails_fails_every_job_and_no_other_method(workspace: Workspace) -> None:
    add_method(workspace, "bad", "raise RuntimeError('at import')")
    add_method(workspace, "zero")
    summary = run(workspace, "bad", "zero", datasets=("rc-circuit", "velocity-falling-object"))
    *bad, one, other = summary.records
    assert [record.status for record in bad] == [Status.FAILED] * 2
    assert all("RuntimeError: at import" in record.reason for record in bad)
    assert [one.status, other.status] == [Status.OK] * 2


def test_a_limit_of_time_is_that_of_the_clock(workspace: Workspace) -> None:
    add_method(workspace, "sleeps", adapter(fit="time.sleep(1000)"))
    record = only(run(workspace, "sleeps", timeout_s=0.5))
    assert (record.status, record.reason) == (Status.TIMEOUT, "ran longer than 0.5 s")
    assert known(record.measured.wall_s) >= 0.5


def test_timeout_is_enforced_on_a_loop_that_ignores_signals(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    add_method(
        workspace,
        "stubborn",
        adapter(
            fit="[signal.signal(s, signal.SIG_IGN) for s in (2, 15)]\n"
            "        child = subprocess.Popen(['sleep', '1000.125'])\n"
            "        while True: pass"
        ),
    )
    begun = []

    def loops(_: object) -> bool:
        begun.append(command_is_running(b"sleep\0001000.125"))
        return begun[-1]

    out_of_time(monkeypatch, loops)
    record = only(run(workspace, "stubborn", wrapped=False))  # which waits for no end but by a kill
    assert True in begun
    assert (record.status, record.reason) == (Status.TIMEOUT, "ran longer than 100 s")
    assert wait_until(lambda: not command_is_running(b"sleep\0001000.125"))


def command_is_running(words: bytes) -> bool:
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            if words in (folder / "cmdline").read_bytes() and is_running(int(folder.name)):
                return True
    return False


FRONT = """
import time
import numpy as np
from mdbench.worker import Candidate

class Adapter:
    def __init__(self, *, seed, threads): ...
    def fit(self, p):
        self.p = p
    def candidates(self):
        for slope in {slopes}:
            yield Candidate((f"{{slope}}*u0",), slope * self.p.X)
            if slope == {halts_after}:
                time.sleep(1000)
    def choose(self, indices):
        (self.index,) = indices
    def predict(self, p):
        return {slopes}[self.index] * p.X
    def equations(self):
        return [f"{{{slopes}[self.index]}}*u0"]
"""


def test_job_that_runs_out_of_time_is_scored_from_its_best(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    slopes = [0.5, -0.36, 2.0, 3.0]
    add_method(workspace, "slow", FRONT.format(slopes=slopes, halts_after=2.0), tuning="front")
    out_of_time(monkeypatch, lambda attempt: attempt._pool.count == 3)
    record = only(run(workspace, "slow", datasets=("harmonic-oscillator",)))
    assert record.status is Status.TIMEOUT  # its one equation is no answer for two targets
    record = only(run(workspace, "slow"))
    assert record.status is Status.PARTIAL
    assert record.equations == ("-0.36*u0",)
    assert record.selection is not None
    assert record.selection.candidates == 3
    assert record.metrics["nmse"] is not None


def costly(workspace: Workspace, pause: float) -> None:
    # Each of these keeps SymPy at work until its limit; a hundred would for minutes.
    add_method(
        workspace,
        "costly",
        f"""
        import time
        import numpy as np
        from mdbench.worker import Candidate

        class Adapter:
            def __init__(self, *, seed, threads): ...
            def fit(self, p):
                self.zeros = np.zeros(p.Y.shape)
            def candidates(self):
                yield Candidate(("0",), self.zeros)
                for number in range(100):
                    nested = "tanh(" * 62 + "u0" + ")" * 62
                    yield Candidate((f"{{number}} + {{nested}}",), self.zeros)
                time.sleep({pause})
            def choose(self, indices):
                assert indices == [0]
            def predict(self, p):
                return np.zeros((len(p.X), 1))
            def equations(self):
                return ["0"]
        """,
        tuning="front",
    )


@pytest.mark.parametrize(("pause", "status"), [(0.0, Status.OK), (100.0, Status.PARTIAL)])
def test_reading_candidates_is_bounded_and_not_the_methods_time(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch, pause: float, status: Status
) -> None:
    impatient = LimitedProcess(equation.SYMPY_WORKER, 1, equation.MAX_BYTES)
    monkeypatch.setattr(equation, "_child", impatient)
    monkeypatch.setattr(session, "_EVALUATION_SECONDS", 2.0)
    costly(workspace, pause)
    weighed = []
    choose = session.JobSession._choose

    def watched(self: session.JobSession) -> Selection | None:
        before, begin = self._exchange.deadline, time.monotonic()
        choice = choose(self)
        weighed.append((self._exchange.deadline - before, time.monotonic() - begin))
        return choice

    monkeypatch.setattr(session.JobSession, "_choose", watched)
    if pause:
        out_of_time(monkeypatch, lambda attempt: attempt._pool.count == 101)
    record = only(run(workspace, "costly"))
    impatient.end()
    ((gained, took),) = weighed
    assert took / 2 < gained <= took  # what is weighed for is given back, once the job stands
    assert record.status is status
    assert record.equations == ("0",)
    assert record.selection is not None
    assert (record.selection.candidates, record.selection.invalid) == (101, 100)


PER_TARGET = """
import numpy as np
from mdbench.worker import Candidate

class Adapter:
    OFFERS = [(0, "2.0*u0"), (0, "u1"), (0, "0"), (1, "-2.1*u0"), (1, "u1 + u0")]
    def __init__(self, *, seed, threads): ...
    def fit(self, p):
        self.X = p.X
    def values(self, X, text):
        return eval(text, {"u0": X[:, 0], "u1": X[:, 1]}) * np.ones(len(X))
    def candidates(self):
        for target, text in self.OFFERS:
            yield Candidate((text,), self.values(self.X, text), target=target)
    def choose(self, indices):
        self.texts = [self.OFFERS[index][1] for index in indices]
    def predict(self, p):
        return np.column_stack([self.values(p.X, text) for text in self.texts])
    def equations(self):
        return self.texts
"""


def test_each_target_has_a_front_of_its_own(workspace: Workspace) -> None:
    add_method(workspace, "front", PER_TARGET, tuning="front")
    record = only(run(workspace, "front", datasets=("harmonic-oscillator",), save_pareto=True))
    assert record.equations == ("u1", "-2.1*u0")
    assert record.selection is not None
    assert (record.selection.candidates, record.selection.invalid) == (5, 0)
    assert record.front is not None
    assert {(entry.target, entry.equations) for entry in record.front} == {
        (0, ("u1",)),
        (1, ("-2.1*u0",)),
    }
    assert record.metrics["agreement"] == pytest.approx(0.0, abs=1e-20)


def test_front_is_picked_by_fitness_and_kept_on_request(workspace: Workspace) -> None:
    slopes = [0.5, -0.36, 2.0]
    add_method(workspace, "front", FRONT.format(slopes=slopes, halts_after=None), tuning="front")
    plain = only(run(workspace, "front"))
    assert plain.equations == ("-0.36*u0",)
    assert plain.front is None
    kept = only(run(workspace, "front", save_pareto=True))
    assert kept.front is not None
    assert [entry.equations for entry in kept.front] == [("-0.36*u0",)]
    assert kept.equations == plain.equations


GRID = """
import numpy as np

class Adapter:
    def __init__(self, *, seed, threads, slope):
        if slope == 7.0:
            raise ValueError("not seven")
        self.slope = slope
    def fit(self, p):
        print("fit on", len(p.X))
        assert set(p.arrays) == {"X", "Y"}
    def predict(self, p):
        print("predict", len(p.X))
        assert set(p.arrays) == {"X"}
        return self.slope * p.X if self.slope != 8.0 else np.full(p.X.shape, np.nan)
    def equations(self):
        return [f"{self.slope}*u0"]
"""


def test_grid_fits_every_setting_and_the_chosen_one_again(workspace: Workspace) -> None:
    add_method(workspace, "grid", GRID, tuning="grid", more="[grid]\nslope = [7.0, 1.0, -0.4, 8.0]")
    record = only(run(workspace, "grid"))
    assert record.status is Status.OK
    assert record.hyperparameters == {"slope": -0.4}
    assert record.selection is not None
    assert (record.selection.candidates, record.selection.invalid) == (3, 1)
    assert log_of(workspace, record).decode().splitlines()[-2:] == ["fit on 118", "predict 118"]
    assert log_of(workspace, record).count(b"fit on 118\n") == 4
    published = only(run(workspace, "grid", protocol=Protocol.PUBLISHED))
    assert log_of(workspace, published).count(b"fit on 96\n") == 3
    assert log_of(workspace, published).count(b"fit on 120\n") == 1


def test_all_settings_failing_is_a_failure_with_the_first_cause(workspace: Workspace) -> None:
    add_method(workspace, "grid", GRID, tuning="grid", more="[grid]\nslope = [7.0, 7.0]")
    record = only(run(workspace, "grid"))
    assert record.status is Status.FAILED
    assert "all 2 settings failed, the first with: ValueError: not seven" in record.reason


def test_zero_never_wins_under_the_published_protocol(workspace: Workspace) -> None:
    text = GRID.replace('f"{self.slope}*u0"', '"0" if self.slope == 0.0 else f"{self.slope}*u0"')
    add_method(workspace, "grid", text, tuning="grid", more="[grid]\nslope = [0.0]")
    assert only(run(workspace, "grid")).equations == ("0",)
    record = only(run(workspace, "grid", protocol=Protocol.PUBLISHED))
    assert record.status is Status.INVALID_OUTPUT
    assert "zero" in record.reason


def test_loud_method_costs_a_capped_log(workspace: Workspace) -> None:
    add_method(
        workspace,
        "loud",
        adapter(fit="[sys.stdout.write('x' * 999_999 + chr(10)) for _ in range(100)]"),
    )
    record = only(run(workspace, "loud"))
    assert record.status is Status.OK
    log = log_of(workspace, record)
    assert len(log) < 2**20 + 200
    assert log.endswith(b"more bytes were printed and dropped]\n")


def test_logs_hold_their_own_jobs_words(workspace: Workspace) -> None:
    add_method(
        workspace, "talker", adapter(fit="print('rows', len(p.X), 'first', float(p.X[0, 0]))")
    )
    summary = run(workspace, "talker", datasets=("rc-circuit", "autocatalysis", "glider"))
    firsts = {log_of(workspace, r) for r in summary.records if r.status is Status.OK}
    assert len(firsts) == 2  # the glider has two states, and so fails
    assert all(text.count(b"rows 118") == 1 for text in firsts)


def test_same_command_twice_runs_nothing_again(workspace: Workspace) -> None:
    add_method(workspace, "zero")
    observer = Quiet()
    names = ("rc-circuit", "autocatalysis")
    first = run(workspace, "zero", datasets=names)
    second = run(workspace, "zero", datasets=names, observer=observer)
    assert (first.ran, second.ran, second.skipped) == (2, 0, 2)
    assert not observer.started
    assert observer.counts == (0, 2)
    assert second.records == first.records


def test_same_seed_gives_identical_records_but_for_times(workspace: Workspace) -> None:
    add_method(workspace, "grid", GRID, tuning="grid", more="[grid]\nslope = [1.0, -0.4]")
    changes: dict[str, Any] = {"with_noise": True, "seeds": (0, 1), "save_pareto": True}
    one = run(workspace, "grid", result_dir=workspace.root / "a", **changes)
    two = run(workspace, "grid", result_dir=workspace.root / "b", n_jobs=2, **changes)
    assert [comparable(r) for r in one.records] == [comparable(r) for r in two.records]
    assert len(one.records) == 10


def test_all_that_could_change_a_result_is_in_its_key(workspace: Workspace) -> None:
    folder = add_method(workspace, "zero")
    others: dict[str, dict[str, Any]] = {
        "seed": {"seeds": (1,)},
        "timeout_s": {"timeout_s": 19.0},
        "snr_db": {"snr": (40.0,)},
        "protocol": {"protocol": Protocol.PUBLISHED},
        "dataset": {"datasets": ("autocatalysis",)},
        "adapter": {},
        "environment": {},
    }
    before = only(run(workspace, "zero"))
    for part, changes in others.items():
        if part == "adapter":
            with (folder / "adapter.py").open("a", encoding="utf-8") as file:
                file.write("# another\n")
        elif part == "environment":
            (folder / "requirements.lock").write_text("# another\n", encoding="utf-8")
        summary = run(workspace, "zero", **changes)
        assert summary.ran == 1, part
        after = only(summary)
        differing = {k for k in after.key_parts if after.key_parts[k] != before.key_parts.get(k)}
        assert part in differing
        assert after.key != before.key
        if not changes:
            before = after


def test_failures_are_run_again_only_on_request(workspace: Workspace, tmp_path: Path) -> None:
    flag = tmp_path / "flag"
    add_method(workspace, "moody", adapter(fit=f"assert os.path.exists({str(flag)!r}), 'not yet'"))
    assert only(run(workspace, "moody", wrapped=False)).status is Status.FAILED
    flag.touch()
    assert run(workspace, "moody").ran == 0
    assert run(workspace, "moody", rerun=frozenset({Status.TIMEOUT})).ran == 0
    again = run(workspace, "moody", rerun=frozenset({Status.FAILED}), wrapped=False)
    assert (again.ran, only(again).status) == (1, Status.OK)
    stored = RecordStore(workspace.root / "results" / "moody-ode.jsonl").read()
    assert [record.status for record in stored] == [Status.FAILED, Status.OK]


def test_unavailable_environment_is_tried_again(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    add_method(workspace, "zero")

    def refuse(*_: object) -> None:
        raise UnavailableError("no Julia here", "install Julia")

    with monkeypatch.context() as patch:
        patch.setattr(HereRuntime, "prepare", refuse)
        record = only(run(workspace, "zero"))
    assert record.status is Status.UNAVAILABLE
    assert "no Julia here" in record.reason
    again = run(workspace, "zero")
    assert only(again).status is Status.OK
    assert len(again.records) == 1


def test_unavailable_at_import_is_tried_again(workspace: Workspace) -> None:
    says = "from mdbench.worker import Unavailable\nraise Unavailable('fetch the weights')\n"
    folder = add_method(workspace, "lacking", says)
    first = only(run(workspace, "lacking"))
    assert (first.status, first.reason) == (Status.UNAVAILABLE, "fetch the weights")
    assert only(run(workspace, "lacking")).status is Status.UNAVAILABLE
    (folder / "adapter.py").write_text(adapter(), encoding="utf-8")
    assert only(run(workspace, "lacking")).status is Status.OK


def test_what_is_missing_is_missing_for_every_problem(workspace: Workspace) -> None:
    """A method does not get rid of a problem that is too hard by saying that it lacks something."""
    says = "if len(p.variables) > 1: raise Unavailable('no weights')"
    add_method(workspace, "picky", adapter(fit=says))
    easy, hard = run(workspace, "picky", datasets=("rc-circuit", "harmonic-oscillator")).records
    assert easy.status is Status.OK
    assert hard.status is Status.FAILED
    assert "after another job was done: no weights" in hard.reason
    add_method(workspace, "lacking", adapter(fit="print('here'); raise Unavailable('no weights')"))
    records = run(workspace, "lacking", datasets=("rc-circuit", "harmonic-oscillator")).records
    assert [record.status for record in records] == [Status.UNAVAILABLE] * 2
    assert [record.reason for record in records] == ["no weights"] * 2
    assert [record.log is None for record in records] == [False, True]  # the second was not tried


def test_declared_limit_is_not_run(workspace: Workspace) -> None:
    limits = """
        [[limits]]
        dataset = "rc-*"
        reason = "circuits are not for it"
    """
    add_method(workspace, "zero", more=limits)
    record = only(run(workspace, "zero"))
    assert record.status is Status.UNSUPPORTED
    assert record.reason == "circuits are not for it"
    assert record.log is None


@pytest.mark.parametrize(
    ("more", "fresh_sandbox", "process"),
    [
        ("", False, "forked from one import"),
        ("fork_safe = false", False, "imports again: fork_safe is false"),
        ("", True, "a new sandbox for each job"),
    ],
)
def test_jobs_of_a_slot_share_one_worker_where_they_may(
    workspace: Workspace,
    monkeypatch: pytest.MonkeyPatch,
    *,
    more: str,
    fresh_sandbox: bool,
    process: str,
) -> None:
    add_method(workspace, "warm", more=more)
    started = []
    start = HereRuntime.start

    def counted(*given: Any, **options: Any) -> Any:
        started.append(given)
        return start(*given, **options)

    monkeypatch.setattr(HereRuntime, "start", counted)
    names = ("rc-circuit", "autocatalysis", "landau-equation")
    records = run(workspace, "warm", datasets=names, fresh_sandbox=fresh_sandbox).records
    assert [record.status for record in records] == [Status.OK] * 3, records[0].reason
    assert len(started) == (1 if process.startswith("forked") else 3)
    jobs = records[-1].runtime.details["jobs"]
    assert isinstance(jobs, dict)
    assert jobs["process"] == process


def test_a_record_is_made_while_the_next_job_runs(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = ("rc-circuit", "autocatalysis", "landau-equation")
    ended_before: list[int] = []

    class Counting(Quiet):
        def job_started(self, job: JobSpec) -> None:
            ended_before.append(len(self.ended))
            super().job_started(job)

    observer = Counting()
    judge = Ode.score

    def patient(self: Ode, task: EquationTask[Any], answer: Answer) -> Scores:
        following = names.index(task.dataset.name) + 2
        assert wait_until(lambda: len(observer.started) >= min(following, len(names)))
        return judge(self, task, answer)

    monkeypatch.setattr(Ode, "score", patient)
    add_method(workspace, "zero")
    summary = run(workspace, "zero", datasets=names, observer=observer)
    assert ended_before == [0, 0, 1]  # never more than one waits for its record
    assert [record.dataset for record in observer.ended] == list(names)
    assert all(record.metrics["identified"] == 0.0 for record in summary.records)
    stored = RecordStore(workspace.root / "results" / "zero-ode.jsonl").read()
    assert stored == summary.records


def test_a_record_that_cannot_be_written_ends_the_run_at_once(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    add_method(workspace, "slow", adapter(fit="time.sleep(0.0 if p.X[0, 0] > 5.0 else 1000.0)"))
    append = RecordWriter.append
    observer = Quiet()

    def refuse(self: RecordWriter, record: Record) -> None:
        if record.status is Status.OK:
            assert wait_until(lambda: len(observer.started) == 2)
            raise RecordsError("the disk is gone")
        append(self, record)

    names = ("rc-circuit", "autocatalysis", "landau-equation")
    with monkeypatch.context() as patch:
        patch.setattr(RecordWriter, "append", refuse)
        with pytest.raises(RecordsError, match="the disk is gone"):
            run(workspace, "slow", datasets=names, observer=observer)
    assert not children()
    assert len(observer.started) == 2
    (left,) = RecordStore(workspace.root / "results" / "slow-ode.jsonl").read()
    assert (left.dataset, left.status) == ("autocatalysis", Status.INTERRUPTED)


def test_interrupt_leaves_whole_records_and_the_same_command_goes_on(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    add_method(workspace, "slow", adapter())
    observer = Quiet()
    converse = session.JobSession._converse

    def held_up(self: session.JobSession) -> JobResult:
        if len(observer.started) == 3:  # until it is interrupted
            assert wait_until(lambda: not self._worker.alive)
        return converse(self)

    main = threading.main_thread().ident
    assert main is not None

    def press_ctrl_c() -> None:
        wait_until(lambda: len(observer.ended) >= 2)
        signal.pthread_kill(main, signal.SIGINT)

    names = ("rc-circuit", "autocatalysis", "landau-equation", "overdamped-bead", "photons*")
    thread = threading.Thread(target=press_ctrl_c)
    thread.start()
    with monkeypatch.context() as patch:
        patch.setattr(session.JobSession, "_converse", held_up)
        summary = run(workspace, "slow", datasets=names, observer=observer)
    thread.join()
    assert summary.interrupted
    assert (summary.ran, summary.left) == (3, 3)
    assert observer.ended[-1].status is Status.INTERRUPTED
    rest = run(workspace, "slow", datasets=names)
    assert rest.left == 0
    assert rest.skipped == len([r for r in observer.ended if r.status is Status.OK])
    assert [record.status for record in rest.records] == [Status.OK] * 5


def test_a_runtime_serves_one_run_after_the_other_even_if_one_was_interrupted(
    workspace: Workspace,
) -> None:
    class Making(HereRuntime):
        def prepare(self, method: Method) -> Prepared:
            with self._programs.track(), running(["true"]) as process:
                process.wait()
            return super().prepare(method)

    runtime = Making()
    for number, name in enumerate(("first", "second", "third")):
        add_method(workspace, name, adapter())
        asked = RunOptions(
            (name,), "ode", ("rc-circuit",), n_jobs=1, result_dir=workspace.root / "results"
        )
        if number == 2:
            runtime.interrupt()
        (record,) = execute(make_plan(asked, workspace), runtime, Quiet()).records
        assert record.status is Status.OK, record.reason


def test_kill_9_of_the_bench_leaves_nothing_running(workspace: Workspace) -> None:
    add_method(workspace, "long", adapter(fit="print('began', flush=True); time.sleep(1000)"))
    code = (
        "import sys; sys.path.insert(0, sys.argv[1])\n"
        "from pathlib import Path\n"
        "from harness import HereRuntime, Quiet\n"
        "from harness import execute\n"
        "from mdbench.runs.plan import make_plan\n"
        "from mdbench.runs.study import RunOptions\n"
        "from mdbench.workspace import Workspace\n"
        "place = Workspace(Path(sys.argv[2]), Path(sys.argv[3]))\n"
        "options = RunOptions(('long',), 'ode', ('rc-circuit',), result_dir=place.root / 'r')\n"
        "execute(make_plan(options, place), HereRuntime(wrapped=False), Quiet())\n"
    )
    bench = subprocess.Popen(
        [
            sys.executable,
            "-c",
            code,
            str(ROOT / "tests" / "support"),
            str(workspace.root),
            str(workspace.home),
        ],
        cwd=ROOT,
    )
    try:
        logs = workspace.root / "r" / "logs" / "long-ode"
        assert wait_until(lambda: any(each.stat().st_size for each in logs.glob("*")))
        below = processes.tree(bench.pid)
        assert below
    finally:
        bench.kill()
        bench.wait()
    assert wait_until(lambda: not any(map(is_running, below)))
    add_method(workspace, "zero")
    assert only(run(workspace, "zero")).status is Status.OK


def test_where_nothing_can_be_scored_there_is_no_record(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    add_method(workspace, "zero")
    with monkeypatch.context() as patch:
        # More than a limit can be: then no answer had a score, under the same key.
        asked = simulation._child.module
        patch.setattr(simulation, "_child", LimitedProcess(asked, 1, 1 << 63))
        with pytest.raises(ScorerError, match="Nothing can be scored here"):
            run(workspace, "zero")
    assert RecordStore(workspace.root / "results" / "zero-ode.jsonl").read() == []
    assert only(run(workspace, "zero")).metrics["complexity"] == 1


def test_two_runs_on_one_results_file(workspace: Workspace) -> None:
    add_method(workspace, "zero")
    file = workspace.root / "results" / "zero-ode.jsonl"
    with RecordStore(file).open_for_writing(), pytest.raises(RecordsError, match=str(os.getpid())):
        run(workspace, "zero")
    assert only(run(workspace, "zero")).status is Status.OK


def test_torn_tail_is_mended_and_its_job_run_again(workspace: Workspace) -> None:
    add_method(workspace, "zero")
    names = ("rc-circuit", "autocatalysis")
    run(workspace, "zero", datasets=names)
    file = workspace.root / "results" / "zero-ode.jsonl"
    whole = file.read_bytes()
    file.write_bytes(whole[:-20])
    observer = Quiet()
    summary = run(workspace, "zero", datasets=names, observer=observer)
    assert summary.ran == 1
    assert "torn last line" in observer.messages[0]
    assert len(file.read_bytes().splitlines()) == 2
    for line in file.read_bytes().splitlines():
        json.loads(line)


def test_newer_schema_is_left_alone(workspace: Workspace) -> None:
    add_method(workspace, "zero")
    run(workspace, "zero")
    file = workspace.root / "results" / "zero-ode.jsonl"
    newer = file.read_bytes().replace(b'{"schema":%d' % SCHEMA, b'{"schema":999')
    assert newer != file.read_bytes()
    file.write_bytes(newer)
    with pytest.raises(RecordsError, match="999"):
        run(workspace, "zero")
    assert file.read_bytes() == newer


def test_a_bad_file_of_a_folder_costs_only_itself(workspace: Workspace, tmp_path: Path) -> None:
    add_method(workspace, "zero")
    folder = tmp_path / "mine"
    folder.mkdir()
    t = np.linspace(0, 1, 60)
    np.savez(folder / "good.npz", t=t, u=t[:, None], du=np.ones((60, 1)))
    np.savez(folder / "bad.npz", t=t, u=np.full((60, 1), np.nan), du=np.ones((60, 1)))
    with pytest.raises(MdbenchError, match=r"bad\.npz"):
        run(workspace, "zero", datasets=("bad",), dataset_path=folder)
    assert RecordStore(workspace.root / "results" / "zero-ode.jsonl").read() == []
    record = only(run(workspace, "zero", datasets=(), dataset_path=folder))
    assert record.dataset == "good"
    assert record.truth is None
    assert record.target_source == "file"
    assert record.dataset_path == os.path.relpath(folder)


def test_test_data_are_sealed_until_the_last_fit_is_done(workspace: Workspace) -> None:
    look = "print(sorted((f, sorted(np.load(f).files)) for f in os.listdir('.') if f[-1] == 'z'))"
    add_method(
        workspace,
        "curious",
        f"""
        import os
        import numpy as np

        class Adapter:
            def __init__(self, *, seed, threads, slope):
                self.slope = slope
            def fit(self, p):
                {look}
            def predict(self, p):
                {look}
                return self.slope * p.X
            def equations(self):
                return [f"{{self.slope}}*u0"]
        """,
        tuning="grid",
        more="[grid]\nslope = [-0.4]",
    )
    record = only(run(workspace, "curious"))
    assert record.status is Status.OK
    train, validation = "('train.npz', ['X', 'Y'])", "('validation.npz', ['X'])"
    refit, test = "('refit.npz', ['X', 'Y'])", "('test.npz', ['X'])"
    assert log_of(workspace, record).decode().splitlines() == [
        f"[{train}, {validation}]",
        f"[{refit}, {train}, {validation}]",
        f"[{refit}, {test}, {train}, {validation}]",
    ]


def write_npz(path: Path) -> None:
    t = np.linspace(0, 1, 60)
    np.savez(path, t=t, u=np.exp(-t)[:, None], du=-np.exp(-t)[:, None])


def test_equal_data_under_two_names_are_two_jobs(workspace: Workspace, tmp_path: Path) -> None:
    add_method(workspace, "zero")
    folder = tmp_path / "mine"
    folder.mkdir()
    names = {"a", "b", "x" * 240, "new\nline"}
    for name in names:
        write_npz(folder / f"{name}.npz")
    summary = run(workspace, "zero", datasets=(), dataset_path=folder)
    assert {r.dataset for r in summary.records} == names
    assert len({r.key for r in summary.records}) == 4
    assert {r.status for r in summary.records} == {Status.OK}
    again = run(workspace, "zero", datasets=("b",), dataset_path=folder)
    assert (again.ran, only(again).dataset) == (0, "b")


def test_exported_data_have_a_key_of_their_own(workspace: Workspace, tmp_path: Path) -> None:
    add_method(workspace, "zero")
    own = only(run(workspace, "zero"))
    datatypes.find("ode", workspace.datasets / "ode", workspace.arrays / "ode").write_all(
        tmp_path / "out"
    )
    exported = only(run(workspace, "zero", dataset_path=tmp_path / "out" / "rc-circuit"))
    assert own.key != exported.key
    assert (exported.truth, exported.target_source) == (None, "file")


def test_all_bad_files_are_named_at_once(workspace: Workspace, tmp_path: Path) -> None:
    add_method(workspace, "zero")
    folder = tmp_path / "mine"
    folder.mkdir()
    for name in ("bad", "worse"):
        (folder / f"{name}.npz").write_bytes(b"no data")
    with pytest.raises(MdbenchError, match=r"2 datasets cannot be used(.|\n)*bad(.|\n)*worse"):
        run(workspace, "zero", datasets=(), dataset_path=folder)


LIAR = """
import numpy as np
from mdbench.worker import Candidate

class Adapter:
    def __init__(self, *, seed, threads): ...
    def fit(self, p):
        self.stopped_early = {early}
        self.zeros = np.zeros(p.Y.shape)
    def candidates(self):
        yield Candidate(("0",), self.zeros)
    def choose(self, indices): ...
    def predict(self, p):
        return np.full((len(p.X), 1), {value}.0)
    def equations(self):
        return ["{value}"]
"""


def test_the_answer_must_be_the_candidate_chosen(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    end, waits = JobExchange.end, []

    def ended(self: JobExchange, seconds: float) -> None:
        waits.append(seconds)
        end(self, seconds)

    monkeypatch.setattr(JobExchange, "end", ended)
    add_method(workspace, "liar", LIAR.format(value=7, early=False), tuning="front")
    record = only(run(workspace, "liar"))
    assert record.status is Status.INVALID_OUTPUT
    assert record.reason == "the answer is not the candidate chosen: 0"
    assert waits == [0.0]  # the job waits for an order that will not come


def test_a_fit_that_ended_early_is_partial(workspace: Workspace) -> None:
    add_method(workspace, "early", LIAR.format(value=0, early=True), tuning="front")
    record = only(run(workspace, "early"))
    assert record.status is Status.PARTIAL
    assert "ended its fit early, for the limit of 100 s" in record.reason
    assert record.metrics["nmse"] == pytest.approx(1.0)


def test_a_job_that_dies_while_it_waits_harms_no_other(workspace: Workspace) -> None:
    add_method(
        workspace,
        "mortal",
        """
        import os, signal, threading
        import numpy as np
        from mdbench.worker import Candidate

        SLOW = " + ".join(f"tanh(u0*{k})" for k in range(1, 200))

        class Adapter:
            def __init__(self, *, seed, threads): ...
            def fit(self, p):
                self.zeros = np.zeros(p.Y.shape)
                if p.X[0, 0] > 5.0:
                    threading.Timer(0.05, os.kill, (os.getpid(), signal.SIGSEGV)).start()
            def candidates(self):
                yield Candidate((SLOW,), self.zeros)
            def choose(self, indices): ...
            def predict(self, p):
                return sum(np.tanh(p.X * k) for k in range(1, 200))
            def equations(self):
                return [SLOW]
        """,
        tuning="front",
    )
    names = ("rc-circuit", "autocatalysis", "landau-equation")
    first, *others = run(workspace, "mortal", datasets=names).records
    assert (first.status, "SIGSEGV" in first.reason) == (Status.CRASHED, True)
    assert [record.status for record in others] == [Status.OK, Status.OK]


def test_jobs_share_no_home(workspace: Workspace) -> None:
    add_method(
        workspace,
        "nest",
        adapter(
            fit="import pathlib, tempfile\n"
            "        home = pathlib.Path.home() / 'cache'\n"
            "        print(home.exists(), len(os.listdir(tempfile.gettempdir())))\n"
            "        home.write_text('x'); tempfile.mkdtemp()"
        ),
    )
    summary = run(workspace, "nest", datasets=("rc-circuit", "autocatalysis"))
    assert [log_of(workspace, record) for record in summary.records] == [b"False 0\n"] * 2


@pytest.mark.parametrize("pool", ["spawn", "fork"])
def test_processes_of_a_method_find_the_workers_module(workspace: Workspace, pool: str) -> None:
    add_method(
        workspace,
        "pool",
        f"""
        import multiprocessing
        import numpy as np
        from concurrent.futures import ProcessPoolExecutor
        from mdbench.worker import Unsupported

        def square(x):
            return x * x

        class Adapter:
            def __init__(self, *, seed, threads): ...
            def fit(self, p):
                context = multiprocessing.get_context("{pool}")
                with ProcessPoolExecutor(2, mp_context=context) as executor:
                    assert list(executor.map(square, [2, 3])) == [4, 9]
            def predict(self, p):
                return np.zeros((len(p.X), 1))
            def equations(self):
                return ["0"]
        """,
    )
    record = only(run(workspace, "pool"))
    assert record.status is Status.OK, record.reason


def test_a_method_that_changes_its_folder_harms_no_other(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    wild_text = adapter(fit="import shutil; shutil.rmtree('scratch'); os.mkdir('test.npz')")
    add_method(workspace, "wild", wild_text)
    add_method(workspace, "zero")
    end, waits = JobExchange.end, []

    def ended(self: JobExchange, patience: float) -> None:
        waits.append(patience)
        end(self, patience)

    monkeypatch.setattr(JobExchange, "end", ended)
    wild, zero = run(workspace, "wild", "zero", wrapped=False).records
    assert wild.status is Status.INVALID_OUTPUT
    assert "changed its job's folder" in wild.reason
    assert waits == [0.0, END_SECONDS]  # it waits for orders, and is not waited for
    assert zero.status is Status.OK


def test_an_adapter_that_is_edited_during_the_run_stops_its_own_jobs(workspace: Workspace) -> None:
    folder = add_method(workspace, "edited", more="fork_safe = false")
    add_method(workspace, "zero")

    class Editing(Quiet):
        def job_started(self, job: JobSpec) -> None:
            super().job_started(job)
            if job.algorithm == "edited":
                (folder / "new.py").touch()

    names = ("rc-circuit", "autocatalysis", "population-growth-naive")
    records = run(workspace, "edited", "zero", datasets=names, observer=Editing()).records
    assert [one.status for one in records if one.method == "zero"] == [Status.OK] * 3
    lost = [one for one in records if one.method == "edited"]
    assert [one.status for one in lost] == [Status.UNAVAILABLE] * 3
    assert all("was edited while the run was going on" in one.reason for one in lost)
    assert all("Give the same command again" in one.reason for one in lost)
    # They count for nothing, and the next run does them with the files as they are.
    again = run(workspace, "edited", "zero", datasets=names)
    assert [one.status for one in again.records if one.method == "edited"] == [Status.OK] * 3


@pytest.mark.parametrize("edit", ["lock", "folder"])
def test_a_lock_that_is_edited_and_a_method_that_is_removed_while_they_wait(
    workspace: Workspace, edit: str
) -> None:
    add_method(workspace, "zero")
    folder = add_method(workspace, "zzz")

    class Editing(Quiet):
        def job_started(self, job: JobSpec) -> None:
            super().job_started(job)
            if job.algorithm == "zero" and edit == "lock":
                (folder / "requirements.lock").write_text("# of other packages\n")
            elif job.algorithm == "zero":
                shutil.rmtree(folder)

    zero, lost = run(workspace, "zero", "zzz", observer=Editing()).records
    assert zero.status is Status.OK
    assert lost.status is Status.UNAVAILABLE  # and no failure of the method's
    assert "was edited while the run was going on" in lost.reason


@pytest.mark.parametrize(
    "bad", ["np.ma.masked_array(np.zeros((len(p.X), 1)), True)", "np.zeros((len(p.X), 1)) + 1j"]
)
def test_predictions_that_are_no_plain_numbers(workspace: Workspace, bad: str) -> None:
    add_method(workspace, "odd", adapter(predict=bad))
    assert only(run(workspace, "odd")).status is Status.FAILED


UNSURE = """
import numpy as np
from mdbench.worker import Alternative

class Adapter:
    def __init__(self, *, seed, threads): ...
    def fit(self, p): ...
    def predict(self, p):
        return np.zeros((len(p.X), 1))
    def equations(self):
        return ["0"]
    def alternatives(self):
        yield Alternative(0, "0.25*u0", worse=0.5, log_likelihood=-2.0)
        yield Alternative(7, "1", worse=0.5)  # there is no such target
        yield Alternative(-1, "1", worse=0.5)
        yield Alternative(0, "u0" * 9000, worse=0.5)
        yield Alternative(0, "1", worse=float("nan"))
        yield Alternative(0, "1", worse=0.5, log_likelihood=float("inf"))
        raise RuntimeError("no more")
"""


def test_alternatives_are_kept_in_the_record_and_not_scored(workspace: Workspace) -> None:
    add_method(workspace, "unsure", UNSURE)
    add_method(workspace, "sure", ZERO)
    unsure, sure = only(run(workspace, "unsure")), only(run(workspace, "sure"))
    (one,) = unsure.alternatives
    assert (one.target, one.equation, one.worse, one.log_likelihood) == (0, "0.25*u0", 0.5, -2.0)
    assert sure.alternatives == ()
    assert unsure.metrics == sure.metrics
    assert "(1 alternative)" in shown_rows(unsure)
    assert "alternative" not in shown_rows(sure)
    assert summary_line(unsure, Ode.metrics).endswith("1 alternative")


def shown_rows(record: Record) -> str:
    text = io.StringIO()
    Console(width=200, file=text).print(run_table([record], cut=False))
    return text.getvalue()
