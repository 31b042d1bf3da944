"""Published results of the same methods on the same systems, to compare with what was measured."""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

_SCORE = re.compile(r"1e(-?\d+) \((\d+)\)(?: (.+))?")


@dataclass(frozen=True)
class Mark:
    """An entry of a published table.

    Attributes
    ----------
    sign
        The mark of a flag that holds, a cross for no answer, or empty.
    power
        The power of ten of the primary score, where the entry has it.
    size
        What it is weighed against, likewise.
    """

    sign: str
    power: int | None = None
    size: int | None = None

    @classmethod
    def of(cls, text: str, signs: Mapping[str, str]) -> Mark:
        """Read an entry; `signs` has the sign for each word.

        Raises
        ------
        ValueError
            If it is none.

        Examples
        --------
        >>> Mark.of("found", {"found": "✓"})
        Mark(sign='✓', power=None, size=None)
        >>> Mark.of("1e-2 (17) nearly", {"nearly": "±1"})
        Mark(sign='±1', power=-2, size=17)
        """
        if text in signs:
            return cls(signs[text])
        found = _SCORE.fullmatch(text)
        if not found or (found[3] and found[3] not in signs):
            raise ValueError(f"{text!r} is no entry of a table")
        return cls(signs[found[3]] if found[3] else "", int(found[1]), int(found[2]))

    def __str__(self) -> str:
        if self.power is None:
            return self.sign
        return f"1e{self.power} ({self.size}) {self.sign}".rstrip()


@dataclass(frozen=True)
class Published:
    """The comparison tables of a paper.

    Attributes
    ----------
    title, source
        The benchmark, and where the tables are.
    best
        The sign of what methods are counted by.
    marks
        By data type, system and method; clean data.
    """

    title: str
    source: str
    best: str
    marks: Mapping[str, Mapping[str, Mapping[str, Mark]]]

    def of(self, data_type: str, system: str, method: str) -> Mark | None:
        """Return an entry, if there is one."""
        return self.marks.get(data_type, {}).get(system, {}).get(method)

    def found(self, data_type: str, method: str) -> frozenset[str]:
        """Return the systems for which a method has the best sign."""
        tables = self.marks.get(data_type, {})
        return frozenset(
            system
            for system, row in tables.items()
            if method in row and row[method].sign == self.best
        )

    def has(self, data_type: str, method: str) -> bool:
        """Return whether the tables have a column of a method."""
        return any(method in row for row in self.marks.get(data_type, {}).values())


@cache
def read_published() -> Published:
    """Read MDBench's tables."""
    text = resources.files("mdbench.reports").joinpath("published.toml").read_text("utf-8")
    tables = tomllib.loads(text)
    head, signs = tables.pop("title"), tables.pop("signs")
    marks = {
        data_type: {
            system: {method: Mark.of(entry, signs) for method, entry in row.items()}
            for system, row in systems.items()
        }
        for data_type, systems in tables.items()
    }
    return Published(head["short"], head["source"], next(iter(signs.values())), marks)


@dataclass(frozen=True)
class PublishedSets:
    """A paper's results of methods on whole sets of datasets.

    Attributes
    ----------
    title, source
        The benchmark, and where the tables are.
    values
        By data type, set, method and metric.
    """

    title: str
    source: str
    values: Mapping[str, Mapping[str, Mapping[str, Mapping[str, float]]]]


@cache
def read_published_sets(data_type: str) -> PublishedSets:
    """Read a paper's tables of whole sets of a data type."""
    folder = resources.files("mdbench.reports").joinpath("published_sets")
    tables = tomllib.loads(folder.joinpath(f"{data_type}.toml").read_text("utf-8"))
    head = tables.pop("title")
    return PublishedSets(head["short"], head["source"], tables)
