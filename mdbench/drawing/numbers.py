"""Numbers as text, rounded as a browser's script rounds them: a half goes up."""

from __future__ import annotations

import math
from decimal import ROUND_HALF_UP, Decimal

NOTHING = "–"
NO_ANSWER = "none"
"""The text of an infinite score: there was no answer."""
ENDLESS = 1e300
"""Scores from here on are shown as infinite."""


def cleanest_first(snr_db: float | None) -> float:
    """Return what noise levels are sorted by.

    Examples
    --------
    >>> sorted([10.0, None, 40.0], key=cleanest_first)
    [None, 40.0, 10.0]
    """
    return -math.inf if snr_db is None else -snr_db


def noise_name(snr_db: float | None, *, measured: bool = False) -> str:
    """Name a noise level; measurements to which none was added are not called clean.

    Examples
    --------
    >>> noise_name(None), noise_name(40.0), noise_name(None, measured=True)
    ('clean', '40 dB', 'as measured')
    """
    if snr_db is not None:
        return f"{snr_db:g} dB"
    return "as measured" if measured else "clean"


def scientific(value: float | None) -> str:
    """Write a number with two digits, as a power of ten only where that is shorter.

    Examples
    --------
    >>> scientific(1.25), scientific(9.96), scientific(0.0), scientific(math.inf)
    ('1.3', '10', '0', 'none')
    >>> scientific(0.00125), scientific(-0.000125), scientific(1250.0)
    ('0.0013', '-1.3e-4', '1.3e3')
    """
    if value is None:
        return NOTHING
    if math.isinf(value):
        return NO_ANSWER
    if value == 0:
        return "0"
    if abs(value) >= ENDLESS:
        return "∞" if value > 0 else "-∞"
    exact = Decimal(abs(value))
    power = exact.adjusted()
    mantissa = exact.scaleb(-power).quantize(Decimal("0.1"), ROUND_HALF_UP)
    if mantissa >= 10:  # noqa: PLR2004 - 9.96 is 1.0e1
        mantissa, power = Decimal("1.0"), power + 1
    sign = "-" if value < 0 else ""
    if -3 <= power <= 2:  # noqa: PLR2004 - from 0.0010 to 990
        return f"{sign}{mantissa.scaleb(power):.{max(0, 1 - power)}f}"
    return f"{sign}{mantissa}e{power}"


def fixed(value: float | None, digits: int = 0) -> str:
    """Write a number with so many digits behind the point.

    Examples
    --------
    >>> fixed(2.5), fixed(1.005, 2), fixed(None)
    ('3', '1.00', '–')
    """
    if value is None:
        return NOTHING
    if math.isinf(value):
        return NO_ANSWER
    return str(Decimal(value).quantize(Decimal(1).scaleb(-digits), ROUND_HALF_UP))


def rounded(value: float | None, digits: int) -> str:
    """Write a number with so many digits behind the point, or as a power where it is large.

    Examples
    --------
    >>> rounded(0.98765, 3), rounded(-31400.0, 3), rounded(31400.0, 0)
    ('0.988', '-3.1e4', '31400')
    """
    large = 1e3 if digits else 1e6
    if value is None or math.isinf(value) or abs(value) <= large:
        return fixed(value, digits)
    return scientific(value)


def percent(share: float | None, between: str = "\xa0") -> str:
    r"""Write a share as all tables do: a half is rounded up, and less than all is never 100 %.

    The text `between` number and sign is a space that does not break.  What is not none is not
    rounded to 0 %, and what is not all not to 100 %.

    Examples
    --------
    >>> [percent(share).replace("\xa0", " ") for share in (0.115, 2 / 3, 0.0, 0.001, 0.999, 1.0)]
    ['12 %', '67 %', '0 %', '1 %', '99 %', '100 %']
    """
    if share is None or math.isinf(share):
        return fixed(share)
    # 0.115 is a little less in binary: fifteen digits give what was meant.
    exact = 100 * Decimal(f"{share:.15g}")
    whole = int(exact.quantize(Decimal(1), ROUND_HALF_UP))
    if 0 < share < 1:
        whole = min(99, max(1, whole))
    return f"{whole}{between}%"


def duration(seconds: float | None) -> str:
    """Write a time.

    Examples
    --------
    >>> [duration(s) for s in (0.0423, 1.25, 75.0, 3725.0)]
    ['42 ms', '1.3 s', '75 s', '1.0 h']
    """
    if seconds is None:
        return NOTHING
    if seconds < 0.0995:  # noqa: PLR2004 - from here on it is shown as 0.1 s
        return f"{fixed(1000 * seconds)} ms"
    if seconds < 10:  # noqa: PLR2004 - one digit more for what is short
        return f"{fixed(seconds, 1)} s"
    if seconds < 3600:  # noqa: PLR2004 - an hour
        return f"{fixed(seconds)} s"
    return f"{fixed(seconds / 3600, 1)} h"
