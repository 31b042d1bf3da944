"""Direct calculus: the derivative or an antiderivative of one random expression."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from random import Random
from typing import TYPE_CHECKING, Any

import sympy

from mdbench.derivations.distance import damerau_levenshtein
from mdbench.derivations.integrals import antiderivative
from mdbench.derivations.naming import LETTERS, in_canonical_names, rename
from mdbench.derivations.operators import ARITHMETIC, LONGEST_LATEX
from mdbench.derivations.premises import expression, symbols_of
from mdbench.derivations.truth import agree
from mdbench.derivations.writing import is_readable, latex, symbol

if TYPE_CHECKING:
    from mdbench.derivations.settings import GeneratorSettings

__all__ = ["Calculation", "calculate", "calculation"]

_TRIES = 100_000
_ARITHMETIC = tuple(ARITHMETIC)


@dataclass(frozen=True)
class Calculation:
    """An expression, what is done to it, and two answers.

    Attributes
    ----------
    index, stream
        Its number in a stream of random calculations.
    task
        ``differentiate`` or ``integrate``.
    left
        The letter that stands for the expression, or for its derivative; empty where the
        sequences have expressions alone (all but the perturbation EC).
    """

    index: int
    stream: str
    task: str
    expression: sympy.Expr
    variable: sympy.Symbol
    positive: sympy.Expr
    negative: sympy.Expr
    left: str = ""


def calculate(task: str, body: sympy.Expr, variable: sympy.Symbol) -> sympy.Expr | None:
    """Differentiate an expression, or integrate it without a constant; None if that fails."""
    if task == "integrate":
        return antiderivative(body, variable)
    canonical, by, back = in_canonical_names(body, variable)
    found = rename(_derivative(canonical, by), back)
    return found if is_readable(found) else None


@lru_cache(maxsize=50_000)
def _derivative(body: sympy.Expr, variable: sympy.Symbol) -> sympy.Expr:
    return sympy.diff(body, variable)


def calculation(
    settings: GeneratorSettings, stream: str, index: int, *, one_variable: bool = False
) -> Calculation:
    """Draw the calculation of a number; the same one in any order, process and hash seed.

    Parameters
    ----------
    settings
        Of a task of calculus.
    stream, index
        Its number, from 0, in the stream of a name.
    one_variable
        Whether the expression has one variable, for the set Easy, or several.
    """
    rng = Random(f"{settings.seed}:{stream}:{index}")  # noqa: S311 - no secret
    for _ in range(_TRIES):
        found = _attempt(settings, rng, one_variable=one_variable)
        if found is not None:
            return Calculation(index, stream, settings.task, *found)
    raise RuntimeError(f"no calculation in {_TRIES} tries: {settings}")


def _attempt(
    settings: GeneratorSettings, rng: Random, *, one_variable: bool
) -> tuple[Any, ...] | None:
    body = _expression(settings, rng, list(LETTERS), one_variable=one_variable)
    if body is None:
        return None
    own = symbols_of(body)
    variable = rng.choice(own)
    answer = calculate(settings.task, body, variable)
    if answer is None or not _fits(answer):
        return None
    negative = _nearest(settings, rng, body, variable, answer)
    return None if negative is None else (body, variable, answer, negative)


def _expression(
    settings: GeneratorSettings, rng: Random, letters: list[str], *, one_variable: bool
) -> sympy.Expr | None:
    if one_variable:
        # Two letters are drawn as ever, and then made one, so that quotients and powers occur.
        own = rng.choice(letters)
        body = expression(rng, rng.sample(letters, 2), settings.premise_size, binary=_ARITHMETIC)
        body = body.xreplace({each: symbol(own) for each in body.free_symbols})
    else:
        body = expression(rng, letters, settings.premise_size, binary=_ARITHMETIC)
    count = len(body.free_symbols)
    right = count == 1 if one_variable else count > 1
    return body if right and is_readable(body) and _fits(body) else None


def _nearest(
    settings: GeneratorSettings,
    rng: Random,
    body: sympy.Expr,
    variable: sympy.Symbol,
    answer: sympy.Expr,
) -> sympy.Expr | None:
    """Give the wrong answer whose LaTeX is nearest to the right one.

    Wrong are the same operation by another variable, and on other expressions of the same symbols.
    """
    own = symbols_of(body)
    letters = [str(each.name) for each in own]
    if len(letters) == 1:
        letters.append(rng.choice([letter for letter in LETTERS if letter not in letters]))
    found = [calculate(settings.task, body, other) for other in own if other != variable]
    for _ in range(settings.alternatives):
        other = expression(rng, letters, settings.premise_size, binary=_ARITHMETIC)
        if len(own) == 1:
            other = other.xreplace({symbol(letters[1]): own[0]})
        if other != body and is_readable(other) and variable in other.free_symbols:
            found.append(calculate(settings.task, other, variable))
    text = latex(answer)
    wrong_ones = sorted(
        {latex(each): each for each in found if each is not None and _fits(each)}.items(),
        key=lambda item: (damerau_levenshtein(text, item[0]), item[0]),
    )
    for other_text, wrong in wrong_ones:
        if other_text != text and agree(answer, wrong, everywhere=True) is False:
            return wrong
    return None


def _fits(expr: sympy.Expr) -> bool:
    return len(latex(expr)) < LONGEST_LATEX
