"""The backend of one machine: threads with a warm worker each, their queue; the choice of backend.

The order of jobs is fair between methods, within memory, so that a run that is stopped early has
the same share of each method.  Each method's longest jobs come first: the run then ends sooner, as
short jobs are left for the end (Graham 1969, "Bounds on multiprocessing timing anomalies", SIAM J.
Appl. Math. 17, section 4).  A thread keeps to a method for a while, as another one needs another
worker.
"""

from __future__ import annotations

import math
import queue
import threading
import time
from collections import Counter, deque
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from functools import partial
from typing import TYPE_CHECKING, Final

from mdbench.backends.turns import CoreTurns, JobTurn
from mdbench.datatypes.facts import Protocol
from mdbench.runs.calibration import PERIOD_EACH_S, PERIOD_S
from mdbench.runs.execute import Backend
from mdbench.runs.job import begin_job
from mdbench.runs.worker_pool import EnvironmentCache, RetryPolicy, WorkerSlot

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from concurrent.futures import Future

    from mdbench.records import Record
    from mdbench.runs.execute import Work
    from mdbench.runs.forecast import Expectation
    from mdbench.runs.plan import ResolvedJob
    from mdbench.runs.spec import JobSpec
    from mdbench.runs.study import RunOptions

ENDING_S: Final = 30.0
"""Seconds that a job may take beyond its own limit: its data, its end and its scores."""


class LocalBackend(Backend):
    """Threads of this process: as many jobs at a time as the plan allows.

    Parameters
    ----------
    calibrated
        Whether the work of all jobs is measured, for the records, and not only of those with a
        work limit.
    seconds
        A job that may not end within so many from now on is not begun.
    doubt_s
        As the argument of `WorkerSlot`.
    """

    in_this_process = True

    @classmethod
    def for_run(cls, options: RunOptions) -> LocalBackend:
        """Return a backend that counts work by the speed of the machine."""
        del options
        return cls(calibrated=True)

    def __init__(
        self, *, calibrated: bool = False, seconds: float = math.inf, grace_s: float = 0.0
    ) -> None:
        self._calibrated = calibrated
        self._doubt_s = grace_s
        self._end = time.monotonic() + seconds

    def run(self, work: Work) -> bool:
        """Do the jobs in slots that keep their workers warm."""
        return _LocalRun(work, self._end, self._doubt_s, calibrated=self._calibrated).all()


class _LocalRun:
    """The slots of one run, and what they share."""

    def __init__(self, work: Work, end: float, grace_s: float, *, calibrated: bool) -> None:
        self._work = work
        self._end = end
        self._observer = work.observer
        plan = work.plan
        environments = EnvironmentCache(work.runtime, RetryPolicy(plan.retries))
        asking = plan.n_asking
        self._queue = JobQueue(
            work.jobs,
            work.expected,
            plan.memory_total_mb,
            None if asking is None else {True: asking, False: plan.n_jobs},
        )
        self._turns = None if asking is None else CoreTurns(plan.n_jobs)
        self._scoring = threading.BoundedSemaphore(plan.n_jobs)
        slots = min(plan.n_jobs + (asking or 0), len(work.jobs))
        period_s = max(PERIOD_S, PERIOD_EACH_S * slots) if calibrated else None
        self._new_slot = partial(
            WorkerSlot,
            plan.catalog,
            work.runtime,
            environments,
            plan.result_dir,
            fresh_sandbox=plan.fresh_sandbox,
            period_s=period_s,
            connections=plan.connections,
            grace_s=grace_s,
        )
        self._slots = [self._new_slot() for _ in range(slots)]
        self._ended: queue.SimpleQueue[None] = queue.SimpleQueue()
        self._stop = threading.Event()
        self._lock = threading.Lock()
        self._error: BaseException | None = None

    def all(self) -> bool:
        """Run the jobs, and return whether the user interrupted it."""
        threads = [threading.Thread(target=self._serve, args=(one,)) for one in [*self._slots]]
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
        if self._turns is not None:
            self._turns.end()
        for slot in [*self._slots]:
            slot.interrupt()

    def _serve(self, slot: WorkerSlot) -> None:
        """Take jobs until there are none: the work of one thread."""
        held = None
        last: Future[None] | None = None
        try:
            with ThreadPoolExecutor(1) as scorer, slot:
                while (waiting_job := self._queue.take(held)) is not None:
                    if only_predicts(waiting_job):
                        self._do_case([waiting_job, *self._queue.take_case_of(waiting_job)])
                        continue
                    if self._may_end_late(waiting_job):
                        self._queue.release(waiting_job)
                        continue  # a shorter one may still fit
                    held = waiting_job.job.algorithm
                    slot.has_next = bool(self._queue)
                    try:
                        with self._turn_of(waiting_job, slot):
                            if self._stop.is_set():
                                break
                            self._observer.job_started(waiting_job.job)
                            make = begin_job(waiting_job, slot)
                    finally:
                        self._queue.release(waiting_job)
                    if last is not None:
                        last.result()  # at most one answer waits for its scores
                    last = scorer.submit(self._leave_record, waiting_job.job, make)
        except BaseException as error:  # noqa: BLE001 - raised again by the main thread
            self._fail(error)
        finally:
            self._ended.put(None)

    def _do_case(self, jobs: Sequence[ResolvedJob]) -> None:
        """Do jobs of methods that only predict: all fits first, and then their predictions.

        What is sent for a prediction shows the test's inputs, and could be passed to a later fit.
        """
        for first in range(0, len(jobs), MOST_WAITING):
            waiting: list[_WaitingJob] = []
            try:
                for resolved in jobs[first : first + MOST_WAITING]:
                    if self._may_end_late(resolved):
                        self._queue.release(resolved)
                        continue
                    job = _WaitingJob(partial(self._do_in_slot_of_its_own, resolved))
                    job.start_and_wait_for_fit()
                    waiting.append(job)
            finally:  # also where no further thread can be started
                for job in waiting:
                    job.finish()

    def _may_end_late(self, one: ResolvedJob) -> bool:
        """Whether a job that is begun now may not have ended when the time of the run is up."""
        return time.monotonic() + one.job.timeout_s + ENDING_S > self._end

    def _do_in_slot_of_its_own(self, job: ResolvedJob, before_test: Callable[[], None]) -> None:
        slot = self._new_slot()
        slot.before_test = before_test
        with self._lock:
            self._slots.append(slot)
        try:
            with slot:
                if not self._stop.is_set():
                    self._observer.job_started(job.job)
                    self._leave_record(job.job, begin_job(job, slot))
        except BaseException as error:  # noqa: BLE001 - raised again by the main thread
            self._fail(error)
        finally:
            self._queue.release(job)
            with self._lock:
                self._slots.remove(slot)

    @contextmanager
    def _turn_of(self, job: ResolvedJob, slot: WorkerSlot) -> Iterator[None]:
        """Wait for a job's turn on the cores, where there are turns; others have it meanwhile."""
        if self._turns is None:
            yield
            return
        turn = JobTurn(self._turns)
        slot.turn = turn if asks(job) else None
        try:
            yield
        finally:
            slot.turn = None
            turn.end()

    def _leave_record(self, job: JobSpec, make: Callable[[], Record]) -> None:
        """Score an answer and write it down, while the slot does its next job."""
        try:
            with self._scoring:
                record = make()
            self._work.leave(job, record)
        except BaseException as error:  # noqa: BLE001 - raised again by the main thread
            self._fail(error)

    def _fail(self, error: BaseException) -> None:
        with self._lock:
            self._error = self._error or error
        self._end_all()


class _WaitingJob:
    """A job in a thread of its own, which waits between its fit and its prediction.

    Parameters
    ----------
    do
        Does the job; given what it calls, and waits for, before its prediction.
    """

    def __init__(self, do: Callable[[Callable[[], None]], None]) -> None:
        self._do = do
        self._paused, self._go_on = threading.Event(), threading.Event()
        self._thread = threading.Thread(target=self._run)

    def _run(self) -> None:
        try:
            self._do(self._wait)
        finally:
            self._paused.set()

    def _wait(self) -> None:
        self._paused.set()
        self._go_on.wait()

    def start_and_wait_for_fit(self) -> None:
        """Begin, and return when the job waits or has ended."""
        self._thread.start()
        self._paused.wait()

    def finish(self) -> None:
        """Let the job go on, and return when it has ended."""
        self._go_on.set()
        self._thread.join()


def asks(one: ResolvedJob) -> bool:
    """Whether a job asks a service, which takes no core of its own while it answers."""
    return bool(one.method.spec.service)


def only_predicts(one: ResolvedJob) -> bool:
    """Whether a job's method gives no equations, so that it is sent the inputs of the test."""
    return not one.method.spec.equations and one.job.protocol is Protocol.STRICT


def case_of(one: ResolvedJob) -> tuple[str, str, str]:
    """Return the problem of a job: jobs of one share samples, whatever their noise and seed."""
    job = one.job
    return job.data_type, job.dataset.partition("+")[0], str(job.dataset_path)


MOST_WAITING: Final = 32
"""Jobs that wait at a time between their fits and their predictions, each with its memory."""


TURN_S: Final = 60.0
"""Seconds for which a worker keeps to a method while others wait."""


class JobQueue:
    """Jobs that wait to be begun; may be used from several threads.

    Parameters
    ----------
    jobs
        In the order of the plan.
    expected
        What a job will probably take.
    memory_mb
        MiB that all jobs that run at a time may need together; None for no limit.
    at_a_time
        How many may run at a time of those that ask a service (True), and of others; None
        for as many as ask for one.
    """

    def __init__(
        self,
        jobs: Sequence[ResolvedJob],
        expected: Callable[[ResolvedJob], Expectation],
        memory_mb: int | None = None,
        at_a_time: Mapping[bool, int] | None = None,
    ) -> None:
        self._at_a_time = at_a_time
        self._counts: Counter[bool] = Counter()
        self._expected = expected
        self._total_mb = memory_mb
        self._running: dict[str, float] = {}
        self._methods: dict[str, deque[ResolvedJob]] = {}  # not begun, the longest first
        self._last: list[ResolvedJob] = []  # those that only predict, after all fits of their case
        self._cases: Counter[tuple[str, str, str]] = Counter()  # of jobs that run
        for job in longest_first(jobs, expected):
            if only_predicts(job):
                self._last.append(job)
            else:
                self._methods.setdefault(job.job.algorithm, deque()).append(job)
        self._totals = {name: len(each) for name, each in self._methods.items()}
        self._turns: dict[int, tuple[str, float]] = {}
        self._ended = False
        self._changed = threading.Condition()

    def __len__(self) -> int:
        return sum(map(len, self._methods.values())) + len(self._last)

    def take(self, held: str | None = None, *, wait: bool = True) -> ResolvedJob | None:
        """Return the next job to whoever asks, once there is memory for it.

        Parameters
        ----------
        held
            The method whose worker is running.
        wait
            Whether to wait for memory.

        Returns
        -------
        ResolvedJob or None
            None where there is no job left, or none that may begin now.
        """
        with self._changed:
            while not self._ended and len(self):
                one = self._next(held)
                if one is not None or not wait:
                    return one
                self._changed.wait()
            return None

    def release(self, job: ResolvedJob) -> None:
        """Return the memory of a job that has ended to others."""
        with self._changed:
            self._ended_one(job)

    def requeue(self, job: ResolvedJob) -> None:
        """Take back a job that has to be done again."""
        with self._changed:
            self._ended_one(job)
            if only_predicts(job):
                self._last.insert(0, job)
            else:
                self._methods[job.job.algorithm].appendleft(job)

    def take_case_of(self, job: ResolvedJob) -> list[ResolvedJob]:
        """Return all other jobs of a job's case that only predict."""
        with self._changed:
            same = [other for other in self._last if case_of(other) == case_of(job)]
            self._last = [other for other in self._last if case_of(other) != case_of(job)]
            for other in same:
                self._begun(other)
            return same

    def _ended_one(self, job: ResolvedJob) -> None:
        if self._running.pop(job.key, None) is not None:
            self._counts[asks(job)] -= 1
            self._cases[case_of(job)] -= 1
        self._changed.notify_all()

    def end(self) -> None:
        """Hand out no more jobs."""
        with self._changed:
            self._ended = True
            self._changed.notify_all()

    def _next(self, held: str | None) -> ResolvedJob | None:
        most = self._at_a_time
        names = [
            name
            for name, jobs in self._methods.items()
            if jobs and (most is None or self._counts[asks(jobs[0])] < most[asks(jobs[0])])
        ]
        # Fair between methods: first the one of whose jobs the smallest share has begun.
        names.sort(key=lambda name: -len(self._methods[name]) / self._totals[name])
        me = threading.get_ident()
        method, since = self._turns.get(me, ("", 0.0))
        now = time.monotonic()
        if held in names and method == held and now - since < TURN_S:
            names.remove(held)
            names.insert(0, held)
        for name in names:
            job = self._that_fits(self._methods[name])
            if job is not None:
                self._methods[name].remove(job)
                self._begun(job)
                if name != method or now - since >= TURN_S:
                    self._turns[me] = name, now
                return job
        return None if any(self._methods.values()) else self._next_of_last()

    def _next_of_last(self) -> ResolvedJob | None:
        """Return a job that only predicts, of a case of which no job runs."""
        for job in self._last:
            if not self._cases[case_of(job)] and self._that_fits([job]):
                self._last.remove(job)
                self._begun(job)
                return job
        return None

    def _begun(self, job: ResolvedJob) -> None:
        self._running[job.key] = self._need(job)
        self._counts[asks(job)] += 1
        self._cases[case_of(job)] += 1

    def _that_fits(self, jobs: Sequence[ResolvedJob]) -> ResolvedJob | None:
        """Return the first of a method's jobs, or the smallest, if there is memory for it."""
        if self._total_mb is None or not self._running:
            return jobs[0]  # what needs more than there is runs by itself
        free = self._total_mb - sum(self._running.values())
        if self._need(jobs[0]) <= free:
            return jobs[0]
        smallest = min(jobs, key=self._need)
        return smallest if self._need(smallest) <= free else None

    def _need(self, one: ResolvedJob) -> float:
        need = self._expected(one).memory_mb
        return float(self._total_mb or 0) if need is None else need


def longest_first(
    jobs: Sequence[ResolvedJob], expected: Callable[[ResolvedJob], Expectation]
) -> list[ResolvedJob]:
    """Sort jobs by what they will probably take; equal ones stay in their order."""
    return sorted(jobs, key=lambda one: -expected(one).wall_s)
