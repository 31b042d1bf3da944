"""E-SINDy: ensembles of SINDy models, with one bootstrap for its whole grid."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from adapters import StateAdapter
from ensemble import Vote, Voted, draw_rows, vote
from models import Models
from states import Library
from stlsq import Regression, Stlsq

from mdbench.worker import columns_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray
    from states import StateTerms

    from mdbench.worker import Problem

    Array = NDArray[np.float64]


class Adapter(StateAdapter):
    """Bagging of SINDy with sequentially thresholded least squares.

    The hyperparameters are those of SINDy (``library``, ``basis``, ``order``, ``alpha`` and
    ``threshold``), and ``n_models``, ``subset`` and ``inclusion``; see ``ensemble.Vote``.
    """

    @classmethod
    def setting(
        cls,
        *,
        alpha: float = 1e-5,
        threshold: float = 0.1,
        n_models: int = 20,
        subset: float = 0.7,
        inclusion: float = 0.5,
        **library: Any,
    ) -> Voted:
        """Read a setting."""
        model = Stlsq(Library.of(**library), float(alpha), float(threshold))
        return Voted(model, Vote(n_models, subset, inclusion))

    @classmethod
    def find(
        cls, problem: Problem, terms: StateTerms, settings: Sequence[Voted], *, seed: int
    ) -> Models:
        """Follow all settings in one factor of features and targets for each sample."""
        features = terms.features(columns_of(problem))
        rows = np.concatenate([features, problem.du / terms.rate], axis=1)

        def fit(n_models: int, subset: float, models: Sequence[Stlsq]) -> Array:
            drawn = draw_rows(n_models, subset, len(rows), seed)
            factors = np.stack([np.linalg.qr(rows[sample], mode="r") for sample in drawn])
            regression = Regression(factors, drawn.shape[1], features.shape[1])
            return regression.models(terms, models)

        return Models(vote(settings, fit, (problem.du.shape[1], features.shape[1])))
