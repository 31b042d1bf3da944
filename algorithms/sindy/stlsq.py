"""Sequentially thresholded least squares (STLSQ) for many settings at once.

Brunton, Proctor and Kutz, PNAS 113, 3932 (2016), with a ridge penalty: solve
``min |y - X w|^2 + alpha |w|^2``, drop the terms with ``|w| < threshold``, and repeat with the
rest until none is dropped; then fit the terms that are left by least squares, without penalty.

A setting is a library (a choice of columns), an alpha and a threshold.  Every ridge problem of
every setting is a part of one Gram matrix, and every least-squares problem a choice of columns
of one triangular factor.  Different settings meet the same problems again and again, so each is
solved once.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    Array = NDArray[np.float64]
    Mask = NDArray[np.bool_]

__all__ = ["Paths", "Regression"]

_STACK_NUMBERS = 1_000_000
"""The most numbers in the matrices of one stacked call: 8 MB."""


@dataclass
class Paths:
    """Thresholding paths, one an entry: a target under one setting.

    Attributes
    ----------
    target
        The column of the targets, (m,).
    alpha, threshold
        The ridge penalty and the smallest coefficient that is kept, (m,).
    columns
        The terms that may be used, (m, p).
    """

    target: NDArray[np.intp]
    alpha: Array
    threshold: Array
    columns: Mask


class Regression:
    """Sparse regression of `targets` (n, k) on `features` (n, p)."""

    def __init__(self, features: Array, targets: Array) -> None:
        self.n_features = features.shape[1]
        self._cut_off = float(np.finfo(np.float64).eps) * max(features.shape)
        norms = np.sqrt(np.einsum("ij,ij->j", features, features))
        # Columns near unit length keep the elimination accurate, and powers of two scale them
        # without rounding.  The penalty is scaled along: it is on the unscaled coefficients.
        self._scale = np.exp2(-np.round(np.log2(np.where(norms > 0, norms, 1))))
        scaled = features * self._scale
        self._gram = scaled.T @ scaled
        self._moments = scaled.T @ targets
        q, self._r = np.linalg.qr(features)
        self._q_targets = q.T @ targets

    def supports(self, paths: Paths) -> Mask:
        """Follow each path to the terms that it keeps.

        Terms only ever leave a path, so p + 1 rounds are enough.

        Returns
        -------
        Mask
            The terms that are left, (m, p).
        """
        support = paths.columns.copy()
        solved: dict[bytes, Array] = {}
        labels = np.column_stack([paths.target, paths.alpha])
        moving = np.arange(len(support))
        while moving.size:
            before = support[moving]
            keys = [
                terms.tobytes() + label.tobytes()
                for terms, label in zip(np.packbits(before, axis=1), labels[moving], strict=True)
            ]
            new = {key: i for i, key in enumerate(keys) if key not in solved}
            first = list(new.values())
            at = moving[first]
            coefficients = self._ridge(before[first], paths.alpha[at], paths.target[at])
            solved.update(zip(new, coefficients, strict=True))
            now = np.array([solved[key] for key in keys])
            kept = before & (np.abs(now) >= paths.threshold[moving, None])
            support[moving] = kept
            moving = moving[(kept != before).any(axis=1) & kept.any(axis=1)]
        return support

    def refit(self, support: Mask, target: int) -> Array:
        """Fit the terms of `support` (p,) to one target by least squares; gives (p,).

        Singular values below machine epsilon, times the larger side of the feature matrix,
        relative to the largest one count as zero; of equally good coefficients the smallest
        are taken.
        """
        coefficients = np.zeros(self.n_features)
        terms = np.flatnonzero(support)
        if terms.size:
            rows = terms[-1] + 1  # below them the triangular factor is zero
            coefficients[terms] = np.linalg.lstsq(
                self._r[:rows, terms], self._q_targets[:rows, target], rcond=self._cut_off
            )[0]
        return coefficients

    def _ridge(self, supports: Mask, alpha: Array, target: NDArray[np.intp]) -> Array:
        """Solve ridge problems with `supports` (m, p); gives the coefficients (m, p)."""
        coefficients = np.zeros(supports.shape)
        for chosen in _stacks(supports.sum(axis=1)):
            terms = np.nonzero(supports[chosen])[1].reshape(len(chosen), -1)
            scale = self._scale[terms]
            gram = self._gram[terms[:, :, None], terms[:, None, :]]
            diagonal = np.arange(terms.shape[1])
            gram[:, diagonal, diagonal] += alpha[chosen, None] * scale**2
            moments = self._moments[terms, target[chosen, None]]
            coefficients[chosen[:, None], terms] = _solve(gram, moments) * scale
        return coefficients


def _stacks(sizes: NDArray[np.intp]) -> Iterator[NDArray[np.intp]]:
    """Group problems of equal size, as many together as fit into a little memory."""
    for size in np.unique(sizes):
        chosen = np.flatnonzero(sizes == size)
        height = max(1, _STACK_NUMBERS // int(size) ** 2)
        for start in range(0, len(chosen), height):
            yield chosen[start : start + height]


def _solve(matrices: Array, right: Array) -> Array:
    """Solve a stack of symmetric systems (m, s, s), (m, s), singular ones by least squares."""
    try:
        solutions = np.asarray(np.linalg.solve(matrices, right[..., None])[..., 0], np.float64)
    except np.linalg.LinAlgError:
        solutions = np.empty_like(right)
        for k, (matrix, values) in enumerate(zip(matrices, right, strict=True)):
            solutions[k] = np.linalg.lstsq(matrix, values)[0]
    return solutions
