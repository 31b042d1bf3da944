"""Symbolic regression for scientific discovery: 120 laws of physics with realistic ranges."""

from __future__ import annotations

import hashlib
import math
import re
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import IO, TYPE_CHECKING, Any

import numpy as np

from mdbench.data.noise import generator_of
from mdbench.datatypes.base import NO_OPTIONS, Background, Dataset, Source, Split
from mdbench.datatypes.equations.base import (
    AGREEMENT,
    COMPLEXITY,
    NMSE,
    EquationTask,
    EquationType,
    table_split,
)
from mdbench.datatypes.equations.files import SystemFiles, named
from mdbench.datatypes.equations.selection import Ratios
from mdbench.datatypes.equations.terms import TERM_METRICS
from mdbench.datatypes.facts import Protocol
from mdbench.datatypes.srsd import FACTS, target_noise
from mdbench.datatypes.srsd.laws import Spread, draw, read_problem
from mdbench.errors import DataError, EquationError, UsageError
from mdbench.expressions import srbench
from mdbench.expressions.compensated_eval import correctly_rounded_values
from mdbench.expressions.grammar import read
from mdbench.metrics.regression import agreement, is_accurate, nmse, r2, relative_error
from mdbench.metrics.spec import MetricSpec, Value, flag

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from mdbench.datatypes.equations.base import EquationAnswer
    from mdbench.datatypes.srsd.laws import FormulaProblem
    from mdbench.expressions import Equation

    Array = NDArray[np.float64]

ROWS = 10_000
TRAINING, VALIDATION = 8_000, 1_000
"""Rows of the splits by position; the rest is the test."""
SYMBOLIC_SECONDS = 10
"""CPU time that SymPy has for one step in comparing an answer with the truth."""

_SUFFIX = re.compile(
    r"(?P<problem>.*?)(?P<released>\+released)?(?P<dummies>\+dummy)?(\+noise=(?P<noise>[^+]+))?"
)
_EXACT = 1e-24
"""The square of what is left of an exact law in double precision, relative to the targets."""
_MOST_WORK = 100_000
"""Nodes times rows of an answer that may be worked out with more digits: 2 s at the most."""
_DUMMY_COLUMNS = (1, 2, 3)
_DUMMY_EXPONENTS = (-32, 32)
"""A dummy column spans the decade on either side of ten to one of these powers."""


@dataclass(frozen=True)
class ProblemName:
    """A problem with its options, and its name: ``feynman-i.12.1+dummy+noise=0.01``.

    Attributes
    ----------
    problem
        The name of the problem.
    released
        Whether the slips of the released datasets are wanted.
    dummies
        Whether columns that have nothing to do with the target are mixed in.
    noise
        The standard deviation of the noise of the training targets, relative to the root of
        their mean square.
    """

    problem: str
    released: bool = False
    dummies: bool = False
    noise: float = 0.0

    def __str__(self) -> str:
        return (
            f"{self.problem}{'+released' if self.released else ''}"
            f"{'+dummy' if self.dummies else ''}{f'+noise={self.noise!r}' if self.noise else ''}"
        )

    @classmethod
    def read(cls, name: str) -> ProblemName:
        """Parse a name.

        Raises
        ------
        UsageError
            If the name ends in a noise level that is none.
        """
        match = _SUFFIX.fullmatch(name)
        if match is None:
            raise UsageError(f"There is no dataset {name!r}.")
        noise = target_noise(match["noise"]) if match["noise"] else 0.0
        return cls(match["problem"], bool(match["released"]), bool(match["dummies"]), noise)


@dataclass(frozen=True, eq=False)
class SrsdDataset(Dataset):
    """A table of samples of a law.

    Attributes
    ----------
    x
        The variables, those without influence included, (10,000, number of columns).
    y
        The targets, without noise, (10,000,).
    y_training
        The targets of the training rows as a method may see them, (8,000,).
    domain
        How each column was drawn, for the comparison of equations: see `FormulaProblem.domain`.
    set
        How hard the problem is: one of `SETS`, or another text in a user's problem.
    """

    x: Array = field(repr=False)
    y: Array = field(repr=False)
    y_training: Array = field(repr=False)
    domain: Mapping[str, Mapping[str, Any]] = field(repr=False)
    set: str


_TABLE_METRICS = (
    MetricSpec(
        name="r2",
        title="R²",
        explanation="coefficient of determination on the test data",
        better="higher",
        on_failure=None,
        digits=3,
        places=frozenset({"answer"}),
    ),
    flag(
        "r2_accuracy",
        "R² accuracy",
        "jobs whose R² on the test data is above 0.999 (SRSD)",
        places={"board"},
    ),
    MetricSpec(
        name="relative_error",
        title="relative error",
        explanation="mean squared relative error on the test data (SRSD, eq. 4)",
        scale="log",
        places=frozenset(),
    ),
)
_SYMBOLIC_METRICS = (
    flag(
        "solution",
        "solutions",
        "answers that are the truth but for a constant term or factor (SRBench, definition 4.1)",
        places={"board", "brief", "figure"},
    ),
    flag(
        "srbench_solution",
        "SRBench's own",
        "solutions by SRBench's code, which rounds all numbers to three decimals",
        places=set(),
    ),
    MetricSpec(
        name="normalized_edit_distance",
        title="NED",
        explanation="normalized edit distance to the truth (SRSD, eq. 3), mean; 1 without an "
        "answer",
        aggregate="mean",
        on_failure=1.0,
        digits=2,
        places=frozenset({"board", "answer", "brief"}),
    ),
)


class Srsd(EquationType[SrsdDataset]):
    """Laws ``y = f(x)`` of physics, known by a table of samples."""

    name = "srsd"
    scorer_version = 3
    from_files = True
    views = FACTS.views
    check_datasets = ("feynman-i.12.1", "feynman-i.14.3")
    metrics = (NMSE, *_TABLE_METRICS, *_SYMBOLIC_METRICS, *TERM_METRICS, COMPLEXITY, AGREEMENT)
    options = FACTS.options
    snr_levels = False
    of_equations = True

    def source(self, path: Path | None = None) -> Source[SrsdDataset]:
        """Open the 120 problems; or a problem file of the user's, or a folder of them."""
        return _Problems(self.systems if path is None else path)

    def expand_options(
        self, names: Sequence[str], given: Mapping[str, Any]
    ) -> list[tuple[str, Mapping[str, Any]]]:
        """Return names of datasets, which have variant, columns and noise in them."""
        released, dummies = "variant" in given, "dummy_columns" in given
        return [
            (str(ProblemName(name, released, dummies, level)), {})
            for level in dict.fromkeys(given.get("target_noise", [0.0]))
            for name in names
        ]

    def task(
        self, dataset: SrsdDataset, view: str, protocol: Protocol
    ) -> EquationTask[SrsdDataset]:
        """Cut a table 8:1:1 by position; only the training targets have noise.

        The last fit is given the training and the validation rows, as for all data types; under
        `published` it is given the training rows alone.
        """
        self.check_view(view)
        y = dataset.y.copy()
        y[:TRAINING] = dataset.y_training
        variables = tuple(dataset.domain)
        border = TRAINING + VALIDATION

        def part(rows: slice) -> Split:
            return table_split(dataset.x[rows], y[rows, None], variables)

        validation = part(slice(TRAINING, border))
        evidence = Ratios(validation.columns, np.array([_EXACT]), validation.targets)
        return EquationTask(
            dataset=dataset,
            view=view,
            protocol=protocol,
            variables=variables,
            targets=("y",),
            train=part(slice(0, TRAINING)),
            validation=validation,
            refit=part(slice(0, TRAINING if protocol is Protocol.PUBLISHED else border)),
            test=part(slice(border, ROWS)),
            any_order=True,
            evidence=None if protocol is Protocol.PUBLISHED else evidence,
        )

    def fit_and_validation(
        self, task: EquationTask[SrsdDataset], tuning: str
    ) -> tuple[Split, Split]:
        """Return the data of the first fit, and those that candidates are compared on.

        A front, too, is fitted on the training rows and compared on those of the validation.
        """
        return (task.refit, task.refit) if tuning == "none" else (task.train, task.validation)

    def files(self, dataset: SrsdDataset) -> Iterable[tuple[str, Callable[[IO[bytes]], None]]]:
        """Return the text files of a problem in SRSD's layout: a row a sample, the target last.

        They are ``SET_set/{train,val,test}/NAME.txt``.
        """
        rows = np.column_stack([dataset.x, dataset.y])
        border = TRAINING + VALIDATION
        splits = {"train": (0, TRAINING), "val": (TRAINING, border), "test": (border, ROWS)}
        for split, (first, last) in splits.items():
            path = f"{dataset.set}_set/{split}/{dataset.name}.txt"
            yield path, partial(_write_rows, rows=rows[first:last])

    def loss(self, values: Array, targets: Array) -> float:
        """Return the relative error (SRSD, eq. 4): targets of any size count the same."""
        return relative_error(values, targets)

    def fitness(self, loss: float, complexity: int) -> float:  # noqa: ARG002 - as in eq. 4
        """Prefer the lower relative error, and of equals the simpler."""
        return -loss

    def errors(self, values: Array, targets: Array) -> dict[str, float]:
        """Score values on the test split by numbers alone.

        The NMSE is that of values in units of the largest target: targets of 1e-20 would vanish
        next to the constant in its denominator.
        """
        score = r2(values, targets)
        largest = float(np.max(np.abs(targets))) or 1.0
        with np.errstate(all="ignore"):
            scaled = values / largest, targets / largest
        return {
            "nmse": nmse(*scaled),
            "r2": score,
            "r2_accuracy": float(is_accurate(score)),
            "relative_error": relative_error(values, targets),
        }

    def values(self, task: EquationTask[SrsdDataset], equations: Sequence[Equation]) -> Array:
        """Work an answer out as the samples are: rounded once, so that no writing counts more."""
        if ProblemName.read(task.dataset.name).released:
            return super().values(task, equations)
        columns = task.test.columns
        return np.stack([_accurate(each, columns, _MOST_WORK) for each in equations], axis=-1)

    def candidate_values(
        self, task: EquationTask[SrsdDataset], equation: Equation, columns: Mapping[str, Array]
    ) -> Array:
        """Do the same in pairs of doubles alone, which takes a few milliseconds."""
        if ProblemName.read(task.dataset.name).released:
            return super().candidate_values(task, equation, columns)
        return _accurate(equation, columns, 0)

    def agreement(
        self,
        equations: Sequence[Equation],
        values: Array,
        task: EquationTask[SrsdDataset],
        predictions: NDArray[Any],
    ) -> float:
        """Compare predictions with the values in double precision, too, as methods predict."""
        doubles = super().values(task, equations)
        return min(agreement(each, predictions) for each in (values, doubles))

    def preload(self) -> None:
        """Start the process in which SymPy works."""
        srbench.start()

    def metric_names(self, task: EquationTask[SrsdDataset]) -> tuple[str, ...]:
        """Return the names of a task's metrics: without a truth there are none that need one."""
        symbolic = {spec.name for spec in _SYMBOLIC_METRICS}
        left_out = set() if task.dataset.truth is not None else symbolic
        return tuple(name for name in super().metric_names(task) if name not in left_out)

    def own_scores(
        self, task: EquationTask[SrsdDataset], answer: EquationAnswer, found: Mapping[str, Value]
    ) -> dict[str, Value]:
        """Return the normalized edit distance, and whether the answer is a solution (1) or not (0).

        What SymPy gives up, at its limits of size or, as the last resort, after `SYMBOLIC_SECONDS`
        of CPU time, is undecided.
        """
        if task.dataset.truth is None:
            return {}
        [truth], [equation] = task.dataset.truth, answer.equations
        domain = task.dataset.domain
        names, seconds = tuple(domain), SYMBOLIC_SECONDS
        scores: dict[str, Value] = {}
        try:
            scores["normalized_edit_distance"] = srbench.normalized_edit_distance(
                truth, equation, names, seconds=seconds
            ).value
        except EquationError:  # of the truth, which may be a user's own
            scores["normalized_edit_distance"] = None
        solution = srbench.symbolic_solution(truth, equation, domain, seconds=seconds)
        error = found.get("r2")
        by_srbench = srbench.srbench_solution(
            truth,
            equation,
            names,
            r2=error if isinstance(error, float) else None,
            seconds=seconds,
        )
        for name, verdict in {"solution": solution, "srbench_solution": by_srbench}.items():
            scores[name] = None if verdict.solved is None else float(verdict.solved)
        return scores


DATA_TYPE = Srsd


def _accurate(equation: Equation, columns: Mapping[str, Array], most_work: int) -> Array:
    """Return exact values, rounded; those of double precision where there are none."""
    tree = read(equation.text, equation.variables)
    values = correctly_rounded_values(tree, columns, most_work=most_work)
    known = np.isfinite(values)
    return values if known.all() else np.where(known, values, equation.evaluate(columns))


class _Problems(Source[SrsdDataset]):
    """The problems in a folder, or one in a file."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @cached_property
    def problems(self) -> SystemFiles[FormulaProblem]:
        """All problems by name: easy ones first, then in the order of their numbers."""
        files = [self.path] if self.path.is_file() else sorted(self.path.glob("*.toml"))
        if not self.path.exists():
            raise DataError(f"There is nothing at {self.path}.")
        if not files:
            raise DataError(
                f"{self.path} has no problems: no file ends in .toml",
                "Give a problem file, or a folder of them: see docs/srsd.md.",
            )
        if unclear := [file.stem for file in files if "+" in file.stem]:
            raise DataError(f"{unclear[0]}: a problem's name has no '+'", "Rename its file.")
        return SystemFiles(files, read_problem, FACTS.order)

    def names(self) -> list[str]:
        return list(self.problems)

    def groups(self) -> dict[str, list[str]]:
        return self.problems.groups("set")

    def title(self, name: str) -> str:
        return named(ProblemName.read(name).problem, self.problems).title

    def background(self, name: str) -> Background:
        ask = ProblemName.read(name)
        problem = named(ask.problem, self.problems)
        if ask.dummies:  # other columns, of which some mean nothing
            return Background(meanings={"y": problem.title})
        names, meanings = {}, {"y": problem.title}
        for column, text in problem.meanings.items():
            name_, _, meaning = text.partition(": ")
            names[column], meanings[column] = name_, meaning
        return Background(names=names, meanings=meanings)

    def load(
        self,
        name: str,
        *,
        snr_db: float | None,
        seed: int,
        protocol: Protocol,  # noqa: ARG002 - the samples are the same
        options: Mapping[str, Any] = NO_OPTIONS,  # noqa: ARG002 - all is in the name
    ) -> SrsdDataset:
        if snr_db is not None:
            raise UsageError("srsd has no noise levels in dB.", "It has --target-noise 0.01.")
        ask = ProblemName.read(name)
        problem = named(ask.problem, self.problems)
        formula = problem.released_data if ask.released else problem.law
        x, y = draw(problem, formula, ROWS, accurate=not ask.released)
        truth = problem.released_truth if ask.released else problem.law
        spreads = dict(problem.spreads)
        if ask.dummies:
            x, truth, spreads = _with_dummies(problem, x, truth)
        y_training = y[:TRAINING]
        if ask.noise:
            y_training = _noisy(y_training, ask.problem, ask.noise, seed)
        sha256 = hashlib.sha256(f"{truth}\n{x.shape}\n".encode())
        for array in (x, y, y_training):
            sha256.update(np.ascontiguousarray(array).tobytes())
        return SrsdDataset(
            name=name,
            dim=1,
            snr_db=None,
            truth=(truth,),
            target_source="equations",
            fingerprint=sha256.hexdigest(),
            x=x,
            y=y,
            y_training=y_training,
            domain=replace(problem, spreads=spreads).domain,
            set=problem.set,
        )


def _with_dummies(
    problem: FormulaProblem, x: Array, truth: str
) -> tuple[Array, str, dict[str, Spread]]:
    """Mix in one to three columns that the target does not depend on, at random places.

    Their magnitudes are log-uniform over two decades around a random power of ten, with random
    signs in about half of the columns, in single precision, as in SRSD's own dummy columns.
    """
    generator = generator_of("srsd dummies", problem.name)
    order: list[str | None] = list(problem.spreads)
    columns = dict(zip(problem.spreads, x.T, strict=True))
    added: list[tuple[Spread, Array]] = []
    for _ in range(generator.choice(_DUMMY_COLUMNS)):
        k = int(generator.integers(*_DUMMY_EXPONENTS, endpoint=True))
        sign = "mixed" if generator.random() < 0.5 else "positive"  # noqa: PLR2004 - even odds
        spread = Spread("log-uniform", 10.0 ** (k - 1), 10.0 ** (k + 1), sign)
        values = spread.draw(len(x), generator).astype(np.float32).astype(np.float64)
        order.insert(int(generator.integers(len(order), endpoint=True)), None)
        added.append((spread, values))
    new_names: dict[str, str] = {}
    spreads, arrays = {}, []
    for place, old in enumerate(order):
        if old is None:
            spread, values = added.pop(0)
        else:
            new_names[old] = f"x{place}"
            spread, values = problem.spreads[old], columns[old]
        spreads[f"x{place}"] = spread
        arrays.append(values)
    truth = re.sub(r"\bx\d+\b", lambda match: new_names[match[0]], truth)
    return np.stack(arrays, axis=-1), truth, spreads


def _noisy(y: Array, name: str, gamma: float, seed: int) -> Array:
    """Add normal noise of gamma times the root mean square (SRSD, eq. S2, as SRBench has it)."""
    generator = generator_of("srsd noise", name, repr(gamma), seed)
    deviation = gamma * math.sqrt(float(np.mean(np.square(y))))
    return y + deviation * generator.standard_normal(y.shape)


def _write_rows(file: IO[bytes], rows: Array) -> None:
    np.savetxt(file, rows, fmt="%.17e")
