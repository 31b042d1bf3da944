"""How a table lies over time: times in several columns, long tables, and why times do not rise."""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np

from mdbench.data.cells import Cells, Row
from mdbench.data.roles import folded, rises
from mdbench.data.times import clock_text, day_text, time_reader

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Sequence

    from numpy.typing import NDArray

    Array = NDArray[np.float64]
    Number = Callable[[str], float | None]

_PARTS = {
    word: part
    for part, words in {
        "year": "year yr yy yyyy jahr annee ano anno jaar",
        "month": "month mon mo mm monat mois mes mese maand",
        "day": "day dd dom tag jour dia giorno dag",
        "doy": "doy yday jday dayofyear julian julianday dayofyr",
        "week": "week wk isoweek woche semaine semana settimana",
        "quarter": "quarter qtr quartal trimestre",
        "hour": "hour hr hh hours stunde heure hora ora uur",
        "minute": "minute min mi minutes",
        "second": "second sec ss seconds sekunde seconde segundo",
    }.items()
    for word in words.split()
}
_OF_A_DAY = ("hour", "minute", "second")
_SECONDS = {"day": 86_400.0, "hour": 3600.0, "minute": 60.0, "second": 1.0}
_MONTH_NAMES = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"]
_QUANTITIES = frozenset(
    """
    species variable parameter param quantity analyte compound substance sensor channel gene
    metric item measure measurement taxon element signal property series tag name art
    spezies groesse espece variable especie variavel indicator attribute feature probe
    """.split()  # noqa: SIM905 - as long as a page else
)
"""Words for what a line of a long table is a value of."""
_SUBJECTS = frozenset(
    """
    id subject run patient plot trial replicate rep batch experiment exp well sample animal
    person site station tank reactor culture strain mouse rat rig cell cycle event individual
    participant versuch lauf essai ensayo plate flask pot tree vessel dish cohort
    """.split()  # noqa: SIM905 - as long as a page else
)
"""Words for what has a trajectory of its own."""
_FEWEST_ROWS = 3
_MOST_PAIRED = 8
"""Columns of which two together are looked at: those with the fewest texts."""
_NEARLY = 1.2
"""Times of several series are the same where all of them are not more, by this factor."""
_AUTUMN, _EARLY = {3, 4, 5, 9, 10, 11}, 4
"""Months and hours in which clocks are put back."""
_HOUR = 3600.0


def part_of(label: str) -> str:
    """Return which part of a date a column is named after, such as ``month``; empty for none.

    Examples
    --------
    >>> part_of("Month"), part_of("yyyy"), part_of("depth")
    ('month', 'year', '')
    """
    return _PARTS.get(folded(label).replace(" ", ""), "")


def part_in(label: str, labels: Sequence[str]) -> str:
    """Return which part of a date a column is named after: ``mm`` next to ``MM`` is the minute."""
    return "minute" if label == "mm" and "MM" in labels else part_of(label)


def join_times(columns: Sequence[tuple[str, Sequence[str]]], number: Number) -> list[str]:
    """Put the parts of times that stand in several columns into one text a row.

    Parameters
    ----------
    columns
        The label and the cells of each: years, months, days, hours, ..., by their names; or dates
        and clock times.

    Raises
    ------
    ValueError
        If they are no parts of a time; it names the column or the cell.

    Examples
    --------
    >>> from mdbench.data.columns import to_number
    >>> columns = [("year", ["2024"]), ("month", ["2"]), ("day", ["29"]), ("hour", ["13"])]
    >>> join_times(columns, to_number)
    ['2024-02-29T13:00:00']
    >>> join_times([("date", ["29.02.2024"]), ("time", ["9:05"])], to_number)
    ['29.02.2024 09:05:00']
    """
    parts: dict[str, Sequence[str]] = {}
    for label, texts in columns:
        plain = all(_is_plain(text, number) for text in texts)
        part = part_in(label, [other for other, _ in columns]) if plain else ""
        part = part or _kind_of(texts, label, number)
        if not part or part in parts:
            raise ValueError(
                f"{label} is no part of a time"
                if not part
                else f"{label} and another column are both its {part}"
            )
        parts[part] = texts
    count = len(columns[0][1])
    return [
        _join_time_parts({part: texts[k] for part, texts in parts.items()}, number)
        for k in range(count)
    ]


def _is_plain(text: str, number: Number) -> bool:
    return number(text) is not None or text[:3].lower() in _MONTH_NAMES


def _kind_of(texts: Sequence[str], label: str, number: Number) -> str:
    """Return ``date`` or ``clock``, where all cells are; empty for others."""
    try:
        reader = time_reader(texts, number, label=label)
        for text in texts:
            reader.read(text)
    except ValueError:
        return ""
    return reader.kind if reader.kind in {"date", "clock"} else ""


def _value(part: str, text: str, number: Number) -> float:
    """Return the number of a part of a date; months may be names."""
    if part == "month" and text[:3].lower() in _MONTH_NAMES:
        return 1.0 + _MONTH_NAMES.index(text[:3].lower())
    value = number(text)
    if value is None or not np.isfinite(value):
        raise ValueError(f"{text!r} is no {part}")
    return value


def _join_time_parts(parts: dict[str, str], number: Number) -> str:
    """Return the parts of one time as one text."""

    def value(part: str) -> float:
        return _value(part, parts.get(part, "0"), number)

    seconds = sum(_SECONDS[part] * value(part) for part in _OF_A_DAY)
    has_clock = "clock" in parts or any(part in parts for part in _OF_A_DAY)
    clock = clock_text(parts["clock"]) if "clock" in parts else _clock_of(seconds)
    if "date" in parts:
        return f"{day_text(parts['date'])} {clock}" if has_clock else parts["date"]
    if "year" not in parts:
        if not {"day", "doy"} & set(parts):
            raise ValueError("there is no year, no date and no day among them")
        days = value("day" if "day" in parts else "doy")
        whole = 86_400.0 * days + (_seconds_of(clock) if "clock" in parts else seconds)
        return f"{int(whole // 86_400)} days {_clock_of(whole % 86_400)}"
    year = int(value("year"))
    year += 2000 * (year < 100)  # noqa: PLR2004 - two digits
    day = _day_of(year, {part: int(value(part)) for part in parts if part in _COARSE})
    return f"{day}T{clock}" if has_clock and len(day) == len("2026-11-22") else day


_COARSE = ("quarter", "month", "week", "doy", "day")


def _day_of(year: int, parts: dict[str, int]) -> str:
    """Return a day, or the week, month or quarter of a year."""
    if "doy" in parts:
        return str(np.datetime64(f"{year:04d}-01-01") + np.timedelta64(parts["doy"] - 1, "D"))
    if "month" in parts:
        month = f"{year:04d}-{parts['month']:02d}"
        return f"{month}-{parts['day']:02d}" if "day" in parts else month
    if "week" in parts:
        return f"{year:04d}-W{parts['week']:02d}"
    if "quarter" in parts:
        return f"{year:04d}-Q{parts['quarter']}"
    raise ValueError("there is a year, but no month, week or day of the year")


def _clock_of(seconds: float) -> str:
    whole, rest = divmod(round(seconds, 6), 1.0)
    hour, minute, second = int(whole // 3600), int(whole // 60 % 60), int(whole % 60)
    return f"{hour:02d}:{minute:02d}:{second:02d}" + (f"{rest:.6f}"[1:] if rest else "")


def _seconds_of(clock: str) -> float:
    hour, minute, second = clock.split(":")
    return 3600.0 * int(hour) + 60.0 * int(minute) + float(second)


def columns_to_join(
    cells: Cells,
    possible: Sequence[int],
    numeric: Collection[int],
    stretches: Sequence[tuple[int, int]],
    number: Number,
) -> list[int]:
    """Return the places of columns that are the time together, and none of them alone.

    Empty where there are none.

    Parameters
    ----------
    possible
        Places of columns that may be the time.
    numeric
        Places of those in which each cell is a number.
    stretches
        The first row of each trajectory, and the row behind its last.
    number
        Reads a number; None where a text is none.
    """
    parts = {place: part_in(cells.labels[place], cells.labels) for place in possible}
    of_part = {part: place for place, part in reversed(parts.items()) if part}

    def of_kind(places: Iterable[int], kind: str) -> list[int]:
        return [
            place
            for place in places
            if _kind_of(cells.column(place), cells.labels[place], number) == kind
        ]

    texts = [place for place in possible if place not in numeric and not parts[place]]
    numbers = [place for place in possible if place in numeric and not parts[place]]
    dates, clocks = of_kind(texts, "date"), of_kind(texts, "clock")
    if not dates:
        days = [
            place
            for place in numbers
            if cells.rows and re.fullmatch(r"\s*\d{8}(\.0+)?\s*", cells.rows[0].cells[place])
        ]
        dates = of_kind(days, "date")
    if dates and not clocks:
        clocks = of_kind((place for place in numbers if place not in dates), "clock")
    fine = [of_part[part] for part in _OF_A_DAY if part in of_part] or clocks[:1]
    trials: list[list[int]] = []
    if "year" in of_part:
        trials += [
            [of_part["year"], *(of_part[part] for part in coarse)]
            for coarse in (("month", "day"), ("doy",), ("month",), ("week",), ("quarter",))
            if all(part in of_part for part in coarse)
        ]
    trials += [[place] for place in dates[:1]]
    if "day" in of_part:
        trials.append([of_part["day"]])
    for trial in [trial + fine for trial in trials] + [trial for trial in trials if len(trial) > 1]:
        if len(trial) > 1 and _rise_together(cells, trial, stretches, number):
            return trial
    return []


def _rise_together(
    cells: Cells, trial: Sequence[int], stretches: Sequence[tuple[int, int]], number: Number
) -> bool:
    try:
        joined = join_times([(cells.labels[k], cells.column(k)) for k in trial], number)
        reader = time_reader(joined, number)
        t = np.array([reader.read(text) for text in joined])
    except ValueError:
        return False
    return rises(t, stretches)


def pivot(
    cells: Cells, time: int, names: int, values: int, keys: Sequence[int], *, repeats: bool
) -> Cells:
    """Turn a long table, a line for each value, into one with a column for each quantity.

    Parameters
    ----------
    time, names, values
        Places of the times, of the names of the quantities, and of their values.
    keys
        Places of further columns that say which lines go together, as that of trajectories.
    repeats
        Whether a quantity may have several values at one time; each value then gets a line.

    Raises
    ------
    ValueError
        If a quantity has two values at one time; it names the line.
    """
    titles = list(dict.fromkeys(cells.column(names)))
    columns = {title: place for place, title in enumerate(titles)}
    rows: dict[tuple[str, ...], list[list[str]]] = {}
    numbers: dict[tuple[str, ...], int] = {}
    counts: dict[tuple[str, ...], int] = {}
    for row in cells.rows:
        key = tuple(row.cells[place].strip() for place in (*keys, time))
        numbers.setdefault(key, row.number)
        lines = rows.setdefault(key, [])
        title = row.cells[names].strip()
        count = counts[(*key, title)] = counts.get((*key, title), 0) + 1
        if count > 1 and not repeats:
            raise ValueError(f"line {row.number}: {title} has two values at {key[-1]}")
        if count > len(lines):
            lines.append([""] * len(titles))
        lines[count - 1][columns[title]] = row.cells[values].strip()
    return Cells(
        (*(cells.labels[place] for place in (*keys, time)), *titles),
        [Row(numbers[key], [*key, *line]) for key, lines in rows.items() for line in lines],
        cells.decimal_comma,
    )


@dataclass(frozen=True)
class FallingTimes:
    """A column of times that do not rise, and what may be the cause.

    Attributes
    ----------
    cells
        The table.
    time
        The place of the times.
    t
        Their numbers, or seconds.
    used
        Places of columns that have another role already.
    certain
        Whether the column is the time by its name, by dates, or because somebody said so.
    dated
        Whether times are dates.
    """

    cells: Cells
    time: int
    t: Array
    used: frozenset[int]
    certain: bool
    dated: bool

    @property
    def hint(self) -> str:
        """What to type next, by what the file shows."""
        steps = np.diff(self.t)
        if self.dated and (hint := self._autumn(steps)):
            return hint
        if hint := self._separated():
            return hint
        if not self.certain:
            return (
                "No column rises throughout, so that none is known to be the time. Where the rows "
                "are equal steps apart: --step 0.5 (the step). Where a column is the time: --time "
                "COLUMN"
            )
        falls, ties = int(np.sum(steps < 0)), int(np.sum(steps == 0))
        blocks = self._blocks(steps)
        if blocks > 1:
            alike = len(np.unique(self.t)) * blocks <= _NEARLY * len(self.t)
            more = (
                "Where all repeat one measurement, their mean is taken by: --repeats average"
                if alike
                else "Where a clock or counter began again, add to later times what went before"
            )
            return (
                f"The lines are {blocks} series one below the other, and no column says which. "
                "Where each is an experiment of its own, add a column that numbers them, such as "
                f"run, and give --trajectory run. {more}"
            )
        if ties and ties >= falls:
            return (
                f"{ties} lines have the time of the line before. Where they repeat a measurement, "
                "their mean is taken by: --repeats average. Where they are of other quantities or "
                "experiments, a column has to say which."
            )
        return (
            f"{falls} of {len(steps)} steps fall: the lines are not in order of time. Where they "
            "are of one experiment, sort them by time, in a spreadsheet or by pandas: "
            f"read_csv(...).sort_values({self.cells.labels[self.time]!r}). Where the time is "
            "another column: --time COLUMN"
        )

    def _blocks(self, steps: Array) -> int:
        """Return how many series stand one below the other, each from the first time on."""
        starts = [0, *(np.flatnonzero(steps < 0) + 1).tolist()]
        sizes = np.diff([*starts, len(self.t)])
        span = float(np.ptp(self.t))
        back = all(abs(self.t[k] - self.t[0]) <= 0.1 * span for k in starts)
        return len(starts) if back and min(sizes) >= _FEWEST_ROWS and (steps != 0).all() else 1

    def _autumn(self, steps: Array) -> str:
        falls = np.flatnonzero(steps <= 0)
        usual = float(np.median(steps[steps > 0])) if (steps > 0).any() else 0.0
        texts = self.cells.column(self.time)
        for k in falls:
            hour_back = -_HOUR <= steps[k] <= 0 and steps[k] >= usual - _HOUR - 1.0
            month, hour = month_and_hour(texts[k + 1])
            if not (hour_back and month in _AUTUMN and hour is not None and hour < _EARLY):
                return ""
        if not len(falls) or len(falls) > 1 + len(steps) // 1000:
            return ""
        return (
            f"At {texts[falls[0] + 1]} the clocks were put back, and an hour comes twice. Name the "
            "time zone of the clock, by which both this hour and that of spring are put right: "
            "--time-zone Europe/Berlin"
        )

    def _separated(self) -> str:
        """Return the hint where columns say which lines are of one series."""
        others = [
            place for place in range(len(self.cells.labels)) if place not in {self.time, *self.used}
        ]
        possible = [place for place in others if self._separates((place,))]
        if not possible:
            few = [place for place in others if 1 < self._count(place) <= len(self.t) // 2]
            fewest = sorted(few, key=self._count)[:_MOST_PAIRED]
            pairs = (pair for pair in combinations(fewest, 2) if self._separates(pair))
            return self._separated_by_two(next(pairs, ()))
        quantities = [place for place in possible if self._is_quantity(place)]
        subjects = [place for place in possible if self._is_subject(place)]
        if len(subjects) == 1 and not quantities:
            possible = subjects
        if len(possible) > 1 and not quantities:
            listed = ", ".join(quoted(self.cells.labels[place]) for place in possible)
            return (
                "Where the file holds several trajectories, name the column that separates them "
                f"(here {listed} do): --trajectory COLUMN. Leave out the others: --ignore COLUMN"
            )
        place = [*quantities, *possible][0]
        return self._separated_by_one(place, [other for other in others if other != place])

    def _separated_by_two(self, pair: Sequence[int]) -> str:
        if not pair:
            return ""
        first, second = sorted(pair, key=lambda place: not self._is_quantity(place))
        labels = [quoted(self.cells.labels[place]) for place in (first, second)]
        if self._is_quantity(first):
            return (
                f"{labels[0]} names quantities, and {labels[1]} experiments: --pivot {labels[0]} "
                f"--trajectory {labels[1]}"
            )
        return (
            f"{labels[0]} and {labels[1]} together say which lines belong together: put both into "
            "one column, such as run, and give --trajectory run"
        )

    def _separated_by_one(self, column: int, others: Sequence[int]) -> str:
        label, count = quoted(self.cells.labels[column]), self._count(column)
        as_runs = f"names {count} experiments: --trajectory {label}"
        as_long = (
            f"{label} names {count} quantities measured at the same times: --pivot {label} makes a "
            "column of each"
        )
        if self._is_quantity(column):
            rest = ",".join(quoted(self.cells.labels[k]) for k in others[1:])
            more = f" (and leave out what is no value: --ignore {rest})" if rest else ""
            return f"{as_long}{more}. Where it {as_runs}"
        if self._is_numbered_repeat(column):
            return (
                f"Where {label} {as_runs}. Where these are repeats of one measurement, their mean "
                f"is taken by: --repeats average --ignore {label}"
            )
        if self._is_subject(column) or len(others) > 1:
            return (
                f"Where the file holds several trajectories, {label} {as_runs}. Where the time is "
                "another column: --time COLUMN"
            )
        return f"Where {as_long}. Where it {as_runs}. Only one of both is right"

    def _is_numbered_repeat(self, place: int) -> bool:
        words = set(folded(self.cells.labels[place]).split())
        return bool(words & {"rep", "replicate", "repeat", "replicat", "wiederholung"})

    def _is_quantity(self, place: int) -> bool:
        return bool(set(folded(self.cells.labels[place]).split()) & _QUANTITIES)

    def _is_subject(self, place: int) -> bool:
        return bool(set(folded(self.cells.labels[place]).split()) & _SUBJECTS)

    def _count(self, place: int) -> int:
        return len(set(self.cells.column(place)))

    def _separates(self, places: Sequence[int]) -> bool:
        """Return whether times rise, or fall, within the lines that are alike in some columns."""
        groups: dict[tuple[str, ...], list[int]] = {}
        columns = [self.cells.column(place) for place in places]
        if not all(text for column in columns for text in column):  # Na is sodium here
            return False
        for k, key in enumerate(zip(*columns, strict=True)):
            groups.setdefault(key, []).append(k)
        if len(groups) < 2 or len(groups) > len(self.t) // _FEWEST_ROWS:  # noqa: PLR2004
            return False
        steps = [np.diff(self.t[rows]) for rows in groups.values()]
        if min(map(len, steps)) < _FEWEST_ROWS - 1:
            return False
        return all((each > 0).all() for each in steps) or all((each < 0).all() for each in steps)


def month_and_hour(text: str) -> tuple[int | None, int | None]:
    """Return the month and the hour of a date; None where they are not in its text."""
    clock = re.search(r"[ T](\d{1,2}):\d{2}", text)
    date = re.match(
        r"\s*(\d{4})[-/.](\d{1,2})[-/.]\d{1,2}|\s*(\d{1,2})[-/.](\d{1,2})[-/.]\d{2,4}", text
    )
    if clock is None or date is None:
        return None, None
    months = {int(part) for part in (date[2], date[3], date[4]) if part}
    return next(iter(months & _AUTUMN), None), int(clock[1])


def quoted(label: str) -> str:
    """Return a label as it is typed in a shell."""
    plain = bool(label) and all(letter.isalnum() or letter in "._-" for letter in label)
    return label if plain else repr(label)
