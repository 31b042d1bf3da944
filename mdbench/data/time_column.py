"""The column of times of a table: read, and refused where it does not rise."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from mdbench.data.cell_checks import nonmem_hint
from mdbench.data.cells import BEGINS_AS_NUMBER
from mdbench.data.layouts import FallingTimes
from mdbench.data.table_roles import stretches
from mdbench.data.times import (
    TimesError,
    common_format,
    in_fitting_unit,
    looks_like_time,
    past_midnight,
)
from mdbench.data.trajectory import refuse_rounded
from mdbench.errors import DataError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from mdbench.data.cells import Row
    from mdbench.data.table_roles import TableRoles
    from mdbench.data.times import TimeReader

    Array = NDArray[np.float64]

_TIME_FORMATS = "2026-11-22, 2026-11-22T10:30, 22.11.2026 or 10:30:00"


def read_times(table: TableRoles) -> tuple[Array, str, str]:
    """Return the times (n,), their unit where they are dates or clock times, and their format."""
    column = table.choice.place
    label = table.columns[column].label
    texts = table.cells.column(column)
    try:
        reader = table.reader(texts, label)
    except TimesError as error:
        raise DataError(f"{table.path}: {label} has dates, and {error}.", error.hint) from None
    except ValueError as error:
        raise DataError(
            f"{table.path}: --time-zone: {error}.", "Give a name such as Europe/Berlin."
        ) from None
    if table.how.time_zone and reader.kind != "date":
        raise DataError(
            f"{table.path}: {label} has no dates, and --time-zone is of these.",
            "Leave out --time-zone, or name the column of dates: --time COLUMN",
        )
    if reader.kind == "number" and np.isfinite(table.numbers[column]).all():
        return table.numbers[column].copy(), "", reader.form
    t = np.array([_time(table, reader, row, label) for row in table.rows], dtype=np.float64)
    if reader.kind == "number":
        return t, "", reader.form
    if reader.kind == "calendar":
        return t, reader.unit, reader.form
    if reader.kind == "clock":
        for first, last in stretches(table.trajectory_of):
            back = len(t[first:last]) > 1 and np.median(np.diff(t[first:last])) < 0
            turn = slice(None, None, -1 if back else 1)  # newest first
            t[first:last] = past_midnight(t[first:last][turn])[turn]
    return (*in_fitting_unit(t), reader.form)


def _time(table: TableRoles, reader: TimeReader, row: Row, label: str) -> float:
    cell = row.cells[table.choice.place]
    if table.how.missing == "drop" and cell in table.no_values:
        return math.nan
    try:
        return reader.read(cell.strip())
    except ValueError as error:
        if table.how.time_format:
            raise DataError(
                f"{table.where(row)}: {label} is {cell!r}: {error}",
                "--time-format has the signs of Python's strptime: %d day, %m month, %Y year, "
                "%H:%M:%S the time of day.",
            ) from None
        if reader.kind != "number" and looks_like_time(cell):
            kind = "date" if reader.kind == "date" else "clock time"
            raise DataError(
                f"{table.where(row)}: {cell.strip()!r} is no {kind}: {error}",
                f"Write times as {_TIME_FORMATS}; for others: --time-format",
            ) from None
        if cell in table.no_values:
            raise DataError(
                f"{table.where(row)}: {label} is {cell!r}",
                "Every line has to have a time. To leave such lines out: --missing drop",
            ) from None
        if hint := _other_format(table):
            raise DataError(f"{table.where(row)}: {label} is {cell!r}", hint) from None
        kind = {
            "date": "a date, as those before are",
            "clock": "a clock time, as those before are",
            "number": "a finite number, or a date",
        }[reader.kind]
        raise DataError(
            f"{table.where(row)}: {label} is {cell!r}",
            f"Times have to be {kind} ({_TIME_FORMATS}); for others: --time-format",
        ) from None


def _other_format(table: TableRoles) -> str:
    """Return how times are written that are neither numbers nor dates of the usual forms."""
    texts = table.cells.column(table.choice.place)
    if form := common_format(texts):
        return f"Dates that are written so are read by: --time-format {form!r}"
    units = {text.lstrip("+-0123456789.,eE ") for text in texts}
    if (
        len(units) == 1
        and (unit := units.pop()).isalpha()
        and all(map(BEGINS_AS_NUMBER.match, texts))
    ):
        label = table.columns[table.choice.place].label
        return f"Write the unit into the header, {label} [{unit}], and numbers alone below it."
    return ""


def refuse_falling(table: TableRoles, t: Array, lines: NDArray[np.intp]) -> None:
    """Refuse times that do not rise in each trajectory; say what may be the cause."""
    of = [table.trajectory_of[k] for k in lines]
    for first, last in stretches(of):
        steps = np.diff(t[first:last])
        if (steps > 0).all():
            continue
        refuse_rounded(table.path, table.columns[table.choice.place].label, t[first:last])
        at = first + int(np.argmin(steps > 0)) + 1
        column = table.choice.place
        row = table.rows[lines[at]]
        if table.again:
            begins = next(k for k in range(len(of)) if of[k] == table.again)
            raise DataError(
                f"{table.where(table.rows[lines[begins]])}: the trajectory {table.again!r} "
                "begins again.",
                "Put the lines of a trajectory one below the other, in order of time.",
            )
        used = {*table.inputs, *({table.trajectory} if table.trajectory is not None else ())}
        cells = replace(table.cells, rows=[table.rows[k] for k in lines[first:last]])
        cause = FallingTimes(
            cells=cells,
            time=column,
            t=t[first:last],
            used=frozenset(used),
            certain=table.is_certain,
            dated=bool(table.known(column).dates),
        )
        now, before = row.cells[column].strip(), table.rows[lines[at - 1]].cells[column].strip()
        raise DataError(
            f"{table.where(row)}: {table.columns[column].label} is {now}, after {before}",
            f"Times have to increase. {nonmem_hint(table).strip() or cause.hint}.".replace(
                "..", "."
            ),
        )
