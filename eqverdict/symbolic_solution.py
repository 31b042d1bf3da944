"""Whether a prediction is the true equation; runs in a child process only.

A prediction is a *symbolic solution* if it is not constant, and one of two holds: truth minus
prediction is a constant; prediction over truth is a constant other than zero (La Cava et al.,
"Contemporary symbolic regression methods and their relative performance", NeurIPS 2021, definition
4.1).

Two expressions are equal here if they have the same values: at random points of the variables' own
domain, some beyond it and some on each side of a branch. They have 200 digits, and more where
numbers of very different sizes meet; 100 have to agree. So `exp(x + 1)` is `E*exp(x)`, and
`sqrt(a*b)` is `sqrt(a)*sqrt(b)` where a and b are positive, whether SymPy sees it or not. A term of
a relative size of 1e-50 is not overlooked.
"""

from __future__ import annotations

import math
import random
from typing import TYPE_CHECKING, Any, NamedTuple

import mpmath
import sympy

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

_DIGITS = 200
_MOST_DIGITS = 6_000
"""Equations whose values need more, as they are so far apart, are undecided."""
_AGREEING = mpmath.mpf(10) ** -100
_POINTS = 24
_DRAWS = 2_000
"""Number of points that are tried until the truth is defined at enough of them."""
_FAR = 3.0
"""Points beyond the domain are larger or smaller by this factor."""
_FAR_POINTS = 8
_FAR_DRAWS = 200
"""Number of points that are tried where one side of a branch has none."""
_MOST_BRANCHES = 8
_BRANCHED = (sympy.Abs, sympy.Max, sympy.Min, sympy.sign)

_GROWING = frozenset({"exp", "sinh", "cosh"})
_MOST_EXPONENT = 1e9
"""A number with a larger exponent, which would fill all memory, has no value here."""

_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "Abs": abs,
    "Max": max,
    "Min": min,
    **{
        name: getattr(mpmath, name)
        for name in (
            *("sin", "cos", "tan", "cot", "asin", "acos", "atan", "exp", "log", "sign"),
            *("sinh", "cosh", "tanh", "coth", "asinh", "acosh", "atanh", "sec", "csc"),
        )
    },
}


class _UndefinedError(ArithmeticError):
    """An expression has no real value at a point."""


def assumed_symbols(domain: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """Make a symbol for each variable, positive where its domain is, else real."""
    return {
        name: sympy.Symbol(name, positive=True)
        if _is_positive(spread)
        else sympy.Symbol(name, real=True)
        for name, spread in domain.items()
    }


def _is_positive(spread: Mapping[str, Any]) -> bool:
    lowest = 1 if spread["distribution"] == "uniform-integer" else 0
    return spread["low"] >= lowest and spread["sign"] in {"positive", "range"}


def equal_up_to_a_constant(
    truth: Any, prediction: Any, symbols: Mapping[str, Any], domain: Mapping[str, Mapping[str, Any]]
) -> str:
    """Return how the two are the same: ``difference``, ``ratio``, or empty if they are not.

    Parameters
    ----------
    truth, prediction
        SymPy expressions with exact numbers in the symbols.
    symbols
        As made by `assumed_symbols`.
    domain
        For each variable the keys ``distribution``, ``low``, ``high`` and ``sign``.

    Raises
    ------
    ValueError
        If the truth is undefined nearly everywhere in the domain.
    """
    if not prediction.free_symbols or not truth.free_symbols:
        return ""
    if not (truth - prediction).free_symbols:
        return "difference"
    if not (prediction / truth).free_symbols:
        return "ratio"
    points = _points(truth, prediction, symbols, domain)
    if points is None:
        return ""
    digits = _DIGITS
    evaluated = [values for _, values in points]  # with the digits that are tried first
    while True:
        with mpmath.workdps(digits):
            pairs = [(values.truth, values.prediction) for values in evaluated]
            sizes = [abs(value) for pair in pairs for value in pair if value]
            least = min(sizes, default=mpmath.mpf(1))
            largest = max(values.largest for values in evaluated)
            # Nothing is small compared with what is large elsewhere, or has cancelled.
            needed = _DIGITS + 2 * int(mpmath.log10(max(largest, *sizes) / least))
            if digits >= needed:
                return _relation(pairs, least)
        if needed > _MOST_DIGITS:
            raise ValueError(f"{needed} digits are needed, {_MOST_DIGITS} are worked with")
        digits = needed + 1
        with mpmath.workdps(digits):
            evaluated = [_values(truth, prediction, point) for point, _ in points]


class _Values(NamedTuple):
    """The values of both at a point, and the largest number that their evaluation has come by."""

    truth: Any
    prediction: Any
    largest: Any


def _values(truth: Any, prediction: Any, point: Mapping[Any, Any]) -> _Values:
    scale = _Scale()
    pair = _value(truth, point, scale), _value(prediction, point, scale)
    return _Values(*pair, scale.largest)


class _Scale:
    """The largest number that an evaluation has come by."""

    def __init__(self) -> None:
        self.largest = mpmath.mpf(1)

    def met(self, value: Any) -> None:
        self.largest = max(self.largest, abs(value))


def _relation(pairs: list[tuple[Any, Any]], least: Any) -> str:
    """Return what is constant, where differences far below the least size are rounding."""
    t0, p0 = pairs[0]
    if all(abs(p - p0) <= _AGREEING * least for _, p in pairs):
        return ""
    if all(abs((t - p) - (t0 - p0)) <= _AGREEING * least for t, p in pairs):
        return "difference"
    if p0 != 0 and all(abs(p * t0 - p0 * t) <= _AGREEING * least**2 for t, p in pairs):
        return "ratio"
    return ""


def _points(
    truth: Any, prediction: Any, symbols: Mapping[str, Any], domain: Mapping[str, Mapping[str, Any]]
) -> list[tuple[dict[Any, Any], _Values]] | None:
    """Draw points where both are defined; None where the prediction is not, and the truth is.

    Each has the values of both, with `_DIGITS` digits.

    To those of the domain some are added beyond it, and some on each side of where a branch
    changes, as far as they are found.
    """
    generator = random.Random(0)  # noqa: S311 - the same points for all, not secrets
    branches = [_side(part) for part in {*truth.atoms(*_BRANCHED), *prediction.atoms(*_BRANCHED)}]
    branches = sorted(branches, key=str)[:_MOST_BRANCHES]
    lacking = {(k, sign): 2 for k in range(len(branches)) for sign in (-1, 1)}
    points: list[tuple[dict[Any, Any], _Values]] = []
    with mpmath.workdps(_DIGITS):
        for _ in range(_DRAWS):
            if len(points) == _POINTS:
                break
            point = {symbols[name]: _drawn(spread, generator) for name, spread in domain.items()}
            if _has_value(truth, point):
                try:
                    points.append((point, _values(truth, prediction, point)))
                except ArithmeticError:
                    return None
                _lacking_in(point, branches, lacking)
        else:
            raise ValueError(
                f"the truth is defined at {len(points)} of {_DRAWS} points of its domain, "
                f"{_POINTS} are needed"
            )
        for i in range(_FAR_DRAWS if any(lacking.values()) else _FAR_POINTS):
            far = 1 if i % 2 else (_FAR if i % 4 else 1 / _FAR)
            point = {
                symbols[name]: _farther(_drawn(spread, generator), far, spread)
                for name, spread in domain.items()
            }
            try:
                values = _values(truth, prediction, point)
            except ArithmeticError:
                continue
            if _lacking_in(point, branches, lacking) or i < _FAR_POINTS:
                points.append((point, values))
    return points


def _side(part: Any) -> Any:
    """Return the expression at whose zeros a function changes its branch."""
    return part.args[0] if len(part.args) == 1 else part.args[0] - sympy.Add(*part.args[1:2])


def _lacking_in(point: dict[Any, Any], branches: list[Any], lacking: dict[Any, int]) -> bool:
    """Count a point for the sides of branches that it is on; return whether one was lacking."""
    new = False
    for k, side in enumerate(branches):
        try:
            sign = int(mpmath.sign(_value(side, point)))
        except ArithmeticError:
            continue
        if lacking.get((k, sign)):
            lacking[k, sign] -= 1
            new = True
    return new


def _has_value(expression: Any, point: Mapping[Any, Any]) -> bool:
    try:
        _value(expression, point)
    except ArithmeticError:
        return False
    return True


def _farther(value: Any, far: float, spread: Mapping[str, Any]) -> Any:
    if spread["distribution"] == "uniform-integer":
        return value * int(max(far, 1))
    return value * far


def _drawn(spread: Mapping[str, Any], generator: random.Random) -> Any:
    low, high = spread["low"], spread["high"]
    if spread["distribution"] == "log-uniform":
        size = 10.0 ** generator.uniform(math.log10(low), math.log10(high))
    elif spread["distribution"] == "uniform-integer":
        size = generator.randrange(int(low), int(high))
    else:
        size = generator.uniform(low, high)
    negative = spread["sign"] == "negative" or (
        spread["sign"] == "mixed" and generator.random() < 0.5  # noqa: PLR2004 - even odds
    )
    return mpmath.mpf(-size if negative else size)


def _value(expression: Any, point: Mapping[Any, Any], scale: _Scale | None = None) -> Any:
    """Evaluate a SymPy expression in real arithmetic, at mpmath's precision."""
    if not expression.args:
        return _leaf(expression, point)
    parts = [_value(argument, point, scale) for argument in expression.args]
    _check_growth(expression, parts)
    if expression.is_Add:
        value = mpmath.fsum(parts)
    elif expression.is_Mul:
        value = mpmath.fprod(parts)
    elif expression.is_Pow:
        value = parts[0] ** parts[1]
    elif type(expression).__name__ in _FUNCTIONS:
        value = _FUNCTIONS[type(expression).__name__](*parts)
    else:
        raise _UndefinedError(str(expression))
    if not (isinstance(value, mpmath.mpf) and mpmath.isfinite(value)):
        raise _UndefinedError(str(expression))
    if scale is not None:
        scale.met(value)
    return value


def _leaf(expression: Any, point: Mapping[Any, Any]) -> Any:
    if expression.is_Rational:
        return mpmath.mpf(expression.p) / expression.q
    if expression is sympy.pi:
        return +mpmath.pi
    if expression is sympy.E:
        return +mpmath.e
    if expression not in point:
        raise _UndefinedError(str(expression))
    return point[expression]


def _check_growth(expression: Any, parts: list[Any]) -> None:
    if expression.is_Pow and parts[0] > 0:
        # A logarithm of so many digits takes longer than the power: most are small by far.
        if abs(parts[1]) * (abs(mpmath.mag(parts[0])) + 1) <= _MOST_EXPONENT:
            return
        exponent = parts[1] * mpmath.log(parts[0])
    else:
        exponent = parts[0] if type(expression).__name__ in _GROWING else 0
    if abs(exponent) > _MOST_EXPONENT:
        raise _UndefinedError(str(expression))


def rounded(expression: Any, digits: int) -> Any:
    """Round all numbers of an exact expression to some significant digits.

    What is only numbers is worked out first, so that ``h/(2*pi*k)`` is one number.  A number is
    never rounded to zero, however small.
    """
    if not expression.free_symbols:
        if expression.is_Integer and abs(expression) < 10**digits:
            return expression
        value = sympy.N(expression, 30 + digits)
        return sympy.Rational(str(sympy.N(value, digits))) if value.is_Float else expression
    if expression.is_Symbol:
        return expression
    if expression.is_Pow and expression.base.is_positive and not expression.base.free_symbols:
        # 2**x has a number that is not written: log(2).
        rate = sympy.Rational(str(sympy.N(sympy.log(expression.base), 30 + digits)))
        return sympy.exp(rounded(sympy.expand_mul(rate * expression.exp), digits))
    parts: Iterable[Any] = expression.args
    if expression.is_Add or expression.is_Mul:
        numbers = [part for part in parts if not part.free_symbols]
        others = [rounded(part, digits) for part in parts if part.free_symbols]
        parts = [rounded(expression.func(*numbers), digits), *others] if numbers else others
    else:
        parts = [rounded(part, digits) for part in parts]
    return expression.func(*parts)


def srbench_rounded(expression: Any) -> Any:
    """Round floats to three decimals, and those below 1e-4 to zero, as SRBench does."""
    small = 1e-4
    return expression.xreplace(
        {
            number: sympy.Integer(0) if abs(number) < small else sympy.Float(round(number, 3), 3)
            for number in expression.atoms(sympy.Float)
        }
    )
