"""Dates and clock times written as whole numbers: 20250131, 2025013123, 202012, 0850, 202452.

Read as plain numbers they have a jump wherever a month, a year or an hour ends.  A reading is taken
where every cell is a valid date or clock time by it, and the steps are those of dates: even where
those of the numbers are not.
"""

from __future__ import annotations

import re
from datetime import UTC, date, datetime
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from mdbench.data.roles import EVEN

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    Array = NDArray[np.float64]

_SERIAL_DATE = re.compile(r"date|datum|fecha|data|datetime|datenum|serial|jd|mjd|julian|excel")
_SERIALS = ((20_000.0, 80_000.0), (690_000.0, 780_000.0), (2_400_000.0, 2_500_000.0))
"""Days since 1899-12-30 of spreadsheets (and the modified Julian date), since the year 0, and the
Julian date."""
_FIRST_YEAR, _LAST_YEAR = 1700, 2299
_LARGEST_CLOCK = 2400
_AN_HOUR, _CLOCK_DIGITS, _DIGITS_OF_A_DAY = 3, 6, 8
_SURELY, _HOURS = 15, 3
"""Rows in that many hours, none with 60 minutes or more: this is not chance."""
_YEAR = re.compile(r"year|jahr|ann[eé]e|a[nñ]o|\byr")
_DAY = 86_400.0


class Form(NamedTuple):
    """A way to read whole numbers as times.

    Attributes
    ----------
    name
        As people write it, and as ``--time-format`` has it: ``YYYYMMDD``.
    unit
        Of the times that are read; empty for seconds.
    read
        Returns the time of the digits.  Raises ValueError.
    """

    name: str
    unit: str
    read: Callable[[str], float]

    @property
    def is_clock(self) -> bool:
        """Whether it is a time of day, which begins again at midnight."""
        return self.name.startswith("HH")


class SeveralFormsError(ValueError):
    """Numbers that may be dates in several ways; `forms` are these."""

    def __init__(self, forms: tuple[Form, ...]) -> None:
        super().__init__(" or ".join(form.name for form in forms))
        self.forms = forms


def _dated(time_format: str) -> Callable[[str], float]:
    def read(digits: str) -> float:
        moment = datetime.strptime(digits, time_format).replace(tzinfo=UTC)
        if not _FIRST_YEAR <= moment.year <= _LAST_YEAR:
            raise ValueError("a year like this is no year of a measurement")
        return moment.timestamp()

    return read


def _month(digits: str) -> float:
    year, month = int(digits[:4]), int(digits[4:])
    if not (_FIRST_YEAR <= year <= _LAST_YEAR and 1 <= month <= 12):  # noqa: PLR2004
        raise ValueError("it is no month of a year")
    return 12.0 * year + month


def _week(digits: str) -> float:
    year, week = int(digits[:4]), int(digits[4:])
    if not _FIRST_YEAR <= year <= _LAST_YEAR:
        raise ValueError("it is no week of a year")
    return date.fromisocalendar(year, week, 1).toordinal() / 7.0


def _clock(digits: str) -> float:
    hour, minute = int(digits[:-2] or 0), int(digits[-2:])
    if minute >= 60 or int(digits) > _LARGEST_CLOCK:  # noqa: PLR2004
        raise ValueError("it is no hour and minute")
    return 3600.0 * hour + 60.0 * minute


def _clock_with_seconds(digits: str) -> float:
    padded = digits.zfill(6)
    hour, minute, second = int(padded[:2]), int(padded[2:4]), int(padded[4:])
    if hour > 24 or minute >= 60 or second >= 60:  # noqa: PLR2004
        raise ValueError("it is no hour, minute and second")
    return 3600.0 * hour + 60.0 * minute + second


_FORMS = {
    8: (Form("YYYYMMDD", "", _dated("%Y%m%d")),),
    10: (Form("YYYYMMDDHH", "", _dated("%Y%m%d%H")),),
    12: (Form("YYYYMMDDHHMM", "", _dated("%Y%m%d%H%M")),),
    14: (Form("YYYYMMDDHHMMSS", "", _dated("%Y%m%d%H%M%S")),),
    7: (Form("YYYYDDD", "", _dated("%Y%j")),),
    6: (
        Form("YYYYMM", "month", _month),
        Form("YYYYWW", "week", _week),
        Form("YYMMDD", "", _dated("%y%m%d")),
        Form("HHMMSS", "", _clock_with_seconds),
    ),
}
"""Forms of dates by their number of digits; all cells have the same number."""
_CLOCKS = (Form("HHMM", "", _clock), Form("HHMMSS", "", _clock_with_seconds))
"""Forms of clock times; leading zeros may be missing, and digits with them."""


FORMS = {form.name: form for forms in (*_FORMS.values(), _CLOCKS) for form in forms}
"""All of them, by name."""


def form_of(texts: Sequence[str], label: str) -> Form | None:
    """Return how whole numbers are to be read as times; None where they are numbers.

    Parameters
    ----------
    texts
        All cells of the column.
    label
        Its title.

    Raises
    ------
    SeveralFormsError
        If several readings fit.

    Examples
    --------
    >>> months = [f"{2020 + k // 12}{k % 12 + 1:02d}" for k in range(30)]
    >>> form_of(months, "period").name
    'YYYYMM'
    >>> form_of([str(year) for year in range(1900, 1930)], "year") is None
    True
    """
    if not texts or not digits_of(texts[0]).isdigit():
        return None
    texts = [digits_of(text) for text in texts]
    if len(texts) < 2 or not all(text.isascii() and text.isdigit() for text in texts):  # noqa: PLR2004
        return None
    lengths = {len(text) for text in texts}
    alike, longest = (lengths.pop() if len(lengths) == 1 else 0), max(map(len, texts))
    padded = any(text.startswith("0") and len(text) > 1 for text in texts)
    numbers = np.array([float(text) for text in texts])
    forms = list(_FORMS.get(alike, ()))
    if alike not in _FORMS and _AN_HOUR <= longest <= _CLOCK_DIGITS:
        forms += [form for form in _CLOCKS if len(form.name) in {longest, longest + 1}]
    fitting = [(form, times) for form in forms if (times := _times(form, texts)) is not None]
    if alike >= _DIGITS_OF_A_DAY and fitting:  # every row a date by so many digits is no chance
        return fitting[0][0]
    if not fitting or (_is_even(numbers) and not padded):
        return None
    likely = [form for form, times in fitting if _is_even(times, wraps=form.is_clock)]
    if not likely and not (_YEAR.search(label.lower()) and not padded):
        likely = [
            form
            for form, _ in fitting
            if padded
            or not form.is_clock
            or (len(numbers) >= _SURELY and len(np.unique(numbers // 100)) >= _HOURS)
        ]
    if len(likely) > 1:
        raise SeveralFormsError(tuple(likely))
    return likely[0] if likely else None


def digits_of(text: str) -> str:
    """Return the digits of a whole number, which may be written with a zero behind a point."""
    return re.sub(r"\.0+$", "", text.strip())


def _times(form: Form, texts: Sequence[str]) -> Array | None:
    try:
        return np.array([form.read(text) for text in texts])
    except ValueError:
        return None


def _is_even(times: Array, *, wraps: bool = False) -> bool:
    """Return whether steps are alike; those of a clock past midnight, too."""
    steps = np.diff(times)
    if np.median(steps) < 0:  # newest first
        steps = -steps
    if wraps:
        steps = np.where(steps < -_DAY / 2, steps + _DAY, steps)
    usual = float(np.median(steps))
    return bool(usual > 0 and np.ptp(steps) <= EVEN * usual)


def may_count_days(label: str) -> bool:
    """Return whether a column is named as dates or times since 1970 are, which are numbers."""
    return bool(_SERIAL_DATE.search(label.lower()) or _EPOCH.search(label.lower()))


def serial_day(values: Array, label: str) -> bool:
    """Return whether numbers are dates as days: of a spreadsheet, MATLAB, or Julian.

    Examples
    --------
    >>> serial_day(45292.0 + np.arange(20) / 24, "Date")
    True
    >>> serial_day(np.arange(20.0), "Date"), serial_day(45292.0 + np.arange(20), "t")
    (False, False)
    """
    named = _SERIAL_DATE.search(label.lower()) is not None
    return named and any(
        low <= float(values.min()) and float(values.max()) <= high for low, high in _SERIALS
    )


_EPOCH = re.compile(r"timestamp|epoch|unix|posix")
_SINCE_1970 = (9e8, 2.2e9)
"""Seconds since 1970 of the years 1998 to 2039."""


def since_1970(values: Array, label: str) -> float:
    """Return the seconds of a unit in which numbers are times since 1970; 0 for other numbers.

    Examples
    --------
    >>> stamps = 1.7e9 + 60 * np.arange(9.0)
    >>> since_1970(stamps, "timestamp"), since_1970(1e3 * stamps, "unix_ms")
    (1.0, 0.001)
    >>> since_1970(stamps, "t")
    0.0
    """
    low, high = _SINCE_1970
    for size in (1.0, 1e-3) if _EPOCH.search(label.lower()) else ():
        if low <= float(values.min()) * size and float(values.max()) * size <= high:
            return size
    return 0.0
