"""Data as Python has them, written as the files that a run reads."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from mdbench.errors import UsageError, counted
from mdbench.workspace import write_whole

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from numpy.typing import NDArray

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]*")


def write_data(data: Any, folder: Path, name: Any) -> Path:
    """Write arrays as a CSV file in a folder, and return its path.

    A file that is there is never replaced: it may be the user's, and records may name it.

    Raises
    ------
    UsageError
        If the data are no table of numbers, the name cannot be a file's, or a file of this
        name has other data.
    """
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise UsageError(f"name is {name!r}.", "Use letters, digits, '-', '_' and '.'.")
    path = folder / f"{name}.csv"
    text = _table_of(data).to_csv(index=False).encode()
    try:
        there = path.read_bytes() if path.exists() else None
        if there is None:
            write_whole(path, lambda file: file.write(text))
    except OSError as error:
        raise UsageError(
            f"{path} cannot be written: {error.strerror or error}.", "Choose another result_dir."
        ) from None
    if there not in (None, text):
        raise UsageError(
            f"{path} is there, with other data.", "Give another name, or remove the file."
        )
    return path


RUN = "run"
"""The column by which runs that are given as a list are distinguished."""


def runs_of(data: Any) -> Sequence[Any]:
    """Return the runs of a list of tables; nothing of other data."""
    tables = (pd.DataFrame, Mapping)  # two series are the times and a state
    listed = isinstance(data, list | tuple) and all(isinstance(part, tables) for part in data)
    return list(data) if listed else []


def joined_runs(data: Sequence[Any]) -> pd.DataFrame:
    """Put runs one below the other, with a column that numbers them."""
    tables = [_table_of(part) for part in data]
    columns = list(tables[0].columns)
    for number, part in enumerate(tables):
        if list(part.columns) != columns:
            raise UsageError(
                f"Run {number} has the columns {', '.join(map(str, part.columns))}, and run 0 has "
                f"{', '.join(map(str, columns))}.",
                "Give all runs the same columns, in the same order.",
            )
    if RUN in columns:
        raise UsageError(
            f"The runs have a column {RUN!r} of their own.", "Rename it, or put the runs together."
        )
    numbered = [part.assign(**{RUN: number}) for number, part in enumerate(tables)]
    return pd.concat(numbered, ignore_index=True)


_FORMS = (
    "Give a DataFrame, a Series, a list of DataFrames (runs), a dict of columns such as "
    "{'t': t, 'x': x}, or the arrays (t, x), all with one row for each time."
)


def _table_of(data: Any) -> pd.DataFrame:
    try:
        if isinstance(data, pd.DataFrame):
            table = _with_its_index(data)
        elif isinstance(data, pd.Series):
            table = _of_series(data)
        elif isinstance(data, Mapping):
            table = _of_columns(data)
        elif isinstance(data, np.ndarray) and data.ndim == _TABLE:
            values = _unmasked(data)
            table = _numbered(values[:, 0], values[:, 1:])
        else:
            table = _numbered(*_times_and_states(data))
    except (TypeError, ValueError) as error:
        raise UsageError(f"data cannot be read: {str(error).rstrip('.')}.", _FORMS) from None
    if table.empty:
        raise UsageError("data has no rows.", _FORMS)
    # A text of single precision is short, and hides that digits of a time were lost.
    short = {name: "float64" for name, kind in table.dtypes.items() if kind in _SHORT}
    return table.astype(short) if table.columns.is_unique else table


_SHORT = (np.dtype(np.float16), np.dtype(np.float32))


def _with_its_index(data: pd.DataFrame) -> pd.DataFrame:
    if data.columns.nlevels > 1:
        raise ValueError("the names of its columns have several levels")
    if data.index.name is None and data.index.nlevels == 1:
        if isinstance(data.index, pd.RangeIndex):
            return data
        if pd.api.types.is_integer_dtype(data.index) or data.index.inferred_type == "string":
            raise ValueError(
                "its index has no name, so that nobody knows whether it is the times "
                "(data.rename_axis('t')) or row numbers (data.reset_index(drop=True))"
            )
    return data.reset_index()


def _of_series(data: pd.Series) -> pd.DataFrame:
    """Return a series as a table, with its index as the times."""
    if isinstance(data.index, pd.RangeIndex):
        raise ValueError(  # noqa: TRY004 - its type is right
            "a Series has its times in its index, and this one counts rows: "
            "pandas.Series(x, index=pandas.Index(t, name='t'))"
        )
    index = data.index if data.index.name is not None else data.index.rename("t")
    named = data if data.name is not None else data.rename("x")
    return named.set_axis(index).reset_index()


def _of_columns(data: Mapping[Any, Any]) -> pd.DataFrame:
    columns = {str(name): _column(name, values) for name, values in data.items()}
    if len(columns) < len(data):
        raise ValueError("two columns have one name")
    return pd.DataFrame(columns)


def _column(name: object, values: Any) -> NDArray[Any]:
    column = _unmasked(values)
    if column.size != (len(column) if column.ndim else 1):
        raise ValueError(f"{name} has shape {column.shape}, and not one value for each time")
    return np.ravel(column)


def _unmasked(values: Any) -> NDArray[Any]:
    """Return an array in which masked values are missing."""
    if isinstance(values, np.ma.MaskedArray):
        return np.ma.filled(values.astype(np.float64), np.nan)
    return np.asarray(values)


_TABLE, _PAIR = 2, 2
"""Dimensions of an array that is a table; arrays that are times and states."""


def _times_and_states(data: Any) -> tuple[NDArray[Any], NDArray[Any]]:
    arrays = [data] if isinstance(data, str) else list(data)
    if len(arrays) != _PAIR:
        raise ValueError(f"it has {counted(len(arrays), 'part')}, not the times and states")
    return _column("the times", arrays[0]), _unmasked(arrays[1])


def _numbered(times: NDArray[Any], states: NDArray[Any]) -> pd.DataFrame:
    columns = states[:, None] if states.ndim == 1 else states
    if columns.ndim != _TABLE or len(columns) != len(times):
        raise ValueError(f"the times have shape {times.shape}, the states {states.shape}")
    return pd.DataFrame({"t": times, **{f"u{n}": column for n, column in enumerate(columns.T)}})
