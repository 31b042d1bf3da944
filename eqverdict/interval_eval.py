"""The value of an equation at one point, in many digits and with a proved bound on its error.

Arb's balls, a middle and a radius that all rounding has gone into, show of every digit whether it
is known: what has cancelled shows as a ball that is too wide, and is worked out again with more
digits.  A comparison of balls is true only where it is proved.  (mpmath's intervals lack half of
the functions here, and take thirty times as long.)
"""

from __future__ import annotations

import math
import operator
import threading
from contextlib import contextmanager
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from flint import arb, ctx, fmpq

from eqverdict.tree import (
    ALIASES,
    OPERATORS,
    Call,
    Chain,
    Negation,
    Node,
    Number,
    Power,
    Variable,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

DIGITS = 160
"""Digits that equations are evaluated with where double precision shows no difference."""
FAR_DIGITS = 640
"""Digits outside of the equations' domain, where large exponentials may cancel."""
MOST_DIGITS = 10_240
"""An expression that needs more digits, as so much cancels, has no value here."""
_MOST_EXPONENT = 1e6
"""Larger exponents are not evaluated: the last digit of a number decides there."""
_CONSTANTS = {"pi": arb.pi, "E": arb.const_e}
_FUNCTIONS: dict[str, Any] = {
    name: getattr(arb, name)
    for name in (
        *("sin", "cos", "tan", "cot", "asin", "acos", "atan", "exp", "log", "sqrt", "floor"),
        *("sinh", "cosh", "tanh", "asinh", "acosh", "atanh", "max", "min"),
    )
} | {"sign": arb.sgn, "abs": arb.__abs__}
_MORE = 4
"""The factor by which the number of digits grows where it is too small."""
_KNOWN = 100
"""Digits of a value that is known."""
_BITS = 3.33
_TO_ROUND = (50, 160, 640)
"""Digits that are tried until both ends of a ball round to one double."""
_lock = threading.RLock()

T = TypeVar("T")


class TooLargeError(ArithmeticError):
    """A value is beyond what is worked out."""


@contextmanager
def precision(digits: int) -> Iterator[None]:
    """Set the number of digits; one thread at a time, as the library has one number for all."""
    with _lock:
        before, ctx.dps = ctx.dps, digits
        try:
            yield
        finally:
            ctx.dps = before


def exact_ball(value: float | Fraction) -> Any:
    """Make a ball of a number, whose radius is zero where the number is a float."""
    if isinstance(value, float):
        return arb(value)
    value = Fraction(value)
    return arb(fmpq(value.numerator, value.denominator))


def ball_value(node: Node, point: Mapping[str, Any]) -> Any:
    """Evaluate a tree with the present precision; decimal numbers are exact.

    Raises
    ------
    ArithmeticError
        If it has no real value there, or none that is known with this precision.
    """
    match node:
        case Number():
            text = node.text
            return _CONSTANTS[text]() if text in _CONSTANTS else arb(text)
        case Variable():
            return point[node.name]
        case Chain():
            result = ball_value(node.first, point)
            for symbol, operand in node.rest:
                result = OPERATORS[symbol](result, ball_value(operand, point))
            return _real(result)
        case Negation():
            return -ball_value(node.operand, point)
        case Power():
            return ball_pow(ball_value(node.base, point), ball_value(node.exponent, point))
        case Call():
            arguments = [ball_value(argument, point) for argument in node.arguments]
            return ball_call(ALIASES.get(node.function, node.function), *arguments)


class TracedTree:
    """A tree as a list of steps, of which only those are done again whose inputs have changed.

    The values are those of `ball_value`, to the bit.

    Parameters
    ----------
    tree
        The tree.
    moving
        The names of variables that change from one evaluation to the next at a point.
    """

    def __init__(self, tree: Node, moving: Sequence[str]) -> None:
        self._steps: list[tuple[Callable[..., Any], tuple[int, ...]]] = []
        self._variables: list[tuple[int, str]] = []
        self._last = self._add(tree)
        slots = [{i for i, known in self._variables if known == name} for name in moving]
        self._after = [self._dependents(changed) for changed in slots]
        self._all_after = self._dependents(set().union(*slots))
        self._slots = slots

    def start(self, point: Mapping[str, Any]) -> list[Any]:
        """Return the values of all steps at a point that has all variables."""
        values: list[Any] = []
        names = dict(self._variables)
        for i, (function, inputs) in enumerate(self._steps):
            known = i in names
            values.append(point[names[i]] if known else function(*[values[k] for k in inputs]))
        return values

    def move(self, values: list[Any], numbers: Sequence[Any]) -> Any:
        """Give all moving variables other values, and the steps with them; return the tree's."""
        for slots, number in zip(self._slots, numbers, strict=True):
            for i in slots:
                values[i] = number
        return self._again(values, self._all_after)

    def moved_by(self, values: list[Any], k: int, number: Any) -> Any:
        """Return the value with another number for one moving variable; values stay as they are."""
        other = values.copy()
        for i in self._slots[k]:
            other[i] = number
        return self._again(other, self._after[k])

    def _again(self, values: list[Any], steps: Iterable[int]) -> Any:
        for i in steps:
            function, inputs = self._steps[i]
            values[i] = function(*[values[k] for k in inputs])
        return values[self._last]

    def _dependents(self, changed: set[int]) -> list[int]:
        steps: list[int] = []
        reached = set(changed)
        for i, (_, inputs) in enumerate(self._steps):
            if reached.intersection(inputs):
                reached.add(i)
                steps.append(i)
        return steps

    def _step(self, function: Callable[..., Any], *inputs: int) -> int:
        self._steps.append((function, inputs))
        return len(self._steps) - 1

    def _add(self, node: Node) -> int:
        match node:
            case Variable():
                i = self._step(_real)
                self._variables.append((i, node.name))
                return i
            case Chain():
                i = self._add(node.first)
                for symbol, operand in node.rest:
                    i = self._step(OPERATORS[symbol], i, self._add(operand))
                return self._step(_real, i)
            case Negation():
                return self._step(operator.neg, self._add(node.operand))
            case Power():
                return self._step(ball_pow, self._add(node.base), self._add(node.exponent))
            case Call():
                function = partial(ball_call, ALIASES.get(node.function, node.function))
                return self._step(function, *map(self._add, node.arguments))
        return self._step(partial(ball_value, node, {}))


def ball_pow(base: Any, exponent: Any) -> Any:
    """Raise a number to a power, in real numbers."""
    if base != 0:
        _check(float((exponent * abs(base).log()).mid()))
    return _real(base**exponent)


def ball_call(name: str, *arguments: Any) -> Any:
    """Apply a function, by its usual name, in real numbers."""
    if name == "exp":
        _check(float(arguments[0].mid()))
    elif name in {"sinh", "cosh"}:
        _check(abs(float(arguments[0].mid())))
    return _real(_FUNCTIONS[name](*arguments))


def ball_sum(values: Iterable[Any]) -> Any:
    """Add up."""
    return sum(values, arb(0))


def _check(exponent: float) -> None:
    if not exponent < _MOST_EXPONENT:
        raise TooLargeError("an exponent is too large")


def _real(value: Any) -> Any:
    if not value.is_finite():
        raise ArithmeticError("there is no real value, or it is not known")
    return value


def known_value(node: Node, point: Mapping[str, float]) -> Any:
    """Evaluate a tree at a point of floats, to `_KNOWN` digits or more.

    Raises
    ------
    ArithmeticError
        If it has no real value there.
    TooLargeError
        If it takes more than `MOST_DIGITS` to know it.
    """

    def tried() -> Any:
        return ball_value(node, {name: arb(number) for name, number in point.items()})

    return _resolved(tried, lambda value: value.is_zero() or _accuracy(value) >= _KNOWN)


def nearest_double(node: Node, point: Mapping[str, float]) -> float:
    """Evaluate a tree at a point of floats and round it once; NaN where no double is known."""
    for digits in _TO_ROUND:
        with precision(digits):
            try:
                ball = ball_value(node, {name: arb(each) for name, each in point.items()})
            except ArithmeticError:
                continue  # it may be that a sign is not known yet
            low, high = float(ball.lower()), float(ball.upper())
        if low == high:
            return low
    return math.nan


def provably_differ(
    values: Callable[[], tuple[Any, Any, Any]], tolerance: float, digits: int = DIGITS
) -> tuple[bool, float]:
    """Whether two values differ by more than a share of a size; and the share.

    Parameters
    ----------
    values
        Works out the two and the size, with the present precision.
    tolerance
        The share.
    digits
        What is tried first; it is proved on which side of the tolerance the values are.

    Raises
    ------
    ArithmeticError
        If there are none, or, as a `TooLargeError`, it takes more than `MOST_DIGITS` to know.
    """

    def tried() -> tuple[float, float]:
        first, second, size = values()
        if size.is_zero():
            return 0.0, 0.0
        share = abs(first - second) / size
        if not share.is_finite():
            return 0.0, math.inf
        return float(share.abs_lower()), float(share.abs_upper())

    low, high = _resolved(tried, lambda ends: ends[0] > tolerance or ends[1] <= tolerance, digits)
    return low > tolerance, low if low > tolerance else high


def _resolved(tried: Callable[[], T], enough: Callable[[T], bool], digits: int = DIGITS) -> T:
    """Evaluate with more and more digits until something is known."""
    while True:
        with precision(digits):
            try:
                found = tried()
                if enough(found):
                    return found
                error: ArithmeticError = TooLargeError("too much cancels")
            except TooLargeError:
                raise
            except ArithmeticError as raised:
                error = raised  # it may be that a sign is not known yet
        digits *= _MORE
        if digits > MOST_DIGITS:
            raise error


def _accuracy(value: Any) -> float:
    return float(value.rel_accuracy_bits()) / _BITS
