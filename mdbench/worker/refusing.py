"""System calls that a method has no use for, refused by the kernel (seccomp).

What is refused to a process is refused to all that it starts, for good.  So nothing here depends
on how a worker was launched: plain processes, rooms and containers are the same.
"""

from __future__ import annotations

import ctypes
import errno
import platform
import struct
import sys

__all__ = ["refuse_namespaces", "refuse_what_no_method_needs"]

_PR_SET_NO_NEW_PRIVS = 38
_SET_MODE_FILTER = 1
_ALL_THREADS, _NO_SLOWER_LOADS = 1, 4
_ALLOW, _ERRNO = 0x7FFF0000, 0x00050000
_LOAD, _EQUAL, _AT_LEAST, _ANY_BIT, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
_CALL, _ARCHITECTURE, _FIRST_ARGUMENT = 0, 4, 16
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
_MACHINES = {
    # its number in a filter; socket, clone, clone3, seccomp
    "x86_64": (0xC000003E, 41, 56, 435, 317),
    "aarch64": (0xC00000B7, 198, 220, 435, 277),
}

_LIBC = ctypes.CDLL(None, use_errno=True)


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("filter", ctypes.c_void_p))


def refuse_what_no_method_needs() -> bool:
    """Refuse debugging, keys, shared things that are no files, and more; tell whether it works."""
    return _install(_NEVER, families=_FAMILIES)


def refuse_namespaces() -> bool:
    """Refuse new namespaces and mounts; tell whether it works."""
    return _install(_NAMESPACES, flags=_NEW_NAMESPACE)


def _install(calls: dict[str, str], *, families: tuple[int, ...] = (), flags: int = 0) -> bool:
    machine = platform.machine()
    if machine not in _MACHINES or sys.byteorder != "little" or sys.platform != "linux":
        return False
    number, socket, clone, clone3, seccomp = _MACHINES[machine]
    refused = [int(each) for each in calls[machine].split()]
    tests = [(_EQUAL, each, "refuse") for each in refused]
    if families:
        tests.append((_EQUAL, socket, "families"))
    if flags:  # the flags of clone3 cannot be seen, and whoever uses it can do without
        tests += [(_EQUAL, clone3, "unknown"), (_EQUAL, clone, "flags")]
    program: list[tuple[int, int, str] | str] = [
        (_LOAD, _ARCHITECTURE, ""),
        (_EQUAL, number, "own"),
        (_RETURN, _ERRNO | errno.ENOSYS, ""),
        "own",
        (_LOAD, _CALL, ""),
        (_AT_LEAST, _OTHER_ABI, "unknown"),
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
        "unknown",
        (_RETURN, _ERRNO | errno.ENOSYS, ""),
        "refuse",
        (_RETURN, _ERRNO | errno.EPERM, ""),
    ]
    return _load(_assembled(program), seccomp)


def _assembled(program: list[tuple[int, int, str] | str]) -> bytes:
    """Give the machine's form of a program, whose jumps go to names further down."""
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


def _load(code: bytes, seccomp: int) -> bool:
    memory = ctypes.create_string_buffer(code, len(code))
    program = _Program(len(code) // 8, ctypes.addressof(memory))
    if _LIBC.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0):
        return False
    how = _ALL_THREADS | _NO_SLOWER_LOADS
    return not _LIBC.syscall(seccomp, _SET_MODE_FILTER, how, ctypes.byref(program))
