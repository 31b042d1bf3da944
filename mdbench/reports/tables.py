"""Tables: one model, its cells with scores, and its Markdown and terminal forms."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

from mdbench.drawing.numbers import (
    NO_ANSWER,
    NOTHING,
    fixed,
    percent,
    rounded,
    scientific,
)
from mdbench.metrics.spec import CONSTANT, FORM, PARTLY, RESTS, ranks
from mdbench.reports.columns import (
    AT_ONCE,
    FORMS,
    SORTED_BY,
    columns_of,
    counts_text,
    not_measured_text,
)
from mdbench.reports.coverage import (
    attainable_note,
    conditions_note,
    machine_notes,
    marks_note,
    missing_jobs_note,
    undecided_note,
)
from mdbench.reports.entries import marked
from mdbench.reports.leaderboard import APART_FAMILIES
from mdbench.reports.ranking import FEWEST

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

    import rich.table
    from rich.console import Console, ConsoleOptions, RenderResult

    from mdbench.metrics.spec import MetricSpec, Value
    from mdbench.records import Record
    from mdbench.reports.columns import BoardColumn, Renderer
    from mdbench.reports.entries import Aggregated
    from mdbench.reports.leaderboard import Leaderboard, Row

ALARM = "⚠"
WORSE = "worse than no equation"
"""Text for an answer that is worse than none: see `MetricSpec.worse_than_nothing`."""
WORSE_LABELS = "worse than a constant"
"""The same for an answer that is no equation."""
AS_CONSTANT = "no better than a constant"
HARDLY = "explains only a part of the data"
CHANCE = "its form in a column of two values is chance"
"""Text for an answer to a user's data with an equation that is no better than a constant."""
REST = "‡"
"""Behind a score that would be worse than no equation, where that is no fault of the answer's."""
RESTING = "at rest in the test window"
NO_BETTER = "the truth scores no better than no equation"
UNDECIDED = "?"


@dataclass(frozen=True)
class Cell:
    """A cell of a table.

    Attributes
    ----------
    text
        What is shown.
    value
        What the column is sorted by: a number, or the text.
    warning
        What a mark in the text means; empty without one.
    style
        The style in a terminal, as rich names it.
    """

    text: str
    value: float | str | None = None
    warning: str = ""
    style: str = ""


class Beaten(NamedTuple):
    """The sign, and the words, for a score that no equation would beat; both empty for others."""

    sign: str = ""
    meaning: str = ""


FAIR = Beaten()


@dataclass(frozen=True)
class Column:
    """A column of a table.

    Attributes
    ----------
    title
        The head.
    key
        In a leaderboard the name of a metric, or of what all methods have.
    meaning
        What is in it, in a sentence.
    spec
        The metric that it shows, if it shows one.
    left
        Whether its cells begin at the left; numbers end at the right.
    wraps
        Whether a cell may take several lines.
    fills
        Whether it takes what is left of a terminal's width.
    widest
        Characters that it takes in a terminal at most; 0 for any number.
    more
        Whether a telephone shows it on demand only.
    further
        Whether a page shows it on demand only, however wide.
    names
        Whether it names the rows: a terminal never cuts it.
    """

    title: str
    key: str = ""
    meaning: str = ""
    spec: MetricSpec | None = None
    left: bool = False
    wraps: bool = False
    fills: bool = False
    widest: int = 0
    more: bool = False
    further: bool = False
    names: bool = False

    @property
    def css(self) -> str:
        """Its classes in the page's style."""
        return " ".join(
            ["wrapped"] * self.wraps + ["more"] * self.more + ["further"] * self.further
        )


@dataclass(frozen=True)
class Table:
    """A table, whatever it becomes.

    Attributes
    ----------
    grey
        The numbers of the rows that are in grey, as they are not compared with the others.
    """

    columns: Sequence[Column]
    rows: Sequence[Sequence[Cell]]
    title: str = ""
    caption: str = ""
    grey: frozenset[int] = frozenset()


def text_table(heads: Iterable[str], rows: Iterable[Iterable[str]], left: Collection[str]) -> Table:
    """Return a table of plain texts; the columns with heads in `left` begin at the left."""
    columns = [Column(head, left=head in left) for head in heads]
    return Table(columns, [[*map(Cell, row)] for row in rows])


def to_markdown(table: Table) -> str:
    """Return a table in Markdown, each row on one line, without title and caption.

    Tags of HTML in a cell, such as those in a reason that a method gives, are shown and not run.
    """
    heads = [column.title for column in table.columns]
    rule = [":--" if column.left else "--:" for column in table.columns]
    rows = ([cell.text for cell in row] for row in table.rows)
    return "\n".join(f"| {' | '.join(map(_in_markdown, row))} |" for row in (heads, rule, *rows))


_TAG = re.compile(r"<(?=[A-Za-z/!?])")


def _in_markdown(text: str) -> str:
    return _TAG.sub("&lt;", " ".join(text.splitlines())).replace("|", "\\|").replace("](", "]\\(")


def to_terminal(
    table: Table,
    *,
    expand: bool = False,
    padding: int = 0,
    choices: Sequence[Collection[str]] = (),
) -> rich.table.Table:
    """Return a table for a terminal.

    Parameters
    ----------
    expand
        Whether it takes the whole width.
    padding
        Characters left free at the sides of each cell.
    choices
        Titles of columns that are left out: the first choice with which the table fits into the
        terminal is taken, so that names of rows are never cut.
    """
    from rich import box  # noqa: PLC0415 - other renderers do without
    from rich.table import Table as RichTable  # noqa: PLC0415 - likewise
    from rich.text import Text  # noqa: PLC0415 - likewise

    class Fitted(RichTable):
        """The table, with as many columns as the width has space for."""

        def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
            narrowed, fits = table, not choices
            for titles in choices:
                narrowed = without_columns(table, lambda column, _, out=titles: column.title in out)  # type: ignore[misc]
                if fits := _narrowest(narrowed, padding) <= options.max_width:
                    break
            if fits and len(narrowed.columns) == len(table.columns):
                yield from super().__rich_console__(console, options)
            else:
                yield from made(narrowed, whole=fits).__rich_console__(console, options)

    def made(table: Table, kind: type[RichTable] = RichTable, *, whole: bool = True) -> RichTable:
        terminal_table = kind(
            box=box.SIMPLE_HEAD,
            expand=expand,
            padding=(0, padding),
            title=table.title or None,
            title_justify="left",
            caption=table.caption or None,
            caption_justify="left",
        )
        for place, column in enumerate(table.columns):
            longest = max((len(row[place].text) for row in table.rows), default=0)
            terminal_table.add_column(
                column.title,
                justify="left" if column.left else "right",
                no_wrap=not column.wraps,
                overflow="fold" if column.names else "ellipsis",
                max_width=column.widest or None,
                min_width=longest if column.names and whole else None,
                ratio=1 if column.fills else None,
                width=NARROWEST if column.fills else None,
            )
        for number, row in enumerate(table.rows):
            style = GREY if number in table.grey else ""
            terminal_table.add_row(*(Text(cell.text, style=cell.style or style) for cell in row))
        return terminal_table

    return made(table, Fitted)


def _narrowest(table: Table, padding: int) -> int:
    """Return how many characters a table takes in a terminal at least."""
    width = 1
    for place, column in enumerate(table.columns):
        cells = [row[place].text for row in table.rows]
        if column.fills:
            least = NARROWEST
        elif column.wraps and not column.names:
            least = max((len(word) for text in cells for word in text.split()), default=1)
        else:
            least = max(map(len, cells), default=1)
        heads = [len(line) for line in column.title.splitlines()] if not column.fills else []
        width += max([least, *heads]) + 1 + 2 * padding
    return width


GREY = "bright_black"
"""The style of grey rows in a terminal, as rich names it."""
NARROWEST = 12
"""Characters that a column which fills a terminal has at least."""


def leaderboard_table(board: Leaderboard, renderer: Renderer = "page") -> Table:
    """Return the leaderboard with all columns that a renderer has for its data type.

    What none of its answers has has no column: metrics of other problems of the data type, and
    counts such as those of the scorer's contradictions.
    The caption has what the scorer could not decide, what is missing, and whether it is of several
    machines.
    """
    shown = columns_of(board, renderer)
    most_telling = _most_telling(board, [column.key for column in shown])
    columns = [
        Column(
            column.head_of(renderer),
            column.key,
            _meaning(column.spec)
            if column.spec
            else column.meaning.format(primary=board.primary.title, fewest=FEWEST),
            column.spec,
            left=column.spec.kind == "label" if column.spec else column.left,
            wraps=column.spec.kind != "number" if column.spec else column.wraps,
            more=column.key not in most_telling[:ON_TELEPHONES],
            further=column.key not in most_telling[:AT_ONCE],
        )
        for column in shown
    ]
    rows = [[board_cell(board, row, column) for column in shown] for row in board.rows]
    notes = [
        missing_jobs_note(board),
        conditions_note(board),
        attainable_note(board),
        undecided_note(board),
        machine_notes(board),
        marks_note(board.rows) if renderer == "markdown" else "",
    ]
    caption = " ".join(filter(None, notes))
    return Table(columns, rows, caption=caption, grey=grey_rows(board))


def grey_rows(board: Leaderboard) -> frozenset[int]:
    """Return the numbers of the rows of methods that have not attempted all jobs."""
    return frozenset(n for n, row in enumerate(board.rows) if row.coverage < 1)


def without_columns(table: Table, dropped: Callable[[Column, Sequence[Cell]], bool]) -> Table:
    """Return a table without the columns that `dropped` names, given a column and its cells."""
    places = [
        place
        for place, column in enumerate(table.columns)
        if not dropped(column, [row[place] for row in table.rows])
    ]
    return replace(
        table,
        columns=[table.columns[place] for place in places],
        rows=[[row[place] for place in places] for row in table.rows],
    )


def _most_telling(board: Leaderboard, keys: Sequence[str]) -> list[str]:
    """Order columns by what they say: who, how often right, how good, how simple, at what cost."""
    marks = [spec.name for spec in board.known if spec.mark]
    size = [board.weighs.name] if board.weighs else []
    part = ["done"] if grey_rows(board) else []
    wanted = ["rank", "method", *marks[:1], board.primary.name, *part, *size, "time", "answers"]
    return [key for key in dict.fromkeys([*wanted, "interval", "causes", *keys]) if key in keys]


ON_TELEPHONES = 5
"""Columns of the leaderboard that a telephone shows at first."""


def _meaning(spec: MetricSpec) -> str:
    how = {"share": "share of jobs", "counts": "jobs, by kind"}.get(spec.aggregate, spec.aggregate)
    unit = f", {spec.unit}" if spec.unit else ""
    return f"{spec.explanation} ({how}{unit})".strip()


def board_cell(
    board: Leaderboard,
    row: Row,
    column: BoardColumn,
    forms: Mapping[str, Callable[..., str]] = FORMS,
) -> Cell:
    """Write what a column has of a row of a leaderboard, in the forms of a renderer."""
    if column.spec is not None:
        shown_cell = cell(column.spec, row.values[column.key], primary=column.spec is board.primary)
        share = shown_cell.value
        if (
            column.spec.aggregate == "share"
            and isinstance(share, float)
            and row.mostly_not_measured
        ):
            # What has the first mark has it with more work, too; other shares may fall.
            best = column.spec in marked(board.known)[:1]
            text = not_measured_text(percent(share) if share and best else "")
            return replace(shown_cell, text=text)
        return shown_cell
    values = shown = column.values(row)
    if column.form == "interval":
        shown = [format_score(board.primary, value) for value in values]
    by = SORTED_BY.get(column.form)
    return Cell(forms[column.form](*shown), by(*values) if by else values[0])


APART = (*APART_FAMILIES, "reference")
"""Standings of methods that are shown apart, and named so."""


def cell(spec: MetricSpec, result: Aggregated, *, primary: bool = False) -> Cell:
    """Write the values of a metric over several jobs; `primary`: over cases, seeds merged."""
    if result.value is None:
        return Cell(NOTHING)
    if spec.kind == "label":
        return Cell(counts_text(result.counts), result.value)
    if spec.kind == "flag" and not primary:
        count = fixed(result.value * result.of)
        return Cell(f"{count}/{result.of} ({percent(result.value)})", result.value)
    return _with_alarm(spec, format_score(spec, result.value), result.value)


def _with_alarm(spec: MetricSpec, text: str, value: float) -> Cell:
    if math.isinf(value) or not spec.alarming(value):
        return Cell(text, value)
    return Cell(f"{text}\xa0{ALARM}", value, warning(spec))


def warning(spec: MetricSpec) -> str:
    """Return the text that explains an alarm."""
    return f"{spec.title} is worse than {format_score(spec, spec.alarm)}"


def beaten(spec: MetricSpec, specs: Sequence[MetricSpec], record: Record) -> Beaten:
    """Return the mark of an answer that scores worse than no equation.

    Where the system is at rest in the test window, or the truth itself scores no better, the score
    means nothing for the answer; and what is known to be right is never called worse than nothing.

    Parameters
    ----------
    specs
        All metrics, the primary one first, which the floor is of.
    """
    if (
        record.answered
        and spec is specs[0]
        and CONSTANT in record.notes
        and RESTS not in record.notes
    ):
        return Beaten(ALARM, AS_CONSTANT)
    if not record.answered or not spec.worse_than_nothing(record.metrics.get(spec.name)):
        return _on_own_data(spec, specs, record)
    if RESTS in record.notes:
        return Beaten(REST, RESTING)
    if spec.name == specs[0].name and not ranks(record.floor, spec):
        return Beaten(REST, NO_BETTER)
    if any(record.metrics.get(flag.name) == 1 for flag in marked(specs)[:1]):
        return FAIR
    return Beaten(ALARM, WORSE_LABELS if record.equations is None else WORSE)


def _on_own_data(spec: MetricSpec, specs: Sequence[MetricSpec], record: Record) -> Beaten:
    """Return the mark of an answer to a user's data that scores well, and still says little."""
    known_right = any(record.metrics.get(flag.name) == 1 for flag in marked(specs)[:1])
    if not record.answered or spec is not specs[0] or known_right:
        return FAIR
    if PARTLY in record.notes:
        return Beaten(ALARM, HARDLY)
    return Beaten(ALARM, CHANCE) if FORM in record.notes else FAIR


def answer_cell(spec: MetricSpec, values: Mapping[str, Value], by: Beaten = FAIR) -> Cell:
    """Write one answer's value."""
    if spec.name not in values:
        return Cell(NOTHING)
    value = values[spec.name]
    if value is None:
        return Cell(UNDECIDED)
    text = format_score(spec, value)
    if isinstance(value, str):
        return Cell(text, value)
    if by.sign and not math.isinf(value):
        return Cell(f"{text}\xa0{by.sign}", value, by.meaning)
    return _with_alarm(spec, text, value)


def format_score(spec: MetricSpec, value: Value) -> str:
    """Write a value as its metric asks for.

    Examples
    --------
    >>> from mdbench.metrics.spec import MetricSpec
    >>> loss = MetricSpec(name="loss", title="loss", explanation="of points", digits=2)
    >>> format_score(loss, 0.5), format_score(loss, None), format_score(loss, float("inf"))
    ('0.50', '–', 'none')
    """
    if value is None:
        return NOTHING
    if isinstance(value, str):
        return value.replace("_", " ")
    if math.isinf(value):
        return NO_ANSWER
    if spec.kind == "flag":
        return {0.0: "no", 1.0: "yes"}.get(value, percent(value))
    powers = spec.scale == "log" and spec.digits
    return scientific(value) if powers else rounded(value, spec.digits)
