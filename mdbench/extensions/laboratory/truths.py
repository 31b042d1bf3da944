"""Truths: they are right where the true equations are the best answer to every dataset."""

from __future__ import annotations

import csv
import json
from dataclasses import dataclass, replace
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np

from eqverdict import parse
from mdbench.datatypes.base import Answer
from mdbench.datatypes.equations.base import EquationTask, EquationType
from mdbench.datatypes.facts import Protocol
from mdbench.errors import AnswerError, RecordsError
from mdbench.extensions.laboratory.residuals import Samples, best_gain
from mdbench.records import read_latest, results_files

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from mdbench.datatypes.base import DataType, Scores, Source, Task
    from mdbench.extensions.laboratory.residuals import Gain
    from mdbench.metrics.spec import MetricSpec

_MORE = 1.01
"""An answer beats the truth if the truth's error is more than this many times its own."""
_PERFECT = 1e-3
"""The most that a perfect truth leaves unexplained, of what an answer without information leaves:
beyond it an R2 would not count as accurate."""
_NOT_FOR_TRUTHS = frozenset({"one_term_off"})
"""Flags that are 0 for the truth."""


@dataclass(frozen=True)
class WrongAnswer:
    """A wrong answer of some method.

    Attributes
    ----------
    method
        The method that gave the answer.
    equations
        One a target.
    """

    method: str
    equations: tuple[str, ...]


WrongAnswers = dict[tuple[str, str, float | None], list[WrongAnswer]]
"""Wrong answers by data type, dataset and noise level."""


@dataclass(frozen=True)
class TruthCheck:
    """The check of one dataset at one noise level.

    Attributes
    ----------
    known
        Whether somebody knows the truth; where not, nothing else is there.
    score
        Of the truth, by the data type's primary metric; None where it is no answer, and where it
        need not be the best one, since data are measurements.
    floor
        What the truth scores according to the dataset, through the bench's own features.
    rival
        The best wrong answer, and its score; None where there is none.
    beaten
        Whether the rival is better by more than 1 %, round-off apart.
    faults
        Why the truth is not perfect, if it is not.
    gain
        The addition to the truth that explains most of what it leaves; None where it leaves no
        more than rounding, and where that is not searched.
    reference
        Whether the law is one that people took for measurements, which may have a better one.
    notes
        What the dataset's own file has about it.
    """

    data_type: str
    dataset: str
    snr_db: float | None
    known: bool
    score: float | None = None
    floor: float | None = None
    rival: tuple[str, float] | None = None
    beaten: bool = False
    faults: tuple[str, ...] = ()
    gain: Gain | None = None
    reference: bool = False
    notes: tuple[str, ...] = ()

    @property
    def wins(self) -> bool:
        """Whether the truth is known, perfect and not beaten, neither by an answer nor a term."""
        lacks = self.gain is not None and self.gain.beats and not self.reference
        return self.known and not self.beaten and not self.faults and not lacks


def has_truths(kind: type[DataType[Any, Any]]) -> bool:
    """Whether a data type's truths can be checked: they are equations, or the best answers."""
    return kind.has_exact_truth or issubclass(kind, EquationType)


def check_truths(
    kind: DataType[Any, Any],
    source: Source[Any],
    names: Sequence[str],
    levels: Sequence[float | None],
    wrong_answers: WrongAnswers,
) -> Iterator[TruthCheck]:
    """Score the truth of each dataset at each noise level, and compare it with wrong answers.

    The rules are those of `strict`; what is drawn is drawn from seed 0.  What the truth leaves is
    searched for terms that explain it: once a dataset, as the samples of the test have no noise.
    Where data are measurements only this is done, on all of them.

    Yields
    ------
    TruthCheck
        One a dataset and level, as soon as it is known.
    """
    for name in names:
        gains: list[Gain | None] = []
        for snr_db in levels:
            dataset = source.load(name, snr_db=snr_db, seed=0, protocol=Protocol.STRICT, options={})
            if dataset.truth is None:
                yield TruthCheck(kind.name, name, snr_db, known=False)
                continue
            task = kind.task(dataset, kind.views[-1], Protocol.STRICT)
            if not gains:
                gains.append(_best_gain(kind, task))
            checked = TruthCheck(
                kind.name,
                name,
                snr_db,
                known=True,
                floor=dataset.floor,
                gain=gains[0],
                reference=isinstance(kind, EquationType) and not kind.has_terms(task),
                notes=tuple(source.notes(name)),
            )
            if kind.has_exact_truth:
                given = wrong_answers.get((kind.name, name, snr_db), [])
                checked = _scored(checked, kind, task, given)
            yield checked


def _scored(
    checked: TruthCheck,
    kind: DataType[Any, Any],
    task: Task[Any],
    wrong_answers: Iterable[WrongAnswer],
) -> TruthCheck:
    """Score a truth as an answer, and compare it with wrong ones."""
    spec, faults = kind.metrics[0], []
    score = None
    try:
        scores = kind.score(task, kind.read_answer(task, Answer(task.dataset.truth)))
        score, faults = _score(scores, spec), list(_faults(scores, kind, spec))
    except AnswerError as error:
        faults = [f"it is no answer: {error}"]
    rival = _best(kind, task, wrong_answers, spec)
    beaten = rival is not None and beats(rival[1], score, spec)
    return replace(checked, score=score, rival=rival, beaten=beaten, faults=tuple(faults))


def _best_gain(kind: DataType[Any, Any], task: Task[Any]) -> Gain | None:
    """Search what the truth leaves for a term that explains it.

    Where the test compares integrals, its targets are only differences, and are left out.
    """
    if not isinstance(kind, EquationType) or not isinstance(task, EquationTask) or task.held_out:
        return None
    equations = task.dataset.truth or ()
    parsed = [parse(text, task.variables) for text in equations]
    if kind.has_exact_truth:
        columns, targets = task.test.columns, task.test.targets
        values = kind.values(task, parsed)
    else:
        parts = task.refit, task.test
        columns = {n: np.concatenate([part.columns[n] for part in parts]) for n in task.variables}
        targets = np.concatenate([part.targets for part in parts])
        values = np.stack([one.evaluate(columns) for one in parsed], axis=-1)
    chosen = slice(None) if task.scored is None else task.scored
    samples = Samples(
        columns={name: np.asarray(columns[name]).reshape(-1)[chosen] for name in columns},
        targets=targets.reshape(-1, targets.shape[-1])[chosen],
        values=values.reshape(-1, values.shape[-1])[chosen],
        any_order=task.any_order,
        fitted=not kind.has_exact_truth,
    )
    return best_gain(task.targets, equations, samples)


def _score(scores: Scores, spec: MetricSpec) -> float | None:
    value = scores.metrics.get(spec.name)
    return float(value) if isinstance(value, int | float) else None


def _faults(scores: Scores, kind: DataType[Any, Any], spec: MetricSpec) -> Iterator[str]:
    """Return what keeps the truth from being perfect."""
    value = _score(scores, spec)
    if value is None:
        yield f"it has no {spec.title}"
    elif spec.nothing is not None and spec.loss(value) > _PERFECT * spec.loss(spec.nothing):
        yield f"its {spec.title} is {value:.2g}"
    for metric in kind.metrics:
        score = scores.metrics.get(metric.name, 1.0)
        shown = metric.kind == "flag" and metric.places  # others' rules, such as SRBench's, are not
        if shown and metric.name not in _NOT_FOR_TRUTHS and score != 1.0:
            yield f"{metric.name} is {'undecided' if score is None else '0'}"


def _best(
    kind: DataType[Any, Any],
    task: Task[Any],
    wrong_answers: Iterable[WrongAnswer],
    spec: MetricSpec,
) -> tuple[str, float] | None:
    """Return the best of wrong answers, on this version's data."""
    best: tuple[str, float] | None = None
    for method, texts in {(each.method, each.equations) for each in wrong_answers}:
        try:
            value = kind.primary_score(task, kind.read_answer(task, Answer(texts)))
        except AnswerError:
            continue
        if isinstance(value, int | float) and (
            best is None or (spec.loss(value), method) < (spec.loss(best[1]), best[0])
        ):
            best = method, float(value)
    return best


def beats(rival: float, truth: float | None, spec: MetricSpec) -> bool:
    """Return whether a score is better than the truth's by more than 1 %, round-off apart."""
    if truth is None:
        return True
    if spec.better == "lower":  # what is below the resolution is round-off
        return max(truth, spec.resolution) > _MORE * max(rival, spec.resolution)
    return spec.loss(rival) < spec.loss(truth) - (_MORE - 1) * abs(truth)


def read_wrong_answers(path: Path) -> WrongAnswers:
    """Read the wrong answers of a results folder, of a results file, or of tables of ``combine``.

    An answer is wrong if it is not `identified` in its record; where that is undecided it
    is left out.  Answers under `published`, and those to the user's own data, are none of ours.

    Raises
    ------
    UsageError
        If there are neither records nor tables.
    RecordsError
        If a file cannot be read.
    """
    if path.is_dir():  # other tables may lie beside those of records
        tables = [each for each in sorted(path.glob("*.csv")) if _has_answers(each)]
    else:
        tables = [path] * (path.suffix == ".csv")
    records: Iterable[tuple[str, str, float | None, WrongAnswer]] = chain.from_iterable(
        map(_of_table, tables)
    )
    if not tables or (path.is_dir() and any(path.rglob("*.jsonl*"))):
        results_files(path)
        records = chain(records, _of_records(path))
    answers: WrongAnswers = {}
    for data_type, dataset, snr_db, wrong_answer in records:
        answers.setdefault((data_type, dataset, snr_db), []).append(wrong_answer)
    return answers


def _of_records(path: Path) -> Iterator[tuple[str, str, float | None, WrongAnswer]]:
    for record in read_latest(path):
        wrong = record.metrics.get("identified", 0.0) == 0.0 and record.protocol == Protocol.STRICT
        if wrong and record.equations and record.dataset_path is None:
            wrong_answer = WrongAnswer(record.algorithm, record.equations)
            yield record.data_type, record.dataset, record.snr_db, wrong_answer


def _has_answers(path: Path) -> bool:
    with path.open(encoding="utf-8", errors="replace", newline="") as file:
        return "equations" in next(csv.reader(file), [])


def _of_table(path: Path) -> Iterator[tuple[str, str, float | None, WrongAnswer]]:
    try:
        with path.open(encoding="utf-8", newline="") as file:
            for row in csv.DictReader(file):
                if wrong := _wrong(row):
                    yield wrong
    except (OSError, ValueError, KeyError) as error:
        raise RecordsError(
            f"{path} is no table of records: {error!r}", "Tables come from: mdbench combine"
        ) from None


def _wrong(row: Mapping[str, str]) -> tuple[str, str, float | None, WrongAnswer] | None:
    ours = row["protocol"] == Protocol.STRICT and not row.get("dataset_path")
    # A table in which nothing is an equation has no such column.
    if not ours or not row.get("equations") or row.get("metrics.identified") != "0.0":
        return None
    snr_db = float(row["snr_db"]) if row["snr_db"] else None
    wrong_answer = WrongAnswer(row["algorithm"], tuple(json.loads(row["equations"])))
    return row["data_type"], row["dataset"], snr_db, wrong_answer
