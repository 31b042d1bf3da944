"""Processes of a worker from Linux's /proc, the cores that they are pinned to, and their output.

Processes have names here, by which what they leave behind is known as theirs.
"""

from __future__ import annotations

import fcntl
import os
import signal
import socket
import tempfile
import threading
import time
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from mdbench.worker.leftovers import open_folder

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator

JOB_UIDS = range(61184, 65520)
"""Users that no account has, for jobs: service managers draw dynamic users from the same range.

Each worker draws one: what the kernel counts for a user, such as pages in pipes, is then not
counted for the jobs of two workers together.
"""
TREE_MARK = "MDBENCH_TREE"
"""An environment variable that all processes of a worker inherit: its value names the worker."""

_PAGE_MB = os.sysconf("SC_PAGE_SIZE") / 2**20
_TICK = 1 / os.sysconf("SC_CLK_TCK")
_BLOCK = 2**16
_KILL_SECONDS = 1.0
_STOP_SECONDS = 0.5


def children(pid: int) -> list[int]:
    """Return the processes that one has started, or was given when their parent ended."""
    pids: list[int] = []
    try:
        tasks = os.listdir(f"/proc/{pid}/task")
    except OSError:
        return pids
    for task in tasks:
        with suppress(OSError):
            pids.extend(map(int, read_file(f"/proc/{pid}/task/{task}/children").split()))
    return pids


def tree(pid: int) -> list[int]:
    """Return all that descend from a process, without itself."""
    pids: list[int] = []
    pending = [pid]
    while pending:
        below = children(pending.pop())
        pids.extend(below)
        pending.extend(below)
    return pids


def namespaced_children(worker: int) -> list[int]:
    """Return the children of a worker below which is a process namespace, the oldest first.

    The first is the job's, if one is running; another waits for the next job.
    """
    pids = []
    depth = len(_status(worker, "NSpid"))
    for pid in children(worker):
        first = next(iter(children(pid)), 0)
        # One whose job has gone may take a moment more to end.
        if first and children(first) and len(_status(first, "NSpid")) > depth:
            pids.append(pid)
    return pids


def job_processes(worker: int) -> list[int]:
    """Return all descendants of a worker, except those made in advance for the next job.

    Only a worker can make namespaces: what is in none may be anything that a job has left.
    """
    for pid in namespaced_children(worker):
        return [pid, *tree(pid)]
    return tree(worker)


def memory_mb(pid: int) -> float:
    """Return the resident memory of a process, in MiB; 0 if it has ended."""
    try:
        return int(read_file(f"/proc/{pid}/statm").split()[1]) * _PAGE_MB
    except (OSError, IndexError):
        return 0.0


def peak_memory_mb(pid: int) -> float:
    """Return the most resident memory that a process has had, in MiB; 0 if it has ended."""
    with suppress(OSError, ValueError, IndexError):
        text = read_file(f"/proc/{pid}/status")
        return int(text.partition(b"VmHWM:")[2].split(maxsplit=1)[0]) / 1024
    return 0.0


def cpu_s(pid: int) -> tuple[float, float]:
    """Return the CPU seconds of a process, and of its reaped descendants."""
    with suppress(OSError, ValueError, IndexError):
        text = read_file(f"/proc/{pid}/stat")
        user, system, below, below_system = map(int, text.rpartition(b")")[2].split()[11:15])
        return (user + system) * _TICK, (below + below_system) * _TICK
    return 0.0, 0.0


def threads(pid: int) -> int:
    """Return how many threads a process has; 0 if it has ended."""
    try:
        return len(os.listdir(f"/proc/{pid}/task"))
    except OSError:
        return 0


def isolation(worker: int) -> dict[str, bool]:
    """Return what keeps the job apart that a worker has just begun.

    Returns
    -------
    dict of bool
        ``namespaces``: whether it has its own; ``system_calls``: whether some are refused to it;
        ``nobody``: whether it runs as the user without rights.  Empty if it has ended already.
    """
    own = bool(namespaced_children(worker))
    job = next(iter(namespaced_children(worker) or children(worker)), 0)
    if own:
        first = next(iter(children(job)), 0)
        job = next(iter(children(first)), first)
    filtered = _status(job, "Seccomp")
    if not filtered:
        return {}
    return {
        "namespaces": own,
        "system_calls": filtered == ["2"],
        "nobody": any(int(uid) in JOB_UIDS for uid in _status(job, "Uid")[:1]),
    }


def _status(pid: int, name: str) -> list[str]:
    """Return the values of one line of a process's status; none if it has ended."""
    with suppress(OSError):
        text = read_file(f"/proc/{pid}/status").decode("utf-8", "replace")
        return text.partition(f"\n{name}:")[2].partition("\n")[0].split()
    return []


def read_file(path: str) -> bytes:
    """Read a file of the kernel's: many a second are, and ``open`` takes four times as long."""
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        data = os.read(descriptor, _BLOCK)
        while block := os.read(descriptor, _BLOCK):
            data += block
        return data
    finally:
        os.close(descriptor)


def kill_tree(root: int) -> None:
    """Kill all that descend from a process by now, until nothing is left of it.

    Neither the process itself nor what it starts again.
    """
    end = time.monotonic() + _KILL_SECONDS
    pids = set(tree(root))
    while (alive := [pid for pid in pids if _runs(pid)]) and time.monotonic() < end:
        _kill(alive)
        for pid in alive:
            pids.update(tree(pid))


def pause_job(root: int) -> tuple[set[int], bool]:
    """Stop all processes of a worker's job, until none of them runs and none is new.

    Returns
    -------
    tuple of set of int and bool
        The processes stopped now, and whether all are stopped: not so where one may not be
        signalled, or goes on for half a second.
    """
    end = time.monotonic() + _STOP_SECONDS
    stopped: set[int] = set()
    before: set[int] | None = None
    while True:
        pids = set(job_processes(root))
        running = {pid for pid in pids if not _is_stopped(pid)}
        if not running and pids == before:
            return stopped, True
        if time.monotonic() > end:
            return stopped, False
        for pid in running:
            with suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGSTOP)
                stopped.add(pid)
        if running:
            time.sleep(0.001)
        before = pids


def is_job_paused(root: int) -> bool:
    """Whether none of the processes of a worker's job runs."""
    return all(map(_is_stopped, job_processes(root)))


def resume_all(pids: set[int]) -> None:
    """Continue processes that were stopped."""
    for pid in pids:
        with suppress(ProcessLookupError, PermissionError):
            os.kill(pid, signal.SIGCONT)


def kill_marked(mark: str) -> None:
    """Kill every process of ours that carries a worker's mark, wherever it has gone."""
    end = time.monotonic() + _KILL_SECONDS
    pids = set(_marked(mark))
    # One that is ending has lost its mark already, and still runs.
    while (alive := [pid for pid in pids if _runs(pid)]) and time.monotonic() < end:
        _kill(alive)
        pids.update(_marked(mark))


def _runs(pid: int) -> bool:
    try:
        text = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return False
    return text.rpartition(")")[2].split()[0] not in "ZX"


def _is_stopped(pid: int) -> bool:
    """Whether no thread of a process runs; its first one may have ended before the others."""
    try:
        tasks = os.listdir(f"/proc/{pid}/task")
    except OSError:
        return True
    for task in tasks:
        with suppress(OSError):
            text = Path(f"/proc/{pid}/task/{task}/stat").read_text(
                encoding="utf-8", errors="replace"
            )
            if text.rpartition(")")[2].split()[0] not in "TtZXx":
                return False
    return True


def _marked(mark: str) -> list[int]:
    wanted = f"{TREE_MARK}={mark}".encode()
    pids = []
    for name in os.listdir("/proc"):
        if name.isdigit():
            with suppress(OSError):
                if wanted in Path(f"/proc/{name}/environ").read_bytes().split(b"\0"):
                    pids.append(int(name))
    return pids


def _kill(pids: list[int]) -> None:
    for number in (signal.SIGSTOP, signal.SIGKILL):  # stopped first, so that none forks on
        for pid in pids:
            with suppress(ProcessLookupError, PermissionError):
                os.kill(pid, number)
    time.sleep(0.002)


_own = threading.local()


@contextmanager
def pin_workers_to(numbers: tuple[int, ...]) -> Iterator[None]:
    """Pin the workers that this thread starts meanwhile to cores; to none if empty."""
    _own.numbers = numbers
    try:
        yield
    finally:
        del _own.numbers


def worker_cores() -> tuple[int, ...] | None:
    """Return the cores that workers of this thread are to be pinned to; None if unset."""
    numbers: tuple[int, ...] | None = getattr(_own, "numbers", None)
    return numbers


class Cores:
    """Some cores, claimed until `release` or until this process ends.

    Parameters
    ----------
    count
        How many are wanted.

    Attributes
    ----------
    numbers
        Their numbers; empty where so many are not free, and then none are claimed.
    """

    def __init__(self, count: int) -> None:
        self.numbers: tuple[int, ...] = ()
        self._claims: dict[int, int] = {}
        with suppress(OSError):  # such as a folder that cannot be written
            self._claim(count)
        if len(self._claims) < count:
            self.release()
        self.numbers = tuple(self._claims)

    def _claim(self, count: int) -> None:
        folder = Path(tempfile.gettempdir()) / f"mdbench-cores-{os.getuid()}"
        folder.mkdir(mode=0o700, exist_ok=True)
        for number in sorted(os.sched_getaffinity(0)):
            if len(self._claims) == count:
                return
            file = os.open(folder / str(number), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                os.close(file)
            else:
                self._claims[number] = file

    def release(self) -> None:
        """Release them for others."""
        while self._claims:
            _, file = self._claims.popitem()
            os.close(file)
        self.numbers = ()


DEEPEST = 64
"""Folders within folders that a job may make."""
_CHECK_SECONDS = 0.1
"""Seconds that one check may take; a folder that takes longer is counted in several."""
_LEAST = 4096
"""Bytes that an entry counts at least, so that their number has a limit, too."""


class DiskQuota:
    """Adds up what is in a job's folder.

    Parameters
    ----------
    folder
        The folder, open: what is outside it, or behind a link, is not counted.
    most_mb
        What may be in it, in MiB.
    """

    def __init__(self, folder: int, most_mb: int) -> None:
        self._folder = folder
        self._most_mb = most_mb
        self._found = 0
        self._walk = _walk(folder)

    def check(self) -> str:
        """Count on for a moment; return what is too much, as soon as it is known."""
        end = time.monotonic() + _CHECK_SECONDS
        try:
            for size in self._walk:
                self._found += size
                if self._found > self._most_mb * 2**20:
                    found = self._found / 2**20
                    return f"wrote {found:.0f} MiB; {self._most_mb} MiB are allowed"
                if time.monotonic() > end:
                    return ""
        except _TooDeepError:
            return f"nested its folders more than {DEEPEST} deep"
        self._found = 0
        self._walk = _walk(self._folder)
        return ""

    def close(self) -> None:
        """Close the folders that a check has left open."""
        self._walk.close()


class _TooDeepError(Exception):
    """There is no end of folders in folders."""


def _walk(folder: int) -> Generator[int, None, None]:
    """Return the bytes that each entry takes on the disk; links are not followed."""
    open_folders: list[int] = []
    pending: list[Iterator[os.DirEntry[str]]] = []
    try:
        open_folders.append(os.dup(folder))
        pending.append(_entries(open_folders[-1]))
        while pending:
            entry = next(pending[-1], None)
            if entry is None:
                pending.pop()
                os.close(open_folders.pop())
                continue
            size = 0
            with suppress(OSError):
                size = entry.stat(follow_symlinks=False).st_blocks * 512
            yield max(size, _LEAST)
            if not entry.is_dir(follow_symlinks=False):
                continue
            if len(pending) > DEEPEST:
                raise _TooDeepError
            below = open_folder(open_folders[-1], entry.name)
            if below is not None:
                open_folders.append(below)
                pending.append(_entries(below))
    finally:
        for each in open_folders:
            os.close(each)


def _entries(folder: int) -> Iterator[os.DirEntry[str]]:
    with suppress(OSError), os.scandir(folder) as entries:
        yield from entries


def owner() -> str:
    """Name this process, so that no other one will ever have the name."""
    return f"{_machine()} {os.getpid()} {_start_of(os.getpid())}"


def is_orphan(name: str) -> bool:
    """Whether a process of this machine, as `owner` named it, has ended."""
    machine, _, rest = name.partition(" ")
    pid, _, start = rest.partition(" ")
    return machine == _machine() and pid.isdigit() and _start_of(int(pid)) != start


def _machine() -> str:
    """Name the machine since it was started, and the process namespace that numbers are of."""
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
        return f"{boot}:{Path('/proc/self/ns/pid').stat().st_ino}"
    except OSError:
        return socket.gethostname()


def _start_of(pid: int) -> str:
    try:
        text = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
    return text.rpartition(")")[2].split()[19]
