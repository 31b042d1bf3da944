"""Fields on a grid: their derivatives in space, block by block of times."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from math import factorial
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from mdbench.worker import Problem

    Array = NDArray[np.float64]

__all__ = ["AXES", "Derivative", "derivatives_of", "differentiate", "spacings", "time_blocks"]

AXES = ("x", "y", "z")


@dataclass(frozen=True)
class Derivative:
    """A derivative in space of one state, by the name that equations have for it."""

    name: str
    state: int
    axis: int
    order: int

    @property
    def along(self) -> str:
        """The name of the axis."""
        return AXES[self.axis]


def derivatives_of(variables: Sequence[str]) -> list[Derivative]:
    """Find the derivatives among a problem's variables, such as ``u1_xx``, in their order."""
    found = []
    for name in variables:
        state, _, axes = name.partition("_")
        if axes and axes[0] in AXES and set(axes) == {axes[0]} and state[1:].isdigit():
            found.append(Derivative(name, int(state[1:]), AXES.index(axes[0]), len(axes)))
    return found


def differentiate(u: Array, axis: int, spacing: float, order: int) -> Array:
    """Differentiate along an axis by one second-order stencil for the whole order.

    Central differences inside, one-sided ones of order + 2 nodes at the ends: what the bench
    itself evaluates equations by.

    Parameters
    ----------
    u
        Values at equidistant nodes, of any shape.
    axis, spacing, order
        The axis, the step between its nodes, and the order from 1 to 4; it takes order + 2
        nodes, and from order 3 on one more.

    Returns
    -------
    NDArray
        Shaped like `u`.
    """
    moved = np.moveaxis(u, axis, 0)
    n, half = len(moved), (order + 1) // 2
    result = np.zeros(moved.shape)
    for offset, weight in zip(range(-half, half + 1), _stencil(order, -half, half), strict=True):
        if weight:
            result[half : n - half] += weight * moved[half + offset : n - half + offset]
    ahead = _stencil(order, 0, order + 1)
    sign = (-1) ** order
    for i in range(half):
        for offset, weight in enumerate(ahead):
            result[i] += weight * moved[i + offset]
            result[n - 1 - i] += sign * weight * moved[n - 1 - i - offset]
    return np.moveaxis(result, 0, axis) / spacing**order


@cache
def _stencil(order: int, first: int, last: int) -> tuple[float, ...]:
    """Weights on the nodes `first` to `last`, of unit spacing, that are exact for polynomials."""
    nodes = np.arange(first, last + 1)
    powers = np.vander(nodes, increasing=True).T.astype(float)
    right = np.zeros(len(nodes))
    right[order] = factorial(order)
    weights = np.linalg.solve(powers, right)
    return tuple(float(weight) for weight in np.round(weights * 24) / 24)


def spacings(problem: Problem) -> list[float]:
    """Give the step of each axis in space."""
    n_axes = problem.u.ndim - 2
    nodes = [problem.arrays[name] for name in AXES[:n_axes]]
    return [float((x[-1] - x[0]) / (len(x) - 1)) for x in nodes]


def time_blocks(n_times: int, rows_each: int, most_rows: int) -> Iterator[slice]:
    """Cut times into blocks of at most `most_rows` rows, and of at least one time."""
    step = max(1, most_rows // rows_each)
    yield from (slice(a, b) for a, b in pairwise([*range(0, n_times, step), n_times]))
