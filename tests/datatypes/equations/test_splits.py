"""Splits that are cut in two, the later part held out."""

from __future__ import annotations

import numpy as np
import pytest

from mdbench.datatypes.base import Split
from mdbench.datatypes.equations.splits import cut_in_two

TIMES = 23


def field(*nodes: int, rows: bool = False) -> Split:
    """Return a field whose every value has its own place in it."""
    shape = (*nodes, TIMES)
    place = np.arange(np.prod(shape), dtype=float).reshape(shape)
    states = np.stack([place, -place], axis=-1)
    inputs = {"t": np.arange(TIMES) / 10, "u": states, "measured": states + 0.5}
    inputs |= {axis: np.linspace(0, 1, n) for axis, n in zip("xyz", nodes, strict=False)}
    inputs["periods"] = np.zeros(len(nodes))
    if rows:
        inputs["rows"] = np.arange(0.0, place.size, 3)
    return Split(inputs, "du", states[..., :1] * 2, {"u0": place, "u0_x": place / 2})


@pytest.mark.parametrize("nodes", [(4,), (4, 3), (3, 2, 5)])
def test_a_field_is_cut_by_time(nodes: tuple[int, ...]) -> None:
    whole = field(*nodes, rows=True)
    first, last = cut_in_two(whole, "field")
    for part, times in ((first, slice(0, 19)), (last, slice(19, TIMES))):
        np.testing.assert_array_equal(part.inputs["t"], whole.inputs["t"][times])
        for name in ("u", "measured"):
            np.testing.assert_array_equal(part.inputs[name], whole.inputs[name][..., times, :])
        for name in ("x", "periods"):
            np.testing.assert_array_equal(part.inputs[name], whole.inputs[name])
        np.testing.assert_array_equal(part.targets, whole.targets[..., times, :])
        assert list(part.columns) == ["u0", "u0_x"]
        np.testing.assert_array_equal(part.columns["u0_x"], whole.columns["u0_x"][..., times])
    # Each drawn sample is in one part, and there its number leads to the same value.
    values = whole.targets[..., 0].ravel()
    drawn = values[whole.inputs["rows"].astype(int)]
    found = [one.targets[..., 0].ravel()[one.inputs["rows"].astype(int)] for one in (first, last)]
    np.testing.assert_array_equal(np.sort(np.concatenate(found)), np.sort(drawn))


@pytest.mark.parametrize("view", ["table", "trajectory"])
def test_rows_are_cut_in_their_order(view: str) -> None:
    x, y = np.arange(60.0).reshape(20, 3), np.arange(20.0)[:, None]
    name = {"table": "X", "trajectory": "u"}[view]
    first, last = cut_in_two(Split({name: x}, "Y", y, {"u0": x[:, 0]}), view)
    np.testing.assert_array_equal(np.concatenate([first.inputs[name], last.inputs[name]]), x)
    np.testing.assert_array_equal(np.concatenate([first.targets, last.targets]), y)
    np.testing.assert_array_equal(last.columns["u0"], x[16:, 0])


def test_fewer_than_five_samples_are_not_cut() -> None:
    whole = Split({"X": np.ones((4, 1))}, "Y", np.ones((4, 1)))
    assert cut_in_two(whole, "table") == (whole, whole)
