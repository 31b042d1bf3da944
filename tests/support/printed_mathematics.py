"""Readers of equations that are set as mathematics: MathML and LaTeX.

They see no structure but what is there to be seen on the page.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from printed import EVERY, OPERATORS, PI, Columns, E, Misread

if TYPE_CHECKING:
    import xml.etree.ElementTree as ET
    from collections.abc import Sequence

# ---------------------------------------------------------------- a row of mathematics


@dataclass(frozen=True)
class Token:
    """What is seen in a row.

    ``number``, ``name``, ``function``, ``sign`` (+ − , brackets), ``space`` (an invisible product),
    ``dot``, ``bar``, ``open bar``, ``close bar``, ``derivative``; or with parts: ``power``,
    ``fraction``, ``root``.
    """

    kind: str
    text: str = ""
    parts: tuple[tuple[Token, ...], ...] = ()
    upright: bool = False
    word: bool = False


@dataclass
class Row:
    """Reads a row as a mathematician does who sees no structure but what is there to be seen."""

    tokens: Sequence[Token]
    columns: Columns
    bars: int = 0
    at: int = field(default=0)

    def value(self) -> Any:
        with np.errstate(all="ignore"):
            found = self.sum()
        if self.at < len(self.tokens):
            raise Misread(f"{self.tokens[self.at]} where the end was due")
        return found

    @property
    def next(self) -> Token:
        return self.tokens[self.at] if self.at < len(self.tokens) else Token("end")

    def is_sign(self, *signs: str) -> bool:
        return self.next.kind == "sign" and self.next.text in signs

    def take(self) -> Token:
        self.at += 1
        return self.tokens[self.at - 1]

    def sum(self) -> Any:
        negative = self.is_sign("-")
        if negative:
            self.take()
        total = self.product()
        total = -total if negative else total
        while self.is_sign("+", "-"):
            sign = self.take().text
            if self.is_sign("+", "-"):
                raise Misread(f"two signs: {sign}{self.next.text}")
            total = OPERATORS[sign](total, self.product())
        return total

    def product(self) -> Any:
        last, total = self.next, self.factor()
        last = self.tokens[self.at - 1]
        while self.next.kind in {"space", "dot"}:
            joint = self.take()
            if self.is_sign("-") and joint.kind == "space":
                return total  # nobody sees the product: x −2y
            if joint.kind == "space":
                self.check(last, self.next)
            total = total * self.factor()
            last = self.tokens[self.at - 1]
        return total

    def check(self, left: Token, right: Token) -> None:
        """Refuse what reads as something else where nothing stands between two factors."""
        begins = _begins(right)
        if begins.kind == "number":
            raise Misread(f"a number behind {left.text}")
        if left.kind == "name" and right.kind == "sign" and right.text == "(":
            raise Misread(f"{left.text}( is the call of a function")
        if left.kind == "power" and right.kind == "sign" and right.text == "(":
            base = left.parts[0]
            if len(base) == 1 and base[0].kind == "name" and not base[0].upright:
                raise Misread(f"a power of {base[0].text} before a bracket is that of a function")
        # A function behind one letter or one number is recognised by its upright letters.
        if begins.kind in {"name", "function"} and left.kind in {"name", "power"}:
            end = left if left.kind == "name" else _begins(left)
            if end.word or (begins.word and not _is_fraction(right)):
                raise Misread(f"{end.text} and {begins.text} are one word")

    def factor(self) -> Any:  # noqa: C901, PLR0911, PLR0912 - one for each kind
        token = self.take() if self.at < len(self.tokens) else Token("end")
        match token:
            case Token("number", text):
                return np.longdouble(text)
            case Token("name", text):
                return self.named(token)
            case Token("sign", "("):
                inner, bars = None, self.bars
                self.bars = 0
                inner = self.sum()
                self.bars = bars
                self.expect(")")
                return inner
            case Token("bar" | "open bar"):
                self.bars += 1
                inner = self.sum()
                self.bars -= 1
                if self.next.kind not in {"bar", "close bar"}:
                    raise Misread("a bar is not closed")
                closed = self.take()
                if closed.kind == "bar" and self.next.kind == "space":
                    raise Misread("a bar before a factor may open or close")
                return np.abs(inner)
            case Token("function", text):
                return self.call(text)
            case Token("fraction", _, (above, below)):
                return self.inside(above) / self.inside(below)
            case Token("root", _, (inside,)):
                return np.sqrt(self.inside(inside))
            case Token("power", _, (base, above)):
                return self.power(base, above)
            case Token("derivative", along):
                named = self.take() if self.at < len(self.tokens) else Token("end")
                if named.kind != "name":
                    raise Misread(f"the derivative of {named}")
                if self.next.kind == "space":
                    raise Misread("how much is under the derivative?")
                return self.columns[f"{named.text}_{along}"]
        raise Misread(f"{token} where a value was due")

    def inside(self, tokens: Sequence[Token]) -> Any:
        return Row(tokens, self.columns).value()

    def named(self, token: Token) -> Any:
        if token.text == "e" and (token.upright or "e" not in self.columns):
            return E
        if token.text == "pi" and "pi" not in self.columns:
            return PI
        if token.text not in self.columns:
            raise Misread(f"nothing is called {token.text}")
        return self.columns[token.text]

    def call(self, name: str, power: Any = None) -> Any:
        if not self.is_sign("("):
            raise Misread(f"what is the argument of {name}?")
        self.take()
        arguments = [self.sum()]
        while self.is_sign(","):
            self.take()
            arguments.append(self.sum())
        self.expect(")")
        found = EVERY[name](*arguments)
        return found if power is None else found**power

    def power(self, base: Sequence[Token], above: Sequence[Token]) -> Any:
        if len(base) == 1 and base[0].kind == "function":
            whole = len(above) == 1 and above[0].kind == "number" and above[0].text.isdigit()
            if not whole:
                raise Misread(f"{base[0].text} to {above} may be the inverse function")
            return self.call(base[0].text, self.inside(above))
        if not _is_one(base):
            raise Misread(f"what is raised: {base}?")
        return self.inside(base) ** self.inside(above)

    def expect(self, sign: str) -> None:
        if not self.is_sign(sign):
            raise Misread(f"{self.next} where {sign} was due")
        self.take()


def _begins(token: Token) -> Token:
    """Return what is seen first: that of a power is its base, that of a fraction what is above."""
    while token.kind in {"power", "fraction"} and token.parts[0]:
        token = token.parts[0][0]
    return token


def _is_fraction(token: Token) -> bool:
    while token.kind == "power" and token.parts[0]:
        token = token.parts[0][0]
    return token.kind == "fraction"


def _is_one(base: Sequence[Token]) -> bool:
    """Whether an exponent behind these tokens can belong to nothing less than all of them."""
    if len(base) == 1:
        return base[0].kind in {"number", "name", "root"}
    if base[0].kind == "function":  # sin(x)²
        base = base[1:]
    ends = {("sign", "(", "sign", ")"), ("bar", "", "bar", ""), ("open bar", "", "close bar", "")}
    if (base[0].kind, base[0].text, base[-1].kind, base[-1].text) not in ends:
        return False
    depth = 0
    for place, token in enumerate(base):
        depth += {"(": 1, ")": -1}.get(token.text, 0) if token.kind == "sign" else 0
        depth += {"open bar": 1, "close bar": -1}.get(token.kind, 0)
        if depth == 0 and base[0].kind != "bar" and place < len(base) - 1:
            return False
    return True


# ---------------------------------------------------------------- MathML


def of_mathml(math: ET.Element, columns: Columns) -> Any:
    """Read a ``math`` element from its markup alone."""
    return Row(_row(list(math)), columns).value()


_SIGNS = {"−": "-", "+": "+", "-": "-", "(": "(", ")": ")", ",": ","}


def _row(children: Sequence[ET.Element]) -> tuple[Token, ...]:
    """Read a row: that parts are in a row of their own is not seen."""
    return tuple(token for child in children for token in _tokens(child))


def _tokens(element: ET.Element) -> tuple[Token, ...]:  # noqa: C901, PLR0911 - one for each element
    text = (element.text or "").strip()
    match element.tag.rpartition("}")[2]:
        case "mrow" | "mstyle":
            return _row(list(element))
        case "mn":
            return (Token("number", text),)
        case "mi":
            if text in EVERY:
                return (Token("function", text),)
            upright = element.get("mathvariant") == "normal"
            name = {"π": "pi"}.get(text, text)
            return (Token("name", name, upright=upright, word=len(text) > 1),)
        case "mo" if text in _SIGNS:
            return (Token("sign", _SIGNS[text]),)
        case "mo":
            kinds = {"\u2062": "space", "⋅": "dot", "·": "dot", "|": "bar"}
            return (Token(kinds[text]),)
        case "msub":
            base, below = element
            if base.tag == "mo" and base.text == "∂":
                return (Token("derivative", below.text or ""),)
            return (Token("name", f"{base.text}{below.text}", word=len(base.text or "") > 1),)
        case "msup":
            return (Token("power", parts=(_tokens(element[0]), _tokens(element[1]))),)
        case "mfrac":
            return (Token("fraction", parts=(_tokens(element[0]), _tokens(element[1]))),)
        case "msqrt":
            return (Token("root", parts=(_row(list(element)),)),)
    raise Misread(f"the element {element.tag}")


# ---------------------------------------------------------------- LaTeX

_LATEX = re.compile(
    r"\s*(?:(?P<command>\\(?:[A-Za-z]+|.))|(?P<number>\d+\.?\d*|\.\d+)|(?P<other>\S))"
)
_GREEK = "alpha beta gamma delta epsilon zeta eta theta iota kappa lambda mu nu xi rho sigma tau"
_GREEK_LETTERS = frozenset(f"{_GREEK} upsilon phi chi psi omega pi".split())
"""The letters that LaTeX has commands for."""


def of_latex(text: str, columns: Columns) -> Any:
    r"""Read a formula in the LaTeX that the bench prints; braces are not seen."""
    reader = _Latex(text, columns)
    tokens = reader.group(None)
    return Row(tokens, columns).value()


class _Latex:
    def __init__(self, text: str, columns: Columns) -> None:
        self.items = [match[0].strip() for match in _LATEX.finditer(text)]
        self.columns = columns
        self.at = 0

    def take(self) -> str:
        self.at += 1
        if self.at > len(self.items):
            raise Misread("LaTeX ends too early")
        return self.items[self.at - 1]

    @property
    def next(self) -> str:
        return self.items[self.at] if self.at < len(self.items) else ""

    def group(self, end: str | None) -> tuple[Token, ...]:
        """Read until a brace is closed, or to the end."""
        found: list[tuple[Token, ...]] = []
        while self.next != (end or ""):
            one = self.one()
            if self.next == "^":
                if one and one[0].kind == "power":
                    raise Misread("a double superscript")
                self.take()
                one = (Token("power", parts=(one, self.argument())),)
            found.append(one)
        if end:
            self.take()
        return tuple(token for one in found for token in one)

    def argument(self) -> tuple[Token, ...]:
        """Read what stands in braces, or a single sign, as TeX does."""
        if self.next != "{":
            one = self.one()
            if len(one) != 1 or len(one[0].text) > 1:
                raise Misread("an argument without braces")
            return one
        self.take()
        return self.group("}")

    def word(self) -> str:
        """Read the letters in braces as they are."""
        if self.take() != "{":
            raise Misread("no brace")
        found = ""
        while (item := self.take()) != "}":
            found += item.replace("\\_", "_")
        return found

    def one(self) -> tuple[Token, ...]:  # noqa: C901, PLR0911, PLR0912 - one for each command
        item = self.take()
        match item:
            case "{":
                return self.group("}")
            case "+" | "-" | "," | "(" | ")":
                return (Token("sign", item),)
            case "\\left" | "\\right":
                fence = self.take()
                if fence == "|":
                    return (Token("open bar" if item == "\\left" else "close bar"),)
                return (Token("sign", fence),)
            case "\\,":
                return (Token("space"),)
            case "\\cdot":
                return (Token("dot"),)
            case "\\frac":
                return (Token("fraction", parts=(self.argument(), self.argument())),)
            case "\\sqrt":
                return (Token("root", parts=(self.argument(),)),)
            case "\\operatorname":
                return (Token("function", self.word()),)
            case "\\mathrm":
                return self.named(self.word(), upright=True)
            case "\\partial":
                if self.take() != "_":
                    raise Misread("a derivative along nothing")
                return (Token("derivative", self.word()),)
        name = item.removeprefix("\\")
        if item.startswith("\\") and name in EVERY:
            return (Token("function", name),)
        if item.startswith("\\") and name not in _GREEK_LETTERS:
            raise Misread(f"LaTeX has no {item}")
        if item.startswith("\\") or re.fullmatch("[A-Za-z]", item):
            return self.named(name)
        if re.fullmatch(r"[\d.]+", item):
            return (Token("number", item),)
        raise Misread(f"{item} in LaTeX")

    def named(self, name: str, *, upright: bool = False) -> tuple[Token, ...]:
        word = upright and len(name) > 1
        if self.next == "_":
            self.take()
            below = self.word()
            direct = f"{name}{below}"
            known = {direct} & {each.partition("_")[0] for each in self.columns}
            name = direct if known else f"{name}_{below}"
        return (Token("name", name, upright=upright and name == "e", word=word),)
