"""Derivatives of sampled series and fields by finite differences."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any, cast

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

__all__ = ["fewest_nodes", "is_uniform", "space_derivative", "time_derivative"]

_UNIFORM = 1e-9
"""Steps that differ by less, relative to their mean, are the rounding of equal ones."""
_SINGLE = 1e-6
"""The same for values that were kept in single precision, relative to the largest of them."""


def is_uniform(nodes: Array) -> bool:
    """Tell whether nodes are equidistant, but for the rounding of single precision.

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
        In units of `u` over units of `t`.
    """
    steps = np.diff(t)
    h = (t[-1] - t[0]) / (len(t) - 1)
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


def fewest_nodes(order: int) -> int:
    """Give the number of nodes that a derivative of second-order accuracy needs.

    The one-sided stencil has order + 2 nodes, and from order 3 on it is needed at two of them.

    Examples
    --------
    >>> [fewest_nodes(order) for order in (1, 2, 3, 4)]
    [3, 4, 6, 7]
    """
    return order + 2 + (order - 1) // 2


@cache
def _difference(axis: int = 0, order: int = 1) -> Any:
    """Give the operator for unit spacing, which keeps its coefficients from call to call."""
    first = _findiff().Diff(axis, 1.0, acc=2)
    return first if order == 1 else first**order


def _findiff() -> Any:
    import findiff  # noqa: PLC0415 - takes about a second, since it brings SymPy

    return findiff
