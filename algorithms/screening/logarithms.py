"""One product of powers and functions of the variables, looked for as a sum of logarithms.

Many a law of physics is ``k x0**a x1**b f(x2)/g(x0, x1)``.  The logarithm of its size is linear in
the exponents: least squares give those of all variables at once, alone, with any function, and
with any two.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from itertools import combinations, islice, permutations
from typing import TYPE_CHECKING

import numpy as np
from blocks import Factor, Monomial
from dictionary import monomial_of
from scipy.optimize import least_squares
from screen import explained_by_two

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from blocks import Quantity, Term
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

__all__ = ["Logarithms", "left_by"]

_ROWS_EACH = 4
"""Fewest rows for each number."""
_RANK = 1e-10
"""Singular values smaller than the largest by this share are round-off."""
_SEEN = 1e-6
"""Part of a column's square: a column that leaves less than it is a product of powers."""
_GAIN = 0.1
"""Largest part of the residual squares that one more function may leave."""
_HALF = 0.5
"""Largest part of the spread's square that powers alone may leave."""
_NOTHING = 1e-14
"""Part of the spread's square: less is round-off."""
_TRIED = 3
"""Products with so many functions."""
_MOST = 2500
"""Functions, of which all pairs are looked at."""
_LARGEST = 6.0
"""Functions are raised no higher."""
_STEPS = 60
"""Steps of the fit of what is added to 1."""
_SHARES = (-0.99, -0.9, -0.5, -0.1, 0.1, 1.0, 10.0, 100.0)
"""Largest values of a monomial that is added to 1, as a start of the fit."""


class Logarithms:
    """The logarithms of the variables and of what they are multiplied by.

    Parameters
    ----------
    X, y
        (n, d) and (n,).  Rows with a zero are left out.
    """

    def __init__(self, X: Array, y: Array) -> None:
        rows = (y != 0) & (X != 0).all(axis=1)
        self._X, self._y = X[rows], np.log(np.abs(y[rows]))
        self._signed = [bool((column < 0).any()) for column in X.T]
        n, d = self._X.shape
        self.enough = n >= _ROWS_EACH * (d + 3)
        """Whether there are enough rows."""
        self._powers = np.column_stack([np.ones(n), np.log(np.abs(self._X))])
        if self.enough:
            base, sizes, _ = np.linalg.svd(self._powers, full_matrices=False)
            self._base = base[:, sizes > _RANK * sizes[0]]
            self._rest = self._without_powers(self._y)

    def products(self) -> Iterator[Term]:
        """Yield products of powers and no, one and two functions, the best few of each.

        Yields
        ------
        Term
            Its exponents are whole ones for variables that have negative values, twelfths for
            others, and halves for functions.
        """
        if not self.enough:
            return
        square = float(self._rest @ self._rest)
        spread = float(np.sum((self._y - self._y.mean()) ** 2))
        if square < _HALF * spread:
            yield from self._term(())
        nothing = _NOTHING * spread
        if square <= nothing:
            return
        known, columns = self._functions()
        one, two = left_by(columns, self._rest)
        for place in np.argsort(one, kind="stable")[:_TRIED].tolist():
            if one[place] < _GAIN * square:
                yield from self._term((known[place],))
        if (least := float(one.min(initial=square))) <= nothing:
            return
        for place in np.argsort(two, axis=None, kind="stable")[:_TRIED].tolist():
            i, j = divmod(place, len(two))
            if two[i, j] < _GAIN * least:
                yield from self._term((known[i], known[j]))

    def _without_powers(self, columns: Array) -> Array:
        """Remove the part of columns that powers of the variables explain."""
        for _ in range(2):  # once more for what round-off has left
            columns = columns - self._base @ (self._base.T @ columns)
        return columns

    def _term(self, functions: tuple[Factor, ...]) -> Iterator[Term]:
        """Fit all exponents; yield the product with these rounded, if none is zero."""
        functions = self._sized(functions)
        columns = np.column_stack([self._powers, *(_log(one, self._X) for one in functions)])
        numbers = np.linalg.lstsq(columns, self._y, rcond=1e-12)[0][1:].tolist()
        powers = tuple(
            _rounded(one, 1 if signed else 12)
            for one, signed in zip(numbers, self._signed, strict=False)
        )
        monomial = (Factor("id", (Monomial(powers),), (1.0,)),) if any(powers) else ()
        raised = [
            replace(one, weights=(number,))
            if one.function == "exp"
            else replace(one, power=_rounded(number, 2))
            for one, number in zip(functions, numbers[len(powers) :], strict=True)
        ]
        if (monomial or raised) and all(0 < abs(one.power) <= _LARGEST for one in raised):
            yield (*monomial, *raised)

    def _sized(self, functions: tuple[Factor, ...]) -> tuple[Factor, ...]:
        """Fit what is added to 1, for any exponents (variable projection).

        A function's logarithm over that number goes smoothly from one sign of it to the other.
        """
        own = [place for place, one in enumerate(functions) if not any(one.quantity[0].powers)]
        if not own:
            return functions
        sizes = np.array([functions[place].weights[1] for place in own])
        others = [_log(one, self._X) for one in functions if any(one.quantity[0].powers)]
        monomials = [functions[place].quantity[1].values(self._X) for place in own]

        def left(shares: Array) -> Array:
            columns = [
                np.log(np.abs(1 + share * size * each)) / share if share else size * each
                for share, size, each in zip(shares, sizes, monomials, strict=True)
            ]
            basis = self._without_powers(np.column_stack([*others, *columns]))
            if not np.isfinite(basis).all():
                return np.full(len(self._y), 1e6)
            return self._rest - basis @ np.linalg.lstsq(basis, self._rest, rcond=1e-12)[0]

        found = least_squares(
            left, np.ones(len(own)), method="lm", max_nfev=_STEPS, xtol=1e-15, ftol=1e-15
        )
        chosen = list(functions)
        for place, share, size in zip(own, found.x.tolist(), sizes.tolist(), strict=True):
            if np.isfinite(share) and share:
                chosen[place] = replace(chosen[place], weights=(1.0, share * size))
        return tuple(chosen)

    def _functions(self) -> tuple[list[Factor], Array]:
        """Return functions that are no products of powers, and their logarithms without those."""
        known, columns = [], []
        for one in islice(_candidates(self._X), _MOST):
            with np.errstate(all="ignore"):
                column = _log(one, self._X)
            if not np.isfinite(column).all():
                continue
            other = self._without_powers(column)
            if other @ other > _SEEN * np.sum((column - column.mean()) ** 2):
                known.append(one)
                columns.append(other)
        return known, np.column_stack(columns) if columns else self._powers[:, :0]


def left_by(columns: Array, rest: Array) -> tuple[Array, Array]:
    """Return what columns leave of a residual's square, one at a time and in pairs.

    Parameters
    ----------
    columns, rest
        (n, k) and (n,).

    Returns
    -------
    NDArray, NDArray
        (k,) and (k, k), infinite but above the diagonal and where two columns are alike.
    """
    unit = columns / np.linalg.norm(columns, axis=0)
    along = unit.T @ rest
    square = float(rest @ rest)
    gain = explained_by_two(along, unit.T @ unit, _SEEN)
    return square - along**2, np.where(gain > 0, square - gain, np.inf)


def _log(one: Factor, X: Array) -> Array:
    if one.function == "exp":
        return one.weights[0] * one.quantity[0].values(X)
    return np.asarray(np.log(np.abs(one.values(X))))


def _rounded(number: float, parts: int) -> float:
    nearest = round(number * parts) / parts
    return int(nearest) if nearest == int(nearest) else nearest


def _candidates(X: Array) -> Iterator[Factor]:
    """Yield functions of the variables, the simple ones first."""
    d = X.shape[1]
    of = partial(monomial_of, X)
    ones, squares = ([of({i: power}) for i in range(d)] for power in (1, 2))
    products = [of({i: 1, j: 1}) for i, j in combinations(range(d), 2)]
    ratios = [of({i: 1, j: -1}) for i, j in permutations(range(d), 2)]
    yield from _functions_of(ones)
    yield from (Factor("exp", (each,), (1.0,)) for each in squares)
    yield from (Factor(name, (each,), (0.5,)) for each in ones for name in ("sin", "cos"))
    yield from _sums([*combinations(ones, 2), *combinations(squares, 2)])
    yield from _sums([(of({}), each) for each in (*ones, *squares, *products)])
    for each in (*ones, *squares, *products):
        with np.errstate(all="ignore"):
            largest = float(np.abs(each.values(X)).max())
        if 0 < largest < np.inf:
            for share in _SHARES:
                yield Factor("id", (of({}), each), (1.0, share / largest))
    yield from _functions_of([*products, *ratios])
    yield from _sums(
        (of({i: 1}), of({j: 1, k: 1}))
        for i in range(d)
        for j, k in combinations(range(d), 2)
        if i not in {j, k}
    )


def _functions_of(monomials: Iterable[Monomial]) -> Iterator[Factor]:
    for each in monomials:
        for name in ("sin", "cos", "tanh", "sinh", "cosh", "log1", "exp"):
            yield Factor(name, (each,), (1.0,))


def _sums(quantities: Iterable[Quantity]) -> Iterator[Factor]:
    for quantity in quantities:
        for sign in (1.0, -1.0):
            yield Factor("id", quantity, (1.0, sign))
