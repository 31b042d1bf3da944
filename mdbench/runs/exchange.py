"""The exchange with a job: its messages and files, its time and its work.

Nobody trusts what comes from a job to be as it should, and its limits are kept from here.
"""

from __future__ import annotations

import errno
import math
import signal
import threading
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Self, TypeVar

from mdbench.records import ANSWERED, Status
from mdbench.runs.calibration import WorkMeter, last_words
from mdbench.runs.scoring import JobResult
from mdbench.runtimes.array_exchange import read_predictions, write_arrays
from mdbench.runtimes.base import WorkerGoneError, WorkerTimeoutError
from mdbench.runtimes.processes import DiskQuota
from mdbench.runtimes.protocol import (
    Candidates,
    Described,
    Ended,
    Failed,
    Fitted,
    Predicted,
    ProtocolError,
    Started,
)
from mdbench.worker.budget import SPEED_FILE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    import numpy as np
    from numpy.typing import NDArray

    from mdbench.runs.calibration import SpeedGauge
    from mdbench.runs.spec import JobSpec
    from mdbench.runtimes.base import JobFolder
    from mdbench.runtimes.protocol import Describe, JobOrder, Message, Predict, Refit
    from mdbench.runtimes.worker import Worker

_M = TypeVar("_M", Fitted, Described, Predicted)

END_SECONDS = 5.0
"""Seconds that a job's process may go on after its last message."""
_QUICK_SECONDS = 0.02
"""Shortest work for which the job is paused; for less its clock goes on."""
_CHECK_SECONDS = 0.1
"""Seconds between two checks that the job is still paused."""
_LAST_WORDS_SECONDS = 1.0
"""Seconds in which a job may still send candidates once its time is up, before it is killed."""
_DYING_SECONDS = 0.5
"""Seconds that a killed job may take to be gone, before its worker is killed too."""
_BACKLOG_SECONDS = 0.25
"""Seconds for which messages that came in time are read once the time is up."""
_TOGETHER_SECONDS = 0.5
"""Time in which a worker ends that was killed with its job."""
_CHECK_OUTPUT_SECONDS = 1.0
"""Seconds between two checks of the size of a job's folder."""
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
"""Errors that a method can cause in its folder; others, such as a full disk, are the machine's."""
_DISK_FULL = {errno.ENOSPC, errno.EDQUOT}
_NOT_BY_MACHINE = {Status.UNSUPPORTED, Status.UNAVAILABLE}
_NOT_BY_A_LIMIT = {Status.TIMEOUT, Status.UNSUPPORTED, Status.UNAVAILABLE}
_MOST_APART_S, _MOST_APART = 0.1, 0.05
"""Most by which a job's clock may be behind ours, which waits for files and messages, too."""
_BREACHES = {"memory": Status.OUT_OF_MEMORY, "processes": Status.CRASHED}
_FROM_OUTSIDE = {None} | {
    code for sent in (signal.SIGKILL, signal.SIGTERM) for code in (-sent, 128 + sent)
}
"""Exit codes of processes that somebody may have killed, and of those that a wrapper ran."""


class PausedJob:
    """Pauses a job during work that does not count as the job's time.

    Whether it is paused is checked again and again from outside; time in which it may have run
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
                stopped = self._worker.pause()
                since = time.monotonic()
                over = self._over.wait(_CHECK_SECONDS)
                if stopped and self._worker.is_paused():
                    self.seconds += time.monotonic() - since
        finally:
            self._worker.resume()


class JobStoppedError(Exception):
    """The job has ended before its answer, or is to be ended.

    Attributes
    ----------
    waits
        Whether the job waits for a message that will not come.
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


class JobExchange:
    """Messages to one job and from it, until its time is up or it writes too much.

    Parameters
    ----------
    key
        Names the job in messages.
    folder
        The job's own folder; empty.
    collect
        Called with the candidates that arrive while something else is waited for; returns why no
        more can be taken, or an empty text.
    gauge
        The speed of the job's cores; None where its work is not measured.
    excused_s
        Returns the seconds up to now that are none of the job's time.

    Attributes
    ----------
    meter
        Measures its work; None without a gauge.
    started
        Whether the job has a process of its own by now.
    overflow
        Why no more is taken from the job; empty as long as it is.
    gave_up
        Whether the worker was ended from here.
    """

    def __init__(
        self,
        worker: Worker,
        key: str,
        folder: JobFolder,
        job: JobSpec,
        collect: Callable[[Candidates], str],
        *,
        gauge: SpeedGauge | None = None,
        excused_s: Callable[[], float] = lambda: 0.0,
    ) -> None:
        self._excused_s = excused_s
        self.meter: WorkMeter | None = None
        if gauge is not None:
            self.meter = WorkMeter(worker.cpu_s, gauge, job.work_s)
        self._deadline = time.monotonic() + job.timeout_s
        self.started = False
        self.overflow = ""
        self.gave_up = False
        self._late_since: float | None = None
        self._worker = worker
        self._key = key
        self._folder = folder
        self._job = job
        self._collect = collect
        self._quota = DiskQuota(
            folder.descriptor if folder.above is None else folder.above, job.output_mb
        )
        self._next_check = time.monotonic() + _CHECK_OUTPUT_SECONDS
        self._ended = False
        self._sent = time.monotonic()

    @property
    def deadline(self) -> float:
        """When the job's time is up, by `time.monotonic`, as far as is known."""
        return self._deadline + self._excused_s()

    @deadline.setter
    def deadline(self, when: float) -> None:
        self._deadline = when - self._excused_s()

    def close(self) -> None:
        """Close the folders that are open."""
        self._quota.close()
        if self.meter is not None:
            self.meter.close()

    def clock(self) -> tuple[float, float | None]:
        """Return the seconds of the job's time that are over, and its work.

        While it is paused, none go by.  The work is that of the last message.
        """
        seconds = self._job.timeout_s - (self.deadline - time.monotonic())
        return seconds, None if self.meter is None else self.meter.work_s

    @property
    def late(self) -> str:
        """The limit that the job has reached, in words; empty where it has reached none."""
        if self.overflow:
            return self.overflow
        if time.monotonic() >= self.deadline:
            return f"ran longer than {self._job.timeout_s:g} s"
        return self._job.limit_text if self.meter is not None and self.meter.is_over else ""

    def send(self, message: JobOrder | Refit | Describe | Predict) -> None:
        """Send a message."""
        self._sent = time.monotonic()
        self._worker.send(message)

    def seconds_taken(self, reported: float) -> float:
        """Return how long the answer took: as reported, where our own clock does not contradict."""
        ours = time.monotonic() - self._sent
        believed = 0.0 <= reported <= ours <= reported + max(_MOST_APART_S, _MOST_APART * ours)
        return reported if believed else ours

    def write(self, file: str, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Write an .npz file into the job's folder.

        Raises
        ------
        JobStoppedError
            If the job has filled the disk or changed its folder.
        """
        with self._writing(file):
            write_arrays(file, arrays, folder=self._folder.descriptor)

    def share_speed(self, meter: WorkMeter) -> None:
        """Make the file from which a job with a limit of work reads the speed of its cores.

        Raises
        ------
        JobStoppedError
            As `write`.
        """
        with self._writing(SPEED_FILE):
            meter.share_speed(self._folder.descriptor)

    @contextmanager
    def _writing(self, file: str) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            if error.errno in _DISK_FULL and self.started:
                # If it was not the job that filled the disk, the next one cannot begin.
                raise JobStoppedError(
                    Status.CRASHED,
                    "no space is left on the disk that the job writes to",
                    waits=True,
                ) from error
            if error.errno not in _CAUSED_BY_METHOD:
                raise
            raise JobStoppedError(
                Status.INVALID_OUTPUT,
                f"the method changed its job's folder: {file}: {error.strerror}",
                waits=True,
            ) from error

    def read(
        self, file: str, shape: tuple[int, ...], like: np.dtype[Any], *, per_target: bool = False
    ) -> NDArray[Any]:
        """Read predictions from the job's folder; see `read_predictions`."""
        return read_predictions(
            file, shape, like, folder=self._folder.descriptor, per_target=per_target
        )

    def wait_for(self, wanted: type[_M]) -> _M:
        """Receive messages until the one wanted comes; candidates are collected as they arrive.

        Raises
        ------
        WorkerTimeoutError
            If the job's time is up, or its work done.
        JobStoppedError
            If the job has failed, ended or written too much.
        """
        while True:
            if too_much := self._check_output():
                raise JobStoppedError(Status.CRASHED, f"killed: {too_much}")
            if self.overflow or self._is_late_for_long():
                raise WorkerTimeoutError
            try:
                message = self._receive_until(self.deadline)
            except WorkerTimeoutError:
                if self.late:
                    self._late_since = None
                    raise
                continue
            if isinstance(message, wanted):
                return message
            if not self._went_on(message):
                raise ProtocolError(f"{message.type!r} where {wanted.__name__} was due")

    def _went_on(self, message: Message) -> bool:
        """Whether a message is one after which something is still waited for.

        Raises
        ------
        JobStoppedError
            If the job has failed or ended.
        """
        if isinstance(message, Candidates):
            self._take(message)
        elif isinstance(message, Started) and not self.started:
            self.started = True
        elif isinstance(message, Failed):
            raise JobStoppedError(Status(message.kind), message.error)
        elif isinstance(message, Ended):
            self._ended = True
            if message.exit == -signal.SIGKILL:
                self._refuse_if_lost()
            raise JobStoppedError(
                Status.CRASHED, _death(message.exit), killed=message.exit in _FROM_OUTSIDE
            )
        else:
            return False
        return True

    def _refuse_if_lost(self) -> None:
        """Raise where what ran the worker is gone with its job: then that is why the job is, too.

        Raises
        ------
        WorkerGoneError
            If the worker was lost by no doing of the method.
        """
        try:
            self._worker.receive(_TOGETHER_SECONDS)
        except WorkerGoneError as gone:
            if gone.lost:
                raise
        except (WorkerTimeoutError, ProtocolError):
            pass

    def _is_late_for_long(self) -> bool:
        """Whether a limit has been reached, and all that was sent before has been read."""
        if not self.late:
            self._late_since = None
            return False
        self._late_since = self._late_since or time.monotonic()
        return time.monotonic() - self._late_since > _BACKLOG_SECONDS

    def _take(self, message: Candidates) -> None:
        """Collect candidates, up to what can be taken."""
        if not self.overflow:
            self.overflow = self._collect(message)

    def _check_output(self) -> str:
        """Check what the job has written, when it is time to; kill it if that is too much."""
        now = time.monotonic()
        if now < self._next_check:
            return ""
        if reason := self._quota.check():
            self._worker.kill_job()
        self._next_check = now + _CHECK_OUTPUT_SECONDS
        return reason

    def _receive_until(self, end: float, allowed: float = 0.0) -> Message:
        """Receive a message until some time, until the limit of work, or the next check.

        Parameters
        ----------
        allowed
            Reference seconds beyond the limit.
        """
        seconds = min(end, self._next_check) - time.monotonic()
        if self.meter is not None:
            seconds = min(seconds, self.meter.look(allowed))
        return self._receive(seconds)

    def _receive(self, timeout: float) -> Message:
        message = self._worker.receive(max(0.0, timeout))
        if self.meter is not None:
            self.meter.update()
        if getattr(message, "job", self._key) != self._key:
            raise ProtocolError(f"a {message.type!r} message of another job")
        return message

    def finish(self) -> None:
        """End a job whose time is up, within two seconds, and collect its last candidates."""
        if not self.started:
            self._interrupt()
            return
        if self.overflow or self._late_since is not None:  # it has sent all along
            self.end(0.0)
            return
        self._worker.ask_to_finish()
        work = self._job.work_s
        self._listen(_LAST_WORDS_SECONDS, None if work is None else last_words(work))
        self.end(0.0)

    def end(self, seconds: float) -> None:
        """Wait so long for the job's end, then kill it; where that fails, its worker, too."""
        if not self._listen(seconds) and self.started:
            self._worker.kill_job()
            self._listen(_DYING_SECONDS)
        if not self._ended:
            self._interrupt()

    def _interrupt(self) -> None:
        self.gave_up = True
        self._worker.interrupt()

    def _listen(self, seconds: float, allowed: float | None = None) -> bool:
        """Collect candidates for some time; return whether the job has ended meanwhile.

        Parameters
        ----------
        allowed
            Reference seconds beyond its limit that it may use; None to look at time alone.
        """
        end = time.monotonic() + seconds
        while not self._ended:
            self._check_output()
            try:
                message = self._receive_until(end, math.inf if allowed is None else allowed)
                if isinstance(message, Candidates):
                    self._take(message)
                self._ended = isinstance(message, Ended)
            except WorkerTimeoutError:
                pass
            except (WorkerGoneError, ProtocolError):
                self._interrupt()
                return False
            # Also while there is something to read.
            if not self._ended and (time.monotonic() >= end or self._used_more(allowed)):
                return False
        return True

    def _used_more(self, allowed: float | None) -> bool:
        if allowed is None or self.meter is None or self._job.work_s is None:
            return False
        return self.meter.work_s >= self._job.work_s + allowed


def within_limits(result: JobResult, worker: Worker, memory_mb: int | None) -> JobResult:
    """Return the limit that a job broke as its result, whether or not it was ended for it.

    What the machine did to a job comes first: it says nothing of the method.
    """
    answered = result.status in ANSWERED
    may_be_machine = not answered and result.status not in _NOT_BY_MACHINE
    if may_be_machine and (fault := worker.machine_fault(result.reason)):
        return JobResult(Status.UNAVAILABLE, fault, lost=True)
    if (answered or result.status is Status.TIMEOUT) and worker.meter.killed_for_memory():
        allowed = "there is here" if memory_mb is None else f"the {memory_mb} MiB that are allowed"
        return JobResult(
            Status.OUT_OF_MEMORY,
            f"a process of it was killed: they used more memory than {allowed}",
        )
    if not answered and result.status not in _NOT_BY_A_LIMIT:
        breach = worker.breach()
        if breach is not None:
            return JobResult(_BREACHES[breach.limit], f"killed: {breach.reason}")
    peak = worker.meter.end().peak_memory_mb
    if answered and memory_mb is not None and peak is not None and peak > memory_mb:
        return JobResult(
            Status.OUT_OF_MEMORY,
            f"used {peak:.0f} MiB of memory; {memory_mb} MiB are allowed",
        )
    return result


def result_of_lost(gone: WorkerGoneError) -> JobResult:
    """Return the result of a job whose worker has ended."""
    if gone.lost:
        return JobResult(Status.UNAVAILABLE, str(gone), lost=True)
    killed = gone.exit_code in _FROM_OUTSIDE
    return JobResult(Status.CRASHED, _death(gone.exit_code), killed=killed)


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
