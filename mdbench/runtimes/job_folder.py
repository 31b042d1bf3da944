"""Folders of a run: locked while it lives, cleared away after it was killed.

What a job may have touched is worked on below a descriptor that was opened before there was a
job: a path may lead elsewhere by now.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import queue
import stat
import tempfile
import threading
import time
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from mdbench.worker.safe_rmtree import FOLDER, move, remove, within

if TYPE_CHECKING:
    from collections.abc import Callable

_CHECKOUT = hashlib.sha256(os.fsencode(Path(__file__).resolve())).hexdigest()[:8]
PREFIX = f"mdbench-scratch-{os.getuid()}-{_CHECKOUT}-"
"""How the names of our folders begin: one user's and one checkout's are nobody else's."""
QUARANTINE_PREFIX = f"mdbench-left-{os.getuid()}-"
"""How a folder is called that cannot be removed: no later run looks at it."""
LOCK_FILE = ".claim"

_OLD_SECONDS = 3600.0
"""Age from which a folder without a lock is left over: its run died while it was made."""
_REMOVAL_SECONDS = 20.0
"""How long the removal of one folder may take."""
_MOST_ENTRIES = 10_000
"""Entries of a job's folder that are cleared away between two jobs; more, and it is given up."""


class Scratch:
    """A folder below the machine's temporary folder.

    Parameters
    ----------
    report
        Called with a message about what cannot be removed.

    Attributes
    ----------
    path
        The folder.
    """

    def __init__(self, report: Callable[[str], None] | None = None) -> None:
        self._report = report
        self.path = Path(tempfile.mkdtemp(prefix=PREFIX))
        # Held open for as long as the folder is needed; the kernel lets go when we die.
        self._lock = os.open(self.path / LOCK_FILE, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        fcntl.flock(self._lock, fcntl.LOCK_EX)

    def remove(self) -> None:
        """Remove the folder with all that is in it, or set it aside."""
        _remove_or_quarantine(self.path, self._report)
        with suppress(OSError):
            os.close(self._lock)


class JobDirectory:
    """The folder of a worker's jobs, one after the other; between two of them it is emptied.

    It stays the same folder, so that a sandbox can have it and nothing around it: there a job can
    neither rename it nor reach another job's.

    Parameters
    ----------
    path
        Where it is made.
    bin_
        Where is made what holds the leavings of jobs until they are removed.
    give
        Makes the user of jobs the owner of an open folder.

    Attributes
    ----------
    descriptor
        The folder, open.

    Raises
    ------
    OSError
        If it cannot be made.
    """

    def __init__(self, path: Path, bin_: Path, give: Callable[[int], None]) -> None:
        self._path = path
        self._grant = give
        path.mkdir(mode=0o700)
        bin_.mkdir(mode=0o700)
        self.descriptor = os.open(path, FOLDER)
        self._bin = os.open(bin_, FOLDER)
        self._count = 0
        self._closing = False
        self._used: queue.SimpleQueue[str | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._remove_used, daemon=True)
        self._thread.start()
        give(self.descriptor)
        self._create_scratch()

    def reset(self) -> bool:
        """Clear all away that a job has left; return whether the next one can be in it.

        Not if the folder is no longer where it was made, or holds more than can be moved at once.
        """
        try:
            here, there = os.fstat(self.descriptor), self._path.lstat()
            if not os.path.samestat(here, there):
                return False
            os.fchmod(self.descriptor, 0o700)
            with suppress(OSError):
                for name in os.listxattr(self.descriptor):
                    os.removexattr(self.descriptor, name)
            if not self._move_all():
                return False
            self._create_scratch()
        except OSError:
            return False
        return True

    def _move_all(self) -> bool:
        """Move all into a new folder of the bin, which costs the same whatever is in it."""
        self._count += 1
        name = str(self._count)
        os.mkdir(name, 0o700, dir_fd=self._bin)
        used = os.open(name, FOLDER, dir_fd=self._bin)
        try:
            with os.scandir(self.descriptor) as entries:
                names = [entry.name for entry in islice(entries, _MOST_ENTRIES)]
            moved = sum(move(self.descriptor, each, used, each) for each in names)
        finally:
            os.close(used)
            self._used.put(name)
        return moved == len(names) < _MOST_ENTRIES

    def _create_scratch(self) -> None:
        os.mkdir("scratch", 0o700, dir_fd=self.descriptor)
        scratch = os.open("scratch", FOLDER, dir_fd=self.descriptor)
        try:
            self._grant(scratch)
        finally:
            os.close(scratch)

    def _remove_used(self) -> None:
        while (name := self._used.get()) is not None:
            soon = within(_REMOVAL_SECONDS)
            remove(self._bin, name, lambda: soon() and not self._closing)  # noqa: B023

    def close(self) -> None:
        """End the thread, and let go of the folder; what is there stays."""
        self._closing = True
        self._used.put(None)
        self._thread.join()
        for descriptor in (self.descriptor, self._bin):
            os.close(descriptor)


def remove_left_over(report: Callable[[str], None] | None = None) -> list[Path]:
    """Remove the folders of this user's runs that were killed; return those that were.

    Whatever is there: no error comes of it, and it takes a limited time.

    Parameters
    ----------
    report
        Called with a message about what cannot be removed.
    """
    removed = []
    for path in Path(tempfile.gettempdir()).glob(f"{PREFIX}*"):
        try:
            status = path.lstat()
            if not stat.S_ISDIR(status.st_mode) or status.st_uid != os.getuid():
                continue
            new = os.O_CREAT if status.st_mtime < time.time() - _OLD_SECONDS else 0
            flags = os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC | new
            claim = os.open(path / LOCK_FILE, flags, 0o600)
        except OSError:
            continue  # just made, or just removed
        try:
            fcntl.flock(claim, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            continue  # its run is alive
        else:
            if _remove_or_quarantine(path, report):
                removed.append(path)
        finally:
            os.close(claim)
    return removed


def _remove_or_quarantine(path: Path, report: Callable[[str], None] | None) -> bool:
    if remove_tree(path):
        return True
    aside = path.with_name(f"{QUARANTINE_PREFIX}{path.name.removeprefix(PREFIX)}")
    try:
        path.rename(aside)
    except OSError:
        aside = path
    if report is not None:
        report(f"What a job has left cannot be removed: {aside}; remove it by hand.")
    return False


def remove_tree(folder: Path, seconds: float = _REMOVAL_SECONDS) -> bool:
    """Remove a folder, also where rights were taken from it or files come and go meanwhile.

    It never raises; it returns whether nothing is left of the folder.
    """
    try:
        parent = os.open(folder.parent, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    except FileNotFoundError:
        return True
    except OSError:
        return False
    try:
        return remove(parent, folder.name, within(seconds))
    finally:
        os.close(parent)


def folder_mb(folder: Path) -> float:
    """Return the space that the files of a folder that nobody writes take, in MiB.

    Links are not followed.
    """
    size = 0
    pending = [folder]
    while pending:
        with suppress(OSError), os.scandir(pending.pop()) as entries:
            for entry in entries:
                with suppress(OSError):
                    if entry.is_dir(follow_symlinks=False):
                        pending.append(Path(entry.path))
                    else:
                        size += entry.stat(follow_symlinks=False).st_blocks * 512
    return size / 2**20
