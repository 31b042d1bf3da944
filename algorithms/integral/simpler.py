"""Simpler answers from good ones: without what the data do not show."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from answers import RightSide, structure
from atoms import TunedSummand
from constants import exact
from dictionary import Summand, monomials, pair

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from samples import Integrals

__all__ = ["simpler"]

_TRIED = 5
"""The best answers that are made simpler, in each round."""
_ROUNDS = 4
_ALIKE = 0.02
"""Coefficients of two states that differ by less than this share may be one of their difference."""


def simpler(
    design: Integrals, state: int, pool: Sequence[RightSide], weight: float
) -> list[RightSide]:
    """Leave out terms and constants of the best answers, and fit the rest again.

    A term is left out; a constant inside vanishes, or outweighs what is added to it; and the
    terms of two states with opposite coefficients are one of their difference.

    Parameters
    ----------
    pool
        All answers so far.
    weight
        As in `answers.RightSide.score`.
    """
    best: dict[str, RightSide] = {}
    for one in pool:
        best.setdefault(one.structure, one)
    found: list[RightSide] = []
    done: set[str] = set()
    for _ in range(_ROUNDS):
        ranked = sorted(best.values(), key=lambda one: one.score(weight))[:_TRIED]
        begun = [one for one in ranked if one.structure not in done]
        if not begun:
            break
        for one in begun:
            done.add(one.structure)
            for terms in _without(one, design.samples.u.shape[1]):
                key = structure(terms)
                if key in best:
                    continue
                best[key] = exact(design, state, terms)
                found.append(best[key])
    return found


def _without(one: RightSide, dim: int) -> Iterator[list[Summand]]:
    terms = list(one.terms)
    for k in range(len(terms)):
        yield terms[:k] + terms[k + 1 :]
    groups: dict[int, list[TunedSummand]] = {}
    for term in terms:
        if isinstance(term, TunedSummand):
            groups.setdefault(id(term.constants), []).append(term)
    for each in groups.values():
        family = each[0].family
        for limit, constants in family.limits(each[0].constants):
            moved = [term for term in terms if term not in each]
            if limit is None:
                moved += [family.tops[term.place] for term in each]
            else:
                into = replace(limit, tops=family.tops, which=(0,) * len(family.tops))
                atoms = [into.atoms(constants)[term.place] for term in each]
                moved += atoms if len(constants) else map(_steady, atoms)
            yield list({term.text: term for term in moved}.values())
    yield from _paired(one, dim)


def _steady(term: TunedSummand) -> Summand:
    """Return a term in which no constant is left to fit."""
    return Summand(term.text, term.cost, term.make, shared=term.shared)


def _paired(one: RightSide, dim: int) -> Iterator[list[Summand]]:
    """Put the difference of two states for both, where their coefficients are opposite."""
    places = {term.text: k for k, term in enumerate(one.terms)}
    linear = [k for state in monomials(dim, 1)[1:] if (k := places.get(state.text)) is not None]
    for n, first in enumerate(linear):
        for second in linear[n + 1 :]:
            a, b = one.coefficients[first], one.coefficients[second]
            if abs(a + b) < _ALIKE * abs(a):
                i, j = (int(one.terms[k].text[1:]) for k in (first, second))
                rest = [t for k, t in enumerate(one.terms) if k not in {first, second}]
                yield [*rest, pair(i, j)]
