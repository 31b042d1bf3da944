"""Surfaces: reading files of true ones and of points, and drawing the rows of methods."""

from __future__ import annotations

import csv
import math
import re
import unicodedata
from dataclasses import dataclass
from itertools import islice, product
from typing import IO, TYPE_CHECKING, Any
from zipfile import BadZipFile

import numpy as np

from eqverdict import parse
from eqverdict.limited_process import PARSER_LOCK
from mdbench.data.array_files import open_npz
from mdbench.data.columns import to_number
from mdbench.data.formats import endings
from mdbench.errors import DataError, EquationError, counted
from mdbench.workspace import read_toml

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    Array = NDArray[np.float64]

OUTPUTS = {"explicit": ("z",), "implicit": ("F",), "parametric": ("x", "y", "z")}
"""The variables on the left of the equations, for each representation."""
REPRESENTATIONS = tuple(OUTPUTS)
INPUTS = {"explicit": 2, "implicit": 3, "parametric": 2}

_MOST_BATCHES = 100
"""Number of times that rows are drawn before a surface is given up as not finite."""
_REQUIRED = ("category", "representation", "source", "inputs", "expressions", "domain")
_OPTIONAL = ("grid", "reading", "other_reading", "writing", "formulas", "parameters")
_WORD = re.compile(r"(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?|[A-Za-z_]\w*", re.ASCII)


@dataclass(frozen=True)
class TrueSurface:
    """A surface and where it is looked at.

    Attributes
    ----------
    name
        Its id, which is the name of its file without the ending.
    category, source
        Texts for people.
    representation
        One of `REPRESENTATIONS`.
    inputs
        The variables of its equations.
    truth
        The right-hand sides, one an output (see `OUTPUTS`), in the grammar of answers, parameters
        put in.
    printed
        The same as the paper has them.
    domain
        The least and the largest value of each input.
    integers
        Whether it is known at whole numbers only.
    reading, other_reading
        How what is printed was read where that is not plain, and what else it could mean.
    """

    name: str
    category: str
    source: str
    representation: str
    inputs: tuple[str, ...]
    truth: tuple[str, ...]
    printed: tuple[str, ...]
    domain: tuple[tuple[float, float], ...]
    integers: bool = False
    reading: str = ""
    other_reading: str = ""

    def values(self, x: Array) -> Array:
        """Work the equations out, (n, outputs), at inputs (n, inputs); NaN where undefined."""
        columns = {name: np.ascontiguousarray(x[:, i]) for i, name in enumerate(self.inputs)}
        found = [parse(text, self.inputs).evaluate(columns) for text in self.truth]
        return np.stack(found, axis=-1)


@dataclass(frozen=True)
class SurfaceRows:
    """Samples of a surface.

    Attributes
    ----------
    x
        Inputs, (n, inputs).
    y
        Outputs, (n, outputs), finite.
    drawn_again
        The share of all rows drawn that were not finite, and were replaced.
    """

    x: Array
    y: Array
    drawn_again: float


def group_of(category: str) -> str:
    """Return a category as it is typed: ``piecewise-surfaces``."""
    return re.sub(r"[^a-z0-9]+", "-", category.lower()).strip("-")


def draw_rows(
    surface: TrueSurface,
    bands: Sequence[Sequence[tuple[float, float]]],
    n: int,
    generator: np.random.Generator,
) -> SurfaceRows:
    """Draw rows uniformly, each input from the union of its bands; not finite ones again.

    Raises
    ------
    DataError
        If hardly any row is finite.
    """
    kept_x, kept_y, found, drawn = [], [], 0, 0
    for _ in range(_MOST_BATCHES):
        x = np.stack([_uniform(each, n, generator) for each in bands], axis=-1)
        y = surface.values(x)
        finite = np.isfinite(y).all(axis=-1)
        kept_x.append(x[finite])
        kept_y.append(y[finite])
        found, drawn = found + int(finite.sum()), drawn + n
        if found >= n:
            return SurfaceRows(
                np.concatenate(kept_x)[:n], np.concatenate(kept_y)[:n], 1 - found / drawn
            )
    raise DataError(
        f"{surface.name}: of {drawn} rows drawn, {found} are finite; {n} are wanted",
        "Mend its formula or its domain.",
    )


def whole_rows(surface: TrueSurface, bands: Sequence[Sequence[tuple[float, float]]]) -> SurfaceRows:
    """Return all rows at whole numbers of the bands, in the order of the inputs."""
    axes = [
        sorted({float(k) for low, high in each for k in range(math.ceil(low), int(high) + 1)})
        for each in bands
    ]
    x = np.array(list(product(*axes)))
    y = surface.values(x)
    finite = np.isfinite(y).all(axis=-1)
    return SurfaceRows(x[finite], y[finite], float(1 - finite.mean()))


def _uniform(bands: Sequence[tuple[float, float]], n: int, generator: np.random.Generator) -> Array:
    """Draw from intervals, each as often as it is long."""
    lows, highs = np.array(bands, dtype=np.float64).T
    ends = np.cumsum(highs - lows)
    place = generator.uniform(0, ends[-1], n)
    which = np.minimum(np.searchsorted(ends, place, side="right"), len(bands) - 1)
    return np.asarray(highs[which] - (ends[which] - place))


def read_surface(path: Path) -> TrueSurface:
    """Read a surface from its TOML file.

    Raises
    ------
    DataError
        If the file cannot be read, a key is missing or unknown, or an equation cannot be read; it
        names the file, the key and the value.
    """
    try:
        table = read_toml(path)
    except (OSError, ValueError) as error:
        raise DataError(f"{path} is no readable TOML file: {error}") from error
    if missing := [key for key in _REQUIRED if key not in table]:
        raise DataError(f"{path}: key {missing[0]!r} is missing")
    if unknown := sorted(table.keys() - {*_REQUIRED, *_OPTIONAL}):
        allowed = ", ".join((*_REQUIRED, *_OPTIONAL))
        raise DataError(f"{path}: key {unknown[0]!r} is not known", f"There are: {allowed}.")
    for key in (*_REQUIRED[:3], *_OPTIONAL[:4]):
        if not isinstance(table.get(key, ""), str):
            raise DataError(f"{path}: {key} = {table[key]!r} has to be a text")
    kind = table["representation"]
    if kind not in OUTPUTS:
        raise DataError(
            f"{path}: representation = {kind!r}", f"It is one of: {', '.join(OUTPUTS)}."
        )
    if table.get("grid", "integers") != "integers":
        raise DataError(f"{path}: grid = {table['grid']!r}", "Give integers, or leave it out.")
    inputs = _inputs(path, table["inputs"], kind)
    printed = _texts(path, "expressions", table["expressions"], kind)
    formulas = _texts(path, "formulas", table.get("formulas", table["expressions"]), kind)
    parameters = _numbers(path, "parameters", table.get("parameters", {}))
    return TrueSurface(
        name=unicodedata.normalize("NFC", path.stem),
        category=table["category"],
        source=table["source"],
        representation=kind,
        inputs=inputs,
        truth=tuple(_formula(path, text, inputs, parameters) for text in formulas),
        printed=printed,
        domain=_domain(path, table["domain"], inputs),
        integers="grid" in table,
        reading=table.get("reading", ""),
        other_reading=table.get("other_reading", ""),
    )


def _inputs(path: Path, value: object, kind: str) -> tuple[str, ...]:
    names = value if isinstance(value, list) else []
    good = all(isinstance(name, str) and name.isidentifier() for name in names)
    if not good or len(set(names)) != INPUTS[kind] or len(names) != INPUTS[kind]:
        raise DataError(
            f"{path}: inputs = {value!r}", f"Names of {INPUTS[kind]} variables are wanted."
        )
    return tuple(names)


def _texts(path: Path, key: str, value: object, kind: str) -> tuple[str, ...]:
    wanted = OUTPUTS[kind]
    if not isinstance(value, dict) or set(value) != set(wanted):
        raise DataError(f"{path}: {key} = {value!r}", f"It has the keys {', '.join(wanted)}.")
    if bad := [name for name in wanted if not isinstance(value[name], str)]:
        raise DataError(f"{path}: {key}.{bad[0]} = {value[bad[0]]!r} has to be a text")
    return tuple(value[name] for name in wanted)


def _numbers(path: Path, key: str, value: object) -> dict[str, float]:
    if not isinstance(value, dict):
        raise DataError(f"{path}: {key} = {value!r} has to be a table")
    for name, number in value.items():
        if isinstance(number, bool) or not isinstance(number, int | float):
            raise DataError(f"{path}: {key}.{name} = {number!r} has to be a number")
        if not math.isfinite(number):
            raise DataError(f"{path}: {key}.{name} = {number!r} has to be finite")
    return {name: float(number) for name, number in value.items()}


def _formula(
    path: Path, text: str, inputs: tuple[str, ...], parameters: Mapping[str, float]
) -> str:
    """Insert the values of parameters; the result can be read."""

    def substitute(match: re.Match[str]) -> str:
        known = parameters.get(match[0])
        return match[0] if known is None else f"{known:.17g}" if known >= 0 else f"({known:.17g})"

    written = _WORD.sub(substitute, text.replace("Abs(", "abs("))
    try:
        parse(written, inputs)
    except EquationError as error:
        raise DataError(
            f"{path}: {text!r}: {error.message}",
            f"{error.hint} What the grammar lacks is written in it below [formulas].",
        ) from error
    return written


def _domain(path: Path, value: Any, inputs: tuple[str, ...]) -> tuple[tuple[float, float], ...]:
    if not isinstance(value, dict) or set(value) != set(inputs):
        raise DataError(f"{path}: domain = {value!r}", f"It has the keys {', '.join(inputs)}.")
    ends = []
    for name in inputs:
        pair = value[name]
        if not isinstance(pair, list) or len(pair) != 2:  # noqa: PLR2004 - two ends
            raise DataError(f"{path}: domain.{name} = {pair!r}", "Two numbers are wanted.")
        low, high = _numbers(path, f"domain.{name}", dict(enumerate(pair))).values()
        if not low < high:
            raise DataError(f"{path}: domain.{name} = {pair!r}", "The first has to be less.")
        ends.append((low, high))
    return tuple(ends)


FEWEST = 50
MOST = 1_000_000
_MOST_BYTES = 200 << 20
_MOST_LINES = 1_000
"""Of the head of a PLY file."""
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
        points, normals = _READERS[path.suffix.lower()](path)
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


def _csv(path: Path) -> tuple[Array, Array | None]:
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


def _npz(path: Path) -> tuple[Array, Array | None]:
    with path.open("rb") as file, PARSER_LOCK:
        archive = open_npz(file, path, _EXPECTED)
        if "points" not in archive.files:
            raise DataError(f"{path} has no array points", _EXPECTED)
        points = np.asarray(archive["points"], dtype=np.float64)
        if "normals" not in archive.files:
            return points, None
        return points, np.asarray(archive["normals"], dtype=np.float64)


def _obj(path: Path) -> tuple[Array, Array | None]:
    """Take the vertices; normals belong to corners of faces there, and are left."""
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


def _ply(path: Path) -> tuple[Array, Array | None]:
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


_READERS: dict[str, Callable[[Path], tuple[Array, Array | None]]] = {
    ".csv": _csv,
    ".npz": _npz,
    ".ply": _ply,
    ".obj": _obj,
}
ENDINGS = endings("points")
"""Of files with points."""
