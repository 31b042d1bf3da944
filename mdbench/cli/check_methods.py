"""``mdbench check`` with several methods, or all: what each breaks, and a table at the end."""

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
from mdbench.cli.check import finding_lines
from mdbench.cli.options import Exit
from mdbench.errors import MdbenchError, UsageError, counted, did_you_mean
from mdbench.runs.plan import jobs_at_a_time
from mdbench.runtimes.registry import open_runtime

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from rich.console import Console

    from mdbench.runtimes.base import Runtime
    from mdbench.workspace import Workspace


@dataclass(frozen=True)
class _Checked:
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

    checked: dict[str, _Checked] = {}
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
) -> Iterator[_Checked]:
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
) -> _Checked:
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
    return _Checked(name, tuple(findings), time.monotonic() - begun, sum(used))


def _show(check: _Checked, console: Console, done: int, total: int) -> None:
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


def _table(checks: Sequence[_Checked]) -> Table:
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


def _summary(checks: Sequence[_Checked], seconds: float) -> str:
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
