"""The library that methods for partial differential equations choose from.

A term is a function of the states, a derivative in space, or the product of both.  There is no
constant, as in PySINDy's library, and there are no mixed derivatives, which the bench's equations
have no names for.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from grids import axes_of, derivatives_of, differentiate, time_blocks
from models import write_sum
from states import Library, feature_matrix, list_terms

from mdbench.worker import Unsupported

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from numpy.typing import NDArray

    from mdbench.worker import FieldCoordinates, Problem

    Array = NDArray[np.float64]

__all__ = ["FieldLibrary", "FieldTerms", "usable"]

_BLOCK_NUMBERS = 8_000_000
"""Largest number of entries in a block of the feature matrix: 64 MB."""
_KEPT_NUMBERS = 16_000_000
"""Largest number of values of functions and derivatives kept for many models: 128 MB."""


@dataclass(frozen=True)
class FieldLibrary:
    """The terms that a setting may use.

    Attributes
    ----------
    functions
        The functions of the states.
    derivative_order
        The highest derivative, at least 1.

    Raises
    ------
    ValueError
        If one of them is not as described.
    """

    functions: Library
    derivative_order: int

    def __post_init__(self) -> None:
        if self.derivative_order < 1:
            raise ValueError(f"derivative_order is {self.derivative_order}; it must be 1 or more")

    def __str__(self) -> str:
        kind, basis, order = self.functions.kind, self.functions.basis, self.functions.order
        return (
            f"library {kind}, basis {basis}, order {order}, "
            f"derivative_order {self.derivative_order}"
        )

    @classmethod
    def of(
        cls,
        *,
        library: str = "cross",
        basis: str = "polynomial",
        derivative_order: int = 2,
        order: int = 2,
    ) -> FieldLibrary:
        """Make one from hyperparameters; see `states.Library` for the others."""
        return cls(Library(library, basis, order), derivative_order)


class FieldTerms:
    """The terms of several libraries, each once, and their values on fields.

    Attributes
    ----------
    functions
        Functions of the states, of which the first is the constant.
    derivatives
        Derivatives, after an empty first one.
    pairs
        The function and the derivative that each term multiplies, (p, 2).
    coordinates
        Those that the problem is in; None for a user's own values.
    """

    def __init__(
        self,
        libraries: Sequence[FieldLibrary],
        problem: Problem,
        coordinates: FieldCoordinates | None = None,
    ) -> None:
        states = problem.u.shape[-1]
        self.coordinates = coordinates
        self.variables = problem.variables
        kinds = list(dict.fromkeys(library.functions for library in libraries))
        self.functions = list_terms(kinds, states)
        self.derivatives = [None, *derivatives_of(problem.variables)]
        masks = {library: self._mask(library) for library in dict.fromkeys(libraries)}
        every = np.logical_or.reduce(list(masks.values()))
        self.pairs = np.argwhere(every)
        self._columns = {library: mask[every] for library, mask in masks.items()}

    def _mask(self, library: FieldLibrary) -> NDArray[np.bool_]:
        functions = np.array([term in library.functions for term in self.functions])
        derivatives = np.array(
            [each is None or each.order <= library.derivative_order for each in self.derivatives]
        )
        mask: NDArray[np.bool_] = np.logical_and.outer(functions, derivatives)
        mask[0, 0] = False
        return mask

    def __len__(self) -> int:
        return len(self.pairs)

    def columns(self, library: FieldLibrary) -> NDArray[np.bool_]:
        """Return which terms a library has, (p,)."""
        return self._columns[library]

    def write(self, coefficients: Array, target: int) -> str:
        """Write a model (p,) of a target."""
        if self.coordinates is None:
            return write_sum(coefficients, self.texts())
        parts: dict[tuple[str, float], dict[tuple[int, ...], float]] = {}
        for (i, j), weight in zip(self.pairs.tolist(), coefficients.tolist(), strict=True):
            derivative, key = self.derivatives[j], ("", 1.0)
            if derivative is not None:
                place = derivative.state, derivative.axis, derivative.order
                key = derivative.name, self.coordinates.slope(*place)
            parts.setdefault(key, {})[self.functions[i].factors] = weight
        return self.coordinates.write(parts, self.variables, target)

    def texts(self) -> list[str]:
        """Write the terms in Python syntax."""
        states = self.variables
        functions = [term.text(states) for term in self.functions]
        derivatives = [each.name if each else "" for each in self.derivatives]
        return ["*".join(filter(None, (functions[i], derivatives[j]))) for i, j in self.pairs]

    def blocks(self, problem: Problem) -> Iterator[tuple[Array, Array]]:
        """Yield the features (rows, p) and the targets (rows, k) of some rows at a time.

        Where the problem has `rows`, only these are yielded.
        """
        wanted = _wanted_rows(problem)
        for times in self._time_blocks(problem):
            functions, derivatives = self._factors(problem, times)
            targets = problem.du[..., times, :].reshape(len(functions), -1)
            if wanted is not None:
                chosen = wanted[..., times].reshape(-1)
                functions, derivatives = functions[chosen], derivatives[chosen]
                targets = targets[chosen]
            step = max(1, _BLOCK_NUMBERS // len(self))
            for start in range(0, len(functions), step):
                rows = slice(start, start + step)
                # Column by column: a column's values are next to each other.
                factors = np.ascontiguousarray(functions[rows].T), derivatives[rows].T.copy()
                columns = np.empty((len(self), factors[0].shape[1]))
                for column, (i, j) in zip(columns, self.pairs, strict=True):
                    np.multiply(factors[0][i], factors[1][j], out=column)
                if not np.isfinite(columns).all():
                    raise ValueError(
                        "the terms of the library overflow on these data; scale the states"
                    )
                yield columns.T, targets[rows]

    def count_rows(self, problem: Problem) -> int:
        """Count the rows of all blocks."""
        size = problem.rows if "rows" in problem.arrays else problem.du[..., 0]
        return int(size.size)

    def at(self, problem: Problem) -> Callable[[Array], Array]:
        """Return a function that evaluates models (k, p) on a field, to arrays like its targets.

        Functions and derivatives are kept from one evaluation to the next where they are small.
        """
        rows = int(np.prod(problem.u.shape[:-1]))
        kept: list[tuple[slice, Array, Array]] = []
        if rows * (len(self.functions) + len(self.derivatives)) <= _KEPT_NUMBERS:
            kept = [
                (times, np.ascontiguousarray(functions), np.ascontiguousarray(derivatives))
                for times, functions, derivatives in self._factored(problem)
            ]
        rate = np.ones(1) if self.coordinates is None else self.coordinates.states.rate
        return lambda coefficients: (
            rate * self._evaluate(coefficients, problem, kept or self._factored(problem))
        )

    def _factored(self, problem: Problem) -> Iterator[tuple[slice, Array, Array]]:
        """Yield times, and functions (., rows) and derivatives (., rows) of the field at these."""
        for times in self._time_blocks(problem):
            functions, derivatives = self._factors(problem, times)
            yield times, functions.T, derivatives.T

    def _evaluate(
        self, coefficients: Array, problem: Problem, factored: Iterable[tuple[slice, Array, Array]]
    ) -> Array:
        k = len(coefficients)
        tables = np.zeros((k, len(self.functions), len(self.derivatives)))
        tables[:, self.pairs[:, 0], self.pairs[:, 1]] = coefficients
        result = np.empty((*problem.u.shape[:-1], k))
        for times, functions, derivatives in factored:
            shape = result[..., times, 0].shape
            for target, table in enumerate(tables):
                total = np.zeros(functions.shape[1])
                for j in np.flatnonzero(table.any(axis=0)):
                    used = np.flatnonzero(table[:, j])
                    values = table[used, j] @ functions[used]
                    values *= derivatives[j]
                    total += values
                result[..., times, target] = total.reshape(shape)
        return result

    def _time_blocks(self, problem: Problem) -> Iterator[slice]:
        shape = problem.u.shape
        rows_each = int(np.prod(shape[:-2]))
        most_rows = _BLOCK_NUMBERS // (len(self.functions) + len(self.derivatives))
        return time_blocks(shape[-2], rows_each, most_rows)

    def _factors(self, problem: Problem, times: slice) -> tuple[Array, Array]:
        """Return functions (rows, .) and derivatives (rows, .) of the field at some times."""
        u = np.ascontiguousarray(problem.u[..., times, :])
        flat = u.reshape(-1, u.shape[-1])
        derivatives = np.ones((len(flat), len(self.derivatives)))
        axes = axes_of(problem)
        for j, each in enumerate(self.derivatives):
            if each is not None:
                values = differentiate(u[..., each.state], each.axis, axes[each.axis], each.order)
                derivatives[:, j] = values.reshape(-1)
        return feature_matrix(self.functions, flat), derivatives


def usable(libraries: Sequence[FieldLibrary], problem: Problem, most_terms: int) -> list[bool]:
    """Return which libraries are small enough, and print which are not.

    Raises
    ------
    Unsupported
        If none is.
    """
    counts = {library: _count(library, problem) for library in dict.fromkeys(libraries)}
    large = {library: count for library, count in counts.items() if count > most_terms}
    for library, count in large.items():
        print(f"left out: {library}, {count} terms; at most {most_terms} are allowed")  # noqa: T201
    if len(large) == len(counts):
        raise Unsupported(
            f"the smallest library has {min(counts.values())} terms for {problem.u.shape[-1]} "
            f"states, and at most {most_terms} are allowed; take lower orders or library 'powers'"
        )
    return [library not in large for library in libraries]


def _count(library: FieldLibrary, problem: Problem) -> int:
    derivatives = derivatives_of(problem.variables)
    few = sum(each.order <= library.derivative_order for each in derivatives)
    functions = list_terms([library.functions], problem.u.shape[-1])
    return len(functions) * (1 + few) - 1


def _wanted_rows(problem: Problem) -> NDArray[np.bool_] | None:
    if "rows" not in problem.arrays:
        return None
    wanted = np.zeros(problem.u.shape[:-1], dtype=bool)
    wanted.reshape(-1)[problem.rows.astype(np.intp)] = True
    return wanted
