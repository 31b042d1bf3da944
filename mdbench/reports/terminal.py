"""The leaderboards as tables for a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mdbench.drawing.numbers import counted, duration, fixed, percent
from mdbench.reports.language_models import ASKING_HEADS, PROBE_HEADS, asking_row, probe_rows
from mdbench.reports.tables import (
    CUT,
    Cell,
    Column,
    Table,
    cell,
    cut_off,
    interval,
    of_place,
    pooled,
    to_terminal,
    undecided,
    without_columns,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    import rich.table

    from mdbench.language_models.contamination import Probes
    from mdbench.metrics.spec import MetricSpec
    from mdbench.reports.language_models import Asking
    from mdbench.reports.leaderboard import Board, Row

_WIDE = {"model", "prompt", "failed", "model s a job", "budget spent"}
"""Columns that 80 characters have no room for; model and prompt stand behind the method's name."""
MOST_WITH_INTERVAL = 3
"""Metrics besides the primary one beside which there is room for its interval and for memory."""


def leaderboards(boards: Mapping[str, Board]) -> Iterator[rich.table.Table]:
    """Yield a table for each data type: the page's leaderboard, as far as 80 characters go."""
    for data_type, board in boards.items():
        yield to_terminal(_leaderboard(data_type, board))


def model_tables(rows: Sequence[Asking], probes: Sequence[Probes]) -> Iterator[rich.table.Table]:
    """Yield the tables of what was asked of language models, where something was."""
    for title, heads, lines, left_out in (
        ("Language models", ASKING_HEADS, [asking_row(one) for one in rows], _WIDE),
        ("What language models know of the problems", PROBE_HEADS, probe_rows(probes), set()),
    ):
        if lines:
            columns = [Column(head, left=True, wraps=True) for head in heads]
            table = Table(columns, [[*map(Cell, line)] for line in lines], title)
            narrow = without_columns(table, lambda column, _: column.title in left_out)  # noqa: B023
            yield to_terminal(narrow, padding=1)


def _leaderboard(data_type: str, board: Board) -> Table:
    primary, others = board.primary, of_place(board, "brief")
    flags = [spec for spec in others if spec.mark]
    jobs = not flags or any(row.jobs != row.values[flags[0].name].of for row in board.rows)
    ends = len(others) <= MOST_WITH_INTERVAL
    meanings = [f"{_head(s)}: {s.explanation}" for s in (primary, *others) if s.explanation]
    caption = ["rank: mean over systems", *meanings, "a failure ranks behind every answer"]
    heads = [_head(primary), *["95\xa0%"] * ends, *map(_head, others), *["jobs"] * jobs]
    heads += ["time", *["MB"] * ends]
    rows = [
        [
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
        for row in board.rows
    ]
    return Table(
        [
            Column("rank"),
            Column("method", left=True),
            *(Column(head.replace(" ", "\n")) for head in heads),
            Column("not ok", left=True, wraps=True),
        ],
        [[*map(Cell, row)] for row in rows],
        f"{data_type}: {counted(len(board.entries), 'result')}, "
        f"ranks over {counted(len(board.systems), 'system')}",
        f"{'; '.join(caption)}. {cut_off(board.rows)} {undecided(board)} {pooled(board)}".strip(),
    )


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
