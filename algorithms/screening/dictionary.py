"""The factors that are tried: functions of quantities on grids of their inner numbers."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations, permutations, product
from typing import TYPE_CHECKING

import numpy as np
from blocks import Factor, Monomial

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from blocks import Quantity
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

__all__ = ["factors", "monomial_of", "plane_waves", "sides"]

_LARGEST = 1e8
"""Columns with values beyond this show only where they are largest."""
_WAVES = 24
"""Frequencies of each quantity, from a half wave over its spread upwards."""
_PERIODS = 8
"""Longest period of waves over whole numbers."""


@dataclass(frozen=True)
class _Grid:
    """Scales of a function.

    Attributes
    ----------
    function
        Of `blocks.FUNCTIONS`.
    scales
        Scales that are tried.
    positive
        Whether for quantities without negative values, or for the others; None: for all.
    simple
        Whether for simple quantities alone.
    largest
        Beyond which a scaled quantity must not go.
    """

    function: str
    scales: tuple[float, ...]
    positive: bool | None = None
    simple: bool = False
    largest: float = np.inf


_RATES = (0.05, 0.1, 0.2, 0.4, 0.8, 1.0, 2.0)
_FEW = (0.1, 0.2, 0.5, 1.0, 2.0)
_STEEP = 20.0
"""Exponentials go no further."""
_GRIDS = (
    _Grid("tanh", _FEW),
    _Grid("exp", tuple(-rate for rate in _RATES), positive=True),
    _Grid("expabs", _RATES, positive=False, simple=True),
    _Grid("exp", tuple(-rate for rate in _RATES), positive=False),
    _Grid("exp", _RATES, largest=_STEEP),
    _Grid("over1", _FEW, positive=True),
    _Grid("log1", (0.1, 1.0), positive=True),
    _Grid("sqrt1", (0.1, 1.0), positive=True),
    _Grid("overlog", (1.0,), positive=True, simple=True),
    _Grid("expr", (0.25, 1.0, 4.0), positive=True, simple=True),
    _Grid("sinr", (1.0, 2.0, 4.0, 9.0, 16.0), positive=True, simple=True),
    _Grid("cosr", (1.0, 2.0, 4.0, 9.0, 16.0), positive=True, simple=True),
    _Grid("overa", (1.0,), positive=False),
    _Grid("loga", (1.0,), positive=False),
    _Grid("logistic", (1.0, -1.0), positive=False),
    _Grid("sinh", (0.2, 0.5, 1.0, 2.0), positive=False, largest=_STEEP),
    _Grid("cosh", (0.2, 0.5, 1.0), simple=True, largest=_STEEP),
    _Grid("atan", (0.3, 1.0, 3.0), simple=True),
    _Grid("sin2", (0.5, 1.0, 1.5, 2.0, 3.0), simple=True),
    _Grid("cos2", (0.5, 1.0, 1.5, 2.0, 3.0), simple=True),
)


def factors(X: Array, most: int) -> list[Factor]:
    """Return the factors that products are made of, the simplest first; at most so many.

    Parameters
    ----------
    X
        (n, d): grids are chosen by how far quantities spread on it.
    most
        The number of factors.
    """
    whole = bool(np.all(np.round(X) == X))
    found: dict[Factor, None] = {}
    for one in (*_powers(X), *_binomials(X), *_functions(X, whole=whole)):
        if len(found) >= most:
            break
        with np.errstate(all="ignore"):
            column = one.values(X)
        if np.isfinite(column).all() and np.abs(column).max() < _LARGEST and np.std(column) > 0:
            found[one] = None
    return list(found)


def plane_waves(X: Array, steps: int) -> list[Factor]:
    """Return waves over each plane of two variables, in all directions."""
    found = []
    for i, j in combinations(range(X.shape[1]), 2):
        spread = np.ptp(X[:, [i, j]], axis=0)
        if not spread.all():
            continue
        step = np.pi / spread / 1.5
        for a, b in product(range(steps), range(-steps + 1, steps)):
            if a == 0 or b == 0:
                continue
            weights = (float(a * step[0]), float(b * step[1]))
            quantity = (monomial_of(X, {i: 1}), monomial_of(X, {j: 1}))
            found += [Factor(name, quantity, weights) for name in ("sin", "cos")]
    return found


def sides(X: Array) -> Iterator[tuple[Quantity, tuple[float, ...], bool, list[float]]]:
    """Yield what may divide regimes: quantity, weights, whether its absolute value, thresholds."""
    d = X.shape[1]
    share = np.linspace(0.03, 0.97, 20)
    lines: list[tuple[Quantity, tuple[float, ...]]] = [
        ((monomial_of(X, {i: 1}),), (1.0,)) for i in range(d)
    ]
    for i, j in combinations(range(d), 2):
        one, other = monomial_of(X, {i: 1}), monomial_of(X, {j: 1})
        lines += [((one, other), (1.0, -1.0)), ((one, other), (1.0, 1.0))]
        lines.append(((monomial_of(X, {i: 1, j: 1}),), (1.0,)))
    for quantity, weights in lines:
        yield quantity, weights, False, [0.0]
    for quantity, weights in lines:
        own = np.abs(Factor("id", quantity, weights).values(X))
        yield quantity, weights, True, np.quantile(own, share).tolist()
    for i, j in combinations(range(d), 2):
        quantity, weights = (monomial_of(X, {i: 2}), monomial_of(X, {j: 2})), (1.0, 1.0)
        own = Factor("id", quantity, weights).values(X)
        yield quantity, weights, False, np.quantile(own, share).tolist()
    for quantity, weights in lines[:d]:
        own = Factor("id", quantity, weights).values(X)
        yield quantity, weights, False, np.quantile(own, share).tolist()


def monomial_of(X: Array, powers: dict[int, int], *, absolute: bool = False) -> Monomial:
    """Return a product of powers of some columns of X (n, d)."""
    return Monomial(tuple(powers.get(i, 0) for i in range(X.shape[1])), absolute)


def _powers(X: Array) -> Iterator[Factor]:
    """Yield products of powers, and factors that have no scale."""
    d = X.shape[1]
    highest = 4 if d < 4 else 2  # noqa: PLR2004
    for total in range(1, highest + 1):
        for powers in product(range(total + 1), repeat=d):
            if sum(powers) == total:
                yield Factor("id", (Monomial(powers),), (1.0,))
    for i in range(d):
        column = X[:, i]
        if np.abs(column).min() > 0.01 * np.abs(column).max():
            yield Factor("id", (monomial_of(X, {i: -1}),), (1.0,))
            yield Factor("id", (monomial_of(X, {i: -2}),), (1.0,))
        if column.min() > 0:
            yield Factor("sqrt", (monomial_of(X, {i: 1}),), (1.0,))


def _binomials(X: Array) -> Iterator[Factor]:
    """Yield quantities themselves, their roots and their absolute values."""
    for quantity, weights in _quantities(X):
        u = Factor("id", quantity, weights).values(X)
        if len(quantity) > 1:
            yield Factor("id", quantity, weights)
        if u.min() < 0:
            yield Factor("abs", quantity, weights)
        elif len(quantity) > 1:
            yield Factor("sqrt", quantity, weights)


def _quantities(X: Array) -> Iterator[tuple[Quantity, tuple[float, ...]]]:
    d = X.shape[1]
    one = (1.0,)
    for i in range(d):
        yield (monomial_of(X, {i: 1}),), one
    for i, j in combinations(range(d), 2):
        x, y = monomial_of(X, {i: 1}), monomial_of(X, {j: 1})
        xx, yy, xy = monomial_of(X, {i: 2}), monomial_of(X, {j: 2}), monomial_of(X, {i: 1, j: 1})
        yield (x, y), (1.0, 1.0)
        yield (x, y), (1.0, -1.0)
        yield (xy,), one
        yield (xx, yy), (1.0, 1.0)
        yield (xx, yy), (1.0, -1.0)
    for i in range(d):
        yield (monomial_of(X, {i: 2}),), one
    for i, j in combinations(range(d), 2):
        x, y = monomial_of(X, {i: 1}), monomial_of(X, {j: 1})
        xx, yy = monomial_of(X, {i: 2}), monomial_of(X, {j: 2})
        for square, line in ((xx, y), (yy, x)):
            yield (square, line), (1.0, 1.0)
            yield (square, line), (1.0, -1.0)
        yield (
            (monomial_of(X, {i: 1}, absolute=True), monomial_of(X, {j: 1}, absolute=True)),
            (1.0, 1.0),
        )
        yield (monomial_of(X, {i: 2, j: 1}),), one
        yield (monomial_of(X, {i: 1, j: 2}),), one
        yield (monomial_of(X, {i: 2, j: 2}),), one
        yield (monomial_of(X, {i: 3}), monomial_of(X, {j: 3})), (1.0, 1.0)
        yield (
            (monomial_of(X, {i: 4}), monomial_of(X, {i: 2, j: 2}), monomial_of(X, {j: 4})),
            (1.0, 2.0, 1.0),
        )
    for i in range(d):
        yield (monomial_of(X, {i: 3}),), one
    if d > 2:  # noqa: PLR2004
        yield (Monomial((1,) * d),), one
        yield tuple(monomial_of(X, {i: 2}) for i in range(d)), (1.0,) * d


def _functions(X: Array, *, whole: bool) -> Iterator[Factor]:
    """Yield functions with grids of scales, those of simple quantities first."""
    d = X.shape[1]
    for place, (quantity, weights) in enumerate(_quantities(X)):
        u = Factor("id", quantity, weights).values(X)
        spread = float(np.std(u))
        if not spread:
            continue
        simple = place < d + 5 * d * (d - 1) // 2 + d
        for scale in _frequencies(spread, simple=simple, whole=whole):
            yield _scaled(quantity, weights, "sin", scale)
            yield _scaled(quantity, weights, "cos", scale)
        positive, biggest = bool(u.min() >= 0), float(np.abs(u).max())
        for grid in _GRIDS:
            if (simple or not grid.simple) and grid.positive in {None, positive}:
                for scale in grid.scales:
                    if scale * biggest < grid.largest:
                        yield _scaled(quantity, weights, grid.function, scale)
        if simple:
            yield from _levels(quantity, weights, u)
    yield from _turns(d)


def _levels(quantity: Quantity, weights: Sequence[float], u: Array) -> Iterator[Factor]:
    """Yield steps at some levels of a quantity, whose values are u (n,)."""
    one = Monomial((0,) * len(quantity[0].powers))
    for level in np.quantile(u, (0.15, 0.4, 0.7)).tolist():
        yield Factor("tanh", (*quantity, one), (*weights, -level))


def _turns(d: int) -> Iterator[Factor]:
    """Yield waves over the direction in each plane."""
    for i, j in permutations(range(d), 2):
        turn = Monomial((0,) * d, ratio=(i, j))
        for name in ("sin", "cos", "sin2", "cos2"):
            for scale in (1.0, 2.0, 3.0, 4.0):
                yield Factor(name, (turn,), (scale,))


def _scaled(quantity: Quantity, weights: Sequence[float], name: str, scale: float) -> Factor:
    return Factor(name, quantity, tuple(scale * each for each in weights))


def _frequencies(spread: float, *, simple: bool, whole: bool) -> list[float]:
    """Return frequencies: round ones, and as many others as leave no gap."""
    if whole:
        found = {2 * np.pi * k / m for m in range(2, _PERIODS + 1) for k in range(1, m // 2 + 1)}
        return sorted({float(f"{each:.12g}") for each in found} | {0.5, 1.0, 2.0, 3.0})
    step = 1.2 / spread
    own = [step * k for k in range(1, (_WAVES if simple else _WAVES // 2) + 1)]
    round_ones = [0.1, 0.2, 0.3, 0.5, 1.0, 2.0, 3.0, 4.0, 5.0]
    return sorted({*own, *(each for each in round_ones if each * spread < 40 or each == 1)})  # noqa: PLR2004
