"""Laws ``y = f(x)`` with a distribution for each variable: reading them and drawing samples.

A problem is a TOML file; ``docs/srsd.md`` describes it.  Its formulas are text in named
variables and constants, and are read by the same grammar as what methods answer.
"""

from __future__ import annotations

import math
import re
import unicodedata
from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from eqverdict import parse
from eqverdict.compensated_eval import correctly_rounded_values
from eqverdict.grammar import read
from eqverdict.tree import CONSTANTS, FUNCTIONS
from mdbench.data.noise import generator_of
from mdbench.errors import DataError, EquationError
from mdbench.installation import page
from mdbench.workspace import read_toml

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from numpy.typing import NDArray

    Array = NDArray[np.float64]

DISTRIBUTIONS = ("uniform", "log-uniform", "uniform-integer", "log-uniform-integer")
SIGNS = ("positive", "negative", "mixed", "range")
SRSD, SRBENCH = SPLITS = ("srsd", "srbench")
"""How the rows of a problem are cut; see `mdbench.datatypes.srsd.datasets`."""

_SMALLEST, _LARGEST = (float(x) for x in (np.finfo("f4").smallest_normal, np.finfo("f4").max))
"""Targets are within single precision, or their rows are rejected."""
_MOST_BATCHES = 200
"""Number of times that as many rows as are wanted are drawn before a problem is given up."""

_MOST_STEPS = 10_000
"""Rows from each start that a recurrence may have."""

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
        whole numbers from `low` to ``high - 1``; ``log-uniform-integer``: a log-uniform draw
        without its fraction.
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
        if self.distribution.startswith("log-uniform"):
            values = 10.0 ** generator.uniform(math.log10(self.low), math.log10(self.high), n)
            if self.distribution.endswith("integer"):  # ten to the power of 0 may round to below 1
                values = np.clip(np.floor(values), self.low, self.high - 1)
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
class Recurrence:
    """Rows that follow each other in steps, as those of the Strogatz problems do.

    Within a step the rate of the first variable is held, so that it changes evenly; the second one
    follows the rule of three stages of Bogacki and Shampine.  The rows are no solution of the
    equations ``dx/dt``, ``dy/dt``: they are a table.

    Attributes
    ----------
    rates
        The rates of change of the two variables, in the columns ``x0`` and ``x1``.
    step
        The time of a step.
    rows
        The number of rows from each start.
    starts
        The first row of each series.
    """

    rates: tuple[str, str]
    step: float
    rows: int
    starts: tuple[tuple[float, ...], ...]

    def table(self) -> Array:
        """Return the rows of all series, one after the other, (starts times rows, 2)."""
        dx, dy = (parse(text, ("x0", "x1")) for text in self.rates)
        h = self.step
        state, series = np.array(self.starts), []
        for _ in range(self.rows):
            series.append(state)
            x, y = state.T
            rate = dx.evaluate({"x0": x, "x1": y})
            first = dy.evaluate({"x0": x, "x1": y})
            half = dy.evaluate({"x0": x + h / 2 * rate, "x1": y + h / 2 * first})
            late = dy.evaluate({"x0": x + 3 * h / 4 * rate, "x1": y + 3 * h / 4 * half})
            change = h / 9 * (2 * first + 3 * half + 4 * late)
            state = np.stack([x + h * rate, y + change], axis=-1)
        return np.stack(series, axis=1).reshape(-1, 2)


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
    split
        How its rows are cut: one of `SPLITS`.
    recurrence
        How its rows follow each other; None where they are drawn from the `spreads`.
    paper
        How the paper's tables have a variable drawn, by its column, where the released data
        differ.
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
    split: str = SRSD
    recurrence: Recurrence | None = None
    paper: Mapping[str, Spread] = field(default_factory=dict)

    @property
    def domain(self) -> dict[str, dict[str, Any]]:
        """The spreads as plain values, for comparisons of expressions."""
        domain = {column: asdict(spread) for column, spread in self.spreads.items()}
        for values in domain.values():
            # They ask where a variable is, and not how often.
            values["distribution"] = values["distribution"].replace("log-uniform-i", "uniform-i")
        return domain

    def as_in_paper(self) -> FormulaProblem:
        """Return it with the ranges of the paper's tables."""
        return replace(self, spreads={**self.spreads, **self.paper})


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
        The number of rows; those of a recurrence are as many as it has.
    accurate
        Whether targets are exact but for one rounding (`correctly_rounded_values`), or worked out
        in double precision, with what is lost by it, as those of the released datasets are.

    Returns
    -------
    x
        The variables, (rows, number of variables).
    y
        The target, (rows,).

    Raises
    ------
    DataError
        If hardly any row has a target; of a recurrence, if one has none.
    """
    generator = generator_of("srsd", problem.name)
    equation = parse(formula, problem.spreads)
    tree = read(formula, tuple(problem.spreads))

    def targets(columns: Mapping[str, Array]) -> Array:
        return correctly_rounded_values(tree, columns) if accurate else equation.evaluate(columns)

    if problem.recurrence is not None:
        with np.errstate(all="ignore"):
            x = problem.recurrence.table()
        y = targets(dict(zip(problem.spreads, np.ascontiguousarray(x.T), strict=True)))
        if bad := np.flatnonzero(~np.isfinite(x).all(axis=1) | ~np.isfinite(y)).tolist():
            raise DataError(
                f"{problem.name}: row {bad[0]} of its recurrence is not finite",
                "Mend the rates, the step or the starts.",
            )
        return x, y
    kept_x, kept_y, valid_count = [], [], 0
    for _ in range(_MOST_BATCHES):
        columns = {name: spread.draw(n, generator) for name, spread in problem.spreads.items()}
        y = targets(columns)
        size = np.abs(y)
        valid = (size >= _SMALLEST) & (size <= _LARGEST)
        kept_x.append(np.stack(list(columns.values()), axis=-1)[valid])
        kept_y.append(y[valid])
        valid_count += int(valid.sum())
        if valid_count >= n:
            return np.concatenate(kept_x)[:n], np.concatenate(kept_y)[:n]
    raise DataError(
        f"{problem.name}: of {n * _MOST_BATCHES} rows drawn, {valid_count} have a target; {n} "
        "are wanted",
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
    paper = _table(path, table, "paper") if "paper" in table else {}
    recurrence = _table(path, table, "recurrence") if "recurrence" in table else None
    split = table.pop("split", SRSD)
    if split not in SPLITS:
        raise DataError(f"{path}: split = {split!r}", f"It is {' or '.join(SPLITS)}.")
    unknown = sorted(table) + [f"released.{key}" for key in released.keys() - _RELEASED]
    if unknown:
        raise DataError(
            f"{path}: key {unknown[0]!r} is not known",
            f"{page('srsd')} lists all keys; the true law is the formula.",
        )
    _check_names(path, variables, constants)
    if strange := sorted(paper.keys() - variables.keys()):
        raise DataError(
            f"{path}: paper.{strange[0]} is no variable", f"There are: {', '.join(variables)}."
        )
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
        split=split,
        recurrence=None if recurrence is None else _recurrence(path, recurrence, words),
        paper={columns[name]: _spread(path, name, each, "paper") for name, each in paper.items()},
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


def _spread(path: Path, name: str, entry: object, table: str = "variables") -> Spread:
    where = f"{path}: {table}.{name}"
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
    if distribution.startswith("log-uniform") and low <= 0:
        raise DataError(
            f"{where}: {distribution} from {low:g} to {high:g}",
            "A log-uniform range is of positive numbers; sign = 'negative' or 'mixed' gives them "
            "another sign.",
        )
    if distribution.endswith("integer") and not (low.is_integer() and high.is_integer()):
        raise DataError(f"{where}: whole numbers from {low:g} to {high:g}", "Give whole numbers.")
    if sign in {"positive", "negative"} and low < 0:
        raise DataError(
            f"{where}: sign = {sign!r} and low = {low:g}", "Give sign = 'range', or 'mixed'."
        )
    return Spread(distribution, low, high, sign)


def _recurrence(path: Path, entry: dict[str, Any], words: Mapping[str, str]) -> Recurrence:
    where = f"{path}: recurrence"
    needed = {"rates", "step", "rows", "starts"}
    if set(entry) != needed or "x1" not in words.values() or "x2" in words.values():
        raise DataError(
            f"{where} has the keys {sorted(entry)}",
            f"It needs {', '.join(sorted(needed))}, and a problem of two variables.",
        )
    rates, step, rows, starts = (entry[key] for key in ("rates", "step", "rows", "starts"))
    if not isinstance(rates, list) or len(rates) != 2:  # noqa: PLR2004 - one a variable
        raise DataError(f"{where}.rates = {rates!r}", "It is a list of two formulas.")
    if not isinstance(rows, int) or isinstance(rows, bool) or not 1 <= rows <= _MOST_STEPS:
        raise DataError(f"{where}.rows = {rows!r}", f"It is a number from 1 to {_MOST_STEPS}.")
    if not (isinstance(starts, list) and starts and all(_is_pair(each) for each in starts)):
        raise DataError(f"{where}.starts = {starts!r}", "It is a list of pairs of numbers.")
    dx, dy = (_formula(path, "recurrence.rates", text, words) for text in rates)
    return Recurrence(
        rates=(dx, dy),
        step=_number(f"{where}.step", step),
        rows=rows,
        starts=tuple(tuple(_number(f"{where}.starts", v) for v in each) for each in starts),
    )


def _is_pair(value: object) -> bool:
    return isinstance(value, list) and len(value) == 2  # noqa: PLR2004 - one a variable


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
