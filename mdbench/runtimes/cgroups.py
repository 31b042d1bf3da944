"""Control groups: what the kernel itself counts of a worker and of all that it starts.

Both versions are read: with the first each controller has a tree of its own, the second has one
for all.
"""

from __future__ import annotations

import os
import time
import uuid
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

_NAME = "mdbench-"
_MIB = 2**20
_OLD_SECONDS = 60.0
"""Age from which an empty group is nobody's: one that is younger may be about to be entered."""
_REMOVAL_SECONDS = 0.5
_JOIN = (
    'while [ "$1" != -- ]; do echo 0 >"$1/cgroup.procs" || exit 125; shift; done; shift; exec "$@"'
)


@dataclass(frozen=True)
class Group:
    """The processes of one worker, as the kernel counts them.

    Attributes
    ----------
    cpu, memory
        Its folder for either; the same one under version 2.
    version
        That of the groups: 1 or 2.
    """

    cpu: Path
    memory: Path
    version: int

    @property
    def folders(self) -> tuple[Path, ...]:
        """Its folders, each once."""
        return tuple(dict.fromkeys((self.cpu, self.memory)))

    def cpu_s(self) -> float | None:
        """Return the CPU seconds that it has used; None where that is not known."""
        if self.version == 1:
            used = _number(self.cpu / "cpuacct.usage")
            return None if used is None else used / 1e9
        used = _table(self.cpu / "cpu.stat").get("usage_usec")
        return None if used is None else used / 1e6

    def memory_mb(self) -> float | None:
        """Return the memory that it uses, in MiB; None where that is not known."""
        return _mib(self.memory / ("memory.current", "memory.usage_in_bytes")[self.version == 1])

    def peak_mb(self) -> float | None:
        """Return the most memory that it has used, in MiB; None where that is not known."""
        return _mib(self.memory / ("memory.peak", "memory.max_usage_in_bytes")[self.version == 1])

    def forget_peak(self) -> None:
        """Count the peak again from now on, where the kernel and the rights allow it."""
        if self.version == 1:
            with suppress(OSError):
                (self.memory / "memory.max_usage_in_bytes").write_text("0", encoding="ascii")

    def cached_mb(self) -> float:
        """Return how much of its memory is only the cache of files, in MiB."""
        found = _table(self.memory / "memory.stat")
        if self.version == 1:
            return (found.get("total_cache", 0) - found.get("total_shmem", 0)) / _MIB
        return (found.get("file", 0) - found.get("shmem", 0)) / _MIB

    def killed_for_memory(self) -> int:
        """Return how many of its processes the kernel has ended for want of memory."""
        name = "memory.oom_control" if self.version == 1 else "memory.events"
        return _table(self.memory / name).get("oom_kill", 0)

    def limit(self, memory_mb: int) -> bool:
        """Let it use no more memory; return whether the kernel keeps that."""
        names = (
            ("memory.limit_in_bytes", "memory.memsw.limit_in_bytes")
            if self.version == 1
            else ("memory.max", "memory.swap.max")
        )
        values = (memory_mb * _MIB, memory_mb * _MIB if self.version == 1 else 0)
        for name, value in zip(names, values, strict=True):
            with suppress(OSError):
                (self.memory / name).write_text(str(value), encoding="ascii")
        return _number(self.memory / names[0]) == values[0]

    def joining(self, command: Sequence[str]) -> list[str]:
        """Return the command that runs another one in the group."""
        return ["/bin/sh", "-c", _JOIN, "sh", *map(str, self.folders), "--", *command]

    def remove(self) -> None:
        """Remove it, when the last of its processes has ended."""
        end = time.monotonic() + _REMOVAL_SECONDS
        for folder in self.folders:
            while not _removed(folder) and time.monotonic() < end:
                time.sleep(0.005)


def make_group() -> Group | None:
    """Make a group below that of this process; None where that is not allowed."""
    found = group_of(os.getpid())
    if found is None:
        return None
    name = f"{_NAME}{uuid.uuid4().hex[:12]}"
    made = Group(found.cpu / name, found.memory / name, found.version)
    try:
        for folder in made.folders:
            folder.mkdir()
    except OSError:
        made.remove()
        return None
    return made


@cache
def can_make() -> str:
    """Return what can be counted in groups of our own: ``cpu``, ``cpu and memory``, or nothing."""
    made = make_group()
    if made is None:
        return ""
    counts = {"cpu": made.cpu_s(), "memory": made.peak_mb()}
    made.remove()
    return " and ".join(name for name, count in counts.items() if count is not None)


def group_of(pid: int) -> Group | None:
    """Return the group of a process; None where the kernel counts nothing."""
    try:
        text = Path(f"/proc/{pid}/cgroup").read_text(encoding="utf-8")
    except OSError:
        return None
    paths = {}
    for line in text.splitlines():
        _, names, path = line.split(":", 2)
        paths.update(dict.fromkeys(names.split(","), path))
    mounts = _mounts()
    if {"cpuacct", "memory"} <= mounts.keys() & paths.keys():
        cpu, memory = (_below(mounts[name], paths[name]) for name in ("cpuacct", "memory"))
        return Group(cpu, memory, 1)
    if "" in mounts and "" in paths:
        folder = _below(mounts[""], paths[""])
        return Group(folder, folder, 2)
    return None


def remove_left_groups() -> None:
    """Remove the groups of runs that were killed, which are empty by now."""
    found = group_of(os.getpid())
    for parent in () if found is None else found.folders:
        for folder in parent.glob(f"{_NAME}*"):
            with suppress(OSError):
                if folder.stat().st_mtime < time.time() - _OLD_SECONDS:
                    folder.rmdir()


@cache
def _mounts() -> dict[str, tuple[str, str]]:
    """Return where controllers are mounted, and what of their tree; version 2 has no name."""
    found: dict[str, tuple[str, str]] = {}
    with suppress(OSError):
        for line in Path("/proc/self/mountinfo").read_text(encoding="utf-8").splitlines():
            place, _, kind = line.partition(" - ")
            root, target = place.split()[3:5]
            name, _, options = kind.split(maxsplit=2)
            if name == "cgroup":
                found.update(dict.fromkeys(options.split(","), (target, root)))
            elif name == "cgroup2":
                found.setdefault("", (target, root))
    return found


def _below(mount: tuple[str, str], path: str) -> Path:
    target, root = mount
    return Path(target, os.path.relpath(path, root))


def _removed(folder: Path) -> bool:
    try:
        folder.rmdir()
    except FileNotFoundError:
        return True
    except OSError:
        return False
    return True


def _number(file: Path) -> int | None:
    try:
        return int(file.read_text(encoding="ascii"))
    except (OSError, ValueError):
        return None


def _mib(file: Path) -> float | None:
    number = _number(file)
    return None if number is None else number / _MIB


def _table(file: Path) -> dict[str, int]:
    found = {}
    with suppress(OSError, ValueError):
        for line in file.read_text(encoding="ascii").splitlines():
            name, _, number = line.partition(" ")
            found[name] = int(number)
    return found
