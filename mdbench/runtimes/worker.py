"""Workers of all runtimes: how they are launched, and JSON lines in both directions."""

from __future__ import annotations

import errno
import math
import os
import resource
import signal
import stat
import time
from abc import ABC, abstractmethod
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, TypeVar

from mdbench.errors import MethodError, UnavailableError
from mdbench.runtimes import processes
from mdbench.runtimes.base import OUTPUT_MB, JobFolder, WorkerGoneError, WorkerTimeoutError
from mdbench.runtimes.job_folder import JobDirectory, LogSink, PathRedactor
from mdbench.runtimes.processes import worker_cores
from mdbench.runtimes.protocol import (
    MAX_LINE,
    PROTOCOL,
    Broken,
    Failed,
    Fitted,
    Hello,
    ProtocolError,
    parse_message,
)
from mdbench.runtimes.usage import UsageMeter

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from pydantic import BaseModel

    from mdbench.methods import Method
    from mdbench.runtimes.base import Breach
    from mdbench.runtimes.job_folder import Scratch
    from mdbench.runtimes.protocol import Message
    from mdbench.runtimes.usage import Group

JOB = "job"
"""The folder that holds those of a worker's jobs, below its scratch folder."""

_MIB = 2**20
_LEAST_FREE_MB = 1.0
"""Space on a disk below which it is full."""
_FULL = os.strerror(errno.ENOSPC)
_TOO_LARGE = (os.strerror(errno.EFBIG), signal.SIGXFSZ.name)
_CHECK_SECONDS = 1.0
"""Seconds between two checks of a silent worker."""


class Worker(ABC):
    """A running worker: a process inside a method's environment that serves jobs.

    Messages are JSON lines.  Use it from one thread; `interrupt` may be called from any.

    Parameters
    ----------
    scratch
        The worker's folder, which it owns from now on.
    inside
        What the worker calls the folder that holds those of its jobs.
    places
        Folders of the machine that the worker may name, and what is written instead.
    output_mb
        What a job may leave in its folder, in MiB.

    Attributes
    ----------
    log
        Where what the method prints goes.
    meter
        Measures its jobs.
    hello
        Its message after the import of the adapter.
    """

    hello: Hello | None = None

    def __init__(
        self,
        scratch: Scratch,
        inside: str,
        places: Mapping[Path, str] | None = None,
        *,
        output_mb: int = OUTPUT_MB,
    ) -> None:
        self._redactor = PathRedactor({scratch.path: "sandbox", **(places or {})})
        self.log = LogSink(self._redactor.redact_bytes)
        self._scratch = scratch
        self._jobs = JobDirectory(scratch.path / JOB, scratch.path / "bin", self._grant)
        self._inside = inside
        self._is_unusable = False
        self._output_mb = output_mb
        self._free_mb = math.inf
        self._paused: set[int] = set()
        self._job_pids: set[int] = set()
        self.meter = UsageMeter(self._root, self._group)
        self._isolation: dict[str, Any] = {}
        self._buffer = bytearray()
        self._searched = 0

    def _grant(self, folder: int) -> None:  # noqa: B027 - where it is another user's process
        """Make an open folder writable for the worker."""

    def _remove_files(self) -> None:
        """Remove all that was made for the worker."""
        self._jobs.close()
        self._scratch.remove()

    @property
    def keeps_jobs_apart(self) -> bool:
        """Whether a job finds nothing of those that the same worker has served before.

        Where it may, each job of a method that the user does not trust gets a worker of its own.
        """
        return False

    @property
    @abstractmethod
    def alive(self) -> bool:
        """Whether the worker can serve another job."""

    @abstractmethod
    def ask_to_finish(self) -> None:
        """Signal to the job that its time is up: it should send what it has found."""

    @abstractmethod
    def kill_job(self) -> None:
        """Kill the job's process and all that it started, at once; the worker goes on."""

    @abstractmethod
    def breach(self) -> Breach | None:
        """Return the limit that the current or last job was ended for, if there is one."""

    @abstractmethod
    def interrupt(self) -> None:
        """Kill the worker with its job; whoever waits for it gets WorkerGoneError."""

    @abstractmethod
    def close(self) -> None:
        """End the worker; no process and no file of it is left afterwards."""

    @abstractmethod
    def _root(self) -> int | None:
        """Return the worker's process as this machine knows it; None if it does not."""

    @abstractmethod
    def _group(self) -> Group | None:
        """Return the group in which the kernel counts the worker; None if there is none."""

    @abstractmethod
    def _write(self, data: memoryview) -> int:
        """Write some of the data to the worker's standard input; return how much.

        Raises
        ------
        OSError
            If nobody reads it any more.
        """

    @abstractmethod
    def _read(self, seconds: float) -> bytes | None:
        """Read the worker's output: None if nothing comes in time, empty if nothing will."""

    @abstractmethod
    def _has_ended(self) -> bool:
        """Whether the worker's process has ended."""

    @abstractmethod
    def _exit_error(self) -> WorkerGoneError:
        """Return how the worker ended, after waiting a little for the news."""

    def make_folder(self) -> JobFolder:
        """Make a folder that both sides can write, empty but for a folder ``scratch``.

        Raises
        ------
        OSError
            If it cannot be made.
        """
        self._job_pids = set()
        self.meter.begin()
        name, folder = self._jobs.begin()
        self._free_mb = _free_mb(self._jobs.descriptor)
        return JobFolder(folder, f"{self._inside}/{name}", self._jobs.descriptor)

    def machine_fault(self, reason: str) -> str:
        """Return what this machine did to the job that has failed; empty if it did nothing.

        Parameters
        ----------
        reason
            Why the job has failed, as far as is known.
        """
        folder = self._scratch.path.parent
        if not self._scratch.is_there():
            return f"{folder} was removed, or its files, while the job ran"
        if reason.startswith("killed: "):
            return ""  # it was over a limit of its own
        most = self._output_mb
        if _free_mb(self._jobs.descriptor) < _LEAST_FREE_MB:
            return f"no space is left in {folder}, where a job may write {most} MiB"
        if _FULL in reason and self._free_mb < most:
            return f"{folder} had {self._free_mb:.0f} MiB left, where a job may write {most} MiB"
        sizes, _ = resource.getrlimit(resource.RLIMIT_FSIZE)
        if any(words in reason for words in _TOO_LARGE) and 0 <= sizes < most * _MIB:
            return f"no file may be larger than {sizes} bytes here (ulimit -f)"
        return ""

    def remove_folder(self, folder: JobFolder) -> None:  # noqa: ARG002 - there is one
        """Remove a job's files, whatever the job did to them, or serve no other job."""
        root = self._root()
        alone = self._isolation.get("namespaces")
        children = processes.namespaced_children if alone else processes.children
        # Whether the job's process has ended, whoever has reported it.
        gone = root is None or (bool(self._job_pids) and self._job_pids.isdisjoint(children(root)))
        self._is_unusable = not (gone and self._jobs.end()) or self._is_unusable

    def pause(self) -> bool:
        """Stop the job's processes where they are; return whether all of them are stopped."""
        root = self._root()
        if root is None:
            return False
        stopped, all_stopped = processes.pause_job(root)
        self._paused |= stopped
        return all_stopped

    def is_paused(self) -> bool:
        """Whether none of the job's processes runs."""
        root = self._root()
        return root is not None and processes.is_job_paused(root)

    def resume(self) -> None:
        """Continue the job's processes."""
        processes.resume_all(self._paused)
        self._paused = set()

    def begin_log(self, path: Path, job: str) -> None:
        """Write what the job prints to `path` from now on, up to a cap."""
        self.log.begin(path, job)

    def send(self, message: BaseModel) -> None:
        """Send a message.

        Raises
        ------
        WorkerGoneError
            If the worker has ended.
        """
        view = memoryview(message.model_dump_json().encode() + b"\n")
        try:
            while view:
                view = view[self._write(view) :]
        except OSError:
            raise self._exit_error() from None

    def receive(self, timeout: float | None) -> Message:
        """Wait at most `timeout` seconds for a message.

        Raises
        ------
        WorkerTimeoutError
            If none arrived in time.
        WorkerGoneError
            If the worker has ended.
        ProtocolError
            If what arrived is no message.
        """
        deadline = None if timeout is None else time.monotonic() + timeout
        while True:
            end = self._buffer.find(b"\n", self._searched)
            if end >= 0:
                line = bytes(self._buffer[:end])
                del self._buffer[: end + 1]
                self._searched = 0
                return self._process_message(parse_message(line))
            self._searched = len(self._buffer)
            if len(self._buffer) > MAX_LINE:
                raise ProtocolError(f"a message of more than {MAX_LINE} bytes")
            seconds_left = None if deadline is None else deadline - time.monotonic()
            if seconds_left is not None and seconds_left <= 0:
                raise WorkerTimeoutError
            # Its output may be held open by a process that it has started: asked before the
            # reading, so that its last output is not missed.
            ended = self._has_ended()
            block = self._read(
                _CHECK_SECONDS if seconds_left is None else min(seconds_left, _CHECK_SECONDS)
            )
            if block is None and not ended:
                continue
            if not block:
                raise self._exit_error()
            self._buffer += block

    def _process_message(self, message: Message) -> Message:
        if message.type == "started" and (root := self._root()) is not None:
            self._job_pids.update(
                processes.namespaced_children(root)[:1] or processes.children(root)
            )
            # The same for all jobs of a worker; one may be gone before it is looked at.
            self._isolation = self._isolation or processes.isolation(root)
        self.meter.sample()
        if isinstance(message, Failed | Broken):
            return message.model_copy(update={"error": self._redactor.redact(message.error)})
        if isinstance(message, Fitted):
            return message.model_copy(update={"failure": self._redactor.redact(message.failure)})
        return message

    def cpu_s(self) -> float | None:
        """Return the CPU time that the job has used up to now; None where it cannot be measured."""
        return self.meter.cpu_s()

    def isolation(self) -> dict[str, Any]:
        """Return what isolates the job from the jobs before and after it, seen from outside."""
        if self.hello is None:
            return {}
        reason = self.hello.left or "fork_safe is false"
        process = "forked from one import" if self.hello.forks else f"imports again: {reason}"
        return {"process": process, **self._isolation}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _free_mb(folder: int) -> float:
    """Return the space for more files where an open folder is, in MiB; 0 without room for names."""
    filesystem = os.fstatvfs(folder)
    if filesystem.f_files and not filesystem.f_favail:
        return 0.0
    return filesystem.f_bavail * filesystem.f_frsize / _MIB


WORKER_COMMAND = ("-s", "-B", "-m", "mdbench.worker")
"""Arguments of the method's Python: no user site, no bytecode written, and the worker's module."""

WORKER_PACKAGE = Path(__file__).resolve().parent.parent / "worker"
"""The folder of the worker's code."""

_START_SECONDS = 120.0
"""Seconds that an adapter may take to be imported."""
_THREAD_VARIABLES = (
    "OMP_NUM_THREADS",  # PyTorch, too
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "BLIS_NUM_THREADS",
    "NUMEXPR_NUM_THREADS",
    "NUMBA_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
    "RAYON_NUM_THREADS",
    "JULIA_NUM_THREADS",
    "PYTHON_JULIACALL_THREADS",
)
"""Variables that libraries read when they are loaded, which is when the worker starts."""
_KERNEL_VARIABLES = ("OPENBLAS_CORETYPE", "NPY_DISABLE_CPU_FEATURES", "GLIBC_TUNABLES")
"""Variables that make a processor compute as another one: methods get them, too."""
_T = TypeVar("_T")


def lay_out_worker(folder: Path, *, linked: bool = True) -> Path:
    """Make a folder for PYTHONPATH from which ``mdbench.worker`` is imported, and nothing else.

    It is a real folder, so that processes which a method starts find the module too.

    Parameters
    ----------
    folder
        Where to make it.
    linked
        Whether the worker's code is linked to; else there is an empty folder in its place.
    """
    path = folder / "path"
    package = path / "mdbench"
    package.mkdir(parents=True)
    (package / "__init__.py").touch()
    if linked:
        (package / "worker").symlink_to(WORKER_PACKAGE)
    else:
        (package / "worker").mkdir()
    # Whatever the user's umask: a job is somebody else.
    for made in (path, package, package / "worker"):
        if not made.is_symlink():
            made.chmod(0o755)
    (package / "__init__.py").chmod(0o644)
    return path


def worker_environment(threads: int, *, home: str, path: str) -> dict[str, str]:
    """Return the variables of a worker that are the same everywhere.

    Parameters
    ----------
    threads
        Threads that numerical libraries are to use.
    home
        Folder for what a method writes outside of any job.
    path
        Folder from which ``mdbench.worker`` is imported.
    """
    kernel = {name: os.environ[name] for name in _KERNEL_VARIABLES if name in os.environ}
    return (
        dict.fromkeys(_THREAD_VARIABLES, str(threads))
        | kernel
        | {
            "HOME": home,
            "TMPDIR": home,
            "PYTHONPATH": path,
            "PYTHONHASHSEED": "0",
            "PYTHONUTF8": "1",
            "LOGNAME": "nobody",  # no list of accounts has the number of a job's user
        }
    )


def worker_options(method: Method, output_mb: int) -> list[str]:
    """Return the worker's options that come from the method and its limits."""
    options = [f"--output-mb={output_mb}", *(f"--uses={name}" for name in method.spec.uses)]
    options += [f"--program={word}" for word in method.spec.program]
    if not method.spec.fork_safe:
        options.append("--no-fork")
    return options


def inside_paths(inside: str, names: Iterable[str]) -> dict[str, str]:
    """Return what the user's folders and files are called in a sandbox, by name."""
    return {name: f"{inside}/paths/{name}" for name in names}


def path_options(places: Mapping[str, str]) -> list[str]:
    """Return the worker's options for the user's folders and files."""
    return [f"--path={name}={place}" for name, place in places.items()]


def await_hello(worker: Worker, method: Method) -> None:
    """Wait until a new worker has imported its adapter; it is closed where it does not.

    Raises
    ------
    MethodError
        If the adapter cannot be imported; with the reason.
    UnavailableError
        If the adapter raises it at its import, or if what ran the worker is gone.
    """
    try:
        message = worker.receive(_START_SECONDS)
    except WorkerTimeoutError:
        worker.close()
        raise MethodError(
            f"{method.adapter} was not imported within {_START_SECONDS:.0f} s",
            "Move slow work from import time into fit().",
        ) from None
    except (WorkerGoneError, ProtocolError) as error:
        breach = worker.breach()
        worker.close()
        if isinstance(error, WorkerGoneError) and error.lost:
            raise UnavailableError(
                f"The worker of {method.name} was lost: {error}.",
                "The same command runs the job again.",
                passing=True,
            ) from None
        tail = worker.log.stray.decode(errors="replace").strip()
        raise MethodError(
            f"{method.adapter} cannot be {_begun(method)}: {breach.reason if breach else error}"
            + (f"\n{tail}" if tail else ""),
            f"To see more: mdbench check {method.name}",
        ) from None
    if isinstance(message, Broken):
        worker.close()
        if message.kind == "unavailable":
            raise UnavailableError(message.error)
        raise MethodError(
            f"{method.adapter} cannot be {_begun(method)}: {message.error}",
            f"Mend the adapter, then: mdbench check {method.name}",
        )
    if not isinstance(message, Hello) or message.protocol != PROTOCOL:
        worker.close()
        raise MethodError(f"{method.adapter}: its worker speaks another protocol: {message!r}")
    worker.hello = message


def _begun(method: Method) -> str:
    return "started" if method.spec.program else "imported"


def run_in_launcher_thread(call: Callable[[], _T]) -> _T:
    """Call from a thread that lives as long as this process, and return the result.

    The kernel ends a process that asked to die with its parent when the *thread* that started
    it ends.  What is started is pinned to the cores that are meant for it, if there are any.
    """
    cores = worker_cores()
    return _launcher().submit(_called, call, cores).result()


def _called(call: Callable[[], _T], cores: tuple[int, ...] | None) -> _T:
    if not cores:
        return call()
    before = os.sched_getaffinity(0)  # of this thread, which what it starts inherits
    try:
        os.sched_setaffinity(0, cores)
        return call()
    finally:
        os.sched_setaffinity(0, before)


@cache
def _launcher() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(1, thread_name_prefix="mdbench-launcher")


_READ = stat.S_IROTH
_ENTER = stat.S_IROTH | stat.S_IXOTH
_PASS = stat.S_IXOTH


def can_drop_privileges(whole: Iterable[Path], roots: Iterable[Path], *, same_place: bool) -> bool:
    """Whether root should let somebody without rights do the work.

    Parameters
    ----------
    whole
        Small folders, of which all is looked at.
    roots
        Environments, of which the top is looked at.
    same_place
        Whether they are found below the same folders then, which must let others pass.
    """
    if os.getuid() != 0:
        return False
    folders = [*whole, *roots]
    if same_place and not all(_has(each, _PASS) for one in folders for each in _above(one)):
        return False
    return all(map(_can_read_all, whole)) and all(
        _has(each, _ENTER) for one in roots for each in (one, one / "lib") if each.exists()
    )


def _above(folder: Path) -> set[Path]:
    return {*folder.absolute().parents, *folder.resolve().parents}


def _can_read_all(folder: Path) -> bool:
    for folder_below, _, files in os.walk(folder):
        if not _has(folder_below, _ENTER):
            return False
        if not all(_has(os.path.join(folder_below, name), _READ) for name in files):  # noqa: PTH118
            return False
    return True


def _has(path: str | Path, rights: int) -> bool:
    with suppress(OSError):
        return os.stat(path).st_mode & rights == rights  # noqa: PTH116
    return False
