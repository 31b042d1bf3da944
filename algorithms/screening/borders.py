"""Borders that may divide a domain into two parts: those that help smooth sums most."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from blocks import Factor
from dictionary import sides

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    Array = NDArray[np.float64]

__all__ = ["Border", "borders", "meeting"]

_THIN = 1e-9
"""Smallest distance to a level that is known."""
_RIDGE = 1e-10
"""Part of a column's square: smaller differences between columns are round-off of products."""


@dataclass(frozen=True)
class Border:
    """A border between two parts of the domain.

    Attributes
    ----------
    left
        The share of the residual of one smooth sum that is left by one on each side.
    quantity
        Quantity that is below a level on one side.
    low, high
        Between them is the level.
    """

    left: float
    quantity: Factor
    low: float
    high: float


def borders(X: Array, y: Array, late: Callable[[], bool]) -> list[Border]:
    """Return for each quantity the level that may divide the domain, the best first.

    Parameters
    ----------
    X, y
        (n, d) and (n,).
    late
        Whether the time is over; then the quantities that are left are not looked at.
    """
    columns = _smooth(X)
    n, k = columns.shape
    if 3 * k > n:
        return []
    whole = _left(columns.T @ columns, columns.T @ y, float(y @ y), n)
    if not whole:
        return []
    found = []
    for quantity, weights, absolute, given in sides(X):
        if late():
            break
        border = Factor("abs" if absolute else "id", quantity, weights)
        u = border.values(X)
        inner, along, square = np.zeros((k, k)), np.zeros(k), 0.0
        total, total_along = columns.T @ columns, columns.T @ y
        tried, done = [], np.zeros(n, dtype=bool)
        levels = sorted(given)
        for level in levels:
            new = (u < level) & ~done
            done |= new
            part = columns[new]
            inner = inner + part.T @ part
            along = along + part.T @ y[new]
            square += float(y[new] @ y[new])
            below = int(done.sum())
            if min(below, n - below) <= k:
                continue
            left = _left(inner, along, square, below)
            left += _left(total - inner, total_along - along, float(y @ y) - square, n - below)
            tried.append((left / whole, level))
        if tried:
            left, level = min(tried)
            if len(levels) == 1:
                low, high = level - _THIN, level + _THIN
            else:
                place = levels.index(level)
                low = levels[max(place - 1, 0)]
                high = levels[min(place + 1, len(levels) - 1)]
            found.append(Border(left, border, low, high))
    return sorted(found, key=lambda one: one.left)


def _left(inner: Array, along: Array, square: float, n: int) -> float:
    """Return the square that the best sum of columns leaves, from their products."""
    ridge = _RIDGE * (np.trace(inner) or 1.0)
    try:
        best = np.linalg.solve(inner + ridge * np.eye(len(inner)), along)
    except np.linalg.LinAlgError:
        return square
    return max(square - float(along @ best), 1e-12 * square * (n > 0))


def _smooth(X: Array) -> Array:
    """Return columns that smooth functions are nearly sums of, (n, k), of unit length."""
    d = X.shape[1]
    found = [np.ones(len(X))]
    for i in range(d):
        found += [X[:, i] ** power for power in (1, 2, 3, 4)]
        found += [np.sin(X[:, i]), np.cos(X[:, i]), np.exp(-(X[:, i] ** 2)), np.tanh(X[:, i])]
        found += [np.cos(X[:, i] ** 2), np.sin(X[:, i] ** 2), np.log1p(X[:, i] ** 2)]
        for j in range(i):
            found += [X[:, i] * X[:, j], X[:, i] ** 2 * X[:, j], X[:, i] * X[:, j] ** 2]
            found.append(X[:, i] ** 2 * X[:, j] ** 2)
            for u in (X[:, i] + X[:, j], X[:, i] - X[:, j], X[:, i] * X[:, j]):
                found += [np.sin(u), np.cos(u), np.tanh(u)]
    columns = np.column_stack(found)
    return np.asarray(columns / np.linalg.norm(columns, axis=0))


def meeting(u: Array, below: NDArray[np.bool_], level: float) -> float:
    """Return the roundest level between the rows that are below and those that are not.

    Parameters
    ----------
    u
        (n,), the quantity.
    below
        (n,), where the part below fits better.
    level
        Returned where the parts do not meet.
    """
    order = np.argsort(u)
    is_below = below[order].astype(int)
    wrong = np.cumsum(1 - is_below) + (is_below.sum() - np.cumsum(is_below))
    at = int(np.argmin(wrong))
    if at + 1 >= len(u):
        return level
    low, high = float(u[order[at]]), float(u[order[at + 1]])
    if low < 0 < high:
        return 0.0
    for digits in range(1, 17):
        middle = float(f"{(low + high) / 2:.{digits}g}")
        if low < middle < high:
            return middle
    return (low + high) / 2
