"""What a method prints: read to its end, kept up to a cap, without the user's paths."""

from __future__ import annotations

import os
import threading
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


LOG_CAP = 2**20
"""Bytes of a job's log that are kept; what is printed beyond is counted and dropped."""

_STRAY_CAP = 4000
_PATIENCE = 2.0
"""Seconds to wait for the end mark of a job whose worker has reported its end."""


class LogSink:
    """Drains a worker's standard error stream into one log a job.

    The worker ends each job's output with a mark that names the job (docs/protocol.md), so
    that no line of one job stands in the log of the next.

    Parameters
    ----------
    veil
        Takes out of a whole log what nobody else need know.

    Attributes
    ----------
    stray
        The last bytes that were printed outside of any job.
    """

    def __init__(self, veil: Callable[[bytes], bytes] = bytes) -> None:
        self.stray = b""
        self._veil = veil
        self._path: Path | None = None
        self._file: BinaryIO | None = None
        self._pending = b""
        self._mark = b""
        self._kept = 0
        self._dropped = 0
        self._closed = False
        self._changed = threading.Condition()

    def begin(self, path: Path, job: str) -> None:
        """Keep what comes from now on in the file at `path`, up to the job's end mark.

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
        while block := _read(descriptor):
            self.feed(block)
        os.close(descriptor)
        self.close()

    def feed(self, block: bytes) -> None:
        """Take what was printed next."""
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
            if (veiled := self._veil(whole)) != whole:
                file.seek(0)
                file.truncate()
                file.write(veiled)
        self._file = None


def _open(path: Path) -> BinaryIO:
    path.parent.mkdir(parents=True, exist_ok=True)
    return path.open("w+b")


def _read(descriptor: int) -> bytes:
    try:
        return os.read(descriptor, 65536)
    except OSError:
        return b""


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
        # The longest first, lest a folder above it is put in its place.
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
