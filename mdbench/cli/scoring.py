"""``mdbench score``: an equation beside the true one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich import box
from rich.markup import escape
from rich.table import Table

from mdbench.expressions.comparison import MAX_SECONDS
from mdbench.expressions.scores import compare

if TYPE_CHECKING:
    from rich.console import Console

__all__ = ["score"]


def score(
    truth: str,
    prediction: str,
    columns: str | None,
    console: Console,
    *,
    any_sign: str | None = None,
    r2: float | None = None,
    seconds: int = MAX_SECONDS,
) -> None:
    """Print how near a prediction is to the truth."""
    found = compare(
        truth,
        prediction,
        columns=None if columns is None else _split(columns),
        any_sign=_split(any_sign or ""),
        r2=r2,
        seconds=seconds,
    )
    table = Table(box=box.SIMPLE_HEAD, show_header=False)
    distance = found.normalized_edit_distance
    rows = [
        ("normalized edit distance", "undecided" if distance is None else f"{distance:.3f}"),
        ("symbolic solution", _said(found.solution)),
        ("SRBench's solution", _said(found.srbench_solution)),
    ]
    for (title, says), reason in zip(rows, found.reasons.values(), strict=True):
        table.add_row(title, says, escape(reason))
    for title, count, true in (
        ("complexity", found.complexity, found.true_complexity),
        ("simplified complexity", found.simplified_complexity, found.true_simplified_complexity),
    ):
        table.add_row(title, _known(count), f"truth {_known(true)}")  # the lines above say why
    console.print(table)


def _said(verdict: bool | None) -> str:
    return "undecided" if verdict is None else "yes" if verdict else "no"


def _known(count: int | None) -> str:
    return "-" if count is None else str(count)


def _split(text: str) -> list[str]:
    return [name.strip() for name in text.split(",") if name.strip()]
