"""Limits that nobody else keeps: looked after by reading /proc twenty times a second."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from mdbench.runtimes import processes
from mdbench.runtimes.base import Breach

if TYPE_CHECKING:
    from collections.abc import Callable

    from mdbench.runtimes.base import Limits
    from mdbench.runtimes.usage import Meter

__all__ = ["PERIOD_SECONDS", "Watchdog"]

PERIOD_SECONDS = 0.05
"""How often the jobs are looked at; what lasts shorter may be missed."""


class Watchdog:
    """Watches what descends from a worker, and ends it when it breaks a limit.

    The worker itself does not count: it holds what its adapter imported, which its jobs share.

    Parameters
    ----------
    root
        Gives the worker's process, None while it is not known.
    limits
        What the jobs may use together.
    kill
        Ends the job.
    meter
        Looks at the memory of the jobs.

    Attributes
    ----------
    breach
        The limit that was broken, until `forget` is called.
    """

    def __init__(
        self,
        root: Callable[[], int | None],
        limits: Limits,
        kill: Callable[[], None],
        meter: Meter,
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

    def forget(self) -> None:
        """A new job begins."""
        self.breach = None

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
            found = self._look(root)
            if found is not None:
                self.breach = self.breach or found
                self._kill()

    def _look(self, root: int) -> Breach | None:
        jobs = processes.of_job(root)
        count = sum(processes.threads(pid) for pid in jobs)
        if count > self._limits.processes:
            return Breach(
                "processes",
                f"had {count} processes and threads; {self._limits.processes} are allowed",
            )
        most, used = self._limits.memory_mb, self._meter.look()
        if most is None or used <= most:
            return None
        return Breach("memory", f"used {used:.0f} MiB of memory; {most} MiB are allowed")
