"""``mdbench compare``: what differs between two sets of results."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from rich import box
from rich.markup import escape
from rich.table import Table

from mdbench import datatypes
from mdbench.cli.report import ALL, records_of
from mdbench.drawing.numbers import noise_name, scientific
from mdbench.errors import UsageError
from mdbench.reports.classes import latest
from mdbench.reports.comparison import changes
from mdbench.reports.tables import format_score

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from rich.console import Console

    from mdbench.metrics.spec import MetricSpec
    from mdbench.records import Record
    from mdbench.reports.classes import RecordFilter
    from mdbench.reports.comparison import Change, Changes, MethodChange

FORMAT = 1
"""The number of the JSON's format."""
MOST_SHOWN = 20
"""Single changes that are printed without ``--each``."""
_COLOURS = {"better": "green", "worse": "red"}


def compare_results(
    before: Path,
    after: Path,
    console: Console,
    *,
    every: bool,
    json_: bool,
    across: bool = False,
    across_budgets: bool = False,
    wanted: RecordFilter = ALL,
) -> None:
    """Print what differs between two sets of results."""
    sides = _sides(before, after, wanted)
    types = {record.data_type for side in sides for record in side}
    known = {
        kind.name: kind.metrics for kind in datatypes.classes(filter(datatypes.is_known, types))
    }
    differences = changes(sides[0], sides[1], known, across=across, across_budgets=across_budgets)
    if json_:
        print(json.dumps(changes_json(differences), allow_nan=False))
        return
    if not differences.methods:
        raise UsageError(
            f"{before} and {after} have no job in common.",
            "Jobs are compared that have the same method, dataset, noise, seed, protocol, budget "
            "and options.  To leave out the last two: --across-budgets, --across-options",
        )
    for kind in dict.fromkeys((one.data_type, one.conditions) for one in differences.methods):
        console.print(_changes_table(*kind, differences))
    if differences.made_with:
        parts = ", ".join(
            f"{name} ({count})" for name, count in sorted(differences.made_with.items())
        )
        console.print(f"Made with another: {escape(parts)}", soft_wrap=True)
    for name, only in (("first", differences.only_before), ("second", differences.only_after)):
        if only:
            names = ", ".join(
                f"{count} of {method} ({kind})" for (kind, method), count in only.items()
            )
            console.print(f"Only in the {name}: {escape(names)}", soft_wrap=True)
    shown = differences.each if every else differences.each[:MOST_SHOWN]
    for one in shown:
        console.print(_change_line(one, differences.specs[one.before.data_type]), soft_wrap=True)
    if more := len(differences.each) - len(shown):
        console.print(f"{more} more changed; all of them: --each")


def _sides(before: Path, after: Path, wanted: RecordFilter) -> list[list[Record]]:
    """Return the results of both that are wanted; a study may have asked for those of one only."""
    records = {place: records_of([place]) for place in (before, after)}
    kept = wanted.of([*records[before], *records[after]], f"{before} and {after}")
    both = {id(one) for one in kept}
    sides = []
    for path in (before, after):
        sides.append(latest(one for one in records[path] if id(one) in both))
        if not sides[-1]:
            raise UsageError(
                f"{path} has no such records.", "Leave out --study or --budget, or name others."
            )
    return sides


def _changes_table(data_type: str, conditions: str, comparison: Changes) -> Table:
    primary = comparison.specs[data_type][0]
    marks = [spec for spec in comparison.specs[data_type] if spec.mark]
    table = Table(
        box=box.SIMPLE_HEAD,
        padding=0,
        title=f"{data_type}, {conditions}: the second against the first, by {primary.title}",
        title_justify="left",
        caption="verdict: signed-rank test over systems, corrected for the number of methods",
        caption_justify="left",
    )
    heads = ["method", "pairs", "better", "worse", "same", *(spec.mark for spec in marks)]
    for head in [*heads, "failures", "p", "verdict"]:
        table.add_column(head, justify="left" if head in {"method", "verdict"} else "right")
    for one in comparison.methods:
        if (one.data_type, one.conditions) == (data_type, conditions):
            table.add_row(*_change_cells(one, marks), style=_COLOURS.get(one.verdict, ""))
    return table


def _change_cells(change: MethodChange, marks: Sequence[MetricSpec]) -> list[str]:
    flags = [_plus_minus(change.gained.get(s.name, 0), change.lost.get(s.name, 0)) for s in marks]
    before, after = change.failures
    return [
        change.method,
        *map(str, (change.pairs, change.better, change.worse, change.same)),
        *flags,
        str(before) if before == after else f"{before} → {after}",
        scientific(change.corrected) if change.test else "–",
        change.verdict,
    ]


def _plus_minus(gained: int, lost: int) -> str:
    parts = [f"+{gained}"] * bool(gained) + [f"−{lost}"] * bool(lost)
    return " ".join(parts) or "–"


def _change_line(change: Change, specs: Sequence[MetricSpec]) -> str:
    result = change.before
    name = f"{result.method} · {result.dataset} · {noise_name(result.snr_db)}"
    seed = f" · seed {result.seed}" if result.seed else ""
    flags = "".join(
        f"  {spec.mark} {'gained' if change.flags[spec.name] else 'lost'}"
        for spec in specs
        if spec.name in change.flags
    )
    colour = _COLOURS.get(change.way, "dim")
    before, after = (_score_text(each, specs[0]) for each in (change.before, change.after))
    return f"{escape(name + seed)}  [{colour}]{change.way}[/]  {before} → {after}{flags}"


def _score_text(result: Record, primary: MetricSpec) -> str:
    if not result.answered:
        return result.status.word
    value = result.metrics.get(primary.name)
    return "undecided" if value is None else f"{primary.title} {format_score(primary, value)}"


def changes_json(comparison: Changes) -> dict[str, Any]:
    """Return all of it as strict JSON."""
    return {
        "schema": FORMAT,
        "format": FORMAT,  # as it was called first
        "methods": [
            {
                "data_type": change.data_type,
                "class": change.conditions,
                "method": change.method,
                "pairs": change.pairs,
                "better": change.better,
                "worse": change.worse,
                "same": change.same,
                "gained": dict(change.gained),
                "lost": dict(change.lost),
                "failures": list(change.failures),
                "effect": change.test.effect if change.test else None,
                "p": change.corrected if change.test else None,
                "says": change.verdict,
            }
            for change in comparison.methods
        ],
        "changed": [
            {
                "data_type": change.before.data_type,
                "method": change.before.method,
                "dataset": change.before.dataset,
                "snr_db": change.before.snr_db,
                "seed": change.before.seed,
                "protocol": change.before.protocol,
                "way": change.way,
                "flags": dict(change.flags),
                "made_with": list(change.made_with),
                "before": _side(change.before),
                "after": _side(change.after),
            }
            for change in comparison.each
        ],
        "only_before": _only(comparison.only_before),
        "only_after": _only(comparison.only_after),
        "made_with": dict(comparison.made_with),
    }


def _side(result: Record) -> dict[str, Any]:
    return {
        "key": result.key,
        "status": str(result.status),
        "equations": result.equations,
        "metrics": result.metrics,
    }


def _only(counts: Mapping[tuple[str, str], int]) -> list[dict[str, Any]]:
    return [
        {"data_type": data_type, "method": method, "results": count}
        for (data_type, method), count in counts.items()
    ]
