"""Terms added, left out and exchanged in the quadratic likelihood of all coefficients."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from field_fit import Quadratic
    from numpy.typing import NDArray

    Array = NDArray[np.float64]
    Support = tuple[int, ...]

__all__ = ["Prediction", "exchanged"]

_ROUNDS, _WIDTH, _ADDED = 6, 8, 6
"""Rounds of changes, sums of terms that are changed in each, and terms that are tried in each."""
_VISIBLE = 1e-7
"""A term of which starts make up for all but so little of its square cannot be seen."""
_OWN = 1e-6
_OFFERED = 25


class Prediction(NamedTuple):
    """A sum of terms, and its score in the quadratic likelihood.

    Attributes
    ----------
    score
        The sum of squares and the prices of terms.
    support
        The numbers of the terms, rising.
    coefficients
        Their coefficients.
    """

    score: float
    support: Support
    coefficients: Array


def exchanged(quadratic: Quadratic, prices: Array, start: Support) -> list[Prediction]:
    """Return the best sums of terms near a start, best first.

    Parameters
    ----------
    prices
        Of all terms, (p,).
    start
        The numbers of the terms to begin with.
    """
    size = np.diag(quadratic.gram)
    usable = (quadratic.visible > _VISIBLE) & np.isfinite(size) & (size > 0)
    scale = np.sqrt(np.where(usable, size, 1.0))
    both = usable[:, None] & usable
    gram = np.where(both, quadratic.gram / np.outer(scale, scale), 0.0)
    slope = np.where(usable, quadratic.slope / scale, 0.0)

    def least(support: Support) -> tuple[float, Array, Array]:
        """Return the least score, the coefficients in units, and the inverse of their Gram."""
        chosen = list(support)
        inverse = np.linalg.pinv(gram[np.ix_(chosen, chosen)], rcond=1e-12, hermitian=True)
        c = inverse @ slope[chosen]
        return quadratic.constant - float(slope[chosen] @ c) + prices[chosen].sum(), c, inverse

    def gains(support: Support, c: Array, inverse: Array) -> Array:
        """Return by how much each further term would lower the score."""
        chosen = list(support)
        across = gram[chosen]
        own = 1 - np.sum(across * (inverse @ across), axis=0)
        rest = slope - across.T @ c
        gain = np.where(usable & (own > _OWN), rest**2 / np.maximum(own, _OWN), -np.inf) - prices
        gain[chosen] = -np.inf
        return np.asarray(gain)

    scores: dict[Support, float] = {}
    front: list[Support] = [start]
    seen: set[Support] = set()
    for _ in range(_ROUNDS):
        near = set()
        for support in front:
            for out in (None, *support):
                less = tuple(one for one in support if one != out)
                score, c, inverse = least(less)
                scores[less] = score
                near.add(less)
                gain = gains(less, c, inverse)
                for number in np.argsort(-gain)[:_ADDED].tolist():
                    if np.isfinite(gain[number]):
                        more = tuple(sorted((*less, number)))
                        scores[more] = score - float(gain[number])
                        near.add(more)
        front = sorted(near - seen, key=lambda one: (scores[one], one))[:_WIDTH]
        seen |= set(front)
        if not front:
            break
    best = sorted(scores, key=lambda one: (scores[one], one))[:_OFFERED]
    return [Prediction(scores[one], one, least(one)[1] / scale[list(one)]) for one in best]
