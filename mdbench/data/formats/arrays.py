"""Files of named arrays, NPZ, MATLAB, HDF5 and netCDF: series over time, and fields."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from zlib import error as ZlibError  # noqa: N812 - zlib calls it just "error"

import numpy as np

from eqverdict.limited_process import PARSER_LOCK
from mdbench.data.array_files import open_npz, refuse_large, refuse_large_file
from mdbench.data.cells import Cells, Row
from mdbench.data.field_files import (
    EXPECTED_ARRAYS,
    Variable,
    field_hint,
    field_of,
    numbers_of,
    read_field,
)
from mdbench.data.formats.points import points_of_npz
from mdbench.data.readers import Reader
from mdbench.data.trajectory import (
    UNREADABLE,
    Trajectory,
    npz_array,
    read_npz,
    reason_of,
    refuse_unreal,
)
from mdbench.errors import DataError, UnavailableError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from mdbench.data.field import Field

    Array = NDArray[np.float64]

_INSIDE = (
    "Arrays are looked for outside of structures, and whole: in MATLAB save('mine.mat', '-struct', "
    "'{name}') saves the arrays in a structure by themselves, and {name} = full({name}) fills a "
    "sparse matrix."
)
_HDF5 = b"\x89HDF\r\n\x1a\n"
_HEADER = 512
"""Bytes that MATLAB writes before what is HDF5 in its files of version 7.3."""
_NO_ARRAYS = {"struct", "object", "opaque", "sparse", "function"}
"""What SciPy calls the kinds of variables of a MATLAB file that are no arrays."""
_DAMAGED = (
    *(OSError, ValueError, TypeError, LookupError, AttributeError, AssertionError, EOFError),
    *(ZlibError, MemoryError, NotImplementedError, OverflowError),
)
"""Errors that SciPy and h5py raise where a file is not of the format that it begins with."""


class ArraysReader(Reader):
    """A kind of file with named arrays: a series, or a field.

    Attributes
    ----------
    expected
        What the file of a field should have, for messages.
    dimensions_named
        Whether dimensions have names in such files.
    """

    expected = EXPECTED_ARRAYS
    dimensions_named = False

    def variables(self, path: Path) -> dict[str, Variable]:
        """Read all arrays of a file; errors of damaged files may be those of its package."""
        raise NotImplementedError

    def series(self, path: Path, *, skip: int = 0, fewest: int = 2) -> Trajectory | Cells:
        """Read arrays t, u and du, or columns that have names of their own."""
        del skip, fewest
        return series_of(path, self._read(path, EXPECTED_SERIES))

    def field(self, path: Path, order: Sequence[str] = ()) -> Field:
        """Read the arrays t, x, ... and u."""
        variables = self._read(path, field_hint())
        return field_of(
            path, variables, self.expected, order, dimensions_named=self.dimensions_named
        )

    def _read(self, path: Path, hint: str) -> dict[str, Variable]:
        try:
            with PARSER_LOCK:
                refuse_large_file(path)
                return self.variables(path)
        except _DAMAGED as error:
            reason = (isinstance(error, OSError) and error.strerror) or error
            raise DataError(f"{path} cannot be read: {reason}", hint) from error


class _Matlab(ArraysReader):
    expected = f"{EXPECTED_ARRAYS}  In MATLAB: save('mine.mat', 't', 'x', 'u')."

    def variables(self, path: Path) -> dict[str, Variable]:
        if _is_hdf5(path):
            return _read_hdf5(path, "MATLAB of version 7.3", matlab=True)
        return _read_matlab(path)


class _Hdf5(ArraysReader):
    def __init__(self, title: str, *, dimensions_named: bool) -> None:
        self._title, self.dimensions_named = title, dimensions_named

    def variables(self, path: Path) -> dict[str, Variable]:
        if _is_hdf5(path):
            return _read_hdf5(path, self._title, matlab=False)
        return _read_netcdf(path)


MATLAB = _Matlab()
HDF5 = _Hdf5("HDF5", dimensions_named=False)
NETCDF = _Hdf5("netCDF of version 4", dimensions_named=True)


def _is_hdf5(path: Path) -> bool:
    with path.open("rb") as file:
        begin = file.read(_HEADER + len(_HDF5))
    return begin.startswith(_HDF5) or begin[_HEADER:] == _HDF5


def _read_matlab(path: Path) -> dict[str, Variable]:
    from scipy.io import loadmat, whosmat  # noqa: PLC0415 - few need it
    from scipy.io.matlab import MatReadError  # noqa: PLC0415

    try:
        there = whosmat(path)
        for name, _, kind in there:
            if kind == "cell":
                refuse_unreal(path, name, np.dtype(object))
            if kind in _NO_ARRAYS:
                what = "a sparse matrix" if kind == "sparse" else "a structure"
                raise DataError(f"{path}: {name} is {what}", _INSIDE.format(name=name))
        refuse_large(path, [(name, shape) for name, shape, _ in there])
        arrays = loadmat(path, variable_names=[name for name, _, _ in there])
    except MatReadError as error:
        raise ValueError(str(error)) from error
    return {name: Variable(arrays[name]) for name, _, _ in there}


def _read_netcdf(path: Path) -> dict[str, Variable]:
    from scipy.io import netcdf_file  # noqa: PLC0415 - few need it

    with netcdf_file(path, "r", mmap=False) as file:
        refuse_large(path, [(name, each.shape) for name, each in file.variables.items()])
        return {
            name: Variable(np.array(each.data), tuple(each.dimensions), dict(each._attributes))  # noqa: SLF001 - SciPy gives them nowhere else
            for name, each in file.variables.items()
        }


def _read_hdf5(path: Path, what: str, *, matlab: bool) -> dict[str, Variable]:
    try:
        import h5py  # noqa: PLC0415 - optional
    except ImportError:
        raise UnavailableError(
            f"{path} is {what}, for which the package h5py is needed; it is not installed.",
            "Save it by save('-v7') or as NETCDF3_64BIT, or add the package (5 MB): "
            ".venv/bin/uv pip install --python .venv/bin/python h5py",
        ) from None
    with h5py.File(path, "r") as file:
        arrays = {name: each for name, each in file.items() if isinstance(each, h5py.Dataset)}
        groups = [name for name, each in file.items() if isinstance(each, h5py.Group)]
        refuse_large(path, [(name, each.shape or ()) for name, each in arrays.items()])
        if matlab:
            for name in groups:
                if not name.startswith("#"):  # where MATLAB keeps what others refer to
                    what = "a structure or a sparse matrix"
                    raise DataError(f"{path}: {name} is {what}", _INSIDE.format(name=name))
            # Columns come first in MATLAB, and last in HDF5.
            return {name: Variable(np.asarray(each[()]).T) for name, each in arrays.items()}
        if groups and not arrays:
            raise DataError(
                f"{path}: all it has is in groups: {', '.join(groups)}",
                "Give one of them a file of its own; in xarray: "
                f"open_dataset({path.name!r}, group={groups[0]!r}).to_netcdf('mine.nc'). A table "
                "that pandas wrote: mdbench.run(..., data=pandas.read_hdf("
                f"{path.name!r})).",
            )
        return {
            name: Variable(np.asarray(each[()]), _dimensions(name, each), dict(each.attrs))
            for name, each in arrays.items()
            if not _is_mere_dimension(each.attrs)
        }


def _is_mere_dimension(attributes: Mapping[str, Any]) -> bool:
    name = attributes.get("NAME", b"")
    return isinstance(name, bytes) and name.startswith(b"This is a netCDF dimension but not")


def _dimensions(name: str, dataset: Any) -> tuple[str, ...]:
    """Return the names of an HDF5 dataset's dimensions, by the scales attached to them."""
    if dataset.attrs.get("CLASS") == b"DIMENSION_SCALE" and dataset.ndim == 1:
        return (name,)
    scales: Iterable[Any] = dataset.dims
    return tuple(
        each[0].name.rsplit("/", 1)[-1] if len(each) else f"dim_{i}"
        for i, each in enumerate(scales)
    )


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


class _Npz(Reader):
    def series(self, path: Path, *, skip: int = 0, fewest: int = 2) -> Trajectory | Cells:
        del skip, fewest
        return series_of_npz(path)

    def field(self, path: Path, order: Sequence[str] = ()) -> Field:
        return read_field(path, order)

    def points(self, path: Path) -> tuple[Array, Array | None]:
        return points_of_npz(path)


NPZ = _Npz()
