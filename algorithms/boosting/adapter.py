"""Boosted trees on features of what changed from the equation referred to.

No feature depends on the names of symbols.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier
from threadpoolctl import threadpool_limits
from words import SEPARATOR, TOKEN, labels_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from mdbench.worker import Problem

    Array = NDArray[np.float64]

OPERATIONS = (
    "cos", "sin", "exp", "log", "expand", "evaluate_derivatives", "evaluate_integrals",
    "add", "minus", "times", "divide", "power", "differentiate", "integrate",
    "substitute_LHS_for_RHS", "substitute_RHS_for_LHS",
)  # fmt: skip
_MARKS = (r"\sin", r"\cos", r"\log", "e", r"\int", r"\frac", r"\partial", "-", "^", "+")
_FIRST = (r"\sin", r"\cos", r"\log", "e", r"\int", r"\iint", r"\frac", "-", "(")


class SequenceParts(NamedTuple):
    """The parts of a sequence.

    Attributes
    ----------
    operation
        The number of the operation, or -1.
    operand
        Its words.
    first, second
        The sides of the equations that it refers to; the expression itself in calculus.
    candidate
        Its sides.
    """

    operation: int
    operand: tuple[str, ...]
    first: tuple[str, str]
    second: tuple[str, str]
    candidate: tuple[str, str]


class Adapter:
    """Boosted trees.

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

    def fit(self, problem: Problem) -> None:
        """Learn.

        Raises
        ------
        ValueError
            If the labels are not 0 and 1.
        """
        labels = labels_of(problem)
        with threadpool_limits(limits=self._threads):
            self._model.fit(_table(problem), labels)

    def predict(self, problem: Problem) -> Array:
        """Return the probability that each candidate is right, (n, 1)."""
        with threadpool_limits(limits=self._threads):
            chances: Array = self._model.predict_proba(_table(problem))[:, 1:]
        return chances

    def equations(self) -> list[str]:
        """There are none."""
        return []


def _table(problem: Problem) -> Array:
    return np.array([numbers(split_sequence(str(text))) for text in problem.X])


def split_sequence(text: str) -> SequenceParts:
    """Split a sequence into the operation and the equations."""
    known, operation, candidate = text.split(SEPARATOR)
    steps = [_sides(step) for step in _steps(known)]
    name, *rest = operation.strip("[]").split(", ", 2)
    if name not in OPERATIONS:  # calculus: an expression, and a variable
        return SequenceParts(
            -1, tuple(TOKEN.findall(operation)), _sides(known), ("", ""), _sides(candidate)
        )
    refs = [int(each) for each in rest if each.isdigit()]
    substitutes = name.startswith("substitute")
    operand = "" if substitutes or len(rest) < 2 else rest[1]  # noqa: PLR2004 - number, operand
    return SequenceParts(
        OPERATIONS.index(name),
        tuple(TOKEN.findall(operand)),
        steps[refs[0] - 1],
        steps[refs[1] - 1] if substitutes else ("", ""),
        _sides(candidate),
    )


def _steps(known: str) -> list[str]:
    """Split the known part at the commas between steps, and return the equation of each."""
    found, depth, begin = [], 0, 0
    for place, character in enumerate(known):
        if character == "[":
            begin = place + 1 if depth == 0 else begin
            depth += 1
        elif character == "]":
            depth -= 1
            if depth == 0:
                found.append(known[begin:place])
    return [_without_annotation(step) for step in found]


def _without_annotation(step: str) -> str:
    if step.startswith("["):
        return step.partition("], ")[2]
    return step.partition(", ")[2]


def _sides(equation: str) -> tuple[str, str]:
    left, equal, right = equation.partition(" = ")
    return (left, right) if equal else ("", left)


def numbers(parts: SequenceParts) -> list[float]:
    """Return features: the operation, and which words are added and removed on each side."""
    found: list[float] = [parts.operation]
    operand = " ".join(parts.operand)
    for side in (0, 1):
        before, after = parts.first[side], parts.candidate[side]
        words_before, words = TOKEN.findall(before), TOKEN.findall(after)
        old, new = Counter(words_before), Counter(words)
        more, less = sum((new - old).values()), sum((old - new).values())
        first = words[0] if words else ""
        found += [
            more,
            less,
            len(words),
            before == after,
            bool(before) and before in after,
            _FIRST.index(first) if first in _FIRST else -1,
            sum((new - old)[word] for word in set(parts.operand)) if operand else -1,
            _common_start(words_before, words),
            _common_start(words_before[::-1], words[::-1]),
            parts.second[side] in after if parts.second[side] else -1,
            parts.second[1 - side] in after if parts.second[1 - side] else -1,
            after.count(parts.second[0]) - before.count(parts.second[0]) if parts.second[0] else 0,
            after.count(parts.second[1]) - before.count(parts.second[1]) if parts.second[1] else 0,
            f"d{operand}" in after.replace(" ", "") if operand else -1,
            f"d {operand}}}" in after or f"partial {operand}}}" in after if operand else -1,
            *(new[mark] - old[mark] for mark in _MARKS),
        ]
    left, right = parts.candidate
    found += [
        left == right,
        parts.candidate[0] == parts.first[1],
        parts.candidate[1] == parts.first[0],
        _count(left) - _count(right),
        _count(parts.first[0]) - _count(parts.first[1]),
        len(parts.operand),
    ]
    return list(map(float, found))


def _count(text: str) -> int:
    """Count words: how many letters a name has must not matter."""
    return len(TOKEN.findall(text))


def _common_start(one: Sequence[str], other: Sequence[str]) -> float:
    """Return the share of a text's words that another one begins with, too."""
    length = 0
    for a, b in zip(one, other, strict=False):
        if a != b:
            break
        length += 1
    return length / max(1, len(one))
