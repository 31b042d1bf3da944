"""``mdbench score``: an equation beside the true one."""

from __future__ import annotations

import re
from functools import partial
from typing import TYPE_CHECKING

from rich import box
from rich.markup import escape
from rich.table import Table

from mdbench.errors import EquationError, UsageError, did_you_mean
from mdbench.expressions import comparison, parse
from mdbench.expressions.functions import CONSTANTS, FUNCTIONS

if TYPE_CHECKING:
    from collections.abc import Callable

    from rich.console import Console

__all__ = ["score"]

_NAME = re.compile(r"(?<![\w.])[A-Za-z_]\w*(?!\w*\s*\()")


def score(
    truth: str,
    prediction: str,
    columns: str | None,
    console: Console,
    *,
    any_sign: str | None = None,
    r2: float | None = None,
    seconds: int = comparison.MAX_SECONDS,
) -> None:
    """Print how near a prediction is to the truth."""
    names = _names(truth, columns)
    domain = {name: dict(comparison.POSITIVE) for name in names}
    for name in _split(any_sign or ""):
        if name not in domain:
            raise UsageError(
                f"--any-sign names {name!r}, which is no column.", did_you_mean(name, domain)
            )
        domain[name]["sign"] = "mixed"
    distance = comparison.normalized_edit_distance(truth, prediction, names, seconds=seconds)
    solution = comparison.symbolic_solution(truth, prediction, domain, seconds=seconds)
    srbench = comparison.srbench_solution(truth, prediction, names, r2=r2, seconds=seconds)
    table = Table(box=box.SIMPLE_HEAD, show_header=False)
    edits = "" if distance.edits is None else f"{distance.edits} edits, "
    table.add_row(
        "normalized edit distance",
        "undecided" if distance.value is None else f"{distance.value:.3f}",
        escape(distance.reason) or f"{edits}{distance.nodes} nodes in the truth",
    )
    for name, verdict in (("symbolic solution", solution), ("SRBench's solution", srbench)):
        why = escape(verdict.reason) or (f"constant {verdict.how}" if verdict.how else "")
        says = "undecided" if verdict.solved is None else "yes" if verdict.solved else "no"
        table.add_row(name, says, why)
    simplified = partial(comparison.simplified_complexity, seconds=seconds)
    for name, count in (("complexity", _complexity), ("simplified complexity", simplified)):
        true = _counted(count, truth, names)
        table.add_row(name, _counted(count, prediction, names), f"truth {true}")
    console.print(table)


def _complexity(text: str, names: list[str]) -> int:
    return parse(text, names).complexity


def _counted(count: Callable[[str, list[str]], int], text: str, names: list[str]) -> str:
    try:
        return str(count(text, names))
    except EquationError:
        return "-"  # the lines above say why


def _names(truth: str, columns: str | None) -> list[str]:
    if columns is not None:
        return _split(columns)
    return sorted(set(_NAME.findall(truth)) - {*FUNCTIONS, *CONSTANTS})


def _split(text: str) -> list[str]:
    return [name.strip() for name in text.split(",") if name.strip()]
