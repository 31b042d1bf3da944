"""Constants of equations that are known, fitted to other data, with errors and a test."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations_with_replacement
from typing import TYPE_CHECKING

import numpy as np

from mdbench.errors import UsageError
from mdbench.extensions.estimators.answers import as_written
from mdbench.extensions.estimators.experiments import Motion, Pieces, Run, Table, errors_of
from mdbench.extensions.estimators.least_squares import pattern_p_value
from mdbench.extensions.estimators.structures import Structure

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import ArrayLike, NDArray

    from mdbench.data.columns import OwnNames
    from mdbench.extensions.estimators.experiments import Fitted, Integrate, Windows

    Array = NDArray[np.float64]

__all__ = ["Refit", "refit", "refit_dynamics", "refit_field"]

_HOLDS: float = 0.01
"""The p-value below which data contradict equations."""
_PATTERNS: int = 20
"""The most patterns that residuals are tested for."""
_ORDER: int = 6
"""The highest polynomial in time that residuals of trajectories are tested for."""


@dataclass(frozen=True)
class Refit:
    """Equations with their constants fitted.

    Attributes
    ----------
    equations
        With the new constants, in all digits.
    before, constants, errors
        Each constant as it was written, as it was fitted, and its standard error; (constants,).
        An error is infinite where the data do not show the constant.
    unexplained
        The share of the variance that the equations leave.
    p_value
        The chance of residuals with such a pattern, or with standard errors of such a size, if the
        equations hold; None where there are too few data to say.
    """

    equations: tuple[str, ...]
    before: Array
    constants: Array
    errors: Array
    unexplained: float
    p_value: float | None = None

    @property
    def holds(self) -> bool | None:
        """Whether nothing in the data contradicts the equations; None where they cannot say."""
        return None if self.p_value is None else self.p_value >= _HOLDS

    def __str__(self) -> str:
        """Write the equations, a line for each constant, and the test."""
        lines = list(self.equations)
        for old, new, error in zip(self.before, self.constants, self.errors, strict=True):
            size = f"± {error:.2g}" if np.isfinite(error) else "is not shown by these data"
            lines.append(f"  {old:.6g} -> {new:.6g} {size}")
        words = {
            None: "it is not tested by them",
            True: "nothing in the data contradicts it",
            False: "the data contradict it: residuals have a pattern",
        }
        p_value = "" if self.p_value is None else f" (p = {self.p_value:.2g})"
        left = f"  leaves {self.unexplained:.3g} of the variance; {words[self.holds]}{p_value}"
        return "\n".join([*lines, left])


def refit(
    equation: str,
    columns: Mapping[str, ArrayLike],
    y: ArrayLike,
    *,
    sigma: ArrayLike | None = None,
) -> Refit:
    """Fit the constants of a law to rows, by weighted least squares.

    The law is tested by the size of the residuals where standard errors are known.  Else residuals
    are tested (F test) for products of up to two variables.

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
    >>> sorted(fitted.constants.round(6).tolist())
    [0.3, 1.5, 2.5]
    """
    known = {name: np.asarray(values, dtype=float) for name, values in columns.items()}
    target = np.asarray(y, dtype=float)[:, None]
    structure = Structure.of([equation], list(known))
    if not np.isfinite(structure.values(known, structure.start)).all():
        raise UsageError(f"{equation} has no finite value in some rows.", "Leave these rows out.")
    fitted = Table((Run(known, target, errors_of(sigma, target.shape)),)).fit(structure)
    p_value: float | None = fitted.solution.p_value
    if sigma is None:
        p_value = pattern_p_value(fitted.solution, _products(known))
    return _refit(fitted, list(known), p_value)


def refit_dynamics(
    equations: Sequence[str],
    states: Sequence[str],
    runs: Sequence[Run],
    integrate: Integrate,
) -> Refit:
    """Fit the constants of equations of motion to trajectories, by least squares of their samples.

    Solutions have starts of their own.  Residuals are tested for polynomials in time, or by their
    size where standard errors are known.  Trajectories that no solution follows for long are
    compared in pieces of ten samples, and not tested.

    Parameters
    ----------
    equations
        The rates of the states; their numbers are the starts, whole exponents stay.
    states
        The names of the states, and of further variables in the equations.
    runs
        The trajectories.
    integrate
        See `Motion`.

    Raises
    ------
    mdbench.errors.UsageError
        If samples are fewer than constants.
    """
    structure = Structure.of(equations, states)
    experiment = Motion(tuple(runs), integrate).suited(structure)
    fitted = experiment.fit(structure)
    p_value: float | None = fitted.solution.p_value
    if isinstance(experiment, Pieces):
        p_value = None
    elif not experiment.known:
        p_value = pattern_p_value(fitted.solution, _ramps(runs))
    return _refit(fitted, states, p_value)


def refit_field(equation: str, experiment: Windows, names: OwnNames) -> Refit:
    """Fit the constants of one equation of a field, in weak form.

    Standard errors are by blocks of windows, as those that overlap have noise in common.  They know
    nothing of errors of the smoothing.
    """
    columns = list(experiment.runs[0].columns)
    structure = Structure.of(names.all_internal([equation]), columns)
    fitted = experiment.fit(structure)
    return Refit(
        tuple(names.own(as_written(text, columns)) for text in fitted.texts()),
        *(structure.start, fitted.constants[0], experiment.robust_errors(fitted)),
        fitted.unexplained,
    )


def _refit(fitted: Fitted, names: Sequence[str], p_value: float | None) -> Refit:
    return Refit(
        tuple(as_written(text, names) for text in fitted.texts()),
        *(fitted.structure.start, fitted.constants[0], fitted.errors[0]),
        *(fitted.unexplained, p_value),
    )


def _ramps(runs: Sequence[Run]) -> Array:
    """Return polynomials in time of each state and run, (values, polynomials)."""
    blocks = []
    for run in runs:
        count, dim = run.targets.shape
        ramps = np.polynomial.legendre.legvander(np.linspace(-1, 1, count), _ORDER)
        blocks.append(
            np.stack([np.kron(ramp, unit) for ramp in ramps.T for unit in np.eye(dim)], 1)
        )
    return np.concatenate(
        [
            np.hstack(
                [
                    block if i == j else np.zeros((len(block), blocks[j].shape[1]))
                    for j in range(len(blocks))
                ]
            )
            for i, block in enumerate(blocks)
        ]
    )


def _products(columns: Mapping[str, Array]) -> Array:
    """Return products of up to two standardised variables, (rows, products), as many as fit."""
    standard = []
    for values in columns.values():
        spread = np.std(values)
        standard.append((values - np.mean(values)) / (spread or 1.0))
    ones = np.ones(len(standard[0])) if standard else np.empty(0)
    made = [ones, *standard]
    made += [a * b for a, b in combinations_with_replacement(standard, 2)]
    return np.stack(made[:_PATTERNS], axis=1) if standard else np.empty((0, 0))
