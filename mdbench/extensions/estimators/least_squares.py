"""Least squares with standard errors, and a test of what is left for patterns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from mdbench.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    Array = NDArray[np.float64]

__all__ = ["Solution", "pattern_p_value", "solve"]
_COARSE = 1e-4
"""The step of slopes, as a share of a constant, where a solver has errors of 1e-5."""


@dataclass(frozen=True)
class Solution:
    """Constants of least squares.

    Attributes
    ----------
    constants, errors
        And their standard errors, infinite where the residuals do not show a constant.
    covariance
        Of what the residuals show, (constants, constants).
    cost
        The sum of squares.
    residuals, jacobian
        At the solution; the columns of the jacobian are by constants in their sizes.
    p_value
        Of the sum of squares, where residuals are in standard errors.
    """

    constants: Array
    errors: Array
    covariance: Array
    cost: float
    residuals: Array
    jacobian: Array
    p_value: float


def solve(
    residuals: Callable[[Array], Array],
    start: Array,
    sizes: Array,
    deviation: float,
    *,
    known: bool = False,
    coarse: bool = False,
) -> Solution:
    """Find constants by least squares.

    Parameters
    ----------
    residuals
        Of constants; what is not finite, or too large, counts as a residual that is large.
    sizes
        Of the constants, where these are not 0.
    deviation
        The sum of squares that a mean leaves.
    known
        Whether residuals are in standard errors.
    coarse
        Whether residuals have the errors of a solver, so that slopes need larger steps.

    Raises
    ------
    mdbench.errors.UsageError
        If residuals are not more than constants.
    """
    from scipy.optimize import least_squares  # noqa: PLC0415 - takes a while to import
    from scipy.stats import chi2  # noqa: PLC0415 - likewise

    sizes = np.where(sizes == 0, 1.0, np.abs(sizes))
    largest = 1e6 * np.sqrt(deviation or 1.0)

    def scaled(values: Array) -> Array:
        off = residuals(values * sizes)
        return np.where(np.isfinite(off), np.clip(off, -largest, largest), largest)

    first = scaled(start / sizes)
    free = len(first) - len(start)
    if free <= 0:
        raise UsageError(
            f"There are {len(first)} values for {len(start)} constants.",
            "Give more data, or equations with fewer constants.",
        )
    if not len(start):
        cost = float(first @ first)
        nothing = np.empty((len(first), 0))
        return Solution(
            *(start, start, np.empty((0, 0)), cost, first, nothing, float(chi2.sf(cost, free)))
        )
    step, least = (_COARSE, 1e-9) if coarse else (None, 1e-14)
    done = least_squares(
        scaled, start / sizes, x_scale="jac", diff_step=step, xtol=least, ftol=least
    )
    cost = float(2 * done.cost)
    errors, covariance = _standard_errors(done.jac, 1.0 if known else cost / free)
    covariance = covariance * sizes * sizes[:, None]
    p_value = float(chi2.sf(cost, free))
    return Solution(
        *(done.x * sizes, errors * sizes, covariance, cost, done.fun, done.jac, p_value)
    )


def _standard_errors(jacobian: Array, spread: float) -> tuple[Array, Array]:
    """Return those of a linear fit, infinite for constants that others replace; and covariances."""
    _, values, rows = np.linalg.svd(jacobian, full_matrices=False)
    small = values <= values[:1] * 1e-7  # slopes by differences have eight digits
    shares = rows[~small].T / values[~small]
    covariance = shares @ shares.T * spread
    # A constant that has a part in what has no effect can be any number.
    lost = np.abs(rows[small]).max(axis=0, initial=0.0) > 1e-3  # noqa: PLR2004
    return np.where(lost, np.inf, np.sqrt(np.diag(covariance))), covariance


def pattern_p_value(solution: Solution, patterns: Array) -> float | None:
    """Return the p-value of residuals that patterns explain as well as these do (F test).

    Parameters
    ----------
    patterns
        (residuals, patterns)

    Returns
    -------
    float or None
        None where there are too few residuals to say.
    """
    from scipy.stats import f  # noqa: PLC0415 - takes a while to import

    base, _ = np.linalg.qr(solution.jacobian)
    other = patterns - base @ (base.T @ patterns)
    directions, sizes, _ = np.linalg.svd(other, full_matrices=False)
    directions = directions[:, sizes > 1e-8 * (sizes[:1] or 1.0)]
    count = directions.shape[1]
    free = len(solution.residuals) - solution.jacobian.shape[1] - count
    scale = float(np.finfo(float).eps) ** 2 * len(solution.residuals)
    if count == 0 or free < 1 or solution.cost <= scale:
        return None if solution.cost > scale or count == 0 else 1.0
    gain = float(np.sum((directions.T @ solution.residuals) ** 2))
    without = max(solution.cost - gain, scale)
    return float(f.sf(gain / count / (without / free), count, free))
