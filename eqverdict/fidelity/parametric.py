"""Equations in the form they are written in, whose constants may move.

What is only numbers is one constant, and so are the numbers of one sum or one product; a whole
exponent is structure.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from eqverdict.interval_eval import ball_value
from eqverdict.tree import Call, Chain, Negation, Node, Number, Power, Variable, text_of, value

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    Array = NDArray[np.float64]

_STEP = 1e-7


@dataclass(frozen=True)
class ParametricExpression:
    """A tree whose constants are variables, and what these are in the text.

    Attributes
    ----------
    tree
        With a variable ``#0``, ``#1``, ... for each constant.
    start
        The constants as they are written.
    exponents
        The indices of those that are an exponent, none of them whole.
    """

    tree: Node
    start: Array
    exponents: frozenset[int]

    @cached_property
    def is_linear(self) -> bool:
        """Whether the values are a sum of each constant times a column, besides a column."""
        return _degree(self.tree) <= 1

    def with_constants(self, constants: Array) -> Node:
        """Return the equation with other constants written in it."""
        return _written(self.tree, constants)

    def values(self, columns: Mapping[str, Array], constants: Array) -> Array:
        """Return the values with other constants."""
        n = len(next(iter(columns.values())))
        named = {f"#{k}": np.full(n, c) for k, c in enumerate(constants)}
        with np.errstate(all="ignore"):
            return np.array(np.broadcast_to(value(self.tree, {**columns, **named}), n))

    def slopes(self, columns: Mapping[str, Array], constants: Array) -> Array:
        """Return the derivatives by each constant times its size, (points, constants)."""
        made = []
        for k, c in enumerate(constants):
            step = np.zeros(len(constants))
            step[k] = _STEP * (abs(c) or 1.0)
            ahead, behind = (self.values(columns, constants + s * step) for s in (1, -1))
            with np.errstate(all="ignore"):
                made.append((ahead - behind) / (2 * _STEP))
        return np.array(made).reshape(len(made), -1).T

    def precise(self, point: Mapping[str, Any], constants: Sequence[Any]) -> Any:
        """Return the value at a point of balls, with the present precision."""
        return ball_value(self.tree, {**point, **{f"#{k}": c for k, c in enumerate(constants)}})


def _written(node: Node, constants: Array) -> Node:
    match node:
        case Variable() if node.name.startswith("#"):
            c = constants[int(node.name[1:])]
            number = Number(np.float64(abs(c)), repr(float(abs(c))))
            return number if c >= 0 else Negation(np.float64(c), number)
        case Chain():
            rest = tuple((symbol, _written(operand, constants)) for symbol, operand in node.rest)
            return replace(node, first=_written(node.first, constants), rest=rest)
        case Negation():
            return replace(node, operand=_written(node.operand, constants))
        case Power():
            base, exponent = (_written(each, constants) for each in (node.base, node.exponent))
            return replace(node, base=base, exponent=exponent)
        case Call():
            return replace(
                node, arguments=tuple(_written(each, constants) for each in node.arguments)
            )
    return node


def _degree(node: Node) -> int:
    """Return the degree of a tree in its constants; 2 also for what is no polynomial in them."""
    match node:
        case Variable():
            return int(node.name.startswith("#"))
        case Negation():
            return _degree(node.operand)
        case Chain():
            degree = _degree(node.first)
            for symbol, operand in node.rest:
                other = _degree(operand)
                if symbol in "+-":
                    degree = max(degree, other)
                else:
                    degree += 2 * other if symbol == "/" else other
            return min(degree, 2)
        case Power():
            return 2 * min(_degree(node.base) + _degree(node.exponent), 1)
        case Call():
            return 2 * min(sum(map(_degree, node.arguments)), 1)
    return 0


def parametrize(
    node: Node, *, named: bool, scaled: bool = False, fixed: str = "", shared: bool = False
) -> ParametricExpression:
    """Take the constants out of a tree.

    Parameters
    ----------
    named
        Whether ``pi`` and ``E`` are constants like others, and not a part of the structure.
    scaled
        Whether each term of the equation has a constant before it, which is 1 where none is
        written.
    fixed
        The text of a number that is no constant but a part of the structure.
    shared
        Whether a function or power that stands in several parts has the same constants in all.
    """
    taker = _ConstantExtractor(named=named, fixed=fixed, shared=shared)
    if scaled and isinstance(node, Chain) and node.rest[0][0] in "+-":
        operands = [("+", node.first), *node.rest]
        terms = [(sign, taker.scaled(part)) for sign, part in operands if part.constant is None]
        numbers = [
            float(part.constant) * (1 if sign == "+" else -1)
            for sign, part in operands
            if part.constant is not None
        ]
        if numbers:
            terms.append(("+", taker.constant(sum(numbers))))
        zero = Number(np.float64(0.0), "0")
        tree: Node = Chain(None, zero, tuple(terms))
    else:
        tree = taker.scaled(node) if scaled else taker.of(node)
    return ParametricExpression(tree, np.array(taker.start), frozenset(taker.exponents))


class _ConstantExtractor:
    def __init__(self, *, named: bool, fixed: str, shared: bool) -> None:
        self.named = named
        self.shared: dict[str, Node] | None = {} if shared else None
        self.fixed_text = fixed
        self.start: list[float] = []
        self.exponents: list[int] = []

    def constant(self, number: float) -> Variable:
        self.start.append(number)
        return Variable(None, f"#{len(self.start) - 1}")

    def is_free(self, node: Node) -> bool:
        fixed = isinstance(node, Number) and (
            node.text == self.fixed_text or (node.text[0].isalpha() and not self.named)
        )
        return node.constant is not None and not fixed

    def scaled(self, node: Node) -> Node:
        """Take the constants out of a term, with one before it."""
        before = len(self.start)
        tree = self.of(node)
        if isinstance(node, Chain) and node.rest[0][0] in "*/" and isinstance(tree, Chain):
            first = tree.first
            if isinstance(first, Variable) and first.name == f"#{len(self.start) - 1}":
                return tree
        if node.constant is not None and len(self.start) > before:
            return tree
        return Chain(None, self.constant(1.0), (("*", tree),))

    def of(self, node: Node) -> Node:
        if node.constant is not None:
            return self.constant(float(node.constant)) if self.is_free(node) else node
        if self.shared is None or not isinstance(node, Call | Power):
            return self.parts(node)
        text = text_of(node)
        if text not in self.shared:
            self.shared[text] = self.parts(node)
        return self.shared[text]

    def parts(self, node: Node) -> Node:
        match node:
            case Chain():
                return self.chain(node)
            case Negation():
                return replace(node, operand=self.of(node.operand))
            case Power():
                return replace(node, base=self.of(node.base), exponent=self.exponent(node.exponent))
            case Call():
                return replace(node, arguments=tuple(map(self.of, node.arguments)))
        return node

    def exponent(self, node: Node) -> Node:
        if node.constant is None:
            return self.of(node)
        if float(node.constant).is_integer():
            return node
        self.exponents.append(len(self.start))
        return self.constant(float(node.constant))

    def chain(self, node: Chain) -> Node:
        """Make one constant of all the numbers of a sum, or of a product."""
        is_sum = node.rest[0][0] in "+-"
        first = "+" if is_sum else "*"
        operands = [(first, node.first), *node.rest]
        numbers = [(sign, part) for sign, part in operands if self.is_free(part)]
        others = [(sign, self.of(part)) for sign, part in operands if not self.is_free(part)]
        if not numbers:
            return replace(node, first=others[0][1], rest=tuple(others[1:]))
        together = 0.0 if is_sum else 1.0
        for sign, part in numbers:
            number = float(part.constant or 0.0)
            together = {
                "+": together + number,
                "-": together - number,
                "*": together * number,
                "/": together / number if number else np.inf,
            }[sign]
        return Chain(None, self.constant(together), tuple(others))


def with_one_number(node: Node) -> Node:
    """Write each product with one number before it: ``-0.5*(0.2*x)**2`` as ``-0.02*x**2``."""
    number, factors = _factors(node)
    if not factors:
        return node
    if len(factors) == 1 and number == 1 and factors[0][0] == "*":
        return factors[0][1]
    before = Number(np.float64(abs(number)), repr(abs(number)))
    first: Node = before if number >= 0 else Negation(np.float64(number), before)
    return Chain(None, first, tuple(factors))


def _factors(node: Node) -> tuple[float, list[tuple[str, Node]]]:
    """Part a product into its number and its other factors, each with ``*`` or ``/``."""
    match node:
        case _ if node.constant is not None:
            return float(node.constant), []
        case Negation():
            number, factors = _factors(node.operand)
            return -number, factors
        case Chain() if node.rest[0][0] in "*/":
            number, factors = _factors(node.first)
            for symbol, operand in node.rest:
                other, more = _factors(operand)
                if symbol == "/" and not other:
                    return 1.0, [("*", node)]  # no number is before what has no value
                number = number * other if symbol == "*" else number / other
                turned = {"*": "/", "/": "*"} if symbol == "/" else {"*": "*", "/": "/"}
                factors = [*factors, *((turned[sign], part) for sign, part in more)]
            return number, factors
        case Chain():
            rest = tuple((symbol, with_one_number(operand)) for symbol, operand in node.rest)
            node = replace(node, first=with_one_number(node.first), rest=rest)
        case Power() if node.exponent.constant is not None:
            exponent = float(node.exponent.constant)
            number, factors = _factors(node.base)
            if exponent.is_integer() and number and len(factors) == 1:
                [(symbol, base)] = factors
                return number**exponent, [(symbol, replace(node, base=base))]
        case Call():
            node = replace(node, arguments=tuple(map(with_one_number, node.arguments)))
    return 1.0, [("*", node)]
