"""What candidates for surfaces are compared with: values, or points on the surface."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from mdbench.datatypes.equations.selection import Evidence
from mdbench.datatypes.surface.tables import pooled_nmse

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    Array = NDArray[np.float64]

__all__ = ["EXACT", "FirstSteps", "Variances"]

EXACT = 1e-24
"""The square of what is left of an exact surface in double precision, over the variance."""


@dataclass(frozen=True, eq=False)
class Variances(Evidence):
    """Targets that are measured themselves: errors over their variance."""

    targets: Array = field(repr=False)

    def loss(self, values: Array, target: int) -> float:
        """Give the squared error over the variance."""
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
        """Give the mean squared step, over the square of the cloud's size, at most 1."""
        del target
        centre, *moved = values.reshape(7, -1)
        slope = np.stack([a - b for a, b in zip(moved[::2], moved[1::2], strict=True)])
        squares = np.sum((slope / (2 * self.step)) ** 2, axis=0)
        if not squares.any():
            return math.nan  # constant: it has no zeros, or is zero everywhere
        steps = centre**2 / np.where(squares > 0, squares, np.nan) / self.size**2
        return float(np.mean(np.where(np.isfinite(steps), np.minimum(steps, 1.0), 1.0)))
