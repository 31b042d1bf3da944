"""Variational Bayes for linear regression with a spike-and-slab prior.

Ormerod, You and Mueller, Electron. J. Stat. 11, 3549 (2017), as used for partial differential
equations by More, Tripura, Nayek and Chakraborty, Reliab. Eng. Syst. Saf. 235, 109275 (2023).

    y = X diag(z) w + noise,   noise ~ N(0, s2),   w ~ N(0, 10 s2),
    s2 ~ inverse gamma(1e-4, 1e-4),   z_j ~ Bernoulli(p0),   logit p0 = -sqrt(N) / 2

The posterior is approximated by independent factors for w, s2 and each z_j.  They need of the data
only X'X, X'y, y'y and the number of rows N.  Columns of X, and y, have a mean square of one.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import log
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    Array = NDArray[np.float64]

__all__ = ["Posterior", "posteriors"]

_SLAB = 10.0
_SHAPE = _RATE = 1e-4
_ROUNDS = 200


@dataclass(frozen=True)
class Posterior:
    """Posterior of the terms of the start.

    Attributes
    ----------
    inclusion
        The probability of each that it is in the model, (s,).
    mean
        The mean of each coefficient if it is, (s,).
    """

    inclusion: Array
    mean: Array


def posteriors(
    gram: Array,
    moments: Array,
    square: float,
    *,
    n_rows: int,
    tolerances: Sequence[float],
    rng: np.random.Generator,
) -> list[Posterior]:
    """Improve the posterior of terms that are all in the model to begin with.

    Terms that are left out here stay out: a probability of zero is a fixed point.

    Parameters
    ----------
    gram, moments, square
        X'X (s, s), X'y (s,) and y'y.
    n_rows
        N.
    tolerances
        A change of the evidence lower bound by less ends the iteration.
    rng
        Draws the order in which terms are visited.

    Returns
    -------
    list of Posterior
        One for each tolerance.
    """
    size = len(moments)
    prior = -np.sqrt(n_rows) / 2  # the logit of p0
    shape = _SHAPE + (n_rows + size) / 2
    z = np.ones(size)
    precision = 1.0 / max(square / n_rows * 1e-3, 1e-12)  # of the noise
    bound, found = -np.inf, {}
    for _ in range(_ROUNDS):
        expected = gram * (np.outer(z, z) + np.diag(z * (1 - z))) + np.eye(size) / _SLAB
        inverse = np.linalg.inv(expected)
        covariance = (inverse + inverse.T) / (2 * precision)
        mean = precision * covariance @ (z * moments)
        second = covariance + np.outer(mean, mean)
        misfit = square - 2 * (z * moments) @ mean + (expected * second).sum()
        rate = _RATE + max(misfit, 0.0) / 2
        precision = shape / rate
        for j in rng.permutation(size):
            others = z * gram[j] * second[j]
            gain = mean[j] * moments[j] - others.sum() + others[j] - gram[j, j] * second[j, j] / 2
            z[j] = 1 / (1 + np.exp(-np.clip(prior + precision * gain, -700, 700)))
        # Up to a constant, with all that changes from round to round.
        sign, volume = np.linalg.slogdet(covariance)
        new = sign * volume / 2 - shape * log(rate) + _negative_divergence(z, prior)
        change, bound = abs(new - bound), new
        for tolerance in tolerances:
            if change < tolerance and tolerance not in found:
                found[tolerance] = Posterior(z.copy(), mean)
        if len(found) == len(set(tolerances)):
            break
    last = Posterior(z, mean)
    return [found.get(tolerance, last) for tolerance in tolerances]


def _negative_divergence(z: Array, prior: float) -> float:
    """Return minus the divergence of the probabilities z from the prior's."""
    inside = z[(z > 0) & (z < 1)]
    entropy = -(inside * np.log(inside) + (1 - inside) * np.log1p(-inside)).sum()
    return float(entropy + prior * z.sum() - len(z) * np.logaddexp(0, prior))
