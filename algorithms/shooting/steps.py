"""Steps from one structure to another: terms are added, left out, and exchanged."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from likelihood import Model
from scipy.linalg import solve_triangular

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from dynamics import Solution
    from library import Term
    from likelihood import Fit, Shooting
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

__all__ = ["Search"]

_TRIED = 6
"""Steps that are tried from one model before it counts as the best near it."""
_HOPE = 40.0
"""Steps whose predicted score is worse by more are not tried."""
_ALIKE = 1e-7
"""Columns of which nuisance parameters leave a smaller share of the square are left out."""
_ROUNDS = 14
_NEAR = 12
"""Terms that are considered for a place."""
_NEW = 1e-6
"""Part of a column's square that others have to leave."""


@dataclass(frozen=True)
class _Step:
    """A structure that the linear model predicts to be good."""

    score: float
    support: tuple[tuple[int, Term], ...]
    make: Callable[[], tuple[Array, Array]]
    """Returns its coefficients, (k,), and the changes of the segments' starts, (d, s)."""


class _Linearised:
    """The likelihood near a fit, linear in the coefficients of all terms of a library.

    Starts of segments and constants inside are nuisance parameters: they are projected out.
    """

    def __init__(self, shooting: Shooting, fit: Fit, library: Sequence[Term]) -> None:
        self._shooting, self._model = shooting, fit.model
        segments, model = shooting.segments, fit.model
        states = segments.solve(shooting.rates(model), model.starts)
        solution = segments.linearise(shooting.rates(model), states)
        self._misses = shooting.misses(states)
        self._terms, values = _valued(solution, model, library)
        columns = shooting.columns(solution, values)
        self._columns = columns.reshape(len(columns), -1)
        whole, self._inner = shooting.jacobian(model, solution)
        self._basis, self._triangle = np.linalg.qr(whole[:, len(model.support) :])
        k, self._dim = len(self._terms), len(segments.scale)
        at = {term.name: place for place, term in enumerate(self._terms)}
        self._now = [i * k + at[term.name] for i, term in model.support if term.name in at]
        free = self._columns - self._basis @ (self._basis.T @ self._columns)
        square = np.sum(free**2, axis=0)
        usable = np.isfinite(square) & (square > _ALIKE * np.sum(self._columns**2, axis=0))
        usable[self._now] = True
        self._size = np.sqrt(square) + 1e-300
        self._unit = np.where(usable, free / self._size, 0.0)
        self._columns = np.where(usable, self._columns, 0.0)  # of others, some overflow
        left = self._misses - self._basis @ (self._basis.T @ self._misses)
        finite = np.isfinite(whole).all() and np.isfinite(left).all()
        self.whole = bool(finite) and len(self._now) == len(model.support)
        if self.whole:
            scaled = model.coefficients * self._size[self._now]
            self._target = self._unit[:, self._now] @ scaled - left
        self._usable = usable

    def _prices(self) -> Array:
        """Return what each term costs in each equation; one that another has only its place."""
        model, k = self._model, len(self._terms)
        each = self._shooting.price
        prices = np.empty((self._dim, k))
        having = Counter(term.name for _, term in model.support)
        there = set(self._now)
        for place, term in enumerate(self._terms):
            whole = each + term.price
            if term.slot >= 0 and term.slot not in model.inner and term.start is not None:
                whole += each * len(term.start) + term.shared
            for i in range(self._dim):
                elsewhere = having[term.name] > (i * k + place in there)
                prices[i, place] = each if elsewhere else whole
        return prices.ravel()

    def scored(self) -> list[tuple[float, tuple[int, ...]]]:
        """Return predicted scores of supports that are one step away, the best first."""
        gram, along = self._unit.T @ self._unit, self._unit.T @ self._target
        total = float(self._target @ self._target)
        total += self._shooting.price * sum(map(len, self._model.inner.values()))
        total += sum({t.slot: t.shared for _, t in self._model.support}.values())
        prices, now = self._prices(), self._now
        found: list[tuple[float, tuple[int, ...]]] = []
        for number, base in enumerate([now, *([j for j in now if j != one] for one in now)]):
            inverse = np.linalg.pinv(gram[np.ix_(base, base)], rcond=1e-12, hermitian=True)
            fitted = inverse @ along[base]
            value = total - float(along[base] @ fitted) + float(prices[base].sum())
            if number and base:
                found.append((value, tuple(base)))
            part = gram[base]
            own = np.diag(gram) - np.sum(part * (inverse @ part), axis=0)
            new = (own > _NEW) & self._usable
            new[now] = False
            rest = along - part.T @ fitted
            totals = value + prices - np.where(new, rest**2 / np.where(new, own, 1.0), -np.inf)
            near = np.argsort(totals)[:_NEAR]
            found += [(float(totals[j]), (*base, int(j))) for j in near if np.isfinite(totals[j])]
        return sorted(found, key=lambda one: one[0])

    def step(self, score: float, support: tuple[int, ...]) -> _Step:
        """Return a step to a support."""
        k, chosen = len(self._terms), list(support)

        def make() -> tuple[Array, Array]:
            fitted = np.linalg.lstsq(self._unit[:, chosen], self._target, rcond=1e-10)[0]
            fitted = fitted / self._size[chosen]
            change = np.zeros(self._dim * k)
            change[self._now] = -self._model.coefficients
            change[chosen] += fitted
            along = self._basis.T @ (self._misses + self._columns @ change)
            moved = -solve_triangular(self._triangle, along)[len(self._inner) :]
            return fitted, moved.reshape(-1, self._dim).T

        return _Step(score, tuple((j // k, self._terms[j % k]) for j in chosen), make)


def _valued(
    solution: Solution, model: Model, library: Sequence[Term]
) -> tuple[list[Term], list[Array]]:
    """Return the terms of a library and a model that have values, and these."""
    names = {term.name: term for term in library}
    names |= {term.name: term for _, term in model.support}
    terms, values = [], []
    for term in names.values():
        one = solution.values(term.summand(model.inner.get(term.slot, term.start)).make)
        if np.isfinite(one).all():
            terms.append(term)
            values.append(one)
    return terms, values


class Search:
    """The search among structures under one supposed noise.

    Parameters
    ----------
    shooting
        The likelihood.
    library
        The terms that may be added.
    late
        Whether the time is over.

    Attributes
    ----------
    pool
        All fitted models by their structure.
    """

    def __init__(
        self, shooting: Shooting, library: Sequence[Term], late: Callable[[], bool]
    ) -> None:
        self.shooting, self.library, self.late = shooting, list(library), late
        self.pool: dict[frozenset[tuple[int, str]], Fit | None] = {}

    def fitted(self, model: Model, rounds: int = 15, enough: float = math.inf) -> Fit | None:
        """Fit a model, or return what was found for its structure before."""
        if model.key not in self.pool:
            with np.errstate(all="ignore"):
                self.pool[model.key] = self.shooting.fit(model, rounds, enough)
        return self.pool[model.key]

    def others(self, best: Fit, within: float) -> list[Fit]:
        """Return fits of other structures whose score is not much worse, the best first."""
        near = [
            one
            for one in self.pool.values()
            if one and one.model.key != best.model.key and one.score < best.score + within
        ]
        return sorted(near, key=lambda one: one.score)

    def improved(self, fit: Fit, library: Sequence[Term] | None = None, tried: int = _TRIED) -> Fit:
        """Take steps from a model while they lower the score."""
        for _ in range(_ROUNDS):
            if self.late():
                break
            further = self._next(fit, self.library if library is None else library, tried)
            if further is None:
                break
            fit = further
        return fit

    def _next(self, fit: Fit, library: Sequence[Term], tried: int) -> Fit | None:
        count = 0
        for step in self.steps(fit, library):
            if step.score > fit.score + _HOPE or count >= tried or self.late():
                break
            key = frozenset((i, t.name) for i, t in step.support)
            if key in self.pool:
                known = self.pool[key]
                if known is not None and known.score < fit.score - 1e-3:
                    return known
                continue
            count += 1
            found = self.fitted(self._model(fit, step), enough=fit.score)
            if found is not None and found.score < fit.score - 1e-3:
                return found
        return None

    def _model(self, fit: Fit, step: _Step) -> Model:
        """Return the model to begin with: as predicted, or as it was where that is nearer."""
        old = fit.model
        slots = {t.slot for _, t in step.support if t.slot >= 0}
        inner = {slot: np.array(c) for slot, c in old.inner.items() if slot in slots}
        for _, term in step.support:
            if term.start is not None and term.slot not in inner:
                inner[term.slot] = np.array(term.start)
        coefficients, shift = step.make()
        predicted = Model(step.support, coefficients, inner, old.starts + shift)
        had = {(i, t.name): c for (i, t), c in zip(old.support, old.coefficients, strict=True)}
        plain = replace(
            predicted,
            coefficients=np.array([had.get((i, t.name), 0.0) for i, t in step.support]),
            starts=old.starts,
        )
        return min(predicted, plain, key=self._square)

    def _square(self, model: Model) -> float:
        with np.errstate(all="ignore"):
            states = self.shooting.segments.solve(self.shooting.rates(model), model.starts)
            value = float(np.sum(self.shooting.misses(states) ** 2))
        return value if np.isfinite(value) else math.inf

    def steps(self, fit: Fit, library: Sequence[Term]) -> Iterator[_Step]:
        """Return structures that are one step away by their predicted scores, the best first."""
        with np.errstate(all="ignore"):
            near = _Linearised(self.shooting, fit, library)
            scored = near.scored() if near.whole else []
            for score, support in scored:
                yield near.step(score, support)
