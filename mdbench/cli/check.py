"""``mdbench check``: each point of a method's contract."""

from __future__ import annotations

import json
from contextlib import closing
from dataclasses import asdict
from typing import TYPE_CHECKING

from rich.markup import escape

from mdbench.authoring.check import SECONDS, check_method
from mdbench.cli.options import Exit
from mdbench.errors import UsageError
from mdbench.runtimes.registry import open_runtime

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import Console

    from mdbench.authoring.check import Finding
    from mdbench.workspace import Workspace


def check_one_method(
    name: str,
    workspace: Workspace,
    console: Console,
    runtime_name: str = "auto",
    *,
    seconds: float | None = None,
    json_: bool = False,
) -> int:
    """Print every finding; 0 if the method keeps its contract, else 1."""
    seconds = seconds or SECONDS

    def report(line: str) -> None:
        if not json_:
            console.print(escape(line), style="dim", soft_wrap=True)

    failed, missing = 0, False
    if json_:
        with closing(open_runtime(runtime_name, workspace.home, report)) as runtime:
            findings = check_method(name, workspace, runtime, report, seconds=seconds)
            found = [asdict(one) for one in findings]
        broken = [one for one in found if not one["passed"]]
        print(json.dumps({"schema": 1, "method": name, "keeps": not broken, "findings": found}))
        return Exit.NOT_AS_WISHED if broken else Exit.DONE
    with closing(open_runtime(runtime_name, workspace.home, report)) as runtime:
        for finding in check_method(name, workspace, runtime, report, seconds=seconds):
            failed += not finding.passed
            missing |= finding.note == "unavailable"
            for line in finding_lines(finding):
                console.print(line, soft_wrap=True)
    if failed:
        points = "a point" if failed == 1 else f"{failed} points"
        console.print(f"{name} breaks {points} of its contract.")
        return Exit.NOT_AS_WISHED
    if missing:
        console.print(f"{name} could not be tried here; it breaks nothing as far as it was tried.")
        return Exit.DONE
    console.print(f"{name} keeps its contract.")
    return Exit.DONE


def check_moved_laws(
    names: Sequence[str],
    workspace: Workspace,
    console: Console,
    runtime_name: str = "auto",
    *,
    seconds: float | None = None,
    number: int = 1,
) -> int:
    """Print for each method what it identifies of laws as they are and moved; 1 if one knows them.

    Raises
    ------
    UsageError
        If no method is named, or one does no systems of equations.
    """
    from mdbench.authoring.memory import check_memory

    if not names:
        raise UsageError("--moved needs a method.", "Name it: mdbench check sindy --moved")
    known = 0

    def report(line: str) -> None:
        console.print(escape(line), style="dim", soft_wrap=True)

    with closing(open_runtime(runtime_name, workspace.home, report)) as runtime:
        for name in names:
            finding = check_memory(
                name, workspace, runtime, report, seconds=seconds or SECONDS, number=number
            )
            known += not finding.passed
            words = f"{_mark(finding)} {escape(f'{name}: {finding.point}: {finding.explanation}')}"
            console.print(words, soft_wrap=True)
    return Exit.NOT_AS_WISHED if known else Exit.DONE


def finding_lines(finding: Finding) -> list[str]:
    """Return a point of the contract with its mark, and what there is to explain, as markup."""
    lines = [f"{_mark(finding)} {escape(finding.point)}"]
    if not finding.passed or finding.note:
        lines.append(f"       {escape(finding.explanation)}")
    return lines


def _mark(finding: Finding) -> str:
    if not finding.passed:
        return "[red]broken[/]"
    colours = {"": "green", "warning": "yellow", "skipped": "dim", "unavailable": "yellow"}
    colour = colours[finding.note]
    return f"[{colour}]{finding.note or 'ok':7}[/]"
