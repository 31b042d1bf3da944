"""One results file: one writer at a time, every record whole or not there at all."""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING
from weakref import WeakSet

from mdbench.errors import RecordsError
from mdbench.records.files import (
    OTHER_FOLDER,
    PACKED,
    file_failure,
    parse_line,
    read_lines,
    read_records,
    results_files,
)
from mdbench.records.schema import Record

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence


class RecordStore:
    """One results file.

    Parameters
    ----------
    path
        The file; neither it nor its folder need exist yet.  A symbolic link is followed.
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    def read(self) -> list[Record]:
        """Read all records, oldest first; none where there is no file.

        A last line that was torn in the writing is passed over.  Nothing is changed.

        Raises
        ------
        RecordsError
            If the file cannot be read, or if a line is no record or one of another schema; it
            names the line.
        """
        _refuse_other_than_file(self.path)
        try:
            self.path.stat()
        except FileNotFoundError:
            return []
        except OSError as error:
            raise file_failure(self.path, "cannot be read", error) from error
        return list(read_records(self.path))

    def latest(self) -> dict[str, Record]:
        """Read the newest record of each key.

        Raises
        ------
        RecordsError
            As `read`.
        """
        return {record.key: record for record in self.read()}

    def rewrite(self, change: Callable[[Sequence[Record]], Iterable[Record]]) -> None:
        """Rewrite all records, changed, in the same order; nobody else writes meanwhile.

        The file is replaced when all of it is on the disk, or stays as it was.

        Parameters
        ----------
        change
            Given the records, oldest first, returns those that take their places.

        Raises
        ------
        RecordsError
            If another process is writing the file, if it may not be written, or as `read`.
        """
        path = self.path.resolve()
        part = path.with_name(f".{path.name}.part")
        with self.open_for_writing():
            lines = [record.to_line().encode() + b"\n" for record in change(self.read())]
            try:
                with part.open("wb") as file:
                    file.writelines(lines)
                    file.flush()
                    os.fsync(file.fileno())
                shutil.copymode(path, part)
                part.replace(path)
                _sync_folder(path.parent)
            except OSError as error:
                raise file_failure(self.path, "cannot be written again", error) from error
            finally:
                part.unlink(missing_ok=True)

    @contextlib.contextmanager
    def open_for_writing(
        self, see: Callable[[Record, int], bool] | None = None
    ) -> Iterator[RecordWriter]:
        """Open the file for this process alone, and cut off a torn last line.

        Folders and the file are made if need be.  Where the file cannot be understood, nothing
        in it is changed.

        Parameters
        ----------
        see
            Given each record that is there, oldest first, and the bytes of its line; returns
            whether it is to be had by its key: else it only stays in the file.

        Raises
        ------
        RecordsError
            If another process is writing the file, if it may not be written, or as `read`.
        """
        writer = RecordWriter(self.path, see)
        try:
            yield writer
        finally:
            writer.close()


class NewestLines(Mapping[str, Record]):
    """The newest record of each key of a results file, read from the file whenever it is asked for.

    Parameters
    ----------
    path
        The file.
    places
        Where the line of each key begins.
    """

    def __init__(self, path: Path, places: Mapping[str, int]) -> None:
        self._path = path
        self._places = places

    def __getitem__(self, key: str) -> Record:
        position = self._places[key]
        try:
            with self._path.open("rb") as file:
                file.seek(position)
                return parse_line(file.readline())
        except OSError as error:
            raise file_failure(self._path, "cannot be read", error) from error
        except ValueError as error:
            raise RecordsError(
                f"{self._path} was changed by another program", "Give the same command again."
            ) from error

    def __contains__(self, key: object) -> bool:
        return key in self._places

    def __iter__(self) -> Iterator[str]:
        return iter(self._places)

    def __len__(self) -> int:
        return len(self._places)


class RecordWriter:
    """The one writer of a results file, which many threads may share.

    It is made by `RecordStore.open_for_writing`.

    Attributes
    ----------
    earlier
        The newest record of each key that the file held when it was opened.
    newest
        That of each key by now.
    dropped_bytes
        The length of the torn last line that was cut off at opening, or 0.
    """

    earlier: Mapping[str, Record]
    newest: Mapping[str, Record]
    dropped_bytes: int

    def __init__(self, path: Path, see: Callable[[Record, int], bool] | None = None) -> None:
        self._path = path
        self._mutex = threading.Lock()
        self._file = _open_locked(path)
        _WRITERS.add(self)
        try:
            self._mend_and_read(see)
        except OSError as error:
            self.close()
            raise file_failure(path, "cannot be prepared for writing", error) from error
        except BaseException:
            self.close()
            raise

    def _mend_and_read(self, see: Callable[[Record, int], bool] | None) -> None:
        self._places: dict[str, int] = {}
        whole, last = 0, b"\n"
        with os.fdopen(self._file, "rb", closefd=False) as file:
            for position, line, record in read_lines(self._path, file):
                if record is not None and (see is None or see(record, len(line))):
                    self._places[record.key] = position
                whole, last = position + len(line), line[-1:]
        self.earlier = NewestLines(self._path, dict(self._places))
        self.newest = NewestLines(self._path, self._places)
        self.dropped_bytes = os.fstat(self._file).st_size - whole
        self._length = whole
        self._unsure = self.dropped_bytes > 0
        self._roll_back()
        if last != b"\n":
            self._write(b"\n")

    def append(self, record: Record) -> None:
        """Add a record at the end, and return when it is on the disk.

        Raises
        ------
        RecordsError
            If it cannot be written, in which case nothing of it stays in the file; or if the
            file was removed, replaced or changed by somebody else since it was opened.
        ValueError
            If the writer is closed.
        """
        self.append_lines([(record.key, record.to_line().encode() + b"\n")])

    def append_lines(self, lines: Sequence[tuple[str, bytes]]) -> None:
        """Add records that were written before, all or none; return the same as `append`.

        Parameters
        ----------
        lines
            The key of each record, and its line with the newline at the end.

        Raises
        ------
        RecordsError, ValueError
            As `append`.
        """
        with self._mutex:
            if self._file < 0:
                raise ValueError(f"the writer of {self._path} is closed")
            try:
                self._roll_back()
                self._refuse_changes_by_others()
                position = self._length
                self._write(b"".join(line for _, line in lines))
            except OSError as error:
                raise file_failure(self._path, "could not take records", error) from error
            for key, line in lines:
                self._places[key] = position
                position += len(line)

    def close(self) -> None:
        """Release the file for other writers; closing twice does no harm."""
        with self._mutex:
            self._forget()

    def _write(self, data: bytes) -> None:
        self._unsure = True
        try:
            rest = memoryview(data)
            while rest:
                rest = rest[os.write(self._file, rest) :]
            os.fsync(self._file)
            self._length += len(data)
            self._unsure = False
        except BaseException:  # Ctrl-C between two writes must not leave half a line either
            with contextlib.suppress(OSError):  # if it fails, the next append or start tries again
                self._roll_back()
            raise

    def _roll_back(self) -> None:
        if self._unsure:
            os.ftruncate(self._file, self._length)
            os.fsync(self._file)
            self._unsure = False

    def _refuse_changes_by_others(self) -> None:
        # Without this, the records of a run whose file was deleted would go nowhere unnoticed.
        ours = os.fstat(self._file)
        try:
            there = self._path.stat()
        except FileNotFoundError:
            what = "was removed"
        else:
            if os.path.samestat(ours, there) and ours.st_size == self._length:
                return
            what = "was replaced or changed by another program"
        raise RecordsError(
            f"{self._path} {what} while records were being written to it",
            "Give the same command again: jobs whose records are not in the file are run again.",
        )

    def _forget(self) -> None:
        if self._file >= 0:
            os.close(self._file)
            self._file = -1


_WRITERS: WeakSet[RecordWriter] = WeakSet()


def _forget_in_child() -> None:
    # A forked child shares the lock: if it kept the descriptor and outlived its parent, nobody
    # could write the file.  (A started program does not get the descriptor in the first place.)
    for writer in _WRITERS:
        writer._forget()  # noqa: SLF001 - close() may wait for a lock whose thread was not forked


os.register_at_fork(after_in_child=_forget_in_child)


def _open_locked(path: Path) -> int:
    if path.name.endswith(PACKED):
        raise RecordsError(
            f"{path} is packed, and is only read",
            f"Unpack it first: xz --decompress --keep {path}",
        )
    _refuse_other_than_file(path)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o666)
    except OSError as error:
        raise file_failure(path, "cannot be opened for writing", error) from error
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        _sync_folder(path.parent)
    except BlockingIOError as error:
        holder = _holder_of_lock(os.fstat(file))
        os.close(file)
        who = f"process {holder}" if holder else "another process"
        raise RecordsError(
            f"{path} is being written by {who}",
            f"Wait until that run has ended, or stop it. {OTHER_FOLDER}",
        ) from error
    except OSError as error:
        os.close(file)
        raise file_failure(path, "cannot be locked", error) from error
    return file


def _sync_folder(folder: Path) -> None:
    # A new file's name is on the disk only when its folder is.
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _holder_of_lock(found: os.stat_result) -> int | None:
    """Return the process that holds the lock of a file; 0 for one of another container."""
    place = f"{os.major(found.st_dev):02x}:{os.minor(found.st_dev):02x}:{found.st_ino}"
    return _locks().get(place)


def _locks() -> dict[str, int]:
    """Return the processes that hold locks, by the files' places in Linux's table of locks."""
    try:
        lines = Path("/proc/locks").read_text(encoding="ascii").splitlines()
    except OSError:
        return {}
    locks: dict[str, int] = {}
    for line in lines:
        match line.split():  # 7: FLOCK ADVISORY WRITE 4711 08:01:123456 0 EOF
            case [_, "FLOCK", _, _, pid, where, *_]:
                locks.setdefault(where, int(pid) if pid.isdigit() else 0)
    return locks


def being_written(folder: Path) -> bool:
    """Return whether a run adds records to a folder, as far as this machine knows its locks.

    Raises
    ------
    UsageError
        As `results_files`.
    """
    return any(_holder_of_lock(path.stat()) is not None for path in results_files(folder))


def _refuse_other_than_file(path: Path) -> None:
    try:
        other = path.exists() and not path.is_file()
    except OSError as error:
        raise file_failure(path, "cannot be looked at", error) from error
    if other:
        what = "is a folder" if path.is_dir() else "is no regular file"
        raise RecordsError(f"{path} {what}, and records are kept in a file", OTHER_FOLDER)
