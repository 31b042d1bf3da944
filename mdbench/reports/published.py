"""What papers report of the same methods on the same systems, to stand beside what was measured."""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["Mark", "Published", "read_published"]

_ERROR = re.compile(r"1e(-?\d+) \((\d+)\)( one term off)?")


@dataclass(frozen=True)
class Mark:
    """An entry of a published table.

    Attributes
    ----------
    verdict
        ``identified``, ``one_term_off``, ``different``, or ``none``: no answer.
    power
        The power of ten of the NMSE, where the entry has it.
    complexity
        Nodes of all equations together, likewise.
    """

    verdict: str
    power: int | None = None
    complexity: int | None = None

    @classmethod
    def of(cls, text: str) -> Mark:
        """Read an entry.

        Raises
        ------
        ValueError
            If it is none.

        Examples
        --------
        >>> Mark.of("identified").verdict
        'identified'
        >>> Mark.of("1e-2 (17) one term off")
        Mark(verdict='one_term_off', power=-2, complexity=17)
        """
        if text in {"identified", "none"}:
            return cls(text)
        if not (found := _ERROR.fullmatch(text)):
            raise ValueError(f"{text!r} is no entry of a table")
        verdict = "one_term_off" if found[3] else "different"
        return cls(verdict, int(found[1]), int(found[2]))

    def __str__(self) -> str:
        if self.verdict == "identified":
            return "✓"
        if self.verdict == "none":
            return "✗"
        near = " ±1" if self.verdict == "one_term_off" else ""
        return f"1e{self.power} ({self.complexity}){near}"


@dataclass(frozen=True)
class Published:
    """The comparison tables of a paper.

    Attributes
    ----------
    title, source
        The benchmark, and where the tables are.
    marks
        By data type, system and method; clean data.
    """

    title: str
    source: str
    marks: Mapping[str, Mapping[str, Mapping[str, Mark]]]

    def of(self, data_type: str, system: str, method: str) -> Mark | None:
        """Give an entry, if there is one."""
        return self.marks.get(data_type, {}).get(system, {}).get(method)

    def identified(self, data_type: str, method: str) -> frozenset[str]:
        """Give the systems whose equations a method identified."""
        tables = self.marks.get(data_type, {})
        return frozenset(
            system
            for system, row in tables.items()
            if method in row and row[method].verdict == "identified"
        )

    def has(self, data_type: str, method: str) -> bool:
        """Tell whether the tables have a column of a method."""
        return any(method in row for row in self.marks.get(data_type, {}).values())


@cache
def read_published() -> Published:
    """Read MDBench's tables."""
    text = resources.files("mdbench.reports").joinpath("published.toml").read_text("utf-8")
    tables = tomllib.loads(text)
    head = tables.pop("title")
    marks = {
        data_type: {
            system: {method: Mark.of(entry) for method, entry in row.items()}
            for system, row in systems.items()
        }
        for data_type, systems in tables.items()
    }
    return Published(head["short"], head["source"], marks)
