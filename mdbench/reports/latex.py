"""Tables for a paper: systems against methods, as in MDBench's Tables 3, A5 and A6."""

from __future__ import annotations

import math
import re
import unicodedata
from typing import TYPE_CHECKING

from mdbench.drawing.numbers import ENDLESS, NOTHING, fixed, noise_name
from mdbench.reports.entries import marked
from mdbench.reports.figures import FAILED, middle, sign_of
from mdbench.reports.tables import (
    UNDECIDED,
    Cell,
    Column,
    Table,
    cell,
    interval,
    of_place,
    pooled,
    undecided,
    written,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from mdbench.metrics.spec import MetricSpec
    from mdbench.reports.entries import Entry
    from mdbench.reports.leaderboard import Board, Grid

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
    "µ": r"$\mu$",
    "°": r"$^\circ$",
    "·": r"$\cdot$",
    "\xa0": "~",
    **{sign: f"\\{sign}" for sign in "&%$#_{}"},
}


_GREEK = {
    name.upper().replace("LAMBDA", "LAMDA"): name
    for name in (
        *("alpha", "beta", "gamma", "delta", "epsilon", "zeta", "eta", "theta", "iota", "kappa"),
        *("lambda", "mu", "nu", "xi", "pi", "rho", "sigma", "tau", "upsilon", "phi", "chi", "psi"),
        "omega",
    )
}
"""Unicode's names of letters, and TeX's."""


def latex_tables(boards: Mapping[str, Board]) -> str:
    r"""Write a leaderboard for each data type, and a table of systems for each noise level.

    The mark of the first flag stands for itself; otherwise a cell has the primary score (its power
    of ten, where ratios matter) and behind a semicolon what it is weighed against, underlined where
    another flag holds; a dash is a failure.  The best that no reference has is bold.  Tables have
    labels such as ``tab:TYPE`` and ``tab:TYPE-20-db``.  Needs the packages amssymb, booktabs and
    longtable.
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
    return "".join(map(_sign, " ".join(text.splitlines())))


def _sign(sign: str) -> str:
    """Write a sign so that every TeX engine has it: Greek as mathematics, others by number."""
    if sign in _SPECIAL:
        return _SPECIAL[sign]
    if sign.isascii() and sign.isprintable():
        return sign
    if "\xc0" <= sign <= "\xff":  # letters of Western Europe
        return sign
    name = unicodedata.name(sign, "")
    size, _, letter = name.removeprefix("GREEK ").partition(" LETTER ")
    if letter in _GREEK and size in {"SMALL", "CAPITAL"}:
        return f"$\\{_GREEK[letter]}$" if size == "SMALL" else f"{letter.title()}"
    return f"U+{ord(sign):04X}"


def _leaderboard(data_type: str, board: Board) -> str:
    primary, others = board.primary, of_place(board, "brief")
    titles = [primary.title, "95 %", *(spec.title for spec in others)]
    head = ["method", "rank", *map(escape_latex, titles), "answers", "time (s)"]
    says = f"mean rank over {len(board.systems)} systems; {primary.title}: {primary.explanation}, "
    says += "with its bootstrap interval"
    says += "".join(f"; {spec.title}: {spec.explanation}" for spec in others)
    says = f"{escape_latex(f'{data_type}: {says}. {undecided(board)} {pooled(board)}'.strip())}"
    table: list[list[str]] = []
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
        table.append(line)
    for place, losses in _compared(board, others).items():
        own = [loss for row, loss in zip(board.rows, losses, strict=True) if not row.reference]
        best = min((loss for loss in own if loss is not None), default=math.inf)
        looks = {
            line[place] for row, line in zip(board.rows, table, strict=True) if not row.reference
        }
        if math.isfinite(best) and len(looks) > 1:  # and what looks the same is as good
            looks = {line[place] for line, loss in zip(table, losses, strict=True) if loss == best}
            for row, line in zip(board.rows, table, strict=True):
                if not row.reference and line[place] in looks:
                    line[place] = _bold(line[place])
    rows = [[*map(Cell, line)] for line in table]
    return _tabular(Table([*map(Column, head)], rows, caption=says), _label(data_type))


def _tabular(table: Table, label: str) -> str:
    """Return a table whose texts are LaTeX as one that floats."""
    head, *rows = _rows(table)
    return "\n".join(
        [
            r"\begin{table}",
            r"\centering",
            rf"\caption{{{table.caption}}}",
            rf"\label{{{label}}}",
            rf"\begin{{tabular}}{{l{'r' * (len(table.columns) - 1)}}}",
            r"\toprule",
            head,
            r"\midrule",
            *rows,
            r"\bottomrule",
            r"\end{tabular}",
            r"\end{table}",
        ]
    )


def _longtable(table: Table, label: str) -> str:
    """Return a table whose texts are LaTeX as one that may take several pages."""
    head, *rows = _rows(table)
    return "\n".join(
        [
            rf"\begin{{longtable}}{{l{'c' * (len(table.columns) - 1)}}}",
            rf"\caption{{{table.caption}}}\label{{{label}}}\\",
            rf"\toprule {head} \midrule \endfirsthead",  # the caption is on the first page only
            rf"\toprule {head} \midrule \endhead",
            r"\bottomrule \endfoot",
            *rows,
            r"\end{longtable}",
        ]
    )


def _rows(table: Table) -> list[str]:
    lines = [[column.title for column in table.columns]]
    lines += [[cell.text for cell in row] for row in table.rows]
    return [" & ".join(line) + r" \\" for line in lines]


def _compared(board: Board, others: Sequence[MetricSpec]) -> dict[int, list[float | None]]:
    """Return the columns of a leaderboard that have a better end, lower being better."""
    found: dict[int, list[float | None]] = {1: [row.rank for row in board.rows]}
    for place, spec in {2: board.primary, **dict(enumerate(others, start=4))}.items():
        if spec.better != "neither" and spec.kind != "label":
            values = [row.values[spec.name].value for row in board.rows]
            found[place] = [None if value is None else spec.loss(value) for value in values]
    found[4 + len(others)] = [-row.answered / row.jobs for row in board.rows]
    found[5 + len(others)] = [row.wall_s for row in board.rows]
    return found


def _bold(text: str) -> str:
    return rf"{{\bfseries\boldmath {text}}}"


def _label(*parts: str) -> str:
    r"""Name a table for ``\ref``: whatever names hold, it is one word."""
    return "tab:" + re.sub(r"[^a-z0-9]+", "-", "-".join(parts).lower()).strip("-")


def _systems(data_type: str, snr_db: float | None, board: Board) -> str:
    grid = board.grid(snr_db)
    methods = grid.methods
    first, *others = [f"{spec.title} ({spec.mark})" for spec in marked(board.known)] or [""]
    says = f"{first}, otherwise " if first else ""
    says += "the power of ten of " if board.primary.scale == "log" else ""
    says += board.primary.title + (
        f"; behind the semicolon {board.weighs.title}" if board.weighs else ""
    )
    says += f"; underlined: {', '.join(others)}" if others else ""
    bold = "bold: the best score" + (" where nobody has the mark" if first else "")
    says = escape_latex(f"{data_type}, {noise_name(snr_db)}: {says}; {NOTHING}: no answer; {bold}.")
    rows = []
    for system in grid.systems:
        best = _best(board, grid, system)
        row = [_cell(board, grid.cell(system, method), bold=method in best) for method in methods]
        rows.append([*map(Cell, [escape_latex(system), *row])])
    columns = [*map(Column, ["system", *map(escape_latex, methods)])]
    return _longtable(Table(columns, rows, caption=says), _label(data_type, noise_name(snr_db)))


def _best(board: Board, grid: Grid, system: str) -> list[str]:
    """Return the methods with the best score; none where one has the first mark."""
    first = [spec.mark for spec in marked(board.specs)][:1]
    own = [row.method for row in board.rows if not row.reference]
    scores: dict[str, float] = {}
    for method in own:
        entries = grid.cell(system, method)
        sign = sign_of(board, entries) if entries else FAILED
        score = middle(entries, board.primary)
        if sign in first:
            return []
        if sign not in {FAILED, UNDECIDED} and score is not None and score < ENDLESS:
            scores[method] = board.primary.loss(score)
    return [method for method, loss in scores.items() if loss == min(scores.values())]


def _cell(board: Board, entries: Sequence[Entry], *, bold: bool = False) -> str:
    sign = sign_of(board, entries) if entries else ""
    marks = [spec.mark for spec in marked(board.specs)]
    primary, score = board.primary, middle(entries, board.primary)
    if sign in {"", FAILED, UNDECIDED, *marks[:1]} or score is None:
        return escape_latex(NOTHING if sign == FAILED else sign or "")
    size = middle(entries, board.weighs)
    if score >= ENDLESS:
        shown = r"$\infty$"
    elif primary.scale == "log" and score > 0:
        shown = f"$10^{{{math.floor(math.log10(score))}}}$"
    else:
        shown = _number(written(primary, score))
    shown = _bold(shown) if bold else shown
    shown = rf"\underline{{{shown}}}" if sign in marks else shown
    # Brackets behind a power of ten would read as a product.
    return shown + ("" if size is None else f";~{fixed(size)}")


def _number(text: str) -> str:
    """Write numbers with a power of ten as such, others as they are."""
    parts = []
    for part in text.split("…"):
        mantissa, e, power = part.partition("e")
        number = e and power.lstrip("-").isdigit()
        parts.append(rf"${mantissa}\cdot10^{{{power}}}$" if number else escape_latex(part))
    return "--".join(parts)
