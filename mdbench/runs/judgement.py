"""From what a method said to its scores: the data type reads and judges, and may refuse."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from mdbench.datatypes.base import Scores
from mdbench.errors import AnswerError
from mdbench.records import ScoreSoFar, Status

if TYPE_CHECKING:
    from mdbench.datatypes.base import DataType, Task
    from mdbench.runs.attempt import Outcome

__all__ = ["Judged", "judged"]


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
    time, and the answer was the bench's best guess at one, it is `Status.TIMEOUT`.
    """
    if outcome.raw is None:
        return Judged(outcome, None, Scores({}))
    try:
        answer = data_type.read_answer(task, outcome.raw)
        return Judged(outcome, answer.equations, data_type.judge(task, answer))
    except AnswerError as error:
        status, reason = Status.INVALID_OUTPUT, error.message
        if outcome.late:
            status, reason = Status.TIMEOUT, f"{outcome.late}; of its best candidate: {reason}"
        refused = replace(outcome, status=status, reason=reason, raw=None, choice=None)
        return Judged(refused, None, Scores({}))
