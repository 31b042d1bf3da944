"""``mdbench reproduce`` and ``rescore``: old records' jobs run again, or their answers scored."""

from __future__ import annotations

import tempfile
from collections import Counter
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from rich.markup import escape

from mdbench.backends.local import LocalBackend
from mdbench.cli.options import Exit
from mdbench.cli.run import Display
from mdbench.drawing.numbers import counted
from mdbench.errors import UsageError
from mdbench.records import RecordStore, results_files
from mdbench.reports.bundle import opened
from mdbench.runs.execute import execute
from mdbench.runs.plan import jobs_at_a_time
from mdbench.runs.reproduce import RESULT, Agreement, compare_records, differences, plans_of
from mdbench.runs.rescore import all_rescored
from mdbench.runs.spec import JobSpec
from mdbench.runtimes.select import open_runtime
from mdbench.workspace import Workspace

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from rich.console import Console

    from mdbench.records import Record
    from mdbench.runs.reproduce import RecordComparison


def reproduce_files(
    results: Path, patterns: list[str], n_jobs: int | None, console: Console
) -> int:
    """Run again, compare and print; return 0 if every result is the same."""
    if not results.exists():
        raise UsageError(f"There is no results file {results}.", "E.g. results/sindy-ode.jsonl")
    with opened(results) as place:
        return _reproduce(place, patterns, n_jobs, console)


def _reproduce(place: Path, patterns: list[str], n_jobs: int | None, console: Console) -> int:
    workspace = Workspace.find()
    read, logs = [], {}
    for file in results_files(place):
        for record in RecordStore(file).read():
            read.append(record)
            if record.exchanges is not None:
                logs[record.key] = file.parent / record.exchanges
    records = [record for record in read if record.budget.timeout_s is not None]
    before = {_question(record): record for record in records}
    count: Counter[Agreement] = Counter()
    with tempfile.TemporaryDirectory(prefix="mdbench-reproduce-") as folder:
        for runtime_name, plan in plans_of(
            before.values(), patterns, workspace, result_dir=Path(folder), n_jobs=n_jobs, logs=logs
        ):
            with (
                Display(console, plan) as display,
                closing(
                    open_runtime(runtime_name, workspace.home, on_line=display.message)
                ) as runtime,
            ):
                plan.catalog.set_progress(display.message)
                summary = execute(plan, runtime, display, LocalBackend())
            if summary.interrupted:
                return Exit.INTERRUPTED
            for record in summary.records:
                old = before[_question(record)]
                chaotic = plan.catalog.method(record.algorithm).spec.chaotic
                agreed = compare_records(old, record, chaotic=chaotic)
                count[agreed.sameness] += 1
                _show(record, differences(old, record), agreed, console)
    same, different = count[Agreement.SAME] + count[Agreement.NEARLY], count[Agreement.OTHER]
    console.print(f"{same} of {counted(same + different, 'record')} reproduced.")
    if others := count[Agreement.CHAOTIC]:
        console.print(f"{others} more cannot be: a chaotic search, under another kernel.")
    return Exit.NOT_AS_WISHED if different else Exit.DONE


def _question(record: Record) -> tuple[object, ...]:
    job = JobSpec.of(record)
    return replace(job, options={}), str(sorted(job.options.items())), record.runtime.name


_COLOURS = {Agreement.OTHER: "red", Agreement.CHAOTIC: "yellow"}


def _show(
    record: Record,
    found: dict[str, tuple[object, object]],
    agreed: RecordComparison,
    console: Console,
) -> None:
    noise = "clean" if record.snr_db is None else f"{record.snr_db:g} dB"
    name = f"{record.algorithm} · {record.dataset} · {noise} · seed {record.seed}"
    colour = _COLOURS.get(agreed.sameness, "green")
    console.print(f"{escape(name)}  [{colour}]{agreed.sameness}[/]", soft_wrap=True)
    if agreed.sameness is Agreement.NEARLY:
        console.print(f"    coefficients differ by up to {agreed.difference:.1e}", soft_wrap=True)
    else:
        for key, (old, new) in found.items():
            if key in RESULT:
                console.print(escape(f"    {key}: {old} -> {new}"), soft_wrap=True)
    if agreed.kernels is not None and agreed.sameness is not Agreement.SAME:
        apart = "" if agreed.data else "; its rounding is in the data, too"
        console.print(escape(f"    BLAS: {' -> '.join(agreed.kernels)}{apart}"), soft_wrap=True)
    if others := sorted(found.keys() - RESULT):
        console.print(f"    made with another: {', '.join(others)}", soft_wrap=True)


_A_PROCESS = 100
"""Records for which a process more is started, which takes some two seconds."""


def rescore_files(results: Path, console: Console, *, dry_run: bool, n_jobs: int | None) -> int:
    """Score the records of a file, or of all files of a folder, and print what changed.

    Where nobody says how many processes do it, they are as many as cores, or fewer for few records.
    """
    files = sorted(results.rglob("*.jsonl")) if results.is_dir() else [results]
    if not files or not files[0].is_file():
        raise UsageError(f"There is no results file {results}.", "E.g. results/sindy-ode.jsonl")
    workspace = Workspace.find()
    for file in files:
        store = RecordStore(file)
        tally = _Tally(workspace, n_jobs, console)
        if dry_run:
            for _ in tally.change(store.read()):
                pass
        else:
            store.rewrite(tally.change)
        tally.show(file, "would get new scores" if dry_run else "got new scores")
    return Exit.DONE


def _worth_starting(records: int) -> int:
    """Return how many processes are soon done with what it takes to start them."""
    return max(1, min(jobs_at_a_time(None, 1), records // _A_PROCESS))


class _Tally:
    """Scores records, shows whose status is another, and counts the rest."""

    def __init__(self, workspace: Workspace, n_jobs: int | None, console: Console) -> None:
        self._workspace = workspace
        self._n_jobs = n_jobs
        self._console = console
        self._changed: Counter[str] = Counter()
        self._left: Counter[str] = Counter()
        self._count = 0

    def change(self, records: Sequence[Record]) -> Iterator[Record]:
        """Score records."""
        jobs = self._n_jobs or _worth_starting(len(records))
        for done in all_rescored(records, self._workspace, jobs):
            self._count += 1
            self._left.update([done.left] if done.left else [])
            self._changed.update(list(done.changes))
            if "status" in done.changes:
                old, new = done.changes["status"]
                text = f"{done.after.algorithm} · {done.after.system}  {old} -> {new}"
                self._print(f"{text}: {done.after.reason}")
            yield done.after

    def show(self, file: Path, verb: str) -> None:
        """Print what came of a file."""
        left = self._left.total()
        self._print(f"{file}: {self._count - left} of {counted(self._count, 'record')} {verb}.")
        for reason, count in self._left.most_common():
            self._print(f"    left as they are: {count}, as {reason}")
        if self._changed:
            changed = ", ".join(f"{name} {count}" for name, count in self._changed.items())
            self._print(f"    changed: {changed}")

    def _print(self, text: str) -> None:
        self._console.print(escape(text), soft_wrap=True)
