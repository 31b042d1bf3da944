"""StackGP: genetic programming on stacks, by correlation and complexity."""

from __future__ import annotations

import copy
import random
import warnings
from typing import TYPE_CHECKING, Any

import numpy as np
import StackGP
from written_fronts import WrittenFronts

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    Array = NDArray[np.float64]

__all__ = ["Adapter"]

_EXACT = 1e-28
"""1 - R² that is rounding: nothing is left to be found."""
_FUNCTIONS = {
    "add": StackGP.add,
    "sub": StackGP.sub,
    "mul": StackGP.mult,
    "div": StackGP.protectDiv,
    **{name: getattr(StackGP, name) for name in ("exp", "log", "sqrt", "sin", "cos", "tan")},
    **{name: getattr(StackGP, name) for name in ("tanh", "inv", "neg")},
    "square": StackGP.sqrd,
}


class Adapter(WrittenFronts):
    """Rounds of generations, each from the population of the one before.

    The package scores a model by its correlation with the target.  After each round the Pareto
    front of correlation and complexity gets the best slope and intercept, and is recorded.

    Parameters
    ----------
    seed
        Of Python's and NumPy's random numbers, which the package draws from.
    threads
        The package has one.
    functions
        Names of functions.
    population_size, max_complexity, mutation_rate, crossover_rate, spawn_rate, elitism_rate
        As in ``evolve``: the rates in percent.
    generations
        Of a round.
    rounds
        The most rounds.
    max_rows
        Largest number of samples in the search; of more, a random part is drawn.
    """

    package = "StackGP"

    def __init__(
        self,
        *,
        seed: int,
        threads: int,
        functions: Sequence[str],
        population_size: int,
        max_complexity: int,
        mutation_rate: int,
        crossover_rate: int,
        spawn_rate: int,
        elitism_rate: int,
        generations: int,
        rounds: int,
        max_rows: int,
    ) -> None:
        super().__init__(seed=seed, threads=threads, max_rows=max_rows)
        if unknown := [name for name in functions if name not in _FUNCTIONS]:
            raise ValueError(f"no function is called {unknown[0]!r}; there are {list(_FUNCTIONS)}")
        self._generations, self._rounds = generations, rounds
        self._settings: dict[str, Any] = {
            # As many removals from the stack as half of the functions, as the package has them.
            "ops": [_FUNCTIONS[name] for name in functions] + ["pop"] * (len(functions) // 2),
            "popSize": population_size,
            "maxComplexity": max_complexity,
            "mutationRate": mutation_rate,
            "crossoverRate": crossover_rate,
            "spawnRate": spawn_rate,
            "elitismRate": elitism_rate,
            "align": False,
        }
        self.evaluations = 0

    def search(self, X: Array, y: Array, target: int, limit: float | None) -> list[str]:
        """Go on round by round while another fits into the budget."""
        del target, limit
        self._errors = {repr(float(np.mean(y))): 1.0}
        random.seed(self.seed)
        np.random.seed(self.seed % 2**32)  # noqa: NPY002 - what the package draws from
        inputs = list(X.T)
        models: list[Any] = []
        another_fits = self.budget.rounds(self.end - self.budget.spent())
        for _ in range(self._rounds):
            if not another_fits():
                self.stopped_early = True
                break
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # overflow in expressions that are tried
                models = StackGP.evolve(
                    inputs, y, self._generations, initialPop=models, **self._settings
                )
                self._keep(models, inputs, y)
            self.evaluations += self._generations * self._settings["popSize"]
            if min(self._errors.values()) <= _EXACT:
                break
        return list(self.found(0))

    def _keep(self, models: Sequence[Any], inputs: list[Array], y: Array) -> None:
        """Add the front of a population, with slope and intercept, as text."""
        for model in StackGP.paretoTournament(list(models)):
            aligned = StackGP.alignGPModel(copy.deepcopy(model), inputs, y)
            self._errors[str(StackGP.printGPModel(aligned))] = float(model[2][0])
