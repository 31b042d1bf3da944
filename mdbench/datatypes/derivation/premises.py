"""Premises: algorithm 1 of Meadows et al. (2023)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mdbench.datatypes.derivation.naming import LETTERS, function
from mdbench.datatypes.derivation.operators import ARITHMETIC, CALCULUS, FUNCTIONS
from mdbench.datatypes.derivation.steps import Sides
from mdbench.datatypes.derivation.writing import symbol

if TYPE_CHECKING:
    from collections.abc import Collection
    from random import Random

    import sympy

__all__ = ["definition", "expression", "premise", "symbols_of"]

_FUNCTIONS, _ARITHMETIC = tuple(FUNCTIONS), tuple(ARITHMETIC)
_BINARY = (*_ARITHMETIC, *CALCULUS)


def symbols_of(expr: sympy.Expr) -> list[sympy.Symbol]:
    """Give the free symbols by name: the order of a set is another one in every process."""
    return sorted(expr.free_symbols, key=lambda each: str(each.name))


def expression(
    rng: Random, letters: list[str], most: int, *, binary: tuple[str, ...] = _BINARY
) -> Any:
    """Draw an expression: one operator on letters, and fewer than `most` further ones on it.

    Parameters
    ----------
    letters
        What is drawn from.
    binary
        The operators with an operand.
    """
    if rng.random() < 0.5:  # noqa: PLR2004 - one argument or two
        found = FUNCTIONS[rng.choice(_FUNCTIONS)](symbol(rng.choice(letters)))
    else:
        first, second = map(symbol, rng.sample(letters, 2))
        found = ARITHMETIC[rng.choice(_ARITHMETIC)](first, second)
    for _ in range(rng.randrange(most)):
        if rng.random() < 0.5:  # noqa: PLR2004 - likewise
            found = FUNCTIONS[rng.choice(_FUNCTIONS)](found)
            continue
        op = rng.choice(binary)
        if op in ARITHMETIC:
            found = ARITHMETIC[op](found, symbol(rng.choice(letters)))
        elif own := symbols_of(found):
            found = CALCULUS[op](found, rng.choice(own))
    return found


def definition(rng: Random, body: sympy.Expr, taken: Collection[str]) -> Sides | None:
    """Make a function of all symbols of an expression, called by a letter that is not taken."""
    arguments = symbols_of(body)
    free = [letter for letter in LETTERS if letter not in taken]
    if not arguments or not free:
        return None
    return Sides(function(rng.choice(free))(*arguments), body)


def premise(
    rng: Random, most: int, symbols: Collection[str], taken: Collection[str]
) -> Sides | None:
    """Draw a premise; None where what was drawn has no symbol left.

    The function's letter is chosen last, and its arguments are sorted.

    Parameters
    ----------
    most
        M_c: fewer than this many further operators.
    symbols
        The names of symbols so far, which a function may not have.
    taken
        The names of functions and constants so far, which nothing new may have.
    """
    letters = [letter for letter in LETTERS if letter not in taken]
    body = expression(rng, letters, most)
    own = {each.name for each in body.free_symbols}
    return definition(rng, body, {*taken, *symbols, *own})
