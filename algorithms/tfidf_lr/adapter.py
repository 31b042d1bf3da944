"""A bag of words: one, two and three of them at a time, wherever they are."""

from __future__ import annotations

from word_model import WordModel
from words import SEPARATOR, TOKEN


class Adapter(WordModel):
    """Logistic regression on the words of the whole text."""

    @staticmethod
    def words(text: str) -> list[str]:
        """Return all runs of up to three words."""
        found = TOKEN.findall(text.replace(SEPARATOR, " SEP "))
        return [
            " ".join(found[place : place + count])
            for count in (1, 2, 3)
            for place in range(len(found) - count + 1)
        ]
