"""Random draws of the grammar in place of a model's replies: the control of every loop."""

from __future__ import annotations

import math
import time
from random import Random
from typing import TYPE_CHECKING, Any

from mdbench.worker import BudgetSpent, Reply, Unavailable

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

__all__ = ["DrawingModel", "GrammarDraws"]

_UNARY = ("sin", "cos", "exp", "log", "sqrt", "tanh", "abs")
_BINARY = ("+", "-", "*", "/")
_POWERS = ("**2", "**3")
_MOST_CONSTANTS = 10
_PER_MESSAGE = 16
"""Tokens that a message may take in addition to its text, at most."""
_LETTERS_A_TOKEN = 4
_MILLION = 1e6


class GrammarDraws:
    """Draws expressions of Python.

    Parameters
    ----------
    seed
        Seed of all draws.
    variables
        Names.
    max_size
        The largest number of leaves and operations.
    call
        Form of a function call, such as ``np.{}``.
    functions
        Of one argument.
    """

    def __init__(
        self,
        seed: int,
        variables: Sequence[str],
        *,
        max_size: int = 20,
        call: str = "np.{}",
        functions: Sequence[str] = _UNARY,
    ) -> None:
        self.random = Random(seed)  # noqa: S311 - a search, no secret
        self._variables = list(variables)
        self._max_size = max_size
        self._call = call
        self._functions = list(functions)

    def expression(self, constant: Callable[[int], str]) -> tuple[str, int]:
        """Draw an expression, and return it with its number of constants.

        Parameters
        ----------
        constant
            Returns the text of the constant of a number.
        """
        self._constants = 0
        self._constant = constant
        text = self._tree(self.random.randint(1, self._max_size))
        return text, self._constants

    def _tree(self, size: int) -> str:
        if size == 1:
            return self._leaf()
        kind = self.random.random()
        if size == 2 or kind < 0.3:  # noqa: PLR2004
            inner = self._tree(size - 1)
            if not self._functions or self.random.random() < 0.2:  # noqa: PLR2004
                return f"({inner}){self.random.choice(_POWERS)}"
            return f"{self._call.format(self.random.choice(self._functions))}({inner})"
        left = self.random.randint(1, size - 2)
        operator = self.random.choice(_BINARY)
        return f"({self._tree(left)} {operator} {self._tree(size - 1 - left)})"

    def _leaf(self) -> str:
        place = self.random.randrange(len(self._variables) + 1)
        if place < len(self._variables):
            return self._variables[place]
        if self._constants >= _MOST_CONSTANTS:
            return "1.0"
        self._constants += 1
        return self._constant(self._constants - 1)


class DrawingModel:
    """Takes the place of a language model: replies are drawn, whatever the prompt.

    It keeps the budget of the method whose control this is, as the benchmark keeps it: a call is
    made if the most that it can take is left.  Prompts and drawn replies count a token for four
    letters, as where an endpoint does not count them; seconds are those of the search.

    Parameters
    ----------
    write
        Writes a reply in the form that the loop reads.
    budget
        Limits by name: ``calls``, ``prompt_tokens``, ``completion_tokens``, ``seconds``, and
        ``money`` by ``price``, of a million tokens of prompts and of completions; and ``longest``,
        the tokens of a completion where the method's own number does not count.
    """

    def __init__(self, write: Callable[[], str], budget: Mapping[str, Any] | None = None) -> None:
        self._write = write
        self._budget = dict(budget or {})
        self._price = self._budget.pop("price", (0.0, 0.0))
        self._longest = self._budget.pop("longest", None)
        self._used = {"calls": 0.0, "prompt_tokens": 0.0, "completion_tokens": 0.0}
        self._begun = time.monotonic()

    def _left(self, prompt: int, completion: int) -> bool:
        """Whether one more call fits that takes so many tokens at most."""
        would = {
            "calls": self._used["calls"] + 1,
            "prompt_tokens": self._used["prompt_tokens"] + prompt,
            "completion_tokens": self._used["completion_tokens"] + completion,
        }
        of_prompts, of_completions = self._price
        would["money"] = of_prompts * would["prompt_tokens"] / _MILLION
        would["money"] += of_completions * would["completion_tokens"] / _MILLION
        if "seconds" in self._budget:
            would["seconds"] = time.monotonic() - self._begun
        return all(value <= self._budget.get(name, math.inf) for name, value in would.items())

    def chat(
        self,
        messages: Sequence[Mapping[str, str]],  # its length counts, and nothing else
        n: int = 1,
        temperature: float | None = None,  # noqa: ARG002
        max_tokens: int | None = None,
        seed: int | None = None,  # noqa: ARG002
    ) -> list[Reply]:
        """Draw replies.

        Raises
        ------
        BudgetSpent
            If not one more is left.
        Unavailable
            If the budget has not even one, as the method of which this is the control is then.
        """
        longest = self._longest or max_tokens or 0
        texts = [each["content"] for each in messages]
        most = sum(len(text.encode()) + _PER_MESSAGE for text in texts) + _PER_MESSAGE
        prompt = -(-sum(map(len, texts)) // _LETTERS_A_TOKEN)
        replies: list[Reply] = []
        while len(replies) < n and self._left(most, longest):
            text = self._write()
            written = -(-len(text) // _LETTERS_A_TOKEN)
            self._used["calls"] += 1
            self._used["prompt_tokens"] += prompt
            self._used["completion_tokens"] += written
            replies.append(Reply(text, "stop", prompt, written))
        if not replies and not self._used["calls"]:
            raise Unavailable(
                f"the budget has less than one completion may take: {longest:,} tokens, after a "
                f"prompt of {most:,} at most"
            )
        if not replies:
            raise BudgetSpent("the budget of this job is used up")
        return replies
