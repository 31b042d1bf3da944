"""What data are like before anything is fitted to them: spacing, noise, how well they are resolved.

All of it is estimated from the samples alone, and is advice: nothing is scored by it.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from mdbench.data.smoothing import FEWEST_SAMPLES, smooth

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

    Array = NDArray[np.float64]

__all__ = [
    "Spacing",
    "between_halves",
    "integrated_back",
    "near_noise",
    "samples_per_oscillation",
    "spacing",
    "turning_points",
]

EVEN = 0.01
"""Steps that differ by less than this share of their median are regular."""
_SWING = 0.05
"""Of a curve's range: what swings less is no oscillation."""
_SIGNAL = 3.0
"""Standard deviations of the noise: what swings less is none either."""
_FAST = 10
"""Percentile of the oscillations' lengths that counts as the fastest."""
_NEAR = 10
"""Neighbours of a row that the Gamma test looks at."""
FEWEST_ROWS = 30
"""Rows below which nothing is said of a table's noise."""


class Spacing(NamedTuple):
    """The steps between samples: the least, the median, the largest."""

    least: float
    median: float
    largest: float

    @property
    def regular(self) -> bool:
        """Whether they are all the same, as far as such data are written."""
        return self.largest - self.least <= EVEN * self.median


def spacing(series: Iterable[Array]) -> Spacing:
    """Measure the steps within one series of places or times, or within several.

    Examples
    --------
    >>> spacing([np.array([0.0, 1.0, 2.0]), np.array([5.0, 7.0])])
    Spacing(least=1.0, median=1.0, largest=2.0)
    """
    steps = np.concatenate([np.diff(one) for one in series])
    return Spacing(float(steps.min()), float(np.median(steps)), float(steps.max()))


def between_halves(t: Array, u: Array) -> Array | None:
    """Say how well derivatives are known: how far those from every other sample are apart.

    Parameters
    ----------
    t
        Increasing times, (n,).
    u
        Values, (n, d).

    Returns
    -------
    array, (d,)
        The root mean square of half the difference of the derivatives of two smoothed curves, one
        through the even samples and one through the odd, over that of their mean; None for too
        few samples.
    """
    if len(t) < 2 * FEWEST_SAMPLES:
        return None
    even, odd = (smooth(t[first::2], u[first::2]) for first in (0, 1))
    at = slice(2, len(t) - 2)  # both curves are known there
    rates = [_rates(curve.t, curve.du, t[at]) for curve in (even, odd)]
    apart = np.sqrt(np.mean((rates[0] - rates[1]) ** 2, axis=0)) / 2
    size = np.sqrt(np.mean(((rates[0] + rates[1]) / 2) ** 2, axis=0))
    return np.asarray(np.divide(apart, size, out=np.full_like(apart, np.inf), where=size > 0))


def _rates(t: Array, du: Array, at: Array) -> Array:
    return np.stack([np.interp(at, t, column) for column in du.T], axis=-1)


def integrated_back(t: Array, u: Array, du: Array) -> Array:
    """Say how far derivatives, integrated by the trapezoidal rule, miss what they are of.

    Parameters
    ----------
    t, u, du
        Times (n,), values and derivatives, (n, d).

    Returns
    -------
    array, (d,)
        The root mean square of the difference, but for a constant, over the standard deviation of
        `u`.
    """
    steps = np.diff(t)[:, None] * (du[1:] + du[:-1]) / 2
    back = np.concatenate([np.zeros((1, u.shape[1])), np.cumsum(steps, axis=0)])
    missed, size = np.std(back - u, axis=0), np.std(u, axis=0)
    return np.asarray(np.divide(missed, size, out=np.zeros_like(missed), where=size > 0))


def turning_points(u: Array, least: float) -> list[int]:
    """Find where a curve turns, (n,), by at least so much on both sides; the ends are none.

    Examples
    --------
    >>> turning_points(np.array([0.0, 2.0, 1.9, 3.0, 0.0, 5.0]), least=1.0)
    [3, 4]
    """
    low = high = 0
    rising: bool | None = None
    found = []
    for i, value in enumerate(u):
        if value > u[high]:
            high = i
        if value < u[low]:
            low = i
        if rising is not False and u[high] - value >= least:
            if rising:
                found.append(high)
            rising, low, high = False, i, i
        elif rising is not True and value - u[low] >= least:
            if rising is False:
                found.append(low)
            rising, low, high = True, i, i
    return found


def samples_per_oscillation(curves: Sequence[Array], noise: float = 0.0) -> float | None:
    """Say how many samples the fastest oscillation has.

    Parameters
    ----------
    curves
        Curves whose noise was taken out, (n,) each, of one quantity.
    noise
        The standard deviation that the noise had.

    Returns
    -------
    float
        Twice the samples between two turning points, of the fastest tenth of such pairs; None
        where nothing goes to and fro.
    """
    extent = max(float(np.max(one)) for one in curves) - min(float(np.min(one)) for one in curves)
    least = max(_SWING * extent, _SIGNAL * noise)
    if least <= 0:
        return None
    turns = [turning_points(one, least) for one in curves]
    halves = [after - before for each in turns for before, after in pairwise(each)]
    return 2.0 * float(np.percentile(halves, _FAST)) if halves else None


def near_noise(x: Array, y: Array) -> float | None:
    """Estimate the variance of the noise in the target of a table.

    The Gamma test: half the mean squared difference of the targets of neighbours, extrapolated
    to neighbours at no distance (Stefánsson, Končar, Jones, Neural Computing & Applications 5, 131
    (1997), equations 8 to 10).

    Parameters
    ----------
    x
        The inputs, (n, d); columns of whatever sizes.
    y
        The target, (n,).

    Returns
    -------
    float
        The variance; None for fewer than `FEWEST_ROWS` rows.
    """
    if len(y) < FEWEST_ROWS:
        return None
    sizes = np.std(x, axis=0)
    scaled = x[:, sizes > 0] / sizes[sizes > 0]
    if not scaled.size:
        return float(np.var(y))
    near = min(_NEAR, len(y) // 3)
    from scipy.spatial import KDTree  # noqa: PLC0415 - takes a moment to load

    distances, neighbours = KDTree(scaled).query(scaled, k=near + 1)
    delta = np.mean(distances[:, 1:] ** 2, axis=0)
    gamma = np.mean((y[neighbours[:, 1:]] - y[:, None]) ** 2, axis=0) / 2
    spread = delta - delta.mean()
    if float(spread @ spread) <= 0:
        return float(gamma.mean())
    slope = max(float(spread @ gamma) / float(spread @ spread), 0.0)
    return float(max(gamma.mean() - slope * delta.mean(), 0.0))
