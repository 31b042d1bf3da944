"""Programs on the data of a problem: constants fitted, and a front for each target."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from formula_fitting import FittedFormula, fit_formula, fixed_starts, spread
from formula_graphs import ProgramError, evaluate_formula, settled
from formula_writing import written

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from formula_graphs import GraphNode
    from numpy.typing import NDArray

    from mdbench.worker import Problem

    Array = NDArray[np.float64]

__all__ = ["FrontProgram", "ProgramFronts"]

_MOST_ROWS = 10_000
"""Largest number of rows of the last fit."""
_REDUCED = 3
"""Number of the best programs of a target that are made shorter."""
_REFITTED = 6
"""Number of ways to leave a constant out that are fitted: those of least error before that."""
_USELESS = 0.9
"""Error over the variance at which a formula explains hardly more than a number."""
_GAIN = 1e-7
"""The part of an error that a longer formula takes away at least."""


@dataclass(frozen=True)
class FrontProgram:
    """A formula that the bench may choose for one target.

    Attributes
    ----------
    target
        Its number.
    equation
        In the problem's names.
    predictions
        (n,) on all rows.
    error
        Over the variance.
    root
        The same as a graph.
    calls
        Completions that had been asked for when it was found.
    """

    target: int
    equation: str
    predictions: Array
    error: float
    root: GraphNode
    calls: int

    def values(self, X: Array) -> Array:
        """Evaluate it on rows (n, d); return (n,)."""
        return evaluate_formula(self.root, X)


@dataclass(frozen=True)
class _Kept:
    root: GraphNode
    fitted: FittedFormula
    calls: int


class ProgramFronts:
    """The best formula of every size, for each target.

    Parameters
    ----------
    problem
        With targets.
    seed
        Seed of the rows that are drawn where there are more than `max_rows`.
    max_rows
        Rows of the search.
    starts, iterations
        Settings of each fit: how many first values are tried, and the most steps.
    parameters
        Indices of parameters are below this.

    Attributes
    ----------
    X, Y
        The rows of the search.
    calls
        Completions that have been asked for by now.
    """

    def __init__(
        self,
        problem: Problem,
        *,
        seed: int,
        max_rows: int,
        starts: int,
        iterations: int,
        parameters: int,
    ) -> None:
        self._problem = problem
        self.X, self.Y = _some_rows(problem.X, problem.Y, max_rows, seed)
        self._starts = fixed_starts(starts, parameters, seed=0)
        self._iterations = iterations
        self.calls = 0
        self._best: list[dict[int, _Kept]] = [{} for _ in problem.targets]

    def judge(self, roots: Sequence[GraphNode]) -> list[FittedFormula]:
        """Fit a program's formulas, each by itself, and keep what is best of its size."""
        return [self.fit(target, root) for target, root in enumerate(roots)]

    def fit(self, target: int, root: GraphNode, start: Sequence[float] = ()) -> FittedFormula:
        """Fit one formula, from the usual starts or from one that is given, and keep it."""
        starts = np.array([start]) if len(start) else self._starts
        y = self.Y[:, target]
        fitted = fit_formula(root, self.X, y, starts, iterations=self._iterations)
        if np.isfinite(fitted.error):
            self._keep(target, root, fitted)
        return fitted

    def lowest(self) -> float:
        """Return the error of the target that is explained worst by what is best for it."""
        return max(
            min((kept.fitted.error for kept in best.values()), default=np.inf)
            for best in self._best
        )

    def shorten(self) -> None:
        """Leave constants out of the best formulas, one after the other, the least missed first.

        A model writes more constants than a law has; what fits as well without one is then there to
        be chosen.
        """
        for target, best in enumerate(self._best):
            first = sorted(best.values(), key=lambda kept: kept.fitted.error)[:_REDUCED]
            for kept in first:
                self.calls = kept.calls
                self._shorten(target, kept)

    def members(self) -> Iterator[FrontProgram]:
        """Yield the fronts, target by target, short formulas first, fitted to all rows."""
        X, Y = _some_rows(self._problem.X, self._problem.Y, _MOST_ROWS, seed=0)
        for target, best in enumerate(self._best):
            lowest, y = np.inf, self._problem.Y[:, target]
            for size in sorted(best):
                kept = best[size]
                if not kept.fitted.error < (1 - _GAIN) * lowest:
                    continue
                lowest = kept.fitted.error
                found = self._settled(kept, X, Y[:, target])
                if found is None:
                    continue
                equation, predictions, root = found
                with np.errstate(over="ignore"):
                    error = float(np.mean(np.square((predictions - y) / spread(y))))
                yield FrontProgram(target, equation, predictions, error, root, kept.calls)

    def _keep(self, target: int, root: GraphNode, fitted: FittedFormula) -> None:
        try:
            shown = settled(root, fitted.constants)
            written(shown, self._problem.variables)
        except ProgramError:
            return
        best = self._best[target]
        if shown.size not in best or fitted.error < best[shown.size].fitted.error:
            best[shown.size] = _Kept(root, fitted, self.calls)

    def _shorten(self, target: int, kept: _Kept) -> None:
        root, constants = kept.root, kept.fitted.constants
        while constants:
            tries: list[tuple[float, int, int, GraphNode]] = []
            for index in constants:
                for value in (0.0, 1.0):
                    try:
                        shorter = settled(root, {index: value})
                    except ProgramError:
                        continue
                    error = self._refitted(target, shorter, constants, iterations=0).error
                    tries.append((error, shorter.size, len(tries), shorter))
            again = []
            for _, size, number, shorter in sorted(tries, key=lambda each: each[:3])[:_REFITTED]:
                fitted = self._refitted(target, shorter, constants, iterations=self._iterations)
                again.append((fitted.error, size, number, shorter, fitted))
            best = min(again, default=None, key=lambda each: each[:3])
            if best is None or not best[0] < _USELESS:
                return
            *_, root, fitted = best
            constants = fitted.constants
            self._keep(target, root, fitted)

    def _refitted(
        self, target: int, root: GraphNode, constants: dict[int, float], *, iterations: int
    ) -> FittedFormula:
        """Fit a formula from constants that it had."""
        start = _row(constants)
        return fit_formula(root, self.X, self.Y[:, target], start, iterations=iterations)

    def _settled(self, kept: _Kept, X: Array, y: Array) -> tuple[str, Array, GraphNode] | None:
        """Write a formula, its constants fitted to more rows; None where it is not finite."""
        constants = kept.fitted.constants
        if constants and len(X) > len(self.X):
            again = fit_formula(kept.root, X, y, _row(constants), iterations=self._iterations)
            if np.isfinite(again.error):
                constants = again.constants
        try:
            root = settled(kept.root, constants)
            equation = written(root, self._problem.variables)
        except ProgramError:
            return None
        predictions = evaluate_formula(root, self._problem.X)
        return (equation, predictions, root) if np.isfinite(predictions).all() else None


def _row(constants: dict[int, float]) -> Array:
    """Return constants as one start."""
    start = np.ones((1, 1 + max(constants)))
    for index, value in constants.items():
        start[0, index] = value
    return start


def _some_rows(X: Array, Y: Array, most: int, seed: int) -> tuple[Array, Array]:
    if len(X) <= most:
        return X, Y
    rows = np.sort(np.random.default_rng(seed).choice(len(X), most, replace=False))
    return X[rows], Y[rows]
