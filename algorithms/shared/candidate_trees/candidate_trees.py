"""Boosted trees that see the operation and the candidate, and no equation that is known.

They probe what the data reveal to a method that reads nothing of a derivation.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from typing import TYPE_CHECKING

import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier
from threadpoolctl import threadpool_limits
from words import SEPARATOR, TOKEN, labels_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from mdbench.worker import Problem

    Array = NDArray[np.float64]

__all__ = ["CandidateTrees", "Question", "candidate_numbers", "question_of", "share"]

_OPERATIONS = (
    "premise", "renaming_premise", "cos", "sin", "exp", "log", "expand", "evaluate_derivatives",
    "evaluate_integrals", "add", "minus", "times", "divide", "power", "differentiate", "integrate",
    "substitute_LHS_for_RHS", "substitute_RHS_for_LHS",
)  # fmt: skip
_MARKS = (
    r"\sin", r"\cos", r"\log", "e", r"\int", r"\iint", r"\frac", r"\partial", "d", "-", "+", "^",
    "(", "{", "1", "2",
)  # fmt: skip


class Question:
    """The parts of a sequence that a probe may see.

    Attributes
    ----------
    operation
        The number of the operation; -1 in calculus, where all are asked for the same.
    operand
        Its words; in calculus those of the variable.
    sides
        The words of the candidate's sides; of calculus the first has none.
    """

    def __init__(self, operation: int, operand: list[str], sides: list[list[str]]) -> None:
        self.operation, self.operand, self.sides = operation, operand, sides


def question_of(text: str) -> Question:
    """Split a sequence, and drop what is known."""
    _, operation, candidate = text.split(SEPARATOR)
    name, *rest = operation.strip("[]").split(", ", 2)
    left, equal, right = candidate.partition(" = ")
    sides = [TOKEN.findall(left), TOKEN.findall(right)] if equal else [[], TOKEN.findall(left)]
    if name not in _OPERATIONS:
        return Question(-1, TOKEN.findall(operation), sides)
    takes_operand = not name.startswith("substitute") and len(rest) > 1
    return Question(_OPERATIONS.index(name), TOKEN.findall(rest[1]) if takes_operand else [], sides)


def candidate_numbers(sides: Sequence[Sequence[str]]) -> list[float]:
    """Return features of a candidate: words of each side, and what both have in common."""
    counts = [Counter(side) for side in sides]
    features: list[float] = []
    for side, count in zip(sides, counts, strict=True):
        ends = [_MARKS.index(word) if word in _MARKS else -1 for word in (*side[:1], *side[-1:])]
        features += [len(side), len(count), *(ends or (-1, -1))]
        features += [count[mark] for mark in _MARKS]
    shared = sum((counts[0] & counts[1]).values())
    features += [
        shared,
        shared / max(1, min(map(len, sides))),
        share(sides[0], sides[1]),
        share(sides[0][::-1], sides[1][::-1]),
        len(sides[0]) - len(sides[1]),
    ]
    features += [counts[0][mark] - counts[1][mark] for mark in _MARKS]
    return list(map(float, features))


def share(one: Sequence[str], other: Sequence[str]) -> float:
    """Return the share of the words of one text that another one begins with, too."""
    length = 0
    for first, second in zip(one, other, strict=False):
        if first != second:
            break
        length += 1
    return length / max(1, len(one))


class CandidateTrees(ABC):
    """Boosted trees on features of a question.

    Parameters
    ----------
    seed
        Seed of the boosting.
    threads
        Number of threads that it may use.
    rounds, rate
        Trees, and how much each adds.
    """

    def __init__(self, *, seed: int, threads: int, rounds: int = 300, rate: float = 0.1) -> None:
        self._threads = threads
        self._model = HistGradientBoostingClassifier(
            max_iter=rounds, learning_rate=rate, random_state=seed, early_stopping=False
        )

    question = staticmethod(question_of)

    @staticmethod
    @abstractmethod
    def numbers(question: Question) -> list[float]:
        """Return the features of a question."""

    def fit(self, problem: Problem) -> None:
        """Learn.

        Raises
        ------
        ValueError
            If the labels are not 0 and 1.
        """
        labels = labels_of(problem)
        with threadpool_limits(limits=self._threads):
            self._model.fit(self._table(problem), labels)

    def predict(self, problem: Problem) -> Array:
        """Return the probability that each candidate is right, (n, 1)."""
        with threadpool_limits(limits=self._threads):
            chances: Array = self._model.predict_proba(self._table(problem))[:, 1:]
        return chances

    def _table(self, problem: Problem) -> Array:
        return np.array([self.numbers(self.question(str(text))) for text in problem.X])

    def equations(self) -> list[str]:
        """There are none."""
        return []
