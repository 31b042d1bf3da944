"""The leaderboards as tables for a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich import box
from rich.table import Table
from rich.text import Text

from mdbench.reports import leaderboard
from mdbench.drawing.numbers import duration, fixed, scientific

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from mdbench.reports.leaderboard import Kind, Row
    from mdbench.reports.results import Result

__all__ = ["leaderboards"]

CAPTION = (
    "rank: mean over systems; NMSE: median, raised to the noise floor; found: identified of all "
    "jobs with a known truth; a failure ranks behind every answer"
)
SIMULATED = (
    "; R2>.9: share of jobs whose simulated trajectory has an R2 above 0.9, in the test window / "
    "from an initial condition that no method is given"
)
RESIDUAL = "; resid: median NMSE on clean data"


def leaderboards(results: Iterable[Result], kinds: Mapping[str, Kind]) -> Iterator[Table]:
    """Make a table for each data type: the page's leaderboard, as far as 80 characters go.

    Parameters
    ----------
    results
        Those that stand, of all data types.
    kinds
        What is known of the methods.
    """
    for data_type, board in leaderboard.boards(results, kinds).items():
        jobs = any(row.jobs != row.judged for row in board.rows)  # else found says how many
        simulated = board.has_simulations
        residual = board.has_residuals
        table = Table(
            box=box.SIMPLE_HEAD,
            padding=0,
            title=f"{data_type}: {len(board.entries)} results, "
            f"ranks over {len(board.systems)} systems",
            title_justify="left",
            caption=CAPTION + SIMULATED * simulated + RESIDUAL * residual,
            caption_justify="left",
        )
        table.add_column("rank", justify="right", no_wrap=True)
        table.add_column("method", overflow="ellipsis", no_wrap=True)
        for name in (
            *("NMSE", "95 %", "found"),
            *["R2>.9"] * simulated,
            *["resid"] * residual,
            "cplx",
            *["jobs"] * jobs,
            *("time", "MB"),
        ):
            table.add_column(name, justify="right", no_wrap=True)
        table.add_column("not ok")
        for row in board.rows:
            told = [_followed(row)] * simulated + [scientific(row.residual)] * residual
            told += [fixed(row.complexity)] + [str(row.jobs)] * jobs
            table.add_row(*(Text(text) for text in _cells(row, told)))
        yield table


def _followed(row: Row) -> str:
    """Write both shares, rounded down: 100 % is all of them."""
    if not row.simulated:
        return "–"
    shares = [f"{100 * row.holds // row.simulated}"]
    if row.simulated_unseen:
        shares.append(f"{100 * row.holds_unseen // row.simulated_unseen}")
    return f"{'/'.join(shares)}%"


def _cells(row: Row, told: Sequence[str]) -> list[str]:
    low, high = scientific(row.low), scientific(row.high)
    return [
        fixed(row.rank, 2),
        f"{row.method}*" if row.reference else row.method,
        scientific(row.median),
        low if low == high else f"{low}…{high}",
        f"{row.identified}/{row.judged}" if row.judged else "–",
        *told,
        duration(row.wall_s),
        fixed(row.memory_mb),
        " ".join(f"{count} {cause}" for cause, count in row.causes.items()) or "–",
    ]
