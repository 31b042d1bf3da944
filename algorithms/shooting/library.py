"""The terms that may be in an equation, with constants inside where they have some."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
from atoms import families, fractions
from dictionary import Summand, terms

if TYPE_CHECKING:
    from collections.abc import Sequence

    from atoms import AtomFamily
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

__all__ = ["Term", "inner_terms", "plain_terms"]


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
    """

    name: str
    price: float
    plain: Summand | None = field(default=None, repr=False, compare=False)
    family: AtomFamily | None = field(default=None, repr=False, compare=False)
    place: int = field(default=0, repr=False, compare=False)
    slot: int = -1
    start: Array | None = field(default=None, repr=False, compare=False)

    def summand(self, constants: Array | None) -> Summand:
        """Return it with these constants inside."""
        if self.family is None or constants is None:
            assert self.plain is not None  # noqa: S101 - one of both is there
            return self.plain
        return self.family.atoms(constants)[self.place]


def plain_terms(u: Array, most: int, kinds: Sequence[str] | None = None) -> list[Term]:
    """Return terms without constants inside, the cheapest first.

    The price of a term is that of its place in the list: twice the logarithm of the number of terms
    that cost no more.
    """
    found = terms(u, most, kinds)
    costs = np.array([one.cost for one in found])
    ranks = [int((costs <= one.cost + 1e-9).sum()) for one in found]
    return [Term(one.text, 2 * math.log(rank), one) for one, rank in zip(found, ranks, strict=True)]


def inner_terms(u: Array, degree: int, *, two: bool) -> list[list[Term]]:
    """Return terms with constants inside, family by family."""
    several = [*families(u, degree), *(fractions(u) if two else ())]
    found: list[list[Term]] = []
    count = 0
    for slot, family in enumerate(several):
        atoms = family.atoms(family.grid[0])
        count += len(atoms)
        found.append(
            [Term(f"{slot}:{place}", 0.0, None, family, place, slot) for place in range(len(atoms))]
        )
    price = 2 * math.log(max(count, 1))
    return [
        [Term(t.name, price, None, t.family, t.place, t.slot) for t in several] for several in found
    ]
