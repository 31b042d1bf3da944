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
_NEW = 1e-6
"""Part of a column's square that others have to leave."""


@dataclass(frozen=True)
class _Step:
    """A structure that a linear model predicts to be good."""

    score: float
    support: tuple[tuple[int, Term], ...]
    make: Callable[[], tuple[Array, Array]]


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
        """Return the model to begin with: as predicted, or without the prediction if that is better."""
        old = fit.model
        slots = {t.slot for _, t in step.support if t.slot >= 0}
        inner = {slot: np.array(c) for slot, c in old.inner.items() if slot in slots}
        for _, term in step.support:
            if term.slot >= 0 and term.slot not in inner:
                assert term.start is not None
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
        """Return steps by their predicted scores, the best first."""
        with np.errstate(all="ignore"):
            yield from self._steps(fit, library)

    def _steps(self, fit: Fit, library: Sequence[Term]) -> Iterator[_Step]:
        shooting, model = self.shooting, fit.model
        d = len(shooting.segments.scale)
        states = shooting.segments.solve(shooting.rates(model), model.starts)
        solution = shooting.segments.linearise(shooting.rates(model), states)
        misses = shooting.misses(states)
        names = {term.name: term for term in library}
        names.update({term.name: term for _, term in model.support})
        terms = list(names.values())
        values = []
        for term in terms:
            constants = model.inner.get(term.slot)
            values.append(solution.values(term.summand(term.start if constants is None else constants).make))
        finite = [k for k, one in enumerate(values) if np.isfinite(one).all()]
        terms, values = [terms[k] for k in finite], [values[k] for k in finite]
        columns = shooting.columns(solution, values)
        r, _, k = columns.shape
        columns = columns.reshape(r, d * k)
        whole, inner = shooting.jacobian(model, solution)
        count = len(model.support)
        nuisance = whole[:, count:]
        basis, triangle = np.linalg.qr(nuisance)
        free = columns - basis @ (basis.T @ columns)
        square = np.sum(free**2, axis=0)
        good = np.isfinite(square) & (square > _ALIKE * np.sum(columns**2, axis=0))
        at = {term.name: place for place, term in enumerate(terms)}
        now = [i * k + at[term.name] for i, term in model.support if term.name in at]
        if len(now) < count:
            return
        good[now] = True
        size = np.sqrt(square) + 1e-300
        unit = np.where(good, free / size, 0.0)
        target = unit[:, now] @ (model.coefficients * size[now]) - (misses - basis @ (basis.T @ misses))
        prices = np.array([shooting.price + t.price for t in terms])
        prices = np.tile(prices, d)
        count_of = Counter(t.name for _, t in model.support)
        for place, t in enumerate(terms):  # what another equation has costs its place only once
            for i in range(d):
                if count_of[t.name] > (i * k + place in now):
                    prices[i * k + place] = shooting.price
        fresh = {t.slot for t in terms if t.slot >= 0} - set(model.inner)
        for place, t in enumerate(terms):
            if t.slot in fresh:
                prices[place::k] += shooting.price * len(t.start)
        inside = shooting.price * sum(map(len, model.inner.values()))
        gram, along = unit.T @ unit, unit.T @ target
        total = float(target @ target)
        scored: list[tuple[float, tuple[int, ...]]] = []
        bases = [tuple(now), *(tuple(j for j in now if j != leave) for leave in now)]
        for number, base in enumerate(bases):
            several = list(base)
            inverse = np.linalg.pinv(gram[np.ix_(several, several)], rcond=1e-12, hermitian=True)
            fitted = inverse @ along[several]
            value = total - float(along[several] @ fitted) + inside + float(prices[several].sum())
            if number and base:
                scored.append((value, base))
            part = gram[several]
            own = np.diag(gram) - np.sum(part * (inverse @ part), axis=0)
            rest = along - part.T @ fitted
            gain = np.where(own > _NEW, rest**2 / np.where(own > _NEW, own, 1.0), 0.0)
            gain[list(now)] = 0.0
            gain[~good] = 0.0
            totals = value - gain + prices
            for which in np.argsort(totals)[:12]:
                if gain[which] > 0:
                    scored.append((float(totals[which]), (*base, int(which))))
        scored.sort(key=lambda one: one[0])
        s = len(shooting.segments.y)
        old = np.zeros(d * k)
        old[now] = model.coefficients
        for score, support in scored:
            chosen = list(support)

            def made(chosen: list[int] = chosen) -> tuple[Array, Array]:
                fitted = np.linalg.lstsq(unit[:, chosen], target, rcond=1e-10)[0] / size[chosen]
                change = -old
                change[chosen] += fitted
                moved = solve_triangular(triangle, basis.T @ (misses + columns @ change))
                return fitted, -moved[len(inner) :].reshape(s, d).T

            yield _Step(score, tuple((j // k, terms[j % k]) for j in chosen), made)
