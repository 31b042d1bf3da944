"""Which jobs of a plan are to be run, and why."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from mdbench.errors import MOST_SHOWN, DataError
from mdbench.records import RERUN_ALWAYS, RecordStore, Status, key_of
from mdbench.runs.keys import key_parts, method_parts

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from mdbench.datatypes.base import Dataset
    from mdbench.records import Record
    from mdbench.runs.plan import Job, Plan
    from mdbench.runtimes.base import Runtime

__all__ = ["Ready", "explain", "is_due", "load_dataset", "make_ready"]


@dataclass(frozen=True)
class Ready:
    """A job whose data could be loaded, and so has a key."""

    job: Job
    parts: dict[str, str]

    @property
    def key(self) -> str:
        """The key of the record that the job leaves."""
        return key_of(self.parts)


def load_dataset(plan: Plan, job: Job) -> Dataset:
    """Make or read the job's dataset.

    Raises
    ------
    DataError
        If the data cannot be used.
    """
    dataset = plan.recall.get(
        (job.dataset, job.snr_db, job.seed, job.protocol),
        lambda: plan.source.load(
            job.dataset, snr_db=job.snr_db, seed=job.seed, protocol=job.protocol
        ),
    )
    if job.max_rows is None:
        return dataset
    return replace(dataset, max_rows=job.max_rows, row_seed=job.seed)


def make_ready(plan: Plan, runtime: Runtime) -> list[Ready]:
    """Load every dataset of a plan once, to know the keys of its jobs.

    Raises
    ------
    DataError, MethodError
        If data or a method's folder cannot be used.
    """
    shared = {name: method_parts(method, runtime) for name, method in plan.methods.items()}
    ready = []
    errors: dict[str, DataError] = {}
    for job in plan.jobs:
        try:
            dataset = load_dataset(plan, job)
        except DataError as error:
            errors.setdefault(error.message, error)
            continue
        parts = key_parts(job, plan.methods[job.algorithm], shared[job.algorithm], dataset)
        ready.append(Ready(job, parts))
    if errors:
        raise _all_of(list(errors.values()))
    return ready


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


def explain(plan: Plan, runtime: Runtime) -> Iterator[tuple[Job, str]]:
    """Say for each job why it will be run; an empty text where it will not be.

    Nothing is run or written but datasets that are made on first use.

    Raises
    ------
    DataError, MethodError, RecordsError
        If data, a method's folder or the results file cannot be used.
    """
    stored = {name: RecordStore(plan.result_file(name)).latest() for name in plan.methods}
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
    if record.status in RERUN_ALWAYS:
        return f"it ended as {record.status}, which is always run again"
    if record.status in plan.rerun:
        return f"it ended as {record.status}, which --rerun asks for"
    if one.job.save_pareto and record.front is None and record.selection is not None:
        return "its record was made without --save-pareto"
    return ""


def _nearest(one: Ready, records: Iterable[Record]) -> Record | None:
    """Give the newest record of the same question: dataset, noise, seed and protocol."""
    job = one.job
    same = [
        record
        for record in records
        if (record.dataset, record.snr_db, record.seed, record.protocol)
        == (job.dataset, job.snr_db, job.seed, job.protocol)
        and record.status is not Status.INTERRUPTED
    ]
    return max(same, key=lambda record: record.measured.started, default=None)


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
