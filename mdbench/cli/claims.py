"""``mdbench claims``: which claims of papers the records confirm, and which they contradict."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any

from rich.markup import escape

from mdbench import datatypes, methods
from mdbench.claims.judge import Outcome, summary
from mdbench.claims.read import chosen, read_papers
from mdbench.claims.verdicts import STYLES, judge_all, latex_of, reasons
from mdbench.cli.options import Exit
from mdbench.cli.report import read_results, write
from mdbench.errors import UsageError, counted, did_you_mean
from mdbench.methods import Method
from mdbench.workspace import Workspace

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from rich.console import Console

    from mdbench.claims.verdicts import Judged
    from mdbench.datatypes.base import DataType

MOST_REASONS = 8
"""Reasons that are listed without --all."""


def show_claims(
    places: Sequence[Path],
    console: Console,
    *,
    papers: Sequence[str],
    wanted: Sequence[str],
    extra: Sequence[Path],
    every: bool,
    latex: bool,
    json_: bool,
    out: Path | None,
) -> int:
    """Hold records against the claims of papers, and print or write what they say.

    Raises
    ------
    UsageError
        If there is no such paper, or no claim of such a method.
    DataError
        If a file of claims is wrong.
    """
    if latex and json_:
        raise UsageError("--latex and --json exclude each other.", "Give one of them.")
    workspace = Workspace.find()
    known = read_papers(extra)
    read = chosen(known, papers)
    named = {claim.method for paper in read for claim in paper.claims()}
    for name in wanted:
        if name not in named:
            raise UsageError(f"No claim is of the method {name!r}.", did_you_mean(name, named))
    results = read_results(places) if places else []
    discovered = methods.discover(workspace.algorithms)
    here = {*discovered, *(one.algorithm for one in results)}
    own_code = {
        name
        for name, method in discovered.items()
        if isinstance(method, Method) and method.spec.implementation == "own"
    }

    def find(name: str) -> DataType[Any, Any]:
        return datatypes.find(name, workspace.datasets / name, workspace.arrays / name)

    found = judge_all(read, results, find, here, wanted, own_code=own_code)
    if json_ or latex:
        text = latex_of(_decided(found, every=every)) if latex else _json(found)
        if out is None:
            sys.stdout.write(text)
        else:
            write(out, text)
        return Exit.DONE
    for one in _decided(found, every=every):
        style = STYLES[one.verdict.outcome]
        console.print(f"[{style}]{one.verdict.outcome}[/] {escape(one.words)}", soft_wrap=True)
    for paper in read:
        own = [one for one in found if one.paper is paper]
        if own or not wanted:
            words = summary([one.verdict for one in own]) if own else f"no claims: {paper.unread}"
            console.print(f"{escape(paper.cite)}: {escape(words)}", soft_wrap=True)
    console.print(f"All: {summary([one.verdict for one in found])}", soft_wrap=True)
    _print_reasons(found, console, every=every)
    return Exit.DONE


def _decided(found: Sequence[Judged], *, every: bool) -> list[Judged]:
    """Return the claims that a table has: those that records decide, or all of them."""
    return [one for one in found if every or one.verdict.outcome is not Outcome.CANNOT_SAY]


def _print_reasons(found: Sequence[Judged], console: Console, *, every: bool) -> None:
    why = reasons(found)
    if not why or every:
        return
    console.print("Cannot say, as:")
    for reason, number in why[:MOST_REASONS]:
        console.print(f"  {number}: {escape(reason)}", soft_wrap=True)
    if rest := why[MOST_REASONS:]:
        number = sum(count for _, count in rest)
        console.print(f"  {number}: {counted(len(rest), 'other reason')} (--all lists all claims)")


def _json(found: Sequence[Judged]) -> str:
    return json.dumps({"schema": 1, "claims": [one.as_json() for one in found]}) + "\n"
