"""Folds of small tables: which rows are held out together."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["MOST_SINGLE", "SEVERAL", "folds"]

MOST_SINGLE = 12
"""Up to so many different inputs each is held out by itself."""
SEVERAL = 5
"""Into how many folds more are cut."""


def folds(name: str, x: NDArray[np.float64]) -> list[NDArray[np.intp]]:
    """Give the rows that each fold holds out; every row is in one of them.

    Rows with equal inputs stay together, so that nobody learns an answer that is asked.  Which fold
    an input is in hangs on nothing but the table's name and inputs.

    Parameters
    ----------
    name
        Of the table.
    x
        The inputs, (n, columns).

    Examples
    --------
    >>> [fold.tolist() for fold in folds("kepler", np.array([[1.0], [2.0], [1.0]]))]
    [[0, 2], [1]]
    """
    different, group = np.unique(x, axis=0, return_inverse=True)
    group = group.reshape(-1)
    count = len(different)
    if count <= MOST_SINGLE:
        fold_of = np.arange(count)
    else:
        seed = hashlib.sha256(f"folds\n{name}".encode()).digest()
        order = np.random.default_rng(int.from_bytes(seed)).permutation(count)
        fold_of = np.empty(count, dtype=np.intp)
        fold_of[order] = np.arange(count) % SEVERAL
    return [np.flatnonzero(fold_of[group] == fold) for fold in range(int(fold_of.max()) + 1)]
