"""``mdbench install``: environments made ahead of a run, several at a time."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import closing
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rich import box
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from mdbench import methods
from mdbench.cli.exits import Exit
from mdbench.errors import MdbenchError, MethodError
from mdbench.runs.plan import slots
from mdbench.runtimes.select import open_runtime

if TYPE_CHECKING:
    from rich.console import Console

    from mdbench.runtimes.base import Runtime
    from mdbench.workspace import Workspace

__all__ = ["install"]


@dataclass
class _Result:
    """What came of one method's environment."""

    made: bool
    text: str
    seconds: float
    size_mb: float | None = None


def install(
    names: list[str],
    workspace: Workspace,
    console: Console,
    *,
    runtime_name: str = "auto",
    n_jobs: int | None = None,
) -> int:
    """Make the environments, going on past a broken one; 0 if all could be made, else 1."""
    found: dict[str, methods.Method | MethodError]
    if names:
        found = {name: methods.find(name, workspace.algorithms) for name in names}
    else:
        found = methods.discover(workspace.algorithms)
    progress = Progress(
        BarColumn(bar_width=24),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("{task.description}"),
        console=console,
        transient=True,
        disable=not console.is_terminal,
    )

    def say(line: str) -> None:
        progress.console.print(escape(line), style="dim", soft_wrap=True)

    with progress, closing(open_runtime(runtime_name, workspace.home, say)) as runtime:
        results = _make_all(runtime, found, progress, slots(n_jobs, 1))
        console.print(_table(runtime.name, {name: results[name] for name in found}))
    broken = sum(not result.made for result in results.values())
    return Exit.NOT_AS_WISHED if broken else Exit.DONE


def _make_all(
    runtime: Runtime,
    found: dict[str, methods.Method | MethodError],
    progress: Progress,
    at_a_time: int,
) -> dict[str, _Result]:
    task = progress.add_task("", total=len(found))
    results: dict[str, _Result] = {}
    with ThreadPoolExecutor(at_a_time) as pool:
        waiting = {pool.submit(_make, runtime, method): name for name, method in found.items()}
        try:
            for future in as_completed(waiting):
                name = waiting[future]
                result = results[name] = future.result()
                colour = "green" if result.made else "red"
                word = "ready" if result.made else "cannot be made"
                told = f"{escape(name)}: [{colour}]{word}[/] {result.seconds:.1f} s"
                progress.console.print(told)
                progress.advance(task)
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            runtime.interrupt()
            raise
    return results


def _make(runtime: Runtime, method: methods.Method | MethodError) -> _Result:
    start = time.monotonic()
    try:
        if isinstance(method, MethodError):
            raise method
        prepared = runtime.prepare(method)
        size = runtime.size_mb(prepared)
    except MdbenchError as error:
        return _Result(made=False, text=str(error), seconds=time.monotonic() - start)
    return _Result(
        made=True,
        text=f"Python {prepared.python}",
        seconds=time.monotonic() - start,
        size_mb=size,
    )


def _table(runtime: str, results: dict[str, _Result]) -> Table:
    table = Table(box=box.SIMPLE_HEAD)
    for column in ("method", "runtime", "built"):
        table.add_column(column, overflow="fold")
    for column in ("seconds", "MB"):
        table.add_column(column, justify="right")
    for name, result in results.items():
        colour, word = ("green", "yes") if result.made else ("red", "no")
        table.add_row(
            escape(name),
            runtime,
            f"[{colour}]{word}[/]: {escape(result.text)}",
            f"{result.seconds:.1f}",
            "" if result.size_mb is None else f"{result.size_mb:.0f}",
        )
    return table
