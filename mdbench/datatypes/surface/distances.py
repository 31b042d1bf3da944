"""How far two clouds of points are apart."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy.spatial import cKDTree

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

__all__ = ["Distances", "diagonal", "distances", "nearest"]

QUANTILE = 0.95


@dataclass(frozen=True)
class Distances:
    """Three distances of two clouds, in the unit of their coordinates.

    Attributes
    ----------
    chamfer
        The mean distance from the points of either to the nearest of the other, both added.
    hausdorff
        The largest such distance.
    hausdorff_95
        The larger of the two 95 % quantiles.

    References
    ----------
    Kabra et al., "SurfaceBench", eqs. 1 and 2; distances are not squared.
    """

    chamfer: float
    hausdorff: float
    hausdorff_95: float

    def over(self, length: float) -> Distances:
        """Give them in a unit of length."""
        return Distances(self.chamfer / length, self.hausdorff / length, self.hausdorff_95 / length)

    @classmethod
    def of_nothing(cls, length: float) -> Distances:
        """Give those of a cloud without points: each point of the other is a length away.

        A surface that is not there is thereby as far as one that is a diagonal away.
        """
        return cls(2 * length, length, length)


def distances(a: Array, b: Array) -> Distances:
    """Compare two clouds, (n, 3) and (m, 3), neither of them empty.

    Examples
    --------
    >>> plane = np.random.default_rng(0).uniform(0, 1, (500, 3)) * [1, 1, 0]
    >>> distances(plane, plane + [0, 0, 2.0])
    Distances(chamfer=4.0, hausdorff=2.0, hausdorff_95=2.0)
    """
    there, back = nearest(a, b), nearest(b, a)
    return Distances(
        float(there.mean() + back.mean()),
        float(max(there.max(), back.max())),
        float(max(np.quantile(there, QUANTILE), np.quantile(back, QUANTILE))),
    )


def nearest(points: Array, cloud: Array) -> Array:
    """Give the distance from each point, (n, 3), to the nearest of a cloud, (m, 3)."""
    # Points that coincide would all lie in one leaf of the tree, and be looked at one by one.
    tree = cKDTree(np.unique(cloud, axis=0))
    return np.asarray(tree.query(points)[0], dtype=np.float64)


def diagonal(cloud: Array) -> float:
    """Give the diagonal of the box that holds a cloud; 1 where it is a single point."""
    return float(np.linalg.norm(np.ptp(cloud, axis=0))) or 1.0
