"""Bundles of records in ``docs/results``: packed results files, from which all tables are made.

The bundle of a run is ``NAME.jsonl.xz``; a large one goes on in ``NAME.2.jsonl.xz`` and so on.
Records are in the order in which their jobs began, so that full parts stay as they are when more
are added.
"""

from __future__ import annotations

from functools import lru_cache
from itertools import count
from typing import TYPE_CHECKING, Final

from mdbench.records import PACKED, RecordStore, pack, read_folder
from mdbench.reports.classes import latest

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from mdbench.records import Record

PART: Final = 2000
"""Records in a part of a bundle."""


def parts_of(folder: Path, name: str) -> Iterator[Path]:
    """Yield the files of a bundle, in order; none where there is no bundle."""
    for number in count(1):
        file = folder / (f"{name}{PACKED}" if number == 1 else f"{name}.{number}{PACKED}")
        if not file.is_file():
            return
        yield file


def read_bundle(folder: Path, name: str) -> list[Record]:
    """Return the records of a bundle.

    Raises
    ------
    RecordsError
        If a part is damaged.
    """
    states = ((file, file.stat()) for file in parts_of(folder, name))
    return [one for file, state in states for one in _read_part(file, state.st_mtime_ns)]


@lru_cache(maxsize=64)  # several pages are of one bundle, and there are 39 parts
def _read_part(file: Path, changed_ns: int) -> tuple[Record, ...]:  # noqa: ARG001
    return tuple(record for _, record in read_folder(file))


def write_bundle(folder: Path, name: str, records: Iterable[Record]) -> list[Record]:
    """Write the records that count as a bundle, and return them.

    Of several records of one question in one class the newest counts, and of one job that was
    scored twice the last one given.  Else the same records give the same bytes, in whatever order
    they come.
    """
    ordered = sorted(records, key=lambda one: one.measured.started)
    kept = sorted(latest(ordered), key=lambda one: (one.measured.started, one.key))
    old = list(parts_of(folder, name))
    for number, start in enumerate(range(0, len(kept), PART), start=1):
        file = folder / (f"{name}{PACKED}" if number == 1 else f"{name}.{number}{PACKED}")
        pack(file, kept[start : start + PART])
        if file in old:
            old.remove(file)
    for file in old:
        file.unlink()
    return kept


def restore(folder: Path, name: str, result_dir: Path) -> int:
    """Add the records of a bundle whose jobs a results folder lacks; return how many these are.

    A job that was scored again there has another key, and is not lacking.

    Raises
    ------
    RecordsError
        If a run is writing there.
    """
    by_file: dict[str, list[Record]] = {}
    for record in read_bundle(folder, name):
        by_file.setdefault(f"{record.algorithm}-{record.data_type}.jsonl", []).append(record)
    added = 0
    for file, records in by_file.items():
        store = RecordStore(result_dir / file)
        there = {(one.case, one.measured.started) for one in store.read()}
        with store.open_for_writing() as writer:
            lacking = [one for one in records if (one.case, one.measured.started) not in there]
            writer.append_lines([(one.key, one.to_line().encode() + b"\n") for one in lacking])
        added += len(lacking)
    return added
