"""Screening: sums of products of functions, looked for among all pairs of a large dictionary."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from search import Explanation, TargetSearch
from sums import ScreeningSettings

from mdbench.worker import Candidate, Problem

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from numpy.typing import NDArray

    Array = NDArray[np.float64]

_TIME_PART = 0.8
"""Part of the time limit for the search."""
_NOTHING = 1e-20
"""Shares of the variance below this are alike."""


class Adapter:
    """The simplest sums of products of functions that explain each target.

    Parameters
    ----------
    seed
        Seed of the rows that are screened on.
    threads
        Not used.
    settings
        Those of `sums.ScreeningSettings`.
    """

    stopped_early: bool = False
    """Whether the last fit ran out of time before its search was over."""

    def __init__(self, *, seed: int, threads: int, **settings: Any) -> None:
        del threads
        self._seed = seed
        self._settings = ScreeningSettings(**settings)
        self._fronts: list[list[Explanation]] = []
        self._chosen: list[Explanation] = []

    def fit(self, problem: Problem) -> None:
        """Search for the equation of each target.

        Raises
        ------
        ValueError
            If the data are not finite.
        """
        if not (np.isfinite(problem.X).all() and np.isfinite(problem.Y).all()):
            raise ValueError("the data have values that are not finite")
        self._problem = problem
        self._fronts, self._chosen, self.stopped_early = [], [], False
        self.evaluations = 0
        budget = problem.budget
        begin, limit = budget.spent(), _TIME_PART * budget.remaining()
        for place, y in enumerate(problem.Y.T):
            until = begin + limit * (place + 1) / len(problem.targets)
            is_late = budget.after(until - budget.spent())
            self._fronts.append(self._searched(np.ascontiguousarray(y), is_late))
            self._chosen.append(min(self._fronts[-1], key=lambda one: one.left))
            best = self._chosen[-1]
            summary = f"{len(self._fronts[-1])} answers, the best leaves {best.left:.2g}"
            print(f"{problem.targets[place]}: {summary} of the variance")  # noqa: T201

    def _searched(self, y: Array, is_late: Callable[[], bool]) -> list[Explanation]:
        def late() -> bool:
            over = is_late()
            self.stopped_early |= over
            return over

        found: dict[int, Explanation] = {}
        with np.errstate(all="ignore"):  # what overflows is left out
            search = TargetSearch(self._problem.X, y, self._settings, late, self._seed)
            for one in search.answers():
                self.evaluations += 1
                if not np.isfinite(one.values(self._problem.X)).all():
                    continue
                known = found.get(one.size)
                if known is None or one.left < known.left:
                    found[one.size] = one
        return _front(found.values())

    def candidates(self) -> Iterator[Candidate]:
        """Yield the front of each target, the shortest answer first."""
        for target, answers in enumerate(self._fronts):
            for one in answers:
                text = one.text(self._problem.variables)
                yield Candidate((text,), self._values(one, self._problem.X), target=target)

    def choose(self, indices: Sequence[int]) -> None:
        """Use these candidates, one for each target; before, the most accurate ones are used."""
        offered = [one for answers in self._fronts for one in answers]
        self._chosen = [offered[index] for index in indices]

    def predict(self, problem: Problem) -> Array:
        """Evaluate the chosen equations; return (n, targets)."""
        return np.stack([self._values(one, problem.X) for one in self._chosen], axis=1)

    def equations(self) -> list[str]:
        """Return the chosen right-hand side of each target."""
        return [one.text(self._problem.variables) for one in self._chosen]

    def _values(self, one: Explanation, X: Array) -> Array:
        with np.errstate(all="ignore"):
            return one.values(X)


def _front(answers: Iterable[Explanation]) -> list[Explanation]:
    """Leave out answers that a shorter one is as good as."""
    kept: list[Explanation] = []
    for one in sorted(answers, key=lambda one: one.size):
        if not kept or max(one.left, _NOTHING) < max(kept[-1].left, _NOTHING):
            kept.append(one)
    return kept
