"""While the bench weighs what a job has sent, the job stands, and so does its clock."""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from mdbench.runtimes.base import Worker

__all__ = ["Standstill"]

_QUICK_SECONDS = 0.02
"""What is over so soon is not worth a standstill: the clock goes on."""
_CHECK_SECONDS = 0.1
"""How often it is seen to that the job still stands."""


class Standstill:
    """Holds a job while something is done that is none of its time.

    Whether it stands is looked at from outside, again and again; time in which it may have run
    counts.

    Attributes
    ----------
    seconds
        How long the job stood.
    """

    def __init__(self, worker: Worker) -> None:
        self.seconds = 0.0
        self._worker = worker
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._hold, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()

    def _hold(self) -> None:
        if self._over.wait(_QUICK_SECONDS):
            return
        try:
            over = False
            while not over:
                stood = self._worker.hold()
                since = time.monotonic()
                over = self._over.wait(_CHECK_SECONDS)
                if stood and self._worker.stands():
                    self.seconds += time.monotonic() - since
        finally:
            self._worker.go_on()
