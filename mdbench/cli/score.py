"""``mdbench score``: an equation compared with the true one."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import TYPE_CHECKING

from rich import box
from rich.markup import escape
from rich.table import Table

from mdbench.errors import EquationError
from mdbench.expressions import parse
from mdbench.expressions.grammar import NO_NUMBERS
from mdbench.expressions.printers import names_in
from mdbench.expressions.scores import UNREADABLE, compare, unreadable
from mdbench.expressions.srbench import MAX_SECONDS

if TYPE_CHECKING:
    from rich.console import Console

    from mdbench.expressions.scores import Comparison


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
        found = compare(truth, prediction, columns=names, any_sign=signed, r2=r2, seconds=seconds)
    except EquationError as error:
        refused = EquationError(f"TRUTH cannot be read: {error.message}.", error.hint)
        found = unreadable(f"the truth cannot be read: {error.message}.  {error.hint}".strip())
    else:
        if found.verdict == UNREADABLE:
            refused = _refused(truth, prediction, names)
    if json_:
        given = {"schema": 1, **asdict(found), "reasons": dict(found.reasons)}
        print(json.dumps(given, allow_nan=False))
    else:
        _show(found, console)
    if refused is not None:
        raise refused


def _refused(truth: str, prediction: str, names: list[str] | None) -> EquationError:
    """Return why a prediction cannot be read, and what to type."""
    known = list(names_in(truth)) if names is None else names
    try:
        parse(prediction, known)
    except EquationError as error:
        message, hint = f"PREDICTION cannot be read: {error.message}.", error.hint
    names_only = (name for name in names_in(prediction) if name.lower() not in NO_NUMBERS)
    others = [name for name in names_only if name not in known]
    try:
        parse(prediction, [*known, *others])
    except EquationError:
        return EquationError(message, hint)
    every = ",".join([*known, *others])
    return EquationError(message, f"{hint}  If it is a column, too: --columns {every}")


def _show(found: Comparison, console: Console) -> None:
    table = Table(box=box.SIMPLE_HEAD, show_header=False)
    if found.verdict == UNREADABLE:
        table.add_row("verdict", UNREADABLE)
        console.print(table)
        return
    distance = found.normalized_edit_distance
    for key, title, text in (
        ("verdict", "verdict", found.verdict.replace("_", " ")),
        (
            "normalized_edit_distance",
            "normalized edit distance",
            "undecided" if distance is None else f"{distance:.3f}",
        ),
        ("solution", "symbolic solution", _yes_or_no(found.solution)),
        ("srbench_solution", "SRBench's solution", _yes_or_no(found.srbench_solution)),
    ):
        table.add_row(title, text, escape(found.reasons[key]))
    for title, count, true in (
        ("complexity", found.complexity, found.true_complexity),
        ("simplified complexity", found.simplified_complexity, found.true_simplified_complexity),
    ):
        table.add_row(title, _known(count), f"truth {_known(true)}")  # reasons are above
    console.print(table)


def _yes_or_no(verdict: bool | None) -> str:
    return "undecided" if verdict is None else "yes" if verdict else "no"


def _known(count: int | None) -> str:
    return "-" if count is None else str(count)


def _split(text: str) -> list[str]:
    return [name.strip() for name in text.split(",") if name.strip()]
