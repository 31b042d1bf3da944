"""Files that appear whole or not at all, and arrays that are made once."""

from __future__ import annotations

import os
import secrets
from contextlib import suppress
from functools import partial
from typing import IO, TYPE_CHECKING

from mdbench.errors import DataError

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from mdbench.data.trajectory import Trajectory


def load_or_make(path: Path, make: Callable[[], Trajectory]) -> Trajectory:
    """Read the arrays at `path`; make and keep them if there are none, or if they are damaged.

    Several processes may do so at once: the last one to end wins, and all have the same arrays.

    Raises
    ------
    DataError
        If the file cannot be written.
    """
    from mdbench.data.array_files import read_npz, write_npz  # noqa: PLC0415 - NumPy takes a moment to load

    try:
        return read_npz(path)
    except DataError:
        trajectory = make()
    write_whole(path, partial(write_npz, trajectory=trajectory))
    return trajectory


def write_whole(path: Path, write: Callable[[IO[bytes]], object]) -> None:
    """Write a file under another name, and rename it when it is complete.

    Raises
    ------
    DataError
        If the folder cannot be made or written to.
    """
    unfinished = path.with_name(f".{path.name}.{os.getpid()}-{secrets.token_hex(4)}.tmp")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with unfinished.open("xb") as file:
            write(file)
        unfinished.replace(path)
    except OSError as error:
        raise DataError(
            f"{path} cannot be written: {error.strerror or error}",
            "Name a folder that can be written to, with room on its disk.",
        ) from error
    finally:
        with suppress(OSError):
            unfinished.unlink()
