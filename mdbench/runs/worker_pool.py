"""Slots in which jobs run, one after the other, in a worker that is kept warm.

Where each job needs a worker of its own, the next one is started while a job runs.
"""

from __future__ import annotations

import threading
from contextlib import suppress
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, Self

from mdbench.errors import MdbenchError, MethodError, UnavailableError
from mdbench.records import Status
from mdbench.runs.calibration import (
    CALIBRATION_SAMPLES,
    PERIOD_S,
    UNLIMITED_PERIOD_S,
    UNLIMITED_SAMPLES,
    SpeedGauge,
)
from mdbench.runtimes.processes import Cores, pin_workers_to
from mdbench.workspace import is_trusted

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path
    from types import TracebackType

    from mdbench.methods import Method
    from mdbench.runs.catalog import Catalog
    from mdbench.runs.plan import ResolvedJob
    from mdbench.runs.scoring import JobResult
    from mdbench.runs.services import Connection, Turn
    from mdbench.runs.spec import JobSpec
    from mdbench.runtimes.base import Limits, Prepared, Runtime
    from mdbench.runtimes.worker import Worker

FIRST_WAIT_S: Final = 1.0
FACTOR: Final = 5.0
"""Factor by which each wait is longer than the one before."""
LONGEST_WAIT_S: Final = 60.0


@dataclass(frozen=True)
class RetryPolicy:
    """Retries with waits between them that grow: 1, 5, 25, 60, 60, ... seconds.

    Attributes
    ----------
    retries
        How often something is tried again.
    """

    retries: int = 0
    _ended: threading.Event = field(default_factory=threading.Event, repr=False)

    def waits(self) -> Iterator[float]:
        """Return the seconds before each retry."""
        wait = FIRST_WAIT_S
        for _ in range(self.retries):
            yield min(wait, LONGEST_WAIT_S)
            wait *= FACTOR

    def tries(self) -> Iterator[int]:
        """Count tries from 0 on, waiting before each but the first; ends early after `end`."""
        yield 0
        for number, wait in enumerate(self.waits(), start=1):
            if self._ended.wait(wait):
                return
            yield number

    def pause(self, seconds: float) -> None:
        """Wait for so long, or until `end`."""
        self._ended.wait(seconds)

    def end(self) -> None:
        """End all waits, and try nothing again."""
        self._ended.set()


_NOISE: Final = 1.5
_NOISE_S: Final = 0.25
"""Seconds of CPU time by which two starts of one worker may differ besides."""
GRACE_S: Final = 2.0
"""Seconds that a cluster takes at most to kill all processes of a task, one by one."""


class EnvironmentCache:
    """Each method's environment, made once, by whichever slot needs it first.

    Parameters
    ----------
    retry_policy
        How often the making is tried again where that may help, and jobs whose worker was lost.
    """

    def __init__(self, runtime: Runtime, retry_policy: RetryPolicy | None = None) -> None:
        self.retry_policy = retry_policy or RetryPolicy()
        self._runtime = runtime
        self._made: dict[str, Prepared | MdbenchError] = {}
        self._retries: dict[str, int] = {}
        self._worked: set[str] = set()
        self._done: set[str] = set()
        self._starts: dict[str, float] = {}
        self._lock = threading.Lock()

    def get(self, method: Method, parts: Mapping[str, str] | None = None) -> Prepared:
        """Return the method's environment.

        Parameters
        ----------
        parts
            Those of the key of the job that needs it; None where no job does.

        Raises
        ------
        UnavailableError, MethodError
            If it cannot be made or used; the same for every job.
        """
        with self._lock:
            if method.name not in self._made:
                self._made[method.name] = self._make(method, parts)
            made = self._made[method.name]
        if isinstance(made, MdbenchError):
            raise made
        return made

    def _make(self, method: Method, parts: Mapping[str, str] | None) -> Prepared | MdbenchError:
        if parts is not None:
            try:
                refuse_edited(method, parts)
            except UnavailableError as error:
                return error
        failure: MdbenchError | None = None
        for number in self.retry_policy.tries():
            self._retries[method.name] = number
            try:
                return self._runtime.prepare(method)
            except MethodError as error:
                return error
            except UnavailableError as error:
                failure = error
                if not error.passing:
                    break
        return failure or UnavailableError("the run was stopped")

    def retries(self, method: Method) -> int:
        """Return how often the making of a method's environment was tried again."""
        return self._retries.get(method.name, 0)

    def record_import(self, method: Method) -> None:
        """Remember that the method's adapter can be imported."""
        with self._lock:
            self._worked.add(method.name)

    def start_beyond_first(self, method: Method, start_s: float) -> float:
        """Return the CPU seconds of a worker's start that its job has to answer for.

        The import of an adapter is no job's work, however slow it is, as long as it takes what it
        took at first.  What it takes beyond that is work that was moved there; half as much more
        is noise, as of cores that others use.

        Parameters
        ----------
        start_s
            What the worker has used before its first job; 0 where it has served one.
        """
        with self._lock:
            if start_s <= 0.0:
                return 0.0
            first = self._starts.setdefault(method.name, start_s)
        return start_s - first if start_s > _NOISE * first + _NOISE_S else 0.0

    def record_unavailable(self, method: Method, outcome: JobResult) -> None:
        """Record a job's `unavailable` for all jobs of its method, which are not tried then.

        What is missing is missing whatever the problem is; a method that has done another job by
        then has failed, or it could get rid of problems that are too hard for it.
        """
        with self._lock:
            if outcome.lost:
                return
            if not outcome.from_method:
                self._done.add(method.name)
            elif method.name in self._done:
                outcome.status = Status.FAILED
                outcome.reason = (
                    f"it raised Unavailable after another job was done: {outcome.reason}"
                )
            else:
                self._made[method.name] = UnavailableError(outcome.reason)

    def record_import_error(self, method: Method, error: MethodError) -> None:
        """Remember that it cannot, unless it could before: then only this job has failed."""
        with self._lock:
            if method.name not in self._worked:
                self._made[method.name] = error


def refuse_edited(method: Method, parts: Mapping[str, str]) -> None:
    """Refuse a method whose files are no longer those that its job's key was made of.

    Parameters
    ----------
    parts
        Those of the key: a record under it would be one of other code, or of other packages.

    Raises
    ------
    UnavailableError
        If a file was edited or removed, the lock too: other methods go on.
    """
    try:
        is_same = (method.fingerprint(), method.lock_sha256()) == (
            parts["adapter"],
            parts["environment"],
        )
    except (MethodError, OSError):  # removed, or being written at this moment
        is_same = False
    if not is_same:
        raise UnavailableError(
            f"{method.folder} was edited while the run was going on.",
            "Give the same command again: its jobs are run with the files as they are now.",
        )


class _NextWorker:
    """A worker that is started while the job before its own runs.

    Parameters
    ----------
    serves
        The jobs that the worker can serve.
    start
        Starts it; gets a function to call with it as soon as it can be interrupted.
    after
        The worker that it follows, which is closed first.
    """

    def __init__(
        self,
        serves: tuple[str, Limits],
        start: Callable[[Callable[[Worker], None]], Worker],
        after: Worker | None,
    ) -> None:
        self.serves = serves
        self._start = start
        self._after = after
        self._worker: Worker | None = None
        self._launched: Worker | None = None
        self._given_up = False
        self._lock = threading.Lock()
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def _run(self) -> None:
        if self._after is not None:
            self._after.close()
        with suppress(
            MethodError, UnavailableError, OSError
        ):  # raised again for the job that needs it
            self._worker = self._start(self._note)

    def _note(self, worker: Worker) -> None:
        with self._lock:
            self._launched = worker
            if self._given_up:
                worker.interrupt()

    def interrupt(self) -> None:
        """End it as soon as it is there."""
        with self._lock:
            self._given_up = True
            if self._launched is not None:
                self._launched.interrupt()

    def take(self) -> Worker | None:
        """Wait for it; None where it could not be started."""
        self._thread.join()
        return self._worker


class WorkerSlot:
    """A slot with a worker for the jobs that `mdbench.runs.job` does, one at a time.

    Parameters
    ----------
    environments
        Shared by the slots of a run.
    result_dir
        The folder below which the jobs' logs are written.
    fresh_sandbox
        Whether each job gets a worker of its own, also where the worker keeps its jobs apart or
        the user trusts the method.
    connections
        How jobs reach services, where their methods may.
    period_s
        Seconds between two samples of the speed of this slot's cores, by which work is measured;
        None to measure only that of jobs with a work limit.
    grace_s
        Seconds for which a job's being killed is taken for the beginning of everybody's end, as
        where a cluster kills a task process by process.

    Attributes
    ----------
    has_next
        Whether there will be another job: only then is a worker started ahead.
    turn
        The turn on the cores of the job that is done; None where it has cores of its own.
    before_test
        Returns when a method that only predicts may be sent the inputs of the test.
    """

    def __init__(
        self,
        catalog: Catalog,
        runtime: Runtime,
        environments: EnvironmentCache,
        result_dir: Path,
        *,
        fresh_sandbox: bool = False,
        connections: Mapping[str, Connection] = MappingProxyType({}),
        period_s: float | None = None,
        grace_s: float = 0.0,
    ) -> None:
        self._period_s = period_s
        self._gauge: SpeedGauge | None = None
        self.grace_s = grace_s
        self.catalog = catalog
        self.runtime = runtime
        self.environments = environments
        self.result_dir = result_dir
        self.fresh_sandbox = fresh_sandbox
        self.connections = connections
        self.interrupted = False
        self.has_next = False
        self.turn: Turn | None = None
        self.before_test: Callable[[], None] = lambda: None
        self._worker: Worker | None = None
        self._serves: tuple[str, Limits] | None = None
        self._ahead: _NextWorker | None = None
        self._cores: Cores | None = None
        self._lock = threading.Lock()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._release()
        if (ahead := self._ahead) is not None:
            ahead.interrupt()
            if (worker := ahead.take()) is not None:
                worker.close()
        if self._cores is not None:
            self._cores.release()

    def interrupt(self) -> None:
        """End the job that is running; its record is then `interrupted`."""
        self.interrupted = True  # before the job sees that its worker is gone
        self.environments.retry_policy.end()
        self.runtime.interrupt()
        with self._lock:
            if self._worker is not None:
                self._worker.interrupt()
            if self._ahead is not None:
                self._ahead.interrupt()

    def wait_for_end(self) -> None:
        """Wait while a cluster that kills processes one by one may still kill this one."""
        self.environments.retry_policy.pause(self.grace_s)

    def worker(self, resolved: ResolvedJob, prepared: Prepared) -> Worker:
        """Return the worker that is held, if it can serve the job, or else a new one.

        Raises
        ------
        UnavailableError
            If the method's files are no longer those of the job's key: other methods go on.
        MethodError, UnavailableError
            If the worker cannot be started.
        """
        job, method = resolved.job, resolved.method
        wanted = (job.algorithm, job.limits)
        held = self._worker
        usable = held is not None and wanted == self._serves and held.alive
        if held is not None and usable and self.keeps(held, method):
            return held
        refuse_edited(method, resolved.parts)
        used, worker = self._exchange(wanted)
        if worker is None:
            if used is not None:
                used.close()
            used = None
            self._pin(job.threads if self.turn is None else 0)
            try:
                with pin_workers_to(self.cores):
                    worker = self.runtime.start(method, prepared, job.limits, on_launch=self._hold)
            except MethodError as error:
                self._worker = None
                if not self.interrupted:
                    self.environments.record_import_error(method, error)
                raise
            except UnavailableError:
                self._worker = None
                raise
            self.environments.record_import(method)
        self._serves = wanted
        if self.keeps(worker, method) or not self.has_next:
            if used is not None:
                used.close()
        else:
            self._look_ahead(wanted, method, prepared, used)
        return worker

    def _pin(self, threads: int) -> None:
        """Claim cores for the workers of this slot, as many as a job has threads."""
        if len(self.cores) != threads:
            if self._cores is not None:
                self._cores.release()
            self._cores = Cores(threads)
            self._gauge = None

    def gauge(self, job: JobSpec) -> SpeedGauge | None:
        """Return the speed of the cores of this slot, calibrated; None where nobody needs it."""
        if self._period_s is None and job.work_s is None:
            return None
        if self._gauge is None:
            self._gauge = SpeedGauge(self.cores)
        period_s = PERIOD_S if self._period_s is None else self._period_s
        limited = job.work_s is not None
        self._gauge.period_s = period_s if limited else max(period_s, UNLIMITED_PERIOD_S)
        self._gauge.calibrate(CALIBRATION_SAMPLES if limited else UNLIMITED_SAMPLES)
        return self._gauge

    def speed_after(self, job: JobSpec) -> float | None:
        """Return the speed of the cores after a job, which is that before the next one."""
        gauge = self.gauge(job)
        if gauge is None:
            return None
        if job.work_s is None:
            gauge.sample_if_due()  # of jobs shorter than a period one sample serves several
        else:
            gauge.sample()
        return gauge.speed

    @property
    def cores(self) -> tuple[int, ...]:
        """The cores that workers of this slot are pinned to; none where not enough are free."""
        return () if self._cores is None else self._cores.numbers

    def keeps(self, worker: Worker, method: Method) -> bool:
        """Return whether a worker serves several jobs of a method.

        Each job gets a new one where the method's folder is not one of the project's, as nobody
        here has read its adapter.
        """
        if self.fresh_sandbox or worker.hello is None or not worker.hello.forks:
            return False
        if is_trusted(method.name):
            return True
        own = method.folder.parent == self.catalog.workspace.algorithms
        return own and worker.keeps_jobs_apart

    def retire(self, method: Method) -> bool:
        """Let the worker serve no job after its next one; return whether that is so.

        It does where the user trusts the method.
        """
        if is_trusted(method.name):
            return False
        self._serves = None
        return True

    def _exchange(self, wanted: tuple[str, Limits]) -> tuple[Worker | None, Worker | None]:
        """Take the worker that was started ahead; return that of the last job, and this one."""
        ahead, self._ahead = self._ahead, None
        new = None if ahead is None else ahead.take()
        if new is not None and (ahead is None or ahead.serves != wanted or not new.alive):
            new.close()
            new = None
        with self._lock:
            used, self._worker, self._serves = self._worker, new, None
            if new is not None and self.interrupted:
                new.interrupt()
        return used, new

    def _look_ahead(
        self,
        wanted: tuple[str, Limits],
        method: Method,
        prepared: Prepared,
        used: Worker | None,
    ) -> None:
        def start(note: Callable[[Worker], None]) -> Worker:
            with pin_workers_to(self.cores):
                return self.runtime.start(method, prepared, wanted[1], on_launch=note)

        with self._lock:
            self._ahead = _NextWorker(wanted, start, used)
            if self.interrupted:
                self._ahead.interrupt()

    def _hold(self, worker: Worker) -> None:
        with self._lock:
            self._worker = worker
            if self.interrupted:
                worker.interrupt()

    def _release(self) -> None:
        with self._lock:
            worker, self._worker, self._serves = self._worker, None, None
        if worker is not None:
            worker.close()
