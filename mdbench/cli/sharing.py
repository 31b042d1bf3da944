"""``mdbench bundle`` and ``mdbench compare``: results given away, and held against others."""

from __future__ import annotations

import json
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

from rich import box
from rich.markup import escape
from rich.table import Table

from mdbench import datatypes, methods
from mdbench.cli.reporting import html_of, read_results
from mdbench.drawing.numbers import counted, noise_name, scientific
from mdbench.errors import MethodError, UsageError
from mdbench.reports.bundle import opened, write_bundle
from mdbench.reports.columns import written
from mdbench.reports.diff import changes
from mdbench.reports.language_models import read_probes
from mdbench.workspace import Workspace

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from rich.console import Console

    from mdbench.metrics.spec import MetricSpec
    from mdbench.reports.diff import Change, Changes, MethodChange
    from mdbench.reports.results import Result

__all__ = ["as_json", "bundle", "compare"]

FORMAT = 1
"""The number of the JSON's format."""
MOST_SHOWN = 20
"""Single changes that are printed without ``--each``."""
_COLOURS = {"better": "green", "worse": "red"}


def bundle(
    folder: Path,
    out: Path,
    console: Console,
    *,
    study_files: Sequence[Path],
    title: str,
    authors: Sequence[str],
    logs: bool,
) -> None:
    """Write the archive, and say what is in it and what is not."""
    here = {
        name: method
        for name, method in methods.discover(Workspace.find().algorithms).items()
        if not isinstance(method, MethodError)
    }
    made = write_bundle(
        folder,
        out,
        methods=here,
        study_files=study_files,
        page=html_of(read_results(folder), title=title, probes=read_probes(folder)),
        title=title,
        authors=authors,
        logs=logs,
    )
    size = made.size / 1e6
    console.print(
        f"{counted(made.records, 'record')} in {escape(str(out))} ({size:.1f} MB)", soft_wrap=True
    )
    console.print(f"SHA-256 {made.sha256}", soft_wrap=True)
    if made.changed:
        console.print(
            f"Folders not in it, as records were made with others: {', '.join(made.changed)}",
            soft_wrap=True,
        )
    if made.own_data:
        console.print(
            f"Own data, which are not in it: {escape(', '.join(made.own_data))}", soft_wrap=True
        )


def compare(
    before: Path, after: Path, console: Console, *, each: bool, json_: bool, across: bool = False
) -> None:
    """Print what differs between two sets of results."""
    with ExitStack() as stack:
        sides = [read_results(stack.enter_context(opened(path)), path) for path in (before, after)]
    wanted = {one.data_type for side in sides for one in side} & {*datatypes.names()}
    known = {kind.name: kind.metrics for kind in datatypes.classes(wanted)}
    found = changes(sides[0], sides[1], known, across=across)
    if json_:
        print(json.dumps(as_json(found), allow_nan=False))
        return
    if not found.methods:
        raise UsageError(
            f"{before} and {after} have no question in common.",
            "They are compared where method, dataset, noise, seed, protocol and the data type's "
            "options are the same; whatever these are: --across-options",
        )
    for data_type in dict.fromkeys(one.data_type for one in found.methods):
        console.print(_table(data_type, found))
    if found.made_with:
        parts = ", ".join(f"{name} ({count})" for name, count in sorted(found.made_with.items()))
        console.print(f"Made with another: {escape(parts)}", soft_wrap=True)
    for name, only in (("first", found.only_before), ("second", found.only_after)):
        if only:
            told = ", ".join(
                f"{count} of {method} ({kind})" for (kind, method), count in only.items()
            )
            console.print(f"Only in the {name}: {escape(told)}", soft_wrap=True)
    shown = found.each if each else found.each[:MOST_SHOWN]
    for one in shown:
        console.print(_line(one, found.specs[one.before.data_type]), soft_wrap=True)
    if more := len(found.each) - len(shown):
        console.print(f"{more} more changed; all of them: --each")


def _table(data_type: str, found: Changes) -> Table:
    primary = found.specs[data_type][0]
    marks = [spec for spec in found.specs[data_type] if spec.mark]
    table = Table(
        box=box.SIMPLE_HEAD,
        padding=0,
        title=f"{data_type}: the second against the first, by {primary.title}",
        title_justify="left",
        caption="says: signed-rank test over systems, corrected for the number of methods",
        caption_justify="left",
    )
    heads = ["method", "pairs", "better", "worse", "same", *(spec.mark for spec in marks)]
    for head in [*heads, "failures", "p", "says"]:
        table.add_column(head, justify="left" if head in {"method", "says"} else "right")
    for one in found.methods:
        if one.data_type == data_type:
            table.add_row(*_cells(one, marks), style=_COLOURS.get(one.says, ""))
    return table


def _cells(one: MethodChange, marks: Sequence[MetricSpec]) -> list[str]:
    flags = [_plus_minus(one.gained.get(s.name, 0), one.lost.get(s.name, 0)) for s in marks]
    before, after = one.failures
    return [
        one.method,
        *map(str, (one.pairs, one.better, one.worse, one.same)),
        *flags,
        str(before) if before == after else f"{before} → {after}",
        scientific(one.corrected) if one.test else "–",
        one.says,
    ]


def _plus_minus(gained: int, lost: int) -> str:
    parts = [f"+{gained}"] * bool(gained) + [f"−{lost}"] * bool(lost)
    return " ".join(parts) or "–"


def _line(one: Change, specs: Sequence[MetricSpec]) -> str:
    result = one.before
    name = f"{result.algorithm} · {result.dataset} · {noise_name(result.snr_db)}"
    seed = f" · seed {result.seed}" if result.seed else ""
    flags = "".join(
        f"  {spec.mark} {'gained' if one.flags[spec.name] else 'lost'}"
        for spec in specs
        if spec.name in one.flags
    )
    colour = _COLOURS.get(one.way, "dim")
    before, after = (_came_to(each, specs[0]) for each in (one.before, one.after))
    return f"{escape(name + seed)}  [{colour}]{one.way}[/]  {before} → {after}{flags}"


def _came_to(result: Result, primary: MetricSpec) -> str:
    if not result.answered:
        return str(result.status)
    value = result.metrics.get(primary.name)
    return "undecided" if value is None else f"{primary.title} {written(primary, value)}"


def as_json(found: Changes) -> dict[str, Any]:
    """Give all of it as strict JSON."""
    return {
        "format": FORMAT,
        "methods": [
            {
                "data_type": one.data_type,
                "method": one.method,
                "pairs": one.pairs,
                "better": one.better,
                "worse": one.worse,
                "same": one.same,
                "gained": dict(one.gained),
                "lost": dict(one.lost),
                "failures": list(one.failures),
                "effect": one.test.effect if one.test else None,
                "p": one.corrected if one.test else None,
                "says": one.says,
            }
            for one in found.methods
        ],
        "changed": [
            {
                "data_type": one.before.data_type,
                "method": one.before.algorithm,
                "dataset": one.before.dataset,
                "snr_db": one.before.snr_db,
                "seed": one.before.seed,
                "protocol": one.before.protocol,
                "way": one.way,
                "flags": dict(one.flags),
                "made_with": list(one.made_with),
                "before": _side(one.before),
                "after": _side(one.after),
            }
            for one in found.each
        ],
        "only_before": _only(found.only_before),
        "only_after": _only(found.only_after),
        "made_with": dict(found.made_with),
    }


def _side(result: Result) -> dict[str, Any]:
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
