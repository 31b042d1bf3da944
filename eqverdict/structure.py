"""What equations are apart from their constants and from the names of their variables.

Two systems have the same structure if their terms, multiplied out, are the same but for
coefficients, phases and the constants inside of functions, whatever the variables are called.
"""

from __future__ import annotations

import re
from collections import defaultdict
from contextlib import suppress
from itertools import permutations, product
from math import factorial, prod
from types import MappingProxyType
from typing import TYPE_CHECKING

from eqverdict.errors import EquationError
from eqverdict.expand import expand

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from eqverdict.atoms import Atom, Monomial

_MOST_ORDERS = 1_000
"""Orders of variables that are tried; variables that look alike need all orders."""
_NAME = re.compile(r"<(\w+)>")
_WORD = re.compile(r"[A-Za-z_]\w*")


def structures(
    problems: Iterable[tuple[Sequence[str], Sequence[str]]], *, states: bool = False
) -> set[str]:
    """Return the structures of problems, each equations and variables; see `structure`.

    Those with so many variables that are alike that not all orders can be tried have none.
    """
    texts = set()
    for equations, variables in problems:
        with suppress(EquationError):
            texts.add(structure(equations, variables, states=states))
    return texts


def structure(equations: Sequence[str], variables: Sequence[str], *, states: bool = False) -> str:
    """Return a text that is the same for all equations of one structure.

    Parameters
    ----------
    equations
        Right-hand sides.
    variables
        The names that they may use.
    states
        Whether the equations are those of the variables, one each and in order, as those of a
        system of differential equations are; else the order of the equations is kept.

    Raises
    ------
    EquationError
        If one cannot be multiplied out, or if too many variables are alike.

    Examples
    --------
    >>> structure(["3*a*b - a", "b"], ["a", "b"]) == structure(["x - 0.1*y*x", "y"], ["x", "y"])
    True
    >>> structure(["a**2"], ["a"]) == structure(["a**3"], ["a"])
    False
    """
    shapes = [terms_of(text, variables) for text in equations]
    used = {name for shape in shapes for term in shape for name in _NAME.findall(term)}
    alike: dict[tuple[object, ...], list[str]] = defaultdict(list)
    for name in variables:
        if states or name in used:
            marks = [_mark(shape, name) for shape in shapes]
            own = [marks[variables.index(name)]] if states else []
            alike[tuple(own), tuple(sorted(marks) if states else marks)].append(name)
    groups = [alike[key] for key in sorted(alike, key=repr)]
    if prod(factorial(len(group)) for group in groups) > _MOST_ORDERS:
        raise EquationError("its structure is not found out: too many variables are alike")
    # How a term is written may depend on how the names are sorted: these are always the same.
    first = [name for group in groups for name in group]
    names = {name: f"v_{place}" for place, name in enumerate(first)}
    names |= {name: f"w_{i}" for i, name in enumerate(variables) if name not in names}
    expanded = [
        expand(_WORD.sub(lambda word: names.get(word[0], word[0]), text), tuple(names.values()))
        for text in equations
    ]
    texts = []
    for orders in product(*map(permutations, groups)):
        order = [name for group in orders for name in group]
        renamed = {names[name]: f"v_{place}" for place, name in enumerate(order)}
        shaped = [
            " + ".join(sorted({_product(each, renamed) for each in terms})) or "0"
            for terms in expanded
        ]
        if states:
            shaped = [shaped[variables.index(name)] for name in order]
        texts.append("; ".join(shaped))
    return min(texts)


def terms_of(text: str, variables: Sequence[str]) -> set[str]:
    """Return the terms of an equation when it is multiplied out, without their constants.

    Raises
    ------
    EquationError
        If it cannot be multiplied out.

    Examples
    --------
    >>> sorted(terms_of("3*a*(b - 2)", ["a", "b"]))
    ['<a>^1', '<a>^1*<b>^1']
    """
    return {_product(monomial) for monomial in expand(text, tuple(variables))}


def _product(monomial: Monomial, names: Mapping[str, str] = MappingProxyType({})) -> str:
    factors = (
        f"{_atom(atom, names)}{'' if atom.kind == 'exp' else f'^{power}'}"
        for atom, power in monomial
    )
    return "*".join(sorted(factors)) or "1"


def _atom(atom: Atom, names: Mapping[str, str]) -> str:
    if atom.kind == "variable":
        return f"<{names.get(atom.text, atom.text)}>"
    parts = [part for part in (atom.inner, atom.second) if part is not None]
    inner = (
        " + ".join(sorted({_product(each, names) for each, _ in part})) or "0" for part in parts
    )
    return f"{atom.kind}({', '.join(inner)})"


def _mark(terms: set[str], name: str) -> str:
    """Write what terms have of a variable, whatever the others are called and in any order."""
    marked = (_NAME.sub(lambda one: "@" if one[1] == name else "_", term) for term in terms)
    return repr(sorted("".join(sorted(each)) for each in marked))
