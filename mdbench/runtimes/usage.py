"""What a job costs, measured from outside: nothing of it is the word of a method or its worker."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from mdbench.runtimes import processes

if TYPE_CHECKING:
    from collections.abc import Callable

    from mdbench.runtimes.cgroups import Group

_SAME_MB = 4.0
"""A peak so near to what is used now is no earlier job's."""


@dataclass(frozen=True)
class ResourceUsage:
    """What a job has used; None where nobody knows.

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
        self._inherited = 0.0
        self._worker_mb = 0.0
        self._most_mb = 0.0

    def begin(self) -> None:
        """A job begins."""
        self._own, self._before, self._most_mb = {}, {}, 0.0
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
            self._before = {
                pid: processes.cpu_s(pid)[0] for pid in (root, *processes.job_processes(root))
            }
            self._inherited = processes.cpu_s(root)[1]
            self._worker_mb = processes.memory_mb(root)

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
        return ResourceUsage(max(0.0, cpu), peak, by)

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
        """Add up what was seen of each process, or what the kernel counted for those that ended."""
        seen = sum(used - self._before.get(pid, 0.0) for pid, used in self._own.items())
        root = self._root()
        if root is None:
            return seen
        own, below = processes.cpu_s(root)
        return max(seen, own - self._before.get(root, 0.0) + below - self._inherited)
