"""Which jobs of a plan are to be run, and why."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Final

from mdbench.errors import MOST_SHOWN, DataError
from mdbench.language_models.views import described
from mdbench.records import RERUN_ALWAYS, Status, key_of
from mdbench.runs.past import read_past
from mdbench.runs.spec import JobSpec
from mdbench.settings import fingerprint

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from mdbench.datatypes.base import Dataset
    from mdbench.records import Record
    from mdbench.runs.catalog import Inventory
    from mdbench.runs.fingerprints import Facts
    from mdbench.runs.past import Past
    from mdbench.runs.plan import Plan
    from mdbench.runs.spec import JobSpec
    from mdbench.runtimes.base import Runtime

__all__ = [
    "SINCE",
    "Ready",
    "explain",
    "is_due",
    "isolated_parts",
    "make_ready",
    "ready",
    "reasons",
    "scored_parts",
    "told_parts",
]


@dataclass(frozen=True)
class Ready:
    """A job whose data could be loaded, and so has a key.

    Attributes
    ----------
    dim
        The number of equations.
    """

    job: JobSpec
    parts: dict[str, str]
    dim: int | None = None

    @cached_property
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
    facts = inventory.facts(job)
    view = inventory.method(job.algorithm).spec.view
    parts = {**isolated, **job.key_parts(), "view": view, **told_parts(job, facts, inventory)}
    return Ready(job, parts | scored_parts(job, facts, inventory), facts.dim)


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


def scored_parts(job: JobSpec, dataset: Dataset | Facts, inventory: Inventory) -> dict[str, str]:
    """Give the parts of a key that say on what an answer is scored, and by what."""
    return {
        "dataset": dataset.fingerprint,
        "target_source": dataset.target_source,
        "scorer": inventory.scorer(job.data_type),
    }


def told_parts(job: JobSpec, facts: Facts, inventory: Inventory) -> dict[str, str]:
    """Give the parts of a key that say what a method is told beyond the data."""
    spec = inventory.method(job.algorithm).spec
    parts = {"told": facts.units} if spec.asks_for_units and facts.units else {}
    if spec.access.llm:
        background = inventory.source(job.data_type, job.dataset_path).background(job.dataset)
        parts["described"] = described(job.prompt, background)
    return parts


def make_ready(plan: Plan, runtime: Runtime) -> list[Ready]:
    """Give the jobs of a plan their keys; every dataset that nobody remembers is made.

    Raises
    ------
    DataError, MethodError
        If data or a method's folder cannot be used.
    """
    methods = dict.fromkeys(job.algorithm for job in plan.jobs)
    shared = {name: isolated_parts(name, plan.inventory, runtime) for name in methods}
    found = []
    errors: dict[str, DataError] = {}
    for job in plan.jobs:
        try:
            found.append(ready(job, plan.inventory, shared[job.algorithm]))
        except DataError as error:
            errors.setdefault(error.message, error)
    plan.inventory.save()
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


def is_due(one: Ready, records: Mapping[str, Record] | Mapping[str, Past], plan: Plan) -> bool:
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
    for one, reason in reasons(make_ready(plan, runtime), read_past(plan.files), plan):
        yield one.job, reason


def reasons(
    ready: Iterable[Ready], past: Mapping[str, Sequence[Past]], plan: Plan
) -> Iterator[tuple[Ready, str]]:
    """Say for each job why it will be run; an empty text where it will not be.

    Parameters
    ----------
    past
        The newest record of each key of every results file, by the names of `Plan.files`.
    """
    by_key = {name: {record.key: record for record in each} for name, each in past.items()}
    nearest: dict[str, dict[object, Past]] = {}
    for one in ready:
        name = one.job.results
        reason = _reason(one, by_key[name], plan)
        if reason == _NO_RECORD:
            if name not in nearest:
                nearest[name] = _newest(past[name])
            near = nearest[name].get(one.job.question)
            if near is not None:
                reason = f"{_differences(one, near)}{SINCE}{near.started:%Y-%m-%d %H:%M} UTC"
        yield one, reason


SINCE: Final = " since its record of "
"""What stands between a reason and the time of the record that it speaks of."""
_NO_RECORD = "it has no record"


def _reason(one: Ready, records: Mapping[str, Record] | Mapping[str, Past], plan: Plan) -> str:
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


def _newest(records: Iterable[Past]) -> dict[object, Past]:
    """Give the newest record of each question."""
    found: dict[object, Past] = {}
    for record in records:
        other = found.get(record.question)
        if record.status is not Status.INTERRUPTED and (
            other is None or record.started >= other.started
        ):
            found[record.question] = record
    return found


def _scorer(version: str) -> str:
    return "an older scorer" if version == "-" else f"scorer version {version[:12]}"


def _differences(one: Ready, record: Past) -> str:
    names = sorted(one.parts.keys() | record.key_parts.keys())
    changes = []
    for name in names:
        before, now = record.key_parts.get(name, "-"), one.parts.get(name, "-")
        if before != now and name == "scorer":
            changes.append(f"scored by {_scorer(before)}; now it is {now}")
        elif before != now:
            changes.append(f"{name} changed ({before[:12]} -> {now[:12]})")
    return ", ".join(changes)
