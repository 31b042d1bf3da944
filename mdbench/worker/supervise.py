"""The worker's own side of a job: it forks the job's process, waits for its end, and clears up.

The worker adopts what a job leaves behind (it is a "subreaper"), so all that descends from a job
is found and ended, wherever it has gone.  Its standard input is a lease: when the host closes it,
or dies, the worker ends everything and itself.
"""

from __future__ import annotations

import ctypes
import os
import re
import select
import signal
import time
from contextlib import suppress
from typing import TYPE_CHECKING

from .emptying import FOLDER, remove, within
from .enclosing import Enclosure

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["Supervisor", "children", "die_with_parent", "hear_of_parents_end"]

_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36
_CLEAR_SECONDS = 2.0
_ROOM = ("/tmp", "/dev/shm")  # noqa: S108 - emptied only where they are the worker's own
_GONE = select.POLLHUP | select.POLLERR | select.POLLNVAL

# Loaded once, before any fork: in a fresh child it would take milliseconds.
_LIBC = ctypes.CDLL(None)


class Supervisor:
    """Runs one job's process at a time.

    Parameters
    ----------
    lease
        A descriptor; when its other end is closed, the worker has to go.
    own_pids
        Whether the worker is alone with its jobs in a process namespace and with the folders for
        temporary files: then it ends every process that it sees, and empties those folders.
    folder
        The folder of the jobs, where they may write nothing else.
    """

    def __init__(self, lease: int, *, own_pids: bool, folder: str | None = None) -> None:
        # A mistake here would end all that the user runs.
        self._own_pids = own_pids and os.getppid() == 1
        self._mounts = _mounts_below(_ROOM) if self._own_pids else ()
        own = _ROOM if self._own_pids and not self._mounts else ()
        self._enclosure = Enclosure(own, folder)
        self._lease = lease
        self._pid = 0
        with suppress(AttributeError):
            _LIBC.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
        self._woken, self._waker = os.pipe()
        os.set_blocking(self._woken, False)
        os.set_blocking(self._waker, False)
        signal.set_wakeup_fd(self._waker, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, _wake)
        signal.signal(signal.SIGUSR1, self._pass_on)
        signal.signal(signal.SIGUSR2, self._kill)
        self._orphaned = False
        signal.signal(signal.SIGTERM, self._be_orphaned)
        self._poll = select.poll()
        self._poll.register(self._woken, select.POLLIN)
        self._poll.register(lease, 0)

    def run(self, child: Callable[[], None]) -> int | None:
        """Fork, call `child` there, and wait until nothing of it is left.

        `child` must not return.

        Returns
        -------
        int or None
            Its exit status, or minus the signal that killed it; None to end the worker.
        """
        pid = os.fork()
        if pid == 0:
            try:
                self._become_a_child()
                die_with_parent()
                if self._enclosure.possible:
                    self._enclosure.enter(child)
                child()
            finally:
                os._exit(70)  # reached by an error alone
        self._pid = pid
        status = None
        while status is None:
            status = self._reap()
            if status is None and not self._wait():
                self._clear(all_=True)
                return None
        self._pid = 0
        self._clear(all_=False)
        return status

    def _become_a_child(self) -> None:
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        signal.signal(signal.SIGUSR1, signal.SIG_IGN)
        for number in (signal.SIGUSR2, signal.SIGTERM):
            signal.signal(number, signal.SIG_DFL)
        os.close(self._woken)
        os.close(self._waker)

    def _wait(self) -> bool:
        """Wait until a child has ended; False if the host has gone."""
        for descriptor, events in self._poll.poll():
            if descriptor == self._lease and events & _GONE:
                return False
            if descriptor == self._woken:
                with suppress(BlockingIOError):
                    os.read(self._woken, 4096)
        return not self._orphaned

    def _reap(self) -> int | None:
        """Take leave of children that have ended, up to the job's process; give its status."""
        with suppress(ChildProcessError):
            while True:
                pid, status = os.waitpid(-1, os.WNOHANG)
                if pid == 0:
                    break
                if pid == self._pid:
                    return os.waitstatus_to_exitcode(status)
        return None

    def _clear(self, *, all_: bool) -> None:
        """End all that a job has left, and empty the folders that it could write."""
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
        if self._own_pids and not all_:
            for folder in _ROOM:
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

    def _pass_on(self, number: int, _frame: object) -> None:
        if self._pid:
            with suppress(ProcessLookupError):
                os.kill(self._pid, number)

    def _be_orphaned(self, _number: int, _frame: object) -> None:
        self._orphaned = True  # somebody may hold the lease in the host's place

    def _kill(self, _number: int, _frame: object) -> None:
        if self._pid:
            with suppress(ProcessLookupError):
                os.kill(self._pid, signal.SIGKILL)


def die_with_parent() -> None:
    """Ask the kernel (Linux) to end this process when the thread that started it ends."""
    parent = os.getppid()
    with suppress(AttributeError):
        _LIBC.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
        if os.getppid() != parent:
            os._exit(1)


def hear_of_parents_end() -> None:
    """Be told of it instead, by a signal that the supervisor takes: first all others are ended."""
    with suppress(AttributeError):
        _LIBC.prctl(_PR_SET_PDEATHSIG, signal.SIGTERM, 0, 0, 0)


def _wake(_number: int, _frame: object) -> None:
    """Do nothing: the descriptor for waking has been written."""


def children() -> list[int]:
    """Give the processes that this one has started, or was given when their parents ended."""
    found: list[int] = []
    for task in os.listdir("/proc/self/task"):
        with suppress(OSError), open(f"/proc/self/task/{task}/children", encoding="ascii") as file:  # noqa: PTH123
            found.extend(int(pid) for pid in file.read().split())
    return found


def _mounts_below(folders: tuple[str, ...]) -> tuple[str, ...]:
    """Give what the host has mounted below folders, such as an environment that is kept there."""
    found = []
    with suppress(OSError), open("/proc/self/mountinfo", encoding="utf-8") as file:  # noqa: PTH123
        for line in file:
            place = re.sub(r"\\(\d{3})", lambda code: chr(int(code[1], 8)), line.split()[4])
            if place.startswith(tuple(f"{folder}/" for folder in folders)):
                found.append(place)
    return tuple(found)


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
