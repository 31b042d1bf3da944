"""Trajectories in CSV files: a header, then the time and the states, a line for each sample."""

from __future__ import annotations

import csv
import math
import re
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np

from mdbench.data.columns import LabelledColumn, columns_of, to_number
from mdbench.data.roles import (
    SeveralTimesError,
    TableColumn,
    TimeChoice,
    choose_time,
    counting_columns,
    is_time_name,
)
from mdbench.data.times import (
    TimeReader,
    TimesError,
    in_fitting_unit,
    looks_like_time,
    past_midnight,
    time_reader,
)
from mdbench.data.trajectory import MIN_SAMPLES, Trajectory, refuse_rounded, refuse_sizes
from mdbench.errors import DataError, counted, did_you_mean

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    Array = NDArray[np.float64]

_AS_UTF_8 = 'Save it again as UTF-8: in a spreadsheet as "CSV UTF-8"'
_UTF_16 = (
    "text in UTF-16, and UTF-8 is read",
    f"{_AS_UTF_8}; or iconv -f utf-16 -t utf-8 OLD.csv > NEW.csv",
)
_MARKS = {
    b"\x1f\x8b": ("compressed by gzip", "Unpack it, with a name that ends in .csv: gunzip FILE"),
    b"PK": ("a spreadsheet or an archive (ZIP), and no table of text", "Export the sheet as CSV."),
    b"\xff\xfe": _UTF_16,
    b"\xfe\xff": _UTF_16,
}
"""By their first two bytes: what files are that are taken for tables, and what to do."""
_EXPECTED = (
    "The first line names the columns: the time and the states, separated by commas, semicolons, "
    "tabs or spaces."
)
_SEPARATORS = ",;\t"
_COMMENTS = ("#", "%", "//")
_EXCEL_SEPARATOR = re.compile(r"sep=[,;\t]?")
"""The first line of a spreadsheet's file: what separates its cells."""
_NO_VALUE = {"", "na", "n/a", "nan", "null", "none", "-"}
_TRUTH = {"true", "false", "yes", "no", "on", "off"}
_COMMA = re.compile(r"[+-]?\d*,\d+(?:[eE][+-]?\d+)?")
_GROUPED = re.compile(r"[+-]?[1-9]\d{0,2}[,.]\d{3}")
"""A number that is one below a thousand, or, where the sign groups digits, a thousand and more."""
_TIME_FORMATS = "2026-11-22, 2026-11-22T10:30, 22.11.2026 or 10:30:00"


LARGEST_BYTES = 20_000_000
"""Of a file: its cells take some twenty times as much memory while they are read."""
MOST_COLUMNS = 500
_LONGEST_CELL = 60
"""Characters of a cell in a message."""


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
    time
        The label of the column of times; empty to find it.
    time_format
        The format of dates, as `datetime.strptime` has it; empty to find it.
    """

    missing: Literal["refuse", "drop", "interpolate"] = "refuse"
    inputs: tuple[str, ...] = ()
    trajectory: str = ""
    time: str = ""
    time_format: str = ""


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


class _Row(NamedTuple):
    """The cells of a line, and its number in the file."""

    number: int
    cells: Sequence[str]


def read_csv(
    path: Path,
    how: Reading | None = None,
    taken: Collection[str] = (),
    fewest: int = MIN_SAMPLES,
) -> CsvRecording:
    """Read and check samples without derivatives.

    Cells are separated by commas, semicolons, tabs or spaces, whichever the header has; with other
    than commas, decimals may stand behind one.  Times may be dates or clock times, which become
    days since the first, or minutes or seconds where steps are shorter.  A line of units below the
    header and lines of comments are understood.

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
        open which column is the time; if a cell is missing or is no finite number.  It names the
        line, the column and the text.
    """
    how = how or Reading()
    labels, rows, comma = _table_of(path)
    return _Table(path, labels, rows, how, decimal_comma=comma).recording(taken, fewest)


def _table_of(path: Path, fewest: int = 2) -> tuple[tuple[str, ...], list[_Row], bool]:
    """Return the labels, the lines of values, and whether decimals may stand behind commas."""
    with _open(path) as (lines, separator):
        cells: list[str] = next((cells for cells in lines if cells), [])
        labels = _labels(path, _Row(max(lines.line_num, 1), cells), separator, fewest)
        rows = [_Row(lines.line_num, cells) for cells in lines if any(map(str.strip, cells))]
    if rows and _are_units(rows[0].cells, len(labels)):
        units = [cell.strip().strip("[]()") for cell in rows[0].cells]
        labels = tuple(
            f"{label} [{unit}]"
            if unit not in {"", "-"} and not label.endswith(("]", ")"))
            else label
            for label, unit in zip(labels, units, strict=True)
        )
        rows = rows[1:]
    return labels, rows, separator != ","


def _are_units(cells: Sequence[str], count: int) -> bool:
    """Return whether a line has units: no number, no date, and not only missing values."""
    texts = [cell.strip() for cell in cells]
    known = [text for text in texts if text.lower() not in _NO_VALUE]
    plain = [text for text in known if _as_number(text, decimal_comma=True) is None]
    dates = any(looks_like_time(text) or text[:4].isdigit() for text in known)
    return len(texts) == count and len(known) > 0 and plain == known and not dates


@contextmanager
def _open(path: Path) -> Iterator[tuple[Any, str]]:
    """Open a file for reading by lines, separated by whatever its header has most of.

    Comments are left out; the last one is the header where numbers follow it at once.
    """
    try:
        if (size := path.stat().st_size) > LARGEST_BYTES:
            raise DataError(
                f"{path} has {size / 1e6:.0f} MB, and a CSV may have {LARGEST_BYTES / 1e6:.0f}.",
                "Give fewer samples, or an NPZ with t and u (docs/datasets.md).",
            )
        with path.open(encoding="utf-8-sig", newline="") as file:
            lines = file.readlines()
        is_comment = [line.lstrip().startswith(_COMMENTS) for line in lines]
        if lines and _EXCEL_SEPARATOR.fullmatch(lines[0].strip()):
            is_comment[0] = True
        first = next((k for k, line in enumerate(lines) if line.strip() and not is_comment[k]), 0)
        if first and is_comment[first - 1] and _are_numbers(lines[first]):
            first -= 1
            is_comment[first] = False
            lines[first] = lines[first].lstrip().lstrip("".join(_COMMENTS)).lstrip()
        header = lines[first] if lines else ""
        separator = max(_SEPARATORS, key=header.count)
        kept = ["\n" if is_comment[k] else line for k, line in enumerate(lines)]
        words = len(header.split())
        if (
            words > 1
            and separator not in header
            and len("".join(kept[first + 1 :][:1]).split()) == words
        ):
            yield csv.reader([",".join(line.split()) + "\n" for line in kept], strict=True), " "
        else:
            yield csv.reader(kept, delimiter=separator, strict=True), separator
    except UnicodeDecodeError as error:
        kind, hint = _kind_of_file(path)
        raise DataError(f"{path} cannot be read: it is {kind}.", hint) from error
    except (OSError, csv.Error) as error:
        raise DataError(f"{path} cannot be read: {error}", _EXPECTED) from error


def _kind_of_file(path: Path) -> tuple[str, str]:
    """Return what a file is that is no text in UTF-8, and how to make a table of it."""
    with path.open("rb") as file:
        first = file.read(2)
    if first in _MARKS:
        return _MARKS[first]
    return (
        "no text in UTF-8",
        f"{_AS_UTF_8}; an old Western file with iconv -f latin1 -t utf-8 OLD.csv > NEW.csv",
    )


def _are_numbers(line: str) -> bool:
    cells = re.split(r"[;\t]|,(?!\d)|,|\s+", line.strip())
    return bool(cells) and all(to_number(cell) is not None for cell in cells)


def _labels(path: Path, row: _Row, separator: str, fewest: int = 2) -> tuple[str, ...]:
    where = f"{path}, line {row.number}"
    labels = tuple(cell.strip() for cell in row.cells)
    if len(labels) < fewest:  # usually a time and at least one state
        raise DataError(f"{where}: {separator.join(row.cells)!r} has too few columns", _EXPECTED)
    if len(labels) > MOST_COLUMNS:
        raise DataError(
            f"{where}: {len(labels):,} columns, and a table may have {MOST_COLUMNS:,}.",
            "Give the columns that are states and inputs alone.",
        )
    for place, label in enumerate(labels):
        # What tables are written with often has the number of the row first, without a name.
        if not label and place:
            raise _nameless(where, labels, place)
        if to_number(label) is not None:
            raise DataError(f"{where}: {label!r} is not the name of a column", _EXPECTED)
    return labels


def _nameless(where: str, labels: Sequence[str], place: int) -> DataError:
    return DataError(
        f"{where}: '' is not the name of a column: of {len(labels)} columns number {place + 1} "
        "has none.",
        "Name it; or remove the separator at the end of each line, if it stands for none.",
    )


def read_columns(path: Path, taken: Collection[str] = ()) -> tuple[tuple[str, ...], Array]:
    """Read a table of numbers: the names of its columns, and its rows (n, columns).

    Raises
    ------
    DataError
        As `read_csv`; there may be any number of rows, in any order.
    """
    labels, rows, comma = _table_of(path, fewest=1)
    columns = columns_of(labels, taken)
    values = []
    for row in rows:
        where = f"{path}, line {row.number}"
        _check_count(where, row.cells, labels)
        numbers = [_as_number(cell.strip(), decimal_comma=comma) for cell in row.cells]
        for label, cell, value in zip(labels, row.cells, numbers, strict=True):
            if value is None or not math.isfinite(value):
                raise DataError(f"{where}: {label} is {cell!r}", "Give a finite number.")
        values.append(numbers)
    return tuple(one.name for one in columns), np.array(values, dtype=np.float64).reshape(
        -1, len(columns)
    )


def _check_count(where: str, cells: Sequence[str], labels: Sequence[str]) -> None:
    if len(cells) != len(labels):
        hint = "Give each line a cell for each column of the header."
        if len(cells) == 2 * len(labels):
            hint += " Where commas stand before decimals, separate the cells by semicolons or tabs."
        raise DataError(
            f"{where}: {counted(len(cells), 'cell')}, but the header names "
            f"{counted(len(labels), 'column')}",
            hint,
        )


class _Table:
    """The lines of a file, and what each column of them is."""

    def __init__(
        self,
        path: Path,
        labels: tuple[str, ...],
        rows: Sequence[_Row],
        how: Reading,
        *,
        decimal_comma: bool,
    ) -> None:
        self._path, self._labels, self._rows, self._how = path, labels, rows, how
        self._comma = decimal_comma
        self._columns = columns_of(labels)
        for row in rows:
            _check_count(self._where(row), row.cells, labels)
        self._trajectory = self._place(how.trajectory) if how.trajectory else None
        self._inputs = [self._place(label) for label in how.inputs]
        self._of = [self._name_of(row) for row in rows]
        self._numbers = [self._column(place) for place in range(len(labels))]
        if self._comma:
            self._refuse_grouped()
        self._choice = self._time()
        self._states = [
            place
            for place in range(len(labels))
            if place not in {self._trajectory, self._choice.place, *self._inputs}
            and place not in self._choice.left_out
        ]
        if not self._states:
            raise DataError(f"{path}: no column is left for the states.", _EXPECTED)
        for place in self._states:
            if not labels[place]:
                raise _nameless(f"{path}, line 1", labels, place)

    def _where(self, row: _Row) -> str:
        return f"{self._path}, line {row.number}"

    def _place(self, label: str) -> int:
        known = [one.label for one in self._columns]
        for names in (list(self._labels), known, [one.name for one in self._columns]):
            if label in names:
                return names.index(label)
        raise DataError(f"{self._path} has no column {label!r}.", did_you_mean(label, known))

    def _name_of(self, row: _Row) -> str:
        """Return the name of the trajectory that a line is of."""
        if self._trajectory is None:
            return ""
        if not (name := row.cells[self._trajectory].strip()):
            label = self._labels[self._trajectory]
            raise DataError(f"{self._where(row)}: {label} is empty", "Name the trajectory.")
        return name

    def _column(self, place: int) -> Array:
        """Return the numbers of a column, NaN where there is none."""
        found = [
            _as_number(row.cells[place].strip(), decimal_comma=self._comma) for row in self._rows
        ]
        return np.array([math.nan if one is None else one for one in found], dtype=np.float64)

    def _refuse_grouped(self) -> None:
        """Refuse columns in which a comma or a point may stand between thousands.

        It may where each such number has three digits behind it, and a number without any, or with
        the other sign, shows that decimals are written otherwise.
        """
        cells = [[row.cells[k].strip() for row in self._rows] for k in range(len(self._labels))]
        numbers = [
            [cell for cell, value in zip(column, self._numbers[k], strict=True) if value == value]  # noqa: PLR0124 - NaN
            for k, column in enumerate(cells)
        ]
        for sign, other in (",.", ".,"):
            elsewhere = any(other in cell for column in numbers for cell in column)
            if sign == "." and not elsewhere:
                continue  # as English has it
            for place, column in enumerate(numbers):
                having = [cell for cell in column if sign in cell]
                if not having or not all(map(_GROUPED.fullmatch, having)):
                    continue
                if elsewhere or len(having) < len(column):
                    row = self._rows[cells[place].index(having[0])]
                    raise DataError(
                        f"{self._where(row)}: {self._labels[place]} is {having[0]!r}, which may "
                        f"be {having[0].replace(sign, '')} or {having[0].replace(sign, '.')}: "
                        "other numbers of the file are written in another way.",
                        "Write numbers without separators of thousands, and decimals all by one "
                        "sign and to as many digits.",
                    )

    def _time(self) -> TimeChoice:
        used = {place for place in (self._trajectory, *self._inputs) if place is not None}
        possible = [place for place in range(len(self._labels)) if place not in used]
        columns = [self._known(place) for place in range(len(self._labels))]
        if self._how.time:
            place = self._place(self._how.time)
            out = counting_columns(columns, [each for each in possible if each != place])
            choice = TimeChoice(place, "by --time", out)
        elif named := [place for place in used if is_time_name(columns[place])]:
            choice = TimeChoice(named[0], "by its name")
        elif not possible:
            raise DataError(f"{self._path}: no column is left for the time.", _EXPECTED)
        else:
            try:
                choice = choose_time(columns, possible, list(_stretches(self._of)))
            except SeveralTimesError as error:
                raise DataError(
                    f"{self._path}: {error}.", f"Say which is: --time {_quoted(error.labels[0])}"
                ) from None
        if choice.place in used:
            raise DataError(
                f"{self._path}: {self._labels[choice.place]!r} is the time.",
                "Name another column for what it is to be, or for the time: --time COLUMN",
            )
        return choice

    def _known(self, place: int) -> TableColumn:
        one, values = self._columns[place], self._numbers[place]
        texts = [row.cells[place].strip() for row in self._rows]
        dates = bool(texts) and all(map(looks_like_time, texts))
        if dates or self._how.time_format:
            try:
                reader = time_reader(texts, self._number, self._how.time_format)
                seconds = np.array([reader.read(text) for text in texts])
            except ValueError:
                seconds = np.full(len(texts), math.nan)
                dates = dates and not self._how.time_format
            else:
                dates = True
        if dates:
            if not np.isfinite(seconds).all():
                return TableColumn(one.label, one.unit, None, dates)
            values = past_midnight(seconds) if reader.kind == "clock" else seconds
        label = "" if not self._labels[place] else one.label
        known = values if np.isfinite(values).all() else None
        return TableColumn(label, one.unit, known, dates)

    def _number(self, text: str) -> float | None:
        return _as_number(text, decimal_comma=self._comma)

    def recording(self, taken: Collection[str], fewest: int) -> CsvRecording:
        """Put together what was read."""
        order = (*self._states, *self._inputs)
        columns = columns_of([self._labels[place] for place in order], taken)
        label = self._labels[self._choice.place] or "time"
        [time] = columns_of([label])
        t, unit = self._times()
        self._refuse_falling(t)
        rows = np.column_stack([t, *(self._values(place) for place in order)])
        kept, filled = np.arange(len(rows)), 0
        if self._how.missing == "drop":
            kept = np.flatnonzero(~np.isnan(rows).any(axis=1))
            filled = len(rows) - len(kept)
        rows, of = rows[kept], [self._of[k] for k in kept]
        starts = [first for first, _ in _stretches(of)]
        self._refuse_twice([of[first] for first in starts], [int(kept[first]) for first in starts])
        for first, last in _stretches(of):
            filled += self._fill(rows[first:last], [int(k) for k in kept[first:last]])
        if unit:
            rows[:, 0] -= rows[0, 0] if len(rows) else 0.0
            time = LabelledColumn(time.label, time.name, unit)
        d = len(self._states)
        trajectory = Trajectory(
            t=rows[:, 0].copy(),
            u=rows[:, 1 : 1 + d].copy(),
            inputs=rows[:, 1 + d :].copy() if self._inputs else None,
            starts=tuple(starts) if len(starts) > 1 else (0,),
        )
        for column, values in zip(columns, rows[:, 1:].T, strict=True):
            refuse_sizes(self._path, "u", values, column.label)
        trajectory.check(self._path, fewest)
        notes = self._notes(time, label, columns)
        if filled:
            how = "lines were left out" if self._how.missing == "drop" else "cells were filled"
            share = filled / max(1, len(self._rows) * (1 if "lines" in how else len(order)))
            notes += (f"{filled} {how} for want of values, {share:.0%} of all",)
        return CsvRecording(time, columns[:d], columns[d:], trajectory, filled, notes)

    def _notes(
        self, time: LabelledColumn, label: str, columns: Sequence[LabelledColumn]
    ) -> tuple[str, ...]:
        """Return which column is the time and why, and which were left out or have one name."""
        in_unit = f", in {time.unit}" if time.unit else ""
        notes = [f"time: {label}, {self._choice.why}{in_unit}"]
        if out := [self._labels[place] or "the first column" for place in self._choice.left_out]:
            notes.append(f"left out, as it only counts the rows: {', '.join(out)}")
        known = [self._known(place) for place in range(len(self._labels))]
        for place in self._states:
            values = known[place].values
            if values is not None and len(values) > 1 and bool((np.diff(values) == 1).all()):
                notes.append(
                    f"{self._labels[place]}: one more in each row; where it only counts the rows, "
                    "delete the column"
                )
        labels = [self._labels[place] for place in (*self._states, *self._inputs)]
        for twice in dict.fromkeys(one for one in labels if labels.count(one) > 1):
            names = [one.name for one, own in zip(columns, labels, strict=True) if own == twice]
            notes.append(f"{len(names)} columns are called {twice}; here: {', '.join(names)}")
        return tuple(notes)

    def _times(self) -> tuple[Array, str]:
        """Return the times, and their unit where they are dates or clock times."""
        place = self._choice.place
        label = self._columns[place].label
        texts = [row.cells[place] for row in self._rows]
        try:
            reader = time_reader(texts, self._number, self._how.time_format)
        except TimesError as error:
            raise DataError(f"{self._path}: {label} has dates, and {error}.", error.hint) from None
        if reader.kind == "number" and np.isfinite(self._numbers[place]).all():
            return self._numbers[place].copy(), ""
        t = np.array([self._read(reader, row, label) for row in self._rows], dtype=np.float64)
        if reader.kind == "number":
            return t, ""
        if reader.kind == "clock":
            for first, last in _stretches(self._of):
                t[first:last] = past_midnight(t[first:last])
        return in_fitting_unit(t)

    def _read(self, reader: TimeReader, row: _Row, label: str) -> float:
        cell = row.cells[self._choice.place]
        try:
            return reader.read(cell.strip())
        except ValueError as error:
            if self._how.time_format:
                raise DataError(
                    f"{self._where(row)}: {label} is {cell!r}: {error}",
                    "--time-format has the signs of Python's strptime: %d day, %m month, %Y year, "
                    "%H:%M:%S the time of day.",
                ) from None
            if reader.kind != "number" and looks_like_time(cell):
                kind = "date" if reader.kind == "date" else "clock time"
                raise DataError(
                    f"{self._where(row)}: {cell.strip()!r} is no {kind}: {error}",
                    f"Write times as {_TIME_FORMATS}; for others: --time-format",
                ) from None
            kind = {
                "date": "a date, as those before are",
                "clock": "a clock time, as those before are",
                "number": "a finite number, or a date",
            }[reader.kind]
            raise DataError(
                f"{self._where(row)}: {label} is {cell!r}",
                f"Times have to be {kind} ({_TIME_FORMATS}); for others: --time-format",
            ) from None

    def _refuse_falling(self, t: Array) -> None:
        for first, last in _stretches(self._of):
            steps = np.diff(t[first:last])
            if (steps > 0).all():
                continue
            refuse_rounded(self._path, self._columns[self._choice.place].label, t[first:last])
            at = first + int(np.argmin(steps > 0)) + 1
            place = self._choice.place
            hint = "Times have to increase within a trajectory."
            if self._trajectory is None:
                column = self._changing_at(np.flatnonzero(steps <= 0) + 1)
                hint = "Times have to increase. Where the file holds several trajectories, name "
                hint += f"the column that separates them: --trajectory {column or 'COLUMN'}. "
                hint += "Where the time is another column: --time COLUMN"
            row = self._rows[at]
            now = row.cells[place].strip()
            before = self._rows[at - 1].cells[place].strip()
            raise DataError(
                f"{self._where(row)}: {self._columns[place].label} is {now}, after {before}", hint
            )

    def _changing_at(self, places: NDArray[np.intp]) -> str:
        """Return the label of the one column that changes at these rows alone; empty if none."""
        found = []
        for k, label in enumerate(self._labels):
            cells = np.array([row.cells[k].strip() for row in self._rows])
            if np.array_equal(np.flatnonzero(cells[1:] != cells[:-1]) + 1, places):
                found.append(_quoted(label))
        return found[0] if len(found) == 1 else ""

    def _values(self, place: int) -> Array:
        """Return the values of a column, NaN where one is missing and may be."""
        found = self._numbers[place]
        for k in np.flatnonzero(~np.isfinite(found)):
            self._check_missing(self._rows[int(k)], place)
        return found

    def _check_missing(self, row: _Row, place: int) -> None:
        """Refuse a cell that is no finite number, unless it is empty and may be."""
        cell = row.cells[place]
        missing = cell.strip().lower() in _NO_VALUE
        if missing and self._how.missing != "refuse":
            return
        hint = "Every cell has to be a finite number"
        if missing:
            hint += ". To do without: --missing drop (leaves the line out) or "
            hint += "--missing interpolate (fills it from those before and after)."
        elif cell.strip().lower() in _TRUTH:
            hint += ". Write 1 for true and 0 for false"
        elif (
            not any(letter.isdigit() for letter in cell[:1])
            and not np.isfinite(self._numbers[place]).any()
        ):
            hint += f". Where it names trajectories: --trajectory {_quoted(self._labels[place])}"
        elif looks_like_time(cell):
            hint += ". Where a date and a time of day are in two columns, put them into one, as "
            hint += "2026-11-22T10:30:00; a second column of times delete."
        elif self._comma:
            hint += ", with a point or a comma for its decimals."
        else:
            hint += ", with a point for its decimals (or a comma, in columns separated by ;)."
        raise DataError(f"{self._where(row)}: {self._labels[place]} is {_shown(cell)}", hint)

    def _refuse_twice(self, names: Sequence[str], at: Sequence[int]) -> None:
        for place, name in enumerate(names):
            if name in names[:place]:
                raise DataError(
                    f"{self._where(self._rows[at[place]])}: the trajectory {name!r} begins again.",
                    "Put the lines of a trajectory one below the other.",
                )

    def _fill(self, rows: Array, places: Sequence[int]) -> int:
        """Fill what is missing in one trajectory; return how many cells that are."""
        filled = 0
        for column in range(1, rows.shape[1]):
            gaps = np.isnan(rows[:, column])
            if not gaps.any():
                continue
            known = np.flatnonzero(~gaps)
            if not known.size or gaps[0] or gaps[-1]:
                at = self._rows[places[0] if gaps[0] else places[-1]]
                raise DataError(
                    f"{self._where(at)}: {self._labels[(*self._states, *self._inputs)[column - 1]]}"
                    " is missing at an end of the trajectory",
                    "There is nothing before or after to fill it from. Delete the line, or: "
                    "--missing drop",
                )
            rows[gaps, column] = np.interp(rows[gaps, 0], rows[known, 0], rows[known, column])
            filled += int(gaps.sum())
        return filled


def _shown(cell: str) -> str:
    return repr(cell) if len(cell) <= _LONGEST_CELL else f"{cell[:_LONGEST_CELL]!r}..."


def _quoted(label: str) -> str:
    return label if re.fullmatch(r"[\w.-]+", label) else repr(label)


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
    return to_number(text)
