"""Memory that goes on being shared after a fork, as the kernel shows it.

The worker looks at itself, and the host looks at the worker from outside, where no adapter can have
changed what is seen.
"""

from __future__ import annotations

import os
from contextlib import suppress


def shared_memory(process: int | str = "self") -> int:
    """Return how many pieces of memory a process shares with all that it forks.

    Those of devices are none of them.

    Raises
    ------
    OSError
        If the process has ended, or may not be looked at; never for the caller itself.
    """
    try:
        with open(f"/proc/{process}/maps", encoding="utf-8", errors="replace") as file:  # noqa: PTH123
            lines = [line.split(maxsplit=5) for line in file]
    except OSError:
        if process == "self":
            return 0
        raise
    device = ("/dev/", "anon_inode:")
    memory = ("/dev/shm", "/dev/zero")  # noqa: S108 - as the kernel calls it
    return sum(
        not parts[5:] or not parts[5].startswith(device) or parts[5].startswith(memory)
        for parts in lines
        if parts[1] == "rw-s"
    )


def memory_files(process: int) -> int:
    """Return how many files in memory a process has open.

    Raises
    ------
    OSError
        If the process has ended, or may not be looked at.
    """
    found = 0
    for name in os.listdir(f"/proc/{process}/fd"):  # noqa: PTH208 - of another process
        with suppress(FileNotFoundError):
            link = os.readlink(f"/proc/{process}/fd/{name}")  # noqa: PTH115
            found += link.startswith(("/memfd:", "/dev/shm/"))  # noqa: S108
    return found
