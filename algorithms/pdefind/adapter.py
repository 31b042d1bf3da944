"""PDE-FIND: sparse regression on derivatives of a field, with a fast sweep over its whole grid."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from adapters import FieldAdapter, fit_libraries
from library import FieldLibrary
from stlsq import Regression, Stlsq, fold

if TYPE_CHECKING:
    from collections.abc import Sequence

    from library import FieldTerms
    from models import Models

    from mdbench.worker import Problem


class Adapter(FieldAdapter):
    """PDE-FIND with sequentially thresholded least squares.

    The hyperparameters are ``library``, ``basis``, ``derivative_order``, ``order``, ``alpha`` and
    ``threshold``; see ``library.FieldLibrary`` and ``stlsq``.
    """

    @classmethod
    def setting(cls, *, alpha: float = 1e-5, threshold: float = 0.1, **library: Any) -> Stlsq:
        """Read a setting."""
        return Stlsq(FieldLibrary.of(**library), float(alpha), float(threshold))

    @classmethod
    def find(
        cls, problem: Problem, terms: FieldTerms, settings: Sequence[Stlsq], *, seed: int
    ) -> Models:
        """Follow all settings in one factor of features and targets."""
        del seed  # nothing is drawn
        start = problem.budget.spent()
        factor, n_rows = fold(terms.blocks(problem)), terms.count_rows(problem)
        regression = Regression(factor, n_rows, len(terms), mixed_units=True)
        return fit_libraries(
            settings,
            terms,
            problem,
            lambda chosen: regression.models(terms, chosen, longest=cls.longest)[0],
            start=start,
        )
