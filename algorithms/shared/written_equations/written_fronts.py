"""Common part of packages that search target by target and write equations as text."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scaling import power_of_two
from written_equations import in_names, values

from mdbench.worker import Candidate, Problem

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    Array = NDArray[np.float64]

__all__ = ["WrittenFronts"]


@dataclass(frozen=True)
class _Member:
    target: int
    equation: str
    error: float


class WrittenFronts:
    """One search a target, each with its share of the time; equations are evaluated as printed.

    Attributes
    ----------
    package
        The package's name in errors.
    scaled
        Whether columns whose root mean square is below 1e-3 or above 1e3 are divided by a power of
        two.
    calls
        As for `in_names`.
    max_rows
        Largest number of samples in the search; of more, a random part is drawn.
    budget, end
        The problem's, and what of it will have been spent when the share of the search that is
        running is used up: for packages that can be ended by it.
    """

    end = math.inf
    package: str
    scaled = True
    calls: Mapping[str, str] = {}

    def __init__(self, *, seed: int, threads: int, max_rows: int) -> None:
        if max_rows < 2:  # noqa: PLR2004
            raise ValueError(f"max_rows is {max_rows}; it must be 2 or more")
        self.seed, self.threads, self._max_rows = seed, threads, max_rows
        self.stopped_early = False
        self._errors: dict[str, float] = {}
        self._members: list[_Member] = []
        self._chosen: list[_Member] = []

    def search(self, X: Array, y: Array, target: int, limit: float | None) -> Iterable[str]:
        """Search, and return equations in ``x0``, ``x1``, ... .

        Parameters
        ----------
        X, y
            (n, variables) and (n,), finite and of moderate size.
        target
            Its number.
        limit
            Seconds of wall time for packages that know no other, or None.
        """
        raise NotImplementedError

    def found(self, target: int) -> Iterable[str]:  # noqa: ARG002 - for those that ask for it
        """Return what the latest search has put into ``_errors`` so far, the least error first.

        A search starts its own with ``self._errors = {equation: error}``.
        """
        return sorted(self._errors, key=self._errors.__getitem__)

    def fit(self, problem: Problem) -> None:
        """Search for each target.

        Raises
        ------
        ValueError
            If the data are not finite.
        RuntimeError
            If a search gives no equation with a finite value for every sample.
        """
        self._problem = problem
        if not (np.isfinite(problem.X).all() and np.isfinite(problem.Y).all()):
            raise ValueError("the data are not finite")
        self._x_scales, self._y_scales = (
            [power_of_two(column) if self.scaled else 1.0 for column in matrix.T]
            for matrix in (problem.X, problem.Y)
        )
        self._begun = 0
        X = problem.X / self._x_scales
        rows = self._rows(len(X))
        count = len(problem.targets)
        for target, name in enumerate(problem.targets):
            self._begun, self._errors = target + 1, {}
            share = problem.budget.share(count - target)
            self.budget, self.end = problem.budget, problem.budget.spent() + share
            limit = None if math.isinf(share) else problem.budget.seconds(share)
            y = problem.Y[:, target] / self._y_scales[target]
            texts = list(self.search(X[rows], y[rows], target, limit))
            found = self._read(target, texts)
            if not found:
                reason = f"none of {len(texts)} is a finite equation" if texts else "it is empty"
                raise RuntimeError(f"{self.package}'s answer for {name}: {reason}")
            self._members += found
            self._chosen.append(min(found, key=lambda member: member.error))

    def candidates(self) -> Iterator[Candidate]:
        """Yield what was found for each target, that of a search that was stopped too."""
        for target in range(len(self._chosen), self._begun):
            self._members += self._read(target, self.found(target))
        for member in self._members:
            predictions = self._values(member.equation, self._problem)
            yield Candidate((member.equation,), predictions, target=member.target)

    def choose(self, indices: Sequence[int]) -> None:
        """Use these candidates, one a target; before, those of least error are used."""
        self._chosen = [self._members[index] for index in indices]

    def equations(self) -> list[str]:
        """Return the chosen right-hand side of each target."""
        return [member.equation for member in self._chosen]

    def predict(self, problem: Problem) -> Array:
        """Evaluate the chosen equations, (n, targets)."""
        return np.stack([self._values(m.equation, problem) for m in self._chosen], axis=1)

    def _rows(self, count: int) -> NDArray[np.intp]:
        if count <= self._max_rows:
            return np.arange(count)
        draw = np.random.default_rng(self.seed)
        return np.sort(draw.choice(count, self._max_rows, replace=False))

    def _read(self, target: int, texts: Iterable[str]) -> list[_Member]:
        names: dict[str, str | float] = {
            f"x{place}": name if scale == 1.0 else f"({name}/{scale!r})"
            for place, (name, scale) in enumerate(
                zip(self._problem.variables, self._x_scales, strict=True)
            )
        }
        factor = self._y_scales[target]
        found: dict[str, _Member] = {}
        for text in texts:
            try:
                equation = in_names(text, names, self.calls)
            except ValueError as reason:
                print(f"left out: {reason}")  # noqa: T201 - for the log
                continue
            if factor != 1.0:
                equation = f"{factor!r}*{equation}"
            off = self._values(equation, self._problem) - self._problem.Y[:, target]
            with np.errstate(over="ignore"):
                error = float(np.mean(np.square(off / factor)))
            if np.isfinite(error):
                found.setdefault(equation, _Member(target, equation, error))
        return list(found.values())

    @staticmethod
    def _values(equation: str, problem: Problem) -> Array:
        return values(equation, problem.variables, problem.X)
