"""The baseline that any method has to beat: all right-hand sides are zero (NMSE 1)."""

from __future__ import annotations

from typing import Any

import numpy as np


class Adapter:
    """Says zero."""

    def __init__(self, *, seed: int, threads: int) -> None:
        del seed, threads

    def fit(self, problem: Any) -> None:
        """Count the targets."""
        if not (np.isfinite(problem.X).all() and np.isfinite(problem.Y).all()):
            raise ValueError("the data are not finite")
        self._targets = len(problem.targets)

    def predict(self, problem: Any) -> np.ndarray:
        """Predict zeros, (n, targets)."""
        return np.zeros((len(problem.X), self._targets))

    def equations(self) -> list[str]:
        """Give a zero for each target."""
        return ["0"] * self._targets
