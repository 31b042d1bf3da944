"""Common part of the two adapters: one population for each target, and a front from each."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random
from typing import TYPE_CHECKING

import numpy as np
from evaluation import Samples
from evolution import Evolution, EvolutionPlan
from hillclimb import CLIMBS
from language import Language
from predictors import PredictorPlan, Predictors
from scaling import in_own_units, line, power_of_two, text
from trees import FUNCTIONS, Node, constants, evaluate

from mdbench.worker import Candidate, Problem

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from evaluation import Fit
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

__all__ = ["AgeFitness"]


@dataclass(frozen=True)
class _FrontMember:
    """A member of the front of one target, in the data's own units."""

    target: int
    tree: Node
    equation: str
    predictions: Array
    error: float


class AgeFitness:
    """Age-fitness Pareto optimisation on tables.

    Parameters
    ----------
    seed
        Every target starts from the same one.
    threads
        Not used: the search has one thread.
    functions
        Names of ``trees.FUNCTIONS``; constants and variables are always there.
    population_size, generations, crossover_probability, constants, stop_threshold
        Settings of a population: see ``evolution.EvolutionPlan``, where `constants` is `climb`.
    max_size, max_initial_size, max_depth
        Limits of trees, before scales are written out.
    linear_scaling
        Whether a tree f is scored as the best a + b*f.
    max_rows
        Largest number of samples in the search; of more, a random part is drawn.
    predictor_plan
        For co-evolved fitness predictors; None for none.
    """

    def __init__(
        self,
        *,
        seed: int,
        threads: int,
        functions: Sequence[str],
        population_size: int,
        generations: int,
        crossover_probability: float,
        constants: str,
        stop_threshold: float,
        max_size: int,
        max_initial_size: int,
        max_depth: int,
        linear_scaling: bool,
        max_rows: int,
        predictor_plan: PredictorPlan | None = None,
    ) -> None:
        del threads
        unknown = [name for name in functions if name not in FUNCTIONS]
        if unknown:
            raise ValueError(f"no function is called {unknown[0]!r}; there are {list(FUNCTIONS)}")
        if constants not in CLIMBS:
            raise ValueError(f"constants is {constants!r}; it may be one of {list(CLIMBS)}")
        self._seed = seed
        self._plan = EvolutionPlan(
            population_size=population_size,
            generations=generations,
            crossover_probability=crossover_probability,
            climb=constants,
            stop_threshold=stop_threshold,
        )
        self._functions = tuple(functions)
        self._limits = {
            "max_size": max_size,
            "max_initial_size": max_initial_size,
            "max_depth": max_depth,
        }
        self._linear_scaling = linear_scaling
        self._max_rows = max_rows
        self._predictor_plan = predictor_plan

    def fit(self, problem: Problem) -> None:
        """Search for each target, sharing the budget.

        Raises
        ------
        ValueError
            If the data are not finite.
        RuntimeError
            If nothing that was found for a target is finite on the data.
        """
        if not (np.isfinite(problem.X).all() and np.isfinite(problem.Y).all()):
            raise ValueError("the data have values that are not finite")
        self._problem = problem
        self._runs: list[_TargetRun] = []
        self.evaluations = 0
        self.stopped_early = False
        self._chosen = []
        with np.errstate(all="ignore"):
            for target in range(len(problem.targets)):
                share = problem.budget.share(len(problem.targets) - target)
                run = self._make_run(target, problem.budget.after(share))
                self._runs.append(run)
                run.evolution.run()
                self.evaluations += run.evolution.evaluations
                self.stopped_early |= run.evolution.stopped_early
        self._members = list(self._all_members())
        for target, name in enumerate(problem.targets):
            members = [member for member in self._members if member.target == target]
            if not members:
                raise RuntimeError(f"nothing that was found for {name} is finite on all the data")
            self._chosen.append(min(members, key=lambda member: member.error))

    def candidates(self) -> Iterator[Candidate]:
        """Yield the Pareto front of each target, as far as it was found."""
        finished = len(getattr(self, "_chosen", ())) == len(self._problem.targets)
        for member in self._members if finished else self._all_members():
            yield Candidate((member.equation,), member.predictions, target=member.target)

    def choose(self, indices: Sequence[int]) -> None:
        """Use these candidates, one for each target; before, the most accurate ones are used."""
        self._chosen = [self._members[index] for index in indices]

    def predict(self, problem: Problem) -> Array:
        """Evaluate the chosen expressions; return (n, n_targets)."""
        columns = [evaluate(member.tree, problem.X) for member in self._chosen]
        return np.stack(columns, axis=1)

    def equations(self) -> list[str]:
        """Return the chosen right-hand side of each target."""
        return [member.equation for member in self._chosen]

    def _make_run(self, target: int, is_late: Callable[[], bool]) -> _TargetRun:
        X, y = self._problem.X, self._problem.Y[:, target]
        random = Random(self._seed)  # noqa: S311 - a search, no secret
        if len(X) > self._max_rows:
            rows = sorted(random.sample(range(len(X)), self._max_rows))
            X, y = X[rows], y[rows]
        scales = [power_of_two(X[:, column]) for column in range(X.shape[1])]
        scale = power_of_two(y)
        data = Samples(X / scales, y / scale, linear_scaling=self._linear_scaling)
        predictors = None
        if self._predictor_plan is not None:
            predictors = Predictors(data, self._predictor_plan, random)
        evolution = Evolution(
            data,
            Language(self._functions, X.shape[1], random=random, **self._limits),
            self._plan,
            random=random,
            is_late=is_late,
            predictors=predictors,
        )
        return _TargetRun(target, evolution, scales, scale)

    def _all_members(self) -> Iterator[_FrontMember]:
        with np.errstate(all="ignore"):
            for run in self._runs:
                yield from _members(run, self._problem)


@dataclass(frozen=True)
class _TargetRun:
    """The search for one target, and the units in which it was made."""

    target: int
    evolution: Evolution
    scales: list[float]
    scale: float


def _members(run: _TargetRun, problem: Problem) -> Iterator[_FrontMember]:
    """Write a front in the data's own units; leave out what is not finite there."""
    y = problem.Y[:, run.target]
    seen = set()
    for tree, fit in list(run.evolution.archive.front()):
        own = _unscaled(tree, fit, run, y)
        if not np.isfinite(list(constants(own))).all():
            continue
        predictions = evaluate(own, problem.X)
        error = float(np.mean(np.square((predictions - y) / run.scale)))
        equation = text(own, problem.variables)
        if np.isfinite(predictions).all() and np.isfinite(error) and equation not in seen:
            seen.add(equation)
            yield _FrontMember(run.target, own, equation, predictions, error)


def _unscaled(tree: Node, fit: Fit, run: _TargetRun, y: Array) -> Node:
    """Write slope and intercept of the linear scaling, and all scales, into a tree."""
    slope, intercept = run.scale * fit.slope, run.scale * fit.intercept
    return line(slope, in_own_units(tree, run.scales), intercept, like=y)
