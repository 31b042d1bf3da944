"""In which order jobs are begun: fair between methods, of each the longest first, within memory.

Of two orders of the jobs of one method, that which begins with the longest ends sooner: what is
left for the end is short (Graham 1969, "Bounds on multiprocessing timing anomalies", SIAM J. Appl.
Math. 17, section 4).  Between methods the order is fair, so that a run that is stopped, or looked
at, has the same share of each.  Whoever does jobs keeps to a method for a while, though: another
one needs another worker.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from mdbench.runs.forecast import Expectation
    from mdbench.runs.plan import ResolvedJob

TURN_S: Final = 60.0
"""Seconds for which a worker keeps to a method while others wait."""


class JobQueue:
    """Jobs that wait to be begun; may be used from several threads.

    Parameters
    ----------
    jobs
        In the order of the plan.
    expected
        What a job will probably take.
    memory_mb
        MiB that all jobs that run at a time may need together; None for no limit.
    """

    def __init__(
        self,
        jobs: Sequence[ResolvedJob],
        expected: Callable[[ResolvedJob], Expectation],
        memory_mb: int | None = None,
    ) -> None:
        self._expected = expected
        self._total_mb = memory_mb
        self._running: dict[str, float] = {}
        self._methods: dict[str, deque[ResolvedJob]] = {}  # not begun, the longest first
        for one in longest_first(jobs, expected):
            self._methods.setdefault(one.job.algorithm, deque()).append(one)
        self._totals = {name: len(each) for name, each in self._methods.items()}
        self._turns: dict[int, tuple[str, float]] = {}
        self._ended = False
        self._changed = threading.Condition()

    def __len__(self) -> int:
        return sum(map(len, self._methods.values()))

    def take(self, held: str | None = None, *, wait: bool = True) -> ResolvedJob | None:
        """Return the next job to whoever asks, once there is memory for it.

        Parameters
        ----------
        held
            The method whose worker is at hand.
        wait
            Whether to wait for memory.

        Returns
        -------
        ResolvedJob or None
            None where there is no job left, or none that may begin now.
        """
        with self._changed:
            while not self._ended and len(self):
                one = self._next(held)
                if one is not None or not wait:
                    return one
                self._changed.wait()
            return None

    def release(self, one: ResolvedJob) -> None:
        """Return the memory of a job that has ended to others."""
        with self._changed:
            self._running.pop(one.key, None)
            self._changed.notify_all()

    def requeue(self, one: ResolvedJob) -> None:
        """Take back a job that has to be done again."""
        with self._changed:
            self._running.pop(one.key, None)
            self._methods[one.job.algorithm].appendleft(one)
            self._changed.notify_all()

    def end(self) -> None:
        """Give out no more jobs."""
        with self._changed:
            self._ended = True
            self._changed.notify_all()

    def _next(self, held: str | None) -> ResolvedJob | None:
        names = [name for name, jobs in self._methods.items() if jobs]
        # Fair between methods: first the one of whose jobs the smallest share has begun.
        names.sort(key=lambda name: -len(self._methods[name]) / self._totals[name])
        me = threading.get_ident()
        method, since = self._turns.get(me, ("", 0.0))
        now = time.monotonic()
        if held in names and method == held and now - since < TURN_S:
            names.remove(held)
            names.insert(0, held)
        for name in names:
            one = self._that_fits(self._methods[name])
            if one is not None:
                self._methods[name].remove(one)
                self._running[one.key] = self._need(one)
                if name != method or now - since >= TURN_S:
                    self._turns[me] = name, now
                return one
        return None

    def _that_fits(self, jobs: Sequence[ResolvedJob]) -> ResolvedJob | None:
        """Return the first of a method's jobs, or the smallest, if there is memory for it."""
        if self._total_mb is None or not self._running:
            return jobs[0]  # what needs more than there is runs by itself
        free = self._total_mb - sum(self._running.values())
        if self._need(jobs[0]) <= free:
            return jobs[0]
        smallest = min(jobs, key=self._need)
        return smallest if self._need(smallest) <= free else None

    def _need(self, one: ResolvedJob) -> float:
        need = self._expected(one).memory_mb
        return float(self._total_mb or 0) if need is None else need


def longest_first(
    jobs: Sequence[ResolvedJob], expected: Callable[[ResolvedJob], Expectation]
) -> list[ResolvedJob]:
    """Sort jobs by what they will probably take; equal ones stay in their order."""
    return sorted(jobs, key=lambda one: -expected(one).wall_s)
