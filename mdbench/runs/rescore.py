"""New scores for old records: answers are judged again, and no method is run."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache
from itertools import chain, islice
from typing import TYPE_CHECKING, Any

from joblib import Parallel, delayed, parallel_config

from mdbench.data.columns import OwnNames
from mdbench.datatypes.base import Answer
from mdbench.errors import MdbenchError
from mdbench.protocols import Protocol
from mdbench.records import ANSWERED, Status, key_of
from mdbench.runs.catalog import Catalog
from mdbench.runs.plan import scorer_key
from mdbench.runs.record import core_versions, score_fields
from mdbench.runs.scoring import JobResult, ScoredResult, score_result
from mdbench.runs.spec import JobSpec

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from mdbench.datatypes.base import DataType, Task
    from mdbench.records import Record
    from mdbench.workspace import Workspace

_ROUNDING = 1e-9
_PIECE = 16
"""Records that a process is given at a time."""
_OLD_SCORER = "scoring"
"""Schema 2 had a number in the key for what is now the scorer's identity."""


@dataclass(frozen=True)
class Rescored:
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

    @property
    def changes(self) -> dict[str, tuple[Any, Any]]:
        """What is another, old and new: the status, the floor, and metrics by name.

        Numbers that differ by what rounding makes of them are the same.
        """
        old, new = _scores(self.before), _scores(self.after)
        pairs = {name: (old.get(name), new.get(name)) for name in [*old, *new]}
        return {name: pair for name, pair in pairs.items() if not _same(*pair)}


def rescored(record: Record, catalog: Catalog) -> Rescored:
    """Judge a record's answer by what scores now; where it does not suffice, say why.

    A job without an answer keeps its status, and gets the names of an answer's metrics.
    """
    try:
        after = _rescored(record, catalog)
    except _LeftError as left:
        return Rescored(record, record, str(left))
    except MdbenchError as error:
        return Rescored(record, record, error.message)
    return Rescored(record, after)


def all_rescored(
    records: Iterable[Record], workspace: Workspace, n_jobs: int
) -> Iterator[Rescored]:
    """Judge the answers of many records, in their order, in processes of their own.

    Parameters
    ----------
    records
        Neighbours of one dataset are judged by one process, which makes the data once.
    workspace
        Where the datasets are.
    n_jobs
        Processes; 1 for this one.
    """
    if n_jobs == 1:
        catalog = Catalog(workspace)
        return (rescored(record, catalog) for record in records)
    left = iter(records)
    pieces = iter(lambda: tuple(islice(left, _PIECE)), ())
    # Each score is of one thread, as where the records were made.
    with parallel_config("loky", inner_max_num_threads=1):
        pool = Parallel(n_jobs=n_jobs, return_as="generator", pre_dispatch="2*n_jobs")
    done = pool(delayed(_piece_rescored)(piece, workspace) for piece in pieces)
    return chain.from_iterable(done)


def _piece_rescored(records: tuple[Record, ...], workspace: Workspace) -> list[Rescored]:
    catalog = _catalog(workspace)
    return [rescored(record, catalog) for record in records]


@cache
def _catalog(workspace: Workspace) -> Catalog:
    """Return what a process keeps from one piece of the records to the next."""
    return Catalog(workspace)


class _LeftError(Exception):
    """A record's answer does not suffice for new scores."""


def _rescored(record: Record, catalog: Catalog) -> Record:
    answered = record.answered
    if record.protocol != Protocol.STRICT:
        raise _LeftError(f"under {record.protocol} predictions are scored, which no record holds")
    if answered and record.equations is None:
        raise _LeftError("its answer is no equations, and the record does not hold it")
    if record.status is Status.INVALID_OUTPUT:
        raise _LeftError("its answer was refused, and the record does not hold it")
    job = JobSpec.of(record)
    dataset = catalog.load(job)
    if dataset.fingerprint != record.key_parts.get("dataset"):
        raise _LeftError("its dataset is not the same any more")
    data_type = catalog.data_type(job.data_type)
    task = data_type.task(dataset, record.view, job.protocol)
    parts = {name: part for name, part in record.key_parts.items() if name != _OLD_SCORER}
    parts |= scorer_key(data_type, dataset)
    known = {"scorer": parts["scorer"], "core": record.provenance.core | core_versions()}
    changes = score_fields(data_type, task, _judge(record, data_type, task)) | {
        "key": key_of(parts),
        "key_parts": parts,
        "system": job.system(data_type.options),
        "provenance": record.provenance.model_copy(update=known),
    }
    if answered and changes["status"] not in ANSWERED:
        changes["selection"] = None
    return type(record).model_validate(record.model_dump(by_alias=True) | changes)


def _judge(record: Record, data_type: DataType[Any, Any], task: Task[Any]) -> ScoredResult:
    raw = None
    if record.equations is not None:
        texts = OwnNames(task.dataset.names).all_internal(record.equations)
        raw = Answer(texts, recorded=record.metrics)
    outcome = JobResult(record.status, record.reason, raw, hyperparameters=record.hyperparameters)
    return score_result(data_type, task, outcome)


def _same(old: Any, new: Any) -> bool:
    if isinstance(old, float) and isinstance(new, float):
        return math.isclose(old, new, rel_tol=_ROUNDING)
    return bool(old == new)


def _scores(record: Record) -> dict[str, Any]:
    return {"status": record.status.value, "floor": record.floor, **record.metrics}
