"""What a job leaves: folders, which are emptied, and memory that goes on being shared.

Folders are emptied however deep they are, within a limit, without raising.

All of that is done below a descriptor: no link is followed, and nobody can put another folder in
the place of the one that is emptied.  Used by the worker and by the host.
"""

from __future__ import annotations

import os
import time
import uuid
from contextlib import suppress
from itertools import count
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
"""Flags to open a folder that may have been exchanged for a link."""


def within(seconds: float) -> Callable[[], bool]:
    """Return a function that returns whether there is time left."""
    end = time.monotonic() + seconds
    return lambda: time.monotonic() < end


def empty(folder: int, go_on: Callable[[], bool]) -> bool:
    """Remove all that is in an open folder; return whether nothing is left.

    Folders in folders are moved to the top before theirs is removed, so that neither the stack
    nor the number of open files grows with the depth.
    """
    prefix = uuid.uuid4().hex  # of names that nobody else has thought of
    names = (f"{prefix}-{number}" for number in count(1))
    while go_on():
        removed = done = 0
        try:
            with os.scandir(folder) as entries:
                for entry in entries:
                    if not go_on():
                        return False
                    removed += 1
                    done += _take(folder, entry.name, names, go_on)
        except OSError:
            return False
        if not removed:
            return True
        if not done:
            return False
    return False


def remove(parent: int, name: str, go_on: Callable[[], bool]) -> bool:
    """Remove a file or a folder with all that is in it; return whether it has gone."""
    try:
        os.unlink(name, dir_fd=parent)
    except FileNotFoundError:
        return True
    except OSError:
        pass
    else:
        return True
    _unlock(parent, name)
    folder = open_folder(parent, name)
    if folder is None:
        return False
    try:
        whole = empty(folder, go_on)
    finally:
        os.close(folder)
    with suppress(OSError):
        os.rmdir(name, dir_fd=parent)
        return whole
    return False


def move(source: int, name: str, target: int, new_name: str) -> bool:
    """Move an entry from one open folder to another; return whether it is there."""
    for unlock in (False, True):
        if unlock:  # a folder's owner must be able to write it to move it
            _unlock(source, name)
        with suppress(OSError):
            os.rename(name, new_name, src_dir_fd=source, dst_dir_fd=target)
            return True
    return False


def _take(top: int, name: str, names: Iterator[str], go_on: Callable[[], bool]) -> bool:
    """Remove one entry, or bring what is in it to the top; return whether anything was done."""
    for call in (os.unlink, os.rmdir):
        with suppress(OSError):
            call(name, dir_fd=top)
            return True
    _unlock(top, name)
    folder = open_folder(top, name)
    if folder is None:
        return False
    done = False
    try:
        with suppress(OSError), os.scandir(folder) as entries:
            for entry in entries:
                if not go_on():
                    break
                with suppress(OSError):
                    if entry.is_dir(follow_symlinks=False):
                        done |= move(folder, entry.name, top, next(names))
                    else:
                        os.unlink(entry.name, dir_fd=folder)
                        done = True
    finally:
        os.close(folder)
    with suppress(OSError):
        os.rmdir(name, dir_fd=top)
        done = True
    return done


def open_folder(parent: int, name: str) -> int | None:
    """Open a folder, giving its owner all rights where it cannot be read; None if it fails."""
    for unlock in (False, True):
        if unlock:
            _unlock(parent, name)
        with suppress(OSError):
            return os.open(name, FOLDER, dir_fd=parent)
    return None


def _unlock(parent: int, name: str) -> None:
    """Grant the owner of a folder all rights; a link is not followed."""
    with suppress(OSError):
        handle = os.open(
            name, os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=parent
        )
        try:
            os.chmod(f"/proc/self/fd/{handle}", 0o700)  # noqa: PTH101 - the folder that is open
        finally:
            os.close(handle)


def shared_memory(process: int | str = "self") -> int:
    """Return how many pieces of memory a process shares with all that it forks.

    The worker looks at itself, and the host looks at the worker from outside, where no adapter can
    have changed what is seen.

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
    files = 0
    for name in os.listdir(f"/proc/{process}/fd"):  # noqa: PTH208 - of another process
        with suppress(FileNotFoundError):
            link = os.readlink(f"/proc/{process}/fd/{name}")  # noqa: PTH115
            files += link.startswith(("/memfd:", "/dev/shm/"))  # noqa: S108
    return files
