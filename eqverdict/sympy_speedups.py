"""SymPy's `simplify` without the work that cannot change its answer; in a child process only.

Most of the time of `simplify` goes to two steps. Trigonometric identities are tried on every part
of an expression, twice and more where functions are nested. Exponentials are written as hyperbolic
functions in the hope that two of them meet. Within `shortcuts`

* a step that was taken on an expression is not taken on the same one again,
* an identity is tried only where the functions that it needs are there,
* exponentials are rewritten only where two have opposite exponents, or functions other than
  the usual ones are there,
* whether one of the large numbers of a factorization is prime is asked of FLINT.

The answers are the same expressions, to the last digit.  It was looked at for one version of
SymPy; under any other one nothing is changed.

`load_less` spares the process modules that SymPy loads to ask whether an expression has a unit or a
tensor, which none of ours has.
"""

from __future__ import annotations

import importlib
import sys
from contextlib import contextmanager
from dataclasses import dataclass
from types import ModuleType
from typing import TYPE_CHECKING, Any

import sympy
from flint import fmpz
from sympy import Abs, Mul, Pow, acos, asin, atan, cos, cot, csc, exp, log, sec, sin, tan
from sympy.functions.elementary.trigonometric import TrigonometricFunction

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

VERSION = "1.14.0"
"""The version of SymPy whose steps are known here."""

_SIMPLIFY: Any = importlib.import_module("sympy.simplify.simplify")
_TRIGSIMP: Any = importlib.import_module("sympy.simplify.trigsimp")
_FU: Any = importlib.import_module("sympy.simplify.fu")
_GENERATE: Any = importlib.import_module("sympy.ntheory.generate")
_futrig: Any = vars(_TRIGSIMP)["_futrig"]

_REMEMBERED = {
    _SIMPLIFY: (
        *("simplify", "cancel", "together", "powsimp", "factor_terms", "signsimp"),
        *("expand_mul", "_mexpand", "trigsimp"),
    ),
    _TRIGSIMP: ("factor", "factor_terms", "_mexpand", "expand_mul"),
    _FU: ("L", "TR14", "TRmorrie"),
}
"""Steps by their modules; each gives the same for the same expression."""
_NO_HYPERBOLIC = (exp, sin, cos, tan, asin, acos, atan, log, Abs)
"""Functions that exponentials do not meet, however they are written."""
_UNUSED = {"sympy.physics.units": ("Quantity",), "sympy.tensor.tensor": ("TensExpr", "TensAdd")}
"""Modules that take a quarter of the time to load SymPy, and the classes that are looked for."""


def load_less() -> None:
    """Let the modules of units and tensors be loaded only if more is asked of them than classes."""
    if sympy.__version__ == VERSION:
        for name, classes in _UNUSED.items():
            sys.modules.setdefault(name, _UnusedModule(name, classes))


class _UnusedModule(ModuleType):
    """Stands for a module, with classes that nothing is an object of."""

    def __init__(self, name: str, classes: tuple[str, ...]) -> None:
        super().__init__(name)
        for each in classes:
            setattr(self, each, type(each, (sympy.Expr,), {}))

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        if sys.modules.get(self.__name__) is self:
            del sys.modules[self.__name__]
        return getattr(importlib.import_module(self.__name__), name)


@contextmanager
def shortcuts() -> Iterator[None]:
    """Spare SymPy's `simplify` what cannot change its answer, and remember steps until the end."""
    patches = _patches() if sympy.__version__ == VERSION else []
    before = [(module, name, getattr(module, name)) for module, name, _ in patches]
    try:
        for module, name, function in patches:
            setattr(module, name, function)
        yield
    finally:
        for module, name, function in before:
            setattr(module, name, function)


def _patches() -> list[tuple[Any, str, Any]]:
    patches = [
        (module, name, _remembering(getattr(module, name)))
        for module, names in _REMEMBERED.items()
        for name in names
    ]
    patches.append((_SIMPLIFY, "exptrigsimp", _sparing(_SIMPLIFY.exptrigsimp)))
    patches.append((_TRIGSIMP, "greedy", _greedy(_TRIGSIMP.greedy)))
    patches.append((_GENERATE, "isprime", _is_prime))
    angles = _remembering(_angles)
    patches.append((_TRIGSIMP, "_futrig", _remembering(_branching(_futrig, angles))))
    for name, is_needed in _RULES.items():
        rule = _remembering(getattr(_FU, name))
        patches.append((_FU, name, _where(is_needed, angles, rule)))
    induced = _remembering(_FU.TR3)
    patches.append((_FU, "TR3", _induced(induced, angles)))
    return patches


def _remembering(function: Callable[..., Any]) -> Callable[..., Any]:
    known: dict[Any, Any] = {}

    def remembering(*arguments: Any, **options: Any) -> Any:
        key = (arguments, *options.items())
        if key not in known:
            known[key] = function(*arguments, **options)
        return known[key]

    return remembering


def _is_prime(n: int) -> bool:
    """Whether a number is prime by the test of Baillie, Pomerance, Selfridge and Wagstaff.

    SymPy takes the same test, by powers of Python's whole numbers.
    """
    return bool(fmpz(int(n)).is_probable_prime())


def _greedy(function: Callable[..., Any]) -> Callable[..., Any]:
    """Remember how long an expression is; SymPy measures all by one rule here."""
    known: dict[Any, Any] = {}

    def greedy(tree: Any, objective: Callable[[Any], Any], **options: Any) -> Any:
        def measure(expression: Any) -> Any:
            if expression not in known:
                known[expression] = objective(expression)
            return known[expression]

        return function(tree, objective=measure, **options)

    return greedy


@dataclass(frozen=True)
class _Angles:
    """The trigonometric functions of an expression.

    Attributes
    ----------
    functions
        All of them, with their arguments.
    sines, cosines
        The arguments of the sines and cosines.
    powers
        The types of functions that are the base of a power.
    is_mixed
        Whether a product may have two of them once it is expanded.
    """

    functions: frozenset[Any]
    sines: frozenset[Any]
    cosines: frozenset[Any]
    powers: frozenset[type]
    is_mixed: bool

    def has(self, *types: type) -> bool:
        return any(isinstance(function, types) for function in self.functions)


def _angles(expression: Any) -> _Angles:
    functions = frozenset(expression.atoms(TrigonometricFunction))
    powers = expression.atoms(Pow)
    return _Angles(
        functions,
        frozenset(function.args[0] for function in functions if isinstance(function, sin)),
        frozenset(function.args[0] for function in functions if isinstance(function, cos)),
        frozenset(type(power.base) for power in powers),
        any(power.base.has(TrigonometricFunction) for power in powers)
        or any(
            sum(factor.has(TrigonometricFunction) for factor in product.args) > 1
            for product in expression.atoms(Mul)
        ),
    )


def _has_double(angles: _Angles) -> bool:
    return any(
        not angle.is_Number and angle.as_coeff_Mul(rational=True)[0].p % 2 == 0
        for angle in angles.sines | angles.cosines
    )


_RULES: dict[str, Callable[[_Angles], bool]] = {
    "TR1": lambda angles: angles.has(sec, csc),
    "TR2": lambda angles: angles.has(tan, cot),
    "TR2i": lambda angles: bool(angles.sines & angles.cosines),
    "TR5": lambda angles: sin in angles.powers,
    "TR6": lambda angles: cos in angles.powers,
    "TR8": lambda angles: angles.is_mixed,
    "TR10": lambda angles: any(angle.is_Add for angle in angles.sines | angles.cosines),
    "TR10i": lambda angles: bool(angles.sines & angles.cosines),
    "TR11": _has_double,
    "_TR11": lambda angles: len(angles.sines | angles.cosines) > 1,
    "TR12": lambda angles: angles.has(tan),
    "TR15": lambda angles: sin in angles.powers,
    "TR16": lambda angles: cos in angles.powers,
    "TR22": lambda angles: bool({tan, cot} & angles.powers),
    "TR111": lambda angles: bool({sin, cos, tan} & angles.powers),
}
"""For each rule of SymPy's, the condition without which it changes nothing."""


def _where(
    is_needed: Callable[[_Angles], bool],
    angles: Callable[[Any], _Angles],
    rule: Callable[..., Any],
) -> Callable[..., Any]:
    def guarded(expression: Any, *arguments: Any, **options: Any) -> Any:
        if arguments or options or is_needed(angles(expression)):
            return rule(expression, *arguments, **options)
        return expression

    return guarded


def _branching(
    function: Callable[[Any], Any], angles: Callable[[Any], _Angles]
) -> Callable[[Any], Any]:
    """Try no identity on a single function of an argument without sums.

    What they give is taken only if it is shorter, and nothing is.
    """

    def branching(expression: Any) -> Any:
        if not expression.has(TrigonometricFunction):
            return expression
        factor, remainder = (
            expression.as_independent(TrigonometricFunction)
            if expression.is_Mul
            else (sympy.S.One, expression)
        )
        if (
            isinstance(remainder, (sin, cos, tan))
            and not remainder.has(sympy.Add)
            and len(angles(remainder).functions) == 1
            and not _has_double(angles(remainder))
        ):
            return factor * remainder if expression.is_Mul else expression
        return function(expression)

    return branching


def _induced(rule: Callable[[Any], Any], angles: Callable[[Any], _Angles]) -> Callable[[Any], Any]:
    """Apply the rule that looks at one function at a time only if it changes one of them."""

    def guarded(expression: Any) -> Any:
        if all(rule(function) == function for function in angles(expression).functions):
            return expression
        return rule(expression)

    return guarded


def _sparing(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Leave out the first of the two passes of `exptrigsimp` where no exponentials can meet.

    It writes each part in exponentials and in hyperbolic functions, and keeps what is shorter:
    never, unless terms cancel.
    """

    def exptrigsimp(expression: Any) -> Any:
        if _may_meet(expression):
            return function(expression)
        bottom_up = _TRIGSIMP.bottom_up
        is_first = True

        def second(part: Any, change: Callable[[Any], Any]) -> Any:
            nonlocal is_first
            if is_first:
                is_first = False
                return part
            return bottom_up(part, change)

        _TRIGSIMP.bottom_up = second
        try:
            return function(expression)
        finally:
            _TRIGSIMP.bottom_up = bottom_up

    return exptrigsimp


def _may_meet(expression: Any) -> bool:
    if expression.has(sympy.I) or any(
        not isinstance(function, _NO_HYPERBOLIC) for function in expression.atoms(sympy.Function)
    ):
        return True
    exponents = {function.args[0] for function in expression.atoms(exp)}
    return any(-exponent in exponents for exponent in exponents)
