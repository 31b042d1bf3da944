"""Sparse relaxed regularised regression (SR3) with a hard threshold, for many settings at once.

Zheng et al., IEEE Access 7, 1404 (2018): with a relaxed copy z of the coefficients w, alternate

- ``w = argmin |y - X w|^2 + |w - z|^2 / nu``,
- z = w without what is smaller than the threshold,

and fit the terms that are left by least squares.  X has columns of unit length here, so that nu
means the same for every term; the threshold is on the coefficients in their own units.  Both steps
need the Gram matrix only, and one factor of it serves all thresholds and targets.

Several samples of the same data (a bootstrap) advance together, and columns of z (a threshold and
a target of a sample) that have converged are not updated any more.  Different settings end with the
same terms again and again, so that each set of terms is fitted once for a sample and target.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from stlsq import stacks
from triangles import fold, solve_columns

if TYPE_CHECKING:
    from collections.abc import Sequence

    from adapters import LibraryTerms
    from numpy.typing import NDArray

    Array = NDArray[np.float64]
    Mask = NDArray[np.bool_]

__all__ = ["Sr3", "factor_samples", "models", "refit", "supports"]

_ROUNDS = 200
_TOLERANCE = 1e-5
"""A sample has converged when all its relaxed coefficients move less, relative to the largest."""
_AT_REST = 1e-9
"""A column of relaxed coefficients that moves less by itself is not followed any further: in all
rounds that could be left it would move by less than a millionth."""
_LOOK = 5
"""Rounds between two checks of which columns have come to rest."""
_CUT_OFF = 1e-12
"""Singular values up to this part of the largest are no part of the start."""
_TOGETHER = 250_000
"""Largest number of relaxed coefficients that advance together: 2 MB, for the cache."""


@dataclass(frozen=True)
class Sr3:
    """A setting: a library, the number of rows of the data, the smallest coefficient kept."""

    library: Any
    points: int
    threshold: float


def models(features: Array, targets: Array, terms: LibraryTerms, settings: Sequence[Sr3]) -> Array:
    """Fit settings that have the number of rows in common.

    Parameters
    ----------
    features, targets
        (..., n, p) and (..., n, k); the axes in front are samples.  A triangular factor of
        both, as `fold` returns it, is equivalent to the many rows of the data.
    terms
        The terms of the features; its ``columns(library)`` returns which a setting may use.

    Returns
    -------
    (..., settings, k, p)
        The coefficients.
    """
    kept = np.zeros(
        (*features.shape[:-2], len(settings), targets.shape[-1], features.shape[-1]), dtype=bool
    )
    alike: dict[Any, list[int]] = {}
    for place, setting in enumerate(settings):
        alike.setdefault(setting.library, []).append(place)
    for library, places in alike.items():
        columns = np.flatnonzero(terms.columns(library))
        thresholds = np.array([settings[place].threshold for place in places])
        found = supports(features[..., columns], targets, thresholds)
        rows = np.array(places)[:, None, None]
        kept[..., rows, np.arange(targets.shape[-1])[:, None], columns] = found
    return refit(features, targets, kept)


def factor_samples(features: Array, targets: Array, drawn: NDArray[np.intp]) -> Array:
    """Return the triangular factor of each sample of rows, of features next to targets.

    A row that was drawn several times is weighed instead, so that a sample of fewer different
    rows than features has a factor of full rank.

    Parameters
    ----------
    features, targets
        (n, p) and (n, k).
    drawn
        The rows of each sample, (samples, rows).

    Returns
    -------
    (samples, at most p + k, p + k)
        Factors as `fold` gives them; those of fewer rows end with zeros.
    """
    width = features.shape[1] + targets.shape[1]
    factors = np.zeros((len(drawn), min(width, drawn.shape[1]), width))
    for factor, rows in zip(factors, drawn, strict=True):
        different, times = np.unique(rows, return_counts=True)
        weights = np.sqrt(times)[:, None]
        made = fold([(weights * features[different], weights * targets[different])])
        factor[: len(made)] = made
    return factors


def supports(features: Array, targets: Array, thresholds: Array, *, nu: float = 1.0) -> Mask:
    """Follow SR3 to the terms that it keeps.

    Parameters
    ----------
    features, targets
        (..., n, p) and (..., n, k); the axes in front are samples.
    thresholds
        (m,).
    nu
        Inverse weight of the coupling of z to w.

    Returns
    -------
    Mask
        (..., m, k, p).
    """
    samples = features.shape[:-2]
    p, k, m = features.shape[-1], targets.shape[-1], len(thresholds)
    features = features.reshape(-1, *features.shape[-2:])
    targets = targets.reshape(-1, *targets.shape[-2:])
    kept = np.empty((len(features), m, k, p), dtype=bool)
    step = max(1, _TOGETHER // max(1, p * max(p, m * k)))
    for first in range(0, len(features), step):
        some = slice(first, first + step)
        kept[some] = _relax(features[some], targets[some], thresholds, nu)
    return kept.reshape(*samples, m, k, p)


def _relax(features: Array, targets: Array, thresholds: Array, nu: float) -> Mask:
    """Follow samples (s, n, p), (s, n, k) together; return the terms kept, (s, m, k, p)."""
    m, k = len(thresholds), targets.shape[-1]
    norms = np.sqrt((features**2).sum(axis=1))
    scale = np.where(norms > 0, norms, 1.0)
    unit = features / scale[:, None, :]
    transposed = unit.swapaxes(1, 2)
    follow = np.asarray(np.linalg.inv(transposed @ unit + np.eye(unit.shape[-1]) / nu), np.float64)
    still = follow @ (transposed @ targets)
    follow /= nu
    # One entry of what follows is a column of z: of a sample (rows) a threshold and a target.
    start = solve_columns(unit, targets, _CUT_OFF)
    pick = np.tile(np.arange(k), m)
    limits = np.repeat(thresholds, k)[None, :] * scale[..., None]
    z = np.where(np.abs(start[..., pick]) >= limits, start[..., pick], 0.0)
    still = still[..., pick]
    kept = np.empty((len(z), m * k, z.shape[1]), dtype=bool)
    sample, column = np.indices((len(z), m * k))
    live = np.ones(sample.shape, dtype=bool)
    left = np.zeros(len(z))  # the largest of what is left behind, for each sample
    for round_ in range(1, _ROUNDS + 1):
        before, z = z, follow @ z
        z += still
        z[np.abs(z) < limits] = 0.0
        moved = np.abs(z - before).max(axis=1, initial=0)
        sizes = np.abs(z).max(axis=1, initial=0)
        moved[~live] = 0.0
        most = np.maximum(left, np.where(live, sizes, 0.0).max(axis=1))
        ends = live & (moved.max(axis=1) <= _TOLERANCE * most)[:, None]
        if round_ % _LOOK == 0:
            ends |= live & (moved <= _AT_REST * sizes)
        elif not ends.any():
            continue
        kept[sample[ends], column[ends]] = (z != 0).swapaxes(1, 2)[ends]
        left = np.maximum(left, np.where(ends, sizes, 0.0).max(axis=1))
        live &= ~ends
        # Columns that move continue; a sample with fewer of them is filled up with some at rest.
        rows = live.any(axis=1)
        if not rows.any():
            break
        width = int(live.sum(axis=1).max())
        if rows.all() and width == live.shape[1]:
            continue
        first = np.argsort(~live[rows], axis=1, kind="stable")[:, :width]
        sample, column, live = (
            np.take_along_axis(each[rows], first, axis=1) for each in (sample, column, live)
        )
        z, still, limits = (
            np.take_along_axis(each[rows], first[:, None, :], axis=2) for each in (z, still, limits)
        )
        follow, left = follow[rows], left[rows]
    kept[sample[live], column[live]] = (z != 0).swapaxes(1, 2)[live]
    return kept.reshape(len(kept), m, k, -1)


def refit(features: Array, targets: Array, kept: Mask) -> Array:
    """Fit the terms that are kept by least squares; shapes are as in `supports`.

    Returns
    -------
    (..., m, k, p)
        The coefficients.
    """
    p, k = kept.shape[-1], kept.shape[-2]
    features = features.reshape(-1, *features.shape[-2:])
    targets = targets.reshape(-1, *targets.shape[-2:])
    norms = np.sqrt((features**2).sum(axis=1))
    norms[norms == 0] = 1.0
    factors = np.concatenate([features / norms[:, None, :], targets], axis=2)
    if np.tril(factors, -1).any():
        factors = np.asarray(np.linalg.qr(factors, mode="r"))
    flat = kept.reshape(-1, p)
    of = np.indices((len(features), len(flat) // (k * len(features)), k))
    sample, target = of[0].reshape(-1), of[2].reshape(-1)
    known: dict[tuple[int, int, bytes], int] = {}
    packed = np.packbits(flat, axis=1)
    keys = zip(sample.tolist(), target.tolist(), map(bytes, packed), strict=True)
    first = np.array([known.setdefault(key, i) for i, key in enumerate(keys)])
    once = np.unique(first)
    coefficients = np.zeros(flat.shape)
    for chosen in stacks(flat[once].sum(axis=1), factors.shape[1]):
        at = once[chosen]
        used = np.nonzero(flat[at])[1].reshape(len(at), -1)
        if not used.size:
            continue
        # Below the last term the columns of the triangular factor are zero.
        rows = np.arange(min(int(used.max()) + 1, factors.shape[1]))
        columns = factors[sample[at, None, None], rows[:, None], used[:, None, :]]
        right = factors[sample[at, None], rows, p + target[at, None]][..., None]
        cut_off = float(np.finfo(np.float64).eps) * len(rows)
        solutions = solve_columns(columns, right, cut_off)[..., 0]
        coefficients[at[:, None], used] = solutions / norms[sample[at, None], used]
    return np.asarray(coefficients[first].reshape(kept.shape))
