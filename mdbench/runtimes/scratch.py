"""Folders of a running bench: claimed while it lives, cleared away after it was killed."""

from __future__ import annotations

import fcntl
import os
import queue
import shutil
import stat
import tempfile
import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = [
    "CLAIM",
    "PREFIX",
    "JobFolders",
    "Scratch",
    "folder_mb",
    "remove_left_over",
    "remove_tree",
]

PREFIX = "mdbench-scratch-"
CLAIM = ".claim"

_OLD_SECONDS = 3600.0
"""Age from which a folder without a claim is left over: its bench died while it was made."""


class Scratch:
    """A worker's folder below the machine's temporary folder.

    Attributes
    ----------
    path
        The folder; ``jobs`` in it is for the folders of jobs.
    """

    def __init__(self) -> None:
        self.path = Path(tempfile.mkdtemp(prefix=PREFIX))
        # Held open for as long as the folder is needed; the kernel lets go when we die.
        self._claim = os.open(self.path / CLAIM, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        fcntl.flock(self._claim, fcntl.LOCK_EX)
        self.jobs = self.path / "jobs"
        self.jobs.mkdir()

    def remove(self) -> None:
        """Remove the folder with all that is in it."""
        remove_tree(self.path)
        with suppress(OSError):
            os.close(self._claim)


class JobFolders:
    """Folders for one job after the other, made and removed while jobs are running.

    Parameters
    ----------
    place
        Where they are made.
    give
        Does what the folder's user needs, such as making it the owner.
    """

    def __init__(self, place: Path, give: Callable[[Path], None]) -> None:
        self._place = place
        self._give = give
        self._spare: queue.SimpleQueue[Path | OSError] = queue.SimpleQueue()
        self._used: queue.SimpleQueue[Path | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._keep_house, daemon=True)
        self._thread.start()

    def take(self) -> Path:
        """Give a folder that holds nothing but an empty folder ``scratch``.

        Raises
        ------
        OSError
            If none can be made.
        """
        made = self._spare.get()
        if isinstance(made, OSError):
            raise made
        return made

    def give_back(self, folder: Path) -> None:
        """Have a folder removed, and another one made."""
        self._used.put(folder)

    def close(self) -> None:
        """End the thread; what is there stays."""
        self._used.put(None)
        self._thread.join()

    def _keep_house(self) -> None:
        self._spare.put(self._make())
        while (used := self._used.get()) is not None:
            self._spare.put(self._make())  # first, since the next job may wait for it
            remove_tree(used)

    def _make(self) -> Path | OSError:
        try:
            made = Path(tempfile.mkdtemp(prefix="job-", dir=self._place))
            scratch = made / "scratch"
            scratch.mkdir()
            self._give(made)
            self._give(scratch)
        except OSError as error:
            return error
        return made


def remove_left_over() -> list[Path]:
    """Remove the folders of benches that were killed; gives those that were."""
    removed = []
    for path in Path(tempfile.gettempdir()).glob(f"{PREFIX}*"):
        try:
            status = path.lstat()
            if not stat.S_ISDIR(status.st_mode) or status.st_uid != os.getuid():
                continue
            new = os.O_CREAT if status.st_mtime < time.time() - _OLD_SECONDS else 0
            claim = os.open(path / CLAIM, os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC | new, 0o600)
        except OSError:
            continue  # just made, or just removed
        try:
            fcntl.flock(claim, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            continue  # its bench is running
        else:
            remove_tree(path)
            removed.append(path)
        finally:
            os.close(claim)
    return removed


def remove_tree(folder: Path) -> None:
    """Remove a folder, also where rights were taken from it or files come and go meanwhile."""

    def retry(call: Callable[..., Any], path: str, _error: object) -> None:
        with suppress(OSError):
            for each in (Path(path).parent, Path(path)):
                if stat.S_ISDIR(each.lstat().st_mode):
                    each.chmod(0o700)
            if call in {os.rmdir, os.unlink}:
                call(path)
            else:
                shutil.rmtree(path, ignore_errors=True)

    shutil.rmtree(folder, onerror=retry)


def folder_mb(folder: Path) -> float:
    """Give the space that a folder's files take, in MiB; links are not followed."""
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
