"""``mdbench probe``: what each runtime enforces on this machine."""

from __future__ import annotations

import json
from contextlib import closing
from typing import TYPE_CHECKING, Any

from rich import box
from rich.markup import escape
from rich.table import Table

from mdbench.errors import UnavailableError
from mdbench.runtimes.base import ENFORCED
from mdbench.runtimes.select import RUNTIMES, open_runtime

if TYPE_CHECKING:
    from rich.console import Console

    from mdbench.workspace import Workspace

__all__ = ["probe"]

_COLOURS = {"hard": "green", "soft": "yellow", "none": "red"}


def probe(workspace: Workspace, console: Console, *, json_: bool = False) -> None:
    """Print a row for each runtime: how hard it keeps each thing, or why it does not work."""
    found = [_probed(name, workspace) for name in RUNTIMES if name != "auto"]
    if json_:
        print(json.dumps({"schema": 1, "runtimes": found}))
        return
    table = Table(box=box.SIMPLE_HEAD)
    for column in ("runtime", *ENFORCED):
        table.add_column(column, no_wrap=True)
    table.add_column("how", overflow="fold")
    for one in found:
        levels = one["enforces"]
        cells = [f"[{_COLOURS[level]}]{level}[/]" for level in levels.values()]
        how = "; ".join(filter(None, [one["how"], one["missing"], one["unavailable"]]))
        table.add_row(one["runtime"], *(cells or ["-"] * len(ENFORCED)), escape(how))
    console.print(table)
    console.print(
        "network: one endpoint, for a method with [access] llm = true: a socket in its job's "
        "folder, at which the bench listens; nothing else.",
        soft_wrap=True,
        markup=False,
    )


def _probed(name: str, workspace: Workspace) -> dict[str, Any]:
    """Say what a runtime enforces, or why it does not work here."""
    told: dict[str, Any] = {"runtime": name, "enforces": {}, "how": ""}
    told |= {"missing": "", "unavailable": ""}
    try:
        with closing(open_runtime(name, workspace.home)) as runtime:
            enforcement = runtime.probe()
            told["enforces"] = {what: enforcement.levels[what] for what in ENFORCED}
            told["how"], told["missing"] = enforcement.how, runtime.missing() or ""
    except UnavailableError as error:
        told["unavailable"] = str(error)
    return told
