"""SINDy: sparse identification of nonlinear dynamics, with a fast sweep over its whole grid."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from models import Models, write_sum
from states import Library, feature_matrix, list_terms
from stlsq import Paths, Regression

from mdbench.worker import Candidate, Problem

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    Array = NDArray[np.float64]

@dataclass(frozen=True)
class _Setting:
    """One point of the grid."""

    library: Library
    alpha: float
    threshold: float

    @classmethod
    def of(
        cls,
        *,
        library: str = "cross",
        basis: str = "polynomial",
        order: int = 2,
        alpha: float = 1e-5,
        threshold: float = 0.1,
    ) -> _Setting:
        return cls(Library(library, basis, order), float(alpha), float(threshold))


class Adapter:
    """SINDy with sequentially thresholded least squares.

    Parameters
    ----------
    seed
        Not used: the method is deterministic.
    threads
        Not used: the bench limits the threads of NumPy.
    hyperparameters
        ``library``, ``basis``, ``order``, ``alpha``, ``threshold``; see ``features.Library``
        and ``stlsq``.
    """

    def __init__(self, *, seed: int, threads: int, **hyperparameters: Any) -> None:
        del seed, threads
        self._setting = _Setting.of(**hyperparameters)

    def fit(self, problem: Problem) -> None:
        """Find the sparse model of each target."""
        self._models = _Models(problem, [self._setting])
        self._indices = next(self._models.distinct())[1]

    def predict(self, problem: Problem) -> Array:
        """Evaluate the model on the states of `problem`; gives (n, n_targets)."""
        return self._models.predict(problem)[:, self._indices]

    def equations(self) -> list[str]:
        """Give one right-hand side for each target."""
        return [self._models.equation(index) for index in self._indices]

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
        """Fit every setting of `grid` on `train`; yield the first of each set of equal models."""
        del seed, threads
        settings = [_Setting.of(**{**hyperparameters, **setting}) for setting in grid]
        models = _Models(train, settings)
        predictions = models.predict(validation)
        texts = [models.equation(index) for index in range(predictions.shape[1])]
        for equal, indices in models.distinct():
            yield Candidate(
                equations=tuple(texts[index] for index in indices),
                predictions=predictions[:, indices],
                hyperparameters=grid[equal[0]],
            )


class _Models(Models):
    """The models that a list of settings gives for a trajectory."""

    def __init__(self, problem: Problem, settings: Sequence[_Setting]) -> None:
        libraries = list(dict.fromkeys(setting.library for setting in settings))
        self._terms = list_terms(libraries, len(problem.variables))
        self._texts = [term.text(problem.variables) for term in self._terms]
        columns = {
            library: np.array([term in library for term in self._terms]) for library in libraries
        }
        regression = Regression.of(feature_matrix(self._terms, problem.u), problem.du)
        n_targets = problem.du.shape[1]
        supports = regression.supports(
            Paths(
                target=np.tile(np.arange(n_targets), len(settings)),
                alpha=np.repeat([setting.alpha for setting in settings], n_targets),
                threshold=np.repeat([setting.threshold for setting in settings], n_targets),
                columns=np.repeat([columns[s.library] for s in settings], n_targets, axis=0),
            )
        )
        super().__init__(regression.refits(supports, n_targets), n_targets)

    def predict(self, problem: Problem) -> Array:
        """Evaluate all models; gives (n, number of models)."""
        return feature_matrix(self._terms, problem.u) @ self.coefficients.T

    def equation(self, index: int) -> str:
        """Write one model."""
        return write_sum(self.coefficients[index], self._texts)
