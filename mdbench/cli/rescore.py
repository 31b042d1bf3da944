"""The verb ``rescore``: the answers of records scored again by this version's scorer."""

from __future__ import annotations

import csv
import hashlib
import json
from collections import Counter
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Self

from rich.markup import escape
from rich.progress import track

import eqverdict
import mdbench
from mdbench.cli.options import Exit
from mdbench.errors import RecordsError, counted
from mdbench.records import Record, RecordStore, Status, results_files
from mdbench.records.files import OTHER_FOLDER, PACKED, file_failure, pack
from mdbench.runs.record import core_versions
from mdbench.runs.reproduce import RescoredRecord, rescore_all
from mdbench.workspace import Workspace

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from rich.console import Console


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
    """Score the records of a file, or of all files of a folder, and print what changed.

    Those of one dataset are scored one after the other, so that its data are made once.  What is
    scored is kept in `JOURNAL`, in the folder of the results, until all is: a run that was ended
    goes on where it was.
    """
    tallies = [_Tally(file, RecordStore(file).read(), console) for file in results_files(results)]
    order = [(tally, index) for tally in tallies for index in range(len(tally.records))]
    order.sort(key=lambda item: _same_data(item[0].records[item[1]]))
    with ExitStack() as stack:
        rows = _changes_writer(how.changes, stack)
        journal = None if how.dry_run else stack.enter_context(_Journal(results, how))
        if journal is not None:
            for tally, index in order:
                tally.scored[index] = journal.find(tally, index)
        todo = [(tally, index) for tally, index in order if tally.scored[index] is None]
        if len(todo) < len(order):
            count = counted(len(order) - len(todo), "record")
            console.print(f"{count} of {len(order)} were scored by a run that was ended.")
        records = [tally.records[index] for tally, index in todo]
        folders = sorted({tally.path.parent for tally in tallies})
        scored = rescore_all(records, Workspace.find(), how.n_jobs, folders, reuse=how.reuse)
        pairs = track(
            zip(todo, scored, strict=True),
            "scoring",
            total=len(todo),
            console=console,
            transient=True,
            disable=not console.is_terminal,
        )
        for (tally, index), record in pairs:
            tally.scored[index] = record
            if journal is not None:
                journal.add(tally, index, record)
        for tally in tallies:
            if not how.dry_run:
                tally.write()
            tally.show("would change" if how.dry_run else "changed")
            if rows is not None:
                rows.writerows(tally.changes())
        if journal is not None:
            journal.remove()
    return Exit.DONE


JOURNAL = ".rescored"
"""What a run of ``rescore`` has scored; it is removed when the results are written."""
_COPY = "Copy the results to a folder that can be written, and rescore the copy."


def _same_data(record: Record) -> tuple[str, ...]:
    """Return a key by which records of the same data, seen in the same way, are neighbours."""
    options = json.dumps(dict(record.options), sort_keys=True, default=str)
    data = record.data_type, record.dataset, options, str(record.snr_db), str(record.seed)
    return *data, record.protocol, record.view


def _changes_writer(path: Path | None, stack: ExitStack) -> Any:
    """Open the table of changes; None for none."""
    if path is None:
        return None
    try:
        file = path.open("w", encoding="utf-8", newline="")
    except OSError as error:
        message = file_failure(path, "cannot be written", error).message
        hint = "Name another file after --changes; its folder has to be there."
        raise RecordsError(message, hint) from error
    rows = csv.writer(stack.enter_context(file))
    rows.writerow(Change._fields)
    return rows


class _Journal:
    """The records that a run has scored, a line of JSON each.

    It is of the code that wrote it: after a change of the code it counts for nothing.
    """

    def __init__(self, results: Path, how: Rescoring) -> None:
        self._path = (results if results.is_dir() else results.parent) / JOURNAL
        self._header = json.dumps([_code(), core_versions(), how.reuse])
        self._lines: dict[tuple[str, int, str], tuple[str, str]] = {}

    def __enter__(self) -> Self:
        try:
            lines = (
                self._path.read_text(encoding="utf-8").split("\n") if self._path.exists() else []
            )
            if lines[:1] != [self._header]:
                lines = [self._header, ""]
            for line in lines[1:-1]:
                name, index, key, after, left = json.loads(line)
                self._lines[name, index, key] = after, left
            self._path.write_text("\n".join([*lines[:-1], ""]), encoding="utf-8")
            self._file = self._path.open("a", encoding="utf-8")
        except OSError as error:
            message = file_failure(self._path, "cannot be written", error).message
            raise RecordsError(message, _COPY) from error
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def find(self, tally: _Tally, index: int) -> RescoredRecord | None:
        """Return a record of a file, scored, or None where it was not."""
        before = tally.records[index]
        line = self._lines.pop((tally.path.name, index, before.key), None)
        if line is None:
            return None
        return RescoredRecord(before, Record.model_validate_json(line[0]), line[1])

    def add(self, tally: _Tally, index: int, scored: RescoredRecord) -> None:
        """Keep a record that was scored."""
        key, after = scored.before.key, scored.after.to_line()
        self._file.write(json.dumps([tally.path.name, index, key, after, scored.left]) + "\n")
        self._file.flush()

    def remove(self) -> None:
        """Remove the file: the results are written."""
        self._path.unlink(missing_ok=True)


def _code() -> str:
    """Return a hash of the code that scores."""
    digest = hashlib.sha256()
    for package in (eqverdict, mdbench):
        for file in sorted(Path(package.__path__[0]).rglob("*.py")):
            digest.update(file.read_bytes())
    return digest.hexdigest()


class _Tally:
    """The records of a file, before and after: writes them and shows what changed."""

    def __init__(self, path: Path, records: Sequence[Record], console: Console) -> None:
        self.path, self.records = path, records
        self.scored: list[RescoredRecord | None] = [None] * len(records)
        self._console = console

    def changes(self) -> Iterator[Change]:
        """Yield a row for each score that is another one."""
        for scored in filter(None, self.scored):
            after = scored.after
            equations = "; ".join(after.equations or ())
            names = after.data_type, after.algorithm, after.system
            for score, (old, new) in scored.changes.items():
                yield Change(self.path.name, after.key, *names, score, old, new, equations)

    def write(self) -> None:
        """Write the records in the places of the old ones; what a run has added since stays.

        Raises
        ------
        RecordsError
            If the file cannot be written, or another process is writing it.
        """
        after = [scored.after for scored in filter(None, self.scored)]
        if self.path.name.endswith(PACKED):
            pack(self.path, after)
            return
        try:
            RecordStore(self.path).rewrite(lambda records: [*after, *records[len(after) :]])
        except RecordsError as error:
            hint = error.hint.replace(OTHER_FOLDER, _COPY)  # a run has this option
            raise RecordsError(error.message, hint) from None

    def show(self, verb: str) -> None:
        """Print the result for the file."""
        scored = [record for record in self.scored if record is not None]
        unscored = Counter(record.left for record in scored if record.left)
        changed = Counter(name for record in scored for name in record.changes)
        for record in scored:
            if "status" in record.changes:
                old, new = (Status(name).word for name in record.changes["status"])
                text = f"{record.after.algorithm} · {record.after.system}  {old} -> {new}"
                self._print(f"{text}: {record.after.reason}")
        count = len(scored) - unscored.total()
        text = f"{self.path}: {count} of {counted(len(scored), 'record')} scored again"
        self._print(f"{text}, and {sum(bool(record.changes) for record in scored)} {verb}.")
        for reason, number in unscored.most_common():
            self._print(f"    left as they are: {number}, as {reason}")
        if changed:
            self._print(f"    changed: {', '.join(f'{n} {c}' for n, c in changed.items())}")

    def _print(self, text: str) -> None:
        self._console.print(escape(text), soft_wrap=True)
