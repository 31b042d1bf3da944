"""Turns on the cores, for jobs of which more run at a time than there are cores.

A job that waits for a service needs no core.  So many such jobs may be under way.  There are
as many turns as jobs run at a time otherwise.  A job holds one from its start to its end, but not
while a request of its is being answered.  An answer is handed over when a turn is free; that wait
is none of the job's time.
"""

from __future__ import annotations

import threading
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator


class WaitingTime:
    """The time in which a job has waited in vain.

    Time in which several threads wait at once is counted once.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._begun: dict[int, float] = {}
        self._over: list[tuple[float, float]] = []
        self._count = 0

    def begin(self, since: float) -> int:
        """Begin to count from some time on, by `time.monotonic`; return what `end` takes."""
        with self._lock:
            self._count += 1
            self._begun[self._count] = since
            return self._count

    def end(self, number: int, until: float) -> None:
        """Count up to some time."""
        with self._lock:
            since = self._begun.pop(number)
            self._over = list(_joined([*self._over, (since, max(since, until))]))

    def seconds(self) -> float:
        """Return the seconds up to now."""
        with self._lock:
            now = time.monotonic()
            spans = [*self._over, *((since, now) for since in self._begun.values())]
        return sum(end - start for start, end in _joined(spans))


def _joined(spans: list[tuple[float, float]]) -> list[tuple[float, float]]:
    joined: list[tuple[float, float]] = []
    for start, end in sorted(spans):
        if joined and start <= joined[-1][1]:
            joined[-1] = joined[-1][0], max(joined[-1][1], end)
        else:
            joined.append((start, end))
    return joined


class CoreTurns:
    """So many turns as jobs may compute at a time; may be used from several threads.

    Parameters
    ----------
    count
        How many there are.
    """

    def __init__(self, count: int) -> None:
        self._free = count
        self._ended = False
        self._changed = threading.Condition()

    def take(self, over: threading.Event | None = None) -> bool:
        """Wait for a turn; False where none came before the end, or before `over` was set."""
        with self._changed:
            self._changed.wait_for(
                lambda: self._free > 0 or self._ended or (over is not None and over.is_set())
            )
            if self._free <= 0:
                return False
            self._free -= 1
            return True

    def give_back(self) -> None:
        """Leave a turn to others."""
        with self._changed:
            self._free += 1
            self._changed.notify()

    def wake(self) -> None:
        """Have those look again who wait: one of them may be over."""
        with self._changed:
            self._changed.notify_all()

    def end(self) -> None:
        """Let nobody wait any more."""
        with self._changed:
            self._ended = True
            self._changed.notify_all()


class JobTurn:
    """The turn of one job, which it holds from now on until `end`, but for its requests.

    Of a job that sends several requests at a time, each gives the turn back, and each answer takes
    one: it holds one or none.

    Parameters
    ----------
    turns
        Of the run.
    """

    def __init__(self, turns: CoreTurns) -> None:
        self._turns = turns
        self._lock = threading.Lock()
        self._over = threading.Event()
        self._waiting = WaitingTime()
        self._holds = turns.take()

    @property
    def waited_s(self) -> float:
        """Seconds for which answers have waited for a turn."""
        return self._waiting.seconds()

    @contextmanager
    def lent(self) -> Iterator[None]:
        """Leave the turn to others while a request is answered."""
        self._release()
        try:
            yield
        finally:
            number = self._waiting.begin(time.monotonic())
            with self._lock:
                if not self._holds and not self._over.is_set():
                    self._holds = self._turns.take(self._over)
            self._waiting.end(number, time.monotonic())

    def hang_up(self) -> None:
        """Wait no more: the job has ended."""
        self._over.set()
        self._turns.wake()

    def end(self) -> None:
        """Give the turn back for good."""
        self.hang_up()
        self._release()

    def _release(self) -> None:
        with self._lock:
            if self._holds:
                self._holds = False
                self._turns.give_back()
