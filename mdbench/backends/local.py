"""The backend of one machine: threads that each hold a warm worker; and the choice of backend."""

from __future__ import annotations

import math
import queue
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from mdbench.backends.queue import JobQueue
from mdbench.errors import UsageError
from mdbench.runs.execute import Backend
from mdbench.runs.job import begin_job
from mdbench.runs.record import calibrate
from mdbench.runs.worker_pool import EnvironmentCache, RetryPolicy, WorkerSlot

if TYPE_CHECKING:
    from collections.abc import Callable
    from concurrent.futures import Future

    from mdbench.records import Record
    from mdbench.runs.execute import Work
    from mdbench.runs.spec import JobSpec
    from mdbench.runs.study import RunOptions

ENDING_S: Final = 30.0
"""Seconds that a job may take beyond its own limit: its data, its end and its scores."""


class LocalBackend(Backend):
    """Threads of this process: as many jobs at a time as the plan says.

    Parameters
    ----------
    calibrated
        Whether a calibration job is done at the start, for the records.
    seconds
        A job that may not end within so many from now on is not begun.
    doubt_s
        As that of `WorkerSlot`.
    """

    in_this_process = True

    def __init__(
        self, *, calibrated: bool = False, seconds: float = math.inf, grace_s: float = 0.0
    ) -> None:
        self._calibrated = calibrated
        self._doubt_s = grace_s
        self._end = time.monotonic() + seconds

    def run(self, work: Work) -> bool:
        """Do the jobs in slots that keep their workers warm."""
        speed = calibrate() if self._calibrated else None
        return _LocalRun(work, speed, self._end, self._doubt_s).all()


class _LocalRun:
    """The slots of one run, and what they share."""

    def __init__(self, work: Work, speed: float | None, end: float, grace_s: float) -> None:
        self._work = work
        self._end = end
        self._observer = work.observer
        plan = work.plan
        environments = EnvironmentCache(work.runtime, RetryPolicy(plan.retries))
        self._queue = JobQueue(work.jobs, work.expected, plan.memory_total_mb)
        self._slots = [
            WorkerSlot(
                plan.catalog,
                work.runtime,
                environments,
                plan.result_dir,
                fresh_rooms=plan.fresh_rooms,
                speed=speed,
                model=plan.model,
                grace_s=grace_s,
            )
            for _ in range(min(plan.n_jobs, len(work.jobs)))
        ]
        self._ended: queue.SimpleQueue[None] = queue.SimpleQueue()
        self._stop = threading.Event()
        self._lock = threading.Lock()
        self._error: BaseException | None = None

    def all(self) -> bool:
        """Run the jobs, and return whether the user interrupted it."""
        threads = [threading.Thread(target=self._serve, args=(slot,)) for slot in self._slots]
        interrupted = False
        self._work.runtime.resume()
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
        self._queue.end()
        for slot in self._slots:
            slot.interrupt()

    def _serve(self, slot: WorkerSlot) -> None:
        """Take jobs until there are none: the work of one thread."""
        held = None
        last: Future[None] | None = None
        try:
            with ThreadPoolExecutor(1) as scorer, slot:
                while (one := self._queue.take(held)) is not None:
                    if time.monotonic() + one.job.timeout_s + ENDING_S > self._end:
                        self._queue.release(one)
                        continue  # a shorter one may still fit
                    held = one.job.algorithm
                    slot.has_next = bool(self._queue)
                    self._observer.job_started(one.job)
                    try:
                        make = begin_job(one, slot)
                    finally:
                        self._queue.release(one)
                    if last is not None:
                        last.result()  # at most one answer waits for its scores
                    last = scorer.submit(self._leave_record, one.job, make)
        except BaseException as error:  # noqa: BLE001 - raised again by the main thread
            self._fail(error)
        finally:
            self._ended.put(None)

    def _leave_record(self, job: JobSpec, make: Callable[[], Record]) -> None:
        """Score an answer and write it down, while the slot does its next job."""
        try:
            self._work.leave(job, make())
        except BaseException as error:  # noqa: BLE001 - raised again by the main thread
            self._fail(error)

    def _fail(self, error: BaseException) -> None:
        with self._lock:
            self._error = self._error or error
        self._end_all()


def open_backend(options: RunOptions) -> Backend:
    """Return the backend that a run asks for.

    Raises
    ------
    UsageError
        If options do not go together, or if what the backend needs is not installed.
    """
    if options.scheduler is not None and options.backend not in {"local", "dask"}:
        raise UsageError(
            f"--scheduler does not go with --backend {options.backend}.",
            "It is the address of a Dask scheduler: leave out one of the two.",
        )
    if options.slurm and options.backend != "slurm":
        raise UsageError(
            f"--slurm does not go with --backend {options.backend}.", "Give --backend slurm."
        )
    if options.backend == "dask" or options.scheduler is not None:
        from mdbench.backends.dask import DaskBackend  # noqa: PLC0415 - takes a second

        return DaskBackend(options.scheduler, require=options.require)
    if options.backend in {"slurm", "submitit-local"}:
        from mdbench.backends.slurm import SlurmBackend  # noqa: PLC0415 - an optional extra

        return SlurmBackend(
            local=options.backend == "submitit-local",
            options=dict(options.slurm),
            require=options.require,
        )
    return LocalBackend(calibrated=True)
