"""WSINDy: sparse regression on the weak form of a library."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from adapters import FieldAdapter, fit_libraries
from library import FieldLibrary
from sr3 import Sr3, models
from stlsq import fold
from weak import WeakForm

if TYPE_CHECKING:
    from collections.abc import Sequence

    from library import FieldTerms
    from models import Models
    from numpy.typing import NDArray

    from mdbench.worker import Problem

    Array = NDArray[np.float64]


class Adapter(FieldAdapter):
    """WSINDy with SR3.

    The hyperparameters are ``library``, ``basis``, ``derivative_order``, ``order``, ``points``
    (the number of windows that are integrated over) and ``threshold``; see
    ``library.FieldLibrary``, ``weak`` and ``sr3``.
    """

    @classmethod
    def setting(cls, *, points: int = 200, threshold: float = 0.1, **library: Any) -> Sr3:
        """Read a setting."""
        return Sr3(FieldLibrary.of(**library), points, float(threshold))

    @classmethod
    def find(
        cls, problem: Problem, terms: FieldTerms, settings: Sequence[Sr3], *, seed: int
    ) -> Models:
        """Integrate all terms over as many windows as any setting takes, and follow SR3 in them."""
        start = problem.budget.spent()
        most = max(setting.points for setting in settings)
        weak = WeakForm(problem, most, np.random.default_rng(seed))
        features, targets = weak.regression(terms)
        p = len(terms)
        factors = {
            points: fold([(features[:points], targets[:points])])
            for points in {setting.points for setting in settings}
        }

        def fit(chosen: Sequence[Sr3]) -> Array:
            found = np.empty((len(chosen), targets.shape[1], p))
            for points, factor in factors.items():
                alike = [i for i, setting in enumerate(chosen) if setting.points == points]
                some = [chosen[i] for i in alike]
                found[alike] = models(factor[:, :p], factor[:, p:], terms, some)
            return found

        return fit_libraries(settings, terms, problem, fit, start=start)
