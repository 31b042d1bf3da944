"""The search for changes of a fitted system that are as likely as it is.

Each change is fitted from several starts, to a part of the samples first.  The misfit of a part is
a lower bound of that of all, so most changes are excluded by a fifth of the samples.  Where none is
left, the nearest one is fitted to all of them, so that there is a runner-up; where all are excluded
by far, one of the nearest.
"""

from __future__ import annotations

import heapq
import math
import time
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from mdbench.datatypes.ode.fitting import Fitting

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from mdbench.datatypes.ode.fitted_system import Change, FittedSystem
    from mdbench.datatypes.ode.sensitivity import MovingSystem

    Array = NDArray[np.float64]

_CLEAR = 100.0
"""A change of a larger misfit is excluded: it is 1e-21 times as likely as the system."""
_AT_ONCE = -1
"""The start from which on a change is fitted to all samples: the last one, where the linear model
has its constants.  It is tried where that model is near."""


class FittedChange(NamedTuple):
    """A change that was fitted to all samples: its number, its misfit, and its equation."""

    number: int
    misfit: float
    text: str


class SearchResult(NamedTuple):
    """What a search found.

    Attributes
    ----------
    found
        The changes that were fitted to all samples, in the order of their misfits.
    excluded
        The number of changes that a part of the samples excludes.
    left
        The number of those that were not decided for want of time.
    """

    found: list[FittedChange]
    excluded: int
    left: int


@dataclass(order=True)
class _Attempt:
    """A change that is fitted from one start.

    Attributes
    ----------
    order
        The attempt of the lowest one goes on.
    change, start
        Their numbers.
    stage
        How many of the parts of the samples it has been fitted to.
    bound
        Its misfit for all samples is this or more.
    """

    order: float
    change: int
    start: int
    stage: int = 0
    bound: float = -math.inf
    moves: Array | None = field(default=None, compare=False)


class RivalSearch:
    """The search among changes of a fitted system.

    Misfits are minus two log-likelihoods next to the system's: the noise's size follows from the
    differences, that of each system from its own.

    Parameters
    ----------
    fitted
        The system.
    changes
        The changes.
    limits
        The misfit below which each is as likely as the system.
    """

    def __init__(
        self, fitted: FittedSystem, changes: Sequence[Change], limits: Sequence[float]
    ) -> None:
        self._fitted, self._changes, self._limits = fitted, changes, limits
        self._systems: dict[int, tuple[MovingSystem, Fitting, NDArray[np.intp]]] = {}
        self._best: dict[int, tuple[float, Array]] = {}

    def run(self, end: float) -> SearchResult:
        """Search until all changes are decided, or the monotonic clock is at `end`."""
        near = len(self._fitted.differences)
        waiting = [
            _Attempt(change.misfit, k, start)
            for k, change in enumerate(self._changes)
            for start in (_AT_ONCE, 0, 1, 2)[0 if change.misfit < near else 1 :]
        ]
        heapq.heapify(waiting)
        excluded: list[_Attempt] = []
        first = True
        while waiting and (first or time.monotonic() < end):
            first = False
            attempt = heapq.heappop(waiting)
            if self._is_likely(attempt.change) or (further := self._advanced(attempt)) is None:
                continue
            if further.bound >= self._limits[further.change]:
                heapq.heappush(excluded, replace(further, order=further.bound))
            else:
                heapq.heappush(waiting, further)
        while excluded and not waiting and time.monotonic() < end:
            attempt = heapq.heappop(excluded)
            if self._best and attempt.bound >= min(self._nearest(), _CLEAR):
                break
            if (further := self._advanced(attempt)) is not None:
                # Where all are excluded by far, one of the nearest is enough.
                order = -1.0 if attempt.bound >= _CLEAR else further.bound
                heapq.heappush(excluded, replace(further, order=order))
        return self._searched({each.change for each in waiting})

    def _searched(self, undecided: set[int]) -> SearchResult:
        rivals = [
            FittedChange(
                k, misfit, self._fitted.written(self._changes[k], self._systems[k][0], constants)
            )
            for k, (misfit, constants) in self._best.items()
        ]
        rivals.sort(key=lambda each: each.misfit)
        left = len(undecided - self._best.keys())
        return SearchResult(rivals, len(self._changes) - len(rivals) - left, left)

    def _advanced(self, attempt: _Attempt) -> _Attempt | None:
        """Fit to more samples; None where that was the last fit, or it leads nowhere."""
        k, fitted = attempt.change, self._fitted
        if k not in self._systems:
            system, free = fitted.changed(self._changes[k])
            self._systems[k] = system, Fitting(fitted, system, free), free
        system, fitting, free = self._systems[k]
        stages = fitting.counts[-1:] if attempt.start == _AT_ONCE else fitting.counts
        begin = fitted.moves_to(self._changes[k], system, free)
        if attempt.start >= len(begin):
            return None
        moves = begin[attempt.start] if attempt.moves is None else attempt.moves
        samples, further = stages[attempt.stage], attempt.stage + 1
        least = fitting.fit(moves, samples)
        if least is None:  # the constants of a part may lead nowhere beyond it
            if further == len(stages):
                return None
            return replace(attempt, stage=further, moves=None)
        if further < len(stages):
            return replace(
                attempt,
                order=least.misfit - self._own(samples),
                stage=further,
                bound=self._likelihood(least.misfit),
                moves=least.moves,
            )
        misfit = self._likelihood(least.misfit)
        if k not in self._best or misfit < self._best[k][0]:
            self._best[k] = misfit, fitted.placed(system, free, least.moves)[0]
        return None

    def _nearest(self) -> float:
        return min(misfit for misfit, _ in self._best.values())

    def _is_likely(self, change: int) -> bool:
        return change in self._best and self._best[change][0] < self._limits[change]

    def _likelihood(self, misfit: float) -> float:
        """Return minus two log-likelihoods next to the system's, of a sum of squares."""
        count = len(self._fitted.differences)
        gained = (misfit - self._fitted.misfit) / max(self._fitted.misfit, count)
        return count * math.log(max(1 + gained, 1e-300))

    def _own(self, samples: int) -> float:
        """Return the system's misfit of the first samples of each trajectory."""
        ends = np.cumsum([one.states.size for one in self._fitted.series])[:-1]
        parts = np.split(self._fitted.differences, ends)
        return sum(float(np.sum(part[: samples * self._fitted.system.dim] ** 2)) for part in parts)
