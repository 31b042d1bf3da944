"""The terms that may be in an equation, with constants inside where they have some."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
from answers import Offer
from atoms import families, fractions
from dictionary import Summand, nests, terms

if TYPE_CHECKING:
    from collections.abc import Sequence

    from answers import RightSide
    from atoms import AtomFamily
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

__all__ = ["Term", "inner_terms", "of_sums", "plain_terms", "written"]

_LENT = 3
"""Answers for each state of many, whose terms are tried in all equations."""


@dataclass(frozen=True)
class Term:
    """A term of an equation, up to its coefficient and the constants inside.

    Attributes
    ----------
    name
        Terms of one name are the same but for constants.
    price
        What it has to gain of twice the logarithm of the likelihood, beyond what parameters cost.
    slot
        Terms with the same slot share the constants inside; -1 for none.
    shared
        What terms with the same slot have to gain once, besides.
    """

    name: str
    price: float
    plain: Summand | None = field(default=None, repr=False, compare=False)
    family: AtomFamily | None = field(default=None, repr=False, compare=False)
    place: int = field(default=0, repr=False, compare=False)
    slot: int = -1
    shared: float = 0.0
    start: Array | None = field(default=None, repr=False, compare=False)

    def summand(self, constants: Array | None) -> Summand:
        """Return it with these constants inside."""
        if self.family is None or constants is None:
            assert self.plain is not None  # noqa: S101 - one of both is there
            return self.plain
        return self.family.atoms(constants)[self.place]


def plain_terms(u: Array, most: int, *, sets: bool = False) -> list[Term]:
    """Return terms without constants inside, the cheapest first.

    The price of a term is that of its place in the list: twice the logarithm of the number of terms
    that cost no more.

    Parameters
    ----------
    u
        The states, (n, d).
    most
        Largest number of terms, as for `dictionary.terms`.
    sets
        Whether the sets of terms that models are made of are among them, however much they cost.
    """
    found = terms(u, most)
    if sets:
        known = {one.text: one for one in found}
        known |= {one.text: one for each in nests(u) for one in each if one.text not in known}
        found = sorted(known.values(), key=lambda one: one.cost)
    costs = np.array([one.cost for one in found])
    ranks = [int((costs <= one.cost + 1e-9).sum()) for one in found]
    return [Term(one.text, 2 * math.log(rank), one) for one, rank in zip(found, ranks, strict=True)]


def inner_terms(u: Array, degree: int) -> list[list[Term]]:
    """Return terms with constants inside, family by family, the cheapest first.

    The price of a family is that of its place, as that of a term is; the price of a term in it is
    twice the logarithm of their number.

    Parameters
    ----------
    u
        The states, (n, d).
    degree
        The highest power under a bar.
    """
    several = [*families(u, degree), *fractions(u)]
    several.sort(key=lambda one: one.cost)
    costs = np.array([one.cost for one in several])
    found: list[list[Term]] = []
    for slot, family in enumerate(several):
        shared = 2 * math.log(int((costs <= family.cost + 1e-9).sum()))
        price = 2 * math.log(len(family.tops))
        found.append(
            [
                Term(f"{slot}:{place}", price, None, family, place, slot, shared)
                for place in range(len(family.tops))
            ]
        )
    return found


def of_sums(
    pools: Sequence[Sequence[RightSide]], weight: float
) -> tuple[list[tuple[int, Term, float]], list[Term]]:
    """Return the best equations of pools, one for each state, and terms of the next ones, too.

    Parameters
    ----------
    pools
        Right-hand sides of each state.
    weight
        As in `answers.RightSide.score`.
    """
    ranked = [sorted(pool, key=lambda one: one.score(weight))[:_LENT] for pool in pools]
    summands = {term.text: term for several in ranked for one in several for term in one.terms}
    price = 2 * math.log(max(len(summands), 1))
    library = {text: Term(text, price, summand) for text, summand in summands.items()}
    begin = [
        (state, library[term.text], c)
        for state, (best, *_) in enumerate(ranked)
        for term, c in zip(best.terms, best.coefficients, strict=True)
    ]
    return begin, list(library.values())


def written(
    pools: Sequence[Sequence[RightSide]], weight: float, variables: Sequence[str]
) -> list[str]:
    """Return the best equation of each state in a problem's names."""
    best = [min(pool, key=lambda one: one.score(weight)) for pool in pools]
    return [Offer(one, tuple(variables), k, None).text for k, one in enumerate(best)]
