"""Which jobs of a plan are to be run, and why: their keys compared with the records there are."""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import datetime
from sys import intern
from typing import TYPE_CHECKING, Any, Final, Self

from mdbench.errors import MdbenchError
from mdbench.records import RERUN_ALWAYS, RecordStore, Status
from mdbench.records.schema import check_schema
from mdbench.runs.plan import ResolvedJob, resolve_jobs
from mdbench.runs.repeats import SeedRepeats
from mdbench.runs.spec import JobSpec

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from mdbench.records import Record
    from mdbench.runs.plan import Plan
    from mdbench.runtimes.base import Runtime


@dataclass(frozen=True, slots=True)
class RecordSummary:
    """A record, as far as plans ask.

    Attributes
    ----------
    question
        That of its job, as `mdbench.runs.spec.JobSpec.question`.
    begun
        When the job began, as ISO 8601 has it.
    front, selection
        True where there is one, else None.
    ended
        Whether the endpoint of a language model ended the job.
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
    ended: bool
    timeout_s: float | None
    wall_s: float | None
    cpu_s: float | None
    peak_memory_mb: float | None
    log: str | None
    size: int

    @classmethod
    def of(cls, record: Record | dict[str, Any], size: int) -> Self:
        """Return the summary of a record (or of its line as read) whose line has so many bytes."""
        get: Callable[[Any, str], Any] = dict.__getitem__ if isinstance(record, dict) else getattr
        measured, parts = get(record, "measured"), get(record, "key_parts")
        begun = get(measured, "started")
        return cls(
            key=get(record, "key"),
            key_parts={intern(name): intern(value) for name, value in parts.items()},
            question=JobSpec.question_in(record),
            dataset=intern(get(record, "dataset")),
            dim=get(record, "dim"),
            status=Status(get(record, "status")),
            begun=begun if isinstance(begun, str) else begun.isoformat(),
            front=None if get(record, "front") is None else True,
            selection=None if get(record, "selection") is None else True,
            ended=ended_by_endpoint(record),
            timeout_s=get(get(record, "budget"), "timeout_s"),
            wall_s=get(measured, "wall_s"),
            cpu_s=get(measured, "cpu_s"),
            peak_memory_mb=get(measured, "peak_memory_mb"),
            log=get(record, "log"),
            size=size,
        )

    @property
    def started(self) -> datetime:
        """When the job began."""
        return datetime.fromisoformat(self.begun)


def read_summaries(files: Mapping[str, Path]) -> dict[str, list[RecordSummary]]:
    """Read the newest record of each key of every file, oldest first; none where there is no file.

    Raises
    ------
    RecordsError
        As `mdbench.records.RecordStore.read`.
    """
    return {name: list(_read_file(file)) for name, file in files.items()}


def _read_file(path: Path) -> list[RecordSummary]:
    found: dict[str, RecordSummary] = {}
    try:
        with path.open("rb") as file:
            for line in file:
                if not line.isspace():
                    data = json.loads(line)
                    check_schema(data)
                    one = RecordSummary.of(data, len(line))
                    found[one.key] = one
    except FileNotFoundError:
        return []
    except (
        *(OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError, MdbenchError),
    ):
        # A torn line, or worse: the store reports which.
        latest = RecordStore(path).latest().values()
        return [RecordSummary.of(record, len(record.to_line())) for record in latest]
    return list(found.values())


def ended_by_endpoint(record: Record | RecordSummary | dict[str, Any]) -> bool:
    """Whether the endpoint of a language model ended a job, which then goes on from its log."""
    if isinstance(record, RecordSummary):
        return record.ended
    if isinstance(record, dict):
        return bool((record["llm"] or {}).get("ended"))
    return record.llm is not None and bool(record.llm.ended)


def goes_on(record: Record | RecordSummary) -> bool:
    """Whether a job that is run again goes on from where it was: it meant nothing for its method.

    Else it begins at its start, since the user wants it.
    """
    return record.status in RERUN_ALWAYS or ended_by_endpoint(record)


def is_due(
    one: ResolvedJob, records: Mapping[str, Record] | Mapping[str, RecordSummary], plan: Plan
) -> bool:
    """Return whether a job is to be run, given the newest record of each key."""
    return bool(_reason(one, records, plan))


def explain(plan: Plan, runtime: Runtime) -> Iterator[tuple[JobSpec, str]]:
    """Return for each job why it will be run; an empty text or `REPEATED` where it will not be.

    Nothing is run or written but datasets that are made on first use.

    Raises
    ------
    DataError, MethodError, RecordsError
        If data, a method's folder or the results file cannot be used.
    """
    for one, reason in rerun_reasons(resolve_jobs(plan, runtime), read_summaries(plan.files), plan):
        yield one.job, reason


def rerun_reasons(
    ready: Iterable[ResolvedJob], past: Mapping[str, Sequence[RecordSummary]], plan: Plan
) -> Iterator[tuple[ResolvedJob, str]]:
    """Return for each job why it will be run; an empty text or `REPEATED` where it will not be.

    Parameters
    ----------
    past
        The newest record of each key of every results file, by the names of `Plan.files`.
    """
    by_key = {name: {record.key: record for record in each} for name, each in past.items()}
    nearest: dict[str, dict[object, RecordSummary]] = {}
    asked = [(one, _reason(one, by_key[one.job.results], plan)) for one in ready]
    repeats = SeedRepeats.among([one for one, reason in asked if reason], by_key, plan.rerun)
    repeated = {one.key for one in repeats.left()}
    for one, why in asked:
        name, reason = one.job.results, why
        if one.key in repeated:
            reason = REPEATED
        elif reason == _NO_RECORD:
            if name not in nearest:
                nearest[name] = _newest(past[name])
            near = nearest[name].get(one.job.question)
            if near is not None:
                reason = f"{_differences(one, near)}{SINCE}{near.started:%Y-%m-%d %H:%M} UTC"
        yield one, reason


REPEATED: Final = (
    "it takes the record of another seed, since neither its method nor its data depend on the seed"
)
"""Why a job that has no record is not run either; see `mdbench.runs.repeats`."""
SINCE: Final = " since its record of "
"""The text between a reason and the time of the record that it is about."""
_NO_RECORD = "it has no record"


def _reason(
    one: ResolvedJob, records: Mapping[str, Record] | Mapping[str, RecordSummary], plan: Plan
) -> str:
    record = records.get(one.key)
    if record is None:
        return _NO_RECORD
    if record.key_parts != one.parts:
        return "its record was edited: its key_parts are not those of its key"
    if record.status in RERUN_ALWAYS or ended_by_endpoint(record):
        return _why_always(record)
    if record.status in plan.rerun:
        return f"it ended as {record.status}, which --rerun asks for"
    if one.job.save_pareto and record.front is None and record.selection is not None:
        return "its record was made without --save-pareto"
    return ""


def _why_always(record: Record | RecordSummary) -> str:
    if record.status in RERUN_ALWAYS:
        return f"it ended as {record.status}, which is always run again"
    return "the endpoint of its language model ended it, and it goes on from its log"


def _newest(records: Iterable[RecordSummary]) -> dict[object, RecordSummary]:
    """Return the newest record of each question."""
    found: dict[object, RecordSummary] = {}
    for record in records:
        other = found.get(record.question)
        if record.status is not Status.INTERRUPTED and (
            other is None or record.started >= other.started
        ):
            found[record.question] = record
    return found


def _scorer(version: str) -> str:
    return "an older scorer" if version == "-" else f"scorer version {version[:12]}"


def _differences(one: ResolvedJob, record: RecordSummary) -> str:
    names = sorted(one.parts.keys() | record.key_parts.keys())
    changes = []
    for name in names:
        before, now = record.key_parts.get(name, "-"), one.parts.get(name, "-")
        if before != now and name == "scorer":
            changes.append(f"scored by {_scorer(before)}; now it is {now}")
        elif before != now:
            changes.append(f"{name} changed ({before[:12]} -> {now[:12]})")
    return ", ".join(changes)
