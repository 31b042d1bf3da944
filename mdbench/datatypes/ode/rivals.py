"""How sure an answer is: errors of its constants, and other equations that fit the samples as well.

The answer's constants are first moved to where they are most likely: solutions of its equations are
compared with the measured samples.  The noise's size and form (the same everywhere, or a share of
the state) are those that the differences have then.  A long or chaotic trajectory is cut into
stretches with starts of their own, until the solutions follow it.

Then systems that differ in one term are fitted.  Each has a *misfit*: minus two log-likelihoods,
next to the answer's.  The noise's size is unknown, so that a sum of N squares has the likelihood
``N log`` of it (Seber and Wild, "Nonlinear Regression", section 2.2.3).
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from eqverdict.expand import expand
from eqverdict.fidelity.models import MAX_CONSTANTS, Model
from mdbench.datatypes.equations.identifiability import WORTH
from mdbench.datatypes.ode.fitted_system import Change, FittedSystem, Series, neat
from mdbench.datatypes.ode.rival_search import RivalSearch, SearchResult
from mdbench.datatypes.ode.sensitivity import LostError
from mdbench.errors import AnswerError, EquationError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from eqverdict.atoms import Sum

    Array = NDArray[np.float64]

_STRETCHES = (1, 2, 4, 8, 16, 32)
"""Stretches that a trajectory is cut into, as few as let solutions follow it."""
_SHORTEST = 6
"""Samples of a stretch."""
_FOLLOWED = 3.0
"""The mean squared difference, next to that of smoothing, up to which a solution follows."""
_LEAST = 1e-4
"""Least noise, as a share of a state's root mean square: samples are rounded, and simulated ones
have the errors of their solver."""
_LEAST_SHARE = 1e-3
"""Proportional noise is at least what it is at this share of a state's largest value."""
_NEAREST = 3
"""Changes of each term that are fitted, and terms more of each equation."""


@dataclass(frozen=True)
class Term:
    """A term of the answer.

    Attributes
    ----------
    equation
        The number of its equation.
    text
        Without its coefficient.
    coefficient
        The most likely one.
    error
        Its standard error; infinite where the samples say nothing of it.
    inside
        The largest standard error of the constants inside the term, as a share; 0 without any.
    """

    equation: int
    text: str
    coefficient: float
    error: float
    inside: float


@dataclass(frozen=True)
class Rival:
    """A system that differs from the answer in one equation.

    Attributes
    ----------
    equation
        The number of the equation.
    text
        The equation.
    term
        The term of the answer that it has not; empty where it has a term more.
    added
        The term that the answer has not; empty where it has one less.
    misfit
        Minus two log-likelihoods next to the answer's: below zero it is the likelier one.
    is_as_likely
        Whether the samples do not tell it from the answer, or favour it: its misfit is below
        `WORTH`.  A system with a term more fits better by chance, and the best of n of them by
        some 2 log(n): it has to be better by that and by `WORTH`.
    """

    equation: int
    text: str
    term: str
    added: str
    misfit: float
    is_as_likely: bool


@dataclass(frozen=True)
class Certainty:
    """How sure an answer is.

    Attributes
    ----------
    terms
        All terms of the answer.
    noise
        The standard deviation of each state's differences from the solution, as a share of its
        root mean square.
    excess
        The variance of these over that which smoothing finds of the noise: where it is well above
        1, the answer does not follow the samples.
    rivals
        Those that are as likely, and the nearest one, in the order of their misfits.
    excluded
        How many more there are that a part of the samples excludes.
    stretches
        How many there are of each trajectory.
    left
        How many rivals were not decided for want of time.
    """

    terms: tuple[Term, ...]
    noise: tuple[float, ...]
    excess: tuple[float, ...]
    rivals: tuple[Rival, ...]
    excluded: int
    stretches: int
    left: int


def certainty_of(
    equations: Sequence[str],
    names: tuple[str, ...],
    samples: Sequence[tuple[Array, Array, Array]],
    variances: Array,
    seconds: float = math.inf,
) -> Certainty:
    """Find how sure an answer is.

    Parameters
    ----------
    equations
        The right-hand sides of the answer.
    names
        The states.
    samples
        Times (n,), states as they were measured (n, d), and smoothed states (n, d), of each
        trajectory.
    variances
        Of the noise of each state, as smoothing finds it, (d,).
    seconds
        After this time, no further rival is fitted; one fit is always begun.

    Raises
    ------
    AnswerError
        If the answer has too many constants, or its solutions leave the samples at once.
    """
    end = time.monotonic() + seconds
    try:
        sums = [expand(text, names) or {(): Fraction(0)} for text in equations]
    except EquationError as error:
        raise AnswerError(error.message) from error
    if (count := sum(len(Model(terms).moving) for terms in sums)) > MAX_CONSTANTS:
        raise AnswerError(f"it has {count} constants; up to {MAX_CONSTANTS} can be fitted at once")
    sizes = np.sqrt(np.mean(np.concatenate([u for _, u, _ in samples]) ** 2, axis=0))
    sizes[sizes == 0] = 1.0
    known = np.maximum(variances, (_LEAST * sizes) ** 2)
    fitted, stretches = _following(sums, names, samples, known)
    fitted = _at_likeliest(fitted, _weights_of(fitted, sizes))
    fitted = _at_likeliest(fitted, _weights_of(fitted, sizes))
    squares = _mean_squares(fitted)
    rivals, searched = _rivals(fitted, end)
    return Certainty(
        terms=tuple(_terms(fitted)),
        noise=tuple((np.sqrt(squares) / sizes).tolist()),
        excess=tuple((np.maximum(squares, (_LEAST * sizes) ** 2) / known).tolist()),
        rivals=tuple(rivals),
        excluded=searched.excluded,
        stretches=stretches,
        left=searched.left,
    )


def _following(
    sums: Sequence[Sum],
    names: tuple[str, ...],
    samples: Sequence[tuple[Array, Array, Array]],
    variances: Array,
) -> tuple[FittedSystem, int]:
    """Fit the answer to stretches of the samples that are as long as its solutions follow them."""
    best: tuple[float, FittedSystem, int] | None = None
    for count in _STRETCHES:
        series, starts = [], []
        for t, u, curve in samples:
            most = max(1, len(t) // _SHORTEST)
            for rows in np.array_split(np.arange(len(t)), min(count, most)):
                weights = np.broadcast_to(1 / np.sqrt(variances), u[rows].shape)
                series.append(Series(t[rows], u[rows], weights, float(np.max(np.abs(u)))))
                starts.append(curve[rows[0]])
        if best is not None and len(series) == len(best[1].series):
            break
        try:
            fitted = _at_likeliest(FittedSystem(sums, names, starts, series), None)
        except LostError:
            continue
        excess = float(np.max(_mean_squares(fitted) / variances))
        if best is None or excess < best[0]:
            best = excess, fitted, count
        if excess <= _FOLLOWED:
            break
    if best is None:
        raise AnswerError("its solutions do not exist from any sample to the next ones")
    return best[1], best[2]


def _at_likeliest(fitted: FittedSystem, weights: Sequence[Array] | None) -> FittedSystem:
    """Return the system with its constants and starts where they are most likely."""
    if weights is not None:
        series = [
            one._replace(weights=each) for one, each in zip(fitted.series, weights, strict=True)
        ]
        fitted = FittedSystem(fitted.equations, fitted.names, fitted.starts, series)
    system = fitted.system
    zeros = np.zeros(len(fitted.own_columns))
    best = fitted.best_fit(system, fitted.free, [zeros])
    if best is None:
        return fitted
    moved, first = [], 0
    for terms in fitted.equations:
        model = Model(terms)
        count = len(model.moving)
        mine = best.constants[first : first + count]
        moved.append(expand(model.written([repr(float(c)) for c in mine]), fitted.names))
        first += count
    if any(not each for each in moved):
        return fitted
    try:
        return FittedSystem(moved, fitted.names, best.starts, fitted.series)
    except LostError:
        return fitted


def _differences(fitted: FittedSystem) -> list[Array]:
    """Return the differences of solutions from samples of each stretch, (n, d)."""
    ends = np.cumsum([one.states.size for one in fitted.series])[:-1]
    several = np.split(fitted.differences, ends)
    return [
        each.reshape(one.states.shape) / one.weights
        for each, one in zip(several, fitted.series, strict=True)
    ]


def _left_free(fitted: FittedSystem, samples: int) -> float:
    """Return how many samples of each state are left free by constants and starts; 1 at least."""
    return max(samples - len(fitted.own_columns) / fitted.system.dim, 1.0)


def _mean_squares(fitted: FittedSystem) -> Array:
    """Return the mean squared difference of each state, (d,), for as many as are left free."""
    every = np.concatenate(_differences(fitted))
    return np.asarray(np.sum(every**2, axis=0) / _left_free(fitted, len(every)))


def _weights_of(fitted: FittedSystem, sizes: Array) -> list[Array]:
    """Return the weights for the noise's size and form that the differences have."""
    every = _differences(fitted)
    largest = np.max(np.abs(np.concatenate([one.states for one in fitted.series])), axis=0)
    solutions = [one.states + each for one, each in zip(fitted.series, every, strict=True)]
    shares = [np.maximum(np.abs(u), _LEAST_SHARE * largest + 1e-300) for u in solutions]
    plain = np.concatenate(every)
    scaled = plain / np.concatenate(shares)
    left = _left_free(fitted, len(plain))
    constant = np.maximum(np.sum(plain**2, axis=0) / left, (_LEAST * sizes) ** 2)
    share = np.maximum(np.sum(scaled**2, axis=0) / left, _LEAST**2)
    # Minus two log-likelihoods of the two forms, but for what both have.
    n = len(plain)
    of_constant = n * float(np.sum(np.log(constant)))
    of_share = float(n * np.sum(np.log(share)) + 2 * np.sum(np.log(np.concatenate(shares))))
    if of_share < of_constant:
        return [1 / np.hypot(np.sqrt(share) * each, _LEAST * sizes) for each in shares]
    return [np.broadcast_to(1 / np.sqrt(constant), one.states.shape) for one in fitted.series]


def _terms(fitted: FittedSystem) -> Iterator[Term]:
    errors, free = np.sqrt(np.diag(fitted.covariance())), fitted.free.tolist()
    known = dict(zip(free, errors.tolist(), strict=True))
    for i, monomial, constants, _ in fitted.terms():
        coefficient = float(fitted.equations[i][monomial])
        inside = [known[k] for k in constants[1:] if k in known]
        yield Term(
            i,
            neat({monomial: Fraction(1)}, fitted.names),
            coefficient,
            known.get(constants[0], 0.0) * abs(coefficient),
            max(inside, default=0.0),
        )


def _rivals(fitted: FittedSystem, end: float) -> tuple[list[Rival], SearchResult]:
    """Fit the nearest changes of each term and of each equation."""
    changes: list[tuple[Change, str]] = []
    tried = 0
    for i, monomial, _, gone in fitted.terms():
        less, *exchanged = fitted.without(i, monomial, gone)
        text = neat({monomial: Fraction(1)}, fitted.names)
        exchanged.sort(key=lambda each: each.misfit)
        changes += [(change, text) for change in (less, *exchanged[: _NEAREST - 1])]
    for i in range(len(fitted.equations)):
        longer = sorted(fitted.with_another(i), key=lambda each: each.misfit)
        tried += len(longer)
        changes += [(change, "") for change in longer[:_NEAREST] if change.misfit < -WORTH]
    by_chance = 2 * math.log(max(tried, 1))
    limits = [WORTH if term else -WORTH - by_chance for _, term in changes]
    searched = RivalSearch(fitted, [change for change, _ in changes], limits).run(end)
    rivals = []
    for number, misfit, text in searched.found:
        change, term = changes[number]
        likely = misfit < limits[number]
        rivals.append(Rival(change.equation, text, term, change.added, misfit, likely))
    return rivals, searched
