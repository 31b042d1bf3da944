"""Equations as mathematics is set: what needs brackets, and where a product needs a dot.

A part is set together with what is seen of it (`SetPart`): whether a minus stands before it, how
strongly it hangs together, and what stands at its two ends.  Brackets and dots follow from that
alone, and so from what is printed.  MathML and LaTeX differ in their `Alphabet` only.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias, TypeGuard

from mdbench.expressions.tree import (
    ALIASES,
    CONSTANTS,
    Call,
    Chain,
    Negation,
    Node,
    Number,
    Power,
    Variable,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

__all__ = ["Alphabet", "End", "Setter"]

_SUM, _PRODUCT, _POWER, _ATOM = range(4)
"""How strongly parts hang together; an atom alone can be raised to a power without brackets."""
_ON_TOP = frozenset({"sin", "cos", "tan", "sinh", "cosh", "tanh"})
"""Functions whose powers are written as sin²(x)."""
_SQUARE = 2

End: TypeAlias = Literal[
    "number", "name", "word", "function", "bracket", "bar", "derivative", "form"
]
"""What stands at an end: a ``name`` has one letter; a ``form`` cannot be taken for a part of what
is beside it."""


@dataclass(frozen=True)
class Alphabet:
    """How things are written.

    Attributes
    ----------
    sign, minus, plus, comma, times, thin, dot
        Signs; `sign` is the minus before one part, and `minus` that between two, `times` is an
        invisible product, and `thin` one before a function's name.
    row
        Holds a part together, unseen.
    brackets, bars, root
        Are put around a part.
    fraction, power
        Of two parts.
    digits
        Rounds the text of a number, or leaves it as it is.
    number
        Writes a decimal number without an exponent.
    constants
        By our name.
    variable
        Writes a name, and says what is seen of it.
    function
        Writes the usual name of a function.
    exponential
        Writes exp as a power of e; None where it is a function like others.
    """

    sign: str
    minus: str
    plus: str
    comma: str
    times: str
    thin: str
    dot: str
    row: Callable[[str], str]
    brackets: Callable[[str], str]
    bars: Callable[[str], str]
    root: Callable[[str], str]
    fraction: Callable[[str, str], str]
    power: Callable[[str, str], str]
    digits: Callable[[str], str]
    number: Callable[[str], str]
    constants: Mapping[str, str]
    variable: Callable[[str], tuple[str, End]]
    function: Callable[[str], str]
    exponential: Callable[[str], str] | None = None


class SetPart(NamedTuple):
    """A part as it is set.

    Attributes
    ----------
    markup
        Without the minus.
    strength
        How strongly the markup hangs together: one of the four above.
    first, last
        What stands at its ends.
    minus
        Whether a minus stands before it; only of a product or what hangs together more strongly.
    """

    markup: str
    strength: int
    first: End
    last: End
    minus: bool = False


class Setter:
    """Sets trees with an alphabet."""

    def __init__(self, alphabet: Alphabet) -> None:
        self._a = alphabet

    def markup(self, node: Node) -> str:
        """Set an equation."""
        return self._whole(self._set(node))

    def markup_of(self, number: float) -> str:
        """Set a number, which may be negative."""
        part = self._number(Number(None, repr(abs(number))))
        return self._whole(part._replace(minus=number < 0))

    def _set(self, node: Node) -> SetPart:
        match node:
            case Number():
                return self._number(node)
            case Variable():
                return self._variable(node)
            case Negation():
                inner = self._set(node.operand)
                plain = not inner.minus and inner.strength >= _PRODUCT
                return (inner if plain else self._bracketed(inner))._replace(minus=True)
            case Power():
                return self._power(node.base, node.exponent)
            case Call():
                return self._call(node)
            case Chain():
                return self._sum(node) if node.rest[0][0] in {"+", "-"} else self._product(node)

    def _variable(self, node: Variable) -> SetPart:
        markup, end = self._a.variable(node.name)
        if end == "derivative":  # of u**2, or the square of one?
            return SetPart(self._a.row(markup), _POWER, "form", end)
        return SetPart(markup, _ATOM, end, end)

    def _number(self, node: Number) -> SetPart:
        if node.text in CONSTANTS:
            return SetPart(self._a.constants[node.text], _ATOM, "name", "name")
        mantissa, _, exponent = self._a.digits(node.text).partition("e")
        if not exponent:
            return SetPart(self._a.number(mantissa), _ATOM, "number", "number")
        size = self._a.number(str(abs(int(exponent))))
        sign = self._a.sign if int(exponent) < 0 else ""
        ten = self._a.power(self._a.number("10"), self._a.row(f"{sign}{size}"))
        if mantissa == "1":
            return SetPart(ten, _POWER, "number", "form")
        written = f"{self._a.number(mantissa)}{self._a.dot}{ten}"
        return SetPart(self._a.row(written), _PRODUCT, "number", "form")

    def _sum(self, node: Chain) -> SetPart:
        first = self._set(node.first)
        written = [self._whole(first)]
        for symbol, operand in node.rest:
            # A sum that is added keeps its brackets, as it was written with them.
            part = self._held(self._set(operand), _PRODUCT, leads=True)
            # a + -2*b is a - 2*b
            written.append(self._a.minus if (symbol == "-") != part.minus else self._a.plus)
            written.append(part.markup)
        begins: End = "form" if first.minus else first.first
        return SetPart(self._a.row("".join(written)), _SUM, begins, "form")

    def _product(self, node: Chain) -> SetPart:
        above = [node.first, *(operand for symbol, operand in node.rest if symbol == "*")]
        below = [operand for symbol, operand in node.rest if symbol == "/"]
        top = self._factors([self._set(factor) for factor in above])
        if not below:
            return top
        bottom = self._factors([self._set(factor) for factor in below])
        bars = self._a.fraction(top.markup, self._whole(bottom))
        # Behind a number 1/2 would be a part of it.
        first: End = "number" if top.first == "number" else "form"
        return SetPart(bars, _POWER, first, "form", top.minus)

    def _factors(self, parts: Sequence[SetPart]) -> SetPart:
        """Set a product, whose minus is that of its first factor."""
        if len(parts) == 1:
            return parts[0]
        first, *others = parts
        held = [self._held(first, _PRODUCT, leads=True)]
        held += [self._held(part, _PRODUCT) for part in others]
        written = held[0].markup
        for left, right in pairwise(held):
            written += f"{self._between(left.last, right.first)}{right.markup}"
        markup = self._a.row(written)
        return SetPart(markup, _PRODUCT, held[0].first, held[-1].last, held[0].minus)

    def _between(self, left: End, right: End) -> str:
        """Give what stands between two factors: a dot where they would read as something else."""
        if right == "number" or "bar" in {left, right} or left in {"derivative", "word"}:
            return self._a.dot
        if (left == "name" and right == "bracket") or (left != "number" and right == "word"):
            return self._a.dot  # f(x), and one word
        return self._a.thin if right == "function" else self._a.times

    def _power(self, base: Node, exponent: Node) -> SetPart:
        if isinstance(exponent, Number) and exponent.constant == 0.5:  # noqa: PLR2004 - a square root
            return self._root(self._set(base))
        above = self._set(exponent)
        atom = above.strength == _ATOM and not above.minus
        raised = above.markup if atom else self._a.row(self._whole(above))
        if self._has_power_on_top(base, exponent):
            return self._called(base, self._a.power(self._a.function(base.function), raised))
        inner = self._held(self._set(base), _ATOM)
        last: End = "form" if inner.last in {"number", "bracket"} else inner.last
        return SetPart(self._a.power(inner.markup, raised), _POWER, inner.first, last)

    def _root(self, inner: SetPart) -> SetPart:
        return SetPart(self._a.root(self._whole(inner)), _POWER, "form", "form")

    def _call(self, node: Call) -> SetPart:
        name = ALIASES.get(node.function, node.function)
        if name == "sqrt":
            return self._root(self._set(node.arguments[0]))
        if name == "abs":
            inner = self._whole(self._set(node.arguments[0]))
            return SetPart(self._a.row(self._a.bars(inner)), _ATOM, "bar", "bar")
        if name == "exp" and self._a.exponential:
            inner = self._whole(self._set(node.arguments[0]))
            return SetPart(self._a.exponential(self._a.row(inner)), _POWER, "name", "form")
        return self._called(node, self._a.function(node.function))

    def _called(self, node: Call, name: str) -> SetPart:
        inner = self._a.comma.join(self._whole(self._set(each)) for each in node.arguments)
        called = self._a.row(f"{name}{self._a.brackets(inner)}")
        return SetPart(called, _POWER, "function", "bracket")

    def _whole(self, part: SetPart) -> str:
        return f"{self._a.sign}{part.markup}" if part.minus else part.markup

    def _bracketed(self, part: SetPart) -> SetPart:
        markup = self._a.row(self._a.brackets(self._whole(part)))
        return SetPart(markup, _ATOM, "bracket", "bracket")

    def _held(self, part: SetPart, least: int, *, leads: bool = False) -> SetPart:
        """Put a part in brackets where it hangs together less than is needed.

        With a minus it needs them, too, unless it leads what it stands in.
        """
        plain = part.strength >= least and (leads or not part.minus)
        return part if plain else self._bracketed(part)

    def _has_power_on_top(self, base: Node, exponent: Node) -> TypeGuard[Call]:
        """Whether a power is written as sin²(x): not with 2.0, and never as sin⁻¹(x)."""
        if not (isinstance(base, Call) and base.function in _ON_TOP):
            return False
        if not isinstance(exponent, Number) or exponent.text in CONSTANTS:
            return False
        digits = self._a.digits(exponent.text)
        return digits.isdigit() and int(digits) >= _SQUARE
