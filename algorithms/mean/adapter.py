"""The baseline of a constant: each right-hand side is its mean over the training samples."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from mdbench.worker import Problem

    Array = NDArray[np.float64]


class Adapter:
    """Predicts the mean."""

    def __init__(self, *, seed: int, threads: int) -> None:
        del seed, threads

    def fit(self, problem: Problem) -> None:
        """Average the targets."""
        if not (np.isfinite(problem.X).all() and np.isfinite(problem.Y).all()):
            raise ValueError("the data are not finite")
        self._means = problem.Y.mean(axis=0)

    def predict(self, problem: Problem) -> Array:
        """Predict the means, (n, targets)."""
        return np.tile(self._means, (len(problem.X), 1))

    def equations(self) -> list[str]:
        """Return a number for each target."""
        return [repr(mean) for mean in self._means.tolist()]
