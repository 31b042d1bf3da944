"""System calls that a method has no use for, refused by the kernel (seccomp).

What is refused to a process is refused to all that it starts, for good.  So nothing here depends
on how a worker was launched: plain processes, sandboxes and containers are the same.
"""

from __future__ import annotations

import ctypes
import errno
import os
import platform
import struct
import sys
from contextlib import suppress
from typing import TypeAlias

_PR_SET_NO_NEW_PRIVS = 38
_SET_MODE_FILTER = 1
_ALL_THREADS, _NO_SLOWER_LOADS = 1, 4
_ALLOW, _ERRNO = 0x7FFF0000, 0x00050000
_LOAD, _EQUAL, _AT_LEAST, _ANY_BIT, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
_CALL, _ARCHITECTURE, _FIRST_ARGUMENT, _SECOND_ARGUMENT = 0, 4, 16, 24
_OTHER_ABI = 0x40000000
_NEW_NAMESPACE = 0x7E020080
"""The bits of clone() that ask for a namespace: time, mounts, cgroup, UTS, IPC, user, PID, net."""
_FAMILIES = (17, 38, 40)
"""Kinds of sockets: packet, the kernel's ciphers, and to the host of a virtual machine."""

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
# Signals, limits and ways of scheduling, whose first argument is a process: kill, tgkill,
# rt_sigqueueinfo, rt_tgsigqueueinfo, prlimit64, sched_setaffinity and its kind.
_OVER_OTHERS = {
    "x86_64": "62 234 129 297 302 203 144 142 314",
    "aarch64": "129 131 138 240 261 122 119 118 274",
}
# Signals to what is no plain number: tkill, pidfd_send_signal.
_SIGNALS = {"x86_64": "200 424", "aarch64": "130 424"}
# fcntl and ioctl, by which the kernel can be made to send a signal to somebody.
_ASKING = {"x86_64": "72 16", "aarch64": "25 29"}
_ASKED = (8, 10, 15, 0x8901, 0x8902)
"""F_SETOWN, F_SETSIG, F_SETOWN_EX; FIOSETOWN, SIOCSPGRP."""
_EVERYBODY = -1
_MOST_THREADS = 100
"""A jump in a filter reaches no further than 255 steps."""
_MACHINES = {
    # its number in a filter; socket, clone, clone3, seccomp
    "x86_64": (0xC000003E, 41, 56, 435, 317),
    "aarch64": (0xC00000B7, 198, 220, 435, 277),
}

_LIBC = ctypes.CDLL(None, use_errno=True)

_Steps: TypeAlias = "list[tuple[int, int, str] | str]"


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("filter", ctypes.c_void_p))


def install_filter() -> bool:
    """Refuse debugging, keys, shared memory that is no file, and more; return whether it works."""
    return _install(_NEVER, families=_FAMILIES)


def deny_namespaces() -> bool:
    """Refuse new namespaces and mounts; return whether it works."""
    return _install(_NAMESPACES, flags=_NEW_NAMESPACE)


def deny_signals_to(worker: int) -> bool:
    """Refuse signals to a worker and to everybody at once, and to change a worker's limits.

    Where a job has no process namespace of its own, it could else end or stop its worker, by whose
    end it would take others' time; return whether it works.
    """
    if not _is_known():
        return False
    machine = platform.machine()
    found = {worker, -_group(worker), _EVERYBODY}
    with suppress(OSError):
        threads = os.listdir(f"/proc/{worker}/task")  # noqa: PTH208 - not after a fork
        found.update(sorted(map(int, threads))[:_MOST_THREADS])
    program: _Steps = [
        *((_EQUAL, int(each), "refuse") for each in _SIGNALS[machine].split()),
        *((_EQUAL, int(each), "process") for each in _OVER_OTHERS[machine].split()),
        *((_EQUAL, int(each), "asked") for each in _ASKING[machine].split()),
        (_RETURN, _ALLOW, ""),
        "process",
        (_LOAD, _FIRST_ARGUMENT, ""),
        *((_EQUAL, each & 0xFFFFFFFF, "refuse") for each in sorted(found)),
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
        *((_EQUAL, each, "refuse") for each in families),
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
    for each in program:
        if isinstance(each, str):
            places[each] = len(steps)
        else:
            steps.append(each)
    code = b""
    for here, (what, value, to) in enumerate(steps):
        code += struct.pack("HBBI", what, places[to] - here - 1 if to else 0, 0, value)
    return code


def _load(tests: _Steps) -> bool:
    """Have the kernel go through a program at each call, of which the number is loaded."""
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
