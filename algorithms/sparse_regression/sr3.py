"""Sparse relaxed regularised regression (SR3) with a hard threshold, for many settings at once.

Zheng et al., IEEE Access 7, 1404 (2018): with a relaxed copy z of the coefficients w, alternate

- ``w = argmin |y - X w|^2 + |w - z|^2 / nu``,
- z = w without what is smaller than the threshold,

and fit the terms that are left by least squares.  X has columns of unit length here, so that nu
means the same for every term; the threshold is on the coefficients in their own units.  Both steps
need the Gram matrix only, and one factor of it serves all thresholds and targets.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from stlsq import fold

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    Array = NDArray[np.float64]
    Mask = NDArray[np.bool_]

__all__ = ["Sr3", "models", "refit", "supports"]

_ROUNDS = 200
_TOLERANCE = 1e-5
"""Relaxed coefficients that move less, relative to the largest, have settled."""


@dataclass(frozen=True)
class Sr3:
    """A setting: a library, how many rows of the data serve, the smallest coefficient kept."""

    library: Any
    points: int
    threshold: float


def models(features: Array, targets: Array, terms: Any, settings: Sequence[Sr3]) -> Array:
    """Fit settings that have the number of rows in common.

    Parameters
    ----------
    features, targets
        (..., n, p) and (..., n, k); what stands before are samples.
    terms
        What the features are; its ``columns(library)`` tells which a setting may use.

    Returns
    -------
    (..., settings, k, p)
        The coefficients.
    """
    samples, p, k = features.shape[:-2], features.shape[-1], targets.shape[-1]
    found = np.zeros((*samples, len(settings), k, p))
    # The triangular factor says the same of the data as its many rows.
    factors = np.stack(
        [fold([(features[sample], targets[sample])]) for sample in np.ndindex(samples)]
    )
    factors = factors.reshape(*samples, *factors.shape[1:])
    features, targets = factors[..., :p], factors[..., p:]
    for library in dict.fromkeys(setting.library for setting in settings):
        places = [i for i, setting in enumerate(settings) if setting.library == library]
        columns = np.flatnonzero(terms.columns(library))
        used = np.ascontiguousarray(features[..., columns])
        thresholds = np.array([settings[place].threshold for place in places])
        kept = supports(used, targets, thresholds)
        found[(..., *np.ix_(places, range(k), columns))] = refit(used, targets, kept)
    return found


def supports(features: Array, targets: Array, thresholds: Array, *, nu: float = 1.0) -> Mask:
    """Follow SR3 to the terms that it keeps.

    Parameters
    ----------
    features, targets
        (..., n, p) and (..., n, k); what stands before are samples.
    thresholds
        (m,).
    nu
        How loosely z follows w.

    Returns
    -------
    Mask
        (..., m, k, p).
    """
    p, k, m = features.shape[-1], targets.shape[-1], len(thresholds)
    norms = np.sqrt((features**2).sum(axis=-2))
    scale = np.where(norms > 0, norms, 1.0)
    unit = features / scale[..., None, :]
    transposed = unit.swapaxes(-1, -2)
    gram, moments = transposed @ unit, transposed @ targets
    inverse = np.linalg.inv(gram + np.eye(p) / nu)
    start = np.linalg.pinv(unit, rcond=1e-12) @ targets
    repeat = (1,) * (start.ndim - 1)
    z = np.tile(start, (*repeat, m))  # (..., p, m k): the targets of one threshold stand together
    moments = np.tile(moments, (*repeat, m))
    limits = np.repeat(thresholds, k)[None, :] * scale[..., :, None]
    z = np.where(np.abs(z) >= limits, z, 0.0)
    for _ in range(_ROUNDS):
        w = inverse @ (moments + z / nu)
        new = np.where(np.abs(w) >= limits, w, 0.0)
        change = np.abs(new - z).max(initial=0)
        z = new
        if change <= _TOLERANCE * np.abs(z).max(initial=0):
            break
    return np.moveaxis((z != 0).reshape(*z.shape[:-1], m, k), -3, -1)


def refit(features: Array, targets: Array, kept: Mask) -> Array:
    """Fit the terms that are kept by least squares; shapes are as in `supports`.

    Returns
    -------
    (..., m, k, p)
        The coefficients.
    """
    coefficients = np.zeros(kept.shape)
    for sample in np.ndindex(kept.shape[:-3]):
        norms = np.sqrt((features[sample] ** 2).sum(axis=0))
        unit = features[sample] / np.where(norms > 0, norms, 1.0)
        factor, p = fold([(unit, targets[sample])]), unit.shape[1]
        known: dict[tuple[int, bytes], Array] = {}
        for i, j in np.ndindex(kept.shape[-3:-1]):
            terms = np.flatnonzero(kept[sample][i, j])
            if not terms.size:
                continue
            key = j, terms.tobytes()
            if key not in known:
                used = factor[: terms[-1] + 1]
                known[key] = np.linalg.lstsq(used[:, terms], used[:, p + j])[0] / norms[terms]
            coefficients[(*sample, i, j, terms)] = known[key]
    return coefficients
