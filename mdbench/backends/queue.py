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
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from mdbench.runs.forecast import Expectation
    from mdbench.runs.plan import ResolvedJob

__all__ = ["TURN_S", "JobQueue", "longest_first"]

TURN_S: Final = 60.0
"""Seconds for which whoever does jobs keeps to a method while others wait."""


@dataclass
class _Waiting:
    """The jobs of a method that have not begun, the longest first."""

    jobs: deque[ResolvedJob] = field(default_factory=deque)
    all: int = 0

    @property
    def share(self) -> float:
        """The share of its jobs that have begun."""
        return 1.0 - len(self.jobs) / self.all


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
        self._free_mb = self._total_mb = memory_mb
        self._running: dict[str, float] = {}
        self._methods: dict[str, _Waiting] = {}
        for one in longest_first(jobs, expected):
            waiting = self._methods.setdefault(one.job.algorithm, _Waiting())
            waiting.jobs.append(one)
            waiting.all += 1
        self._turns: dict[int, tuple[str, float]] = {}
        self._ended = False
        self._changed = threading.Condition()

    def __len__(self) -> int:
        return sum(len(each.jobs) for each in self._methods.values())

    def take(self, held: str | None = None, *, wait: bool = True) -> ResolvedJob | None:
        """Give the next job to whoever asks, once there is memory for it.

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
        """Give the memory of a job that has ended to others."""
        with self._changed:
            self._running.pop(one.key, None)
            self._changed.notify_all()

    def requeue(self, one: ResolvedJob) -> None:
        """Take back a job that has to be done by another."""
        with self._changed:
            self._running.pop(one.key, None)
            self._methods[one.job.algorithm].jobs.appendleft(one)
            self._changed.notify_all()

    def end(self) -> None:
        """Give no job any more."""
        with self._changed:
            self._ended = True
            self._changed.notify_all()

    def _next(self, held: str | None) -> ResolvedJob | None:
        names = [name for name, each in self._methods.items() if each.jobs]
        names.sort(key=lambda name: self._methods[name].share)
        me = threading.get_ident()
        method, since = self._turns.get(me, ("", 0.0))
        now = time.monotonic()
        if held in names and method == held and now - since < TURN_S:
            names.remove(held)
            names.insert(0, held)
        for name in names:
            for one in self._first_and_smallest(self._methods[name]):
                if self._fits(one):
                    self._methods[name].jobs.remove(one)
                    self._running[one.key] = self._need(one)
                    if name != method or now - since >= TURN_S:
                        self._turns[me] = name, now
                    return one
        return None

    def _first_and_smallest(self, waiting: _Waiting) -> list[ResolvedJob]:
        first = waiting.jobs[0]
        if self._total_mb is None or self._fits(first):
            return [first]
        return [first, min(waiting.jobs, key=self._need)]

    def _fits(self, one: ResolvedJob) -> bool:
        if self._total_mb is None or not self._running:
            return True  # what needs more than there is runs by itself
        return sum(self._running.values()) + self._need(one) <= self._total_mb

    def _need(self, one: ResolvedJob) -> float:
        need = self._expected(one).memory_mb
        return float(self._total_mb or 0) if need is None else need


def longest_first(
    jobs: Sequence[ResolvedJob], expected: Callable[[ResolvedJob], Expectation]
) -> list[ResolvedJob]:
    """Sort jobs by what they will probably take; equal ones stay in their order."""
    return sorted(jobs, key=lambda one: -expected(one).wall_s)
