"""Folds: what no fold may break, whatever the rows are."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from mdbench.datatypes.real.folds import (
    BLOCKS,
    MOST_SINGLE,
    SEVERAL,
    blocks_of,
    folds,
    unit_errors,
)

INPUTS = arrays(
    np.float64, st.tuples(st.integers(4, 60), st.integers(1, 3)), elements=st.integers(0, 6)
)


@given(x=INPUTS, name=st.text(max_size=5))
def test_every_row_is_held_out_once_and_equal_inputs_together(
    x: np.ndarray[tuple[int, int], np.dtype[np.float64]], name: str
) -> None:
    found = folds(name, x)
    assert sorted(np.concatenate(found).tolist()) == list(range(len(x)))
    for fold in found:
        assert len(fold)
        held = {tuple(row) for row in x[fold]}
        kept = {tuple(row) for row in np.delete(x, fold, axis=0)}
        assert not held & kept
    different = len(np.unique(x, axis=0))
    assert len(found) == (different if different <= MOST_SINGLE else SEVERAL)


@pytest.mark.parametrize("n", [MOST_SINGLE + 1, 57, 250])
def test_many_rows_make_folds_of_one_size(n: int) -> None:
    sizes = [len(fold) for fold in folds("any", np.linspace(0, 1, n)[:, None])]
    assert max(sizes) - min(sizes) <= 1


def test_folds_hang_on_nothing_but_name_and_inputs() -> None:
    x = np.arange(40.0)[:, None]
    first, again, other = (folds(name, x) for name in ("one", "one", "two"))
    assert all(np.array_equal(a, b) for a, b in zip(first, again, strict=True))
    assert any(not np.array_equal(a, b) for a, b in zip(first, other, strict=True))


@given(x=INPUTS, name=st.text(max_size=5))
def test_folds_of_blocks_are_whole_blocks_of_neighbours(
    x: np.ndarray[tuple[int, int], np.dtype[np.float64]], name: str
) -> None:
    block = blocks_of(x)
    held = folds(name, x, blocks=True)
    assert sorted(np.concatenate(held).tolist()) == list(range(len(x)))
    of_fold = [set(block[rows].tolist()) for rows in held]
    assert sum(map(len, of_fold)) == len(set().union(*of_fold))
    order = np.lexsort(x.T[::-1])
    assert (np.diff(block[order]) >= 0).all()
    assert len(set(block.tolist())) == min(BLOCKS, len(np.unique(x, axis=0)))


def test_errors_of_a_series_count_once_a_block() -> None:
    x = np.arange(45.0)[:, None]
    [first, *_] = folds("any", x, blocks=True)
    squared = np.arange(len(first), dtype=float)
    assert unit_errors(squared, first, x, blocks=False) is squared
    assert len(first) == 9
    means = unit_errors(squared, first, x, blocks=True)
    np.testing.assert_allclose(means, [1.0, 4.0, 7.0])


def test_neighbours_of_a_row_held_out_are_mostly_held_out_too() -> None:
    """Errors that are alike from row to row would else be learned next to the row asked for."""
    x = np.arange(243.0)[:, None]
    alone = {
        blocks: np.mean([np.isin(rows, [*(rows + 1), *(rows - 1)]).mean() for rows in made])
        for blocks in (False, True)
        for made in [folds("supernova-zg", x, blocks=blocks)]
    }
    assert alone[True] == 1
    assert alone[False] < 0.5
