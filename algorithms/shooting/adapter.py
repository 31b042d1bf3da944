"""Equations by maximum likelihood of the samples: multiple shooting, term by term."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
from dynamics import Segments
from library import plain_terms
from likelihood import Fit, Model, Noise, Shooting
from starts import WeakForm
from steps import Search

from mdbench.worker import Problem

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

_LENGTH = 10
_WIDTHS = (8, 16, 32)
_WEIGHTS = (0.15, 0.5)


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
        starts = self.u[self.segments.rows[:, 0]].T.copy()
        begun: list[Fit] = []
        prices = [t.price for t in self.library]
        tiers = [[t for t in self.library if t.price <= p] for p in (2 * math.log((d + 1) * (d + 2) / 2) + 0.01, max(prices))]
        for width in _WIDTHS:
            form = WeakForm.of(self.t, self.u, self.trajectory, width)
            for tier in tiers:
                for weight in _WEIGHTS:
                    chosen = [form.chosen(self.u, tier, i, weight) for i in range(d)]
                    support = tuple((i, t) for i, (several, _) in enumerate(chosen) for t in several)
                    c = np.concatenate([c for _, c in chosen])
                    fit = search.fitted(Model(support, c, {}, starts), rounds=8)
                    if fit is not None and fit not in begun:
                        begun.append(fit)
        begun.sort(key=lambda f: f.score)
        best: Fit | None = None
        for one in begun[:3]:
            if self.late() and best is not None:
                break
            further = search.improved(one)
            self.say(f"{one.score:.1f} -> {further.score:.1f}  {written(further.model, d)}")
            if best is None or further.score < best.score:
                best = further
        assert best is not None
        for round in range(3):
            curves = self.curves(best.model)
            noise = Noise.of(curves, self.y - curves)
            again = noise.deviation(curves)
            shooting = Shooting(self.segments, again, 0.1)
            search = Search(shooting, self.library, self.late)
            before = best.model.key
            refit = search.fitted(best.model)
            if refit is None:
                break
            best = search.improved(refit)
            self.say(f"noise {noise.size} {noise.floor}: {refit.score:.1f} -> {best.score:.1f} {written(best.model, d)}")
            if best.model.key == before and round:
                break
        return best

    def curves(self, model: Model) -> Array:
        shooting = Shooting(self.segments, np.ones_like(self.y), 0.1)
        states = self.segments.solve(shooting.rates(model), model.starts)
        at = np.moveaxis(states[..., :: self.segments.substeps], 0, -1)
        curves = np.empty_like(self.y)
        curves[self.segments.rows[self.segments.own]] = at[self.segments.own]
        return curves
