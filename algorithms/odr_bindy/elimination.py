"""The terms of a model, left out one after the other for as long as the evidence grows."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray
    from regression import Fit, Mask, Regression

__all__ = ["eliminate"]

_ROUNDS, _FIRST_ROUNDS = 30, 100
_WORSE = 2
"""Steps in a row that lower the evidence, after which the search ends, as the authors' does."""
_CLEAR = 1.0
"""A removal whose predicted cost is higher by more is not tried."""


def eliminate(
    regression: Regression,
    states: NDArray[np.float64],
    terms: Mask,
    tried: int,
    late: Callable[[], bool],
) -> list[Fit]:
    """Return fits from the one with all terms on, each with a term less than the last.

    The paper fits a model without each of the terms.  Here the curvature of the fit predicts what
    each removal does to the evidence, and the best `tried` of them are fitted.

    Parameters
    ----------
    regression
        The loss.
    states
        Where the states begin: smoothed samples, (n, d).
    terms
        The terms to begin with, (d, m).
    tried
        How many removals are fitted at each step.
    late
        Whether the time is over.
    """
    fits = [regression.first(states, terms, _FIRST_ROUNDS, late)]
    worse = 0
    while np.isfinite(fits[-1].cost) and worse < _WORSE and not late():
        fit = fits[-1]
        predicted = regression.predicted(fit)
        alone = fit.mask.sum(axis=1)[np.nonzero(fit.mask)[0]] == 1
        predicted[alone] = np.inf  # each equation keeps a term, as in the paper
        best = np.argsort(predicted, kind="stable")[:tried]
        near = predicted[best] < predicted[best[0]] + _CLEAR
        found = [regression.without(fit, int(k), _ROUNDS, late) for k in best[near]]
        found = [one for one in found if np.isfinite(one.cost)]
        if not found:
            break
        fits.append(min(found, key=lambda one: one.cost))
        worse = worse + 1 if fits[-1].cost >= fit.cost else 0
    return fits
