"""Bundles: a folder of results as one archive that can be cited, checked, read and run again.

A bundle is a ZIP file whose first entry, ``bundle.json``, lists every other one with its size and
SHA-256.  The same results give the same bytes.  What is read from one is untrusted: nothing is
taken out that is not listed, of another size or sum, or named so that it would leave the folder.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import struct
import zipfile
import zlib
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import IO, TYPE_CHECKING, Any, Final

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from mdbench import __version__
from mdbench.errors import MdbenchError, RecordsError, UsageError, first_fault
from mdbench.methods import files_of
from mdbench.records import parse_records, read_content, results_files
from mdbench.records.files import MEND_LINE
from mdbench.reports.citation import citation
from mdbench.reports.classes import latest, study_sums
from mdbench.reports.entries import studies
from mdbench.reports.sections import folders_read
from mdbench.runtimes.job_folder import Scratch, remove_left_over
from mdbench.workspace import write_whole

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from mdbench.methods import Method
    from mdbench.records import Record

FORMAT: Final = 1
"""The number of the format that is written and read."""
LISTING: Final = "bundle.json"
RECORDS: Final = "records"
_LARGEST_LISTING = 2**22
_MOST_FILES = 10_000
_LARGEST_INDEX = 2**21
"""Bytes of an archive's own list of its files."""
_MOST_BYTES, _MOST_OF_RECORDS = 2**33, 2**28
"""Largest size of all that one bundle may hold, and of its records: 8 GiB and 256 MiB."""
_PIECE = 2**20
_LONGEST_TEXT = 200
"""Characters of a title that are shown."""
_LONGEST_END = 2**16 + 42
"""Bytes of what may end an archive: its last entry, a comment, and a pointer before both."""
_DATE = (1980, 1, 1, 0, 0, 0)
"""The date of every entry: the same results give the same bytes."""
_NAME = re.compile(r"[^/\\\x00-\x1f]+(/[^/\\\x00-\x1f]+)*")


class _Entry(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

    size: int = Field(ge=0)
    sha256: str = Field(pattern="^[0-9a-f]{64}$")


class _Listing(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore")

    bundle: int
    title: str = ""
    mdbench: str = ""
    files: dict[str, _Entry]


@dataclass(frozen=True)
class Bundle:
    """The content of a bundle.

    Attributes
    ----------
    path, size, sha256
        Of the archive.
    records
        How many there are.
    methods
        Those whose folders are in it, as they were run.
    changed
        Those whose folders here are no longer what their records were made with, or are not
        here; their folders are left out.
    own_data
        Datasets of the user's own, which are not in it.
    """

    path: Path
    size: int
    sha256: str
    records: int
    methods: tuple[str, ...]
    changed: tuple[str, ...]
    own_data: tuple[str, ...]


_DAMAGE = (
    zipfile.BadZipFile,
    zlib.error,
    OSError,
    EOFError,
    ValueError,
    RuntimeError,
    struct.error,
)
"""Errors that reading a damaged archive may raise; of an encrypted one it is RuntimeError."""


@dataclass
class _Parts:
    """A member of an archive: bytes, or a file that is read when its turn comes."""

    found: dict[str, bytes | Path] = field(default_factory=dict)

    def add(self, name: str, content: bytes | Path) -> None:
        self.found[name] = content


def is_bundle(path: Path) -> bool:
    """Return whether a path is a file that may be a bundle."""
    try:
        return path.is_file() and zipfile.is_zipfile(path)
    except OSError:
        return False


def write_bundle(
    places: Sequence[Path],
    out: Path,
    *,
    methods: Mapping[str, Method],
    studies_asked: Sequence[str] = (),
    page: str | None = None,
    title: str = "Results of mdbench",
    authors: Sequence[str] = (),
    logs: bool = False,
    jobs_left: int = 0,
) -> Bundle:
    """Write results, and what is needed to understand and repeat them, as one file.

    Parameters
    ----------
    places
        Folders, files and bundles of results, as for a report.
    out
        The archive; written whole or not at all.
    methods
        Those that are here, by name: a folder goes along where records were made with it as it is.
    studies_asked
        Files of studies, or the beginnings of their SHA-256: only their records are taken, and the
        files go along.  All records where none is named.
    page
        The report.
    title, authors
        For ``CITATION.cff``; authors as ``Family, Given`` or a name.
    logs
        Whether the logs of jobs go along.
    jobs_left
        How many jobs of the studies have no record: the bundle says so.

    Raises
    ------
    UsageError
        If there are no results, if a study asked for none, or if there are no authors' names.
    RecordsError
        If records cannot be read.
    DataError
        If the file cannot be written.
    """
    parts, rows = _Parts(), []
    with opened_all(places) as folders:
        # Files of several places are kept apart: those of two clones have the same names.
        prefixes = [
            f"{n}-{given.stem}/" if len(folders) > 1 else "" for n, given in enumerate(folders, 1)
        ]
        for prefix, place in zip(prefixes, folders.values(), strict=True):
            rows += _add_results(parts, place, prefix, out, studies_asked, logs=logs)
        results = latest(record for _, record in rows)
        if not results:
            raise UsageError(
                f"There are no records in {', '.join(map(str, places))} yet.",
                "Results come from: mdbench run",
            )
        for path in filter(Path.is_file, map(Path, studies_asked)):
            parts.add(f"studies/{path.name}", path.read_bytes())
        method_folders, changed = _add_methods(parts, [record for _, record in rows], methods)
        if page is not None:
            parts.add("report.html", page.encode())
        own_data, about = _about(rows, results, changed, title, jobs_left)
        parts.add("CITATION.cff", citation(about, authors).encode())
        write_whole(out, lambda file: _write(file, parts, about))
    return Bundle(
        out,
        out.stat().st_size,
        sha256_of(out),
        len(rows),
        tuple(method_folders),
        tuple(changed),
        tuple(own_data),
    )


def _add_results(
    parts: _Parts, folder: Path, prefix: str, out: Path, studies_asked: Sequence[str], *, logs: bool
) -> list[tuple[Path, Record]]:
    """Add the records of one place and what belongs to them; return them with their files."""
    base = folder if folder.is_dir() else folder.parent
    files = results_files(folder)
    if out.resolve() in {file.resolve() for file in files}:
        raise UsageError(f"{out} is a results file.", "Name another file: --out results.zip")
    rows: list[tuple[Path, Record]] = []
    # Read once: a run that goes on meanwhile adds to the files, and not to the bundle.
    contents = _of_studies({file: read_content(file) for file in files}, studies_asked, folder)
    for file, content in contents.items():
        name = file.relative_to(base).as_posix().removesuffix(".xz")
        parts.add(f"{RECORDS}/{prefix}{name}", content)
        newest = {record.identity: record for record in parse_records(file, content)}
        rows += [(file, record) for record in newest.values()]
    if logs:
        named = {(file.parent / one.log).resolve() for file, one in rows if one.log}
        for path in sorted((base / "logs").rglob("*.log")):
            ours = not studies_asked or path.resolve() in named
            if ours and path.is_file() and not path.is_symlink():
                parts.add(f"{prefix}{path.relative_to(base).as_posix()}", path)
    _add_attached(parts, base, prefix, rows)
    _add_others(parts, base, prefix)
    return rows


def _about(
    rows: Sequence[object],
    results: Sequence[Record],
    changed: Sequence[str],
    title: str,
    jobs_left: int,
) -> tuple[list[str], dict[str, Any]]:
    """Return the user's own datasets, and what describes a bundle."""
    started = [result.measured.started.date().isoformat() for result in results]
    own_data = sorted({result.dataset for result in results if result.dataset_path})
    about: dict[str, Any] = {
        "bundle": FORMAT,
        "mdbench": __version__,
        "title": title,
        "records": len(rows),
        "results": len(results),
        "first": min(started, default=""),
        "last": max(started, default=""),
        "methods": sorted({result.algorithm for result in results}),
        "methods_left_out": changed,
        "data_types": sorted({result.data_type for result in results}),
        "own_data": own_data,
        "studies": [sha256 for sha256, _ in studies(results) if sha256],
        "jobs_left": jobs_left,
    }
    return own_data, about


def _add_attached(
    parts: _Parts, base: Path, prefix: str, rows: Iterable[tuple[Path, Record]]
) -> None:
    """Add exchanges with services, and kept answers, where the records look for them."""
    for file, name in ((file, name) for file, one in rows for name in (one.exchanges, one.answers)):
        if name is None or not _stays_inside(name):
            continue
        path = file.parent / name
        if path.is_file() and not path.is_symlink():
            place = file.parent.relative_to(base) / name
            parts.add(f"{RECORDS}/{prefix}{place.as_posix()}", path)


def _add_others(parts: _Parts, base: Path, prefix: str) -> None:
    """Add the files that sections of the report read."""
    for path in sorted(path for name in folders_read() for path in base.rglob(f"{name}/*")):
        if path.is_file() and not path.is_symlink() and path.name[:1] != ".":
            parts.add(f"{RECORDS}/{prefix}{path.relative_to(base).as_posix()}", path)


def _of_studies(
    contents: Mapping[Path, bytes], asked: Sequence[str], folder: Path
) -> dict[Path, bytes]:
    """Keep the lines of the records that studies asked for; files without any are left out.

    All is kept where no study is named.
    """
    if not asked:
        return dict(contents)
    lines = {
        (file, line): record.study or ""
        for file, content in contents.items()
        for line in content.splitlines(keepends=True)
        for record in parse_records(file, line)
    }
    sums = study_sums(asked, {*lines.values()}, folder)
    contents_of_studies: dict[Path, bytes] = {}
    for (file, line), study in lines.items():
        if study in sums:
            contents_of_studies[file] = contents_of_studies.get(file, b"") + line
    return contents_of_studies


def _add_methods(
    parts: _Parts, records: Sequence[Record], methods: Mapping[str, Method]
) -> tuple[list[str], list[str]]:
    """Add the folders that records were made with; return those kept, and those that differ."""
    made_with: dict[str, set[tuple[object, object]]] = {}
    for record in records:
        pair = record.key_parts.get("adapter"), record.key_parts.get("environment")
        made_with.setdefault(record.algorithm, set()).add(pair)
    folders, changed = [], []
    for name, pairs in sorted(made_with.items()):
        method = methods.get(name)
        if method is None or pairs != {(method.fingerprint(), method.lock_sha256())}:
            changed.append(name)
            continue
        folders.append(name)
        for folder in (method.folder, *method.used):
            within = f"methods/{method.place_of(folder)}"
            for path in files_of(folder):
                parts.add(f"{within}/{path.relative_to(folder).as_posix()}", path)
    return folders, changed


def _write(file: IO[bytes], parts: _Parts, about: dict[str, Any]) -> None:
    names = sorted(parts.found)
    listed = {}
    for name in names:
        content = parts.found[name]
        digest, size = hashlib.sha256(), 0
        for piece in _pieces(content):
            digest.update(piece)
            size += len(piece)
        listed[name] = {"size": size, "sha256": digest.hexdigest()}
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED, compresslevel=6) as archive:
        listing = json.dumps({**about, "files": listed}, indent=1, ensure_ascii=False)
        archive.writestr(_info(LISTING), listing.encode())
        for name in names:
            with archive.open(_info(name), "w", force_zip64=True) as entry:
                for piece in _pieces(parts.found[name]):
                    entry.write(piece)


def _info(name: str) -> zipfile.ZipInfo:
    info = zipfile.ZipInfo(name, _DATE)
    info.compress_type = zipfile.ZIP_DEFLATED
    info.external_attr = 0o100644 << 16
    info.create_system = 3
    return info


def _pieces(content: bytes | Path) -> Iterator[bytes]:
    if isinstance(content, bytes):
        yield content
        return
    with content.open("rb") as file:
        while piece := file.read(_PIECE):
            yield piece


def sha256_of(path: Path) -> str:
    """Return the SHA-256 of a file, in hexadecimal."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


@contextmanager
def opened(path: Path) -> Iterator[Path]:
    """Return a folder of results for a path: the folder itself, or what a bundle's records are.

    Yields
    ------
    Path
        The path as it is, unless it is a bundle: then a folder of its records, which is there as
        long as this context is.

    Raises
    ------
    RecordsError
        If a bundle is damaged, of another format, or holds what it does not list.
    MdbenchError
        As the context's own, which then names the bundle and the file in it.
    """
    if not is_bundle(path):
        if path.suffix == ".zip" and path.is_file():
            raise RecordsError(f"{path} is no archive, or cut short.", "Get the bundle again.")
        yield path
        return
    remove_left_over()
    scratch = Scratch()
    try:
        try:
            _refuse_long_index(path)
            with zipfile.ZipFile(path) as archive:
                _take_out(path, archive, scratch.path)
        except _DAMAGE as error:
            raise RecordsError(f"{path} is damaged: {error}", "Get the bundle again.") from error
        try:
            yield scratch.path / RECORDS
        except MdbenchError as error:
            _name_bundle(error, path, scratch.path)
            raise
    finally:
        scratch.remove()


def _name_bundle(error: MdbenchError, path: Path, folder: Path) -> None:
    """Let an error about a file of an opened bundle name the bundle, and the file in it."""
    error.message, hint = (
        text.replace(f"{folder}{os.sep}", f"{path}: ") for text in (error.message, error.hint)
    )
    error.hint = hint.replace(MEND_LINE, "Get the bundle again.")
    error.args = (error.message,)


def described(path: Path) -> dict[str, str]:
    """Return what a bundle states of itself, as text: nobody has verified it.

    Raises
    ------
    RecordsError
        As `opened`.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            listing = _listing(path, archive)
    except _DAMAGE as error:
        raise RecordsError(f"{path} is damaged: {error}", "Get the bundle again.") from error
    return {name: str(getattr(listing, name))[:_LONGEST_TEXT] for name in ("title", "mdbench")}


@contextmanager
def opened_all(places: Sequence[Path]) -> Iterator[dict[Path, Path]]:
    """Open several places at once; the bundles of a folder of bundles are places of their own.

    Yields
    ------
    dict
        A folder or file of results for each place; those of bundles are there as long as this
        context is.

    Raises
    ------
    RecordsError
        As `opened`.
    """
    with ExitStack() as stack:
        yield {
            each: stack.enter_context(opened(each))
            for place in dict.fromkeys(places)
            for each in _with_bundles(place)
        }


def _with_bundles(folder: Path) -> list[Path]:
    """Return a place, or the bundles in a folder that has nothing but bundles."""
    if not folder.is_dir() or any(folder.rglob("*.jsonl*")):
        return [folder]
    return sorted(path for path in folder.glob("*.zip") if is_bundle(path)) or [folder]


def _refuse_long_index(path: Path) -> None:
    """Refuse an archive with more files than a bundle has, before its list of them is read."""
    with path.open("rb") as file:
        file.seek(max(0, path.stat().st_size - _LONGEST_END))
        end = file.read()
    place = end.rfind(b"PK\5\6")
    large = place >= 20 and end[place - 20 : place - 16] == b"PK\6\7"  # noqa: PLR2004 - of its format
    size = struct.unpack_from("<L", end, place + 12)[0]
    if large or size > _LARGEST_INDEX:
        raise RecordsError(f"{path} holds too many files.", f"A bundle has at most {_MOST_FILES}.")


def _take_out(path: Path, archive: zipfile.ZipFile, folder: Path) -> None:
    """Check all that a bundle holds, and write its records into a folder."""
    listing = _listing(path, archive)
    there = [info.filename for info in archive.infolist()]
    if len(set(there)) != len(there) or set(there) != {LISTING, *listing.files}:
        odd = sorted({name for name in there if there.count(name) > 1 or name not in listing.files})
        missing = sorted(listing.files.keys() - set(there))
        which = next((name for name in [*odd, *missing] if name != LISTING), LISTING)
        raise RecordsError(
            f"{path} does not hold what it lists: {which!r}.", "Get the bundle again."
        )
    _refuse_too_much(path, listing)
    if not any(name.startswith(f"{RECORDS}/") for name in listing.files):
        raise RecordsError(f"{path} has no records.", "Bundles come from: mdbench bundle")
    for name, entry in listing.files.items():
        if not _stays_inside(name):
            raise RecordsError(f"{path} holds {name!r}, which is no name of a file in a folder.")
        wanted = name.startswith(f"{RECORDS}/")
        target = folder / name if wanted else Path(os.devnull)
        if wanted:
            target.parent.mkdir(parents=True, exist_ok=True)
        digest, size = hashlib.sha256(), 0
        with archive.open(name) as packed, target.open("wb") as file:
            while piece := packed.read(_PIECE):
                size += len(piece)
                if size > entry.size:
                    break
                digest.update(piece)
                file.write(piece)
        if size != entry.size or digest.hexdigest() != entry.sha256:
            raise RecordsError(
                f"{path}: {name} is not what the bundle lists (size or SHA-256).",
                "It was changed, or damaged on its way.  Get the bundle again.",
            )


def _refuse_too_much(path: Path, listing: _Listing) -> None:
    sizes = {name: entry.size for name, entry in listing.files.items()}
    records = sum(size for name, size in sizes.items() if name.startswith(f"{RECORDS}/"))
    for amount, most, unit, what in (
        (len(sizes), _MOST_FILES, "", "files"),
        (sum(sizes.values()), _MOST_BYTES, " GiB", ""),
        (records, _MOST_OF_RECORDS, " MiB", "of records"),
    ):
        if amount > most:
            shown = most // {"": 1, " MiB": 2**20, " GiB": 2**30}[unit]
            raise RecordsError(
                f"{path} holds more than {f'{shown}{unit} {what}'.strip()}.",
                "Bundle a part of the results: mdbench bundle --study FILE",
            )


def _listing(path: Path, archive: zipfile.ZipFile) -> _Listing:
    no_bundle = f"{path} is no bundle of mdbench."
    hint = "Bundles come from: mdbench bundle"
    try:
        with archive.open(LISTING) as file:
            content = file.read(_LARGEST_LISTING + 1)
    except KeyError:
        raise RecordsError(f"{no_bundle[:-1]}: it has no {LISTING}.", hint) from None
    if len(content) > _LARGEST_LISTING:
        raise RecordsError(f"{no_bundle[:-1]}: its {LISTING} is too long.", hint)
    try:
        listing = _Listing.model_validate_json(content)
    except ValidationError as error:
        raise RecordsError(f"{no_bundle[:-1]}: {first_fault(error, LISTING)}", hint) from None
    if listing.bundle != FORMAT:
        raise RecordsError(
            f"{path} is a bundle of format {listing.bundle}, and this mdbench reads {FORMAT}.",
            "Update mdbench.",
        )
    return listing


def _stays_inside(name: str) -> bool:
    pure = PurePosixPath(name)
    return (
        _NAME.fullmatch(name) is not None
        and not pure.is_absolute()
        and ".." not in pure.parts
        and ":" not in pure.parts[0]
    )
