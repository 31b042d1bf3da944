"""Constants of equations that are known, fitted to other data, with errors and a test."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations_with_replacement
from typing import TYPE_CHECKING

import numpy as np

from eqverdict.fidelity.parametric import parametrize
from eqverdict.grammar import read
from eqverdict.tree import text_of
from mdbench.errors import UsageError
from mdbench.extensions.estimators.answers import as_written

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import ArrayLike, NDArray

    Array = NDArray[np.float64]

__all__ = ["Refit", "refit", "refit_dynamics"]

_HOLDS: float = 0.01
"""The p-value below which data contradict equations."""
_PATTERNS: int = 20
"""The most patterns that residuals are tested for."""
_ORDER: int = 6
"""The highest polynomial in time that residuals of trajectories are tested for."""
_SEGMENT: int = 10
"""Samples of the pieces of a trajectory from which constants are found first."""


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
            None: "there are too few data to test it",
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
    target = np.asarray(y, dtype=float)
    weights = np.ones(len(target)) if sigma is None else 1.0 / _errors_of(sigma, len(target))
    law = parametrize(read(equation, list(known)), named=False)
    if not np.isfinite(law.values(known, law.start)).all():
        raise UsageError(f"{equation} has no finite value in some rows.", "Leave these rows out.")

    def residuals(constants: Array) -> Array:
        return np.asarray((law.values(known, constants) - target) * weights)

    deviation = float(np.sum(((target - np.mean(target)) * weights) ** 2))
    fitted = _fit(residuals, law.start, law.start, deviation, known=sigma is not None)
    p_value = fitted.p_value if sigma is not None else _pattern(fitted, _products(known))
    text = text_of(law.with_constants(fitted.constants))
    return Refit(
        (as_written(text, list(known)),),
        *(law.start, fitted.constants, fitted.errors),
        fitted.cost / (deviation or 1.0),
        p_value,
    )


def refit_dynamics(
    equations: Sequence[str],
    states: Sequence[str],
    t: ArrayLike,
    x: ArrayLike,
    integrate: Callable[[Sequence[str], Array, Array], Array],
) -> Refit:
    """Fit the constants of equations of motion to a trajectory, by least squares of its samples.

    Constants are found first from pieces of ten samples, each from its first sample; then from the
    whole with a start of its own.  Residuals are tested for polynomials in time.

    Parameters
    ----------
    equations
        The rates of the states; their numbers are the starts, whole exponents stay.
    states
        The names of the states, and of further variables in the equations.
    t, x
        Times (samples,), increasing, and states (samples, states).
    integrate
        Gives the states that equations reach at times from a start, as many rows as it comes to.

    Raises
    ------
    mdbench.errors.UsageError
        If samples are fewer than constants.
    """
    times, samples = np.asarray(t, dtype=float), np.asarray(x, dtype=float)
    dim = samples.shape[1]
    laws = [parametrize(read(text, list(states)), named=False) for text in equations]
    ends = np.cumsum([0, *(len(law.start) for law in laws)])
    start = np.concatenate([law.start for law in laws])
    sizes = np.std(samples, axis=0)
    sizes[sizes == 0] = 1.0

    def written(constants: Array) -> list[str]:
        parts = zip(laws, ends, ends[1:], strict=False)
        return [text_of(law.with_constants(constants[i:j])) for law, i, j in parts]

    def followed(texts: Sequence[str], first: int, last: int, begin: Array) -> Array:
        reached = integrate(texts, times[first:last] - times[first], begin)
        off = np.full((last - first, dim), 1e6)
        off[: len(reached)] = (reached - samples[first : first + len(reached)]) / sizes
        return off

    def of_pieces(constants: Array) -> Array:
        texts = written(constants)
        firsts = range(0, len(times) - 1, _SEGMENT)
        pieces = [(i, min(i + _SEGMENT + 1, len(times))) for i in firsts]
        return np.concatenate([followed(texts, i, j, samples[i])[1:] for i, j in pieces]).ravel()

    def of_whole(values: Array) -> Array:
        return followed(written(values[:-dim]), 0, len(times), values[-dim:]).ravel()

    deviation = float(np.sum(((samples - samples.mean(axis=0)) / sizes) ** 2))
    rough = _fit(of_pieces, start, start, deviation)
    begun = np.concatenate([rough.constants, samples[0]])
    whole = _fit(of_whole, begun, np.concatenate([start, sizes]), deviation)
    count = len(start)
    if whole.cost >= deviation:  # lost on the way: a long or chaotic trajectory
        whole, patterns = rough, np.empty((len(rough.residuals), 0))
    else:
        ramps = np.polynomial.legendre.legvander(np.linspace(-1, 1, len(times)), _ORDER)
        patterns = np.stack([np.kron(ramp, unit) for ramp in ramps.T for unit in np.eye(dim)], 1)
    return Refit(
        tuple(as_written(text, list(states)) for text in written(whole.constants[:count])),
        *(start, whole.constants[:count], whole.errors[:count]),
        whole.cost / (deviation or 1.0),
        _pattern(whole, patterns),
    )


@dataclass(frozen=True)
class _Fit:
    constants: Array
    errors: Array
    cost: float
    residuals: Array
    jacobian: Array
    p_value: float


def _fit(
    residuals: Callable[[Array], Array],
    start: Array,
    sizes: Array,
    deviation: float,
    *,
    known: bool = False,
) -> _Fit:
    """Find constants by least squares; `known` where residuals are in standard errors."""
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
        return _Fit(start, start, cost, first, nothing, float(chi2.sf(cost, free)))
    done = least_squares(scaled, start / sizes, x_scale="jac", xtol=1e-14, ftol=1e-14)
    cost = float(2 * done.cost)
    errors = _standard_errors(done.jac, 1.0 if known else cost / free) * sizes
    return _Fit(done.x * sizes, errors, cost, done.fun, done.jac, float(chi2.sf(cost, free)))


def _standard_errors(jacobian: Array, spread: float) -> Array:
    """Return those of a linear fit; infinite for constants that other ones can replace."""
    _, values, rows = np.linalg.svd(jacobian, full_matrices=False)
    small = values <= values[:1] * 1e-7  # slopes by differences have eight digits
    variances = np.sum((rows[~small].T / values[~small]) ** 2, axis=1) * spread
    # A constant that has a part in what has no effect can be any number.
    lost = np.abs(rows[small]).max(axis=0, initial=0.0) > 1e-3  # noqa: PLR2004
    return np.where(lost, np.inf, np.sqrt(variances))


def _pattern(fitted: _Fit, patterns: Array) -> float | None:
    """Return the p-value of residuals that patterns explain as well as these do (F test)."""
    from scipy.stats import f  # noqa: PLC0415 - takes a while to import

    base, _ = np.linalg.qr(fitted.jacobian)
    other = patterns - base @ (base.T @ patterns)
    directions, sizes, _ = np.linalg.svd(other, full_matrices=False)
    directions = directions[:, sizes > 1e-8 * (sizes[:1] or 1.0)]
    count = directions.shape[1]
    free = len(fitted.residuals) - fitted.jacobian.shape[1] - count
    scale = float(np.finfo(float).eps) ** 2 * len(fitted.residuals)
    if count == 0 or free < 1 or fitted.cost <= scale:
        return None if fitted.cost > scale or count == 0 else 1.0
    gain = float(np.sum((directions.T @ fitted.residuals) ** 2))
    rest_of_cost = max(fitted.cost - gain, scale)
    return float(f.sf(gain / count / (rest_of_cost / free), count, free))


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


def _errors_of(sigma: ArrayLike, count: int) -> Array:
    values = np.array(np.broadcast_to(np.asarray(sigma, dtype=float), count))
    if not (np.isfinite(values) & (values > 0)).all():
        raise UsageError("A standard error is not a positive number.", "Leave these rows out.")
    return values
