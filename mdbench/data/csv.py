"""Trajectories in tables: a header, then the time and the states, a line for each sample."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from mdbench.data.arrangement import Reading, arrange_table
from mdbench.data.cells import Cells, number_of
from mdbench.data.columns import LabelledColumn, columns_of
from mdbench.data.layouts import part_of, quoted
from mdbench.data.readers import read_cells
from mdbench.data.roles import EVEN
from mdbench.data.table_checks import (
    fill_gaps,
    read_times,
    refuse_cells,
    refuse_codes,
    refuse_falling,
)
from mdbench.data.table_roles import TableRoles, stretches
from mdbench.data.trajectory import MIN_SAMPLES, Trajectory, refuse_sizes
from mdbench.errors import DataError

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    Array = NDArray[np.float64]

_SAME = 1e-6
"""A column whose steps are a multiple of those of the time, but for this share, is another time."""


@dataclass(frozen=True, eq=False)
class CsvRecording:
    """The contents of a file.

    Attributes
    ----------
    time
        The column of times.
    states, inputs
        The columns of `Trajectory.u` and `Trajectory.inputs`.
    trajectory
        All samples, one trajectory after the other; its `du` is None.
    filled
        Lines that were left out, or cells that were filled, for want of values.
    notes
        How columns were read, for people: which is the time and why, and which were left out.
    """

    time: LabelledColumn
    states: tuple[LabelledColumn, ...]
    inputs: tuple[LabelledColumn, ...]
    trajectory: Trajectory
    filled: int = 0
    notes: tuple[str, ...] = ()


def read_csv(
    path: Path,
    how: Reading | None = None,
    taken: Collection[str] = (),
    fewest: int = MIN_SAMPLES,
) -> CsvRecording:
    """Read and check samples without derivatives, from a table of whatever format.

    Cells of a text are separated by commas, semicolons, tabs or spaces, whichever the header has;
    with other than commas, decimals may stand behind one.  Times may be dates or clock times,
    which become days since the first, or minutes or seconds where steps are shorter; weeks,
    months and quarters are counted.

    Parameters
    ----------
    taken
        Names that no column may have in equations.
    fewest
        Samples that each trajectory has to have.

    Raises
    ------
    DataError
        If the file cannot be read, has no header, lacks a column that is asked for, or leaves
        open which column is the time; if a cell is missing or is no finite number, or seems to be
        a code of no value.  It names the line, the column and the text.
    UnavailableError
        If a package is missing that reads it.
    """
    how = how or Reading()
    cells = read_cells(path, skip=how.skip, fewest=1 if how.step else 2)
    return read_table(path, cells, how, taken, fewest)


def read_table(
    path: Path,
    cells: Cells,
    how: Reading | None = None,
    taken: Collection[str] = (),
    fewest: int = MIN_SAMPLES,
) -> CsvRecording:
    """Read and check samples from the cells of a table, as `read_csv`; `path` is its file."""
    how = how or Reading()
    cells, how = arrange_table(path, cells, how)
    return _recording(TableRoles(path, cells, how), taken, fewest)


def read_columns(path: Path, taken: Collection[str] = ()) -> tuple[tuple[str, ...], Array]:
    """Read a table of numbers: the names of its columns, and its rows (n, columns).

    Raises
    ------
    DataError
        As `read_csv`; there may be any number of rows, in any order.
    """
    cells = read_cells(path, fewest=1)
    columns = columns_of(cells.labels, taken)
    values = []
    for row in cells.rows:
        numbers = [number_of(one.strip(), decimal_comma=cells.decimal_comma) for one in row.cells]
        for label, cell, value in zip(cells.labels, row.cells, numbers, strict=True):
            if value is None or not math.isfinite(value):
                raise DataError(
                    f"{path}, line {row.number}: {label} is {cell!r}", "Give a finite number."
                )
        values.append(numbers)
    return tuple(one.name for one in columns), np.array(values, dtype=np.float64).reshape(
        -1, len(columns)
    )


def _recording(table: TableRoles, taken: Collection[str], fewest: int) -> CsvRecording:
    """Put together what was read."""
    order = (*table.states, *table.inputs)
    columns = columns_of([table.labels[place] for place in order], taken)
    label = table.columns[table.choice.place].label or "time"
    t, unit, form = read_times(table)
    rows = np.column_stack([t, *(table.numbers[place] for place in order)])
    rows, lines, said = _sort_by_time(table, rows)
    drop = table.how.missing == "drop"
    if not drop:
        refuse_falling(table, rows[:, 0], lines)
    # A mean of those that are known is enough.
    averaged = table.how.repeats == "average" and bool(np.isfinite(rows).all())
    refuse_cells(table, order, may_be_missing=averaged or table.how.missing != "refuse")
    refuse_codes(table, order)
    filled = 0
    if drop:
        whole = ~np.isnan(rows).any(axis=1)
        filled = int(np.sum(~whole))
        rows, lines = rows[whole], lines[whole]
        refuse_falling(table, rows[:, 0], lines)
    of = [table.trajectory_of[k] for k in lines]
    for first, last in stretches(of):
        filled += fill_gaps(table, rows[first:last], lines[first:last].tolist())
    starts = [first for first, _ in stretches(of)]
    own = table.columns[table.choice.place]
    time = LabelledColumn(label, "time", unit or own.unit)
    if unit:
        rows[:, 0] -= rows[0, 0] if len(rows) else 0.0
    d = len(table.states)
    trajectory = Trajectory(
        t=rows[:, 0].copy(),
        u=rows[:, 1 : 1 + d].copy(),
        inputs=rows[:, 1 + d :].copy() if table.inputs else None,
        starts=tuple(starts) if len(starts) > 1 else (0,),
    )
    for column, values in zip(columns, rows[:, 1:].T, strict=True):
        refuse_sizes(table.path, "u", values, column.label)
    trajectory.check(table.path, fewest)
    notes = (*_notes(table, time, form, columns), *said, *_notes_of_states(table, trajectory))
    if filled:
        how = "lines were left out" if table.how.missing == "drop" else "cells were filled"
        share = filled / max(1, len(table.rows) * (1 if "lines" in how else len(order)))
        notes += (f"{filled} {how} for want of values, {share:.0%} of all",)
    return CsvRecording(time, columns[:d], columns[d:], trajectory, filled, notes)


def _sort_by_time(
    table: TableRoles, rows: Array
) -> tuple[Array, NDArray[np.intp], tuple[str, ...]]:
    """Return rows in order of time where the options or the file ask for it.

    Returns
    -------
    rows
        Those with means of repeats, of a long table in order, or turned round.
    lines
        The place in the file's rows of each.
    notes
        What was done.
    """
    lines = np.arange(len(rows))
    if table.how.repeats == "average":
        means, firsts = [], []
        for first, last in stretches(table.trajectory_of):
            part, number = _averaged(rows[first:last])
            means.append(part)
            firsts.append(first + number)
        rows, lines = np.concatenate(means or [rows]), np.concatenate(firsts or [lines])
        return rows, lines, (f"means of {len(table.rows)} lines at {len(rows)} times",)
    if table.how.pivot:
        for first, last in stretches(table.trajectory_of):
            lines[first:last] = first + np.argsort(rows[first:last, 0], kind="stable")
        return rows[lines], lines, ()
    steps = [np.diff(rows[first:last, 0]) for first, last in stretches(table.trajectory_of)]
    if not rows.size or not all(len(each) and (each < 0).all() for each in steps):
        return rows, lines, ()
    if not table.is_certain and not all(
        np.ptp(each) <= EVEN * np.abs(np.median(each)) for each in steps
    ):
        return rows, lines, ()
    for first, last in stretches(table.trajectory_of):
        lines[first:last] = lines[first:last][::-1]
    return rows[lines], lines, ("the newest line is the first: they were turned round",)


def _notes(
    table: TableRoles, time: LabelledColumn, form: str, columns: Sequence[LabelledColumn]
) -> tuple[str, ...]:
    """Return which column is the time and why, and which were left out or have one name."""
    in_unit = f", in {time.unit}" if time.unit else ""
    read_as = f", read as {form}" if form else ""
    notes = [f"time: {time.label}, {table.choice.why}{read_as}{in_unit}"]
    if out := [table.labels[place] or "the first column" for place in table.choice.left_out]:
        notes.append(f"left out, as it only counts the rows: {', '.join(out)}")
    if table.left_out:
        notes.append(f"left out, as --states names others: {', '.join(table.left_out)}")
    if table.again:
        notes.append("the lines of each trajectory were put together")
    labels = [table.labels[place] for place in (*table.states, *table.inputs)]
    for twice in dict.fromkeys(one for one in labels if labels.count(one) > 1):
        names = [one.name for one, own in zip(columns, labels, strict=True) if own == twice]
        notes.append(f"{len(names)} columns are called {twice}; here: {', '.join(names)}")
    return tuple(notes)


def _notes_of_states(table: TableRoles, series: Trajectory) -> list[str]:
    """Name columns that can be no states of a law of rates: counters, flags, covariates."""
    notes = []
    for column, u in zip(table.states, series.u.T, strict=True):
        label, ignore = table.labels[column], f"--ignore {quoted(table.columns[column].label)}"
        pieces = np.split(u, series.starts[1:])
        values = np.unique(u)
        steps = np.concatenate([np.diff(each) for each in pieces])
        times = np.concatenate([np.diff(each.t) for each in series.pieces])
        if not len(steps):
            continue
        if (steps == 1).all():
            notes.append(f"{label}: one more in each row; where it only counts the rows: {ignore}")
        elif _are_alike(steps / (steps[0] or 1.0), times / times[0]):
            notes.append(f"{label}: rises as the time does; where it is another time: {ignore}")
        elif len(pieces) > 1 and not steps.any() and len(values) > 1:
            notes.append(
                f"{label}: the same throughout each trajectory, and so no state: {ignore}, or "
                f"--inputs {quoted(table.columns[column].label)}"
            )
        elif len(values) == 2:  # noqa: PLR2004 - a switch or a flag
            notes.append(
                f"{label}: has the values {values[0]:g} and {values[1]:g} alone, and so no "
                f"rate: {ignore}, or --inputs {quoted(table.columns[column].label)}"
            )
        elif part_of(table.columns[column].label) and len(label) > 2:  # noqa: PLR2004 - mm
            notes.append(f"{label}: named as a part of a date; where it is one: {ignore}")
    return notes


def _are_alike(steps: Array, times: Array) -> bool:
    with np.errstate(all="ignore"):
        return bool((np.abs(steps - times) <= _SAME * np.abs(times)).all())


def _averaged(rows: Array) -> tuple[Array, NDArray[np.intp]]:
    """Return the means (m, k) of rows (n, k) of equal times, by time, and the first row of each."""
    times, first, of = np.unique(rows[:, 0], return_index=True, return_inverse=True)
    known = np.isfinite(rows)
    sums, counts = np.zeros((2, len(times), rows.shape[1]))
    np.add.at(sums, of, np.where(known, rows, 0.0))
    np.add.at(counts, of, known)
    means = np.full_like(sums, np.nan)
    np.divide(sums, counts, out=means, where=counts > 0)
    means[:, 0] = times
    return means, first
