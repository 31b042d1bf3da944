"""Surfaces: reading files of true ones, and drawing the rows of methods."""

from __future__ import annotations

import math
import re
import unicodedata
from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np

from eqverdict import parse
from mdbench.errors import DataError, EquationError
from mdbench.workspace import read_toml

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
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
    kept_x, kept_y, finite_rows, drawn = [], [], 0, 0
    for _ in range(_MOST_BATCHES):
        x = np.stack([_uniform(each, n, generator) for each in bands], axis=-1)
        y = surface.values(x)
        finite = np.isfinite(y).all(axis=-1)
        kept_x.append(x[finite])
        kept_y.append(y[finite])
        finite_rows, drawn = finite_rows + int(finite.sum()), drawn + n
        if finite_rows >= n:
            return SurfaceRows(
                np.concatenate(kept_x)[:n], np.concatenate(kept_y)[:n], 1 - finite_rows / drawn
            )
    raise DataError(
        f"{surface.name}: of {drawn} rows drawn, {finite_rows} are finite; {n} are wanted",
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
