"""The budget of a job, as its method sees it: of work, or else of time."""

from __future__ import annotations

import math
import os
import resource
import struct
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

SPEED_FILE = "speed"
"""The file in a job's folder in which the host writes how fast the job's cores are."""
SPEED = struct.Struct("<d")
"""Its content: reference seconds for each second of CPU time, the mean since the job began."""


_excused = 0.0


def excuse(seconds: float) -> None:
    """Take seconds of wall time out of the budget that were no doing of the method's."""
    global _excused  # noqa: PLW0603 - of this process, like its clock
    _excused += max(0.0, seconds)


def cpu_seconds() -> float:
    """Return the CPU seconds of this process, all its threads, and its children that have ended."""
    below = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + below.ru_utime + below.ru_stime


class Budget:
    """What a job may use, and what it has used.

    Under a work limit (``--work``) all amounts are in reference seconds: CPU seconds of the process
    and of its children that have ended, times the speed of the core (docs/budgets.md).  Otherwise
    they are seconds of wall time.  A method that looks at nothing else ends at the same place of
    its search, however busy the machine is.

    Parameters
    ----------
    time_limit
        Seconds of wall time, which count where there is no `work`; None for no limit.
    work
        Reference seconds; None for no work limit.
    speed
        Reference seconds for each CPU second.
    threads
        The cores that the job may use.
    speed_file
        An open file with the speed as `SPEED`, which the host updates; None for none.

    Attributes
    ----------
    limit
        The whole amount; infinite for no limit.
    in_work
        Whether amounts are reference seconds.
    time_limit
        Seconds of wall time for the whole job, or None: under a work limit the time in which all
        its threads use it up.
    """

    def __init__(
        self,
        time_limit: float | None = None,
        *,
        work: float | None = None,
        speed: float = 1.0,
        threads: int = 1,
        speed_file: int | None = None,
    ) -> None:
        self.in_work = work is not None
        self.time_limit = time_limit
        given = time_limit if work is None else work
        self.limit = math.inf if given is None else given
        self._speed = speed
        self._threads = threads
        self._speed_file = speed_file
        self._begin = self._used()
        self._most = 0.0

    def spent(self) -> float:
        """Return how much of the budget has been used since the job began; it never falls."""
        used = self._used() - self._begin
        if self.in_work:
            used *= self._current_speed()
        self._most = max(self._most, used)
        return self._most

    def remaining(self) -> float:
        """Return how much is left: 0 at least, infinite where there is no limit."""
        return max(0.0, self.limit - self.spent())

    def share(self, among: int, kept: float = 0.05) -> float:
        """Return what each of some searches that are still to come may use of the budget.

        Parameters
        ----------
        among
            How many they are.
        kept
            Part of the whole budget that is left for what comes after them.
        """
        if math.isinf(self.limit):
            return math.inf
        return max(0.0, self.remaining() - kept * self.limit) / among

    def part(self, amount: float) -> Budget:
        """Return a budget of its own that begins now, for one of several fits within this one.

        Parameters
        ----------
        amount
            Its limit; no more than what is left of this one.
        """
        limit = min(max(0.0, amount), self.remaining())
        return Budget(
            None if math.isinf(limit) else self.seconds(limit),
            work=limit if self.in_work else None,
            speed=self._current_speed(),
            threads=self._threads,
            speed_file=self._speed_file,
        )

    def after(self, amount: float) -> Callable[[], bool]:
        """Return a function that returns whether so much has been used since now.

        Parameters
        ----------
        amount
            Of the budget; never, where it is infinite.
        """
        if math.isinf(amount):
            return lambda: False
        end = self.spent() + amount
        return lambda: self.spent() >= end

    def rounds(self, amount: float) -> Callable[[], bool]:
        """Return a function that returns whether another round fits into so much of the budget.

        It is for searches in generations or batches, of which a part is worth nothing.  Call it
        before each round: the next one is taken to use as much as the longer of the last two.  The
        first is always begun; after one that does not fit, none does.

        Parameters
        ----------
        amount
            Of the budget, from now on; every round fits, where it is infinite.

        Examples
        --------
        >>> budget = Budget()
        >>> another_fits = budget.rounds(budget.share(1))
        >>> another_fits()
        True
        """
        end = self.spent() + amount
        begun: float | None = None
        used, is_over = (0.0, 0.0), False

        def another_fits() -> bool:
            nonlocal begun, used, is_over
            now = self.spent()
            if begun is not None:
                used = used[1], now - begun
                is_over |= now + max(used) > end
            begun = now
            return not is_over

        return another_fits

    def seconds(self, amount: float) -> float:
        """Return in how many seconds of wall time an amount is used up, at the present speed.

        It is for packages that know no other clock.  On a busy machine a method that obeys it gets
        less than its budget.
        """
        return amount / (self._current_speed() * self._threads) if self.in_work else amount

    def _used(self) -> float:
        return cpu_seconds() if self.in_work else time.monotonic() - _excused

    def _current_speed(self) -> float:
        if self._speed_file is not None:
            try:
                (speed,) = SPEED.unpack(os.pread(self._speed_file, SPEED.size, 0))
            except (OSError, struct.error):
                return self._speed
            if math.isfinite(speed) and speed > 0:
                self._speed = speed
        return self._speed
