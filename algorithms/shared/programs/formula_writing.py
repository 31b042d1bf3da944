"""Formulas as text in the bench's grammar."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from formula_graphs import NUMBER, PARAMETER, VARIABLE, GraphNode, ProgramError

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["written"]

_SUM, _PRODUCT, _SIGN, _POWER, _ATOM = range(5)
"""Precedence of a text's outermost operation."""
_OPERATORS = {
    "+": ("{} + {}", _SUM, (_SUM, _PRODUCT)),
    "-": ("{} - {}", _SUM, (_SUM, _PRODUCT)),
    "*": ("{}*{}", _PRODUCT, (_PRODUCT, _POWER)),
    "/": ("{}/{}", _PRODUCT, (_PRODUCT, _POWER)),
    "**": ("{}**{}", _POWER, (_ATOM, _ATOM)),
    "neg": ("-{}", _SIGN, (_POWER,)),
}
"""For each operator: its text, its precedence, and the least precedence of its parts."""
_LARGEST_EXPONENT = 1000
_WHOLE = 1e15


def written(node: GraphNode, names: Sequence[str]) -> str:
    """Write a formula without parameters, numbers with all their digits.

    Parameters
    ----------
    names
        Names of the columns.

    Raises
    ------
    ProgramError
        If a parameter is left, or a number is an exponent that the bench does not take.

    Examples
    --------
    >>> from formula_graphs import number, variable
    >>> inner = GraphNode("-", (variable(1), number(-0.5)))
    >>> written(GraphNode("*", (variable(0), GraphNode("**", (inner, number(2.0))))), ["a", "b"])
    'a*(b - (-0.5))**2'
    """
    return _text(node, names)[0]


def _text(node: GraphNode, names: Sequence[str]) -> tuple[str, int]:
    if node.name == NUMBER:
        return _number(node.value)
    if node.name == VARIABLE:
        return names[int(node.value)], _ATOM
    if node.name == PARAMETER:
        raise ProgramError("a parameter of it has no value")
    parts = [_text(part, names) for part in node.parts]
    if node.name not in _OPERATORS:
        return f"{node.name}({', '.join(text for text, _ in parts)})", _ATOM
    if node.name == "**" and node.parts[1].name == NUMBER:
        exponent = node.parts[1].value
        if not abs(exponent) <= _LARGEST_EXPONENT:
            raise ProgramError(f"the exponent {exponent:g} is too large")
    pattern, strength, needed = _OPERATORS[node.name]
    texts = [
        text if tight >= least else f"({text})"
        for (text, tight), least in zip(parts, needed, strict=True)
    ]
    return pattern.format(*texts), strength


def _number(value: float) -> tuple[str, int]:
    whole = value.is_integer() and abs(value) < _WHOLE
    text = repr(int(value)) if whole else repr(value)
    return text, _ATOM if math.copysign(1.0, value) > 0 or text == "0" else _SUM
