"""Folders of results: which files they have, and which of their records count."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mdbench.errors import RecordsError, UsageError
from mdbench.records.store import parse_records

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from mdbench.records.schema import Record


def results_files(folder: Path) -> list[Path]:
    """Return the results files of a folder, and of the folders in it.

    Parameters
    ----------
    folder
        A folder, or one results file.

    Raises
    ------
    UsageError
        If there is no such folder, or no results file in it.
    """
    if folder.is_file():
        return [folder]
    if not folder.is_dir():
        raise UsageError(
            f"There is no folder {folder}.", "Name the folder given to run as --result-dir."
        )
    files = [path for path in folder.rglob("*.jsonl") if path.is_file()]
    found = sorted(path for path in files if "logs" not in path.relative_to(folder).parts)
    if not found:
        raise UsageError(
            f"{folder} has no results file (*.jsonl).",
            "Results come from: mdbench run --result-dir DIR",
        )
    return found


def read_content(path: Path) -> bytes:
    """Return the bytes of a results file.

    Raises
    ------
    RecordsError
        If it cannot be read.
    """
    try:
        return path.read_bytes()
    except OSError as error:
        raise RecordsError(f"{path} cannot be read: {error.strerror}") from None


def read_folder(folder: Path) -> list[tuple[Path, Record]]:
    """Return all records of a folder with their files, without the candidates (``front``).

    Of records with one key in one file the newest counts.  A last line that is being written, or
    that was torn, is passed over.

    Raises
    ------
    UsageError
        As `results_files`.
    RecordsError
        If a file cannot be read, or if a line is no record or one of a newer schema.
    """
    newest: dict[tuple[Path, str], tuple[Path, Record]] = {}
    for path in results_files(folder):
        for record in parse_records(path, read_content(path)):
            newest[path, record.key] = path, record.model_copy(update={"front": None})
    return list(newest.values())


def read_latest(folder: Path) -> list[Record]:
    """Return the records of a folder that count; see `read_folder` and `latest_by_case`."""
    return latest_by_case(record for _, record in read_folder(folder))


def latest_by_case(records: Iterable[Record]) -> list[Record]:
    """Return the records that count: of several of one `Record.case` the newest.

    Jobs that were interrupted, or whose environment could not be made, count only where there
    is nothing else, as they say nothing about the method.
    """
    newest: dict[tuple[object, ...], Record] = {}
    for record in records:
        other = newest.get(record.case)
        if other is None or _age(record) >= _age(other):
            newest[record.case] = record
    return list(newest.values())


def _age(record: Record) -> tuple[bool, object]:
    return record.attempted, record.measured.started
