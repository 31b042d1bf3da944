"""The grammar of equations: untrusted text in, a tree or an `EquationError` out.

::

    sum     = product {("+" | "-") product}
    product = factor {("*" | "/") factor}
    factor  = ("+" | "-") factor | power
    power   = atom [("**" | "^") factor]
    atom    = number | name | name "(" sum {"," sum} ")" | "(" sum ")"

It is Python's grammar for these operators, except that ``^`` is a power as well.  The reader
is our own rather than Python's, which normalises look-alike letters, warns, or gives up with
`MemoryError` or `RecursionError` on hostile text; here each limit is a number below.
"""

from __future__ import annotations

import math
import re
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from eqverdict.errors import MOST_SHOWN, EquationError, counted
from eqverdict.tree import (
    ALIASES,
    CONSTANTS,
    FUNCTIONS,
    SAME_MEANING,
    Call,
    Chain,
    Negation,
    Node,
    Number,
    Power,
    Variable,
    value,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

MAX_LENGTH = 50_000
"""Characters of a text."""
MAX_NODES = 20_000
"""Numbers, names, operators and calls of a text."""
MAX_DEPTH = 64
"""Nested brackets, signs, powers and calls."""
MAX_DIGITS = 100
"""Characters of one number."""
MAX_EXPONENT = 1_000
"""Size of a constant exponent."""

POWERS = {"square": "2", "cube": "3"}
"""Functions that are a short way to write a power."""

_TOKEN = re.compile(
    r"""[ \t\r\n]*(?:
        (?P<number>(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?)
      | (?P<name>[A-Za-z_][A-Za-z_0-9]*)
      | (?P<symbol>\*\*|[-+*/^(),])
      | (?P<end>\Z)
      | (?P<other>.)
    )""",
    re.VERBOSE | re.DOTALL,
)
NO_NUMBERS = frozenset({"nan", "inf", "infinity", "oo", "zoo"})
"""Names in other languages for values that are no numbers."""
_SHOWN = 40
"""Characters of a text that a message quotes."""
_ALLOWED = "Allowed are numbers, the problem's names, functions, + - * / ** ( ) and commas."


def check(text: object) -> None:
    """Refuse what need not even be read: no text, a long one, or one that is not ASCII.

    Raises
    ------
    EquationError
        If it is no text, too long, or has characters that no equation has.
    """
    if not isinstance(text, str):
        raise EquationError(f"an equation is a text, and this is of type {type(text).__name__}")
    if len(text) > MAX_LENGTH:
        raise EquationError(
            f"an equation of {len(text):,} characters is too long: {quoted(text)}",
            f"At most {MAX_LENGTH:,} characters are allowed.",
        )
    if not text.isascii():
        position = next(i for i, character in enumerate(text) if not character.isascii())
        raise EquationError(
            f"character {text[position]!a} at position {position + 1} is not ASCII: "
            f"{quoted(text, position)}",
            _ALLOWED,
        )


def read(text: str, variables: Collection[str]) -> Node:
    """Read a text that has passed `check`.

    Parameters
    ----------
    text
        The equation's right-hand side.
    variables
        The names it may use; they come before constants of the same name.

    Raises
    ------
    EquationError
        If the text breaks the grammar or a limit, names what does not exist, or has a constant
        part without a finite real value.
    """
    with np.errstate(all="ignore"):
        return Reader(text, variables).read()


def quoted(text: str, position: int = 0) -> str:
    """Quote the surroundings of a position, with everything unprintable escaped."""
    start = max(0, position - _SHOWN // 2)
    part = ascii(text[start : start + _SHOWN])
    return f"{'...' if start else ''}{part}{'...' if start + _SHOWN < len(text) else ''}"


def _other_function(name: str) -> str:
    """Return how an unknown function can be written, or else which functions there are.

    Names that only look alike are no help: ``inv`` is not ``sin``.
    """
    known = [*FUNCTIONS, *POWERS]
    same = [each for each in known if each.lower() == name.lower() and name.lower() != "log"]
    if same:
        return f"Did you mean {same[0]}?"
    if name in SAME_MEANING:
        arguments = "x, y" if re.search(r"\by\b", SAME_MEANING[name]) else "x"
        return f"Write {SAME_MEANING[name]} instead of {name}({arguments})."
    usual = sorted({*known} - {*ALIASES})
    return f"There is no function of this name.  There are: {', '.join(usual)}."


def _other_name(name: str, variables: Collection[str]) -> str:
    """Return which names there are; another one is meant only where case alone differs."""
    if name.lower() in NO_NUMBERS:
        return "An equation has finite numbers only."
    names = [*variables, *CONSTANTS]
    same = [each for each in names if each.lower() == name.lower() and len(name) > 1]
    if same:
        return f"Did you mean {same[0]}?"
    more = f" and {len(names) - MOST_SHOWN} more" if len(names) > MOST_SHOWN else ""
    euler = "  Euler's number is E, or exp(1)." if name == "e" else ""
    return f"The names are: {', '.join(names[:MOST_SHOWN])}{more}.{euler}"


class Reader:
    """Recursive descent over the tokens of one text, with a method for each rule."""

    pattern = _TOKEN

    def __init__(self, text: str, variables: Collection[str]) -> None:
        self.text = text
        self.variables = variables
        self.nodes = 0
        self.depth = 0
        self.tokens = self.pattern.finditer(text)
        self.next: re.Match[str]
        self.symbol: str | None
        """The operator, bracket or comma that comes next, if one does."""
        self.advance()

    def read(self) -> Node:
        """Read the whole text."""
        tree = self.sum()
        if self.next.lastgroup != "end":
            raise self.error("expected an operator or the end, and found")
        return tree

    def sum(self) -> Node:
        """Read products with + and - between them."""
        return self.chain(self.product, ("+", "-"))

    def product(self) -> Node:
        """Read factors with * and / between them."""
        return self.chain(self.factor, ("*", "/"))

    def chain(self, operand: Callable[[], Node], operators: tuple[str, str]) -> Node:
        """Read operands with operators of one rank between them."""
        first = operand()
        operands = []
        while self.symbol in operators:
            operands.append((self.take(), operand()))
        if not operands:
            return first
        self.count(len(operands))
        return self.settled(
            Chain(None, first, tuple(operands)), first, *(node for _, node in operands)
        )

    def factor(self) -> Node:
        """Read a power with signs before it."""
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise self.error(
                "the equation is nested too deep at",
                f"At most {MAX_DEPTH} nested brackets, signs, powers and calls are allowed.",
            )
        if self.symbol in {"+", "-"}:
            negative = self.take() == "-"
            node = self.factor()
            if negative:
                self.count()
                node = self.settled(Negation(None, node), node)
        else:
            node = self.power()
        self.depth -= 1
        return node

    def power(self) -> Node:
        """Read an atom with an exponent, or without."""
        base = self.atom()
        if self.symbol not in {"**", "^"}:
            return base
        self.take()
        return self.raised(base, self.factor())

    def raised(self, base: Node, exponent: Node) -> Node:
        """Return a power whose exponent is within the limit."""
        if exponent.constant is not None and abs(exponent.constant) > MAX_EXPONENT:
            raise EquationError(
                f"the exponent {exponent.constant:g} is too large in {quoted(self.text)}",
                f"Constant exponents are from -{MAX_EXPONENT:,} to {MAX_EXPONENT:,}.",
            )
        self.count()
        return self.settled(Power(None, base, exponent), base, exponent)

    def atom(self) -> Node:
        """Read a number, a name, a call or what is in brackets."""
        match self.next.lastgroup:
            case "number":
                return self.number()
            case "name":
                start = self.next.start("name")
                name = self.take()
                return self.call(name, start) if self.symbol == "(" else self.named(name, start)
        if self.symbol != "(":
            raise self.error("expected a number, a name or a bracket, and found")
        self.take()
        node = self.sum()
        self.expect(")")
        return node

    def number(self) -> Number:
        """Read a number."""
        text = self.next["number"]
        if len(text) > MAX_DIGITS:
            raise self.error(
                f"a number of {len(text):,} characters is too long:",
                f"At most {MAX_DIGITS} are allowed.",
            )
        constant = np.float64(text)
        if not math.isfinite(constant):
            raise self.error("too large for a number is", "Numbers are below 1.8e308.")
        self.take()
        self.count()
        return Number(constant, text)

    def named(self, name: str, start: int) -> Node:
        """Return the variable or the constant of a name."""
        self.count()
        if name in self.variables:
            return Variable(None, name)
        if name in CONSTANTS:
            return Number(CONSTANTS[name], name)
        if name in FUNCTIONS or name in POWERS:
            raise EquationError(f"the function {name} is not called", f"Write {name}(...).")
        raise EquationError(
            f"unknown name {quoted(name)} at {self.place(start)}",
            _other_name(name, self.variables),
        )

    def call(self, name: str, start: int) -> Node:
        """Read the arguments of a function."""
        if name not in FUNCTIONS and name not in POWERS:
            raise EquationError(
                f"unknown function {quoted(name)} at {self.place(start)}",
                _other_function(name),
            )
        self.take()
        arguments = [self.sum()]
        while self.symbol == ",":
            self.take()
            arguments.append(self.sum())
        self.expect(")")
        arity = FUNCTIONS[name].arity if name in FUNCTIONS else 1
        if len(arguments) != arity:
            raise EquationError(
                f"{name} is given {counted(len(arguments), 'argument')} in {quoted(self.text)}",
                f"It takes {arity}.",
            )
        if name in POWERS:
            return self.raised(arguments[0], Number(np.float64(POWERS[name]), POWERS[name]))
        self.count()
        return self.settled(Call(None, name, tuple(arguments)), *arguments)

    def advance(self) -> None:
        """Go on to the next token."""
        self.next = next(self.tokens)
        self.symbol = self.next["symbol"]

    def take(self) -> str:
        """Go on to the next token, and give the text of the one left behind."""
        taken = self.next
        self.advance()
        return taken[str(taken.lastgroup)]

    def expect(self, symbol: str) -> None:
        """Go on behind a symbol that has to come next."""
        if self.symbol != symbol:
            raise self.error(f"expected {symbol!r}, and found")
        self.take()

    def place(self, start: int) -> str:
        """Return a position for a message."""
        return f"position {start + 1} of {quoted(self.text, start)}"

    def count(self, nodes: int = 1) -> None:
        """Count nodes, up to the limit."""
        self.nodes += nodes
        if self.nodes > MAX_NODES:
            raise EquationError(
                f"an equation of more than {MAX_NODES:,} nodes is too large: {quoted(self.text)}",
                f"At most {MAX_NODES:,} numbers, names, operators and calls are allowed.",
            )

    def settled(self, node: Node, *parts: Node) -> Node:
        """Evaluate a node at once if all its parts are constant."""
        if any(part.constant is None for part in parts):
            return node
        constant = np.float64(value(node, {}))
        if not math.isfinite(constant):
            raise self.error(
                "a constant part has no finite real value; it ends before",
                "Constants are worked out in double precision.",
            )
        return replace(node, constant=constant)

    def error(self, message: str, hint: str = _ALLOWED) -> EquationError:
        """Point at the token that comes next."""
        start = self.next.start(str(self.next.lastgroup))
        if self.next.lastgroup == "end":
            return EquationError(f"{message} the end of {quoted(self.text, start)}", hint)
        return EquationError(f"{message} {quoted(self.text[start:])} at position {start + 1}", hint)
