"""``mdbench llm-probe``: what a language model knows of the problems before it has seen data."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich import box
from rich.markup import escape
from rich.table import Table

from mdbench.cli.exits import Exit
from mdbench.drawing.numbers import percent
from mdbench.language_models.contamination import PROBES
from mdbench.runs.catalog import Inventory
from mdbench.runs.probe_runner import run_probes
from mdbench.workspace import Workspace

if TYPE_CHECKING:
    from rich.console import Console

    from mdbench.language_models.contamination import Probed
    from mdbench.runs.probe_options import ProbeOptions

__all__ = ["llm_probe"]


def llm_probe(options: ProbeOptions, console: Console) -> int:
    """Ask, and print what came of each problem and of all."""

    def say(one: Probed) -> None:
        told = "  ".join(f"{name} {one.right[name]}" for name in PROBES if name in one.right)
        recalled = "" if one.recalled is None else f"  recalled {one.recalled}"
        line = f"{one.dataset}  of {one.samples}: {told}{recalled}"
        console.print(escape(line), soft_wrap=True)

    probes, file = run_probes(options, Inventory(Workspace.find()), say)
    table = Table(box=box.SIMPLE_HEAD)
    for column in ("model", *PROBES, "recalled", "known without data"):
        table.add_column(column, no_wrap=True)
    shares = [probes.share(name) for name in PROBES]
    table.add_row(
        escape(probes.model),
        *map(_percent, [*shares, probes.recalled]),
        f"{len(probes.known)} of {len(probes.problems)}",
    )
    console.print(table)
    console.print(
        f"{probes.calls} completions, {probes.prompt_tokens} + {probes.completion_tokens} tokens"
    )
    console.print(f"Probes: {escape(str(file))}", soft_wrap=True)
    return Exit.DONE


def _percent(share: float | None) -> str:
    return "-" if share is None else percent(share, "")
