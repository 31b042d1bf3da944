"""Age-fitness Pareto optimisation.

Schmidt and Lipson, Genetic Programming Theory and Practice VIII, 2011, 129-146,
doi:10.1007/978-1-4419-7747-2_8.  The hill climbing on constants and the archive of the best of
every size are those of the implementations in common use; the linear scaling is an addition.

Every individual remembers when its oldest ancestor was made.  A generation makes as many
children as there are individuals, adds one newcomer that has no ancestors, and lets the
individuals meet in tournaments on error and age until the population has its size again.  What
is old stays only as long as it is better than all that is younger, so that newcomers get time
to become good before they are compared with individuals that were optimised for long.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from hillclimb import CLIMBS
from pareto import Archive, survivors

if TYPE_CHECKING:
    from collections.abc import Callable
    from random import Random

    from evaluation import Fit, Samples
    from language import Language
    from predictors import Predictors
    from trees import Node

__all__ = ["Evolution", "EvolutionPlan", "Individual"]


@dataclass(frozen=True, kw_only=True)
class EvolutionPlan:
    """Parameters of a population's evolution.

    Attributes
    ----------
    population_size
        Individuals after each generation.
    generations
        Largest number of generations.
    crossover_probability
        Children of two parents; the others are mutants of one.
    climb
        The improvement of constants, see ``hillclimb``.
    stop_threshold
        The search ends at this error.
    """

    population_size: int
    generations: int
    crossover_probability: float
    climb: str
    stop_threshold: float


class Individual:
    """A tree with its age.

    Attributes
    ----------
    tree
        The tree.
    fit
        Its quality on the data that the population is currently evaluated on.
    born
        The generation in which the oldest of its ancestors was made.
    settled
        Whether several tries to improve its constants had no effect.
    """

    __slots__ = ("born", "fit", "settled", "tree")

    def __init__(self, tree: Node, fit: Fit, born: int) -> None:
        self.tree = tree
        self.fit = fit
        self.born = born
        self.settled = 0


class Evolution:
    """One population on one target.

    Parameters
    ----------
    data
        All samples.
    language
        Draws trees and their children.
    plan
        The parameters.
    random
        Generator of every choice, that of `language` too.
    is_late
        Returns whether the search is to end.
    predictors
        Co-evolved estimates of the error to be used in its place, or None.
    """

    def __init__(
        self,
        data: Samples,
        language: Language,
        plan: EvolutionPlan,
        *,
        random: Random,
        is_late: Callable[[], bool] = lambda: False,
        predictors: Predictors | None = None,
    ) -> None:
        self.archive = Archive()
        self.population: list[Individual] = []
        self.generation = 0
        self.stopped_early = False
        self._data = data
        self._language = language
        self._plan = plan
        self._random = random
        self._is_late = is_late
        self._predictors = predictors
        self._measured: dict[Node, Fit] = {}  # by predictors' choice, a generation ago
        self._climb: Any = CLIMBS[plan.climb]

    def run(self) -> None:
        """Run generations until the plan, the time or the error ends the search."""
        while len(self.population) < self._plan.population_size and not self._late():
            self._add(self._language.new(), born=0)
        self._record()
        while (
            self.generation < self._plan.generations
            and self.archive.error > self._plan.stop_threshold
            and not self._late()
        ):
            self.step()

    def step(self) -> None:
        """Run one generation."""
        self.generation += 1
        parents = list(self.population)
        for _ in range(len(parents)):
            if self._late():
                break
            self._add_child(parents)
        self._add(self._language.new(), born=self.generation)
        kept = survivors(
            [individual.fit.error for individual in self.population],
            [individual.born for individual in self.population],
            self._plan.population_size,
            self._random,
        )
        self.population = [self.population[index] for index in kept]
        for individual in self.population:
            if self._late():
                break
            self._improve(individual)
        self._record()
        if self._predictors is not None and self._predictors.evolve(self.population, self._data):
            samples = self._predictors.samples
            for individual in self.population:
                individual.fit = samples.fit(individual.tree)
                individual.settled = 0

    @property
    def evaluations(self) -> int:
        """Number of trees that were evaluated on all samples."""
        return self._data.evaluations

    def _late(self) -> bool:
        late = self._is_late()
        self.stopped_early |= late
        return late

    def _measure(self) -> Samples:
        return self._data if self._predictors is None else self._predictors.samples

    def _add(self, tree: Node, born: int) -> None:
        self.population.append(Individual(tree, self._measure().fit(tree), born))

    def _add_child(self, parents: list[Individual]) -> None:
        draw, number = self._random.random, len(parents)
        mother = parents[int(draw() * number)]
        if draw() < self._plan.crossover_probability:
            father = parents[int(draw() * number)]
            tree = self._language.crossover(mother.tree, father.tree)
            born = min(mother.born, father.born)
        else:
            tree = self._language.mutate(mother.tree)
            born = mother.born
        if tree is not mother.tree:
            self._add(tree, born)

    def _improve(self, individual: Individual) -> None:
        """Try better constants, unless many tries had no effect."""
        if not individual.tree.constants or individual.settled >= _PATIENCE:
            return
        before = individual.fit.error
        individual.tree, individual.fit = self._climb(
            self._measure(), individual.tree, individual.fit, self._random
        )
        if not individual.fit.error < before * _PROGRESS:
            individual.settled += 1

    def _record(self) -> None:
        """Record the best of every size; with predictors, of those with a good prediction."""
        best: dict[int, Individual] = {}
        for individual in self.population:
            size = individual.tree.size
            if size not in best or individual.fit.error < best[size].fit.error:
                best[size] = individual
        if self._predictors is None:
            for individual in best.values():
                self.archive.add(individual.tree, individual.fit)
            return
        sizes = sorted(best, key=lambda size: best[size].fit.error)
        smallest = self._language.max_size + 1
        before, self._measured = self._measured, {}
        for size in sizes:
            if size < smallest:
                smallest = size
                tree = best[size].tree
                fit = before.get(tree) or self._data.fit(tree)
                self._measured[tree] = fit
                self.archive.add(tree, fit)
                if fit.error < math.inf and self._late():
                    break


_PATIENCE = 20
_PROGRESS = 0.999
"""A gain below a thousandth counts as none."""
