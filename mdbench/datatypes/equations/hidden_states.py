"""What one column may hide whose rate is no function of it: order, more states, or a delay."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    Array = NDArray[np.float64]

__all__ = ["hidden_causes"]
_EXPLAINS, _ALIKE = 0.1, 0.02
"""What a cause may leave unexplained, and below what all are as good: one orbit tells no more."""
_LAGS, _ENDS = 40, 6
"""Delays that are tried, and samples at each end where derivatives of differences are not taken."""


def hidden_causes(t: Array, z: Array, rates: Array, share: Callable[[Array, Array], float]) -> str:
    """Return the causes that would explain a rate, the best one first; empty for none.

    Parameters
    ----------
    t, z, rates
        Times (n,), the state in deviations and its rate in its size, (n, 1).
    share
        Gives what smooth functions of columns leave of a target.
    """
    second = _slope(rates, t)
    third = _slope(second, t)
    inner = slice(_ENDS, -_ENDS)
    both = np.hstack([z, rates])
    unexplained = {
        "the law is of second order (its rate is the other state)": share(
            both[inner], second[inner]
        ),
        "there are two states more": share(np.hstack([both, second])[inner], third[inner]),
    }
    alone = np.correlate(z[:, 0], z[:, 0], "full")[len(z) - 1 :]
    first = int(np.argmax(alone < 0)) or len(z)  # shorter delays are as good as the rate
    lags = np.unique(np.linspace(first, len(z) // 3, _LAGS).astype(int))
    if first < len(z) // 3 and np.ptp(np.diff(t)) < 0.01 * np.mean(np.diff(t)):
        leaves = [share(np.hstack([z[k:], z[:-k]]), rates[k:]) for k in lags]
        best = int(np.argmin(leaves))
        text = f"it acts with a delay of about {lags[best] * (t[1] - t[0]):.2g}"
        unexplained[text] = leaves[best]
    likely = sorted(
        ((value, text) for text, value in unexplained.items() if value < _EXPLAINS),
        key=lambda pair: max(pair[0], _ALIKE),
    )
    if not likely:
        return ""
    said = ", or ".join(f"{text} ({value:.1%} unexplained)" for value, text in likely)
    return (
        f"a state is missing: {said}; add it: another quantity, the rate, or the value some "
        "samples ago (delay coordinates); to tell, start at the same value with another rate and "
        "history"
    )


def _slope(values: Array, t: Array) -> Array:
    slope = np.gradient(values[:, 0], t)[:, None]
    return np.asarray(slope / (np.sqrt(np.mean(slope**2)) or 1.0))
