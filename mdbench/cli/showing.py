"""``mdbench show``: the answers to take home."""

from __future__ import annotations

from collections import defaultdict
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING

from rich.markup import escape

from mdbench.cli.reporting import compare, read_results
from mdbench.drawing.numbers import cleanest_first, noise_name
from mdbench.errors import UsageError, did_you_mean
from mdbench.expressions.languages import LANGUAGES
from mdbench.reports.answers import code, ordered, told
from mdbench.workspace import Workspace

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import Console

    from mdbench.metrics.spec import MetricSpec
    from mdbench.reports.results import Result

__all__ = ["answers_of", "place_and_name", "show"]

_DIGITS = 4
"""Digits of numbers for reading; code has all."""


def show(
    what: str | None,
    console: Console,
    *,
    folder: Path,
    algorithm: Sequence[str],
    language: str,
    digits: int | None,
    every: bool,
) -> None:
    """Print the best answer to each question, or all of them.

    Raises
    ------
    UsageError
        If there are no results, or none that were asked for.
    """
    if language not in LANGUAGES:
        raise UsageError(f"--as is {language!r}.", did_you_mean(language, LANGUAGES))
    place, name = place_and_name(what, folder)
    if digits is None and language == "plain":
        digits = _DIGITS
    found = answers_of(place, name, algorithm)
    for (system, snr_db), (answers, specs) in found.items():
        noise = "" if snr_db is None else f", {noise_name(snr_db)}"
        for one in answers if every else answers[:1]:
            comment = {"c": "// ", "latex": "% ", "plain": ""}.get(language, "# ")
            heading = f"{comment}{system}{noise}: {told(one, specs)}"
            console.print(f"[bold]{escape(heading)}[/]", soft_wrap=True)
            # Not through the console, which would wrap: what is printed is to be pasted.
            print(code(one, language, digits), end="\n\n")


def place_and_name(what: str | None, folder: Path) -> tuple[Path, str | None]:
    """Tell results from a dataset's name: what exists is results."""
    return (Path(what), None) if what and Path(what).exists() else (folder, what)


def answers_of(
    place: Path, name: str | None, algorithm: Sequence[str]
) -> dict[tuple[str, float | None], tuple[list[Result], Sequence[MetricSpec]]]:
    """Read the answers with equations, those of one question together and the best first.

    Parameters
    ----------
    place
        A folder of results, a results file or a bundle.
    name
        The name or glob of datasets; None for all.
    algorithm
        Names or globs of methods; none for all.

    Raises
    ------
    UsageError
        If there are none.
    """
    results = read_results(place)
    boards = compare(results, Workspace.find())
    groups: dict[tuple[str, float | None], list[Result]] = defaultdict(list)
    for one in results:
        asked = name is None or any(fnmatchcase(each, name) for each in (one.dataset, one.system))
        if asked and (not algorithm or any(fnmatchcase(one.algorithm, each) for each in algorithm)):
            groups[one.system, one.snr_db].append(one)
    if not groups:
        names = {one.dataset for one in results} if name else {one.algorithm for one in results}
        given = name or " ".join(algorithm)
        raise UsageError(f"{place} has no results of {given!r}.", did_you_mean(given, names))
    found: dict[tuple[str, float | None], tuple[list[Result], Sequence[MetricSpec]]] = {}
    for key in sorted(groups, key=lambda key: (key[0], cleanest_first(key[1]))):
        board = boards[groups[key][0].data_type]
        references = {row.method for row in board.rows if row.reference}
        if answers := ordered(groups[key], board.specs, references):
            found[key] = answers, board.specs
    if not found:
        raise UsageError(
            "None of these results has equations.", "mdbench report --text says why jobs failed."
        )
    return found
