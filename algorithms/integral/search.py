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
from dictionary import Summand, differences, groups, monomials, nests, terms
from simpler import SOLVED, simpler
from supports import backward, best_supports, compressed, residuals

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from atoms import AtomFamily
    from numpy.typing import NDArray
    from samples import Integrals

    Array = NDArray[np.float64]

__all__ = ["FEW_STATES", "Search", "Settings", "find"]

_WIDTH = 60
_FIRST, _ENOUGH, _LAST = 3.0, 4.0, 5.0
"""The search ends with an answer that is as good as the closest fit of all, were that to cost so
much, and 1 more for each state: while there is one constant inside, one fraction, and more."""
_LARGEST_SHARED = 6
"""The largest support in which terms of other states' equations are tried."""
_OTHERS, _LENT, _REFITTED = 3, 2, 4
"""Answers of another equation whose constants are tried, terms of its best one, and sums with these
constants in which they are fitted again."""
_ACCURATE = 1e-5
"""The search goes on while no answer is near this share of a deviation, however far off all are."""
_KEPT = 4
"""Terms with inner constants that are kept from the first pass."""
_LARGEST = {1: 5, 2: 6, 3: 6}
_WITH_CONSTANT, _DEPENDENT = 5, 1e-6
"""The largest support that is tried around the constant, and the part of a column that is left
beside it, at least."""
_NESTED = 10
"""The largest support that backward elimination gives."""
_DEGREES = {1: 5, 2: 4, 3: 3}
"""Degree of the sums of powers from which terms are left out one by one; 2 for more states."""

_BY_BEAM, _MANY = 4, 16_000
"""Sums of so many powers are all tried, while there are no more of them."""
FEW_STATES = 4
"""States up to which one library has all terms; those of more come in groups."""
_COUPLED, _LEFT_OUT = 16, 120
"""The largest support that is tried there, and the largest group from which terms are left out."""
_OVER = object()
_UNITED = 3
"""Answers from each group whose terms are searched once more, together."""
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
    nested
        Whether differences of states, and sets of terms of which few are needed, are tried, too.
    """

    weight: float
    terms: int
    noisy_terms: int
    inner: bool
    nested: bool = True


class Search:
    """The search for the equation of one state, in steps.

    Attributes
    ----------
    pool
        All right-hand sides found so far.
    lent
        Terms of other states' equations, which are tried with constants inside, too.
    """

    def __init__(self, design: Integrals, state: int, settings: Settings) -> None:
        self._design, self._state, self._settings = design, state, settings
        self.dim = design.samples.u.shape[1]
        if self.dim <= FEW_STATES:
            self.pool = _sums(design, state, settings)
        else:
            self.pool = _from_group(design, state, monomials(self.dim, 1))
        self._inner: list[RightSide] = []
        self._borrowed: set[frozenset[str]] = set()
        self.lent: list[Summand] = []

    def best(self) -> RightSide:
        """Return the best so far."""
        return min(self.pool, key=lambda one: one.score(self._settings.weight))

    def settled(self, enough: float = _ENOUGH) -> bool:
        """Return whether an answer is so cheap and fits so well that others hardly win."""
        weight = self._settings.weight
        floor = min(_ACCURATE, *(one.scale for one in self.pool))
        limit = np.log10(floor + 1e-300) + weight * (enough + self.dim)
        return bool(self.best().score(weight) <= limit)

    def by_groups(self, libraries: Iterator[list[Summand]]) -> Iterator[None]:
        """Try one group of terms at each step, and at last the best terms of all together."""
        weight = self._settings.weight
        united: dict[str, Summand] = {}
        for group in libraries:
            best = self.best()
            if best.cost <= _ENOUGH and best.scale < SOLVED:
                return
            answers = _from_group(self._design, self._state, group)
            self.pool += answers
            answers.sort(key=lambda one: one.score(weight))
            united |= {term.text: term for one in answers[:_UNITED] for term in one.terms}
            yield
        self.pool += _from_group(self._design, self._state, list(united.values()))

    def one_constant(self, late: Callable[[], bool]) -> None:
        """Try terms with one constant inside, and sigmoids, together with sums of powers."""
        self._with(self._families(), self._powers(), _FIRST, late)

    def two_constants(self, late: Callable[[], bool]) -> None:
        """Try fractions with two constants inside together with sums of powers."""
        self._with(list(fractions(self._design.samples.u)), self._powers(), _ENOUGH, late)

    def with_others(self, found: list[TunedSummand]) -> None:
        """Try terms with the constants that are in other states' equations.

        They are tried as they are, so that both equations have the same, and fitted again.
        """
        base = [*self._powers(), *found]
        key = frozenset(one.text for one in found)
        if not found or key in self._borrowed:
            return
        self._borrowed.add(key)
        lent: list[RightSide] = []
        columns = self._design.columns(base, self._state)
        if not np.isfinite(columns).all():
            return
        unit, target = compressed(columns, self._design.target(self._state))
        supports = best_supports(unit, target, _LARGEST_SHARED, _WIDTH)
        for size, each in _beside(unit, target, 0, _LARGEST_SHARED).items():
            supports.setdefault(size, [])[:0] = each[:_KEPT]
        for support in backward(unit, target, range(len(base)), _LARGEST_SHARED):
            supports.setdefault(len(support), []).insert(0, support)
        for each in supports.values():
            several = [one for one in each if max(one) >= len(base) - len(found)]
            chosen = list(dict.fromkeys(several))[: 2 * _KEPT]
            lent += [
                answer(self._design, self._state, [base[k] for k in support]) for support in chosen
            ]
        lent.sort(key=lambda one: one.score(self._settings.weight))
        self._add(lent)
        again = [one for one in lent[:_REFITTED] if any(map(_is_tuned, one.terms))]
        self._add([exact(self._design, self._state, one.terms) for one in again])

    def simplify(self) -> None:
        """Leave out what the best answers do not need: terms, constants, and states of a pair."""
        weight = self._settings.weight
        found, idle = simpler(self._design, self._state, self.pool, weight)
        kept = [one for one in [*self.pool, *found] if one.structure not in idle]
        self.pool = kept or self.pool
        self._inner = [one for one in self._inner if one.structure not in idle]

    def promising(self) -> list[RightSide]:
        """Return the best answers that have constants inside, and the best of all."""
        weight = self._settings.weight
        tuned = [one for one in self._inner if np.isfinite(one.scale)]
        tuned.sort(key=lambda one: one.score(weight))
        best = self.best()
        near = [one for one in tuned if one.score(weight) < best.score(weight) + 4 * weight]
        return [best, *near[:_OTHERS]]

    def several(self, late: Callable[[], bool]) -> None:
        """Try terms with one constant inside together with the promising ones found before."""
        terms = _promising(self._inner, self._settings.weight)
        if terms:
            base = [*monomials(self.dim, int(self.dim <= FEW_STATES)), *self.lent, *terms]
            self._with(self._families(), base, _LAST, late)

    def _families(self) -> list[AtomFamily]:
        return list(families(self._design.samples.u, max(_DEGREES.get(self.dim, 2), _HILL)))

    def _powers(self) -> list[Summand]:
        if self.dim <= FEW_STATES:
            return [*monomials(self.dim, 3 if self.dim == 1 else 2), *self.lent]
        several = [*monomials(self.dim, 0), *self.best().terms, *self.lent]
        return list({term.text: term for term in several if not _is_tuned(term)}.values())

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
    design: Integrals,
    settings: Settings,
    late: Callable[[], bool],
    *,
    inner: bool,
    report: Callable[[int, list[RightSide]], None] = lambda *_: None,
) -> list[list[RightSide]]:
    """Return the best right-hand sides of all sizes for each state.

    Parameters
    ----------
    inner
        Whether terms with constants inside are tried where sums of others do not settle it.
    report
        Is called with one of many states and its right-hand sides whenever there are more.
    """
    searches = [Search(design, state, settings) for state in range(len(design.samples.deviation))]
    if searches[0].dim > FEW_STATES:
        _in_turn(searches, design, late, report)
    if inner and settings.inner and not design.samples.noise:
        for one in searches:
            one.simplify()
        for one in searches:
            if late():
                break
            others = [other.best() for other in searches if other is not one]
            one.lent = _terms_of(others, monomials(one.dim, 2))
            one.one_constant(late)
            one.two_constants(late)
            one.simplify()
        _exchange(searches, late)
        for one in searches:
            one.several(late)
            one.simplify()
        _exchange(searches, late)
    return [one.pool for one in searches]


def _in_turn(
    searches: list[Search],
    design: Integrals,
    late: Callable[[], bool],
    report: Callable[[int, list[RightSide]], None],
) -> None:
    """Search for equations of many states, a group of terms for each of them at a time."""
    libraries = groups(design.samples.u, design.samples.plain)
    steps = {state: one.by_groups(libraries(state)) for state, one in enumerate(searches)}
    for state, one in enumerate(searches):
        report(state, one.pool)
    while steps and not late():
        for state in list(steps):
            if late() or next(steps[state], _OVER) is _OVER:
                del steps[state]
            report(state, searches[state].pool)


def _is_tuned(term: Summand) -> bool:
    return isinstance(term, TunedSummand)


def _exchange(searches: list[Search], late: Callable[[], bool]) -> None:
    """Try the constants found for each state in the others' equations."""
    for one in searches:
        if late():
            return
        for other in searches:
            if other is not one:
                for each in other.promising():
                    one.with_others(_families_of([each]))
        one.with_others(_families_of([other.best() for other in searches if other is not one]))
        one.simplify()


def _terms_of(answers: list[RightSide], known: list[Summand]) -> list[Summand]:
    """Return terms of good answers that have no constants inside, and are not known."""
    texts = {one.text for one in known}
    several = [
        term
        for one in answers
        if one.scale < 10 * _ACCURATE
        for term in one.terms
        if not isinstance(term, TunedSummand) and term.text not in texts
    ]
    return list({one.text: one for one in several}.values())[:_LENT]


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
    samples = design.samples
    u, dim = samples.u, samples.u.shape[1]
    most = settings.noisy_terms if samples.noise else settings.terms
    listed = terms(u, most, samples.plain)
    several = [monomials(dim, degree) for degree in range(1, _DEGREES.get(dim, 2) + 1)]
    every = len(several)
    wide = settings.nested and not samples.noise
    if wide:
        listed += differences(u, samples.plain)
        several += nests(u, samples.plain)
    combined = {term.text for term in listed}
    listed += [term for nest in several[every:] for term in nest]
    chosen, columns = [], []
    for term in {one.text: one for one in listed}.values():
        column = design.column(term, state)
        if np.isfinite(column).all() and np.abs(column).max() > 0:
            chosen.append(term)
            columns.append(column)
    unit, target = compressed(np.stack(columns, axis=1), design.target(state))
    at = {term.text: k for k, term in enumerate(chosen)}
    places = [[at[term.text] for term in nest if term.text in at] for nest in several]
    largest = min(_LARGEST.get(dim, 5), len(target) // 4)
    many = sum(term.text in combined for term in chosen)
    constant = at.get("1") if wide else None
    found = _found(
        unit, target, (places[:every], places[every:]), largest, many=many, constant=constant
    )
    pool = [answer(design, state, [])]
    for supports in found.values():
        once = dict.fromkeys(supports)
        pool += [answer(design, state, [chosen[k] for k in support]) for support in once]
    return pool


def _from_group(design: Integrals, state: int, group: list[Summand]) -> list[RightSide]:
    """Return the best sums of a group's terms of each size, and no term at all."""
    usable = {}
    for term in group:
        column = design.column(term, state)
        if np.isfinite(column).all() and np.abs(column).max() > 0:
            usable[term.text] = term
    chosen = list(usable.values())
    pool = [answer(design, state, [])]
    if not chosen:
        return pool
    unit, target = design.columns(chosen, state), design.target(state)
    unit = unit / np.linalg.norm(unit, axis=0)
    if len(unit) > 2 * len(chosen):
        unit, target = compressed(unit, target)
    largest = min(_LARGEST_SHARED, len(unit) // 4)
    supports = best_supports(unit, target, largest, _WIDTH)
    every = range(len(chosen)) if len(chosen) <= _LEFT_OUT else []
    for support in backward(unit, target, every, _COUPLED):
        supports.setdefault(len(support), []).append(support)
    for several in supports.values():
        pool += [answer(design, state, [chosen[k] for k in one]) for one in dict.fromkeys(several)]
    return pool


def _found(
    unit: Array,
    target: Array,
    nests: tuple[list[list[int]], list[list[int]]],
    largest: int,
    *,
    many: int,
    constant: int | None,
) -> dict[int, list[tuple[int, ...]]]:
    """Return good supports of each size.

    Parameters
    ----------
    nests
        The columns of all powers up to each degree, and others that are left out one by one.
    largest
        The size up to which the first columns are combined.
    many
        Their number.
    constant
        The column of the constant, with which all triples are tried, too: it is often large and
        cancelled by another term, so that neither is found without the other.  None: not to do so.
    """
    found = best_supports(unit[:, :many], target, largest, _WIDTH)
    if constant is not None:
        for size, supports in _beside(unit[:, :many], target, constant, largest).items():
            known = found.setdefault(size, [])
            known += supports
    powers, others = nests
    for nest in (*powers, *others):
        for support in backward(unit, target, nest, _NESTED):
            found.setdefault(len(support), []).append(support)
    for support in _all_of(unit, target, powers[-1]):
        found.setdefault(len(support), []).insert(0, support)
    for size in sorted(found, reverse=True):
        for support in found[size][:3]:
            for smaller in backward(unit, target, support, size - 1):
                found[len(smaller)].append(smaller)
    return found


def _beside(
    unit: Array, target: Array, always: int, largest: int
) -> dict[int, list[tuple[int, ...]]]:
    """Return good supports of each size that have one column."""
    axis = unit[:, always]
    free = unit - np.outer(axis, axis @ unit)
    size = np.linalg.norm(free, axis=0)
    kept = np.flatnonzero(size > _DEPENDENT)
    rest = target - axis * (axis @ target)
    few = best_supports(free[:, kept] / size[kept], rest, min(_WITH_CONSTANT, largest) - 1, _WIDTH)
    return {
        count + 1: [tuple(sorted((always, *(int(kept[k]) for k in one)))) for one in supports]
        for count, supports in few.items()
    }


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
