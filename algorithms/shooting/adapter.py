"""Equations by maximum likelihood of the samples: multiple shooting, term by term."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from dynamics import Segments
from library import Term, inner_terms, plain_terms
from likelihood import Fit, Model, Noise, Shooting
from starts import WeakForm
from steps import Search

from mdbench.worker import Problem

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

_LENGTH = 8
_WIDTHS = (8, 16, 32)
_WEIGHTS = (0.15, 0.5)
_INNER_WIDTH, _INNER_WEIGHT, _GRID, _FAMILIES = 12, 0.1, 8, 8


class Adapter:
    """Multiple shooting; ``docs/shooting.md`` describes it."""

    stopped_early: bool = False

    def __init__(self, *, seed: int, threads: int, **settings: Any) -> None:
        del seed, threads
        self._settings = settings

    def fit(self, problem: Problem) -> None:
        late = problem.budget.after(0.9 * problem.budget.remaining())
        self.run = Run(problem, late, **self._settings)
        self.fitted = self.run.search()

    def equations(self) -> list[str]:
        return written(self.fitted.model, len(self.run.segments.scale))


def written(model: Model, dim: int) -> list[str]:
    parts: list[list[str]] = [[] for _ in range(dim)]
    for (i, _), c, s in zip(model.support, model.coefficients, model.summands(), strict=True):
        parts[i].append(repr(float(c)) if s.text == "1" else f"{float(c)!r}*{s.text}")
    return [" + ".join(one).replace("+ -", "- ") or "0" for one in parts]


class Run:
    def __init__(self, problem: Problem, late: Any, terms: int = 60, substeps: int = 2) -> None:
        self.late = late
        self.y = problem.arrays.get("measured", problem.u)
        self.u = problem.u
        self.t = problem.t
        self.trajectory = problem.arrays.get("trajectory")
        self.segments = Segments.of(self.t, self.y, self.trajectory, _LENGTH, substeps)
        self.library = plain_terms(self.u, terms)
        self.groups = inner_terms(self.u, 4, two=False)
        self.log: list[str] = []

    def say(self, text: str) -> None:
        self.log.append(text)
        print(text)

    def search(self) -> Fit:
        d = self.y.shape[1]
        noise = Noise.of(self.u, self.y - self.u, least=0.03)
        sigma = 1.1 * noise.deviation(self.u)
        self.say(f"noise {noise.size} {noise.floor}")
        shooting = Shooting(self.segments, sigma, 0.3)
        search = Search(shooting, self.library, self.late)
        prices = [t.price for t in self.library]
        self.few = few = [t for t in self.library if t.price <= 2 * math.log((d + 1) * (d + 2) / 2) + 0.01]
        begun: list[list[Fit]] = []
        for tier in (few, self.library):
            found: dict[Any, Fit] = {}
            for curves in (self.u, self.y):
                starts = curves[self.segments.rows[:, 0]].T.copy()
                for width in _WIDTHS:
                    form = WeakForm.of(self.t, curves, self.trajectory, width)
                    for weight in _WEIGHTS:
                        chosen = [form.chosen(curves, tier, i, weight) for i in range(d)]
                        support = tuple((i, t) for i, (many, _) in enumerate(chosen) for t in many)
                        c = np.concatenate([c for _, c in chosen])
                        fit = search.fitted(Model(support, c, {}, starts), rounds=6)
                        if fit is not None:
                            found[fit.model.key] = fit
            begun.append(sorted(found.values(), key=lambda f: f.score))
        ways = [(one, few) for one in begun[0][:2]] + [(one, self.library) for one in begun[1][:3]]
        ends: dict[Any, Fit] = {}
        for one, tier in ways:
            if self.late() and ends:
                break
            further = search.improved(one, tier)
            self.say(f"{one.score:.1f} -> {further.score:.1f}  {written(further.model, d)}")
            ends[further.model.key] = further
        best = min(ends.values(), key=lambda f: f.score)
        best = search.improved(best)
        for round in range(3):
            best, same = self.again(best)
            if same and round:
                break
        with_inner = self.inner(best)
        if with_inner is not None and with_inner.score < best.score:
            best, _ = self.again(with_inner)
        return best

    def again(self, best: Fit) -> tuple[Fit, bool]:
        """Search near a model, under the noise that it leaves."""
        d = self.y.shape[1]
        curves = self.curves(best.model)
        noise = Noise.of(curves, self.y - curves)
        shooting = Shooting(self.segments, noise.deviation(curves), 0.1)
        self.shooting = shooting
        search = Search(shooting, self.library, self.late)
        refit = search.fitted(best.model)
        if refit is None:
            return best, True
        own = [t for _, t in refit.model.support if t.slot >= 0]
        further = search.improved(refit, [*self.library, *own])
        self.say(
            f"noise {noise.size} {noise.floor}: {refit.score:.1f} -> {further.score:.1f} "
            f"{written(further.model, d)}"
        )
        return further, further.model.key == best.model.key

    def inner(self, best: Fit) -> Fit | None:
        """Try terms with constants inside, equation by equation."""
        d = self.y.shape[1]
        shooting = self.shooting
        search = Search(shooting, self.library, self.late)
        search.pool[best.model.key] = best
        few = self.few
        form = WeakForm.of(self.t, self.u, self.trajectory, _INNER_WIDTH)
        found: list[Fit] = []
        for i in range(d):
            ranked: list[tuple[float, int, list[Term], Array]] = []
            for group in self.groups:
                family = group[0].family
                assert family is not None
                tried = []
                for constants in family.grid[:: max(len(family.grid) // _GRID, 1)]:
                    atoms = [replace(t, start=constants) for t in group]
                    value, several, c = form.best_with(self.u, few, atoms, i, _INNER_WEIGHT)
                    tried.append((value, len(ranked), several, c))
                ranked.append(min(tried, key=lambda one: one[0]))
            ranked.sort(key=lambda one: one[0])
            kept = [(j, t, c) for (j, t), c in zip(best.model.support, best.model.coefficients, strict=True) if j != i]
            count = 0
            for _, _, several, c in ranked[:_FAMILIES]:
                slots = {t.slot: np.array(t.start) for t in several if t.slot >= 0}
                if not slots or self.late():
                    continue
                inner = {**{k: v for k, v in best.model.inner.items() if any(t.slot == k for _, t, _ in kept)}, **slots}
                model = Model(
                    (*((j, t) for j, t, _ in kept), *((i, t) for t in several)),
                    np.array([*(x for _, _, x in kept), *c]),
                    inner,
                    best.model.starts,
                )
                fit = search.fitted(model, 12, best.score)
                if fit is not None:
                    found.append(fit)
        found.sort(key=lambda f: f.score)
        ends = []
        for one in found[:4]:
            own = [t for _, t in one.model.support if t.slot >= 0]
            group = [t for g in self.groups for t in g if any(t.slot == o.slot for o in own)]
            ends.append(search.improved(one, [*few, *(replace(t, start=one.model.inner[t.slot]) for t in group)], 4))
            self.say(f"inner {one.score:.1f} -> {ends[-1].score:.1f} {written(ends[-1].model, d)}")
        return min(ends, key=lambda f: f.score, default=None)

    def curves(self, model: Model) -> Array:
        shooting = Shooting(self.segments, np.ones_like(self.y), 0.1)
        states = self.segments.solve(shooting.rates(model), model.starts)
        at = np.moveaxis(states[..., :: self.segments.substeps], 0, -1)
        curves = np.empty_like(self.y)
        curves[self.segments.rows[self.segments.own]] = at[self.segments.own]
        return curves
