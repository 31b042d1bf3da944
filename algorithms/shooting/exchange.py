"""One equation as a whole: all its terms are chosen again, with constants inside too.

Near a fit the likelihood is quadratic in what an equation's right-hand side may be, the starts of
segments, all coefficients of the other equations and constants inside these being free.  So sums
with terms of a family are compared for all constants of a grid at once, without a solution of each.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np
from likelihood import structure_price
from supports import best_supports, compressed, least_squares

if TYPE_CHECKING:
    from collections.abc import Sequence

    from library import Term
    from likelihood import Fit, Shooting
    from numpy.typing import NDArray

    Array = NDArray[np.float64]
    Flags = NDArray[np.bool_]

__all__ = ["OneEquation", "Sum"]

_LARGEST = 6
"""The largest number of terms of an equation."""
_SECOND = 4
"""Terms that are tried beside each term of a family, in the second place."""
_NEW = 1e-6
"""Part of a column's square that terms in the sum have to leave."""
_ALIKE = 1e-7
"""Columns of which what is free anyway leaves a smaller part are left out."""
_CHUNK = 4000
"""Sums that are compared at once."""
_KEPT = 2
"""Sums of a size that are returned."""
_DEPENDENT, _BY_CHANCE = 1e-5, 3.0
"""The least singular value of columns, as a share of the largest, and the deviations of chi-squared
that are chance."""
_WIDTH = 12
"""Width of the beam in which sums without constants inside are looked for."""
_BRIEFLY, _ROUNDS, _PROMISING = 2, 6, 60.0
"""Steps by which constants inside are moved: at first, and where the score is then so near the
fit's."""
_DAMPED, _DIFFERENCE, _FARTHEST, _GAINED = 4, 1e-5, 0.7, 0.1
"""How often a step is made shorter; the step of differences; the largest; and by how much one has
to lower the sum of squares."""


@dataclass(frozen=True)
class Sum:
    """A right-hand side that the quadratic likelihood predicts to be good.

    Attributes
    ----------
    score
        Of the whole model.
    """

    score: float
    state: int
    terms: tuple[Term, ...]
    coefficients: Array = field(repr=False)


class OneEquation:
    """The quadratic likelihood near a fit, as a function of one equation's right-hand side.

    Parameters
    ----------
    shooting
        The likelihood.
    fit
        The fit.
    state
        The equation's number.
    base
        Terms that may be in any sum.
    """

    def __init__(self, shooting: Shooting, fit: Fit, state: int, base: Sequence[Term]) -> None:
        model = fit.model
        self._shooting, self.state, self._score = shooting, state, fit.score
        rates = shooting.rates(model)
        states = shooting.segments.solve(rates, model.starts)
        self._solution = shooting.segments.linearise(rates, states)
        whole, inner = shooting.jacobian(model, self._solution)
        there = [i == state for i, _ in model.support]
        elsewhere = {t.slot for i, t in model.support if i != state and t.slot >= 0}
        own = np.zeros(whole.shape[1], dtype=bool)
        own[: len(there)] = there
        dropped = own.copy()
        dropped[len(there) : len(there) + len(inner)] = [s not in elsewhere for s, _ in inner]
        finite = bool(np.isfinite(whole).all())
        self._basis = np.linalg.qr(np.where(np.isfinite(whole), whole, 0.0)[:, ~dropped])[0]
        c = model.coefficients[there]
        misses = shooting.misses(states)
        self._target = self._free(whole[:, own] @ c - misses)
        self._square, self._count = float(misses @ misses), sum(there)
        self.usable = finite and bool(np.isfinite(self._target).all())
        self._inner = {slot: np.array(model.inner[slot]) for slot in elsewhere}
        self._others = {t.name for i, t in model.support if i != state}
        each = shooting.price
        self._fixed = each * (len(there) - sum(there) + sum(map(len, self._inner.values())))
        self._fixed += structure_price(t for i, t in model.support if i != state)
        shape = self._solution.middle.shape
        places = np.empty((shape[0], shape[1], 2 * shape[2] + 1))
        places[..., ::2], places[..., 1::2] = self._solution.states, self._solution.middle
        self._places = np.moveaxis(places, 0, -1)
        kept, columns = [], []
        if self.usable:
            for term in base:
                constants = self._inner.get(term.slot, term.start)
                values = term.summand(constants).values(self._places)
                if np.isfinite(values).all():
                    kept.append(term)
                    columns.append(np.broadcast_to(values, self._places.shape[:-1]))
        self._base = kept
        self._base_columns, self._base_size = self._unit(columns)

    def _price(self, term: Term) -> float:
        """Return what a term costs; constants inside, too, unless other equations have them."""
        each = self._shooting.price
        price = each + (0.0 if term.name in self._others else term.price)
        if term.slot >= 0 and term.slot not in self._inner and term.start is not None:
            price += each * len(term.start) + term.shared
        return price

    def _free(self, columns: Array) -> Array:
        return np.asarray(columns - self._basis @ (self._basis.T @ columns))

    def _unit(self, values: Sequence[Array]) -> tuple[Array, Array]:
        """Return columns of what is left of the responses to terms, of length 1 or 0, and sizes."""
        if not len(values):
            return np.empty((len(self._target), 0)), np.empty(0)
        with np.errstate(all="ignore"):  # what overflows is left out
            columns = self._shooting.columns_of(self._solution, values, self.state)
            free = self._free(columns)
            square = np.sum(free**2, axis=0)
            usable = np.isfinite(square) & (square > _ALIKE * np.sum(columns**2, axis=0))
            size = np.where(usable, np.sqrt(square) + 1e-300, 1.0)
            return np.where(usable, free, 0.0) / size, size

    def best(self, group: Sequence[Term], stride: int = 1, given: Array | None = None) -> list[Sum]:
        """Return the best sums that have a term of a group, the best first.

        Terms of a group share constants inside, which are tried on the family's grid.

        Parameters
        ----------
        stride
            Step through the grid.
        given
            Constants that other equations are to have, too, (c,): these are kept, and cost nothing.
        """
        family = group[0].family
        if not self.usable or family is None:
            return []
        slot, b = group[0].slot, len(self._base)
        known = self._inner.get(slot) if given is None else given
        grid, values = self._on_grid(group, family.grid[::stride] if known is None else known[None])
        if not len(grid):
            return []
        columns = self._unit(values)[0]
        inside = self._shooting.price * grid.shape[1] + group[0].shared if known is None else 0.0
        prices = np.array([self._price(term) for term in [*self._base, *group]])
        apart = np.array([t.slot < 0 or t.slot != slot for t in self._base], dtype=bool)
        tables = self._tables(columns.T.reshape(len(grid), len(group), -1), apart)
        answers: list[Sum] = []
        for support, place in _by_size(tables, prices, b):
            constants = np.array(grid[place])
            price = float(prices[list(support)].sum()) + self._fixed + inside
            if known is None:
                constants, square = self._nearer(group, support, constants, _BRIEFLY)
                if square + price < self._score + _PROMISING:
                    constants, _ = self._nearer(group, support, constants, _ROUNDS)
            left, c = self._fitted(group, support, constants)
            terms = tuple(
                self._base[k] if k < b else replace(group[k - b], start=constants) for k in support
            )
            value = float(left @ left) + price
            if math.isfinite(value):
                answers.append(Sum(value, self.state, terms, c))
        return sorted(answers, key=lambda one: one.score)

    def _on_grid(self, group: Sequence[Term], grid: Array) -> tuple[Array, list[Array]]:
        """Return the constants for which all terms of a group are defined, and their values."""
        family = group[0].family
        assert family is not None  # noqa: S101 - a group is of a family
        shape = self._places.shape[:-1]
        which = [family.which[t.place] for t in group]
        kept, values = [], []
        with np.errstate(all="ignore"):
            tops = [np.broadcast_to(family.tops[t.place].make(self._places), shape) for t in group]
            for constants in grid:
                each = np.stack(tops) * family.inner(constants, self._places)[which]
                if np.isfinite(each).all():
                    kept.append(constants)
                    values += list(each)
        return np.array(kept), values

    def settled(self, library: Sequence[Term]) -> bool:
        """Return whether all terms of a library together add no more than chance would."""
        columns = self._columns(library)[1]
        left, values, _ = np.linalg.svd(columns, full_matrices=False)
        left = left[:, values > _DEPENDENT * values[0]]
        gained = self._square - float(np.sum((self._target - left @ (left.T @ self._target)) ** 2))
        free = left.shape[1] - self._count
        return self.usable and gained < free + _BY_CHANCE * math.sqrt(2 * max(free, 1))

    def _columns(self, library: Sequence[Term]) -> tuple[list[Term], Array, Array]:
        """Return the terms that are defined, their columns of length 1 or 0, and sizes."""
        values, terms = [], []
        for term in library:
            one = term.summand(None).values(self._places)
            if np.isfinite(one).all():
                values.append(np.broadcast_to(one, self._places.shape[:-1]))
                terms.append(term)
        return terms, *self._unit(values)

    def sums(self, library: Sequence[Term]) -> list[Sum]:
        """Return the best sums of terms without constants inside of each size, the best first."""
        if not self.usable:
            return []
        terms, columns, sizes = self._columns(library)
        kept = np.flatnonzero(np.sum(columns**2, axis=0) > 0.5)  # noqa: PLR2004 - length 1, or 0
        unit, along = compressed(columns[:, kept], self._target)
        answers = []
        for supports in best_supports(unit, along, _LARGEST, _WIDTH).values():
            tried: list[Sum] = []
            for support in supports:
                chosen = kept[list(support)]
                several = tuple(terms[k] for k in chosen)
                c, square = least_squares(columns[:, chosen], self._target)
                value = square + sum(map(self._price, several)) + self._fixed
                tried.append(Sum(value, self.state, several, c / sizes[chosen]))
            answers += sorted(tried, key=lambda one: one.score)[:_KEPT]
        return sorted(answers, key=lambda one: one.score)

    def _fitted(
        self, group: Sequence[Term], support: tuple[int, ...], constants: Array
    ) -> tuple[Array, Array]:
        """Return what a sum leaves, (r,), and its coefficients."""
        family, b = group[0].family, len(self._base)
        assert family is not None  # noqa: S101 - a group is of a family
        atoms = [group[k - b].place for k in support if k >= b]
        with np.errstate(all="ignore"):
            inner = family.inner(constants, self._places)
            shape = self._places.shape[:-1]
            values = [
                np.broadcast_to(family.tops[n].make(self._places) * inner[family.which[n]], shape)
                for n in atoms
            ]
        if not all(np.isfinite(one).all() for one in values):
            return np.full(len(self._target), np.inf), np.zeros(len(support))
        columns, sizes = self._unit(values)
        few = [k for k in support if k < b]
        unit = np.concatenate([self._base_columns[:, few], columns], axis=1)
        c = np.linalg.lstsq(unit, self._target, rcond=1e-10)[0]
        return self._target - unit @ c, c / np.concatenate([self._base_size[few], sizes])

    def _nearer(
        self, group: Sequence[Term], support: tuple[int, ...], constants: Array, rounds: int
    ) -> tuple[Array, float]:
        """Move constants inside to where the sum of squares is least, by a few damped steps.

        Returns them, and that sum.
        """
        signed = group[0].family is None or group[0].family.signed
        size = np.abs(constants) + 1e-8

        def moved(by: Array) -> Array:
            by = np.clip(by, -_FARTHEST, _FARTHEST)
            return np.asarray(constants * np.exp(by) if signed else constants + by * size)

        left = self._fitted(group, support, constants)[0]
        damping = 1e-3
        for _ in range(rounds):
            steps: Array = _DIFFERENCE * np.eye(len(constants), dtype=np.float64)
            ends = [self._fitted(group, support, moved(step))[0] for step in steps]
            slopes = np.stack([(end - left) / _DIFFERENCE for end in ends], axis=1)
            if not np.isfinite(slopes).all():
                break
            normal, down = slopes.T @ slopes, -slopes.T @ left
            before = float(left @ left)
            for _ in range(_DAMPED):
                damped = normal + damping * np.diag(np.diag(normal) + 1e-300)
                step = np.asarray(np.linalg.lstsq(damped, down)[0], dtype=np.float64)
                further = self._fitted(group, support, moved(step))[0]
                if float(further @ further) < before:
                    constants, left = moved(step), further
                    damping /= 6
                    break
                damping *= 6
            if before - float(left @ left) < _GAINED:
                break
        return constants, float(left @ left)

    def _tables(self, atoms: Array, apart: Flags) -> Array:
        """Return Gram matrices of the base, a family's terms (g, a, r), and the target.

        Terms of the base that are not `apart`, being of the family, are left out.
        """
        g, a, _ = atoms.shape
        b = len(self._base)
        p = b + a
        tables = np.empty((g, p + 1, p + 1))
        steady = self._base_columns * apart
        tables[:, :b, :b] = steady.T @ steady
        tables[:, b:p, :b] = atoms @ steady
        tables[:, :b, b:p] = np.moveaxis(tables[:, b:p, :b], 1, 2)
        tables[:, b:p, b:p] = atoms @ np.moveaxis(atoms, 1, 2)
        tables[:, :b, p] = tables[:, p, :b] = steady.T @ self._target
        tables[:, b:p, p] = tables[:, p, b:p] = atoms @ self._target
        tables[:, p, p] = self._target @ self._target
        return tables


def _by_size(tables: Array, prices: Array, base: int) -> list[tuple[tuple[int, ...], int]]:
    """Return the best support of each size, and which table is its."""
    per = max(_CHUNK // max((len(prices) - base) * _SECOND, 1), 1)
    found: dict[int, tuple[float, tuple[int, ...], int]] = {}
    for first in range(0, len(tables), per):
        for value, support, place in _stepwise(tables[first : first + per], prices, base):
            size = len(support)
            if size not in found or value < found[size][0]:
                found[size] = value, support, first + place
    return [(support, place) for _, support, place in found.values()]


def _stepwise(tables: Array, prices: Array, base: int) -> list[tuple[float, tuple[int, ...], int]]:
    """Return good supports with one column at least beyond the base, and which table is theirs.

    Columns are added to each of them, then left out again, each time the one that makes the sum
    of squares and prices least.

    Parameters
    ----------
    tables
        Gram matrices, the target last, (g, p + 1, p + 1).
    prices
        (p,).
    base
        Number of the columns that the base has.
    """
    g, p = len(tables), tables.shape[1] - 1
    a = p - base
    number = np.repeat(np.arange(g), a)
    chosen = np.tile(np.arange(base, p), g)
    usable = tables[number, chosen, chosen] > 0.5  # noqa: PLR2004 - of length 1, or 0
    number, chosen = number[usable], chosen[usable]
    if not len(number):
        return []
    now = _swept(tables[number], chosen)
    there = np.zeros((len(number), p), dtype=bool)
    there[np.arange(len(number)), chosen] = True
    found: dict[tuple[int, tuple[int, ...]], float] = {}
    _keep(found, now, there, number, prices)
    width = min(_SECOND, p - 1)
    if width > 0:
        second = np.argsort(_added(now, there, prices), axis=1)[:, :width]
        now, there = np.repeat(now, width, axis=0), np.repeat(there, width, axis=0)
        number = np.repeat(number, width)
        now, there, number = _with(now, there, number, second.ravel(), prices)
        _keep(found, now, there, number, prices)
    for _ in range(_LARGEST - 2):
        if not len(now):
            break
        nearest = np.argmin(_added(now, there, prices), axis=1)
        now, there, number = _with(now, there, number, nearest, prices)
        _keep(found, now, there, number, prices)
    for _ in range(_LARGEST - 2):
        if not len(now):
            break
        less = _left_out(now, there, prices, base)
        best = np.argmin(less, axis=1)
        possible = np.isfinite(less[np.arange(len(less)), best])
        there, number, best = there[possible], number[possible], best[possible]
        now = _swept(now[possible], best)
        there[np.arange(len(there)), best] = False
        _keep(found, now, there, number, prices)
    return sorted((value, support, place) for (place, support), value in found.items())


def _swept(tables: Array, columns: NDArray[np.intp]) -> Array:
    """Sweep symmetric tables (n, p + 1, p + 1) by one column each; twice restores them."""
    n = np.arange(len(tables))
    rows = tables[n, columns].copy()
    pivot = rows[n, columns]
    side = tables[n, :, columns] / pivot[:, None]
    found = tables - side[:, :, None] * rows[:, None, :]
    found[n, columns] = rows / pivot[:, None]
    found[n, :, columns] = -side
    found[n, columns, columns] = 1.0 / pivot
    return found


def _added(tables: Array, there: Flags, prices: Array) -> Array:
    """Return what adding each column changes the score by, (n, p)."""
    p = len(prices)
    left = np.diagonal(tables, axis1=1, axis2=2)[:, :p]
    along = tables[:, :p, p]
    possible = ~there & (left > _NEW)
    return np.where(possible, prices - along**2 / np.where(possible, left, 1.0), np.inf)


def _left_out(tables: Array, there: Flags, prices: Array, base: int) -> Array:
    """Return what leaving out each column changes the score by, (n, p)."""
    p = len(prices)
    inverse = np.diagonal(tables, axis1=1, axis2=2)[:, :p]
    coefficient = tables[:, :p, p]
    possible = there.copy()
    alone = there[:, base:].sum(axis=1) == 1
    possible[alone, base:] = False
    return np.where(possible, coefficient**2 / np.where(possible, inverse, 1.0) - prices, np.inf)


def _with(
    now: Array, there: Flags, number: NDArray[np.intp], columns: NDArray[np.intp], prices: Array
) -> tuple[Array, Flags, NDArray[np.intp]]:
    every = np.arange(len(now))
    possible = np.isfinite(_added(now, there, prices)[every, columns])
    now, there, columns = now[possible], there[possible].copy(), columns[possible]
    there[np.arange(len(there)), columns] = True
    return _swept(now, columns), there, number[possible]


def _keep(
    found: dict[tuple[int, tuple[int, ...]], float],
    tables: Array,
    there: Flags,
    number: NDArray[np.intp],
    prices: Array,
) -> None:
    scores = tables[:, -1, -1] + there @ prices
    for k in np.argsort(scores, kind="stable")[: 4 * _KEPT]:
        key = int(number[k]), tuple(int(x) for x in np.flatnonzero(there[k]))
        value = float(scores[k])
        if math.isfinite(value) and value < found.get(key, math.inf):
            found[key] = value
