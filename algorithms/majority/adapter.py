"""The baseline that reads no sequence: the share of the label 1 in the training."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from mdbench.worker import Problem

    Array = NDArray[np.float64]


class Adapter:
    """Predicts the share of right candidates for every sequence."""

    def __init__(self, *, seed: int, threads: int) -> None:
        del seed, threads

    def fit(self, problem: Problem) -> None:
        """Count labels.

        Raises
        ------
        ValueError
            If they are not 0 and 1.
        """
        if not np.isin(problem.Y, (0.0, 1.0)).all():
            raise ValueError("the labels are not 0 and 1")
        self._share = float(problem.Y.mean())

    def predict(self, problem: Problem) -> Array:
        """Return the share, (n, 1)."""
        return np.full((len(problem.X), 1), self._share)

    def equations(self) -> list[str]:
        """There are none."""
        return []
