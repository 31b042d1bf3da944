"""Linear combinations: their complexity without SymPy, and their terms.

A sparse regression proposes thousands of texts like ``0.12*u0 + -4.5e-3*u0*u1 + 1.2*sin(u1)``.
SymPy needs milliseconds for each, to find in the end that nothing can be simplified.  Here the
same number comes from counting, for a form in which it is known what SymPy will do:

- terms are joined by `` + `` or `` - ``, and each is a coefficient times a monomial;
- a monomial is a product of variables, of functions of one variable that combine with
  nothing but themselves, and of their powers with exponents from 1 to 99;
- no coefficient is zero, and no two terms have the same monomial.

Then SymPy merges equal factors of a monomial, drops an integer coefficient of 1, and leaves
the rest as it stands.  Everything else is left to SymPy itself.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from functools import lru_cache
from typing import NamedTuple

from mdbench.expressions.grammar import MAX_NODES

_COEFFICIENT = re.compile(r"-?(\d{1,40}\.?\d{0,40}|\.\d{1,40})(e[-+]?\d{1,4})?", re.IGNORECASE)
_FACTOR = re.compile(r"((?P<function>\w+)\()?(?P<variable>\w+)(?(1)\))(\^[1-9]\d?)?")

_INERT = frozenset({"sin", "cos", "tan", "sinh", "cosh", "tanh", "asin", "acos", "atan", "log"})
"""Functions whose products and integer powers SymPy leaves alone."""


class _Monomial(NamedTuple):
    """A product of powers, with SymPy's number of nodes for it."""

    powers: frozenset[tuple[str, int]]
    scaled: int
    """Nodes where a coefficient stands before it."""
    bare: int
    """Nodes where none does, or the integer 1."""


class Linear(NamedTuple):
    """What is known of a linear combination.

    Attributes
    ----------
    nodes
        Its complexity, as SymPy would have it.
    terms
        The coefficient of each term, and its monomial as a text; ``1`` for a constant.
    """

    nodes: int
    terms: tuple[tuple[float, str], ...]


def linear(text: str, variables: tuple[str, ...]) -> Linear | None:
    """Read a linear combination.

    Parameters
    ----------
    text
        A right-hand side that has passed `grammar.check`.
    variables
        The names it may use.

    Returns
    -------
    Linear or None
        None if the text is not of the form that is known here.  A text with an answer is within
        the grammar and its limits.
    """
    # No text has more nodes than characters: here the limit on nodes cannot be passed unseen.
    if len(text) > MAX_NODES:
        return None
    terms = text.replace(" - ", " + -").split(" + ")
    seen = set()
    found = []
    nodes = 1 if len(terms) > 1 else 0
    for term in terms:
        head, times, monomial = term.partition("*")
        if _COEFFICIENT.fullmatch(head):
            coefficient = float(head)
            unit = coefficient == 1.0 and head.isdigit()
            if coefficient == 0.0 or math.isinf(coefficient):
                return None
            if not times:
                monomial = "1"
        else:
            unit = not term.startswith("-")
            coefficient = 1.0 if unit else -1.0
            monomial = term.removeprefix("-")
        known = _monomial(monomial, variables)
        if known is None or known.powers in seen:
            return None
        seen.add(known.powers)
        found.append((coefficient, monomial))
        nodes += known.bare if unit else known.scaled
    return Linear(nodes, tuple(found))


@lru_cache(maxsize=10_000)
def _monomial(text: str, variables: tuple[str, ...]) -> _Monomial | None:
    """Read a monomial; None if there is anything in it that is not known here."""
    powers: Counter[str] = Counter()
    for factor in text.replace("**", "^").split("*"):
        if factor == "1":
            continue
        match = _FACTOR.fullmatch(factor)
        if match is None or match["variable"] not in variables:
            return None
        if match["function"] is not None and match["function"] not in _INERT:
            return None
        base, _, exponent = factor.partition("^")
        powers[base] += int(exponent or 1)
    # Powers and their bases count, and the product where there is more than one factor.
    key = frozenset(powers.items())
    if not powers:
        return _Monomial(key, scaled=1, bare=1)
    factors = sum((2 if base.endswith(")") else 1) + (2 if n > 1 else 0) for base, n in key)
    return _Monomial(key, scaled=2 + factors, bare=factors + (1 if len(key) > 1 else 0))
