"""Jobs of a results file run again, and their records compared."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING, Any

from mdbench.errors import UsageError
from mdbench.records import RERUN_ALWAYS, comparable
from mdbench.runs.catalog import Inventory
from mdbench.runs.llm_connection import ModelAccess
from mdbench.runs.plan import Plan, select_names, slots
from mdbench.runs.spec import JobSpec

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from mdbench.records import Record
    from mdbench.workspace import Workspace

__all__ = ["RESULT", "differences", "plans_of"]

RESULT = frozenset(
    {
        "status",
        "equations",
        "hyperparameters",
        "metrics",
        "judged_by",
        "floor",
        "notes",
        "selection",
        "front",
        "llm",
        "truth",
        "targets",
    }
)
"""The keys of a record that say what came out; the others say of what, with what and where."""
_NOT_COMPARED = {"log", "exchanges"}
"""Paths below the results folder, which is another one."""


def plans_of(
    records: Iterable[Record],
    patterns: Sequence[str],
    workspace: Workspace,
    *,
    result_dir: Path,
    n_jobs: int | None,
    logs: Mapping[str, Path] | None = None,
) -> Iterator[tuple[str, Plan]]:
    """Plan the jobs that left these records once more, with results in another folder.

    Parameters
    ----------
    logs
        By the records' keys, the logs that answer jobs that have asked a language model.

    Yields
    ------
    tuple[str, Plan]
        The name of the runtime that isolated the jobs, and their plan.

    Records of jobs that were interrupted, or whose environment could not be made, are passed
    over: there is nothing to compare.

    Raises
    ------
    UsageError
        If no record is of such a dataset, or a method or data type does not exist here.
    """
    done = [record for record in records if record.status not in RERUN_ALWAYS]
    wanted = set(select_names(list(dict.fromkeys(r.dataset for r in done)), patterns))
    chosen = [record for record in done if record.dataset in wanted]
    if not chosen:
        raise UsageError("There is no record to reproduce.", "Give a results file of mdbench run.")
    inventory = Inventory(workspace)
    for runtime, group in groupby(sorted(chosen, key=_runtime), key=_runtime):
        records_ = list(group)
        jobs = tuple(map(JobSpec.of, records_))
        at_a_time = slots(n_jobs, max(job.threads for job in jobs))
        keys = [record.key for record in records_]
        replays = {job: logs[k] for job, k in zip(jobs, keys, strict=True) if logs and k in logs}
        model = ModelAccess(replays=replays)
        yield runtime, Plan(jobs, inventory, result_dir, at_a_time, model=model)


def differences(before: Record, after: Record) -> dict[str, tuple[Any, Any]]:
    """Give what differs between two records of a job, old and new, but for what was measured.

    The result is the same if no key of `RESULT` is among them.
    """
    old, new = comparable(before), comparable(after)
    return {
        name: (old[name], new[name])
        for name in old
        if name not in _NOT_COMPARED and old[name] != new[name]
    }


def _runtime(record: Record) -> str:
    return record.runtime.name
