"""What papers report of methods: tables of systems, and of whole sets of datasets."""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass, replace
from functools import cache
from importlib import resources
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

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
        match = _SCORE.fullmatch(text)
        if not match or (match[3] and match[3] not in signs):
            raise ValueError(f"{text!r} is no entry of a table")
        return cls(signs[match[3]] if match[3] else "", int(match[1]), int(match[2]))

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

    def of_variant(self, variant: str) -> Published:
        """Return the tables with systems named as those of a variant of the data are."""
        marks = {
            kind: {f"{system} ({variant})": row for system, row in systems.items()}
            for kind, systems in self.marks.items()
        }
        return replace(self, marks=marks)

    def without(self, methods: Collection[str]) -> Published:
        """Return the tables without some methods."""
        marks = {
            kind: {
                system: {name: mark for name, mark in row.items() if name not in methods}
                for system, row in systems.items()
            }
            for kind, systems in self.marks.items()
        }
        return replace(self, marks=marks)

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
    text = resources.files(__package__).joinpath("published.toml").read_text("utf-8")
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
        By data type, set, method and metric.  What is behind a set's name, such as
        ``+noise=0.01``, is behind the names of its datasets.
    medians
        The metrics whose values are medians over the datasets of a set; others are means.
    """

    title: str
    source: str
    values: Mapping[str, Mapping[str, Mapping[str, Mapping[str, float]]]]
    medians: frozenset[str] = frozenset()

    def set_of(self, data_type: str, groups: Mapping[str, Sequence[str]]) -> dict[str, str]:
        """Return the set of each dataset, by its name with what was asked for.

        Parameters
        ----------
        groups
            The datasets of each set, by their names alone.
        """
        sets: dict[str, str] = {}
        for name in self.values[data_type]:
            plain, plus, asked = name.partition("+")
            sets |= {f"{each}{plus}{asked}": name for each in groups.get(plain, ())}
        return sets


def papers_of_sets() -> list[str]:
    """Return the names of all papers with tables of whole sets, for `read_published_sets`."""
    folder = resources.files(__package__).joinpath("published_sets")
    return sorted(each.name.removesuffix(".toml") for each in folder.iterdir())


@cache
def read_published_sets(paper: str) -> PublishedSets:
    """Read a paper's tables of whole sets of a data type; the paper may have the type's name."""
    folder = resources.files(__package__).joinpath("published_sets")
    tables = tomllib.loads(folder.joinpath(f"{paper}.toml").read_text("utf-8"))
    head = tables.pop("title")
    return PublishedSets(head["short"], head["source"], tables, frozenset(head.get("medians", ())))
