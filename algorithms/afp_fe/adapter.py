"""AFP-FE: age-fitness Pareto optimisation with co-evolved fitness predictors."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evolution import Plan
from predictors import PredictorPlan
from regressor import AgeFitness

if TYPE_CHECKING:
    from collections.abc import Sequence


class Adapter(AgeFitness):
    """AFP whose errors are estimated; the parameters are explained in ``regressor``."""

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
        predictors: int,
        predictor_samples: int,
        trainers: int,
        trainer_interval: int,
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
            predictor_plan=PredictorPlan(
                population_size=predictors,
                samples=predictor_samples,
                trainers=trainers,
                interval=trainer_interval,
            ),
        )
