"""Constants of a law that is known, fitted to other rows, with standard errors and a test."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from eqverdict.fidelity.parametric import parametrize
from eqverdict.grammar import read
from eqverdict.printers import print_as
from eqverdict.tree import text_of
from mdbench.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import ArrayLike, NDArray

    Array = NDArray[np.float64]

__all__ = ["Refit", "refit"]


@dataclass(frozen=True)
class Refit:
    """A law with its constants fitted.

    Attributes
    ----------
    equation
        The law with the new constants.
    before, constants, errors
        Each constant as it was written, as it was fitted, and its standard error; (constants,).
        An error is infinite where the rows do not show the constant.
    unexplained
        The share of the variance that the law leaves.
    p_value
        The chance of residuals as large as these by the standard errors that were given; None
        without them.
    """

    equation: str
    before: Array
    constants: Array
    errors: Array
    unexplained: float
    p_value: float | None = None

    def __str__(self) -> str:
        """Write the law, and a line for each constant."""
        lines = [self.equation]
        for old, new, error in zip(self.before, self.constants, self.errors, strict=True):
            size = f"± {error:.2g}" if np.isfinite(error) else "not shown by these rows"
            lines.append(f"  {old:.6g} -> {new:.6g} {size}")
        return "\n".join(lines)


def refit(
    equation: str,
    columns: Mapping[str, ArrayLike],
    y: ArrayLike,
    *,
    sigma: ArrayLike | None = None,
) -> Refit:
    """Fit the constants of a law to rows, by weighted least squares.

    Parameters
    ----------
    equation
        The right-hand side; its numbers are the starts, whole exponents stay.
    columns
        The variables by name, (rows,) each.
    y
        The target, (rows,).
    sigma
        Standard errors of the target, one or (rows,); None where they are unknown, and all alike.

    Raises
    ------
    mdbench.errors.UsageError
        If rows are fewer than constants, or the law has no finite values there.

    Examples
    --------
    >>> x = np.linspace(1.0, 4.0, 30)
    >>> fitted = refit("2*x**1.4 + 1", {"x": x}, 2.5 * x**1.5 + 0.3)
    >>> fitted.constants.round(6).tolist()
    [2.5, 1.5, 0.3]
    """
    from scipy.optimize import least_squares  # noqa: PLC0415 - takes a while to import
    from scipy.stats import chi2  # noqa: PLC0415 - likewise

    known = {name: np.asarray(values, dtype=float) for name, values in columns.items()}
    target = np.asarray(y, dtype=float)
    weights = 1.0 if sigma is None else 1.0 / np.asarray(sigma, dtype=float)
    law = parametrize(read(equation, list(known)), named=False)
    start = law.start
    if len(target) <= len(start):
        raise UsageError(
            f"There are {len(target)} rows for {len(start)} constants.",
            "Give more rows, or a law with fewer constants.",
        )
    sizes = np.where(start == 0, 1.0, np.abs(start))

    def residuals(scaled: Array) -> Array:
        values = (law.values(known, scaled * sizes) - target) * weights
        return np.where(np.isfinite(values), values, 1e150)

    if not np.isfinite(law.values(known, start)).all():
        raise UsageError(
            f"{equation} has no finite value in some rows.", "Leave these rows out."
        )
    constants, errors, cost = start, np.empty(0), float(np.sum(residuals(start / sizes) ** 2))
    free = len(target) - len(start)
    if len(start):
        done = least_squares(residuals, start / sizes, x_scale="jac", xtol=1e-14, ftol=1e-14)
        constants, cost = done.x * sizes, float(2 * done.cost)
        spread = 1.0 if sigma is not None else cost / free
        errors = _standard_errors(done.jac, spread) * sizes
    variance = float(np.sum(((target - np.mean(target)) * weights) ** 2)) or 1.0
    return Refit(
        equation=print_as(text_of(law.with_constants(constants)), "plain", list(known)),
        before=start,
        constants=constants,
        errors=errors,
        unexplained=cost / variance,
        p_value=None if sigma is None else float(chi2.sf(cost, free)),
    )


def _standard_errors(jacobian: Array, spread: float) -> Array:
    """Return those of a linear fit; infinite for constants that other ones can replace."""
    _, values, rows = np.linalg.svd(jacobian, full_matrices=False)
    small = values <= values[:1] * 1e-10
    variances = np.sum((rows[~small].T / values[~small]) ** 2, axis=1) * spread
    lost = np.abs(rows[small]).max(axis=0, initial=0.0) > 1e-3  # noqa: PLR2004 - a share in a null direction
    return np.where(lost, np.inf, np.sqrt(variances))
