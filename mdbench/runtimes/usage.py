"""What a job uses, measured from outside, and ended where it breaks a limit.

It is measured by control groups of the kernel, or by samples of /proc.  Limits that the kernel does
not keep are looked at often.

Both versions of control groups are read: with the first each controller has a tree of its own, the
second has one for all.
"""

from __future__ import annotations

import os
import threading
import time
import uuid
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from mdbench.runtimes import processes
from mdbench.runtimes.base import Breach

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from mdbench.runtimes.base import Limits

PERIOD_SECONDS = 0.05
"""Seconds between two checks of the jobs; what lasts shorter may be missed."""
POLLED = f"polled every {1000 * PERIOD_SECONDS:.0f} ms"
"""How such limits are kept, for people."""
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
    pids
        Its folder where the kernel counts its processes; None where it does not.
    """

    cpu: Path
    memory: Path
    version: int
    pids: Path | None = None

    @property
    def folders(self) -> tuple[Path, ...]:
        """Its folders, each once."""
        found = (self.cpu, self.memory, self.pids)
        return tuple(dict.fromkeys(folder for folder in found if folder is not None))

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
        amounts = _table(self.memory / "memory.stat")
        if self.version == 1:
            return (amounts.get("total_cache", 0) - amounts.get("total_shmem", 0)) / _MIB
        return (amounts.get("file", 0) - amounts.get("shmem", 0)) / _MIB

    def killed_for_memory(self) -> int:
        """Return how many of its processes the kernel has ended for want of memory."""
        name = "memory.oom_control" if self.version == 1 else "memory.events"
        return _table(self.memory / name).get("oom_kill", 0)

    def limit(self, memory_mb: int) -> bool:
        """Limit its memory; return whether the kernel enforces that."""
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

    def limit_processes(self, most: int) -> bool:
        """Limit its processes and threads; return whether the kernel enforces that."""
        if self.pids is None:
            return False
        with suppress(OSError):
            (self.pids / "pids.max").write_text(str(most), encoding="ascii")
        return _number(self.pids / "pids.max") == most

    def joining(self, command: Sequence[str]) -> list[str]:
        """Return the command that runs another one in the group."""
        return ["/bin/sh", "-c", _JOIN, "sh", *map(str, self.folders), "--", *command]

    def remove(self) -> None:
        """Remove it, when the last of its processes has ended."""
        end = time.monotonic() + _REMOVAL_SECONDS
        for folder in self.folders:
            while folder.exists():
                with suppress(OSError):
                    folder.rmdir()
                    break
                if time.monotonic() > end:
                    break
                time.sleep(0.005)


def make_group() -> Group | None:
    """Make a group below that of this process; None where that is not allowed."""
    parent = group_of(os.getpid())
    if parent is None:
        return None
    name = f"{_NAME}{uuid.uuid4().hex[:12]}"
    made = Group(parent.cpu / name, parent.memory / name, parent.version)
    try:
        for folder in made.folders:
            folder.mkdir()
    except OSError:
        made.remove()
        return None
    if parent.pids is not None:
        with suppress(OSError):
            (parent.pids / name).mkdir(exist_ok=True)
            return replace(made, pids=parent.pids / name)
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


@cache
def can_stop_forks() -> bool:
    """Whether the kernel limits the number of processes in groups of our own."""
    made = make_group()
    if made is None:
        return False
    limited = made.limit_processes(1000)
    made.remove()
    return limited


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
        counted = "pids" in mounts and "pids" in paths
        return Group(cpu, memory, 1, _below(mounts["pids"], paths["pids"]) if counted else None)
    if "" in mounts and "" in paths:
        folder = _below(mounts[""], paths[""])
        return Group(folder, folder, 2, folder)
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
    mounts: dict[str, tuple[str, str]] = {}
    with suppress(OSError):
        for line in Path("/proc/self/mountinfo").read_text(encoding="utf-8").splitlines():
            place, _, kind = line.partition(" - ")
            root, target = place.split()[3:5]
            name, _, options = kind.split(maxsplit=2)
            if name == "cgroup":
                mounts.update(dict.fromkeys(options.split(","), (target, root)))
            elif name == "cgroup2":
                mounts.setdefault("", (target, root))
    return mounts


def _below(mount: tuple[str, str], path: str) -> Path:
    target, root = mount
    return Path(target, os.path.relpath(path, root))


def _number(file: Path) -> int | None:
    try:
        return int(processes.read_file(str(file)))
    except (OSError, ValueError):
        return None


def _mib(file: Path) -> float | None:
    number = _number(file)
    return None if number is None else number / _MIB


def _table(file: Path) -> dict[str, int]:
    amounts = {}
    with suppress(OSError, ValueError):
        for line in processes.read_file(str(file)).decode("ascii").splitlines():
            name, _, number = line.partition(" ")
            amounts[name] = int(number)
    return amounts


_SAME_MB = 4.0
"""A peak so near to what is used now is no earlier job's."""


@dataclass(frozen=True)
class ResourceUsage:
    """Resources that a job has used; None where they are not known.

    Attributes
    ----------
    cpu_s
        CPU time of all its processes.
    peak_memory_mb
        The most memory that they had together.
    by
        By what these were measured.
    """

    cpu_s: float | None = None
    peak_memory_mb: float | None = None
    by: str | None = None


class UsageMeter:
    """Measures the jobs of a worker, one after the other.

    The kernel's counters are of the worker and all that it starts.  Where there are none, /proc is
    looked at whenever `sample` is called: what comes and goes in between is missed but for the CPU
    time of processes whose parents take note of their end.

    Parameters
    ----------
    root
        Returns the worker's process; None while it is not known.
    group
        Returns its group; None where there is none.

    Attributes
    ----------
    start_s
        CPU seconds that the worker had used before its first job began; 0 when another one has
        begun, and None before there is one.
    import_s
        What `start_s` was at first: what the start and the import of the adapter took.
    """

    def __init__(self, root: Callable[[], int | None], group: Callable[[], Group | None]) -> None:
        self._root = root
        self._find_group = group
        self._group: Group | None = None
        self._cpu: float | None = None
        self._peak: float | None = None
        self._peak_is_old = False
        self._cached = 0.0
        self._kills = 0
        self._own: dict[int, float] = {}
        self._before: dict[int, float] = {}
        self._whole_before = 0.0
        self._most_cpu = 0.0
        self._worker_mb = 0.0
        self._most_mb = 0.0
        self._extra = 0.0
        self.start_s: float | None = None
        self.import_s: float | None = None

    def charge(self, seconds: float) -> None:
        """Add CPU time that was used before the job began to that of the job."""
        self._extra = seconds

    def begin(self) -> None:
        """A job begins."""
        is_first = self.start_s is None
        self._extra = 0.0
        self._own, self._before, self._most_mb = {}, {}, 0.0
        self._most_cpu = 0.0
        self._group = group = self._find_group()
        if group is not None:
            group.forget_peak()
            self._cpu, self._peak = group.cpu_s(), group.peak_mb()
            now = group.memory_mb()
            self._peak_is_old = not (self._peak and now and self._peak < now + _SAME_MB)
            self._cached = group.cached_mb()
            self._kills = group.killed_for_memory()
        root = self._root()
        if root is not None and not self._counted:
            found = {pid: processes.cpu_s(pid) for pid in (root, *processes.job_processes(root))}
            self._before = {pid: own for pid, (own, _) in found.items()}
            self._whole_before = sum(own + ended for own, ended in found.values())
            self._worker_mb = processes.memory_mb(root)
        self.start_s = 0.0
        if is_first:
            self.start_s = self._whole_before if self._cpu is None else self._cpu
            self.import_s = self.start_s or None

    @property
    def _counted(self) -> bool:
        return not (self._cpu is None or self._peak is None or self._peak_is_old)

    def sample(self) -> float:
        """Look at the job's processes, where the kernel does not count; return their memory in MiB.

        What the worker has more than before the job is the job's, too.
        """
        root = self._root()
        if root is None or self._counted:
            return 0.0
        below = processes.job_processes(root)
        for pid in (root, *below):
            self._own[pid] = max(self._own.get(pid, 0.0), processes.cpu_s(pid)[0])
        grown = max(0.0, processes.memory_mb(root) - self._worker_mb)
        together = sum(processes.memory_mb(pid) for pid in below) + grown
        alone = max(map(processes.peak_memory_mb, below), default=0.0)
        self._most_mb = max(self._most_mb, together, alone)
        return together

    @property
    def seen_mb(self) -> float:
        """The most memory that was seen of the job; 0 where the kernel counts."""
        return self._most_mb

    def killed_for_memory(self) -> bool:
        """Whether the kernel has ended a process for want of memory since the job began."""
        group = self._group or self._find_group()
        return group is not None and group.killed_for_memory() > self._kills

    def cpu_s(self) -> float | None:
        """Return the CPU time that the job has used up to now; None where it cannot be measured."""
        used = self._cpu_of_group()
        if used is None and self._root() is not None:
            self.sample()
            used = self._cpu_seen()
        return None if used is None else used + self._extra

    def end(self) -> ResourceUsage:
        """Return what the job has used up to now."""
        cpu, cpu_by = self._cpu_of_group(), "cgroup"
        peak, peak_by = self._peak_of_group(), "cgroup"
        if cpu is None and self._own:
            cpu, cpu_by = self._cpu_seen(), "samples"
        if peak is None and self._most_mb:
            peak, peak_by = self._most_mb, "samples"
        if cpu is None or peak is None:
            return ResourceUsage()
        by = cpu_by if cpu_by == peak_by else f"cpu by {cpu_by}, memory by {peak_by}"
        return ResourceUsage(max(0.0, cpu) + self._extra, peak, by)

    def _cpu_of_group(self) -> float | None:
        now = None if self._group is None else self._group.cpu_s()
        return None if now is None or self._cpu is None else now - self._cpu

    def _peak_of_group(self) -> float | None:
        """Return the peak without the cache of files that was there before the job."""
        peak = None if self._group is None else self._group.peak_mb()
        if peak is None or self._peak is None or (self._peak_is_old and peak <= self._peak):
            return None  # that of an earlier job, which cannot be forgotten here
        return max(peak - self._cached, self._most_mb)

    def _cpu_seen(self) -> float:
        """Return the CPU time of the processes there are, with that of those that have ended.

        The kernel adds the time of a process that has ended to that of whoever has waited for it;
        of one that nobody has waited for, what was seen of it counts.
        """
        looked = list(self._own.items())  # another thread may look meanwhile
        seen = sum(used - self._before.get(pid, 0.0) for pid, used in looked)
        root = self._root()
        if root is not None:
            tree = (root, *processes.job_processes(root))
            whole = sum(sum(processes.cpu_s(pid)) for pid in tree) - self._whole_before
            seen = max(seen, whole)
        self._most_cpu = max(self._most_cpu, seen)
        return self._most_cpu


class Watchdog:
    """Watches what descends from a worker, and ends it when it breaks a limit.

    The worker itself does not count: it holds what its adapter imported, which its jobs share.

    Parameters
    ----------
    root
        Returns the worker's process, None while it is not known.
    limits
        What the jobs may use together.
    kill
        Ends the job.
    meter
        Looks at the memory of the jobs.

    Attributes
    ----------
    breach
        The limit that was broken, until the next job begins.
    """

    def __init__(
        self,
        root: Callable[[], int | None],
        limits: Limits,
        kill: Callable[[], None],
        meter: UsageMeter,
    ) -> None:
        self._root = root
        self._limits = limits
        self._kill = kill
        self._meter = meter
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self.breach: Breach | None = None

    def start(self) -> None:
        """Begin to watch."""
        self._thread.start()

    def stop(self) -> None:
        """End the watch."""
        self._stop.set()
        if self._thread.ident is not None:
            self._thread.join()

    def _watch(self) -> None:
        while not self._stop.wait(PERIOD_SECONDS):
            root = self._root()
            if root is None:
                continue
            found = self._check_jobs(root)
            if found is not None:
                self.breach = self.breach or found
                self._kill()

    def _check_jobs(self, root: int) -> Breach | None:
        jobs = processes.job_processes(root)
        count = sum(processes.threads(pid) for pid in jobs)
        if count > self._limits.processes:
            return Breach(
                "processes",
                f"had {count} processes and threads; {self._limits.processes} are allowed",
            )
        most, used = self._limits.memory_mb, self._meter.sample()
        if most is None or used <= most:
            return None
        return Breach("memory", f"used {used:.0f} MiB of memory; {most} MiB are allowed")
