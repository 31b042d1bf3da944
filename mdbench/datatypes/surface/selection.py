"""What candidates for surfaces are compared with: values, or points on the surface."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from mdbench.datatypes.equations.selection import Evidence

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    Array = NDArray[np.float64]

EXACT = 1e-24
"""The square of what is left of an exact surface in double precision, over the variance."""


@dataclass(frozen=True, eq=False)
class Variances(Evidence):
    """Targets that are measured themselves: errors over their variance."""

    targets: Array = field(repr=False)

    def loss(self, values: Array, target: int) -> float:
        """Return the squared error over the variance."""
        return pooled_nmse(values[:, None], self.targets[:, target : target + 1])


@dataclass(frozen=True, eq=False)
class FirstSteps(Evidence):
    """Points at which an equation is to be zero.

    Newton's first step from each point is about as long as the distance to the nearest zero.  An
    equation's own size is of no account, and one that is the same everywhere has no steps.

    Attributes
    ----------
    step
        What values are differenced over; the columns hold the points, and then, for each axis, the
        points moved to and fro along it.
    size
        The root mean square of the points' distances from their centre.
    """

    step: float
    size: float

    @classmethod
    def of(cls, points: Array, names: Sequence[str]) -> FirstSteps:
        """Make it of points, (n, 3)."""
        size = float(np.sqrt(np.mean(np.sum((points - points.mean(axis=0)) ** 2, axis=1)))) or 1.0
        step = 1e-5 * size
        moved = [points]
        for axis in np.eye(3):
            moved += [points + step * axis, points - step * axis]
        whole = np.concatenate(moved)
        columns = {name: np.ascontiguousarray(whole[:, i]) for i, name in enumerate(names)}
        return cls(columns, np.array([EXACT]), step, size)

    def loss(self, values: Array, target: int) -> float:
        """Return the mean squared step, over the square of the cloud's size, at most 1."""
        del target
        centre, *moved = values.reshape(7, -1)
        slope = np.stack([a - b for a, b in zip(moved[::2], moved[1::2], strict=True)])
        squares = np.sum((slope / (2 * self.step)) ** 2, axis=0)
        if not squares.any():
            return math.nan  # constant: it has no zeros, or is zero everywhere
        steps = centre**2 / np.where(squares > 0, squares, np.nan) / self.size**2
        return float(np.mean(np.where(np.isfinite(steps), np.minimum(steps, 1.0), 1.0)))


WORST = 1e12
"""An NMSE that is larger, or not a number, is recorded as this."""
_APART = 1e-2
"""Differences and ratios that vary by more are not constant."""


def pooled_nmse(values: Array, targets: Array) -> float:
    r"""Return the squared error over the variance of the targets, both summed over the outputs.

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
    elsewhere, of the sum of squares.
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
    """Whether one output's values are near a constant term or factor of the targets.

    What is not is no solution, and need not be looked at symbolically.
    """
    with np.errstate(all="ignore"):
        spread = float(np.std(targets)) or 1.0
        near = bool(np.std(values - targets) <= _APART * spread)
        factor = float(values @ targets) / (float(targets @ targets) or 1.0)
        size = float(np.sqrt(np.mean(values**2)))
        left = float(np.sqrt(np.mean((values - factor * targets) ** 2)))
        return near or bool(left <= _APART * size)
