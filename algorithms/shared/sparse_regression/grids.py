"""Fields on a grid: their derivatives in space, block by block of times."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from math import factorial, prod
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from mdbench.worker import Problem

    Array = NDArray[np.float64]

__all__ = [
    "AXES",
    "Derivative",
    "GridAxis",
    "axes_of",
    "derivatives_of",
    "differentiate",
    "target_states",
    "time_blocks",
]

AXES = ("x", "y", "z")
_ACCURACIES = ((6, 4), (4, 4), (4, 2), (2, 2))
"""Orders of accuracy inside and at the ends, of which the first that fits is taken."""


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


@dataclass(frozen=True)
class GridAxis:
    """An axis in space.

    Attributes
    ----------
    step
        The distance of two nodes.
    period
        Length of a periodic axis; 0 for any other.
    second_order
        Whether the bench takes plain second-order differences, as the published pipeline does.
    """

    step: float
    period: float = 0.0
    second_order: bool = False


def axes_of(problem: Problem) -> list[GridAxis]:
    """Return the axes in space; a problem without ``periods`` has plain differences."""
    nodes = [problem.arrays[name] for name in AXES[: problem.u.ndim - 2]]
    steps = [float((x[-1] - x[0]) / (len(x) - 1)) for x in nodes]
    if "periods" not in problem.arrays:
        return [GridAxis(step, second_order=True) for step in steps]
    return [GridAxis(step, float(each)) for step, each in zip(steps, problem.periods, strict=True)]


def target_states(problem: Problem) -> list[int]:
    """Return the states whose derivatives in time are the targets, by their numbers."""
    return [int(target[1:].removesuffix("_t")) for target in problem.targets]


def differentiate(u: Array, axis: int, along: GridAxis, order: int) -> Array:
    """Differentiate along an axis as the bench itself does, which evaluates equations so.

    Along a periodic axis by the discrete Fourier transform; along others by central differences
    of sixth order, and one-sided ones of fourth at the ends, or of lower orders where nodes are
    few; all of second order where `along` requires it.

    Parameters
    ----------
    u
        Values at equidistant nodes, of any shape.
    axis, along, order
        The index of the axis, the axis, and the order from 1 to 4; it takes order + 2
        nodes, and from order 3 on one more.

    Returns
    -------
    NDArray
        Shaped like `u`.
    """
    moved = np.moveaxis(u, axis, 0)
    if along.period:
        return np.moveaxis(_fourier(moved, along.period, order), 0, axis)
    n = len(moved)
    for inside, at_ends in _ACCURACIES:
        if along.second_order:
            inside = at_ends = 2  # noqa: PLW2901
        half, wide = (order + 1) // 2 + inside // 2 - 1, order + at_ends
        if n >= max(2 * half + 1, wide):
            break
    result = np.zeros(moved.shape)
    for offset, weight in zip(range(-half, half + 1), _stencil(order, -half, half), strict=True):
        if weight:
            result[half : n - half] += weight * moved[half + offset : n - half + offset]
    sign = (-1) ** order
    for i in range(half):
        begin = i if along.second_order else 0
        ahead = _stencil(order, begin - i, begin - i + wide - 1)
        for offset, weight in enumerate(ahead, start=begin):
            result[i] += weight * moved[offset]
            result[n - 1 - i] += sign * weight * moved[n - 1 - offset]
    return np.moveaxis(result, 0, axis) / along.step**order


def _fourier(u: Array, period: float, order: int) -> Array:
    """Differentiate along the first axis, whose nodes are one period."""
    n = len(u)
    factors = (2j * np.pi / period * np.arange(n // 2 + 1)) ** order
    if n % 2 == 0 and order % 2:
        factors[-1] = 0  # an odd derivative of the shortest wave is zero at all nodes
    factors = factors.reshape(-1, *[1] * (u.ndim - 1))
    return np.asarray(np.fft.irfft(factors * np.fft.rfft(u, axis=0), n, axis=0))


@cache
def _stencil(order: int, first: int, last: int) -> tuple[float, ...]:
    """Weights on the nodes `first` to `last`, of unit spacing, that are exact for polynomials.

    Sums of Lagrange's polynomials, in whole numbers but for the last division.
    """
    nodes = range(first, last + 1)
    weights = []
    for node in nodes:
        polynomial = [1]  # from the constant on
        for other in nodes:
            if other != node:
                scaled = [-other * each for each in polynomial]
                polynomial = [a + b for a, b in zip([0, *polynomial], [*scaled, 0], strict=True)]
        bottom = prod(node - other for other in nodes if other != node)
        weights.append(factorial(order) * polynomial[order] / bottom)
    return tuple(weights)


def time_blocks(n_times: int, rows_each: int, most_rows: int) -> Iterator[slice]:
    """Cut times into blocks of at most `most_rows` rows, and of at least one time."""
    step = max(1, most_rows // rows_each)
    yield from (slice(a, b) for a, b in pairwise([*range(0, n_times, step), n_times]))
