"""Tables for a paper: systems against methods, as in MDBench's Tables 3, A5 and A6."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from mdbench.reports import leaderboard
from mdbench.reports.heat import cell_of, error_and_complexity
from mdbench.drawing.numbers import fixed, noise_name, scientific

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from mdbench.reports.entries import Entry
    from mdbench.reports.leaderboard import Board, Kind
    from mdbench.reports.results import Result

__all__ = ["escape_latex", "latex_tables"]

_SPECIAL = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    **{sign: f"\\{sign}" for sign in "&%$#_{}"},
}


def latex_tables(results: Iterable[Result], kinds: Mapping[str, Kind]) -> str:
    r"""Write a leaderboard for each data type, and a table of systems for each noise level.

    A check mark says identified; otherwise a cell has the power of ten of the NMSE and the
    complexity, underlined where one term is missing or extra; a dash is a failure.

    Parameters
    ----------
    results
        Those that stand.
    kinds
        What is known of the methods.

    Returns
    -------
    str
        LaTeX that needs the packages amssymb, booktabs and longtable.
    """
    parts = [r"% needs: \usepackage{amssymb,booktabs,longtable}"]
    for data_type, board in leaderboard.boards(results, kinds).items():
        parts.append(_leaderboard(data_type, board))
        parts += [_systems(data_type, snr_db, board) for snr_db in board.noise_levels]
    return "\n".join(parts) + "\n"


def escape_latex(text: str) -> str:
    r"""Write a text so that LaTeX shows it as it is.

    Examples
    --------
    >>> print(escape_latex("50 % of a_b"))
    50 \% of a\_b
    """
    return "".join(_SPECIAL.get(sign, sign) for sign in text)


def _leaderboard(data_type: str, board: Board) -> str:
    simulated = board.has_simulations
    residual = board.has_residuals
    head: tuple[str, ...] = ("method", "rank", "NMSE", r"95\,\%", "identified")
    head += ("$R^2$ test", "$R^2$ unseen") * simulated + ("residual",) * residual
    head += ("complexity", "answers", "time (s)")
    says = f"mean rank over {len(board.systems)} systems, median NMSE with bootstrap interval, "
    says += "identified equations, "
    says += "answers followed with an R2 above 0.9 in simulation, " * simulated
    says += "median error on clean data, " * residual
    says += "median complexity."
    lines = [
        r"\begin{table}",
        rf"\caption{{{escape_latex(data_type)}: {says}}}",
        rf"\begin{{tabular}}{{l{'r' * (len(head) - 1)}}}",
        r"\toprule",
        " & ".join(head) + r" \\",
        r"\midrule",
    ]
    for row in board.rows:
        cells = [
            escape_latex(row.method),
            _dash(fixed(row.rank, 2)),
            _power(row.median),
            f"{_power(row.low)}--{_power(row.high)}",
            _share(row.identified, row.judged),
            *(_share(row.holds, row.simulated),) * simulated,
            *(_share(row.holds_unseen, row.simulated_unseen),) * simulated,
            *(_power(row.residual),) * residual,
            _dash(fixed(row.complexity)),
            f"{row.answered}/{row.jobs}",
            _dash(fixed(row.wall_s, 1)),
        ]
        lines.append(" & ".join(cells) + r" \\")
    return "\n".join([*lines, r"\bottomrule", r"\end{tabular}", r"\end{table}"])


def _share(count: int, of: int) -> str:
    return f"{count}/{of}" if of else "--"


def _systems(data_type: str, snr_db: float | None, board: Board) -> str:
    grid = board.grid(snr_db)
    methods = grid.methods
    head = " & ".join(["system", *map(escape_latex, methods)]) + r" \\"
    says = r"identified ($\checkmark$), otherwise the power of ten of the NMSE and the complexity; "
    says += "underlined: one term off; dash: no answer."
    lines = [
        rf"\begin{{longtable}}{{l{'c' * len(methods)}}}",
        rf"\caption{{{escape_latex(data_type)}, {noise_name(snr_db)}: {says}}}\\",
        rf"\toprule {head} \midrule \endhead",
        r"\bottomrule \endfoot",
    ]
    for system in grid.systems:
        row = [_cell(grid.cell(system, method)) for method in methods]
        lines.append(" & ".join([escape_latex(system), *row]) + r" \\")
    return "\n".join([*lines, r"\end{longtable}"])


def _cell(entries: Sequence[Entry]) -> str:
    kind = cell_of(entries)[0] if entries else "missing"
    if kind == "found":
        return r"$\checkmark$"
    if kind in {"failed", "missing"}:
        return "--" if kind == "failed" else ""
    error, complexity = error_and_complexity(entries)
    size = "" if complexity is None else f"({fixed(complexity)})"
    if math.isinf(error):
        return "--"
    shown = f"0{size}" if error == 0 else f"10^{{{math.floor(math.log10(error))}}}{size}"
    return rf"\underline{{${shown}$}}" if kind == "near" else f"${shown}$"


def _power(value: float | None) -> str:
    text = scientific(value)
    mantissa, e, power = text.partition("e")
    return rf"${mantissa}\cdot10^{{{power}}}$" if e and power else _dash(text)


def _dash(text: str) -> str:
    return text.replace("–", "--")
