"""Limits that the kernel does not keep: jobs are looked at often, and ended when they break one."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from mdbench.runtimes import processes
from mdbench.runtimes.base import Breach

if TYPE_CHECKING:
    from collections.abc import Callable

    from mdbench.runtimes.base import Limits
    from mdbench.runtimes.usage import UsageMeter

PERIOD_SECONDS = 0.05
"""Seconds between two checks of the jobs; what lasts shorter may be missed."""
POLLED = f"polled every {1000 * PERIOD_SECONDS:.0f} ms"
"""How such limits are kept, for people."""


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
