"""How fast a core is, relative to a reference: the unit of budgets in work.

A *reference second* is a second of CPU time on the reference core, on which each of `PARTS` takes
the time of `REFERENCE_S`.  The parts are the kinds of work that methods of equation discovery do:
the interpreter's, arithmetic on short and on long arrays, and reads all over the memory.  The speed
of a core is the geometric mean, over the parts, of the reference's time over its own
(docs/budgets.md).

All is measured in CPU time of the thread that does it: what else runs beside it counts only as far
as it makes the core itself slower, by a shared cache or a shared core.
"""

from __future__ import annotations

import math
import os
import statistics
import time
from collections import deque
from contextlib import contextmanager
from functools import cache
from typing import TYPE_CHECKING, Final

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

CALIBRATION_SECONDS: Final = 0.1
"""CPU seconds of the calibration of a core before its first job."""
PERIOD_S: Final = 0.25
"""Least seconds of wall time between two samples during a job; a sample takes some 4 ms of CPU."""
PERIOD_EACH_S: Final = 0.03
"""Seconds between two samples for each job that runs at a time: all are taken by this process."""
_REPEATS: Final = 3
_WINDOW: Final = 5
"""Samples of which the median is the present speed: what disturbs fewer than half of them, such as
a burst of another program, does not count."""


def _interpreter() -> None:
    """Loops, calls, a dictionary, and objects that are made and thrown away."""
    counts: dict[int, int] = {}
    total = 0
    for number in range(2500):
        total += number % 7
        counts[number & 63] = total
    _height(_tree(8))


def _tree(depth: int) -> tuple[object, object] | None:
    return None if depth == 0 else (_tree(depth - 1), _tree(depth - 1))


def _height(tree: tuple[object, object] | None) -> int:
    return 0 if tree is None else 1 + max(_height(tree[0]), _height(tree[1]))  # type: ignore[arg-type]


def _short_arrays() -> None:
    """Functions of arrays of 200 numbers, as expressions are evaluated on a trajectory."""
    x = _arrays()["short"]
    for _ in range(60):
        x = np.sin(x * 1.1 + 0.2)


def _long_arrays() -> None:
    """Functions, sorting and a product of arrays of 20,000 numbers."""
    values = _arrays()["long"]
    np.sort(np.sin(values * 1.37))
    matrix = values[:16_000].reshape(160, 100)
    matrix.T @ matrix


def _memory() -> None:
    """Reads in random order from 16 MB."""
    arrays = _arrays()
    arrays["large"][arrays["places"]].sum()


@cache
def _arrays() -> dict[str, np.ndarray[tuple[int, ...], np.dtype[np.float64]]]:
    draw = np.random.default_rng(0)
    return {
        "short": np.linspace(0.0, 1.0, 200),
        "long": np.linspace(0.0, 1.0, 20_000),
        "large": np.zeros(2**21),
        "places": draw.integers(0, 2**21, 2**15),  # type: ignore[dict-item]
    }


PARTS: Final[Mapping[str, Callable[[], object]]] = {
    "interpreter": _interpreter,
    "short arrays": _short_arrays,
    "long arrays": _long_arrays,
    "memory": _memory,
}
"""The work, by its name."""
REFERENCE_S: Final[Mapping[str, float]] = {
    "interpreter": 2.5e-4,
    "short arrays": 1.65e-4,
    "long arrays": 2.5e-4,
    "memory": 0.9e-4,
}
"""Seconds that each part takes on the reference core, by definition: what they took on a core of an
Intel Xeon of the fifth generation (sold since 2024) under Python 3.11 and NumPy 2."""


def measure() -> float:
    """Do each part a few times; return the speed of the core that this thread runs on.

    Of each part the quickest time counts: nothing makes a core faster for a moment.
    """
    logarithms = []
    for name, work in PARTS.items():
        work()  # brings its data into the cache again
        times = []
        for _ in range(_REPEATS):
            begin = time.thread_time()
            work()
            times.append(time.thread_time() - begin)
        logarithms.append(math.log(REFERENCE_S[name] / max(min(times), 1e-9)))
    return math.exp(statistics.fmean(logarithms))


class SpeedGauge:
    """The speed of some cores, sampled before, during and after jobs.

    Parameters
    ----------
    cores
        On which samples are taken, one after the other; empty for wherever this thread runs.
    period_s
        Seconds of wall time between two samples during a job.
    """

    def __init__(self, cores: Sequence[int] = (), period_s: float = PERIOD_S) -> None:
        self._cores = tuple(cores)
        self._period_s = period_s
        self._window: deque[float] = deque(maxlen=_WINDOW)
        self._taken = 0
        self._next = 0.0

    def calibrate(self, seconds: float = CALIBRATION_SECONDS) -> None:
        """Take samples for so many seconds of CPU time, and one at least for each core."""
        begin = time.thread_time()
        least = max(1, len(self._cores))
        while least > 0 or time.thread_time() - begin < seconds:
            self.sample()
            least -= 1

    def sample(self) -> None:
        """Take a sample."""
        with _pinned(self._cores[self._taken % len(self._cores)] if self._cores else None):
            self._window.append(measure())
        self._taken += 1
        self._next = time.monotonic() + self._period_s

    def sample_if_due(self) -> bool:
        """Take a sample where the last one is a period old; return whether it is."""
        is_due = time.monotonic() >= self._next
        if is_due:
            self.sample()
        return is_due

    @property
    def speed(self) -> float:
        """The present speed: reference seconds for each second of CPU time."""
        if not self._window:
            self.sample()
        return statistics.median(self._window)

    @property
    def most_at_once(self) -> float:
        """The most reference seconds that jobs on these cores can use in a second of wall time."""
        return self.speed * (len(self._cores) or len(os.sched_getaffinity(0)))


@contextmanager
def _pinned(core: int | None) -> Iterator[None]:
    """Keep this thread on a core meanwhile, where that is allowed."""
    if core is None:
        yield
        return
    before = os.sched_getaffinity(0)
    try:
        os.sched_setaffinity(0, {core})
    except OSError:  # it is no longer ours
        yield
        return
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)
