"""A throw-away data type whose answers are no equations: words, and what kind each is of."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from mdbench.datatypes.base import (
    NO_OPTIONS,
    Answer,
    Candidate,
    Dataset,
    DataType,
    ScoredCandidate,
    Scores,
    Source,
    Split,
    Task,
)
from mdbench.datatypes.facts import Option
from mdbench.errors import AnswerError, UsageError
from mdbench.metrics.spec import MetricSpec

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from mdbench.datatypes.facts import Protocol

RULES: dict[str, Callable[[str], str]] = {
    "vowels": lambda word: "vowel" if word[0] in "aeiou" else "consonant",
    "lengths": lambda word: "long" if len(word) > 4 else "short",
    "coins": lambda word: "heads" if hashlib.sha256(word.encode()).digest()[0] % 2 else "tails",
}
ACCURACY = MetricSpec(
    name="accuracy",
    title="accuracy",
    explanation="the share of words that are labelled rightly",
    better="higher",
    on_failure=0.0,
    aggregate="mean",
    digits=2,
    nothing=0.5,
    places=frozenset({"board", "answer", "brief", "figure"}),
)
F1 = MetricSpec(
    name="macro_f1",
    title="F1",
    explanation="the mean of the harmonic means of precision and recall, over the labels",
    better="higher",
    on_failure=0.0,
    aggregate="mean",
    digits=2,
    places=frozenset({"board", "answer"}),
)


@dataclass(frozen=True, eq=False)
class Words(Dataset):
    words: NDArray[np.str_] = field(repr=False)
    labels: NDArray[np.str_] = field(repr=False)


@dataclass(frozen=True)
class Labels(Answer):
    labels: NDArray[np.str_] = field(kw_only=True, repr=False)


class _Rules(Source[Words]):
    def names(self) -> list[str]:
        return list(RULES)

    def title(self, name: str) -> str:
        return f"words by {name}"

    def load(
        self,
        name: str,
        *,
        snr_db: float | None,
        seed: int,  # noqa: ARG002 - the words are the same
        protocol: Protocol,  # noqa: ARG002 - likewise
        options: Mapping[str, Any] = NO_OPTIONS,
    ) -> Words:
        if name not in RULES:
            raise UsageError(f"There is no dataset {name!r}.")
        count = options.get("words", 100)
        drawn = np.random.default_rng(7).integers(0, 26, (count, 7))
        words = ["".join(chr(97 + n) for n in row)[: 2 + row[0] % 6] for row in drawn]
        labels = [RULES[name](word) for word in words]
        fingerprint = hashlib.sha256(repr((words, labels)).encode()).hexdigest()
        # The coins fall as they like: not even the truth is better than a guess.
        floor = 0.5 if name == "coins" else 1.0
        return Words(
            name, 1, snr_db, None, "equations", fingerprint, np.array(words), np.array(labels),
            floor=floor,
        )  # fmt: skip


class Kinds(DataType[Words, Task[Words]]):
    name = "labels"
    views = ("words",)
    families = ("classifier",)
    metrics = (ACCURACY, F1)
    check_datasets = ("vowels",)
    snr_levels = False
    options = (Option("--words", "How many words there are.", metavar="N", parse=int),)

    def source(self, path: Path | None = None) -> Source[Words]:
        assert path is None
        return _Rules()

    def task(self, dataset: Words, view: str, protocol: Protocol) -> Task[Words]:
        n = len(dataset.words)

        def part(first: float, last: float) -> Split:
            rows = slice(round(first * n), round(last * n))
            return Split({"words": dataset.words[rows]}, "labels", dataset.labels[rows, None])

        parts = part(0, 0.6), part(0.6, 0.8), part(0, 0.8), part(0.8, 1)
        return Task(
            dataset,
            view,
            protocol,
            ("word",),
            ("kind",),
            *parts,
            has_equations=False,
            any_order=True,
        )

    def read_answer(self, task: Task[Words], answer: Answer) -> Labels:
        known = set(map(str, np.unique(task.refit.targets)))
        if answer.predictions is None:
            raise AnswerError("there are no labels")
        if strange := set(map(str, np.unique(answer.predictions))) - known:
            raise AnswerError(f"{min(strange)!r} is no label; there are {sorted(known)}")
        return Labels(labels=answer.predictions)

    def score(self, task: Task[Words], answer: Answer) -> Scores:
        assert isinstance(answer, Labels)
        return Scores(_scores(answer.labels, task.test.targets))

    def evaluate_candidate(
        self, task: Task[Words], data: Split, candidate: Candidate
    ) -> ScoredCandidate:
        del task
        assert candidate.predictions is not None
        accuracy = _scores(candidate.predictions, data.targets)["accuracy"]
        return ScoredCandidate(candidate, 1 - accuracy, 0, accuracy)


def _scores(found: NDArray[Any], true: NDArray[Any]) -> dict[str, float]:
    return {"accuracy": float(np.mean(found == true)), "macro_f1": _macro_f1(found, true)}


def _macro_f1(found: NDArray[Any], true: NDArray[Any]) -> float:
    scores: Sequence[float] = [
        2 * float(np.sum((found == label) & (true == label)))
        / (float(np.sum(found == label)) + float(np.sum(true == label)))
        for label in np.unique(true)
    ]  # fmt: skip
    return float(np.mean(scores))


DATA_TYPE = Kinds
