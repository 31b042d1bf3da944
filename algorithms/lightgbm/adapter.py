"""LightGBM: boosted trees that grow leaf by leaf."""

from __future__ import annotations

from typing import ClassVar

from estimators import ScikitLearnAdapter
from lightgbm import LGBMRegressor


class Adapter(ScikitLearnAdapter):
    """One model a target; its parameters are those of ``LGBMRegressor``."""

    estimator = LGBMRegressor
    always: ClassVar = {"deterministic": True, "force_row_wise": True, "verbosity": -1}
