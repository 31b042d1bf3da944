"""``mdbench rescore``: records with the scores of this version, and what changed."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from rich.markup import escape

from mdbench.cli.exits import Exit
from mdbench.drawing.numbers import counted
from mdbench.errors import UsageError
from mdbench.records import RecordStore
from mdbench.runs.inventory import Inventory
from mdbench.runs.rescore import rescored
from mdbench.workspace import Workspace

if TYPE_CHECKING:
    from pathlib import Path

    from rich.console import Console

    from mdbench.records import Record

__all__ = ["rescore"]


def rescore(results: Path, console: Console, *, dry_run: bool) -> int:
    """Score the records of a file, or of all files of a folder, and print what changed."""
    files = sorted(results.rglob("*.jsonl")) if results.is_dir() else [results]
    if not files or not files[0].is_file():
        raise UsageError(f"There is no results file {results}.", "E.g. results/sindy-ode.jsonl")
    inventory = Inventory(Workspace.find())
    for file in files:
        tally = _Tally(inventory, console)
        store = RecordStore(file)
        if dry_run:
            for record in store.read():
                tally.change(record)
        else:
            store.rewrite(tally.change)
        tally.show(file, "would get new scores" if dry_run else "got new scores")
    return Exit.DONE


class _Tally:
    """Scores records, shows whose status is another, and counts the rest."""

    def __init__(self, inventory: Inventory, console: Console) -> None:
        self._inventory = inventory
        self._console = console
        self._changed: Counter[str] = Counter()
        self._left: Counter[str] = Counter()
        self._count = 0

    def change(self, record: Record) -> Record:
        """Score one record."""
        done = rescored(record, self._inventory)
        self._count += 1
        self._left.update([done.left] if done.left else [])
        self._changed.update(list(done.changes))
        if "status" in done.changes:
            old, new = done.changes["status"]
            told = f"{done.after.algorithm} · {done.after.system}  {old} -> {new}"
            self._print(f"{told}: {done.after.reason}")
        return done.after

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
