"""The reference: the true equations themselves, evaluated on what a method is given."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from mdbench.worker import Unsupported

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from mdbench.worker import Problem

    Array = NDArray[np.float64]

_FUNCTIONS = {
    "abs": np.abs,
    "acos": np.arccos,
    "acosh": np.arccosh,
    "asin": np.arcsin,
    "asinh": np.arcsinh,
    "atan": np.arctan,
    "atanh": np.arctanh,
    "cos": np.cos,
    "cosh": np.cosh,
    "cot": lambda x: np.cos(x) / np.sin(x),
    "exp": np.exp,
    "floor": np.floor,
    "log": np.log,
    "max": np.maximum,
    "min": np.minimum,
    "sign": np.sign,
    "sin": np.sin,
    "sinh": np.sinh,
    "sqrt": np.sqrt,
    "tan": np.tan,
    "tanh": np.tanh,
    "Abs": np.abs,
    "Max": np.maximum,
    "Min": np.minimum,
    "ln": np.log,
    "pi": np.pi,
    "E": np.e,
    "__builtins__": {},
}
"""Functions that a right-hand side may call; the texts are the bench's own."""


class Adapter:
    """Returns the true equations."""

    def __init__(self, *, seed: int, threads: int) -> None:
        del seed, threads

    def fit(self, problem: Problem) -> None:
        """Take the equations that the bench gives."""
        if problem.truth is None:
            raise Unsupported("the true equations of these data are unknown")
        if not (np.isfinite(problem.X).all() and np.isfinite(problem.Y).all()):
            raise ValueError("the data are not finite")
        codes = [compile(text, "<truth>", "eval") for text in problem.truth]
        known = {*_FUNCTIONS, *problem.variables}
        lacking = sorted({name for code in codes for name in code.co_names} - known)
        if lacking:
            raise Unsupported(
                f"the true equations have {', '.join(lacking)}, which methods are not given here"
            )
        self._truth, self._codes = problem.truth, codes
        self.predict(problem)

    def predict(self, problem: Problem) -> Array:
        """Evaluate them, (n, targets)."""
        columns = dict(zip(problem.variables, problem.X.T, strict=True))
        predictions = np.empty((len(problem.X), len(self._codes)))
        for index, code in enumerate(self._codes):
            predictions[:, index] = eval(code, {**_FUNCTIONS, **columns})  # noqa: S307 - our own
        return predictions

    def equations(self) -> list[str]:
        """Return them as they are."""
        return list(self._truth)
