"""Jobs of a results file run again, and their records compared."""

from __future__ import annotations

from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mdbench import datatypes, methods
from mdbench.datatypes.base import Protocol
from mdbench.errors import UsageError
from mdbench.records import RERUN_ALWAYS, comparable
from mdbench.runs.plan import Job, Plan, select_names, slots
from mdbench.runtimes.base import OUTPUT_MB, PROCESSES

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from mdbench.records import Record
    from mdbench.workspace import Workspace

__all__ = ["RESULT", "differences", "plans_of"]

RESULT = frozenset(
    {
        "status",
        "equations",
        "hyperparameters",
        "metrics",
        "complexity",
        "selection",
        "agreement",
        "front",
        "truth",
        "targets",
    }
)
"""The keys of a record that say what came out; the others say of what, with what and where."""
_NOT_COMPARED = {"log", "fidelity"}
"""The log is a path below the results folder, which is another one.  Fidelity follows from the
equations and the truth, but for steps that a slower machine may have no time for."""


def plans_of(
    records: Iterable[Record],
    patterns: Sequence[str],
    workspace: Workspace,
    *,
    result_dir: Path,
    n_jobs: int | None,
) -> Iterator[tuple[str, Plan]]:
    """Plan the jobs that left these records once more, with results in another folder.

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
    for source, group in groupby(sorted(chosen, key=_source), key=_source):
        runtime, data_type, path, variant = source
        jobs = tuple(_job(record) for record in group)
        place = Path(path) if path else None
        names = dict.fromkeys(job.algorithm for job in jobs)
        kind = datatypes.find(
            data_type, workspace.datasets / data_type, workspace.arrays / data_type
        )
        kind.use_variant(variant or None)
        yield (
            runtime,
            Plan(
                jobs=jobs,
                methods={name: methods.find(name, workspace.algorithms) for name in names},
                data_type=kind,
                source=kind.source(place),
                dataset_path=place,
                result_dir=result_dir,
                n_jobs=slots(n_jobs, max(job.threads for job in jobs)),
                rerun=frozenset(),
            ),
        )


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


def _source(record: Record) -> tuple[str, str, str, str]:
    return (
        record.runtime.name,
        record.data_type,
        record.dataset_path or "",
        record.key_parts.get("variant", ""),
    )


def _job(record: Record) -> Job:
    if record.budget.timeout_s is None:
        raise UsageError(f"The record of {record.dataset} has no time limit.")
    return Job(
        algorithm=record.algorithm,
        data_type=record.data_type,
        dataset=record.dataset,
        snr_db=record.snr_db,
        seed=record.seed,
        protocol=Protocol(record.protocol),
        timeout_s=record.budget.timeout_s,
        threads=record.budget.threads,
        memory_mb=record.budget.memory_mb,
        processes=record.budget.processes or PROCESSES,
        output_mb=record.budget.output_mb or OUTPUT_MB,
        save_pareto=record.front is not None,
        variant=record.key_parts.get("variant"),
        max_rows=int(rows) if (rows := record.key_parts.get("max_rows")) else None,
    )
