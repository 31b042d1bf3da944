"""The base of all printers of equations."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, ClassVar, Literal, NamedTuple, TypeAlias

from mdbench.expressions.tree import Call, Chain, Negation, Node, Number, Power, Variable

if TYPE_CHECKING:
    from collections.abc import Mapping

SUM, PRODUCT, SIGN, POWER, ATOM = range(5)
"""How strongly the parts of an expression hang together."""

End: TypeAlias = Literal[
    "number", "name", "word", "function", "bracket", "bar", "derivative", "form"
]
"""What stands at an end of a part: a ``name`` has one letter; a ``form`` cannot be taken for a part
of its neighbour."""


class Part(NamedTuple):
    """A printed node.

    Attributes
    ----------
    text
        The printed text; in mathematics without a leading minus.
    strength
        How strongly it hangs together, from `SUM` to `ATOM`.
    first, last
        What stands at its ends (mathematics only).
    minus
        Whether a minus stands before it (mathematics only); not before a sum.
    """

    text: str
    strength: int
    first: End = "form"
    last: End = "form"
    minus: bool = False


class Printer(ABC):
    """Base of all printers."""

    constants: ClassVar[Mapping[str, str]]
    """How named constants are written."""

    def print(self, node: Node) -> str:
        """Return the text of a tree."""
        return self._visit(node).text

    def _visit(self, node: Node) -> Part:
        match node:
            case Number():
                return self._number(node.text)
            case Variable():
                return self._variable(node.name)
            case Negation():
                return self._negation(node)
            case Power():
                return self._power(node.base, node.exponent)
            case Call():
                return self._call(node)
            case Chain():
                return self._sum(node) if node.rest[0][0] in "+-" else self._product(node)

    @abstractmethod
    def _number(self, text: str) -> Part: ...

    @abstractmethod
    def _variable(self, name: str) -> Part: ...

    @abstractmethod
    def _negation(self, node: Negation) -> Part: ...

    @abstractmethod
    def _power(self, base: Node, exponent: Node) -> Part: ...

    @abstractmethod
    def _call(self, node: Call) -> Part: ...

    @abstractmethod
    def _sum(self, node: Chain) -> Part: ...

    @abstractmethod
    def _product(self, node: Chain) -> Part: ...


def plain_number(text: str) -> str:
    """Return a number as every language reads it: Python takes no 007, and Julia no 2.*x."""
    mantissa, e, exponent = text.lower().partition("e")
    whole, point, decimals = mantissa.partition(".")
    whole = whole.lstrip("0") or "0"
    return f"{whole}{point}{decimals or '0' if point else ''}{e}{exponent}"
