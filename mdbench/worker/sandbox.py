"""A job's sandbox: namespaces of its own, and a filter of system calls (seccomp).

Where the kernel lets everybody make namespaces, a job sees no process but its own, and nothing that
it writes outside of its folder is there for the next one.  Two processes are between worker and
job: one waits outside, the other is the first of the new namespace; when that goes, all go.

System calls that no method needs are refused by the kernel: to a process and to all that it starts,
for good.  So this part does not depend on how a worker was launched: plain processes, sandboxes and
containers are the same.
"""

from __future__ import annotations

import ctypes
import errno
import os
import platform
import signal
import stat
import struct
import sys
from contextlib import suppress
from typing import TYPE_CHECKING, NoReturn, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Callable

_NEW = 0x20000 | 0x02000000 | 0x04000000 | 0x08000000 | 0x10000000 | 0x20000000 | 0x40000000
"""Mounts, cgroup, UTS, IPC, user, PID and network; in the last not even loopback is up."""
_NOSUID, _NODEV, _NOEXEC, _BIND, _RECURSIVE, _PRIVATE = 2, 4, 8, 4096, 16384, 1 << 18
_DETACH = 2
_MOUNT_SETATTR = 442
_HERE, _AT_RECURSIVE, _READ_ONLY = -100, 0x8000, 1
_PR_SET_PDEATHSIG, _PR_SET_DUMPABLE, _PR_SET_NO_NEW_PRIVS = 1, 4, 38
_CAPABILITIES = 0x20080522
_SETFCAP = 1 << 31
"""Without it a namespace in which the user is root cannot be made."""
_TEMPORARY = b"mode=1777,size=256m"
_SHARED_MEMORY = "/dev/shm"  # noqa: S108 - the job's own
_COVERED = (b"/proc/sys", b"/proc/sysrq-trigger", b"/proc/irq", b"/proc/bus")
_FROZEN = ("stat", "loadavg")
"""Files of /proc that count what the whole machine has done: a job is shown what they held when its
worker began."""
_EMPTIED = (
    *("vmstat", "diskstats", "interrupts", "softirqs", "schedstat", "buddyinfo", "zoneinfo"),
    *("pagetypeinfo", "slabinfo", "vmallocinfo", "timer_list", "locks", "key-users"),
)
"""Files of /proc of the same kind that no library of numbers reads: they are empty for a job."""
_EMPTIED_FOLDERS = ("pressure", "sys/fs")
STATUS = struct.Struct("i")
"""Format of a job's end: its exit status, or minus the signal that killed it."""

_LIBC = ctypes.CDLL(None, use_errno=True)


class Sandbox:
    """Namespaces of their own for jobs, where that is possible.

    Parameters
    ----------
    temporary
        Folders that are the worker's own: a job has empty ones there.  Where there are none, they
        are the machine's.  All is read-only for a job but these and its own folder.
    folder
        The folder that holds those of the jobs.
    mounts
        What is mounted below the temporary folders, such as an environment: it is there for jobs,
        too.

    Attributes
    ----------
    possible
        Whether it works here: tried once.
    """

    def __init__(
        self, temporary: tuple[str, ...], folder: str | None, mounts: tuple[str, ...] = ()
    ) -> None:
        self._temporary = temporary
        self._folder = folder
        self._mounts = mounts
        self._frozen = {name: _content(f"/proc/{name}") for name in _FROZEN}
        names = [f"/proc/{name}" for name in _EMPTIED]
        self._emptied = [os.fsencode(each) for each in names if os.access(each, os.R_OK)]
        self.possible = bool(folder)
        self.possible = self.possible and self._try()

    def _try(self) -> bool:
        read_fd, status_fd = os.pipe()
        pid = os.fork()
        if pid:
            os.close(status_fd)
            os.waitpid(pid, 0)
            with os.fdopen(read_fd, "rb") as file:
                return file.read() == STATUS.pack(0)
        try:
            self.enter(self._try_inside, status_fd)
        finally:
            os._exit(1)

    def _try_inside(self) -> NoReturn:
        self.show(None)
        os._exit(0)

    def show(self, folder: str | None) -> str | None:
        """Show a job its own folder in the place of that of all jobs, and drop all capabilities.

        Parameters
        ----------
        folder
            The job's; None to let the folder of all jobs be written, where there is one job.

        Returns
        -------
        str or None
            What the folder is called from now on.
        """
        if self.possible and self._folder is not None:
            path = os.fsencode(self._folder)
            if folder is not None and os.path.dirname(folder) != self._folder:  # noqa: PTH120
                raise OSError(errno.EINVAL, f"a job's folder that is not in {self._folder}")
            _mount(os.fsencode(folder or self._folder), path, b"", _BIND)
            _set(path, 0, off=_READ_ONLY)
            folder = folder and self._folder
        drop_capabilities()
        return folder

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
        """Act as the first process of the namespace: reap all others until the job's ends."""
        _LIBC.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
        self._mount_all()
        pid = os.fork()
        if pid == 0:
            os.close(status_fd)
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
        opened_mounts = [
            (place, os.open(place, os.O_PATH | os.O_CLOEXEC)) for place in self._mounts
        ]
        _set(b"/", _AT_RECURSIVE, on=_READ_ONLY)
        for path in self._temporary or (_SHARED_MEMORY,):
            _mount(b"tmpfs", path.encode(), b"tmpfs", _NOSUID | _NODEV, _TEMPORARY)
        for path, opened in opened_mounts:
            _make_like(opened, path)
            _mount(b"/proc/self/fd/%d" % opened, os.fsencode(path), b"", _BIND | _RECURSIVE)
            os.close(opened)
        _mount(b"proc", b"/proc", b"proc", _NOSUID | _NODEV | _NOEXEC)
        self._cover_counters()

    def _cover_counters(self) -> None:
        """Cover what /proc has of the whole machine, and so of the jobs before."""
        made = f"{_SHARED_MEMORY}/.covers"
        os.mkdir(made)  # noqa: PTH102 - not after a fork
        for name, content in self._frozen.items():
            if content:
                _write(f"{made}/{name}", content)
                _cover(f"/proc/{name}", os.fsencode(f"{made}/{name}"))
                os.unlink(f"{made}/{name}")  # noqa: PTH108 - the same
        for place in self._emptied:
            _mount(b"/dev/null", place, b"", _BIND)
        for name in _EMPTIED_FOLDERS:
            _cover(f"/proc/{name}", os.fsencode(made))
        os.rmdir(made)  # noqa: PTH106 - the same


def _cover(path: str, by: bytes) -> None:
    """Show something else in a place, if there is such a place."""
    with suppress(FileNotFoundError):
        _mount(by, os.fsencode(path), b"", _BIND)


def _make_like(opened: int, path: str) -> None:
    """Make a folder, or an empty file, on which what is open can be mounted."""
    if stat.S_ISDIR(os.fstat(opened).st_mode):
        os.makedirs(path, exist_ok=True)  # noqa: PTH103 - not after a fork
        return
    os.makedirs(os.path.dirname(path), exist_ok=True)  # noqa: PTH103, PTH120 - the same
    os.close(os.open(path, os.O_CREAT | os.O_WRONLY | os.O_CLOEXEC, 0o600))


def _content(path: str) -> str:
    with suppress(OSError), open(path, encoding="ascii", errors="replace") as file:  # noqa: PTH123
        return file.read()
    return ""


def run_container_init() -> None:
    """Act as the first process of a container where this is it; return in a second one.

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
    """Drop the capabilities of root for good, except those that are named by bits."""
    with suppress(AttributeError):
        _LIBC.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
        head = struct.pack("II", _CAPABILITIES, 0)
        low, high = keep & 0xFFFFFFFF, keep >> 32
        body = struct.pack("6I", low, low, 0, high, high, 0)
        _LIBC.capset(head, body)


def drop_privileges(user: int, *, own_mounts: bool) -> None:
    """Continue as a user without rights.

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
    """Drop all capabilities but the one by which root makes a namespace for its jobs."""
    drop_capabilities(_SETFCAP if os.getuid() == 0 else 0)


def _forward_signals(pid: int, *signals: int) -> None:
    """Forward signals to a process, and be no way in or out for it."""

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


_SET_MODE_FILTER = 1
_ALL_THREADS, _NO_SLOWER_LOADS = 1, 4
_ALLOW, _ERRNO = 0x7FFF0000, 0x00050000
_LOAD, _EQUAL, _AT_LEAST, _ANY_BIT, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
_CALL, _ARCHITECTURE = 0, 4
_FIRST_ARGUMENT, _SECOND_ARGUMENT, _THIRD_ARGUMENT = 16, 24, 32
_OTHER_ABI = 0x40000000
_NEW_NAMESPACE = 0x7E020080
"""The bits of clone() that ask for a namespace: time, mounts, cgroup, UTS, IPC, user, PID, net."""
_FAMILIES = (1, 2, 10, 16)
"""Kinds of sockets: Unix, both of the internet, and netlink.  Others talk past namespaces, as those
to the host of a virtual machine, or load modules into the kernel."""

# Debuggers' and other ways into another process, kernel keys, and what outlives a process without
# being a file; then a few that have often been a way out, which no library of numbers needs.
_NEVER = {
    "x86_64": "101 310 311 438 312  248 249 250  29 30 31 67 64 65 66 220 68 69 70 71 240 241"
    "  321 298 323 425 426 427 304",
    "aarch64": "117 270 271 438 272  217 218 219  194 195 196 197 190 191 192 193 186 187 188 189"
    " 180 181  280 241 282 425 426 427 265",
}
# unshare, setns, mount, umount2, pivot_root, chroot and the newer ones of their kind.
_NAMESPACES = {
    "x86_64": "272 308 165 166 155 161 428 429 430 431 432 433 442",
    "aarch64": "97 268 40 39 41 51 428 429 430 431 432 433 442",
}
# What can be seen on a file that others can only read, too: flock, inotify_init(1) and
# fanotify_init; and what the page cache holds of one: cachestat, preadv2 (RWF_NOWAIT fails where it
# holds nothing) and its kind; posix_fadvise and readahead, which change that.
_SHARED_FILES = {
    "x86_64": "73 253 294 300 451 327 328 221 187",
    "aarch64": "32 26 262 451 286 287 223 213",
}
# Signals, whose first argument is a process: kill, tgkill, rt_sigqueueinfo, rt_tgsigqueueinfo.
_SIGNALS_TO = {"x86_64": "62 234 129 297", "aarch64": "129 131 138 240"}
# Limits and ways of scheduling, likewise, where 0 is the caller: prlimit64, sched_setscheduler and
# its kind.
_OVER_OTHERS = {"x86_64": "302 144 142 314", "aarch64": "261 119 118 274"}
# sched_setaffinity, by which a job would take cores that are not its own.
_CORES = {"x86_64": "203", "aarch64": "122"}
# Signals to what is no plain number: tkill, pidfd_send_signal.
_SIGNALS = {"x86_64": "200 424", "aarch64": "130 424"}
# fcntl and ioctl, by which the kernel can be made to send a signal to somebody.
_ASKING = {"x86_64": "72 16", "aarch64": "25 29"}
_ASKED = (8, 10, 15, 0x8901, 0x8902, 5, 36, 1024, 1025, 1026, 1036, 1038)
"""F_SETOWN, F_SETSIG, F_SETOWN_EX; FIOSETOWN, SIOCSPGRP.  What is kept with a file's inode, also
where it can only be read: F_GETLK, F_OFD_GETLK, F_SETLEASE, F_GETLEASE, F_NOTIFY, F_SET_RW_HINT and
F_SET_FILE_RW_HINT."""
_PRIORITY = {"x86_64": "141 251", "aarch64": "140 30"}
"""setpriority and ioprio_set, which can be of all processes of a user."""
_OPTION = {"x86_64": "55", "aarch64": "209"}
_COOKIES = (57, 71)
"""getsockopt of SO_COOKIE and SO_NETNS_COOKIE, which number the sockets of the whole machine."""
_EVERYBODY = -1
_MOST_THREADS = 100
"""A jump in a filter reaches no further than 255 steps."""
_MACHINES = {
    # its number in a filter; socket, clone, clone3, seccomp
    "x86_64": (0xC000003E, 41, 56, 435, 317),
    "aarch64": (0xC00000B7, 198, 220, 435, 277),
}


_Steps: TypeAlias = "list[tuple[int, int, str] | str]"


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("filter", ctypes.c_void_p))


def install_filter() -> bool:
    """Refuse debugging, keys, shared memory that is no file, and more; return whether it works."""
    never = {name: f"{calls} {_CORES[name]}" for name, calls in _NEVER.items()}
    return _install(never, families=_FAMILIES)


def deny_namespaces() -> bool:
    """Refuse new namespaces and mounts, and to lock or watch files; return whether it works."""
    both = {name: f"{calls} {_SHARED_FILES[name]}" for name, calls in _NAMESPACES.items()}
    return _install(both, flags=_NEW_NAMESPACE)


def deny_signals_to(worker: int) -> bool:
    """Refuse signals to a worker and to everybody at once, and to change a worker's limits.

    Where a job has no process namespace of its own, it could else end or stop its worker, by whose
    end it would take others' time; return whether it works.
    """
    if not _is_known():
        return False
    machine = platform.machine()
    targets = {worker, -_group(worker), _EVERYBODY}  # a group of another namespace has the number 0
    with suppress(OSError):
        threads = os.listdir(f"/proc/{worker}/task")  # noqa: PTH208 - not after a fork
        targets.update(sorted(map(int, threads))[:_MOST_THREADS])
    program: _Steps = [
        *((_EQUAL, int(each), "refuse") for each in _SIGNALS[machine].split()),
        *((_EQUAL, int(each), "signal") for each in _SIGNALS_TO[machine].split()),
        *((_EQUAL, int(each), "process") for each in _OVER_OTHERS[machine].split()),
        *((_EQUAL, int(each), "asked") for each in _ASKING[machine].split()),
        *((_EQUAL, int(each), "priority") for each in _PRIORITY[machine].split()),
        (_EQUAL, int(_OPTION[machine]), "option"),
        (_RETURN, _ALLOW, ""),
        "option",
        (_LOAD, _THIRD_ARGUMENT, ""),
        *((_EQUAL, each, "refuse") for each in _COOKIES),
        (_RETURN, _ALLOW, ""),
        "priority",
        (_LOAD, _FIRST_ARGUMENT, ""),
        (_AT_LEAST, 1, "refuse"),
        (_LOAD, _SECOND_ARGUMENT, ""),
        (_AT_LEAST, 1, "refuse"),
        (_RETURN, _ALLOW, ""),
        "process",
        (_LOAD, _FIRST_ARGUMENT, ""),
        (_EQUAL, 0, "caller"),
        "signal",
        (_LOAD, _FIRST_ARGUMENT, ""),
        *((_EQUAL, each & 0xFFFFFFFF, "refuse") for each in sorted(targets)),
        "caller",
        (_RETURN, _ALLOW, ""),
        "asked",
        (_LOAD, _SECOND_ARGUMENT, ""),
        *((_EQUAL, each, "refuse") for each in _ASKED),
        (_RETURN, _ALLOW, ""),
    ]
    return _load(program)


def _group(pid: int) -> int:
    """Return a process's group; the process itself where that has gone."""
    with suppress(OSError):
        return os.getpgid(pid)
    return pid


def _is_known() -> bool:
    here = sys.platform == "linux" and sys.byteorder == "little"
    return here and platform.machine() in _MACHINES


def _install(calls: dict[str, str], *, families: tuple[int, ...] = (), flags: int = 0) -> bool:
    if not _is_known():
        return False
    machine = platform.machine()
    _, socket, clone, clone3, _ = _MACHINES[machine]
    refused = [int(each) for each in calls[machine].split()]
    tests = [(_EQUAL, each, "refuse") for each in refused]
    if families:
        tests.append((_EQUAL, socket, "families"))
    if flags:  # the flags of clone3 cannot be seen, and whoever uses it can do without
        tests += [(_EQUAL, clone3, "unknown"), (_EQUAL, clone, "flags")]
    program: _Steps = [
        *tests,
        (_RETURN, _ALLOW, ""),
        "families",
        (_LOAD, _FIRST_ARGUMENT, ""),
        *((_EQUAL, each, "allow") for each in families),
        (_RETURN, _ERRNO | errno.EPERM, ""),
        "allow",
        (_RETURN, _ALLOW, ""),
        "flags",
        (_LOAD, _FIRST_ARGUMENT, ""),
        (_ANY_BIT, flags, "refuse"),
        (_RETURN, _ALLOW, ""),
    ]
    return _load(program)


def _assembled(program: _Steps) -> bytes:
    """Return the machine's form of a program, whose jumps go to names further down."""
    places: dict[str, int] = {}
    steps: list[tuple[int, int, str]] = []
    for step in program:
        if isinstance(step, str):
            places[step] = len(steps)
        else:
            steps.append(step)
    code = b""
    for here, (what, value, to) in enumerate(steps):
        code += struct.pack("HBBI", what, places[to] - here - 1 if to else 0, 0, value)
    return code


def _load(tests: _Steps) -> bool:
    """Make the kernel run a program at each call, of which the number is loaded."""
    number, *_, seccomp = _MACHINES[platform.machine()]
    code = _assembled(
        [
            (_LOAD, _ARCHITECTURE, ""),
            (_EQUAL, number, "own"),
            (_RETURN, _ERRNO | errno.ENOSYS, ""),
            "own",
            (_LOAD, _CALL, ""),
            (_AT_LEAST, _OTHER_ABI, "unknown"),
            *tests,
            "unknown",
            (_RETURN, _ERRNO | errno.ENOSYS, ""),
            "refuse",
            (_RETURN, _ERRNO | errno.EPERM, ""),
        ]
    )
    memory = ctypes.create_string_buffer(code, len(code))
    program = _Program(len(code) // 8, ctypes.addressof(memory))
    if _LIBC.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0):
        return False
    how = _ALL_THREADS | _NO_SLOWER_LOADS
    return not _LIBC.syscall(seccomp, _SET_MODE_FILTER, how, ctypes.byref(program))
