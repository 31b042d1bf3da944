"""XGBoost: regularised boosted trees."""

from __future__ import annotations

from estimators import ScikitLearnAdapter
from xgboost import XGBRegressor


class Adapter(ScikitLearnAdapter):
    """One model a target; its parameters are those of ``XGBRegressor``."""

    estimator = XGBRegressor
