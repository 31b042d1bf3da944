"""Folds: what no fold may break, whatever the rows are."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from mdbench.datatypes.real.data_type import MOST_SINGLE, SEVERAL, folds

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
