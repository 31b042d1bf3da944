"""The leaderboards as tables for a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich import box
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from mdbench.drawing.numbers import counted, duration, fixed, percent
from mdbench.reports.columns import CUT, cell, cut_off, interval, of_place, pooled, undecided
from mdbench.reports.language_models import ASKING_HEADS, PROBE_HEADS, asking_row, probe_rows

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from mdbench.language_models.contamination import Probes
    from mdbench.metrics.spec import MetricSpec
    from mdbench.reports.language_models import Asking
    from mdbench.reports.leaderboard import Board, Row

__all__ = ["leaderboards", "model_tables"]

_WIDE = {"model", "prompt", "failed", "model s a job", "budget spent"}
"""Columns that 80 characters have no room for; model and prompt stand behind the method's name."""
MOST_WITH_INTERVAL = 3
"""Metrics besides the primary one beside which there is room for its interval and for memory."""


def leaderboards(boards: Mapping[str, Board]) -> Iterator[Table]:
    """Make a table for each data type: the page's leaderboard, as far as 80 characters go."""
    for data_type, board in boards.items():
        yield _table(data_type, board)


def model_tables(rows: Sequence[Asking], probes: Sequence[Probes]) -> Iterator[Table]:
    """Make the tables of what was asked of language models, where something was."""
    for title, heads, lines, left_out in (
        ("Language models", ASKING_HEADS, [asking_row(one) for one in rows], _WIDE),
        ("What language models know of the problems", PROBE_HEADS, probe_rows(probes), set()),
    ):
        if not lines:
            continue
        table = Table(title=title, title_justify="left", box=box.SIMPLE_HEAD)
        shown = [place for place, head in enumerate(heads) if head not in left_out]
        for place in shown:
            table.add_column(heads[place])
        for line in lines:
            table.add_row(*(escape(line[place]) for place in shown))
        yield table


def _table(data_type: str, board: Board) -> Table:
    primary, others = board.primary, of_place(board, "brief")
    flags = [spec for spec in others if spec.mark]
    jobs = not flags or any(row.jobs != row.values[flags[0].name].of for row in board.rows)
    ends = len(others) <= MOST_WITH_INTERVAL
    named = [primary, *others]
    told = [f"{_head(spec)}: {spec.explanation}" for spec in named if spec.explanation]
    caption = "; ".join(["rank: mean over systems", *told, "a failure ranks behind every answer"])
    table = Table(
        box=box.SIMPLE_HEAD,
        padding=0,
        title=f"{data_type}: {counted(len(board.entries), 'result')}, "
        f"ranks over {counted(len(board.systems), 'system')}",
        title_justify="left",
        caption=f"{caption}. {cut_off(board.rows)} {undecided(board)} {pooled(board)}".strip(),
        caption_justify="left",
    )
    table.add_column("rank", justify="right", no_wrap=True)
    table.add_column("method", overflow="ellipsis", no_wrap=True)
    heads = [_head(primary), *["95\xa0%"] * ends, *map(_head, others), *["jobs"] * jobs]
    heads += ["time", *["MB"] * ends]
    for head in heads:
        table.add_column(head.replace(" ", "\n"), justify="right", no_wrap=True)
    table.add_column("not ok")
    for row in board.rows:
        line = [
            fixed(row.rank, 2),
            f"{row.method}*" if row.reference else f"{row.method}{CUT * row.cut_off}",
            cell(primary, row.values[primary.name], primary=True).text,
            *[_interval(primary, row)] * ends,
            *(_short(spec, row) for spec in others),
            *[str(row.jobs)] * jobs,
            duration(row.wall_s),
            *[fixed(row.memory_mb)] * ends,
            " ".join(f"{count} {cause}" for cause, count in row.causes.items()) or "–",
        ]
        table.add_row(*map(Text, line))
    return table


def _head(spec: MetricSpec) -> str:
    return spec.mark or spec.title


def _interval(primary: MetricSpec, row: Row) -> str:
    low, _, high = interval(primary, row, "…").partition("…")
    return low if low == high or not high else f"{low}…{high}"


def _short(spec: MetricSpec, row: Row) -> str:
    """Write a flag that has a mark as a count, another as a share, as all tables."""
    found = row.values[spec.name]
    if spec.kind == "flag" and not spec.mark and found.value is not None:
        return percent(found.value, "")
    return cell(spec, found).text.partition(" (")[0]
