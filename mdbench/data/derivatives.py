"""Derivatives of sampled series and fields by finite differences."""

from __future__ import annotations

from functools import cache
from math import factorial, prod
from typing import TYPE_CHECKING, Any, cast

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

_UNIFORM = 1e-9
"""Steps that differ by less, relative to their mean, are the rounding of equal ones."""
_SINGLE = 1e-6
"""The same bound for values in single precision, relative to the largest of them."""
_ACCURACIES = ((6, 4), (4, 4), (4, 2), (2, 2))
"""Orders of accuracy inside and at the ends, of which the first that fits is taken.  One-sided
weights grow fast: of order 6 at the ends, they would be three times as large again."""
_WIDEST = 4
"""Nodes to each side of the central differences of order 4, the highest that there are."""


def is_uniform(nodes: Array) -> bool:
    """Whether nodes are equidistant, but for the rounding of single precision.

    Examples
    --------
    >>> is_uniform(np.linspace(0, 1, 50)), is_uniform(np.linspace(0, 1, 50) ** 2)
    (True, False)
    """
    steps = np.diff(nodes)
    h = (nodes[-1] - nodes[0]) / (len(nodes) - 1)
    rounding = max(_UNIFORM * h, _SINGLE * float(np.abs(nodes).max()))
    return bool(np.ptp(steps) <= min(rounding, 0.01 * h))


def time_derivative(t: Array, u: Array) -> Array:
    """Differentiate a series by second-order finite differences along its first axis.

    Central differences of three samples inside, one-sided ones of three samples at both ends, by
    findiff; exact for quadratics, also where `t` is not uniform.

    Parameters
    ----------
    t
        Increasing times, (n,) with n >= 3.
    u
        Values, (n, ...).

    Returns
    -------
    (n, ...)
        In units of `u` over units of `t`; not finite where it is larger than numbers can be.
    """
    steps = np.diff(t)
    h = (t[-1] - t[0]) / (len(t) - 1)
    with np.errstate(all="ignore"):
        if np.ptp(steps) <= _UNIFORM * h:
            return cast("Array", _difference()(u) / h)
        return cast("Array", _findiff().Diff(0, t - t[0], acc=2)(u))


def space_derivative(u: Array, nodes: Array, axis: int, order: int) -> Array:
    """Differentiate a field along an axis, by one second-order stencil for the whole order.

    Central differences inside and one-sided ones at the ends, by findiff; both have an error of
    second order in the spacing.

    Parameters
    ----------
    u
        Values, of any shape.
    nodes
        Equidistant places along `axis`; at least ``fewest_nodes(order)``.
    axis, order
        Which derivative; `order` is from 1 to 4.

    Returns
    -------
    NDArray
        Shaped like `u`, in units of `u` over a power of those of `nodes`.

    Examples
    --------
    >>> x = np.linspace(0, 1, 6)
    >>> space_derivative(x**3, x, 0, 3).round(9)
    array([6., 6., 6., 6., 6., 6.])
    """
    n = len(nodes)
    if n < fewest_nodes(order):
        raise ValueError(f"a derivative of order {order} of {n} nodes")
    h = (nodes[-1] - nodes[0]) / (n - 1)
    return cast("Array", _difference(axis, order)(u) / h**order)


def accurate_derivative(
    u: Array, nodes: Array, axis: int, order: int, *, period: float | None = None
) -> Array:
    """Differentiate a field along an axis as accurately as its nodes allow.

    Along a periodic axis by the discrete Fourier transform, which is exact for all waves that the
    nodes resolve.  Along any other by finite differences, inside of sixth order in the spacing
    and at the ends, where they are one-sided, of fourth; of lower orders where nodes are few.

    Parameters
    ----------
    u
        Values, of any shape.
    nodes
        Equidistant places along `axis`; at least ``fewest_nodes(order)``.
    axis, order
        Which derivative; `order` is from 1 to 4.
    period
        Of a periodic axis, whose nodes stop a step before they would repeat the first one.

    Returns
    -------
    NDArray
        Shaped like `u`, in units of `u` over a power of those of `nodes`.

    Examples
    --------
    >>> x = np.linspace(0, 1, 8, endpoint=False)
    >>> accurate_derivative(np.cos(2 * np.pi * x), x, 0, 1, period=1.0)[2] / np.pi
    np.float64(-2.0)
    """
    n = len(nodes)
    if n < fewest_nodes(order):
        raise ValueError(f"a derivative of order {order} of {n} nodes")
    moved = np.moveaxis(u, axis, -1)
    if period is not None:
        return np.ascontiguousarray(np.moveaxis(_fourier(moved, period, order), -1, axis))
    h = (nodes[-1] - nodes[0]) / (n - 1)
    return np.ascontiguousarray(np.moveaxis(_differences(moved, order) / h**order, -1, axis))


def _fourier(u: Array, period: float, order: int) -> Array:
    """Differentiate along the last axis, a period of which the nodes are."""
    n = u.shape[-1]
    waves = np.arange(n // 2 + 1)
    factors = (2j * np.pi / period * waves) ** order
    if n % 2 == 0 and order % 2:
        factors[-1] = 0  # an odd derivative of the shortest wave is zero at all nodes
    return np.asarray(np.fft.irfft(factors * np.fft.rfft(u, axis=-1), n, axis=-1))


def _differences(u: Array, order: int) -> Array:
    """Differentiate along the last axis, whose nodes have unit spacing."""
    n = u.shape[-1]
    for inside, at_ends in _ACCURACIES:
        half, wide = (order + 1) // 2 + inside // 2 - 1, order + at_ends
        if n >= max(2 * half + 1, wide):
            break
    result = np.zeros(u.shape)
    for offset, weight in zip(range(-half, half + 1), _weights(order, -half, half), strict=True):
        if weight:
            result[..., half : n - half] += weight * u[..., half + offset : n - half + offset]
    backwards, mirrored = u[..., ::-1], result[..., ::-1]
    for i in range(half):
        weights = np.array(_weights(order, -i, wide - 1 - i))
        result[..., i] = u[..., :wide] @ weights
        mirrored[..., i] = backwards[..., :wide] @ ((-1) ** order * weights)
    return result


@cache
def _weights(order: int, first: int, last: int) -> tuple[float, ...]:
    """Return the weights on nodes of unit spacing whose derivative at node 0 is exact.

    That is, of the polynomial through all of them: sums of Lagrange's polynomials, worked out in
    whole numbers.
    """
    nodes = range(first, last + 1)
    weights = []
    for node in nodes:
        others = [other for other in nodes if other != node]
        polynomial = [1]  # from the constant on
        for other in others:
            shifted = [0, *polynomial]
            scaled = [-other * each for each in polynomial]
            polynomial = [a + b for a, b in zip(shifted, [*scaled, 0], strict=True)]
        bottom = prod(node - other for other in others)
        weights.append(factorial(order) * polynomial[order] / bottom)
    return tuple(weights)


def fewest_nodes(order: int) -> int:
    """Return the number of nodes that a derivative of second-order accuracy needs.

    The one-sided stencil has order + 2 nodes, and from order 3 on it is needed at two of them.

    Examples
    --------
    >>> [fewest_nodes(order) for order in (1, 2, 3, 4)]
    [3, 4, 6, 7]
    """
    return order + 2 + (order - 1) // 2


def one_sided_nodes(n: int) -> int:
    """Return how many of n nodes, at each end of an axis, are too near it for central differences.

    Those of order 4, the widest, take four nodes to each side.  Of fewer than 16 nodes half count
    as inside all the same.

    Examples
    --------
    >>> [one_sided_nodes(n) for n in (3, 9, 16, 201)]
    [0, 2, 4, 4]
    """
    return min(_WIDEST, n // 4)


@cache
def _difference(axis: int = 0, order: int = 1) -> Any:
    """Return the operator for unit spacing, which keeps its coefficients from call to call."""
    first = _findiff().Diff(axis, 1.0, acc=2)
    return first if order == 1 else first**order


def _findiff() -> Any:
    import findiff  # noqa: PLC0415 - takes about a second, since it imports SymPy

    return findiff
