"""Arrays that a worker hands over in files, which are not trusted to be what they should be."""

from __future__ import annotations

import io
import math
import os
import stat
from typing import TYPE_CHECKING, BinaryIO

import numpy as np

from mdbench.one_reader import READING

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

__all__ = ["HandoverError", "read_predictions"]

_MOST_HEADER = 4096
"""Bytes that an .npy file may have beyond its numbers."""
_HEADERS = {
    (1, 0): np.lib.format.read_array_header_1_0,
    (2, 0): np.lib.format.read_array_header_2_0,
}


class HandoverError(Exception):
    """A file is not the array that it should be; says in what."""


def read_predictions(path: Path, shape: tuple[int, ...]) -> NDArray[np.float64]:
    """Read an .npy file that must hold float64 numbers of exactly this shape.

    No link is followed, nothing but a plain file is opened, and no more is read than the shape
    asks for.

    Raises
    ------
    HandoverError
        If it is anything else.
    """
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError as error:
        raise HandoverError(f"{path.name} cannot be read: {error.strerror}") from None
    status = os.fstat(descriptor)
    if not stat.S_ISREG(status.st_mode):
        os.close(descriptor)
        raise HandoverError(f"{path.name} is no plain file")
    with os.fdopen(descriptor, "rb") as stream, READING:
        found, dtype = _read_header(stream, path.name)
        if found != shape:
            raise HandoverError(f"predictions of shape {found}; {shape} expected")
        if dtype != np.float64 or status.st_size > 8 * math.prod(shape) + _MOST_HEADER:
            raise HandoverError(f"{path.name} is no array of float64")
        stream.seek(0)
        try:
            array: NDArray[np.float64] = np.lib.format.read_array(stream, allow_pickle=False)
        except ValueError:
            raise HandoverError(f"{path.name} is cut short") from None
    return array


def _read_header(stream: BinaryIO, name: str) -> tuple[tuple[int, ...], np.dtype[np.generic]]:
    beginning = io.BytesIO(stream.read(_MOST_HEADER))  # a header may claim to be of any length
    try:
        shape, _, dtype = _HEADERS[np.lib.format.read_magic(beginning)](beginning)
    except Exception:  # noqa: BLE001 - NumPy reads the header as Python, which may fail in any way
        raise HandoverError(f"{name} is no array of numbers") from None
    return shape, dtype
