"""Requests of a loop: counted, seeded, and ended by the budget, the time or a failing endpoint."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Protocol

from mdbench.worker import BudgetSpent, LanguageModelError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from mdbench.worker import Reply

    Message = dict[str, str]

__all__ = ["Asker", "SearchOver"]

MOST_FAILURES = 5
"""Requests that may fail one after the other."""


class SearchOver(Exception):  # noqa: N818 - it is an end, not an error
    """The budget or the time is used up: the search ends with its results so far."""


class _Model(Protocol):
    def chat(
        self,
        messages: Sequence[Message],
        n: int = 1,
        temperature: float | None = None,
        max_tokens: int | None = None,
        seed: int | None = None,
    ) -> list[Reply]:
        """Answer."""


class Asker:
    """Asks a model, and counts.

    Parameters
    ----------
    model
        A language model, or the control in place of one.
    samples
        Largest number of completions.
    seed
        Every request has its own seed, derived from this one.
    max_tokens
        Largest number of tokens of a completion.
    is_late
        Returns whether the search is to end.

    Attributes
    ----------
    asked
        Completions so far, those that were lost too.
    over
        Whether no more can be asked.
    late
        Whether the time limit ended it.
    useless
        Number of replies that could not be used, by reason.
    """

    def __init__(
        self,
        model: _Model,
        *,
        samples: int,
        seed: int,
        max_tokens: int,
        is_late: Callable[[], bool] = lambda: False,
    ) -> None:
        self.asked = 0
        self.over = self.late = False
        self.useless: Counter[str] = Counter()
        self._model = model
        self._samples = samples
        self._seed = seed
        self._max_tokens = max_tokens
        self._is_late = is_late
        self._requests = 0
        self._failures, self._answered = 0, False
        self._failure: LanguageModelError | None = None

    def ask(
        self, messages: Sequence[Message], n: int = 1, *, temperature: float | None = None
    ) -> list[Reply]:
        """Ask for completions; return `n` or fewer, none where the endpoint has failed.

        Raises
        ------
        SearchOver
            If samples, budget or time are used up.
        LanguageModelError
            If all requests until the end have failed, or the first few.
        """
        n = min(n, self._samples - self.asked)
        if self._is_late():
            self.over = self.late = True
        if n <= 0 or self.over:
            raise self._ended()
        self._requests += 1
        try:
            replies = self._model.chat(
                list(messages),
                n=n,
                temperature=temperature,
                max_tokens=self._max_tokens,
                seed=(self._seed * 1_000_003 + self._requests) % 2**31,
            )
        except BudgetSpent:
            raise self._ended() from None
        except LanguageModelError as error:
            self.asked += n
            self._failures += 1
            self._failure = error
            self.note(f"the endpoint failed: {error}")
            if self._failures >= MOST_FAILURES:
                raise self._ended() from error
            return []
        self._failures, self._answered = 0, True
        replies = replies[:n]
        # A model that returns nothing and no error would be asked without end.
        self.asked += len(replies) or n
        return replies

    def _ended(self) -> Exception:
        """Return the error that ends the search: a failure if the endpoint has never answered."""
        self.over = True
        return SearchOver() if self._answered or self._failure is None else self._failure

    def note(self, reason: object, reply: Reply | None = None) -> None:
        """Count a reply that could not be used, and report on it."""
        shown = str(reason)[:120].encode("ascii", "backslashreplace").decode()
        self.useless[shown] += 1
        if reply is not None:
            self.report(reply, f"not used: {shown}")

    @staticmethod
    def report(reply: Reply, verdict: str) -> None:
        """Print what became of a completion, for its transcript."""
        if reply.number:
            print(f"completion {reply.number}: {verdict}")  # noqa: T201 - for the log

    def summary(self) -> str:
        """Return a summary for the log: what was asked, and which replies could not be used."""
        lines = [f"{self.asked} completions asked for in {self._requests} requests"]
        lines += [f"{count} x {reason}" for reason, count in self.useless.most_common(20)]
        return "\n".join(lines)
