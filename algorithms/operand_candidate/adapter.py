"""The probe of operands: sees the operation with its operand and the candidate, nothing known."""

from __future__ import annotations

from candidate_trees import CandidateTrees, Question, candidate_numbers, share


class Adapter(CandidateTrees):
    """Boosted trees on the operation, its operand and the candidate."""

    @staticmethod
    def numbers(question: Question) -> list[float]:
        """Return the number of the operation, features of the candidate, and of the operand in it.

        The operand is looked for on each side: how often, at its ends, and after a ``d``.
        """
        operand = question.operand
        features = [
            float(question.operation),
            *candidate_numbers(question.sides),
            float(len(operand)),
        ]
        for side in question.sides:
            starts = [
                start
                for start in range(len(side) - len(operand) + 1)
                if operand and side[start : start + len(operand)] == operand
            ]
            before = [side[start - 1] for start in starts if start]
            features += [
                float(len(starts)),
                sum(side.count(word) for word in set(operand)) / max(1, len(operand)),
                share(operand, side),
                share(operand[::-1], side[::-1]),
                float(sum(word in {"d", r"\partial"} for word in before)),
                float(sum(word == "^" for word in before)),
                float(before.count("-")),
                float(before.count("+")),
                float(before.count("{")),
            ]
        return features
