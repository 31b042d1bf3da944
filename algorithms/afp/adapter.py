"""AFP: symbolic regression by age-fitness Pareto optimisation."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evolution import Plan
from regressor import AgeFitness

if TYPE_CHECKING:
    from collections.abc import Sequence


class Adapter(AgeFitness):
    """Age-fitness Pareto optimisation; the parameters are explained in ``regressor``."""

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
    ) -> None:
        del threads  # one is used
        super().__init__(
            seed=seed,
            plan=Plan(
                population_size=population_size,
                generations=generations,
                crossover_probability=crossover_probability,
                climb=constants,
                stop_threshold=stop_threshold,
            ),
            functions=functions,
            max_size=max_size,
            max_initial_size=max_initial_size,
            max_depth=max_depth,
            linear_scaling=linear_scaling,
            max_rows=max_rows,
        )
