"""Trees as SymPy expressions.  The one module here that imports SymPy."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import sympy

from .functions import CONSTANTS, FUNCTIONS
from .tree import OPERATORS, Call, Chain, Negation, Node, Number, Power, Variable

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["nodes", "to_sympy"]


def to_sympy(node: Node, symbols: Mapping[str, Any]) -> Any:
    """Build what SymPy's own parser would build: the same operations in the same order."""
    match node:
        case Number():
            return _number(node.text)
        case Variable():
            return symbols[node.name]
        case Chain():
            result = to_sympy(node.first, symbols)
            for symbol, operand in node.rest:
                result = OPERATORS[symbol](result, to_sympy(operand, symbols))
            return result
        case Negation():
            return -to_sympy(node.operand, symbols)
        case Power():
            return to_sympy(node.base, symbols) ** to_sympy(node.exponent, symbols)
        case Call():
            arguments = (to_sympy(argument, symbols) for argument in node.arguments)
            return getattr(sympy, FUNCTIONS[node.function].sympy)(*arguments)


def nodes(expression: Any) -> int:
    """Count the nodes of a SymPy expression in a pre-order walk."""
    return sum(1 for _ in sympy.preorder_traversal(expression))


def _number(text: str) -> Any:
    if text in CONSTANTS:
        return getattr(sympy, text)
    return sympy.Integer(int(text)) if text.isdigit() else sympy.Float(text)
