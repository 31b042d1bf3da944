"""Sections and forms of the report that extensions add."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, ClassVar

from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined

from mdbench.doors import Door
from mdbench.records import results_files

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    import rich.table

    from mdbench.records import Record
    from mdbench.reports.leaderboard import Leaderboard

SECTIONS = Door("mdbench.report_sections", "section of the report", {})
"""Classes of `Section`."""
FORMS = Door("mdbench.report_forms", "form of the report", {})
"""Functions that write results into a folder: ``site`` for ``report --site``."""


@dataclass(frozen=True)
class Shown:
    """What a report shows.

    Attributes
    ----------
    results
        The records that count, in the report's order.
    boards
        Their comparisons, of each data type and class.
    places
        The folders of results; of a bundle the one it was unpacked to.
    numbers
        The number of each method, which its colour and its sign follow.
    later
        For templates: packs what is in its ``call``, where the page is large.
    """

    results: Sequence[Record]
    boards: Mapping[str, Leaderboard]
    places: Sequence[Path] = ()
    numbers: Mapping[str, int] = field(default_factory=dict)
    later: Callable[..., str] | None = None


def folders_of(places: Iterable[Path]) -> list[Path]:
    """Return the folders that names of files in records are relative to: those of results files."""
    folders = (file.parent for path in places for file in results_files(path))
    return list(dict.fromkeys(folders))


class Section(ABC):
    """A part of the report that an extension adds.

    Attributes
    ----------
    folders
        Names of folders, anywhere below the results, whose files it reads: bundles have them, and
        the page of a run that goes on is made again when they change.
    """

    folders: ClassVar[tuple[str, ...]] = ()

    @abstractmethod
    def html(self, shown: Shown) -> str:
        """Return a section of the page, as `markupsafe.Markup`; empty where it shows nothing."""

    @abstractmethod
    def tables(self, shown: Shown) -> Iterator[rich.table.Table]:
        """Yield the tables of ``report --text``."""


@cache
def sections() -> tuple[Section, ...]:
    """Return all sections that are here."""
    return tuple(SECTIONS.load(name)() for name in SECTIONS.names())


def folders_read() -> frozenset[str]:
    """Return the names of all folders that sections read."""
    return frozenset(name for section in sections() for name in section.folders)


def templates(*packages: str) -> Environment:
    """Return the templates in the folders ``templates`` of packages, of the first that has one."""
    return Environment(
        loader=ChoiceLoader([PackageLoader(package) for package in packages]),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
