"""AFP-FE: age-fitness Pareto optimisation with co-evolved fitness predictors."""

from __future__ import annotations

from typing import Any

from predictors import PredictorPlan
from regressor import AgeFitness


class Adapter(AgeFitness):
    """AFP whose errors are estimated; the other parameters are explained in ``regressor``."""

    def __init__(
        self,
        *,
        predictors: int,
        predictor_samples: int,
        trainers: int,
        trainer_interval: int,
        **others: Any,
    ) -> None:
        plan = PredictorPlan(
            population_size=predictors,
            samples=predictor_samples,
            trainers=trainers,
            interval=trainer_interval,
        )
        super().__init__(predictor_plan=plan, **others)
