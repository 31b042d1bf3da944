"""The budget that a method sees: work or time, by the clock of the test."""

from __future__ import annotations

import math
import os
import subprocess
import sys
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pytest

from mdbench.worker import Budget, Problem, budget
from mdbench.worker.budget import SPEED, cpu_seconds

if TYPE_CHECKING:
    from pathlib import Path

BURN = "end = 300000\nfor _ in range(10): sum(range(end))"


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> dict[str, float]:
    """Seconds of wall time and of CPU time, which the test sets."""
    now = {"wall": 100.0, "cpu": 7.0}
    monkeypatch.setattr("mdbench.worker.budget.time.monotonic", lambda: now["wall"])
    monkeypatch.setattr(budget, "cpu_seconds", lambda: now["cpu"])
    return now


def test_without_a_limit_of_work_it_is_wall_time(clock: dict[str, float]) -> None:
    one = Budget(60.0)
    clock["wall"] += 15.0
    clock["cpu"] += 1.0
    assert (one.in_work, one.limit, one.spent(), one.remaining()) == (False, 60.0, 15.0, 45.0)
    assert one.seconds(45.0) == 45.0


def test_with_one_it_is_cpu_time_at_the_speed_of_the_core(clock: dict[str, float]) -> None:
    one = Budget(20.0, work=30.0, speed=1.5, threads=2)
    clock["wall"] += 1000.0
    clock["cpu"] += 4.0
    assert (one.in_work, one.limit, one.spent(), one.remaining()) == (True, 30.0, 6.0, 24.0)
    assert one.seconds(24.0) == 24.0 / (1.5 * 2)  # both threads use it
    clock["cpu"] += 100.0
    assert one.remaining() == 0.0


def test_without_any_limit_nothing_ends(clock: dict[str, float]) -> None:
    one = Budget()
    late = one.after(one.share(3))
    clock["wall"] += 1e9
    assert (one.limit, one.remaining(), one.share(2), late()) == (
        math.inf,
        math.inf,
        math.inf,
        False,
    )


def test_an_amount_is_used_up_from_now_on(clock: dict[str, float]) -> None:
    one = Budget(work=10.0)
    clock["cpu"] += 2.0
    late, at_once = one.after(3.0), one.after(0.0)
    assert (late(), at_once()) == (False, True)
    clock["cpu"] += 2.9
    assert not late()
    clock["cpu"] += 0.1
    assert late()


def test_shares_use_all_but_what_is_kept(clock: dict[str, float]) -> None:
    one = Budget(work=100.0)
    used = []
    for among in (3, 2, 1):
        used.append(one.share(among, kept=0.1))
        clock["cpu"] += used[-1]
    assert used == pytest.approx([30.0] * 3)
    assert one.remaining() == pytest.approx(10.0)
    clock["cpu"] += 5.0
    assert one.share(1, kept=0.1) == 0.0  # never below


@pytest.mark.parametrize("work", [None, 10.0])
def test_a_part_begins_now_and_ends_with_the_whole(
    clock: dict[str, float], work: float | None
) -> None:
    whole = Budget(10.0, work=work, speed=2.0)
    for name in clock:
        clock[name] += 2.0
    used = 2.0 if work is None else 4.0
    part = whole.part(3.0)
    assert (part.limit, part.spent(), part.in_work) == (3.0, 0.0, work is not None)
    assert part.time_limit == (3.0 if work is None else 1.5)
    assert whole.part(50.0).limit == 10.0 - used
    assert whole.part(-1.0).limit == 0.0
    for name in clock:
        clock[name] += 0.5
    assert part.spent() == used / 4
    assert whole.spent() == used * 5 / 4


def test_a_part_of_no_limit_has_none() -> None:
    assert Budget().part(math.inf).time_limit is None
    assert Budget().part(3.0).limit == 3.0


def test_the_speed_is_the_latest_and_what_is_spent_never_falls(
    clock: dict[str, float], tmp_path: Path
) -> None:
    file = tmp_path / "speed"
    file.write_bytes(SPEED.pack(2.0))
    descriptor = os.open(file, os.O_RDONLY)
    try:
        one = Budget(work=100.0, speed=1.0, speed_file=descriptor)
        clock["cpu"] += 10.0
        assert one.spent() == 20.0
        file.write_bytes(SPEED.pack(1.0))
        assert one.spent() == 20.0
        clock["cpu"] += 15.0
        assert one.spent() == 25.0
        for content in (b"", b"1234", SPEED.pack(math.nan), SPEED.pack(-1.0), SPEED.pack(0.0)):
            file.write_bytes(content)
            assert one.spent() == 25.0  # the last speed that was one
    finally:
        os.close(descriptor)
    assert one.spent() == 25.0


def test_children_that_have_ended_count() -> None:
    before = cpu_seconds()
    subprocess.run([sys.executable, "-c", BURN], check=True)
    assert cpu_seconds() > before + 0.01


def test_a_problem_with_another_time_limit_has_another_budget(clock: dict[str, float]) -> None:
    given = Budget(50.0, work=5.0)
    one = Problem("table", ("x",), ("y",), {"X": np.zeros((2, 1))}, 50.0, budget=given)
    assert one.budget is given
    assert replace(one, arrays={}).budget is given
    hurried = replace(one, time_limit=1e-6)
    assert (hurried.budget.limit, hurried.budget.in_work) == (1e-6, False)
    clock["wall"] += 1.0
    assert hurried.budget.remaining() == 0.0


def test_a_round_begins_only_if_one_like_the_last_two_fits(clock: dict[str, float]) -> None:
    another_fits = Budget(work=100.0).rounds(10.0)
    begun = []
    for used in (1.0, 4.0, 2.0, 2.0):
        begun.append(another_fits())
        clock["cpu"] += used
    # 9 are used, and the last two took 2 each: one more would end after 10.
    assert begun == [True, True, True, False]
    assert not another_fits()  # nor does one later


def test_the_first_round_always_begins_and_without_a_limit_all_do(clock: dict[str, float]) -> None:
    assert Budget(work=1.0).rounds(0.0)()
    endless = Budget().rounds(math.inf)
    for _ in range(3):
        assert endless()
        clock["wall"] += 1e9


def test_a_long_first_round_is_forgotten_after_two(clock: dict[str, float]) -> None:
    another_fits = Budget(work=100.0).rounds(20.0)
    for used in (9.0, 1.0, 1.0):
        assert another_fits()
        clock["cpu"] += used
    assert another_fits()
    clock["cpu"] += 1.0
    assert another_fits()  # 12 of 20 are used: one of 9 would not fit
