"""Constants fitted to rows by least squares, with their standard errors."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    Array = NDArray[np.float64]

_EXACT = 1e-15
_SINGULAR = 1e-8
"""Slopes are known to this share, since they are differences of values."""


class Fit(NamedTuple):
    """The best fit of constants.

    Attributes
    ----------
    constants
        (k,).
    residual
        The sum of squared residuals.
    standard_errors
        Of the constants, (k,); infinite where there are no more rows than constants, or where
        rows do not determine one.
    rank
        How many constants there are that do not stand in for each other.
    """

    constants: Array
    residual: float
    standard_errors: Array
    rank: int


def fit_constants(values: Callable[[Array], Array], start: Array, y: Array) -> Fit:
    """Find the constants with the least sum of squared residuals (Levenberg and Marquardt).

    Standard errors are those of linear theory at the best fit: the roots of the diagonal of
    ``s**2 inv(J'J)`` with the residual variance ``s**2 = RSS/(n - k)`` (Seber and Wild, Nonlinear
    Regression, 1989, section 2.1).

    Parameters
    ----------
    values
        Works n values out for k constants.
    start
        From where the search starts, (k,).
    y
        The rows to fit, (n,), n at least k.
    """
    from scipy.optimize import least_squares  # noqa: PLC0415 - takes a moment to load

    size = np.where(start == 0, 1.0, np.abs(start))
    spread = float(np.std(y)) or 1.0

    def residuals(scaled: Array) -> Array:
        with np.errstate(all="ignore"):
            off = (values(scaled * size) - y) / spread
        return np.where(np.isfinite(off), off, 1e10)

    fit = least_squares(
        residuals, start / size, method="lm", ftol=_EXACT, xtol=_EXACT, gtol=_EXACT, max_nfev=2000
    )
    residual = 2.0 * float(fit.cost)
    free = len(y) - len(start)
    errors = np.full(len(start), np.inf)
    norms = np.linalg.norm(fit.jac, axis=0)
    norms[norms == 0] = 1.0
    _, sizes, turned = np.linalg.svd(fit.jac / norms, full_matrices=False)
    rank = int(np.sum(sizes > _SINGULAR * sizes.max()))
    if free > 0 and rank == len(start):
        spreads = np.sqrt(residual / free * np.sum((turned.T / sizes) ** 2, axis=1))
        errors = size / norms * spreads
    return Fit(fit.x * size, residual * spread**2, errors, rank)
