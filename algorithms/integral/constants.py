"""The search for terms with constants inside: on a grid, then exactly."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

import numpy as np
from answers import RightSide, answer
from atoms import AtomFamily, TunedSummand
from supports import backward, compressed, residuals

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dictionary import Summand
    from numpy.typing import NDArray
    from samples import Integrals

    Array = NDArray[np.float64]
    Support = tuple[int, ...]

__all__ = ["exact", "with_family"]

_LARGEST = 6
_TRIED, _BRIEFLY = 8, 3
"""Supports of each size whose constants are moved a few times."""
_PROMISING = 3
"""Number of these supports whose constants are made exact."""
_FAR = 1e4
"""Supports whose sum of squares is so many times the least are not made exact."""
_STEP = 0.7
"""Largest step of a constant, in its logarithm or as a share of its size."""
_ROUNDS = 15
_AT_REST = 1e-4
"""Constants have converged where a step reduces the sum of squares by less than this share."""
_DIFFERENCE = 1e-6


def with_family(
    design: Integrals, state: int, family: AtomFamily, base: list[Summand], least_scale: float
) -> list[RightSide]:
    """Find the best answers of each size that have a term of the family.

    Parameters
    ----------
    base
        Terms that may be in the same sum.
    least_scale
        Least scale of all answers known so far.
    """
    found = _on_grid(design, state, family, base)
    entries = len(design.target(state))
    least = max(least_scale**2 * entries, min((left for left, _ in found.values()), default=0.0))
    answers: list[RightSide] = []
    for size in range(1, _LARGEST + 1):
        ranked = sorted((left, one, k) for one, (left, k) in found.items() if len(one) == size)
        begun = []
        for _, support, place in _apart(ranked)[:_TRIED]:
            terms = [*base, *family.atoms(family.grid[place])]
            begun.append(_Moving(design, state, [terms[k] for k in support]))
            begun[-1].descend(_BRIEFLY)
        begun.sort(key=lambda one: one.square)
        for one in begun[:_PROMISING]:
            if one.square > _FAR * least:
                break
            one.descend(_ROUNDS)
            answers.append(answer(design, state, one.terms()))
    return [*answers, *_shorter(design, state, answers)]


def _on_grid(
    design: Integrals, state: int, family: AtomFamily, base: list[Summand]
) -> dict[Support, tuple[float, int]]:
    """Return the least sum of squares of each support, and where in the grid its constants are."""
    target = design.target(state)
    others = design.columns(base, state)
    group = _Group.of(design, state, family, range(len(family.tops)))
    found: dict[Support, tuple[float, int]] = {}
    for place, constants in enumerate(family.grid):
        columns = np.column_stack([others, group.columns(constants)])
        size = np.linalg.norm(columns, axis=0)
        if not (np.isfinite(size) & (size > 0)).all():
            continue
        unit, along = compressed(columns, target)
        tried = list(_supports(len(base), len(family.tops)))
        if place % family.stride == 0:
            nested = backward(unit, along, range(unit.shape[1]), _LARGEST)
            tried += [np.array([one]) for one in nested if max(one) >= len(base)]
        for several in tried:
            left = residuals(unit, along, several)
            for k in np.argsort(left, kind="stable")[: 2 * _TRIED]:
                support = tuple(int(x) for x in several[k])
                if support not in found or left[k] < found[support][0]:
                    found[support] = (float(left[k]), place)
    return found


def _apart(
    ranked: list[tuple[float, Support, int]],
) -> list[tuple[float, Support, int]]:
    """Leave out supports with the same residual as another: the same sum, written otherwise."""
    kept = ranked[:1]
    for one in ranked[1:]:
        if one[0] > kept[-1][0] * (1 + 1e-9) or one[2] != kept[-1][2]:
            kept.append(one)
    return kept


@dataclass(frozen=True)
class _Group:
    """Some terms of one family, which share its constants.

    Attributes
    ----------
    tops
        The factors in front of the inner functions, at the nodes (k, n - 1, nodes).
    which
        The inner function of each.
    """

    design: Integrals
    family: AtomFamily
    tops: Array
    which: list[int]
    deviation: float

    @classmethod
    def of(cls, design: Integrals, state: int, family: AtomFamily, places: Sequence[int]) -> _Group:
        tops = np.stack([design.at_nodes(family.tops[k]) for k in places])
        which = [family.which[k] for k in places]
        return cls(design, family, tops, which, float(design.samples.deviation[state]))

    def columns(self, constants: Array) -> Array:
        """Return the integrals of the terms, (r, k)."""
        inner = self.family.inner(constants, self.design.between)
        return self.design.integrals(self.tops * inner[self.which]).T / self.deviation


class _Projected:
    """Least squares in the coefficients for any constants of some groups of terms.

    The part that fixed terms explain is removed once; coefficients follow the constants.  The
    derivatives are those of Kaufman, BIT 15, 49 (1975).
    """

    def __init__(self, steady: Array, target: Array, groups: list[_Group], start: Array) -> None:
        self._basis = np.linalg.qr(steady / np.linalg.norm(steady, axis=0))[0]
        self._target = self._rest(target)
        self._groups = groups
        self._counts = [one.family.grid.shape[1] for one in groups]
        signed = np.repeat([one.family.signed for one in groups], self._counts)
        self._signed, self._signs = signed, np.where(start < 0, -1.0, 1.0)
        self._sizes = np.maximum(np.abs(start), 1e-3)

    def _rest(self, columns: Array) -> Array:
        for _ in range(2):  # once more for what rounding has left
            columns = columns - self._basis @ (self._basis.T @ columns)
        return columns

    def place(self, constants: Array) -> Array:
        """Return the position of constants, in logarithms or in units of their first size."""
        return np.where(self._signed, np.log(np.abs(constants) + 1e-300), constants / self._sizes)

    def constants(self, place: Array) -> Array:
        """Return the constants at a position."""
        return np.where(
            self._signed, self._signs * np.exp(np.minimum(place, 200)), place * self._sizes
        )

    def _parts(self, place: Array) -> list[Array]:
        return np.split(self.constants(place), np.cumsum(self._counts)[:-1])

    def left(self, place: Array) -> tuple[float, Array, Array, Array]:
        """Return the residual sum of squares, the residuals, the coefficients and a basis."""
        parts = zip(self._groups, self._parts(place), strict=True)
        columns = self._rest(np.concatenate([g.columns(c) for g, c in parts], axis=1))
        size = np.linalg.norm(columns, axis=0)
        if not (np.isfinite(size) & (size > 0)).all():
            return np.inf, self._target, size, columns
        left, values, right = np.linalg.svd(columns / size, full_matrices=False)
        along = left.T @ self._target
        coefficients = right.T @ (along / np.maximum(values, 1e-12 * values[0])) / size
        rest = self._target - left @ along
        return float(rest @ rest), rest, coefficients, left

    def slopes(self, place: Array, coefficients: Array, basis: Array) -> Array:
        """Return the derivatives of the residuals by the position, (r, c)."""
        found = []
        parts, first, done = self._parts(place), 0, 0
        for group, constants, count in zip(self._groups, parts, self._counts, strict=True):
            many = len(group.which)
            before = group.columns(constants)
            for k in range(count):
                moved = place.copy()
                moved[done + k] += _DIFFERENCE
                after = self.constants(moved)[done : done + count]
                change = (group.columns(after) - before) @ coefficients[first : first + many]
                found.append(change / _DIFFERENCE)
            first, done = first + many, done + count
        rest = self._rest(np.stack(found, axis=1))
        return np.asarray(basis @ (basis.T @ rest) - rest)


class _Moving:
    """Terms whose constants are optimised by Levenberg-Marquardt steps."""

    def __init__(self, design: Integrals, state: int, terms: Sequence[Summand]) -> None:
        self._given = terms
        self._tuned: dict[int, list[TunedSummand]] = {}
        for term in terms:
            if isinstance(term, TunedSummand):
                self._tuned.setdefault(id(term.constants), []).append(term)
        groups = [
            _Group.of(design, state, each[0].family, [one.place for one in each])
            for each in self._tuned.values()
        ]
        steady = [term for term in terms if not isinstance(term, TunedSummand)]
        start = np.concatenate([each[0].constants for each in self._tuned.values()])
        columns, target = design.columns(steady, state), design.target(state)
        self._problem = _Projected(columns, target, groups, start)
        self._place = self._problem.place(start)
        self._now = self._problem.left(self._place)
        self._damping, self._at_rest = 1e-3, False

    @property
    def square(self) -> float:
        """Residual sum of squares."""
        return self._now[0]

    def descend(self, rounds: int) -> None:
        """Take some steps, at most until the constants no longer change."""
        for _ in range(rounds):
            self._at_rest = self._at_rest or not self._step()
            if self._at_rest:
                break

    def _step(self) -> bool:
        square, rest, coefficients, basis = self._now
        if not np.isfinite(square):
            return False
        slopes = self._problem.slopes(self._place, coefficients, basis)
        if not np.isfinite(slopes).all():
            return False
        normal, down = slopes.T @ slopes, -slopes.T @ rest
        for _ in range(6):
            damped = normal + self._damping * np.diag(np.diag(normal) + 1e-300)
            step = np.clip(np.linalg.lstsq(damped, down)[0], -_STEP, _STEP)
            further = self._problem.left(self._place + step)
            if further[0] < square:
                self._place, self._now = self._place + step, further
                self._damping /= 6.0
                return further[0] < (1.0 - _AT_REST) * square
            self._damping *= 6.0
        return False

    def terms(self) -> list[Summand]:
        """Return the terms with the constants where they are."""
        constants, done = self._problem.constants(self._place), 0
        moved: dict[int, list[TunedSummand]] = {}
        for key, each in self._tuned.items():
            count = len(each[0].constants)
            moved[key] = each[0].family.atoms(constants[done : done + count].copy())
            done += count
        return [
            moved[id(term.constants)][term.place] if isinstance(term, TunedSummand) else term
            for term in self._given
        ]


def exact(design: Integrals, state: int, terms: Sequence[Summand]) -> RightSide:
    """Fit the inner constants, too, from where they are."""
    if not any(isinstance(term, TunedSummand) for term in terms):
        return answer(design, state, terms)
    moving = _Moving(design, state, terms)
    moving.descend(_ROUNDS)
    return answer(design, state, moving.terms())


def _shorter(design: Integrals, state: int, answers: list[RightSide]) -> list[RightSide]:
    """Leave out the term that is missed least, fit the constants again, and so on."""
    found: list[RightSide] = []
    for size in range(2, _LARGEST + 1):
        several = [one for one in answers if len(one.terms) == size]
        if not several:
            continue
        last = min(several, key=lambda one: one.scale)
        limit = 100.0 * last.scale
        while len(last.terms) > 1 and last.scale < limit:
            unit, along = compressed(design.columns(last.terms, state), design.target(state))
            support = backward(unit, along, range(len(last.terms)), len(last.terms) - 1)[0]
            terms = [last.terms[k] for k in support]
            if not any(isinstance(term, TunedSummand) for term in terms):
                break
            last = exact(design, state, terms)
            found.append(last)
    return found


@cache
def _supports(base: int, atoms: int) -> list[Array]:
    """List supports with one atom and up to two others, and with two and up to one, by size."""
    by_size: dict[int, list[Support]] = {}
    for several, others in ((1, 2), (2, 1)):
        for own in itertools.combinations(range(base, base + atoms), several):
            for count in range(min(others, base) + 1):
                for shared in itertools.combinations(range(base), count):
                    by_size.setdefault(count + several, []).append((*shared, *own))
    return [np.array(group) for group in by_size.values()]
