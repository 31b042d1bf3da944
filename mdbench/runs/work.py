"""The work of one job: its CPU time, each part of it at the speed that its cores had then."""

from __future__ import annotations

import math
import os
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from mdbench.worker.budget import SPEED, SPEED_FILE

if TYPE_CHECKING:
    from collections.abc import Callable

    from mdbench.runs.calibration import SpeedGauge

LAST_WORDS: Final = 0.16, 0.016
"""Reference seconds that a job may take beyond its limit to send its last candidates, or the share
of the limit, if that is more."""
_LONGEST_S = 0.15
"""Seconds between two looks at a job's work, at most."""
_SHORTEST_S = 0.004
"""And at least: the limit is then kept to a few milliseconds for each core."""
_LEAST_CPU_S = 0.01
"""CPU seconds below which their mean speed says less than the present one."""
_NEW = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


class WorkMeter:
    """Measures the work of one job while it runs.

    Parameters
    ----------
    cpu_s
        Returns the CPU seconds that the job has used; None where they cannot be measured.
    gauge
        The speed of its cores.
    limit
        Reference seconds that it may use; None for no limit.

    Attributes
    ----------
    work_s
        Reference seconds that it has used, as of the last look.
    before
        The speed before the job.
    """

    def __init__(
        self, cpu_s: Callable[[], float | None], gauge: SpeedGauge, limit: float | None
    ) -> None:
        self.work_s = 0.0
        self.before = gauge.speed
        self._read = cpu_s
        self._gauge = gauge
        self._limit = math.inf if limit is None else limit
        self._cpu_s = 0.0
        self._speed_file: int | None = None

    @property
    def speed(self) -> float:
        """The mean speed since the job began: reference seconds for each CPU second."""
        return self.work_s / self._cpu_s if self._cpu_s > _LEAST_CPU_S else self._gauge.speed

    @property
    def is_over(self) -> bool:
        """Whether the limit has been reached."""
        return self.work_s >= self._limit

    def update(self) -> float:
        """Add what has been used since the last time; return the work up to now."""
        used = self._read()
        if used is not None and used > self._cpu_s:
            self.work_s += (used - self._cpu_s) * self._gauge.speed
            self._cpu_s = used
        return self.work_s

    def look(self, allowed: float = 0.0) -> float:
        """Measure the work, and the speed where that is due and there is time for it.

        Parameters
        ----------
        allowed
            Reference seconds that the job may use beyond its limit.

        Returns
        -------
        float
            Seconds after which to look again, so that the limit is not missed; 0 where it is
            reached.
        """
        left = self._limit + allowed - self.update()
        if left <= 0:
            return 0.0
        soon = left / self._gauge.most_at_once
        if soon > _LONGEST_S and self._gauge.sample_if_due():
            self._write_speed()
        return max(_SHORTEST_S, min(_LONGEST_S, soon))

    def share_speed(self, folder: int) -> None:
        """Make the file in the job's open folder from which the job reads the speed.

        Raises
        ------
        OSError
            If it cannot be made.
        """
        self._speed_file = os.open(SPEED_FILE, _NEW, 0o644, dir_fd=folder)
        os.fchmod(self._speed_file, 0o644)  # whatever the user's umask
        self._write_speed()

    def _write_speed(self) -> None:
        if self._speed_file is not None:
            with suppress(OSError):  # the disk may be full, and the job knows its first speed
                os.pwrite(self._speed_file, SPEED.pack(self.speed), 0)

    def close(self) -> None:
        """Close the file."""
        if self._speed_file is not None:
            os.close(self._speed_file)
            self._speed_file = None


def last_words(limit: float) -> float:
    """Return the reference seconds that a job may use beyond its limit."""
    least, share = LAST_WORDS
    return max(least, share * limit)
