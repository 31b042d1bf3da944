"""Splits that are cut in two, for a grid that is chosen from by its error on held-out samples."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from mdbench.datatypes.base import Split

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    Array = NDArray[np.float64]

HELD_OUT = 5
"""One in so many samples is held out: the last ones."""
_IN_TIME = ("u", "measured")
"""Arrays of a field whose last axis but one is time."""
_NOT_CUT = ("x", "y", "z", "periods")


def cut_in_two(whole: Split, view: str) -> tuple[Split, Split]:
    """Cut a split into its first samples and its last fifth.

    A trajectory and a field are cut by time, and a table by rows.  What has fewer than five
    samples is not cut: both parts are the whole.

    Parameters
    ----------
    whole
        Arrays in a view; `Split` has their shapes.
    view
        ``table``, ``trajectory`` or ``field``.
    """
    n = whole.targets.shape[-2]
    border = n - n // HELD_OUT
    if border == n:
        return whole, whole
    first, last = slice(0, border), slice(border, n)
    if view == "field":
        return _field_part(whole, first), _field_part(whole, last)
    return _rows(whole, first), _rows(whole, last)


def _rows(whole: Split, rows: slice) -> Split:
    inputs = {name: np.ascontiguousarray(each[rows]) for name, each in whole.inputs.items()}
    targets = np.ascontiguousarray(whole.targets[rows])
    return Split(inputs, whole.target_name, targets, _CutColumns(whole.columns, rows))


def _field_part(whole: Split, times: slice) -> Split:
    inputs: dict[str, NDArray[Any]] = {}
    for name, each in whole.inputs.items():
        if name in _NOT_CUT:
            inputs[name] = each
        elif name == "rows":
            inputs[name] = _renumbered(each, whole.targets.shape[:-1], times)
        else:
            inputs[name] = np.ascontiguousarray(
                each[..., times, :] if name in _IN_TIME else each[times]
            )
    targets = np.ascontiguousarray(whole.targets[..., times, :])
    return Split(inputs, whole.target_name, targets, _CutColumns(whole.columns, times))


def _renumbered(rows: Array, shape: tuple[int, ...], times: slice) -> Array:
    """Number those of a field's samples that are in a part of its times by their place there."""
    *places, time = np.unravel_index(rows.astype(np.intp), shape)
    inside = (time >= times.start) & (time < times.stop)
    cut = (*shape[:-1], times.stop - times.start)
    kept = (*(each[inside] for each in places), time[inside] - times.start)
    numbers: Array = np.ravel_multi_index(kept, cut).astype(np.float64)
    return numbers


@dataclass(frozen=True)
class _CutColumns(Mapping[str, "Array"]):
    """Part of the last axis of columns, which are made when they are asked for."""

    whole: Mapping[str, Array]
    part: slice

    def __iter__(self) -> Iterator[str]:
        return iter(self.whole)

    def __len__(self) -> int:
        return len(self.whole)

    def __getitem__(self, name: str) -> Array:
        return self.whole[name][..., self.part]
