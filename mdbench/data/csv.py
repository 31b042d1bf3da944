"""Trajectories in CSV files: a header, then the time and the states, a line for each sample."""

from __future__ import annotations

import csv
import math
from typing import TYPE_CHECKING

import numpy as np

from mdbench.data.trajectory import Trajectory
from mdbench.errors import DataError

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["read_csv"]

_EXPECTED = "The first line names the columns: the time, then the states, separated by commas."


def read_csv(path: Path) -> tuple[Trajectory, tuple[str, ...]]:
    """Read and check a trajectory without derivatives.

    Returns
    -------
    Trajectory
        Its `du` is None.
    tuple of str
        The names of the states, from the header.

    Raises
    ------
    DataError
        If the file cannot be read, has no header, or a cell is missing or is no finite number; it
        names the line, the column and the text.
    """
    rows: list[list[float]] = []
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            lines = csv.reader(file, strict=True)
            header = _header(path, next(lines, []))
            for cells in lines:
                if cells:
                    rows.append(_row(f"{path}, line {lines.line_num}", header, cells))
                    _check_time(f"{path}, line {lines.line_num}", header[0], rows)
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise DataError(f"{path} cannot be read: {error}", _EXPECTED) from error
    table = np.array(rows, dtype=np.float64).reshape(-1, len(header))
    trajectory = Trajectory(t=table[:, 0].copy(), u=table[:, 1:].copy())
    trajectory.check(path)
    return trajectory, header[1:]


def _header(path: Path, cells: list[str]) -> tuple[str, ...]:
    names = tuple(cell.strip() for cell in cells)
    if len(names) < 2:  # noqa: PLR2004 - a time and at least one state
        raise DataError(f"{path}, line 1: {','.join(cells)!r} has too few columns", _EXPECTED)
    for name in names:
        if not name or _number(name) is not None:
            raise DataError(f"{path}, line 1: {name!r} is not the name of a column", _EXPECTED)
    return names


def _row(where: str, header: tuple[str, ...], cells: list[str]) -> list[float]:
    if len(cells) != len(header):
        raise DataError(f"{where}: {len(cells)} cells, but the header names {len(header)} columns")
    values = [_number(cell) for cell in cells]
    for name, cell, value in zip(header, cells, values, strict=True):
        if value is None or not math.isfinite(value):
            raise DataError(
                f"{where}: {name} is {cell!r}",
                "Every cell has to be a finite number, with a point for its decimals.",
            )
    return [value for value in values if value is not None]


def _check_time(where: str, name: str, rows: list[list[float]]) -> None:
    if len(rows) > 1 and not rows[-1][0] > rows[-2][0]:
        raise DataError(
            f"{where}: {name} is {rows[-1][0]:g}, after {rows[-2][0]:g}", "Times have to increase."
        )


def _number(cell: str) -> float | None:
    try:
        return float(cell)
    except ValueError:
        return None
