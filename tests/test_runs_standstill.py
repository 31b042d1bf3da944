"""A job's clock stands only for as long as the job is seen to stand."""

from __future__ import annotations

import time

import pytest

from mdbench.runs.standstill import Standstill


class Held:
    """What is asked of a worker, with answers of our own."""

    def __init__(self, *, holds: bool = True, stands: bool = True) -> None:
        self.holds = holds
        self.runs_on = not stands
        self.asked = 0
        self.gone_on = 0

    def hold(self) -> bool:
        self.asked += 1
        return self.holds

    def stands(self) -> bool:
        return not self.runs_on

    def go_on(self) -> None:
        self.gone_on += 1


def during(worker: Held, seconds: float) -> float:
    with Standstill(worker) as standstill:  # type: ignore[arg-type]
        time.sleep(seconds)
    return standstill.seconds


def test_the_clock_stands_with_the_job() -> None:
    worker = Held()
    assert during(worker, 0.5) == pytest.approx(0.48, abs=0.1)
    assert worker.asked > 3
    assert worker.gone_on == 1


def test_what_is_quick_holds_nobody() -> None:
    worker = Held()
    assert during(worker, 0.0) == 0.0
    assert (worker.asked, worker.gone_on) == (0, 0)


@pytest.mark.parametrize("worker", [Held(holds=False), Held(stands=False)])
def test_a_job_that_runs_on_has_its_time_counted(worker: Held) -> None:
    assert during(worker, 0.3) == 0.0
    assert worker.gone_on == 1
