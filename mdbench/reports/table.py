"""The tables at the end of a run, as renderables for whoever prints them."""

from __future__ import annotations

import math
import re
from collections import Counter
from itertools import groupby
from statistics import median
from typing import TYPE_CHECKING

from rich import box
from rich.table import Table
from rich.text import Text

from mdbench.records import ANSWERED, RERUN_ALWAYS, Record, Status
from mdbench.drawing.numbers import cleanest_first

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

__all__ = ["failures", "run_table", "summary"]

STYLES = {Status.OK: "green", Status.PARTIAL: "yellow"}
GOOD_NMSE = {"0.01": 1e-2, "1e-6": 1e-6}
NOTHING = "-"
NAMES_SHOWN = 3
NUMBERS = ("noise", "seed", "NMSE", "floor", "cplx", "time")

DECIMAL = re.compile(r"(?<![\w.])\d+(?:\.\d*(?:[eE][+-]?\d+)?|[eE][+-]?\d+)")
"""A number with a point or an exponent; whole numbers are exponents or exact, and stay."""


def run_table(records: Iterable[Record], datasets: Sequence[str] = ()) -> Table:
    """Show one row for each job.

    The last column takes what is left of the width: equations with their numbers rounded to
    three digits, or the reason why there are none.  Columns that would say the same in every
    row (method, noise, seed) are left out.

    Parameters
    ----------
    records
        The records of the run, in any order.
    datasets
        The order of the datasets; those that are not in it come last, by name.
    """
    place = {name: number for number, name in enumerate(datasets)}
    rows = sorted(
        records,
        key=lambda record: (
            record.algorithm,
            place.get(record.dataset, len(place)),
            record.dataset,
            cleanest_first(record.snr_db),
            record.seed,
        ),
    )
    columns = {
        "method": [_plain(record.algorithm) for record in rows],
        "dataset": [_plain(record.dataset) for record in rows],
        "noise": [_noise(record.snr_db) for record in rows],
        "seed": [Text(str(record.seed)) for record in rows],
        "status": [Text(record.status, style=STYLES.get(record.status, "red")) for record in rows],
        "NMSE": [_short(record.metrics.get("nmse")) for record in rows],
        "floor": [_short(record.metrics.get("nmse_floor")) for record in rows],
        "cplx": [_whole(record.complexity) for record in rows],
        "time": [_duration(record.measured.wall_s) for record in rows],
        "equations": [_equations_or_reason(record) for record in rows],
    }
    for name in ("method", "noise", "seed"):
        if len({str(cell) for cell in columns[name]}) <= 1:
            del columns[name]
    caption = "cplx: complexity, the number of nodes of all the equations"
    if any("nmse_floor" in record.metrics for record in rows):
        caption += "\nfloor: the NMSE of the true equations through the same features"
    else:
        del columns["floor"]

    table = _table(caption=caption)
    for name in columns:
        if name == "equations":
            table.add_column(name, ratio=1, width=12)  # at least 12, and all that is left
        elif name == "dataset":
            table.add_column(name, max_width=30)  # may wrap, so it is the one to give way
        else:
            table.add_column(name, no_wrap=True, justify="right" if name in NUMBERS else "left")
    for row in zip(*columns.values(), strict=True):
        table.add_row(*row)
    return table


def summary(records: Iterable[Record]) -> Table:
    """Show one row for each method, and for each noise level where there are several.

    A job without an answer counts as worse than every answer in the median and in the shares,
    so that a method gains nothing by failing on what is hard.  Jobs that were interrupted, or
    whose environment could not be made, say nothing about the method and do not count there.
    The median of the complexity is over the answers, the total of the time over all jobs.
    """
    rows = sorted(records, key=lambda r: (r.algorithm, cleanest_first(r.snr_db)))
    with_noise = len({record.snr_db for record in rows}) > 1

    table = _table(caption="NMSE: a job without an answer counts as worse than any answer")
    table.add_column("method", no_wrap=True)
    if with_noise:
        table.add_column("noise", no_wrap=True, justify="right")
    titles = ["jobs", "ok", "NMSE\nmedian", *(f"NMSE\n<{limit}" for limit in GOOD_NMSE)]
    for title in (*titles, "cplx\nmedian", "time\ntotal"):
        table.add_column(title, no_wrap=True, justify="right")
    table.add_column("not ok", ratio=1)

    for (algorithm, snr_db), group in groupby(rows, key=lambda r: (r.algorithm, r.snr_db)):
        jobs = list(group)
        counts = Counter(job.status for job in jobs)
        causes = [f"{counts[s]} {s}" for s in Status if s is not Status.OK and counts[s]]
        losses = [_loss(job) for job in jobs if job.status not in RERUN_ALWAYS]
        sizes = [job.complexity for job in jobs if job.complexity is not None]
        table.add_row(
            _plain(algorithm),
            *([_noise(snr_db)] if with_noise else []),
            str(len(jobs)),
            str(counts[Status.OK]),
            _short(median(losses) if losses else None),
            *(_share(losses, limit) for limit in GOOD_NMSE.values()),
            _whole(median(sizes) if sizes else None),
            _duration(sum(job.measured.wall_s or 0.0 for job in jobs)),
            "\n".join(causes) or NOTHING,
        )
    return table


def failures(records: Iterable[Record]) -> Text:
    """Say for each kind of failure what went wrong, in which jobs, and where a log is.

    Jobs of one method with the same status and the same reason are told of together.  The text
    is empty where every job has an answer.
    """
    kinds: dict[tuple[str, Status, str], list[Record]] = {}
    for record in records:
        if record.status not in ANSWERED:
            kind = record.algorithm, record.status, record.reason
            kinds.setdefault(kind, []).append(record)
    lines = []
    for (algorithm, status, reason), jobs in kinds.items():
        names = list(dict.fromkeys(job.dataset for job in jobs))
        rest = f" and {len(names) - NAMES_SHOWN} more" if len(names) > NAMES_SHOWN else ""
        log = next((job.log for job in jobs if job.log), None)
        lines.append(f"{algorithm}, {len(jobs)} {status}: {reason}")
        lines.append(f"  on {', '.join(names[:NAMES_SHOWN])}{rest}{f'; log: {log}' if log else ''}")
    return Text("\n").join(Text(_printable(line)) for line in lines)


def _table(caption: str) -> Table:
    return Table(
        box=box.SIMPLE_HEAD,
        expand=True,
        padding=0,
        caption=caption,
        caption_justify="left",
    )


def _plain(text: str) -> Text:
    """Show a text on one line: as it is, since a `Text` holds no markup, and cut at the end."""
    return Text(_printable(text), no_wrap=True, overflow="ellipsis")


def _printable(text: str) -> str:
    # A method's message must not be able to steer the terminal.
    return "".join(char if char.isprintable() else "�" for char in text)


def _equations_or_reason(record: Record) -> Text:
    if record.equations is None or record.status not in ANSWERED:
        return _plain(record.reason or NOTHING)
    equations = (DECIMAL.sub(_rounded, equation) for equation in record.equations)
    return _plain("; ".join(equations))


def _rounded(number: re.Match[str]) -> str:
    return f"{float(number.group()):.3g}"


def _loss(record: Record) -> float:
    nmse = record.metrics.get("nmse") if record.status in ANSWERED else None
    return math.inf if nmse is None else nmse


def _share(losses: Sequence[float], limit: float) -> str:
    if not losses:
        return NOTHING
    # Rounded down: 100% is all of them.
    return f"{100 * sum(loss < limit for loss in losses) // len(losses)}%"


def _noise(snr_db: float | None) -> Text:
    return Text("clean" if snr_db is None else f"{snr_db:g} dB")


def _whole(value: float | None) -> Text:
    return Text(NOTHING if value is None else f"{value:.15g}")


def _short(value: float | None) -> Text:
    if value is None or math.isinf(value):
        return Text(NOTHING)
    return Text("0" if value == 0 else f"{value:.1e}")


def _duration(seconds: float | None) -> Text:
    if seconds is None:
        return Text(NOTHING)
    if seconds < 0.0995:  # noqa: PLR2004 - from here on it is shown as 0.1 s
        return Text(f"{1000 * seconds:.0f}ms")
    if seconds < 59.95:  # noqa: PLR2004 - from here on it would be shown as 60.0 s
        return Text(f"{seconds:.1f}s")
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return Text(f"{hours}h{minutes:02d}m" if hours else f"{minutes}m{rest:02d}s")
