"""``mdbench llm-probe`` and ``llm-stub``: what a model knows, and a server that acts as one."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from rich import box
from rich.markup import escape
from rich.table import Table

from mdbench.cli.options import Exit
from mdbench.drawing.numbers import counted, percent
from mdbench.language_models.contamination import PROBES
from mdbench.language_models.stub import MODES, Stub
from mdbench.runs.catalog import Catalog
from mdbench.runs.llm import run_probes
from mdbench.workspace import Workspace

if TYPE_CHECKING:
    from rich.console import Console

    from mdbench.language_models.contamination import Probed
    from mdbench.runs.study import ProbeOptions


def run_llm_probe(options: ProbeOptions, console: Console) -> int:
    """Ask, and print the results for each problem and for all."""

    def report(one: Probed) -> None:
        counts = "  ".join(f"{name} {one.right[name]}" for name in PROBES if name in one.right)
        recalled = "" if one.recalled is None else f"  recalled {one.recalled}"
        line = f"{one.dataset}  of {one.samples}: {counts}{recalled}"
        console.print(escape(line), soft_wrap=True)

    probes, file = run_probes(options, Catalog(Workspace.find()), report)
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


def wait() -> None:
    """Wait without end."""
    threading.Event().wait()


def serve_stub(mode: str, port: int, seed: int, answer: str, knows: float, console: Console) -> int:
    """Serve until Ctrl-C."""
    stub = Stub(mode=mode, seed=seed, answer=answer, knows=knows, port=port, keeps=False)
    with stub:
        console.print(
            f"{escape(stub.url)} answers with {MODES[mode]}.  To stop it: Ctrl-C", soft_wrap=True
        )
        try:
            wait()
        except KeyboardInterrupt:
            console.print(f"{counted(stub.count, 'request')}.")
    return Exit.DONE
