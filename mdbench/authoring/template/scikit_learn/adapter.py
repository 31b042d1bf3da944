"""The adapter of @NAME@: a random forest, to be replaced by a class of your package."""

from __future__ import annotations

from estimators import ScikitLearnAdapter
from sklearn.ensemble import RandomForestRegressor


class Adapter(ScikitLearnAdapter):
    """One model a target; its parameters are those of the class below."""

    # A class with get_params, fit and predict.  Seed and threads are given to it where it has
    # random_state and n_jobs.
    estimator = RandomForestRegressor
