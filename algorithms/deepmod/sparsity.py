"""Least squares on a library, and thresholding of its normalised coefficients."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

__all__ = ["normalised_fit", "threshold_mask"]

_CUT = 1e-6
"""Singular values below this part of the largest are noise: features are in single precision."""


def normalised_fit(features: Array, target: Array) -> Array:
    """Fit a target by features that all are scaled to the target's root mean square.

    Parameters
    ----------
    features
        (n, p).
    target
        (n,).

    Returns
    -------
    NDArray
        Coefficients (p,) of the scaled features: each says what part of the target's size its
        term makes up.  The shortest of all best fits; zero for features that vanish.
    """
    sizes, own = _sizes(features), _sizes(target[:, None])[0]
    scaled = features / np.where(sizes > 0, sizes, 1.0)
    if own == 0:
        return np.zeros(features.shape[1])
    return np.asarray(np.linalg.lstsq(scaled, target / own, rcond=_CUT)[0])


def threshold_mask(features: Array, target: Array, threshold: float) -> NDArray[np.bool_]:
    """Tell which terms stay when small normalised coefficients are dropped.

    All terms below the threshold leave at once, the others are fitted again, and so on until
    all that are left are as large as the threshold.

    Returns
    -------
    NDArray
        (p,), True for terms that stay; there may be none.
    """
    mask = np.ones(features.shape[1], dtype=bool)
    while mask.any():
        active = np.flatnonzero(mask)
        small = np.abs(normalised_fit(features[:, active], target)) < threshold
        if not small.any():
            break
        mask[active[small]] = False
    return mask


def _sizes(columns: Array) -> Array:
    return np.asarray(np.sqrt(np.mean(np.square(columns, dtype=np.float64), axis=0)))
