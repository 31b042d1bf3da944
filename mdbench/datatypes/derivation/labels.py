"""Numbers of right and wrong labels."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Flags = NDArray[np.bool_]
    Array = NDArray[np.float64]

__all__ = ["accuracy", "bootstrap_difference", "f1"]

_RESAMPLES = 2000
_LEVEL = (2.5, 97.5)


def accuracy(found: Flags, true: Flags) -> float:
    """Give the share of labels that are right; both are (n,)."""
    return float(np.mean(found == true))


def f1(found: Flags, true: Flags) -> float:
    """Give the harmonic mean of precision and recall of the label that is true; 0 without any."""
    hits, all_named = np.sum(found & true), np.sum(found) + np.sum(true)
    return float(2 * hits / all_named) if all_named else 0.0


def bootstrap_difference(one: Array, other: Array, *, paired: bool) -> tuple[float, float, float]:
    """Give the difference of two means with its 95 % interval by the percentile bootstrap.

    Parameters
    ----------
    one, other
        A value for each unit, (n,) and (m,).
    paired
        Whether both are of the same units, which are then drawn together.

    Returns
    -------
    tuple of float
        The difference ``mean(one) - mean(other)``, and the interval's ends.
    """
    generator = np.random.default_rng(0)  # the same numbers, the same interval
    draws = []
    for _ in range(_RESAMPLES):
        rows = generator.integers(0, len(one), len(one))
        others = rows if paired else generator.integers(0, len(other), len(other))
        draws.append(one[rows].mean() - other[others].mean())
    low, high = np.percentile(draws, _LEVEL)
    return float(one.mean() - other.mean()), float(low), float(high)
