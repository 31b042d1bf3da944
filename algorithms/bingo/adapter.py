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
    from collections.abc import Callable, Iterable, Sequence

    import numpy as np
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

__all__ = ["Adapter"]

_NO_LIMIT = 1e9


class _EndedError(Exception):
    """The search has used up its share of the budget."""


class _Regressor(SymbolicRegressor):  # type: ignore[misc] # a class of the package
    """Bingo's regressor, which ends before a generation that might not end in time.

    Its own limit is in wall time, and it looks at that every ten generations.

    Parameters
    ----------
    another_fits
        Returns whether another generation fits: see ``Budget.rounds``.
    """

    def __init__(self, *, another_fits: Callable[[], bool], **parameters: Any) -> None:
        super().__init__(**parameters)
        self._another_fits = another_fits

    def _get_archipelago(self, X: Array, y: Array, n_processes: int) -> Any:
        island = super()._get_archipelago(X, y, n_processes)
        step = island._execute_generational_step  # noqa: SLF001 - Bingo has no other way

        def step_or_end() -> None:
            if not self._another_fits():
                raise _EndedError
            step()

        island._execute_generational_step = step_or_end  # noqa: SLF001 - the same
        self.archipelago = island
        return island


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
        self.evaluations = 0
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
        """Evolve, as long as another generation like the last one fits into the budget."""
        del limit
        os.environ.pop("OMP_NUM_THREADS", None)  # Bingo would start so many processes
        self._running = model = _Regressor(
            another_fits=self.budget.rounds(self.end - self.budget.spent()),
            max_time=_NO_LIMIT,
            random_state=self.seed % 2**32,
            **self._parameters,
        )
        try:
            model.fit(X, y)
        except _EndedError:
            self.stopped_early = True
            return self.found(target)
        finally:
            self.evaluations += int(model.archipelago.get_fitness_evaluation_count())
        return _texts(regressor.equation for regressor in model.get_pareto_front())

    def found(self, target: int) -> list[str]:
        """Return the best of a search that was stopped, those of its last generation too."""
        del target
        island = getattr(self._running, "archipelago", None)
        if island is None:
            return []
        island.hall_of_fame.update([each for each in island.population if each.fit_set])
        return _texts(island.hall_of_fame)


def _texts(graphs: Iterable[Any]) -> list[str]:
    return [graph.get_formatted_string("sympy").replace("X_", "x") for graph in graphs]
