"""Direct calculus: the derivative or an antiderivative of one random expression."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from random import Random
from typing import TYPE_CHECKING, NamedTuple, cast

import sympy

from mdbench.datatypes.derivation.generation import expression, symbols_of
from mdbench.datatypes.derivation.operators import ARITHMETIC, LONGEST_LATEX, antiderivative
from mdbench.datatypes.derivation.renaming import (
    LETTERS,
    class_of_question,
    in_canonical_names,
    rename,
    split_of,
)
from mdbench.datatypes.derivation.steps import is_readable, latex, symbol
from mdbench.datatypes.derivation.truth import agree

if TYPE_CHECKING:
    from mdbench.datatypes.derivation.settings import GeneratorSettings

_TRIES = 300
_DRAWN = 100
"""Expressions that are drawn for each that is wanted for a wrong answer, before fewer will do."""
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
        The letter for the expression, or for its derivative; empty where the
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
    drawing = _Drawing(settings, rng, one_variable, in_splits=stream == "main")
    for _ in range(_TRIES):
        found = drawing.calculation()
        if found is not None:
            return Calculation(index, stream, settings.task, *found)
    raise RuntimeError(f"no calculation in {_TRIES} tries")


class _Operand(NamedTuple):
    """An expression, the variable of its derivative or integral, and the result."""

    body: sympy.Expr
    variable: sympy.Symbol
    answer: sympy.Expr


class _Drawing:
    """Draws calculations.

    Parameters
    ----------
    one_variable
        Whether expressions have one variable, or several.
    in_splits
        Whether they are split by their classes.
    """

    def __init__(
        self, settings: GeneratorSettings, rng: Random, one_variable: bool, *, in_splits: bool
    ) -> None:
        self.settings = settings
        self.task = settings.task
        self.rng = rng
        self.one_variable = one_variable
        self.symmetric = settings.negatives == "symmetric"
        self.in_splits = in_splits and self.symmetric and settings.split == "alpha"

    def calculation(self) -> tuple[sympy.Expr, sympy.Symbol, sympy.Expr, sympy.Expr] | None:
        """Draw what is asked about, the right and the wrong answer; None if there is none."""
        body = self._expression()
        if not self._can_be_asked(body):
            return None
        variable = self.rng.choice(symbols_of(body))
        answer = calculate(self.task, body, variable)
        if answer is None or not _fits(answer):
            return None
        wrong = self._nearest(_Operand(body, variable, answer))
        if wrong is None:
            return None
        if self.symmetric and self.rng.random() < 0.5:  # noqa: PLR2004 - a coin
            return *wrong, answer
        return body, variable, answer, wrong.answer

    def _expression(self) -> sympy.Expr:
        letters = list(LETTERS)
        if not self.one_variable:
            return self._drawn(letters)
        # Two letters are drawn as ever, and then made one, so that quotients and powers occur.
        own = self.rng.choice(letters)
        body = self._drawn(self.rng.sample(letters, 2))
        return body.xreplace({each: symbol(own) for each in body.free_symbols})

    def _drawn(self, letters: list[str]) -> sympy.Expr:
        drawn = expression(self.rng, letters, self.settings.premise_size, binary=_ARITHMETIC)
        return cast("sympy.Expr", drawn)

    def _can_be_asked(self, body: sympy.Expr) -> bool:
        count = len(body.free_symbols)
        right = count == 1 if self.one_variable else count > 1
        return right and is_readable(body) and _fits(body)

    def _nearest(self, asked: _Operand) -> _Operand | None:
        """Return the wrong answer whose LaTeX is nearest to the right one, and what it answers.

        Wrong are the same operation by another variable, and on other expressions of the same
        symbols.
        """
        own = [str(each.name) for each in symbols_of(asked.body)]
        stand_ins = dict(zip(own, LETTERS, strict=False))
        replaced = {letter: name for name, letter in stand_ins.items()}
        known = (rename(each, stand_ins) for each in (asked.body, asked.variable))
        bodies: dict[str, tuple[sympy.Expr, sympy.Symbol]] = {}
        for body, variable in self._others(*known):
            answer = _answer(self.task, body, variable)
            if answer is not None and _fits(answer := rename(answer, replaced)):
                bodies.setdefault(latex(answer), (body, variable))
        text = latex(asked.answer)
        bodies.pop(text, None)
        for other in sorted(bodies, key=lambda other: (damerau_levenshtein(text, other), other)):
            body, variable = (rename(each, replaced) for each in bodies[other])
            answer = calculate(self.task, body, variable)
            if answer is not None and agree(asked.answer, answer, everywhere=True) is False:
                return _Operand(body, variable, answer)
        return None

    def _others(
        self, body: sympy.Expr, variable: sympy.Symbol
    ) -> list[tuple[sympy.Expr, sympy.Symbol]]:
        """Draw other expressions that could be asked about, in the first letters too.

        There are few of these, so most of them were drawn before.  With symmetric negatives each of
        them could be asked about in the same split.  Otherwise an answer that is right in one
        question would be wrong in another, and never right there.
        """
        own = symbols_of(body)
        letters = list(LETTERS[: max(2, len(own))])
        split = self._split(body, variable)

        def may_be(drawn: sympy.Expr, by: sympy.Symbol) -> bool:
            right = self._can_be_asked if self.symmetric else is_readable
            return by in drawn.free_symbols and right(drawn) and self._split(drawn, by) == split

        pairs = [(body, by) for by in own if by != variable and may_be(body, by)]
        wanted = self.settings.alternatives
        for _ in range(_DRAWN * wanted):
            drawn = self._drawn(letters)
            if self.one_variable:
                drawn = drawn.xreplace({symbol(letters[1]): symbol(letters[0])})
            if drawn != body and may_be(drawn, variable):
                pairs.append((drawn, variable))
                wanted -= 1
                if not wanted:
                    break
        return pairs

    def _split(self, body: sympy.Expr, variable: sympy.Symbol) -> str:
        """Return in which split all that is asked like this is; the same for all if none counts."""
        if not self.in_splits:
            return ""
        return split_of(self.settings, class_of_question(self.task, body, variable))


@lru_cache(maxsize=50_000)
def _answer(task: str, body: sympy.Expr, variable: sympy.Symbol) -> sympy.Expr | None:
    return calculate(task, body, variable)


def _fits(expr: sympy.Expr) -> bool:
    return len(latex(expr)) < LONGEST_LATEX


def damerau_levenshtein(first: str, second: str) -> int:
    """Count the insertions, deletions, substitutions and swaps of neighbours between two texts.

    No part is edited twice (optimal string alignment).  All cells of a column are worked out at
    once, as the bits of a number (Hyyrö 2003, "A bit-vector algorithm for computing Levenshtein
    and Damerau edit distances").

    >>> damerau_levenshtein("sin(x)", "sni(y)")
    2
    """
    if not first:
        return len(second)
    places: dict[str, int] = {}
    for place, character in enumerate(first):
        places[character] = places.get(character, 0) | 1 << place
    mask, last = (1 << len(first)) - 1, 1 << (len(first) - 1)
    up, down, diagonal, before, distance = mask, 0, 0, 0, len(first)
    for character in second:
        here = places.get(character, 0)
        swapped = ((~diagonal & here) << 1) & before
        diagonal = ((((here & up) + up) ^ up) | here | down | swapped) & mask
        rightward = (down | ~(diagonal | up)) & mask
        leftward = diagonal & up
        distance += bool(rightward & last) - bool(leftward & last)
        rightward, leftward = (rightward << 1 | 1) & mask, (leftward << 1) & mask
        up = (leftward | ~(diagonal | rightward)) & mask
        down = diagonal & rightward
        before = here
    return distance
