"""Sums of few columns: a beam search for the best least squares fits of each length."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from collections.abc import Iterator

Array = NDArray[np.float64]
Integers = NDArray[np.int64]

__all__ = ["sparse_sums"]

_RIDGE = 1e-12
"""Ridge for columns of unit length: it has an effect only where columns are equal."""


def sparse_sums(
    columns: Array, wanted: Array, *, longest: int, beam: int, kept: int
) -> Iterator[tuple[Integers, Array]]:
    """Fit sums of 1, 2, ... columns.

    Data whose derivatives are a little wrong do not show by themselves which terms are true: the
    best few of each length are returned.

    Parameters
    ----------
    columns
        (n, p); those that are not finite, or zero, are not used.
    wanted
        (n,) what sums are to be.
    longest
        Largest number of columns of a sum.
    beam
        Choices of one length that are extended further.
    kept
        Choices of each length that are returned, the best first.

    Yields
    ------
    tuple
        Numbers of the columns, and their coefficients.
    """
    with np.errstate(all="ignore"):
        norms = np.linalg.norm(columns, axis=0)
        fine = np.isfinite(norms) & (norms > 0)
        scaled = np.where(fine, columns / np.where(fine, norms, 1.0), 0.0)
    usable = np.flatnonzero(fine)
    gram, right = scaled.T @ scaled, scaled.T @ wanted
    supports = np.zeros((1, 0), dtype=np.int64)
    for _ in range(min(longest, len(usable))):
        new = ~(usable[np.newaxis, :, np.newaxis] == supports[:, np.newaxis, :]).any(axis=2)
        rows, added = np.nonzero(new)
        supports = np.concatenate([supports[rows], usable[added][:, np.newaxis]], axis=1)
        supports = np.unique(np.sort(supports, axis=1), axis=0)
        square = gram[supports[:, :, np.newaxis], supports[:, np.newaxis, :]]
        square = square + _RIDGE * np.eye(supports.shape[1])
        own = np.linalg.solve(square, right[supports][:, :, np.newaxis])[:, :, 0]
        gain = np.einsum("bk,bk->b", own, right[supports])
        order = np.argsort(-gain, kind="stable")[:beam]
        supports = supports[order]
        for support, values in zip(supports[:kept], own[order[:kept]], strict=True):
            yield support, values / norms[support]
