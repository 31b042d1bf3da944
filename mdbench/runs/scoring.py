"""From what a method said to its scores: the data type reads and judges, and may refuse."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from mdbench.datatypes.base import Scores
from mdbench.errors import AnswerError
from mdbench.records import ScoreSoFar, Status

if TYPE_CHECKING:
    from mdbench.datatypes.base import Answer, DataType, Task
    from mdbench.runs.outcome import Outcome

__all__ = ["MISTAKES", "Judged", "judged"]

MISTAKES = (ArithmeticError, AssertionError, LookupError, RecursionError, TypeError, ValueError)
"""What a mistake in a scorer may raise on an answer that nobody thought of: one record then lacks
its scores, and no other job is touched."""


@dataclass(frozen=True)
class Judged:
    """What a job came to, with its scores; without any where there is no answer.

    Attributes
    ----------
    equations
        As they are recorded; None where there are none.
    """

    outcome: Outcome
    equations: tuple[str, ...] | None
    scores: Scores
    anytime: tuple[ScoreSoFar, ...] = ()


def judged(data_type: DataType[Any, Any], task: Task[Any], outcome: Outcome) -> Judged:
    """Read and score an answer.

    An answer that the data type refuses is `Status.INVALID_OUTPUT`; where the job had run out of
    time, and the answer was the bench's best guess at one, it is `Status.TIMEOUT`.  Where the
    scorer itself fails, which is no doing of the method's, all is undecided, and a note says why.
    """
    if outcome.raw is None:
        return Judged(outcome, None, Scores({}))
    try:
        answer = _read(data_type, task, outcome.raw)
        return Judged(outcome, answer.equations or None, _scores(data_type, task, answer))
    except AnswerError as error:
        status, reason = Status.INVALID_OUTPUT, error.message
        if outcome.late:
            status, reason = Status.TIMEOUT, f"{outcome.late}; of its best candidate: {reason}"
        refused = replace(outcome, status=status, reason=reason, raw=None, choice=None)
        return Judged(refused, None, Scores({}))


def _read(data_type: DataType[Any, Any], task: Task[Any], raw: Answer) -> Answer:
    try:
        return data_type.read_answer(task, raw)
    except MISTAKES as error:
        told = f"the answer cannot be used: {type(error).__name__}: {error}"
        raise AnswerError(told) from error


def _scores(data_type: DataType[Any, Any], task: Task[Any], answer: Answer) -> Scores:
    try:
        return data_type.score(task, answer)
    except MISTAKES as error:
        undecided = dict.fromkeys(data_type.metric_names(task))
        told = f"could not judge it: {type(error).__name__}: {error}"
        return Scores(undecided, {"scorer": [told]})
