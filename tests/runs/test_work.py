"""A limit of work is kept, whatever the job does, and ends it as a limit of time does."""

from __future__ import annotations

import os
import time
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from harness import HereRuntime, Quiet, add_method, execute, known, make_workspace

from mdbench.errors import UsageError
from mdbench.records import Status
from mdbench.runs.calibration import WorkMeter, last_words
from mdbench.runs.exchange import JobExchange, JobStoppedError
from mdbench.runs.options import read_work
from mdbench.runs.plan import make_plan
from mdbench.runs.spec import JobSpec, backstop_s
from mdbench.runs.study import RunOptions
from mdbench.runtimes.base import JobFolder
from mdbench.runtimes.usage import can_make
from mdbench.worker.budget import SPEED, SPEED_FILE

if TYPE_CHECKING:
    from pathlib import Path

    from mdbench.records import Record


class Gauge:
    """A gauge whose speed is set."""

    def __init__(self, speed: float = 1.0, cores: int = 1) -> None:
        self.speed, self._cores = speed, cores
        self.samples = 0

    @property
    def most_at_once(self) -> float:
        return self.speed * self._cores

    def sample_if_due(self) -> bool:
        self.samples += 1
        return True


def test_each_bit_of_cpu_time_counts_at_the_speed_of_its_moment() -> None:
    used = [0.0]
    gauge = Gauge(2.0)
    meter = WorkMeter(lambda: used[0], gauge, None)  # type: ignore[arg-type]
    used[0] = 3.0
    assert meter.update() == 6.0
    gauge.speed = 0.5
    used[0] = 7.0
    assert meter.update() == 8.0
    assert meter.speed == pytest.approx(8.0 / 7.0)
    assert meter.before == 2.0
    used[0] = 6.0  # of a process that has ended unseen: what was counted stays
    assert meter.update() == 8.0


def test_looks_come_so_close_that_no_core_passes_the_limit_unseen() -> None:
    used = [0.0]
    meter = WorkMeter(lambda: used[0], Gauge(2.0, cores=4), 10.0)  # type: ignore[arg-type]
    assert meter.look() == 0.15
    used[0] = 4.8
    assert meter.look() == pytest.approx(0.4 / 8)
    used[0] = 4.9999
    found = [(0 < meter.look() < 0.01, meter.is_over)]
    used[0] = 5.0
    found.append((meter.look() == 0.0, meter.is_over))
    assert found == [(True, False), (True, True)]
    assert meter.look(allowed=1.0) > 0  # the last candidates may take a little more


def test_a_sample_of_the_speed_is_taken_only_where_there_is_time() -> None:
    used = [0.0]
    gauge = Gauge(cores=2)
    meter = WorkMeter(lambda: used[0], gauge, 10.0)  # type: ignore[arg-type]
    meter.look()
    assert gauge.samples == 1
    used[0] = 9.8
    meter.look()
    assert gauge.samples == 1


def test_the_job_is_given_the_mean_speed(tmp_path: Path) -> None:
    used = [0.0]
    gauge = Gauge(1.0)
    meter = WorkMeter(lambda: used[0], gauge, 100.0)  # type: ignore[arg-type]
    folder = os.open(tmp_path, os.O_RDONLY)
    meter.share_speed(folder)
    os.close(folder)
    assert SPEED.unpack((tmp_path / SPEED_FILE).read_bytes()) == (1.0,)
    gauge.speed = 3.0
    used[0] = 2.0
    meter.look()
    assert SPEED.unpack((tmp_path / SPEED_FILE).read_bytes()) == (3.0,)
    (tmp_path / SPEED_FILE).unlink()  # the method may do that: it hurts only itself
    meter.look()
    meter.close()


def test_the_last_words_are_within_the_precision_of_the_limit() -> None:
    assert last_words(1.0) < 0.2
    assert last_words(1000.0) < 0.02 * 1000.0


@pytest.mark.parametrize("text", ["0", "-1", "nan", "inf", "", "30s", "1e999", "ten"])
def test_a_limit_of_work_is_a_number_above_0(text: str) -> None:
    with pytest.raises(UsageError) as caught:
        read_work("--work", text)
    assert caught.value.message == f"--work is {text!r}."
    assert "reference seconds above 0, e.g. 30" in known(caught.value.hint)


def jobs(place: Any, **given: Any) -> JobSpec:
    options = RunOptions.of(
        {"algorithm": "m", "data_type": "ode", "dataset": "rc-circuit", **given}
    )
    (job,) = make_plan(options, place).jobs
    return job


def test_time_and_work_go_together(tmp_path: Path) -> None:
    place = make_workspace(tmp_path)
    add_method(place, "m", SPENDS, tuning="front")
    alone = jobs(place, work="5")
    assert (alone.work_s, alone.timeout_s) == (5.0, backstop_s(5.0))
    both = jobs(place, work="5", timeout="7")
    assert (both.work_s, both.timeout_s) == (5.0, 7.0)
    timed = jobs(place, timeout="7")
    assert (timed.work_s, timed.timeout_s) == (None, 7.0)
    assert (alone.usual_s, both.usual_s, timed.usual_s) == (5.0, 5.0, 7.0)
    keys = [job.key_parts() for job in (alone, both, timed)]
    assert [parts.get("work_s") for parts in keys] == ["5", "5", None]


def test_a_data_type_has_work_where_nobody_asks_for_another(tmp_path: Path) -> None:
    """Tables of measurements have 30 reference seconds; a method's own work comes first."""
    place = make_workspace(tmp_path)
    for name, own in (("m", ""), ("w", "work = 4.0\n")):
        method = add_method(place, name, SPENDS, tuning="front")
        toml = (method / "method.toml").read_text(encoding="utf-8").replace('"ode"', '"real"')
        (method / "method.toml").write_text(own + toml, encoding="utf-8")

    def asked(name: str = "m", **given: Any) -> tuple[float | None, float]:
        options = RunOptions.of(
            {"algorithm": name, "data_type": "real", "dataset": "kepler", "fold": "1", **given}
        )
        (job,) = make_plan(options, place).jobs
        return job.work_s, job.timeout_s

    assert asked() == (30.0, backstop_s(30.0))
    assert asked("w") == (4.0, backstop_s(4.0))
    assert asked(work="5") == (5.0, backstop_s(5.0))
    assert asked(timeout="7") == (None, 7.0)


def test_a_method_has_a_budget_in_work_of_its_own(tmp_path: Path) -> None:
    place = make_workspace(tmp_path)
    method = add_method(place, "m", SPENDS, tuning="front")
    toml = (method / "method.toml").read_text(encoding="utf-8")
    (method / "method.toml").write_text(f"work = 3.5\n{toml}", encoding="utf-8")
    assert jobs(place).work_s == 3.5
    assert jobs(place).timeout_s == backstop_s(3.5)
    assert jobs(place, work="2").work_s == 2.0
    assert jobs(place, timeout="9").work_s is None  # what is asked for replaces it


SPENDS = """
import os
import sys
import subprocess
import threading
import time
import numpy as np
from mdbench.worker import Candidate

BURN = "while True: pass"

class Adapter:
    def __init__(self, *, seed, threads): ...
    def fit(self, problem):
        self.X = problem.X
        self.budget = problem.budget
        self.evaluations = np.int64(17)
    def candidates(self):
        yield Candidate(("0.5*u0",), 0.5 * self.X)
        {then}
    def choose(self, indices): ...
    def predict(self, problem):
        return 0.5 * problem.X
    def equations(self):
        return ["0.5*u0"]
"""

BURNS = {
    "in a loop": "while True: pass",
    "in a child": "subprocess.run([sys.executable, '-c', BURN])",
    "in children that end": (
        "while True: subprocess.run([sys.executable, '-c', 'sum(range(10**6))'])"
    ),
    "in a child that nobody waits for, twice forked": (
        "os.fork() or (os.setsid(), os.fork() or [None for _ in iter(int, 1)]); time.sleep(100)"
    ),
    "in children of whose end it takes no note": (
        "import signal; signal.signal(signal.SIGCHLD, signal.SIG_IGN)\n"
        "        while True:\n"
        "            if (pid := os.fork()) == 0:\n"
        "                sum(range(10**6)); os._exit(0)\n"
        "            try: os.waitpid(pid, 0)\n"
        "            except ChildProcessError: pass"
    ),
}
WORK_S = 1.0


def run(tmp_path: Path, then: str, runtime: Any, **given: Any) -> Record:
    place = make_workspace(tmp_path)
    add_method(place, "m", SPENDS.replace("{then}", then), tuning="front")
    options = RunOptions.of(
        {"algorithm": "m", "data_type": "ode", "dataset": "rc-circuit", **given}
    )
    plan = make_plan(replace(options, n_jobs=1, result_dir=tmp_path / "results"), place)
    (record,) = execute(plan, runtime, Quiet()).records
    return record


@pytest.mark.slow
@pytest.mark.parametrize("grouped", [True, False])
@pytest.mark.parametrize("how", BURNS)
def test_the_limit_is_kept_whatever_does_the_work(
    how: str, grouped: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if grouped and not can_make():
        pytest.skip("no groups can be made here")
    if not grouped:
        monkeypatch.setattr("mdbench.runtimes.venv.make_group", lambda: None)
    record = run(tmp_path, BURNS[how], HereRuntime(), work=str(WORK_S))
    assert record.status is Status.PARTIAL
    assert record.reason == (
        "work limit of 1 reference seconds; scored from the best of 1 candidates"
    )
    assert record.budget.work_s == WORK_S
    assert WORK_S <= known(record.measured.work_s) <= WORK_S + 0.2
    assert known(record.measured.work_s) == pytest.approx(
        known(record.measured.cpu_s) * known(record.measured.speed), rel=0.1
    )
    assert (record.measured.by == "samples") == (not grouped)


class Idle:
    """A worker that does nothing."""

    def cpu_s(self) -> float:
        return 0.0


@pytest.mark.parametrize("there", ["a file", "a link", "a folder"])
def test_what_a_method_puts_in_the_place_of_the_speed_costs_only_its_job(
    there: str, tmp_path: Path
) -> None:
    place = tmp_path / SPEED_FILE
    if there == "a file":
        place.touch()
    elif there == "a link":
        place.symlink_to(tmp_path / "elsewhere")
    else:
        place.mkdir()
    home = make_workspace(tmp_path / "home")
    add_method(home, "m", SPENDS, tuning="front")
    folder = os.open(tmp_path, os.O_RDONLY)
    try:
        exchange = JobExchange(
            Idle(),  # type: ignore[arg-type]
            "key",
            JobFolder(folder, "inside"),
            jobs(home, work="5"),
            lambda _: "",
            gauge=Gauge(),  # type: ignore[arg-type]
        )
        with pytest.raises(JobStoppedError, match="changed its job's folder: speed"):
            exchange.share_speed(known(exchange.meter))
        exchange.close()
    finally:
        os.close(folder)
    assert not (tmp_path / "elsewhere").exists()


def test_a_method_that_waits_is_ended_by_the_clock(tmp_path: Path) -> None:
    begin = time.monotonic()
    record = run(tmp_path, "time.sleep(1000)", HereRuntime(), work="50", timeout="1")
    assert time.monotonic() - begin < 60
    assert record.status is Status.PARTIAL
    assert record.reason.startswith("ran longer than 1 s")
    assert known(record.measured.work_s) < 50


def test_a_method_that_obeys_its_budget_answers(tmp_path: Path) -> None:
    until = "while self.budget.remaining() > 0.2: pass"
    record = run(tmp_path, until, HereRuntime(), work="0.5")
    assert record.status is Status.OK
    assert record.measured.evaluations == 17
    assert 0.25 < known(record.measured.work_s) < 0.5
