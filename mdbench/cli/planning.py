"""``mdbench plan``: what would be run, why, and what it will take."""

from __future__ import annotations

import json
from collections import Counter
from contextlib import closing
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from rich.markup import escape

from mdbench.drawing.numbers import counted
from mdbench.runs.forecast import COVERAGE, Expected, forecast
from mdbench.runs.plan import make_plan
from mdbench.runtimes.select import open_runtime
from mdbench.workspace import Workspace

if TYPE_CHECKING:
    from rich.console import Console

    from mdbench.runs.forecast import Cost, Forecast
    from mdbench.runs.study import Study

__all__ = ["as_json", "show_plan"]

FORMAT = 1
"""The number of the JSON's format."""


def show_plan(study: Study, console: Console, *, json_: bool = False) -> None:
    """Print what would be done; nothing is written but what is made of data on first use."""
    workspace = Workspace.find()
    plan = make_plan(study, workspace)
    with closing(open_runtime(study.whole.runtime, workspace.home)) as runtime:
        found = forecast(plan, runtime)
    if json_:
        print(json.dumps(as_json(found, study.sha256), allow_nan=False))
        return
    for cost in found.costs:
        console.print(escape(_line(cost)), soft_wrap=True)
    for reason, count in found.reasons.items():
        console.print(f"{count} to run: {escape(reason)}", soft_wrap=True)
    due = len(found.due)
    console.print(
        f"{counted(found.jobs, 'job')}: {found.jobs - due} done, {due} to run. Nothing was done."
    )
    if due:
        takes = [
            f"{_time(found.wall_s)} at {min(found.n_jobs, due)} at a time",
            f"CPU {_time(found.cpu_s)}",
            f"memory {_size(found.memory_mb)}",
            f"disk {_size(found.disk_mb)}",
        ]
        console.print(f"Expected: {', '.join(takes)}.", soft_wrap=True)
        console.print(
            f"In brackets the interval that holds in {COVERAGE:.0%} of cases; what no record "
            "tells is the budget. Environments that have to be made come on top.",
            soft_wrap=True,
        )


def as_json(found: Forecast, study: str | None) -> dict[str, Any]:
    """Give all of it as JSON has it; the keys are explained in docs/studies.md."""
    return {
        "schema": FORMAT,
        "study": study,
        "jobs": found.jobs,
        "done": found.jobs - len(found.due),
        "to_run": len(found.due),
        "n_jobs": found.n_jobs,
        "coverage": COVERAGE,
        "reasons": dict(found.reasons),
        "wall_s": _plain(found.wall_s),
        "cpu_s": _plain(found.cpu_s),
        "memory_mb": _plain(found.memory_mb),
        "disk_mb": _plain(found.disk_mb),
        "methods": [{**asdict(cost), "to_run": cost.to_run} for cost in found.costs],
        "due": [
            {
                **{n: getattr(one.job, n) for n in ("algorithm", "data_type", "dataset")},
                "snr_db": one.job.snr_db,
                "seed": one.job.seed,
                "options": dict(one.job.options),
                "why": one.why,
                "told_by": one.told_by,
                "records": one.records,
                "wall_s": asdict(one.wall_s),
            }
            for one in found.due
        ],
    }


def _plain(one: Expected | None) -> dict[str, float] | None:
    return None if one is None else asdict(one)


def _line(cost: Cost) -> str:
    counts = f"{counted(cost.jobs, 'job')}, {cost.done:,} done"
    if not cost.to_run:
        return f"{cost.algorithm} · {cost.data_type}: {counts}"
    told = ", ".join(f"{name} {count:,}" for name, count in Counter(cost.told_by).most_common())
    return (
        f"{cost.algorithm} · {cost.data_type}: {counts}, {cost.to_run:,} to run; "
        f"a job {_time(cost.job_s)}, all {_time(cost.wall_s)}, CPU {_time(cost.cpu_s)}, "
        f"memory {_size(cost.memory_mb)}, disk {_size(cost.disk_mb)}; told by {told}"
    )


def _time(one: Expected | None) -> str:
    return _written(one, ((86400, "d"), (3600, "h"), (60, "min"), (1, "s")))


def _size(one: Expected | None) -> str:
    return _written(one, ((2**20, "TB"), (1024, "GB"), (1, "MB")))


def _written(one: Expected | None, units: tuple[tuple[float, str], ...]) -> str:
    """Write a quantity and its interval, each in the unit that it has whole ones of."""
    if one is None:
        return "unknown"
    found = []
    for part in (one.value, one.low, one.high):
        size, unit = next((each for each in units if part >= each[0]), units[-1])
        found.append(f"{part / size:.3g} {unit}")
    return f"{found[0]} ({found[1]} to {found[2]})"
