"""What data types of sampled systems share: files by their names, order, and fingerprints."""

from __future__ import annotations

import hashlib
import re
import unicodedata
from typing import TYPE_CHECKING, TypeVar

from mdbench.errors import DataError, UsageError, did_you_mean

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    import numpy as np
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

_T = TypeVar("_T")

__all__ = ["by_number", "find_files", "fingerprint", "named", "suffix"]


def find_files(
    path: Path, endings: tuple[str, ...], hint: str
) -> tuple[dict[str, Path], dict[tuple[str, float], Path]]:
    """Find the datasets in a file, or in a folder and the folders in it.

    A name that ends in ``_snr_40`` and the like is a noisy version of the dataset beside it.

    Parameters
    ----------
    endings
        Of the files that are data, in lower case.
    hint
        What to give instead, where there are none.

    Returns
    -------
    clean
        The files by the names of their datasets.
    noisy
        The files of noisy versions, by name and dB.

    Raises
    ------
    DataError
        If there is nothing, if two files have the same name, or if a noisy version has a TOML file.
    """

    def is_data(file: Path) -> bool:
        hidden = file.name.startswith(".")
        return file.suffix.lower() in endings and file.is_file() and not hidden

    if path.is_dir():
        files = [file for file in (*path.glob("*"), *path.glob("*/*")) if is_data(file)]
    elif path.exists():
        files = [path] if is_data(path) else []
    else:
        raise DataError(f"There is nothing at {path}.", hint)
    if not files:
        raise DataError(f"{path} has no data of this type.", hint)
    clean: dict[str, Path] = {}
    noisy: dict[tuple[str, float], Path] = {}
    stems = {(file.parent, file.stem) for file in files}
    for file in sorted(files):
        level = re.fullmatch(r"(.+)_snr_(-?\d+(\.\d+)?)", file.stem)
        if level and (file.parent, level[1]) in stems:
            if (described := file.with_suffix(".toml")).exists():
                raise DataError(
                    f"{described} describes a noisy version; it would not be read.",
                    f"Write it in {level[1]}.toml, which counts for all versions.",
                )
            noisy[unicodedata.normalize("NFC", level[1]), float(level[2])] = file
            continue
        name = unicodedata.normalize("NFC", file.stem)
        if name in clean:
            raise DataError(
                f"{clean[name]} and {file} have the same name.",
                "The name is that of the dataset; rename one of them.",
            )
        clean[name] = file
    return clean, noisy


def named(name: str, entries: Mapping[str, _T]) -> _T:
    """Give the entry of a dataset.

    Raises
    ------
    UsageError
        If there is none of this name; shows near names.
    """
    if name not in entries:
        raise UsageError(f"There is no dataset {name!r}.", did_you_mean(name, entries))
    return entries[name]


def by_number(identity: str) -> tuple[str, int]:
    """Give a key that sorts I2 before I10."""
    letters = identity.rstrip("0123456789")
    return letters, int(identity.removeprefix(letters) or 0)


def suffix(snr_db: float | None) -> str:
    """Give the end of a file's name that says its noise level."""
    return "" if snr_db is None else f"_snr_{snr_db:g}"


def fingerprint(arrays: Mapping[str, Array], snr_db: float | None, noise: str, seed: int) -> str:
    """Hash the values, shapes and types of all arrays, and where the noise comes from.

    Parameters
    ----------
    noise
        ``file``, or the protocol by which it was drawn.
    """
    sha256 = hashlib.sha256()
    for key, array in arrays.items():
        sha256.update(f"{key} {array.dtype.str} {array.shape}\n".encode())
        sha256.update(array.tobytes())
    if snr_db is not None:
        sha256.update(f"{noise} {snr_db:g} {seed if noise != 'file' else ''}".encode())
    return sha256.hexdigest()
