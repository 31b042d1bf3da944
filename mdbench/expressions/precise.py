"""The value of an equation at one point, in as many digits as mpmath works with."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import mpmath

from .functions import ALIASES
from .tree import OPERATORS, Call, Chain, Negation, Node, Number, Power, Variable

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["DIGITS", "FAR_DIGITS", "called", "precise_value", "raised"]

DIGITS = 160
"""Digits that equations are evaluated with where double precision has told no difference."""
FAR_DIGITS = 640
"""The same beyond their domain, where exponentials may cancel that are large."""
_MOST_EXPONENT = 640.0
"""What has a larger exponent has no value: the digits would not do for what cancels."""
_CONSTANTS = {"pi": mpmath.pi, "E": mpmath.e}


def precise_value(node: Node, point: Mapping[str, Any]) -> Any:
    """Work a tree out with mpmath's present precision; decimal numbers are what they say.

    Raises
    ------
    ArithmeticError
        If it has no real value there.
    """
    match node:
        case Number():
            text = node.text
            return +_CONSTANTS[text] if text in _CONSTANTS else mpmath.mpf(text)
        case Variable():
            return point[node.name]
        case Chain():
            result = precise_value(node.first, point)
            for symbol, operand in node.rest:
                result = OPERATORS[symbol](result, precise_value(operand, point))
            return result
        case Negation():
            return -precise_value(node.operand, point)
        case Power():
            return raised(precise_value(node.base, point), precise_value(node.exponent, point))
        case Call():
            arguments = [precise_value(argument, point) for argument in node.arguments]
            return called(ALIASES.get(node.function, node.function), *arguments)


def raised(base: Any, exponent: Any) -> Any:
    """Raise a number to a power, in real numbers."""
    if base and abs(float(exponent)) * abs(mpmath.mag(base)) > _MOST_EXPONENT / math.log(2):
        raise ArithmeticError("a power is too large")
    return _real(base**exponent)


def called(name: str, *arguments: Any) -> Any:
    """Apply a function, by its usual name, in real numbers."""
    if name in {"exp", "sinh", "cosh"} and abs(arguments[0]) > _MOST_EXPONENT:
        raise ArithmeticError("an exponential is too large")
    if name in {"abs", "max", "min"}:
        return abs(*arguments) if name == "abs" else (max if name == "max" else min)(arguments)
    try:
        return _real(getattr(mpmath, name)(*arguments))
    except ValueError:
        raise ArithmeticError("a function has no value there") from None


def _real(value: Any) -> Any:
    if not (isinstance(value, mpmath.mpf) and mpmath.isfinite(value)):
        raise ArithmeticError("there is no real value")
    return value
