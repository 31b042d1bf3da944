"""The likeliest equation of a noisy field: a price for each term, and steps to better sums."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from forms import corners
from likelihood import Fit, Likelihood
from search import WeakAnswer, WeakRegression, find

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray
    from summands import Product

    from mdbench.worker import Problem

    Array = NDArray[np.float64]

__all__ = ["Rival", "likeliest"]

_RIVALS = 10.0
"""How much worse the score of another sum is at most that is shown beside the answer: minus twice
the logarithm of the likelihood, and prices."""

_STARTS = 3
"""Sums of least squares that are fitted first."""
_TURNS = 2
"""Searches at most, each with the covariance of the best equation so far."""
_FITTED = 3
"""Sums that are fitted wholly in each."""
_WORTH = 0.7
"""Least gain of a term in the logarithm of what is left, for the sum to begin with."""


class Rival(NamedTuple):
    """Another sum that is nearly as likely as the answer.

    Attributes
    ----------
    answer
        The sum.
    worse
        By how much its score is above the answer's.
    log_likelihood
        Its log-likelihood less that of the answer.
    """

    answer: WeakAnswer
    worse: float
    log_likelihood: float


def likeliest(
    problem: Problem,
    state: int,
    terms: Sequence[Product],
    front: Sequence[WeakAnswer],
    late: Callable[[], bool],
) -> tuple[list[WeakAnswer], list[Rival]]:
    """Return the likeliest right-hand side for a target, alone, and what is nearly as likely.

    Where there is none it is the front.

    Parameters
    ----------
    state
        The state of the target.
    terms
        All terms, from cheap to dear.
    front
        Answers of least squares, from which the search begins.
    """
    noise = problem.noise
    if noise is None or not np.all(noise.size > 0) or len(front) < 2 or late():  # noqa: PLR2004
        return list(front), []
    measured, smoothed = problem.arrays["measured"][..., state], problem.u[..., state]
    try:
        likelihood = Likelihood(
            problem, state, corners(problem, measured, smoothed), noise.deviation(problem.u)
        )
        search = _Search(likelihood, terms, problem.u[..., 0].size, late)
        return [search.best(front)], search.rivals()
    except (ValueError, np.linalg.LinAlgError):
        return list(front), []


class _Search:
    """The search for the likeliest sum.

    A term's price is the logarithm of the number of samples, and twice that of its place among all
    terms.
    """

    def __init__(
        self,
        likelihood: Likelihood,
        terms: Sequence[Product],
        samples: int,
        late: Callable[[], bool],
    ) -> None:
        self._likelihood, self._terms, self._late = likelihood, tuple(terms), late
        ordered = {one: place for place, one in enumerate(self._terms)}
        self._price = {
            one: math.log(samples) + 2 * math.log(2 + place) for one, place in ordered.items()
        }
        self._fits: dict[tuple[Product, ...], Fit | None] = {}

    def best(self, front: Sequence[WeakAnswer]) -> WeakAnswer:
        """Return the likeliest answer, from the best one of a front of least squares on."""

        def rank(one: WeakAnswer) -> float:
            return math.log(one.left + 1e-12) + _WORTH * len(one.terms)

        for start in sorted(front[1:], key=rank)[:_STARTS]:
            if self._fits and self._late():
                break
            self._try(start.terms, start.coefficients)
        known = self._best()
        for _ in range(_TURNS):
            if self._late():
                break
            self._turn(known)
            if self._best() == known:
                break
            known = self._best()
        return self._answer(known)

    def rivals(self) -> list[Rival]:
        """Return sums that are nearly as likely as the best; none has something added to it."""
        scores, unit = self._scores()
        best = self._best()
        square = self._square(best)
        near = sorted(((score, some) for some, score in scores.items()), key=lambda one: one[0])
        return [
            Rival(
                self._answer(some), score - scores[best], (square - self._square(some)) / unit / 2
            )
            for score, some in near
            if score < scores[best] + _RIVALS and not set(some) >= set(best)
        ]

    def _square(self, some: tuple[Product, ...]) -> float:
        fit = self._fits[some]
        return np.inf if fit is None else fit.square

    def _answer(self, known: tuple[Product, ...]) -> WeakAnswer:
        fit = self._fits[known]
        assert fit is not None  # noqa: S101 - those are passed over
        through = float(self._likelihood.target @ fit.inverse @ self._likelihood.target)
        return WeakAnswer(
            known,
            tuple(map(float, fit.coefficients)),
            tuple(map(float, fit.errors)),
            fit.square / through,
            (fit.square / through,),
        )

    def _turn(self, known: tuple[Product, ...]) -> None:
        """Search with the covariance of a sum, and fit the best ones wholly."""
        fit = self._fits[known]
        assert fit is not None  # noqa: S101 - those are passed over
        white = np.linalg.cholesky(fit.inverse).T
        made = []
        for one in self._terms:
            if self._late():
                return
            made.append(self._likelihood.column(one))
        columns = np.stack(made, axis=1)
        usable = np.isfinite(columns.sum(axis=0))
        terms = tuple(one for one, use in zip(self._terms, usable, strict=True) if use)
        target = white @ self._likelihood.target
        problem = WeakRegression(terms, white @ columns[:, usable], target, len(target))
        tried: list[tuple[float, tuple[Product, ...], list[float]]] = []
        for supports in find(problem, self._late).values():
            for support in supports:
                part = problem.columns[:, list(support)]
                w = np.linalg.lstsq(part, target, rcond=1e-13)[0]
                some = tuple(terms[k] for k in support)
                square = float(np.sum((target - part @ w) ** 2))
                tried.append(
                    (
                        square + sum(self._price[one] for one in some),
                        some,
                        [float(each) for each in w],
                    )
                )
        tried.sort(key=lambda one: one[0])
        for _, some, first in tried[:_FITTED]:
            if not self._late():
                self._try(some, first)

    def _try(self, terms: tuple[Product, ...], first: Sequence[float]) -> None:
        """Fit a sum, and what remains of it without terms that are not worth their price."""
        while terms:
            self._fit(terms, first)
            fit = self._fits[terms]
            if fit is None or self._late() or not (gains := self._lacking(terms, fit)):
                break
            leave = max(gains, key=lambda place: gains[place])
            terms = terms[:leave] + terms[leave + 1 :]
            first = np.delete(fit.coefficients, leave).tolist()

    def _lacking(self, terms: tuple[Product, ...], fit: Fit) -> dict[int, float]:
        """Return by what terms fall short of their price, with the noise as it is with them.

        A term of high order has much noise, which lowers the sum of squares by itself.
        """
        gains = (fit.coefficients / fit.errors) ** 2
        return {
            place: self._price[one] - gain
            for place, (one, gain) in enumerate(zip(terms, gains.tolist(), strict=True))
            if gain < self._price[one]
        }

    def _fit(self, terms: tuple[Product, ...], first: Sequence[float]) -> None:
        if terms not in self._fits:
            try:
                fit = self._likelihood.fit(terms, first)
                self._fits[terms] = fit if np.isfinite(fit.square) else None
            except np.linalg.LinAlgError:
                self._fits[terms] = None

    def _best(self) -> tuple[Product, ...]:
        scores, _ = self._scores()
        return min(scores, key=lambda some: (scores[some], len(some)))

    def _scores(self) -> tuple[dict[tuple[Product, ...], float], float]:
        """Return the scores of all sums that were fitted, and the unit of their squares."""
        fits = {some: fit for some, fit in self._fits.items() if fit is not None}
        if not fits:
            raise np.linalg.LinAlgError
        least = min(fit.square / max(len(fit.inverse) - len(some), 1) for some, fit in fits.items())
        unit = max(1.0, least)  # more than the noise is left of every sum
        sound = {some: fit for some, fit in fits.items() if not self._lacking(some, fit)}
        return {
            some: fit.square / unit + sum(self._price[one] for one in some)
            for some, fit in (sound or fits).items()
        }, unit
