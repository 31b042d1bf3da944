"""The value of an equation on arrays, rounded once: as exact as double precision can hold it.

An equation is evaluated in pairs of doubles, which hold 106 bits together, with a bound of the
error: a value is taken only where all that the bound allows rounds to the same double.  Where too
much cancels for that, or a function has no such way here, the row is evaluated in balls of more and
more digits (`interval_eval.nearest_double`).  Correctly rounded values are the same on every
machine.

References
----------
Joldes, Muller and Popescu, "Tight and rigorous error bounds for basic building blocks of
double-word arithmetic", ACM TOMS 44 (2017): the sums, products and quotients of pairs.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from flint import arb

from eqverdict.interval_eval import nearest_double, precision
from eqverdict.tree import (
    ALIASES,
    Call,
    Chain,
    Negation,
    Node,
    Number,
    Power,
    Variable,
    parts,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import NDArray

    Array: TypeAlias = NDArray[np.float64]

_RELATIVE = 2.0**-98
"""Bound of the relative error of an operation on pairs (the largest is 2^-102)."""
_TINY, _HUGE = 1e-270, 1e290
"""Outside of this range of sizes the two parts of a product lose digits."""
_NOTHING = 1e-290
"""A value below this is rounded to zero."""
_LARGEST_EXPONENT = 650.0
_LARGEST_ANGLE = 1e6
_LARGEST_TANGENT = 1e15
_MOST_MULTIPLIED = 64
"""Whole exponents up to this one are worked out as products."""
_DIGITS = 90
"""Decimal digits of constants, from which pairs are made."""
_HALVINGS = 8
"""How often an exponent is halved before the power series is summed."""
_SPLITTER = 134217729.0


@dataclass(frozen=True, slots=True)
class _DoubleDouble:
    """A number as the sum of two doubles, and how far it may be off: arrays of one shape, or one.

    `off` is a bound of the absolute error, infinite where the number is not known.
    """

    high: Array
    low: Array
    off: Array


def correctly_rounded_values(
    tree: Node, columns: Mapping[str, Array], *, most_work: float = math.inf
) -> Array:
    """Evaluate a tree on columns, each value rounded once; numbers are exact decimals.

    Parameters
    ----------
    columns
        The values of each variable, all of one shape (n,).
    most_work
        How many nodes times rows may be worked out in balls at most; where it were more, double
        precision with pairs has to do: a value is the nearest double to the value of the pairs.

    Returns
    -------
    NDArray
        (n,).  NaN where there is no real value, or none that can be worked out; infinite beyond
        the range of a double.
    """
    shape = np.shape(next(iter(columns.values())))
    arrays = {name: np.asarray(column, np.float64) for name, column in columns.items()}
    with np.errstate(all="ignore"):
        work = _Evaluator(arrays, shape)
        pair = work.value(tree)
        values = np.array(np.broadcast_to(pair.high, shape))
        low, off = np.broadcast_to(pair.low, shape), np.broadcast_to(pair.off, shape)
        rounded = (values + (low + off) == values) & (values + (low - off) == values)
        rounded |= np.abs(values) + off < _NOTHING
        values[work.undefined] = math.nan
        unclear = np.flatnonzero(~rounded & ~work.undefined)
        if len(unclear) * sum(1 for _ in parts(tree)) > most_work:
            values[unclear[~(np.isfinite(off[unclear]))]] = math.nan
            return values
    for row in unclear:
        point = {name: float(column[row]) for name, column in arrays.items()}
        values[row] = nearest_double(tree, point)
    return values


class _Evaluator:
    """Works a tree out in pairs, and marks the rows where it has no real value."""

    def __init__(self, columns: Mapping[str, Array], shape: tuple[int, ...]) -> None:
        self._columns = columns
        self.undefined = np.zeros(shape, bool)

    def value(self, node: Node) -> _DoubleDouble:
        match node:
            case Number():
                return _constant(node.text)
            case Variable():
                return _exactly(self._columns[node.name])
            case Chain():
                result, rest = self._first(node)
                for symbol, operand in rest:
                    result = self._combined(symbol, result, self.value(operand))
                return result
            case Negation():
                return _negative(self.value(node.operand))
            case Power():
                return self._power(self.value(node.base), self.value(node.exponent))
            case Call():
                arguments = [self.value(argument) for argument in node.arguments]
                return self._call(ALIASES.get(node.function, node.function), arguments)

    def _first(self, node: Chain) -> tuple[_DoubleDouble, Sequence[tuple[str, Node]]]:
        """Begin a chain: ``exp(a) - 1`` and ``1 - cos(a)`` without cancellation."""
        (symbol, second), *operands = node.rest
        match node.first, symbol, second:
            case (Call(function="exp", arguments=(a,)), "-", Number(text="1")):
                return _expm1(self.value(a)), operands
            case (Number(text="1"), "-", Call(function="cos", arguments=(a,))):
                half = _wave(_scaled(self.value(a), 0.5))
                return _scaled(_product(half, half), 2.0), operands
        return self.value(node.first), node.rest

    def _combined(self, symbol: str, a: _DoubleDouble, b: _DoubleDouble) -> _DoubleDouble:
        match symbol:
            case "+":
                return _sum(a, b)
            case "-":
                return _sum(a, _negative(b))
            case "*":
                return _product(a, b)
        self._mark((b.high == 0.0) & (b.off == 0.0))
        return _quotient(a, b)

    def _power(self, base: _DoubleDouble, exponent: _DoubleDouble) -> _DoubleDouble:
        if exponent.high.ndim == 0 and exponent.low == 0.0 and exponent.off == 0.0:
            number = float(exponent.high)
            if number.is_integer() and abs(number) <= _MOST_MULTIPLIED:
                return self._multiplied(base, int(number))
            if (2 * number).is_integer() and abs(number) <= _MOST_MULTIPLIED:
                return self._multiplied(self._root(base), int(2 * number))
        return _exponential(_product(exponent, _logarithm(base)))

    def _multiplied(self, base: _DoubleDouble, times: int) -> _DoubleDouble:
        if times < 0:
            return self._combined("/", _exactly(1.0), self._multiplied(base, -times))
        result = _exactly(np.ones_like(base.high))
        for digit in f"{times:b}" if times else "":
            result = _product(result, result)
            if digit == "1":
                result = _product(result, base)
        return result

    def _root(self, a: _DoubleDouble) -> _DoubleDouble:
        self._mark(a.high + (a.low + a.off) < 0.0)
        return _root(a)

    def _logarithm(self, a: _DoubleDouble) -> _DoubleDouble:
        self._mark((a.high + (a.low + a.off) < 0.0) | ((a.high == 0.0) & (a.off == 0.0)))
        return _logarithm(a)

    def _arcsine(self, a: _DoubleDouble) -> _DoubleDouble:
        self._mark(np.abs(a.high) - (np.abs(a.low) + a.off) > 1.0)
        one = _exactly(1.0)
        return _arctangent(_quotient(a, _root(_product(_sum(one, a), _sum(one, _negative(a))))))

    def _arccosine(self, a: _DoubleDouble) -> _DoubleDouble:
        return _sum(_scaled(_constant("pi"), 0.5), _negative(self._arcsine(a)))

    def _mark(self, undefined: Any) -> None:
        self.undefined |= np.broadcast_to(undefined, self.undefined.shape)

    def _call(self, name: str, arguments: Sequence[_DoubleDouble]) -> _DoubleDouble:
        a = arguments[0]
        match name:
            case "max":
                return _larger(a, arguments[1])
            case "min":
                return _negative(_larger(*map(_negative, arguments)))
        bounded = {
            "acos": self._arccosine,
            "asin": self._arcsine,
            "log": self._logarithm,
            "sqrt": self._root,
        }
        return bounded.get(name, _SIMPLE.get(name, _unknown))(a)


@lru_cache(maxsize=1_000)
def _constant(text: str) -> _DoubleDouble:
    with precision(_DIGITS):
        named = {"pi": arb.pi, "E": arb.const_e}
        number = named[text]() if text in named else arb(text)
        high = float(number)
        low = float(number - high)
        exact = number == arb(high) + low
    return _DoubleDouble(
        np.array(high), np.array(low), np.array(0.0 if exact else abs(high) * _RELATIVE)
    )


def _exactly(values: Any) -> _DoubleDouble:
    high = np.asarray(values, np.float64)
    return _DoubleDouble(high, np.zeros_like(high), np.zeros_like(high))


def _two_sum(a: Any, b: Any) -> tuple[Any, Any]:
    s = a + b
    t = s - a
    return s, (a - (s - t)) + (b - t)


def _fast_sum(a: Any, b: Any) -> tuple[Any, Any]:
    """Return the sum of a and b as a pair, where the size of a is not less than that of b."""
    s = a + b
    return s, b - (s - a)


def _split(a: Any) -> tuple[Any, Any]:
    c = _SPLITTER * a
    high = c - (c - a)
    return high, a - high


def _two_product(a: Any, b: Any) -> tuple[Any, Any]:
    p = a * b
    a1, a2 = _split(a)
    b1, b2 = _split(b)
    return p, ((a1 * b1 - p) + a1 * b2 + a2 * b1) + a2 * b2


def _with_rounding(high: Any, low: Any, off: Any) -> _DoubleDouble:
    """Make a result; its bound is that of its operands and its own rounding together."""
    high, low = np.asarray(high), np.asarray(low)
    size = np.abs(high)
    off = off + size * np.where(size < _TINY, 2.0**-49, _RELATIVE)
    off = np.where((size < _TINY) & (size > 0.0), off + 1e-320, off)
    return _DoubleDouble(high, low, np.where(size < _HUGE, off, math.inf))


def _negative(a: _DoubleDouble) -> _DoubleDouble:
    return _DoubleDouble(-a.high, -a.low, a.off)


def _sum(a: _DoubleDouble, b: _DoubleDouble) -> _DoubleDouble:
    s, t = _two_sum(a.high, b.high)
    u, v = _two_sum(a.low, b.low)
    s, t = _fast_sum(s, t + u)
    return _with_rounding(*_fast_sum(s, v + t), a.off + b.off)


def _product(a: _DoubleDouble, b: _DoubleDouble) -> _DoubleDouble:
    p, e = _two_product(a.high, b.high)
    high, low = _fast_sum(p, e + (a.high * b.low + a.low * b.high))
    off = np.abs(a.high) * b.off + (np.abs(b.high) + b.off) * a.off
    # A value too small for a double is known only to lie between zero and the smallest double.
    lost = (high == 0.0) & (a.high != 0.0) & (b.high != 0.0)
    return _with_rounding(high, low, np.where(lost, off + 1e-320, off) * (1 + 2.0**-40))


def _quotient(a: _DoubleDouble, b: _DoubleDouble) -> _DoubleDouble:
    first = a.high / b.high
    p, e = _two_product(b.high, first)
    s, t = _two_sum(a.high, -p)
    rest = s + (t + ((a.low - e) - b.low * first))
    high, low = _fast_sum(first, rest / b.high)
    least = np.abs(b.high) * (1 - 2.0**-50) - b.off
    off = (a.off + np.abs(high) * b.off) / least
    known = (least > 0.0) & (np.abs(p) > _TINY) | (a.high == 0.0) & (least > 0.0)
    return _with_rounding(high, low, np.where(known, off * (1 + 2.0**-40), math.inf))


def _root(a: _DoubleDouble) -> _DoubleDouble:
    first = np.sqrt(a.high)
    p, e = _two_product(first, first)
    rest = (a.high - p) + (a.low - e)
    high, low = _fast_sum(first, rest / (2.0 * first))
    zero = (a.high == 0.0) & (a.off == 0.0)
    off = np.where(a.high > _TINY, 2.0 * a.off / np.maximum(first, 1e-300), math.inf)
    # Half of the bound would do where it is small compared with the number.
    off = np.where(a.off < 0.5 * a.high, off, math.inf)
    return _with_rounding(
        np.where(zero, 0.0, high), np.where(zero, 0.0, low), np.where(zero, 0.0, off)
    )


def _scaled(a: _DoubleDouble, factor: Any) -> _DoubleDouble:
    """Multiply by powers of two, which is exact."""
    return _DoubleDouble(a.high * factor, a.low * factor, a.off * factor)


_NEAR = 8.0
"""An upper bound of the arguments of power series, after they are brought near zero."""


def _series(z: _DoubleDouble, coefficients: Sequence[Fraction]) -> _DoubleDouble:
    """Sum up a power series of falling terms; the tail, below the last 53 bits, in doubles.

    The caller drops the rows whose angle was too large to be brought near zero.
    """
    pairs = [_exact_pair(each) for each in coefficients]
    sizes = np.abs(z.high)
    largest = float(np.max(np.where(sizes < _NEAR, sizes, 0.0), initial=0.0))
    count = 1
    while count < len(pairs) and largest**count * abs(float(coefficients[count])) > 2.0**-52 * abs(
        float(coefficients[0])
    ):
        count += 1
    tail: Any = np.zeros_like(z.high)
    for pair in reversed(pairs[count:]):
        tail = tail * z.high + pair.high
    # The tail is off by 2^-50 of itself, which is 2^-102 of the whole.
    result = _DoubleDouble(tail, np.zeros_like(tail), np.abs(tail) * 2.0**-48)
    for pair in reversed(pairs[:count]):
        result = _sum(pair, _product(result, z))
    return result


@lru_cache(maxsize=200)
def _exact_pair(number: Fraction) -> _DoubleDouble:
    high = float(number)
    low = float(number - Fraction(high))
    return _DoubleDouble(np.array(high), np.array(low), np.array(abs(high) * 2.0**-105))


_FACTORIALS = [Fraction(1, math.factorial(n)) for n in range(34)]
_EXPONENTIAL = _FACTORIALS[1:13]
_SINE = [(-1) ** n * _FACTORIALS[2 * n + 1] for n in range(16)]
_COSINE = [(-1) ** n * _FACTORIALS[2 * n] for n in range(17)]


@lru_cache(maxsize=2)
def _parts(name: str) -> tuple[float, float, float]:
    """Return three doubles whose sum is a number, to 2^-158 of it."""
    with precision(_DIGITS):
        remainder = arb(2).log() if name == "log 2" else arb.pi() / 2
        parts = []
        for _ in range(3):
            parts.append(float(remainder))
            remainder -= parts[-1]
    first, second, third = parts
    return first, second, third


def _remainder(a: _DoubleDouble, name: str, times: Array) -> _DoubleDouble:
    """Subtract a whole multiple of one of the numbers of `_parts`."""
    for part in _parts(name):
        product, error = _two_product(times, part)
        a = _sum(a, _DoubleDouble(-product, -error, np.zeros_like(product)))
    return _DoubleDouble(a.high, a.low, a.off + np.abs(times) * 2.0**-150)


def _exponential(a: _DoubleDouble) -> _DoubleDouble:
    times = np.rint(a.high / math.log(2.0))
    grown = _expm1_small(_remainder(a, "log 2", times))
    known = (np.abs(a.high) < _LARGEST_EXPONENT) & (a.off < 2.0**-10)
    value = _scaled(_sum(_exactly(1.0), grown), np.exp2(np.where(known, times, 0.0)))
    value = _with_rounding(value.high, value.low, np.where(known, value.off, math.inf))
    vanished = a.high + a.off < -1_000.0  # noqa: PLR2004 - below all doubles
    return _DoubleDouble(
        np.where(vanished, 0.0, value.high),
        np.where(vanished, 0.0, value.low),
        np.where(vanished, 1e-320, value.off),
    )


def _expm1_small(a: _DoubleDouble) -> _DoubleDouble:
    """Return ``exp(a) - 1`` for a of at most one: by its series, for a small part of it."""
    part = _scaled(a, 2.0**-_HALVINGS)
    grown = _product(part, _series(part, _EXPONENTIAL))
    for _ in range(_HALVINGS):
        grown = _sum(_scaled(grown, 2.0), _product(grown, grown))
    return grown


def _expm1(a: _DoubleDouble) -> _DoubleDouble:
    """Return ``exp(a) - 1``, to all digits where a is small."""
    small = np.abs(a.high) < 0.25  # noqa: PLR2004 - where something cancels
    near = _expm1_small(
        _DoubleDouble(*(np.where(small, part, 0.0) for part in (a.high, a.low, a.off)))
    )
    if np.all(small):
        return near
    far = _sum(_exponential(a), _exactly(-1.0))
    return _DoubleDouble(
        np.where(small, near.high, far.high),
        np.where(small, near.low, far.low),
        np.where(small, near.off, far.off),
    )


def _logarithm(a: _DoubleDouble) -> _DoubleDouble:
    fraction, times = np.frexp(a.high)
    times = np.where(fraction < math.sqrt(0.5), times - 1, times).astype(np.float64)
    near_one = _scaled(a, np.exp2(-times))
    guess = np.log(near_one.high)
    excess = _sum(_product(near_one, _exponential(_exactly(-guess))), _exactly(-1.0))
    # The series of log(1 + rest), whose second term is below 2^-104.
    correction = _sum(excess, _exactly(-0.5 * excess.high**2))
    value = _sum(_exactly(guess), correction)
    none = _DoubleDouble(
        np.zeros_like(value.high), np.zeros_like(value.high), np.zeros_like(value.high)
    )
    value = _sum(value, _negative(_remainder(none, "log 2", times)))
    known = (a.high > _TINY) & (a.off < 2.0**-10 * a.high) & (np.abs(excess.high) < 2.0**-40)
    return _DoubleDouble(value.high, value.low, np.where(known, 1.01 * value.off, math.inf))


def _wave(a: _DoubleDouble, quarter: int = 0) -> _DoubleDouble:
    """Return the sine, or with `quarter` 1 the cosine."""
    times = np.rint(a.high * (2.0 / math.pi))
    rest = _remainder(a, "pi/2", times)
    square = _product(rest, rest)
    sine, cosine = _product(rest, _series(square, _SINE)), _series(square, _COSINE)
    turn = np.where(np.isfinite(times), times, 0.0) + quarter
    odd, sign = turn % 2.0 == 1.0, np.where(turn % 4.0 >= 2.0, -1.0, 1.0)  # noqa: PLR2004 - half a turn
    known = (np.abs(a.high) < _LARGEST_ANGLE) & (a.off < 2.0**-10)
    return _DoubleDouble(
        sign * np.where(odd, cosine.high, sine.high),
        sign * np.where(odd, cosine.low, sine.low),
        np.where(known, np.where(odd, cosine.off, sine.off), math.inf),
    )


def _arctangent(a: _DoubleDouble) -> _DoubleDouble:
    """Correct what double precision gives, as ``tan(x - g) = (a*c - s)/(c + a*s)``."""
    guess = _exactly(np.arctan(a.high))
    sine, cosine = _wave(guess), _wave(guess, quarter=1)
    left = _sum(_product(a, cosine), _negative(sine))
    rest = _quotient(left, _sum(cosine, _product(a, sine)))
    known = (np.abs(rest.high) < 2.0**-40) & (np.abs(a.high) < _LARGEST_TANGENT)
    found = _sum(guess, rest)
    return _DoubleDouble(found.high, found.low, np.where(known, found.off, math.inf))


def _half_sum(a: _DoubleDouble, sign: float) -> _DoubleDouble:
    """Return the hyperbolic cosine (1) or sine (-1)."""
    other = _exponential(_negative(a))
    return _scaled(_sum(_exponential(a), other if sign > 0 else _negative(other)), 0.5)


def _tanh(a: _DoubleDouble) -> _DoubleDouble:
    grown, one = _exponential(_scaled(a, 2.0)), _exactly(1.0)
    value = _quotient(_sum(grown, _negative(one)), _sum(grown, one))
    large = np.abs(a.high) - a.off > 50.0  # noqa: PLR2004 - where it is 1 to 43 digits
    return _DoubleDouble(
        np.where(large, np.sign(a.high), value.high),
        np.where(large, 0.0, value.low),
        np.where(large, 1e-40, value.off),
    )


def _absolute(a: _DoubleDouble) -> _DoubleDouble:
    sign = np.where(a.high < 0.0, -1.0, 1.0)
    return _DoubleDouble(sign * a.high, sign * a.low, a.off)


def _sign(a: _DoubleDouble) -> _DoubleDouble:
    known = (np.abs(a.high) > 2.0 * a.off) | ((a.high == 0.0) & (a.off == 0.0))
    high = np.sign(a.high)
    return _DoubleDouble(high, np.zeros_like(high), np.where(known, 0.0, math.inf))


def _floor(a: _DoubleDouble) -> _DoubleDouble:
    below, above = np.floor(a.high + (a.low - a.off)), np.floor(a.high + (a.low + a.off))
    return _DoubleDouble(below, np.zeros_like(below), np.where(below == above, 0.0, math.inf))


def _larger(a: _DoubleDouble, b: _DoubleDouble) -> _DoubleDouble:
    first = (a.high > b.high) | ((a.high == b.high) & (a.low >= b.low))
    high, low = np.where(first, a.high, b.high), np.where(first, a.low, b.low)
    return _DoubleDouble(high, low, np.maximum(a.off, b.off))


def _unknown(a: _DoubleDouble) -> _DoubleDouble:
    nothing = np.full_like(a.high, math.nan)
    return _DoubleDouble(nothing, nothing, np.full_like(a.high, math.inf))


_SIMPLE: dict[str, Callable[[_DoubleDouble], _DoubleDouble]] = {
    "abs": _absolute,
    "atan": _arctangent,
    "cos": lambda a: _wave(a, quarter=1),
    "cosh": lambda a: _half_sum(a, 1.0),
    "cot": lambda a: _quotient(_wave(a, quarter=1), _wave(a)),
    "exp": _exponential,
    "floor": _floor,
    "sign": _sign,
    "sin": _wave,
    "sinh": lambda a: _half_sum(a, -1.0),
    "tan": lambda a: _quotient(_wave(a), _wave(a, quarter=1)),
    "tanh": _tanh,
}
"""Functions that have a value everywhere, except where they divide by zero."""
