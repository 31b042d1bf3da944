"""What results show, in sentences: what was run, who was best, what that is worth, what failed."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from mdbench.drawing.numbers import percent, scientific
from mdbench.errors import counted
from mdbench.reports.classes import class_of
from mdbench.reports.entries import marked
from mdbench.reports.statistics import wilson
from mdbench.reports.tables import beaten, format_score

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from mdbench.metrics.spec import MetricSpec
    from mdbench.records import Record
    from mdbench.reports.leaderboard import Leaderboard, Row

MOST_NAMED = 3
"""Methods, or systems, that a sentence names."""
LEVEL = 0.05
"""The level of the test between the first two methods."""
REASON = 120
"""Letters of a reason that are shown."""


def findings(board: Leaderboard, results: Sequence[Record]) -> str:
    """Return what a board shows, in sentences for who reads no table.

    Parameters
    ----------
    board
        The comparison.
    results
        The records of its data type; those of other classes are left out.
    """
    methods = {row.method for row in board.rows}
    own = [
        record
        for record in results
        if record.method in methods and class_of(record).title == board.title
    ]
    return " ".join([_what_was_run(board, own), *_who_was_best(board, own), _what_failed(own)])


def _what_was_run(board: Leaderboard, results: Sequence[Record]) -> str:
    methods = sorted({record.method for record in results})
    systems = sorted({record.system for record in results})
    seeds = {record.seed for record in results}
    who = methods[0] if len(methods) == 1 else counted(len(methods), "method")
    on = systems[0] if len(systems) == 1 else counted(len(systems), "system")
    noise = ", ".join(map(board.noise_name, board.noise_levels))
    verb = "was" if len(methods) == 1 else "were"
    return (
        f"{who} {verb} run on {on} of {board.data_type} ({noise}), with "
        f"{counted(len(seeds), 'seed')} ({board.title})."
    )


def _who_was_best(board: Leaderboard, results: Sequence[Record]) -> Iterator[str]:
    rows = [row for row in board.rows if row.standing == "compared"] or [*board.rows]
    best = next(iter(marked(board.specs)), None)
    shares = {row.method: row.values[best.name].value for row in rows} if best else {}
    known = {method: share for method, share in shares.items() if share is not None}
    if best is None or not known:
        yield from _best_by_score(board, rows, results)
        return
    top = max(known.values())
    if top == 0.0:
        nobody, of = ("No method", "any") if len(rows) > 1 else (rows[0].method, "none")
        yield f"{nobody} has {best.title} the true equations of {of} of them."
        return
    first = [row for row in rows if known.get(row.method) == top]
    count, jobs = round(top * first[0].values[best.name].of), first[0].values[best.name].of
    low, high = wilson(top, len(board.systems) or jobs)
    names = _listed([board.named(row.method) for row in first])
    most = f" {best.title} most:" if len(rows) > 1 else f" {best.title}"
    yield (
        f"{names}{most} the true equations in {count} of {counted(jobs, 'job')} ({percent(top)}; "
        f"of {counted(len(board.systems), 'system')} like these between {percent(low)} and "
        f"{percent(high)}, at 95 %)."
    )
    others = sorted((share, method) for method, share in known.items() if share < top)
    if len(first) == 1 and others:
        share, second = others[-1]
        yield f"Next is {board.named(second)} with {percent(share)}; " + _worth(
            board, best, first[0].method, second
        )


def _worth(board: Leaderboard, best: MetricSpec, first: str, second: str) -> str:
    """Test the first two methods by the signs of systems: seeds and noise are no new systems."""
    totals: dict[str, dict[str, list[float]]] = {}
    for entry in board.entries:
        if entry.method in {first, second} and entry.attempted:
            value = entry.values.get(best.name) if entry.answered else 0.0
            by_method = totals.setdefault(entry.case.system, {})
            by_method.setdefault(entry.method, []).append(float(value == 1))
    pairs = [
        (sum(of[first]) / len(of[first]), sum(of[second]) / len(of[second]))
        for of in totals.values()
        if len(of) == 2  # noqa: PLR2004 - both of them
    ]
    wins, losses = sum(a > b for a, b in pairs), sum(a < b for a, b in pairs)
    from scipy.stats import binomtest  # noqa: PLC0415 - takes a moment

    p = float(binomtest(wins, wins + losses).pvalue) if wins + losses else 1.0
    text = f"{first} is ahead on {counted(wins, 'system')} and behind on {losses}"
    if p < LEVEL:
        return f"{text}, which is more than chance (sign test, p = {scientific(p)})."
    return f"{text}, which may be chance (sign test, p = {scientific(p)})."


def _best_by_score(
    board: Leaderboard, rows: Sequence[Row], results: Sequence[Record]
) -> Iterator[str]:
    """Say who has the best scores, where nobody knows what is right."""
    primary = board.primary
    if all(record.dataset_path and not record.truth for record in results):
        yield (
            "The true equations are not known, so no answer is called right: look at the curves, "
            "and try the equations on data that they have not seen."
        )
    scored = [row for row in rows if row.values[primary.name].value is not None]
    if not scored:
        return
    first = min(scored, key=lambda row: primary.loss(row.values[primary.name].value or 0.0))
    score = format_score(primary, first.values[primary.name].value)
    best = "highest" if primary.better == "higher" else "lowest"
    of = f"The {best} {primary.title} is" if len(scored) > 1 else f"The {primary.title} is"
    yield f"{of} {score}, of {board.named(first.method)}."
    beating = Counter(
        beaten(primary, board.specs, record).meaning for record in results if record.answered
    )
    for meaning, count in beating.items():
        if meaning:
            yield f"{counted(count, 'answer')} of {len(results)}: {meaning}."


def _what_failed(results: Sequence[Record]) -> str:
    failures = [record for record in results if not record.answered]
    if not failures:
        every = "Its job" if len(results) == 1 else f"All {len(results):,} jobs"
        return f"{every} gave an answer."
    causes = Counter(record.status.word for record in failures).most_common()
    named = ", ".join(f"{count} {cause}" for cause, count in causes)
    (method, reason), count = Counter(
        (record.method, record.reason) for record in failures
    ).most_common(1)[0]
    why = reason.splitlines()[0] if reason else ""
    why = f": {why[:REASON]}{'…' * (len(why) > REASON)}" if why else ""
    return (
        f"{len(failures):,} of {counted(len(results), 'job')} gave no answer ({named}), most often "
        f"{method}, {counted(count, 'time')}{why.rstrip('.')}."
    )


def _listed(names: Sequence[str]) -> str:
    more = len(names) - MOST_NAMED
    if more > 0:
        return f"{', '.join(names[:MOST_NAMED])} and {more} more"
    return " and ".join(filter(None, [", ".join(names[:-1]), names[-1]]))
