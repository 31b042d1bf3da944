"""Tables for a paper: systems against methods, as in MDBench's Tables 3, A5 and A6."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from mdbench.drawing.numbers import ENDLESS, NOTHING, fixed, noise_name
from mdbench.reports.columns import UNDECIDED, cell, interval, of_place, pooled, undecided, written
from mdbench.reports.entries import marked
from mdbench.reports.heat import FAILED, middle, sign_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from mdbench.reports.entries import Entry
    from mdbench.reports.leaderboard import Board

__all__ = ["escape_latex", "latex_tables"]

_SPECIAL = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "²": "$^2$",
    "✓": r"$\checkmark$",
    "±": r"$\pm$",
    "×": r"$\times$",
    "∞": r"$\infty$",
    "–": "--",
    "…": "--",
    "⚠": r"\textbf{!}",
    "\xa0": "~",
    **{sign: f"\\{sign}" for sign in "&%$#_{}"},
}


def latex_tables(boards: Mapping[str, Board]) -> str:
    r"""Write a leaderboard for each data type, and a table of systems for each noise level.

    The mark of the first flag stands for itself; otherwise a cell has the primary score (its power
    of ten, where ratios matter) and what it is weighed against, underlined where another flag
    holds; a dash is a failure.  Needs the packages amssymb, booktabs and longtable.
    """
    parts = [r"% needs: \usepackage{amssymb,booktabs,longtable}"]
    for data_type, board in boards.items():
        parts.append(_leaderboard(data_type, board))
        parts += [_systems(data_type, snr_db, board) for snr_db in board.noise_levels]
    return "\n".join(parts) + "\n"


def escape_latex(text: str) -> str:
    r"""Write a text so that LaTeX shows it as it is, in one line.

    Examples
    --------
    >>> print(escape_latex("50 % of a_b"))
    50 \% of a\_b
    """
    return "".join(_SPECIAL.get(sign, sign) for sign in " ".join(text.splitlines()))


def _leaderboard(data_type: str, board: Board) -> str:
    primary, others = board.primary, of_place(board, "brief")
    titles = [primary.title, "95 %", *(spec.title for spec in others)]
    head = ["method", "rank", *map(escape_latex, titles), "answers", "time (s)"]
    says = f"mean rank over {len(board.systems)} systems; {primary.title}: {primary.explanation}, "
    says += "with its bootstrap interval"
    says += "".join(f"; {spec.title}: {spec.explanation}" for spec in others)
    says = f"{escape_latex(f'{data_type}: {says}. {undecided(board)} {pooled(board)}'.strip())}"
    lines = [
        r"\begin{table}",
        rf"\caption{{{says}}}",
        rf"\begin{{tabular}}{{l{'r' * (len(head) - 1)}}}",
        r"\toprule",
        " & ".join(head) + r" \\",
        r"\midrule",
    ]
    for row in board.rows:
        texts = [cell(primary, row.values[primary.name], primary=True).text]
        texts.append(interval(primary, row, "…"))
        texts += [cell(spec, row.values[spec.name]).text.partition(" (")[0] for spec in others]
        line = [
            escape_latex(row.method),
            escape_latex(fixed(row.rank, 2)),
            *map(_number, texts),
            f"{row.answered}/{row.jobs}",
            escape_latex(fixed(row.wall_s, 1)),
        ]
        lines.append(" & ".join(line) + r" \\")
    return "\n".join([*lines, r"\bottomrule", r"\end{tabular}", r"\end{table}"])


def _systems(data_type: str, snr_db: float | None, board: Board) -> str:
    grid = board.grid(snr_db)
    methods = grid.methods
    head = " & ".join(["system", *map(escape_latex, methods)]) + r" \\"
    first, *others = [f"{spec.title} ({spec.mark})" for spec in marked(board.known)] or [""]
    says = f"{first}, otherwise " if first else ""
    says += "the power of ten of " if board.primary.scale == "log" else ""
    says += board.primary.title + (f" and in brackets {board.weighs.title}" if board.weighs else "")
    says += f"; underlined: {', '.join(others)}" if others else ""
    says = escape_latex(f"{data_type}, {noise_name(snr_db)}: {says}; {NOTHING}: no answer.")
    lines = [
        rf"\begin{{longtable}}{{l{'c' * len(methods)}}}",
        rf"\caption{{{says}}}\\",
        rf"\toprule {head} \midrule \endhead",
        r"\bottomrule \endfoot",
    ]
    for system in grid.systems:
        row = [_cell(board, grid.cell(system, method)) for method in methods]
        lines.append(" & ".join([escape_latex(system), *row]) + r" \\")
    return "\n".join([*lines, r"\end{longtable}"])


def _cell(board: Board, entries: Sequence[Entry]) -> str:
    sign = sign_of(board, entries) if entries else ""
    marks = [spec.mark for spec in marked(board.specs)]
    primary, score = board.primary, middle(entries, board.primary)
    if sign in {"", FAILED, UNDECIDED, *marks[:1]} or score is None:
        return escape_latex(NOTHING if sign == FAILED else sign or "")
    size = middle(entries, board.weighs)
    if score >= ENDLESS:
        shown = r"\infty"
    elif primary.scale == "log" and score > 0:
        shown = f"10^{{{math.floor(math.log10(score))}}}"
    else:
        shown = written(primary, score)
    shown += "" if size is None else f"({fixed(size)})"
    return rf"\underline{{${shown}$}}" if sign in marks else f"${shown}$"


def _number(text: str) -> str:
    """Write numbers with a power of ten as such, others as they are."""
    parts = []
    for part in text.split("…"):
        mantissa, e, power = part.partition("e")
        number = e and power.lstrip("-").isdigit()
        parts.append(rf"${mantissa}\cdot10^{{{power}}}$" if number else escape_latex(part))
    return "--".join(parts)
