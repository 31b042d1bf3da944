"""Splits made from others: cut in two for a grid, and those on which predictions are checked.

A method that gives equations is never asked to predict on the inputs of the test.  Under `strict`
the benchmark evaluates the equations itself.  What the method predicts is only compared with them,
which needs no test input: what one job could pass to the next is then worth nothing.  It is asked
on inputs that it was fitted on, and, where samples are points, on points drawn from the values of
their columns.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from mdbench.datatypes.base import CheckSplit, Split
from mdbench.errors import AnswerError
from mdbench.metrics.regression import agreement

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    Array = NDArray[np.float64]

HELD_OUT = 5
"""One in so many samples is held out: the last ones."""
_IN_TIME = ("u", "measured")
"""Arrays of a field whose last axis but one is time."""
_NOT_CUT = ("x", "y", "z", "periods")
CONTRADICTION = 1e-4
"""An agreement worse than this, 1 % of the root mean square, is a contradiction: the equations
are not what the method predicts with, and `strict` refuses such an answer.  Of 2,205 answers of
seven methods to ODE seven, all worked out in single precision, were above `SUSPICIOUS`, and four
above this."""
MOST_ROWS = 2_000
"""Rows of a table on which a method is asked to predict."""
_MOST_DRAWN_APART = 0.5
"""Share of drawn points at which predictions may differ from the equations: near a pole, or where
a method protects a function that its text does not, honest ones do."""
_SEED = b"prediction check"


def check_split(split: Split, seed: int) -> CheckSplit:
    """Return samples of a fit, every other one with values drawn from its columns.

    A drawn sample has in each column the value of some sample of the fit, so that columns keep to
    the values and the range that the method has seen.  Times keep their order.

    Parameters
    ----------
    split
        Inputs of the fit, one sample a row.
    seed
        Of the draws.
    """
    generator = np.random.default_rng([seed, *_SEED])
    count = len(split.targets)
    rows = np.arange(count)
    if "X" in split.inputs and count > MOST_ROWS:
        rows = np.sort(generator.permutation(count)[:MOST_ROWS])
    drawn = np.arange(len(rows)) % 2 == 1
    columns = {name: values[rows] for name, values in split.columns.items()}
    sources = {
        name: generator.integers(count, size=int(np.count_nonzero(drawn))) for name in columns
    }
    for name, values in columns.items():
        values[drawn] = split.columns[name][sources[name]]
    inputs = {name: np.array(array[rows]) for name, array in split.inputs.items()}
    for name, width in _stacked(inputs, len(columns)):
        array = inputs[name]
        for place, column in enumerate(list(columns)[width]):
            array[:, place] = columns[column]
    return CheckSplit(
        inputs, split.target_name, np.array(split.targets[rows]), columns, drawn=drawn
    )


def _stacked(inputs: Mapping[str, NDArray[Any]], count: int) -> list[tuple[str, slice]]:
    """Return the arrays that hold variables as columns, and which of the variables."""
    if "X" in inputs:
        return [("X", slice(None))]
    states = inputs["u"].shape[1]
    return [
        (name, places)
        for name, places in (
            ("u", slice(states)),
            ("measured", slice(states)),
            ("inputs", slice(states, count)),
        )
        if name in inputs
    ]


def compare_predictions(
    values: Sequence[Array],
    predictions: Array,
    drawn: NDArray[np.bool_] | None,
    *,
    strict: bool = True,
) -> float:
    """Return how far predictions are from the equations, where these have finite values.

    Parameters
    ----------
    values
        What the equations give, in each precision that counts; shaped like the predictions, whose
        last axis runs over the targets.
    drawn
        As in `CheckSplit`.
    strict
        Whether a contradiction is refused.

    Raises
    ------
    AnswerError
        If a prediction is not finite, or under `strict` if they contradict the equations: on
        samples of the fit, or on most of those that were drawn.
    """
    exact = values[0]
    usable: NDArray[np.bool_] = np.all(np.isfinite(np.stack(values)), axis=0)
    known_rows = usable if drawn is None else usable & ~_like_rows(drawn, usable)
    bad = int(np.count_nonzero(known_rows & ~np.isfinite(predictions)))
    if bad:
        raise AnswerError(f"{bad} of {int(known_rows.sum())} predictions are not finite")
    agrees = min(agreement(each[known_rows], predictions[known_rows]) for each in values)
    if strict:
        refuse_contradiction(agrees)
    if strict and drawn is not None and known_rows.any():
        _compare_drawn(exact, predictions, known_rows, usable & _like_rows(drawn, usable))
    return agrees


def refuse_contradiction(agrees: float) -> None:
    """Refuse an answer whose predictions are so far from its equations.

    Raises
    ------
    AnswerError
        If they contradict each other.
    """
    if agrees > CONTRADICTION:
        raise AnswerError(
            f"its predictions contradict its equations: on inputs of its fit they differ by "
            f"{math.sqrt(agrees):.2g} of their root mean square; "
            f"{math.sqrt(CONTRADICTION):g} is allowed"
        )


def _compare_drawn(
    exact: Array, predictions: Array, known_rows: NDArray[np.bool_], drawn: NDArray[np.bool_]
) -> None:
    """Refuse predictions that differ from the equations at most of the drawn points."""
    largest = float(np.max(np.abs(exact[known_rows])))
    drawn = drawn & (np.abs(np.where(drawn, exact, 0.0)) <= largest)  # not next to a pole
    count = int(np.count_nonzero(drawn))
    if not count or not largest:
        return
    size = largest * float(np.sqrt(np.mean((exact[known_rows] / largest) ** 2)))
    with np.errstate(invalid="ignore", over="ignore"):
        near = np.abs(predictions[drawn] - exact[drawn]) <= math.sqrt(CONTRADICTION) * size
    apart = count - int(np.count_nonzero(near))
    if apart > _MOST_DRAWN_APART * count:
        raise AnswerError(
            f"its predictions contradict its equations: they differ at {apart} of {count} points "
            "drawn from the values of its inputs"
        )


def _like_rows(rows: NDArray[np.bool_], shape_of: NDArray[Any]) -> NDArray[np.bool_]:
    """Return a mask of rows for an array with more axes behind."""
    return np.broadcast_to(rows.reshape(-1, *[1] * (shape_of.ndim - 1)), shape_of.shape)


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
    for name, array in whole.inputs.items():
        if name in _NOT_CUT:
            inputs[name] = array
        elif name == "rows":
            inputs[name] = _renumbered(array, whole.targets.shape[:-1], times)
        else:
            inputs[name] = np.ascontiguousarray(
                array[..., times, :] if name in _IN_TIME else array[times]
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


def table_split(
    x: Array, y: Array, names: Sequence[str], more: Mapping[str, NDArray[Any]] | None = None
) -> Split:
    """Return rows as a split in the view ``table``: inputs (n, columns), targets (n, targets)."""
    x = np.ascontiguousarray(x)
    columns = {name: np.ascontiguousarray(x[:, i]) for i, name in enumerate(names)}
    return Split({"X": x, **(more or {})}, "Y", np.ascontiguousarray(y), columns)
