"""The atoms of terms, their products, their text, and exact numbers that stay short.

Every atom has one form only; `expand` defines which.
"""

from __future__ import annotations

import math
import re
import sys
from dataclasses import dataclass, field
from decimal import Decimal, localcontext
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING, TypeAlias

from eqverdict.errors import EquationError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from eqverdict.tree import Number


PI = Fraction(math.pi)
EXACT_DIGITS = 25
"""Digits of a number in a text that is to be read again."""
MAX_LENGTH = 60_000
"""Characters of an atom: some more than an equation may have."""
_SHORT = 10**EXACT_DIGITS
_NUMBER = re.compile(r"(?<![\w.])(\d+\.?\d*|\.\d+)(e[-+]?\d+)?")


@dataclass(frozen=True, slots=True)
class Atom:
    """A factor of a term.

    Attributes
    ----------
    skeleton
        The atom with a mark for each constant in it: ``#`` a coefficient, ``^`` an exponent,
        ``~`` a phase.
    constants
        Their values, in that order.
    text
        The atom in the notation of equations.
    kind
        ``variable``, ``wave``, ``exp``, ``abs``, ``sum``, or a function's name.
    inner
        The sum inside; of a function of two arguments the first.
    second
        The other argument of such a function.
    """

    skeleton: str
    constants: tuple[Exponent, ...]
    text: str = field(compare=False)
    kind: str = field(compare=False)
    inner: Terms = field(default=(), compare=False)
    second: Terms | None = field(default=None, compare=False)
    hashed: int = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if len(self.text) > MAX_LENGTH:  # such as of max(max(...), ...), where each counts twice
            raise EquationError("a part of an equation is too large to be multiplied out")
        # Fractions take long to hash, and every product of terms asks for it.
        object.__setattr__(self, "hashed", hash((self.skeleton, self.constants)))

    def __hash__(self) -> int:
        return self.hashed

    @property
    def order(self) -> tuple[str, tuple[Exponent, ...]]:
        """Key by which atoms are sorted."""
        return self.skeleton, self.constants


Exponent: TypeAlias = "int | Fraction"
Monomial: TypeAlias = "tuple[tuple[Atom, Exponent], ...]"
Sum: TypeAlias = "dict[Monomial, Fraction]"
Terms: TypeAlias = "tuple[tuple[Monomial, Fraction], ...]"
"""The terms of a sum, in the order of `sorted_terms`."""
ONE: Monomial = ()


@lru_cache(maxsize=16_384)
def skeleton_of(monomial: Monomial) -> str:
    """Write a product with a mark for each constant; products that match are alike in it."""
    return "*".join(f"{atom.skeleton}{'#' if atom.kind == 'exp' else '^'}" for atom, _ in monomial)


def constants_of(monomial: Monomial) -> tuple[Exponent, ...]:
    """Return the constants of a product in the order of their marks."""
    return tuple(c for atom, power in monomial for c in (*atom.constants, power))


def monomial_text(monomial: Monomial, coefficient: Fraction, digits: int = EXACT_DIGITS) -> str:
    """Write a term so that `eqverdict.parse` reads it.

    By default numbers have enough digits for fractions to cancel again; else all numbers are
    rounded to the given number of digits.
    """
    if digits < EXACT_DIGITS:
        exact = monomial_text(monomial, coefficient)
        return _NUMBER.sub(lambda number: f"{float(number[0]):.{digits}g}", exact)
    number = _decimal(coefficient)
    factors = [_power_text(atom, power) for atom, power in monomial]
    if factors and number in {"1", "-1"}:
        return number[:-1] + "*".join(factors)
    return "*".join([number, *factors])


def _decimal(value: Exponent) -> str:
    if value.denominator == 1 and abs(value) < _SHORT:
        return str(value)
    with localcontext(prec=EXACT_DIGITS):
        return f"{Decimal(value.numerator) / Decimal(value.denominator):g}"


def _power_text(atom: Atom, power: Exponent) -> str:
    if power == 1:
        return atom.text
    if atom.kind == "exp":
        return f"exp({monomial_text(atom.inner[0][0], Fraction(power))})"
    shown = _decimal(power)
    return f"{atom.text}**{shown if power >= 0 else f'({shown})'}"


def _sum_text(terms: Iterable[tuple[Monomial, Fraction]]) -> str:
    text = " + ".join(monomial_text(monomial, c) for monomial, c in terms) or "0"
    return text.replace("+ -", "- ")


def sorted_terms(terms: Sum) -> Terms:
    """Return the terms of a sum in the order that they have in atoms."""
    return tuple(sorted(terms.items(), key=lambda each: _order(each[0])))


@lru_cache(maxsize=16_384)
def _order(monomial: Monomial) -> tuple[str, tuple[Exponent, ...]]:
    return skeleton_of(monomial), constants_of(monomial)


def sum_order(terms: Terms) -> list[tuple[object, ...]]:
    """Return the key by which sums are sorted; their terms are in the order of `sorted_terms`."""
    return [(*_order(monomial), c) for monomial, c in terms]


def _skeleton(terms: Terms) -> str:
    return "+".join(f"#{skeleton_of(monomial)}" for monomial, _ in terms)


def _constants(terms: Terms) -> tuple[Exponent, ...]:
    return tuple(value for monomial, c in terms for value in (c, *constants_of(monomial)))


def normalised(
    terms: Terms,
) -> tuple[Fraction, Terms]:
    """Take out the size of the first coefficient."""
    scale = abs(terms[0][1])
    return scale, tuple((monomial, c / scale) for monomial, c in terms)


@lru_cache(maxsize=4_096)
def variable(name: str) -> Atom:
    """Make the atom of a variable."""
    return Atom(name, (), name, "variable")


def function(name: str, *arguments: Terms) -> Atom:
    """Make the atom of a function that has no rules of its own."""
    return Atom(
        f"{name}({','.join(map(_skeleton, arguments))})",
        tuple(value for terms in arguments for value in _constants(terms)),
        f"{name}({', '.join(map(_sum_text, arguments))})",
        name,
        arguments[0],
        arguments[1] if len(arguments) > 1 else None,
    )


def exponential(monomial: Monomial) -> Atom:
    """Make the atom ``exp(monomial)``, whose power is the coefficient."""
    terms = ((monomial, Fraction(1)),)
    return Atom(
        f"exp({skeleton_of(monomial)})",
        constants_of(monomial),
        f"exp({_sum_text(terms)})",
        "exp",
        terms,
    )


def absolute(atom: Atom) -> Atom:
    """Make the atom of the size of another."""
    return absolute_sum(atom.inner if atom.kind == "sum" else ((((atom, 1),), Fraction(1)),))


def absolute_sum(terms: Terms) -> Atom:
    """Make the atom of the size of a sum."""
    return Atom(
        f"abs({_skeleton(terms)})", _constants(terms), f"abs({_sum_text(terms)})", "abs", terms
    )


def opaque(terms: Terms) -> Atom:
    """Make an atom of a sum under a root or a fraction bar."""
    return Atom(f"({_skeleton(terms)})", _constants(terms), f"({_sum_text(terms)})", "sum", terms)


def whole(text: str) -> Atom:
    """Make an atom of an equation that is too large to be multiplied out."""
    return Atom(f"[{text}]", (), f"({text})", "whole")


def wave(terms: Terms, phase: Fraction) -> Atom:
    """Make the atom ``sin(terms + phase)``."""
    if phase == PI / 2:
        text = f"cos({_sum_text(terms)})"
    else:
        shifted = (*terms, (ONE, phase)) if phase else terms
        text = f"sin({_sum_text(shifted)})"
    return Atom(f"sin({_skeleton(terms)}~)", (*_constants(terms), phase), text, "wave", terms)


_NORMAL = sys.float_info.min
"""Numbers smaller than this have lost digits, and in the end all of them."""
_NEVER_ZERO = (math.exp,)

MAX_BITS = 4_000
"""Longer fractions are rounded to double precision."""
_FLOAT_BITS = 1_000
"""Numbers of more bits before the point are too large for a float, or nearly so."""


def number(node: Number) -> Fraction:
    """Read a number of an equation as it is in its text."""
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
        fraction = Fraction(result)
    except (OverflowError, ValueError):
        raise EquationError("a constant of an equation is too large") from None
    if (value and not small) or (function in _NEVER_ZERO and abs(result) < _NORMAL):
        raise EquationError("a constant of an equation is too small")
    return fraction


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
        fraction = Fraction(result)
    except (OverflowError, ValueError, ZeroDivisionError, TypeError):
        raise EquationError("a constant of an equation is too large") from None
    if value and abs(result) < _NORMAL:
        raise EquationError("a constant of an equation is too small")
    return fraction
