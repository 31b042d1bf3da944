"""Test functions of WeakIdent along one axis: how wide, how smooth, and their weights at nodes.

A test function is (1 - s^2)^p on a window of 2 m + 1 nodes.  Its spectrum is nearly that of a
normal distribution, and the window is as narrow as it can be without the waves that are more than
noise being damped: Messenger and Bortz, J. Comput. Phys. 443, 110525 (2021), appendix A, whose
rule Tang et al. take over (J. Comput. Phys. 483, 112069, 2023, section 3).
"""

from __future__ import annotations

from math import comb, perm
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    Array = NDArray[np.float64]

__all__ = ["FEWEST", "corner", "half_width", "piecewise", "smoothness", "weights"]

_NARROWEST = 5
"""Nodes from the middle of a window to its border: fewer, and sums are no integrals any more."""
FEWEST = 2 * _NARROWEST + 1
"""Fewest nodes that a window fits on."""
_TAIL = 1e-10
"""What a test function has fallen to, next to the border of its window."""
_DEVIATIONS = 2.0
"""How many deviations of a test function's spectrum the corner of the data's is from its middle."""
_MARGIN = 3
"""Nodes on either side of a corner of a spectrum, at least."""
_LEAST = 1e-12
"""Of the largest height of a curve, what errors are relative to at least."""


def piecewise(heights: Array, *, margin: int) -> int:
    """Return the node where two straight lines from end to end fit a rising curve best.

    Errors are relative to the curve, so that its low part counts as much as its high one.

    Parameters
    ----------
    heights
        A curve that never falls, (n,).
    margin
        Nodes between the corner and either end, at least.

    Returns
    -------
    int
        The number of the node, from `margin` to n - 1 - margin; the middle where n is too small
        or all is zero.
    """
    n = len(heights)
    places = range(max(margin, 1), n - max(margin, 1))
    if not places or not heights[-1] > 0:
        return n // 2
    below = np.maximum(heights, _LEAST * heights[-1])
    x = np.arange(n)
    errors = []
    for place in places:
        line = np.interp(x, [0, place, n - 1], heights[[0, place, n - 1]])
        errors.append(float(np.sum(((line - heights) / below) ** 2)))
    return places[int(np.argmin(errors))]


def corner(values: Array, axis: int) -> int:
    """Return the number of waves on an axis above which a field is little but noise, at least 1.

    Parameters
    ----------
    values
        Of one state, of any shape.
    axis
        The axis, of n nodes.

    Notes
    -----
    The sizes of the waves, from the shortest to the longest one, are added up: noise gives a
    straight line, and where the field begins the curve turns up.
    """
    n = values.shape[axis]
    sizes = np.abs(np.fft.rfft(values, axis=axis))
    sizes = np.moveaxis(sizes, axis, 0).reshape(n // 2 + 1, -1).mean(axis=1)
    risen = np.cumsum(sizes[::-1])
    return max(1, len(risen) - 1 - piecewise(risen, margin=_MARGIN))


def half_width(n: int, waves: Sequence[int]) -> int:
    """Return the nodes from the middle of a window to its border.

    Parameters
    ----------
    n
        Nodes of the axis, `FEWEST` at least.
    waves
        The corner of each state's spectrum; windows are as wide as suits them on average.

    Returns
    -------
    int
        At most a quarter of the nodes, so that half of them are middles of windows, and at least
        what an integral takes.
    """
    found = []
    for count in waves:
        # Where the corner is two deviations of the spectrum, which has this one root here.
        least = np.sqrt(3) * n * _DEVIATIONS / (2 * np.pi * count)
        m = np.arange(max(2, int(least)), max(3, n // 2))
        left = np.log((2 * m - 1) / m**2) * (
            4 * np.pi**2 * count**2 * m**2 - 3 * n**2 * _DEVIATIONS**2
        )
        past = left - 2 * n**2 * _DEVIATIONS**2 * np.log(_TAIL) <= 0
        past &= m > least
        found.append(float(m[np.argmax(past)]) if past.any() else n / 2 / count)
    wide = int(np.ceil(np.mean(found)))
    return max(_NARROWEST, min(wide, n // 4))


def smoothness(half: int, order: int) -> int:
    """Return the power p of a test function whose derivatives up to an order are needed.

    It falls to almost nothing at the last node of its window, as in the paper; but in windows of
    less than 15 nodes it is as wide as sums over nodes take to be integrals.
    """
    fallen = np.log(_TAIL) / np.log((2 * half - 1) / half**2)
    return max(order + 2, min(int(fallen), half**2 // 2))


def weights(places: Array, power: int, order: int) -> Array:
    """Return a derivative of the test function (1 - s^2)^power, by Leibniz' rule.

    Parameters
    ----------
    places
        s, in the window from -1 to 1; outside of it the derivative is 0.
    power
        At least order + 1.
    order
        Of the derivative.
    """
    s = np.clip(places, -1.0, 1.0)
    total = np.zeros_like(s)
    for k in range(order + 1):
        left = perm(power, k) * (1 + s) ** (power - k)
        right = (-1) ** (order - k) * perm(power, order - k) * (1 - s) ** (power - order + k)
        total += comb(order, k) * left * right
    return total
