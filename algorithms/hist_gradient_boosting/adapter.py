"""Histogram gradient boosting: scikit-learn's boosted trees."""

from __future__ import annotations

from estimators import ScikitLearnAdapter
from sklearn.ensemble import HistGradientBoostingRegressor


class Adapter(ScikitLearnAdapter):
    """One model a target; its parameters are those of ``HistGradientBoostingRegressor``."""

    estimator = HistGradientBoostingRegressor
