"""Old records' jobs run again and compared, or their answers scored again.

See docs/reproducibility.md.
"""

from __future__ import annotations

import math
import re
import warnings
from dataclasses import dataclass
from enum import StrEnum
from functools import cache, cached_property
from itertools import chain, groupby, islice
from typing import TYPE_CHECKING, Any

from joblib import Parallel, delayed, parallel_config

from eqverdict.fidelity.limited import score_terms
from eqverdict.tree import ALIASES, CONSTANTS, FUNCTIONS
from mdbench.data.columns import OwnNames
from mdbench.datatypes.base import Answer
from mdbench.datatypes.facts import Protocol
from mdbench.errors import EquationError, MdbenchError, UsageError
from mdbench.metrics.spec import PRINTED
from mdbench.records import ANSWERED, Status, comparable, key_of
from mdbench.records.files import attached, unpack_answers
from mdbench.runs.catalog import Catalog
from mdbench.runs.plan import Plan, jobs_at_a_time, scorer_key, select_names
from mdbench.runs.record import (
    core_versions,
    dataset_fields,
    in_own_names,
    score_fields,
    this_machine,
)
from mdbench.runs.scoring import JobResult, ScoredResult, score_at_budget, score_result
from mdbench.runs.services import services
from mdbench.runs.spec import JobSpec

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from mdbench.datatypes.base import Dataset, DataType, Task
    from mdbench.records import Record, SmallerBudget
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
"""The keys of a record's result; the others describe the job, its conditions and its machine."""
_NOT_COMPARED = {"log", "exchanges", "answers", "alternatives"}
"""Paths below the results folder, which is another one, and what is not scored."""


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
        By the records' keys, the files that answer jobs that have asked a service.

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
        reached = {name: service.replay(replays) for name, service in services().items()}
        yield runtime, Plan(jobs, catalog, result_dir, at_a_time, connections=reached)


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
"""Largest relative difference of coefficients where kernels differ and the data are equal."""
TOLERANCE_OF_DATA = 1e-3
"""The same where the data were made by other kernels, too: trajectories of chaotic systems drift
apart, and with them what is fitted.  docs/reproducibility.md has what was measured: both are well
above it, but for the three systems that drift the farthest."""

_NAME = re.compile(r"[A-Za-z_]\w*")
_NO_VARIABLES = frozenset({*FUNCTIONS, *ALIASES, *CONSTANTS})


class Agreement(StrEnum):
    """Degree of agreement of two results."""

    SAME = "the same result"
    """The result is the same in every bit."""
    NEARLY = "the same result but for rounding"
    """Kernels differ; the terms are the same, and coefficients agree within the tolerance."""
    CHAOTIC = "another result of a chaotic search"
    """Kernels differ, and the method is one whose whole answer depends on the last digits."""
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


def largest_difference(
    before: tuple[str, ...] | None, after: tuple[str, ...] | None
) -> float | None:
    """Return the largest relative difference of a coefficient; None where the terms differ.

    Examples
    --------
    >>> largest_difference(("2*u0 + u1", "-u0"), ("u1 + 2.5*u0", "-u0"))
    0.25
    >>> largest_difference(("2*u0",), ("2*u0 + u1",)) is None
    True
    """
    if before is None or after is None or len(before) != len(after):
        return None
    names = sorted(set(_NAME.findall(" ".join([*before, *after]))) - _NO_VARIABLES)
    try:
        comparison = score_terms(before, after, names)
    except EquationError:
        return None
    whole = (
        comparison.precision == comparison.recall == 1.0 and comparison.edit_distance is not None
    )
    return (comparison.coefficient_error or 0.0) if whole else None


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


_ROUNDING = 1e-9
_OTHER_PROCESSOR = 1e-6
"""The relative difference that a score may have on data that another processor made."""
_NEARLY_EXACT = 1e-12
"""Scores below this are rounding errors."""
_ROUND_OFF = 1e-20
"""Scores below this follow no rule: another order of the same sums gives others."""
_OTHER_DATA = "its dataset is not the same any more"
_PIECE = 16
"""Records that a process is given at a time."""
_A_PROCESS = 100
"""Records for which a process more is started, which takes some two seconds."""
_OLD_SCORER = "scoring"
"""Schema 2 had a number in the key for what is now the scorer's identity."""


@dataclass(frozen=True)
class RescoredRecord:
    """A record before and after.

    Attributes
    ----------
    after
        The same as `before` where its answer does not suffice.
    left
        Why it does not; empty where it does.
    """

    before: Record
    after: Record
    left: str = ""

    @cached_property
    def changes(self) -> dict[str, tuple[Any, Any]]:
        """Differences, old and new: the status, the floor, and metrics by name.

        Numbers that differ by what rounding makes of them are the same.
        """
        old, new = _scores(self.before), _scores(self.after)
        pairs = {name: (old.get(name), new.get(name)) for name in [*old, *new]}
        return {name: pair for name, pair in pairs.items() if not _same(*pair)}


class LastMade:
    """The dataset of the record that was scored last, and its task, however large they are."""

    def __init__(self) -> None:
        self._data: Hashable = None
        self._dataset: Dataset | None = None
        self._cut: Hashable = None
        self._task: Task[Any] | None = None

    def dataset(self, data: Hashable, make: Callable[[], Dataset]) -> Dataset:
        """Return the dataset that was asked for, making it where it is not the last one."""
        if self._dataset is None or data != self._data:
            self._dataset = self._task = None  # so that there are never two
            self._dataset, self._data = make(), data
        return self._dataset

    def task(self, cut: Hashable, make: Callable[[], Task[Any]]) -> Task[Any]:
        """Return the task that was asked for of this dataset, making it where it is another one."""
        if self._task is None or cut != self._cut:
            self._task = None
            self._task, self._cut = make(), cut
        return self._task


def rescored(
    record: Record,
    catalog: Catalog,
    folders: Sequence[Path] = (),
    *,
    reuse: bool = False,
    last: LastMade | None = None,
) -> RescoredRecord:
    """Score a record's answer by the scorer of today; where it does not suffice, return why.

    A job without an answer keeps its status, and gets the names of an answer's metrics.

    Parameters
    ----------
    folders
        Where the files are that records name: answers that are no equations are kept in some.
    reuse
        Whether the record is believed where its scorer computed a metric as that of today does
        (`DataType.metrics_since`).
    last
        What was made for the record before, and is taken for this one where it is the same.
    """
    try:
        after = _rescored(record, catalog, folders, reuse, last or LastMade())
    except _LeftError as left:
        return RescoredRecord(record, record, str(left))
    except MdbenchError as error:
        return RescoredRecord(record, record, error.message)
    return RescoredRecord(record, after)


def rescore_all(
    records: Sequence[Record],
    workspace: Workspace,
    n_jobs: int | None,
    folders: Sequence[Path] = (),
    *,
    reuse: bool = False,
) -> Iterator[RescoredRecord]:
    """Judge the answers of many records, in their order, in processes of their own.

    Parameters
    ----------
    records
        Neighbours of one dataset are scored by one process, which makes the data once.
    workspace
        Where the datasets are.
    n_jobs
        Processes; 1 for this one, None for as many as are worth the time of their start.
    folders, reuse
        As for `rescored`.
    """
    if n_jobs is None:
        n_jobs = max(1, min(jobs_at_a_time(None, 1), len(records) // _A_PROCESS))
    if n_jobs == 1:
        catalog = Catalog(workspace)
        last = LastMade()
        return (rescored(one, catalog, folders, reuse=reuse, last=last) for one in records)
    left = iter(records)
    pieces = iter(lambda: tuple(islice(left, _PIECE)), ())
    # joblib starts a process again that has grown: nothing that a reader could do about.
    warnings.filterwarnings("ignore", "A worker stopped while some jobs", UserWarning)
    # Each score is of one thread, as where the records were made.
    with parallel_config("loky", inner_max_num_threads=1):
        pool = Parallel(n_jobs=n_jobs, return_as="generator", pre_dispatch="2*n_jobs")
    done = pool(delayed(_piece_rescored)(piece, workspace, folders, reuse) for piece in pieces)
    return chain.from_iterable(done)


def _piece_rescored(
    records: tuple[Record, ...], workspace: Workspace, folders: Sequence[Path], reuse: bool
) -> list[RescoredRecord]:
    catalog, last = _of_process(workspace)
    return [rescored(record, catalog, folders, reuse=reuse, last=last) for record in records]


@cache
def _of_process(workspace: Workspace) -> tuple[Catalog, LastMade]:
    """Return what a process keeps from one piece of the records to the next."""
    return Catalog(workspace), LastMade()


class _LeftError(Exception):
    """A record's answer does not suffice for new scores."""


def _rescored(
    record: Record, catalog: Catalog, folders: Sequence[Path], reuse: bool, last: LastMade
) -> Record:
    answered = record.answered
    labels = attached(folders, record.answers)
    if record.protocol != Protocol.STRICT:
        raise _LeftError(f"under {record.protocol} predictions are scored, which no record holds")
    if answered and record.equations is None and labels is None:
        raise _LeftError("its answer is no equations, and the record does not hold it")
    if record.status is Status.INVALID_OUTPUT:
        raise _LeftError("its answer was refused, and the record does not hold it")
    job = JobSpec.of(record)
    data = job.data_type, job.dataset_path, job.data
    dataset = last.dataset(data, lambda: catalog.load(job))
    same_data = dataset.fingerprint == record.key_parts.get("dataset")
    if not same_data and record.provenance.machine.cpu == this_machine().cpu:
        raise _LeftError(_OTHER_DATA)
    data_type = catalog.data_type(job.data_type)
    task = last.task(
        (record.view, job.protocol),
        lambda: data_type.task(dataset, record.view, job.protocol),
    )
    if _only_predicts(record, catalog):
        task = data_type.predicted(task)
    parts = {name: part for name, part in record.key_parts.items() if name != _OLD_SCORER}
    parts |= scorer_key(data_type, dataset) | {"dataset": record.key_parts.get("dataset", "")}
    known = {"scorer": parts["scorer"], "core": record.provenance.core | core_versions()}
    changes = dataset_fields(task) | score_fields(
        data_type, task, _score_again(record, data_type, task, labels, reuse)
    )
    changes["notes"] = {n: t for n, t in record.notes.items() if n == PRINTED} | changes["notes"]
    if not (same_data or _same_but_for_rounding(record, changes, data_type.metrics[0].name)):
        raise _LeftError(_OTHER_DATA)
    changes |= {
        "key": key_of(parts),
        "key_parts": parts,
        "system": job.system(data_type.options),
        "part": job.part(data_type.options),
        "provenance": record.provenance.model_copy(update=known),
    }
    if answered and changes["status"] not in ANSWERED:
        changes["selection"] = None
    if record.measured.smaller_budgets:
        smaller = _smaller_budgets(record, data_type, task)
        changes["measured"] = record.measured.model_copy(update={"smaller_budgets": smaller})
    return type(record).model_validate(record.model_dump(by_alias=True) | changes)


def _smaller_budgets(
    record: Record, data_type: DataType[Any, Any], task: Task[Any]
) -> tuple[SmallerBudget, ...]:
    """Score what was chosen after less work again."""
    names = OwnNames(task.dataset.names)
    return tuple(
        before
        if before.equations is None
        else in_own_names(
            score_at_budget(data_type, task, names.all_internal(before.equations), before.work_s),
            names,
        )
        for before in record.measured.smaller_budgets
    )


def _same_but_for_rounding(record: Record, changes: Mapping[str, Any], primary: str) -> bool:
    """Return whether a record's own primary score comes out on the data that are made here.

    Another processor rounds otherwise, so its data have another hash, which the record keeps: it is
    what the method was given.  A job without an answer has no score that depends on the data.
    """
    if not record.answered:
        return True
    old, new = record.metrics.get(primary), changes["metrics"].get(primary)
    if isinstance(old, float) and isinstance(new, float):
        return math.isclose(old, new, rel_tol=_OTHER_PROCESSOR, abs_tol=_NEARLY_EXACT)
    return bool(old == new)


def _only_predicts(record: Record, catalog: Catalog) -> bool:
    """Return whether a record is of a method without equations, which may not be here any more."""
    try:
        return not catalog.method(record.algorithm).spec.equations
    except MdbenchError:
        known = {*catalog.data_type(record.data_type).of_predictions}
        judged = {*record.judged_by}
        return record.answered and record.equations is None and bool(judged) and judged <= known


def _score_again(
    record: Record,
    data_type: DataType[Any, Any],
    task: Task[Any],
    labels: Path | None,
    reuse: bool,
) -> ScoredResult:
    raw = None
    if labels is not None:
        raw = data_type.answer_of(task, unpack_answers(labels))
    elif record.equations is not None:
        texts = OwnNames(task.dataset.names).all_internal(record.equations)
        since = data_type.metrics_since
        version = record.key_parts.get("scorer", "0")
        scorer = int(version) if reuse and version.isdecimal() else 0
        recorded = {n: v for n, v in record.metrics.items() if scorer >= since.get(n, 0)}
        raw = Answer(texts, recorded=recorded)
    outcome = JobResult(record.status, record.reason, raw, hyperparameters=record.hyperparameters)
    return score_result(data_type, task, outcome)


def _same(old: Any, new: Any) -> bool:
    if isinstance(old, float) and isinstance(new, float):
        return math.isclose(old, new, rel_tol=_ROUNDING, abs_tol=_ROUND_OFF)
    return bool(old == new)


def _scores(record: Record) -> dict[str, Any]:
    return {"status": record.status.value, "floor": record.floor, **record.metrics}
