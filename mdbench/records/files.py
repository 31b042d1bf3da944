"""Files of results: found, read and unpacked, which of their records count, what goes with them.

Results files are JSON lines, which may be packed.  Other files are named in a record, relative to
the folder of its results file.
"""

from __future__ import annotations

import contextlib
import errno
import gc
import io
import json
import lzma
import os
import re
import sys
from typing import IO, TYPE_CHECKING, Any, Final

from pydantic import BaseModel, ValidationError

from mdbench.errors import RecordsError, UsageError, first_fault
from mdbench.records.schema import SCHEMA, Record, check_schema

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterable, Iterator, Sequence
    from pathlib import Path

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

ANSWERS: Final = "answers"
"""The folder, next to that of the logs, of answers example by example."""
SUFFIX: Final = ".answers.xz"
"""Another than that of packed results files, which are looked for in all folders."""
UNPACKING_MEMORY: Final = 2**27
"""Bytes that unpacking may take: what is read may come from anybody."""
_LARGEST: Final = 2**26
"""Bytes of what a file of answers may hold: 64 MiB; those of 24,000 sequences have 1."""


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
            for _, _, record in read_lines(path, file):
                if record is not None:
                    yield record
    except OSError as error:
        raise file_failure(path, "cannot be read", error) from error
    except (lzma.LZMAError, EOFError) as error:
        raise RecordsError(f"{path} is damaged: {error}", "Get the file again.") from None


def _open_to_read(path: Path) -> IO[bytes]:
    """Open a results file, which may be packed; it is unpacked as it is read."""
    if not path.name.endswith(PACKED):
        return path.open("rb")
    return io.BufferedReader(_XzStream(path), 2**20)


class _XzStream(io.RawIOBase):
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
                raise EOFError("it is cut off")
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
    for _, _, record in read_lines(path, io.BytesIO(content)):
        if record is not None:
            yield record


def read_lines(path: Path, file: IO[bytes]) -> Iterator[tuple[int, bytes, Record | None]]:
    """Yield where each line begins, the line, and its record; a torn last line is left out."""
    position = empty = 0
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
                record = parse_line(line.removesuffix(b"\n"))
            except RecordsError as error:
                raise RecordsError(f"{path}, line {number}: {error.message}", error.hint) from error
            except ValueError as error:
                raise RecordsError(
                    f"{path}, line {number} is damaged: {error}", MEND_LINE
                ) from error
        yield position, line, record
        position += len(line)


def torn_bytes(path: Path) -> int:
    """Return the bytes of the piece of a line that a results file ends in; 0 where it is whole."""
    if path.name.endswith(PACKED):
        return 0
    with path.open("rb") as file:
        file.seek(max(0, path.stat().st_size - LONGEST_LINE))
        tail = file.read().rpartition(b"\n")[2]
    return len(tail) if tail and _is_torn(tail) else 0


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


def parse_line(line: bytes) -> Record:
    """Make a record of a line.

    Raises
    ------
    RecordsError
        If it is in another format.
    ValueError
        If it is no record.
    """
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


def file_failure(path: Path, what: str, error: OSError) -> RecordsError:
    """Return the error that says what of a file failed, why, and what to do."""
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
    results = sorted(path for path in files if "logs" not in path.relative_to(folder).parts)
    if not results:
        raise UsageError(
            f"{folder} has no results file (*.jsonl, or packed *{PACKED}).",
            "Results come from: mdbench run --result-dir DIR",
        )
    return results


def read_content(path: Path) -> bytes:
    """Return the lines of a results file, which may be packed.

    Raises
    ------
    RecordsError
        If it cannot be read.
    """
    try:
        return _unpack(path, _MOST_UNPACKED) if path.name.endswith(PACKED) else path.read_bytes()
    except OSError as error:
        raise RecordsError(f"{path} cannot be read: {error.strerror}") from None
    except (lzma.LZMAError, EOFError) as error:
        raise RecordsError(f"{path} is damaged: {error}", "Get the file again.") from None


def _unpack(path: Path, most: int) -> bytes:
    with io.BufferedReader(_XzStream(path), 2**20) as file:
        content = file.read(most + 1)
    if len(content) > most:
        raise EOFError(f"it holds more than {most // 2**20} MiB")
    return content


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
        raise file_failure(path, "cannot be written", error) from error
    finally:
        part.unlink(missing_ok=True)


_MOSTLY_THE_SAME = "provenance", "runtime", "budget", "judged_by", "options", "targets"
"""Parts of records of one method that are mostly equal."""


def read_folder(folder: Path) -> list[tuple[Path, Record]]:
    """Return all records of a folder with their files, without the candidates (``front``).

    Of records with one key and name in one file the newest counts.  A last line that is being
    written, or that was torn, is passed over.

    Raises
    ------
    UsageError
        As `results_files`.
    RecordsError
        If a file cannot be read, or if a line is no record or one of another schema.
    """
    newest: dict[tuple[Path, str, str], tuple[Path, Record]] = {}
    known: dict[tuple[str, str], object] = {}
    names: dict[frozenset[str], set[str]] = {}
    with without_garbage_collection():
        for path in results_files(folder):
            for record in read_records(path):
                same = _shared(record, known)
                reduced = record.model_copy(update={"front": None} | same)
                _share_texts(reduced, names, same)
                newest[path, *record.identity] = path, reduced
    return list(newest.values())


def _shared(record: Record, known: dict[tuple[str, str], object]) -> dict[str, object]:
    """Return values that an earlier record of the method has, too: half of what records take."""
    values: dict[str, object] = {}
    for name in _MOSTLY_THE_SAME:
        value, key = getattr(record, name), (record.algorithm, name)
        if known.get(key) == value:
            values[name] = known[key]
        else:
            known[key] = value
    return values


def _share_texts(
    model: BaseModel, known: dict[frozenset[str], set[str]], done: Container[str] = ()
) -> None:
    """Let models have their short texts in common, and the sets of the names of their fields.

    These are half of what is left of a record.  Fields that are done are passed over.
    """
    names = model.model_fields_set
    object.__setattr__(model, "__pydantic_fields_set__", known.setdefault(frozenset(names), names))
    values = model.__dict__
    for name, value in values.items():
        if name in done:
            continue
        if type(value) is str:
            values[name] = sys.intern(value)
        elif isinstance(value, dict):
            values[name] = {
                sys.intern(key): sys.intern(each) if type(each) is str else each
                for key, each in value.items()
            }
        elif isinstance(value, BaseModel):
            _share_texts(value, known)
        elif isinstance(value, tuple):
            for each in value:
                if isinstance(each, BaseModel):
                    _share_texts(each, known)


@contextlib.contextmanager
def without_garbage_collection() -> Iterator[None]:
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
    """Return the records that count: the newest of each `Record.case`.

    Jobs that were interrupted, or whose environment could not be made, count only where there
    is no other record, as the method did not attempt them.

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


def attached(folders: Sequence[Path], name: str | None) -> Path | None:
    """Return the file of a name that a record has, in one of some folders; never one outside."""
    for folder in folders if name else ():
        base = folder.resolve()
        path = (base / str(name)).resolve()
        if path.is_relative_to(base) and path.is_file():
            return path
    return None


def pack_answers(content: bytes) -> bytes:
    """Compress what is kept of an answer; the same content gives the same bytes."""
    return lzma.compress(content, preset=6)


def unpack_answers(path: Path) -> bytes:
    """Return what `pack_answers` compressed.

    Raises
    ------
    RecordsError
        If the file is damaged, or holds more than any that mdbench has written.
    """
    try:
        return _unpack(path, _LARGEST)
    except (OSError, lzma.LZMAError, EOFError) as error:
        raise RecordsError(f"{path} cannot be read: {error}") from None
