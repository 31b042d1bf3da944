"""Laws ``y = f(x)`` with a distribution for each variable: reading them and drawing samples.

A problem is a TOML file; ``docs/srsd.md`` describes it.  Its formulas are text in named
variables and constants, and are read by the same grammar as what methods answer.
"""

from __future__ import annotations

import math
import re
import unicodedata
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from mdbench.data.noise import generator_of
from mdbench.errors import DataError, EquationError
from mdbench.expressions import parse
from mdbench.expressions.compensated_eval import correctly_rounded_values
from mdbench.expressions.grammar import read
from mdbench.expressions.tree import CONSTANTS, FUNCTIONS
from mdbench.workspace import read_toml

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from numpy.typing import NDArray

    Array = NDArray[np.float64]

DISTRIBUTIONS = ("uniform", "log-uniform", "uniform-integer")
SIGNS = ("positive", "negative", "mixed", "range")

_SMALLEST, _LARGEST = (float(x) for x in (np.finfo("f4").smallest_normal, np.finfo("f4").max))
"""Targets are within single precision, or their rows are rejected."""
_MOST_BATCHES = 200
"""Number of times that as many rows as are wanted are drawn before a problem is given up."""

_RELEASED = frozenset({"data", "truth", "note"})

_DIGITS = frozenset("0123456789.")
_WORD = re.compile(r"(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?|[A-Za-z_]\w*", re.ASCII)
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]*", re.ASCII)


@dataclass(frozen=True)
class Spread:
    """The distribution of a variable.

    Attributes
    ----------
    distribution
        ``uniform``; ``log-uniform``: ten to the power of a uniform draw; ``uniform-integer``:
        whole numbers from `low` to ``high - 1``.
    low, high
        The range of the draw.
    sign
        ``positive`` or ``range``: the draw as it is; ``negative``: minus the draw; ``mixed``:
        either with probability 1/2.
    """

    distribution: str
    low: float
    high: float
    sign: str

    def draw(self, n: int, generator: np.random.Generator) -> Array:
        """Draw n values, as float64 for whole numbers too."""
        if self.distribution == "log-uniform":
            values = 10.0 ** generator.uniform(math.log10(self.low), math.log10(self.high), n)
        elif self.distribution == "uniform-integer":
            values = generator.integers(int(self.low), int(self.high), n).astype(np.float64)
        else:
            values = generator.uniform(self.low, self.high, n)
        if self.sign == "negative":
            values = -values
        elif self.sign == "mixed":
            values = np.where(generator.random(n) < 0.5, -values, values)  # noqa: PLR2004
        return values


@dataclass(frozen=True)
class FormulaProblem:
    """A law and the distributions of its variables.

    Attributes
    ----------
    name
        The name of its file without the ending, NFC-normalised.
    id
        Its label in the collection that it comes from, such as ``I.12.1``.
    set
        The group that it belongs to, such as ``easy``.
    title, source
        Texts for people.
    spreads
        How each variable is drawn, by its column ``x0``, ``x1``, ...
    meanings
        What is known of each variable, by its column.
    law
        The right-hand side in the columns, with the constants put in.
    released_data, released_truth
        What the samples and the truth of the released dataset follow; the `law` where they are
        right.
    """

    name: str
    id: str
    set: str
    title: str
    source: str
    spreads: Mapping[str, Spread]
    meanings: Mapping[str, str]
    law: str
    released_data: str
    released_truth: str

    @property
    def domain(self) -> dict[str, dict[str, Any]]:
        """The spreads as plain values, for comparisons of expressions."""
        return {column: asdict(spread) for column, spread in self.spreads.items()}


def draw(
    problem: FormulaProblem, formula: str, n: int, *, accurate: bool = True
) -> tuple[Array, Array]:
    """Draw samples of a law; the same ones whenever it is asked.

    Rows whose target is not finite, or too small or too large for single precision, are
    rejected and replaced.

    Parameters
    ----------
    formula
        A right-hand side in the columns: the problem's law, or a variant of it.
    n
        The number of rows.
    accurate
        Whether targets are exact but for one rounding (`correctly_rounded_values`), or worked out
        in double precision, with what is lost by it, as those of the released datasets are.

    Returns
    -------
    x
        The variables, (n, number of variables).
    y
        The target, (n,).

    Raises
    ------
    DataError
        If hardly any row has a target.
    """
    generator = generator_of("srsd", problem.name)
    equation = parse(formula, problem.spreads)
    tree = read(formula, tuple(problem.spreads))
    kept_x, kept_y, found = [], [], 0
    for _ in range(_MOST_BATCHES):
        columns = {name: spread.draw(n, generator) for name, spread in problem.spreads.items()}
        y = correctly_rounded_values(tree, columns) if accurate else equation.evaluate(columns)
        size = np.abs(y)
        valid = (size >= _SMALLEST) & (size <= _LARGEST)
        kept_x.append(np.stack(list(columns.values()), axis=-1)[valid])
        kept_y.append(y[valid])
        found += int(valid.sum())
        if found >= n:
            return np.concatenate(kept_x)[:n], np.concatenate(kept_y)[:n]
    raise DataError(
        f"{problem.name}: of {n * _MOST_BATCHES} rows drawn, {found} have a target; {n} are wanted",
        f"A target is real and from {_SMALLEST:.1e} to {_LARGEST:.1e} in size: mend the formula "
        "or the ranges.",
    )


def read_problem(path: Path) -> FormulaProblem:
    """Read a problem from its TOML file.

    Raises
    ------
    DataError
        If the file cannot be read, a key is missing or unknown, a formula cannot be read, or a
        variable cannot be drawn as it is given; it names the file, the key and the value.
    """
    try:
        table = read_toml(path)
    except (OSError, ValueError) as error:
        raise DataError(f"{path} is no readable TOML file: {error}") from error
    texts = {key: _text(path, table, key) for key in ("id", "set", "title", "source", "formula")}
    for key in {"target", "note"} & table.keys():
        _text(path, table, key)
    variables = _table(path, table, "variables")
    constants = _table(path, table, "constants") if "constants" in table else {}
    released = _table(path, table, "released") if "released" in table else {}
    unknown = sorted(table) + [f"released.{key}" for key in released.keys() - _RELEASED]
    if unknown:
        raise DataError(
            f"{path}: key {unknown[0]!r} is not known",
            "docs/srsd.md lists all keys; the true law is the formula.",
        )
    _check_names(path, variables, constants)
    columns = {name: f"x{i}" for i, name in enumerate(variables)}
    words = columns | {name: _constant(path, name, entry) for name, entry in constants.items()}
    law = _formula(path, "formula", texts["formula"], words)
    others = {
        key: _formula(path, f"released.{key}", released[key], words) if key in released else law
        for key in ("data", "truth")
    }
    return FormulaProblem(
        name=unicodedata.normalize("NFC", path.stem),
        id=texts["id"],
        set=texts["set"],
        title=texts["title"],
        source=texts["source"],
        spreads={columns[name]: _spread(path, name, entry) for name, entry in variables.items()},
        meanings={columns[name]: _meaning(name, entry) for name, entry in variables.items()},
        law=law,
        released_data=others["data"],
        released_truth=others["truth"],
    )


def _check_names(path: Path, variables: Mapping[str, Any], constants: Mapping[str, Any]) -> None:
    if not variables:
        raise DataError(f"{path}: variables is empty", "A law has at least one variable.")
    for name in (*variables, *constants):
        if not _NAME.fullmatch(name) or name in FUNCTIONS or name in CONSTANTS:
            raise DataError(f"{path}: {name!r} cannot be the name of a variable or a constant")
    if both := sorted(variables.keys() & constants.keys()):
        raise DataError(f"{path}: {both[0]!r} is both a variable and a constant")


def _formula(path: Path, key: str, text: object, words: Mapping[str, str]) -> str:
    """Write columns and values in the place of names; the result can be read."""
    if not isinstance(text, str):
        raise DataError(f"{path}: {key} = {text!r} has to be a text")
    for word in _WORD.findall(text):
        if word[0] not in _DIGITS and word not in {*words, *FUNCTIONS, *CONSTANTS}:
            raise DataError(
                f"{path}: {key} = {text!r} has the unknown name {word!r}",
                f"There are: {', '.join(words)}.",
            )
    written = _WORD.sub(lambda match: words.get(match[0], match[0]), text)
    try:
        parse(written, [word for word in words.values() if word[0] == "x"])
    except EquationError as error:
        raise DataError(f"{path}: {key} = {text!r}: {error.message}", error.hint) from error
    return written


def _spread(path: Path, name: str, entry: object) -> Spread:
    where = f"{path}: variables.{name}"
    needed = {"distribution", "low", "high", "sign"}
    optional = {"symbol", "meaning", "unit"}
    if not isinstance(entry, dict) or not needed <= set(entry) <= needed | optional:
        raise DataError(
            f"{where} = {entry!r}",
            f"It needs the keys {', '.join(sorted(needed))}; there are also "
            f"{', '.join(sorted(optional))}.",
        )
    for key, allowed in (("distribution", DISTRIBUTIONS), ("sign", SIGNS)):
        if entry[key] not in allowed:
            raise DataError(f"{where}.{key} = {entry[key]!r}", f"It is {' or '.join(allowed)}.")
    low, high = (_number(f"{where}.{key}", entry[key]) for key in ("low", "high"))
    if not low < high:
        raise DataError(f"{where}: low = {low:g} and high = {high:g}", "low has to be below high.")
    distribution, sign = str(entry["distribution"]), str(entry["sign"])
    if distribution == "log-uniform" and low <= 0:
        raise DataError(
            f"{where}: log-uniform from {low:g} to {high:g}",
            "A log-uniform range is of positive numbers; sign = 'negative' or 'mixed' gives them "
            "another sign.",
        )
    if distribution == "uniform-integer" and not (low.is_integer() and high.is_integer()):
        raise DataError(f"{where}: whole numbers from {low:g} to {high:g}", "Give whole numbers.")
    if sign in {"positive", "negative"} and low < 0:
        raise DataError(
            f"{where}: sign = {sign!r} and low = {low:g}", "Give sign = 'range', or 'mixed'."
        )
    return Spread(distribution, low, high, sign)


def _meaning(name: str, entry: Mapping[str, Any]) -> str:
    meaning = entry.get("meaning", "")
    return f"{entry.get('symbol', name)}{': ' if meaning else ''}{meaning}"


def _constant(path: Path, name: str, entry: object) -> str:
    """Return a constant as it is written in a formula, at full precision."""
    where = f"{path}: constants.{name}"
    if not isinstance(entry, dict) or not {"value"} <= set(entry) <= {"value", "unit", "meaning"}:
        raise DataError(f"{where} = {entry!r}", "It has the keys value, unit and meaning.")
    value = _number(f"{where}.value", entry["value"])
    return repr(value) if value >= 0 else f"({value!r})"


def _number(where: str, value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise DataError(f"{where} = {value!r} has to be a finite number")
    return float(value)


def _table(path: Path, table: dict[str, Any], key: str) -> dict[str, Any]:
    value = _pop(path, table, key)
    if not isinstance(value, dict):
        raise DataError(f"{path}: {key} = {value!r} has to be a table")
    return value


def _text(path: Path, table: dict[str, Any], key: str) -> str:
    value = _pop(path, table, key)
    if not isinstance(value, str) or not value.strip():
        raise DataError(f"{path}: {key} = {value!r} has to be a text")
    return value


def _pop(path: Path, table: dict[str, Any], key: str) -> Any:
    try:
        return table.pop(key)
    except KeyError:
        raise DataError(f"{path}: key {key!r} is missing") from None
