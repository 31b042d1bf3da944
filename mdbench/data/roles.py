"""Which column of a table is the time: by its name, by its type, or by how it rises."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    Array = NDArray[np.float64]

EVEN = 0.01
"""Steps that differ by less than this share of their median are even."""
_MOSTLY = 0.9
"""A column of which so many steps rise may be the time with a slip in it."""


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_SURE = _words(
    # English, German, French, Spanish and Portuguese, Italian, Dutch
    "t time times date dates datetime timestamp elapsed elapsedtime "
    "zeit datum zeitpunkt temps duree tiempo fecha tempo tijd"
)
_LIKELY = _words(
    "day days hour hours hr hrs h minute minutes min mins second seconds sec secs s ms "
    "week weeks month months year years yr yrs epoch clock "
    "tag tage stunde stunden sekunde sekunden minuten jahr jahre monat woche "
    "jour jours heure heures seconde secondes annee mois semaine "
    "dia dias hora horas segundo segundos minuto minutos ano anos mes "
    "data giorno giorni ora ore secondi anno anni dag uur jaar"
)
_TIME_UNITS = _words("s sec ms us ns min h hr d day days yr year years")
_INDEX = re.compile(
    r"(|id|idx|index|no|nr|num|number|row|rows|rownum|line|record|obs|sample|samples|#|unnamed \d+)"
)


@dataclass(frozen=True, eq=False)
class TableColumn:
    """What is known of a column before its role is chosen.

    Attributes
    ----------
    label, unit
        Its title in the file, without and of its unit.
    values
        Its numbers, or the seconds of its dates; None where a cell is neither.
    dates
        Whether its cells are dates or clock times.
    """

    label: str
    unit: str
    values: Array | None
    dates: bool


@dataclass(frozen=True)
class TimeChoice:
    """The column of the time.

    Attributes
    ----------
    place
        Its place among the columns.
    why
        Why it was taken, in a few words.
    left_out
        Places of columns that only count the rows.
    """

    place: int
    why: str
    left_out: tuple[int, ...] = ()


class SeveralTimesError(ValueError):
    """Two columns or more could be the time; `labels` are theirs."""

    def __init__(self, labels: Sequence[str]) -> None:
        super().__init__(f"{', '.join(labels[:-1])} or {labels[-1]} may be the time")
        self.labels = labels


def choose_time(
    columns: Sequence[TableColumn], possible: Sequence[int], stretches: Sequence[tuple[int, int]]
) -> TimeChoice:
    """Choose the time among columns: by name, by type, by how they rise; in this order.

    Parameters
    ----------
    columns
        All columns.
    possible
        Places of those that may be the time: none that separates trajectories, no input.
    stretches
        The first row of each trajectory, and the row behind its last.

    Raises
    ------
    SeveralTimesError
        If two could be it.

    Examples
    --------
    >>> step, growth = np.arange(9.0), np.exp(np.arange(9.0))
    >>> columns = [TableColumn("N", "", growth, False), TableColumn("x", "", 0.1 * step, False)]
    >>> choose_time(columns, [0, 1], [(0, 9)])
    TimeChoice(place=1, why='of the columns that rise (N, x) the one with even steps', left_out=())
    """
    rising = [place for place in possible if rises(columns[place].values, stretches)]
    counting = counting_columns(columns, possible)
    choice = _by_name(columns, possible, rising) or _rising_column(
        columns, possible, rising, stretches
    )
    place, why = choice or ((counting or tuple(possible))[0], "it counts the samples")
    return TimeChoice(place, why, tuple(each for each in counting if each != place))


def _by_name(
    columns: Sequence[TableColumn], possible: Sequence[int], rising: Sequence[int]
) -> tuple[int, str] | None:
    """Return the column that is called a time, or the one with dates, and why."""
    for names in (_SURE, _LIKELY):
        named = [place for place in possible if _is_named(columns[place], names)]
        those = [place for place in named if place in rising]
        if len(those) > 1:
            raise SeveralTimesError([columns[place].label for place in those])
        if those or (len(named) == 1 and names is _SURE):
            return (those or named)[0], "by its name"
    dates = [place for place in possible if columns[place].dates]
    if len(dates) > 1:
        raise SeveralTimesError([columns[place].label for place in dates])
    return (dates[0], "the one with dates") if dates else None


def _rising_column(
    columns: Sequence[TableColumn],
    possible: Sequence[int],
    rising: Sequence[int],
    stretches: Sequence[tuple[int, int]],
) -> tuple[int, str] | None:
    """Return the only column that rises, or the only one of them with even steps, and why."""
    counting = counting_columns(columns, possible)
    others = [place for place in rising if place not in counting]
    nearly = [
        place
        for place in possible
        if place not in {*rising, *counting} and rises(columns[place].values, stretches, _MOSTLY)
    ]
    if not others:
        numeric = [place for place in possible if columns[place].values is not None]
        named = [place for place in numeric if _is_named(columns[place], _LIKELY)]
        first = [*nearly, *(named if len(named) == 1 else ()), *numeric, *possible][0]
        return None if counting and not nearly else (first, "the first column, as no other rises")
    if len(others) == 1 and not nearly:
        return others[0], "the only column that rises throughout"
    labels = [columns[place].label for place in (*nearly, *others)]
    even = [place for place in others if _is_even(columns[place].values, stretches)]
    if len(even) == 1 and len(others) > 1:
        listed = ", ".join(columns[place].label for place in others)
        return even[0], f"of the columns that rise ({listed}) the one with even steps"
    raise SeveralTimesError(labels)


def counting_columns(columns: Sequence[TableColumn], possible: Sequence[int]) -> tuple[int, ...]:
    """Return the places of columns that only count the rows, by their names and values."""
    return tuple(
        place
        for place in possible
        if _INDEX.fullmatch(folded(columns[place].label)) and _counts(columns[place].values)
    )


def is_time_name(column: TableColumn) -> bool:
    """Return whether a column has a name that only times have."""
    return _is_named(column, _SURE)


def lasting(label: str) -> str:
    """Return the unit that a label of times is the name of, such as ``day``; empty for others."""
    name = folded(label)
    return name if name in _LIKELY else ""


def folded(label: str) -> str:
    """Return a label in lower case, without accents and signs."""
    spelled = unicodedata.normalize("NFKD", label)
    plain = "".join(each for each in spelled if not unicodedata.combining(each)).casefold()
    return re.sub(r"[\W_]+", " ", plain).strip() if plain != "#" else plain


def _is_named(column: TableColumn, names: frozenset[str]) -> bool:
    if column.label == "T":  # mostly a temperature
        return names is _LIKELY and column.unit.casefold() in {"", *_TIME_UNITS}
    words = folded(column.label).split()
    if not words:
        return False
    # As in "time_s" and "sample time", but not in "t_1".
    ends = {word for word in (words[0], words[-1]) if len(word) > 1}
    if "".join(words) in names or ends & names & _SURE:
        return True
    return names is _LIKELY and len(words) == 1 and column.unit.casefold() in _TIME_UNITS


def _counts(values: Array | None) -> bool:
    """Return whether values are whole numbers, each one more than that before."""
    return values is not None and len(values) > 1 and bool((np.diff(values) == 1).all())


def rises(values: Array | None, stretches: Sequence[tuple[int, int]], share: float = 1.0) -> bool:
    """Return whether values rise within each stretch, or so large a share of their steps."""
    if values is None or len(values) < 2:  # noqa: PLR2004 - nothing rises in one row
        return False
    steps = [np.diff(values[first:last]) > 0 for first, last in stretches]
    every = np.concatenate(steps)
    return bool(every.size and np.mean(every) >= share)


def _is_even(values: Array | None, stretches: Sequence[tuple[int, int]]) -> bool:
    assert values is not None  # noqa: S101 - only those that rise are asked about
    steps = np.concatenate([np.diff(values[first:last]) for first, last in stretches])
    return bool(steps.max() - steps.min() <= EVEN * np.median(steps))
