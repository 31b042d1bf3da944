"""The points of a domain at which functions are compared; always the same ones."""

from __future__ import annotations

import math
import random
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from eqverdict.tree import Call, Node, parts, value

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from numpy.typing import NDArray

    Array = NDArray[np.float64]

Domain = tuple[tuple[str, float, float], ...]
"""The least and the largest value of variables, as far as they are known."""

POINTS = 64
_UNKNOWN = 0.05, 5.0
"""The sizes of a variable of which nothing is known; it has either sign."""
_BEYOND = 1.5
"""Half of the points lie in a range that is wider by this factor; signs stay as they are."""
_WIDE = 100.0
"""In a range whose ends have this ratio or more, points are drawn uniformly in the logarithm."""
_DECADES = (-1, 1, -2, 2, -3, 3, -5, -8)
"""Decades by which far points are scaled; every fourth point is positive in all variables."""
_POSITIVE = 4
"""All variables of either sign are positive together at one in so many points."""


@lru_cache(maxsize=1_024)
def points(names: tuple[str, ...], domain: Domain) -> dict[str, NDArray[np.float64]]:
    """Draw values for each name; always the same ones."""
    ranges = {name: (low, high) for name, low, high in domain}
    generator = random.Random("points")  # noqa: S311 - the same for all, not secrets
    columns: dict[str, list[float]] = {name: [] for name in names}
    for i in range(POINTS):
        for name in names:
            columns[name].append(_drawn(ranges.get(name), i, generator))
    return {name: np.array(column) for name, column in columns.items()}


@lru_cache(maxsize=1_024)
def far_points(names: tuple[str, ...], domain: Domain) -> list[dict[str, float]]:
    """Return points at which variables of which nothing is known are very small or very large.

    To a hundred millionth and a thousand times; variables of a known range stay in it.  None where
    all ranges are known.
    """
    known = {name for name, _, _ in domain}
    if known.issuperset(names):
        return []
    columns = points(names, domain)
    return [
        {name: float(columns[name][i]) * (1.0 if name in known else 10.0**k) for name in names}
        for i, k in enumerate(_DECADES)
    ]


def _drawn(known: tuple[float, float] | None, i: int, generator: random.Random) -> float:
    wider = _BEYOND if i % 2 else 1.0
    positive = i % _POSITIVE == 0
    if known is None or known == (0.0, 0.0):
        size = _logarithmic(*_UNKNOWN, generator)
        return size if positive or generator.random() < 0.5 else -size  # noqa: PLR2004
    low, high = known
    if high <= 0:
        return -_same_sign(-high, -low, wider, generator)
    if low >= 0:
        return _same_sign(low, high, wider, generator)
    value = generator.uniform(low, high) * wider
    return abs(value) if positive else value


def widen(known: tuple[float, float] | None) -> tuple[float, float]:
    """Return the ends of a range that is half as wide again; signs stay as they are."""
    if known is None or known == (0.0, 0.0):
        return -_UNKNOWN[1], _UNKNOWN[1]
    low, high = known
    if high <= 0:
        low, high = widen((-high, -low))
        return -high, -low
    if low >= 0:
        return low / _BEYOND, high * _BEYOND
    return low * _BEYOND, high * _BEYOND


def _same_sign(low: float, high: float, wider: float, generator: random.Random) -> float:
    if high < low * _BEYOND:  # a constant column, or nearly so, shows nothing within its range
        wider = _BEYOND
    low, high = low / wider, high * wider
    if low > 0 and high > _WIDE * low:
        return _logarithmic(low, high, generator)
    return generator.uniform(low, high) or high


def _logarithmic(low: float, high: float, generator: random.Random) -> float:
    return math.exp(generator.uniform(math.log(low), math.log(high)))


_BRANCHED = frozenset({"abs", "Abs", "sign", "max", "Max", "min", "Min"})
_MOST_BRANCHES = 8
_NEW_POINTS = 2
"""Points that are added on a side of a branch where none was."""


def with_branches(
    base: Mapping[str, Array], trees: Iterable[Node], known: Mapping[str, tuple[float, float]]
) -> Mapping[str, Array]:
    """Add points on those sides of branches where there are none, as far as they are found.

    Variables of a known range stay in it, others are followed to a million times their size.
    """
    calls = (part for tree in trees for part in parts(tree) if isinstance(part, Call))
    branches = [call for call in calls if call.function in _BRANCHED][:_MOST_BRANCHES]
    if not branches or not base:
        return base
    n = len(next(iter(base.values())))
    added: list[dict[str, float]] = []
    lacking = {
        (k, sign): _NEW_POINTS
        for k, branch in enumerate(branches)
        for sign in (-1.0, 1.0)
        if (_signs(branch, base, n) == sign).sum() < _NEW_POINTS
    }
    generator = random.Random("branches")  # noqa: S311 - the same for all, not secrets
    for decade in (-1, 1, -2, 2, -3, 3, -6, 6):
        wide = {
            name: np.array([_drawn(known[name], i, generator) for i in range(n)])
            if name in known
            else column * 10.0**decade
            for name, column in base.items()
        }
        for (k, sign), lacks in lacking.items():
            found = np.flatnonzero(_signs(branches[k], wide, n) == sign) if lacks else ()
            for i in found[:lacks]:
                added.append({name: float(column[i]) for name, column in wide.items()})
                lacking[k, sign] -= 1
    return {
        name: np.append(column, [point[name] for point in added]) for name, column in base.items()
    }


def _signs(branch: Call, columns: Mapping[str, Array], n: int) -> Array:
    """Return the sides of a branch that n points are on: of a zero, or of two equal values."""
    with np.errstate(all="ignore"):
        values = [np.asarray(value(each, columns), np.float64) for each in branch.arguments]
        side = values[0] - values[1] if len(values) > 1 else values[0]
        return np.broadcast_to(np.sign(side), n)
