"""``mdbench study``: a study file written from a command line, or checked."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.markup import escape

from mdbench.drawing.numbers import counted
from mdbench.errors import UsageError
from mdbench.runs.plan import make_plan
from mdbench.runs.study import Study, write_study
from mdbench.workspace import Workspace

if TYPE_CHECKING:
    from pathlib import Path

    from rich.console import Console

    from mdbench.cli.declared import Told

__all__ = ["study"]


def study(told: Told, init: Path | None, console: Console) -> None:
    """Write what was typed into a new study, or read one; say what it asks for.

    Raises
    ------
    mdbench.errors.MdbenchError
        As ``mdbench run`` with the same options; nothing is written then.
    """
    if (init is None) == (told.file is None):
        raise UsageError(
            "study was told neither what to write nor what to check."
            if init is None
            else "study was told both --init and --study.",
            "Give --init FILE with the options of a run, or --study FILE.",
        )
    workspace = Workspace.find()
    if init is None:
        found = told.study()
        plan = make_plan(found, workspace)
    else:
        plan = make_plan(Study((told.options(),)), workspace)
        found = write_study(init, told.as_typed())
        console.print(f"Wrote {escape(found.name)}.", soft_wrap=True)
    console.print(f"{counted(len(plan.jobs), 'job')}, study {found.sha256}", soft_wrap=True)
    if init is not None:
        console.print(f"To run it: mdbench run --study {escape(found.name)}", soft_wrap=True)
