"""The names of processes, by which what they leave behind is known as theirs."""

from __future__ import annotations

import os
import socket
from pathlib import Path


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
