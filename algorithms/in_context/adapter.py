"""A language model that is asked about each sequence, with labelled examples in the question."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import numpy as np
from asking import Asker, SearchOver
from replies import ReplyError, reply_text
from words import SEPARATOR, labels_of

from mdbench.worker import language_model

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from mdbench.worker import Problem

    Array = NDArray[np.float64]

_TASK = """\
You check steps of mathematical derivations. What is known, an operation and a candidate are \
given, in LaTeX. Of a derivation its steps are given, numbered from 1 in their order, each as the \
operation that gave it and the equation; the operation names the numbers of the steps that it \
takes, and its operand. Of calculus an expression, the variable and the result are given.
The candidate is right if it is what the operation gives. It is wrong if it is anything else, \
even where it is true.
End your answer with a line that has "Answer: right" or "Answer: wrong"."""
_PARTS = ("Known", "Operation", "Candidate")
_ANSWER = re.compile(r"\banswer\b\W*(right|wrong)\b", re.IGNORECASE)
_RIGHT = re.compile(r"\b(right|correct|true|yes)\b", re.IGNORECASE)
_WRONG = re.compile(r"\b(wrong|incorrect|false|no|not)\b", re.IGNORECASE)


class Adapter:
    """Asks about every sequence by itself, all with the same examples.

    Parameters
    ----------
    seed
        Of the examples that are drawn, and of the requests.
    threads
        Not used: what takes time is the model.
    examples
        Labelled sequences of the training in a question, as many right as wrong ones; 0 for none.
    max_tokens, temperature
        Of a completion.
    """

    def __init__(
        self,
        *,
        seed: int,
        threads: int,
        examples: int = 4,
        max_tokens: int = 16384,
        temperature: float = 0.0,
    ) -> None:
        del threads
        if examples < 0:
            raise ValueError(f"examples is {examples}: it is a number of sequences, 0 or more")
        self._seed, self._examples = seed, examples
        self._max_tokens, self._temperature = max_tokens, temperature

    def fit(self, problem: Problem) -> None:
        """Draw the examples; nothing is asked yet.

        Raises
        ------
        ValueError
            If the labels are not 0 and 1.
        Unavailable
            If no model was named.
        """
        self._model = language_model()
        draw = np.random.default_rng(self._seed)
        labels = labels_of(problem)
        shown = []
        for label in (1.0, 0.0):
            rows = np.flatnonzero(labels == label)
            # Of an odd number the last is a right one.
            wanted = (self._examples + int(label)) // 2
            shown += draw.permutation(rows)[:wanted].tolist()
        self._shown: list[dict[str, str]] = []
        for row in draw.permutation(np.array(shown, int)):
            verdict = "right" if labels[row] else "wrong"
            self._shown += [
                {"role": "user", "content": _question(str(problem.X[row]))},
                {"role": "assistant", "content": f"Answer: {verdict}"},
            ]

    def predict(self, problem: Problem) -> Array:
        """Return 1 where the model says that the candidate is right, else 0, (n, 1).

        What has no answer is 0, too: where the budget has ended, or no answer can be read.

        Raises
        ------
        LanguageModelError
            If the endpoint has failed from the start.
        """
        texts = [str(text) for text in problem.X]
        asker = Asker(self._model, samples=len(texts), seed=self._seed, max_tokens=self._max_tokens)
        found: dict[str, float] = {}
        unread = 0
        for text in dict.fromkeys(texts):
            try:
                verdict = self._ask(asker, text)
            except SearchOver:
                break
            unread += verdict is None
            found[text] = float(bool(verdict))
        answered = len(found) - unread
        print(asker.summary())  # noqa: T201 - for the log
        print(f"{answered} of {len(set(texts))} different sequences have an answer")  # noqa: T201
        return np.array([[found.get(text, 0.0)] for text in texts])

    def _ask(self, asker: Asker, text: str) -> bool | None:
        """Return whether the model holds a candidate for right; None where it does not say."""
        messages = [
            {"role": "system", "content": _TASK},
            *self._shown,
            {"role": "user", "content": _question(text)},
        ]
        for reply in asker.ask(messages, temperature=self._temperature):
            try:
                verdict = verdict_of(reply_text(reply))
            except ReplyError as error:
                asker.note(error, reply)
                return None
            if verdict is None:
                asker.note("the reply says neither right nor wrong", reply)
            else:
                asker.report(reply, "right" if verdict else "wrong")
            return verdict
        return None

    def equations(self) -> list[str]:
        """There are none."""
        return []


def _question(text: str) -> str:
    """Write a sequence as a question."""
    parts: Any = zip(_PARTS, text.split(SEPARATOR, 2), strict=True)
    return "\n".join(f"{title}: {part}" for title, part in parts)


def verdict_of(text: str) -> bool | None:
    """Return whether an answer says that a candidate is right; None where it says neither.

    The last line of the form asked for counts.  Without one the last line that is not empty does,
    if it has words for one of both alone.
    """
    asked_for = _ANSWER.findall(text)
    if asked_for:
        return bool(asked_for[-1].lower() == "right")
    lines = text.strip().splitlines()
    last = lines[-1] if lines else ""
    right, wrong = (bool(pattern.search(last)) for pattern in (_RIGHT, _WRONG))
    return None if right == wrong else right
