"""Time derivatives of sampled series."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any, cast

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

__all__ = ["time_derivative"]

_UNIFORM = 1e-9
"""Steps that differ by less, relative to their mean, are the rounding of equal ones."""


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


@cache
def _difference() -> Any:
    """Give the operator for unit spacing, which keeps its coefficients from call to call."""
    return _findiff().Diff(0, 1.0, acc=2)


def _findiff() -> Any:
    import findiff  # noqa: PLC0415 - takes about a second, since it brings SymPy

    return findiff
