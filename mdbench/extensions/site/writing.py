"""``mdbench report --site``: the site of results of folders and bundles."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rich.markup import escape

from mdbench import methods
from mdbench.cli.report import (
    ALL,
    known_of_data,
    leaderboards_of,
    names_of,
    read_results,
    workspace_or_none,
)
from mdbench.errors import MethodError, counted
from mdbench.extensions.site.site import Fact, Site
from mdbench.reports.bundle import opened_all
from mdbench.reports.joining import other_scorers
from mdbench.reports.pictures import ALL_EVALUATIONS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from rich.console import Console

    from mdbench.reports.classes import RecordFilter
    from mdbench.workspace import Workspace

PICTURES = 50
"""How many times the work of a report's pictures those of a site may take."""


def write_site(
    places: Sequence[Path], out: Path, console: Console, *, title: str, wanted: RecordFilter = ALL
) -> None:
    """Write the site of results: see `mdbench.extensions.site.site`."""
    workspace = workspace_or_none()
    with console.status(f"Reading {names_of(places)} ..."):
        results = read_results(places, wanted=wanted)
    for line in other_scorers(results):
        console.print(escape(line), style="yellow", soft_wrap=True)
    with opened_all(places) as opened:
        site = Site(
            results,
            leaderboards_of(results, workspace),
            title=title,
            facts=_method_facts(workspace),
            **known_of_data(
                results, workspace, [*opened.values()], evaluations=PICTURES * ALL_EVALUATIONS
            ),
        )
        with console.status(f"Writing pages for {counted(len(site.problems), 'problem')} ..."):
            made = site.write(out)
    console.print(
        f"{counted(len(results), 'result')} in {made.files:,} files; the first page takes "
        f"{made.first_bytes / 1e3:.0f} kB: {escape(str(out / 'index.html'))}",
        soft_wrap=True,
    )


def _method_facts(workspace: Workspace | None) -> dict[str, list[Fact]]:
    """Return what the folders of methods say of them, for their pages."""
    if workspace is None:
        return {}
    facts: dict[str, list[Fact]] = {}
    for name, method in methods.discover(workspace.algorithms).items():
        if not isinstance(method, MethodError):
            spec = method.spec
            named = {
                "what it is": spec.title,
                "family": spec.family,
                "code": spec.origin,
                "paper": spec.paper,
                "licence": spec.licence,
                "settings from": spec.source,
                "differs from its authors' in": spec.differs,
                "tuning": f"{spec.tuning}: {_settings(spec.grid)}" if spec.grid else spec.tuning,
                "settings": _settings(spec.hyperparameters),
                "limits": "; ".join(limit.reason for limit in spec.limits),
            }
            facts[name] = [Fact(key, text) for key, text in named.items() if text]
    return facts


def _settings(values: Mapping[str, Any]) -> str:
    def written(value: Any) -> str:
        if isinstance(value, list):
            return " ".join(map(written, value))
        return f"{value:g}" if isinstance(value, float) else str(value)

    return ", ".join(f"{name} = {written(value)}" for name, value in values.items())
