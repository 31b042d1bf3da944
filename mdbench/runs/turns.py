"""Turns on the cores, for jobs of which more run at a time than there are cores.

A job that waits for a language model needs no core.  So many such jobs may be under way.  There are
as many turns as jobs run at a time otherwise.  A job holds one from its start to its end, but not
while a request of its is being answered.  An answer is handed over when a turn is free; that wait
is none of the job's time.
"""

from __future__ import annotations

import threading
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

from mdbench.language_models.availability import WaitingTime

if TYPE_CHECKING:
    from collections.abc import Iterator


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
