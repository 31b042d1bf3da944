"""Fitting coefficients by Gauss and Newton, and dropping those that are small.

Goyal and Benner fit by gradient descent and drop what is below a threshold (their procedure 1).
The misses are nearly linear in the coefficients, so that Gauss-Newton with the step length halved
where it has to be reaches the same minimum in a few steps.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from singular import least_squares

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray
    from steps import Steps

    Array = NDArray[np.float64]

__all__ = ["differentiated", "fit", "prune"]

_MOST_STEPS = 15
_HALVINGS = 6
_CUT_OFF = 1e-10
"""Directions of coefficients that change the steps less than this are left as they are."""
_GAIN = 1e-6
"""A step that lowers the sum of squares by a smaller share is the last one."""


def differentiated(features: Array, slopes: Array) -> Array:
    """Return a start: coefficients that explain derivatives (n, d) by features (n, p), (d, p)."""
    norms = np.linalg.norm(features, axis=0)
    norms[norms == 0] = 1.0
    return np.asarray((_solve(features / norms, slopes) / norms[:, None]).T)


def prune(
    steps: Steps,
    start: Array,
    active: NDArray[np.bool_],
    size: Array,
    thresholds: Sequence[float],
) -> Array:
    """Find the coefficients for each threshold, the ones below it dropped one round after another.

    Parameters
    ----------
    steps
        The steps that the coefficients are fitted to.
    start, active
        Coefficients of the terms for each state, and which of them may be used, (d, p).
    size
        Size of each state, (d,): misses count in these units.
    thresholds
        Ascending; each continues from where the one before has ended.

    Returns
    -------
    array of shape (len(thresholds), d, p)
    """
    coefficients = start
    found = np.zeros((len(thresholds), *start.shape))
    for number, threshold in enumerate(thresholds):
        while True:
            coefficients = fit(steps, coefficients, active, size)
            kept = active & (np.abs(coefficients) >= threshold)
            coefficients = np.where(kept, coefficients, 0.0)
            if (kept == active).all():
                break
            active = kept
        found[number] = coefficients
    return found


def fit(steps: Steps, coefficients: Array, active: NDArray[np.bool_], size: Array) -> Array:
    """Lower the sum of squared misses from where the coefficients are, (d, p).

    Where the steps leave the range of numbers from there, the coefficients stay as they are.
    """
    if not active.any():
        return np.zeros_like(coefficients)
    best = _squares(_quietly(steps, coefficients), size)
    for _ in range(_MOST_STEPS if np.isfinite(best) else 0):
        misses, change = steps.with_change(coefficients, active)
        matrix = (change / size[:, None]).reshape(-1, change.shape[-1])
        norms = np.linalg.norm(matrix, axis=0)
        norms[norms == 0] = 1.0
        move = -_solve(matrix / norms, (misses / size).reshape(-1, 1))[:, 0] / norms
        for halving in range(_HALVINGS):
            tried = coefficients.copy()
            tried[active] += 0.5**halving * move
            squares = _squares(_quietly(steps, tried), size)
            if squares < best:
                break
        if squares >= best:
            break
        gain = (best - squares) / best
        coefficients, best = tried, squares
        if gain < _GAIN:
            break
    return coefficients


def _solve(matrix: Array, right: Array) -> Array:
    """Return the least-squares solutions of least norm; equal columns share a coefficient."""
    return np.asarray(least_squares(matrix[None], right[None], _CUT_OFF)[0])


def _squares(misses: Array, size: Array) -> float:
    with np.errstate(over="ignore", invalid="ignore"):
        squares = float(np.sum((misses / size) ** 2))
    return squares if np.isfinite(squares) else float("inf")


def _quietly(steps: Steps, coefficients: Array) -> Array:
    """Return the residuals, infinite where a step leaves the range of numbers."""
    try:
        with np.errstate(all="ignore"):
            return steps.misses(coefficients)
    except ValueError:  # of a library that overflows
        return np.full((1, len(coefficients)), np.inf)
