"""The search for one equation: sums of terms, then terms with constants inside."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from answers import RightSide, answer
from atoms import TunedSummand, families, fractions
from constants import exact, with_family
from dictionary import Summand, monomials, terms
from supports import backward, best_supports, compressed, residuals

if TYPE_CHECKING:
    from collections.abc import Callable

    from atoms import AtomFamily
    from numpy.typing import NDArray
    from samples import Integrals

    Array = NDArray[np.float64]

__all__ = ["Search", "Settings", "find"]

_WIDTH = 60
_FIRST, _ENOUGH, _LAST = 3.0, 4.0, 5.0
"""The search ends with an answer that is as good as the closest fit of all, were that to cost so
much, and 1 more for each state: while there is one constant inside, one fraction, and more."""
_LARGEST_SHARED = 5
"""The largest support in which terms of other states' equations are tried."""
_KEPT = 4
"""Terms with inner constants that are kept from the first pass."""
_LARGEST = {1: 5, 2: 6, 3: 6}
_NESTED = 10
"""The largest support that backward elimination gives."""
_DEGREES = {1: 5, 2: 4, 3: 3}
"""Degree of the sums of powers from which terms are left out one by one; 2 for more states."""

_BY_BEAM, _MANY = 4, 16_000
"""Sums of so many powers are all tried, while there are no more of them."""
_HILL = 4
"""The largest power under a bar, at least."""


@dataclass(frozen=True)
class Settings:
    """Settings that were fixed on the systems for development.

    Attributes
    ----------
    weight
        Decades of the residual that one unit of cost has to gain.
    terms
        Largest number of terms without inner constants.
    noisy_terms
        The same where the data are noisy.
    inner
        Whether terms with inner constants are tried.
    """

    weight: float
    terms: int
    noisy_terms: int
    inner: bool


class Search:
    """The search for the equation of one state, in steps.

    Attributes
    ----------
    pool
        All right-hand sides found so far.
    """

    def __init__(self, design: Integrals, state: int, settings: Settings) -> None:
        self._design, self._state, self._settings = design, state, settings
        self._dim = design.samples.u.shape[1]
        self.pool = _sums(design, state, settings)
        self._inner: list[RightSide] = []

    def best(self) -> RightSide:
        """Return the best so far."""
        return min(self.pool, key=lambda one: one.score(self._settings.weight))

    def settled(self, enough: float = _ENOUGH) -> bool:
        """Return whether an answer is so cheap and fits so well that others hardly win."""
        weight = self._settings.weight
        floor = min(one.scale for one in self.pool)
        limit = np.log10(floor + 1e-300) + weight * (enough + self._dim)
        return bool(self.best().score(weight) <= limit)

    def one_constant(self, late: Callable[[], bool]) -> None:
        """Try terms with one constant inside, and sigmoids, together with sums of powers."""
        self._with(self._families(), self._powers(), _FIRST, late)

    def two_constants(self, late: Callable[[], bool]) -> None:
        """Try fractions with two constants inside together with sums of powers."""
        self._with(list(fractions(self._design.samples.u)), self._powers(), _ENOUGH, late)

    def with_others(self, found: list[TunedSummand]) -> None:
        """Try terms with the constants that are in other states' equations."""
        base = [*self._powers(), *found]
        columns = self._design.columns(base, self._state)
        if not found or self.settled() or not np.isfinite(columns).all():
            return
        unit, target = compressed(columns, self._design.target(self._state))
        for supports in best_supports(unit, target, _LARGEST_SHARED, _WIDTH).values():
            several = [one for one in supports if max(one) >= len(base) - len(found)]
            for support in several[:_KEPT]:
                self._add([exact(self._design, self._state, [base[k] for k in support])])

    def several(self, late: Callable[[], bool]) -> None:
        """Try terms with one constant inside together with the promising ones found before."""
        terms = _promising(self._inner, self._settings.weight)
        if terms:
            base = [*monomials(self._dim, 1), *terms]
            self._with(self._families(), base, _LAST, late)

    def _families(self) -> list[AtomFamily]:
        return list(families(self._design.samples.u, max(_DEGREES.get(self._dim, 2), _HILL)))

    def _powers(self) -> list[Summand]:
        return monomials(self._dim, 3 if self._dim == 1 else 2)

    def _with(
        self,
        several: list[AtomFamily],
        base: list[Summand],
        enough: float,
        late: Callable[[], bool],
    ) -> None:
        for family in several:
            if late() or self.settled(enough):
                return
            least = min(one.scale for one in self.pool)
            self._add(with_family(self._design, self._state, family, base, least))

    def _add(self, answers: list[RightSide]) -> None:
        self.pool += answers
        self._inner += answers


def find(
    design: Integrals, settings: Settings, late: Callable[[], bool], *, inner: bool
) -> list[list[RightSide]]:
    """Return the best right-hand sides of all sizes for each state.

    Parameters
    ----------
    inner
        Whether terms with constants inside are tried where sums of others do not settle it.
    """
    searches = [Search(design, state, settings) for state in range(len(design.samples.deviation))]
    if inner and settings.inner and not design.samples.noise:
        for one in searches:
            one.one_constant(late)
            one.two_constants(late)
        for one in searches:
            others = [other.best() for other in searches if other is not one]
            one.with_others(_families_of(others))
        for one in searches:
            one.several(late)
    return [one.pool for one in searches]


def _families_of(answers: list[RightSide]) -> list[TunedSummand]:
    """Return all terms, with their constants, of the families that the answers' terms are of."""
    atoms = [term for one in answers for term in one.terms if isinstance(term, TunedSummand)]
    once = {id(atom.constants): atom for atom in atoms}
    several = [one for atom in once.values() for one in atom.family.atoms(atom.constants)]
    return list({one.text: one for one in several}.values())


def _promising(answers: list[RightSide], weight: float) -> list[Summand]:
    """Return the terms with inner constants of the best answers."""
    found: dict[str, Summand] = {}
    for one in sorted(answers, key=lambda one: one.score(weight)):
        atoms = [term for term in one.terms if isinstance(term, TunedSummand)]
        for atom in atoms:
            found.setdefault(atom.text, atom)
        if len(found) >= _KEPT:
            break
    return list(found.values())[:_KEPT]


def _sums(design: Integrals, state: int, settings: Settings) -> list[RightSide]:
    u = design.samples.u
    dim = u.shape[1]
    chosen, columns = [], []
    most = settings.noisy_terms if design.samples.noise else settings.terms
    for term in terms(u, most):
        column = design.column(term, state)
        if np.isfinite(column).all() and np.abs(column).max() > 0:
            chosen.append(term)
            columns.append(column)
    unit, target = compressed(np.stack(columns, axis=1), design.target(state))
    at = {term.text: k for k, term in enumerate(chosen)}
    nests = [
        [at[term.text] for term in monomials(dim, degree) if term.text in at]
        for degree in range(1, _DEGREES.get(dim, 2) + 1)
    ]
    largest = min(_LARGEST.get(dim, 5), len(target) // 4)
    found = _found(unit, target, nests, largest)
    pool = [answer(design, state, [])]
    for supports in found.values():
        for support in dict.fromkeys(supports):
            several: list[Summand] = [chosen[k] for k in support]
            pool.append(answer(design, state, several))
    return pool


def _found(
    unit: Array, target: Array, nests: list[list[int]], largest: int
) -> dict[int, list[tuple[int, ...]]]:
    """Return good supports of each size.

    Parameters
    ----------
    nests
        The columns of all powers up to each degree.
    largest
        The size up to which any columns are combined.
    """
    found = best_supports(unit, target, largest, _WIDTH)
    for nest in nests:
        for support in backward(unit, target, nest, _NESTED):
            found.setdefault(len(support), []).append(support)
    for support in _all_of(unit, target, nests[-1]):
        found.setdefault(len(support), []).insert(0, support)
    for size in sorted(found, reverse=True):
        for support in found[size][:3]:
            for smaller in backward(unit, target, support, size - 1):
                found[len(smaller)].append(smaller)
    return found


def _all_of(unit: Array, target: Array, nest: list[int]) -> list[tuple[int, ...]]:
    """Return the best of all sums of four and more powers, while they are not too many."""
    found = []
    columns, along = compressed(unit[:, nest], target)
    for size in range(_BY_BEAM, len(nest)):
        if math.comb(len(nest), size) > _MANY or size > _NESTED:
            break
        supports = np.array(list(itertools.combinations(range(len(nest)), size)))
        best = supports[np.argmin(residuals(columns, along, supports))]
        found.append(tuple(nest[k] for k in best))
    return found
