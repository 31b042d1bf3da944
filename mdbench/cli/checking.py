"""``mdbench check``: shows each point of the contract as it is tried."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING

from rich.markup import escape

from mdbench.authoring.check import check_method
from mdbench.cli.exits import Exit
from mdbench.runtimes.choose import open_runtime

if TYPE_CHECKING:
    from rich.console import Console

    from mdbench.workspace import Workspace

__all__ = ["check"]


def check(name: str, workspace: Workspace, console: Console, runtime_name: str = "auto") -> int:
    """Print every finding; 0 if the method keeps its contract, else 1."""

    def say(line: str) -> None:
        console.print(escape(line), style="dim")

    failed = 0
    with closing(open_runtime(runtime_name, workspace.home, say)) as runtime:
        for finding in check_method(name, workspace, runtime):
            mark = "[green]ok[/]    " if finding.passed else "[red]broken[/]"
            console.print(f"{mark} {escape(finding.point)}", soft_wrap=True)
            if not finding.passed:
                failed += 1
                console.print(f"       {escape(finding.explanation)}", soft_wrap=True)
    if failed:
        console.print(f"{name} breaks {failed} point(s) of its contract.")
        return Exit.NOT_AS_WISHED
    console.print(f"{name} keeps its contract.")
    return Exit.DONE
