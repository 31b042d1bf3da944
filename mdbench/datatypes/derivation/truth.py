"""Numbers: the value of an expression at a point, and whether all steps of a derivation are true.

Functions are replaced by their premises, indefinite integrals are taken from a base point,
and each constant is minus its antiderivative at that point.
"""

from __future__ import annotations

import cmath
from functools import lru_cache
from random import Random
from typing import TYPE_CHECKING, Any

import numpy as np
import sympy
from sympy.core.function import AppliedUndef

from mdbench.datatypes.derivation.operators import PREMISES, antiderivative
from mdbench.datatypes.derivation.renaming import names

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from mdbench.datatypes.derivation.steps import Step

BASE = 0.45
"""The lower end of integrals."""
_RANGE = (0.5, 1.6)
_TOLERANCE = 1e-6
_POINTS = 6
_NODES = 24
"""The number of nodes of the Gauss-Legendre rule of an integral."""
_FUNCTIONS = {
    sympy.sin: cmath.sin,
    sympy.cos: cmath.cos,
    sympy.exp: cmath.exp,
    sympy.log: cmath.log,
}


def value(expr: Any, point: Mapping[str, complex]) -> complex:  # noqa: PLR0911 - a kind each
    """Evaluate an expression without undefined functions at a point.

    Derivatives are worked out, and integrals are taken numerically from `BASE`.

    Raises
    ------
    ArithmeticError, ValueError
        If there is no value.
    """
    if expr.is_Symbol:
        return point[expr.name]
    if expr.is_Rational:
        return complex(expr.p / expr.q)
    if expr.is_Add:
        return sum((value(each, point) for each in expr.args), 0j)
    if expr.is_Mul:
        product = 1 + 0j
        for each in expr.args:
            product *= value(each, point)
        return product
    if expr.is_Pow:
        base, exponent = (value(each, point) for each in expr.args)
        return complex(base**exponent)
    if type(expr) in _FUNCTIONS:
        return _FUNCTIONS[type(expr)](value(expr.args[0], point))
    if isinstance(expr, sympy.Integral):
        return _integral(expr, point)
    raise ValueError(f"{type(expr).__name__} has no value")


def _integral(expr: sympy.Integral, point: Mapping[str, complex]) -> complex:
    (variable, *_), *more = expr.limits
    inner = sympy.Integral(expr.function, *more) if more else expr.function
    end = point[variable.name]
    nodes, weights = _rule()
    half = (end - BASE) / 2
    return sum(
        (
            weight * half * value(inner, {**point, variable.name: BASE + half * (node + 1)})
            for node, weight in zip(nodes, weights, strict=True)
        ),
        0j,
    )


@lru_cache(maxsize=1)
def _rule() -> tuple[list[float], list[float]]:
    nodes, weights = np.polynomial.legendre.leggauss(_NODES)
    return nodes.tolist(), weights.tolist()


def agree(lhs: Any, rhs: Any, *, everywhere: bool, seed: int = 0) -> bool | None:
    """Whether two expressions have equal values at random points; None where they have none.

    Parameters
    ----------
    everywhere
        Whether all points have to agree, or a single one is enough: roots and logarithms of
        negative numbers have several values.
    """
    rng = Random(seed)  # noqa: S311 - no secret
    free = names([lhs, rhs])
    verdicts = []
    for _ in range(_POINTS):
        point = {name: complex(rng.uniform(*_RANGE)) for name in free}
        try:
            first, second = value(lhs, point), value(rhs, point)
            size = max(abs(first), abs(second), 1.0)
        except (ArithmeticError, ValueError):
            continue
        if cmath.isfinite(first) and cmath.isfinite(second):
            verdicts.append(abs(first - second) <= _TOLERANCE * size)
    if not verdicts:
        return None
    return all(verdicts) if everywhere else any(verdicts)


def falsehoods(steps: Sequence[Step]) -> list[int]:
    """Return the numbers of all steps whose sides differ at every point that was tried."""
    meaning = _Meaning()
    false_steps = []
    for number, step in enumerate(steps, 1):
        if step.op in PREMISES:
            meaning.functions[step.lhs.func.__name__] = step.lhs.args, step.rhs
        for integral, constant in step.constants:
            meaning.define(integral, constant)
        try:
            sides = meaning.expand(step.lhs), meaning.expand(step.rhs)
        except RecursionError:
            continue
        if agree(*sides, everywhere=False, seed=number) is False:
            false_steps.append(number)
    return false_steps


class _Meaning:
    """The meaning of functions and constants."""

    def __init__(self) -> None:
        self.functions: dict[str, tuple[tuple[sympy.Symbol, ...], sympy.Expr]] = {}
        self.constants: dict[sympy.Symbol, sympy.Expr] = {}

    def define(self, integral: sympy.Integral, constant: sympy.Symbol) -> None:
        """Take the constant of an integral that was worked out: -F at the base point."""
        variable = integral.limits[0][0]
        primitive = antiderivative(integral.function, variable)
        if primitive is not None:
            base = sympy.Rational(BASE).limit_denominator(1000)
            self.constants[constant] = -self.expand(primitive).xreplace({variable: base})

    def expand(self, expr: Any) -> Any:
        """Put in all definitions, and work out all derivatives."""
        if expr in self.constants:
            return self.constants[expr]
        if not expr.args:
            return expr
        if isinstance(expr, AppliedUndef):
            arguments, body = self.functions[expr.func.__name__]
            return self.expand(body).xreplace(dict(zip(arguments, expr.args, strict=True)))
        if isinstance(expr, sympy.Derivative):
            expanded = self.expand(expr.expr)
            for variable in expr.variables:
                expanded = _derivative(expanded, variable)
            return expanded
        if isinstance(expr, sympy.Integral):
            return sympy.Integral(self.expand(expr.function), *expr.limits)
        return expr.func(*map(self.expand, expr.args))


def _derivative(expr: Any, variable: sympy.Symbol) -> Any:
    """Differentiate, integrals from a fixed point included."""
    integrals = {
        each: sympy.Dummy() for each in expr.atoms(sympy.Integral) if _is_outermost(each, expr)
    }
    hidden = expr.xreplace(integrals)
    derivative = sympy.diff(hidden, variable)
    for integral, stand_in in integrals.items():
        (own, *_), *more = integral.limits
        inner = sympy.Integral(integral.function, *more) if more else integral.function
        same = own == variable
        inward = inner if same else sympy.Integral(_derivative(inner, variable), own)
        derivative += sympy.diff(hidden, stand_in) * inward
    return derivative.xreplace({stand_in: integral for integral, stand_in in integrals.items()})


def _is_outermost(integral: Any, expr: Any) -> bool:
    return not any(
        other != integral and other.has(integral) for other in expr.atoms(sympy.Integral)
    )
