"""Trees as SymPy expressions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import sympy

from mdbench.expressions.functions import CONSTANTS, FUNCTIONS
from mdbench.expressions.tree import OPERATORS, Call, Chain, Negation, Node, Number, Power, Variable

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["nodes", "to_sympy"]


def to_sympy(node: Node, symbols: Mapping[str, Any], *, exact: bool = False) -> Any:
    """Build what SymPy's own parser would build: the same operations in the same order.

    Parameters
    ----------
    symbols
        A SymPy expression for each variable.
    exact
        Whether decimal numbers become the fractions that they are, and not floats.
    """

    def build(part: Node) -> Any:
        return to_sympy(part, symbols, exact=exact)

    match node:
        case Number():
            return _number(node.text, exact=exact)
        case Variable():
            return symbols[node.name]
        case Chain():
            result = build(node.first)
            for symbol, operand in node.rest:
                result = OPERATORS[symbol](result, build(operand))
            return result
        case Negation():
            return -build(node.operand)
        case Power():
            return build(node.base) ** build(node.exponent)
        case Call():
            arguments = (build(argument) for argument in node.arguments)
            return getattr(sympy, FUNCTIONS[node.function].sympy)(*arguments)


def nodes(expression: Any) -> int:
    """Count the nodes of a SymPy expression in a pre-order walk."""
    return sum(1 for _ in sympy.preorder_traversal(expression))


def _number(text: str, *, exact: bool) -> Any:
    if text in CONSTANTS:
        return getattr(sympy, text)
    if exact:
        return sympy.Rational(text)
    return sympy.Integer(int(text)) if text.isdigit() else sympy.Float(text)
