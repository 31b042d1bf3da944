"""The terms: products of states and their derivatives, by one rule of cost."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations_with_replacement, groupby
from typing import TYPE_CHECKING

from grids import derivatives_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from grids import Derivative

__all__ = ["Product", "products"]

_ORDER = 0.25
"""Cost of each order of a derivative."""
_OTHER = 0.125
"""Additional cost of a derivative of another state than the target."""
_FUNCTION = 3.5
"""Cost of a function of a state: more than a cube, since a wave has one in it."""
_FUNCTIONS = ("sin", "cos")
_MOST_STATES = 2
"""Largest number of states for which functions of a state are tried."""


@dataclass(frozen=True)
class Product:
    """A term.

    Attributes
    ----------
    states
        The states that are multiplied, rising, each as often as it is there.
    derivatives
        Further factors: derivatives of states in space, two at most.
    function
        ``sin`` or ``cos`` of the one state; empty for a product.
    """

    states: tuple[int, ...]
    derivatives: tuple[Derivative, ...] = ()
    function: str = ""

    @property
    def cost(self) -> float:
        """Each factor costs 1, and a quarter for each order of its derivative."""
        if self.function:
            return _FUNCTION
        return len(self.states) + sum(1 + _ORDER * each.order for each in self.derivatives)

    def cost_for(self, target: int) -> float:
        """Return its cost in the equation of a state.

        A derivative of another state costs a little more: where a law binds states to each other,
        as in a flow without sources, one may replace the other.
        """
        return self.cost + _OTHER * sum(each.state != target for each in self.derivatives)

    @property
    def text(self) -> str:
        """Write it in the problem's names; the constant is empty."""
        if self.function:
            return f"{self.function}(u{self.states[0]})"
        names = [f"u{state}" for state in self.states] + [each.name for each in self.derivatives]
        counted = [(name, len(list(same))) for name, same in groupby(names)]
        return "*".join(name if power == 1 else f"{name}**{power}" for name, power in counted)


def products(variables: Sequence[str], states: int, most: int, dearest: float) -> list[Product]:
    """List terms from cheap to dear, whole levels of cost, as far as they are at most `most`.

    Parameters
    ----------
    variables
        The names that equations may use, with those of derivatives.
    states
        Number of states.
    dearest
        The highest cost.
    """
    ordered = sorted(_all(variables, states, dearest), key=lambda term: term.cost)
    kept: list[Product] = []
    for _, level in groupby(ordered, key=lambda term: term.cost):
        further = list(level)
        if kept and len(kept) + len(further) > most:
            break
        kept += further
    return kept


def _all(variables: Sequence[str], states: int, dearest: float) -> Iterator[Product]:
    derivatives = derivatives_of(variables)
    firsts = [each for each in derivatives if each.order == 1]
    for degree in range(int(dearest) + 1):
        for some in combinations_with_replacement(range(states), degree):
            factors = [(), *((each,) for each in derivatives)]
            factors += list(combinations_with_replacement(firsts, 2))
            for each in factors:
                term = Product(some, each)
                if term.cost <= dearest:
                    yield term
    if states <= _MOST_STATES and dearest >= _FUNCTION:
        for state in range(states):
            for function in _FUNCTIONS:
                yield Product((state,), (), function)
