"""Trajectories and fields in NPZ files, in the layout of MDBench's own datasets."""

from __future__ import annotations

from typing import IO, TYPE_CHECKING, Any
from zipfile import BadZipFile
from zlib import error as ZlibError  # noqa: N812 - zlib calls it just "error"

import numpy as np

from mdbench.children import READING
from mdbench.data.field import AXES, Field
from mdbench.data.trajectory import Trajectory
from mdbench.errors import DataError

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

    Array = NDArray[np.float64]

__all__ = ["read_field", "read_npz", "refuse_unreal", "write_field", "write_npz"]

_KEYS = ("t", "u", "du")
_UNREADABLE = (OSError, ValueError, EOFError, BadZipFile, ZlibError, MemoryError)
_EXPECTED = "An NPZ file with the arrays t (n,), u (n, d) and du (n, d) is expected."
_EXPECTED_FIELD = (
    "An NPZ file with the arrays t (n_t,), x (n_x,), y and z in 2D and 3D, and u "
    "(n_x[, n_y[, n_z]], n_t, d) is expected; du, shaped like u, may be there, too: "
    "numpy.savez('mine.npz', t=t, x=x, u=u)."
)
_REMEDIES = {
    "c": "give both parts of u as states: numpy.stack([u.real, u.imag], axis=-1)",
    "b": "numpy.asarray({key}, float) makes them of truth values",
    "U": "numpy.asarray({key}, float) makes them of texts that hold some",
    "S": "numpy.asarray({key}, float) makes them of texts that hold some",
    "M": "({key} - {key}[0]) / numpy.timedelta64(1, 's') makes seconds of dates",
    "O": "one array of them, not a list or cell of arrays; in MATLAB cell2mat({key}) makes it",
    "V": "give each field of a structured array an array of its own",
}
"""What to do about arrays of other than real numbers, by NumPy's letter for their kind."""


def read_npz(path: Path) -> Trajectory:
    """Read and check a trajectory.

    Raises
    ------
    DataError
        If the file is missing, damaged, holds pickled objects, lacks a key, or its arrays cannot
        be used; it names the file, the key and the value.
    """
    try:
        # Opened here, because np.load leaves a damaged file open.
        with path.open("rb") as file, READING:
            archive = np.load(file, allow_pickle=False)
            if not isinstance(archive, np.lib.npyio.NpzFile):
                raise DataError(f"{path} is a single array", _EXPECTED)
            arrays = {key: _array(archive, path, key) for key in _KEYS}
    except _UNREADABLE as error:
        raise DataError(f"{path} cannot be read: {_reason(error)}", _EXPECTED) from error
    trajectory = Trajectory(arrays["t"], arrays["u"], arrays["du"])
    trajectory.check(path)
    return trajectory


def read_field(path: Path) -> Field:
    """Read and check a field; `du` may be missing.

    Raises
    ------
    DataError
        If the file is missing, damaged, holds pickled objects, lacks a key or has one too many,
        or its arrays cannot be used; it names the file, the key and the value.
    """
    try:
        with path.open("rb") as file, READING:
            archive = np.load(file, allow_pickle=False)
            if not isinstance(archive, np.lib.npyio.NpzFile):
                raise DataError(f"{path} is a single array", _EXPECTED_FIELD)
            u = _array(archive, path, "u", _EXPECTED_FIELD)
            axes = AXES[: max(1, u.ndim - 2)]
            lengths = {f"{axis}_period": axis for axis in axes}
            known = {*axes, "t", "u", "du", *lengths}
            others = [key for key in archive.files if key not in known]
            if others:
                raise DataError(
                    f"{path}: key {others[0]!r} does not fit u, whose shape is {u.shape}",
                    f"With {u.ndim} dimensions, u is given on {', '.join(axes)} and t: the keys "
                    f"are {', '.join((*axes, 't', 'u'))} and, if it is known, du; "
                    f"{', '.join(lengths)} where an axis is periodic.",
                )
            grid = {axis: _array(archive, path, axis, _EXPECTED_FIELD) for axis in axes}
            t = _array(archive, path, "t", _EXPECTED_FIELD)
            du = _array(archive, path, "du", _EXPECTED_FIELD) if "du" in archive.files else None
            periods = {
                axis: _period(_array(archive, path, key, _EXPECTED_FIELD), path, key)
                for key, axis in lengths.items()
                if key in archive.files
            }
    except _UNREADABLE as error:
        raise DataError(f"{path} cannot be read: {_reason(error)}", _EXPECTED_FIELD) from error
    field = Field(t, grid, u, du, periods)
    field.check(path)
    return field


def _period(array: Array, path: Path, key: str) -> float:
    if array.size != 1:
        raise DataError(f"{path}: {key} has shape {array.shape}", "It has to be one number.")
    return float(array.reshape(()))


def refuse_unreal(path: Path, key: str, dtype: np.dtype[Any]) -> None:
    """Refuse arrays of anything but real numbers.

    Raises
    ------
    DataError
        With the type, and what to do about it.
    """
    if dtype.kind in "fiu":
        return
    # HDF5 knows no complex numbers, and MATLAB keeps their parts under these names.
    kind = "c" if dtype.names == ("real", "imag") else dtype.kind
    remedy = _REMEDIES.get(kind, "").format(key=key)
    raise DataError(
        f"{path}: {key} is of type {dtype}",
        f"Real numbers are expected{': ' if remedy else ''}{remedy}.",
    )


def write_field(file: IO[bytes] | Path, field: Field) -> None:
    """Write a field, not compressed."""
    periods = {f"{axis}_period": period for axis, period in field.periods.items()}
    arrays: dict[str, Any] = {"t": field.t, **field.grid, **periods, "u": field.u}
    np.savez(file, **(arrays if field.du is None else arrays | {"du": field.du}))


def write_npz(file: IO[bytes] | Path, trajectory: Trajectory) -> None:
    """Write a trajectory, not compressed; `trajectory.du` has to be there."""
    if trajectory.du is None:
        raise ValueError("this layout has derivatives")
    np.savez(file, t=trajectory.t, u=trajectory.u, du=trajectory.du)


def _array(archive: np.lib.npyio.NpzFile, path: Path, key: str, expected: str = _EXPECTED) -> Array:
    if key not in archive.files:
        raise DataError(
            f"{path}: key {key!r} is missing; it has {', '.join(archive.files) or 'none'}",
            "Where derivatives are not known, give the data as CSV." if key == "du" else expected,
        )
    try:
        array = np.asarray(archive[key])
    except _UNREADABLE as error:
        raise DataError(f"{path}: {key} cannot be read: {_reason(error)}", expected) from error
    refuse_unreal(path, key, array.dtype)
    return array.astype(np.float64, copy=False)


def _reason(error: BaseException) -> str:
    if "allow_pickle" in str(error):
        return (
            "it holds pickled objects, which are refused since they can run code "
            "(numpy.asarray(u, float) makes numbers of them), or is no NPZ file"
        )
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    return str(error) or type(error).__name__
