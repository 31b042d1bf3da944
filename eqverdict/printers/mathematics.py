"""The base of all printers of equations, and those of mathematics: LaTeX and MathML."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from html import escape
from itertools import pairwise
from typing import TYPE_CHECKING, ClassVar, Literal, NamedTuple, TypeAlias, TypeGuard

from eqverdict.tree import (
    ALIASES,
    CONSTANTS,
    FUNCTIONS,
    Call,
    Chain,
    Negation,
    Node,
    Number,
    Power,
    Variable,
)

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

SUM, PRODUCT, SIGN, POWER, ATOM = range(5)
"""Binding strengths of the parts of an expression."""

End: TypeAlias = Literal[
    "number", "name", "word", "function", "bracket", "bar", "derivative", "form"
]
"""The kind of an end of a part: a ``name`` has one letter; a ``form`` cannot be taken for a part
of its neighbour."""


class Part(NamedTuple):
    """A printed node.

    Attributes
    ----------
    text
        The printed text; in mathematics without a leading minus.
    strength
        Its binding strength, from `SUM` to `ATOM`.
    first, last
        The kinds of its ends (mathematics only).
    minus
        Whether a minus is before it (mathematics only); not before a sum.
    """

    text: str
    strength: int
    first: End = "form"
    last: End = "form"
    minus: bool = False


class Printer(ABC):
    """Base of all printers."""

    constants: ClassVar[Mapping[str, str]]
    """The texts of named constants."""

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


class MathPrinter(Printer):
    """Base of the printers of mathematics: brackets and dots follow from what is printed.

    Attributes
    ----------
    sign, minus, plus
        The minus before one part, and the signs between two.
    times, thin, dot
        An invisible product, one before the name of a function, and a visible one.
    """

    sign: ClassVar[str]
    minus: ClassVar[str]
    plus: ClassVar[str]
    comma: ClassVar[str]
    times: ClassVar[str]
    thin: ClassVar[str]
    dot: ClassVar[str]
    brackets: ClassVar[str]
    bars: ClassVar[str]
    root: ClassVar[str]
    fraction: ClassVar[str]
    row: ClassVar[str] = "{}"
    """Invisible marks around a part that keep it together."""
    euler: ClassVar[str] = ""
    """The base of powers of e; empty where exp is written like other functions."""

    @abstractmethod
    def _raised(self, base: str, exponent: str) -> str:
        """Return a power."""

    @abstractmethod
    def _digits(self, text: str) -> str:
        """Return the digits of a number, as many as are shown."""

    def _decimal(self, text: str) -> str:
        """Return a decimal number without an exponent."""
        return text

    @abstractmethod
    def _name(self, name: str) -> tuple[str, End]:
        """Return a variable, and what it is at its ends."""

    @abstractmethod
    def _function(self, name: str) -> str:
        """Return the name of a function."""

    def print(self, node: Node) -> str:
        """Return the text of a tree."""
        return self._whole(self._visit(node))

    def _variable(self, name: str) -> Part:
        text, end = self._name(name)
        if end == "derivative":  # of u**2, or the square of one?
            return Part(self.row.format(text), POWER, "form", end)
        return Part(text, ATOM, end, end)

    def _number(self, text: str) -> Part:
        if text in CONSTANTS:
            return Part(self.constants[text], ATOM, "name", "name")
        mantissa, _, exponent = self._digits(text).partition("e")
        if not exponent:
            return Part(self._decimal(mantissa), ATOM, "number", "number")
        sign = self.sign if int(exponent) < 0 else ""
        above = self.row.format(f"{sign}{self._decimal(str(abs(int(exponent))))}")
        ten = self._raised(self._decimal("10"), above)
        if mantissa == "1":
            return Part(ten, POWER, "number", "form")
        product = f"{self._decimal(mantissa)}{self.dot}{ten}"
        return Part(self.row.format(product), PRODUCT, "number", "form")

    def _negation(self, node: Negation) -> Part:
        inner = self._visit(node.operand)
        plain = not inner.minus and inner.strength >= PRODUCT
        return (inner if plain else self._bracketed(inner))._replace(minus=True)

    def _sum(self, node: Chain) -> Part:
        first = self._visit(node.first)
        text = self._whole(first)
        for symbol, operand in node.rest:
            # A sum that is added keeps its brackets, as it was written with them.
            part = self._held(self._visit(operand), PRODUCT, leads=True)
            # a + -2*b is a - 2*b
            sign = self.minus if (symbol == "-") != part.minus else self.plus
            text += f"{sign}{part.text}"
        return Part(self.row.format(text), SUM, "form" if first.minus else first.first)

    def _product(self, node: Chain) -> Part:
        above = [node.first, *(operand for symbol, operand in node.rest if symbol == "*")]
        below = [operand for symbol, operand in node.rest if symbol == "/"]
        top = self._factors([self._visit(factor) for factor in above])
        if not below:
            return top
        bottom = self._factors([self._visit(factor) for factor in below])
        text = self.fraction.format(top.text, self._whole(bottom))
        # Behind a number 1/2 would be a part of it.
        return Part(text, POWER, "number" if top.first == "number" else "form", minus=top.minus)

    def _factors(self, parts: Sequence[Part]) -> Part:
        """Return a product, whose minus is that of its first factor."""
        if len(parts) == 1:
            return parts[0]
        held = [self._held(part, PRODUCT, leads=i == 0) for i, part in enumerate(parts)]
        text = held[0].text
        for left, right in pairwise(held):
            text += f"{self._between(left.last, right.first)}{right.text}"
        row = self.row.format(text)
        return Part(row, PRODUCT, held[0].first, held[-1].last, held[0].minus)

    def _between(self, left: End, right: End) -> str:
        """Return the sign between two factors: a dot where they would read as something else."""
        if right == "number" or "bar" in {left, right} or left in {"derivative", "word"}:
            return self.dot
        if (left == "name" and right == "bracket") or (left != "number" and right == "word"):
            return self.dot  # f(x), and one word
        return self.thin if right == "function" else self.times

    def _power(self, base: Node, exponent: Node) -> Part:
        if isinstance(exponent, Number) and exponent.constant == 0.5:  # noqa: PLR2004 - a square root
            return self._root(base)
        above = self._visit(exponent)
        is_atom = above.strength == ATOM and not above.minus
        raised = above.text if is_atom else self.row.format(self._whole(above))
        if self._has_power_on_top(base, exponent):
            return self._called(base, self._raised(self._function(base.function), raised))
        inner = self._held(self._visit(base), ATOM)
        last: End = "form" if inner.last in {"number", "bracket"} else inner.last
        return Part(self._raised(inner.text, raised), POWER, inner.first, last)

    def _root(self, node: Node) -> Part:
        return Part(self.root.format(self.print(node)), POWER)

    def _call(self, node: Call) -> Part:
        name = ALIASES.get(node.function, node.function)
        if name == "sqrt":
            return self._root(node.arguments[0])
        if name == "abs":
            bars = self.bars.format(self.print(node.arguments[0]))
            return Part(self.row.format(bars), ATOM, "bar", "bar")
        if name == "exp" and self.euler:
            exponent = self.row.format(self.print(node.arguments[0]))
            return Part(self._raised(self.euler, exponent), POWER, "name")
        return self._called(node, self._function(node.function))

    def _called(self, node: Call, name: str) -> Part:
        inner = self.brackets.format(self.comma.join(map(self.print, node.arguments)))
        return Part(self.row.format(f"{name}{inner}"), POWER, "function", "bracket")

    def _whole(self, part: Part) -> str:
        return f"{self.sign}{part.text}" if part.minus else part.text

    def _bracketed(self, part: Part) -> Part:
        text = self.row.format(self.brackets.format(self._whole(part)))
        return Part(text, ATOM, "bracket", "bracket")

    def _held(self, part: Part, least: int, *, leads: bool = False) -> Part:
        """Put a part in brackets where it binds less than is needed.

        With a minus it needs them, too, unless it is first in what it is a part of.
        """
        plain = part.strength >= least and (leads or not part.minus)
        return part if plain else self._bracketed(part)

    def _has_power_on_top(self, base: Node, exponent: Node) -> TypeGuard[Call]:
        """Whether a power is written as sin²(x): not with 2.0, and never as sin⁻¹(x)."""
        on_top = {"sin", "cos", "tan", "sinh", "cosh", "tanh"}
        if not (isinstance(base, Call) and base.function in on_top):
            return False
        if not isinstance(exponent, Number) or exponent.text in CONSTANTS:
            return False
        digits = self._digits(exponent.text)
        return digits.isdigit() and int(digits) > 1


class LatexPrinter(MathPrinter):
    """Writes LaTeX.

    Parameters
    ----------
    names
        The names of all variables.
    derivatives_of
        The names whose derivatives are written ``u0_xx``; None for all.
    """

    constants: ClassVar = {"pi": "\\pi", "E": "\\mathrm{e}"}
    sign, minus, plus, comma = "-", " - ", " + ", ", "
    times, thin, dot = " \\, ", " \\, ", " \\cdot "
    brackets = "\\left({}\\right)"
    bars = "\\left|{}\\right|"
    root = "\\sqrt{{{}}}"
    fraction = "\\frac{{{}}}{{{}}}"

    _PARTS = re.compile(r"([A-Za-z]+?)_?(\d*)(?:_([a-z]+))?")
    _GREEK = (
        "alpha beta gamma delta epsilon zeta eta theta iota kappa lambda mu nu xi pi rho sigma tau "
        "upsilon phi chi psi omega"
    )
    """The letters that LaTeX has commands for."""

    def __init__(self, names: Collection[str], derivatives_of: Collection[str] | None) -> None:
        self._names = names
        self._derivatives_of = derivatives_of

    def _raised(self, base: str, exponent: str) -> str:
        # What TeX takes for one sign, or what is no part, needs no braces.
        plain = base.isdigit() or (base[0] == "\\" and base[1:] in FUNCTIONS)
        return f"{base}^{{{exponent}}}" if plain else f"{{{base}}}^{{{exponent}}}"

    def _digits(self, text: str) -> str:
        return plain_number(text)

    def _function(self, name: str) -> str:
        usual = ALIASES.get(name, name)
        if usual in {"acosh", "asinh", "atanh", "floor", "sign"}:
            return f"\\operatorname{{{usual}}}"
        return f"\\arc{usual[1:]}" if usual in {"acos", "asin", "atan"} else f"\\{usual}"

    def _name(self, name: str) -> tuple[str, End]:
        if "_" in name and name.replace("_", "", 1) in self._names:  # x_1 next to x1
            return self._word(name), "word"
        parts = self._PARTS.fullmatch(name)
        state = name.rpartition("_")[0]
        derived = self._derivatives_of is None or state in self._derivatives_of
        if parts and parts[3] and derived:
            return f"\\partial_{{{parts[3]}}} {self._symbol(state)[0]}", "derivative"
        return self._symbol(name)

    def _symbol(self, name: str) -> tuple[str, End]:
        parts = self._PARTS.fullmatch(name)
        if parts is None or parts[3]:
            return self._word(name), "word"
        letters, number, _ = parts.groups()
        text, end = letters, "name"
        if letters in self._GREEK.split():
            text = f"\\{letters}"
        elif len(letters) > 1:
            text, end = f"\\mathrm{{{letters}}}", "word"
        return f"{text}_{{{number}}}" if number else text, end  # type: ignore[return-value]

    def _word(self, name: str) -> str:
        return f"\\mathrm{{{name.replace('_', chr(92) + '_')}}}"


class MathMLPrinter(MathPrinter):
    """Writes MathML, with the numbers rounded to four significant digits.

    Parameters
    ----------
    derivatives
        Whether a name such as ``u0_xx`` is a derivative, and not only a name.
    """

    euler = '<mi mathvariant="normal">e</mi>'  # upright: a variable of that name is not
    _PARTS = re.compile(r"([A-Za-z]+)(\d*)(?:_([a-z]+))?")

    constants: ClassVar = {"pi": "<mi>π</mi>", "E": euler}
    sign = '<mo form="prefix">−</mo>'  # with the space of a sign, not of a difference
    minus, plus, comma = "<mo>−</mo>", "<mo>+</mo>", "<mo>,</mo>"
    times = "<mo>&#x2062;</mo>"  # invisible
    thin = '<mo rspace="0.17em">&#x2062;</mo>'
    dot = "<mo>⋅</mo>"
    brackets = '<mo form="prefix">(</mo>{}<mo form="postfix">)</mo>'
    bars = '<mo form="prefix">|</mo>{}<mo form="postfix">|</mo>'
    root = "<msqrt>{}</msqrt>"
    fraction = "<mfrac><mrow>{}</mrow><mrow>{}</mrow></mfrac>"
    row = "<mrow>{}</mrow>"

    def __init__(self, *, derivatives: bool = True) -> None:
        self._derivatives = derivatives

    def _raised(self, base: str, exponent: str) -> str:
        return f"<msup>{base}{exponent}</msup>"

    def _digits(self, text: str) -> str:
        return f"{float(text):.4g}"

    def _decimal(self, text: str) -> str:
        return f"<mn>{text}</mn>"

    def _function(self, name: str) -> str:
        return f"<mi>{name}</mi>"

    def _name(self, name: str) -> tuple[str, End]:
        parts = self._PARTS.fullmatch(name)
        if self._derivatives and parts and parts[3]:  # u0_xx
            along = f"<msub><mo>∂</mo><mi>{parts[3]}</mi></msub>"
            return f"{along}{self.symbol(parts[1] + parts[2])[0]}", "derivative"
        return self.symbol(name)

    def symbol(self, name: str) -> tuple[str, End]:
        """Return a name that is no derivative, and what it is at its ends."""
        parts = self._PARTS.fullmatch(name)
        if parts is None or parts[3]:
            return f"<mi>{escape(name)}</mi>", "word"
        letters, number, _ = parts.groups()
        text = f"<mi>{letters}</mi>"
        if number:
            text = f"<msub>{text}<mn>{number}</mn></msub>"
        return text, "name" if len(letters) == 1 else "word"

    def left_hand_side(self, target: str, d: str) -> str:
        """Return the inside of what `left_hand_side` returns."""
        parts = self._PARTS.fullmatch(target)
        if parts is None or not parts[3]:
            return self.symbol(target)[0]
        below = "".join(f"<mi>{d}</mi><mi>{letter}</mi>" for letter in parts[3])
        above = f"<mi>{d}</mi>{self.symbol(parts[1] + parts[2])[0]}"
        return self.fraction.format(above, below)
