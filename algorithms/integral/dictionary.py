"""The terms that equations are made of, by one rule of cost for every system.

A coefficient costs 1, and so does every further constant.  Each factor after the first costs
0.25, and each function 0.5, once for all its powers.  Functions are those of the grammar that all
methods may use, and the reciprocal; they are of one state, sine and cosine of the difference of
two states, too.  A difference of two states costs 0.25, once for all its powers: where two states
are coupled by it, it is cheaper than both states with a coefficient each.
"""

from __future__ import annotations

import itertools
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    Array = NDArray[np.float64]

__all__ = [
    "CONSTANT",
    "FACTOR",
    "FUNCTION",
    "Summand",
    "differences",
    "function_of",
    "groups",
    "inverse_monomial",
    "monomial",
    "monomials",
    "nests",
    "pair",
    "product_of",
    "terms",
]

CONSTANT, FACTOR, FUNCTION = 1.0, 0.25, 0.5
_MOST_FUNCTIONS = 3
_CUBED = 4
"""Most states of which all powers up to the third are taken."""
_STATES = re.compile(r"\bu(\d+)\b")
_SPAN = 1e8
"""The largest absolute value of a term over its median: beyond, a few samples decide alone."""

_FUNCTIONS: Mapping[str, Callable[[Array], Array]] = {
    "sin": np.sin,
    "cos": np.cos,
    "exp": np.exp,
    "log": np.log,
    "sqrt": np.sqrt,
    "abs": np.abs,
    "tan": np.tan,
    "cot": lambda x: 1.0 / np.tan(x),
}


@dataclass(frozen=True)
class Multiplicand:
    """A state, or a function of one, or of a difference of two."""

    text: str
    cost: float
    make: Callable[[Array], Array] = field(repr=False, compare=False)


@dataclass(frozen=True)
class Summand:
    """A product of factors.

    Attributes
    ----------
    text
        As it is in an equation.
    cost
        With its coefficient.
    shared
        Costs that are counted once where other terms have them, too.
    """

    text: str
    cost: float
    make: Callable[[Array], Array] = field(repr=False, compare=False)
    shared: Mapping[str, float] = field(
        default_factory=dict[str, float], repr=False, compare=False, kw_only=True
    )

    def values(self, u: Array) -> Array:
        """Evaluate it on states (..., d), to (...)."""
        with np.errstate(all="ignore"):
            return self.make(u)


def terms(u: Array, most: int, plain: Sequence[str] | None = None) -> list[Summand]:
    """List the cheapest terms, all up to some cost, such that there are no more than `most`.

    Parameters
    ----------
    u
        The states, (n, d).  A term that is not defined or not smooth on them is left out, and so
        is one that would be a multiple of a cheaper one: ``abs`` of what keeps its sign.
    most
        Largest number of terms.
    plain
        For each column which functions of it mean something: ``all``, ``powers`` alone, whatever
        its unit, or ``none``; None for all of all.
    """
    dim = u.shape[1]
    states = [Multiplicand(f"u{i}", 0.0, _state(i)) for i in range(dim)]
    plain = plain or ("all",) * dim
    functions = [*_functions(u, plain), *_differences(plain)]
    found: list[Summand] = []
    for cost in np.arange(CONSTANT, 4.01, FACTOR):
        usable = (term for term in _of_cost(float(cost), states, functions) if _usable(term, u))
        level = list(itertools.islice(usable, most - len(found) + 1))
        if len(found) + len(level) > most:
            break
        found += level
    return found


def differences(
    u: Array, plain: Sequence[str] | None = None, *, products: bool = True
) -> list[Summand]:
    """List the terms by which two states are coupled: of the difference of any two columns.

    They are its first three powers, its products with each column, and its root and absolute value
    where they are defined and no multiples of a cheaper term.

    Parameters
    ----------
    u, plain
        As for `terms`.
    products
        Whether their products with each column are among them.
    """
    dim = u.shape[1]
    plain = plain or ("all",) * dim
    states = [Multiplicand(f"u{i}", 0.0, _state(i)) for i in range(dim)]
    found: list[Summand] = []
    for i, j in itertools.combinations(range(dim), 2):
        if "none" in {plain[i], plain[j]}:
            continue
        values = u[:, i] - u[:, j]
        low, high = (i, j) if values.min() > -values.max() else (j, i)  # more often positive
        make, text = _difference(low, high), f"u{low} - u{high}"
        plainly = Multiplicand(f"({text})", FACTOR, make)
        found += [_product([plainly] * power) for power in (1, 2, 3)]
        found += [_product([one, plainly]) for one in states if products]
        names = ["sqrt"] if (make(u) > 0).all() else ["abs"]
        for name in names:
            factor = Multiplicand(f"{name}({text})", FUNCTION + FACTOR, _of(name, make))
            found.append(_product([factor]))
            if name == "abs":
                found.append(_product([plainly, factor]))
        if (make(u) > 0).all():
            below = Multiplicand(f"1/({text})", FUNCTION + FACTOR, _inverse(make))
            found.append(_product([below]))
    return [term for term in found if _usable(term, u)]


def nests(u: Array, plain: Sequence[str] | None = None) -> list[list[Summand]]:
    """List sets of terms of which few may be needed: those that models of some kind are made of.

    They are all powers up to the third; sine and cosine of one state with all states in front, and
    of all states; fractions over one state; and powers of states and of their differences.

    Parameters
    ----------
    u, plain
        As for `terms`.
    """
    dim = u.shape[1]
    plain = plain or ("all",) * dim
    linear, squares = monomials(dim, 1), monomials(dim, 2)
    cubes = monomials(dim, 3 if dim <= _CUBED else 2)
    angles = [i for i in range(dim) if plain[i] == "all"]
    waves = {i: [function_of(name, i) for name in ("sin", "cos")] for i in angles}
    found = [cubes, [*cubes, *(one for each in waves.values() for one in each)]]
    for each in waves.values():
        before = [*each, *(product_of(state, one) for state in linear[1:] for one in each)]
        found.append([*squares, *before])
    for i, x in enumerate(u.T):
        if plain[i] != "none" and ((x > 0).all() or (x < 0).all()):
            above = [one for one in squares[1:] if f"u{i}" not in one.text.split("*")]
            above += [one for j, each in waves.items() if j != i for one in each]
            under = _product([Multiplicand(f"1/u{i}", FUNCTION, _reciprocal(i))])
            found.append([*linear, under, *(product_of(one, under) for one in above)])
    if dim > 1:
        found.append([*linear, *_squares_and_cubes(dim), *differences(u, plain)])
    return [[term for term in nest if _usable(term, u)] for nest in found]


def groups(
    u: Array, plain: Sequence[str] | None = None
) -> Callable[[int], Iterator[list[Summand]]]:
    """Return small libraries for the equations of many states, by the number of an equation.

    The most usual ones come first.  They are products of the equation's own state with another
    one; all products of two; all functions of one state; and for each state, its own first, the
    differences from all others, by which the nodes of a network are coupled, with functions and
    powers of that state.

    Parameters
    ----------
    u, plain
        As for `terms`.
    """
    dim = u.shape[1]
    plain = plain or ("all",) * dim
    linear, squares = monomials(dim, 1), monomials(dim, 2)
    powers = _squares_and_cubes(dim)
    alone = [*powers, *map(_alone, _functions(u, plain))]
    alone = [term for term in alone if _usable(term, u)]
    pairs = [*differences(u, plain, products=False), *map(_alone, _differences(plain))]

    def of(state: int, terms: list[Summand]) -> list[Summand]:
        return [term for term in terms if str(state) in _STATES.findall(term.text)]

    def libraries(state: int) -> Iterator[list[Summand]]:
        own = monomial([int(i == state) for i in range(dim)])
        others = [one for one in linear[1:] if one.text != own.text]
        beside = [p for x in others for p in ([own, x], [own, x, x], [own, own, x])]
        yield [*linear, *of(state, powers), *(product_of(*each) for each in beside)]
        yield squares
        yield [*linear, *alone]
        for i in [state, *(i for i in range(dim) if i != state)]:
            yield [*linear, *of(i, alone), *of(i, pairs)]

    return libraries


def monomials(dim: int, degree: int) -> list[Summand]:
    """List all products of powers of states up to a degree, the constant first."""
    several = [
        chosen
        for factors in range(degree + 1)
        for chosen in itertools.combinations_with_replacement(range(dim), factors)
    ]
    exponents = sorted(
        (tuple(chosen.count(i) for i in range(dim)) for chosen in several),
        key=lambda e: (sum(e), e),
    )
    return [monomial(each) for each in exponents]


def _squares_and_cubes(dim: int) -> list[Summand]:
    """List the second and third power of each state by itself."""
    return [monomial([p * int(i == j) for j in range(dim)]) for i in range(dim) for p in (2, 3)]


def monomial(exponents: Sequence[int]) -> Summand:
    """Return one product of powers of states."""
    states = [i for i, power in enumerate(exponents) for _ in range(power)]
    return _product([Multiplicand(f"u{i}", 0.0, _state(i)) for i in states])


def inverse_monomial(exponents: Sequence[int], other: int) -> Summand:
    """Return one product of powers of states, over another state."""
    states = [i for i, power in enumerate(exponents) for _ in range(power)]
    above = [Multiplicand(f"u{i}", 0.0, _state(i)) for i in states]
    return _product([*above, Multiplicand(f"1/u{other}", FUNCTION, _reciprocal(other))])


def pair(i: int, j: int) -> Summand:
    """Return the difference of two states."""
    return _product([Multiplicand(f"(u{i} - u{j})", FACTOR, _difference(i, j))])


def function_of(name: str, i: int) -> Summand:
    """Return a function of one state."""
    return _product([Multiplicand(f"{name}(u{i})", FUNCTION, _of(name, _state(i)))])


def product_of(*terms: Summand) -> Summand:
    """Return the product of terms, none of them the constant."""
    factors = [Multiplicand(one.text, one.cost - CONSTANT, one.make) for one in terms]
    return _product(factors)


def _of_cost(
    cost: float, states: list[Multiplicand], functions: list[Multiplicand]
) -> Iterator[Summand]:
    """List all products that have exactly this cost."""
    most = round((cost - CONSTANT - FUNCTION) / FACTOR) + 1  # all of them powers of the cheapest
    for count in range(min(_MOST_FUNCTIONS, max(most, 0)) + 1):
        for several in itertools.combinations_with_replacement(functions, count):
            left = cost - CONSTANT - sum(one.cost for one in set(several))
            powers = round(left / FACTOR) + 1 - count  # states that are to be multiplied
            if left < 0 or powers < 0 or (powers + count == 0 and left > 0):
                continue
            for chosen in itertools.combinations_with_replacement(states, powers):
                yield _product([*chosen, *several])
    if cost == CONSTANT:
        yield _product([])


def _functions(u: Array, plain: Sequence[str]) -> Iterator[Multiplicand]:
    for i, x in enumerate(u.T):
        if plain[i] == "none":
            continue
        whole = plain[i] == "all"
        state, positive = _state(i), bool((x > 0).all())
        one_sign = positive or bool((x < 0).all())
        for name in ("sin", "cos") if whole else ():
            yield Multiplicand(f"{name}(u{i})", FUNCTION, _of(name, state))
        for sign in ("", "-") if whole else ():
            yield Multiplicand(f"exp({sign}u{i})", FUNCTION, _exponential(i, -1.0 if sign else 1.0))
        if one_sign:
            yield Multiplicand(f"1/u{i}", FUNCTION, _reciprocal(i))
        else:
            yield Multiplicand(f"abs(u{i})", FUNCTION, _of("abs", state))
        if positive:
            yield Multiplicand(f"log(u{i})", FUNCTION, _of("log", state))
            yield Multiplicand(f"sqrt(u{i})", FUNCTION, _of("sqrt", state))
        for name, zero in (("tan", np.cos), ("cot", np.sin)):
            if whole and np.ptp(x) < np.pi and (np.sign(zero(x)) == np.sign(zero(x[0]))).all():
                yield Multiplicand(f"{name}(u{i})", FUNCTION, _of(name, state))


def _differences(plain: Sequence[str]) -> Iterator[Multiplicand]:
    """Return waves of the difference of two columns."""
    whole = [i for i, kind in enumerate(plain) if kind == "all"]
    for i, j in itertools.combinations(whole, 2):
        for name in ("sin", "cos"):
            yield Multiplicand(
                f"{name}(u{i} - u{j})", FUNCTION + FACTOR, _of(name, _difference(i, j))
            )


def _usable(term: Summand, u: Array) -> bool:
    """Return whether a term is defined on the data, and is no other way to write another term."""
    factors = term.text.split("*")
    if any(_is_written_otherwise(factors, i) for i in range(u.shape[1])):
        return False
    values = np.abs(term.values(u))
    return bool(np.isfinite(values).all() and values.max() <= _SPAN * np.median(values))


def _is_written_otherwise(factors: list[str], i: int) -> bool:
    x = f"u{i}"
    there = {name: factors.count(f"{name}({x})") for name in _FUNCTIONS}
    exponentials = {there["exp"] > 0, factors.count(f"exp(-{x})") > 0}
    tangents = there["tan"] + there["cot"] > 0
    return (
        (f"1/{x}" in factors and (x in factors or there["sqrt"] > 0))
        or exponentials == {True}
        or max(there["abs"], there["sqrt"]) > 1
        or there["cos"] > 1  # cos**2 is 1 - sin**2
        or (there["tan"] > 0 and there["cot"] > 0)
        or (tangents and there["sin"] + there["cos"] > 0)
    )


def _alone(factor: Multiplicand) -> Summand:
    return _product([factor])


def _product(factors: Sequence[Multiplicand]) -> Summand:
    cost = CONSTANT + FACTOR * max(len(factors) - 1, 0) + sum(one.cost for one in set(factors))
    if not factors:
        return Summand("1", cost, lambda u: np.ones(u.shape[:-1]))
    makes = [one.make for one in factors]

    def make(u: Array) -> Array:
        values = makes[0](u)
        for other in makes[1:]:
            values = values * other(u)
        return values

    return Summand("*".join(one.text for one in factors), cost, make)


def _state(i: int) -> Callable[[Array], Array]:
    return lambda u: u[..., i]


def _difference(i: int, j: int) -> Callable[[Array], Array]:
    return lambda u: u[..., i] - u[..., j]


def _reciprocal(i: int) -> Callable[[Array], Array]:
    return lambda u: 1.0 / u[..., i]


def _inverse(argument: Callable[[Array], Array]) -> Callable[[Array], Array]:
    return lambda u: 1.0 / argument(u)


def _exponential(i: int, sign: float) -> Callable[[Array], Array]:
    return lambda u: np.exp(sign * u[..., i])


def _of(name: str, argument: Callable[[Array], Array]) -> Callable[[Array], Array]:
    function = _FUNCTIONS[name]
    return lambda u: function(argument(u))
