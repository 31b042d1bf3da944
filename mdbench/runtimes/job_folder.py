"""The files of a job on the host: its folder, and its log.

Folders are locked while the run lives, and removed after it was killed.  What a job may have
touched is worked on below a descriptor that was opened before there was a job: a path may lead
elsewhere by now.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import stat
import tempfile
import threading
import time
import uuid
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from mdbench.worker.leftovers import FOLDER, move, remove, within

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
        # Held open for as long as the folder is needed; the kernel lets go when we die.  It is
        # locked before it has its name: another run would take an unlocked claim for a dead one's.
        claim = self.path / f"{LOCK_FILE}.new"
        self._lock = os.open(claim, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        fcntl.flock(self._lock, fcntl.LOCK_EX)
        claim.rename(self.path / LOCK_FILE)

    def is_there(self) -> bool:
        """Whether the folder is still where it was made: no job can reach its claim."""
        try:
            return os.path.samestat(os.fstat(self._lock), os.stat(self.path / LOCK_FILE))  # noqa: PTH116
        except OSError:
            return False

    def remove(self) -> None:
        """Remove the folder with all that is in it, or set it aside."""
        _remove_or_quarantine(self.path, self._report)
        with suppress(OSError):
            os.close(self._lock)


class JobDirectory:
    """The folders of a worker's jobs, one after the other: a new one for each.

    A folder that is only emptied keeps what jobs did to itself: its times, its flags, its size.
    A sandbox has the folder that holds them, and nothing around it: there a job can reach no other
    worker's.  A job that has namespaces of its own does not see that either, only its own.

    Parameters
    ----------
    path
        The path of the folder.
    bin_
        Where is made what holds the leavings of a job until they are removed.
    grant
        Makes the user of jobs the owner of an open folder.

    Attributes
    ----------
    descriptor
        The folder that holds them, open.

    Raises
    ------
    OSError
        If it cannot be made.
    """

    def __init__(self, path: Path, bin_: Path, grant: Callable[[int], None]) -> None:
        self._grant = grant
        path.mkdir()
        path.chmod(0o711)  # whatever the user's umask
        bin_.mkdir(mode=0o700)
        self.descriptor = os.open(path, FOLDER)
        self._bin = os.open(bin_, FOLDER)
        self._open: tuple[str, int] | None = None

    def begin(self) -> tuple[str, int]:
        """Make the folder of a job, empty but for a folder ``scratch``.

        Returns
        -------
        tuple of str and int
            Its name, and the folder, open.

        Raises
        ------
        OSError
            If it cannot be made.
        """
        self._close_folder()
        name = uuid.uuid4().hex[:12]
        self._open = name, _make_folder(self.descriptor, name, self._grant)
        scratch = _make_folder(self._open[1], "scratch", self._grant)
        os.close(scratch)
        return self._open

    def end(self) -> bool:
        """Remove the folder of the job; return whether the next one may begin.

        Not if it is no longer where it was made, or cannot be removed.  The next job does not begin
        before: the numbers of its files would depend on those that are still there.
        """
        if self._open is None:
            return True
        name, folder = self._open
        try:
            there = os.stat(name, dir_fd=self.descriptor, follow_symlinks=False)
            ours = os.path.samestat(os.fstat(folder), there)
        except OSError:
            ours = False
        self._close_folder()
        gone = move(self.descriptor, name, self._bin, name)
        gone = gone and remove(self._bin, name, within(_REMOVAL_SECONDS))
        with os.scandir(self.descriptor) as entries:  # where a job may write beside its folder
            return gone and ours and next(entries, None) is None

    def _close_folder(self) -> None:
        if self._open is not None:
            os.close(self._open[1])
            self._open = None

    def close(self) -> None:
        """Close all folders; what is there stays."""
        self._close_folder()
        for descriptor in (self.descriptor, self._bin):
            os.close(descriptor)


def _make_folder(parent: int, name: str, grant: Callable[[int], None]) -> int:
    os.mkdir(name, 0o700, dir_fd=parent)
    folder = os.open(name, FOLDER, dir_fd=parent)
    try:
        grant(folder)
    except BaseException:
        os.close(folder)
        raise
    return folder


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
        data_kept = data[: LOG_CAP - self._kept]
        try:
            if self._file is None:
                self._file = _open(self._path)
            self._file.write(data_kept)
            self._file.flush()
        except OSError:  # a full disk may cost the log, and never the job
            data_kept = b""
        self._kept += len(data_kept)
        self._dropped += len(data) - len(data_kept)

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
