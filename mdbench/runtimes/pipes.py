"""Named pipes between the host and a worker in a container.

The streams of a container pass two of the engine's processes, which costs a job more than all
else that the bench does for it.  A pipe in a folder that both can see is the kernel's alone.
"""

from __future__ import annotations

import os
import select
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["Pipes"]

# A job can read what is for the worker and write what is the worker's, as it can without pipes;
# it cannot speak as the host does.
_MODES = {"orders": 0o444, "answers": 0o222, "log": 0o222}


class Pipes:
    """The host's ends: ``orders`` to the worker, ``answers`` and the ``log`` from it.

    Parameters
    ----------
    folder
        Is made; the worker gets it to read only, so that nothing in it can be changed.

    Attributes
    ----------
    answers, log
        Descriptors to read from, which never block and never end.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir()
        opened = {}
        for name, mode in _MODES.items():
            os.mkfifo(folder / name, 0o600)
            # Both ends, as the other side comes later, and is not waited for.
            opened[name] = os.open(folder / name, os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC)
            (folder / name).chmod(mode)
        folder.chmod(0o755)
        self._orders = opened["orders"]
        self.answers = opened["answers"]
        self.log = opened["log"]

    def send(self, data: memoryview, seconds: float) -> int:
        """Write some of the data; give how much, which is 0 if there is no room for so long."""
        if not select.select([], [self._orders], [], seconds)[1]:
            return 0
        return os.write(self._orders, data)

    def read(self, descriptor: int) -> bytes:
        """Read what is there; empty for nothing."""
        try:
            return os.read(descriptor, 2**20)
        except BlockingIOError:
            return b""

    def hang_up(self) -> None:
        """Give no more orders: the worker's lease ends."""
        if self._orders >= 0:
            os.close(self._orders)
            self._orders = -1

    def close(self) -> None:
        """Close all; once."""
        self.hang_up()
        os.close(self.answers)
        os.close(self.log)
