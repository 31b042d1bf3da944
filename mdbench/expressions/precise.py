"""The value of an equation at one point, in as many digits as mpmath works with."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import mpmath

from .functions import ALIASES
from .tree import OPERATORS, Call, Chain, Negation, Node, Number, Power, Variable

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["DIGITS", "FAR_DIGITS", "TooLargeError", "called", "precise_value", "raised"]

DIGITS = 160
"""Digits that equations are evaluated with where double precision has told no difference."""
FAR_DIGITS = 640
"""The same beyond their domain, where exponentials may cancel that are large."""
_MOST_EXPONENT = 640.0
"""What has a larger exponent is not worked out: the digits would not do for what cancels."""
_LEAST_EXPONENT = -1e6
_CONSTANTS = {"pi": mpmath.pi, "E": mpmath.e}


class TooLargeError(ArithmeticError):
    """A value is beyond what is worked out."""


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
    _check(float(exponent) * mpmath.mag(base) * math.log(2) if base else 0.0)
    return _real(base**exponent)


def called(name: str, *arguments: Any) -> Any:
    """Apply a function, by its usual name, in real numbers."""
    if name in {"exp", "sinh", "cosh"}:
        _check(float(arguments[0] if name == "exp" else abs(arguments[0])))
    if name in {"abs", "max", "min"}:
        return abs(*arguments) if name == "abs" else (max if name == "max" else min)(arguments)
    try:
        return _real(getattr(mpmath, name)(*arguments))
    except ValueError:
        raise ArithmeticError("a function has no value there") from None


def _check(exponent: float) -> None:
    if not _LEAST_EXPONENT < exponent < _MOST_EXPONENT:
        raise TooLargeError("an exponent is too large")


def _real(value: Any) -> Any:
    if not (isinstance(value, mpmath.mpf) and mpmath.isfinite(value)):
        raise ArithmeticError("there is no real value")
    return value
