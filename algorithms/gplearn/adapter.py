"""gplearn: one genetic-programming run for each target, with a setting drawn from a space."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from gplearn.fitness import make_fitness
from gplearn.functions import _Function as GpFunction
from gplearn.genetic import SymbolicRegressor
from scaling import in_own_units, line, power_of_two, text
from scipy.stats import loguniform, randint, uniform
from sklearn.model_selection import ParameterSampler
from trees import FUNCTIONS, Node, constants, evaluate

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from numpy.typing import NDArray

    from mdbench.worker import Problem

    Array = NDArray[np.float64]

_KEPT = 0.1
"""Part of the budget that is for what follows the searches."""
_HOPELESS = 1e300
"""The error of a program without a finite value for some sample: gplearn's tournaments let NaN
win."""


def _plain_error(y: Array, predictions: Array, weights: Array) -> float:
    """Mean absolute error over the mean size of the target."""
    return _ratio(y - predictions, y, weights)


def _linear_error(y: Array, predictions: Array, weights: Array) -> float:
    """Mean absolute error of the best line through a program's values (Keijzer 2003)."""
    slope, intercept = _best_line(y, predictions, weights)
    residual = y - (slope * predictions + intercept)
    return _ratio(residual, y - np.average(y, weights=weights), weights)


def _ratio(residual: Array, y: Array, weights: Array) -> float:
    # Residuals without a weight must be finite too, or the program is no equation.
    if not np.isfinite(residual.sum()):
        return _HOPELESS
    size = float(np.average(np.abs(y), weights=weights))
    return float(np.average(np.abs(residual), weights=weights)) / (size or 1.0)


def _best_line(y: Array, values: Array, weights: Array) -> tuple[float, float]:
    """Return slope and intercept by weighted least squares; a slope of 0 through a constant."""
    mean, mean_y = np.average(values, weights=weights), np.average(y, weights=weights)
    centred = weights * (values - mean)
    square = float(centred @ (values - mean))
    slope = float(centred @ (y - mean_y)) / square if square else 0.0
    return slope, float(mean_y - slope * mean)


_METRICS = {
    linear: make_fitness(function=function, greater_is_better=False, wrap=False)
    for linear, function in ((False, _plain_error), (True, _linear_error))
}


class Adapter:
    """gplearn with one setting, drawn from the space by the seed and the number of the trial.

    gplearn's division, square root and logarithm are protected: they return a made-up value where
    there is none.  Here they are the plain functions, so that an equation means what is printed,
    and a program without a value somewhere loses.

    Parameters
    ----------
    seed
        Seed of the draw and of gplearn's run.
    threads
        Not used: gplearn starts processes, which is slower here.
    trial
        Number of the draw, from 0.
    functions
        Names of ``trees.FUNCTIONS``.
    population_size, generations, stopping_criteria, max_samples, parsimony_coefficient
        The lowest and the highest value of each of gplearn's parameters.
    constants
        Choices for the largest constant; 0 for none.
    linear_scaling
        Whether a program f is scored as the best a + b*f, on data scaled to a size near 1, so that
        neither units nor a factor like 1e-34 are in its way.  If not, gplearn has the data as
        they are, and only its error is relative to the target.
    max_depth
        Programs nested deeper are no answers.
    max_rows
        Largest number of samples; of more, a random part is drawn.
    """

    def __init__(
        self,
        *,
        seed: int,
        threads: int,
        trial: int,
        functions: Sequence[str],
        population_size: Sequence[int],
        generations: Sequence[int],
        stopping_criteria: Sequence[float],
        constants: Sequence[float],
        max_samples: Sequence[float],
        parsimony_coefficient: Sequence[float],
        linear_scaling: bool,
        max_depth: int,
        max_rows: int,
    ) -> None:
        del threads
        unknown = [name for name in functions if name not in FUNCTIONS]
        if unknown:
            raise ValueError(f"no function is called {unknown[0]!r}; there are {list(FUNCTIONS)}")
        space = {
            "population_size": randint(population_size[0], population_size[1] + 1),
            "generations": randint(generations[0], generations[1] + 1),
            "stopping_criteria": loguniform(*stopping_criteria),
            "const_range": [(-largest, largest) if largest else None for largest in constants],
            "max_samples": uniform(max_samples[0], max_samples[1] - max_samples[0]),
            "parsimony_coefficient": uniform(
                parsimony_coefficient[0], parsimony_coefficient[1] - parsimony_coefficient[0]
            ),
        }
        draws = ParameterSampler(space, n_iter=trial + 1, random_state=seed)
        self._setting: dict[str, Any] = list(draws)[trial]
        self._functions = [
            GpFunction(FUNCTIONS[name].numpy, name, FUNCTIONS[name].arity) for name in functions
        ]
        # Trials that differ only in their number must differ in their random numbers, too.
        self._random_state = (seed * 1_000_003 + trial) % 2**32
        self._linear_scaling = linear_scaling
        self._max_depth, self._max_rows = max_depth, max_rows

    def fit(self, problem: Problem) -> None:
        """Run gplearn on each target, sharing the time.

        Raises
        ------
        ValueError
            If the data are not finite.
        RuntimeError
            If no program for a target is finite on the data.
        """
        if not (np.isfinite(problem.X).all() and np.isfinite(problem.Y).all()):
            raise ValueError("the data have values that are not finite")
        self.stopped_early = False
        self.evaluations = 0
        self._trees = []
        self._names = problem.variables
        for target, name in enumerate(problem.targets):
            share = problem.budget.share(len(problem.targets) - target, _KEPT)
            another_fits = problem.budget.rounds(share)
            tree = self._search(problem.X, problem.Y[:, target], another_fits)
            if tree is None:
                raise RuntimeError(
                    f"no program that gplearn found for {name} is finite on the data"
                )
            self._trees.append(tree)

    def predict(self, problem: Problem) -> Array:
        """Evaluate the expressions; return (n, n_targets)."""
        return np.stack([evaluate(tree, problem.X) for tree in self._trees], axis=1)

    def equations(self) -> list[str]:
        """Return the right-hand side of each target."""
        return [text(tree, self._names) for tree in self._trees]

    def _search(self, X: Array, y: Array, another_fits: Callable[[], bool]) -> Node | None:
        """Run gplearn, and return the best tree in the data's own units, or None."""
        scales, scale = [1.0] * X.shape[1], 1.0
        if self._linear_scaling:
            scales = [power_of_two(X[:, column]) for column in range(X.shape[1])]
            scale = power_of_two(y)
        rows = np.arange(len(X))
        if len(X) > self._max_rows:
            draw = np.random.default_rng(self._random_state)
            rows = np.sort(draw.choice(len(X), self._max_rows, replace=False))
        X_run, y_run = X[rows] / scales, y[rows] / scale
        programs = self._evolve(X_run, y_run, another_fits)
        for program in sorted(programs, key=lambda program: program.raw_fitness_):
            tree = _tree(program.program)
            slope, intercept = 1.0, 0.0
            if self._linear_scaling:
                values = evaluate(tree, X_run)
                with np.errstate(all="ignore"):
                    slope, intercept = _best_line(y_run, values, np.ones_like(values))
            own = in_own_units(tree, scales)
            tree = line(scale * slope, own, scale * intercept, like=y)
            if (
                tree.depth <= self._max_depth
                and np.isfinite(list(constants(tree))).all()
                and np.isfinite(evaluate(tree, X)).all()
            ):
                return tree
        return None

    def _evolve(self, X: Array, y: Array, another_fits: Callable[[], bool]) -> list[Any]:
        """Run generations one by one, as in a single run; return the last population.

        The run ends before a generation that might not fit into what is left.
        """
        setting = dict(self._setting)
        generations = setting.pop("generations")
        regressor = SymbolicRegressor(
            **setting,
            function_set=self._functions,
            metric=_METRICS[self._linear_scaling],
            random_state=self._random_state,
            warm_start=True,
            low_memory=True,
            n_jobs=1,
        )
        with np.errstate(all="ignore"):
            for generation in range(1, generations + 1):
                if not another_fits():
                    self.stopped_early = True
                    break
                regressor.set_params(generations=generation).fit(X, y)
                self.evaluations += setting["population_size"]
                if regressor.run_details_["best_fitness"][-1] <= setting["stopping_criteria"]:
                    break
        return list(regressor._programs[-1])  # noqa: SLF001 - gplearn has no other way


def _tree(program: list[Any]) -> Node:
    """Read gplearn's list in prefix order: functions, columns (int) and constants (float)."""
    return _read(iter(program))


def _read(items: Iterator[Any]) -> Node:
    item = next(items)
    if isinstance(item, GpFunction):
        return Node(item.name, tuple(_read(items) for _ in range(item.arity)))
    if isinstance(item, (int, np.integer)):
        return Node.variable(int(item))
    return Node.constant(float(item))
