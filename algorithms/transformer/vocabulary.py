"""Words of sequences, and their numbers."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    import numpy as np
    from numpy.typing import NDArray

__all__ = ["STAND_INS", "Vocabulary"]

_WORD = re.compile(r"\[SEP\]|\\[A-Za-z]+|[A-Za-z_]+|\d|[^\sA-Za-z\d]")
_NAME = re.compile(r"[A-Za-z]|\\(alpha|beta|gamma|delta|pi|xi|chi|sigma|psi|omega)")
_CONSTANTS = {"e", "d", "i", "O"}
"""Letters that are no names."""
STAND_INS = 16
"""Numbers of names that no training has; the first follow the 0 of the padding."""


class Vocabulary:
    """The words of a training, and stand-ins for names that are new."""

    def __init__(self, words: Iterable[str]) -> None:
        first = 1 + STAND_INS
        self._number = {word: number for number, word in enumerate(sorted(set(words)), first)}
        self._names = {self._number[word] for word in self._number if _is_name(word)}

    @classmethod
    def of(cls, texts: Iterable[str]) -> Vocabulary:
        """Take all words of some texts."""
        return cls(word for text in texts for word in _WORD.findall(str(text)))

    def __len__(self) -> int:
        """Count all numbers, the padding's and the stand-ins' too."""
        return 1 + STAND_INS + len(self._number)

    def numbers(self, text: str, longest: int) -> list[int]:
        """Return the numbers of the last words of a text; new ones take stand-ins in turn."""
        new: dict[str, int] = {}
        found = []
        for word in _WORD.findall(text)[-longest:]:
            number = self._number.get(word)
            if number is None:
                number = new.setdefault(word, 1 + len(new) % STAND_INS)
            found.append(number)
        return found

    def exchanged(self, numbers: list[int], order: NDArray[np.int64]) -> list[int]:
        """Put stand-ins in place of all names, in an order of the `STAND_INS` from 0."""
        own = sorted(self._names.intersection(numbers))[:STAND_INS]
        new = dict(zip(own, (order[: len(own)] + 1).tolist(), strict=True))
        return [new.get(number, number) for number in numbers]


def _is_name(word: str) -> bool:
    return bool(_NAME.fullmatch(word)) and word not in _CONSTANTS
