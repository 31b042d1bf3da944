"""Files that go with a record: named in it, relative to the folder of its results file."""

from __future__ import annotations

import lzma
from typing import TYPE_CHECKING, Final

from mdbench.errors import RecordsError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

ANSWERS: Final = "answers"
"""The folder, next to that of the logs, of answers example by example."""
SUFFIX: Final = ".answers.xz"
"""Another than that of packed results files, which are looked for in all folders."""
UNPACKING_MEMORY: Final = 2**27
"""Bytes that unpacking may take: what is read may come from anybody."""
_LARGEST: Final = 2**26
"""Bytes of what a file of answers may hold: 64 MiB; those of 24,000 sequences have 1."""


def attached(folders: Sequence[Path], name: str | None) -> Path | None:
    """Return the file of a name that a record has, in one of some folders; never one outside."""
    for folder in folders if name else ():
        base = folder.resolve()
        path = (base / str(name)).resolve()
        if path.is_relative_to(base) and path.is_file():
            return path
    return None


def packed(content: bytes) -> bytes:
    """Compress what is kept of an answer; the same content gives the same bytes."""
    return lzma.compress(content, preset=6)


def unpacked(path: Path) -> bytes:
    """Return what `packed` compressed.

    Raises
    ------
    RecordsError
        If the file is damaged, or holds more than any that mdbench has written.
    """
    unpacking = lzma.LZMADecompressor(lzma.FORMAT_XZ, memlimit=UNPACKING_MEMORY)
    try:
        content = unpacking.decompress(path.read_bytes(), max_length=_LARGEST)
    except (OSError, lzma.LZMAError, EOFError) as error:
        raise RecordsError(f"{path} cannot be read: {error}") from None
    if not unpacking.eof:
        raise RecordsError(
            f"{path} cannot be read: it is cut off, or holds more than {_LARGEST // 2**20} MiB."
        )
    return content
