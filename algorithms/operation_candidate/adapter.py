"""The probe of operations: sees the operator's name and the candidate, and no known equation."""

from __future__ import annotations

from candidate_trees import CandidateTrees, Question, candidate_numbers


class Adapter(CandidateTrees):
    """Boosted trees on the name of the operation and on the candidate."""

    @staticmethod
    def numbers(question: Question) -> list[float]:
        """Return the number of the operation, and features of the candidate."""
        return [float(question.operation), *candidate_numbers(question.sides)]
