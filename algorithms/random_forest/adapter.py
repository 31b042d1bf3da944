"""Random forest: the mean of trees on resampled rows."""

from __future__ import annotations

from estimators import ScikitLearnAdapter
from sklearn.ensemble import RandomForestRegressor


class Adapter(ScikitLearnAdapter):
    """One model a target; its parameters are those of ``RandomForestRegressor``."""

    estimator = RandomForestRegressor
