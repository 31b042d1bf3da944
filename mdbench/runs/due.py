"""Which jobs of a plan are to be run, and why."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from mdbench.errors import MOST_SHOWN, DataError, UsageError
from mdbench.records import RERUN_ALWAYS, RecordStore, Status, key_of
from mdbench.runs.spec import JobSpec
from mdbench.settings import fingerprint

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from mdbench.datatypes.base import Dataset
    from mdbench.records import Record
    from mdbench.runs.inventory import Inventory
    from mdbench.runs.plan import Plan
    from mdbench.runtimes.base import Runtime

__all__ = ["Ready", "explain", "is_due", "isolated_parts", "make_ready", "ready", "scored_parts"]


@dataclass(frozen=True)
class Ready:
    """A job whose data could be loaded, and so has a key."""

    job: JobSpec
    parts: dict[str, str]

    @property
    def key(self) -> str:
        """The key of the record that the job leaves."""
        return key_of(self.parts)


def ready(job: JobSpec, inventory: Inventory, isolated: Mapping[str, str]) -> Ready:
    """Give what a job's key is made of: what differs says why it is run again.

    Parameters
    ----------
    isolated
        What `isolated_parts` says of the job's method.

    Raises
    ------
    DataError
        If the job's data cannot be used.
    """
    dataset = inventory.load(job)
    view = inventory.method(job.algorithm).spec.view
    parts = {**isolated, **job.key_parts(), "view": view}
    return Ready(job, parts | scored_parts(job, dataset, inventory))


def isolated_parts(algorithm: str, inventory: Inventory, runtime: Runtime) -> dict[str, str]:
    """Give the parts of a key that all jobs of a method share under a runtime.

    Raises
    ------
    MethodError
        If the method has no lock, or if its paths cannot be read.
    """
    method = inventory.method(algorithm)
    parts = {"adapter": method.fingerprint(), "environment": method.lock_sha256()}
    if paths := method.paths:
        parts["paths"] = fingerprint(paths)
    return parts | runtime.identity(method)


def scored_parts(job: JobSpec, dataset: Dataset, inventory: Inventory) -> dict[str, str]:
    """Give the parts of a key that say on what an answer is scored, and by what."""
    return {
        "dataset": dataset.fingerprint,
        "target_source": dataset.target_source,
        "scorer": inventory.scorer(job.data_type),
    }


def make_ready(plan: Plan, runtime: Runtime) -> list[Ready]:
    """Load every dataset of a plan once, to know the keys of its jobs.

    Raises
    ------
    DataError, MethodError
        If data or a method's folder cannot be used.
    """
    shared = {name: isolated_parts(name, plan.inventory, runtime) for name in plan.files}
    found = []
    errors: dict[str, DataError] = {}
    for job in plan.jobs:
        try:
            found.append(ready(job, plan.inventory, shared[job.algorithm]))
        except DataError as error:
            errors.setdefault(error.message, error)
    if errors:
        raise _all_of(list(errors.values()))
    return found


def _all_of(errors: list[DataError]) -> DataError:
    """Tell of all bad files at once, so that they can be mended in one go."""
    if len(errors) == 1:
        return errors[0]
    lines = "".join(f"\n  {error.message}" for error in errors[:MOST_SHOWN])
    return DataError(
        f"{len(errors)} datasets cannot be used:{lines}",
        "Mend them, or name the others with --dataset.",
    )


def is_due(one: Ready, records: Mapping[str, Record], plan: Plan) -> bool:
    """Tell whether a job is to be run, given the newest record of each key."""
    return bool(_reason(one, records, plan))


def explain(plan: Plan, runtime: Runtime) -> Iterator[tuple[JobSpec, str]]:
    """Say for each job why it will be run; an empty text where it will not be.

    Nothing is run or written but datasets that are made on first use.

    Raises
    ------
    DataError, MethodError, RecordsError
        If data, a method's folder or the results file cannot be used.
    """
    stored = {name: RecordStore(file).latest() for name, file in plan.files.items()}
    for one in make_ready(plan, runtime):
        records = stored[one.job.algorithm]
        reason = _reason(one, records, plan)
        if reason == _NO_RECORD and (nearest := _nearest(one, records.values())):
            reason = f"{_differences(one, nearest)} since its record of {_day(nearest)}"
        yield one.job, reason


_NO_RECORD = "it has no record"


def _reason(one: Ready, records: Mapping[str, Record], plan: Plan) -> str:
    record = records.get(one.key)
    if record is None:
        return _NO_RECORD
    if record.key_parts != one.parts:
        return "its record was edited: its key_parts are not those of its key"
    if record.status in RERUN_ALWAYS:
        return f"it ended as {record.status}, which is always run again"
    if record.status in plan.rerun:
        return f"it ended as {record.status}, which --rerun asks for"
    if one.job.save_pareto and record.front is None and record.selection is not None:
        return "its record was made without --save-pareto"
    return ""


def _nearest(one: Ready, records: Iterable[Record]) -> Record | None:
    """Give the newest record of the same question."""
    same = [
        record
        for record in records
        if record.status is not Status.INTERRUPTED and _question(record) == one.job.question
    ]
    return max(same, key=lambda record: record.measured.started, default=None)


def _question(record: Record) -> tuple[object, ...] | None:
    try:
        return JobSpec.of(record).question
    except UsageError:
        return None


def _differences(one: Ready, record: Record) -> str:
    names = sorted(one.parts.keys() | record.key_parts.keys())
    changes = []
    for name in names:
        before, now = record.key_parts.get(name, "-"), one.parts.get(name, "-")
        if before != now:
            changes.append(f"{name} changed ({before[:12]} -> {now[:12]})")
    return ", ".join(changes)


def _day(record: Record) -> str:
    return f"{record.measured.started:%Y-%m-%d %H:%M} UTC"
