"""How far predictions are from targets."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

__all__ = ["nmse"]

_ZERO_TARGETS = 1e-10
"""Keeps the NMSE defined where all targets are zero; the published constant."""


def nmse(predictions: ArrayLike, targets: ArrayLike) -> float:
    r"""Give the normalised mean squared error over all samples and targets.

    .. math:: \frac{\sum (y - \hat y)^2}{\sum y^2 + 10^{-10}}

    Parameters
    ----------
    predictions, targets
        Arrays of one and the same shape, with at least one element.

    Returns
    -------
    float
        0 or more.  Infinite where a prediction or a target is not finite, and where a sum of
        squares is too large for a float; never NaN.

    Raises
    ------
    ValueError
        If the shapes differ, or if there is no element.

    References
    ----------
    Ziaei Bideh et al., "MDBench", AAAI 2026, section on evaluation.

    Examples
    --------
    >>> round(nmse([1.0, 2.0], [1.0, 3.0]), 6)
    0.1
    """
    y_hat = np.asarray(predictions, dtype=np.float64)
    y = np.asarray(targets, dtype=np.float64)
    if y_hat.shape != y.shape:
        raise ValueError(f"the predictions have shape {y_hat.shape}, the targets {y.shape}")
    if y.size == 0:
        raise ValueError("there is no sample to score")
    with np.errstate(all="ignore"):
        error = float(np.sum(np.square(y - y_hat)))
        power = float(np.sum(np.square(y)))
    # A target sum that overflows would make any finite error vanish.
    if not (math.isfinite(error) and math.isfinite(power)):
        return math.inf
    return error / (power + _ZERO_TARGETS)
