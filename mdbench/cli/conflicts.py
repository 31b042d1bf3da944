"""Results that contradict each other: of one job in several files; and lines that are cut off."""

from __future__ import annotations

from collections import Counter, defaultdict
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NamedTuple

from mdbench import methods
from mdbench.errors import UsageError, counted
from mdbench.records import being_written, results_files
from mdbench.records.files import torn_bytes
from mdbench.reports.bundle import is_bundle
from mdbench.runs.reproduce import Agreement, compare_records

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from mdbench.records import Record
    from mdbench.workspace import Workspace

_MOST_NAMED = 3
"""Jobs that a line names; more are counted."""


class Conflict(NamedTuple):
    """One job with different results in several files.

    Attributes
    ----------
    record
        The newest of them, which counts.
    files
        The files.
    decides
        Whether it is a failed reproduction: a method whose answers do not differ from run to run
        was not ended by a limit.
    """

    record: Record
    files: tuple[Path, ...]
    decides: bool

    @property
    def name(self) -> str:
        """The job and the files, to read."""
        record = self.record
        noise = "clean" if record.snr_db is None else f"{record.snr_db:g} dB"
        where = ", ".join(map(str, self.files))
        return f"{record.algorithm} · {record.dataset} · {noise} · seed {record.seed} ({where})"

    def as_json(self) -> dict[str, Any]:
        """Return the job's key and name, the files, and whether it is a failed reproduction."""
        return {
            "key": self.record.key,
            "job": self.name,
            "files": [*map(str, self.files)],
            "failed_reproduction": self.decides,
        }


def conflicts_of_jobs(
    rows: Iterable[tuple[Path, Record]], workspace: Workspace | None
) -> list[Conflict]:
    """Return the jobs that have another result in another file, but for rounding.

    Parameters
    ----------
    rows
        Records with their files.
    workspace
        Where the methods are; None where there is none: then a method's answers are taken to be
        the same from run to run.
    """
    by_job: dict[tuple[str, str], list[tuple[Path, Record]]] = defaultdict(list)
    for path, record in rows:
        by_job[record.identity].append((path, record))
    conflicts = []
    for several in by_job.values():
        ordered = sorted(several, key=lambda row: row[1].measured.started)
        newest = ordered[-1][1]
        others = [
            record
            for _, record in ordered[:-1]
            if compare_records(record, newest, chaotic=False).sameness is Agreement.OTHER
        ]
        if others:
            ended = any(record.cut_off for record in [newest, *others])
            decides = not ended and _is_repeatable(newest, workspace)
            files = tuple(dict.fromkeys(path for path, _ in ordered))
            conflicts.append(Conflict(newest, files, decides))
    return conflicts


def _is_repeatable(record: Record, workspace: Workspace | None) -> bool:
    if record.llm is not None:
        return False
    found = methods.discover(workspace.algorithms).get(record.algorithm) if workspace else None
    return found.spec.repeatable if isinstance(found, methods.Method) else True


def conflict_lines(conflicts: Sequence[Conflict]) -> list[str]:
    """Return what there is to say of conflicts, failed reproductions first."""
    lines = []
    for decides, what in (
        (True, "a failed reproduction"),
        (False, "by a limit, or by chance that no seed holds"),
    ):
        own = [conflict for conflict in conflicts if conflict.decides is decides]
        if own:
            names = "; ".join(conflict.name for conflict in own[:_MOST_NAMED])
            more = len(own) - _MOST_NAMED
            lines.append(
                f"{counted(len(own), 'job')} with another result in another file, {what}: {names}"
                f"{f'; and {more} more' if more > 0 else ''}. The newest is shown."
            )
    return lines


def lines_on_names(rows: Iterable[tuple[Path, Record]]) -> list[str]:
    """Return which methods have records of one key: the key is of the folder of one of them."""
    names: dict[str, set[str]] = defaultdict(set)
    for _, record in rows:
        names[record.key].add(record.algorithm)
    shared = Counter(tuple(sorted(several)) for several in names.values() if len(several) > 1)
    return [
        f"{counted(number, 'job')} of {' and '.join(several)} with the same key: all but one of "
        "these names are not that of the method's folder."
        for several, number in sorted(shared.items())
    ]


def torn_lines(places: Iterable[Path]) -> list[str]:
    """Return which files end in a piece of a line, which is left out."""
    lines = []
    for folder in places:
        with suppress(OSError, UsageError):  # a folder of bundles has no results files
            if is_bundle(folder) or being_written(folder):
                continue
            sizes = {path: torn_bytes(path) for path in results_files(folder)}
            lines += [
                f"{path}: its last line is cut off ({size} bytes) and left out."
                for path, size in sizes.items()
                if size
            ]
    return lines
