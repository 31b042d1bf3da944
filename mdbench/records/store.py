"""Results files: JSON lines, one writer at a time, every record whole or not there at all.

A folder of results has several; which of its records count is decided here, too.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import gc
import io
import json
import lzma
import os
import re
import shutil
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any
from weakref import WeakSet

from pydantic import ValidationError

from mdbench.errors import RecordsError, UsageError, first_fault
from mdbench.records.attached import UNPACKING_MEMORY
from mdbench.records.schema import SCHEMA, Record, check_schema

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

LONGEST_LINE = 2**25
"""Bytes of a record's line."""
_LONG_LINE, _MOST_PARTS = 2**20, 1_000_000
"""Bytes of a line from which its values are counted, and how many there may be: each takes some
hundred bytes here."""
_MOST_EMPTY = 10_000
"""Lines of a results file that may be empty."""
LINE_START = b'{"schema":'
"""Start of every line: what is no piece of this at the file's end was not torn by us."""
_SCHEMA_NUMBER = re.compile(re.escape(LINE_START) + rb" *(\d+),")

HINTS = {
    errno.ENOSPC: "Free some space and repeat the command; the records before this are whole.",
    errno.EDQUOT: "Free some space and repeat the command; the records before this are whole.",
    errno.EFBIG: "The records before this are whole; go on in another folder with --result-dir.",
}
OTHER_FOLDER = "Choose another folder with --result-dir."
MEND_LINE = (
    "Nothing was changed. Mend the line, or delete it (after a copy of the file): the job that it "
    "came from is then run again."
)
PACKED = ".jsonl.xz"
"""How the names of packed results files end; these are read, and never written by a run."""
_MOST_UNPACKED = 2**28
"""Bytes that a packed file may hold where it is unpacked as a whole, as for a bundle."""


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
            raise _explain(self.path, "cannot be read", error) from error
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
                raise _explain(self.path, "cannot be written again", error) from error
            finally:
                part.unlink(missing_ok=True)

    @contextlib.contextmanager
    def open_for_writing(
        self, each: Callable[[Record, int], object] | None = None
    ) -> Iterator[RecordWriter]:
        """Open the file for this process alone, and cut off a torn last line.

        Folders and the file are made if need be.  Where the file cannot be understood, nothing
        in it is changed.

        Parameters
        ----------
        each
            Given each record that is there, oldest first, and the bytes of its line.

        Raises
        ------
        RecordsError
            If another process is writing the file, if it may not be written, or as `read`.
        """
        writer = RecordWriter(self.path, each)
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
        place = self._places[key]
        try:
            with self._path.open("rb") as file:
                file.seek(place)
                return _parse_line(file.readline())
        except OSError as error:
            raise _explain(self._path, "cannot be read", error) from error
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

    def __init__(self, path: Path, each: Callable[[Record, int], object] | None = None) -> None:
        self._path = path
        self._mutex = threading.Lock()
        self._file = _open_locked(path)
        _WRITERS.add(self)
        try:
            self._mend_and_read(each)
        except OSError as error:
            self.close()
            raise _explain(path, "cannot be prepared for writing", error) from error
        except BaseException:
            self.close()
            raise

    def _mend_and_read(self, each: Callable[[Record, int], object] | None) -> None:
        self._places: dict[str, int] = {}
        whole, last = 0, b"\n"
        with os.fdopen(self._file, "rb", closefd=False) as file:
            for place, line, record in _each_line(self._path, file):
                if record is not None:
                    self._places[record.key] = place
                    if each is not None:
                        each(record, len(line))
                whole, last = place + len(line), line[-1:]
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
        """Add records that were written before, all of them or none, and return as `append`.

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
                place = self._length
                self._write(b"".join(line for _, line in lines))
            except OSError as error:
                raise _explain(self._path, "could not take records", error) from error
            for key, line in lines:
                self._places[key] = place
                place += len(line)

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
        raise _explain(path, "cannot be opened for writing", error) from error
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
        raise _explain(path, "cannot be locked", error) from error
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
    found: dict[str, int] = {}
    for line in lines:
        match line.split():  # 7: FLOCK ADVISORY WRITE 4711 08:01:123456 0 EOF
            case [_, "FLOCK", _, _, pid, where, *_]:
                found.setdefault(where, int(pid) if pid.isdigit() else 0)
    return found


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
        raise _explain(path, "cannot be looked at", error) from error
    if other:
        what = "is a folder" if path.is_dir() else "is no regular file"
        raise RecordsError(f"{path} {what}, and records are kept in a file", OTHER_FOLDER)


def read_records(path: Path) -> Iterator[Record]:
    """Yield the records of a results file, oldest first, without a torn last line.

    The file is read as they are asked for.

    Raises
    ------
    RecordsError
        If it cannot be read, or as `parse_records`.
    """
    try:
        with _open_to_read(path) as file:
            for _, _, record in _each_line(path, file):
                if record is not None:
                    yield record
    except OSError as error:
        raise _explain(path, "cannot be read", error) from error
    except (lzma.LZMAError, EOFError) as error:
        raise RecordsError(f"{path} is damaged: {error}", "Get the file again.") from None


def _open_to_read(path: Path) -> IO[bytes]:
    """Open a results file, which may be packed; it is unpacked as it is read."""
    if not path.name.endswith(PACKED):
        return path.open("rb")
    return io.BufferedReader(_Unpacked(path), 2**20)


class _Unpacked(io.RawIOBase):
    """One xz stream, unpacked as it is read.

    Reading raises LZMAError or EOFError if it is none, is not whole, or has something behind it.
    """

    def __init__(self, path: Path) -> None:
        self._file = path.open("rb")
        self._unpacker = lzma.LZMADecompressor(lzma.FORMAT_XZ, memlimit=UNPACKING_MEMORY)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while not self._unpacker.eof:
            block = self._file.read(2**16) if self._unpacker.needs_input else b""
            if self._unpacker.needs_input and not block:
                raise EOFError("it ends early")
            if data := self._unpacker.decompress(block, len(buffer)):
                buffer[: len(data)] = data
                return len(data)
        if self._unpacker.unused_data or self._file.read(1):
            raise lzma.LZMAError("something stands behind its end")
        return 0

    def close(self) -> None:
        self._file.close()
        super().close()


def parse_records(path: Path, content: bytes) -> Iterator[Record]:
    """Yield the records in the content of a results file, oldest first, without a torn last line.

    Parameters
    ----------
    path
        What errors name.

    Raises
    ------
    RecordsError
        If a line is no record, or one of another schema.
    """
    for _, _, record in _each_line(path, io.BytesIO(content)):
        if record is not None:
            yield record


def _each_line(path: Path, file: IO[bytes]) -> Iterator[tuple[int, bytes, Record | None]]:
    """Yield where each line begins, the line, and its record; a torn last line is left out."""
    place = empty = 0
    for number, line in enumerate(iter(lambda: file.readline(LONGEST_LINE + 1), b""), start=1):
        if too_much := _too_much(line):
            raise RecordsError(
                f"{path}, line {number} is no record: it has more than {too_much}.",
                "Nothing was changed. Delete the line (after a copy of the file).",
            )
        empty += line.isspace()
        if empty > _MOST_EMPTY:
            raise RecordsError(
                f"{path} has more than {_MOST_EMPTY} empty lines.", "Delete them, or the file."
            )
        if not line.endswith(b"\n") and _is_torn(line):
            return
        record = None
        if not line.isspace():
            try:
                record = _parse_line(line.removesuffix(b"\n"))
            except RecordsError as error:
                raise RecordsError(f"{path}, line {number}: {error.message}", error.hint) from error
            except ValueError as error:
                raise RecordsError(
                    f"{path}, line {number} is damaged: {error}", MEND_LINE
                ) from error
        yield place, line, record
        place += len(line)


def _too_much(line: bytes) -> str:
    """Return of what a line has more than a record could have; empty for nothing."""
    if len(line) > LONGEST_LINE:
        return f"{LONGEST_LINE // 2**20} MiB"
    if len(line) > _LONG_LINE and sum(map(line.count, (b",", b"[", b"{"))) > _MOST_PARTS:
        return f"{_MOST_PARTS} values"
    return ""


def _is_torn(tail: bytes) -> bool:
    """Whether a tail is a piece of a line: no whole line without newline, and no foreign text."""
    piece = tail.rstrip(b"\0")  # some file systems leave zeros after a power cut
    if not (piece.startswith(LINE_START) or LINE_START.startswith(piece)):
        return False
    try:
        json.loads(piece)
    except ValueError:
        return True
    except RecursionError:
        pass  # what is deep is not torn
    return False


def _parse_line(line: bytes) -> Record:
    number = _SCHEMA_NUMBER.match(line)
    try:
        if number is not None and int(number[1]) == SCHEMA:
            return Record.model_validate_json(line)  # quick: no Python objects in between
    except ValidationError:
        pass
    try:
        data = json.loads(line.decode())
    except RecursionError:
        raise ValueError("it has values in values too deep") from None
    if not isinstance(data, dict):
        raise ValueError(f"a record is an object, and this is {line[:40]!r}")  # noqa: TRY004
    check_schema(data)
    try:
        return Record.model_validate(data)
    except ValidationError as error:
        raise ValueError(first_fault(error, "the record")) from error


def _explain(path: Path, what: str, error: OSError) -> RecordsError:
    reason = (error.strerror or str(error)).lower()
    if error.filename not in (None, str(path)):
        reason = f"{error.filename}: {reason}"
    if os.path.islink(path):  # noqa: PTH114 - Path.is_symlink raises where it may not look
        what = f"(a link to {path.readlink()}) {what}"
    return RecordsError(f"{path} {what}: {reason}", HINTS.get(error.errno or 0, OTHER_FOLDER))


def results_files(folder: Path) -> list[Path]:
    """Return the results files of a folder, and of the folders in it, packed ones too.

    Parameters
    ----------
    folder
        A folder, or one results file.

    Raises
    ------
    UsageError
        If there is no such folder, or no results file in it.
    """
    if folder.is_file():
        if folder.name.endswith((".jsonl", PACKED)):
            return [folder]
        raise UsageError(
            f"{folder} is no results file: those end in .jsonl, or packed in {PACKED}.",
            "A bundle is unpacked first, as by: python -m zipfile -e BUNDLE FOLDER",
        )
    if not folder.is_dir():
        raise UsageError(
            f"There is no folder {folder}.", "Name the folder given to run as --result-dir."
        )
    files = [
        path for end in ("*.jsonl", f"*{PACKED}") for path in folder.rglob(end) if path.is_file()
    ]
    found = sorted(path for path in files if "logs" not in path.relative_to(folder).parts)
    if not found:
        raise UsageError(
            f"{folder} has no results file (*.jsonl, or packed *{PACKED}).",
            "Results come from: mdbench run --result-dir DIR",
        )
    return found


def read_content(path: Path) -> bytes:
    """Return the lines of a results file, which may be packed.

    Raises
    ------
    RecordsError
        If it cannot be read.
    """
    try:
        content = path.read_bytes()
        return _unpacked(content) if path.name.endswith(PACKED) else content
    except OSError as error:
        raise RecordsError(f"{path} cannot be read: {error.strerror}") from None
    except (lzma.LZMAError, EOFError) as error:
        raise RecordsError(f"{path} is damaged: {error}", "Get the file again.") from None


def _unpacked(content: bytes) -> bytes:
    """Unpack one xz stream.

    Raises
    ------
    lzma.LZMAError, EOFError
        If it is none, is not whole, or holds more than a results file may have.
    """
    unpacker = lzma.LZMADecompressor(lzma.FORMAT_XZ, memlimit=UNPACKING_MEMORY)
    found = unpacker.decompress(content, max_length=_MOST_UNPACKED)
    if not unpacker.eof:
        raise EOFError("it ends early, or holds too much")
    if unpacker.unused_data:
        raise lzma.LZMAError("something stands behind its end")
    return found


def pack(path: Path, records: Iterable[Record]) -> None:
    """Write records as a packed results file; the same records give the same bytes.

    The file is there whole, or stays as it was.

    Parameters
    ----------
    path
        Ends in ``.jsonl.xz``.

    Raises
    ------
    RecordsError
        If it cannot be written.
    """
    part = path.with_name(f".{path.name}.part")
    content = b"".join(record.to_line().encode() + b"\n" for record in records)
    try:
        if path.is_file() and read_content(path) == content:
            return  # packing takes long
        path.parent.mkdir(parents=True, exist_ok=True)
        part.write_bytes(lzma.compress(content, check=lzma.CHECK_CRC64, preset=9))
        part.replace(path)
    except OSError as error:
        raise _explain(path, "cannot be written", error) from error
    finally:
        part.unlink(missing_ok=True)


def read_folder(folder: Path) -> list[tuple[Path, Record]]:
    """Return all records of a folder with their files, without the candidates (``front``).

    Of records with one key in one file the newest counts.  A last line that is being written, or
    that was torn, is passed over.

    Raises
    ------
    UsageError
        As `results_files`.
    RecordsError
        If a file cannot be read, or if a line is no record or one of another schema.
    """
    newest: dict[tuple[Path, str], tuple[Path, Record]] = {}
    with uncollected():
        for path in results_files(folder):
            for record in read_records(path):
                kept = record if record.front is None else record.model_copy(update={"front": None})
                newest[path, record.key] = path, kept
    return list(newest.values())


@contextlib.contextmanager
def uncollected() -> Iterator[None]:
    """Keep the collector of cycles out while very many objects without cycles are made.

    It looks at all of them again and again, which takes 40 % of the time of reading.
    """
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


def read_latest(folder: Path) -> list[Record]:
    """Return the records of a folder that count; see `read_folder` and `latest_by_case`."""
    return latest_by_case(record for _, record in read_folder(folder))


def latest_by_case(
    records: Iterable[Record], *, apart: Callable[[Record], object] | None = None
) -> list[Record]:
    """Return the records that count: of several of one `Record.case` the newest.

    Jobs that were interrupted, or whose environment could not be made, count only where there
    is nothing else, as they are no attempt of the method.

    Parameters
    ----------
    apart
        Gives what keeps records of one case apart, such as their budget; None for nothing.
    """
    newest: dict[tuple[object, ...], Record] = {}
    for record in records:
        question = (*record.case, apart(record) if apart else None)
        other = newest.get(question)
        if other is None or _age(record) >= _age(other):
            newest[question] = record
    return list(newest.values())


def _age(record: Record) -> tuple[bool, object]:
    return record.attempted, record.measured.started
