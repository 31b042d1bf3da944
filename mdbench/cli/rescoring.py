"""``mdbench rescore``: records with the scores of this version, and what changed."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from rich.markup import escape

from mdbench.cli.exits import Exit
from mdbench.drawing.numbers import counted
from mdbench.errors import UsageError
from mdbench.records import RecordStore
from mdbench.runs.plan import slots
from mdbench.runs.rescore import all_rescored
from mdbench.workspace import Workspace

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from rich.console import Console

    from mdbench.records import Record

__all__ = ["rescore"]

_A_PROCESS = 100
"""Records for which a process more is started, which takes some two seconds."""


def rescore(results: Path, console: Console, *, dry_run: bool, n_jobs: int | None) -> int:
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
    """Give how many processes are soon done with what it takes to start them."""
    return max(1, min(slots(None, 1), records // _A_PROCESS))


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
                told = f"{done.after.algorithm} · {done.after.system}  {old} -> {new}"
                self._print(f"{told}: {done.after.reason}")
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
