"""Times as people write them: numbers, dates, clock times; and units that fit their steps."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Literal

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from numpy.typing import NDArray

    Array = NDArray[np.float64]
    Kind = Literal["number", "date", "clock"]

DAY, MINUTE, SECOND = "day", "min", "s"
"""Units of times that are dates or clock times: days, or smaller ones where steps are short."""

UNIT_SECONDS = {DAY: 86400.0, MINUTE: 60.0, SECOND: 1.0}
_DAY_SECONDS, _HOUR_SECONDS, _MINUTE_SECONDS = 86400.0, 3600.0, 60.0
_ISO = re.compile(r"\d{4}-\d{2}-\d{2}")
_BELOW_MICROSECONDS = re.compile(r"[.,]\d{6}(\d+)")
_CLOCK_TEXT = r"(\d{1,2}):(\d{2})(?::(\d{2}(?:[.,]\d+)?))?\s*([AaPp])?\.?[Mm]?\.?"
_CLOCK = re.compile(_CLOCK_TEXT)
_YEAR_LAST = re.compile(
    rf"(\d{{1,2}})([./-])(\d{{1,2}})\2(\d{{4}}|\d{{2}})(?:[ T,]+{_CLOCK_TEXT})?"
)
_YEAR_FIRST = re.compile(rf"(\d{{4}})([./])(\d{{1,2}})\2(\d{{1,2}})(?:[ T,]+{_CLOCK_TEXT})?")
_MONTHS, _CENTURY = 12, 100
_HOURS, _SIXTY = 24, 60


class TimesError(ValueError):
    """Cells that cannot be read as times; the text says why, and `hint` what to do."""

    def __init__(self, reason: str, hint: str = "") -> None:
        super().__init__(reason)
        self.hint = hint


@dataclass(frozen=True)
class TimeReader:
    """Reads the cells of a column of times.

    Attributes
    ----------
    kind
        ``number``; ``date`` or ``clock``, which are read as seconds.
    read
        Returns the time of a cell.  Raises ValueError.
    """

    kind: Kind
    read: Callable[[str], float]


def looks_like_time(text: str) -> bool:
    """Return whether a text is a date or a clock time.

    Examples
    --------
    >>> [looks_like_time(text) for text in ("2026-11-22", "22.11.26 10:30", "10:30", "3.5", "12 h")]
    [True, True, True, False, False]
    """
    text = text.strip()
    return bool(
        _ISO.match(text)
        or _CLOCK.fullmatch(text)
        or _YEAR_LAST.fullmatch(text)
        or _YEAR_FIRST.fullmatch(text)
    )


def time_reader(
    cells: Iterable[str], number: Callable[[str], float | None], time_format: str = ""
) -> TimeReader:
    """Return what reads a column of times; its first cell decides which kind they are of.

    Parameters
    ----------
    cells
        All cells of the column, by which days and months are distinguished.
    number
        Reads a number; None where a text is none.
    time_format
        A format of `datetime.strptime`; empty to find it.

    Raises
    ------
    TimesError
        If it is not certain which of two numbers is the day.

    Examples
    --------
    >>> reader = time_reader(["1.2.2026", "13.2.2026"], lambda text: None)
    >>> reader.kind, (reader.read("13.2.2026") - reader.read("1.2.2026")) / 86400
    ('date', 12.0)
    """
    texts = [cell.strip() for cell in cells]
    first = next(iter(texts), "")
    if time_format:
        return _dates(first, lambda text: (_by_format(text, time_format), 0.0))
    if _ISO.match(first):
        return _dates(first, _iso)
    if _YEAR_FIRST.fullmatch(first):
        return _dates(first, lambda text: _parted(_YEAR_FIRST, text, (0, 2, 3), 4))
    if _YEAR_LAST.fullmatch(first):
        order = (3, 2, 0) if _day_first(texts) else (3, 0, 2)
        return _dates(first, lambda text: _parted(_YEAR_LAST, text, order, 4))
    if _CLOCK.fullmatch(first):
        return TimeReader("clock", _clock)

    def plain(text: str) -> float:
        value = number(text)
        if value is None or not np.isfinite(value):
            raise ValueError("it is no finite number, and no date")
        return value

    return TimeReader("number", plain)


def _dates(first: str, moment_of: Callable[[str], tuple[datetime, float]]) -> TimeReader:
    """Return what reads dates as seconds since the first, or since its midnight.

    Seconds since 1970 would leave no more than a quarter of a microsecond of each.

    Parameters
    ----------
    moment_of
        Returns the date of a cell, and seconds to add to it.  Raises ValueError.
    """
    try:
        origin = _utc(moment_of(first)[0])
    except ValueError:  # raised again where the cell itself is read
        origin = datetime(1970, 1, 1, tzinfo=UTC)

    def read(text: str) -> float:
        moment, further = moment_of(text)
        return (_utc(moment) - origin).total_seconds() + further

    return TimeReader("date", read)


def in_fitting_unit(seconds: Array) -> tuple[Array, str]:
    """Return seconds in days, or in minutes or seconds where the steps are shorter than an hour.

    Examples
    --------
    >>> in_fitting_unit(np.array([0.0, 30.0, 60.0]))[1], in_fitting_unit(np.arange(3) * 7200.0)[1]
    ('s', 'day')
    """
    steps = np.diff(seconds)
    step = float(np.median(steps[steps > 0])) if (steps > 0).any() else _DAY_SECONDS
    if step < _MINUTE_SECONDS:
        return seconds, SECOND
    if step < _HOUR_SECONDS:
        return seconds / _MINUTE_SECONDS, MINUTE
    return seconds / _DAY_SECONDS, DAY


def past_midnight(seconds: Array) -> Array:
    """Return clock times with a day more after each midnight.

    Examples
    --------
    >>> past_midnight(np.array([86340.0, 0.0, 60.0])).tolist()
    [86340.0, 86400.0, 86460.0]
    """
    wraps = np.diff(seconds, prepend=seconds[:1]) < -_DAY_SECONDS / 2
    return np.asarray(seconds + _DAY_SECONDS * np.cumsum(wraps))


def _iso(text: str) -> tuple[datetime, float]:
    if not _ISO.match(text):
        raise ValueError("it is no date, as those before are")
    below = _BELOW_MICROSECONDS.search(text)  # Python leaves these digits out
    return datetime.fromisoformat(text), float(f"0.{below[1]}") * 1e-6 if below else 0.0


def _by_format(text: str, time_format: str) -> datetime:
    return datetime.strptime(text, time_format)  # noqa: DTZ007 - UTC is put in below


def _utc(moment: datetime) -> datetime:
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def _day_first(texts: Iterable[str]) -> bool:
    """Return whether the day stands before the month."""
    found = [match for text in texts if (match := _YEAR_LAST.fullmatch(text))]
    first = max((int(match[1]) for match in found), default=0)
    second = max((int(match[3]) for match in found), default=0)
    if first > _MONTHS and second > _MONTHS:
        raise TimesError(
            "days and months change their places", "Write all dates alike, such as 2026-11-22."
        )
    if first > _MONTHS or second > _MONTHS:
        return first > _MONTHS
    if found and found[0][2] == ".":
        return True
    raise TimesError(
        "it may be the day or the month that stands first",
        "Say which: --time-format '%d/%m/%Y' where it is the day, or '%m/%d/%Y' (the signs of "
        "Python's strptime).",
    )


def _parted(
    pattern: re.Pattern[str], text: str, order: tuple[int, int, int], clock: int
) -> tuple[datetime, float]:
    match = pattern.fullmatch(text)
    if match is None:
        raise ValueError("it is no date, as those before are")
    parts = match.groups()
    year, month, day = (int(parts[place]) for place in order)
    year += 2000 * (year < _CENTURY)
    moment = datetime(year, month, day, tzinfo=UTC)
    return moment, _of_day(parts[clock:]) if parts[clock] else 0.0


def _clock(text: str) -> float:
    match = _CLOCK.fullmatch(text)
    if match is None:
        raise ValueError("it is no clock time, as those before are")
    return _of_day(match.groups())


def _of_day(parts: tuple[str | None, ...]) -> float:
    """Return the seconds since midnight of hours, minutes, seconds, and a or p.

    Raises
    ------
    ValueError
        If there are 60 minutes or seconds and more, or the first may be minutes as well as hours.
    """
    text = ":".join(part for part in parts[:3] if part)
    hours, minutes, seconds, half = parts
    hour, minute, second = (
        int(hours or 0),
        int(minutes or 0),
        float((seconds or "0").replace(",", ".")),
    )
    if max(minute, second) >= _SIXTY:
        raise ValueError(f"an hour has minutes up to 59, and a minute seconds; {text!r} has more")
    if seconds is None and 60 * hour + minute > 60 * _HOURS:
        raise ValueError(
            f"{text!r} may be hours and minutes, or minutes and seconds: write all three, as "
            f"{hour}:{minutes}:00 or {hour // 60:02d}:{hour % 60:02d}:{minutes}"
        )
    if half:
        hour = hour % 12 + 12 * (half.lower() == "p")
    return 3600.0 * hour + 60.0 * minute + second
