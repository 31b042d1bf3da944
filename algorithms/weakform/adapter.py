"""Equations of fields from their weak form: small sums of terms, exhaustively."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from forms import WeakField, corners, halves_of, values_of
from grids import target_states
from likeliest import Rival, likeliest
from schemes import Scheme
from search import WeakAnswer, WeakRegression, find, fitted
from summands import products

from mdbench.worker import Alternative, Candidate, FieldCoordinates, Problem, Unsupported

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from numpy.typing import NDArray

    Array = NDArray[np.float64]

_TIME_PART = 0.6
"""Part of the time limit for the search."""
_NOISY = 3e-4
"""Data are noisy where smoothing takes more than this share of a state's deviation out of most
samples."""
_FEWEST_TIMES = 7
_BETTER = 0.6
"""Largest residual of a dearer sum, as a part of that of a cheaper one with as many terms."""
_EXACT, _NEAR = 1e-9, 0.03
"""What sums leave where errors of schemes are looked at; of clean data less than the first is no
better."""
_SCHEME = 0.1
"""Where so small a part of what a sum leaves remains beside the errors of schemes, these are fitted
together with its coefficients."""
_VANISHES, _RAISED = 3e-3, 0.05
"""What has a smaller share of a state's changes than the first is left out of sums of clean data;
the second is the share of what may be an error of a scheme."""
_IDLE = 25.0
"""The rest may leave so many times as much for each such term."""
_LACKS = 0.1
"""A sum of clean data lacks terms where each further one leaves so small a part."""
_WORTH = 0.7
"""Least gain of a term in the logarithm of the residual for the method's own choice;
the bench has its own rule."""


class Adapter:
    """Regression in weak form; ``docs/weakform.md`` describes it.

    Parameters
    ----------
    seed, threads
        Not used: nothing is drawn.
    terms, noisy_terms
        Largest number of terms, for clean and for noisy data.
    dearest
        The highest cost of a term.
    widths
        Widths of test functions, in units of the width that the spectrum of the data gives.
    worth
        Factor by which each further term has to reduce the residual of clean data to be offered to
        the bench.  Of noisy data all are, since the bench knows more of noise.
    """

    stopped_early: bool = False
    """Whether the last fit ran out of time before its search was over."""

    def __init__(
        self,
        *,
        seed: int,
        threads: int,
        terms: int,
        noisy_terms: int,
        dearest: float,
        widths: Sequence[float],
        worth: float,
    ) -> None:
        del seed, threads
        self._most = int(terms), int(noisy_terms)
        self._dearest, self._worth = float(dearest), float(worth)
        self._widths = tuple(map(float, widths))
        self._fronts: list[list[WeakAnswer]] = []
        self._rivals: list[list[Rival]] = []
        self._chosen: list[WeakAnswer] = []
        self._scored: Problem | None = None
        self._coordinates: FieldCoordinates | None = None
        self._names: tuple[str, ...] = ()

    def fit(self, problem: Problem) -> None:
        """Search for the equation of each target, in coordinates of size 1 where it takes these."""
        self._coordinates = made = FieldCoordinates.of(problem, target_states(problem))
        problem = problem if made is None else made.problem(problem)
        self._names = problem.variables
        self._scored = None if "periods" in problem.arrays else problem
        late = problem.budget.after(_TIME_PART * problem.budget.remaining())
        if "rows" in problem.arrays:
            raise Unsupported(
                "the weak form integrates over whole fields, so that it cannot use a part of "
                "the rows; run it without --max-rows"
            )
        for name in ("u", "measured"):
            if not np.isfinite(problem.arrays.get(name, problem.u)).all():
                raise Unsupported(f"{name} has values that are not finite")
        if len(problem.t) < _FEWEST_TIMES:
            raise Unsupported(
                f"test functions in time need {_FEWEST_TIMES} times, and there are {len(problem.t)}"
            )

        worth = 1.0 if _is_noisy(problem) else self._worth
        with np.errstate(all="ignore"):  # what overflows is left out
            regressions = self._regressions(problem, late)
            self._fronts = [
                _front(several, state, worth, late)
                for several, state in zip(regressions, target_states(problem), strict=True)
            ]
            self._rivals = [[] for _ in self._fronts]
            if _is_noisy(problem):
                found = [
                    likeliest(problem, state, several[0].terms, front, late)
                    for several, front, state in zip(
                        regressions, self._fronts, target_states(problem), strict=True
                    )
                ]
                self._fronts = [front for front, _ in found]
                self._rivals = [rivals for _, rivals in found]
        self.stopped_early = late()
        self._chosen = [min(front, key=_penalised) for front in self._fronts]
        for name, one in zip(problem.targets, self._chosen, strict=True):
            print(f"{name} = {one.text}   (left: {one.left:.1e})")  # noqa: T201 - for the log
            for term, value, error in zip(one.terms, one.coefficients, one.errors, strict=True):
                print(f"    {term.text or '1'}: {value:.8g} +- {error:.1g}")  # noqa: T201

    def candidates(self) -> Iterator[Candidate]:
        """Yield the answers for each target, the short ones first.

        Under `published`, where plain differences are known by missing ``periods``, the bench
        compares what they predict; else their equations.
        """
        for target, front in enumerate(self._fronts):
            for one in front:
                sure = dict(zip((t.text or "1" for t in one.terms), one.errors, strict=True))
                remarks = {"left": one.left, "standard_errors": sure}
                values = None
                if self._scored is not None:
                    values = values_of(self._scored, one.terms, one.coefficients)
                yield Candidate((self._written(one, target),), values, remarks, target)

    def choose(self, indices: Sequence[int]) -> None:
        """Use these candidates, one for each target."""
        offered = [one for front in self._fronts for one in front]
        self._chosen = [offered[k] for k in indices]

    def alternatives(self) -> list[Alternative]:
        """Return sums of noisy data that are nearly as likely as the answer."""
        return [
            Alternative(target, self._written(one, target), worse, log_likelihood)
            for target, rivals in enumerate(self._rivals)
            for one, worse, log_likelihood in rivals
        ]

    def predict(self, problem: Problem) -> Array:
        """Evaluate the equations at each point."""
        made = self._coordinates
        shown = problem if made is None else made.problem(problem)
        values = [values_of(shown, one.terms, one.coefficients) for one in self._chosen]
        return np.stack(values, axis=-1) * (1.0 if made is None else made.states.rate)

    def equations(self) -> list[str]:
        """Return one right-hand side for each target."""
        return [self._written(one, target) for target, one in enumerate(self._chosen)]

    def _written(self, one: WeakAnswer, target: int) -> str:
        """Write an answer in the problem's values."""
        made = self._coordinates
        if made is None:
            return one.text
        parts: dict[tuple[str, float], dict[tuple[int, ...], float]] = {}
        for term, weight in zip(one.terms, one.coefficients, strict=True):
            larger = math.prod(made.slope(d.state, d.axis, d.order) for d in term.derivatives)
            key = "*".join(each.name for each in term.derivatives), larger
            parts.setdefault(key, {})[term.states] = weight
        return made.write(parts, self._names, target)

    def _regressions(
        self, problem: Problem, late: Callable[[], bool]
    ) -> list[list[WeakRegression]]:
        """Integrate all terms for each target, against test functions of each width."""
        smoothed = problem.u
        measured = problem.arrays.get("measured", smoothed)
        noisy = _is_noisy(problem)
        field = smoothed if noisy else measured
        most, states = self._most[noisy], target_states(problem)
        terms = tuple(products(problem.variables, measured.shape[-1], most, self._dearest))
        if self._coordinates is not None:  # a sine in another unit is another function
            terms = tuple(one for one in terms if not one.function)
        found: list[list[WeakRegression]] = [[] for _ in states]
        known: dict[tuple[int, ...], tuple[WeakField, Array]] = {}
        for width in self._widths:
            for own, state in zip(found, states, strict=True):
                if own and late():
                    break
                waves = corners(problem, measured[..., state], smoothed[..., state])
                form = WeakField(problem, field, halves_of(problem, width, waves))
                halves = tuple(bumps.half for bumps in form.bumps)
                if halves not in known:
                    known[halves] = form, np.stack([form.column(one) for one in terms], axis=1)
                    form.forget()
                form, columns = known[halves]
                rest = (measured - smoothed)[..., state] if noisy else None
                weights, usable = form.weights(rest), np.isfinite(columns.sum(axis=0))
                own.append(
                    WeakRegression(
                        tuple(one for one, use in zip(terms, usable, strict=True) if use),
                        columns[:, usable] * weights[:, None],
                        form.target(state) * weights,
                        form.apart,
                        None if noisy else Scheme(form, state, float(np.diff(problem.t).mean())),
                    )
                )
        return found


def _front(
    regressions: Sequence[WeakRegression], target: int, worth: float, late: Callable[[], bool]
) -> list[WeakAnswer]:
    """Return the best right-hand sides of each size, each from the width where it is surest."""
    waiting: dict[tuple[int, ...], None] = {}
    for each in regressions:
        for several in find(each, late).values():
            waiting.update(dict.fromkeys(several))
    known: dict[tuple[int, ...], WeakAnswer] = {}
    without: dict[tuple[int, ...], tuple[tuple[int, ...], float]] = {}
    while waiting:
        support, _ = waiting.popitem()
        one = known[support] = _surest(regressions, support)
        needed, most = _needed(regressions[one.width], support, one)
        if len(needed) < len(support):
            without[support] = needed, most
            if needed and needed not in known:
                waiting[needed] = None
    fits: dict[int, list[WeakAnswer]] = {}
    for support in sorted(known, key=lambda one: (len(one), one)):
        one = known[support]
        needed, most = without.get(support, ((), 0.0))
        if needed not in known or known[needed].elsewhere[one.width] > most:
            fits.setdefault(len(support), []).append(one)
    front = [WeakAnswer((), (), (), 1.0, (1.0,) * len(regressions))]
    for size in sorted(fits):
        front += [
            one
            for one in _distinct(fits[size], target)
            if all(
                one.beside < other.elsewhere[one.width] * worth ** (len(other.terms) - size)
                for other in front
                if len(other.terms) < size
            )
        ]
    if worth > 1:
        front = [
            one
            for one in front
            if not one.terms or one.beside <= _EXACT or not _is_short(one, front)
        ]
    return front


def _is_short(one: WeakAnswer, front: Sequence[WeakAnswer]) -> bool:
    """Return whether each further term of another sum lowers what is left very much."""
    return any(
        max(other.left, _EXACT)
        < one.elsewhere[other.width] * _LACKS ** (len(one.terms) - len(other.terms))
        for other in front
        if len(other.terms) > len(one.terms)
    )


def _needed(
    regression: WeakRegression, support: tuple[int, ...], one: WeakAnswer
) -> tuple[tuple[int, ...], float]:
    """Return a sum of clean data without terms that hardly matter or are errors of a scheme.

    And how much it may leave at most, so that the longer one is dropped.
    """
    if regression.scheme is None:
        return support, 0.0
    sizes = np.linalg.norm(regression.columns[:, list(support)], axis=0)
    shares = np.abs(one.coefficients) * sizes / np.linalg.norm(regression.target)
    raised = regression.scheme.within(one.terms, one.coefficients)
    idle = [error and share < _RAISED for share, error in zip(shares, raised, strict=True)]
    left = max(one.left, _EXACT)  # the other one's, beside errors of schemes, stands for it
    if not any(idle):
        idle, left = [share < _VANISHES for share in shares], one.beside
    needed = tuple(k for k, no in zip(support, idle, strict=True) if not no)
    return needed, left * _IDLE ** (len(support) - len(needed))


def _surest(regressions: Sequence[WeakRegression], support: tuple[int, ...]) -> WeakAnswer:
    """Fit a support to test functions of each width, and return the surest fit."""
    fits = [fitted(each, support) for each in regressions]
    width = min(range(len(fits)), key=lambda k: fits[k].surest)
    best = fits[width]
    elsewhere = []
    for each, one in zip(regressions, fits, strict=True):
        left = one.left
        if each.scheme is not None and _EXACT < left < _NEAR:
            columns = each.columns[:, list(support)]
            coefficients, left = each.scheme.fit(one.terms, columns, each.target)
            if one is fits[width] and left < _SCHEME * one.left:
                best = replace(best, coefficients=tuple(map(float, coefficients)))
        elsewhere.append(left if each.scheme is None else max(left, _EXACT))
    return replace(best, elsewhere=tuple(elsewhere), width=width)


def _distinct(alike: Sequence[WeakAnswer], target: int) -> list[WeakAnswer]:
    """Leave out sums for which a cheaper one of as many terms does as well, or nearly so.

    On a wave of one length a fourth derivative is proportional to a second one; where a state
    hardly varies, its product with a factor is proportional to that factor.
    """
    costs = {one: one.cost_for(target) for one in alike}
    kept: list[WeakAnswer] = []
    for one in sorted(alike, key=lambda one: (costs[one], one.beside)):
        if all(
            one.beside < _BETTER * other.elsewhere[one.width]
            for other in kept
            if costs[other] < costs[one]
        ):
            kept.append(one)
    return kept


def _is_noisy(problem: Problem) -> bool:
    """Return whether smoothing changes at least half of the samples of a state."""
    states = problem.u.shape[-1]
    measured = problem.arrays.get("measured", problem.u)
    deviations = np.std(measured.reshape(-1, states), axis=0)
    rest = np.median(np.abs(measured - problem.u).reshape(-1, states), axis=0)
    return bool(np.max(rest / np.maximum(deviations, 1e-300)) > _NOISY)


def _penalised(one: WeakAnswer) -> float:
    return float(np.log(one.beside + 1e-12)) + _WORTH * len(one.terms)
