"""Names in expressions: those there are, others in their place, and what depends on none.

A name is that of a symbol or of an undefined function; where both have the same, they change
together.
"""

from __future__ import annotations

import hashlib
from functools import lru_cache
from random import Random
from typing import TYPE_CHECKING, Any

import sympy
from sympy.core.function import AppliedUndef

from mdbench.datatypes.derivation.steps import symbol

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from mdbench.datatypes.derivation.settings import GeneratorSettings

LETTERS = tuple(
    letter
    for letter in "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
    if letter not in "iedO"
)
"""The 48 letters of symbols and functions: all but those that stand for constants or orders."""
GREEK = ("alpha", "beta", "gamma", "delta", "pi", "xi", "chi", "sigma", "psi", "omega")
"""The names of the perturbation VR; plain symbols all."""
_MASK = (1 << 61) - 1
_functions: dict[str, Any] = {}
_KINDS: dict[str, int] = {}


def function(name: str) -> Any:
    """Return the undefined function of a name."""
    if name not in _functions:
        _functions[name] = sympy.Function(name)
    return _functions[name]


def names(expressions: Iterable[sympy.Basic]) -> list[str]:
    """Return all names in expressions, bound ones too, in alphabetical order."""
    symbols: set[str] = set()
    todo, seen = list(expressions), set()
    while todo:
        expr = todo.pop()
        if expr in seen:
            continue
        seen.add(expr)
        if expr.is_Symbol:
            symbols.add(expr.name)
        elif isinstance(expr, AppliedUndef):
            symbols.add(expr.func.__name__)
        todo += expr.args
    return sorted(symbols)


def rename(expr: Any, new: Mapping[str, str], memo: dict[Any, Any] | None = None) -> Any:
    """Substitute names of all those that `new` has, at once and in place.

    Parameters
    ----------
    memo
        What was renamed by the same `new` before.
    """
    memo = {} if memo is None else memo
    if expr in memo:
        return memo[expr]
    if expr.is_Symbol:
        renamed = symbol(new.get(expr.name, expr.name))
    elif not expr.args:
        renamed = expr
    else:
        args = [rename(each, new, memo) for each in expr.args]
        if isinstance(expr, AppliedUndef):
            name = expr.func.__name__
            renamed = function(new.get(name, name))(*args)
        else:
            renamed = expr.func(*args)
    memo[expr] = renamed
    return renamed


def shade(
    expr: Any, colours: Mapping[str, int], memo: dict[Any, int], *, signed: bool = True
) -> int:
    """Hash an expression in which names differ by their colours alone.

    The order in which SymPy keeps terms, factors and variables makes no difference, since it
    depends on names.

    Parameters
    ----------
    memo
        What was hashed with the same colours before.
    signed
        Whether signs count.  SymPy writes cos(x - y) or cos(y - x), whichever name comes first,
        and its derivative with another sign: without signs they are alike.
    """
    known = memo.get(expr)
    if known is not None:
        return known
    if expr.is_Symbol:
        colour = _mix((3, colours.get(expr.name, 0)))
    elif expr.is_Rational:
        colour = _mix((5, (expr.p if signed else abs(expr.p)) & _MASK, expr.q & _MASK))
    elif expr.is_Mul and not signed and expr.args[0] is sympy.S.NegativeOne:
        colour = shade(-expr, colours, memo, signed=signed)
    elif isinstance(expr, AppliedUndef):
        inner = [shade(each, colours, memo, signed=signed) for each in expr.args]
        # The arguments stand in the order of their names.
        colour = _mix((7, colours.get(expr.func.__name__, 0), *sorted(inner)))
    else:
        first, *others = (shade(each, colours, memo, signed=signed) for each in expr.args)
        kind = _kind(type(expr).__name__)
        if expr.is_Add or expr.is_Mul:
            colour = _mix((kind, *sorted((first, *others))))
        elif isinstance(expr, sympy.Derivative | sympy.Integral):
            colour = _mix((kind, first, *sorted(others)))
        else:
            colour = _mix((kind, first, *others))
    memo[expr] = colour
    return colour


def shades(parts: Sequence[Any], *, signed: bool = True) -> dict[str, int]:
    """Return each name a colour that depends on its places, and not on the name itself.

    Names have equal colours where they can be exchanged, and seldom otherwise.

    Parameters
    ----------
    parts
        Expressions.
    signed
        See `shade`.
    """
    colours = {}
    for name in names(parts):
        memo: dict[Any, int] = {}
        colours[name] = _mix([shade(each, {name: 1}, memo, signed=signed) for each in parts])
    return colours


def in_canonical_names(body: sympy.Expr, variable: sympy.Symbol) -> tuple[Any, Any, dict[str, str]]:
    """Put names in place of a function's that depend on nothing but where they stand.

    Returns
    -------
    tuple
        The function, its variable, which is the first of all, and the old name of each new one.
    """
    found = shades([sympy.Integral(body, variable)])
    found[variable.name] = -1
    order = sorted(names([body, variable]), key=lambda name: (found.get(name, 0), name))
    canonical = {name: f"x{number}" for number, name in enumerate(order)}
    back = {new: old for old, new in canonical.items()}
    return rename(body, canonical), rename(variable, canonical), back


def _kind(name: str) -> int:
    if name not in _KINDS:
        _KINDS[name] = int.from_bytes(name.encode())
    return _KINDS[name]


def _mix(numbers: Iterable[int]) -> int:
    """Mix whole numbers in their order; the same on every machine."""
    value = 1469598103934665603
    for number in numbers:
        value = ((value ^ number) * 1099511628211 + (value >> 29)) & _MASK
    return value


def class_of(words: Sequence[object], parts: Sequence[Any]) -> str:
    """Hash words and expressions so that neither names nor the signs that depend on them count.

    Parameters
    ----------
    words
        What counts as it is.
    parts
        Expressions; a name is the same one in all of them.
    """
    colours = shades(parts, signed=False)
    memo: dict[Any, int] = {}
    content = [*words, *(shade(part, colours, memo, signed=False) for part in parts)]
    return hashlib.sha256(repr(content).encode()).hexdigest()[:16]


@lru_cache(maxsize=50_000)
def class_of_question(task: str, body: sympy.Expr, variable: sympy.Symbol) -> str:
    """Hash a question of calculus: its expression and its variable."""
    return class_of([task], [body, variable])


@lru_cache(maxsize=50_000)
def split_of(settings: GeneratorSettings, alpha: str) -> str:
    """Draw in which split all examples of a class are: ``train``, ``validation`` or ``test``."""
    sizes = (settings.train, settings.validation, settings.test)
    draw = Random(f"{settings.seed}:split:{alpha}").random() * sum(sizes)  # noqa: S311 - no secret
    if draw < sizes[0]:
        return "train"
    return "validation" if draw < sizes[0] + sizes[1] else "test"
