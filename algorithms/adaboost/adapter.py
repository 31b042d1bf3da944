"""AdaBoost: trees, each on the rows that those before are wrong about."""

from __future__ import annotations

from estimators import ScikitLearnAdapter
from sklearn.ensemble import AdaBoostRegressor


class Adapter(ScikitLearnAdapter):
    """One model a target; its parameters are those of ``AdaBoostRegressor``."""

    estimator = AdaBoostRegressor
