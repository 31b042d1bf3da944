"""Real measurements: small tables with the laws that people found in them."""

from __future__ import annotations

import hashlib
import json
import unicodedata
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import IO, TYPE_CHECKING, Any

import numpy as np

from eqverdict import parse
from mdbench.data.readers import description_of, ending_of, endings, stem_of
from mdbench.datatypes.base import NO_OPTIONS, Background, Dataset, Plots, Scores, Source, Split
from mdbench.datatypes.equations.alike import levels_of
from mdbench.datatypes.equations.base import (
    AGREEMENT,
    COMPLEXITY,
    EquationAnswer,
    EquationTask,
    EquationType,
)
from mdbench.datatypes.equations.data_checks import near_noise
from mdbench.datatypes.equations.files import named, write_table
from mdbench.datatypes.equations.remarks import EXPLAINED, explained
from mdbench.datatypes.equations.selection import NoisyRows
from mdbench.datatypes.equations.splits import table_split
from mdbench.datatypes.equations.terms import TERM_METRICS
from mdbench.datatypes.facts import Protocol
from mdbench.datatypes.real import FACTS, WHOLE
from mdbench.datatypes.real.dimensions import consistent, dimension_of, si_exponents
from mdbench.datatypes.real.folds import BLOCKS, folds, unit_errors
from mdbench.datatypes.real.packaged import PMLB, TableStore, pmlb_files, pmlb_name
from mdbench.datatypes.real.problem import (
    Measurements,
    independent,
    read_measurements,
    read_title,
)
from mdbench.datatypes.real.recovery import FAR, PARTS, RECOVERED, ROW_ERRORS, Form, form_of
from mdbench.errors import DataError, UsageError
from mdbench.installation import page
from mdbench.metrics.regression import r2
from mdbench.metrics.spec import MetricSpec, Value, flag

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from mdbench.datatypes.base import Answer, PlotBudget, PlottedAnswer

    Array = NDArray[np.float64]

BLACK_BOX = "blackbox"
"""The set, and folder, of the tables without a law that lie in packages."""
_SOME = 0.4
"""The share of the variance that may be noise in a table of too few rows to say."""

_FVU = MetricSpec(
    name="fvu",
    title="FVU",
    explanation="fraction of variance unexplained: mean squared error on the held-out rows, over "
    "the variance of the target in all rows; the mean of the target scores about 1",
    scale="log",
    resolution=1e-12,
    nothing=1.0,
    places=frozenset({"board", "answer", "brief", "figure"}),
)
_R2 = MetricSpec(
    name="r2",
    title="R²",
    explanation="coefficient of determination on the held-out rows, over their own variance; of "
    "tables without a law",
    better="higher",
    on_failure=None,
    digits=3,
    places=frozenset({"board", "answer", "brief"}),
)
_UNITS = flag(
    "units",
    "units",
    "answers that can be right by their dimensions, if their numbers may have any",
    places={"board"},
)


@dataclass(frozen=True, eq=False)
class RealDataset(Dataset):
    """A table, and the rows that one of its folds holds out.

    Attributes
    ----------
    table
        All rows, and what is known of them.
    rows, held_out
        Numbers of the rows that are learned from, and of those that the test asks about.
    laws
        The accepted laws, with constants fitted to the other rows.  The reference is the one that
        is worst on the rows held out: any of them is right.
    reference
        The reference's squared errors of independent units of the rows held out (`unit_errors`),
        over the variance of the target.
    """

    table: Measurements = field(repr=False)
    rows: NDArray[np.intp] = field(repr=False)
    held_out: NDArray[np.intp] = field(repr=False)
    laws: tuple[str, ...]
    reference: Array = field(repr=False)


class Real(EquationType[RealDataset]):
    """Laws that people found in measurements, known by a few rows with the noise they had."""

    name = "real"
    scorer_version = 6
    metrics_since = {"same_law": 6}  # noqa: RUF012 - as declared: ClassVar[Mapping]
    from_files = True
    views = FACTS.views
    metrics = (
        _FVU,
        _R2,
        *RECOVERED.values(),
        *PARTS,
        *TERM_METRICS,
        _UNITS,
        EXPLAINED,
        COMPLEXITY,
        AGREEMENT,
    )
    check_datasets = ("kepler", "danwood")
    has_exact_truth = False  # a law that people found is a reference, and rows are not exact
    of_predictions = (_FVU.name, _R2.name)
    options = FACTS.options
    work = 30.0
    snr_levels = False
    of_equations = True
    has_plots = True

    def __init__(self, systems: Path, cache: Path) -> None:
        super().__init__(systems, cache)
        self._opened: list[_Tables] = []

    def advice(self, dataset: RealDataset) -> list[str]:
        """Describe the data before a method is tried on them."""
        from mdbench.datatypes.equations.data_checks import of_table  # noqa: PLC0415 - few runs need it

        return of_table(dataset)

    def source(self, path: Path | None = None) -> Source[RealDataset]:
        """Open the project's tables; or a file of the user's (TOML or CSV), or a folder."""
        opened = _Tables(self.systems if path is None else path, self)
        self._opened.insert(0, opened)
        return opened

    def expand_options(
        self, names: Sequence[str], options: Mapping[str, Any]
    ) -> list[tuple[str, Mapping[str, Any]]]:
        """Make a job of each fold of each table, which one of the sources has."""
        pairs: list[tuple[str, Mapping[str, Any]]] = []
        for name in names:
            tables = next(source for source in self._opened if name in source)
            reading = {key: value for key, value in options.items() if key != "fold"}
            count = len(tables.folds(name, reading))
            wanted = options.get("fold", range(1, count + 1))
            if WHOLE in wanted and not tables.own:
                raise UsageError(
                    f"--fold is none, and {name} is a table of the project.",
                    "Its folds are compared with those of others: leave --fold out.",
                )
            pairs += [(name, {"fold": number, **reading}) for number in wanted if number <= count]
        if names and not pairs:
            raise UsageError(
                f"--fold is {','.join(map(str, options['fold']))}: no table has so many folds.",
                "Give smaller numbers, or leave --fold out.",
            )
        return pairs

    def task(
        self, dataset: RealDataset, view: str, protocol: Protocol
    ) -> EquationTask[RealDataset]:
        """Hold the rows of a fold out; all others are learned from, and compare candidates."""
        self.check_view(view)
        table = dataset.table

        def part(rows: NDArray[np.intp]) -> Split:
            return table_split(table.x[rows], table.y[rows, None], table.columns)

        rest_of_table = part(dataset.rows)
        variance = _variance(rest_of_table.targets)
        columns = dict(zip(table.columns, table.x.T, strict=True))
        floor = max(table.rounding, table.uncertainty**2) / variance
        evidence = NoisyRows(
            rest_of_table.columns,
            np.array([floor]),
            rest_of_table.targets,
            np.array([variance]),
            structure=True,
        )
        return EquationTask(
            dataset=dataset,
            view=view,
            protocol=protocol,
            variables=table.columns,
            targets=(table.target,),
            train=rest_of_table,
            validation=rest_of_table,
            refit=rest_of_table,
            test=part(dataset.held_out),
            any_order=True,
            evidence=None if protocol is Protocol.PUBLISHED else evidence,
            levels=levels_of(columns) if dataset.own else {},
            remarks=table.left_out,
        )

    def has_terms(self, task: EquationTask[RealDataset]) -> bool:
        """Ask for terms and coefficients only where rows were made by the law."""
        return task.dataset.table.truth == "exact" and task.has_equations

    def metric_names(self, task: EquationTask[RealDataset]) -> tuple[str, ...]:
        """Return the names of a task's metrics by the kind of its truth; kinds are never pooled."""
        table = task.dataset.table
        left_out = {spec.name for kind, spec in RECOVERED.items() if kind != table.kind}
        left_out |= {spec.name for spec in PARTS} if table.truth == "none" else {_R2.name}
        if not _has_dimensions(table):
            left_out.add(_UNITS.name)
        return tuple(name for name in super().metric_names(task) if name not in left_out)

    def own_scores(
        self,
        task: EquationTask[RealDataset],
        answer: EquationAnswer,
        known_scores: Mapping[str, Value],
    ) -> dict[str, Value]:
        """Compare an answer's dimensions with those of the columns.

        Where rows do not show the constants of the law, nobody knows whether those of an answer of
        the right form are right.
        """
        table, [text] = task.dataset.table, answer.equations
        scores: dict[str, Value] = {}
        if _has_dimensions(table):
            scores[_UNITS.name] = float(consistent(text, table.units, table.unit))
        right = known_scores.get("skeleton") == 1 and known_scores.get("identified") == 0
        if right and table.uncertain:
            scores |= dict.fromkeys(("identified", "one_term_off", "coefficient_error"))
        return scores

    def score(self, task: EquationTask[RealDataset], answer: Answer) -> Scores:
        """Score an answer, and note its errors next to the reference's, for all folds together."""
        scores = super().score(task, answer)
        dataset = task.dataset
        if dataset.floor is None or not task.has_equations:
            return scores
        assert isinstance(answer, EquationAnswer)  # noqa: S101 - of `read_answer`
        identified = scores.metrics.get("identified") == 1
        [text] = answer.equations
        if answer.recorded.get("same_law") == 0 and not identified:
            form = Form(same=False)
        else:
            form = form_of(text, dataset.laws, dataset.table, identified=identified)
        metrics = {**scores.metrics, "same_law": None if form.same is None else float(form.same)}
        errors = _unit_errors(answer.values, dataset.table, dataset.held_out)
        if form.shortened and self._fits(task, answer):
            errors = dataset.reference
        texts = [" ".join(f"{e:.4g}" for e in some) for some in (errors, dataset.reference)]
        ordered = {name: metrics[name] for name in self.metric_names(task) if name in metrics}
        return Scores(ordered, {**scores.notes, ROW_ERRORS: texts})

    def _fits(self, task: EquationTask[RealDataset], answer: EquationAnswer) -> bool:
        """Whether an answer fits the rows that were given about as well as a law does."""
        rows, values = task.refit, answer.parsed[0].evaluate(task.refit.columns)
        laws = [parse(law, task.variables).evaluate(rows.columns) for law in task.dataset.laws]
        off, *offs = (self.loss(column[:, None], rows.targets) for column in (values, *laws))
        return off <= FAR * max(offs)

    def errors(self, values: Array, targets: Array) -> dict[str, float]:
        """Nothing: what an error is relative to depends on all rows."""
        del values, targets
        return {}

    def errors_of(
        self, task: EquationTask[RealDataset], answer: EquationAnswer
    ) -> tuple[dict[str, Value], list[float]]:
        """Return the error on the rows held out, over the variance of all rows."""
        errors, by_state = super().errors_of(task, answer)
        score = _fvu(answer.values, task.test.targets, task.dataset.table)
        errors = errors | {_FVU.name: score}
        if np.ptp(task.test.targets) > 0:  # of one row there is none
            errors[_R2.name] = r2(answer.values, task.test.targets)
        return errors, [score] if task.dataset.own else by_state

    def on_all_samples(
        self, task: EquationTask[RealDataset], answer: EquationAnswer
    ) -> tuple[dict[str, Value], dict[str, list[str]]]:
        """Compare an answer with all rows, against the noise that neighbours show."""
        table = task.dataset.table
        columns = dict(zip(table.columns, table.x.T, strict=True))
        values = answer.parsed[0].evaluate(columns)
        noise = near_noise(table.x, table.y)
        floor = _SOME if noise is None else noise / _variance(table.y)
        loss = _fvu(values, table.y, table)
        return explained(task, np.array([loss]), np.array([floor]))

    def files(self, dataset: RealDataset) -> Iterable[tuple[str, Callable[[IO[bytes]], None]]]:
        """Return all rows of a table, of which folds hold out some: ``NAME.csv``."""
        table = dataset.table
        columns = dict(zip(table.columns, table.x.T, strict=True)) | {table.target: table.y}
        named_columns = {table.own_names.get(name, name): v for name, v in columns.items()}
        yield f"{dataset.name}.csv", partial(write_table, columns=named_columns)

    def loss(self, values: Array, targets: Array) -> float:
        """Compare values with targets under `published`."""
        return float(np.mean((values - targets) ** 2) / _variance(targets))

    def plots(
        self, dataset: RealDataset, answers: Sequence[PlottedAnswer], budget: PlotBudget
    ) -> Plots:
        """Draw the rows, the reference, the answers, and what they are off."""
        from mdbench.datatypes.real.plots import POINTS, Curve, table_pictures  # noqa: PLC0415 - for reports

        table, curves = dataset.table, []
        for answer in answers:
            if budget.evaluations > 0 and len(answer.equations) == 1:
                budget.evaluations -= POINTS + len(table.y)
                curves.append(Curve(answer.method, answer.number, answer.equations[0]))
        return Plots(table_pictures(table, next(iter(dataset.laws), None), curves))


DATA_TYPE = Real


def _key(name: str, options: Mapping[str, Any]) -> str:
    return f"{name} {json.dumps(dict(options), sort_keys=True)}" if options else name


class _Tables(Source[RealDataset]):
    """The tables of a folder, or one of a file; each is read when it is first asked for."""

    def __init__(self, path: Path, kind: Real) -> None:
        self.path = path
        self._kind = kind  # whose `packages` may be set later
        self._folds: dict[str, list[NDArray[np.intp]]] = {}
        self._read: dict[str, Measurements] = {}
        """By the name and the options of reading."""

    @property
    def own(self) -> bool:
        """Whether they are the user's."""
        return self.path != self._kind.systems

    @cached_property
    def files(self) -> Mapping[str, Path]:
        """The file of each table that is run by default."""
        if not self.path.exists():
            raise DataError(f"There is nothing at {self.path}.")
        if self.path.is_file():
            # Its description counts, as it does in a folder.
            described = description_of(self.path)
            if ending_of(self.path) not in (".toml", *endings("table")):
                raise DataError(
                    f"{self.path} is no table that is read: its name ends in none of "
                    f"{', '.join(('.toml', *endings('table')))}.",
                    "Where Python reads it: mdbench.run(..., 'real', data=table)",
                )
            files = [described if described.is_file() else self.path]
        else:
            known = sorted(self.path.glob("*.toml"))
            stems = {file.stem for file in known}
            alone = [
                file
                for file in self.path.glob("*")
                if ending_of(file) in endings("table", in_folders=True)
                and not file.name.endswith(PMLB)
                and stem_of(file) not in stems
            ]
            files = sorted([*known, *alone], key=stem_of)
            files += pmlb_files(self.path)
        if not files:
            raise DataError(
                f"{self.path} has no tables: no file ends in "
                f"{', '.join(('.toml', *endings('table', in_folders=True)))}.",
                f"Give a table, or a folder of them: see {page('real')}.",
            )
        return {_name_of(file): file for file in files}

    @cached_property
    def packaged(self) -> Mapping[str, Path]:
        """The descriptions of the tables that lie in packages."""
        return {file.stem: file for file in sorted((self.path / BLACK_BOX).glob("*.toml"))}

    def __contains__(self, name: str) -> bool:
        return name in self.files or name in self.packaged

    def table(self, name: str, options: Mapping[str, Any] = NO_OPTIONS) -> Measurements:
        """Return a table; reading it may fetch the packages that it lies in."""
        key = _key(name, options)
        if key not in self._read:
            path = named(name, {**self.files, **self.packaged})
            kind = self._kind
            store = TableStore(kind.cache / BLACK_BOX, kind.packages)
            table = read_measurements(path, store, options)
            self._read[key] = independent(table) if self.own else table
        return self._read[key]

    def _readable(self, name: str) -> Measurements | None:
        """Return a table; None where it takes options to be read, or loading it says why not."""
        try:
            return self.table(name)
        except DataError:
            if not self.own:
                raise
            return None

    def names(self) -> list[str]:
        return list(self.files)

    def groups(self) -> dict[str, list[str]]:
        groups: dict[str, list[str]] = {}
        for name in self.files:
            if (table := self._readable(name)) is not None:
                groups.setdefault(table.origin, []).append(name)
        return groups | ({BLACK_BOX: list(self.packaged)} if self.packaged else {})

    def title(self, name: str) -> str:
        if name in self.packaged:
            return read_title(self.packaged[name])
        table = self._readable(name)
        return name if table is None else table.title

    def background(self, name: str) -> Background:
        if (table := self._readable(name)) is None:
            return Background()
        units = {column: unit for column, unit in table.units.items() if unit}
        if table.unit:
            what = f"natural logarithm, of {table.unit}" if table.logarithm else table.unit
            units[table.target] = what
        return Background(units=units)

    def notes(self, name: str) -> Sequence[str]:
        if (table := self._readable(name)) is None:
            return ()
        return (f"{table.origin}; truth: {table.truth}", *table.notes)

    def folds(self, name: str, options: Mapping[str, Any] = NO_OPTIONS) -> list[NDArray[np.intp]]:
        """Return the rows that each fold of a table holds out."""
        key = _key(name, options)
        if key not in self._folds:
            table = self.table(name, options)
            self._folds[key] = folds(name, table.x, blocks=table.blocks)
        return self._folds[key]

    def load(
        self,
        name: str,
        *,
        snr_db: float | None,
        seed: int,  # noqa: ARG002 - nothing is drawn
        protocol: Protocol,  # noqa: ARG002 - the rows are the same
        options: Mapping[str, Any] = NO_OPTIONS,
    ) -> RealDataset:
        if snr_db is not None:
            raise UsageError("real has no noise levels: its tables have the noise they had.")
        reading = {key: value for key, value in options.items() if key != "fold"}
        table = self.table(name, reading)
        all_folds, number = self.folds(name, reading), int(options.get("fold", 1))
        if number > len(all_folds):
            raise UsageError(f"{name} has {len(all_folds)} folds, and --fold is {number}.")
        every = np.arange(len(table.y))
        held_out = every if number == WHOLE else all_folds[number - 1]
        rows = every if number == WHOLE else np.setdiff1d(every, held_out)
        columns = dict(zip(table.columns, table.x.T, strict=True))
        known = {key: column[rows] for key, column in columns.items()}
        laws, errors = [], []
        for law in table.laws:
            constants = law.fitted(known, table.y[rows])
            laws.append(law.written(constants))
            asked = {key: column[held_out] for key, column in columns.items()}
            values = law.values(asked, constants)
            errors.append(_unit_errors(values[:, None], table, held_out))
        known_laws = [(law.text, dict(law.start)) for law in table.laws]
        sha256 = hashlib.sha256(f"{table.columns}\n{known_laws}\n{table.truth}\n".encode())
        for array in (table.x, table.y):
            sha256.update(np.ascontiguousarray(array).tobytes())
        if table.blocks:
            sha256.update(f"{BLOCKS} blocks".encode())
        finite = [error for error in errors if np.isfinite(error).all()]
        reference = max(finite, key=np.mean, default=np.array([np.inf]))
        return RealDataset(
            name=name,
            dim=1,
            snr_db=None,
            truth=_truth(table, laws),
            target_source="measurements",
            fingerprint=sha256.hexdigest(),
            floor=float(np.mean(reference)) if finite else None,
            units=_units_of(table),
            names=table.own_names,
            table=table,
            held_out=held_out,
            rows=rows,
            laws=tuple(laws),
            reference=reference,
            own=self.own,
        )


def _name_of(file: Path) -> str:
    if file.name.endswith(PMLB):
        return pmlb_name(file)
    return unicodedata.normalize("NFC", file.stem)


def _variance(y: Array) -> float:
    return float(np.var(y)) or 1.0


def _fvu(values: Array, targets: Array, table: Measurements) -> float:
    """Return the mean squared error over the variance of all targets."""
    with np.errstate(all="ignore"):
        return float(np.mean((values - targets) ** 2) / _variance(table.y))


def _unit_errors(values: Array, table: Measurements, held_out: NDArray[np.intp]) -> Array:
    """Return squared errors (h, 1) of independent units of the rows held out over the variance."""
    with np.errstate(all="ignore"):
        squared = (values[:, 0] - table.y[held_out]) ** 2 / _variance(table.y)
    return unit_errors(squared, held_out, table.x, blocks=table.blocks)


def _truth(table: Measurements, laws: Sequence[str]) -> tuple[str] | None:
    """Return what answers are compared with.

    Of rows that were made by a law it has the constants of the generator, or where they are not
    known those of the best fit to all rows; else those fitted to the rows of the fold.
    """
    if not laws:
        return None
    law = table.laws[0]
    exact = table.truth == "exact"
    return (law.written(law.generator or law.start) if exact else laws[0],)


def _has_dimensions(table: Measurements) -> bool:
    """Whether the units of all columns are known, and at least one column has a dimension."""
    units = [*table.units.values(), table.unit]
    if table.logarithm or not all(units):
        return False
    dimensions = [dimension_of(unit) for unit in units]  # all of them: a wrong one is refused
    return any(dimensions)


def _units_of(table: Measurements) -> dict[str, tuple[float, ...]] | None:
    """Return the exponents of SI units by name; None unless all are known and one is not 0.

    Raises
    ------
    DataError
        If a unit is not valid: before anything is run.
    """
    if not _has_dimensions(table):
        return None
    exponents = {name: si_exponents(unit) for name, unit in table.units.items()}
    exponents[table.target] = si_exponents(table.unit)
    known = {name: powers for name, powers in exponents.items() if powers is not None}
    return known if len(known) == len(exponents) else None
