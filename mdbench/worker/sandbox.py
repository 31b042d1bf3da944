"""A job's own namespaces: of processes, of what they share in memory, and of mounts.

Where the kernel lets everybody make them, a job sees no process but its own, and nothing that it
writes outside of its folder is there for the next one.  Two processes stand between worker and
job: one waits outside, the other is the first of the new namespace; when that goes, all go.
"""

from __future__ import annotations

import ctypes
import os
import signal
import struct
from contextlib import suppress
from typing import TYPE_CHECKING, NoReturn

if TYPE_CHECKING:
    from collections.abc import Callable

_NEW = 0x20000 | 0x08000000 | 0x10000000 | 0x20000000
"""Mounts, IPC, user and PID."""
_NOSUID, _NODEV, _NOEXEC, _BIND, _RECURSIVE, _PRIVATE = 2, 4, 8, 4096, 16384, 1 << 18
_DETACH = 2
_MOUNT_SETATTR = 442
_HERE, _AT_RECURSIVE, _READ_ONLY = -100, 0x8000, 1
_PR_SET_PDEATHSIG, _PR_SET_DUMPABLE, _PR_SET_NO_NEW_PRIVS = 1, 4, 38
_CAPABILITIES = 0x20080522
_SETFCAP = 1 << 31
"""Without it a namespace in which the user is root cannot be made."""
_TEMPORARY = b"mode=1777,size=256m"
_COVERED = (b"/proc/sys", b"/proc/sysrq-trigger", b"/proc/irq", b"/proc/bus")
STATUS = struct.Struct("i")
"""How it is written how a job ended: its exit status, or minus the signal that killed it."""

_LIBC = ctypes.CDLL(None, use_errno=True)


class Sandbox:
    """Gives jobs namespaces of their own, where that is possible.

    Parameters
    ----------
    temporary
        Folders that are the worker's own: a job has empty ones there.  Where there are none, they
        are the machine's, and all of it is read-only for a job but the folder of the jobs.
    folder
        The folder of the jobs.

    Attributes
    ----------
    possible
        Whether it works here: tried once.
    """

    def __init__(self, temporary: tuple[str, ...], folder: str | None) -> None:
        self._temporary = temporary
        self._folder = folder
        self.possible = bool(temporary or folder) and self._try()

    def _try(self) -> bool:
        read_fd, status_fd = os.pipe()
        pid = os.fork()
        if pid:
            os.close(status_fd)
            os.waitpid(pid, 0)
            with os.fdopen(read_fd, "rb") as file:
                return file.read() == STATUS.pack(0)
        try:
            self.enter(lambda: os._exit(0), status_fd)
        finally:
            os._exit(1)

    def enter(self, job: Callable[[], None], status_fd: int) -> NoReturn:
        """Call what must not return in namespaces of its own.

        Parameters
        ----------
        job
            What is called.
        status_fd
            A descriptor to which is written how it ended, once all in the namespaces has gone: what
            the kernel clears up then takes longer than many a job, and nobody has to wait for it.
            Nothing is written if the process that would was killed.

        Raises
        ------
        OSError
            If it is not possible after all.
        """
        set_dumpable(dumpable=True)  # or its own files in /proc could not be written
        user, group = os.getuid(), os.getgid()
        _checked(_LIBC.unshare(_NEW))
        _write("/proc/self/setgroups", "deny")
        _write("/proc/self/uid_map", f"{user} {user} 1")
        _write("/proc/self/gid_map", f"{group} {group} 1")
        pid = os.fork()
        if pid == 0:
            try:
                self._run_init(job, status_fd)
            finally:
                os._exit(70)
        os.close(status_fd)
        _forward_signals(pid, signal.SIGUSR1)
        if os.waitpid(pid, 0)[1]:
            os.kill(os.getpid(), signal.SIGKILL)  # its job's status is not known
        os._exit(0)

    def _run_init(self, job: Callable[[], None], status_fd: int) -> None:
        """Be the first process of the namespace: look after all others until the job's ends."""
        _LIBC.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
        self._mount_all()
        pid = os.fork()
        if pid == 0:
            os.close(status_fd)
            drop_capabilities()
            job()
            os._exit(70)  # not reached
        _forward_signals(pid, signal.SIGUSR1)
        code = None
        with suppress(ChildProcessError):  # until there is nobody left to wait for
            while True:
                ended, status = os.wait()
                if ended == pid:
                    code = os.waitstatus_to_exitcode(status)
                    if os.getpid() == 1:  # a mistake here would end all that the user runs
                        with suppress(ProcessLookupError):
                            os.kill(-1, signal.SIGKILL)
        os.write(status_fd, STATUS.pack(code))
        os._exit(0)

    def _mount_all(self) -> None:
        _mount(b"none", b"/", b"", _RECURSIVE | _PRIVATE)
        if self._temporary:
            for place in self._temporary:
                _mount(b"tmpfs", place.encode(), b"tmpfs", _NOSUID | _NODEV, _TEMPORARY)
        elif self._folder is not None:
            folder = os.fsencode(self._folder)
            _set(b"/", _AT_RECURSIVE, on=_READ_ONLY)
            _mount(folder, folder, b"", _BIND)
            _set(folder, 0, off=_READ_ONLY)
            _mount(b"tmpfs", b"/dev/shm", b"tmpfs", _NOSUID | _NODEV, _TEMPORARY)
        _mount(b"proc", b"/proc", b"proc", _NOSUID | _NODEV | _NOEXEC)


def run_container_init() -> None:
    """Be the first process of a container where this is it; comes back in a second one.

    The engine has one to offer, but its memory is open to all jobs.
    """
    if os.getpid() != 1:
        return
    pid = os.fork()
    if pid == 0:
        return
    _forward_signals(pid, signal.SIGUSR1, signal.SIGUSR2, signal.SIGTERM)
    while True:
        ended, status = os.wait()
        if ended == pid:
            code = os.waitstatus_to_exitcode(status)
            os._exit(code if code >= 0 else 128 - code)


def set_dumpable(*, dumpable: bool) -> None:
    """Set whether other processes of the same user may read or change this one's memory."""
    with suppress(AttributeError):
        _LIBC.prctl(_PR_SET_DUMPABLE, int(dumpable), 0, 0, 0)


def drop_capabilities(keep: int = 0) -> None:
    """Give up the capabilities of root, for good; but for a few that are named by bits."""
    with suppress(AttributeError):
        _LIBC.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
        head = struct.pack("II", _CAPABILITIES, 0)
        low, high = keep & 0xFFFFFFFF, keep >> 32
        body = struct.pack("6I", low, low, 0, high, high, 0)
        _LIBC.capset(head, body)


def drop_privileges(user: int, *, own_mounts: bool) -> None:
    """Go on as a user without rights.

    Parameters
    ----------
    user
        The number of the user, and of the group.
    own_mounts
        Whether mounts are this process's own: then what hides parts of /proc from root is taken
        away, since else the kernel lets nobody mount another.
    """
    for place in _COVERED if own_mounts else ():
        _LIBC.umount2(place, _DETACH)
    os.setgroups([])
    os.setresgid(user, user, user)
    os.setresuid(user, user, user)


def drop_most_capabilities() -> None:
    """Give up all capabilities, but that by which root makes a namespace for its jobs."""
    drop_capabilities(_SETFCAP if os.getuid() == 0 else 0)


def _forward_signals(pid: int, *signals: int) -> None:
    """Be no way in or out for a process, to which the signals are passed on."""

    def pass_on(number: int, _frame: object) -> None:
        with suppress(ProcessLookupError):
            os.kill(pid, number)

    for number in signals:
        signal.signal(number, pass_on)
    drop_capabilities()
    set_dumpable(dumpable=False)


def _mount(source: bytes, target: bytes, kind: bytes, flags: int, more: bytes = b"") -> None:
    _checked(_LIBC.mount(source, target, kind, ctypes.c_ulong(flags), more))


def _set(target: bytes, flags: int, *, on: int = 0, off: int = 0) -> None:
    attributes = struct.pack("4Q", on, off, 0, 0)
    _checked(
        _LIBC.syscall(
            _MOUNT_SETATTR, _HERE, target, flags, attributes, ctypes.c_size_t(len(attributes))
        )
    )


def _checked(result: int) -> None:
    if result:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))


def _write(path: str, text: str) -> None:
    with open(path, "w", encoding="ascii") as file:  # noqa: PTH123
        file.write(text)
