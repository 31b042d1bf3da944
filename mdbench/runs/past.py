"""What plans need of records: so little of each that there may be many of them."""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import datetime
from sys import intern
from typing import TYPE_CHECKING, Any, Self

from mdbench.errors import MdbenchError
from mdbench.records import SCHEMA, RecordStore, Status, upgrade
from mdbench.runs.spec import JobSpec

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from mdbench.records import Record

__all__ = ["Past", "read_past"]


@dataclass(frozen=True, slots=True)
class Past:
    """A record, as far as plans ask.

    Attributes
    ----------
    question
        That of its job, as `mdbench.runs.spec.JobSpec.question`.
    begun
        When the job began, as ISO 8601 has it.
    front, selection
        True where there is one, else None.
    timeout_s, threads
        What the job might use.
    wall_s, cpu_s, peak_memory_mb
        What it took; None where nobody measured it.
    size
        Bytes of its line.
    """

    key: str
    key_parts: Mapping[str, str]
    question: tuple[Any, ...]
    dataset: str
    dim: int | None
    status: Status
    begun: str
    front: bool | None
    selection: bool | None
    timeout_s: float | None
    wall_s: float | None
    cpu_s: float | None
    peak_memory_mb: float | None
    log: str | None
    size: int

    @classmethod
    def of(cls, record: Record, size: int) -> Self:
        """Take what plans need from a record whose line has so many bytes."""
        measured = record.measured
        return cls(
            key=record.key,
            key_parts={intern(name): intern(value) for name, value in record.key_parts.items()},
            question=JobSpec.question_in(record),
            dataset=intern(record.dataset),
            dim=record.dim,
            status=record.status,
            begun=measured.started.isoformat(),
            front=None if record.front is None else True,
            selection=None if record.selection is None else True,
            timeout_s=record.budget.timeout_s,
            wall_s=measured.wall_s,
            cpu_s=measured.cpu_s,
            peak_memory_mb=measured.peak_memory_mb,
            log=record.log,
            size=size,
        )

    @property
    def started(self) -> datetime:
        """When the job began."""
        return datetime.fromisoformat(self.begun)


def read_past(files: Mapping[str, Path]) -> dict[str, list[Past]]:
    """Read the newest record of each key of every file, oldest first; none where there is no file.

    Raises
    ------
    RecordsError
        As `mdbench.records.RecordStore.read`.
    """
    return {name: list(_read(file)) for name, file in files.items()}


def _read(path: Path) -> list[Past]:
    found: dict[str, Past] = {}
    try:
        with path.open("rb") as file:
            for line in file:
                if not line.isspace():
                    one = _past(json.loads(line), len(line))
                    found[one.key] = one
    except FileNotFoundError:
        return []
    except (OSError, ValueError, KeyError, TypeError, AttributeError, MdbenchError):
        # A torn line, or worse: the store knows which, and says it.
        lines = (record.to_line() for record in RecordStore(path).latest().values())
        return [_past(json.loads(line), len(line)) for line in lines]
    return list(found.values())


def _past(data: dict[str, Any], size: int) -> Past:
    if data.get("schema") != SCHEMA:
        data = upgrade(data)
    measured = data["measured"]
    return Past(
        key=data["key"],
        key_parts={intern(name): intern(value) for name, value in data["key_parts"].items()},
        question=JobSpec.question_in(data),
        dataset=intern(data["dataset"]),
        dim=data["dim"],
        status=Status(data["status"]),
        begun=measured["started"],
        front=None if data["front"] is None else True,
        selection=None if data["selection"] is None else True,
        timeout_s=data["budget"]["timeout_s"],
        wall_s=measured["wall_s"],
        cpu_s=measured["cpu_s"],
        peak_memory_mb=measured["peak_memory_mb"],
        log=data["log"],
        size=size,
    )
