"""The tree of an equation, and its value on arrays."""

from __future__ import annotations

import operator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from mdbench.expressions.functions import FUNCTIONS

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from numpy.typing import NDArray

__all__ = [
    "OPERATORS",
    "Call",
    "Chain",
    "Negation",
    "Node",
    "Number",
    "Power",
    "Variable",
    "constants",
    "pieces",
    "value",
]

OPERATORS: dict[str, Callable[[Any, Any], Any]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
}
"""The left-associative operators, for NumPy and for SymPy alike."""


@dataclass(frozen=True, slots=True)
class _Part:
    """What all nodes have: their value, worked out once, where no variable is in them."""

    constant: np.float64 | None


@dataclass(frozen=True, slots=True)
class Number(_Part):
    """A literal, or the name of a constant; the text is kept, as SymPy wants every digit."""

    text: str


@dataclass(frozen=True, slots=True)
class Variable(_Part):
    """A name whose values are given at evaluation."""

    name: str


@dataclass(frozen=True, slots=True)
class Chain(_Part):
    """A run of operators of one rank, worked out from the left: ``a + b - c`` or ``a * b / c``.

    One node however long it is, so that a sum of a thousand terms is not a thousand deep.
    """

    first: Node
    rest: tuple[tuple[str, Node], ...]


@dataclass(frozen=True, slots=True)
class Negation(_Part):
    """A unary minus."""

    operand: Node


@dataclass(frozen=True, slots=True)
class Power(_Part):
    """A base and its exponent."""

    base: Node
    exponent: Node


@dataclass(frozen=True, slots=True)
class Call(_Part):
    """A function of one or two arguments."""

    function: str
    arguments: tuple[Node, ...]


Node: TypeAlias = Number | Variable | Chain | Negation | Power | Call


def value(
    node: Node, columns: Mapping[str, NDArray[np.float64]]
) -> NDArray[np.float64] | np.float64:
    """Work out a tree in float64; what is undefined or too large becomes NaN or infinite.

    Without ``np.errstate(all="ignore")`` around it, NumPy warns of these.
    """
    if node.constant is not None:
        return node.constant
    result: Any
    match node:
        case Variable():
            result = np.asarray(columns[node.name], np.float64)
        case Chain():
            result = value(node.first, columns)
            for symbol, operand in node.rest:
                result = OPERATORS[symbol](result, value(operand, columns))
        case Negation():
            result = -value(node.operand, columns)
        case Power():
            result = value(node.base, columns) ** value(node.exponent, columns)
        case Call():
            arguments = (value(argument, columns) for argument in node.arguments)
            result = FUNCTIONS[node.function].numpy(*arguments)
        case Number():
            raise AssertionError("a number is constant")
    return result  # type: ignore[no-any-return]


def pieces(node: Node) -> int:
    """Count what `Equation.pieces` counts, in a tree that stands by itself."""
    return 0 if node.constant == 0 else max(1, _summands(node)) + _within(node)


def constants(node: Node) -> int:
    """Count what `Equation.constants` counts, in a tree that stands by itself."""
    if node.constant is not None:
        return int(not float(node.constant).is_integer())
    match node:
        case Negation():
            return constants(node.operand)
        case Chain():
            return constants(node.first) + sum(constants(part) for _, part in node.rest)
        case Power():
            return constants(node.base) + constants(node.exponent)
        case Call():
            return sum(constants(part) for part in node.arguments)
    return 0


def _summands(node: Node) -> int:
    """Count the summands of a node, each at least once."""
    match node:
        case Negation():
            return _summands(node.operand)
        case Chain(rest=((("+" | "-"), _), *_)):
            return sum(_summands(part) for part in (node.first, *(part for _, part in node.rest)))
    return 1


def _within(node: Node) -> int:
    """Count functions, powers that are not whole, and sums below the outermost one."""
    count = 0
    match node:
        case Negation():
            count = _within(node.operand)
        case Chain():
            counted = _within if node.rest[0][0] in "+-" else _nested
            count = sum(counted(part) for part in (node.first, *(part for _, part in node.rest)))
        case Power():
            exponent = node.exponent.constant
            whole = exponent is not None and float(exponent).is_integer()
            count = _nested(node.base) + _nested(node.exponent) + (not whole)
        case Call():
            count = 1 + sum(_nested(part) for part in node.arguments)
    return 0 if node.constant is not None else count


def _nested(node: Node) -> int:
    """Count the pieces of a part: a sum has one for each of its summands, anything else its own."""
    if node.constant is not None:
        return 0
    summands = _summands(node)
    return (summands if summands > 1 else 0) + _within(node)
