"""How much a job has written: looked at often, and never for long."""

from __future__ import annotations

import os
import time
from contextlib import suppress
from typing import TYPE_CHECKING

from mdbench.worker.emptying import open_folder

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator

__all__ = ["DEEPEST", "Output"]

DEEPEST = 64
"""Folders within folders that a job may make."""
_LOOK_SECONDS = 0.1
"""How long one look may take; a folder that takes longer is counted in several."""
_LEAST = 4096
"""Bytes that an entry counts at least, so that their number has a limit, too."""


class Output:
    """Adds up what is in a job's folder.

    Parameters
    ----------
    folder
        The folder, open: what is beside it, or behind a link, is not counted.
    most_mb
        What may be in it, in MiB.
    """

    def __init__(self, folder: int, most_mb: int) -> None:
        self._folder = folder
        self._most_mb = most_mb
        self._found = 0
        self._walk = _walk(folder)

    def look(self) -> str:
        """Count on for a moment; say what is too much, as soon as it is known."""
        end = time.monotonic() + _LOOK_SECONDS
        try:
            for size in self._walk:
                self._found += size
                if self._found > self._most_mb * 2**20:
                    found = self._found / 2**20
                    return f"wrote {found:.0f} MiB; {self._most_mb} MiB are allowed"
                if time.monotonic() > end:
                    return ""
        except _TooDeepError:
            return f"nested its folders more than {DEEPEST} deep"
        self._found = 0
        self._walk = _walk(self._folder)
        return ""

    def close(self) -> None:
        """Let go of the folders that a look has left open."""
        self._walk.close()


class _TooDeepError(Exception):
    """There is no end of folders in folders."""


def _walk(folder: int) -> Generator[int, None, None]:
    """Give the bytes that each entry takes on the disk; links are not followed."""
    open_folders: list[int] = []
    pending: list[Iterator[os.DirEntry[str]]] = []
    try:
        open_folders.append(os.dup(folder))
        pending.append(_entries(open_folders[-1]))
        while pending:
            entry = next(pending[-1], None)
            if entry is None:
                pending.pop()
                os.close(open_folders.pop())
                continue
            size = 0
            with suppress(OSError):
                size = entry.stat(follow_symlinks=False).st_blocks * 512
            yield max(size, _LEAST)
            if not entry.is_dir(follow_symlinks=False):
                continue
            if len(pending) > DEEPEST:
                raise _TooDeepError
            below = open_folder(open_folders[-1], entry.name)
            if below is not None:
                open_folders.append(below)
                pending.append(_entries(below))
    finally:
        for each in open_folders:
            os.close(each)


def _entries(folder: int) -> Iterator[os.DirEntry[str]]:
    with suppress(OSError), os.scandir(folder) as entries:
        yield from entries
