"""WeakIdent for ordinary differential equations: monomials, integrated against test functions."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
from identification import Found, WeakSystem, dynamic_rows
from states import Library, StateTerms
from windows import FEWEST, corner, half_width, smoothness, weights

from mdbench.worker import Candidate, Coordinates, Unsupported, columns_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from mdbench.worker import Problem

    Array = NDArray[np.float64]

__all__ = ["Adapter"]

_BINS = 100
_FEW_STATES = 2
_TERMS = {True: 10, False: 15}
"""Largest numbers of terms of an equation, for few states and for more."""


@dataclass(frozen=True)
class _Answer:
    """A right-hand side of a target, in the terms of one library."""

    target: int
    found: Found
    library: StateTerms = field(repr=False)

    def equation(self) -> str:
        return self.library.write(self.found.coefficients, self.target)

    def values(self, columns: Array) -> Array:
        rate = self.library.rate[self.target if len(self.library.rate) > 1 else 0]
        return np.asarray(self.library.features(columns) @ self.found.coefficients * rate)


class Adapter:
    """Right-hand sides of few monomials, one for each number of terms and degree.

    Parameters
    ----------
    seed, threads
        Nothing is drawn, and NumPy's threads are the bench's.
    order
        The highest degree of a monomial.
    most_terms
        Of longer libraries the degree is lowered.
    """

    def __init__(self, *, seed: int, threads: int, order: int, most_terms: int) -> None:
        del seed, threads
        self._order, self._most = int(order), int(most_terms)
        self._answers: list[_Answer] = []
        self._chosen: list[_Answer] = []
        self._columns: Array = np.empty((0, 0))
        self.stopped_early = False

    def fit(self, problem: Problem) -> None:
        """Integrate the monomials of the measured states, and search for each target.

        Raises
        ------
        ValueError
            If the data are not finite.
        Unsupported
            If no trajectory is long enough for a window.
        """
        self._columns = columns_of(problem)
        columns = self._columns.copy()
        states = problem.u.shape[1]
        columns[:, :states] = problem.arrays.get("measured", problem.u)
        if not np.isfinite(columns).all():
            raise ValueError("the data are not finite")
        made = Coordinates.of("scaled", columns, problem.du) if problem.scaled else None
        library = self._library(problem.variables, made)
        features = library.features(columns)
        over = _Windows(problem, columns[:, :states])
        averages = over.features(features)
        rates = over.rates(columns[:, :states]) / library.rate
        shown = columns if made is None else made.states(columns)
        # The rows where the states themselves are large count as dynamic, as in the paper.
        activity = np.abs(over.features(shown[:, :states])).sum(axis=1)
        narrow = dynamic_rows(activity, _BINS)
        scales = np.abs(averages[narrow]).mean(axis=0)
        most = _TERMS[states <= _FEW_STATES]
        libraries = [
            library.columns(Library("cross", "polynomial", order))
            for order in range(1, self._order + 1)
        ]
        self._answers = []
        is_late = problem.budget.after(problem.budget.share(1))
        for target in range(states):
            system = WeakSystem(averages, rates[:, target], scales, narrow)
            found, is_cut = system.distinct(libraries, most, is_late)
            self.stopped_early |= is_cut
            self._answers += [_Answer(target, each, library) for each in found]
        self.choose([self._best(target) for target in range(states)])

    def candidates(self) -> Iterator[Candidate]:
        """Yield all right-hand sides, with their errors in cross-validation."""
        for each in self._answers:
            remarks = {"cross_validation": each.found.error}
            values = each.values(self._columns)
            yield Candidate((each.equation(),), values, remarks, each.target)

    def choose(self, indices: Sequence[int]) -> None:
        """Use these candidates, one a target; before, those of least error in cross-validation."""
        self._chosen = [self._answers[index] for index in indices]

    def equations(self) -> list[str]:
        """Return the chosen right-hand side of each target."""
        return [each.equation() for each in self._chosen]

    def predict(self, problem: Problem) -> Array:
        """Evaluate the chosen right-hand sides, (n, targets)."""
        columns = columns_of(problem)
        return np.stack([each.values(columns) for each in self._chosen], axis=1)

    def _best(self, target: int) -> int:
        places = [k for k, each in enumerate(self._answers) if each.target == target]
        return min(places, key=lambda k: (self._answers[k].found.rank, k))

    def _library(self, variables: Sequence[str], made: Coordinates | None) -> StateTerms:
        """Return the monomials, of the highest degree that is not too many."""
        while True:
            library = StateTerms([Library("cross", "polynomial", self._order)], variables, made)
            if self._order == 1 or len(library) <= self._most:
                return library
            self._order -= 1


class _Windows:
    """Windows over each trajectory, and averages over them."""

    def __init__(self, problem: Problem, states: Array) -> None:
        several = problem.arrays.get("trajectory", np.zeros(len(problem.t)))
        self._parts: list[tuple[NDArray[np.intp], Array, Array]] = []
        for number in dict.fromkeys(several.tolist()):
            rows = np.flatnonzero(several == number)
            if len(rows) >= FEWEST:
                inside, moved = _averages(problem.t[rows], states[rows])
                self._parts.append((rows, inside, moved))
        if not self._parts:
            raise Unsupported(f"a window takes {FEWEST} samples of a trajectory; none has as many")

    def features(self, values: Array) -> Array:
        """Return averages of values (n, p), (windows, p)."""
        return np.concatenate([inside @ values[rows] for rows, inside, _ in self._parts])

    def rates(self, states: Array) -> Array:
        """Return averages of the states' derivatives in time, by parts, (windows, d)."""
        return np.concatenate([-moved @ states[rows] for rows, _, moved in self._parts])


def _averages(t: Array, states: Array) -> tuple[Array, Array]:
    """Return the weights of averages, and of those of a derivative moved on to the windows.

    Times need not be equally far apart: the integral is that of the trapezoid rule.
    """
    n = len(t)
    half = half_width(n, [corner(column, 0) for column in states.T])
    power = smoothness(half, 1)
    middles = np.arange(half, n - half)
    wide = np.minimum(t[middles] - t[middles - half], t[middles + half] - t[middles])
    s = (t[None, :] - t[middles, None]) / wide[:, None]
    steps = np.gradient(t)
    steps[[0, -1]] /= 2
    inside = weights(s, power, 0) * steps
    total = inside.sum(axis=1, keepdims=True)
    moved = weights(s, power, 1) * steps / wide[:, None]
    return inside / total, moved / total
