"""The files of a job on the host: its folder, and its log.

Folders are locked while the run lives, and removed after it was killed.  What a job may have
touched is worked on below a descriptor that was opened before there was a job: a path may lead
elsewhere by now.
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
from typing import TYPE_CHECKING, BinaryIO

from mdbench.worker.safe_rmtree import FOLDER, move, remove, within

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

_CHECKOUT = hashlib.sha256(os.fsencode(Path(__file__).resolve())).hexdigest()[:8]
PREFIX = f"mdbench-scratch-{os.getuid()}-{_CHECKOUT}-"
"""Prefix of our folders' names: one user's and one checkout's are nobody else's."""
QUARANTINE_PREFIX = f"mdbench-left-{os.getuid()}-"
"""Prefix of a folder that cannot be removed: no later run looks at it."""
LOCK_FILE = ".claim"

_OLD_SECONDS = 3600.0
"""Age from which a folder without a lock is left over: its run died while it was made."""
_REMOVAL_SECONDS = 20.0
"""Seconds that the removal of one folder may take."""
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

    It raises no error, whatever is there, and takes a limited time.

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


LOG_CAP = 2**20
"""Bytes of a job's log that are kept; what is printed beyond is counted and dropped."""

_STRAY_CAP = 4000
_PATIENCE = 2.0
"""Seconds to wait for the end mark of a job whose worker has reported its end."""


class LogSink:
    """Drains a worker's standard error stream into one log a job.

    The worker ends each job's output with a mark that names the job (docs/protocol.md), so
    that no line of one job is in the log of the next.

    Parameters
    ----------
    redact
        Takes out of a whole log what nobody else need know.

    Attributes
    ----------
    stray
        The last bytes that were printed outside of any job.
    """

    def __init__(self, redact: Callable[[bytes], bytes] = bytes) -> None:
        self.stray = b""
        self._redact = redact
        self._path: Path | None = None
        self._file: BinaryIO | None = None
        self._pending = b""
        self._mark = b""
        self._kept = 0
        self._dropped = 0
        self._closed = False
        self._changed = threading.Condition()

    def begin(self, path: Path, job: str) -> None:
        """Write the output from now on to the file at `path`, up to the job's end mark.

        A job that prints nothing has no file.
        """
        with suppress(OSError):
            if path.is_file():  # an earlier attempt's
                path.unlink()
        with self._changed:
            self._path = path
            self._mark = b"\x00end of " + job.encode() + b"\x00\n"
            self._kept = self._dropped = 0

    def end(self) -> None:
        """Wait until all that the job printed is in its log."""
        with self._changed:
            self._changed.wait_for(lambda: self._path is None or self._closed, _PATIENCE)
            self._finish()

    def pump(self, descriptor: int) -> None:
        """Read `descriptor` to its end and close it; run in a thread of its own."""
        with suppress(OSError):
            while block := os.read(descriptor, 65536):
                self.feed(block)
        os.close(descriptor)
        self.close()

    def feed(self, block: bytes) -> None:
        """Add what was printed next."""
        with self._changed:
            self._pending = self._take(self._pending + block)

    def close(self) -> None:
        """Note that no more output will come."""
        with self._changed:
            self._keep(self._pending)
            self._pending = b""
            self._closed = True
            self._changed.notify_all()

    def _take(self, data: bytes) -> bytes:
        """Keep all of `data` but an end of it that may be the beginning of the mark."""
        if self._path is not None:
            before, mark, after = data.partition(self._mark)
            if mark:
                self._keep(before)
                self._finish()
                self._changed.notify_all()
                data = after
            elif tail := _overlap(data, self._mark):
                self._keep(data[:-tail])
                return data[-tail:]
        self._keep(data)
        return b""

    def _keep(self, data: bytes) -> None:
        if self._path is None:
            self.stray = (self.stray + data)[-_STRAY_CAP:]
            return
        if not data:
            return
        kept = data[: LOG_CAP - self._kept]
        try:
            if self._file is None:
                self._file = _open(self._path)
            self._file.write(kept)
            self._file.flush()
        except OSError:  # a full disk may cost the log, and never the job
            kept = b""
        self._kept += len(kept)
        self._dropped += len(data) - len(kept)

    def _finish(self) -> None:
        self._path = None
        if self._file is None:
            return
        with suppress(OSError), self._file as file:
            if self._dropped:
                file.write(f"\n[{self._dropped} more bytes were printed and dropped]\n".encode())
            file.seek(0)
            whole = file.read()
            if (redacted := self._redact(whole)) != whole:
                file.seek(0)
                file.truncate()
                file.write(redacted)
        self._file = None


def _open(path: Path) -> BinaryIO:
    path.parent.mkdir(parents=True, exist_ok=True)
    return path.open("w+b")


def _overlap(data: bytes, mark: bytes) -> int:
    """Return how many of the last bytes of `data` are the first ones of `mark`."""
    longest = min(len(data), len(mark) - 1)
    return next((n for n in range(longest, 0, -1) if data.endswith(mark[:n])), 0)


class PathRedactor:
    """Puts words in the place of the machine's folders.

    Parameters
    ----------
    names
        What to write for each folder; the user's own is ``~``.

    Examples
    --------
    >>> PathRedactor({Path("/opt/bench/algorithms"): "algorithms"}).redact(
    ...     "/opt/bench/algorithms/sindy/adapter.py: no luck"
    ... )
    'algorithms/sindy/adapter.py: no luck'
    """

    def __init__(self, names: Mapping[Path, str]) -> None:
        pairs = {}
        for folder, name in {Path.home(): "~", **names}.items():
            for path in {str(folder.absolute()), os.path.realpath(folder)} - {"/"}:
                pairs[path] = name
        # The longest first, so that no folder above it is replaced first.
        self._pairs = sorted(pairs.items(), key=lambda pair: -len(pair[0]))

    def redact(self, text: str) -> str:
        """Return a text without the paths of the folders."""
        for path, name in self._pairs:
            text = text.replace(path, name)
        return text

    def redact_bytes(self, data: bytes) -> bytes:
        """Return bytes without the paths of the folders."""
        for path, name in self._pairs:
            data = data.replace(os.fsencode(path), name.encode())
        return data
