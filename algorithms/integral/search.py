"""The search for one equation: sums of terms, then terms with constants inside."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from answers import RightSide, answer
from atoms import TunedSummand, families, fractions
from constants import with_family
from dictionary import Summand, monomials, terms
from supports import backward, best_supports, compressed

if TYPE_CHECKING:
    from collections.abc import Callable

    from samples import Integrals

__all__ = ["Settings", "find"]

_WIDTH = 60
_ENOUGH = (3.0, 4.0, 4.0)
"""For each pass: the search ends with an answer that is as good as the closest fit of all, were
that to cost so much, and 1 more for each state.  In the second, terms with other inner constants
stand beside those of the first."""
_KEPT = 4
"""Of the first pass's."""
_LARGEST = {1: 5, 2: 6, 3: 6}
_NESTED = 10
"""The largest support that backward elimination gives."""
_DEGREES = {1: 5, 2: 4, 3: 3}
"""Of the sums of powers from which terms are left out one by one; 2 for more states."""


@dataclass(frozen=True)
class Settings:
    """What was fixed on the systems for development.

    Attributes
    ----------
    weight
        Decades of what is left that one unit of cost has to be worth.
    terms
        How many terms without inner constants there may be.
    noisy_terms
        The same where the data are noisy.
    inner
        Whether terms with inner constants are tried.
    """

    weight: float
    terms: int
    noisy_terms: int
    inner: bool


def find(
    design: Integrals, state: int, settings: Settings, late: Callable[[], bool]
) -> list[RightSide]:
    """Give the best right-hand sides of all sizes for one state."""
    u = design.samples.u
    pool = _sums(design, state, settings)
    if not settings.inner or design.samples.noise:
        return pool
    own = list(families(u, _DEGREES.get(u.shape[1], 2)))
    base = monomials(u.shape[1], 3 if u.shape[1] == 1 else 2)
    inner: list[RightSide] = []
    for enough, several in zip(_ENOUGH, (own, list(fractions(u)), own), strict=True):
        if several is own and inner:
            base = [*monomials(u.shape[1], 1), *_promising(inner, settings.weight)]
        for family in several:
            if late() or _settled([*pool, *inner], settings.weight, enough + u.shape[1]):
                return [*pool, *inner]
            least = min(one.scale for one in (*pool, *inner))
            inner += with_family(design, state, family, base, least)
    return [*pool, *inner]


def _promising(answers: list[RightSide], weight: float) -> list[Summand]:
    """Give the terms with inner constants of the best answers."""
    found: dict[str, Summand] = {}
    for one in sorted(answers, key=lambda one: one.score(weight)):
        atoms = [term for term in one.terms if isinstance(term, TunedSummand)]
        for atom in atoms:
            found.setdefault(atom.text, atom)
        if len(found) >= _KEPT:
            break
    return list(found.values())[:_KEPT]


def _settled(pool: list[RightSide], weight: float, enough: float) -> bool:
    """Tell whether an answer is so cheap, and so near to the best fit, that others hardly win."""
    floor = min(one.scale for one in pool)
    best = min(one.score(weight) for one in pool)
    return bool(best <= np.log10(floor + 1e-300) + weight * enough)


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
    largest = min(_LARGEST.get(dim, 5), len(target) // 4)
    found = best_supports(unit, target, largest, _WIDTH)
    at = {term.text: k for k, term in enumerate(chosen)}
    for degree in range(1, _DEGREES.get(dim, 2) + 1):
        nest = [at[term.text] for term in monomials(dim, degree) if term.text in at]
        for support in backward(unit, target, nest, _NESTED):
            found.setdefault(len(support), []).append(support)
    for size in sorted(found, reverse=True):
        for support in found[size][:3]:
            for smaller in backward(unit, target, support, size - 1):
                found[len(smaller)].append(smaller)
    pool = [answer(design, state, [])]
    for supports in found.values():
        for support in dict.fromkeys(supports):
            several: list[Summand] = [chosen[k] for k in support]
            pool.append(answer(design, state, several))
    return pool
