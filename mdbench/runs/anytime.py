"""How good a job's answer would have been, had it ended earlier: by the bench's own clock."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from mdbench.datatypes.base import Answer
from mdbench.errors import AnswerError
from mdbench.records import ANSWERED, ScoreSoFar
from mdbench.runs.scoring import MISTAKES

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mdbench.datatypes.base import DataType, ScoredCandidate, Scores, Task
    from mdbench.metrics.spec import Value
    from mdbench.runs.outcome import Outcome

__all__ = ["SHARES", "scores_so_far"]

SHARES: Final = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0)
"""Shares of a job's budget at which its best answer so far is scored: no clock ends that, so that
which scores there are follows from the answers."""


def scores_so_far(
    data_type: DataType[Any, Any],
    task: Task[Any],
    outcome: Outcome,
    scores: Scores,
    timeout_s: float,
) -> tuple[ScoreSoFar, ...]:
    """Score the best answer up to each of `SHARES` of the budget.

    Up to the answer that is what the bench would have chosen of the candidates that had come, and
    from then on the answer.

    Parameters
    ----------
    scores
        Those of the answer.
    timeout_s
        The budget.
    """
    if outcome.status not in ANSWERED:
        return ()
    final = scores.metrics.get(data_type.metrics[0].name)
    answered = timeout_s if outcome.answered_s is None else outcome.answered_s
    offers = sorted(outcome.offers, key=lambda offer: offer.candidate.arrived_s)
    found = []
    last, known = 0, False
    score: Value = None
    for share in SHARES:
        limit = share * timeout_s
        if answered <= limit or share == SHARES[-1]:
            found.append(ScoreSoFar(share=share, score=final))
            continue
        there = sum(offer.candidate.arrived_s <= limit for offer in offers)
        if there > last:
            last = there
            known, score = _best(data_type, task, offers[:there])
        if known:
            found.append(ScoreSoFar(share=share, score=score))
    return tuple(found)


def _best(
    data_type: DataType[Any, Any], task: Task[Any], offers: Sequence[ScoredCandidate]
) -> tuple[bool, Value]:
    """Tell whether one of some candidates can be scored, and the score of what would be chosen."""
    choice = data_type.select(task, sorted(offers, key=lambda offer: offer.candidate.index))
    if choice is None or not task.has_equations:
        return False, None
    try:
        answer = data_type.read_answer(task, Answer(choice.equations))
        return True, data_type.primary_score(task, answer)
    except (AnswerError, *MISTAKES):
        return False, None
