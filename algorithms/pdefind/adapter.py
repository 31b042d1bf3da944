"""PDE-FIND: sparse regression on derivatives of a field, with a fast sweep over its whole grid."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from library import FieldLibrary, FieldTerms, usable
from models import Models, write_sum
from stlsq import Paths, Regression, fold

from mdbench.worker import Candidate, Problem

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    Array = NDArray[np.float64]

_MOST_TERMS = 1000
"""Larger libraries are left out: one setting of theirs takes minutes."""


@dataclass(frozen=True)
class _Setting:
    """One point of the grid."""

    library: FieldLibrary
    alpha: float
    threshold: float

    @classmethod
    def of(cls, *, alpha: float = 1e-5, threshold: float = 0.1, **library: Any) -> _Setting:
        return cls(FieldLibrary.of(**library), float(alpha), float(threshold))


class Adapter:
    """PDE-FIND with sequentially thresholded least squares.

    Parameters
    ----------
    seed
        Not used: the method is deterministic.
    threads
        Not used: the bench limits the threads of NumPy.
    hyperparameters
        ``library``, ``basis``, ``derivative_order``, ``order``, ``alpha``, ``threshold``; see
        ``library.FieldLibrary`` and ``stlsq``.
    """

    def __init__(self, *, seed: int, threads: int, **hyperparameters: Any) -> None:
        del seed, threads
        self._setting = _Setting.of(**hyperparameters)

    def fit(self, problem: Problem) -> None:
        """Find the sparse model of each target."""
        usable([self._setting.library], problem, _MOST_TERMS)
        self._terms, models = _fit(problem, [self._setting])
        self._coefficients = models.coefficients[models.of_setting[0]]

    def predict(self, problem: Problem) -> Array:
        """Evaluate the model on a field; gives an array like its states."""
        return self._terms.predict(self._coefficients, problem)

    def equations(self) -> list[str]:
        """Give one right-hand side for each target."""
        texts = self._terms.texts()
        return [write_sum(row, texts) for row in self._coefficients]

    @classmethod
    def sweep(
        cls,
        train: Problem,
        validation: Problem,
        grid: Sequence[dict[str, Any]],
        *,
        seed: int,
        threads: int,
        **hyperparameters: Any,
    ) -> Iterator[Candidate]:
        """Fit every setting of `grid` on `train`; yield the first of each set of equal models.

        Libraries of too many terms are left out, which the log says.
        """
        del seed, threads
        settings = [_Setting.of(**{**hyperparameters, **setting}) for setting in grid]
        small = usable([setting.library for setting in settings], train, _MOST_TERMS)
        places = np.flatnonzero(small)
        terms, models = _fit(train, [settings[place] for place in places])
        texts = terms.texts()
        for place, indices in models.distinct():
            coefficients = models.coefficients[indices]
            yield Candidate(
                equations=tuple(write_sum(row, texts) for row in coefficients),
                predictions=terms.predict(coefficients, validation),
                hyperparameters=grid[places[place]],
            )


def _fit(problem: Problem, settings: Sequence[_Setting]) -> tuple[FieldTerms, Models]:
    """Fit all settings to one pass over the field."""
    terms = FieldTerms([setting.library for setting in settings], problem)
    n_targets = problem.du.shape[-1]
    n_rows = problem.rows.size if "rows" in problem.arrays else problem.du[..., 0].size
    regression = Regression(fold(terms.blocks(problem)), n_rows, len(terms), mixed_units=True)
    supports = regression.supports(
        Paths(
            target=np.tile(np.arange(n_targets), len(settings)),
            alpha=np.repeat([setting.alpha for setting in settings], n_targets),
            threshold=np.repeat([setting.threshold for setting in settings], n_targets),
            columns=np.repeat([terms.columns(s.library) for s in settings], n_targets, axis=0),
        )
    )
    return terms, Models(regression.refits(supports, n_targets), n_targets)
