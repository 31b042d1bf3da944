"""What each column of a table is: the time, a state, an input, or the trajectories."""

from __future__ import annotations

import math
import re
from itertools import groupby
from typing import TYPE_CHECKING

import numpy as np

from mdbench.data.arrangement import place_of, places_of
from mdbench.data.cells import Cells, NoValues, number_of
from mdbench.data.columns import columns_of
from mdbench.data.formats.text import nameless
from mdbench.data.layouts import columns_to_join, quoted
from mdbench.data.roles import (
    SeveralTimesError,
    TableColumn,
    TimeChoice,
    choose_time,
    counting_columns,
    is_time_name,
    rises,
)
from mdbench.data.times import TimeReader, looks_like_time, past_midnight, time_reader
from mdbench.errors import DataError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from mdbench.data.arrangement import Reading
    from mdbench.data.cells import Row

    Array = NDArray[np.float64]

_GROUPED = re.compile(r"[+-]?[1-9]\d{0,2}[,.]\d{3}")
"""A number that is one below a thousand, or, where the sign groups digits, a thousand and more."""


class TableRoles:
    """The lines of a file, and what each column of them is.

    Attributes
    ----------
    labels, columns
        The title of each column, and its name and unit.
    trajectory, inputs, states
        Places of the column of trajectories, and of the inputs and states.
    choice
        The column of times, and why.
    rows, trajectory_of, numbers
        The lines, the trajectory of each, and the numbers of each column; NaN where there is none.
    again
        The first trajectory whose lines are not together; empty where all are.
    left_out
        Columns that have no role, as the states are named.
    """

    def __init__(self, path: Path, cells: Cells, how: Reading) -> None:
        self.path, self.how, self.comma = path, how, cells.decimal_comma
        self.labels = labels = cells.labels
        self.columns = columns_of(labels)
        self.no_values = NoValues(how.na_values, decimal_comma=self.comma)
        self.trajectory = self._place(how.trajectory) if how.trajectory else None
        self.inputs = [self._place(label) for label in how.inputs]
        self.cells, self.again = self._gathered(cells)
        self.rows = self.cells.rows
        self.trajectory_of = [self._name_of(row) for row in self.rows]
        self.numbers = [self._column(place) for place in range(len(labels))]
        self.choice = self._time()
        if (count := len(set(self.trajectory_of))) > 1 and 2 * count > len(self.rows):
            raise DataError(
                f"{path}: {how.trajectory} has {count} different texts in {len(self.rows)} lines, "
                "so it cannot separate trajectories.",
                "--trajectory names a column with one value for each experiment.",
            )
        self.left_out: list[str] = []
        self.states = self._chosen_states()
        if not self.states:
            raise DataError(
                f"{path}: no column is left for the states.",
                "A table has a time and at least one state. Where the rows are equal steps apart, "
                "and no column is the time: --step 0.5 (the step)",
            )
        for place in self.states:
            if not labels[place]:
                raise nameless(f"{path}, line 1", labels, place)
        if self.comma:
            self._refuse_grouped()

    def where(self, row: Row) -> str:
        """Return the file and the line, for messages."""
        return f"{self.path}, line {row.number}"

    def _place(self, label: str) -> int:
        return place_of(self.path, self.labels, label)

    def _gathered(self, cells: Cells) -> tuple[Cells, str]:
        """Put the lines of each trajectory together; return the first that was not."""
        if self.trajectory is None:
            return cells, ""
        names = cells.column(self.trajectory)
        order = {name: place for place, name in enumerate(dict.fromkeys(names))}
        rank = [order[name] for name in names]
        again = next((names[k + 1] for k in range(len(rank) - 1) if rank[k + 1] < rank[k]), "")
        if not again:
            return cells, ""
        lines = sorted(range(len(rank)), key=rank.__getitem__)
        return Cells(cells.labels, [cells.rows[k] for k in lines], cells.decimal_comma), again

    def _chosen_states(self) -> list[int]:
        """Return the places of the states: those that are named, or all without another role."""
        used = {self.trajectory, self.choice.place, *self.inputs}
        possible = [
            place
            for place in range(len(self.labels))
            if place not in used and place not in self.choice.left_out
        ]
        if not self.how.states:
            return possible
        states = [
            column
            for label in self.how.states
            for column in places_of(self.path, self.labels, label)
            if "*" not in label or column in possible
        ]
        for column in states:
            if column in used:
                raise DataError(
                    f"{self.path}: {self.labels[column]!r} is named as a state, and is the time, "
                    "an input or the column of trajectories.",
                    "Give each column one role.",
                )
        self.left_out = [self.labels[place] for place in possible if place not in states]
        return list(dict.fromkeys(states))

    def _name_of(self, row: Row) -> str:
        """Return the name of the trajectory that a line is of."""
        if self.trajectory is None:
            return ""
        if not (name := row.cells[self.trajectory].strip()):
            label = self.labels[self.trajectory]
            raise DataError(f"{self.where(row)}: {label} is empty", "Name the trajectory.")
        return name

    def number(self, text: str) -> float | None:
        """Return the number of a cell; None where it is none."""
        return number_of(text.strip(), decimal_comma=self.comma)

    def _column(self, place: int) -> Array:
        """Return the numbers of a column, NaN where there is none."""
        found = [self.number(text) for text in self.cells.column(place)]
        return np.array(
            [math.nan if one is None or one in self.no_values.numbers else one for one in found],
            dtype=np.float64,
        )

    def _refuse_grouped(self) -> None:
        """Refuse columns in which a comma or a point may stand between thousands.

        It may where each such number has three digits behind it, and a number without any, or with
        the other sign, shows that decimals are written otherwise.
        """
        used = [self.choice.place, *self.states, *self.inputs]
        cells = {place: self.cells.column(place) for place in used}
        numbers = {
            index: [
                cell
                for cell, value in zip(column, self.numbers[index], strict=True)
                if not math.isnan(value)
            ]
            for index, column in cells.items()
        }
        for sign, other in (",.", ".,"):
            elsewhere = any(other in cell for column in numbers.values() for cell in column)
            if sign == "." and not elsewhere:
                continue  # as English has it
            for index, column in numbers.items():
                having = [cell for cell in column if sign in cell]
                if not having or not all(map(_GROUPED.fullmatch, having)):
                    continue
                if elsewhere or len(having) < len(column):
                    row = self.rows[cells[index].index(having[0])]
                    raise DataError(
                        f"{self.where(row)}: {self.labels[index]} is {having[0]!r}, which can "
                        f"mean {having[0].replace(sign, '')} or {having[0].replace(sign, '.')}; "
                        "other numbers of the file do not show which.",
                        "Write numbers without thousands separators, with the same decimal sign "
                        "and the same number of decimals.",
                    )

    def _time(self) -> TimeChoice:
        used = {place for place in (self.trajectory, *self.inputs) if place is not None}
        possible = [place for place in range(len(self.labels)) if place not in used]
        columns = [self.known(place) for place in range(len(self.labels))]
        if self.how.time:
            place = self._place(self.how.time)
            out = counting_columns(columns, [each for each in possible if each != place])
            choice = TimeChoice(place, self.how.why or "by --time", out)
        elif named := [place for place in used if is_time_name(columns[place])]:
            choice = TimeChoice(named[0], "by its name")
        elif not possible:
            raise DataError(
                f"{self.path}: no column is left for the time.",
                "Where the rows are equal steps apart: --step 0.5 (the step).",
            )
        else:
            self._refuse_parts(columns, possible)
            try:
                choice = choose_time(columns, possible, list(stretches(self.trajectory_of)))
            except SeveralTimesError as error:
                raise DataError(
                    f"{self.path}: {error}.", f"Say which is: --time {quoted(error.labels[0])}"
                ) from None
        if choice.place in used:
            raise DataError(
                f"{self.path}: {self.labels[choice.place]!r} is the time.",
                "Name another column for what it is to be, or for the time: --time COLUMN",
            )
        return choice

    def _refuse_parts(self, columns: Sequence[TableColumn], possible: Sequence[int]) -> None:
        """Refuse a table whose time stands in several columns."""
        pieces = list(stretches(self.trajectory_of))
        numeric = {k for k in possible if np.isfinite(self.numbers[k]).all()}
        parts = columns_to_join(self.cells, possible, numeric, pieces, self.number)
        rising = {place for place in possible if rises(columns[place].values, pieces)}
        if not parts or any(is_time_name(columns[place]) for place in rising - set(parts)):
            return
        # A time of day rises by itself, with a day more past each midnight.
        if any(place in rising and not self._is_clock(place) for place in parts):
            return
        labels = [self.columns[place].label for place in parts]
        raise DataError(
            f"{self.path}: {', '.join(labels[:-1])} and {labels[-1]} are the time together.",
            f"Name them as one time: --time {','.join(map(quoted, labels))}",
        )

    def _is_clock(self, place: int) -> bool:
        label = self.columns[place].label
        return self.reader(self.cells.column(place), label).kind == "clock"

    def reader(self, texts: Iterable[str], label: str) -> TimeReader:
        """Return what reads times that are written as some are; errors as `time_reader`."""
        return time_reader(
            (text for text in texts if text not in self.no_values),
            self.number,
            self.how.time_format,
            zone=self.how.time_zone,
            label=label,
        )

    def known(self, index: int) -> TableColumn:
        """Return what shows whether a column is the time."""
        column, values = self.columns[index], self.numbers[index]
        texts = self.cells.column(index)
        dates = bool(texts) and all(map(looks_like_time, texts))
        if dates or self.how.time_format:
            try:
                reader = self.reader(texts, column.label)
                seconds = np.array([reader.read(text) for text in texts])
            except ValueError:
                seconds = np.full(len(texts), math.nan)
                dates = dates and not self.how.time_format
            else:
                dates = True
        if dates:
            if not np.isfinite(seconds).all():
                return TableColumn(column.label, column.unit, None, dates)
            values = past_midnight(seconds) if reader.kind == "clock" else seconds
        label = "" if not self.labels[index] else column.label
        known = values if np.isfinite(values).all() else None
        return TableColumn(label, column.unit, known, dates)

    @property
    def is_certain(self) -> bool:
        """Whether the time is known by its name or type, or was named."""
        return "no other rises" not in self.choice.why


def stretches(of: Iterable[str]) -> Iterator[tuple[int, int]]:
    """Return the first row of each run of equal names, and the row behind its last."""
    first = 0
    for _, group in groupby(of):
        last = first + sum(1 for _ in group)
        yield first, last
        first = last
