"""How fast a core is, relative to a reference: the unit of budgets in work; and the work of jobs.

A *reference second* is a second of CPU time on the reference core, on which each of `PARTS` takes
the time of `REFERENCE_S`.  The parts are the kinds of work that methods of equation discovery do:
the interpreter's, arithmetic on short and on long arrays, and reads all over the memory.  The speed
of a core is the geometric mean, weighted by `SHARES`, of the reference's time over its own
(docs/budgets.md).

All is measured in CPU time of the thread that does it: what else runs meanwhile counts only as far
as it makes the core itself slower, by a shared cache or a shared core.
"""

from __future__ import annotations

import math
import os
import statistics
import time
from collections import deque
from contextlib import contextmanager, suppress
from functools import cache
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from mdbench.worker.budget import SPEED, SPEED_FILE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

CALIBRATION_SAMPLES: Final = 9
"""Samples before the first job with a limit of work."""
UNLIMITED_SAMPLES: Final = 3
"""Samples before the first job where none has such a limit: its work is only written down."""
_APART_S: Final = 0.01
"""Seconds between them, in which others may use the core, as they may during a job."""
PERIOD_S: Final = 0.15
"""Least seconds of wall time between two samples during a job; a sample takes some 2 ms of CPU."""
UNLIMITED_PERIOD_S: Final = 0.6
"""The same for jobs without a limit of work."""
PERIOD_EACH_S: Final = 0.02
"""Seconds between two samples for each job that runs at a time: all are taken by this process."""
_RUNS: Final = 2
"""Runs of each part in a sample.  The first finds the caches full of other data, as a method does
whenever another program has had its core, and the second finds its own."""
_LEAVES: Final = 213
"""Leaves of a tree that takes as long as one of 256 that functions make and measure by calling
themselves, which was the work at first."""
_WINDOW: Final = 9
"""Samples of which the mean is the present speed, without the largest and the smallest: what
disturbs a single one, such as a burst of another program, counts little."""


def _interpreter() -> None:
    """Loops, calls, a dictionary, and objects that are made and thrown away."""
    counts: dict[int, int] = {}
    total = 0
    for number in range(2500):
        total += number % 7
        counts[number & 63] = total
    trees: deque[Any] = deque([None] * _LEAVES)
    while len(trees) > 1:
        trees.append((trees.popleft(), trees.popleft()))
    height, branches = 0, [(trees[0], 0)]
    while branches:  # no function that calls itself: a profiler would see little else of a run
        tree, depth = branches.pop()
        if tree is None:
            height = max(height, depth)
        else:
            branches.append((tree[0], depth + 1))
            branches.append((tree[1], depth + 1))


def _short_arrays() -> None:
    """Functions of arrays of 200 numbers, as expressions are evaluated on a trajectory."""
    x = _arrays()["short"]
    for _ in range(60):
        x = np.sin(x * 1.1 + 0.2)


def _long_arrays() -> None:
    """Functions, sorting and sums of arrays of 20,000 numbers: nothing that has several threads."""
    values = _arrays()["long"]
    np.cumsum(np.sort(np.sin(values * 1.37)))


def _memory() -> None:
    """Reads in random order from 1 MB."""
    arrays = _arrays()
    np.take(arrays["large"], arrays["places"], out=arrays["read"], mode="clip")


@cache
def _arrays() -> dict[str, Any]:
    draw = np.random.default_rng(0)
    return {
        "short": np.linspace(0.0, 1.0, 200),
        "long": np.linspace(0.0, 1.0, 20_000),
        "large": np.ones(2**17),
        "other": np.ones(2**19),  # twice as large as a core's own cache
        "places": draw.integers(0, 2**17, 2**15),
        "read": np.zeros(2**15),
    }


PARTS: Final[Mapping[str, Callable[[], object]]] = {
    "interpreter": _interpreter,
    "short arrays": _short_arrays,
    "long arrays": _long_arrays,
    "memory": _memory,
}
"""The work, by its name."""
SHARES: Final[Mapping[str, int]] = {
    "interpreter": 4,
    "short arrays": 3,
    "long arrays": 2,
    "memory": 1,
}
"""Weights of the parts in the speed, in their order: about what they are of a usual method."""
REFERENCE_S: Final[Mapping[str, float]] = {
    "interpreter": 2.6e-4,
    "short arrays": 1.65e-4,
    "long arrays": 3.0e-4,
    "memory": 1.25e-4,
}
"""Seconds that a run of each part takes on the reference core, by definition: what it took on a
core of an Intel Xeon of the fifth generation (sold since 2024) under Python 3.11 and NumPy 2."""


def measure() -> float:
    """Do each part twice; return the speed of the core that this thread runs on."""
    _arrays()["other"].fill(0.0)
    logarithms = []
    for name, work in PARTS.items():
        begin = time.thread_time()
        for _ in range(_RUNS):
            work()
        used = max(time.thread_time() - begin, 1e-9)
        logarithms.append(math.log(_RUNS * REFERENCE_S[name] / used))
    return math.exp(statistics.fmean(logarithms, SHARES.values()))


class SpeedGauge:
    """The speed of some cores, sampled before, during and after jobs.

    Parameters
    ----------
    cores
        On which samples are taken, one after the other; empty for wherever this thread runs.

    Attributes
    ----------
    period_s
        Seconds of wall time between two samples during a job.
    """

    def __init__(self, cores: Sequence[int] = (), period_s: float = PERIOD_S) -> None:
        self._cores = tuple(cores)
        self.period_s = period_s
        self._window: deque[float] = deque(maxlen=_WINDOW)
        self._taken = 0
        self._next = 0.0

    def calibrate(self, samples: int = CALIBRATION_SAMPLES) -> None:
        """Take samples on all cores until there are so many: for a limit of work by default."""
        for _ in range(self._taken, max(samples, len(self._cores))):
            self.sample()
            time.sleep(_APART_S)

    def sample(self) -> None:
        """Take a sample."""
        with _pinned(self._cores[self._taken % len(self._cores)] if self._cores else None):
            self._window.append(measure())
        self._taken += 1
        self._next = time.monotonic() + self.period_s

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
        kept = sorted(self._window)
        return statistics.fmean(kept[1:-1] if len(kept) > 2 else kept)  # noqa: PLR2004

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


LAST_WORDS: Final = 0.16, 0.016
"""Reference seconds that a job may take beyond its limit to send its last candidates, or the share
of the limit, if that is more."""
_LONGEST_S = 0.15
"""Seconds between two looks at a job's work, at most."""
_SHORTEST_S = 0.004
"""And at least: the limit is then kept to a few milliseconds for each core."""
_LEAST_CPU_S = 0.01
"""CPU seconds below which their mean speed says less than the present one."""
_NEW = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


class WorkMeter:
    """Measures the work of one job while it runs.

    Parameters
    ----------
    cpu_s
        Returns the CPU seconds that the job has used; None where they cannot be measured.
    gauge
        The speed of its cores.
    limit
        Reference seconds that it may use; None for no limit.

    Attributes
    ----------
    work_s
        Reference seconds that it has used, as of the last look.
    before
        The speed before the job.
    """

    def __init__(
        self, cpu_s: Callable[[], float | None], gauge: SpeedGauge, limit: float | None
    ) -> None:
        self.work_s = 0.0
        self.before = gauge.speed
        self._read = cpu_s
        self._gauge = gauge
        self._limit = math.inf if limit is None else limit
        self._cpu_s = 0.0
        self._speed_file: int | None = None

    @property
    def speed(self) -> float:
        """The mean speed since the job began: reference seconds for each CPU second."""
        return self.work_s / self._cpu_s if self._cpu_s > _LEAST_CPU_S else self._gauge.speed

    @property
    def is_over(self) -> bool:
        """Whether the limit has been reached."""
        return self.work_s >= self._limit

    def update(self) -> float:
        """Add what has been used since the last time; return the work up to now."""
        used = self._read()
        if used is not None and used > self._cpu_s:
            self.work_s += (used - self._cpu_s) * self._gauge.speed
            self._cpu_s = used
        return self.work_s

    def look(self, allowed: float = 0.0) -> float:
        """Measure the work, and the speed where that is due and there is time for it.

        Parameters
        ----------
        allowed
            Reference seconds that the job may use beyond its limit.

        Returns
        -------
        float
            Seconds after which to look again, so that the limit is not missed; 0 where it is
            reached.
        """
        work_left = self._limit + allowed - self.update()
        if work_left <= 0:
            return 0.0
        soon = work_left / self._gauge.most_at_once
        if soon > _LONGEST_S and self._gauge.sample_if_due():
            self._write_speed()
        return max(_SHORTEST_S, min(_LONGEST_S, soon))

    def share_speed(self, folder: int) -> None:
        """Make the file in the job's open folder from which the job reads the speed.

        Raises
        ------
        OSError
            If it cannot be made.
        """
        self._speed_file = os.open(SPEED_FILE, _NEW, 0o644, dir_fd=folder)
        os.fchmod(self._speed_file, 0o644)  # whatever the user's umask
        self._write_speed()

    def _write_speed(self) -> None:
        if self._speed_file is not None:
            with suppress(OSError):  # the disk may be full, and the job knows its first speed
                os.pwrite(self._speed_file, SPEED.pack(self.speed), 0)

    def close(self) -> None:
        """Close the file."""
        if self._speed_file is not None:
            os.close(self._speed_file)
            self._speed_file = None


def last_words(limit: float) -> float:
    """Return the reference seconds that a job may use beyond its limit."""
    least, share = LAST_WORDS
    return max(least, share * limit)
