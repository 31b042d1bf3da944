"""The columns of a leaderboard, each declared once in `COLUMNS`.

The page, its script, the terminal, LaTeX, Markdown and CSV read this table, and none of them has a
list of its own.  A new column is one entry: what it takes from a record, how the values of a group
of records become one, how that is written and where it is shown.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from statistics import fmean, median
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from mdbench.drawing.numbers import NOTHING, duration, fixed, percent, rounded

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from mdbench.metrics.spec import MetricSpec
    from mdbench.records import Record
    from mdbench.reports.entries import Entry
    from mdbench.reports.leaderboard import Leaderboard, Row

Renderer: TypeAlias = Literal["page", "markdown", "terminal", "latex", "csv"]
"""Who shows columns; the page's script shows those of the page."""
Measure: TypeAlias = "Callable[[Record], float | None]"

CUT = "†"
"""Mark of a method whose scores are of too little time."""
RANKED = ("compared", "partial")
"""Standings of methods that are not shown apart, and named so."""
MOST_WITH_INTERVAL = 3
"""Metrics besides the primary one with which its interval and memory still fit a terminal."""
OVER: Mapping[str, Callable[[Sequence[float]], float | None]] = {
    "median": lambda values: median(values) if values else None,
    "mean": lambda values: fmean(values) if values else None,
    "sum": lambda values: sum(values, 0.0),
    "max": lambda values: max(values, default=None),
}
"""How the values of a group of records become one; the script has the same."""
OF_ATTEMPTS = ("median", "mean")
"""Those of them that are of attempts alone."""
NOT_MEASURED = "not measured"
"""In place of a share of jobs most of which were ended too early to say anything."""
AT_ONCE = 8
"""Columns of a page's board that are always shown; the others are behind one switch."""


@dataclass(frozen=True, kw_only=True)
class BoardColumn:
    """A column of the leaderboard, for all who show it.

    Attributes
    ----------
    key
        Its name; that of a metric, in a column of one.
    head
        What stands above it.
    heads
        Other heads of some renderers.
    meaning
        What is in it, in a sentence; ``{primary}`` is the title of the primary metric,
        and ``{fewest}`` the number of systems from which on it has an interval.
    names
        The values of a row that it shows: attributes of `Row`, or the name of its `amount`.
    form
        How they are written: the name of one of `FORMS`.
    amount
        What it takes from a record: a number, or None where that is not known.
    over
        How the amounts of a group of records become one: ``sum`` or ``max`` of all, or the
        ``median`` or ``mean`` of those that count as attempts.
    specs
        The metrics of a board that it stands for, a column each.
    spec
        The metric that it shows, in the columns of a board.
    where
        Who shows it.
    when
        Whether a renderer shows it, given the board.
    left, wraps
        As of `mdbench.reports.tables.Column`.
    stays
        The smaller, the sooner it is left out of a narrow terminal; None for never.
    paper
        Its order in LaTeX; equals are in the order of `COLUMNS`.
    better
        Which end is better, for what is bold in LaTeX.
    """

    key: str
    head: str = ""
    heads: Mapping[Renderer, str] = field(default_factory=dict)
    meaning: str = ""
    names: tuple[str, ...] = ()
    form: str = "text"
    amount: Measure | None = None
    over: str = "median"
    specs: Callable[[Leaderboard, Renderer], Sequence[MetricSpec]] | None = None
    spec: MetricSpec | None = None
    where: frozenset[Renderer] = frozenset({"page", "markdown", "terminal", "latex", "csv"})
    when: Callable[[Leaderboard, Renderer], bool] = lambda _board, _renderer: True
    left: bool = False
    wraps: bool = False
    stays: int | None = 0
    paper: int = 0
    better: Literal["lower", "higher", "neither"] = "neither"

    def head_of(self, renderer: Renderer) -> str:
        """Return its head, as a renderer has it."""
        return self.heads.get(renderer, self.head)

    def of_group(self, entries: Iterable[Entry]) -> float | None:
        """Return the amount of a group of results."""
        values = (
            entry.amounts.get(self.amount)
            for entry in entries
            if self.amount and (entry.attempted or self.over not in OF_ATTEMPTS)
        )
        return OVER[self.over]([value for value in values if value is not None])

    def values(self, row: Row) -> list[Any]:
        """Return what it shows of a row."""
        return [row.amounts[n] if n in row.amounts else getattr(row, n) for n in self.names]


def wall_s(record: Record) -> float | None:
    """Return the wall time of a job."""
    return record.measured.wall_s


def work_s(record: Record) -> float | None:
    """Return the work of a job, in reference seconds."""
    return getattr(record.measured, "work_s", None)  # since schema 6


def memory_mb(record: Record) -> float | None:
    """Return the peak memory of a job."""
    return record.measured.peak_memory_mb


def evaluations(record: Record) -> float | None:
    """Return how many expressions the method evaluated, in its own count."""
    return record.measured.evaluations


def cut_off(record: Record) -> float:
    """Return 1 where a limit ended the job, else 0."""
    return float(record.cut_off)


def not_measured(record: Record) -> float:
    """Return 1 where the job was ended too early to say anything of its method, else 0."""
    return float(record.not_measured)


def hides_share(short: float, jobs: int) -> bool:
    """Return whether a share is not shown, as most jobs were ended too early to be measured.

    Parameters
    ----------
    short
        How many of the jobs, or attempts, are `not_measured`.
    """
    return 2 * short > jobs


def not_measured_text(least: str) -> str:
    """Write what stands in place of a share, and what the share is at least if that is more than 0.

    Examples
    --------
    >>> not_measured_text(""), not_measured_text("5 %")
    ('not measured', 'not measured (≥ 5 %)')
    """
    return f"{NOT_MEASURED} (≥ {least})" if least else NOT_MEASURED


def counts_text(counts: Mapping[str, int]) -> str:
    """Write how many there are of each kind, those of none left out."""
    # Only the commas are places to break a line.
    return ", ".join(f"{n}_{name}".replace("_", "\xa0") for name, n in counts.items()) or NOTHING


def _interval(low: str, high: str, dash: str = " … ") -> str:
    return NOTHING if NOTHING in {low, high} else f"{low}{dash}{high}"


def _short_interval(low: str, high: str) -> str:
    return low if low == high else _interval(low, high, "…")


def _name(method: str, standing: str, cut_off: bool = False, mark: str = "") -> str:
    apart = "" if standing in RANKED else f" ({standing})"
    return f"{method}{apart}" + f"\xa0{mark}" * bool(mark) + f"\xa0{CUT}" * cut_off


FORMS: Mapping[str, Callable[..., str]] = {
    "whole": fixed,
    "tenths": lambda value: rounded(value, 1),
    "share": percent,
    "duration": duration,
    "text": lambda value: value or NOTHING,
    "name": _name,
    "interval": _interval,
    "of": lambda some, whole: f"{some}/{whole}",
    "counts": counts_text,
}
"""How values are written; those of an ``interval`` are scores as text.  The script has the same."""
SHOWN_APART = "*"
"""Behind the name of a method that is shown apart, in a terminal."""
TERMINAL: Mapping[str, Callable[..., str]] = {
    **FORMS,
    "share": lambda value: percent(value, ""),
    "name": lambda method, standing, cut_off, mark: (
        method + SHOWN_APART * (standing not in RANKED) + mark + CUT * cut_off
    ),
    "interval": _short_interval,
    "counts": lambda counts: " ".join(f"{n} {cause}" for cause, n in counts.items()) or NOTHING,
}
LATEX: Mapping[str, Callable[..., str]] = {
    **FORMS,
    "duration": lambda value: fixed(value, 1),
    "name": lambda method, standing, _cut_off, mark: _name(method, standing, mark=mark),
    "interval": lambda low, high: _interval(low, high, "…"),
}
SORTED_BY: Mapping[str, Callable[..., float]] = {
    "of": lambda some, whole: some / (whole or 1),
    "counts": lambda counts: sum(counts.values()),
}
"""The sort key of a form, where it is not the first value."""


def _others(board: Leaderboard, renderer: Renderer) -> list[MetricSpec]:
    """Return the metrics that a renderer shows besides the primary one."""
    others = [spec for spec in board.known if spec is not board.primary]
    if renderer == "csv":
        return others
    if renderer in {"terminal", "latex"}:
        return [spec for spec in others if "brief" in spec.places]
    return [spec for spec in others if "board" in spec.places and not _is_empty(board, spec)]


def _is_empty(board: Leaderboard, spec: MetricSpec) -> bool:
    results = [row.values[spec.name] for row in board.rows]
    if any(result.undecided for result in results):
        return False
    if spec.aggregate == "counts":
        return not any(result.counts for result in results)
    return all(result.value is None for result in results)


def _has_space(board: Leaderboard, renderer: Renderer) -> bool:
    return renderer != "terminal" or len(_others(board, renderer)) <= MOST_WITH_INTERVAL


def _counts_jobs(board: Leaderboard, renderer: Renderer) -> bool:
    flags = [spec.name for spec in _others(board, renderer) if spec.mark]
    return not flags or any(row.jobs != row.values[flags[0]].of for row in board.rows)


COLUMNS: list[BoardColumn] = [
    BoardColumn(
        key="rank",
        head="rank",
        meaning="place by {primary} among the methods that are compared",
        names=("rank",),
        form="whole",
        stays=None,
        better="lower",
    ),
    BoardColumn(
        key="method",
        head="method",
        names=("method", "standing", "cut_off", "mark"),
        form="name",
        left=True,
        stays=None,
        paper=-1,
    ),
    BoardColumn(
        key="done",
        head="done",
        meaning="coverage, the share of the jobs of the board that it attempted",
        names=("coverage",),
        form="share",
        when=lambda board, renderer: (
            renderer != "terminal" or any(row.coverage < 1 for row in board.rows)
        ),
        stays=None,
        paper=1,
    ),
    BoardColumn(key="family", head="family", names=("family",), where=frozenset({"page", "csv"})),
    BoardColumn(
        key="origin",
        head="implementation",
        meaning="who wrote the code that runs, a public package or this bench's own after the "
        "paper, and whose settings it has: upstream, those of a published benchmark; author, those "
        "of the method's author; ours",
        names=("origin",),
        where=frozenset({"page", "markdown", "csv"}),
        when=lambda board, _: any(row.origin for row in board.rows),
        left=True,
        wraps=True,
    ),
    BoardColumn(key="primary", specs=lambda board, _: [board.primary], stays=None),
    BoardColumn(
        key="interval",
        head="95 %",
        heads={"terminal": "95\xa0%"},
        meaning="bootstrap interval of {primary}, systems and then their seeds drawn; none of "
        "fewer than {fewest} systems",
        names=("low", "high"),
        form="interval",
        when=_has_space,
        stays=3,
    ),
    BoardColumn(
        key="ratio",
        head="ratio to truth",
        meaning="median ratio of {primary} to that of the ground-truth equations",
        names=("above_floor",),
        form="tenths",
        where=frozenset({"page", "markdown", "csv"}),
        when=lambda board, _: board.has_floors,
    ),
    BoardColumn(key="metrics", specs=_others, stays=6),
    BoardColumn(
        key="answers",
        head="answers",
        meaning="jobs with an answer, of all",
        names=("answered", "jobs"),
        form="of",
        where=frozenset({"page", "markdown", "latex", "csv"}),
        better="higher",
    ),
    BoardColumn(
        key="jobs",
        head="jobs",
        names=("jobs",),
        form="whole",
        where=frozenset({"terminal"}),
        when=_counts_jobs,
        stays=2,
    ),
    BoardColumn(
        key="work",
        head="work",
        meaning="median work of a job, in reference seconds",
        names=("work_s",),
        form="duration",
        amount=work_s,
        where=frozenset({"page", "markdown", "csv"}),
        when=lambda board, _: any(row.amounts["work_s"] is not None for row in board.rows),
    ),
    BoardColumn(
        key="evaluations",
        head="evaluations",
        meaning="median of the expressions that the method evaluated for a job, in its own count",
        names=("evaluations",),
        form="whole",
        amount=evaluations,
        where=frozenset({"page", "markdown", "terminal", "csv"}),
        when=lambda board, _: any(row.amounts["evaluations"] is not None for row in board.rows),
    ),
    BoardColumn(
        key="partial",
        head="partial",
        meaning="share of the jobs that a limit of time or work ended, with an answer or without",
        names=("partial",),
        form="share",
        amount=cut_off,
        over="mean",
        where=frozenset({"page", "markdown", "terminal", "csv"}),
        when=lambda board, _: any(row.amounts["partial"] for row in board.rows),
    ),
    BoardColumn(
        key="not_measured",
        head="not measured",
        meaning="jobs that a limit of work ended without an answer, or with fewer than 10,000 "
        "evaluations and no right answer; where most are, no share is shown",
        names=("not_measured",),
        form="whole",
        amount=not_measured,
        over="sum",
        where=frozenset({"page", "markdown", "terminal", "csv"}),
        when=lambda board, _: any(row.amounts["not_measured"] for row in board.rows),
    ),
    BoardColumn(
        key="time",
        head="time",
        heads={"latex": "time (s)"},
        meaning="median wall time of a job",
        names=("wall_s",),
        form="duration",
        amount=wall_s,
        stays=5,
        paper=1,
        better="lower",
    ),
    BoardColumn(
        key="total",
        head="total",
        meaning="wall time of all jobs",
        names=("total_s",),
        form="duration",
        amount=wall_s,
        over="sum",
        where=frozenset({"page", "markdown", "csv"}),
    ),
    BoardColumn(
        key="memory",
        head="memory",
        heads={"terminal": "MB", "page": "memory (MB)"},
        meaning="peak of any job, MB",
        names=("memory_mb",),
        form="whole",
        amount=memory_mb,
        over="max",
        where=frozenset({"page", "markdown", "terminal", "csv"}),
        when=_has_space,
        stays=1,
    ),
    BoardColumn(
        key="causes",
        head="not finished",
        meaning="jobs that ended otherwise than with an answer within the budget, by cause",
        names=("causes",),
        form="counts",
        where=frozenset({"page", "markdown", "terminal", "csv"}),
        left=True,
        wraps=True,
        stays=4,
    ),
]
"""All columns, in their order."""


def amounts() -> list[Measure]:
    """Return what columns take from records, each once."""
    return list(dict.fromkeys(c.amount for c in COLUMNS if c.amount is not None))


def columns_of(board: Leaderboard, renderer: Renderer) -> list[BoardColumn]:
    """Return the columns that a renderer shows of a board, one for each metric."""
    columns: list[BoardColumn] = []
    for column in COLUMNS:
        if renderer not in column.where or not column.when(board, renderer):
            continue
        if column.specs is None:
            columns.append(column)
            continue
        columns += [
            replace(column, key=spec.name, head=spec.title, spec=spec, better=spec.better)
            for spec in column.specs(board, renderer)
        ]
    return columns


def as_json() -> dict[str, dict[str, Any]]:
    """Return what the page's script has to know of each column, by its key."""
    numbers = {amount: number for number, amount in enumerate(amounts())}
    return {
        column.key: {"names": column.names, "form": column.form}
        | ({"amount": numbers[column.amount], "over": column.over} if column.amount else {})
        for column in COLUMNS
        if column.specs is None and "page" in column.where
    }
