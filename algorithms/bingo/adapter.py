"""Bingo: genetic programming on acyclic graphs, with age and fitness."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any

from written_fronts import WrittenFronts

# Bingo starts MPI when it is imported, where it finds one, and none is needed for one process:
# MPI looks for networks and shared memory, which a job has none of, and ends the process.
sys.modules["mpi4py"] = None  # type: ignore[assignment]
from bingo.symbolic_regression.symbolic_regressor import SymbolicRegressor  # noqa: E402

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    import numpy as np
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

__all__ = ["Adapter"]

_NO_LIMIT = 1e9


class Adapter(WrittenFronts):
    """One population a target; the candidates are its Pareto front of error and size.

    Parameters
    ----------
    seed, threads
        One thread.
    operators
        As Bingo names them.
    population_size, stack_size, use_simplification, crossover_prob, mutation_prob, metric, \
clo_alg, clo_threshold, generations, evolutionary_algorithm
        As in ``SymbolicRegressor``.
    max_rows
        Largest number of samples in the search; of more, a random part is drawn.
    """

    package = "Bingo"
    # The functions that Bingo evaluates; the equations that it prints do not show them.
    calls = {"log": "log(abs({0}))", "sqrt": "sqrt(abs({0}))"}  # noqa: RUF012

    def __init__(
        self,
        *,
        seed: int,
        threads: int,
        operators: Sequence[str],
        population_size: int,
        stack_size: int,
        use_simplification: bool,
        crossover_prob: float,
        mutation_prob: float,
        metric: str,
        clo_alg: str,
        clo_threshold: float,
        generations: int,
        evolutionary_algorithm: str,
        max_rows: int,
    ) -> None:
        super().__init__(seed=seed, threads=threads, max_rows=max_rows)
        self._generations = generations
        self._parameters: dict[str, Any] = {
            "operators": list(operators),
            "population_size": population_size,
            "stack_size": stack_size,
            "use_simplification": use_simplification,
            "crossover_prob": crossover_prob,
            "mutation_prob": mutation_prob,
            "metric": metric,
            "clo_alg": clo_alg,
            "clo_threshold": clo_threshold,
            "generations": generations,
            "evolutionary_algorithm": evolutionary_algorithm,
        }
        self._running: Any = None

    def search(self, X: Array, y: Array, target: int, limit: float | None) -> list[str]:
        """Evolve; Bingo checks its time limit every few generations."""
        del target
        os.environ.pop("OMP_NUM_THREADS", None)  # Bingo would start so many processes
        self._running = model = SymbolicRegressor(
            max_time=_NO_LIMIT if limit is None else limit,
            random_state=self.seed % 2**32,
            **self._parameters,
        )
        model.fit(X, y)
        island = model.archipelago
        self.stopped_early |= (
            island.generational_age < self._generations
            and island.get_best_fitness() > model.fitness_threshold
        )
        return _texts(regressor.equation for regressor in model.get_pareto_front())

    def found(self, target: int) -> list[str]:
        """Return the hall of fame of a search that was stopped."""
        del target
        island = getattr(self._running, "archipelago", None)
        return [] if island is None else _texts(island.hall_of_fame)


def _texts(graphs: Iterable[Any]) -> list[str]:
    return [graph.get_formatted_string("sympy").replace("X_", "x") for graph in graphs]
