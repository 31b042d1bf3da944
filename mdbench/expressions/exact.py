"""Exact numbers that stay short: what would take long to reckon with is rounded to a float."""

from __future__ import annotations

import math
import sys
from fractions import Fraction
from typing import TYPE_CHECKING

from mdbench.errors import EquationError

if TYPE_CHECKING:
    from mdbench.expressions.tree import Number

__all__ = ["bounded", "float_of", "number", "number_power", "simple"]

_NORMAL = sys.float_info.min
"""What is smaller than this has lost digits, and in the end all of them."""
_NEVER_ZERO = (math.exp,)

MAX_BITS = 4_000
"""Longer fractions are rounded to double precision."""
_FLOAT_BITS = 1_000
"""Numbers of more bits before the point are too large for a float, or nearly so."""


def number(node: Number) -> Fraction:
    """Read a number of an equation as it stands in its text."""
    if node.text[0].isalpha():
        return Fraction(float(node.constant or 0.0))
    # Through a float where the decimal exponent would make a fraction of many digits.
    value = abs(float(node.constant or 0.0))
    return Fraction(node.text) if 1e-60 < value < 1e60 else Fraction(value)  # noqa: PLR2004


def simple(value: float) -> Fraction:
    """Take a float for the fraction of a small denominator that it nearly is."""
    near = Fraction(float(value)).limit_denominator(12)
    return near if abs(float(near) - value) < 1e-12 else Fraction(float(value))  # noqa: PLR2004


def bounded(value: Fraction) -> Fraction:
    """Round a fraction that has become long.

    Raises
    ------
    EquationError
        If the result is too large for a float.
    """
    above, below = value.numerator.bit_length(), value.denominator.bit_length()
    if above + below <= MAX_BITS and above - below < _FLOAT_BITS:
        return value
    return float_of(float, value)


def float_of(function: object, value: Fraction) -> Fraction:
    """Apply a function of floats.

    Raises
    ------
    EquationError
        If the result is too large or, without being zero, too small for a float.
    """
    try:
        small = float(value)
        result = function(small)  # type: ignore[operator]
        found = Fraction(result)
    except (OverflowError, ValueError):
        raise EquationError("a constant of an equation is too large") from None
    if (value and not small) or (function in _NEVER_ZERO and abs(result) < _NORMAL):
        raise EquationError("a constant of an equation is too small")
    return found


def number_power(value: Fraction, exponent: Fraction) -> Fraction:
    """Raise a number: exactly, unless the result would be long or has no short writing.

    Raises
    ------
    EquationError
        If the result is too large for a float.
    """
    bits = value.numerator.bit_length() + value.denominator.bit_length()
    if exponent.denominator == 1 and bits * abs(exponent) <= MAX_BITS:
        return value**exponent.numerator
    try:
        result = float(value) ** float(exponent)
        found = Fraction(result)
    except (OverflowError, ValueError, ZeroDivisionError, TypeError):
        raise EquationError("a constant of an equation is too large") from None
    if value and abs(result) < _NORMAL:
        raise EquationError("a constant of an equation is too small")
    return found
