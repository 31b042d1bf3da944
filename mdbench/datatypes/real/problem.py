"""A table of measurements with what is known of it: a TOML file, and a CSV file.

``docs/real.md`` describes both.  The laws are text in the columns' names and in named constants,
and are read by the same grammar as what methods answer.
"""

from __future__ import annotations

import csv
import math
import re
import unicodedata
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from pydantic import BaseModel, ConfigDict, Field

from eqverdict import parse
from eqverdict.tree import CONSTANTS, FUNCTIONS
from mdbench.data.cells import NoValues, codes_in, is_missing, listed_codes, number_of
from mdbench.data.columns import equation_names, to_number
from mdbench.data.descriptions import read_description
from mdbench.data.layouts import quoted
from mdbench.data.readers import ending_of, endings, read_cells, stem_of
from mdbench.datatypes.equations.alike import independent_columns
from mdbench.datatypes.equations.options import IGNORE, MISSING_VALUES, NA_VALUES, SKIP
from mdbench.datatypes.real.fits import fit_constants
from mdbench.datatypes.real.packaged import (
    FEWEST_ROWS,
    PMLB,
    PackagedTable,
    TableStore,
    pmlb_name,
    refuse_constant,
)
from mdbench.errors import DataError, EquationError, UsageError, counted, did_you_mean
from mdbench.installation import page

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from eqverdict import Equation
    from mdbench.datatypes.real.fits import Fit

    Array = NDArray[np.float64]

ORIGINS = ("measured", "digitised", "synthetic", "simulated")
"""Written down by an instrument, read off a printed figure, drawn from a law with noise, or worked
out by a program."""
TRUTHS = ("exact", "reference", "accepted", "none")
"""The law that the rows were made by; the law that people took for them; several that are as good;
no law."""
_PAGE = f"{page('real')} lists all keys and the values allowed."
_EXPECTED = (
    "The first line names the columns, the target last; then a line for each row, of numbers."
)


class _Table(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class _Certified(_Table):
    residual: float = Field(ge=0)
    """The sum of squared residuals of the best fit, as its source certifies it."""


class _Law(_Table):
    text: str = Field(min_length=1)
    constants: dict[str, float] = {}
    generator: dict[str, float] = {}
    certified: _Certified | None = None


class _Target(_Table):
    name: str = Field(min_length=1)
    unit: str = ""
    logarithm: bool = False
    uncertainty: float = Field(default=0.0, ge=0, allow_inf_nan=False)


class _File(_Table):
    schema_: Literal[1] = Field(alias="schema")
    title: str = Field(min_length=1)
    origin: Literal["measured", "digitised", "synthetic", "simulated"]
    truth: Literal["exact", "reference", "accepted", "none"]
    source: str = Field(min_length=1)
    licence: str = ""
    attribution: str = ""
    notes: tuple[str, ...] = ()
    columns: dict[str, str] = Field(min_length=1)
    target: _Target
    laws: tuple[_Law, ...] = ()
    accepted: tuple[str, ...] = ()
    blocks: bool = False
    package: PackagedTable | None = None


@dataclass(frozen=True, eq=False)
class Measurements:
    """A table and what is known of it.

    Attributes
    ----------
    name
        The name of its file without the ending, NFC-normalised.
    title, source, licence, attribution, notes
        Texts for people.
    origin
        One of `ORIGINS`.
    truth
        One of `TRUTHS`.
    units
        Of each column, by its name, in their order; empty where the file has none.
    target, unit
        The target's name and unit.
    logarithm
        Whether the target is the natural logarithm of what has the unit.
    uncertainty
        The standard deviation of the target's error, in the target's unit; 0 where not known.
    laws
        The law, or all that are accepted; none where none is known.
    accepted
        Further forms that are right, with any constants: of the law what the rows can show.
    blocks
        Whether errors of neighbouring rows are alike, so that folds are of blocks of rows.
    x, y
        The rows: (n, columns) and (n,).
    rounding
        The variance that the printing of the targets with so many digits has left in them.
    own_names
        What columns are called in the user's file, where they have other names here.
    left_out
        A line for each column that was left out, and why.
    """

    name: str
    title: str
    source: str
    licence: str
    attribution: str
    notes: tuple[str, ...]
    origin: str
    truth: str
    units: dict[str, str]
    target: str
    unit: str
    logarithm: bool
    laws: tuple[Law, ...]
    x: Array = field(repr=False)
    y: Array = field(repr=False)
    rounding: float
    own_names: Mapping[str, str] = field(default_factory=dict)
    left_out: tuple[str, ...] = ()
    accepted: tuple[str, ...] = ()
    blocks: bool = False
    uncertainty: float = 0.0

    @cached_property
    def kind(self) -> str:
        """One of `TRUTHS`; ``few`` where nobody can tell laws apart.

        That is so where a linear function of the inputs goes through all rows.
        """
        few = len(np.unique(self.x, axis=0)) <= self.x.shape[1] + 1
        return "few" if few and self.laws else self.truth

    @cached_property
    def uncertain(self) -> bool:
        """Whether the standard error of a constant of the first law is above `DETERMINED`."""
        law = self.laws[0]
        if not law.start:
            return False
        fit = law.best_fit(dict(zip(self.columns, self.x.T, strict=True)), self.y)
        return bool(np.any(fit.standard_errors > DETERMINED * np.abs(fit.constants)))

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the inputs."""
        return tuple(self.units)


def independent(table: Measurements) -> Measurements:
    """Leave out the inputs of a user's table that are constant, or that another one gives.

    Where a law is known, which may have all of them, none is left out.
    """
    names = [table.own_names.get(name, name) for name in table.columns]
    chosen, lines = independent_columns(names, table.x)
    if table.laws or len(chosen) == len(names):
        return table
    columns = {table.columns[place] for place in chosen}
    away = set(table.columns) - columns
    return replace(
        table,
        x=np.ascontiguousarray(table.x[:, chosen]),
        units={name: unit for name, unit in table.units.items() if name not in away},
        own_names={name: own for name, own in table.own_names.items() if name not in away},
        left_out=tuple(lines),
    )


def read_title(path: Path) -> str:
    """Return the title of a table from its description alone.

    Raises
    ------
    DataError
        If the description is wrong.
    """
    return read_description(path, _File, _PAGE).title


def read_measurements(
    path: Path, store: TableStore | None = None, options: Mapping[str, Any] | None = None
) -> Measurements:
    """Read a table with its description, a file of PMLB, or a table alone, the target last.

    Parameters
    ----------
    store
        Where tables of packages and of PMLB are kept; None where there are none.
    options
        Those of tables alone: `OWN_TABLES`.

    Raises
    ------
    DataError
        If a file cannot be used; it names the file, the key or the line, and the value.
    """
    name = unicodedata.normalize("NFC", stem_of(path))
    own_names: Mapping[str, str] = {}
    if store is not None and path.name.endswith(PMLB):
        name = pmlb_name(path)
        path, own_names = store.read_pmlb(path)
    if ending_of(path) in endings("table"):
        header, x, y, rounding = _read_own(path, options or {})
        return Measurements(
            name=name,
            title=name,
            source="",
            licence="",
            attribution="",
            notes=(),
            origin="measured",
            truth="none",
            units=dict.fromkeys(header[:-1], ""),
            target=header[-1],
            unit="",
            logarithm=False,
            laws=(),
            x=x,
            y=y,
            rounding=rounding,
            own_names=own_names,
        )
    if options:
        raise UsageError(
            f"{path.name} describes its table: {', '.join(f'--{key}' for key in options)} has no "
            "meaning there.",
            "Mend the table, or give it without its description.",
        )
    file = read_description(path, _File, _PAGE)
    rows = path.with_suffix(".csv")
    if store is not None and file.package is not None:
        rows = store.read_packaged(path, file.package, (*file.columns, file.target.name))
    header, x, y, rounding = _read_table(rows)
    if header != (*file.columns, file.target.name):
        raise DataError(
            f"{path.with_suffix('.csv')}, line 1: the columns are {', '.join(header)}, and "
            f"{path.name} has {', '.join((*file.columns, file.target.name))}.",
            "Name the same columns in both, the target last.",
        )
    if (file.truth == "none") == bool(file.laws):
        raise DataError(
            f"{path}: key 'truth' is {file.truth!r}, and there are {len(file.laws)} laws.",
            "Without a law it is 'none'.",
        )
    laws = tuple(
        Law(
            law.text,
            law.constants,
            law.certified.residual if law.certified else None,
            law.generator,
        )
        for law in file.laws
    )
    _refuse_wrong_truth(path, file)
    for law in laws:
        try:
            values = law.values(dict(zip(file.columns, x.T, strict=True)), law.start)
        except EquationError as error:
            raise DataError(f"{path}: law {law.text!r}: {error.message}", error.hint) from None
        if not np.isfinite(values).all():
            raise DataError(f"{path}: law {law.text!r} is not finite on all rows.", _PAGE)
    return Measurements(
        name=name,
        title=file.title,
        source=file.source,
        licence=file.licence,
        attribution=file.attribution,
        notes=file.notes,
        origin=file.origin,
        truth=file.truth,
        units=file.columns,
        target=file.target.name,
        unit=file.target.unit,
        logarithm=file.target.logarithm,
        laws=laws,
        x=x,
        y=y,
        rounding=rounding,
        accepted=file.accepted,
        blocks=file.blocks,
        uncertainty=file.target.uncertainty,
    )


def _refuse_wrong_truth(path: Path, file: _File) -> None:
    """Refuse constants of a generator that are not the law's, and forms that cannot be read."""
    for law in file.laws:
        if law.generator and (law.generator.keys() != law.constants.keys()):
            raise DataError(
                f"{path}: law {law.text!r}: its generator has {', '.join(law.generator)}, and its "
                f"constants are {', '.join(law.constants)}.",
                "Give the generator's value of each constant, or leave [laws.generator] out.",
            )
        if law.generator and file.truth != "exact":
            raise DataError(
                f"{path}: key 'truth' is {file.truth!r}, and a law has constants of a generator.",
                "Rows that were made by a law have the truth 'exact'.",
            )
    if file.accepted and not file.laws:
        raise DataError(
            f"{path}: there are forms that are accepted, and no law.",
            "Give the law in [[laws]]; 'accepted' has further forms.",
        )
    for text in file.accepted:
        try:
            parse(text, tuple(file.columns))
        except EquationError as error:
            raise DataError(
                f"{path}: key 'accepted', {text!r}: {error.message}", error.hint
            ) from None


def _read_table(path: Path) -> tuple[tuple[str, ...], Array, Array, float]:
    """Read the columns' names, the inputs, the targets, and the variance of their rounding."""
    rows: list[list[float]] = []
    steps: list[float] = []
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            lines = csv.reader(file, strict=True)
            header = tuple(cell.strip() for cell in next(lines, []))
            if len(header) < 2 or len(set(header)) < len(header) or not all(header):  # noqa: PLR2004
                raise DataError(
                    f"{path}, line 1: {','.join(header)!r} names no columns.", _EXPECTED
                )
            for cells in lines:
                if cells:
                    rows.append(_numbers(f"{path}, line {lines.line_num}", header, cells))
                    steps.append(_last_digit(cells[-1]))
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise DataError(f"{path} cannot be read: {error}", _EXPECTED) from None
    if len(rows) < FEWEST_ROWS:
        raise DataError(
            f"{path} has {counted(len(rows), 'row')}.", f"At least {FEWEST_ROWS} are needed."
        )
    table = np.array(rows)
    refuse_constant(path, header[-1], table)
    # An error that is uniform within one unit of the last digit has a twelfth of its square.
    return header, table[:, :-1].copy(), table[:, -1].copy(), float(np.mean(np.square(steps))) / 12


def _read_own(
    path: Path, options: Mapping[str, Any]
) -> tuple[tuple[str, ...], Array, Array, float]:
    """Read a table without a description, as `_read_table`."""
    cells = read_cells(path, skip=options.get(SKIP.key, 0))
    header = tuple(label.strip() for label in cells.labels)
    if len(set(header)) < len(header) or not all(header):
        raise DataError(f"{path}, line 1: {','.join(header)!r} names no columns.", _EXPECTED)
    ignored = options.get(IGNORE.key, [])
    for label in ignored:
        if not any(fnmatchcase(name, label) for name in header):
            raise DataError(f"{path} has no column {label!r}.", did_you_mean(label, header))
    out = [k for k, name in enumerate(header) if any(fnmatchcase(name, one) for one in ignored)]
    cells = cells.without(out)
    if len(cells.labels) < 2:  # noqa: PLR2004 - an input and a target
        raise DataError(f"{path} has too few columns left.", _EXPECTED)
    marks = NoValues(options.get(NA_VALUES.key, ()), decimal_comma=cells.decimal_comma)
    drop = options.get(MISSING_VALUES.key, "refuse") == "drop"
    rows = [row for row in cells.rows if not (drop and any(cell in marks for cell in row.cells))]
    if cells.decimal_comma:
        rows = [row._replace(cells=[_with_a_point(one) for one in row.cells]) for row in rows]
    table = np.array(
        [_numbers(f"{path}, line {row.number}", cells.labels, row.cells) for row in rows]
    ).reshape(-1, len(cells.labels))
    if len(rows) < FEWEST_ROWS:
        raise DataError(
            f"{path} has {counted(len(rows), 'row')}.", f"At least {FEWEST_ROWS} are needed."
        )
    if not marks.codes_are_values:
        _refuse_codes(path, cells.labels, table)
    refuse_constant(path, cells.labels[-1], table)
    steps = [_last_digit(row.cells[-1]) for row in rows]
    rounding = float(np.mean(np.square(steps))) / 12
    names = equation_names(cells.labels, {*FUNCTIONS, *CONSTANTS})
    return names, table[:, :-1].copy(), table[:, -1].copy(), rounding


def _with_a_point(cell: str) -> str:
    return (
        cell.replace(",", ".") if number_of(cell.strip(), decimal_comma=True) is not None else cell
    )


def _refuse_codes(path: Path, header: Sequence[str], table: Array) -> None:
    codes = {name: codes_in(values) for name, values in zip(header, table.T, strict=True)}
    listed = [f"{name} has {listed_codes(some)}" for name, some in codes.items() if some]
    if listed:
        every = sorted({value for some in codes.values() for value in some})
        typed = ",".join(f"{value:.10g}" for value in every)
        raise DataError(
            f"{path}: {'; '.join(listed)}, far from the others of the column.",
            f"Where these stand for no value: --na-values={typed} --missing drop. Where they were "
            "measured: --na-values=none",
        )


def _numbers(where: str, header: Sequence[str], cells: Sequence[str]) -> list[float]:
    if len(cells) != len(header):
        raise DataError(
            f"{where}: {counted(len(cells), 'cell')}; {counted(len(header), 'column')}", _EXPECTED
        )
    numbers = []
    for name, cell in zip(header, cells, strict=True):
        value = to_number(cell)
        if value is None or not math.isfinite(value):
            hint = _EXPECTED
            if is_missing(cell):
                hint += " To leave lines without a value out: --missing drop"
            elif value is None:
                hint += f" To leave the column out: --ignore {quoted(name)}"
            raise DataError(f"{where}, column {name!r}: {cell!r} is no finite number", hint)
        numbers.append(value)
    return numbers


def _last_digit(cell: str) -> float:
    """Return the place value of the last digit of a number as it is printed."""
    mantissa, _, exponent = cell.strip().lower().partition("e")
    decimals = len(mantissa.partition(".")[2])
    return float(10.0 ** (int(exponent or 0) - decimals))


_NAME = re.compile(r"[A-Za-z_]\w*")
DETERMINED = 0.05
"""The share of itself within which constants are compared."""


@dataclass(frozen=True)
class Law:
    """A right-hand side in columns and constants.

    Attributes
    ----------
    text
        As it is written, such as ``b1*a**1.5``.
    start
        The constants of the best fit to all rows, by name, from which other fits start.
    residual
        The sum of squared residuals of that fit, as its source certifies it; None where none does.
    generator
        The constants that the rows were made with, by name; empty where they are not known.
    """

    text: str
    start: Mapping[str, float]
    residual: float | None = None
    generator: Mapping[str, float] = field(default_factory=dict)

    def values(self, columns: Mapping[str, Array], constants: Mapping[str, float]) -> Array:
        """Work the law out on columns of n rows, (n,).

        Raises
        ------
        EquationError
            If it is no equation in the columns and the constants.
        """
        return self._evaluated(self._read(columns), columns, constants)

    def fitted(self, columns: Mapping[str, Array], y: Array) -> dict[str, float]:
        """Return the constants with the least sum of squared residuals (Levenberg and Marquardt).

        Parameters
        ----------
        columns, y
            The rows to fit, at least as many as there are constants, else those of `start` are
            given.
        """
        if not self.start or len(y) < len(self.start):
            return dict(self.start)
        constants = self.best_fit(columns, y).constants
        return dict(zip(self.start, constants.tolist(), strict=True))

    def best_fit(self, columns: Mapping[str, Array], y: Array) -> Fit:
        """Fit the constants, of which there are some, to at least as many rows."""
        read = self._read(columns)

        def values(constants: Array) -> Array:
            named = dict(zip(self.start, constants.tolist(), strict=True))
            return self._evaluated(read, columns, named)

        return fit_constants(values, np.array(list(self.start.values())), y)

    def written(self, constants: Mapping[str, float]) -> str:
        """Insert constants, with all their digits."""

        def substitute(match: re.Match[str]) -> str:
            name = match[0]
            return f"({constants[name]!r})" if name in constants else name

        return _NAME.sub(substitute, self.text)

    def _read(self, columns: Mapping[str, Array]) -> Equation:
        return parse(self.text, (*columns, *self.start))

    def _evaluated(
        self, read: Equation, columns: Mapping[str, Array], constants: Mapping[str, float]
    ) -> Array:
        n = len(next(iter(columns.values())))
        filled = {name: np.full(n, value) for name, value in constants.items()}
        return np.asarray(np.broadcast_to(read.evaluate({**columns, **filled}), (n,)))
