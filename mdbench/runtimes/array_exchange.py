"""Arrays that are exchanged with a job, as files in its folder, which it may have changed."""

from __future__ import annotations

import io
import math
import os
import stat
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from eqverdict.limited_process import PARSER_LOCK
from mdbench.datatypes.facts import Protocol

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from numpy.typing import NDArray

    from mdbench.datatypes.base import Split, Task

LONGEST_TEXT = 200
"""Characters of a predicted text, such as a label."""
_ORDER = b"test rows"
"""Part of the seed of the order of test rows, so that it differs from other draws."""
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
"""Flags to make a file where the method may have put something in its place."""
_MOST_HEADER = 4096
"""Bytes that an .npy file may have beyond its numbers."""
_HEADERS = {
    (1, 0): np.lib.format.read_array_header_1_0,
    (2, 0): np.lib.format.read_array_header_2_0,
}


class ArrayExchangeError(Exception):
    """A file is not the array that it should be; the message has the difference."""


def test_order(task: Task[Any], seed: int) -> NDArray[np.intp] | None:
    """Draw the order in which test rows are given; None for their own."""
    if task.protocol is not Protocol.STRICT or not task.any_order:
        return None
    return np.random.default_rng([seed, *_ORDER]).permutation(len(task.test.targets))


def reorder(part: Split, order: NDArray[np.intp] | None) -> Split:
    """Return the inputs of a part in an order."""
    if order is None:
        return part
    inputs = {name: array[order] for name, array in part.inputs.items()}
    return replace(part, inputs=inputs)


def write_arrays(file: str, arrays: Mapping[str, NDArray[Any]], *, folder: int) -> None:
    """Write an .npz file that is not there yet into an open folder.

    Raises
    ------
    OSError
        If something is in its place, or if it cannot be written.
    """
    new = os.open(file, _NEW, 0o644, dir_fd=folder)
    os.fchmod(new, 0o644)  # whatever the user's umask: the job may be somebody else
    with os.fdopen(new, "wb") as stream:
        np.savez(stream, allow_pickle=False, **arrays)


def read_predictions(
    path: Path | str,
    shape: tuple[int, ...],
    like: np.dtype[Any],
    *,
    folder: int | None = None,
    per_target: bool = False,
) -> NDArray[Any]:
    """Read an .npy file that must hold an array of exactly this shape.

    Its values are texts of at most `LONGEST_TEXT` characters where `like` is a type of text, and
    else float64.

    No link is followed, nothing but a plain file is opened, and no more is read than the shape
    asks for and the file held when it was opened.

    Parameters
    ----------
    folder
        The open folder that `path` is a name in.
    per_target
        Whether it is a stack of equal arrays; errors give the shape of one.

    Raises
    ------
    ArrayExchangeError
        If it is anything else.
    """
    name = os.path.basename(path)  # noqa: PTH119 - may be no path
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
    try:
        descriptor = os.open(path, flags, dir_fd=folder)
    except OSError as error:
        raise ArrayExchangeError(f"{name} cannot be read: {error.strerror}") from None
    status = os.fstat(descriptor)
    if not stat.S_ISREG(status.st_mode):
        os.close(descriptor)
        raise ArrayExchangeError(f"{name} is no plain file")
    with os.fdopen(descriptor, "rb", buffering=0) as stream, PARSER_LOCK:
        header_shape, dtype = _read_header(stream.read(_MOST_HEADER) or b"", name)
        if header_shape != shape:
            one = slice(1, None) if per_target and header_shape[:1] == shape[:1] else slice(None)
            raise ArrayExchangeError(
                f"predictions of shape {header_shape[one]}; {shape[one]} expected"
            )
        texts = like.kind == "U"
        if texts and (dtype.kind != "U" or dtype.itemsize > 4 * LONGEST_TEXT):
            raise ArrayExchangeError(f"{name} is no array of texts of {LONGEST_TEXT} characters")
        if not texts and dtype != np.float64:
            raise ArrayExchangeError(f"{name} is no array of float64")
        if status.st_size > dtype.itemsize * math.prod(shape) + _MOST_HEADER:
            raise ArrayExchangeError(f"{name} holds more than its array")
        content = io.BytesIO(_read(stream, status.st_size))  # which nobody changes any more
        try:
            # Read again: what was read first may have been another file's header.
            if _read_header(content.read(_MOST_HEADER), name) != (header_shape, dtype):
                raise ArrayExchangeError(f"{name} was changed while it was read")
            content.seek(0)
            array: NDArray[Any] = np.lib.format.read_array(content, allow_pickle=False)
        except ValueError:
            raise ArrayExchangeError(f"{name} is cut short") from None
    return array


def _read(stream: io.RawIOBase, size: int) -> bytes:
    stream.seek(0)
    data = bytearray()
    while len(data) < size and (block := stream.read(size - len(data))):
        data += block
    return bytes(data)


def _read_header(content: bytes, name: str) -> tuple[tuple[int, ...], np.dtype[np.generic]]:
    beginning = io.BytesIO(content)  # a header may claim to be of any length
    try:
        shape, _, dtype = _HEADERS[np.lib.format.read_magic(beginning)](beginning)
    except Exception:  # noqa: BLE001 - NumPy reads the header as Python, which may fail in any way
        raise ArrayExchangeError(f"{name} is no array of numbers") from None
    return shape, dtype
