"""Series over time in files of named arrays: NPZ, MATLAB, netCDF and HDF5."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from eqverdict.limited_process import PARSER_LOCK
from mdbench.data.array_files import open_npz
from mdbench.data.cells import Cells, Row
from mdbench.data.field_files import numbers_of
from mdbench.data.trajectory import UNREADABLE, Trajectory, npz_array, read_npz, reason_of
from mdbench.errors import DataError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from numpy.typing import NDArray

    from mdbench.data.field_files import Variable

    Array = NDArray[np.float64]

_LAYOUT = frozenset({"t", "u", "du"})
EXPECTED_SERIES = (
    "Give the arrays t (n,), u (n, d) and, if it is known, du (n, d); or the time and each state "
    "as an array (n,) of its own name: numpy.savez('mine.npz', t=t, prey=prey, hunter=hunter)."
)


def series_of_npz(path: Path) -> Trajectory | Cells:
    """Read a series of NumPy's arrays; as `series_of`."""
    names = _names_in(path)
    if "u" in names or not names:
        return read_npz(path, known_rates=False)
    return _table(path, _of_npz(path), {})


def series_of(path: Path, variables: Mapping[str, Variable]) -> Trajectory | Cells:
    """Make a series of the arrays of a file: t, u and du, or columns that have names of their own.

    Raises
    ------
    DataError
        If they are neither.
    """
    arrays = {name: _row(numbers_of(path, name, each)) for name, each in variables.items()}
    units = {name: _unit(each.attributes) for name, each in variables.items()}
    if "time" in arrays and "t" not in arrays and "u" in arrays:
        arrays["t"] = arrays.pop("time")
    return _of_layout(path, arrays) if "u" in arrays else _table(path, arrays, units)


def _of_layout(path: Path, arrays: Mapping[str, Array]) -> Trajectory:
    if others := [key for key in arrays if key not in _LAYOUT]:
        raise DataError(f"{path}: array {others[0]!r} is none of t, u and du", EXPECTED_SERIES)
    if "t" not in arrays:
        raise DataError(
            f"{path}: array 't' is missing; it has {', '.join(arrays)}", EXPECTED_SERIES
        )
    u, du = (
        arrays[key][:, None] if key in arrays and arrays[key].ndim == 1 else arrays.get(key)
        for key in ("u", "du")
    )
    assert u is not None  # noqa: S101 - it is there
    series = Trajectory(arrays["t"], u, du)
    series.check(path)
    return series


def _table(path: Path, arrays: Mapping[str, Array], units: Mapping[str, str]) -> Cells:
    sizes = {array.shape for array in arrays.values()}
    if len(arrays) < 2 or len(sizes) != 1 or len(next(iter(sizes))) != 1:  # noqa: PLR2004
        there = ", ".join(f"{name} {array.shape}" for name, array in arrays.items()) or "nothing"
        raise DataError(f"{path} has {there}: these are no columns of one series.", EXPECTED_SERIES)
    labels = tuple(f"{name} [{units[name]}]" if units.get(name) else name for name in arrays)
    columns = [
        ["" if np.isnan(value) else repr(float(value)) for value in array.tolist()]
        for array in arrays.values()
    ]
    return Cells(
        labels, [Row(k + 1, list(row)) for k, row in enumerate(zip(*columns, strict=True))]
    )


def _row(array: Array) -> Array:
    """Take off the second dimension that MATLAB gives to all rows and columns."""
    return array.ravel() if array.ndim == 2 and 1 in array.shape else array  # noqa: PLR2004


def _unit(attributes: Mapping[str, Any]) -> str:
    unit = attributes.get("units", "")
    text = unit.decode("utf-8", "replace") if isinstance(unit, bytes) else str(unit)
    return text.partition(" since ")[0].strip()


def _names_in(path: Path) -> list[str]:
    try:
        with path.open("rb") as file, PARSER_LOCK:
            return list(open_npz(file, path, EXPECTED_SERIES).files)
    except UNREADABLE as error:
        raise DataError(f"{path} cannot be read: {reason_of(error)}", EXPECTED_SERIES) from error


def _of_npz(path: Path) -> dict[str, Array]:
    with path.open("rb") as file, PARSER_LOCK:
        archive = open_npz(file, path, EXPECTED_SERIES)
        return {key: npz_array(archive, path, key, EXPECTED_SERIES) for key in archive.files}
