"""A job's clock stands only for as long as the job is seen to stand."""

from __future__ import annotations

import pytest
from harness import wait_until

from mdbench.runs.exchange import PausedJob


class Held:
    """What is asked of a worker, with answers of our own."""

    def __init__(self, *, holds: bool = True, stands: bool = True) -> None:
        self.holds = holds
        self.runs_on = not stands
        self.asked = 0
        self.gone_on = 0

    def pause(self) -> bool:
        self.asked += 1
        return self.holds

    def is_paused(self) -> bool:
        return not self.runs_on

    def resume(self) -> None:
        self.gone_on += 1


def during(worker: Held, asked: int) -> float:
    """Return for how long a job stood, once it was asked to so often."""
    with PausedJob(worker) as standstill:  # type: ignore[arg-type]
        assert wait_until(lambda: worker.asked >= asked)
    return standstill.seconds


class Clock:
    """A clock that goes on by 10 s whenever it is looked at."""

    looks = 0

    def monotonic(self) -> float:
        self.looks += 1
        return 10.0 * self.looks


def test_the_clock_stands_with_the_job(monkeypatch: pytest.MonkeyPatch) -> None:
    worker, clock = Held(), Clock()
    monkeypatch.setattr("mdbench.runs.exchange.time", clock)
    with PausedJob(worker) as standstill:  # type: ignore[arg-type]
        assert wait_until(lambda: worker.asked > 3)
    assert worker.gone_on == 1
    # Its clock is looked at before and after each time that the job is held.
    assert (clock.looks, standstill.seconds) == (2 * worker.asked, 10.0 * worker.asked)


def test_what_is_quick_holds_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mdbench.runs.exchange._QUICK_SECONDS", 100.0)
    worker = Held()
    assert during(worker, 0) == 0.0
    assert (worker.asked, worker.gone_on) == (0, 0)


@pytest.mark.parametrize("worker", [Held(holds=False), Held(stands=False)])
def test_a_job_that_runs_on_has_its_time_counted(worker: Held) -> None:
    assert during(worker, 2) == 0.0
    assert worker.gone_on == 1
