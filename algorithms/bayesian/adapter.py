"""Bayesian sparse regression of fields, with the probability that each term is in the equation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from adapters import FieldAdapter
from library import FieldLibrary
from models import Models
from spike_slab import Posterior, posteriors
from stlsq import Regression, Stlsq, fold

if TYPE_CHECKING:
    from collections.abc import Sequence

    from library import FieldTerms
    from numpy.typing import NDArray

    from mdbench.worker import Problem

    Array = NDArray[np.float64]


@dataclass(frozen=True)
class _BayesianSetting:
    """One point of the grid: start, tolerance, and probability from which terms are included."""

    start: Stlsq
    tolerance: float
    inclusion: float

    @property
    def library(self) -> FieldLibrary:
        """The terms that it may use."""
        library: FieldLibrary = self.start.library
        return library


class Adapter(FieldAdapter):
    """Spike-and-slab variational Bayes that begins with the terms that STLSQ keeps.

    The hyperparameters are those of PDE-FIND for the start (``library``, ``basis``,
    ``derivative_order``, ``order``, ``alpha`` and ``threshold``), ``tolerance`` for the evidence
    lower bound, and ``inclusion``, the probability above which a term is in the equation.

    Probabilities are printed to the log of a fit, and are in the candidates' hyperparameters as
    ``inclusion_probabilities``: for each target those of the terms that STLSQ kept.
    """

    most_terms: ClassVar[int] = 400
    """Largest number of terms: each iteration inverts a matrix of that size for every start."""

    @classmethod
    def setting(
        cls,
        *,
        alpha: float = 1e-5,
        threshold: float = 0.1,
        tolerance: float = 1e-4,
        inclusion: float = 0.5,
        inclusion_probabilities: object = None,
        **library: Any,
    ) -> _BayesianSetting:
        """Read a setting; the inclusion probabilities of a candidate are no part of it."""
        del inclusion_probabilities
        start = Stlsq(FieldLibrary.of(**library), float(alpha), float(threshold))
        return _BayesianSetting(start, float(tolerance), float(inclusion))

    @classmethod
    def find(
        cls, problem: Problem, terms: FieldTerms, settings: Sequence[_BayesianSetting], *, seed: int
    ) -> Models:
        """Run the iteration once for every start that STLSQ gives."""
        p, n_rows = len(terms), terms.count_rows(problem)
        factor = fold(terms.blocks(problem))
        n_targets = factor.shape[1] - p
        starts = list(dict.fromkeys(setting.start for setting in settings))
        kept = Regression(factor, n_rows, p, mixed_units=True).kept(terms, starts)[0]
        number = {start: i for i, start in enumerate(starts)}
        tolerances = sorted({setting.tolerance for setting in settings})

        size = np.sqrt((factor**2).sum(axis=0) / n_rows)
        unit = factor / np.where(size > 0, size, 1.0)
        gram = unit.T @ unit
        units = size[p:, None] / np.where(size[:p] > 0, size[:p], 1.0)
        known: dict[tuple[int, bytes], list[Posterior]] = {}

        def posterior(start: Stlsq, target: int) -> tuple[NDArray[np.intp], list[Posterior]]:
            mask = kept[number[start], target]
            columns = np.flatnonzero(mask)
            key = target, mask.tobytes()
            if key not in known:
                known[key] = posteriors(
                    gram[np.ix_(columns, columns)],
                    gram[columns, p + target],
                    gram[p + target, p + target],
                    n_rows=n_rows,
                    tolerances=tolerances,
                    rng=np.random.default_rng(seed),
                )
            return columns, known[key]

        texts = terms.texts()
        found = np.zeros((len(settings), n_targets, p))
        remarks = []
        for place, setting in enumerate(settings):
            probabilities = []
            for target in range(n_targets):
                columns, each = posterior(setting.start, target)
                one = each[tolerances.index(setting.tolerance)]
                believed = np.where(one.inclusion > setting.inclusion, one.inclusion * one.mean, 0)
                found[place, target, columns] = believed * units[target, columns]
                probabilities.append(
                    {
                        texts[column]: round(float(probability), 6)
                        for column, probability in zip(columns, one.inclusion, strict=True)
                    }
                )
            remarks.append(
                {"inclusion_probabilities": dict(zip(problem.targets, probabilities, strict=True))}
            )
        return Models(found, remarks)
