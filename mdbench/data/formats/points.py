"""Points of a surface in files: tables, arrays, point clouds and meshes."""

from __future__ import annotations

import csv
import math
from itertools import islice
from typing import IO, TYPE_CHECKING
from zipfile import BadZipFile

import numpy as np

from eqverdict.limited_process import PARSER_LOCK
from mdbench.data.array_files import open_npz
from mdbench.data.columns import to_number
from mdbench.data.readers import Reader, reader_of
from mdbench.errors import DataError, counted

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

    Array = NDArray[np.float64]

FEWEST = 50
MOST = 1_000_000
_MOST_BYTES = 200 << 20
_MOST_LINES = 1_000
"""The most lines of the head of a PLY file."""
_NAMES = ("x", "y", "z")
_NORMALS = ("nx", "ny", "nz")
_EXPECTED = (
    "Expected are points: a CSV with the columns x, y, z (and nx, ny, nz), an NPZ with the array "
    "points (n, 3) (and normals), a PLY, or the vertices of an OBJ."
)


def read_points(path: Path) -> tuple[Array, Array | None]:
    """Read points, (n, 3), and their unit normals where the file has them.

    Raises
    ------
    DataError
        If the file cannot be read, or the points cannot be used; it names the file and why.
    """
    try:
        if path.stat().st_size > _MOST_BYTES:
            raise DataError(f"{path} has more than {_MOST_BYTES >> 20} MiB", _EXPECTED)
        points, normals = reader_of(path).points(path)
    except (OSError, ValueError, EOFError, BadZipFile, csv.Error, IndexError) as error:
        raise DataError(f"{path} cannot be read: {error}", _EXPECTED) from error
    if points.ndim != 2 or points.shape[1] != 3:  # noqa: PLR2004 - space
        raise DataError(f"{path}: points have the shape {points.shape}", _EXPECTED)
    if not FEWEST <= len(points) <= MOST:
        raise DataError(
            f"{path} has {counted(len(points), 'point')}",
            f"From {FEWEST:,} to {MOST:,} are wanted.",
        )
    if not np.isfinite(points).all():
        row = int(np.argmin(np.isfinite(points).all(axis=1)))
        raise DataError(
            f"{path}: point {row + 1} is not finite: {points[row].tolist()}",
            "Leave such points out.",
        )
    if not np.ptp(points, axis=0).any():
        raise DataError(f"{path}: all points are the same")
    if normals is None:
        return points, None
    if normals.shape != points.shape or not np.isfinite(normals).all():
        raise DataError(f"{path}: normals of the shape {normals.shape} do not fit {points.shape}")
    lengths = np.linalg.norm(normals, axis=1, keepdims=True)
    if not lengths.all():
        raise DataError(f"{path}: a normal has no length")
    return points, normals / lengths


def points_of_csv(path: Path) -> tuple[Array, Array | None]:
    """Read a table with the columns x, y and z, and nx, ny and nz; errors as `read_points`."""
    with path.open(encoding="utf-8-sig", newline="") as file:
        lines = csv.reader(file, strict=True)
        header = [cell.strip() for cell in next(lines, [])]
        if missing := [name for name in _NAMES if name not in header]:
            raise DataError(f"{path}, line 1: there is no column {missing[0]!r}", _EXPECTED)
        rows = []
        for cells in lines:
            if len(cells) != len(header):
                if not cells:
                    continue
                raise DataError(
                    f"{path}, line {lines.line_num}: {counted(len(cells), 'cell')}, but the "
                    f"header names {counted(len(header), 'column')}",
                    "Give each row a cell for each column, with commas between them.",
                )
            rows.append(
                [
                    _coordinate(path, f"line {lines.line_num}, column {name!r}", cell)
                    for name, cell in zip(header, cells, strict=True)
                ]
            )
    return _split(np.array(rows, dtype=np.float64).reshape(-1, len(header)), header)


def _coordinate(path: Path, where: str, cell: str) -> float:
    value = to_number(cell)
    if value is None or not math.isfinite(value):
        raise DataError(
            f"{path}, {where}: {cell[:80]!r} is no finite number", "Leave such points out."
        )
    return value


def points_of_npz(path: Path) -> tuple[Array, Array | None]:
    """Read the arrays points and normals; errors as `read_points`."""
    with path.open("rb") as file, PARSER_LOCK:
        archive = open_npz(file, path, _EXPECTED)
        if "points" not in archive.files:
            raise DataError(f"{path} has no array points", _EXPECTED)
        points = np.asarray(archive["points"], dtype=np.float64)
        if "normals" not in archive.files:
            return points, None
        return points, np.asarray(archive["normals"], dtype=np.float64)


def points_of_obj(path: Path) -> tuple[Array, Array | None]:
    """Read the vertices; normals belong to corners of faces there, and are left out."""
    points = []
    with path.open(encoding="utf-8", errors="replace") as file:
        for number, line in enumerate(file, start=1):
            words = line.split()
            if words and words[0] == "v":
                if len(words) <= len(_NAMES):
                    raise DataError(
                        f"{path}, line {number}: {line.strip()[:80]!r} has no three numbers",
                        "Give each vertex as: v x y z",
                    )
                points.append([_coordinate(path, f"line {number}", word) for word in words[1:4]])
    return np.array(points, dtype=np.float64).reshape(-1, 3), None


def points_of_ply(path: Path) -> tuple[Array, Array | None]:
    """Read the vertices of text or binary, with normals; errors as `read_points`."""
    with path.open("rb") as file:
        head = _ply_head(path, file)
        body = file.read()
    form = next((words[1] for words in head if words[:1] == ["format"]), "")
    count, properties = _vertices(path, head)
    names = [words[-1] for words in properties]
    if missing := [name for name in _NAMES if name not in names]:
        raise DataError(f"{path}: vertices have no {missing[0]!r}", _EXPECTED)
    if form == "ascii":
        rows = [
            [_coordinate(path, f"vertex {k}", word.decode("latin-1")) for word in words]
            for k, line in enumerate(body.splitlines()[:count], start=1)
            for words in [line.split()[: len(names)]]
        ]
        return _split(np.array(rows, dtype=np.float64).reshape(-1, len(names)), names)
    order = {"binary_little_endian": "<", "binary_big_endian": ">"}.get(form)
    if order is None or any(words[0] not in _PLY_TYPES for words in properties):
        raise DataError(f"{path}: its format is {form!r}", _EXPECTED)
    layout = np.dtype([(words[-1], order + _PLY_TYPES[words[0]]) for words in properties])
    table = np.frombuffer(body, layout, count)
    return _split(np.stack([table[name].astype(np.float64) for name in names], axis=-1), names)


def _ply_head(path: Path, file: IO[bytes]) -> list[list[str]]:
    head: list[list[str]] = []
    for line in islice(file, _MOST_LINES):
        head.append(line[:_MOST_LINES].decode("ascii", "replace").split())
        if head[-1][:1] == ["end_header"]:
            break
    if not head or head[0] != ["ply"] or head[-1][:1] != ["end_header"]:
        raise DataError(f"{path} is no PLY file", _EXPECTED)
    return head


def _vertices(path: Path, head: list[list[str]]) -> tuple[int, list[list[str]]]:
    """Return how many vertices there are, and the properties of each."""
    elements: list[tuple[str, int, list[list[str]]]] = []
    for words in head:
        if words[:1] == ["element"]:
            elements.append((words[1], int(words[2]), []))
        elif words[:1] == ["property"] and elements:
            elements[-1][2].append(words[1:])
    if not elements or elements[0][0] != "vertex":
        raise DataError(f"{path}: its first element is not vertex", _EXPECTED)
    _, count, properties = elements[0]
    if not 0 <= count <= MOST or any(words[0] == "list" for words in properties):
        raise DataError(f"{path}: {count} vertices, or lists among their properties", _EXPECTED)
    return count, properties


_PLY_TYPES = {
    name: code
    for code, names in {
        "i1": "char int8",
        "u1": "uchar uint8",
        "i2": "short int16",
        "u2": "ushort uint16",
        "i4": "int int32",
        "u4": "uint uint32",
        "f4": "float float32",
        "f8": "double float64",
    }.items()
    for name in names.split()
}


def _split(table: Array, names: list[str]) -> tuple[Array, Array | None]:
    points = table[:, [names.index(name) for name in _NAMES]]
    if all(name in names for name in _NORMALS):
        return points, table[:, [names.index(name) for name in _NORMALS]]
    return points, None


class _Ply(Reader):
    def points(self, path: Path) -> tuple[Array, Array | None]:
        return points_of_ply(path)


class _Obj(Reader):
    def points(self, path: Path) -> tuple[Array, Array | None]:
        return points_of_obj(path)


PLY = _Ply()
OBJ = _Obj()
