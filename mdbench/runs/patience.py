"""How often what failed by no doing of a method is tried again, and what is waited before."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["FIRST_WAIT_S", "LONGEST_WAIT_S", "Patience"]

FIRST_WAIT_S: Final = 1.0
FACTOR: Final = 5.0
"""By which each wait is longer than the one before."""
LONGEST_WAIT_S: Final = 60.0


@dataclass(frozen=True)
class Patience:
    """Retries with waits between them that grow: 1, 5, 25, 60, 60, ... seconds.

    Attributes
    ----------
    retries
        How often something is tried again.
    """

    retries: int = 0
    _ended: threading.Event = field(default_factory=threading.Event, repr=False)

    def waits(self) -> Iterator[float]:
        """Give the seconds before each retry."""
        wait = FIRST_WAIT_S
        for _ in range(self.retries):
            yield min(wait, LONGEST_WAIT_S)
            wait *= FACTOR

    def tries(self) -> Iterator[int]:
        """Count tries from 0 on, waiting before each but the first; ends early after `end`."""
        yield 0
        for number, wait in enumerate(self.waits(), start=1):
            if self._ended.wait(wait):
                return
            yield number

    def pause(self, seconds: float) -> None:
        """Wait for so long, or until `end`."""
        self._ended.wait(seconds)

    def end(self) -> None:
        """Let nobody wait any longer, nor try again."""
        self._ended.set()
