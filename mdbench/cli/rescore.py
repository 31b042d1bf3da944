"""The verb ``rescore``: the answers of records scored again by this version's scorer."""

from __future__ import annotations

import csv
from collections import Counter
from contextlib import ExitStack
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from rich.markup import escape

from mdbench.cli.options import Exit
from mdbench.errors import RecordsError, counted
from mdbench.records import RecordStore, results_files
from mdbench.records.files import OTHER_FOLDER, PACKED, file_failure, pack
from mdbench.runs.reproduce import rescore_all
from mdbench.workspace import Workspace

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from rich.console import Console

    from mdbench.records import Record
    from mdbench.runs.reproduce import RescoredRecord


class Change(NamedTuple):
    """A score that is another one now: a row of the table of changes."""

    file: str
    key: str
    data_type: str
    algorithm: str
    system: str
    score: str
    before: Any
    after: Any
    equations: str


@dataclass(frozen=True)
class Rescoring:
    """How records are scored again.

    Attributes
    ----------
    dry_run
        Whether no record is written.
    reuse
        As for `mdbench.runs.reproduce.rescored`.
    changes
        A file for the table of changes; None for none.
    n_jobs
        Processes; None for as many as cores, or fewer for few records.
    """

    dry_run: bool = False
    reuse: bool = False
    changes: Path | None = None
    n_jobs: int | None = None


def rescore_files(results: Path, console: Console, how: Rescoring) -> int:
    """Score the records of a file, or of all files of a folder, and print what changed."""
    files = results_files(results)
    workspace = Workspace.find()
    with ExitStack() as stack:
        rows = None
        if how.changes is not None:
            try:
                file = how.changes.open("w", encoding="utf-8", newline="")
            except OSError as error:
                message = file_failure(how.changes, "cannot be written", error).message
                hint = "Name another file after --changes; its folder has to be there."
                raise RecordsError(message, hint) from error
            rows = csv.writer(stack.enter_context(file))
            rows.writerow(Change._fields)
        for path in files:
            tally = _Tally(path, workspace, how, console, rows)
            if how.dry_run:
                for _ in tally.change(RecordStore(path).read()):
                    pass
            elif path.name.endswith(PACKED):
                pack(path, tally.change(RecordStore(path).read()))
            else:
                _rewrite(path, tally)
            tally.show("would change" if how.dry_run else "changed")
    return Exit.DONE


def _rewrite(path: Path, tally: _Tally) -> None:
    try:
        RecordStore(path).rewrite(tally.change)
    except RecordsError as error:
        copy = "Copy the results to a folder that can be written, and rescore the copy."
        hint = error.hint.replace(OTHER_FOLDER, copy)  # a run has this option
        raise RecordsError(error.message, hint) from None


class _Tally:
    """Scores the records of a file, shows whose status is another, and counts the rest."""

    def __init__(
        self, path: Path, workspace: Workspace, how: Rescoring, console: Console, rows: Any
    ) -> None:
        self._path = path
        self._workspace = workspace
        self._how = how
        self._console = console
        self._rows = rows
        self._changed: Counter[str] = Counter()
        self._unscored: Counter[str] = Counter()
        self._count = 0
        self._others = 0

    def change(self, records: Sequence[Record]) -> Iterator[Record]:
        """Score records."""
        how = self._how
        for done in rescore_all(records, self._workspace, how.n_jobs, reuse=how.reuse):
            self._count += 1
            self._unscored.update([done.left] if done.left else [])
            self._others += bool(done.changes)
            self._changed.update(list(done.changes))
            if "status" in done.changes:
                old, new = done.changes["status"]
                text = f"{done.after.algorithm} · {done.after.system}  {old} -> {new}"
                self._print(f"{text}: {done.after.reason}")
            if self._rows is not None:
                self._rows.writerows(self._changes(done))
            yield done.after

    def _changes(self, done: RescoredRecord) -> Iterator[Change]:
        after = done.after
        equations = "; ".join(after.equations or ())
        for score, (old, new) in done.changes.items():
            names = after.data_type, after.algorithm, after.system
            yield Change(self._path.name, after.key, *names, score, old, new, equations)

    def show(self, verb: str) -> None:
        """Print the result for the file."""
        scored = self._count - self._unscored.total()
        text = f"{self._path}: {scored} of {counted(self._count, 'record')} scored again"
        self._print(f"{text}, and {self._others} {verb}.")
        for reason, count in self._unscored.most_common():
            self._print(f"    left as they are: {count}, as {reason}")
        if self._changed:
            changed = ", ".join(f"{name} {count}" for name, count in self._changed.items())
            self._print(f"    changed: {changed}")

    def _print(self, text: str) -> None:
        self._console.print(escape(text), soft_wrap=True)
