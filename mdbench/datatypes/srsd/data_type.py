"""Symbolic regression for scientific discovery: 120 laws of physics with realistic ranges."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import IO, TYPE_CHECKING, Any

import numpy as np

from eqverdict import srbench
from eqverdict.compensated_eval import correctly_rounded_values
from eqverdict.difficulty import Difficulty, difficulty
from eqverdict.grammar import read
from mdbench.data.descriptions import refuse_other_files
from mdbench.datatypes.equations.base import AGREEMENT, COMPLEXITY, NMSE, EquationTask, EquationType
from mdbench.datatypes.equations.files import Suites
from mdbench.datatypes.equations.selection import NoisyRows, Ratios
from mdbench.datatypes.equations.splits import table_split
from mdbench.datatypes.equations.terms import term_metrics
from mdbench.datatypes.facts import Protocol
from mdbench.datatypes.srsd import FACTS
from mdbench.datatypes.srsd.datasets import ProblemName, Problems, SrsdDataset
from mdbench.datatypes.srsd.laws import SRBENCH, read_problem
from mdbench.errors import EquationError
from mdbench.metrics.regression import is_accurate, nmse, r2, relative_error
from mdbench.metrics.spec import MetricSpec, Value, flag

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from eqverdict import Equation
    from mdbench.datatypes.base import Source, Split
    from mdbench.datatypes.equations.base import EquationAnswer
    from mdbench.datatypes.equations.selection import Evidence

    Array = NDArray[np.float64]

SYMBOLIC_SECONDS = 10
"""CPU time that SymPy has for one step in comparing an answer with the truth."""

_EXACT = 1e-24
"""The squared rounding error of an exact law in double precision, relative to the targets."""
_MOST_WORK = 100_000
"""Nodes times rows of an answer that may be worked out with more digits: 2 s at the most."""


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


def _is_attainable(dataset: str, snr_db: float | None) -> bool:
    from mdbench.datatypes.srsd.indistinguishable import (  # noqa: PLC0415 - reports alone ask
        is_attainable,
    )

    return is_attainable(dataset, snr_db)


_SYMBOLIC_METRICS = (
    replace(
        flag(
            "solution",
            "solutions",
            "answers that are the truth but for a constant term or factor (SRBench, definition "
            "4.1)",
            places={"board", "brief", "figure"},
        ),
        attainable=_is_attainable,
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


_SIMPLIFIED = MetricSpec(
    name="simplified_complexity",
    title="nodes, simplified",
    explanation="nodes of the equation after SymPy's simplify (SRBench)",
    scale="log",
    digits=0,
    on_failure=None,
    places=frozenset({"board", "answer", "brief"}),
)
"""A metric of SRBench's problems alone; others count the nodes of the equation as it is."""


class Srsd(EquationType[SrsdDataset]):
    """Laws ``y = f(x)`` of physics, known by a table of samples."""

    name = "srsd"
    scorer_version = 6
    metrics_since = dict.fromkeys(
        ("normalized_edit_distance", "solution", "srbench_solution", _SIMPLIFIED.name), 4
    )
    from_files = True
    views = FACTS.views
    check_datasets = ("feynman-i.12.1", "feynman-i.14.3")
    metrics = (
        NMSE,
        *_TABLE_METRICS,
        *_SYMBOLIC_METRICS,
        *term_metrics(_is_attainable),
        COMPLEXITY,
        _SIMPLIFIED,
        AGREEMENT,
    )
    of_predictions = (NMSE.name, *(spec.name for spec in _TABLE_METRICS))
    options = FACTS.options
    fresh_problems = 60
    snr_levels = False
    of_equations = True

    def source(self, path: Path | None = None) -> Source[SrsdDataset]:
        """Open the project's problems; or a problem file of the user's, or a folder of them."""
        if path is not None:
            refuse_other_files(path)
        return Problems(self.systems if path is None else path)

    def expand_options(
        self, names: Sequence[str], options: Mapping[str, Any]
    ) -> list[tuple[str, Mapping[str, Any]]]:
        """Return names of datasets, which have variant, columns and noise in them.

        A law whose ranges in the paper are those of the release is the same dataset in both.
        """
        variant, dummies = options.get("variant", ""), "dummy_columns" in options
        known = Problems(self.systems).problems if variant == "paper" else {}
        return [
            (
                str(
                    ProblemName(
                        name,
                        "" if name in known and not known[name].paper else variant,
                        dummies,
                        level,
                    )
                ),
                {},
            )
            for level in dict.fromkeys(options.get("target_noise", [0.0]))
            for name in names
        ]

    def task(
        self, dataset: SrsdDataset, view: str, protocol: Protocol
    ) -> EquationTask[SrsdDataset]:
        """Cut a table by position, SRSD's 8:1:1; only the training targets have noise.

        The last fit is given the training and the validation rows, as for all data types; under
        `published` SRSD's is given the training rows alone.
        """
        self.check_view(view)
        y = dataset.y.copy()
        y[: len(dataset.y_training)] = dataset.y_training
        variables = tuple(dataset.domain)
        first, border = dataset.cuts

        def part(rows: slice) -> Split:
            return table_split(dataset.x[rows], y[rows, None], variables)

        validation = part(slice(first, border))
        whole = dataset.split == SRBENCH or protocol is not Protocol.PUBLISHED
        return EquationTask(
            dataset=dataset,
            view=view,
            protocol=protocol,
            variables=variables,
            targets=("y",),
            train=part(slice(0, first)),
            validation=validation,
            refit=part(slice(0, border if whole else first)),
            test=part(slice(border, None)),
            any_order=True,
            evidence=None if protocol is Protocol.PUBLISHED else _evidence(dataset, validation),
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
        first, border = dataset.cuts
        splits = {"train": (0, first), "val": (first, border), "test": (border, len(rows))}
        for split, (begin, end) in splits.items():
            path = f"{dataset.set}_set/{split}/{dataset.name}.txt"
            yield path, partial(_write_rows, rows=rows[begin:end])

    def loss(self, values: Array, targets: Array) -> float:
        """Return the relative error (SRSD, eq. 4): targets of any size count the same."""
        return relative_error(values, targets)

    def fitness(self, loss: float, complexity: int) -> float:  # noqa: ARG002 - as in eq. 4
        """Prefer the lower relative error, and of equals the simpler."""
        return -loss

    def errors(self, values: Array, targets: Array) -> dict[str, float]:
        """Score values on the test split by numbers alone."""
        score = r2(values, targets)
        return {
            "nmse": nmse(values, targets),
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

    def values_in_each_precision(
        self,
        task: EquationTask[SrsdDataset],
        equations: Sequence[Equation],
        columns: Mapping[str, Array],
    ) -> list[Array]:
        """Return the values in double precision, too, as methods predict."""
        precise = [self.candidate_values(task, each, columns) for each in equations]
        doubles = super().values_in_each_precision(task, equations, columns)
        return [np.stack(precise, axis=-1), *doubles]

    def fresh(self, seed: str, count: int, grammar: int) -> Iterator[tuple[str, str]]:
        """Draw problems: see the module ``fresh``."""
        from mdbench.datatypes.srsd.fresh import fresh_laws  # noqa: PLC0415 - few need it

        known = Suites(self.systems, read_problem, FACTS.order).known()
        return fresh_laws(seed, count, known, grammar)

    def difficulty(self, name: str) -> Difficulty:
        """Return how hard a problem is; the ranges of a recurrence are those of its rows."""
        problem = Problems(self.systems).problem(ProblemName.read(name))
        bounds = {column: (one.low, one.high) for column, one in problem.spreads.items()}
        if problem.recurrence is not None:
            rows = problem.recurrence.table()
            ends = zip(rows.min(axis=0).tolist(), rows.max(axis=0).tolist(), strict=True)
            bounds = dict(zip(problem.spreads, ends, strict=True))
        return difficulty(problem.law, bounds)

    def preload(self) -> None:
        """Start the process in which SymPy works."""
        super().preload()
        srbench.start()

    def metric_names(self, task: EquationTask[SrsdDataset]) -> tuple[str, ...]:
        """Return the names of a task's metrics: without a truth there are none that need one."""
        symbolic = {spec.name for spec in _SYMBOLIC_METRICS}
        left_out = set() if task.dataset.truth is not None else symbolic
        if task.dataset.split != SRBENCH:
            left_out.add(_SIMPLIFIED.name)
        return tuple(name for name in super().metric_names(task) if name not in left_out)

    def own_scores(
        self,
        task: EquationTask[SrsdDataset],
        answer: EquationAnswer,
        known_scores: Mapping[str, Value],
    ) -> dict[str, Value]:
        """Return the normalized edit distance, and whether the answer is a solution (1) or not (0).

        What SymPy gives up, at its limits of size or, as the last resort, after `SYMBOLIC_SECONDS`
        of CPU time, is undecided.
        """
        if task.dataset.truth is None:
            return {}
        expected = [name for name in self.metric_names(task) if name in self.metrics_since]
        if all(name in answer.recorded for name in expected):
            return {name: answer.recorded[name] for name in expected}
        [truth], [equation] = task.dataset.truth, answer.equations
        domain = task.dataset.domain
        names, seconds = tuple(domain), SYMBOLIC_SECONDS
        scores: dict[str, Value] = {}
        if task.dataset.split == SRBENCH:
            scores[_SIMPLIFIED.name] = _simplified(equation, names)
        try:
            scores["normalized_edit_distance"] = srbench.normalized_edit_distance(
                truth, equation, names, seconds=seconds
            ).value
        except EquationError:  # of the truth, which may be a user's own
            scores["normalized_edit_distance"] = None
        solution = srbench.symbolic_solution(truth, equation, domain, seconds=seconds)
        error = known_scores.get("r2")
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


def _evidence(dataset: SrsdDataset, rows: Split) -> Evidence:
    """Return what candidates are compared with: of SRBench's rows, which have noise, the squares.

    A relative error would be that of the noise in the smallest targets.
    """
    floors = np.array([_EXACT])
    if dataset.split != SRBENCH:
        return Ratios(rows.columns, floors, rows.targets)
    variance = float(np.var(rows.targets)) or 1.0
    return NoisyRows(rows.columns, floors, rows.targets, np.array([variance]))


def _simplified(equation: str, names: Sequence[str]) -> Value:
    """Return the nodes of what SymPy simplifies an equation to; None where it needs too long."""
    try:
        return float(srbench.complexities(equation, names, seconds=SYMBOLIC_SECONDS)[1])
    except EquationError:
        return None


def _accurate(equation: Equation, columns: Mapping[str, Array], most_work: int) -> Array:
    """Return exact values, rounded; those of double precision where there are none."""
    tree = read(equation.text, equation.variables)
    values = correctly_rounded_values(tree, columns, most_work=most_work)
    known = np.isfinite(values)
    return values if known.all() else np.where(known, values, equation.evaluate(columns))


def _write_rows(file: IO[bytes], rows: Array) -> None:
    np.savetxt(file, rows, fmt="%.17e")
