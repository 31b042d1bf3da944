"""Random draws of the grammar in place of a model's replies: the control of every loop."""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING

from mdbench.worker import Reply

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

__all__ = ["DrawingModel", "GrammarDraws"]

_UNARY = ("sin", "cos", "exp", "log", "sqrt", "tanh", "abs")
_BINARY = ("+", "-", "*", "/")
_POWERS = ("**2", "**3")
_MOST_CONSTANTS = 10


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

    Parameters
    ----------
    write
        Writes a reply in the form that the loop reads.
    """

    def __init__(self, write: Callable[[], str]) -> None:
        self._write = write

    def chat(
        self,
        messages: Sequence[Mapping[str, str]],  # noqa: ARG002 - not looked at, which is the point
        n: int = 1,
        temperature: float | None = None,  # noqa: ARG002
        max_tokens: int | None = None,  # noqa: ARG002
        seed: int | None = None,  # noqa: ARG002
    ) -> list[Reply]:
        """Draw replies."""
        return [Reply(self._write(), "stop", 0, 0) for _ in range(n)]
