"""Values of trees on all samples at once, and their errors."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from trees import VARIABLE

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from trees import Node

    Array = NDArray[np.float64]

__all__ = ["Fit", "Samples"]

_EXACT = 1e-7
"""Below this error the difference of two sums has no digits left, and residuals are formed."""
_CACHE_BYTES = 192 * 2**20


@dataclass(frozen=True, slots=True)
class Fit:
    """Quality of a tree on data.

    Attributes
    ----------
    error
        Mean squared error over the targets' variance (over their mean square where the tree is
        taken as it is); infinite where the tree has no finite value for some sample.
    slope, intercept
        The line through the tree's values that was used: 1 and 0 without linear scaling.
    """

    error: float
    slope: float = 1.0
    intercept: float = 0.0


HOPELESS = Fit(np.inf)


class Samples:
    """Rows of data with the values of the trees that were evaluated last.

    Parameters
    ----------
    X
        Inputs (n, d).
    y
        Targets (n,).
    linear_scaling
        Whether a tree f is scored as the best a + b*f (Keijzer 2003), so that the search need
        not find the scale and the offset of the target.
    """

    def __init__(self, X: Array, y: Array, *, linear_scaling: bool) -> None:
        self.X, self.y = X, y
        self.evaluations = 0
        self._columns = [np.ascontiguousarray(X[:, column]) for column in range(X.shape[1])]
        self.linear_scaling = linear_scaling
        self._mean = float(y.mean()) if linear_scaling else 0.0
        self._centred = y - self._mean
        self._sum = float(self._centred @ self._centred)
        # Two generations: what is asked for again moves on to the young one; the old one is
        # dropped as a whole, which costs nothing per value.
        self._young: dict[Node, Any] = {}
        self._old: dict[Node, Any] = {}
        self._room = max(64, _CACHE_BYTES // (2 * 8 * max(1, len(y))))

    def values(self, tree: Node) -> Any:
        """Evaluate a tree; return (n,), or a number where it has no variable."""
        young = self._young
        values = young.get(tree)
        if values is not None:
            return values
        if tree.numpy is None:
            # A variable's value is its column; this is called so often that nothing is checked.
            return self._columns[tree.value] if tree.name == VARIABLE else tree.value  # type: ignore[call-overload]
        values = self._old.get(tree)
        if values is None:
            children = tree.children
            if len(children) == 1:
                values = tree.numpy(self.values(children[0]))
            else:
                values = tree.numpy(self.values(children[0]), self.values(children[1]))
        if len(young) >= self._room:
            self._old, self._young = young, {}
        self._young[tree] = values
        return values

    def fit(self, tree: Node) -> Fit:
        """Return the fit of a tree, with the best line through it if scaling is linear."""
        self.evaluations += 1
        values = self.values(tree)
        if np.ndim(values) == 0:
            return self._fit_number(float(values))
        if not self.linear_scaling:
            residual = self.y - values
            error = float(residual @ residual) / (self._sum or 1.0)
            return Fit(error) if error < np.inf else HOPELESS
        mean = float(values.sum()) / len(values)
        if not abs(mean) < np.inf:
            return HOPELESS
        centred = values - mean
        square = float(centred @ centred)
        if not 0.0 < square < np.inf:
            return HOPELESS if square else Fit(min(1.0, self._sum), 0.0, self._mean)
        product = float(centred @ self._centred)
        slope = product / square
        error = 1.0 - product * slope / self._sum if self._sum else 0.0
        if error < _EXACT:
            residual = self._centred - slope * centred
            error = float(residual @ residual) / (self._sum or 1.0)
        return Fit(error, slope, self._mean - slope * mean)

    def _fit_number(self, value: float) -> Fit:
        if self.linear_scaling:
            return Fit(min(1.0, self._sum), 0.0, self._mean)
        residual = self.y - value
        error = float(residual @ residual) / (self._sum or 1.0)
        return Fit(error) if error < np.inf else HOPELESS
