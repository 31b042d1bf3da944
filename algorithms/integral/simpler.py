"""Simpler answers from good ones: without what the data do not show."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from answers import RightSide, structure
from atoms import TunedSummand
from constants import exact
from dictionary import Summand, monomials, pair

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from samples import Integrals

__all__ = ["SOLVED", "is_more", "simpler"]

_STATE = re.compile(r"\bu(\d+)\b")
_TRIED = 5
"""The best answers that are made simpler, in each round."""
_ROUNDS = 4
_VANISHES, SOLVED, _NO_WORSE = 3e-3, 5e-6, 5.0
"""What has a smaller share of a state's changes than the first, or is not needed to fit better than
the second, the error of solvers, is left out where the rest fits at most so many times worse."""
_FITTED = 1.3
"""A simpler answer that is known, and fits so many times worse, is fitted once more."""
_ALIKE = 0.02
"""Coefficients of two states that differ by less than this share may be one of their difference."""


def simpler(
    design: Integrals, state: int, pool: Sequence[RightSide], weight: float
) -> tuple[list[RightSide], set[str]]:
    """Leave out terms and constants of the best answers, and fit the rest again.

    Returns the answers, and the structures of those that have something without an effect: a
    solver's errors are not random, and a small term may follow them.

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
    for one in sorted(pool, key=lambda one: one.score(weight)):
        best.setdefault(one.structure, one)
    found: list[RightSide] = []
    idle: set[str] = set()
    done: set[str] = set()
    for _ in range(_ROUNDS):
        ranked = sorted(best.values(), key=lambda one: one.score(weight))[:_TRIED]
        begun = [one for one in ranked if one.structure not in done]
        if not begun:
            break
        for one in begun:
            done.add(one.structure)
            for terms, effect in _with_effects(design, state, one):
                key = structure(terms)
                known = best.get(key)
                if known is None or known.scale > _FITTED * one.scale:
                    again = exact(design, state, terms)  # perhaps nearer from these constants
                    if known is None or again.scale < known.scale:
                        best[key] = again
                        found.append(again)
                shorter = best[key].scale
                enough = effect < _VANISHES or shorter < SOLVED
                if enough and shorter < _NO_WORSE * one.scale:
                    idle.add(one.structure)
        for key in idle:
            best.pop(key, None)
            done.add(key)
    return found, idle


def _with_effects(
    design: Integrals, state: int, one: RightSide
) -> Iterator[tuple[list[Summand], float]]:
    """Yield simpler sums, and what part of a state's changes the left-out part has."""
    columns = design.columns(one.terms, state)
    size = np.linalg.norm(columns, axis=0) * np.abs(one.coefficients)
    share = size / (np.linalg.norm(design.target(state)) + 1e-300)
    number = len(one.terms)
    for k, terms in enumerate(_without(one, design.samples.u.shape[1])):
        if k < number:
            yield terms, float(share[k])
            continue
        fresh = [term for term in terms if all(term is not each for each in one.terms)]
        gone = [n for n, term in enumerate(one.terms) if all(term is not t for t in terms)]
        if len(fresh) != len(gone):
            yield terms, np.inf
            continue
        effects = []
        for n, term in zip(gone, fresh, strict=True):
            old, new = columns[:, n], design.column(term, state)
            with np.errstate(all="ignore"):
                apart = old - new * (old @ new) / (new @ new)
                effects.append(share[n] * np.linalg.norm(apart) / np.linalg.norm(old))
        yield terms, float(max(effects, default=np.inf))


def is_more(one: RightSide, than: RightSide) -> bool:
    """Return whether an answer is another one with terms or constants added."""
    added = {term.text for term in one.terms} >= {term.text for term in than.terms}
    dim = 1 + max((int(k) for k in _STATE.findall(one.text)), default=0)
    return added or any(structure(terms) == than.structure for terms in _without(one, dim))


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
