"""Trajectories in tables: a header, then the time and the states, a line for each sample."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from itertools import groupby
from typing import TYPE_CHECKING, Literal

import numpy as np

from mdbench.data.cells import Cells, NoValues, Row, codes_in, is_limit, listed_codes, number_of
from mdbench.data.columns import LabelledColumn, columns_of
from mdbench.data.layouts import (
    FallingTimes,
    columns_to_join,
    join_times,
    part_of,
    pivot,
    quoted,
)
from mdbench.data.readers import read_cells
from mdbench.data.roles import (
    EVEN,
    SeveralTimesError,
    TableColumn,
    TimeChoice,
    choose_time,
    counting_columns,
    is_time_name,
    rises,
)
from mdbench.data.text_tables import nameless
from mdbench.data.times import (
    TimeReader,
    TimesError,
    common_format,
    in_fitting_unit,
    looks_like_time,
    past_midnight,
    time_reader,
)
from mdbench.data.trajectory import (
    MIN_SAMPLES,
    Trajectory,
    refuse_rounded,
    refuse_sizes,
)
from mdbench.errors import DataError, did_you_mean

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    Array = NDArray[np.float64]

_TRUTH = {"true", "false", "yes", "no", "on", "off"}
_DIGIT = re.compile(r"[+-]?[.,]?\d")
_GROUPED = re.compile(r"[+-]?[1-9]\d{0,2}[,.]\d{3}")
"""A number that is one below a thousand, or, where the sign groups digits, a thousand and more."""
_TIME_FORMATS = "2026-11-22, 2026-11-22T10:30, 22.11.2026 or 10:30:00"


_FEW_SIGNS, _LINES_OF_A_NAME = 3, 3
_LONGEST_CELL, _LISTED = 60, 5
"""Characters of a cell in a message, and cells and columns that one lists."""
_SAME = 1e-6
"""A column whose steps are a multiple of those of the time, but for this share, is another time."""


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
        The format of dates, as `time_reader` has it; empty to find it.
    states
        Labels of the columns that are states; none for all that have no other role.
    ignore
        Labels of columns that are left out.
    skip
        Lines before the header.
    step
        The step of rows that have no column of times, with its unit behind a blank; empty for none.
    na_values
        Texts and numbers that stand for no value; ``none`` where numbers that look so are values.
    time_zone
        The time zone of dates; empty where the clock was never put back.
    pivot
        The label of the column that names the quantities of a long table; empty for a wide one.
    repeats
        Whether the mean is taken of lines of one time, or they are refused.
    why
        Why the column of times is it, where it was made of others.
    """

    missing: Literal["refuse", "drop", "interpolate"] = "refuse"
    inputs: tuple[str, ...] = ()
    trajectory: str = ""
    time: str = ""
    time_format: str = ""
    states: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    skip: int = 0
    step: str = ""
    na_values: tuple[str, ...] = ()
    time_zone: str = ""
    pivot: str = ""
    repeats: Literal["refuse", "average"] = "refuse"
    why: str = ""


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
    cells, how = _arranged(path, cells, how)
    return _Table(path, cells, how).recording(taken, fewest)


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


def _place_of(path: Path, labels: Sequence[str], label: str) -> int:
    """Return the place of a column by its title, its label without a unit, or its name."""
    columns = columns_of(labels)
    known = [one.label for one in columns]
    for names in (list(labels), known, [one.name for one in columns]):
        if label in names:
            return names.index(label)
    raise DataError(f"{path} has no column {label!r}.", did_you_mean(label, known))


def _places_of(path: Path, labels: Sequence[str], label: str) -> list[int]:
    """Return the places of columns by a label, or by a pattern such as ``qc_*``."""
    if "*" in label and label not in labels:
        columns = columns_of(labels)
        places = [k for k, one in enumerate(columns) if fnmatchcase(one.label, label)]
        if not places:
            raise DataError(f"{path} has no column like {label!r}.", did_you_mean(label, labels))
        return places
    return [_place_of(path, labels, label)]


def _arranged(path: Path, cells: Cells, how: Reading) -> tuple[Cells, Reading]:
    """Return a table with a column of times and one for each quantity, as options have it."""
    later = []
    out: set[int] = set()
    for label in how.ignore:
        try:
            out |= set(_places_of(path, cells.labels, label))
        except DataError:
            if not how.pivot:
                raise
            later.append(label)  # the name of a quantity of a long table
    cells = cells.without(out)
    if how.step:
        cells, how = _with_steps(path, cells, how)
    parts = [part.strip() for part in how.time.split(",")]
    if how.time not in cells.labels and len(parts) > 1:
        cells, how = _with_joined_time(path, cells, how, parts)
    if how.pivot:
        cells, how = _pivoted(path, cells, how)
        more = {k for label in later for k in _places_of(path, cells.labels, label)}
        cells = cells.without(more)
    return cells, how


def _free_label(labels: Sequence[str]) -> str:
    return next(name for name in ("time", "time_", "time__") if name not in labels)


def _with_steps(path: Path, cells: Cells, how: Reading) -> tuple[Cells, Reading]:
    """Put in a column of times at equal steps."""
    columns = columns_of(cells.labels)
    for one in columns:
        if is_time_name(TableColumn(one.label, one.unit, None, False)) and one.label not in {
            *how.states,
            *how.inputs,
        }:
            raise DataError(
                f"{path} has the column {one.label!r}, which is the time by its name.",
                f"Leave out --step; or leave out the column: --ignore {quoted(one.label)}",
            )
    size, _, unit = how.step.partition(" ")
    of = cells.column(_place_of(path, cells.labels, how.trajectory)) if how.trajectory else None
    counts: dict[str, int] = {}
    texts = []
    for k in range(len(cells.rows)):
        name = of[k] if of else ""
        counts[name] = counts.get(name, -1) + 1
        text = repr(float(size) * counts[name])
        texts.append(text.replace(".", ",") if cells.decimal_comma else text)
    label = _free_label(cells.labels)
    title = f"{label} [{unit.strip()}]" if unit.strip() else label
    return cells.with_column(0, title, texts), replace(
        how, time=title, time_format="", why="in equal steps, by --step"
    )


def _with_joined_time(
    path: Path, cells: Cells, how: Reading, parts: Sequence[str]
) -> tuple[Cells, Reading]:
    """Put columns that are the time together into one."""
    places = [_place_of(path, cells.labels, part) for part in parts]

    def number(text: str) -> float | None:
        return number_of(text, decimal_comma=cells.decimal_comma)

    labels = [columns_of(cells.labels)[place].label for place in places]
    try:
        texts = join_times(list(zip(labels, map(cells.column, places), strict=True)), number)
    except ValueError as error:
        raise DataError(
            f"{path}: --time {','.join(labels)}: {error}.",
            "Name columns that are parts of one time, such as year, month and day, or a date and a "
            "time of day.",
        ) from None
    rest = cells.without(places)
    label = _free_label(rest.labels)
    joined = " and ".join(filter(None, [", ".join(labels[:-1]), labels[-1]]))
    return rest.with_column(0, label, texts), replace(
        how, time=label, why=f"{joined} together, by --time"
    )


def _pivoted(path: Path, cells: Cells, how: Reading) -> tuple[Cells, Reading]:
    """Make a column of each quantity of a long table."""
    names = _place_of(path, cells.labels, how.pivot)
    keys = [_place_of(path, cells.labels, how.trajectory)] if how.trajectory else []
    if (count := len(set(cells.column(names)))) * _LINES_OF_A_NAME > max(len(cells.rows), 1):
        raise DataError(
            f"{path}: {how.pivot} has {count} different texts in {len(cells.rows)} lines, and so "
            "is no column of the names of quantities.",
            "--pivot is for tables with a line for each value, and names the column with the name "
            "of its quantity.",
        )
    columns = [
        TableColumn(one.label, one.unit, None, all(map(looks_like_time, cells.column(place))))
        for place, one in enumerate(columns_of(cells.labels))
    ]
    possible = [k for k in range(len(columns)) if k not in {names, *keys}]
    if how.time:
        time = _place_of(path, cells.labels, how.time)
    else:
        named = [k for k in possible if is_time_name(columns[k])]
        named = named or [k for k in possible if columns[k].dates or part_of(columns[k].label)]
        if len(named) != 1:
            raise DataError(
                f"{path}: which column is the time is not certain.", "Say which: --time COLUMN"
            )
        [time] = named
    values = [k for k in possible if k != time]
    if len(values) != 1:
        listed = ", ".join(cells.labels[k] for k in values)
        raise DataError(
            f"{path}: besides the time and {how.pivot}, there are {len(values)} columns"
            f"{': ' * bool(values)}{listed}; --pivot needs one, of the values.",
            "Leave out the others: --ignore "
            + ",".join(quoted(cells.labels[k]) for k in values[1:] or [0]),
        )
    try:
        wide = pivot(cells, time, names, values[0], keys, repeats=how.repeats == "average")
    except ValueError as error:
        raise DataError(
            f"{path}, {error}.",
            "Where these repeat a measurement, their mean is taken by: --repeats average. Where "
            "they are of several experiments, name the column that says which: --trajectory COLUMN",
        ) from None
    return wide, replace(how, time=cells.labels[time])


class _Table:
    """The lines of a file, and what each column of them is."""

    def __init__(self, path: Path, cells: Cells, how: Reading) -> None:
        self._path, self._how, self._comma = path, how, cells.decimal_comma
        self._labels = labels = cells.labels
        self._columns = columns_of(labels)
        self._no_values = NoValues(how.na_values, decimal_comma=self._comma)
        self._trajectory = self._place(how.trajectory) if how.trajectory else None
        self._inputs = [self._place(label) for label in how.inputs]
        self._cells, self._again = self._gathered(cells)
        self._rows = self._cells.rows
        self._of = [self._name_of(row) for row in self._rows]
        self._numbers = [self._column(place) for place in range(len(labels))]
        self._form = ""
        self._choice = self._time()
        if (count := len(set(self._of))) > 1 and 2 * count > len(self._rows):
            raise DataError(
                f"{path}: {how.trajectory} has {count} different texts in {len(self._rows)} lines, "
                "and separates no trajectories.",
                "--trajectory names the column that is the same throughout each experiment.",
            )
        self._out: list[str] = []
        self._states = self._chosen_states()
        if not self._states:
            raise DataError(
                f"{path}: no column is left for the states.",
                "A table has a time and at least one state. Where the rows are equal steps apart, "
                "and no column is the time: --step 0.5 (the step)",
            )
        for place in self._states:
            if not labels[place]:
                raise nameless(f"{path}, line 1", labels, place)
        if self._comma:
            self._refuse_grouped()

    def _where(self, row: Row) -> str:
        return f"{self._path}, line {row.number}"

    def _place(self, label: str) -> int:
        return _place_of(self._path, self._labels, label)

    def _gathered(self, cells: Cells) -> tuple[Cells, str]:
        """Put the lines of each trajectory together; return the first that was not."""
        if self._trajectory is None:
            return cells, ""
        names = cells.column(self._trajectory)
        order = {name: place for place, name in enumerate(dict.fromkeys(names))}
        rank = [order[name] for name in names]
        again = next((names[k + 1] for k in range(len(rank) - 1) if rank[k + 1] < rank[k]), "")
        if not again:
            return cells, ""
        lines = sorted(range(len(rank)), key=rank.__getitem__)
        return Cells(cells.labels, [cells.rows[k] for k in lines], cells.decimal_comma), again

    def _chosen_states(self) -> list[int]:
        """Return the places of the states: those that are named, or all without another role."""
        used = {self._trajectory, self._choice.place, *self._inputs}
        possible = [
            place
            for place in range(len(self._labels))
            if place not in used and place not in self._choice.left_out
        ]
        if not self._how.states:
            return possible
        states = [
            place
            for label in self._how.states
            for place in _places_of(self._path, self._labels, label)
            if "*" not in label or place in possible
        ]
        for place in states:
            if place in used:
                raise DataError(
                    f"{self._path}: {self._labels[place]!r} is named as a state, and is the time, "
                    "an input or the column of trajectories.",
                    "Give each column one role.",
                )
        self._out = [self._labels[place] for place in possible if place not in states]
        return list(dict.fromkeys(states))

    def _name_of(self, row: Row) -> str:
        """Return the name of the trajectory that a line is of."""
        if self._trajectory is None:
            return ""
        if not (name := row.cells[self._trajectory].strip()):
            label = self._labels[self._trajectory]
            raise DataError(f"{self._where(row)}: {label} is empty", "Name the trajectory.")
        return name

    def _number(self, text: str) -> float | None:
        return number_of(text.strip(), decimal_comma=self._comma)

    def _column(self, place: int) -> Array:
        """Return the numbers of a column, NaN where there is none."""
        found = [self._number(text) for text in self._cells.column(place)]
        return np.array(
            [math.nan if one is None or one in self._no_values.numbers else one for one in found],
            dtype=np.float64,
        )

    def _refuse_grouped(self) -> None:
        """Refuse columns in which a comma or a point may stand between thousands.

        It may where each such number has three digits behind it, and a number without any, or with
        the other sign, shows that decimals are written otherwise.
        """
        used = [self._choice.place, *self._states, *self._inputs]
        cells = {place: self._cells.column(place) for place in used}
        numbers = {
            place: [
                cell
                for cell, value in zip(column, self._numbers[place], strict=True)
                if not math.isnan(value)
            ]
            for place, column in cells.items()
        }
        for sign, other in (",.", ".,"):
            elsewhere = any(other in cell for column in numbers.values() for cell in column)
            if sign == "." and not elsewhere:
                continue  # as English has it
            for place, column in numbers.items():
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
            choice = TimeChoice(place, self._how.why or "by --time", out)
        elif named := [place for place in used if is_time_name(columns[place])]:
            choice = TimeChoice(named[0], "by its name")
        elif not possible:
            raise DataError(
                f"{self._path}: no column is left for the time.",
                "Where the rows are equal steps apart: --step 0.5 (the step).",
            )
        else:
            self._refuse_parts(columns, possible)
            try:
                choice = choose_time(columns, possible, list(_stretches(self._of)))
            except SeveralTimesError as error:
                raise DataError(
                    f"{self._path}: {error}.", f"Say which is: --time {quoted(error.labels[0])}"
                ) from None
        if choice.place in used:
            raise DataError(
                f"{self._path}: {self._labels[choice.place]!r} is the time.",
                "Name another column for what it is to be, or for the time: --time COLUMN",
            )
        return choice

    def _refuse_parts(self, columns: Sequence[TableColumn], possible: Sequence[int]) -> None:
        """Refuse a table whose time stands in several columns."""
        stretches = list(_stretches(self._of))
        numeric = {k for k in possible if np.isfinite(self._numbers[k]).all()}
        parts = columns_to_join(self._cells, possible, numeric, stretches, self._number)
        rising = {place for place in possible if rises(columns[place].values, stretches)}
        if not parts or any(is_time_name(columns[place]) for place in rising - set(parts)):
            return
        # A time of day rises by itself, with a day more past each midnight.
        if any(place in rising and not self._is_clock(place) for place in parts):
            return
        labels = [self._columns[place].label for place in parts]
        raise DataError(
            f"{self._path}: {', '.join(labels[:-1])} and {labels[-1]} are the time together.",
            f"Name them as one time: --time {','.join(map(quoted, labels))}",
        )

    def _is_clock(self, place: int) -> bool:
        label = self._columns[place].label
        return self._reader(self._cells.column(place), label).kind == "clock"

    def _reader(self, texts: Iterable[str], label: str) -> TimeReader:
        return time_reader(
            (text for text in texts if text not in self._no_values),
            self._number,
            self._how.time_format,
            zone=self._how.time_zone,
            label=label,
        )

    def _known(self, place: int) -> TableColumn:
        one, values = self._columns[place], self._numbers[place]
        texts = self._cells.column(place)
        dates = bool(texts) and all(map(looks_like_time, texts))
        if dates or self._how.time_format:
            try:
                reader = self._reader(texts, one.label)
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

    def recording(self, taken: Collection[str], fewest: int) -> CsvRecording:
        """Put together what was read."""
        order = (*self._states, *self._inputs)
        columns = columns_of([self._labels[place] for place in order], taken)
        label = self._columns[self._choice.place].label or "time"
        t, unit = self._times()
        rows = np.column_stack([t, *(self._numbers[place] for place in order)])
        rows, lines, said = self._in_order(rows)
        drop = self._how.missing == "drop"
        if not drop:
            self._refuse_falling(rows[:, 0], lines)
        # A mean of those that are known is enough.
        averaged = self._how.repeats == "average" and bool(np.isfinite(rows).all())
        self._refuse_cells(order, may_be_missing=averaged or self._how.missing != "refuse")
        self._refuse_codes(order)
        filled = 0
        if drop:
            whole = ~np.isnan(rows).any(axis=1)
            filled = int(np.sum(~whole))
            rows, lines = rows[whole], lines[whole]
            self._refuse_falling(rows[:, 0], lines)
        of = [self._of[k] for k in lines]
        for first, last in _stretches(of):
            filled += self._fill(rows[first:last], lines[first:last].tolist())
        starts = [first for first, _ in _stretches(of)]
        own = self._columns[self._choice.place]
        time = LabelledColumn(label, "time", unit or own.unit)
        if unit:
            rows[:, 0] -= rows[0, 0] if len(rows) else 0.0
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
        notes = (*self._notes(time, label, columns), *said, *self._notes_of_states(trajectory))
        if filled:
            how = "lines were left out" if self._how.missing == "drop" else "cells were filled"
            share = filled / max(1, len(self._rows) * (1 if "lines" in how else len(order)))
            notes += (f"{filled} {how} for want of values, {share:.0%} of all",)
        return CsvRecording(time, columns[:d], columns[d:], trajectory, filled, notes)

    def _in_order(self, rows: Array) -> tuple[Array, NDArray[np.intp], tuple[str, ...]]:
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
        if self._how.repeats == "average":
            means, firsts = [], []
            for first, last in _stretches(self._of):
                part, number = _averaged(rows[first:last])
                means.append(part)
                firsts.append(first + number)
            rows, lines = np.concatenate(means or [rows]), np.concatenate(firsts or [lines])
            return rows, lines, (f"means of {len(self._rows)} lines at {len(rows)} times",)
        if self._how.pivot:
            for first, last in _stretches(self._of):
                lines[first:last] = first + np.argsort(rows[first:last, 0], kind="stable")
            return rows[lines], lines, ()
        steps = [np.diff(rows[first:last, 0]) for first, last in _stretches(self._of)]
        if not rows.size or not all(len(each) and (each < 0).all() for each in steps):
            return rows, lines, ()
        if not self._is_certain and not all(
            np.ptp(each) <= EVEN * np.abs(np.median(each)) for each in steps
        ):
            return rows, lines, ()
        for first, last in _stretches(self._of):
            lines[first:last] = lines[first:last][::-1]
        return rows[lines], lines, ("the newest line is the first: they were turned round",)

    @property
    def _is_certain(self) -> bool:
        """Whether the time is known by its name or type, or was named."""
        return "no other rises" not in self._choice.why

    def _notes(
        self, time: LabelledColumn, label: str, columns: Sequence[LabelledColumn]
    ) -> tuple[str, ...]:
        """Return which column is the time and why, and which were left out or have one name."""
        in_unit = f", in {time.unit}" if time.unit else ""
        form = f", read as {self._form}" if self._form else ""
        notes = [f"time: {label}, {self._choice.why}{form}{in_unit}"]
        if out := [self._labels[place] or "the first column" for place in self._choice.left_out]:
            notes.append(f"left out, as it only counts the rows: {', '.join(out)}")
        if self._out:
            notes.append(f"left out, as --states names others: {', '.join(self._out)}")
        if self._again:
            notes.append("the lines of each trajectory were put together")
        labels = [self._labels[place] for place in (*self._states, *self._inputs)]
        for twice in dict.fromkeys(one for one in labels if labels.count(one) > 1):
            names = [one.name for one, own in zip(columns, labels, strict=True) if own == twice]
            notes.append(f"{len(names)} columns are called {twice}; here: {', '.join(names)}")
        return tuple(notes)

    def _notes_of_states(self, series: Trajectory) -> list[str]:
        """Name columns that can be no states of a law of rates: counters, flags, covariates."""
        notes = []
        for place, u in zip(self._states, series.u.T, strict=True):
            label, ignore = self._labels[place], f"--ignore {quoted(self._columns[place].label)}"
            pieces = np.split(u, series.starts[1:])
            values = np.unique(u)
            steps = np.concatenate([np.diff(each) for each in pieces])
            times = np.concatenate([np.diff(each.t) for each in series.pieces])
            if not len(steps):
                continue
            if (steps == 1).all():
                notes.append(
                    f"{label}: one more in each row; where it only counts the rows: {ignore}"
                )
            elif _are_alike(steps / (steps[0] or 1.0), times / times[0]):
                notes.append(f"{label}: rises as the time does; where it is another time: {ignore}")
            elif len(pieces) > 1 and not steps.any() and len(values) > 1:
                notes.append(
                    f"{label}: the same throughout each trajectory, and so no state: {ignore}, or "
                    f"--inputs {quoted(self._columns[place].label)}"
                )
            elif len(values) == 2:  # noqa: PLR2004 - a switch or a flag
                notes.append(
                    f"{label}: has the values {values[0]:g} and {values[1]:g} alone, and so no "
                    f"rate: {ignore}, or --inputs {quoted(self._columns[place].label)}"
                )
            elif part_of(self._columns[place].label) and len(label) > 2:  # noqa: PLR2004 - mm
                notes.append(f"{label}: named as a part of a date; where it is one: {ignore}")
        return notes

    def _times(self) -> tuple[Array, str]:
        """Return the times, and their unit where they are dates or clock times."""
        place = self._choice.place
        label = self._columns[place].label
        texts = self._cells.column(place)
        try:
            reader = self._reader(texts, label)
        except TimesError as error:
            raise DataError(f"{self._path}: {label} has dates, and {error}.", error.hint) from None
        except ValueError as error:
            raise DataError(
                f"{self._path}: --time-zone: {error}.", "Give a name such as Europe/Berlin."
            ) from None
        self._form = reader.form
        if self._how.time_zone and reader.kind != "date":
            raise DataError(
                f"{self._path}: {label} has no dates, and --time-zone is of these.",
                "Leave out --time-zone, or name the column of dates: --time COLUMN",
            )
        if reader.kind == "number" and np.isfinite(self._numbers[place]).all():
            return self._numbers[place].copy(), ""
        t = np.array([self._read(reader, row, label) for row in self._rows], dtype=np.float64)
        if reader.kind == "number":
            return t, ""
        if reader.kind == "calendar":
            return t, reader.unit
        if reader.kind == "clock":
            for first, last in _stretches(self._of):
                back = len(t[first:last]) > 1 and np.median(np.diff(t[first:last])) < 0
                turn = slice(None, None, -1 if back else 1)  # newest first
                t[first:last] = past_midnight(t[first:last][turn])[turn]
        return in_fitting_unit(t)

    def _read(self, reader: TimeReader, row: Row, label: str) -> float:
        cell = row.cells[self._choice.place]
        if self._how.missing == "drop" and cell in self._no_values:
            return math.nan
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
            if cell in self._no_values:
                raise DataError(
                    f"{self._where(row)}: {label} is {cell!r}",
                    "Every line has to have a time. To leave such lines out: --missing drop",
                ) from None
            if hint := self._written_otherwise():
                raise DataError(f"{self._where(row)}: {label} is {cell!r}", hint) from None
            kind = {
                "date": "a date, as those before are",
                "clock": "a clock time, as those before are",
                "number": "a finite number, or a date",
            }[reader.kind]
            raise DataError(
                f"{self._where(row)}: {label} is {cell!r}",
                f"Times have to be {kind} ({_TIME_FORMATS}); for others: --time-format",
            ) from None

    def _written_otherwise(self) -> str:
        """Return how times are written that are neither numbers nor dates of the usual forms."""
        texts = self._cells.column(self._choice.place)
        if form := common_format(texts):
            return f"Dates that are written so are read by: --time-format {form!r}"
        units = {text.lstrip("+-0123456789.,eE ") for text in texts}
        if len(units) == 1 and (unit := units.pop()).isalpha() and all(map(_DIGIT.match, texts)):
            label = self._columns[self._choice.place].label
            return f"Write the unit into the header, {label} [{unit}], and numbers alone below it."
        return ""

    def _refuse_falling(self, t: Array, lines: NDArray[np.intp]) -> None:
        """Refuse times that do not rise in each trajectory; say what may be the cause."""
        of = [self._of[k] for k in lines]
        for first, last in _stretches(of):
            steps = np.diff(t[first:last])
            if (steps > 0).all():
                continue
            refuse_rounded(self._path, self._columns[self._choice.place].label, t[first:last])
            at = first + int(np.argmin(steps > 0)) + 1
            place = self._choice.place
            row = self._rows[lines[at]]
            if self._again:
                begins = next(k for k in range(len(of)) if of[k] == self._again)
                raise DataError(
                    f"{self._where(self._rows[lines[begins]])}: the trajectory {self._again!r} "
                    "begins again.",
                    "Put the lines of a trajectory one below the other, in order of time.",
                )
            used = {*self._inputs, *({self._trajectory} if self._trajectory is not None else ())}
            cells = replace(self._cells, rows=[self._rows[k] for k in lines[first:last]])
            cause = FallingTimes(
                cells=cells,
                time=place,
                t=t[first:last],
                used=frozenset(used),
                certain=self._is_certain,
                dated=bool(self._known(place).dates),
            )
            now, before = row.cells[place].strip(), self._rows[lines[at - 1]].cells[place].strip()
            raise DataError(
                f"{self._where(row)}: {self._columns[place].label} is {now}, after {before}",
                f"Times have to increase. {self._nonmem().strip() or cause.hint}.".replace(
                    "..", "."
                ),
            )

    def _refuse_cells(self, places: Sequence[int], *, may_be_missing: bool) -> None:
        """Refuse cells that are no finite numbers, unless they are missing and may be.

        All of them are listed, so that one command can be typed for all.
        """
        bad: dict[int, dict[str, int]] = {}
        first: tuple[Row, int] | None = None
        for place in places:
            for k in np.flatnonzero(~np.isfinite(self._numbers[place])):
                cell = self._rows[int(k)].cells[place].strip()
                if may_be_missing and cell in self._no_values:
                    continue
                first = first or (self._rows[int(k)], place)
                counts = bad.setdefault(place, {})
                counts[cell] = counts.get(cell, 0) + 1
        if first is None:
            return
        row, place = first
        whole = [
            k
            for k in bad
            if sum(bad[k].values()) == len(self._rows)
            and not all(_DIGIT.match(text) and not looks_like_time(text) for text in bad[k])
        ]
        message = f"{self._where(row)}: {self._labels[place]} is {_shown(row.cells[place])}"
        if sum(map(len, bad.values())) > 1 or len(bad) > 1:
            listed = "; ".join(
                f"{self._labels[k]}: {_listed(counts)}" for k, counts in list(bad.items())[:_LISTED]
            )
            message += f" (no numbers in all: {listed})"
        raise DataError(message, self._remedy(row.cells[place], place, bad, whole))

    def _remedy(
        self, cell: str, place: int, bad: Mapping[int, Mapping[str, int]], whole: Sequence[int]
    ) -> str:
        """Return what to do about cells that are no numbers."""
        hint = "Every cell has to be a finite number"
        if whole:
            return hint + self._remedy_of_columns(cell, place, bad, whole)
        if all(text in self._no_values for counts in bad.values() for text in counts):
            hint += ". To do without: --missing drop (leaves the line out) or "
            hint += "--missing interpolate (fills it from those before and after)."
            if any(is_limit(text) for counts in bad.values() for text in counts):
                hint += " A value below a limit is not known; leaving many out makes the rest too "
                hint += "large, and half the limit may be written for each."
            return hint + self._nonmem()
        if cell.strip().lower() in _TRUTH:
            return f"{hint}. Write 1 for true and 0 for false"
        if looks_like_time(cell):
            return f"{hint}. A second column of times leave out: --ignore"
        signs = [text for text in bad[place] if text not in self._no_values]
        typed = ",".join(text for text in signs if not _DIGIT.match(text))
        other = " or a comma" if self._comma else ""
        hint += f", with a point{other} for its decimals"
        hint += "." if self._comma else " (or a comma, in columns separated by ;)."
        if typed and len(signs) <= _FEW_SIGNS:
            hint += f" Where it stands for no value: --na-values={quoted(typed)} --missing drop."
        return f"{hint} To leave the column out: --ignore {quoted(self._columns[place].label)}"

    def _remedy_of_columns(
        self, cell: str, place: int, bad: Mapping[int, Mapping[str, int]], whole: Sequence[int]
    ) -> str:
        """Return what to do about columns in which no cell is a number."""
        names = ",".join(quoted(self._columns[k].label) for k in whole)
        if cell.strip().lower() in _TRUTH:
            return f". Write 1 for true and 0 for false, or leave it out: --ignore {names}"
        label = quoted(self._columns[place].label)
        if looks_like_time(cell):
            time = quoted(self._columns[self._choice.place].label)
            return (
                ". Where a date and a time of day are in two columns, put them into one: --time "
                f"{label},{time}; leave out a second column of times: --ignore {label}"
            )
        hint = f". Leave out columns without numbers: --ignore {names}"
        label, count = quoted(self._columns[whole[0]].label), len(bad[whole[0]])
        if 1 < count <= len(self._rows) // 3 and self._trajectory is None:
            hint += f". Where {label} names trajectories: --trajectory {label}"
        return hint

    def _nonmem(self) -> str:
        """Return a word on the columns of pharmacokinetic data sets, where these are such."""
        labels = {label.upper() for label in self._labels}
        if not {"DV", "TIME"} <= labels or not labels & {"EVID", "AMT", "MDV"}:
            return ""
        return (
            " This looks like a file for NONMEM: --states DV --missing drop takes the observations "
            "alone (with --trajectory ID where it has several subjects). Doses are no part of an "
            "equation: give the rows after a dose, each dose a trajectory."
        )

    def _refuse_codes(self, places: Sequence[int]) -> None:
        """Refuse numbers that seem to stand for no value, until somebody says what they are."""
        if self._no_values.codes_are_values:
            return
        codes = {place: found for place in places if (found := codes_in(self._numbers[place]))}
        if not codes:
            return
        lines = []
        for place, counts in codes.items():
            values = self._numbers[place]
            others = values[np.isfinite(values) & ~np.isin(values, list(counts))]
            lines.append(
                f"{self._labels[place]} has {listed_codes(counts)}, far from its others "
                f"({others.min():.4g} to {others.max():.4g})"
            )
        every = sorted({value for counts in codes.values() for value in counts})
        typed = ",".join([*self._how.na_values, *(f"{value:.10g}" for value in every)])
        missing = "" if self._how.missing != "refuse" else " --missing drop"
        raise DataError(
            f"{self._path}: {'; '.join(lines)}.",
            f"Where these stand for no value: --na-values={typed}{missing}. Where they were "
            "measured: --na-values=none",
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


def _listed(counts: Mapping[str, int]) -> str:
    """Return texts and in how many cells each is, those of most cells first."""
    most = sorted(counts.items(), key=lambda pair: -pair[1])
    listed = [f"{count} of {_shown(text)}" for text, count in most[:_LISTED]]
    return ", ".join(listed) + ", ..." * (len(most) > _LISTED)


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


def _stretches(of: Iterable[str]) -> Iterator[tuple[int, int]]:
    """Return the first row of each run of equal names, and the row behind its last."""
    first = 0
    for _, group in groupby(of):
        last = first + sum(1 for _ in group)
        yield first, last
        first = last
