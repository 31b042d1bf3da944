"""``mdbench score``: an equation compared with the true one, and how hard a law is."""

from __future__ import annotations

import json
import sys
import threading
from contextlib import contextmanager
from dataclasses import asdict
from typing import TYPE_CHECKING, Final

from rich import box
from rich.markup import escape
from rich.table import Table

from eqverdict import parse
from eqverdict.grammar import NO_NUMBERS
from eqverdict.notations import in_core_notation
from eqverdict.printers import names_in
from eqverdict.scores import UNREADABLE, compare, unreadable
from eqverdict.srbench import MAX_SECONDS
from mdbench.errors import EquationError, UsageError, did_you_mean

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rich.console import Console

    from eqverdict.difficulty import Difficulty
    from eqverdict.scores import Comparison


_SECONDS_IN_SILENCE: Final = 5.0


def score_equation(
    truth: str,
    prediction: str,
    columns: str | None,
    console: Console,
    *,
    any_sign: str | None = None,
    r2: float | None = None,
    seconds: int = MAX_SECONDS,
    json_: bool = False,
) -> None:
    """Print how near a prediction is to the truth.

    Raises
    ------
    UsageError
        If `any_sign` names no column.
    EquationError
        If one of the two cannot be read: after that is printed, too.
    """
    names = None if columns is None else _split(columns)
    signed = _split(any_sign or "")
    refused: EquationError | None = None
    try:
        with _says_that_it_goes_on(seconds):
            comparison = compare(
                truth, prediction, columns=names, any_sign=signed, r2=r2, seconds=seconds
            )
    except EquationError as error:
        refused = EquationError(f"TRUTH cannot be read: {error.message}.", error.hint)
        comparison = unreadable(f"the truth cannot be read: {error.message}.  {error.hint}".strip())
    else:
        if comparison.verdict == UNREADABLE:
            refused = _refused(truth, prediction, names)
    if json_:
        given = {"schema": 1, **asdict(comparison), "reasons": dict(comparison.reasons)}
        print(json.dumps(given, allow_nan=False))
    else:
        _show(comparison, console)
    if refused is not None:
        raise refused


@contextmanager
def _says_that_it_goes_on(seconds: int) -> Iterator[None]:
    """Write a line to the standard error where the comparison takes more than a few seconds."""
    text = (
        f"Still comparing.  Each step may take {seconds} s of CPU time; "
        "--timeout SECONDS changes that."
    )
    timer = threading.Timer(_SECONDS_IN_SILENCE, print, [text], {"file": sys.stderr, "flush": True})
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def show_difficulty(
    law: str, ranges: str | None, console: Console, *, seconds: int, json_: bool
) -> None:
    """Print how hard a law is by SRSD's rule; without ranges, the datasets of that name.

    Raises
    ------
    UsageError
        If ranges are none, or no dataset has such a name.
    EquationError
        If the law cannot be read.
    """
    from eqverdict.difficulty import difficulty, read_ranges

    if ranges is not None:
        law = in_core_notation(law)
        difficulties = {law: difficulty(law, read_ranges(ranges), seconds=seconds)}
    else:
        difficulties = _difficulties(law)
    if json_:
        laws = [{"law": name, **asdict(one)} for name, one in difficulties.items()]
        print(json.dumps({"schema": 1, "laws": laws}, allow_nan=False))
        return
    table = Table(box=box.SIMPLE_HEAD)
    for title in ("law", "operations", "range", "rounded up", "set"):
        table.add_column(title, justify="left" if title in {"law", "set"} else "right")
    for name, one in difficulties.items():
        numbers = str(one.operations), f"{one.domain_range:.2f}", str(one.ceiling)
        table.add_row(escape(name), *numbers, one.set)
    console.print(table)


def _difficulties(pattern: str) -> dict[str, Difficulty]:
    from mdbench import datatypes
    from mdbench.runs.plan import select_names
    from mdbench.workspace import Workspace

    place, names = Workspace.find(), []
    for name in datatypes.names():
        kind = datatypes.find(name, place.datasets / name, place.arrays / name)
        if type(kind).difficulty is datatypes.base.DataType.difficulty:
            continue
        source = kind.source()
        names += [*source.names(), *source.groups()]
        try:
            chosen = select_names(source.names(), [pattern], source.groups())
        except UsageError:
            continue
        found = {each: kind.difficulty(each) for each in chosen}
        return {each: one for each, one in found.items() if one is not None}
    raise UsageError(
        f"No law is named {pattern!r}.",
        f"{did_you_mean(pattern, names)} For a formula, give the ranges of its variables: "
        "--ranges x0=1:5,x1=0.1:10",
    )


def _refused(truth: str, prediction: str, names: list[str] | None) -> EquationError:
    """Return why a prediction cannot be read, and what to type."""
    known = list(names_in(in_core_notation(truth))) if names is None else names
    try:
        parse(prediction, known)
    except EquationError as error:
        message, hint = f"PREDICTION cannot be read: {error.message}.", error.hint
    try:
        names_only = names_in(in_core_notation(prediction))
    except EquationError:
        return EquationError(message, hint)
    others = [name for name in names_only if name not in known and name.lower() not in NO_NUMBERS]
    try:
        parse(prediction, [*known, *others])
    except EquationError:
        return EquationError(message, hint)
    every = ",".join([*known, *others])
    return EquationError(message, f"{hint}  If it is a column, too: --columns {every}")


def _show(comparison: Comparison, console: Console) -> None:
    table = Table(box=box.SIMPLE_HEAD, show_header=False)
    if comparison.verdict == UNREADABLE:
        table.add_row("verdict", UNREADABLE)
        console.print(table)
        return
    distance, other = comparison.normalized_edit_distance, comparison.distance_unless_equal
    for key, title, text in (
        ("verdict", "verdict", comparison.verdict.replace("_", " ")),
        (
            "normalized_edit_distance",
            "normalized edit distance",
            "undecided" if distance is None else f"{distance:.3f}",
        ),
        (
            "distance_unless_equal",
            "the same, 0 if equal",
            "undecided" if other is None else f"{other:.3f}",
        ),
        ("solution", "symbolic solution", _yes_or_no(comparison.solution)),
        ("srbench_solution", "SRBench's solution", _yes_or_no(comparison.srbench_solution)),
    ):
        table.add_row(title, text, escape(comparison.reasons.get(key, "")))
    for title, count, true in (
        ("complexity", comparison.complexity, comparison.true_complexity),
        (
            "simplified complexity",
            comparison.simplified_complexity,
            comparison.true_simplified_complexity,
        ),
    ):
        table.add_row(title, _known(count), f"truth {_known(true)}")  # reasons are above
    console.print(table)


def _yes_or_no(verdict: bool | None) -> str:
    return "undecided" if verdict is None else "yes" if verdict else "no"


def _known(count: int | None) -> str:
    return "-" if count is None else str(count)


def _split(text: str) -> list[str]:
    return [name.strip() for name in text.split(",") if name.strip()]
