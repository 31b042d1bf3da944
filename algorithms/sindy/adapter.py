"""SINDy: sparse identification of nonlinear dynamics, with a fast sweep over its whole grid."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from adapters import StateAdapter
from models import Models
from states import Library
from stlsq import Regression, Stlsq

from mdbench.worker import columns_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from states import StateTerms

    from mdbench.worker import Problem


class Adapter(StateAdapter):
    """SINDy with sequentially thresholded least squares.

    The hyperparameters are ``library``, ``basis``, ``order``, ``alpha`` and ``threshold``; see
    ``states.Library`` and ``stlsq``.
    """

    @classmethod
    def setting(cls, *, alpha: float = 1e-5, threshold: float = 0.1, **library: Any) -> Stlsq:
        """Read a setting."""
        return Stlsq(Library.of(**library), float(alpha), float(threshold))

    @classmethod
    def representative(cls, equal: Sequence[int], sizes: Sequence[int]) -> int:
        """Choose the first of settings with equal models, as the published pipeline does."""
        del sizes
        return equal[0]

    @classmethod
    def find(
        cls, problem: Problem, terms: StateTerms, settings: Sequence[Stlsq], *, seed: int
    ) -> Models:
        """Follow all settings in one factor of features and targets."""
        del seed  # nothing is drawn
        regression = Regression.of(terms.features(columns_of(problem)), problem.du / terms.rate)
        return Models(regression.models(terms, settings)[0])
