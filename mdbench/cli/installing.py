"""``mdbench install``: environments made ahead of a run."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from rich import box
from rich.markup import escape
from rich.table import Table

from mdbench import methods
from mdbench.cli.exits import Exit
from mdbench.errors import MdbenchError, MethodError
from mdbench.runtimes.venv import VenvRuntime

if TYPE_CHECKING:
    from rich.console import Console

    from mdbench.workspace import Workspace

__all__ = ["install"]


def install(names: list[str], workspace: Workspace, console: Console) -> int:
    """Make the environments, going on past a broken one; 0 if all could be made, else 1."""
    found: dict[str, methods.Method | MethodError]
    if names:
        found = {name: methods.find(name, workspace.algorithms) for name in names}
    else:
        found = methods.discover(workspace.algorithms)
    runtime = VenvRuntime(
        workspace.home, on_line=lambda line: console.print(escape(line), style="dim")
    )
    table = Table(box=box.SIMPLE_HEAD)
    for column in ("method", "environment", "seconds"):
        table.add_column(column)
    broken = 0
    for name, method in found.items():
        start = time.monotonic()
        try:
            if isinstance(method, MethodError):
                raise method
            prepared = runtime.prepare(method)
            result = f"[green]ready[/] (Python {prepared.python})"
        except MdbenchError as error:
            broken += 1
            result = f"[red]cannot be made:[/] {escape(str(error))}"
        table.add_row(name, result, f"{time.monotonic() - start:.1f}")
    console.print(table)
    return Exit.NOT_AS_WISHED if broken else Exit.DONE
