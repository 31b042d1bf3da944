"""PDE-FIND: sparse regression on derivatives of a field, with a fast sweep over its whole grid."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from field_adapter import FieldAdapter
from library import FieldLibrary
from models import Models
from stlsq import Paths, Regression, fold

if TYPE_CHECKING:
    from collections.abc import Sequence

    from library import FieldTerms

    from mdbench.worker import Problem


@dataclass(frozen=True)
class _Setting:
    """One point of the grid."""

    library: FieldLibrary
    alpha: float
    threshold: float


class Adapter(FieldAdapter):
    """PDE-FIND with sequentially thresholded least squares.

    The hyperparameters are ``library``, ``basis``, ``derivative_order``, ``order``, ``alpha`` and
    ``threshold``; see ``library.FieldLibrary`` and ``stlsq``.
    """

    @classmethod
    def setting(cls, *, alpha: float = 1e-5, threshold: float = 0.1, **library: Any) -> _Setting:
        """Read a setting."""
        return _Setting(FieldLibrary.of(**library), float(alpha), float(threshold))

    @classmethod
    def find(
        cls, problem: Problem, terms: FieldTerms, settings: Sequence[_Setting], *, seed: int
    ) -> Models:
        """Follow all settings in one factor of features and targets."""
        del seed  # nothing is drawn
        n_targets = problem.du.shape[-1]
        n_rows = problem.rows.size if "rows" in problem.arrays else problem.du[..., 0].size
        regression = Regression(fold(terms.blocks(problem)), n_rows, len(terms), mixed_units=True)
        supports = regression.supports(
            Paths(
                target=np.tile(np.arange(n_targets), len(settings)),
                alpha=np.repeat([setting.alpha for setting in settings], n_targets),
                threshold=np.repeat([setting.threshold for setting in settings], n_targets),
                columns=np.repeat(
                    [terms.columns(setting.library) for setting in settings], n_targets, axis=0
                ),
            )
        )
        return Models(regression.refits(supports, n_targets), n_targets)
