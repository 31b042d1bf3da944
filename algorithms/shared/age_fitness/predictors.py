"""Co-evolved fitness predictors.

Schmidt and Lipson, IEEE Transactions on Evolutionary Computation 12, 2008, 736-749,
doi:10.1109/TEVC.2008.919006.

A predictor is a handful of samples; the error on them estimates the error on all.  Predictors
are bred so that on a few individuals, the trainers, their errors come close to the exact ones.
The best predictor measures the population.  From time to time the individual on which the
predictors disagree most becomes a trainer in the place of the oldest one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from evaluation import Samples

if TYPE_CHECKING:
    from collections.abc import Sequence
    from random import Random

    from evolution import Individual
    from numpy.typing import NDArray

    Array = NDArray[np.float64]
    Indices = NDArray[np.int64]

__all__ = ["PredictorPlan", "Predictors", "errors_on"]

_WORST = 1e6
"""An error beyond this counts as this."""


@dataclass(frozen=True, kw_only=True)
class PredictorPlan:
    """Parameters of the predictors' evolution.

    Attributes
    ----------
    population_size
        Number of predictors.
    samples
        Of each predictor; fewer where the data are no more.
    trainers
        Individuals on which predictors are judged; ten times as many are drawn to find new ones.
    interval
        Generations between one new trainer and the next.
    """

    population_size: int
    samples: int
    trainers: int
    interval: int


class Predictors:
    """The predictors of one population.

    Parameters
    ----------
    data
        All samples.
    plan
        The parameters.
    random
        Generator of every choice.

    Attributes
    ----------
    samples
        The data of the best predictor.
    """

    def __init__(self, data: Samples, plan: PredictorPlan, random: Random) -> None:
        self._plan = plan
        self._random = random
        self._all = data
        self._rows = len(data.y)
        self._length = min(plan.samples, self._rows)
        self._predictors = [self._draw() for _ in range(plan.population_size)]
        self._values: list[Array] = []
        self._exact: list[float] = []
        self._generation = 0
        self._best = self._predictors[0]
        self.samples = self._data(self._best)

    def evolve(self, population: Sequence[Individual], data: Samples) -> bool:
        """Run one generation of predictors, and return whether another one is the best now."""
        self._generation += 1
        if not self._values or self._generation % self._plan.interval == 0:
            self._add_trainers(population, data)
        if not self._values:
            return False
        number = len(self._predictors)
        children = [self._child(predictor) for predictor in self._predictors]
        everyone = self._predictors + children
        gaps = self._gaps(np.array(everyone))
        # Deterministic crowding: a child takes the place of its first parent if it is no worse.
        for place in range(number):
            if gaps[number + place] <= gaps[place]:
                self._predictors[place] = children[place]
                gaps[place] = gaps[number + place]
        best = self._predictors[int(np.argmin(gaps[:number]))]
        if np.array_equal(best, self._best):
            return False
        self._best = best
        self.samples = self._data(best)
        return True

    def _draw(self) -> list[int]:
        return self._random.sample(range(self._rows), self._length)

    def _child(self, parent: Sequence[int]) -> list[int]:
        """Cross a predictor with any other at one point, and change a sample: either, or both."""
        child = list(parent)
        if self._random.random() < 0.5:  # noqa: PLR2004 - either
            second = self._random.choice(self._predictors)
            cut = self._random.randrange(self._length)
            child[cut:] = second[cut:]
        if self._random.random() < 0.5:  # noqa: PLR2004 - either
            child[self._random.randrange(self._length)] = self._random.randrange(self._rows)
        return child

    def _data(self, predictor: Sequence[int]) -> Samples:
        rows = np.array(predictor)
        return Samples(
            self._all.X[rows], self._all.y[rows], linear_scaling=self._all.linear_scaling
        )

    def _gaps(self, predictors: Indices) -> Array:
        """Return how far each predictor's errors are from the exact ones, on average."""
        values = np.stack(self._values)
        predicted = errors_on(
            values[:, predictors], self._all.y[predictors], linear=self._all.linear_scaling
        )
        return np.asarray(np.abs(predicted - np.array(self._exact)[:, None]).mean(axis=0))

    def _add_trainers(self, population: Sequence[Individual], data: Samples) -> None:
        """Take as trainers those on which the predictors disagree most: at first all of them."""
        wanted = 1 if self._values else self._plan.trainers
        predictors = np.array(self._predictors)
        known: list[tuple[float, Any, float]] = []
        choice = self._random.sample(
            list(population), min(len(population), 10 * self._plan.trainers)
        )
        for individual in choice:
            fit = data.fit(individual.tree)
            values = data.values(individual.tree)
            if not fit.error < _WORST or np.ndim(values) == 0:
                continue
            predicted = errors_on(
                values[predictors][None], data.y[predictors], linear=data.linear_scaling
            )
            known.append((float(predicted.var()), values, fit.error))
        known.sort(key=lambda one: -one[0])
        for _, values, error in known[:wanted]:
            self._values.append(values)
            self._exact.append(error)
        del self._values[: -self._plan.trainers], self._exact[: -self._plan.trainers]


def errors_on(values: Array, y: Array, *, linear: bool) -> Array:
    """Return the errors of many trees on many small samples, as `Samples.fit` does one by one.

    Parameters
    ----------
    values
        Values of t trees on p predictors of k samples, shape (t, p, k).
    y
        The targets there, shape (p, k).
    linear
        Whether the best line through each tree's values is used.

    Returns
    -------
    array (t, p)
        At most a million; a tree without a finite value gets that.
    """
    with np.errstate(all="ignore"):
        if linear:
            values = values - values.mean(axis=-1, keepdims=True)
            y = y - y.mean(axis=-1, keepdims=True)
        total = np.square(y).sum(axis=-1)
        if linear:
            square = np.square(values).sum(axis=-1)
            slope = np.where(square > 0.0, (values * y).sum(axis=-1) / square, 0.0)
            values = slope[..., None] * values
        errors = np.square(y - values).sum(axis=-1) / np.where(total > 0.0, total, 1.0)
    return np.asarray(np.where(errors < _WORST, errors, _WORST))
