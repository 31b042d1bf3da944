"""Tables to paste elsewhere: in Markdown for pages, in LaTeX for papers.

The LaTeX tables have systems against methods, as MDBench's Tables 3, A5 and A6.
"""

from __future__ import annotations

import csv
import io
import math
import re
import unicodedata
from collections import defaultdict
from dataclasses import replace
from statistics import median
from typing import TYPE_CHECKING

from mdbench.drawing.numbers import ENDLESS, NOTHING, fixed, noise_name
from mdbench.errors import counted
from mdbench.metrics.spec import is_high
from mdbench.reports.columns import (
    LATEX,
    NOT_MEASURED,
    TERMINAL,
    columns_of,
    hides_share,
    not_measured,
)
from mdbench.reports.coverage import (
    attainable_note,
    conditions_note,
    machine_notes,
    marks_note,
    missing_jobs_note,
    undecided_note,
)
from mdbench.reports.entries import counted_values, marked
from mdbench.reports.figures import FAILED, middle, sign_of
from mdbench.reports.phases import phase_tables
from mdbench.reports.tables import (
    ALARM,
    UNDECIDED,
    Cell,
    Column,
    Table,
    board_cell,
    format_score,
    grey_rows,
    leaderboard_table,
    text_table,
    to_markdown,
    without_columns,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from mdbench.extensions.papers.published import Published
    from mdbench.reports.columns import BoardColumn
    from mdbench.reports.entries import Entry
    from mdbench.reports.leaderboard import Grid, Leaderboard, Row


def markdown_tables(
    boards: Mapping[str, Leaderboard],
    published: Published | None = None,
    axes: Mapping[str, Mapping[str, str]] | None = None,
) -> str:
    """Write for each board its leaderboard, what sweeps show, and systems at each noise level.

    Parameters
    ----------
    boards
        The comparisons, of each data type and class.
    published
        Tables of a paper, whose entries are shown next to the methods' own.
    axes
        The axes of sweeps of each data type, with their usual values.
    """
    parts = []
    for board in boards.values():
        parts += [f"## {board.name}", leaderboard_markdown(board)]
        if published and (table := published_table(board, board.data_type, published)):
            parts += [f"### Compared with {published.title}", table]
        for phases in phase_tables(board, (axes or {}).get(board.data_type, {})):
            flag = marked(board.known)[0].title.capitalize()
            parts += [f"### {flag} by {phases.title}", to_markdown(phases)]
        for snr_db in board.noise_levels:
            parts.append(f"### {noise_name(snr_db)}")
            parts.append(systems_table(board, board.data_type, snr_db, published))
    return "\n\n".join(parts) + "\n"


def leaderboard_markdown(board: Leaderboard) -> str:
    """Return the leaderboard: the columns of the page that differ; incomplete rows in italics."""
    table = without_columns(
        leaderboard_table(board, "markdown"),
        lambda _, cells: all(cell.text == NOTHING for cell in cells),
    )
    rows = [
        [Cell(f"*{cell.text}*") for cell in row] if number in table.grey else row
        for number, row in enumerate(table.rows)
    ]
    text = to_markdown(replace(table, rows=rows))
    return f"{text}\n\n{table.caption}" if table.caption else text


def csv_tables(boards: Mapping[str, Leaderboard]) -> str:
    """Write the leaderboards of all boards as one CSV, numbers in full.

    A row is a method on a board; its columns are those of the page and all known metrics, under
    the names that they have in records and in ``report --json``.  What a board does not have is
    empty, and infinite is ``inf``.
    """
    rows: list[dict[str, object]] = []
    for board in boards.values():
        shown = columns_of(board, "csv")
        for row in board.rows:
            line: dict[str, object] = {"data_type": board.data_type, "class": board.title}
            for column in shown:
                if column.spec:
                    line[column.key] = row.values[column.key].value
                elif column.form == "counts":
                    line[column.names[0]] = board_cell(board, row, column, TERMINAL).text
                else:
                    line |= zip(column.names, column.values(row), strict=True)
            rows.append(line)
    text = io.StringIO()
    heads = dict.fromkeys(head for line in rows for head in line)
    table = csv.DictWriter(text, list(heads), lineterminator="\n")
    table.writeheader()
    table.writerows(rows)
    return text.getvalue()


def systems_table(
    board: Leaderboard, data_type: str, snr_db: float | None, published: Published | None = None
) -> str:
    """Write what each method made of each system at one noise level.

    A cell has the mark of the first flag, where it holds; otherwise it has the primary score and
    what that is weighed against, and behind them the marks of other flags; a cross is no answer.

    Parameters
    ----------
    board
        The comparison, under one protocol.
    data_type
        The data type of the comparison.
    snr_db
        The noise level.
    published
        A paper's tables; their entries are for clean data only.
    """
    grid = board.grid(snr_db)
    head = ["system", "floor"]
    with_published = set()
    for method in grid.methods:
        head.append(board.named(method))
        if published and snr_db is None and published.has(data_type, method):
            with_published.add(method)
            head.append(published.title)
    lines = []
    for system in grid.systems:
        ones = [entry for method in grid.methods for entry in grid.cell(system, method)]
        floors = [entry.floor for entry in ones if entry.floor is not None]
        floor = median(floors) if floors else None
        high = f" {ALARM}" if is_high(floor, board.primary) else ""
        line = [f"`{system}`", format_score(board.primary, floor) + high]
        for method in grid.methods:
            line.append(_answer(board, grid.cell(system, method)))
            if method in with_published and published:
                mark = published.of(data_type, system, method)
                line.append("" if mark is None else str(mark))
        lines.append(line)
    return to_markdown(text_table(head, lines, {"system"}))


def marks_table(board: Leaderboard) -> str:
    """Write at each noise level how many jobs have each mark, of how many; empty without any.

    What the scorer could not decide has none.  Where most jobs were ended too early to be measured,
    the count is in brackets.
    """
    flags = marked(board.known)
    groups: dict[tuple[str, float | None], list[Entry]] = defaultdict(list)
    for one in board.entries:
        groups[one.method, one.case.snr_db].append(one)
    lines = []
    for row in board.rows:
        line = [board.named(row.method)]
        for snr_db in board.noise_levels:
            found = [counted_values(groups[row.method, snr_db], spec).values for spec in flags]
            held = " + ".join(str(each.count(1)) for each in found)
            text = f"{held} of {len(found[0])}" if found and found[0] else ""
            ones = [one for one in groups[row.method, snr_db] if one.attempted]
            short = sum(one.amounts.get(not_measured) or 0 for one in ones)
            few = text and hides_share(short, len(ones))
            line.append(f"{NOT_MEASURED} ({text})" if few else text)
        lines.append(line)
    head = ["method", *map(noise_name, board.noise_levels)]
    return to_markdown(text_table(head, lines, {"method"})) if flags else ""


def published_table(board: Leaderboard, data_type: str, published: Published) -> str:
    """Write how many systems have the first mark on clean data, here and in a paper's tables.

    Only methods and systems that both have are counted; empty where there are none.
    """
    best = next((spec.mark for spec in marked(board.specs)), None)
    lines = []
    for row in board.rows:
        if not published.has(data_type, row.method):
            continue
        own: dict[str, list[Entry]] = defaultdict(list)
        for entry in board.entries:
            system, snr_db, _ = entry.case
            both = published.of(data_type, system, row.method) is not None
            if entry.method == row.method and snr_db is None and entry.attempted and both:
                own[system].append(entry)
        here = {system for system, ones in own.items() if sign_of(board, ones) == best}
        there = published.found(data_type, row.method) & own.keys()
        if own:
            ones = [one for several in own.values() for one in several]
            few = hides_share(sum(one.amounts.get(not_measured) or 0 for one in ones), len(ones))
            count = f"{NOT_MEASURED} ({len(here)})" if few else len(here)
            counts = (len(own), count, len(there), len(here & there))
            only_here, only_there = sorted(here - there), sorted(there - here)
            names = [", ".join(f"`{name}`" for name in each) for each in (only_here, only_there)]
            lines.append([board.named(row.method), *map(str, counts), *names])
    head = ["method", "systems", "here", published.title, "both"]
    head += ["only here", f"only in {published.title}"]
    return to_markdown(text_table(head, lines, {"method", *head[-2:]})) if lines else ""


def _answer(board: Leaderboard, entries: Sequence[Entry]) -> str:
    if not entries:
        return ""
    sign = sign_of(board, entries)
    marks = [spec.mark for spec in marked(board.specs)]
    if sign == FAILED:
        return f"{sign} {next(one.status for one in entries if one.attempted and not one.answered)}"
    if sign in {"", UNDECIDED, *marks[:1]}:
        return sign or ""
    score, size = middle(entries, board.primary), middle(entries, board.weighs)
    shown = UNDECIDED if score is None else format_score(board.primary, score)
    return f"{shown}{'' if size is None else f' ({fixed(size)})'}{f' {sign}' if sign else ''}"


_SPECIAL = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "²": "$^2$",
    "✓": r"$\checkmark$",
    "±": r"$\pm$",
    "×": r"$\times$",
    "∞": r"$\infty$",
    "≥": r"$\ge$",
    "§": r"\S{}",
    "‡": r"$\ddagger$",
    "’": "'",
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


def latex_tables(boards: Mapping[str, Leaderboard]) -> str:
    r"""Write a leaderboard for each board, and a table of systems for each noise level of it.

    A cell has the mark of the first flag, where it holds; otherwise it has the primary score (its
    power of ten, where ratios matter) and after a semicolon what that is weighed against,
    underlined where another flag holds; a dash is a failure.  The best of the methods that are
    compared is bold, and methods that lack jobs are grey.  Tables have labels such as ``tab:TYPE``
    and ``tab:TYPE-20-db``, and fit an article in two columns; a large one is several.  Needs the
    packages amssymb, booktabs, graphicx and xcolor.
    """
    parts = [r"% needs: \usepackage{amssymb,booktabs,graphicx,xcolor}"]
    for name, board in boards.items():
        parts.append(_leaderboard(name, board))
        parts += [_systems(name, snr_db, board) for snr_db in board.noise_levels]
        parts += [r"\clearpage"] * (len(boards) > 1)
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


def _leaderboard(name: str, board: Leaderboard) -> str:
    primary = board.primary
    columns = sorted(columns_of(board, "latex"), key=lambda column: column.paper)
    others = [c.spec for c in columns if c.spec and c.spec is not primary]
    methods = counted(len(board.ranked), "method")
    caption = f"{board.name}: rank by {primary.title} of {methods} on "
    caption += f"{counted(len(board.systems), 'system')}."
    text = f"{primary.title}: {primary.explanation}, with its bootstrap interval"
    text += "".join(f"; {spec.title}: {spec.explanation}" for spec in others)
    shown = [
        f"{text}.",
        missing_jobs_note(board),
        conditions_note(board),
        attainable_note(board),
        undecided_note(board),
        marks_note(board.rows),
    ]
    notes = filter(None, shown)
    text = escape_latex(" ".join([*notes, machine_notes(board)]).strip())
    table = [[_paper_cell(board, row, column) for column in columns] for row in board.rows]
    own = [number for number, row in enumerate(board.rows) if row.standing == "compared"]
    for column_number, losses in _columns_compared(board, columns).items():
        best = min((loss for n in own if (loss := losses[n]) is not None), default=math.inf)
        looks = {table[n][column_number] for n in own}
        if math.isfinite(best) and len(looks) > 1:
            # What looks the same is as good.
            looks = {table[n][column_number] for n in own if losses[n] == best}
            for n in own:
                if table[n][column_number] in looks:
                    table[n][column_number] = _bold(table[n][column_number])
    for n in grey_rows(board):
        table[n] = [rf"\textcolor{{gray}}{{{text}}}" for text in table[n]]
    head = [Column(escape_latex(column.head_of("latex"))) for column in columns]
    rows = [[*map(Cell, line)] for line in table]
    floats = _floats(Table(head, rows, caption=escape_latex(caption)), _label(name), "r")
    # Outside of the float: a caption cannot go on on the next page.
    return f"{floats}\n" rf"\par\noindent{{\footnotesize Table~\ref{{{_label(name)}}}: {text}\par}}"


_MOST_ROWS, _MOST_METHODS = 45, 8
"""Rows of a table that fit a page, and methods that fit next to each other."""
_FEWEST_SIGNS, _MOST_SIGNS = 11, 100
"""Signs that a cell takes, and that the cells or names of methods next to each other may take."""
_MOST_FLOATS = 10
"""Tables that may wait for a page: TeX has no room for many more."""


def _floats(table: Table, label: str, align: str, most_columns: int | None = None) -> str:
    """Return a table whose texts are LaTeX as floats across all columns of a page.

    One that is too large is several: each has so many rows, and so many columns besides the first.
    What is still too wide is made smaller.

    Parameters
    ----------
    align
        The letter that aligns all columns but the first.
    most_columns
        None for all.
    """
    columns = table.columns[1:]
    width = max(1, len(columns))
    if most_columns:  # names that are long need more parts; all parts have about as many columns
        names = [column.title.replace("\\", "") for column in columns]
        signs = sum(max(_FEWEST_SIGNS, len(name)) for name in names)
        parts = max(width / most_columns, signs / _MOST_SIGNS)
        width = math.ceil(width / math.ceil(parts))
    pieces = [
        Table(
            [table.columns[0], *table.columns[first : first + width]],
            [[row[0], *row[first : first + width]] for row in table.rows[top:][:_MOST_ROWS]],
        )
        for top in range(0, max(1, len(table.rows)), _MOST_ROWS)
        for first in range(1, max(2, len(table.columns)), width)
    ]
    lines = []
    for number, piece in enumerate(pieces, start=1):
        part = f" Part {number} of {len(pieces)}." if len(pieces) > 1 else ""
        head, *rows = _rows(piece)
        lines += [
            r"\begin{table*}",
            r"\centering\footnotesize",
            rf"\caption{{{table.caption}{part}}}",
            *[rf"\label{{{label}}}"] * (number == 1),
            r"\vspace{4pt}\setlength{\tabcolsep}{3pt}",
            r"\resizebox{\ifdim\width>\textwidth\textwidth\else\width\fi}{!}{%",
            rf"\begin{{tabular}}{{l{align * (len(piece.columns) - 1)}}}",
            r"\toprule",
            head,
            r"\midrule",
            *rows,
            r"\bottomrule",
            r"\end{tabular}}",
            r"\end{table*}",
            *[r"\clearpage"] * (number % _MOST_FLOATS == 0 or number == len(pieces) > 1),
        ]
    return "\n".join(lines)


def _rows(table: Table) -> list[str]:
    lines = [[column.title for column in table.columns]]
    lines += [[cell.text for cell in row] for row in table.rows]
    return [" & ".join(line) + r" \\" for line in lines]


def _paper_cell(board: Leaderboard, row: Row, column: BoardColumn) -> str:
    """Write a cell of a leaderboard; scores, their intervals and other metrics as numbers."""
    text = board_cell(board, row, column, LATEX).text
    if column.spec is None:
        return _number(text) if column.form == "interval" else escape_latex(text)
    return _number(text if column.spec is board.primary else text.partition(" (")[0])


def _columns_compared(
    board: Leaderboard, columns: Sequence[BoardColumn]
) -> dict[int, list[float | None]]:
    """Return the columns of a leaderboard that have a better end, lower being better."""
    losses_by_column: dict[int, list[float | None]] = {}
    for index, column in enumerate(columns):
        if column.better == "neither" or (column.spec and column.spec.kind == "label"):
            continue
        sign = -1.0 if column.better == "higher" else 1.0
        values = [
            None
            if column.spec and column.spec.aggregate == "share" and row.mostly_not_measured
            else row.values[column.key].value
            if column.spec
            else board_cell(board, row, column).value
            for row in board.rows
        ]
        losses_by_column[index] = [sign * v if isinstance(v, int | float) else None for v in values]
    return losses_by_column


def _bold(text: str) -> str:
    return rf"{{\bfseries\boldmath {text}}}"


def _label(*parts: str) -> str:
    r"""Name a table for ``\ref``: whatever names hold, it is one word."""
    return "tab:" + re.sub(r"[^a-z0-9]+", "-", "-".join(parts).lower()).strip("-")


def _systems(name: str, snr_db: float | None, board: Leaderboard) -> str:
    grid = board.grid(snr_db)
    methods = grid.methods
    first, *others = [f"{spec.title} ({spec.mark})" for spec in marked(board.known)] or [""]
    text = f"{first}, otherwise " if first else ""
    text += "the power of ten of " if board.primary.scale == "log" else ""
    text += board.primary.title + (
        f"; behind the semicolon {board.weighs.title}" if board.weighs else ""
    )
    text += f"; underlined: {', '.join(others)}" if others else ""
    bold = "bold: the best score" + (" where nobody has the mark" if first else "")
    text = escape_latex(
        f"{board.name}, {noise_name(snr_db)}: {text}; {NOTHING}: no answer; {bold}."
    )
    rows = []
    for system in grid.systems:
        best = _best(board, grid, system)
        row = [_cell(board, grid.cell(system, method), bold=method in best) for method in methods]
        rows.append([*map(Cell, [escape_latex(system), *row])])
    columns = [*map(Column, ["system", *map(escape_latex, methods)])]
    table = Table(columns, rows, caption=text)
    return _floats(table, _label(name, noise_name(snr_db)), "c", _MOST_METHODS)


def _best(board: Leaderboard, grid: Grid, system: str) -> list[str]:
    """Return the methods with the best score; none where one has the first mark."""
    first = [spec.mark for spec in marked(board.specs)][:1]
    own = [row.method for row in board.rows if row.standing in {"compared", "partial"}]
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


def _cell(board: Leaderboard, entries: Sequence[Entry], *, bold: bool = False) -> str:
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
        shown = _number(format_score(primary, score))
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
