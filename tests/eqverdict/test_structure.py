"""What equations are apart from constants and names, against SymPy's terms in all orders."""

from __future__ import annotations

from itertools import permutations
from typing import Any

import numpy as np
import pytest
import sympy

from eqverdict.structure import structure
from mdbench.errors import EquationError

NAMES = ("a", "b", "c")


def drawn(generator: np.random.Generator) -> list[str]:
    """Draw a system of three states with polynomial and other terms."""
    factors = ["a", "b", "c", "a*b", "b*c", "a**2", "c**3", "sin(a)", "exp(b)", "a/(1 + c)"]
    texts = []
    for _ in NAMES:
        terms = generator.choice(factors, generator.integers(1, 4), replace=False)
        texts.append(" + ".join(f"{generator.uniform(0.5, 2):.3f}*{term}" for term in terms))
    return texts


def by_sympy(texts: list[str]) -> frozenset[tuple[frozenset[str], ...]]:
    """Return the terms without coefficients in all orders of the states."""
    found, one = set(), sympy.Symbol("one")
    for order in permutations(range(3)):
        names = {name: sympy.Symbol(f"v{order[i]}") for i, name in enumerate(NAMES)}
        placed: list[Any] = [None] * 3
        for i, text in enumerate(texts):
            terms = sympy.sympify(text, locals=names).as_coefficients_dict()
            bare = {str(t.replace(lambda e: e.is_Float, lambda _: one)) for t in terms}
            placed[order[i]] = frozenset(bare)
        found.add(tuple(placed))
    return frozenset(found)


@pytest.mark.parametrize("seed", range(40))
def test_two_systems_have_one_structure_if_sympy_says_so(seed: int) -> None:
    generator = np.random.default_rng(seed)
    first, second = drawn(generator), drawn(generator)
    # Another system of the first one's structure: other numbers, names and order.
    order = generator.permutation(3)
    swap = str.maketrans({name: NAMES[order[i]].upper() for i, name in enumerate(NAMES)})
    other = [text.translate(swap) for text in drawn_again(first, generator)]
    placed = [other[list(order).index(i)].lower() for i in range(3)]
    found = [structure(each, NAMES, states=True) for each in (first, second, placed)]
    assert found[0] == found[2]
    assert (found[0] == found[1]) == (by_sympy(first) == by_sympy(second))


def drawn_again(texts: list[str], generator: np.random.Generator) -> list[str]:
    """Return the same terms with other coefficients, in another order."""
    again = []
    for text in texts:
        terms = [term.split("*", 1)[1] for term in text.split(" + ") if "*" in term[:6]]
        if len(terms) != text.count(" + ") + 1:  # a bar with a sum below it
            terms = []
            again.append("-" + text.replace("(1 +", "(2 +"))
        else:
            generator.shuffle(terms)
            again.append(" - ".join(f"{generator.uniform(3, 9):.3f}*{term}" for term in terms))
    return again


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("x*y/(1 + x)", "-3*q*p/(2 + 0.1*p)", True),
        ("x*y/(1 + x)", "q*p/(1 + q*p)", False),
        ("sin(2*x + 1)", "cos(y)", True),
        ("sin(x)**2", "sin(x)", False),
        ("exp(-x/2)*y", "exp(3*y)*x", True),
        ("sqrt(x + 1)", "sqrt(2*y + 3)", True),
        ("x**2.5", "x**2.4", False),
        ("x - x", "0", True),
        ("(x + y)**2", "x**2 + x*y + y**2", True),
        ("max(x, y)", "max(y, 2*x)", True),
    ],
)
def test_constants_and_names_do_not_count_and_exponents_do(
    one: str, other: str, same: bool
) -> None:
    found = [structure([text], ("x", "y", "p", "q")) for text in (one, other)]
    assert (found[0] == found[1]) == same


def test_what_takes_too_long_is_refused() -> None:
    names = [f"x{i}" for i in range(9)]
    with pytest.raises(EquationError, match="alike"):
        structure([" + ".join(names)], names)
