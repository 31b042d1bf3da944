"""How well values agree with targets, and what may be a solution."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

__all__ = ["WORST", "may_be_solution", "pooled_nmse"]

WORST = 1e12
"""An NMSE that is larger, or not a number, is recorded as this."""
_APART = 1e-2
"""Differences and ratios that vary by more are not constant."""


def pooled_nmse(values: Array, targets: Array) -> float:
    r"""Give the squared error over the variance of the targets, both summed over the outputs.

    .. math:: \frac{\sum (\hat y - y)^2}{\sum (y - \bar y)^2}

    Parameters
    ----------
    values, targets
        (n, outputs).

    Returns
    -------
    float
        At most `WORST`; where all targets of an output are equal, 0 if all values are right.

    References
    ----------
    Kabra et al., "SurfaceBench", section 4; there it is a share of the variance, and not, as
    elsewhere in this bench, of the sum of squares.
    """
    scale = float(np.max(np.abs(targets))) or 1.0
    with np.errstate(all="ignore"):
        error = float(np.sum(((values - targets) / scale) ** 2))
        power = float(np.sum(((targets - targets.mean(axis=0)) / scale) ** 2))
    if error == 0:
        return 0.0
    # What is left of equal targets when their mean is taken off is rounding.
    if not np.isfinite(error) or power <= targets.size * np.finfo(np.float64).eps ** 2:
        return WORST
    return min(error / power, WORST)


def may_be_solution(values: Array, targets: Array) -> bool:
    """Tell whether one output's values are near a constant term or factor of the targets.

    What is not is no solution, and need not be looked at symbolically.
    """
    with np.errstate(all="ignore"):
        spread = float(np.std(targets)) or 1.0
        near = bool(np.std(values - targets) <= _APART * spread)
        factor = float(values @ targets) / (float(targets @ targets) or 1.0)
        size = float(np.sqrt(np.mean(values**2)))
        left = float(np.sqrt(np.mean((values - factor * targets) ** 2)))
        return near or bool(left <= _APART * size)
