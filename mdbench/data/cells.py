"""Cells of a table of text: numbers, marks of missing values, and codes that stand for none."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from mdbench.data.columns import to_number
from mdbench.errors import counted

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

    Array = NDArray[np.float64]

_MARKS = frozenset(
    (
        *("", ".", "..", "-", "--", "---", "?", "*"),
        *("na", "n/a", "#n/a", "<na>", "n.a.", "nan", "#nan", "nat", "null", "nil", "none"),
        *("missing", "nd", "n.d.", "bdl", "bql", "blq", "lod", "<lod", "<lloq", "#div/0!"),
        *("#value!", "#ref!", "#null!", "#num!"),
    )
)
"""Texts, in lower case, that stand for no value."""
BEGINS_AS_NUMBER = re.compile(r"[+-]?[.,]?\d")
"""Texts whose first signs are those of a number."""
_LIMIT = re.compile(
    r"(?:[<>≤≥]=?|bdl|<lod|below|under)\s*[+-]?\d[\d.,]*(?:e[+-]?\d+)?", re.IGNORECASE
)
"""A value that is only known to be below or above a limit."""
_NAMED_CODES = frozenset(
    sign * size
    for sign in (1.0, -1.0)
    for size in (999.25, 9.96921e36, 1e20, 1e30, 1e34, 1e35, 1e36, 32767.0, 32768.0, 65535.0)
) | {2147483647.0, -2147483648.0}
"""Codes of no value in geology, netCDF and memory, besides those of nines."""
_FEWEST_VALUES = 5
"""Values that a column has besides its codes: fewer do not show what is usual in it."""
_CODE_APART, _ONE_APART, _VALUE_APART = 0.5, 2.0, 5.0
"""How far outside the others, in their range, values are that look like codes; one cell of these
above the others; and any other value."""
_SEVERAL = 3
"""Cells of one value, far outside the others, from which on it is taken for a code."""
_MOST_CODES = 4


class Row(NamedTuple):
    """The cells of a line, and its number in the file."""

    number: int
    cells: Sequence[str]


@dataclass(frozen=True)
class Cells:
    """A table of text.

    Attributes
    ----------
    labels
        The titles of the columns, as in the file.
    rows
        The lines below, each with a cell for each column.
    decimal_comma
        Whether decimals may stand behind a comma.
    """

    labels: tuple[str, ...]
    rows: Sequence[Row]
    decimal_comma: bool = False

    def column(self, place: int) -> list[str]:
        """Return the cells of a column without blanks around them."""
        return [row.cells[place].strip() for row in self.rows]

    def without(self, places: Iterable[int]) -> Cells:
        """Return the table without some of its columns."""
        out = set(places)
        keep = [place for place in range(len(self.labels)) if place not in out]
        return Cells(
            tuple(self.labels[place] for place in keep),
            [Row(row.number, [row.cells[place] for place in keep]) for row in self.rows],
            self.decimal_comma,
        )

    def with_column(self, index: int, label: str, texts: Sequence[str]) -> Cells:
        """Return the table with one more column, at a place."""
        labels = (*self.labels[:index], label, *self.labels[index:])
        rows = [
            Row(row.number, [*row.cells[:index], text, *row.cells[index:]])
            for row, text in zip(self.rows, texts, strict=True)
        ]
        return Cells(labels, rows, self.decimal_comma)


def is_missing(text: str) -> bool:
    """Return whether a cell says that there is no value, or only that it is beyond a limit.

    Examples
    --------
    >>> [is_missing(text) for text in (".", "NA", " - ", "<0.5", "0.5", "ok")]
    [True, True, True, True, False, False]
    """
    plain = text.strip()
    return plain.lower() in _MARKS or is_limit(plain)


class NoValues:
    """The cells that stand for no value: marks such as ``NA``, and what somebody has named.

    Parameters
    ----------
    named
        Texts and numbers; ``none`` where numbers that look like codes are values.
    decimal_comma
        Whether decimals may stand behind a comma.

    Examples
    --------
    >>> "-999.00" in NoValues(["-999", "M"]), "m" in NoValues(["M"]), "M" in NoValues([])
    (True, True, False)
    """

    def __init__(self, named: Sequence[str], *, decimal_comma: bool = False) -> None:
        self._comma = decimal_comma
        self._texts = {text.lower() for text in named}
        numbers = (number_of(text, decimal_comma=decimal_comma) for text in named)
        self.numbers = {number for number in numbers if number is not None}
        self.codes_are_values = "none" in self._texts

    def __contains__(self, cell: str) -> bool:
        text = cell.strip()
        if is_missing(text) or text.lower() in self._texts:
            return True
        return bool(self.numbers) and number_of(text, decimal_comma=self._comma) in self.numbers


def is_limit(text: str) -> bool:
    """Return whether a cell is a limit such as ``<0.5``, below or above which the value lies."""
    return _LIMIT.fullmatch(text.strip()) is not None


def looks_like_code(value: float) -> bool:
    """Return whether a number is written as codes of no value are: -9999, 999.9, -999.25.

    Examples
    --------
    >>> [looks_like_code(value) for value in (-9999.0, 999.9, -999.25, -99.0, 99.5, 1000.0)]
    [True, True, True, True, False, False]
    """
    digits = f"{value:.10g}".lstrip("-").replace(".", "")
    alike = len(set(digits)) == 1 and digits[0] in "9876"
    return value in _NAMED_CODES or (alike and len(digits) >= (2 if digits[0] == "9" else 3))


def codes_in(values: Array) -> dict[float, int]:
    """Return numbers of a column that seem to stand for no value, and in how many cells each is.

    Those are numbers that look like codes and lie outside all others, and numbers of several cells
    that lie far outside.

    Parameters
    ----------
    values
        Of a column, NaN where there is none.

    Examples
    --------
    >>> codes_in(np.array([3.1, 3.4, 2.9, 3.3, 3.8, 4.1, -9999.0, -9999.0, 9999.0]))
    {-9999.0: 2, 9999.0: 1}
    """
    finite = values[np.isfinite(values)]
    counts = Counter(finite.tolist())
    if len(counts) <= _FEWEST_VALUES:
        return {}
    suspects = {value for value in counts if looks_like_code(value)}
    usual = np.array(sorted(set(counts) - suspects))
    codes = {}
    if suspects and len(usual) >= _FEWEST_VALUES:
        low, high = float(usual[0]), float(usual[-1])
        for value in sorted(suspects):
            apart = max(low - value, value - high)
            foreign = value < 0 <= low  # a code below zero among values that never are
            several = counts[value] > 1 or abs(value) >= 999  # noqa: PLR2004 - 99 may be one
            once = counts[value] == 1 and value > 0  # may be the first value of what decays
            far = apart > (_ONE_APART if once else _CODE_APART) * (high - low)
            if several and (far or (foreign and apart > 0)):
                codes[value] = counts[value]
    if len(codes) > _MOST_CODES:
        return {}
    others = {value: count for value, count in counts.items() if value not in codes}
    return dict(sorted((codes | _far_values(others)).items()))


def listed_codes(codes: dict[float, int]) -> str:
    """Return numbers that seem to stand for no value, and in how many cells each is, in words."""
    return ", ".join(f"{counted(count, 'cell')} of {value:.10g}" for value, count in codes.items())


def _far_values(counts: dict[float, int]) -> dict[float, int]:
    """Return numbers of several cells each that lie far outside all others, on both sides."""
    values = np.array(sorted(counts))
    far: dict[float, int] = {}
    for below in range(_MOST_CODES + 1):
        for above in range(_MOST_CODES + 1 - below):
            core = values[below : len(values) - above]
            outside = [*values[:below].tolist(), *values[len(values) - above :].tolist()]
            if len(core) <= _FEWEST_VALUES or len(outside) <= len(far):
                continue
            low, high = float(core[0]), float(core[-1])
            if all(
                counts[value] >= _SEVERAL
                and max(low - value, value - high) > _VALUE_APART * (high - low)
                for value in outside
            ):
                far = {value: counts[value] for value in outside}
    return far


def number_of(text: str, *, decimal_comma: bool) -> float | None:
    """Return the number in a cell, None without one.

    Decimals may stand behind a comma, and exponents behind a D, as Fortran writes them.

    Examples
    --------
    >>> number_of("1,5", decimal_comma=True), number_of("1.5D-01", decimal_comma=False)
    (1.5, 0.15)
    """
    if _FORTRAN.fullmatch(text):
        text = text.replace("D", "e").replace("d", "e")
    if decimal_comma and _COMMA.fullmatch(text):
        text = text.replace(",", ".")
    return to_number(text)


_FORTRAN = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)[dD][+-]?\d+")
_COMMA = re.compile(r"[+-]?\d*,\d+(?:[eE][+-]?\d+)?")
