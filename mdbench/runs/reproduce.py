"""Jobs of a results file run again, and their records compared (docs/reproducibility.md)."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum
from itertools import groupby
from typing import TYPE_CHECKING, Any

from mdbench.errors import EquationError, UsageError
from mdbench.expressions.fidelity.compare import compare
from mdbench.expressions.tree import ALIASES, CONSTANTS, FUNCTIONS
from mdbench.records import comparable
from mdbench.runs.catalog import Catalog
from mdbench.runs.llm import LlmConnection
from mdbench.runs.plan import Plan, jobs_at_a_time, select_names
from mdbench.runs.spec import JobSpec

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from mdbench.records import Record
    from mdbench.workspace import Workspace

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
    done = [record for record in records if record.attempted]
    wanted = set(select_names(list(dict.fromkeys(r.dataset for r in done)), patterns))
    chosen = [record for record in done if record.dataset in wanted]
    if not chosen:
        raise UsageError("There is no record to reproduce.", "Give a results file of mdbench run.")
    catalog = Catalog(workspace)
    for runtime, group in groupby(sorted(chosen, key=_runtime), key=_runtime):
        records_ = list(group)
        jobs = tuple(map(JobSpec.of, records_))
        at_a_time = jobs_at_a_time(n_jobs, max(job.threads for job in jobs))
        keys = [record.key for record in records_]
        replays = {job: logs[k] for job, k in zip(jobs, keys, strict=True) if logs and k in logs}
        model = LlmConnection(replays=replays)
        yield runtime, Plan(jobs, catalog, result_dir, at_a_time, model=model)


def differences(before: Record, after: Record) -> dict[str, tuple[Any, Any]]:
    """Return what differs between two records of a job, old and new, but for what was measured.

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


TOLERANCE = 1e-6
"""How far coefficients may be apart, relatively, where kernels differ and the data are equal."""
TOLERANCE_OF_DATA = 1e-3
"""The same where the data were made by other kernels, too: trajectories of chaotic systems drift
apart, and with them what is fitted.  docs/reproducibility.md has what was measured: both are well
above it, but for the three systems that drift the farthest."""

_NAME = re.compile(r"[A-Za-z_]\w*")
_NO_VARIABLES = frozenset({*FUNCTIONS, *ALIASES, *CONSTANTS})


class Agreement(StrEnum):
    """What two results are to each other."""

    SAME = "the same result"
    """To the bit."""
    NEARLY = "the same result but for rounding"
    """Kernels differ; the terms are the same, and coefficients agree within the tolerance."""
    CHAOTIC = "another result of a chaotic search"
    """Kernels differ, and the method is one whose whole answer hangs on the last digits."""
    OTHER = "another result"


@dataclass(frozen=True)
class RecordComparison:
    """The comparison of two records of one job.

    Attributes
    ----------
    sameness
        What their results are to each other.
    data
        Whether both were made from the same data, to the bit.
    difference
        The largest relative difference of two coefficients, where the terms are the same.
    kernels
        With which kernel each was made, older first, where they differ; else None.
    """

    sameness: Agreement
    data: bool
    difference: float | None = None
    kernels: tuple[str, str] | None = None


def compare_records(before: Record, after: Record, *, chaotic: bool) -> RecordComparison:
    """Compare two records of one job.

    Parameters
    ----------
    before, after
        The records.
    chaotic
        Whether a difference in the last digit may change all that the method does.
    """
    kernels = None if _kernel(before) == _kernel(after) else (_name(before), _name(after))
    data = before.key_parts.get("dataset") == after.key_parts.get("dataset")
    old, new = (
        {name: value for name, value in comparable(record).items() if name in RESULT}
        for record in (before, after)
    )
    if old == new:
        return RecordComparison(Agreement.SAME, data, 0.0, kernels)
    if kernels is None:
        return RecordComparison(Agreement.OTHER, data)
    difference = None
    if (before.status, before.truth, before.targets) == (after.status, after.truth, after.targets):
        difference = largest_difference(before.equations, after.equations)
    if difference is not None and difference <= (TOLERANCE if data else TOLERANCE_OF_DATA):
        return RecordComparison(Agreement.NEARLY, data, difference, kernels)
    return RecordComparison(
        Agreement.CHAOTIC if chaotic else Agreement.OTHER, data, difference, kernels
    )


def largest_difference(one: tuple[str, ...] | None, other: tuple[str, ...] | None) -> float | None:
    """Return the largest relative difference of a coefficient; None where the terms differ.

    Examples
    --------
    >>> largest_difference(("2*u0 + u1", "-u0"), ("u1 + 2.5*u0", "-u0"))
    0.25
    >>> largest_difference(("2*u0",), ("2*u0 + u1",)) is None
    True
    """
    if one is None or other is None or len(one) != len(other):
        return None
    names = sorted(set(_NAME.findall(" ".join([*one, *other]))) - _NO_VARIABLES)
    try:
        found = compare(one, other, names)
    except EquationError:
        return None
    whole = found.precision == found.recall == 1.0 and found.edit_distance is not None
    return (found.coefficient_error or 0.0) if whole else None


def _kernel(record: Record) -> tuple[object, ...]:
    measured = record.measured
    if measured.blas_kernel is None:
        # Nobody knows; on the same processor it most likely was the same.
        return (record.provenance.machine.cpu,)
    return measured.blas_kernel, measured.blas_threads


def _name(record: Record) -> str:
    measured = record.measured
    if measured.blas_kernel is None:
        return f"an unknown kernel on {record.provenance.machine.cpu}"
    plural = "" if measured.blas_threads == 1 else "s"
    return f"{measured.blas_kernel}, {measured.blas_threads} thread{plural}"
