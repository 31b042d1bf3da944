"""Runs a plan: job slots that hold warm workers, and one record for every job."""

from __future__ import annotations

import queue
import shutil
import tempfile
import threading
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from mdbench.errors import MdbenchError, MethodError, UnavailableError
from mdbench.records import RecordStore, Status
from mdbench.runs.attempt import Attempt, Outcome, Setting
from mdbench.runs.due import Ready, is_due, load_dataset, make_ready
from mdbench.runs.write import Stopwatch, make_record

if TYPE_CHECKING:
    from mdbench.datatypes.base import Dataset, Task
    from mdbench.methods import Method
    from mdbench.records import Record, RecordWriter
    from mdbench.runs.plan import Job, Plan
    from mdbench.runtimes.base import Prepared, Runtime, Worker

__all__ = ["Observer", "Summary", "execute"]


class Observer(Protocol):
    """Whoever wants to know how a run goes on; called from several threads."""

    def message(self, text: str) -> None:
        """Tell something that a person should know."""

    def prepared(self, to_run: int, done: int) -> None:
        """The jobs are known: how many will be run, how many have their record already."""

    def job_started(self, job: Job) -> None:
        """A job begins."""

    def job_ended(self, job: Job, record: Record) -> None:
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
            name: stack.enter_context(RecordStore(plan.result_file(name)).open_for_writing())
            for name in plan.methods
        }
        for name, writer in writers.items():
            if writer.dropped_bytes:
                observer.message(
                    f"{plan.result_file(name)}: a torn last line of {writer.dropped_bytes} bytes "
                    "was cut off; its job is run again."
                )
        ready = make_ready(plan)
        to_run = [one for one in ready if is_due(one, writers[one.job.algorithm].earlier, plan)]
        observer.prepared(len(to_run), len(ready) - len(to_run))
        run = _Run(plan, runtime, observer, writers)
        interrupted = run.all(to_run)
        newest = {
            name: dict(writer.earlier) | run.written.get(name, {})
            for name, writer in writers.items()
        }
    summary = Summary(ran=run.count, skipped=len(ready) - len(to_run), interrupted=interrupted)
    for one in ready:
        record = newest[one.job.algorithm].get(one.key)
        if record is not None:
            summary.records.append(record)
        if record is None or record.status is Status.INTERRUPTED:
            summary.left += 1
    return summary


class _Run:
    """The state that the slots of one run share."""

    def __init__(
        self, plan: Plan, runtime: Runtime, observer: Observer, writers: dict[str, RecordWriter]
    ) -> None:
        self._plan = plan
        self._runtime = runtime
        self._observer = observer
        self._writers = writers
        self._stop = threading.Event()
        self._queue: queue.SimpleQueue[Ready] = queue.SimpleQueue()
        self._ended: queue.SimpleQueue[None] = queue.SimpleQueue()
        self._environments = _Environments(runtime)
        self._workers: set[Worker] = set()
        self._lock = threading.Lock()
        self._error: BaseException | None = None
        self.written: dict[str, dict[str, Record]] = {}
        self.count = 0

    def all(self, to_run: list[Ready]) -> bool:
        """Run the jobs in the plan's slots; tell whether the user interrupted it."""
        for one in to_run:
            self._queue.put(one)
        slots = [
            threading.Thread(target=self._slot, name=f"slot {number}")
            for number in range(min(self._plan.n_jobs, len(to_run)))
        ]
        for slot in slots:
            slot.start()
        interrupted = False
        try:
            self._wait_for(len(slots))
        except KeyboardInterrupt:
            interrupted = True
            self._observer.message("Stopping: the jobs that are running are ended.")
        finally:
            self._end_all()
            for slot in slots:
                slot.join()
        if self._error is not None:
            raise self._error
        return interrupted

    def _wait_for(self, slots: int) -> None:
        # Not by Thread.join: where Ctrl-C breaks into it, Python before 3.13 takes the thread
        # for ended while it still runs.
        while slots:
            with suppress(queue.Empty):
                self._ended.get(timeout=0.5)  # with a limit, so that Ctrl-C is seen
                slots -= 1

    def _end_all(self) -> None:
        self._stop.set()
        with self._lock:
            for worker in self._workers:
                worker.interrupt()

    def _slot(self) -> None:
        """Serve jobs until there are none, holding one warm worker; one thread a slot."""
        holding: _Holding | None = None
        try:
            while not self._stop.is_set():
                try:
                    one = self._queue.get_nowait()
                except queue.Empty:
                    return
                if holding is not None and not holding.serves(one.job):
                    self._release(holding)
                    holding = None
                holding = self._do(one, holding)
        except BaseException as error:  # noqa: BLE001 - told by the main thread
            self._error = self._error or error
            self._stop.set()
        finally:
            if holding is not None:
                self._release(holding)
            self._ended.put(None)

    def _do(self, one: Ready, holding: _Holding | None) -> _Holding | None:
        job = one.job
        method = self._plan.methods[job.algorithm]
        watch = Stopwatch()
        self._observer.job_started(job)
        dataset = load_dataset(self._plan, job)
        task = self._plan.data_type.task(dataset, method.spec.view, job.protocol)
        prepared: Prepared | None = None
        log = self._plan.result_dir / "logs" / f"{job.algorithm}-{job.data_type}"
        log /= f"{job.file_name}_{one.key[:8]}.log"
        try:
            _refuse_limits(method, job, dataset)
            with watch.stopped():  # made once and kept warm: not this job's time
                prepared = self._environments.get(method)
                if holding is None:
                    holding = self._start(method, prepared, job)
            outcome = self._attempt(one, task, holding.worker, log)
        except _LimitError as limit:
            outcome = Outcome(Status.UNSUPPORTED, limit.reason)
        except UnavailableError as error:
            outcome = Outcome(Status.UNAVAILABLE, str(error))
        except MethodError as error:
            outcome = Outcome(Status.FAILED, str(error))
        if self._stop.is_set() and outcome.status not in (Status.OK, Status.PARTIAL):
            outcome = Outcome(Status.INTERRUPTED, "the run was stopped")
        record = make_record(
            job,
            dataset,
            outcome,
            key_parts=one.parts,
            targets=task.targets,
            dataset_path=self._plan.dataset_path,
            runtime=self._runtime.name,
            prepared=prepared,
            log=str(log.relative_to(self._plan.result_dir)) if log.exists() else None,
            watch=watch,
        )
        self._writers[job.algorithm].append(record)
        with self._lock:
            self.written.setdefault(job.algorithm, {})[record.key] = record
            self.count += 1
        self._observer.job_ended(job, record)
        if holding is not None and not (holding.worker.alive and method.spec.fork_safe):
            self._release(holding)
            return None
        return holding

    def _start(self, method: Method, prepared: Prepared, job: Job) -> _Holding:
        try:
            worker = self._runtime.start(method, prepared, threads=job.threads)
        except MethodError as error:
            self._environments.give_up(method, error)
            raise
        with self._lock:
            self._workers.add(worker)
            if self._stop.is_set():
                worker.interrupt()
        return _Holding(job, worker)

    def _attempt(self, one: Ready, task: Task, worker: Worker, log: Path) -> Outcome:
        folder = Path(tempfile.mkdtemp(prefix="mdbench-job-"))
        worker.begin_log(log, one.key)
        try:
            return Attempt(
                one.job,
                self._plan.methods[one.job.algorithm],
                self._plan.data_type,
                task,
                Setting.of(self._plan.methods[one.job.algorithm], one.job),
                worker=worker,
                folder=folder,
                identity=one.key,
            ).run()
        finally:
            worker.end_log()
            shutil.rmtree(folder, ignore_errors=True)

    def _release(self, holding: _Holding) -> None:
        holding.worker.close()
        with self._lock:
            self._workers.discard(holding.worker)


@dataclass(frozen=True)
class _Holding:
    """A worker that a slot keeps warm, and the job that it was started for."""

    job: Job
    worker: Worker

    def serves(self, job: Job) -> bool:
        return (job.algorithm, job.threads) == (self.job.algorithm, self.job.threads)


class _Environments:
    """Each method's environment, made once, by whichever slot needs it first."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime
        self._made: dict[str, Prepared | MdbenchError] = {}
        self._lock = threading.Lock()

    def get(self, method: Method) -> Prepared:
        with self._lock:
            if method.name not in self._made:
                try:
                    self._made[method.name] = self._runtime.prepare(method)
                except (UnavailableError, MethodError) as error:
                    self._made[method.name] = error
            made = self._made[method.name]
        if isinstance(made, MdbenchError):
            raise made
        return made

    def give_up(self, method: Method, error: MethodError) -> None:
        """Remember that the method's adapter cannot be imported, so that it is tried once."""
        with self._lock:
            self._made[method.name] = error


class _LimitError(Exception):
    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


def _refuse_limits(method: Method, job: Job, dataset: Dataset) -> None:
    for limit in method.spec.limits:
        if limit.covers(job.data_type, job.dataset, dataset.dim):
            raise _LimitError(limit.reason)
