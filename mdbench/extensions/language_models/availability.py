"""Whether an endpoint answers: one view of it for all jobs of a run, and how long it is waited for.

A server that is overloaded, restarted or out of credit is at fault for all who ask it.  So what
waits is the run: requests of all jobs stop, one at a time is tried at growing intervals, and the
first that is answered lets the others go on (a circuit breaker: Nygard, Release It!, 2007).
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable
from typing import TypeAlias

PATIENCE_S = 600.0
"""Seconds that an endpoint may fail before it is given up, unless another number is given."""
FIRST_PAUSE_S = 0.5
LONGEST_PAUSE_S = 60.0
_FACTOR = 2.0
_MOST_IN_A_ROW = 3
"""Faults in a row after which the requests of all jobs wait; fewer are those of single requests."""
_LOOK_SECONDS = 0.5
Report: TypeAlias = Callable[[str], None]


class CircuitBreaker:
    """Lets requests through as long as the endpoint answers; may be used from several threads.

    Parameters
    ----------
    patience_s
        Seconds without any answer, from the first fault on, after which the endpoint is given up.
    first_pause_s
        Seconds before the first further attempt; each next one is twice as long.

    Attributes
    ----------
    report
        Called with what a person should know: that it is waited for, goes on, or is given up.
    gone
        Why nobody is answered any more in this run; empty as long as somebody may be.
    answers
        How many requests were answered, if only by a refusal of them alone.
    """

    def __init__(
        self,
        patience_s: float = PATIENCE_S,
        first_pause_s: float = FIRST_PAUSE_S,
        report: Report = lambda _: None,
    ) -> None:
        self.patience_s = patience_s
        self.report = report
        self.gone = ""
        self.answers = 0
        self._first_pause_s = first_pause_s
        self._changed = threading.Condition()
        self._in_a_row = 0
        self._down_since: float | None = None
        self._open = False
        self._trying = False
        self._next_try = -math.inf

    @property
    def is_open(self) -> bool:
        """Whether the requests of all jobs wait."""
        return self._open

    def admit(self, over: threading.Event) -> bool:
        """Wait until a request may be sent; whether it may: else nobody's will be answered.

        Whoever was let through calls `succeed`, `fail` or `leave` afterwards.

        Parameters
        ----------
        over
            Set when the answer is not waited for any more; see `wake`.
        """
        with self._changed:
            while not over.is_set() and not self.gone:
                if not self._open:
                    return True
                seconds_left = self._next_try - time.monotonic()
                if not self._trying and seconds_left <= 0:
                    self._trying = True
                    return True
                self._changed.wait(_LOOK_SECONDS if self._trying else max(0.001, seconds_left))
            return False

    def pause_after(self, attempt: int) -> float:
        """Return the seconds before the next attempt at a request."""
        exponent = min(attempt - 1, 60)
        return float(min(LONGEST_PAUSE_S, self._first_pause_s * _FACTOR**exponent))

    def succeed(self) -> None:
        """Note an answer: everybody goes on."""
        with self._changed:
            if self._open:
                seconds = time.monotonic() - (self._down_since or time.monotonic())
                self.report(f"The language model answers again, after {seconds:.0f} s.")
            self.answers += 1
            self._in_a_row = 0
            self._down_since = None
            self._open = self._trying = False
            self._changed.notify_all()

    def fail(self, since: float, pause_s: float, why: str, *, asked_to_wait: bool) -> bool:
        """Note a fault that may pass; return whether it is time to give up.

        Parameters
        ----------
        since
            When the attempt began, by `time.monotonic`.
        pause_s
            Seconds that it should be left alone.
        asked_to_wait
            Whether the endpoint has asked for that: then all wait at once.
        """
        with self._changed:
            now = time.monotonic()
            self._trying = False
            self._in_a_row += 1
            if self._down_since is None:
                self._down_since = since
            end = self._down_since + self.patience_s
            self._next_try = max(self._next_try, now + pause_s)
            if self._in_a_row >= _MOST_IN_A_ROW or asked_to_wait:
                if not self._open:
                    self.report(
                        f"The language model does not answer: {why}. All jobs that ask it wait, "
                        f"up to {max(0.0, end - now):.0f} s (--llm-patience)."
                    )
                self._open = True
            self._changed.notify_all()
            return now + pause_s > end

    def leave(self) -> None:
        """Let the next one try: this attempt said nothing of the endpoint."""
        with self._changed:
            self._trying = False
            self._changed.notify_all()

    def give_up(self, why: str) -> None:
        """Let nobody through any more."""
        with self._changed:
            if not self.gone:
                self.gone = why
                self.report(
                    f"The language model is given up for this run: {why}. Its jobs end with what "
                    "they have; the same command goes on from there."
                )
            self._changed.notify_all()

    def wake(self) -> None:
        """Have those look again who wait: a job has ended."""
        with self._changed:
            self._changed.notify_all()
