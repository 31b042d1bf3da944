"""Least squares on all products of two columns; terms that matter little are left out."""

from itertools import combinations_with_replacement

import numpy as np


class Adapter:
    """Fits a quadratic polynomial, and again without its small terms."""

    def __init__(self, *, seed: int, threads: int, smallest: float = 0.02) -> None:
        self.smallest = smallest

    def fit(self, problem) -> None:
        """Fit one equation for each target."""
        self.names = ("", *problem.variables)
        features = self._features(problem.X)
        sizes = np.linalg.norm(features, axis=0)
        laws = []
        for y in problem.Y.T:
            law = np.linalg.lstsq(features, y, rcond=None)[0]
            shares = np.abs(law) * sizes
            used = np.flatnonzero(shares >= self.smallest * shares.max())
            law = np.zeros_like(law)
            law[used] = np.linalg.lstsq(features[:, used], y, rcond=None)[0]
            laws.append(law)
        self.laws = np.column_stack(laws)

    def predict(self, problem) -> np.ndarray:
        """Predict the targets (n, targets) from `problem.X` alone."""
        return self._features(problem.X) @ self.laws

    def equations(self) -> list[str]:
        """Return one right-hand side for each target, in the names of `problem.variables`."""
        pairs = list(combinations_with_replacement(self.names, 2))
        return [
            " + ".join("*".join([repr(c), *filter(None, pair)]) for c, pair in zip(law, pairs) if c)
            or "0"
            for law in self.laws.T.tolist()
        ]

    def _features(self, X: np.ndarray) -> np.ndarray:
        columns = [np.ones(len(X)), *X.T]
        return np.column_stack([a * b for a, b in combinations_with_replacement(columns, 2)])
