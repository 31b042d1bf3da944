"""Where two equations are held against each other: fixed points of the task's own domain."""

from __future__ import annotations

import math
import random
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Domain", "far_points", "points"]

Domain = tuple[tuple[str, float, float], ...]
"""The least and the largest value of variables, as far as they are known."""

POINTS = 64
_UNKNOWN = 0.05, 5.0
"""The sizes of a variable of which nothing is known; it has either sign."""
_BEYOND = 1.5
"""Half of the points lie in a range that is wider by this factor; signs stay as they are."""
_WIDE = 100.0
"""A range of such a ratio is drawn from by its logarithm."""
_DECADES = (-1, 1, -2, 2, -3, 3, -5, -8)
"""By how many decades far points are farther; of these every fourth is positive, too."""
_POSITIVE = 4
"""What may have either sign is positive at every so manieth point, together."""


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
    """Give points well beyond the domain: to a tenth and ten times of what is known.

    Of what is not, to a hundred millionth and a thousand times.
    """
    known = {name for name, _, _ in domain}
    columns = points(names, domain)
    return [
        {
            name: float(columns[name][i]) * 10.0 ** (math.copysign(1, k) if name in known else k)
            for name in names
        }
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


def _same_sign(low: float, high: float, wider: float, generator: random.Random) -> float:
    if high < low * _BEYOND:  # a constant column, or nearly so, tells nothing within its range
        wider = _BEYOND
    low, high = low / wider, high * wider
    if low > 0 and high > _WIDE * low:
        return _logarithmic(low, high, generator)
    return generator.uniform(low, high) or high


def _logarithmic(low: float, high: float, generator: random.Random) -> float:
    return math.exp(generator.uniform(math.log(low), math.log(high)))
