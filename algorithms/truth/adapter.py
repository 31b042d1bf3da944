"""The reference: the true equations themselves, evaluated on what a method is given."""

from __future__ import annotations

from typing import Any

import numpy as np

from mdbench.worker import Unsupported

_FUNCTIONS = {
    "sqrt": np.sqrt,
    "exp": np.exp,
    "log": np.log,
    "sin": np.sin,
    "cos": np.cos,
    "tan": np.tan,
    "asin": np.arcsin,
    "acos": np.arccos,
    "atan": np.arctan,
    "sinh": np.sinh,
    "cosh": np.cosh,
    "tanh": np.tanh,
    "abs": np.abs,
    "Abs": np.abs,
    "sign": np.sign,
    "pi": np.pi,
    "__builtins__": {},
}
"""What a right-hand side may call; the texts are the bench's own."""


class Adapter:
    """Says the truth."""

    def __init__(self, *, seed: int, threads: int) -> None:
        del seed, threads

    def fit(self, problem: Any) -> None:
        """Take the equations that the bench gives."""
        if problem.truth is None:
            raise Unsupported("nobody knows the true equations of these data")
        if not (np.isfinite(problem.X).all() and np.isfinite(problem.Y).all()):
            raise ValueError("the data are not finite")
        self._truth = problem.truth
        self.predict(problem)

    def predict(self, problem: Any) -> np.ndarray:
        """Evaluate them, (n, targets)."""
        columns = dict(zip(problem.variables, problem.X.T, strict=True))
        predictions = np.empty((len(problem.X), len(self._truth)))
        for index, text in enumerate(self._truth):
            code = compile(text, "<truth>", "eval")
            predictions[:, index] = eval(code, {**_FUNCTIONS, **columns})  # noqa: S307 - our own
        return predictions

    def equations(self) -> list[str]:
        """Give them as they are."""
        return list(self._truth)
