"""Words marked with their part of the sequence, and with the operation asked for."""

from __future__ import annotations

import re

from word_model import WordModel
from words import SEPARATOR, TOKEN

_SUBSTITUTION = re.compile("substitute_[A-Za-z_]+")


class Adapter(WordModel):
    """Logistic regression on words marked with their part of the sequence."""

    @staticmethod
    def words(text: str) -> list[str]:
        """Return the words of each part, and those of the candidate with the operation.

        The operation's own letters and numbers, its operand and the steps that it refers to, are
        marked where they come again in the candidate.  An equation is the same with its sides
        swapped, and so do its words: what counts is whether both sides have a word, and the two
        substitutions, each of which is the other one then, are one operation.
        """
        known, operation, candidate = _SUBSTITUTION.sub("substitute", text).split(SEPARATOR)
        op, *details = TOKEN.findall(operation.strip("[]"))
        own = {each for each in details if each not in {",", "{", "}"}}
        found = [f"known:{word}" for word in TOKEN.findall(known)]
        left, _, right = candidate.partition(" = ")  # in calculus there is but one side
        sides = [_with_pairs(part, own) for part in (left, right)]
        shared = set(sides[0]).intersection(sides[1])
        for word in sides[0] + sides[1]:
            where = "both" if word in shared else "one"
            found += [f"candidate:{word}", f"{op}:{word}", f"{op}:{where}:{word}"]
        return found


def _with_pairs(part: str, own: set[str]) -> list[str]:
    """Return the words of a side, and the pairs of neighbours; nothing where there is no side."""
    words = ["operand" if word in own else word for word in TOKEN.findall(part)]
    pairs = zip(["begin", *words], [*words, "end"], strict=True) if words else ()
    return words + [" ".join(pair) for pair in pairs]
