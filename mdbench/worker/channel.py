"""JSON lines over a pair of file descriptors."""

from __future__ import annotations

import json
import os
from typing import Any

__all__ = ["Channel"]


class Channel:
    """The worker's end of the protocol.

    Reads and writes plain descriptors, so that a forked child goes on exactly where its
    parent stopped: nothing is read ahead of the line that is asked for, because the host
    never sends a message before the last one is answered.
    """

    def __init__(self, read_fd: int, write_fd: int) -> None:
        self.read_fd = read_fd
        self._write_fd = write_fd
        self._buffer = b""

    def send(self, **message: Any) -> None:
        """Write one message; NaN is no JSON and raises ValueError."""
        line = json.dumps(message, allow_nan=False, separators=(",", ":")).encode() + b"\n"
        view = memoryview(line)
        while view:
            view = view[os.write(self._write_fd, view) :]

    def receive(self) -> dict[str, Any] | None:
        """Read one message; None when the host has gone."""
        while b"\n" not in self._buffer:
            block = os.read(self.read_fd, 65536)
            if not block:
                return None
            self._buffer += block
        line, self._buffer = self._buffer.split(b"\n", 1)
        message: dict[str, Any] = json.loads(line)
        return message

    def hand_over(self) -> None:
        """Make the two ends the standard streams, for a program that takes this one's place."""
        os.dup2(self.read_fd, 0)
        os.dup2(self._write_fd, 1)
