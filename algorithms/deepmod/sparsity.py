"""Least squares on a library, and thresholding of its normalised coefficients."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from singular import lstsq

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

__all__ = ["CUT", "compress", "normalised_fit", "threshold_mask"]

CUT = 1e-6
"""Singular values below this part of the largest are noise: features are in single precision."""


def compress(features: Array, targets: Array) -> tuple[Array, Array]:
    """Reduce many rows to few with the same least-squares fits, for any columns.

    Parameters
    ----------
    features, targets
        (n, p) and (n, k).

    Returns
    -------
    tuple of NDArray
        The triangular factor of both together, cut into (m, p) and (m, k): m is at most p + k.
    """
    factor = np.asarray(np.linalg.qr(np.column_stack([features, targets]), mode="r"))
    return factor[:, : features.shape[1]], factor[:, features.shape[1] :]


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
        Coefficients (p,) of the scaled features: each is the part of the target's size that its
        term makes up.  The shortest of all best fits; zero for features that vanish.
    """
    sizes, own = _sizes(features), _sizes(target[:, None])[0]
    scaled = features / np.where(sizes > 0, sizes, 1.0)
    if own == 0:
        return np.zeros(features.shape[1])
    return lstsq(scaled, target / own, CUT)


def threshold_mask(features: Array, target: Array, threshold: float) -> NDArray[np.bool_]:
    """Return which terms are left when small normalised coefficients are dropped.

    All terms below the threshold are removed at once, the others are fitted again, and so on until
    all that are left are as large as the threshold.

    Returns
    -------
    NDArray
        (p,), True for terms that are kept; there may be none.
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
