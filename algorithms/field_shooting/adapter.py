"""Equations of fields by simulating and fitting; docs/shooting.md describes it."""

from __future__ import annotations

import importlib.util
import math
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import search as weak_search
from field_fit import FieldLikelihood
from field_search import FieldSearch
from forms import corners, periodic_axes
from grids import target_states
from likeliest import Rival, likeliest
from search import WeakAnswer
from segments import FieldSamples
from summands import products

if TYPE_CHECKING:
    from field_fit import FieldFit
    from numpy.typing import NDArray
    from summands import Product

    from mdbench.worker import Problem

    Array = NDArray[np.float64]

_TIME_PART = 0.85
"""Part of the time limit for the search."""


def _weakform() -> Any:
    """Return the adapter of ``weakform``, whose module has the name of this one."""
    file = Path(str(weak_search.__file__)).with_name("adapter.py")
    spec = importlib.util.spec_from_file_location("weakform_adapter", file)
    assert spec is not None  # noqa: S101 - the file is there: its neighbour was imported
    assert spec.loader is not None  # noqa: S101
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


_WEAK = _weakform()
_OTHERS = 3
"""Other sums of the weak form, for each state, from which a search may begin."""
_LEAST_NOISE = 0.1
"""The least deviation of the noise, over its mean, before equations say more."""
_SETTINGS: dict[str, Any] = {
    "terms": 300,
    "noisy_terms": 120,
    "dearest": 4.25,
    "widths": (0.5, 1.0, 1.5),
    "worth": 3.0,
}
"""Those of ``weakform``."""


_Weakform: Any = _WEAK.Adapter


class Adapter(_Weakform):  # type: ignore[misc]  # it is imported by its path
    """Maximum likelihood by simulation; where that is not possible ``weakform`` has the answer.

    Parameters
    ----------
    seed, threads
        Not used: nothing is drawn.
    terms
        Largest number of terms.
    interval
        Intervals between samples in a segment of time, about.
    """

    _fronts: list[list[WeakAnswer]]
    _rivals: list[list[Rival]]
    _chosen: list[WeakAnswer]

    def __init__(self, *, seed: int, threads: int, terms: int, interval: int) -> None:
        super().__init__(seed=seed, threads=threads, **_SETTINGS)
        self._terms, self._interval = int(terms), int(interval)

    def fit(self, problem: Problem) -> None:
        """Search by the weak form, and from its answers by simulation."""
        late = problem.budget.after(_TIME_PART * problem.budget.remaining())
        fronts = self._weak_fit(problem)
        made = self._coordinates
        problem = problem if made is None else made.problem(problem)
        if not _WEAK._is_noisy(problem) or not _can_be_solved(problem):  # noqa: SLF001
            return
        search = self._search(problem, late)
        fit = search.best(self._starts(fronts))
        self.stopped_early = late()
        if fit is None:
            return
        states = len(self._fronts)
        self._chosen = [_answer(fit, state) for state in range(states)]
        self._fronts = [[one] for one in self._chosen]
        self._rivals = [
            [
                Rival(_answer(other, state), worse, (fit.square - other.square) / 2)
                for other, worse in search.rivals(fit)
                if _terms(other, state) != _terms(fit, state)
            ]
            for state in range(states)
        ]
        for state, answer in enumerate(self._chosen):
            print(f"{problem.targets[state]} = {answer.text}   (simulated)")  # noqa: T201 - for the log
            for term, c, error in zip(
                answer.terms, answer.coefficients, answer.errors, strict=True
            ):
                print(f"    {term.text or '1'}: {c:.8g} +- {error:.1g}")  # noqa: T201

    def _weak_fit(self, problem: Problem) -> list[list[WeakAnswer]]:
        """Fit by the weak form, and return what its search for the likeliest begins with."""
        fronts: list[list[WeakAnswer]] = []

        def remembered(problem: Problem, state: int, terms: Any, front: Any, late: Any) -> Any:
            fronts.append(front)
            return likeliest(problem, state, terms, front, late)

        _WEAK.likeliest = remembered
        super().fit(problem)
        return fronts

    def _starts(self, fronts: list[list[WeakAnswer]]) -> list[tuple[list[Any], list[float]]]:
        """Return the answer of the weak form, then with other sums for a target, and nothing."""
        sums = [list(self._chosen)]
        for target, front in enumerate(fronts):
            others = [rival.answer for rival in self._rivals[target]]
            others += sorted(front, key=_WEAK._penalised)  # noqa: SLF001
            terms = {self._chosen[target].terms}
            for other in others:
                if len(terms) <= _OTHERS and other.terms not in terms:
                    terms.add(other.terms)
                    changed = list(self._chosen)
                    changed[target] = other
                    sums.append(changed)
        starts = [
            (
                [(target, term) for target, one in enumerate(each) for term in one.terms],
                [c for one in each for c in one.coefficients],
            )
            for each in sums
        ]
        return [*starts, ([], [])]

    def _search(self, problem: Problem, late: Any) -> FieldSearch:
        u, measured = problem.u, problem.arrays["measured"]
        states = u.shape[-1]
        highest = max(
            corners(problem, measured[..., state], u[..., state])[0] for state in range(states)
        )
        highest = round(highest * len(u) / (2 * np.pi))
        intervals = u.shape[1] - 1
        samples = FieldSamples.of(
            (measured, u),
            float(problem.periods[0]),
            float(np.diff(problem.t).mean()),
            highest,
            math.ceil(intervals / max(round(intervals / self._interval), 1)),
        )
        noise = problem.noise
        assert noise is not None  # noqa: S101 - a field has one
        deviation = noise.deviation(u)
        least = _LEAST_NOISE * np.sqrt(np.mean(deviation**2, axis=(0, 1)))
        averaged = samples.average(np.maximum(deviation, least) ** 2)
        terms = products(problem.variables, states, self._terms, _SETTINGS["dearest"])
        return FieldSearch(
            FieldLikelihood(samples, np.sqrt(averaged / samples.averaged)),
            terms,
            measured[..., 0].size,
            late,
        )


def _can_be_solved(problem: Problem) -> bool:
    """Return whether it is along one periodic axis, and has an equation for each state."""
    return (
        periodic_axes(problem)[:-1] == [True]
        and target_states(problem) == list(range(problem.u.shape[-1]))
        and not set(problem.variables) & {"x", "t"}
    )


def _terms(fit: FieldFit, state: int) -> list[Product]:
    return [term for equation, term in fit.places if equation == state]


def _answer(fit: FieldFit, state: int) -> WeakAnswer:
    """Return the equation of a state, its terms in the order of their cost."""
    own = sorted(
        (term.cost, number)
        for number, (equation, term) in enumerate(fit.places)
        if equation == state
    )
    numbers = [number for _, number in own]
    return WeakAnswer(
        tuple(fit.places[number][1] for number in numbers),
        tuple(float(fit.coefficients[number]) for number in numbers),
        tuple(float(fit.errors[number]) for number in numbers),
        0.0,
        (0.0,),
    )
