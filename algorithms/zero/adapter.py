"""The baseline that any method has to beat: all right-hand sides are zero (NMSE 1)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from mdbench.worker import Problem

    Array = NDArray[np.float64]


class Adapter:
    """Predicts zero."""

    def __init__(self, *, seed: int, threads: int) -> None:
        del seed, threads

    def fit(self, problem: Problem) -> None:
        """Count the targets."""
        if not (np.isfinite(problem.X).all() and np.isfinite(problem.Y).all()):
            raise ValueError("the data are not finite")
        self._targets = len(problem.targets)

    def predict(self, problem: Problem) -> Array:
        """Predict zeros, (n, targets)."""
        return np.zeros((len(problem.X), self._targets))

    def equations(self) -> list[str]:
        """Return a zero for each target."""
        return ["0"] * self._targets
