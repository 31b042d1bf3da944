"""The leak probe: sees the candidate alone, and so should be no better than chance."""

from __future__ import annotations

from itertools import pairwise

from word_model import WordModel
from words import SEPARATOR, TOKEN


class Adapter(WordModel):
    """Logistic regression on the words of the candidate, one and two at a time."""

    @staticmethod
    def words(text: str) -> list[str]:
        """Return the words of the last part, and the pairs of neighbours."""
        found = TOKEN.findall(text.rpartition(SEPARATOR)[2])
        return found + [" ".join(pair) for pair in pairwise(found)]
