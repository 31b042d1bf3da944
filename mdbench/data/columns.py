"""Columns of a user's file: what they are called, in what unit, and by what name in equations."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

MISSING = ("refuse", "drop", "interpolate")
"""Ways to treat cells without a value."""
NUMBER = "number"
"""The time format of numbers that are no dates, whatever they look like."""
TIME_FORMS = (
    *("YYYYMMDD", "YYYYMMDDHH", "YYYYMMDDHHMM", "YYYYMMDDHHMMSS", "YYYYDDD"),
    *("YYYYMM", "YYYYWW", "YYMMDD", "HHMMSS", "HHMM"),
)
"""The time formats of dates and clock times that are whole numbers."""
LONGEST = 40
"""Characters of a name in equations."""
_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_UNIT = re.compile(r"^(?P<label>.*?)\s*(?:\[(?P<square>[^\[\]]*)\]|\((?P<round>[^()]*)\))$")
_LETTER = re.compile(r"^(?:GREEK|LATIN) (?:SMALL|CAPITAL) LETTER (?P<name>[A-Z]+)")
_NAME = re.compile(r"(?<![\w.])[A-Za-z_]\w*")
_TIME = "t"
_RATE = "_t"
"""The end of a left-hand side, after the name of its variable."""


@dataclass(frozen=True)
class LabelledColumn:
    """A column of a table.

    Attributes
    ----------
    label
        As the file has it, without the unit.
    name
        Its name in equations: ASCII letters, digits and underscores.
    unit
        As in the file; empty where the file has none.
    """

    label: str
    name: str
    unit: str = ""

    @property
    def title(self) -> str:
        """The label with its unit, as at an axis."""
        return f"{self.label} [{self.unit}]" if self.unit else self.label


def columns_of(cells: Sequence[str], taken: Collection[str] = ()) -> tuple[LabelledColumn, ...]:
    """Make columns of the cells of a header.

    A unit follows the label in square or round brackets.  Names keep what they can of the
    label: accents go, Greek letters are spelled out, and what no name may have becomes an
    underscore.  A name that is taken, or is there twice, gets a number.

    Parameters
    ----------
    cells
        The texts of the header.
    taken
        Names that mean something else, such as those of functions.

    Examples
    --------
    >>> [one.name for one in columns_of(["Prey [thousand]", "θ", "sin", "2nd wind (m/s)"], ["sin"])]
    ['Prey', 'theta', 'sin_2', 'c2nd_wind']
    >>> columns_of(["Prey [thousand]"])[0].title
    'Prey [thousand]'
    """
    used = {*taken, _TIME}
    columns = []
    for number, cell in enumerate(cells):
        match = _UNIT.match(cell.strip())
        label, unit = cell.strip(), ""
        if match and match["label"]:
            label, unit = match["label"], (match["square"] or match["round"] or "").strip()
        name = _free(_identifier(label) or f"c{number}", used)
        used |= {name, f"{name}{_RATE}"}
        columns.append(LabelledColumn(label, name, unit))
    return tuple(columns)


def equation_names(labels: Sequence[str], taken: Collection[str] = ()) -> tuple[str, ...]:
    """Return names that equations can have: the labels themselves where these are such names.

    Parameters
    ----------
    labels
        The texts of a header, each once.
    taken
        Names that mean something else, such as those of functions.

    Examples
    --------
    >>> equation_names(["mass [kg]", "t", "sin", "mass"], ["sin"])
    ('mass_2', 't', 'sin_2', 'mass')
    """
    plain = {label for label in labels if _PLAIN.fullmatch(label)} - set(taken)
    others = iter(columns_of([one for one in labels if one not in plain], {*taken, *plain}))
    return tuple(label if label in plain else next(others).name for label in labels)


def to_number(cell: str) -> float | None:
    """Return the number in a cell; None where it holds none.

    Python's ``float`` reads ``3_0`` as 30. No program writes numbers so, and in a table it is a
    mistyped point or the name of a sample.

    Examples
    --------
    >>> to_number(" 3.0e1 "), to_number("3_0"), to_number("three")
    (30.0, None, None)
    """
    try:
        return None if "_" in cell else float(cell)
    except ValueError:
        return None


def _identifier(label: str) -> str:
    spelled = "".join(map(_spelled, unicodedata.normalize("NFKD", label)))
    name = re.sub(r"_+", "_", re.sub(r"[^A-Za-z0-9_]+", "_", spelled)).strip("_")[:LONGEST]
    return f"c{name}" if name[:1].isdigit() else name


def _spelled(letter: str) -> str:
    if letter.isascii():
        return letter
    if unicodedata.combining(letter):
        return ""
    if (folded := letter.casefold()).isascii():
        return folded  # as that of the German sharp s
    match = _LETTER.match(unicodedata.name(letter, ""))
    return match["name"].lower() if match else " "


def _free(name: str, used: Collection[str]) -> str:
    number, free = 2, name
    while free in used or f"{free}{_RATE}" in used:
        free = f"{name}_{number}"
        number += 1
    return free


class OwnNames:
    """Two sets of names for the same variables: a method's, such as ``u0``, and the user's own.

    Left-hand sides, such as ``u0_t``, go with their variables.

    Parameters
    ----------
    own
        The user's name of each variable, by the method's.

    Examples
    --------
    >>> names = OwnNames({"u0": "prey", "u1": "u0"})
    >>> names.own("u0_t - sin(u1)*u0**2")
    'prey_t - sin(u0)*prey**2'
    >>> names.internal(names.own("u0_t - sin(u1)*u0**2"))
    'u0_t - sin(u1)*u0**2'
    """

    def __init__(self, own: Mapping[str, str]) -> None:
        rates = {f"{name}{_RATE}": f"{theirs}{_RATE}" for name, theirs in own.items()}
        self._own = {**own, **rates}
        self._internal = {own: name for name, own in self._own.items()}

    def own(self, text: str) -> str:
        """Write a text with the user's names."""
        return _renamed(text, self._own)

    def internal(self, text: str) -> str:
        """Write a text with the method's names."""
        return _renamed(text, self._internal)

    def all_own(self, texts: Iterable[str]) -> tuple[str, ...]:
        """Write texts with the user's names."""
        return tuple(map(self.own, texts))

    def all_internal(self, texts: Iterable[str]) -> tuple[str, ...]:
        """Write texts with the method's names."""
        return tuple(map(self.internal, texts))


def _renamed(text: str, names: Mapping[str, str]) -> str:
    return _NAME.sub(lambda found: names.get(found.group(), found.group()), text) if names else text
