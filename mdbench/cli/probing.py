"""``mdbench probe``: what each runtime enforces on this machine."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING

from rich import box
from rich.markup import escape
from rich.table import Table

from mdbench.errors import UnavailableError
from mdbench.runtimes.base import ENFORCED
from mdbench.runtimes.choose import RUNTIMES, open_runtime

if TYPE_CHECKING:
    from rich.console import Console

    from mdbench.workspace import Workspace

__all__ = ["probe"]

_COLOURS = {"hard": "green", "soft": "yellow", "none": "red"}


def probe(workspace: Workspace, console: Console) -> None:
    """Print a row for each runtime: how hard it keeps each thing, or why it does not work."""
    table = Table(box=box.SIMPLE_HEAD)
    for column in ("runtime", *ENFORCED):
        table.add_column(column, no_wrap=True)
    table.add_column("how", overflow="fold")
    for name in RUNTIMES:
        if name == "auto":
            continue
        try:
            with closing(open_runtime(name, workspace.home)) as runtime:
                enforcement = runtime.probe()
                levels = [enforcement.levels[what] for what in ENFORCED]
                missing = runtime.missing()
        except UnavailableError as error:
            table.add_row(name, *["-"] * len(ENFORCED), escape(str(error)))
            continue
        cells = [f"[{_COLOURS[level]}]{level}[/]" for level in levels]
        how = enforcement.how + (f"; {missing}" if missing else "")
        table.add_row(name, *cells, escape(how))
    console.print(table)
    console.print(
        "network: one endpoint, for a method with [access] llm = true: a socket in its job's "
        "folder, at which the bench listens; nothing else.",
        soft_wrap=True,
        markup=False,
    )
