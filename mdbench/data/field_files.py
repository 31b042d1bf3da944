"""Fields in files: NPZ in the layout of MDBench's own datasets, and named arrays."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import IO, TYPE_CHECKING, Any

import numpy as np

from eqverdict.limited_process import PARSER_LOCK
from mdbench.data.array_files import open_npz
from mdbench.data.field import AXES, Field
from mdbench.data.readers import READERS, choice, ending_of, reader_of
from mdbench.data.trajectory import (
    UNREADABLE,
    npz_array,
    reason_of,
    refuse_unreal,
    without_imaginary,
)
from mdbench.errors import DataError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    Array = NDArray[np.float64]

_EXPECTED_FIELD = (
    "An NPZ file with the arrays t (n_t,), x (n_x,), y and z in 2D and 3D, and u "
    "(n_x[, n_y[, n_z]], n_t, d) is expected; du, shaped like u, may be there, too: "
    "numpy.savez('mine.npz', t=t, x=x, u=u)."
)


def read_field(path: Path, order: Sequence[str] = ()) -> Field:
    """Read and check a field; `du` may be missing.

    Parameters
    ----------
    order
        The names of the dimensions of u before that of the states, where it is not x, ..., t.

    Raises
    ------
    DataError
        If the file is missing, damaged, holds pickled objects, lacks a key or has one too many,
        or its arrays cannot be used; it names the file, the key and the value.
    """
    try:
        with path.open("rb") as file, PARSER_LOCK:
            archive = open_npz(file, path, _EXPECTED_FIELD)
            u = npz_array(archive, path, "u", _EXPECTED_FIELD)
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
            grid = {axis: npz_array(archive, path, axis, _EXPECTED_FIELD) for axis in axes}
            t = npz_array(archive, path, "t", _EXPECTED_FIELD)
            du = npz_array(archive, path, "du", _EXPECTED_FIELD) if "du" in archive.files else None
            periods = {
                axis: _period(npz_array(archive, path, key, _EXPECTED_FIELD), path, key)
                for key, axis in lengths.items()
                if key in archive.files
            }
    except UNREADABLE as error:
        raise DataError(f"{path} cannot be read: {reason_of(error)}", _EXPECTED_FIELD) from error
    axes = tuple(grid)
    u = _reorder_dimensions(path, u, axes, order)
    du = None if du is None else _reorder_dimensions(path, du, axes, order)
    field = Field(t, grid, u, du, periods)
    field.check(path)
    return field


def _reorder_dimensions(
    path: Path, array: Array, axes: Sequence[str], order: Sequence[str]
) -> Array:
    """Return an array whose dimensions are (x, ..., t, d), of one in another order."""
    wanted = (*axes, "t")
    if not order or array.ndim != len(wanted) + 1:
        return array
    if sorted(order) != sorted(wanted):
        raise DataError(
            f"{path} has the axes {', '.join(wanted)}, and --axes names {', '.join(order)}.",
            f"Name each once, in the order of the dimensions of u: --axes {','.join(wanted)}",
        )
    return np.ascontiguousarray(
        np.moveaxis(array, [order.index(axis) for axis in wanted], range(len(wanted)))
    )


def _period(array: Array, path: Path, key: str) -> float:
    if array.size != 1:
        raise DataError(f"{path}: {key} has shape {array.shape}", "It has to be one number.")
    return float(array.reshape(()))


def write_field(file: IO[bytes] | Path, field: Field) -> None:
    """Write a field, not compressed."""
    periods = {f"{axis}_period": period for axis, period in field.periods.items()}
    arrays: dict[str, Any] = {"t": field.t, **field.grid, **periods, "u": field.u}
    np.savez(file, **(arrays if field.du is None else arrays | {"du": field.du}))


def field_hint() -> str:
    """Return what to give as a field."""
    return (
        f"Give a file that ends in {choice('field')} (arrays t, x, y and z where there are any, "
        "u), or a folder of such files."
    )


EXPECTED_ARRAYS = (
    "The arrays t (n_t,), x (n_x,), y and z in 2D and 3D, and u (n_x[, n_y[, n_z]], n_t, d) are "
    "expected; d may be left out where it is 1; du, shaped like u, and x_period may be there, too."
)
_NETCDF = (
    "The coordinates x, y and z where there are any, and t or time are expected, and variables on "
    "all of them: u, whose further dimension counts the states, or one variable a state.  In "
    "xarray: rename(lon='x') renames a coordinate, assign_coords(x=x) adds one, and isel(z=0, "
    "drop=True) leaves one out."
)
_TIMES = ("t", "time")


@dataclass(frozen=True)
class Variable:
    """An array of a file.

    Attributes
    ----------
    dims
        The names of its dimensions; empty where the file has none.
    attributes
        Its further attributes.
    """

    values: NDArray[Any]
    dims: tuple[str, ...] = ()
    attributes: Mapping[str, Any] = field(default_factory=dict)


def read_field_file(path: Path, order: Sequence[str] = ()) -> Field:
    """Read and check a field; `du` may be missing; `order` as of `read_field`.

    Raises
    ------
    DataError
        If the file is missing or damaged, lacks an array or has one too many, or its arrays
        cannot be used; it names the file, the array and the value.
    UnavailableError
        If the file takes a package that is not installed.
    """
    return reader_of(path).field(path, order)


def field_of(
    path: Path,
    variables: Mapping[str, Variable],
    expected: str,
    order: Sequence[str] = (),
    *,
    dimensions_named: bool = False,
) -> Field:
    """Make a field of the arrays of a file; errors as `read_field_file`.

    Parameters
    ----------
    expected
        What the file should have, for messages.
    dimensions_named
        Whether dimensions have names in files of its kind; where they have none, they are in order.
    """
    if not dimensions_named and all(each.dims != (name,) for name, each in variables.items()):
        arrays = {name: numbers_of(path, name, each) for name, each in variables.items()}
        return _field(path, arrays, expected, order)
    arrays, labels = _by_dimension(path, variables)
    return replace(_field(path, arrays, _NETCDF), labels=labels)


def refuse_tables(path: Path) -> None:
    """Refuse CSV files, and folders of nothing else: a table does not define a grid.

    Raises
    ------
    DataError
        With what to do instead.
    """
    folder = path.is_dir()
    files = [file for file in path.glob("*") if file.is_file()] if folder else [path]
    if not files or not all(
        ending_of(file) in READERS and "table" in reader_of(file).views for file in files
    ):
        return
    raise DataError(
        f"{path} is {'a folder of tables' if folder else 'a table'}, and a field needs a grid: "
        "rows and columns do not show which of them are places, times or states.",
        "Reshape it once in Python: numpy.savez('mine.npz', t=t, x=x, u=u), with u of the shape "
        "(n_x, n_t, d).  A series without space is --data-type ode.",
    )


def _field(
    path: Path, arrays: Mapping[str, Array], expected: str, order: Sequence[str] = ()
) -> Field:
    axes = [axis for axis in AXES if axis in arrays]
    for key in ("t", "u", *AXES[: max(1, len(axes))]):
        if key not in arrays:
            there = ", ".join(arrays) or "none"
            raise DataError(f"{path}: array {key!r} is missing; it has {there}", expected)
    lengths = {f"{axis}_period": axis for axis in axes}
    others = [key for key in arrays if key not in {*axes, "t", "u", "du", *lengths}]
    if others:
        raise DataError(
            f"{path}: array {others[0]!r} is none of {', '.join((*axes, 't', 'u'))}, du and "
            f"{', '.join(lengths)}",
            f"Leave it out of the file, or give it one of these names.  {expected}",
        )
    for key in lengths:
        if key in arrays and arrays[key].size != 1:
            raise DataError(
                f"{path}: {key} has shape {arrays[key].shape}", "It has to be one number."
            )
    states = {
        key: arrays[key][..., None] if arrays[key].ndim == len(axes) + 1 else arrays[key]
        for key in ("u", "du")
        if key in arrays
    }
    states = {key: _reorder_dimensions(path, each, axes, order) for key, each in states.items()}
    field = Field(
        _row(arrays["t"]),
        {axis: _row(arrays[axis]) for axis in axes},
        np.ascontiguousarray(states["u"]),
        np.ascontiguousarray(states["du"]) if "du" in states else None,
        {axis: float(arrays[key].ravel()[0]) for key, axis in lengths.items() if key in arrays},
    )
    field.check(path)
    return field


def _row(array: Array) -> Array:
    """Take off the second dimension that MATLAB gives to all rows and columns."""
    return array.ravel() if array.size == max(array.shape, default=0) else array


def numbers_of(path: Path, name: str, variable: Variable) -> Array:
    """Return the numbers of an array, scaled as its attributes say, NaN where there is none.

    Raises
    ------
    DataError
        If it has other than real numbers.
    """
    values = without_imaginary(variable.values)
    refuse_unreal(path, name, values.dtype)
    numbers = values.astype(np.float64)
    for missing in ("_FillValue", "missing_value"):
        if missing in variable.attributes:
            numbers[values == np.ravel(variable.attributes[missing])[0]] = np.nan
    scale, offset = (
        float(np.ravel(variable.attributes.get(key, default))[0])
        for key, default in (("scale_factor", 1.0), ("add_offset", 0.0))
    )
    return np.asarray(numbers * scale + offset) if (scale, offset) != (1.0, 0.0) else numbers


def _by_dimension(
    path: Path, variables: Mapping[str, Variable]
) -> tuple[dict[str, Array], tuple[str, ...]]:
    """Order the arrays of a netCDF file by the names of their dimensions; name the states."""
    times = [name for name in _TIMES if name in variables and variables[name].dims == (name,)]
    axes = [axis for axis in AXES if axis in variables and variables[axis].dims == (axis,)]
    if not axes or len(times) != 1:
        there = ", ".join(f"{name}({', '.join(each.dims)})" for name, each in variables.items())
        raise DataError(f"{path}: it has {there or 'no variables'}", _NETCDF)
    order = (*axes, times[0])
    arrays = {"t": numbers_of(path, times[0], variables[times[0]])}
    for axis in axes:
        arrays[axis] = numbers_of(path, axis, variables[axis])
        period = variables[axis].attributes.get("period")
        if period is not None:
            arrays[f"{axis}_period"] = np.asarray(period, np.float64)
        elif f"{axis}_period" in variables:
            arrays[f"{axis}_period"] = numbers_of(
                path, f"{axis}_period", variables[f"{axis}_period"]
            )
    if "u" in variables:
        for key in ("u", "du"):
            if key in variables:
                arrays[key] = _ordered(path, key, variables[key], order)
        return arrays, ()
    alone = [name for name, each in variables.items() if sorted(each.dims) == sorted(order)]
    if not alone:
        raise DataError(f"{path}: no variable is given on {', '.join(order)}", _NETCDF)
    states = [_ordered(path, name, variables[name], order) for name in alone]
    return arrays | {"u": np.stack(states, axis=-1)}, tuple(alone)


def _ordered(path: Path, name: str, variable: Variable, order: tuple[str, ...]) -> Array:
    further = [dim for dim in variable.dims if dim not in order]
    if not set(order) <= set(variable.dims) or len(further) > 1:
        raise DataError(
            f"{path}: {name} has the dimensions {', '.join(variable.dims) or 'none'}",
            f"They have to be {', '.join(order)} and, where there are several states, one more.",
        )
    wanted = (*order, *further)
    return numbers_of(path, name, variable).transpose([variable.dims.index(dim) for dim in wanted])
