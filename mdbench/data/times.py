"""Times as people write them: numbers, dates, clock times; and units that fit their steps."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta, tzinfo
from functools import partial
from typing import TYPE_CHECKING, Literal
from zoneinfo import ZoneInfo

import numpy as np

from mdbench.data.columns import NUMBER
from mdbench.data.date_numbers import (
    FORMS,
    SeveralFormsError,
    digits_of,
    form_of,
    may_count_days,
    serial_day,
    since_1970,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from numpy.typing import NDArray

    from mdbench.data.date_numbers import Form

    Array = NDArray[np.float64]
    Kind = Literal["number", "date", "clock", "calendar"]

DAY, MINUTE, SECOND = "day", "min", "s"
"""Units of times that are dates or clock times: days, or smaller ones where steps are short."""

UNIT_SECONDS = {DAY: 86400.0, MINUTE: 60.0, SECOND: 1.0}
_DAY_SECONDS, _HOUR_SECONDS, _MINUTE_SECONDS = 86400.0, 3600.0, 60.0
_ISO = re.compile(r"\d{4}-\d{2}-\d{2}")
_BELOW_MICROSECONDS = re.compile(r"[.,]\d{6}(\d+)")
_CLOCK_TEXT = r"(\d{1,3}):(\d{2})(?::(\d{2}(?:[.,]\d+)?))?\s*([AaPp])?\.?[Mm]?\.?"
_CLOCK = re.compile(_CLOCK_TEXT)
_YEAR_LAST = re.compile(
    rf"(\d{{1,2}})([./-])(\d{{1,2}})\2(\d{{4}}|\d{{2}})(?:[ T,]+{_CLOCK_TEXT})?"
)
_YEAR_FIRST = re.compile(rf"(\d{{4}})([./])(\d{{1,2}})\2(\d{{1,2}})(?:[ T,]+{_CLOCK_TEXT})?")
_DURATION = re.compile(
    r"(?P<sign>-?)(?:(?P<days>\d+) days?,? ?\+?)?"
    r"(?:(?P<h>\d+):(?P<m>\d{2}):(?P<s>\d{2}(?:\.\d+)?))?"
)
"""As pandas and Python write spans of time: ``1 days 02:30:00``."""
_WEEK = re.compile(r"(\d{4})[- ]?[Ww](?:eek)?[- ]?(\d{1,2})(?:-([1-7]))?")
_MONTH = re.compile(r"(\d{4})(?:[-/]|[Mm])(\d{1,2})")
_QUARTER = re.compile(r"(\d{4})[- ]?[Qq]([1-4])")
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
        ``number``; ``date`` or ``clock``, which are read as seconds; ``calendar``: weeks, months
        or quarters, which are counted.
    read
        Returns the time of a cell.  Raises ValueError.
    unit
        The unit of the numbers.
    form
        How whole numbers are read as dates; empty for others.
    """

    kind: Kind
    read: Callable[[str], float]
    unit: str = ""
    form: str = ""


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
        or _is_duration(text)
        or any(pattern.fullmatch(text) for pattern in _CALENDAR)
    )


def _is_duration(text: str) -> bool:
    match = _DURATION.fullmatch(text)
    return bool(text and match and (match["days"] or match["h"]))


def time_reader(
    cells: Iterable[str],
    number: Callable[[str], float | None],
    time_format: str = "",
    *,
    zone: str = "",
    label: str = "",
) -> TimeReader:
    """Return what reads a column of times; its first cell decides which kind they are of.

    Parameters
    ----------
    cells
        All cells of the column, by which days and months are distinguished.
    number
        Reads a number; None where a text is none.
    time_format
        A format of `datetime.strptime`, the name of one of `FORMS` such as ``YYYYMM``, or
        `NUMBER` for numbers alone; empty to find it.
    zone
        The time zone of dates without one, such as ``Europe/Berlin``; empty for one clock.
    label
        The title of the column.

    Raises
    ------
    TimesError
        If it is not certain which of two numbers is the day, or in which way whole numbers are
        dates.

    Examples
    --------
    >>> reader = time_reader(["1.2.2026", "13.2.2026"], lambda text: None)
    >>> reader.kind, (reader.read("13.2.2026") - reader.read("1.2.2026")) / 86400
    ('date', 12.0)
    """
    texts = [cell.strip() for cell in cells]
    first = next(iter(texts), "")
    if time_format in FORMS:
        return _of_form(FORMS[time_format], first)
    if time_format != NUMBER and (moment := _moment_reader(texts, time_format)) is not None:
        return _dates(first, moment, zone)
    for pattern, (unit, read) in _CALENDAR.items():
        if pattern.fullmatch(first):
            return TimeReader("calendar", partial(_counted, pattern, read), unit)
    if _CLOCK.fullmatch(first):
        return TimeReader("clock", _clock)
    if _is_duration(first):
        return TimeReader("date", _duration)

    def plain(text: str) -> float:
        value = number(text)
        if value is None or not np.isfinite(value):
            raise ValueError("it is no finite number, and no date")
        return value

    return (not time_format and _of_numbers(texts, plain, label)) or TimeReader("number", plain)


def _moment_reader(
    texts: Sequence[str], time_format: str
) -> Callable[[str], tuple[datetime, float]] | None:
    """Return what reads dates, and seconds to add to each; None where texts are no dates."""
    first = next(iter(texts), "")
    if time_format:
        return lambda text: (_by_format(digits_of(text), time_format), 0.0)
    if _ISO.match(first):
        return _iso
    if _YEAR_FIRST.fullmatch(first):
        return lambda text: _parted(_YEAR_FIRST, text, (0, 2, 3), 4)
    if _YEAR_LAST.fullmatch(first):
        order = (3, 2, 0) if _day_first(texts) else (3, 0, 2)
        return lambda text: _parted(_YEAR_LAST, text, order, 4)
    return None


def _counted(pattern: re.Pattern[str], read: Callable[[re.Match[str]], float], text: str) -> float:
    return read(_matched(pattern, text))


def _of_numbers(
    texts: Sequence[str], plain: Callable[[str], float], label: str
) -> TimeReader | None:
    """Return what reads numbers as dates, where they are some."""
    try:
        form = form_of(texts, label)
    except SeveralFormsError as error:
        ways = [each.name for each in error.forms]
        raise TimesError(
            f"{texts[0]} may be {' or '.join(ways)}",
            f"Say which: --time-format {ways[0]}; where they are plain numbers: --time-format "
            f"{NUMBER}",
        ) from None
    return _of_form(form, texts[0]) if form is not None else _of_serials(texts, plain, label)


def _of_form(form: Form, first: str) -> TimeReader:
    kind: Kind = "clock" if form.is_clock else "calendar" if form.unit else "date"
    return TimeReader(
        kind, lambda text: form.read(digits_of(text)), form.unit, f"{form.name}, as {first}"
    )


def _of_serials(
    texts: Sequence[str], plain: Callable[[str], float], label: str
) -> TimeReader | None:
    """Return what reads the days of a spreadsheet's calendar, where numbers are these."""
    if not may_count_days(label):
        return None
    try:
        values = np.array([plain(text) for text in texts])
    except ValueError:
        return None
    if not len(values):
        return None
    origin = float(values[0])
    if serial_day(values, label):  # to the millisecond: a serial of a spreadsheet has no more
        return TimeReader(
            "date",
            lambda text: round((plain(text) - origin) * _DAY_SECONDS, 3),
            form=f"days of a calendar, as {texts[0]}",
        )
    if size := since_1970(values, label):
        return TimeReader(
            "date",
            lambda text: (plain(text) - origin) * size,
            form=f"{'seconds' if size == 1.0 else 'milliseconds'} since 1970, as {texts[0]}",
        )
    return None


def _matched(pattern: re.Pattern[str], text: str) -> re.Match[str]:
    match = pattern.fullmatch(text)
    if match is None:
        raise ValueError("it is not written as those before are")
    return match


def _week(match: re.Match[str]) -> float:
    year, week, day = int(match[1]), int(match[2]), int(match[3] or 1)
    return date.fromisocalendar(year, week, day).toordinal() / 7.0


def _month(match: re.Match[str]) -> float:
    if not 1 <= int(match[2]) <= _MONTHS:
        raise ValueError("months are 1 to 12")
    return float(_MONTHS * int(match[1]) + int(match[2]))


_CALENDAR: dict[re.Pattern[str], tuple[str, Callable[[re.Match[str]], float]]] = {
    _WEEK: ("week", _week),
    _MONTH: ("month", _month),
    _QUARTER: ("quarter", lambda match: 4.0 * int(match[1]) + int(match[2])),
}
"""Times that are counted in units of their own: weeks after ISO 8601, months, quarters."""


def _duration(text: str) -> float:
    match = _DURATION.fullmatch(text)
    if not text or match is None or not (match["days"] or match["h"]):
        raise ValueError("it is no span of time, as those before are")
    clock = 3600.0 * int(match["h"] or 0) + 60.0 * int(match["m"] or 0) + float(match["s"] or 0.0)
    days = int(match["days"] or 0) * (-1 if match["sign"] else 1)
    return _DAY_SECONDS * days + clock  # as Python has it: -1 days +23:00:00 is an hour before


_NAMED_MONTHS = (
    *("%d-%b-%Y", "%d-%b-%y", "%d %b %Y", "%d %B %Y", "%b %d, %Y", "%B %d, %Y", "%b %d %Y"),
    *("%d/%b/%Y", "%d.%b.%Y", "%a %b %d %Y", "%d%b%Y", "%d%b%y", "%Y-%b-%d", "%d-%B-%Y"),
)
_CLOCKS = ("", " %H:%M", " %H:%M:%S", "T%H:%M:%S", " %I:%M %p", " %I:%M:%S %p", ":%H:%M:%S")


def common_format(texts: Sequence[str]) -> str:
    """Return the format, as `datetime.strptime` has it, of dates with names of months.

    Examples
    --------
    >>> common_format(["31-Jan-2024 10:30", "01-Feb-2024 11:00"]), common_format(["soon"])
    ('%d-%b-%Y %H:%M', '')
    """
    for form in (day + clock for day in _NAMED_MONTHS for clock in _CLOCKS):
        try:
            for text in texts:
                _by_format(text, form)
        except ValueError:
            continue
        return form if texts else ""
    return ""


def zone_of(name: str) -> ZoneInfo:
    """Return a time zone by its name.

    Raises
    ------
    ValueError
        If there is none of this name.
    """
    try:
        return ZoneInfo(name)
    except (KeyError, OSError, ValueError):
        raise ValueError(f"there is no time zone {name!r}") from None


def _dates(
    first: str, moment_of: Callable[[str], tuple[datetime, float]], zone: str = ""
) -> TimeReader:
    """Return what reads dates as seconds since the first, or since its midnight.

    Seconds since 1970 would leave no more than a quarter of a microsecond of each.  In a time zone
    the hour that comes twice in autumn is the second one where times would fall or stay else.

    Parameters
    ----------
    moment_of
        Returns the date of a cell, and seconds to add to it.  Raises ValueError.
    """
    zone_info = zone_of(zone) if zone else UTC
    before = [-np.inf]
    try:
        origin = _in_zone(moment_of(first)[0], UTC)
    except ValueError:  # raised again where the cell itself is read
        origin = datetime(1970, 1, 1, tzinfo=UTC)

    def read(text: str) -> float:
        moment, further = moment_of(text)
        moment = moment if zone or moment.tzinfo else moment.replace(tzinfo=UTC)
        if zone and further:  # the time of day, which is not yet in the date
            moment, further = moment + timedelta(seconds=further), 0.0
        seconds = (_in_zone(moment, zone_info) - origin).total_seconds() + further
        if zone and seconds <= before[0]:
            later = (_in_zone(moment.replace(fold=1), zone_info) - origin).total_seconds()
            seconds = later if later - seconds > 0 else seconds
        before[0] = seconds
        return seconds

    return TimeReader("date", read)


def in_fitting_unit(seconds: Array) -> tuple[Array, str]:
    """Return seconds in days, or in minutes or seconds where the steps are shorter than an hour.

    Examples
    --------
    >>> in_fitting_unit(np.array([0.0, 30.0, 60.0]))[1], in_fitting_unit(np.arange(3) * 7200.0)[1]
    ('s', 'day')
    """
    steps = np.abs(np.diff(seconds))  # of the newest first, too
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


def _in_zone(moment: datetime, zone: tzinfo) -> datetime:
    """Return a moment in UTC: one without a zone of its own is of `zone`."""
    return (moment if moment.tzinfo else moment.replace(tzinfo=zone)).astimezone(UTC)


def _day_first(texts: Iterable[str]) -> bool:
    """Return whether the day stands before the month."""
    matches = [match for text in texts if (match := _YEAR_LAST.fullmatch(text))]
    first = max((int(match[1]) for match in matches), default=0)
    second = max((int(match[3]) for match in matches), default=0)
    if first > _MONTHS and second > _MONTHS:
        raise TimesError(
            "days and months change their places", "Write all dates alike, such as 2026-11-22."
        )
    if first > _MONTHS or second > _MONTHS:
        return first > _MONTHS
    if matches and matches[0][2] == ".":
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
    moment = datetime(year, month, day)  # noqa: DTZ001 - the zone is put in above
    return moment, _of_day(parts[clock:]) if parts[clock] else 0.0


def _clock(text: str) -> float:
    match = _CLOCK.fullmatch(text)
    if match is None:
        raise ValueError("it is no clock time, as those before are")
    return _of_day(match.groups())


def clock_text(text: str) -> str:
    """Return a clock time, which may be four or six digits, with hours, minutes and seconds.

    Examples
    --------
    >>> clock_text("9:05"), clock_text("905"), clock_text("9:05 PM")
    ('09:05:00', '09:05:00', '21:05:00')

    Raises
    ------
    ValueError
        If it is none.
    """
    plain = digits_of(text)
    if plain.isdigit():
        short = len(plain) <= 4  # noqa: PLR2004 - HHMM
        padded = plain.zfill(4) + "00" if short else plain.zfill(6)
        text = f"{padded[:2]}:{padded[2:4]}:{padded[4:]}"
    seconds = _clock(text.strip())
    whole, rest = divmod(round(seconds, 6), 1.0)
    parts = int(whole // 3600), int(whole // 60 % 60), int(whole % 60)
    return ":".join(f"{part:02d}" for part in parts) + (f"{rest:.6f}"[1:] if rest else "")


def day_text(text: str) -> str:
    """Return a date that may be eight digits as one that a clock time can follow."""
    plain = digits_of(text)
    return f"{plain[:4]}-{plain[4:6]}-{plain[6:]}" if re.fullmatch(r"\d{8}", plain) else text


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
