"""Trajectories in CSV files: a header, then the time and the states, a line for each sample."""

from __future__ import annotations

import csv
import math
import re
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import groupby
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from mdbench.data.columns import LabelledColumn, columns_of
from mdbench.data.trajectory import Trajectory
from mdbench.errors import DataError, did_you_mean

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    Array = NDArray[np.float64]

DAY = "day"
"""The unit of times that are dates."""

_EXPECTED = (
    "The first line names the columns: the time, then the states, separated by commas, semicolons "
    "or tabs."
)
_SEPARATORS = ",;\t"
_NO_VALUE = {"", "na", "n/a", "nan", "null", "none", "-"}
_COMMA = re.compile(r"[+-]?\d*,\d+(?:[eE][+-]?\d+)?")
_DATE = re.compile(r"\d{4}-\d{2}-\d{2}")
_DAY_SECONDS = 86400.0


@dataclass(frozen=True)
class Reading:
    """Options of reading a file, where the file itself leaves them open.

    Attributes
    ----------
    missing
        One of `MISSING`: cells without a value are refused, their lines are left out, or they are
        filled on the straight line between those before and after.
    inputs
        Labels of the columns that are given and not to be predicted.
    trajectory
        The label of the column that separates trajectories; empty where there is only one.
    """

    missing: Literal["refuse", "drop", "interpolate"] = "refuse"
    inputs: tuple[str, ...] = ()
    trajectory: str = ""


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
    """

    time: LabelledColumn
    states: tuple[LabelledColumn, ...]
    inputs: tuple[LabelledColumn, ...]
    trajectory: Trajectory
    filled: int = 0


def read_csv(path: Path, how: Reading | None = None, taken: Collection[str] = ()) -> CsvRecording:
    """Read and check samples without derivatives.

    Cells are separated by commas, semicolons or tabs, whichever the header has; with one of the
    latter two, decimals may stand behind a comma.  Times may be dates (``2026-11-22`` or
    ``2026-11-22T10:30``), which become days since the first.

    Parameters
    ----------
    taken
        Names that no column may have in equations.

    Raises
    ------
    DataError
        If the file cannot be read, has no header, lacks a column that is asked for, or a cell is
        missing or is no finite number; it names the line, the column and the text.
    """
    how = how or Reading()
    with _open(path) as (lines, separator):
        labels = _labels(path, next(lines, []), separator)
        table = _Lines(path, labels, how, decimal_comma=separator != ",")
        for cells in lines:
            if cells:
                table.add(lines.line_num, cells)
    return table.recording(taken)


@contextmanager
def _open(path: Path) -> Iterator[tuple[Any, str]]:
    """Open a file for reading by lines, separated by whatever its header has most of."""
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            first = file.readline()
            separator = max(_SEPARATORS, key=first.count)
            file.seek(0)
            yield csv.reader(file, delimiter=separator, strict=True), separator
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise DataError(f"{path} cannot be read: {error}", _EXPECTED) from error


def _labels(path: Path, cells: Sequence[str], separator: str, fewest: int = 2) -> tuple[str, ...]:
    labels = tuple(cell.strip() for cell in cells)
    if len(labels) < fewest:  # usually a time and at least one state
        raise DataError(f"{path}, line 1: {separator.join(cells)!r} has too few columns", _EXPECTED)
    for label in labels:
        if not label or _number(label) is not None:
            raise DataError(f"{path}, line 1: {label!r} is not the name of a column", _EXPECTED)
    return labels


def read_columns(path: Path, taken: Collection[str] = ()) -> tuple[tuple[str, ...], Array]:
    """Read a table of numbers: the names of its columns, and its rows (n, columns).

    Raises
    ------
    DataError
        As `read_csv`; there may be any number of rows, in any order.
    """
    with _open(path) as (lines, separator):
        labels = _labels(path, next(lines, []), separator, fewest=1)
        columns = columns_of(labels, taken)
        rows = []
        for cells in lines:
            if not cells:
                continue
            where = f"{path}, line {lines.line_num}"
            if len(cells) != len(labels):
                raise DataError(
                    f"{where}: {len(cells)} cells, but the header names {len(labels)} columns"
                )
            row = [_as_number(cell.strip(), decimal_comma=separator != ",") for cell in cells]
            for label, cell, value in zip(labels, cells, row, strict=True):
                if value is None or not math.isfinite(value):
                    raise DataError(f"{where}: {label} is {cell!r}", "Give a finite number.")
            rows.append(row)
    return tuple(one.name for one in columns), np.array(rows, dtype=np.float64).reshape(
        -1, len(columns)
    )


class _Lines:
    """Lines of a file, as they are read.

    Attributes
    ----------
    rows
        Times and values of all lines that are kept, missing values as NaN.
    """

    def __init__(
        self, path: Path, labels: tuple[str, ...], how: Reading, *, decimal_comma: bool
    ) -> None:
        self._path, self._labels, self._how, self._comma = path, labels, how, decimal_comma
        self._columns = columns_of(labels)
        self._trajectory = self._place(how.trajectory) if how.trajectory else None
        self._time = 1 if self._trajectory == 0 else 0
        self._inputs = [self._place(label) for label in how.inputs]
        self._states = [
            place
            for place in range(len(labels))
            if place not in {self._trajectory, self._time, *self._inputs}
        ]
        if {self._trajectory, *self._inputs} & {self._time}:
            raise DataError(
                f"{path}: {labels[self._time]!r} is the time.",
                "The first column is the time; give another one for what it is to be.",
            )
        if not self._states:
            raise DataError(f"{path}: no column is left for the states.", _EXPECTED)
        self._of: list[str] = []
        self._rows: list[list[float]] = []
        self._where: list[str] = []
        self._dates: bool | None = None
        self._filled = 0

    def _place(self, label: str) -> int:
        known = [one.label for one in self._columns]
        for names in (list(self._labels), known, [one.name for one in self._columns]):
            if label in names:
                return names.index(label)
        raise DataError(f"{self._path} has no column {label!r}.", did_you_mean(label, known))

    def add(self, number: int, cells: Sequence[str]) -> None:
        """Read a line."""
        where, labels = f"{self._path}, line {number}", self._labels
        if len(cells) != len(labels):
            raise DataError(
                f"{where}: {len(cells)} cells, but the header names {len(labels)} columns"
            )
        of = "" if self._trajectory is None else cells[self._trajectory].strip()
        if self._trajectory is not None and not of:
            raise DataError(f"{where}: {labels[self._trajectory]} is empty", "Name the trajectory.")
        row = [self._when(where, cells[self._time])]
        row += [self._value(where, place, cells[place]) for place in (*self._states, *self._inputs)]
        if self._how.missing == "drop" and any(map(math.isnan, row)):
            self._filled += 1
            return
        if self._of and self._of[-1] == of and not row[0] > self._rows[-1][0]:
            label, now, before = labels[self._time], cells[self._time].strip(), self._rows[-1][0]
            hint = "Times have to increase within a trajectory."
            if self._trajectory is None:
                hint = "Times have to increase. Where the file holds several trajectories, name "
                hint += "the column that separates them: --trajectory COLUMN"
            raise DataError(f"{where}: {label} is {now}, after {before:g}", hint)
        self._of.append(of)
        self._rows.append(row)
        self._where.append(where)

    def _when(self, where: str, cell: str) -> float:
        text = cell.strip()
        is_date = bool(_DATE.match(text))
        if self._dates is None:
            self._dates = is_date
        if is_date and self._dates:
            try:
                moment = datetime.fromisoformat(text)
            except ValueError as error:
                raise DataError(f"{where}: {text!r} is no date: {error}") from None
            moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
            return moment.timestamp() / _DAY_SECONDS
        value = self._number(text)
        if is_date or self._dates or value is None or not math.isfinite(value):
            kind = "a date, as those before are" if self._dates else "a finite number, or a date"
            raise DataError(
                f"{where}: {self._labels[self._time]} is {cell!r}",
                f"Times have to be {kind} (2026-11-22 or 2026-11-22T10:30).",
            )
        return value

    def _value(self, where: str, place: int, cell: str) -> float:
        text = cell.strip()
        missing = text.lower() in _NO_VALUE
        if missing and self._how.missing != "refuse":
            return math.nan
        value = None if missing else self._number(text)
        if value is None or not math.isfinite(value):
            hint = "Every cell has to be a finite number"
            if missing:
                hint += ". To do without: --missing drop (leaves the line out) or "
                hint += "--missing interpolate (fills it from those before and after)."
            elif self._comma:
                hint += ", with a point or a comma for its decimals."
            else:
                hint += ", with a point for its decimals (or a comma, in columns separated by ;)."
            raise DataError(f"{where}: {self._labels[place]} is {cell!r}", hint)
        return value

    def _number(self, text: str) -> float | None:
        return _as_number(text, decimal_comma=self._comma)

    def recording(self, taken: Collection[str]) -> CsvRecording:
        """Put together what was read."""
        order = (*self._states, *self._inputs)
        columns = columns_of([self._labels[place] for place in order], taken)
        [time] = columns_of([self._labels[self._time]])
        rows = np.array(self._rows, dtype=np.float64).reshape(-1, 1 + len(order))
        starts = [first for first, _ in _stretches(self._of)]
        self._refuse_twice(starts)
        for first, last in _stretches(self._of):
            self._fill(rows[first:last], first)
        if self._dates:
            rows[:, 0] -= rows[0, 0] if len(rows) else 0.0
            time = LabelledColumn(time.label, time.name, DAY)
        d = len(self._states)
        trajectory = Trajectory(
            t=rows[:, 0].copy(),
            u=rows[:, 1 : 1 + d].copy(),
            inputs=rows[:, 1 + d :].copy() if self._inputs else None,
            starts=tuple(starts) if len(starts) > 1 else (0,),
        )
        trajectory.check(self._path)
        return CsvRecording(time, columns[:d], columns[d:], trajectory, self._filled)

    def _refuse_twice(self, starts: Sequence[int]) -> None:
        names = [self._of[first] for first in starts]
        for place, name in enumerate(names):
            if name in names[:place]:
                raise DataError(
                    f"{self._where[starts[place]]}: the trajectory {name!r} begins again.",
                    "Put the lines of a trajectory one below the other.",
                )

    def _fill(self, rows: Array, first: int) -> None:
        """Fill what is missing in one trajectory."""
        for column in range(1, rows.shape[1]):
            gaps = np.isnan(rows[:, column])
            if not gaps.any():
                continue
            known = np.flatnonzero(~gaps)
            if not known.size or gaps[0] or gaps[-1]:
                at = first + (0 if gaps[0] else len(rows) - 1)
                raise DataError(
                    f"{self._where[at]}: {self._labels[(*self._states, *self._inputs)[column - 1]]}"
                    " is missing at an end of the trajectory",
                    "There is nothing before or after to fill it from. Delete the line, or: "
                    "--missing drop",
                )
            rows[gaps, column] = np.interp(rows[gaps, 0], rows[known, 0], rows[known, column])
            self._filled += int(gaps.sum())


def _stretches(of: Iterable[str]) -> Iterator[tuple[int, int]]:
    """Return the first row of each run of equal names, and the row behind its last."""
    first = 0
    for _, group in groupby(of):
        last = first + sum(1 for _ in group)
        yield first, last
        first = last


def _as_number(text: str, *, decimal_comma: bool) -> float | None:
    if decimal_comma and _COMMA.fullmatch(text):
        text = text.replace(",", ".")
    return _number(text)


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None
