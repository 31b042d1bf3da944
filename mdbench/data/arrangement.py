"""Tables arranged as options have it: columns by their names, and the column of times made."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Literal

from mdbench.data.cells import Cells, number_of
from mdbench.data.columns import columns_of
from mdbench.data.layouts import join_times, part_of, pivot, quoted
from mdbench.data.roles import TableColumn, is_time_name
from mdbench.data.times import looks_like_time
from mdbench.errors import DataError, did_you_mean

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

_LINES_OF_A_NAME = 3


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


def place_of(path: Path, labels: Sequence[str], label: str) -> int:
    """Return the place of a column by its title, its label without a unit, or its name."""
    columns = columns_of(labels)
    known = [one.label for one in columns]
    for names in (list(labels), known, [one.name for one in columns]):
        if label in names:
            return names.index(label)
    raise DataError(f"{path} has no column {label!r}.", did_you_mean(label, known))


def places_of(path: Path, labels: Sequence[str], label: str) -> list[int]:
    """Return the places of columns by a label, or by a pattern such as ``qc_*``."""
    if "*" in label and label not in labels:
        columns = columns_of(labels)
        places = [k for k, one in enumerate(columns) if fnmatchcase(one.label, label)]
        if not places:
            raise DataError(f"{path} has no column like {label!r}.", did_you_mean(label, labels))
        return places
    return [place_of(path, labels, label)]


def arrange_table(path: Path, cells: Cells, how: Reading) -> tuple[Cells, Reading]:
    """Return a table with a column of times and one for each quantity, as options have it.

    Raises
    ------
    DataError
        If an option names no column, or does not fit the table.
    """
    later = []
    out: set[int] = set()
    for label in how.ignore:
        try:
            out |= set(places_of(path, cells.labels, label))
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
        more = {k for label in later for k in places_of(path, cells.labels, label)}
        cells = cells.without(more)
    return cells, how


def _free_label(labels: Sequence[str]) -> str:
    return next(name for name in ("time", "time_", "time__") if name not in labels)


def _with_steps(path: Path, cells: Cells, how: Reading) -> tuple[Cells, Reading]:
    """Put in a column of times at equal steps."""
    columns = columns_of(cells.labels)
    for column in columns:
        if is_time_name(
            TableColumn(column.label, column.unit, None, False)
        ) and column.label not in {
            *how.states,
            *how.inputs,
        }:
            raise DataError(
                f"{path} has the column {column.label!r}, which is the time by its name.",
                f"Leave out --step; or leave out the column: --ignore {quoted(column.label)}",
            )
    size, _, unit = how.step.partition(" ")
    of = cells.column(place_of(path, cells.labels, how.trajectory)) if how.trajectory else None
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
    places = [place_of(path, cells.labels, part) for part in parts]

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
    others = cells.without(places)
    label = _free_label(others.labels)
    joined = " and ".join(filter(None, [", ".join(labels[:-1]), labels[-1]]))
    return others.with_column(0, label, texts), replace(
        how, time=label, why=f"{joined} together, by --time"
    )


def _pivoted(path: Path, cells: Cells, how: Reading) -> tuple[Cells, Reading]:
    """Make a column of each quantity of a long table."""
    names = place_of(path, cells.labels, how.pivot)
    keys = [place_of(path, cells.labels, how.trajectory)] if how.trajectory else []
    if (count := len(set(cells.column(names)))) * _LINES_OF_A_NAME > max(len(cells.rows), 1):
        raise DataError(
            f"{path}: {how.pivot} has {count} different texts in {len(cells.rows)} lines, so it "
            "cannot be the column with the names of quantities.",
            "--pivot is for tables with one value a line.  It names the column that says which "
            "quantity the value is of.",
        )
    columns = [
        TableColumn(one.label, one.unit, None, all(map(looks_like_time, cells.column(place))))
        for place, one in enumerate(columns_of(cells.labels))
    ]
    possible = [k for k in range(len(columns)) if k not in {names, *keys}]
    if how.time:
        time = place_of(path, cells.labels, how.time)
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
