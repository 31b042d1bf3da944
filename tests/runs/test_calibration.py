"""The speed of a core: relative to the reference, in CPU time, and not that of a moment."""

from __future__ import annotations

import math
import os
import statistics
import threading
import time
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from harness import HereRuntime

from mdbench.runs import calibration
from mdbench.runs.calibration import PARTS, REFERENCE_S, SHARES, SpeedGauge, measure
from mdbench.runs.catalog import Catalog
from mdbench.runs.spec import JobSpec
from mdbench.runs.worker_pool import EnvironmentCache, WorkerSlot
from mdbench.workspace import Workspace

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path


class Clock:
    """A clock of CPU time by which each part takes so many times its reference's time."""

    def __init__(self, slower: Callable[[str], float]) -> None:
        self._slower = slower
        self.now = 0.0

    def thread_time(self) -> float:
        return self.now

    def monotonic(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds

    def part(self, name: str) -> Callable[[], None]:
        def work() -> None:
            self.now += REFERENCE_S[name] * self._slower(name)

        return work


def use(monkeypatch: pytest.MonkeyPatch, slower: Callable[[str], float]) -> Clock:
    clock = Clock(slower)
    monkeypatch.setattr(calibration, "time", clock)
    monkeypatch.setattr(calibration, "PARTS", {name: clock.part(name) for name in PARTS})
    return clock


def test_a_core_like_the_reference_has_the_speed_one(monkeypatch: pytest.MonkeyPatch) -> None:
    use(monkeypatch, lambda _: 1.0)
    assert measure() == pytest.approx(1.0)


def test_a_speed_is_a_weighted_geometric_mean(monkeypatch: pytest.MonkeyPatch) -> None:
    use(monkeypatch, lambda name: 16.0 if name == "memory" else 1.0)
    assert measure() == pytest.approx(16.0**-0.1)  # a tenth of all shares
    use(monkeypatch, lambda name: 0.5 if name == "memory" else 2.0)
    assert measure() == pytest.approx(2.0**-0.8)


def test_the_parts_are_work_and_take_about_as_long_as_each_other() -> None:
    assert list(PARTS) == list(REFERENCE_S) == list(SHARES)
    assert 0.01 < measure() < 100  # of any machine that runs this
    assert max(REFERENCE_S.values()) < 5 * min(REFERENCE_S.values())


@pytest.fixture
def samples(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[float]]:
    """What is measured next, the last one for ever."""
    found = [1.0]
    monkeypatch.setattr(
        calibration, "measure", lambda: found.pop(0) if len(found) > 1 else found[0]
    )
    return iter([found])


def test_a_burst_beside_it_counts_little_and_a_lasting_load_does(
    samples: Iterator[list[float]],
) -> None:
    found = next(samples)
    gauge = SpeedGauge()
    found[:] = [1.0, 1.0, 1.0, 0.2, *[1.0] * 20, 0.5]
    for _ in range(20):
        gauge.sample()
        assert gauge.speed > 0.8
    assert gauge.speed == 1.0
    for _ in range(20):
        gauge.sample()
    assert gauge.speed == 0.5


def test_a_gauge_is_calibrated_on_each_of_its_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    cores = tuple(sorted(os.sched_getaffinity(0)))
    seen: list[set[int]] = []

    def note() -> float:
        seen.append(os.sched_getaffinity(0))
        return 1.0

    monkeypatch.setattr(calibration, "measure", note)
    monkeypatch.setattr(calibration, "_APART_S", 0.0)
    before = os.sched_getaffinity(0)
    SpeedGauge(cores).calibrate()
    assert {frozenset(each) for each in seen} == {frozenset({core}) for core in cores}
    assert os.sched_getaffinity(0) == before
    SpeedGauge((10_000,)).sample()  # a core that is not ours is none to pin to
    assert seen[-1] == before
    assert SpeedGauge(cores).most_at_once == pytest.approx(len(cores))


def test_a_job_without_a_limit_of_work_has_few_samples(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    taken: list[float] = []

    def measured() -> float:
        taken.append(1.0)
        return 1.0

    monkeypatch.setattr(calibration, "measure", measured)
    monkeypatch.setattr(calibration, "_APART_S", 0.0)
    job = JobSpec(
        algorithm="zero",
        data_type="ode",
        dataset="rc-circuit",
        snr_db=None,
        seed=0,
        timeout_s=60.0,
        threads=1,
    )
    runtime = HereRuntime()
    catalog = Catalog(Workspace.find())
    with WorkerSlot(catalog, runtime, EnvironmentCache(runtime), tmp_path, period_s=0.2) as slot:
        gauge = slot.gauge(job)
        assert gauge is not None
        assert (len(taken), gauge.period_s) == (3, 0.6)
        assert slot.gauge(replace(job, work_s=2.0)) is gauge  # whose limit needs all nine
        assert (len(taken), gauge.period_s) == (9, 0.2)
        slot.gauge(job)
        assert (len(taken), gauge.period_s) == (9, 0.6)


def test_samples_are_a_period_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = use(monkeypatch, lambda _: 1.0)
    gauge = SpeedGauge(period_s=2.0)
    assert gauge.sample_if_due()
    clock.now += 1.9
    assert not gauge.sample_if_due()
    clock.now += 0.2
    assert gauge.sample_if_due()


def test_what_other_threads_do_is_not_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    """The clock is that of the thread: it waits while another works, which costs no CPU of ours."""
    spent = 0.05

    def work() -> None:
        end = time.thread_time() + spent
        while time.thread_time() < end:
            sum(range(1000))

    def wait() -> None:
        other = threading.Thread(target=work)
        other.start()
        other.join()

    monkeypatch.setattr(calibration, "PARTS", dict.fromkeys(PARTS, wait))
    logarithms = [math.log(REFERENCE_S[name] / spent) for name in PARTS]
    by_all_threads = math.exp(statistics.fmean(logarithms, SHARES.values()))
    assert measure() > 5 * by_all_threads
