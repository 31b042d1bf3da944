"""Cores that a worker has to itself, among all benches of a user on this machine."""

from __future__ import annotations

import fcntl
import os
import tempfile
import threading
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["Cores", "pinned", "pinned_to"]

_own = threading.local()


@contextmanager
def pinned_to(numbers: tuple[int, ...]) -> Iterator[None]:
    """Have the workers that this thread starts meanwhile pinned to some cores; none: to no one."""
    _own.numbers = numbers
    try:
        yield
    finally:
        del _own.numbers


def pinned() -> tuple[int, ...] | None:
    """Give the cores that workers of this thread are to be pinned to; None where nobody said."""
    numbers: tuple[int, ...] | None = getattr(_own, "numbers", None)
    return numbers


class Cores:
    """Some cores, claimed until `release` or until this process ends.

    Parameters
    ----------
    count
        How many are wanted.

    Attributes
    ----------
    numbers
        Their numbers; empty where so many are not free, and then none are claimed.
    """

    def __init__(self, count: int) -> None:
        self.numbers: tuple[int, ...] = ()
        self._claims: dict[int, int] = {}
        with suppress(OSError):  # such as a folder that cannot be written
            self._claim(count)
        if len(self._claims) < count:
            self.release()
        self.numbers = tuple(self._claims)

    def _claim(self, count: int) -> None:
        folder = Path(tempfile.gettempdir()) / f"mdbench-cores-{os.getuid()}"
        folder.mkdir(mode=0o700, exist_ok=True)
        for number in sorted(os.sched_getaffinity(0)):
            if len(self._claims) == count:
                return
            file = os.open(folder / str(number), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                os.close(file)
            else:
                self._claims[number] = file

    def release(self) -> None:
        """Let others have them."""
        while self._claims:
            _, file = self._claims.popitem()
            os.close(file)
        self.numbers = ()
