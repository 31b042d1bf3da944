"""Runs a plan: what is due is done by a backend, and every job leaves one record."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, overload

from mdbench.errors import UsageError
from mdbench.records import Record, RecordStore, Status
from mdbench.runs.backend import Observer, Work
from mdbench.runs.due import is_due, make_ready
from mdbench.runs.forecast import expectations
from mdbench.runs.past import Past

if TYPE_CHECKING:
    from mdbench.records import RecordWriter
    from mdbench.runs.backend import Backend
    from mdbench.runs.due import Ready
    from mdbench.runs.plan import Plan
    from mdbench.runs.spec import JobSpec
    from mdbench.runtimes.base import Runtime

__all__ = ["KeptRecords", "Observer", "Summary", "execute"]


class KeptRecords(Sequence[Record]):
    """Records that stay in their files, and are read whenever they are asked for.

    Parameters
    ----------
    places
        The records of each file, and a key of them, in order.
    """

    def __init__(self, places: Sequence[tuple[Mapping[str, Record], str]]) -> None:
        self._places = places

    def __len__(self) -> int:
        return len(self._places)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and list(self) == list(other)

    __hash__ = None  # type: ignore[assignment]

    @overload
    def __getitem__(self, index: int) -> Record: ...

    @overload
    def __getitem__(self, index: slice) -> KeptRecords: ...

    def __getitem__(self, index: int | slice) -> Record | KeptRecords:
        if isinstance(index, slice):
            return KeptRecords(self._places[index])
        newest, key = self._places[index]
        return newest[key]


@dataclass
class Summary:
    """How a run ended.

    Attributes
    ----------
    records
        The newest record of every job of the plan that has one, in the plan's order.
    ran, skipped, left
        Jobs run now, jobs that had their record before, jobs without one.
    """

    records: Sequence[Record] = field(default_factory=list)
    ran: int = 0
    skipped: int = 0
    left: int = 0
    interrupted: bool = False


def execute(plan: Plan, runtime: Runtime, observer: Observer, backend: Backend) -> Summary:
    """Run all jobs of a plan that have no record yet; safe to call again after any end.

    Parameters
    ----------
    backend
        Where the jobs are done.

    Raises
    ------
    DataError, RecordsError, MethodError
        Before any job is run, if data, results file or a method's folder cannot be used.
    UsageError, UnavailableError
        If the backend cannot do the jobs.
    """
    backend.prepare(plan.result_dir, observer)
    with ExitStack() as stack:
        past: dict[str, dict[str, Past]] = {name: {} for name in plan.files}
        ledger = _Ledger(observer)
        for name, file in plan.files.items():
            each = partial(_remember, past[name])
            ledger.writers[name] = stack.enter_context(RecordStore(file).open_for_writing(each))
        for name, writer in ledger.writers.items():
            if writer.dropped_bytes:
                observer.message(
                    f"{plan.files[name]}: a torn last line of {writer.dropped_bytes} bytes "
                    "was cut off; its job is run again."
                )
        ready = make_ready(plan, runtime)
        to_run = [one for one in ready if is_due(one, past[one.job.results], plan)]
        _check_model(to_run, plan, backend)
        observer.prepared(len(to_run), len(ready) - len(to_run))
        expected = expectations({name: list(each.values()) for name, each in past.items()})
        skipped = len(ready) - len(to_run)
        before = {one.key: past[one.job.results].get(one.key) for one in to_run}
        left = {key for key, one in before.items() if one is None or one.status in _LEFT}
        del past, before
        interrupted = False
        if to_run:
            ledger.left = left
            work = Work(plan, runtime, observer, to_run, expected, ledger.leave)
            try:
                interrupted = backend.run(work)
            finally:
                if plan.model is not None:
                    plan.model.close()
        plan.inventory.save()  # of data that changed meanwhile
    newest = {name: writer.newest for name, writer in ledger.writers.items()}
    places = [(newest[one.job.results], one.key) for one in ready]
    kept = KeptRecords([place for place in places if place[1] in place[0]])
    return Summary(kept, ledger.count, skipped, len(ledger.left), interrupted)


_LEFT = {Status.INTERRUPTED}


def _remember(past: dict[str, Past], record: Record, size: int) -> None:
    past[record.key] = Past.of(record, size)


def _check_model(to_run: list[Ready], plan: Plan, backend: Backend) -> None:
    """Refuse to begin jobs that ask a language model which they cannot reach."""
    asks = next((one for one in to_run if one.job.llm_model), None)
    if asks is None:
        return
    if plan.model is None:
        raise UsageError(
            f"{asks.job.algorithm} asks {asks.job.llm_model}, and nobody says where it is.",
            "Give its address, e.g. --llm-url http://localhost:8000/v1, or --llm-replay PATH to "
            "answer from logs (docs/language-models.md).",
        )
    if not backend.in_this_process:
        raise UsageError(
            f"{asks.job.algorithm} asks a language model, whose budget and key one process keeps.",
            "Leave out --backend and --scheduler for it: it runs on this machine alone.",
        )


class _Ledger:
    """Takes down the records of a run."""

    def __init__(self, observer: Observer) -> None:
        self._observer = observer
        self._lock = threading.Lock()
        self.writers: dict[str, RecordWriter] = {}
        self.left: set[str] = set()
        self.count = 0

    def leave(self, job: JobSpec, record: Record) -> None:
        """Write a job's record down."""
        self.writers[job.results].append(record)
        with self._lock:
            self.count += 1
            if record.status in _LEFT:
                self.left.add(record.key)
            else:
                self.left.discard(record.key)
        self._observer.job_ended(job, record)
