"""Symbolic derivations (Meadows et al. 2023): the next equation against a wrong one.

The answers are labels.  A system is the configuration of a generator; its sequences are made on
first use.  A method is fitted once and predicts once, on all sets of the test together: who made
a row, which row is its pair and what its label is never leaves the host.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from functools import partial
from typing import IO, TYPE_CHECKING, Any

import numpy as np

from mdbench.datatypes.base import (
    Answer,
    Candidate,
    DataType,
    PlotBudget,
    Plots,
    PlottedAnswer,
    ScoredCandidate,
    Scores,
    Source,
    Split,
    Task,
)
from mdbench.datatypes.derivation import FACTS
from mdbench.datatypes.derivation.answers import (
    kept_labels,
    operator_table,
    predictions_of,
    read_labels,
    write_labels,
)
from mdbench.datatypes.derivation.authors import authors_record
from mdbench.datatypes.derivation.calculus import Calculation
from mdbench.datatypes.derivation.records import read_record
from mdbench.datatypes.derivation.scores import (
    OF_OPERATORS,
    OF_PAIRS,
    SETS,
    TITLES,
    accuracy,
    f1,
    probe,
    scores,
    specs,
)
from mdbench.datatypes.derivation.sources import Sequences, open_source, read_examples
from mdbench.datatypes.derivation.steps import symbol
from mdbench.errors import AnswerError, RecordsError, UsageError, did_you_mean

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from mdbench.datatypes.derivation.plots import DerivationLine, MethodScores
    from mdbench.datatypes.derivation.steps import Derivation, Step
    from mdbench.datatypes.facts import Protocol
    from mdbench.metrics.spec import Value

    Array = NDArray[np.float64]

_SPLITS = ("train", "validation", "test")
_FURTHER_FILES = ("examples.json.gz", "classes.json")
_THRESHOLD = 0.5


@dataclass(frozen=True)
class Labels(Answer):
    """For each sequence of the test whether the candidate is held for right."""

    right: NDArray[np.bool_] = field(kw_only=True, repr=False)


class DerivationType(DataType[Sequences, Task[Sequences]]):
    """Next-equation prediction, and what perturbations do to it.

    Views: ``sequence`` has the array ``X`` of texts; ``trees`` has ``trees`` as well, the same as
    JSON.  Targets are ``Y``, (n, 1), 1.0 where the candidate is right.
    """

    name = "derivation"
    scorer_version = 3
    from_files = True
    views = FACTS.views
    families = FACTS.families
    metrics = specs()
    check_datasets = ("structured-2-tiny", "differentiate-tiny")
    snr_levels = False
    draws_data = True
    has_plots = True

    def source(self, path: Path | None = None) -> Source[Sequences]:
        """Open the project's configurations; or configurations or examples of the user."""
        own = self.systems if path is None else path
        return open_source(own, self.cache, lambda text: self.on_progress(text))  # noqa: PLW0108 - set later

    def task(self, dataset: Sequences, view: str, protocol: Protocol) -> Task[Sequences]:
        """Show the splits; the last fit is given training and validation together.

        Raises
        ------
        UsageError
            If there is no such view.
        """
        if view not in self.views:
            raise UsageError(f"{self.name} has no view {view!r}.", did_you_mean(view, self.views))

        def part(*splits: str) -> Split:
            rows = [dataset.rows[split] for split in splits]
            inputs = {"X": np.array([text for each in rows for text in each.texts])}
            if view == "trees":
                # Bytes: a quarter of the memory, and JSON has nothing but ASCII.
                inputs["trees"] = np.array([tree for each in rows for tree in each.trees], "S")
            labels = np.concatenate([each.labels for each in rows]).astype(np.float64)
            return Split(inputs, "Y", labels[:, None])

        return Task(
            dataset,
            view,
            protocol,
            ("sequence",),
            ("right",),
            part("train"),
            part("validation"),
            part("train", "validation"),
            part("test"),
            has_equations=False,
            any_order=True,
        )

    def metric_names(self, task: Task[Sequences]) -> tuple[str, ...]:
        """Return the names of the metrics of the sets that the task has."""
        own = {*task.dataset.rows["test"].sets.tolist()}
        known = {*OF_PAIRS, "effective_classes", *(OF_OPERATORS if "ar" in own else ())}
        return tuple(
            spec.name
            for spec in self.metrics
            if spec.name in known or spec.name.partition("_")[0] in own
        )

    def read_answer(self, task: Task[Sequences], answer: Answer) -> Labels:  # noqa: ARG002
        """Read scores from 0 to 1, of which those from 0.5 on mean: right."""
        if answer.predictions is None:
            raise AnswerError("there are no labels")
        return Labels(right=_read(answer.predictions))

    def score(self, task: Task[Sequences], answer: Answer) -> Scores:
        """Score labels set by set, pair by pair, with what the candidates alone give away."""
        if not isinstance(answer, Labels):
            raise TypeError("an answer of another data type")
        dataset = task.dataset
        values = scores(dataset.rows["test"], answer.right, dataset.classes) | _leaks(dataset)
        return Scores({name: values.get(name) for name in self.metric_names(task)})

    def kept_answers(self, task: Task[Sequences], answer: Answer) -> bytes | None:
        """Return the label of each sequence of the test, with the operators of its derivation."""
        if not isinstance(answer, Labels):
            raise TypeError("an answer of another data type")
        dataset = task.dataset
        return write_labels(kept_labels(dataset.rows["test"], answer.right, dataset.classes))

    def answer_of(self, task: Task[Sequences], kept: bytes) -> Answer:
        """Return the labels that were kept."""
        return Answer((), predictions_of(task.dataset.rows["test"], read_labels(kept)))

    def evaluate_candidate(
        self,
        task: Task[Sequences],  # noqa: ARG002 - the split has all
        data: Split,
        candidate: Candidate,
    ) -> ScoredCandidate:
        """Compare candidates by F1 on the validation data."""
        if candidate.predictions is None:
            raise AnswerError("there are no predictions")
        score = f1(_read(candidate.predictions), data.targets[:, 0] > _THRESHOLD)
        return ScoredCandidate(candidate, 1 - score, 0, score)

    def plots(
        self,
        dataset: Sequences,
        answers: Sequence[PlottedAnswer],
        budget: PlotBudget,  # noqa: ARG002 - nothing is evaluated
    ) -> Plots:
        """Draw the first derivation of the test, who chose which candidate, and all sets."""
        from mdbench.datatypes.derivation.plots import (  # noqa: PLC0415 - reports alone
            derivation_pictures,
            operator_pictures,
        )

        example = read_record(read_examples(dataset.file)["test"][0])
        lines, asked = _lines(example)
        html = derivation_pictures(lines, asked, [_method_scores(one) for one in answers])
        tables, notes = {}, []
        for answer in answers:
            if answer.kept is None:
                continue
            try:
                tables[answer.method, answer.number] = operator_table(read_labels(answer.kept))
            except RecordsError as error:
                notes.append(f"{answer.method}: {error.message}")
        return Plots(html + operator_pictures(tables), " ".join(notes))

    def files(self, dataset: Sequences) -> Iterable[tuple[str, Callable[[IO[bytes]], None]]]:
        """Return the examples as JSON lines: as documented, and in the keys of the authors."""
        examples = read_examples(dataset.file)
        for split, records in examples.items():
            for form in ("documented", "authors"):
                write = partial(_write_records, records=records, authors=form == "authors")
                yield f"{form}/{dataset.name}/{split}.jsonl", write


DATA_TYPE = DerivationType


def _read(predictions: NDArray[Any]) -> NDArray[np.bool_]:
    """Read scores, (n, 1), as labels, (n,)."""
    chances = np.asarray(predictions)[:, 0]
    if not np.all(np.isfinite(chances)) or np.any((chances < 0) | (chances > 1)):
        raise AnswerError("a score is not within 0 and 1; predict gives the chance of the label 1")
    return np.asarray(chances >= _THRESHOLD)


def _lines(example: Derivation | Calculation) -> tuple[list[DerivationLine], str]:
    """Return the lines of an example with both candidates, and what is asked."""
    from mdbench.datatypes.derivation.plots import DerivationLine  # noqa: PLC0415 - reports alone

    if isinstance(example, Calculation):
        result = symbol("y") if example.variable != symbol("y") else symbol("z")
        asked = f"{example.task} by {example.variable}"
        return [
            DerivationLine("1", "expression", (result, example.expression)),
            DerivationLine("right", asked, (symbol("answer"), example.positive)),
            DerivationLine("wrong", "another operation", (symbol("answer"), example.negative)),
        ], asked
    [negative, *_] = example.negatives
    lines = [
        DerivationLine(str(number), _operation_of(step), step.sides)
        for number, step in enumerate(example.context, 1)
    ]
    lines += [DerivationLine("right", _operation_of(example.final), example.final.sides)]
    lines += [DerivationLine("wrong", _operation_of(negative), negative.sides)]
    return lines, _operation_of(example.final)


def _operation_of(step: Step) -> str:
    operand = [] if step.operand is None else [str(step.operand)]
    return " ".join([step.op.replace("_", " "), *map(str, step.refs), *operand])


def _method_scores(answer: PlottedAnswer) -> MethodScores:
    from mdbench.datatypes.derivation.plots import MethodScores  # noqa: PLC0415 - reports alone

    accuracy = {}
    static = answer.metrics.get("static_accuracy")
    for name in SETS:
        value = answer.metrics.get(f"{name}_accuracy")
        if not isinstance(value, float | int) or not isinstance(static, float | int):
            continue
        ends = [answer.metrics.get(f"{name}_drop_{end}") for end in ("high", "low")]
        low, high = (static - end if isinstance(end, float | int) else None for end in ends)
        accuracy[TITLES[name]] = (float(value), low, high)
    return MethodScores(
        answer.method, answer.number, accuracy, str(answer.metrics.get("first_pair") or "")
    )


_known_leaks: dict[str, dict[str, Value]] = {}


def _leaks(dataset: Sequences) -> dict[str, Value]:
    """Return the accuracy, set by set, of who sees only the candidates."""
    if dataset.fingerprint not in _known_leaks:
        train, test = dataset.rows["train"], dataset.rows["test"]
        labels = np.array(probe(train.texts, train.labels.tolist(), test.texts))
        true = test.labels == 1
        _known_leaks.clear()
        _known_leaks[dataset.fingerprint] = {
            f"{name}_leak": accuracy(labels[test.sets == name], true[test.sets == name])
            for name in dict.fromkeys(test.sets.tolist())
        }
    return _known_leaks[dataset.fingerprint]


def _write_records(file: IO[bytes], records: Sequence[dict[str, Any]], *, authors: bool) -> None:
    for data in records:
        shown = authors_record(read_record(data)) if authors else data
        file.write(json.dumps(shown).encode() + b"\n")
