"""Libraries of functions of the states, for ordinary differential equations and as parts of others.

One ordered list of terms holds every library of a grid: a smaller library is a choice of its
columns that keeps their order.  So one feature matrix serves the whole grid.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations_with_replacement, groupby
from math import comb
from typing import TYPE_CHECKING

import numpy as np

from mdbench.worker import Coordinates, Unsupported, columns_of, sum_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from mdbench.worker import Problem

    Array = NDArray[np.float64]

__all__ = [
    "FUNCTIONS",
    "LIBRARIES",
    "Library",
    "StateTerm",
    "StateTerms",
    "feature_matrix",
    "list_terms",
]

LIBRARIES = ("cross", "powers")
FUNCTIONS = {"sin": np.sin, "cos": np.cos}
DERIVATIVES: dict[str, Callable[[Array], Array]] = {"sin": np.cos, "cos": lambda u: -np.sin(u)}
_MOST_TERMS = 2000


@dataclass(frozen=True)
class StateTerm:
    """One column of the feature matrix.

    Attributes
    ----------
    factors
        Indices of the states that are multiplied, ascending; none for the constant term.
    function
        ``sin`` or ``cos`` of the one factor, or empty for a monomial.
    """

    factors: tuple[int, ...]
    function: str = ""

    def text(self, variables: Sequence[str]) -> str:
        """Write the term in Python syntax; the constant term is empty."""
        if self.function:
            return f"{self.function}({variables[self.factors[0]]})"
        powers = [(variables[state], len(list(group))) for state, group in groupby(self.factors)]
        return "*".join(name if power == 1 else f"{name}**{power}" for name, power in powers)


@dataclass(frozen=True)
class Library:
    """The terms that a setting may use.

    Attributes
    ----------
    kind
        ``cross``: all monomials up to a total degree; ``powers``: powers of single states.
    basis
        ``polynomial``, followed by the functions of single states: ``polynomial+sin+cos``.
    order
        The highest degree of a monomial, at least 1.

    Raises
    ------
    ValueError
        If one of them is not as described.
    """

    kind: str
    basis: str
    order: int

    @classmethod
    def of(cls, *, library: str = "cross", basis: str = "polynomial", order: int = 2) -> Library:
        """Make one from hyperparameters."""
        return cls(library, basis, order)

    def __post_init__(self) -> None:
        if self.kind not in LIBRARIES:
            raise ValueError(f"library is {self.kind!r}; it must be one of {', '.join(LIBRARIES)}")
        first, *functions = self.basis.split("+")
        if first != "polynomial" or not set(functions) <= FUNCTIONS.keys():
            raise ValueError(
                f"basis is {self.basis!r}; it must be 'polynomial', followed by any of "
                + ", ".join(f"'+{name}'" for name in FUNCTIONS)
            )
        if self.order < 1:
            raise ValueError(f"order is {self.order}; it must be 1 or more")

    def __contains__(self, term: StateTerm) -> bool:
        if term.function:
            return term.function in self.basis.split("+")
        single = len(set(term.factors)) <= 1
        return len(term.factors) <= self.order and (single or self.kind == "cross")


class StateTerms:
    """The terms of several libraries, each once, and their values on trajectories.

    Parameters
    ----------
    libraries, variables
        The libraries, and the names of states and inputs.
    coordinates
        Those in which products are taken; None for the values themselves.

    Attributes
    ----------
    rate
        The units in which models give the rate of each state, (d,); 1 for all without coordinates.

    Raises
    ------
    Unsupported
        If there are too many terms for a whole grid to be fitted in a sensible time.
    """

    def __init__(
        self,
        libraries: Sequence[Library],
        variables: Sequence[str],
        coordinates: Coordinates | None = None,
    ) -> None:
        terms = list_terms(libraries, len(variables))
        self.coordinates = coordinates
        self.rate: Array = np.ones(1)
        if coordinates is not None:
            self.rate = coordinates.rate
            terms = [t for t in terms if not t.function or coordinates.angles[t.factors[0]]]
        self._terms = terms
        self._variables = variables

    def __len__(self) -> int:
        return len(self._terms)

    def columns(self, library: Library) -> NDArray[np.bool_]:
        """Return which terms a library has, (p,)."""
        return np.array([term in library for term in self._terms])

    def write(self, coefficients: Array, target: int) -> str:
        """Write a model (p,) of a target in Python syntax."""
        texts = [term.text(self._variables) for term in self._terms]
        if self.coordinates is None:
            return sum_of(list(zip(coefficients.tolist(), texts, strict=True)))
        products, functions = {}, []
        for term, text, value in zip(self._terms, texts, coefficients.tolist(), strict=True):
            if term.function:
                functions.append((value * float(self.rate[target]), text))
            else:
                products[term.factors] = value
        return sum_of([*self.coordinates.write(products, self._variables, target), *functions])

    def features(self, u: Array) -> Array:
        """Evaluate the terms on states and inputs (n, m); return (n, p)."""
        if self.coordinates is None:
            return feature_matrix(self._terms, u)
        return feature_matrix(self._terms, self.coordinates.states(u), u)

    def gradients(self, u: Array) -> Array:
        """Evaluate the terms' derivatives by each column on columns (n, m); return (n, p, m)."""
        n, d = u.shape
        found = np.zeros((n, len(self._terms), d))
        columns: dict[tuple[int, ...], Array] = {(): np.ones(n)}
        z, size = u, np.ones(d)
        if self.coordinates is not None:
            z, size = self.coordinates.states(u), self.coordinates.size
        with np.errstate(over="ignore", invalid="ignore"):
            for k, term in enumerate(self._terms):
                for state in set(term.factors):
                    if term.function:
                        found[:, k, state] = DERIVATIVES[term.function](u[:, state])
                        continue
                    place = term.factors.index(state)
                    rest = term.factors[:place] + term.factors[place + 1 :]
                    count = term.factors.count(state) / size[state]
                    found[:, k, state] = count * _monomial(rest, z, columns)
        return found

    def at(self, problem: Problem) -> Callable[[Array], Array]:
        """Return a function that evaluates a model for each target (k, p), to (n, k)."""
        features = self.features(columns_of(problem))
        return lambda coefficients: np.asarray(features @ coefficients.T * self.rate)


def list_terms(libraries: Sequence[Library], n_states: int) -> list[StateTerm]:
    """List the terms of all the libraries once, in the order that all of them share.

    That order is the constant, the monomials by degree, then sin and then cos of each state.

    Raises
    ------
    Unsupported
        If there are too many terms for a whole grid to be fitted in a sensible time.
    """
    order = max(library.order for library in libraries)
    cross = any(library.kind == "cross" for library in libraries)
    count = (comb(n_states + order, order) if cross else 1 + n_states * order) + 2 * n_states
    if count > _MOST_TERMS:
        raise Unsupported(
            f"the library of order {order} has {count} terms for {n_states} states, and "
            f"at most {_MOST_TERMS} are allowed; take a lower order or library 'powers'"
        )
    monomials = [StateTerm(())]
    for degree in range(1, order + 1):
        if cross:
            monomials += map(StateTerm, combinations_with_replacement(range(n_states), degree))
        else:
            monomials += [StateTerm((state,) * degree) for state in range(n_states)]
    functions = [StateTerm((state,), name) for name in FUNCTIONS for state in range(n_states)]
    return [term for term in monomials + functions if any(term in library for library in libraries)]


def feature_matrix(terms: Sequence[StateTerm], u: Array, plain: Array | None = None) -> Array:
    """Evaluate terms on states `u` (n, d); return (n, len(terms)).

    Functions are those of `plain`, where these are other values of the same states.

    Raises
    ------
    ValueError
        If a value overflows: the equations could not be evaluated either.
    """
    plain = u if plain is None else plain
    columns: dict[tuple[int, ...], Array] = {(): np.ones(len(u))}
    matrix = np.empty((len(u), len(terms)))
    with np.errstate(over="ignore", invalid="ignore"):
        for k, term in enumerate(terms):
            if term.function:
                matrix[:, k] = FUNCTIONS[term.function](plain[:, term.factors[0]])
            else:
                matrix[:, k] = _monomial(term.factors, u, columns)
    if not np.isfinite(matrix).all():
        raise ValueError("the terms of the library overflow on these data; scale the states")
    return matrix


def _monomial(factors: tuple[int, ...], u: Array, columns: dict[tuple[int, ...], Array]) -> Array:
    """Multiply states, from the monomial of one degree less where it is known already."""
    if factors not in columns:
        columns[factors] = _monomial(factors[:-1], u, columns) * u[:, factors[-1]]
    return columns[factors]
