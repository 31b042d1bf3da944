"""The search for the equations of a field under which its samples are likeliest."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
from term_exchange import exchanged

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from field_fit import FieldFit, FieldLikelihood
    from numpy.typing import NDArray
    from segments import Place, Spectra
    from summands import Product

    Array = NDArray[np.float64]

__all__ = ["FieldSearch"]

_ROUNDS = 12
_TRIED = 4
"""Predictions that are fitted before the search ends."""
_SEARCHED = 2
"""Starts from which terms are changed: the best ones, each fitted."""
_STEPS = 6
"""Steps of a fit."""
_HOPE = 5.0
"""How much worse than the best a prediction may be that is fitted first."""
_RIVALS = 10.0
"""How much worse the score of another answer is at most that is shown beside it."""


class FieldSearch:
    """Fits of sums of terms, and the best one.

    A term's price is the logarithm of the number of samples, and twice that of its place among
    terms.

    Parameters
    ----------
    terms
        All terms, from cheap to dear.
    count
        The number of samples.
    """

    def __init__(
        self,
        likelihood: FieldLikelihood,
        terms: Sequence[Product],
        count: int,
        late: Callable[[], bool],
    ) -> None:
        self._likelihood, self._late = likelihood, late
        _, d, _ = likelihood.samples.shape
        self._columns = [(equation, term) for equation in range(d) for term in terms]
        price = {term: math.log(count) + 2 * math.log(2 + k) for k, term in enumerate(terms)}
        self._prices = np.array([price[term] for _, term in self._columns])
        self._numbers = {place: number for number, place in enumerate(self._columns)}
        self._fits: dict[frozenset[Place], FieldFit] = {}

    def best(self, starts: Sequence[tuple[Sequence[Place], Sequence[float]]]) -> FieldFit | None:
        """Return the likeliest equations, from the best start that can be solved."""
        first, fits = self._likelihood, []
        for places, coefficients in starts:
            if self._late():
                break
            if first.settle(places, coefficients):
                fit = self._fit(places, coefficients, first.samples.starts, _STEPS)
                fits += [] if fit is None else [fit]
        ends: list[tuple[float, FieldFit, FieldLikelihood, dict[frozenset[Place], FieldFit]]] = []
        for start in sorted(fits, key=self.score)[:_SEARCHED]:
            if ends and self._late():
                break
            self._likelihood, self._fits = first, {}
            end = self._search(start)
            value = self.score(end) + self._likelihood.log_deviations
            ends.append((value, end, self._likelihood, self._fits))
        if not ends:
            return None
        _, best, self._likelihood, self._fits = min(ends, key=lambda one: one[0])
        return best

    def score(self, fit: FieldFit) -> float:
        """Return the sum of squares of a fit and the prices of its terms."""
        return fit.square + float(sum(self._prices[self._numbers[one]] for one in fit.places))

    def rivals(self, best: FieldFit) -> list[tuple[FieldFit, float]]:
        """Return other fits that are nearly as likely, and by how much their score is worse."""
        least = self.score(best)
        near = [(one, self.score(one) - least) for one in self._fits.values() if one is not best]
        return sorted(
            (
                pair
                for pair in near
                if pair[1] < _RIVALS and not set(pair[0].places) >= set(best.places)
            ),
            key=lambda pair: pair[1],
        )

    def _search(self, best: FieldFit) -> FieldFit:
        """Change terms as long as that is better."""
        for _ in range(_ROUNDS):
            self._likelihood = self._likelihood.with_noise_of(best)
            self._likelihood.settle(best.places, best.coefficients)
            self._fits.clear()
            again = self._fit(best.places, best.coefficients, best.starts, _STEPS)
            best = best if again is None else again
            better = None if self._late() else self._better(best)
            if better is None:
                break
            best = better
        return best

    def _better(self, best: FieldFit) -> FieldFit | None:
        """Return a fit with other terms that is better, if there is one."""
        quadratic = self._likelihood.quadratic(best, self._columns)
        if quadratic is None:
            return None
        least, tried = self.score(best), 0
        start = tuple(sorted(self._numbers[one] for one in best.places))
        for score, support, coefficients in exchanged(quadratic, self._prices, start):
            places = [self._columns[number] for number in support]
            if frozenset(places) in self._fits:
                continue
            if tried >= _TRIED or score > least + _HOPE * (not tried) or self._late():
                break
            tried += 1
            fit = self._fit(places, coefficients, best.starts, _STEPS)
            if fit is None:
                before = dict(zip(best.places, best.coefficients, strict=True))
                fit = self._fit(
                    places, [before.get(one, 0.0) for one in places], best.starts, _STEPS
                )
            if fit is not None and self.score(fit) < least - 1e-3:
                return fit
        return None

    def _fit(
        self,
        places: Sequence[Place],
        coefficients: Sequence[float] | Array,
        starts: Spectra,
        rounds: int,
    ) -> FieldFit | None:
        try:
            with np.errstate(all="ignore"):
                fit = self._likelihood.fit(places, coefficients, starts, rounds)
        except np.linalg.LinAlgError:
            return None
        if fit is None or not np.isfinite(fit.square):
            return None
        self._fits[frozenset(places)] = fit
        return fit
