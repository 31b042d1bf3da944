"""The worker's own side of a job: it forks the job's process, waits for its end, and clears up.

The worker adopts what a job leaves behind (it is a "subreaper"), so all that descends from a job
is found and ended, wherever it has gone.  Its standard input is a lease: when the host closes it,
or dies, the worker ends everything and itself.
"""

from __future__ import annotations

import ctypes
import fcntl
import os
import re
import select
import signal
import stat
import struct
import time
from contextlib import suppress
from typing import TYPE_CHECKING

from .leftovers import FOLDER, remove, within
from .sandbox import STATUS, Sandbox

if TYPE_CHECKING:
    from collections.abc import Callable

_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36
_CLEAR_SECONDS = 2.0
_TEMPORARY = ("/tmp", "/dev/shm")  # noqa: S108 - emptied only where they are the worker's own
_GONE = select.POLLHUP | select.POLLERR | select.POLLNVAL

# Loaded once, before any fork: in a fresh child it would take milliseconds.
_LIBC = ctypes.CDLL(None)


class _JobProcess:
    """A process that has been forked for a job and waits for its turn.

    Attributes
    ----------
    pid
        The process.
    name_fd
        A descriptor from which the job's name comes, once it is known.
    status_fd
        A descriptor from which the exit status of a job in namespaces comes.
    """

    def __init__(self) -> None:
        self._start_read, self._start_write = os.pipe()
        self.name_fd, self._name_write = os.pipe()
        self.status_fd, self._status_write = os.pipe()
        for each in (self.name_fd, self.status_fd):
            os.set_blocking(each, False)
        self.pid = 0
        self.job = ""

    def child_ends(self) -> tuple[int, int, int]:
        """Return the child's ends: for the start, the job's name and its exit status."""
        self.close()
        return self._start_read, self._name_write, self._status_write

    def keep_parent_ends(self, pid: int) -> None:
        """Close all but the parent's ends."""
        self.pid = pid
        for each in (self._start_read, self._name_write, self._status_write):
            os.close(each)

    def discard(self) -> None:
        """Close all ends: there is no process."""
        self.close()
        for each in (self._start_read, self._name_write, self._status_write):
            os.close(each)

    def start(self) -> None:
        """Start the next job; the process may have died meanwhile."""
        with suppress(BrokenPipeError):
            os.write(self._start_write, b".")

    def read_name(self) -> str:
        """Return the job's name once it is known; else empty."""
        with suppress(BlockingIOError):
            self.job = self.job or os.read(self.name_fd, 4096).decode()
        return self.job

    def status(self) -> int | None:
        """Return the exit status of a job in namespaces; None if it is not known yet."""
        with suppress(BlockingIOError, struct.error):
            status: int = STATUS.unpack(os.read(self.status_fd, STATUS.size))[0]
            return status
        return None

    def close(self) -> None:
        """Close the parent's ends."""
        for each in (self._start_write, self.name_fd, self.status_fd):
            os.close(each)


class Supervisor:
    """Runs one job at a time; where jobs have namespaces, the next one's process is made ahead.

    What is made ahead waits in namespaces of its own, where no job can reach it; and what a job
    leaves is in the job's.

    Parameters
    ----------
    lease
        A descriptor; when its other end is closed, the worker has to go.
    own_pids
        Whether the worker is alone with its jobs in a process namespace and with the folders for
        temporary files: then it ends every process that it sees, and empties those folders.
    folder
        The folder that holds those of the jobs, where they may write nothing else.
    streams
        The descriptors that all jobs share with the worker: what one of them changes about these
        files is undone before the next.
    """

    def __init__(
        self,
        lease: int,
        *,
        own_pids: bool,
        folder: str | None = None,
        streams: tuple[int, ...] = (),
    ) -> None:
        # A mistake here would end all that the user runs.
        self._own_pids = own_pids and os.getppid() == 1
        self._mounts = _mounts_below(_TEMPORARY) if self._own_pids else ()
        self.sandbox = Sandbox(_TEMPORARY if self._own_pids else (), folder, self._mounts)
        self._streams = [_Stream(each) for each in streams]
        self._lease = lease
        self._pid = 0
        self._current: _JobProcess | None = None
        self._prepared: _JobProcess | None = None
        with suppress(AttributeError):
            _LIBC.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
        self._woken, self._waker = os.pipe()
        os.set_blocking(self._woken, False)
        os.set_blocking(self._waker, False)
        signal.set_wakeup_fd(self._waker, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, _wake)
        signal.signal(signal.SIGUSR1, self._forward_signal)
        signal.signal(signal.SIGUSR2, self._kill)
        self._orphaned = False
        signal.signal(signal.SIGTERM, self._mark_orphaned)
        self._poll = select.poll()
        self._poll.register(self._woken, select.POLLIN)
        self._poll.register(lease, 0)

    def run(self, child: Callable[[int, int], None], *, has_next: bool) -> tuple[int, str] | None:
        """Fork, call `child` there, and wait until nothing of it is left.

        Parameters
        ----------
        child
            Given a descriptor, from which something comes when it is its turn, and another, to
            which it writes the name of its job; must not return.
        has_next
            Whether there may be another job.

        Returns
        -------
        tuple of int and str, or None
            Its exit status, or minus the signal that killed it, and the name of its job, empty if
            it had none; None to end the worker.
        """
        self._reap()
        self._current, self._prepared = self._prepared or self._fork_in_time(child), None
        process = self._current
        process.start()
        self._pid = process.pid
        self._poll.register(process.name_fd, select.POLLIN)
        self._poll.register(process.status_fd, select.POLLIN)
        status = None
        while status is None:
            if (status := process.status()) is not None:
                break
            if (status := self._reap()) is not None:
                # It had no namespaces, or was killed before it could report.
                self.clear(all_=False)
            elif not self._wait():
                self.clear(all_=True)
                return None
            elif (
                process.read_name()
                and self._prepared is None
                and has_next
                and self.sandbox.possible
            ):
                with suppress(BlockingIOError):  # the job has all processes that there may be
                    self._prepared = self._fork(child)
        self._pid = 0
        job = process.read_name()
        self._current = None
        for each in (process.name_fd, process.status_fd):
            with suppress(KeyError):
                self._poll.unregister(each)
        process.close()
        self._drain_orders()
        for stream in self._streams:
            stream.restore()
        return status, job

    def _drain_orders(self) -> None:
        """Read what the job was not there to read, or has written for the next one to read."""
        orders = select.poll()
        orders.register(self._lease, select.POLLIN)
        while any(events & select.POLLIN for _, events in orders.poll(0)):
            if not os.read(self._lease, 65536):
                return

    def _fork_in_time(self, child: Callable[[int, int], None]) -> _JobProcess:
        """Fork, waiting for what a job that is being ended has left no room for."""
        until = time.monotonic() + _CLEAR_SECONDS
        while True:
            try:
                return self._fork(child)
            except BlockingIOError:
                if time.monotonic() > until:
                    raise
                self._reap()
                time.sleep(0.005)

    def _fork(self, child: Callable[[int, int], None]) -> _JobProcess:
        process = _JobProcess()
        try:
            pid = os.fork()
        except BlockingIOError:
            process.discard()
            raise
        if pid:
            process.keep_parent_ends(pid)
            return process
        try:
            start_fd, name_fd, status_fd = process.child_ends()
            self._become_a_child()
            set_pdeathsig()
            if self.sandbox.possible:
                self.sandbox.enter(lambda: child(start_fd, name_fd), status_fd)
            os.close(status_fd)
            child(start_fd, name_fd)
        finally:
            os._exit(70)  # reached by an error alone

    def _become_a_child(self) -> None:
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        signal.signal(signal.SIGUSR1, signal.SIG_IGN)
        for number in (signal.SIGUSR2, signal.SIGTERM):
            signal.signal(number, signal.SIG_DFL)
        os.close(self._woken)
        os.close(self._waker)
        if self._current is not None:
            self._current.close()

    def _wait(self) -> bool:
        """Wait until a child has ended; False if the host has gone."""
        for descriptor, events in self._poll.poll():
            if descriptor == self._lease and events & _GONE:
                return False
            if descriptor == self._woken:
                with suppress(BlockingIOError):
                    os.read(self._woken, 4096)
            elif descriptor != self._lease:
                self._poll.unregister(descriptor)  # nothing, or one thing, comes from it
        return not self._orphaned

    def _reap(self) -> int | None:
        """Reap children that have ended, up to the job's process; return its status."""
        with suppress(ChildProcessError):
            while True:
                pid, status = os.waitpid(-1, os.WNOHANG)
                if pid == 0:
                    break
                if pid == self._pid:
                    return os.waitstatus_to_exitcode(status)
                if self._prepared is not None and pid == self._prepared.pid:
                    self._drop_prepared()
        return None

    def _drop_prepared(self) -> None:
        if self._prepared is not None:
            self._prepared.close()
            self._prepared = None

    def clear(self, *, all_: bool) -> None:
        """End all but this process, and empty the folders that a job could write."""
        until = time.monotonic() + _CLEAR_SECONDS
        while time.monotonic() < until:
            try:
                pid, _ = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                break
            if not pid:
                self._kill_all()
                time.sleep(0.001)
        else:
            os._exit(71)  # what does not die is the host's to end, with this worker
        self._drop_prepared()
        if self._own_pids and not all_:
            for folder in _TEMPORARY:
                _empty(folder, self._mounts)

    def _kill_all(self) -> None:
        if self._own_pids:
            with suppress(ProcessLookupError):
                os.kill(-1, signal.SIGKILL)  # all in this namespace but its first and this one
            return
        for number in (signal.SIGSTOP, signal.SIGKILL):
            for pid in children():
                with suppress(ProcessLookupError, PermissionError):
                    os.kill(pid, number)

    def _forward_signal(self, number: int, _frame: object) -> None:
        if self._pid:
            with suppress(ProcessLookupError):
                os.kill(self._pid, number)

    def _mark_orphaned(self, _number: int, _frame: object) -> None:
        self._orphaned = True  # somebody may hold the lease in the host's place

    def _kill(self, _number: int, _frame: object) -> None:
        if self._pid:
            with suppress(ProcessLookupError):
                os.kill(self._pid, signal.SIGKILL)


class _Stream:
    """A pipe that all jobs of a worker have open, with all that one of them can change about it."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._mode = stat.S_IMODE(os.fstat(descriptor).st_mode)
        self._flags = fcntl.fcntl(descriptor, fcntl.F_GETFL)
        self._size = 0
        with suppress(OSError):  # no pipe
            self._size = fcntl.fcntl(descriptor, fcntl.F_GETPIPE_SZ)

    def restore(self) -> None:
        """Undo what a job has changed; where it is another user's, a job cannot either."""
        fcntl.fcntl(self._descriptor, fcntl.F_SETFL, self._flags)
        for change in (
            lambda: os.fchmod(self._descriptor, self._mode),
            lambda: os.utime(self._descriptor, (0, 0)),
            lambda: self._size and fcntl.fcntl(self._descriptor, fcntl.F_SETPIPE_SZ, self._size),
        ):
            with suppress(OSError):
                change()


def set_pdeathsig(number: int = signal.SIGKILL) -> None:
    """Make the kernel (Linux) send a signal to this process when the thread that started it ends.

    Exits at once if that has happened already.
    """
    parent = os.getppid()
    with suppress(AttributeError):
        _LIBC.prctl(_PR_SET_PDEATHSIG, number, 0, 0, 0)
        if os.getppid() != parent:
            os._exit(1)


def _wake(_number: int, _frame: object) -> None:
    """Do nothing: the descriptor for waking has been written."""


def children() -> list[int]:
    """Return the processes that this one has started, or was given when their parents ended."""
    pids: list[int] = []
    for task in os.listdir("/proc/self/task"):
        with suppress(OSError), open(f"/proc/self/task/{task}/children", encoding="ascii") as file:  # noqa: PTH123
            pids.extend(int(pid) for pid in file.read().split())
    return pids


def _mounts_below(folders: tuple[str, ...]) -> tuple[str, ...]:
    """Return what the host has mounted below folders, such as an environment that is kept there."""
    mounts = []
    with suppress(OSError), open("/proc/self/mountinfo", encoding="utf-8") as file:  # noqa: PTH123
        for line in file:
            place = re.sub(r"\\(\d{3})", lambda code: chr(int(code[1], 8)), line.split()[4])
            if place.startswith(tuple(f"{folder}/" for folder in folders)):
                mounts.append(place)
    return tuple(mounts)


def _empty(folder: str, mounts: tuple[str, ...]) -> None:
    """Remove all that is in a folder, but for mounts, which take long to walk in vain."""
    with suppress(OSError):
        opened = os.open(folder, FOLDER)
        try:
            with os.scandir(folder) as entries:
                for entry in entries:
                    if entry.path in mounts:
                        continue
                    if any(place.startswith(f"{entry.path}/") for place in mounts):
                        _empty(entry.path, mounts)
                    else:
                        remove(opened, entry.name, within(_CLEAR_SECONDS))
        finally:
            os.close(opened)
