"""The adapter of @NAME@: sparse polynomials of the states, to be replaced by your method."""

from __future__ import annotations

import numpy as np


class Adapter:
    """Fits the rates `du` by polynomials of degree two, and drops small terms."""

    def __init__(self, *, seed: int, threads: int, threshold: float = 0.1) -> None:
        self.threshold = threshold

    def fit(self, problem) -> None:
        """Learn from times `problem.t` (n,), states `u` (n, variables), rates `du` (n, targets)."""
        self.names = self._names(problem.variables)
        terms = self._terms(problem.u)
        self.coefficients = np.zeros((terms.shape[1], problem.du.shape[1]))
        weights = problem.noise.weights(problem.u)  # of each state; all 1 without noise
        for target, (rates, weight) in enumerate(zip(problem.du.T, weights.T)):
            large = np.ones(terms.shape[1], dtype=bool)
            for _ in range(10):
                self.coefficients[:, target] = 0.0
                fit = np.linalg.lstsq(terms[:, large] * weight[:, None], rates * weight, rcond=None)
                self.coefficients[large, target] = fit[0]
                large = np.abs(self.coefficients[:, target]) > self.threshold

    def predict(self, problem) -> np.ndarray:
        """Predict the rates (n, targets) from `problem.u` alone."""
        return self._terms(problem.u) @ self.coefficients

    def equations(self) -> list[str]:
        """Return one right-hand side for each target, in the names of `problem.variables`."""
        return [
            " + ".join(f"{value!r}*{name}" for value, name in zip(column, self.names) if value)
            or "0"
            for column in self.coefficients.T.tolist()
        ]

    def _names(self, variables) -> list[str]:
        pairs = [f"{a}*{b}" for i, a in enumerate(variables) for b in variables[i:]]
        return ["1", *variables, *pairs]

    def _terms(self, u: np.ndarray) -> np.ndarray:
        pairs = [u[:, i] * u[:, j] for i in range(u.shape[1]) for j in range(i, u.shape[1])]
        return np.column_stack([np.ones(len(u)), u, *pairs])
