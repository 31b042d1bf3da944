"""The search for one equation: which sums of terms leave least, for each number of terms."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
from models import write_sum
from supports import backward, best_supports, compressed

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray
    from schemes import Scheme
    from summands import Product

    Array = NDArray[np.float64]
    Support = tuple[int, ...]

__all__ = ["WeakAnswer", "WeakRegression", "find", "fitted"]

_WIDTH = 40
_LARGEST = 8
"""Terms of the largest supports that are grown."""
_NESTED = 12
"""The largest support that leaving out gives."""
_EACH = 8
"""Supports of a size that are kept."""
_BRANCHED = 3
"""Number of these from which terms are left out one by one."""
_SEEN = 1e-9
"""A term so much smaller than the largest one is rounding."""


@dataclass(frozen=True)
class WeakRegression:
    """Terms and a target, integrated against test functions.

    Attributes
    ----------
    columns, target
        (rows, p) and (rows,).
    apart
        Number of independent rows, since test functions overlap.
    scheme
        What schemes may leave; None of noisy data.
    """

    terms: tuple[Product, ...] = field(repr=False)
    columns: Array = field(repr=False)
    target: Array = field(repr=False)
    apart: float
    scheme: Scheme | None = field(default=None, repr=False)


@dataclass(frozen=True)
class WeakAnswer:
    """One right-hand side.

    Attributes
    ----------
    errors
        The standard error of each coefficient.
    left
        The residual part of the target's sum of squares.
    errors
        The standard error of each coefficient.
    elsewhere
        The residuals of the same terms, fitted to test functions of each width; of clean data
        without what schemes may leave.
    width
        The index of the width of this fit.
    """

    terms: tuple[Product, ...] = field(repr=False)
    coefficients: tuple[float, ...]
    errors: tuple[float, ...] = field(repr=False)
    left: float
    elsewhere: tuple[float, ...] = field(default=(), repr=False)
    width: int = 0

    @property
    def text(self) -> str:
        """Write it with all digits."""
        return write_sum(np.array(self.coefficients), [term.text for term in self.terms])

    @property
    def beside(self) -> float:
        """What it leaves beside the errors of schemes."""
        return self.elsewhere[self.width]

    def cost_for(self, target: int) -> float:
        """Return the cost of its terms together in the equation of a state."""
        return sum(term.cost_for(target) for term in self.terms)

    @property
    def surest(self) -> float:
        """The largest standard error, as a share of its coefficient."""
        shares = [
            error / abs(value) if value else np.inf
            for error, value in zip(self.errors, self.coefficients, strict=True)
        ]
        return max(shares, default=0.0)


def find(problem: WeakRegression, late: Callable[[], bool]) -> dict[int, list[Support]]:
    """Return the best supports of each size, by the numbers of their terms, best first."""
    length = np.linalg.norm(problem.columns, axis=0)
    usable = np.flatnonzero(np.isfinite(length) & (length > _SEEN * np.nanmax(length)))
    unit, target = compressed(problem.columns[:, usable], problem.target)
    costs = np.array([problem.terms[k].cost for k in usable])
    found = best_supports(unit, target, min(_LARGEST, len(usable), len(target) // 2), _WIDTH)
    for level in np.unique(costs):
        if late():
            break
        nest = np.flatnonzero(costs <= level).tolist()
        for support in backward(unit, target, nest, _NESTED):
            found.setdefault(len(support), []).append(support)
    for size in sorted(found, reverse=True):
        if late():
            break
        for support in found[size][:_BRANCHED]:
            for smaller in backward(unit, target, support, size - 1):
                found.setdefault(len(smaller), []).append(smaller)
    best = {}
    for size, several in found.items():
        distinct = list(dict.fromkeys(tuple(sorted(each)) for each in several))
        left = [_left(unit, target, each) for each in distinct]
        order = np.argsort(left, kind="stable")[:_EACH]
        best[size] = [tuple(int(usable[k]) for k in distinct[place]) for place in order]
    return best


def _left(unit: Array, target: Array, support: Sequence[int]) -> float:
    part = unit[:, list(support)]
    rest = target - part @ np.linalg.lstsq(part, target, rcond=1e-13)[0]
    return float(rest @ rest)


def fitted(problem: WeakRegression, support: Sequence[int]) -> WeakAnswer:
    """Fit the coefficients of a support by least squares."""
    chosen = list(support)
    columns, target = problem.columns[:, chosen], problem.target
    length = np.linalg.norm(columns, axis=0)
    length[length == 0] = 1.0
    scaled = np.linalg.lstsq(columns / length, target, rcond=1e-13)[0]
    rest = target - (columns / length) @ scaled
    square = float(rest @ rest)
    freedom = max(problem.apart - len(chosen), 1.0)
    inverse = np.linalg.pinv(columns / length)
    errors = np.sqrt(square / freedom * np.sum(inverse**2, axis=1)) / length
    return WeakAnswer(
        tuple(problem.terms[k] for k in chosen),
        tuple(map(float, scaled / length)),
        tuple(map(float, errors)),
        square / max(float(target @ target), 1e-300),
    )
