"""Answers that are equations: parsed, evaluated, and compared with the truth."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from functools import lru_cache, partial
from typing import IO, TYPE_CHECKING, Any, ClassVar, TypeVar
from weakref import WeakKeyDictionary

import numpy as np

from eqverdict import Equation, parse
from eqverdict.fidelity import limited
from mdbench.datatypes.base import (
    Answer,
    CheckSplit,
    Dataset,
    DataType,
    ScoredCandidate,
    Scores,
    Split,
    Task,
    select_per_target,
)
from mdbench.datatypes.equations.files import write_table
from mdbench.datatypes.equations.remarks import (
    EXPLAINED,
    Course,
    errors_by_state,
    explained,
    level_notes,
    rest_note,
    scored_samples,
)
from mdbench.datatypes.equations.shared_terms import loss_from_terms
from mdbench.datatypes.equations.splits import (
    check_split,
    compare_predictions,
    cut_in_two,
    refuse_contradiction,
)
from mdbench.datatypes.equations.terms import TERM_METRICS, compare_with_truth
from mdbench.datatypes.facts import Protocol
from mdbench.errors import AnswerError, EquationError, counted
from mdbench.metrics.regression import nmse
from mdbench.metrics.spec import (
    CONSTANT,
    RESTS,
    MetricSpec,
    Value,
    fitness,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from mdbench.datatypes.base import Candidate, Selection
    from mdbench.datatypes.equations.selection import Evidence

    Array = NDArray[np.float64]

SUSPICIOUS = 1e-6
"""An agreement worse than this is marked in every report."""

AS_A_CONSTANT, LEAST_CONSTANT, CONSTANT_IS_RIGHT = 0.9, 0.1, 1e-3
"""Equations of a user's data that score more than this share of what a constant does are marked,
where one of the two scores is above the second, or, of an equation with variables, above the
third."""

NMSE = MetricSpec(
    name="nmse",
    title="NMSE",
    explanation="sum of squared errors on the test data, under strict the clean ones, over the sum "
    "of squared targets; zero scores 1, and below 1e-12 is round-off",
    scale="log",
    resolution=1e-12,
    nothing=1.0,
    places=frozenset({"board", "answer", "brief", "figure"}),
)
PUBLISHED_NMSE = MetricSpec(
    name="published_nmse",
    title="published NMSE",
    explanation="what the published pipeline scores: the same on the test data as noisy as those "
    "of the training, with features by finite differences",
    scale="log",
    resolution=1e-12,
    nothing=1.0,
    places=frozenset({"answer"}),
)
COMPLEXITY = MetricSpec(
    name="complexity",
    title="nodes",
    explanation="complexity: nodes in the SymPy expression trees of the equations",
    scale="log",
    digits=0,
    on_failure=None,
    places=frozenset({"board", "answer", "brief", "figure"}),
    weighs=True,
)
AGREEMENT = MetricSpec(
    name="agreement",
    title="prediction mismatch",
    explanation="relative squared difference between what the method predicts and the values of "
    "its equations; the worst of all answers, marked where they differ",
    scale="log",
    on_failure=None,
    aggregate="max",
    alarm=SUSPICIOUS,
    places=frozenset({"board", "answer", "brief"}),
)

D = TypeVar("D", bound=Dataset)


@dataclass(frozen=True)
class EquationAnswer(Answer):
    """An answer whose equations have been parsed.

    Attributes
    ----------
    parsed
        One a target.
    compared
        The equations as they are compared with the truth.
    values
        What is scored: the values of the equations on the test inputs, or under `published` and
        where there are no equations what the method predicts there; shaped like the targets.
    agreement
        Of the two; None where there are no predictions.
    printed
        The equations as the method printed them, where they are written otherwise here: see
        `alike.in_lowest_powers`; by the place of their target.
    """

    parsed: tuple[Equation, ...] = field(kw_only=True)
    compared: tuple[str, ...] = field(kw_only=True)
    values: Array = field(kw_only=True, repr=False)
    agreement: float | None = field(kw_only=True)
    printed: Mapping[int, str] = field(default_factory=dict, kw_only=True)


@dataclass(frozen=True)
class EquationTask(Task[D]):
    """A task whose answers are right-hand sides.

    Attributes
    ----------
    evidence
        What candidates are compared with; None under `published`, which has its own way.
    held_out
        What the test compares equations with where exact targets are not known; else None.
    scored
        The samples of the test that errors are taken on, by number in C order; None for all.
    levels
        Of the user's data the values of each variable that has few: of its powers the lowest stands
        for all that are the same on them.
    """

    evidence: Evidence | None = field(default=None, kw_only=True)
    held_out: Evidence | None = field(default=None, kw_only=True)
    scored: NDArray[np.intp] | None = field(default=None, kw_only=True, repr=False)
    levels: Mapping[str, tuple[float, ...]] = field(default_factory=dict, kw_only=True)


class EquationType(DataType[D, EquationTask[D]]):
    """A data type whose answers are right-hand sides, one a target.

    Under `strict` its score is that of the equations, evaluated by the benchmark; what the method
    predicts is only compared with them.
    """

    metrics: ClassVar[tuple[MetricSpec, ...]] = (NMSE, *TERM_METRICS, COMPLEXITY, AGREEMENT)
    of_predictions: ClassVar[tuple[str, ...]] = (NMSE.name,)
    nmse_constant: ClassVar[float] = 0.0
    """What is added to the NMSE's denominator under `published`."""
    has_exact_truth = True
    of_equations: ClassVar[bool] = False
    """Whether candidates are compared by their equations under `published`, too."""

    def preload(self) -> None:
        """Start the process that compares answers with the truth."""
        limited.start()

    def fit_and_validation(self, task: EquationTask[D], tuning: str) -> tuple[Split, Split]:
        """Return the data of the first fit, and those that candidates are compared on.

        Under `strict` both are all that comes before the test: the rule of choice needs nothing
        held out, and a third more data find more equations (docs/scoring.md).
        """
        if task.evidence is None:
            return super().fit_and_validation(task, tuning)
        return task.refit, task.refit

    def tuned_by_error(self, task: EquationTask[D]) -> EquationTask[D]:
        """Return a task without the benchmark's rule of choice; see `DataType.tuned_by_error`."""
        if task.evidence is None:
            return task
        if task.train is not task.refit:  # some of it is held out already
            return replace(task, evidence=None)
        first, last = cut_in_two(task.refit, task.view)
        return replace(task, train=first, validation=last, evidence=None)

    def prediction_check(self, task: EquationTask[D], seed: int) -> CheckSplit | None:
        """Return inputs of the fit and drawn points, for equations under `strict`."""
        if task.protocol is not Protocol.STRICT or not task.has_equations:
            return None
        return check_split(task.refit, seed)

    def read_answer(self, task: EquationTask[D], answer: Answer) -> EquationAnswer:
        """Read the equations, evaluate them on the test inputs, and compare predictions with them.

        Raises
        ------
        AnswerError
            If an equation cannot be read or counted, if what is scored is not finite, or if, under
            `strict`, the predictions contradict the equations.
        """
        strict = task.protocol is Protocol.STRICT
        if not task.has_equations:
            return _read_predictions(answer)
        if len(answer.equations) != len(task.targets):
            raise AnswerError(
                f"{counted(len(answer.equations), 'equation')}; {len(task.targets)} expected"
            )
        read, _ = _parse_and_count(answer.equations, task.variables)
        values = self.values(task, read)
        predictions, known = answer.predictions, answer.recorded.get(AGREEMENT.name)
        agrees = known if isinstance(known, float) else None
        scored = values if strict or predictions is None else predictions
        if predictions is not None:
            check = answer.asked or CheckSplit(**vars(task.test))
            expected = self.values_in_each_precision(task, read, check.columns)
            agrees = compare_predictions(expected, predictions, check.drawn, strict=strict)
        elif strict and agrees is not None:
            refuse_contradiction(agrees)
        _check_finite(scored, "values of the equations on the test inputs")
        lowest = _in_lowest_powers(task, read) if task.levels else read
        printed = {i: one.text for i, one in enumerate(read) if lowest[i] is not one}
        if printed:
            read = lowest
            if strict or predictions is None:
                scored = self.values(task, read)
                _check_finite(scored, "values of the equations on the test inputs")
        texts = tuple(equation.text for equation in read)
        return EquationAnswer(
            texts,
            recorded=answer.recorded,
            parsed=read,
            compared=texts,
            values=scored,
            agreement=agrees,
            printed=printed,
        )

    def score(self, task: EquationTask[D], answer: Answer) -> Scores:
        """Score the equations: errors, size, and how near they are to the truth.

        Raises
        ------
        AnswerError
            If they are not finite on the held-out data.
        """
        assert isinstance(answer, EquationAnswer)  # noqa: S101 - of `read_answer`
        scores, by_state = self.errors_of(task, answer)
        notes: dict[str, Sequence[str]] = {}
        if len(by_state) > 1:
            notes["states"] = errors_by_state(by_state, task)
        course = self.course(task)
        if course is not None:
            targets = scored_samples(task, task.test.targets)
            floors = None if task.held_out is None else task.held_out.floors
            if why := rest_note(course, targets, by_state, floors):
                notes[RESTS] = [why]
        if task.has_equations:
            if (task.scaled or task.dataset.own) and (
                as_constant := self._as_constant(task, answer, by_state)
            ):
                notes[CONSTANT] = as_constant
            if task.levels:
                notes |= level_notes(task, answer)
            if task.dataset.own:
                known, more = self.on_all_samples(task, answer)
                scores |= known
                notes |= {word: texts for word, texts in more.items() if texts}
            scores["complexity"] = sum(equation.complexity for equation in answer.parsed)
            if answer.agreement is not None:
                scores["agreement"] = answer.agreement
            if task.dataset.truth is not None and self.has_terms(task):
                compared = compare_with_truth(task.dataset.truth, answer.compared, task)
                scores |= compared.metrics
                notes |= compared.notes
            scores |= self.own_scores(task, answer, scores)
        metrics = {name: scores[name] for name in self.metric_names(task) if name in scores}
        return Scores(metrics, notes)

    def primary_score(self, task: EquationTask[D], answer: Answer) -> Value:
        """Return the error alone: the comparison with the truth takes most of the time."""
        assert isinstance(answer, EquationAnswer)  # noqa: S101 - of `read_answer`
        name = self.metrics[0].name
        found, _ = self.errors_of(task, answer)
        return found[name] if name in found else super().primary_score(task, answer)

    def errors_of(
        self, task: EquationTask[D], answer: EquationAnswer
    ) -> tuple[dict[str, Value], list[float]]:
        """Return the errors of an answer by name, and that of each state."""
        if task.held_out is None:
            values, targets = (
                scored_samples(task, each) for each in (answer.values, task.test.targets)
            )
            pairs = zip(np.moveaxis(values, -1, 0), np.moveaxis(targets, -1, 0), strict=True)
            errors: dict[str, Value] = dict(self.errors(values, targets))
            constant = self.nmse_constant if task.protocol is Protocol.PUBLISHED else 0.0
            if constant:
                errors[NMSE.name] = nmse(values, targets, constant=constant)
            return errors, [nmse(*pair, constant=constant) for pair in pairs]
        held_out = task.held_out
        by_state = list(self._losses(task, answer.parsed, held_out, range(len(answer.parsed))))
        return {NMSE.name: float(np.mean(by_state))}, by_state

    def _as_constant(
        self, task: EquationTask[D], answer: EquationAnswer, by_state: Sequence[float]
    ) -> list[str]:
        """Name the targets whose equations are no better than constants, with both scores.

        Where a constant is right, nothing can be better, and it is no fault to be as good.
        """
        from mdbench.datatypes.equations.alike import used_in  # noqa: PLC0415 - few need it

        given = task.refit.targets
        means = np.mean(given.reshape(-1, given.shape[-1]), axis=0)
        constants = self.read_answer(task, Answer(tuple(repr(float(mean)) for mean in means)))
        _, scores = self.errors_of(task, constants)
        return [
            f"{name}: {score:.2g}, and a constant has {constant:.2g}"
            for name, score, constant, equation in zip(
                task.targets, by_state, scores, answer.parsed, strict=True
            )
            if score > AS_A_CONSTANT * min(constant, 1.0)
            and (
                constant > LEAST_CONSTANT
                or score > LEAST_CONSTANT
                or (score > CONSTANT_IS_RIGHT and used_in(equation.text, task.variables))
            )
        ]

    def on_all_samples(
        self, task: EquationTask[D], answer: EquationAnswer
    ) -> tuple[dict[str, Value], dict[str, list[str]]]:
        """Compare an answer with all of the user's samples, as the test is the last of them alone.

        Returns
        -------
        metrics, notes
            `EXPLAINED`, and what more a data type knows; notes `ALL_SAMPLES` and `PARTLY`.
        """
        if task.evidence is None:
            return {}, {}
        count = len(answer.parsed)
        before = np.array(list(self._losses(task, answer.parsed, task.evidence, range(count))))
        _, test = self.errors_of(task, answer)
        sizes = [part.targets.size for part in (task.refit, task.test)]
        share = sizes[1] / sum(sizes)
        floors = task.evidence.floors
        if task.held_out is not None:
            floors = (1 - share) * floors + share * task.held_out.floors
        return explained(task, (1 - share) * before + share * np.array(test), floors)

    def metric_names(self, task: EquationTask[D]) -> tuple[str, ...]:
        """Return the names of a task's metrics: without a truth there are none that need one."""
        left_out = set() if self.has_terms(task) else {spec.name for spec in TERM_METRICS}
        if not task.dataset.own:
            left_out.add(EXPLAINED.name)
        if task.protocol is Protocol.PUBLISHED or task.held_out is not None:
            left_out.add(PUBLISHED_NMSE.name)
        if not task.has_equations:
            left_out |= {spec.name for spec in self.metrics} - {*self.of_predictions}
        return tuple(spec.name for spec in self.metrics if spec.name not in left_out)

    def why_not_predicted(self, task: EquationTask[D]) -> str:
        """Return why predictions cannot be scored, such as where the test has no exact targets."""
        if not self.of_predictions:
            return f"{self.name} scores equations alone, and the method has none"
        if task.held_out is None:
            return ""
        return (
            "the rates of the test are not known: equations are compared with the states' "
            "changes, and the method has none"
        )

    def predicted(self, task: EquationTask[D]) -> EquationTask[D]:
        """Return a task for predictions alone.

        A grid is chosen from by its error on samples that are held out for it.
        """
        return replace(self.tuned_by_error(task), evidence=None, has_equations=False)

    def has_terms(self, task: EquationTask[D]) -> bool:
        """Whether answers are compared with the truth, term by term."""
        return task.dataset.truth is not None and task.has_equations

    def errors(self, values: Array, targets: Array) -> dict[str, float]:
        """Score values on the test split by numbers alone."""
        return {NMSE.name: nmse(values, targets)}

    def course(self, task: EquationTask[D]) -> Course | None:
        """Return how the system goes on to the test; None where the test is at no later time."""
        del task
        return None

    def own_scores(
        self, task: EquationTask[D], answer: EquationAnswer, known_scores: Mapping[str, Value]
    ) -> Mapping[str, Value]:
        """Score an answer by what only this data type has, given the scores known by now."""
        del task, answer, known_scores
        return {}

    def values(self, task: EquationTask[D], equations: Sequence[Equation]) -> Array:
        """Work an answer's equations out where it is tested; the last axis runs over them."""
        return np.stack([each.evaluate(task.test.columns) for each in equations], axis=-1)

    def candidate_values(
        self,
        task: EquationTask[D],  # noqa: ARG002 - of those who have two ways to the values
        equation: Equation,
        columns: Mapping[str, Array],
    ) -> Array:
        """Work out an equation of a candidate, of which there may be thousands."""
        return equation.evaluate(columns)

    def values_in_each_precision(
        self,
        task: EquationTask[D],  # noqa: ARG002 - of those who have two ways to the values
        equations: Sequence[Equation],
        columns: Mapping[str, Array],
    ) -> list[Array]:
        """Return the values of equations in each precision in which a method may predict them."""
        return [np.stack([each.evaluate(columns) for each in equations], axis=-1)]

    def files(self, dataset: D) -> Iterable[tuple[str, Callable[[IO[bytes]], None]]]:
        """Return the rows before the test and those of the test, ``NAME/{train,test}.csv``.

        Columns have the names of variables and targets; a method sees no targets of the test.
        """
        task = self.task(dataset, self.views[0], Protocol.STRICT)
        for part, split in (("train", task.refit), ("test", task.test)):
            columns = {**split.columns, **dict(zip(task.targets, split.targets.T, strict=True))}
            yield f"{dataset.name}/{part}.csv", partial(write_table, columns=columns)

    def loss(self, values: Array, targets: Array) -> float:
        """Compare values with targets when a candidate is chosen; lower is better."""
        return nmse(values, targets)

    def fitness(self, loss: float, complexity: int) -> float:
        """Weigh accuracy against simplicity when a candidate is chosen; higher is better."""
        return fitness(loss, complexity)

    def compares_equations(self, task: EquationTask[D]) -> bool:
        """Whether candidates are compared by their equations alone, as under `strict`."""
        strict = self.of_equations or task.protocol is Protocol.STRICT
        return task.has_equations and strict

    def evaluate_candidate(
        self, task: EquationTask[D], data: Split, candidate: Candidate
    ) -> ScoredCandidate:
        """Compare a candidate's equations with the evidence.

        Under `published` they, or what it predicts, are compared with a part.

        Raises
        ------
        AnswerError
            If an equation cannot be read or counted, or a value is not finite.
        """
        published = task.protocol is Protocol.PUBLISHED
        if published and "0" in map(str.strip, candidate.equations):
            raise AnswerError("an equation is zero, which the published pipeline refuses")
        read, complexity = _parse_and_count(candidate.equations, task.variables)
        if task.evidence is not None:
            first = candidate.target
            places = range(len(read)) if first is None else (first,)
            losses = np.array(list(self._losses(task, read, task.evidence, places, exact=False)))
            value = task.evidence.preference(losses, places, read)
            return ScoredCandidate(candidate, float(np.mean(losses)), complexity, value)
        if self.compares_equations(task) or candidate.predictions is None:
            columns = data.columns
            found = [self.candidate_values(task, each, columns) for each in read]
            values = np.stack(found, axis=-1)
            _check_finite(values, "values of the equations on the data of the choice")
        else:
            values = candidate.predictions
            _check_finite(values, "predictions")
        targets = data.targets
        if candidate.target is not None:
            targets = targets[..., candidate.target : candidate.target + 1]
        loss = self.loss(values.reshape(targets.shape), targets)
        return ScoredCandidate(candidate, loss, complexity, self.fitness(loss, complexity))

    def select(
        self, task: EquationTask[D], candidates: Sequence[ScoredCandidate]
    ) -> Selection | None:
        """Choose the fittest; under `published` only of the best at each complexity."""
        if task.evidence is None:
            return super().select(task, candidates)
        return select_per_target(candidates, len(task.targets), _fittest)

    def _losses(
        self,
        task: EquationTask[D],
        equations: Sequence[Equation],
        evidence: Evidence,
        targets: Iterable[int],
        *,
        exact: bool = True,
    ) -> Iterator[float]:
        """Return losses; those that are not exact share terms, and differ in the last digits."""
        known = _LOSSES.setdefault(evidence, {})  # a grid proposes an equation again and again
        for equation, target in zip(equations, targets, strict=True):
            loss = known.get((equation.text, target, exact))
            if loss is None and not exact:
                loss = loss_from_terms(equation, target, evidence)
            if loss is None:
                values = self.candidate_values(task, equation, evidence.columns)
                _check_finite(values, "values of the equations on the data of the choice")
                with np.errstate(all="ignore"):
                    loss = evidence.loss(values, target)
                if not math.isfinite(loss):
                    raise AnswerError("its error is not finite")
            if len(known) < _MOST_LOSSES and len(equation.text) <= _LONGEST_KNOWN:
                known[equation.text, target, exact] = loss
            yield loss


def _fittest(candidates: Sequence[ScoredCandidate]) -> ScoredCandidate | None:
    """Return the fittest candidate; of equals the simplest, and of those the first."""
    return max(candidates, key=lambda one: (one.fitness, -one.complexity), default=None)


_MOST_LOSSES = 5_000
"""Losses of equations that are remembered with a job's evidence."""
_LONGEST_KNOWN = 400
"""Characters of an equation beyond which it is read and evaluated again."""
_LOSSES: WeakKeyDictionary[Evidence, dict[tuple[str, int, bool], float]] = WeakKeyDictionary()


_parse_short = lru_cache(maxsize=1_000)(parse)


def _parse_and_count(
    texts: Sequence[str], variables: Sequence[str]
) -> tuple[tuple[Equation, ...], int]:
    """Read equations, and count their nodes; what cannot be read or counted is no answer."""
    try:
        names = tuple(variables)
        read = tuple(
            (_parse_short if len(text) <= _LONGEST_KNOWN else parse)(text, names) for text in texts
        )
        return read, sum(equation.complexity for equation in read)
    except EquationError as error:
        raise AnswerError(error.message) from None


def _in_lowest_powers(
    task: EquationTask[Any], equations: Sequence[Equation]
) -> tuple[Equation, ...]:
    """Write equations with the lowest powers of columns of few values; others stay the same."""
    from mdbench.datatypes.equations.alike import in_lowest_powers  # noqa: PLC0415 - few need it

    names = task.variables
    texts = [in_lowest_powers(one.text, names, task.levels) for one in equations]
    pairs = zip(equations, texts, strict=True)
    return tuple(one if text == one.text else parse(text, names) for one, text in pairs)


def _read_predictions(answer: Answer) -> EquationAnswer:
    if answer.predictions is None:
        raise AnswerError("there are no predictions, and the method has no equations")
    _check_finite(answer.predictions, "predictions")
    return EquationAnswer(
        predictions=answer.predictions,
        parsed=(),
        compared=(),
        values=answer.predictions,
        agreement=None,
    )


def _check_finite(values: NDArray[Any], what: str) -> None:
    finite = np.isfinite(values)
    if not finite.all():
        bad = int(values.size - finite.sum())
        raise AnswerError(f"{bad} of {values.size} {what} are not finite")
