"""Runs a plan: job slots that hold warm workers, and one record for every job."""

from __future__ import annotations

import queue
import threading
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Protocol, Self

from mdbench.records import RecordStore, Status
from mdbench.runs.due import is_due, make_ready
from mdbench.runs.job import begin_job
from mdbench.runs.patience import Patience
from mdbench.runs.slot import Environments, Slot

if TYPE_CHECKING:
    from collections.abc import Callable

    from mdbench.records import Record, RecordWriter
    from mdbench.runs.due import Ready
    from mdbench.runs.plan import Plan
    from mdbench.runs.spec import JobSpec
    from mdbench.runtimes.base import Runtime

__all__ = ["Observer", "Summary", "execute"]


class Observer(Protocol):
    """Whoever wants to know how a run goes on; called from several threads."""

    def message(self, text: str) -> None:
        """Tell something that a person should know."""

    def prepared(self, to_run: int, done: int) -> None:
        """The jobs are known: how many will be run, how many have their record already."""

    def job_started(self, job: JobSpec) -> None:
        """A job begins."""

    def job_ended(self, job: JobSpec, record: Record) -> None:
        """A job has left its record."""


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

    records: list[Record] = field(default_factory=list)
    ran: int = 0
    skipped: int = 0
    left: int = 0
    interrupted: bool = False


def execute(plan: Plan, runtime: Runtime, observer: Observer) -> Summary:
    """Run all jobs of a plan that have no record yet; safe to call again after any end.

    Raises
    ------
    DataError, RecordsError, MethodError
        Before any job is run, if data, results file or a method's folder cannot be used.
    """
    with ExitStack() as stack:
        writers = {
            name: stack.enter_context(RecordStore(file).open_for_writing())
            for name, file in plan.files.items()
        }
        for name, writer in writers.items():
            if writer.dropped_bytes:
                observer.message(
                    f"{plan.files[name]}: a torn last line of {writer.dropped_bytes} bytes "
                    "was cut off; its job is run again."
                )
        ready = make_ready(plan, runtime)
        to_run = [one for one in ready if is_due(one, writers[one.job.results].earlier, plan)]
        observer.prepared(len(to_run), len(ready) - len(to_run))
        run = _Run(plan, runtime, observer, writers)
        interrupted = run.all(to_run)
        plan.inventory.save()  # of data that changed meanwhile
        newest = {
            name: dict(writer.earlier) | run.written[name] for name, writer in writers.items()
        }
    summary = Summary(ran=run.count, skipped=len(ready) - len(to_run), interrupted=interrupted)
    for one in ready:
        record = newest[one.job.results].get(one.key)
        if record is not None:
            summary.records.append(record)
        if record is None or record.status is Status.INTERRUPTED:
            summary.left += 1
    return summary


class _Run:
    """The slots of one run, and what they share."""

    def __init__(
        self, plan: Plan, runtime: Runtime, observer: Observer, writers: dict[str, RecordWriter]
    ) -> None:
        self._observer = observer
        self._writers = writers
        environments = Environments(runtime, Patience(plan.retries))
        self._slots = [
            Slot(
                plan.inventory,
                runtime,
                environments,
                plan.result_dir,
                fresh_rooms=plan.fresh_rooms,
            )
            for _ in range(plan.n_jobs)
        ]
        self._queue: queue.SimpleQueue[Ready] = queue.SimpleQueue()
        self._ended: queue.SimpleQueue[None] = queue.SimpleQueue()
        self._stop = threading.Event()
        self._lock = threading.Lock()
        self._error: BaseException | None = None
        self.written: dict[str, dict[str, Record]] = {name: {} for name in writers}
        self.count = 0

    def all(self, to_run: list[Ready]) -> bool:
        """Run the jobs; tell whether the user interrupted it."""
        for one in to_run:
            self._queue.put(one)
        threads = [
            threading.Thread(target=self._serve, args=(slot,))
            for slot in self._slots[: len(to_run)]
        ]
        interrupted = False
        try:
            for thread in threads:
                thread.start()
            self._wait_for(threads)
        except KeyboardInterrupt:
            interrupted = True
            self._observer.message("Stopping: the jobs that are running are ended.")
        self._end_all()
        while True:
            try:
                self._wait_for(threads)
                break
            except KeyboardInterrupt:
                self._observer.message("Stopping already: the last records are being written.")
        if self._error is not None:
            raise self._error
        return interrupted

    def _wait_for(self, threads: list[threading.Thread]) -> None:
        # Not by Thread.join: where Ctrl-C breaks into it, Python before 3.13 takes the thread
        # for ended while it still runs.
        while any(thread.is_alive() for thread in threads):
            with suppress(queue.Empty):
                self._ended.get(timeout=0.2)  # with a limit, so that Ctrl-C is seen

    def _end_all(self) -> None:
        self._stop.set()
        for slot in self._slots:
            slot.interrupt()

    def _serve(self, slot: Slot) -> None:
        """Take jobs until there are none: the work of one thread."""
        try:
            with _Beside() as beside, slot:
                while not self._stop.is_set():
                    one = self._queue.get_nowait()
                    slot.goes_on = not self._queue.empty()
                    self._observer.job_started(one.job)
                    beside.do(partial(self._leave_record, one.job, begin_job(one, slot)))
        except queue.Empty:
            pass
        except BaseException as error:  # noqa: BLE001 - raised again by the main thread
            self._fail(error)
        finally:
            self._ended.put(None)

    def _leave_record(self, job: JobSpec, make: Callable[[], Record]) -> None:
        """Score an answer and write it down, while the slot does its next job."""
        try:
            record = make()
            self._writers[job.results].append(record)
            with self._lock:
                self.written[job.results][record.key] = record
                self.count += 1
            self._observer.job_ended(job, record)
        except BaseException as error:  # noqa: BLE001 - raised again by the main thread
            self._fail(error)

    def _fail(self, error: BaseException) -> None:
        with self._lock:
            self._error = self._error or error
        self._end_all()


class _Beside:
    """Does one thing at a time beside the thread that asks for it, in the order of asking."""

    def __init__(self) -> None:
        self._thread: threading.Thread | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._wait()

    def do(self, work: Callable[[], None]) -> None:
        """Begin something, once what was asked for before is done."""
        self._wait()
        self._thread = threading.Thread(target=work)
        self._thread.start()

    def _wait(self) -> None:
        if self._thread is not None:
            self._thread.join()
            self._thread = None
