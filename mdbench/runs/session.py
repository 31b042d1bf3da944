"""One job: the exchange of messages with a worker, up to the method's answer."""

from __future__ import annotations

import errno
import signal
import threading
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NoReturn, Self, TypeVar

import numpy as np

from mdbench.datatypes.base import Answer
from mdbench.language_models.views import plain_view
from mdbench.records import ANSWERED, Status
from mdbench.runs.arrays import (
    ArrayExchangeError,
    read_predictions,
    reorder,
    test_order,
    write_arrays,
)
from mdbench.runs.scoring import SCORER_ERRORS, CandidatePool, JobResult, llm_curve
from mdbench.runtimes.base import WorkerGoneError, WorkerTimeoutError
from mdbench.runtimes.processes import DiskQuota
from mdbench.runtimes.protocol import (
    Candidates,
    Describe,
    Described,
    Ended,
    Failed,
    Fitted,
    JobOrder,
    Predict,
    Predicted,
    ProtocolError,
    Refit,
    Started,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from numpy.typing import NDArray

    from mdbench.datatypes.base import Selection, Split, Task
    from mdbench.language_models.views import PromptView
    from mdbench.runs.plan import ResolvedJob
    from mdbench.runtimes.base import JobFolder, Worker
    from mdbench.runtimes.protocol import CandidateItem, Message

_QUICK_SECONDS = 0.02
"""What is over so soon is not worth a pause: the clock goes on."""
_CHECK_SECONDS = 0.1
"""How often it is checked that the job is still paused."""


class PausedJob:
    """Pauses a job while something is done that is none of its time.

    Whether it is paused is checked from outside, again and again; time in which it may have run
    counts.

    Attributes
    ----------
    seconds
        How long the job was paused.
    """

    def __init__(self, worker: Worker) -> None:
        self.seconds = 0.0
        self._worker = worker
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._hold, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()

    def _hold(self) -> None:
        if self._over.wait(_QUICK_SECONDS):
            return
        try:
            over = False
            while not over:
                stood = self._worker.pause()
                since = time.monotonic()
                over = self._over.wait(_CHECK_SECONDS)
                if stood and self._worker.is_paused():
                    self.seconds += time.monotonic() - since
        finally:
            self._worker.resume()


_M = TypeVar("_M", Fitted, Described, Predicted)

_END_SECONDS = 5.0
"""How long a job's process may go on after its last message."""
_LAST_WORDS_SECONDS = 1.0
"""How long a job may still send candidates once its time is up, before it is killed."""
_DYING_SECONDS = 0.5
"""How long a job that was killed may take to be gone, before its worker is killed too."""
_CHECK_OUTPUT_SECONDS = 1.0
"""How often the size of a job's folder is looked at."""
_CAUSED_BY_METHOD = {
    errno.ENOENT,
    errno.EEXIST,
    errno.ENOTDIR,
    errno.EISDIR,
    errno.EACCES,
    errno.EPERM,
    errno.ELOOP,
    errno.ESTALE,
}
"""What a method can cause in its folder; other errors, such as a full disk, are the machine's."""
_DISK_FULL = {errno.ENOSPC, errno.EDQUOT}
_NOT_BY_A_LIMIT = {Status.TIMEOUT, Status.UNSUPPORTED, Status.UNAVAILABLE}
_MOST_APART_S, _MOST_APART = 0.1, 0.05
"""How far a job's clock may be behind ours, which waits for files and messages, too."""
_BREACHES = {"memory": Status.OUT_OF_MEMORY, "processes": Status.CRASHED}
_FROM_OUTSIDE = {None} | {
    code for sent in (signal.SIGKILL, signal.SIGTERM) for code in (-sent, 128 + sent)
}
"""Exit codes of processes that somebody may have killed, and of those that a wrapper ran."""
_EVALUATION_SECONDS = 120.0
"""Time for reading all candidates of a job; usual ones take milliseconds."""


@dataclass(frozen=True)
class LlmContext:
    """What a method that asks a language model is given beyond the data.

    Attributes
    ----------
    socket
        The name of the socket in the job's folder.
    view
        How the problem is described.
    """

    socket: str
    view: PromptView


class _StopError(Exception):
    """The conversation is over.

    Attributes
    ----------
    waits
        Whether the job waits for an answer that will not come.
    killed
        As `JobResult.killed`.
    """

    def __init__(
        self, status: Status, reason: str, *, waits: bool = False, killed: bool = False
    ) -> None:
        super().__init__(reason)
        self.status = status
        self.reason = reason
        self.waits = waits
        self.killed = killed


class JobSession:
    """One attempt at one job.

    Parameters
    ----------
    folder
        The job's own folder; empty.
    llm
        What a method that asks a language model is given beyond the data.
    hyperparameters
        Values that count more than those of the method's folder.
    """

    def __init__(
        self,
        one: ResolvedJob,
        task: Task[Any],
        *,
        worker: Worker,
        folder: JobFolder,
        llm: LlmContext | None = None,
        hyperparameters: Mapping[str, Any] | None = None,
    ) -> None:
        job, spec, data_type = one.job, one.method.spec, one.data_type
        self._job = job
        self._spec = spec
        self._data_type = data_type
        self._task = task
        self._key = one.key  # names the job in messages
        self._worker = worker
        self._folder = folder
        self._socket = None if llm is None else llm.socket
        self._view = plain_view(task) if llm is None else llm.view
        self._hyperparameters = {**spec.fixed(job.protocol), **(hyperparameters or {})}
        self._output = DiskQuota(folder.descriptor, job.output_mb)
        self._next_check = time.monotonic() + _CHECK_OUTPUT_SECONDS
        self._deadline = time.monotonic() + job.timeout_s
        self._pid: int | None = None
        self._ended: Ended | None = None
        self._sent = time.monotonic()
        self._fit_s = 0.0
        self._fitted = False
        self._stopped_early = False
        self._settings_failed = 0
        self._first_failure = ""
        self._first, self._compared = data_type.fit_and_validation(task, spec.tuning)
        predicted = self._compared if spec.tuning == "grid" else self._first
        self._pool = CandidatePool(data_type, task, self._compared, predicted, self._clock)
        self._order = test_order(task, job.seed)

    def run(self) -> JobResult:
        """Do the job; whatever happens, there is an outcome."""
        try:
            outcome = self._within_limits(self._outcome())
        finally:
            self._output.close()
        outcome.costs = self._worker.usage()
        outcome.isolation = self._worker.isolation()
        if (hello := self._worker.hello) is not None:
            outcome.blas_kernel, outcome.blas_threads = hello.blas_kernel, hello.blas_threads
        outcome.n_candidates = self._pool.count
        outcome.candidates = self._pool.scored
        outcome.n_invalid = self._pool.n_invalid + self._settings_failed
        if outcome.fit_s is None and self._fit_s:
            outcome.fit_s = self._fit_s
        outcome.llm_curve = llm_curve(self._pool.scored)
        if self._job.save_pareto and self._spec.tuning != "none":
            outcome.front = self._pool.scored
        return outcome

    def _outcome(self) -> JobResult:
        try:
            outcome = self._converse()
            self._end(_END_SECONDS)
        except _StopError as stop:
            outcome = JobResult(stop.status, stop.reason, killed=stop.killed)
            outcome.from_method = stop.status is Status.UNAVAILABLE
            self._end(0.0 if stop.waits else _END_SECONDS)
        except WorkerTimeoutError:
            self._finish()
            outcome = self._best_candidate()
        except ProtocolError as error:
            outcome = JobResult(Status.INVALID_OUTPUT, f"the worker sent {error}")
            self._worker.interrupt()
        except WorkerGoneError as gone:
            outcome = (
                JobResult(Status.UNAVAILABLE, str(gone), lost=True)
                if gone.lost
                else JobResult(
                    Status.CRASHED,
                    _death(gone.exit_code),
                    killed=gone.exit_code in _FROM_OUTSIDE,
                )
            )
        except SCORER_ERRORS as error:
            # A net below the checks: no answer of one method may end the run of the others.
            outcome = JobResult(
                Status.INVALID_OUTPUT,
                f"the answer cannot be used: {type(error).__name__}: {error}",
            )
            self._worker.interrupt()
        return outcome

    def _converse(self) -> JobResult:
        self._send_fit()
        self._await(Fitted)
        choice = None
        tuning = self._spec.tuning
        if tuning != "none":
            choice = self._choose()
            if choice is None:
                self._nothing_to_choose()
        if tuning == "grid" and choice is not None:
            self._save("refit.npz", self._task.refit, with_targets=True)
            self._send(Refit(job=self._key, hyperparameters=choice.hyperparameters))
            self._await(Fitted)
        indices = choice.indices if tuning == "front" and choice is not None else None
        self._send(Describe(job=self._key, choose=indices))
        described = self._await(Described)
        equations = tuple(map(self._view.equation, described.equations))
        if indices is not None and choice is not None and equations != choice.equations:
            _invalid(f"the answer is not the candidate chosen: {' ; '.join(choice.equations)}")
        # The test inputs are there only now: no equation knows them.
        self._save("test.npz", reorder(self._task.test, self._order), with_targets=False)
        self._send(Predict(job=self._key))
        outcome = self._answer(equations, self._await(Predicted))
        if self._stopped_early:
            outcome.status = Status.PARTIAL
            outcome.reason = (
                f"the method ended its fit early, for the limit of {self._job.timeout_s:g} s"
            )
        outcome.selection = choice
        outcome.hyperparameters = choice.hyperparameters if choice is not None else {}
        return outcome

    def _clock(self) -> float:
        """Return the seconds of the job's time that are over; while it is paused, none go by."""
        return self._job.timeout_s - (self._deadline - time.monotonic())

    def _choose(self) -> Selection | None:
        """Evaluate the candidates and select the best, while the job and its clock are paused."""
        with PausedJob(self._worker) as paused:
            self._pool.evaluate(_EVALUATION_SECONDS, lambda: not self._worker.alive)
        self._deadline += paused.seconds
        return self._pool.select()

    def _send_fit(self) -> None:
        spec = self._spec
        units = self._task.dataset.units if spec.asks_for_units else None
        self._save("train.npz", self._first, with_targets=True)
        if spec.tuning == "grid":
            self._save("validation.npz", self._compared, with_targets=False)
        self._send(
            JobOrder(
                job=self._key,
                folder=self._folder.inside,
                view=spec.view,
                variables=self._view.variables,
                targets=self._view.targets,
                equations=self._task.has_equations,
                compares=not self._pool.by_equations,
                tuning=spec.tuning,
                hyperparameters=self._hyperparameters,
                grid=spec.combinations(self._job.protocol),
                seed=self._job.seed,
                threads=self._job.threads,
                time_limit=self._job.timeout_s,
                truth=self._task.dataset.truth if "truth" in spec.given else None,
                units=None if units is None else dict(units),
                description=self._view.description,
                language_model=self._socket,
            )
        )

    def _send(self, message: JobOrder | Refit | Describe | Predict) -> None:
        self._sent = time.monotonic()
        self._worker.send(message)

    def _seconds_taken(self, reported: float) -> float:
        """Return how long the answer took: as reported, where our own clock does not contradict."""
        ours = time.monotonic() - self._sent
        believed = 0.0 <= reported <= ours <= reported + max(_MOST_APART_S, _MOST_APART * ours)
        return reported if believed else ours

    def _save(self, file: str, part: Split, *, with_targets: bool) -> None:
        arrays = dict(self._view.reordered(part).inputs)
        if with_targets:
            arrays[part.target_name] = part.targets
        try:
            write_arrays(file, arrays, folder=self._folder.descriptor)
        except OSError as error:
            if error.errno in _DISK_FULL and self._pid is not None:
                # If it was not the job that filled the disk, the next one cannot begin.
                raise _StopError(
                    Status.CRASHED,
                    "no space is left on the disk that the job writes to",
                    waits=True,
                ) from error
            if error.errno not in _CAUSED_BY_METHOD:
                raise
            raise _StopError(
                Status.INVALID_OUTPUT,
                f"the method changed its job's folder: {file}: {error.strerror}",
                waits=True,
            ) from error

    def _await(self, wanted: type[_M]) -> _M:
        """Receive messages until the one wanted comes; candidates are collected as they arrive."""
        while True:
            message = self._next()
            if isinstance(message, wanted):
                if isinstance(message, Fitted):
                    self._fitted = True
                    self._fit_s += self._seconds_taken(message.seconds)
                    self._stopped_early |= message.stopped_early
                    self._settings_failed += message.failed
                    self._first_failure = self._first_failure or message.failure
                return message
            if isinstance(message, Candidates):
                self._take(message)
            elif isinstance(message, Started):
                self._pid = message.pid
            elif isinstance(message, Failed):
                raise self._refusal(message)
            elif isinstance(message, Ended):
                self._ended = message
                raise _StopError(
                    Status.CRASHED, _death(message.exit), killed=message.exit in _FROM_OUTSIDE
                )
            else:
                raise ProtocolError(f"{message.type!r} where {wanted.__name__} was due")

    def _refusal(self, message: Failed) -> _StopError:
        """Return why a job has failed; it is too late for `unavailable` after an answer."""
        status = Status(message.kind)
        if status is Status.UNAVAILABLE and (self._pool.count or self._fitted):
            return _StopError(
                Status.FAILED, f"the method said Unavailable after its fit: {message.error}"
            )
        return _StopError(status, message.error)

    def _next(self) -> Message:
        """Wait for a message until the job's time is up, with an eye on what it writes."""
        while True:
            if too_much := self._check_output():
                raise _StopError(Status.CRASHED, f"killed: {too_much}")
            end = min(self._deadline, self._next_check)
            try:
                return self._receive(end - time.monotonic())
            except WorkerTimeoutError:
                if time.monotonic() >= self._deadline:
                    raise

    def _check_output(self) -> str:
        """Check what the job has written, when it is time to; kill it if that is too much."""
        now = time.monotonic()
        if now < self._next_check:
            return ""
        if reason := self._output.check():
            self._worker.kill_job()
        self._next_check = now + _CHECK_OUTPUT_SECONDS
        return reason

    def _receive(self, timeout: float) -> Message:
        message = self._worker.receive(max(0.0, timeout))
        if getattr(message, "job", self._key) != self._key:
            raise ProtocolError(f"a {message.type!r} message of another job")
        return message

    def _take(self, message: Candidates) -> None:
        pool = self._pool
        if message.predictions is None or pool.by_equations:
            for item in self._translated(message.items):
                pool.add(item, None)
            return
        target = message.items[0].target if message.items else None
        shape = (len(message.items), *pool.shape(target))
        try:
            predictions = self._read(message.predictions, shape, each=True)
        except ArrayExchangeError as error:
            pool.reject(message.items, str(error))
            return
        for item, values in zip(self._translated(message.items), predictions, strict=True):
            if (item.target is None) != (target is None):
                pool.reject([item], "candidates for one and for all targets, mixed")
            else:
                pool.add(item, values)

    def _translated(self, items: list[CandidateItem]) -> Iterator[CandidateItem]:
        """Return candidates in the names of the task, whatever names the method was given."""
        for item in items:
            equations = tuple(map(self._view.equation, item.equations))
            yield item.model_copy(update={"equations": equations})

    def _read(self, file: str, shape: tuple[int, ...], *, each: bool = False) -> NDArray[Any]:
        like = self._task.test.targets.dtype
        return read_predictions(file, shape, like, folder=self._folder.descriptor, each=each)

    def _answer(self, equations: tuple[str, ...], predicted: Predicted) -> JobResult:
        """Return an answer as it was given; its data type will read it."""
        shape = self._task.test.targets.shape
        try:
            predictions = self._read(predicted.predictions, shape)
        except ArrayExchangeError as error:
            _invalid(str(error))
        if self._order is not None:
            given, predictions = predictions, np.empty_like(predictions)
            predictions[self._order] = given
        return JobResult(
            Status.OK,
            answer=Answer(equations, predictions),
            answered_s=self._clock(),
            fit_s=self._fit_s,
            predict_s=self._seconds_taken(predicted.seconds),
        )

    def _best_candidate(self) -> JobResult:
        """Return the best candidate as the answer of a job that ran out of time."""
        late = f"ran longer than {self._job.timeout_s:g} s"
        choice = self._choose()
        if choice is None or not self._task.has_equations:
            return JobResult(Status.TIMEOUT, late)
        return JobResult(
            Status.PARTIAL,
            f"{late}; scored from the best of {self._pool.count} candidates",
            answer=Answer(choice.equations),
            timeout_reason=late,
            hyperparameters=choice.hyperparameters,
            selection=choice,
        )

    def _nothing_to_choose(self) -> NoReturn:
        pool = self._pool
        if not pool.count:
            failure = self._first_failure or "no candidate came"
        else:
            failure = f"none of {pool.count} candidates is valid, the first: {pool.first_reason}"
        raise _StopError(Status.INVALID_OUTPUT, failure, waits=True)

    def _finish(self) -> None:
        """End a job whose time is up, within two seconds, and take its last candidates."""
        if self._pid is None:
            self._worker.interrupt()
            return
        self._worker.ask_to_finish()
        self._listen(_LAST_WORDS_SECONDS)
        self._end(0.0)

    def _end(self, patience: float) -> None:
        if not self._listen(patience) and self._pid is not None:
            self._worker.kill_job()
            self._listen(_DYING_SECONDS)
        if self._ended is None:
            self._worker.interrupt()

    def _listen(self, seconds: float) -> bool:
        """Collect candidates for some time; return whether the job has ended meanwhile."""
        end = time.monotonic() + seconds
        while self._ended is None:
            self._check_output()
            try:
                message = self._receive(min(end, self._next_check) - time.monotonic())
            except WorkerTimeoutError:
                if time.monotonic() < end:
                    continue
                return False
            except (WorkerGoneError, ProtocolError):
                self._worker.interrupt()
                return False
            if isinstance(message, Candidates):
                self._take(message)
            elif isinstance(message, Ended):
                self._ended = message
        return True

    def _within_limits(self, outcome: JobResult) -> JobResult:
        """Return the limit that a job broke as its result, whether or not it was ended for it."""
        answered = outcome.status in ANSWERED
        if not answered and outcome.status not in _NOT_BY_A_LIMIT:
            breach = self._worker.breach()
            if breach is not None:
                return JobResult(_BREACHES[breach.limit], f"killed: {breach.reason}")
        most, peak = self._job.memory_mb, self._worker.usage().peak_memory_mb
        if answered and most is not None and peak is not None and peak > most:
            return JobResult(
                Status.OUT_OF_MEMORY,
                f"used {peak:.0f} MiB of memory; {most} MiB are allowed",
            )
        return outcome


def _invalid(reason: str) -> NoReturn:
    raise _StopError(Status.INVALID_OUTPUT, reason)


def _death(code: int | None) -> str:
    """Return how a process ended, from its exit code (minus the signal that killed it)."""
    if code is None:
        return "the worker's process was lost"
    if code < 0:
        try:
            return f"killed by signal {-code} ({signal.Signals(-code).name})"
        except ValueError:
            return f"killed by signal {-code}"
    return f"ended with exit status {code} before its answer"
