"""Tests at whose times nothing changes any more, where a score says little of an answer."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    Array = NDArray[np.float64]

__all__ = ["Course", "at_rest"]

STILL = 1e-4
"""Rates of a test that are no larger a share of those before are rest: of the 63 systems of
ODEBench two have 6e-6 or less, and all others 1e-3 or more."""
ALL_NOISE = 0.9
"""The share of what changes in a test from which on it is all noise."""
SETTLED = 0.5
"""States that spread by a larger share of what they did before have not come to rest, whatever
seems to be noise: what is sampled too seldom looks like noise, too."""


class Course(NamedTuple):
    """How a system goes on from what methods are given to the test.

    Attributes
    ----------
    rates
        Before the test, (n, d), as well as they are known.
    before, test
        The states of each trajectory or field, (..., n_t, d).
    """

    rates: Array
    before: Sequence[Array]
    test: Sequence[Array]


def at_rest(course: Course, targets: Array, by_state: Sequence[float], floors: Array | None) -> str:
    """Say that the system is at rest in the test, and how that is known; empty where it is not.

    Parameters
    ----------
    targets
        The rates of the test, (..., d).
    by_state
        The score of each state, of which 1 is that of the answer 0.
    floors
        What noise leaves of each state's score for the true equations, where scores are the means
        of those of the states (`Evidence.floors`); None where errors of all states are pooled.
    """
    targets = targets.reshape(-1, targets.shape[-1])
    if floors is None:
        share = _size(targets) / (_size(course.rates) or 1.0)
        return _by_rates(share) if share <= STILL else ""
    shares = np.array(
        [
            _size(now) / (_size(then) or 1.0)
            for now, then in zip(targets.T, course.rates.T, strict=True)
        ]
    )
    spreads = _spread(course.test) <= SETTLED * _spread(course.before)
    still = (shares <= STILL) | ((floors >= ALL_NOISE) & spreads)
    moving = np.array(by_state)[~still]
    if not still.any() or (len(moving) and np.mean(moving) > 1):
        return ""  # it is what moves that the answer is wrong about
    largest = float(np.max(shares[still]))
    return _by_rates(largest) if largest <= STILL else "what changes in the test is noise"


def _by_rates(share: float) -> str:
    return f"the rates of the test are {share:.1g} of those before it"


def _size(values: Array) -> float:
    """Give the root mean square, without overflow."""
    largest = float(np.max(np.abs(values), initial=0.0))
    return largest * float(np.sqrt(np.mean((values / largest) ** 2))) if largest else 0.0


def _spread(pieces: Sequence[Array]) -> Array:
    """Give the standard deviation of each state in time, (d,)."""
    variances = [np.mean(np.var(one, axis=-2).reshape(-1, one.shape[-1]), axis=0) for one in pieces]
    return np.asarray(np.sqrt(np.mean(variances, axis=0)))
