"""What is refused or filled in a table: cells without a number, and times that do not rise."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from mdbench.data.cells import BEGINS_AS_NUMBER, codes_in, is_limit, listed_codes
from mdbench.data.layouts import FallingTimes, quoted
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
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from mdbench.data.cells import Row
    from mdbench.data.table_roles import TableRoles
    from mdbench.data.times import TimeReader

    Array = NDArray[np.float64]

_TRUTH = {"true", "false", "yes", "no", "on", "off"}
_FEW_SIGNS = 3
_LONGEST_CELL, _LISTED = 60, 5
"""Characters of a cell in a message, and cells and columns that one lists."""


def refuse_cells(table: TableRoles, places: Sequence[int], *, may_be_missing: bool) -> None:
    """Refuse cells that are no finite numbers, unless they are missing and may be.

    All of them are listed, so that one command can be typed for all.
    """
    bad: dict[int, dict[str, int]] = {}
    first: tuple[Row, int] | None = None
    for column in places:
        for k in np.flatnonzero(~np.isfinite(table.numbers[column])):
            cell = table.rows[int(k)].cells[column].strip()
            if may_be_missing and cell in table.no_values:
                continue
            first = first or (table.rows[int(k)], column)
            counts = bad.setdefault(column, {})
            counts[cell] = counts.get(cell, 0) + 1
    if first is None:
        return
    row, column = first
    whole = [
        k
        for k in bad
        if sum(bad[k].values()) == len(table.rows)
        and not all(BEGINS_AS_NUMBER.match(text) and not looks_like_time(text) for text in bad[k])
    ]
    message = f"{table.where(row)}: {table.labels[column]} is {_shown(row.cells[column])}"
    if sum(map(len, bad.values())) > 1 or len(bad) > 1:
        listed = "; ".join(
            f"{table.labels[k]}: {_texts_with_counts(counts)}"
            for k, counts in list(bad.items())[:_LISTED]
        )
        message += f" (no numbers in all: {listed})"
    raise DataError(message, _remedy(table, row.cells[column], column, bad, whole))


def _remedy(
    table: TableRoles,
    cell: str,
    column: int,
    bad: Mapping[int, Mapping[str, int]],
    whole: Sequence[int],
) -> str:
    """Return what to do about cells that are no numbers."""
    hint = "Every cell has to be a finite number"
    if whole:
        return hint + _remedy_of_columns(table, cell, column, bad, whole)
    if all(text in table.no_values for counts in bad.values() for text in counts):
        hint += ". To do without: --missing drop (leaves the line out) or "
        hint += "--missing interpolate (fills it from those before and after)."
        if any(is_limit(text) for counts in bad.values() for text in counts):
            hint += " A value below a limit is not known; leaving many out makes the rest too "
            hint += "large, and half the limit may be written for each."
        return hint + nonmem_hint(table)
    if cell.strip().lower() in _TRUTH:
        return f"{hint}. Write 1 for true and 0 for false"
    if looks_like_time(cell):
        return f"{hint}. A second column of times leave out: --ignore"
    signs = [text for text in bad[column] if text not in table.no_values]
    typed = ",".join(text for text in signs if not BEGINS_AS_NUMBER.match(text))
    other = " or a comma" if table.comma else ""
    hint += f", with a point{other} for its decimals"
    hint += "." if table.comma else " (or a comma, in columns separated by ;)."
    if typed and len(signs) <= _FEW_SIGNS:
        hint += f" Where it stands for no value: --na-values={quoted(typed)} --missing drop."
    return f"{hint} To leave the column out: --ignore {quoted(table.columns[column].label)}"


def _remedy_of_columns(
    table: TableRoles,
    cell: str,
    column: int,
    bad: Mapping[int, Mapping[str, int]],
    whole: Sequence[int],
) -> str:
    """Return what to do about columns in which no cell is a number."""
    names = ",".join(quoted(table.columns[k].label) for k in whole)
    if cell.strip().lower() in _TRUTH:
        return f". Write 1 for true and 0 for false, or leave it out: --ignore {names}"
    label = quoted(table.columns[column].label)
    if looks_like_time(cell):
        time = quoted(table.columns[table.choice.place].label)
        return (
            ". Where a date and a time of day are in two columns, put them into one: --time "
            f"{label},{time}; leave out a second column of times: --ignore {label}"
        )
    hint = f". Leave out columns without numbers: --ignore {names}"
    label, count = quoted(table.columns[whole[0]].label), len(bad[whole[0]])
    if 1 < count <= len(table.rows) // 3 and table.trajectory is None:
        hint += f". Where {label} names trajectories: --trajectory {label}"
    return hint


def nonmem_hint(table: TableRoles) -> str:
    """Return a word on the columns of pharmacokinetic data sets, where these are such."""
    labels = {label.upper() for label in table.labels}
    if not {"DV", "TIME"} <= labels or not labels & {"EVID", "AMT", "MDV"}:
        return ""
    return (
        " This looks like a file for NONMEM: --states DV --missing drop takes the observations "
        "alone (with --trajectory ID where it has several subjects). Doses are no part of an "
        "equation: give the rows after a dose, each dose a trajectory."
    )


def refuse_codes(table: TableRoles, places: Sequence[int]) -> None:
    """Refuse numbers that seem to stand for no value, until somebody says what they are."""
    if table.no_values.codes_are_values:
        return
    codes = {place: found for place in places if (found := codes_in(table.numbers[place]))}
    if not codes:
        return
    lines = []
    for column, counts in codes.items():
        values = table.numbers[column]
        others = values[np.isfinite(values) & ~np.isin(values, list(counts))]
        lines.append(
            f"{table.labels[column]} has {listed_codes(counts)}, far from its others "
            f"({others.min():.4g} to {others.max():.4g})"
        )
    every = sorted({value for counts in codes.values() for value in counts})
    typed = ",".join([*table.how.na_values, *(f"{value:.10g}" for value in every)])
    missing = "" if table.how.missing != "refuse" else " --missing drop"
    raise DataError(
        f"{table.path}: {'; '.join(lines)}.",
        f"Where these stand for no value: --na-values={typed}{missing}. Where they were "
        "measured: --na-values=none",
    )


def fill_gaps(table: TableRoles, rows: Array, places: Sequence[int]) -> int:
    """Fill what is missing in one trajectory; return how many cells that are."""
    filled = 0
    for column in range(1, rows.shape[1]):
        gaps = np.isnan(rows[:, column])
        if not gaps.any():
            continue
        known = np.flatnonzero(~gaps)
        if not known.size or gaps[0] or gaps[-1]:
            at = table.rows[places[0] if gaps[0] else places[-1]]
            raise DataError(
                f"{table.where(at)}: {table.labels[(*table.states, *table.inputs)[column - 1]]}"
                " is missing at an end of the trajectory",
                "There is nothing before or after to fill it from. Delete the line, or: "
                "--missing drop",
            )
        rows[gaps, column] = np.interp(rows[gaps, 0], rows[known, 0], rows[known, column])
        filled += int(gaps.sum())
    return filled


def _shown(cell: str) -> str:
    return repr(cell) if len(cell) <= _LONGEST_CELL else f"{cell[:_LONGEST_CELL]!r}..."


def _texts_with_counts(counts: Mapping[str, int]) -> str:
    """Return texts and in how many cells each is, those of most cells first."""
    most = sorted(counts.items(), key=lambda pair: -pair[1])
    listed = [f"{count} of {_shown(text)}" for text, count in most[:_LISTED]]
    return ", ".join(listed) + ", ..." * (len(most) > _LISTED)


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
