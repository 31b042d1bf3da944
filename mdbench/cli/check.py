"""``mdbench check``: each point of a method's contract, of one method or of several."""

from __future__ import annotations

import json
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import closing
from dataclasses import asdict, dataclass
from fnmatch import fnmatchcase
from threading import Event
from typing import TYPE_CHECKING

from rich import box
from rich.markup import escape
from rich.table import Table

from mdbench import methods
from mdbench.authoring.check import SECONDS, Finding, check_method
from mdbench.cli.options import Exit
from mdbench.doors import Door
from mdbench.errors import MdbenchError, UsageError, counted, did_you_mean
from mdbench.runs.plan import jobs_at_a_time
from mdbench.runtimes.registry import open_runtime

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from rich.console import Console

    from mdbench.runtimes.base import Runtime
    from mdbench.workspace import Workspace

AFTER_CHECK = Door("mdbench.after_check", "line after a check", {})
"""Functions of a method, called when it keeps its contract; each returns lines to print."""


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

    failed = warnings = 0
    missing = False
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
            warnings += finding.note == "warning"
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
    if warnings:
        console.print(f"{counted(warnings, 'warning')} above: worth a look before a run.")
    method = methods.find(name, workspace.algorithms)
    for line in filter(None, (AFTER_CHECK.load(name)(method) for name in AFTER_CHECK.names())):
        console.print(escape(line), soft_wrap=True)
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


@dataclass(frozen=True)
class _MethodCheck:
    """What the check of a method found, its wall time and the CPU time of its tries in seconds."""

    method: str
    findings: tuple[Finding, ...]
    seconds: float
    cpu_s: float

    @property
    def counts(self) -> Counter[str]:
        """How many findings are ``broken``, or have a note."""
        return Counter(one.note if one.passed else "broken" for one in self.findings)

    @property
    def result(self) -> str:
        """Return what the table has of it."""
        if self.counts["broken"]:
            return "breaks"
        return "not here" if self.counts["unavailable"] else "keeps"


def methods_matching(patterns: Sequence[str], workspace: Workspace) -> list[str]:
    """Return the names of the methods that are named or match a pattern; all without one.

    Raises
    ------
    UsageError
        If a pattern matches none.
    """
    names = sorted(methods.discover(workspace.algorithms))
    picked: dict[str, None] = {}
    for pattern in patterns or ["*"]:
        matching = [one for one in names if fnmatchcase(one, pattern)]
        if not matching:
            raise UsageError(
                f"There is no method {pattern!r}.",
                f"{did_you_mean(pattern, names)} To see them: mdbench list",
            )
        picked.update(dict.fromkeys(matching))
    return list(picked)


def check_several(
    names: Sequence[str],
    workspace: Workspace,
    console: Console,
    runtime_name: str = "auto",
    *,
    seconds: float | None = None,
    n_jobs: int | None = None,
    json_: bool = False,
) -> int:
    """Print what each method breaks, and a table of all; 0 if all keep their contract, else 1.

    What is broken in one method ends its check alone.
    """
    begun = time.monotonic()

    def report(line: str) -> None:
        if not json_:
            console.print(escape(line), style="dim", soft_wrap=True)

    checked: dict[str, _MethodCheck] = {}
    with closing(open_runtime(runtime_name, workspace.home, report)) as runtime:
        # A shared environment is made once, since its lock is taken.
        at_a_time = min(jobs_at_a_time(n_jobs, 1), len(names))
        report(f"checking {counted(len(names), 'method')}, {at_a_time} at a time")
        for check in _check_each(names, workspace, runtime, seconds or SECONDS, at_a_time):
            checked[check.method] = check
            if not json_:
                _show(check, console, len(checked), len(names))
    ordered = [checked[name] for name in names]
    if json_:
        rows = [
            {
                "method": check.method,
                "keeps": not check.counts["broken"],
                "seconds": round(check.seconds, 1),
                "cpu_s": round(check.cpu_s, 1),
                "findings": [asdict(each) for each in check.findings],
            }
            for check in ordered
        ]
        print(json.dumps({"schema": 1, "methods": rows}))
    else:
        console.print(_table(ordered))
        console.print(_summary(ordered, time.monotonic() - begun), soft_wrap=True)
    broken = any(one.counts["broken"] for one in ordered)
    return Exit.NOT_AS_WISHED if broken else Exit.DONE


def _check_each(
    names: Sequence[str], workspace: Workspace, runtime: Runtime, seconds: float, at_a_time: int
) -> Iterator[_MethodCheck]:
    """Yield what each check finds, as soon as it has ended."""
    stop = Event()
    if at_a_time == 1:
        for name in names:
            yield _check_one(name, workspace, runtime, seconds, stop)
        return
    with ThreadPoolExecutor(at_a_time) as pool:
        try:
            waiting = [
                pool.submit(_check_one, name, workspace, runtime, seconds, stop) for name in names
            ]
            for future in as_completed(waiting):
                yield future.result()
        except BaseException:
            stop.set()
            pool.shutdown(wait=False, cancel_futures=True)
            runtime.interrupt()
            raise


def _check_one(
    name: str, workspace: Workspace, runtime: Runtime, seconds: float, stop: Event
) -> _MethodCheck:
    begun = time.monotonic()
    findings: list[Finding] = []
    used: list[float] = []
    try:
        trials = check_method(
            name, workspace, runtime, lambda _: None, seconds=seconds, used=used.append
        )
        with closing(trials):  # which ends its worker
            for finding in trials:
                findings.append(finding)
                if stop.is_set():
                    break
    except MdbenchError as error:
        findings.append(Finding("it can be checked", passed=False, explanation=str(error)))
    return _MethodCheck(name, tuple(findings), time.monotonic() - begun, sum(used))


def _show(check: _MethodCheck, console: Console, done: int, total: int) -> None:
    colour = {"keeps": "green", "breaks": "red", "not here": "yellow"}[check.result]
    console.print(
        f"{done}/{total} [{colour}]{check.result}[/] {escape(check.method)}: "
        f"{counted(len(check.findings), 'point')}, {check.seconds:.1f} s",
        soft_wrap=True,
    )
    for finding in check.findings:
        if not finding.passed or finding.note in {"warning", "unavailable"}:
            for line in finding_lines(finding):
                console.print(f"    {line}", soft_wrap=True)


def _table(checks: Sequence[_MethodCheck]) -> Table:
    table = Table(box=box.SIMPLE_HEAD)
    for head in ("method", "contract", "points", "broken", "warnings", "seconds", "CPU s"):
        table.add_column(head, justify="left" if head in {"method", "contract"} else "right")
    for check in checks:
        counts = [check.counts[word] for word in ("broken", "warning")]
        table.add_row(
            check.method,
            check.result,
            str(len(check.findings)),
            *(str(count or "") for count in counts),
            f"{check.seconds:.1f}",
            f"{check.cpu_s:.1f}",
        )
    return table


def _summary(checks: Sequence[_MethodCheck], seconds: float) -> str:
    by_result = {
        word: [one.method for one in checks if one.result == word]
        for word in ("keeps", "not here", "breaks")
    }
    text = f"{len(by_result['keeps'])} of {len(checks)} keep their contract"
    if away := by_result["not here"]:
        text += f"; {len(away)} could not be tried here ({', '.join(away)})"
    if broken := by_result["breaks"]:
        text += f"; {len(broken)} broke a point ({', '.join(broken)})"
    cpu_s = sum(one.cpu_s for one in checks)
    return escape(f"{text}.  {seconds / 60:.1f} min, of which tries took {cpu_s:.0f} CPU s.")
