"""``mdbench show --transcript``: what was asked of a language model, and answered."""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from rich.markup import escape

from mdbench.cli.report import folders_of, names_of, read_results
from mdbench.cli.results import places_and_name
from mdbench.errors import UsageError
from mdbench.installation import page
from mdbench.reports.bundle import opened_all
from mdbench.reports.transcripts import EVERYTHING, Limits, transcript_lines, transcripts

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from rich.console import Console

    from mdbench.records import Record


def show_transcripts(
    what: str | None,
    console: Console,
    folders: Sequence[Path],
    algorithm: Sequence[str],
    *,
    every: bool,
) -> None:
    """Print what jobs asked a language model, and what it answered.

    Parameters
    ----------
    every
        Whether all of it is printed, however long.

    Raises
    ------
    UsageError
        If there are no results, or none with a log of exchanges that were asked for.
    """
    places, name = places_and_name(what, folders)
    results = [
        one for one in read_results(places) if one.exchanges and _is_asked(one, name, algorithm)
    ]
    limits = EVERYTHING if every else Limits()
    count = 0
    with opened_all(places) as found:
        for each in transcripts(results, folders_of(found.values()), limits):
            count += 1
            console.print(f"[bold]{escape(each.title)}[/]: {each.record.status}", soft_wrap=True)
            # Not through the console, which would wrap.
            print("\n".join(transcript_lines(each)), end="\n\n")
    if not count:
        raise UsageError(
            f"{names_of(places)} has no log of exchanges with a language model"
            f"{f' of {name or algorithm[0]!r}' if name or algorithm else ''}.",
            "They are of methods that ask one, next to the logs of their jobs: "
            + page("language-models"),
        )


def _is_asked(one: Record, name: str | None, algorithm: Sequence[str]) -> bool:
    named = name is None or any(fnmatchcase(each, name) for each in (one.dataset, one.system))
    methods = (one.method, one.algorithm)
    return named and (
        not algorithm or any(fnmatchcase(m, each) for m in methods for each in algorithm)
    )
