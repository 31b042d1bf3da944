"""Cores that a worker has to itself, among all benches of a user on this machine."""

from __future__ import annotations

import fcntl
import os
import tempfile
from contextlib import suppress
from pathlib import Path

__all__ = ["Cores"]


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
