"""Arrays in NPZ and other files of the user's: how large they may be, seen before they are read."""

from __future__ import annotations

import math
from typing import IO, TYPE_CHECKING
from zipfile import BadZipFile
from zlib import error as ZlibError  # noqa: N812 - zlib calls it just "error"

import numpy as np

from mdbench.errors import DataError

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path
    from zipfile import ZipFile, ZipInfo

    from numpy.lib.npyio import NpzFile

MOST_VALUES = 2_500_000
"""Values of one array: with ten times as many a run would need gigabytes of memory."""
MOST_BYTES = 3 * 8 * MOST_VALUES
"""Bytes of all arrays of a file once they are read, however small the file is."""
_MOST_ARRAYS = 100
_REMEDY = (
    f"An array may have {MOST_VALUES:,} values.  Take every second or fourth point and time: "
    "u[::2, ::4] with x[::2] and t[::4]; methods compute with a sample of the points anyway."
)


def refuse_large(path: Path, arrays: Iterable[tuple[str, tuple[int, ...]]]) -> None:
    """Refuse a file whose arrays do not fit in memory several times.

    Parameters
    ----------
    arrays
        Names and shapes.

    Raises
    ------
    DataError
        It names the file and the array, with what to do.
    """
    total = 0
    for name, shape in arrays:
        if (values := math.prod(shape)) > MOST_VALUES:
            size = " x ".join(map(str, shape))
            raise DataError(f"{path}: {name} has {size} = {values:,} values", _REMEDY)
        total += 8 * values
    if total > MOST_BYTES:
        raise DataError(
            f"{path} has {total / 1e6:.0f} MB of arrays, and may have {MOST_BYTES / 1e6:.0f}",
            _REMEDY,
        )


def refuse_large_file(path: Path) -> None:
    """Refuse a file that is larger than what its arrays may have.

    Raises
    ------
    DataError
        It names the size and the limit.
    OSError
        If the file cannot be looked at.
    """
    if (size := path.stat().st_size) > MOST_BYTES:
        raise DataError(
            f"{path} has {size / 1e6:.0f} MB, and may have {MOST_BYTES / 1e6:.0f}", _REMEDY
        )


def open_npz(file: IO[bytes], path: Path, expected: str) -> NpzFile:
    """Open an NPZ file without reading its arrays; its caller holds `PARSER_LOCK`.

    Raises
    ------
    DataError
        If it is a single array, or has more than can be read; `expected` is the hint.
    OSError, ValueError, BadZipFile
        If it is no such file.
    """
    refuse_large_file(path)
    begin = file.read(len(np.lib.format.MAGIC_PREFIX))
    file.seek(0)
    if begin == np.lib.format.MAGIC_PREFIX:
        raise DataError(f"{path} is a single array", expected)
    archive: NpzFile = np.load(file, allow_pickle=False)  # what else it may be is refused there
    whole = archive.zip
    assert whole is not None  # noqa: S101 - it was just opened
    members = whole.infolist()
    if len(members) > _MOST_ARRAYS:
        raise DataError(f"{path} has {len(members):,} arrays", expected)
    shapes = [(one.filename.removesuffix(".npy"), _shape(whole, one)) for one in members]
    refuse_large(path, shapes)
    return archive


def _shape(archive: ZipFile, member: ZipInfo) -> tuple[int, ...]:
    """Return what the header of an array says; its bytes where there is none to be read."""
    with archive.open(member) as file:
        try:
            version = np.lib.format.read_magic(file)
            read = (
                np.lib.format.read_array_header_1_0
                if version == (1, 0)
                else np.lib.format.read_array_header_2_0
            )
            shape, _, _ = read(file)
        except (ValueError, OSError, EOFError, BadZipFile, ZlibError):  # said when it is read
            return (member.file_size,)
        return shape
