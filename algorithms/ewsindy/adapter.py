"""E-WSINDy: ensembles of WSINDy models, with one bootstrap for its whole grid."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from adapters import FieldAdapter, fit_libraries
from ensemble import Vote, Voted, draw_rows, vote
from library import FieldLibrary
from sr3 import Sr3, factor_samples, models
from weak import WeakForm

if TYPE_CHECKING:
    from collections.abc import Sequence

    from library import FieldTerms
    from models import Models
    from numpy.typing import NDArray

    from mdbench.worker import Problem

    Array = NDArray[np.float64]


class Adapter(FieldAdapter):
    """Bagging of WSINDy with SR3: the windows are drawn once, and each model has some of them.

    The hyperparameters are those of WSINDy (``library``, ``basis``, ``derivative_order``,
    ``order``, ``points`` and ``threshold``), and ``n_models``, ``subset`` and ``inclusion``; see
    ``ensemble.Vote``.
    """

    most_terms: ClassVar[int] = 300
    """Every model is one of 150, so that libraries have to be smaller than for one model."""

    @classmethod
    def setting(
        cls,
        *,
        points: int = 200,
        threshold: float = 0.1,
        n_models: int = 20,
        subset: float = 0.7,
        inclusion: float = 0.5,
        **library: Any,
    ) -> Voted:
        """Read a setting."""
        model = Sr3(FieldLibrary.of(**library), points, float(threshold))
        return Voted(model, Vote(n_models, subset, inclusion))

    @classmethod
    def find(
        cls, problem: Problem, terms: FieldTerms, settings: Sequence[Voted], *, seed: int
    ) -> Models:
        """Integrate all terms over as many windows as any setting takes, and fit all samples."""
        start = problem.budget.spent()
        most = max(setting.model.points for setting in settings)
        most_models = max(setting.vote.n_models for setting in settings)
        weak = WeakForm(problem, most, np.random.default_rng(seed))
        features, targets = weak.regression(terms)
        p = len(terms)

        @cache
        def sampled(points: int, subset: float) -> Array:
            drawn = draw_rows(most_models, subset, points, seed)
            return factor_samples(features[:points], targets[:points], drawn)

        def fit(chosen: Sequence[Voted]) -> Array:
            found = np.empty((len(chosen), targets.shape[1], p))
            for points in {setting.model.points for setting in chosen}:

                def fit_samples(
                    n_models: int, subset: float, some: Sequence[Sr3], points: int = points
                ) -> Array:
                    factors = sampled(points, subset)[:n_models]
                    return models(factors[..., :p], factors[..., p:], terms, some)

                alike = [i for i, setting in enumerate(chosen) if setting.model.points == points]
                found[alike] = vote([chosen[i] for i in alike], fit_samples, (targets.shape[1], p))
            return found

        return fit_libraries(settings, terms, problem, fit, start=start)
