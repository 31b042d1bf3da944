"""Folds of a table's rows, by its name and inputs alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from mdbench.data.noise import generator_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[np.float64]
    Rows = NDArray[np.intp]

MOST_SINGLE = 12
"""Up to so many different inputs each is held out by itself."""
SEVERAL = 5
"""Into how many folds more are cut."""
BLOCKS = 15
"""Into how many blocks a series is cut, whose errors are alike from row to row."""


def folds(name: str, x: Array, *, blocks: bool = False) -> list[Rows]:
    """Return the rows that each fold holds out; every row is in one of them.

    Rows with equal inputs stay together, so that no method learns an answer that is asked.  The
    fold of an input depends on nothing but the table's name and inputs.

    Parameters
    ----------
    name
        Of the table.
    x
        The inputs, (n, columns).
    blocks
        Whether each fold is of whole `blocks_of` the rows.

    Examples
    --------
    >>> [fold.tolist() for fold in folds("kepler", np.array([[1.0], [2.0], [1.0]]))]
    [[0, 2], [1]]
    """
    group = blocks_of(x) if blocks else _same_inputs(x)
    count = int(group.max()) + 1
    if count <= MOST_SINGLE and not blocks:
        fold_of = np.arange(count)
    else:
        order = generator_of("folds", name).permutation(count)
        fold_of = np.empty(count, dtype=np.intp)
        fold_of[order] = np.arange(count) % SEVERAL
    return [np.flatnonzero(fold_of[group] == fold) for fold in range(int(fold_of.max()) + 1)]


def blocks_of(x: Array) -> Rows:
    """Return the block of each row, (n,): `BLOCKS` parts of the different inputs in their order.

    Neighbours in a block share their errors, and different blocks hardly do (Roberts et al.,
    Ecography 40, 913, 2017).
    """
    group = _same_inputs(x)
    return np.asarray(group * BLOCKS // (group.max() + 1))


def unit_errors(squared: Array, held_out: Rows, x: Array, *, blocks: bool) -> Array:
    """Return squared errors of independent units: of rows, or the means of whole blocks.

    Parameters
    ----------
    squared
        Squared errors of the rows held out, (h,).
    held_out
        The numbers of these rows.
    x
        The inputs of the whole table, (n, columns).
    blocks
        Whether folds are of blocks.
    """
    if not blocks:
        return squared
    block = blocks_of(x)[held_out]
    return np.array([np.mean(squared[block == number]) for number in np.unique(block)])


def _same_inputs(x: Array) -> Rows:
    """Return for each row the number of its inputs among the different ones, in their order."""
    return np.asarray(np.unique(x, axis=0, return_inverse=True)[1]).reshape(-1)
