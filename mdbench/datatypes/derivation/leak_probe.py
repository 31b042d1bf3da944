"""A leak probe: how far one gets who sees nothing but the candidate."""

from __future__ import annotations

import math
import re
from collections import Counter
from itertools import pairwise
from typing import TYPE_CHECKING

from mdbench.datatypes.derivation.texts import SEPARATOR

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

__all__ = ["probe", "tokens"]

_TOKEN = re.compile(r"\\[A-Za-z]+|[A-Za-z_]+|\d+|[^\sA-Za-z\d]")


def tokens(text: str) -> list[str]:
    r"""Cut a text into commands, words, numbers and signs.

    >>> tokens(r"\frac{d}{d x} = 12")
    ['\\frac', '{', 'd', '}', '{', 'd', 'x', '}', '=', '12']
    """
    return _TOKEN.findall(text)


def probe(train: Sequence[str], labels: Sequence[int], test: Iterable[str]) -> list[bool]:
    """Say which candidates a naive Bayes of words and pairs of them takes for right.

    Where it is right more often than a coin, or less often, the data tell of the label by the
    candidate alone.

    Parameters
    ----------
    train, labels
        Sequences, and 1 where the candidate is right.
    test
        Sequences.

    Returns
    -------
    list of bool
        For each sequence of the test.
    """
    counts: tuple[Counter[str], Counter[str]] = (Counter(), Counter())
    for text, label in zip(train, labels, strict=True):
        counts[label].update(_features(text))
    totals = [sum(labels), len(labels) - sum(labels)]
    if not all(totals):
        return [bool(totals[0])] * len(list(test))
    right, wrong = (total + 1.0 for total in totals)
    weights = {
        word: math.log((counts[1][word] + 0.5) / right) - math.log((counts[0][word] + 0.5) / wrong)
        for word in counts[0] | counts[1]
    }
    start = math.log(right / wrong)
    return [
        start + sum(weights.get(word, 0.0) for word in sorted(_features(text))) > 0 for text in test
    ]


def _features(text: str) -> set[str]:
    words = tokens(text.rpartition(SEPARATOR)[2])
    return {*words, *map(" ".join, pairwise(words))}
