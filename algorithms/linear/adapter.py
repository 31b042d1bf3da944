"""The baseline of least squares: a constant and a multiple of every variable, none left out."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from mdbench.worker import Problem

    Array = NDArray[np.float64]

_BLOCK = 65536
"""Rows that are processed at a time."""


class Adapter:
    """Fits each target as a linear combination of all variables."""

    def __init__(self, *, seed: int, threads: int) -> None:
        del seed, threads

    def fit(self, problem: Problem) -> None:
        """Solve the least-squares problem.

        Rows are read block by block, each reduced together with the rows before to a triangle
        (QR): a field may have millions of rows, and the normal equations would square the
        condition of derivatives whose sizes are many orders of magnitude apart.
        """
        X, Y = problem.X, problem.Y
        if not (np.isfinite(X).all() and np.isfinite(Y).all()):
            raise ValueError("the data are not finite")
        self._variables = problem.variables
        scale = np.abs(X).max(axis=0)
        scale = np.append(1.0, np.where(scale > 0, scale, 1.0))
        triangle = np.empty((0, len(scale) + Y.shape[1]))
        for begin in range(0, len(X), _BLOCK):
            rows = slice(begin, begin + _BLOCK)
            block = np.column_stack([_with_one(X[rows]) / scale, Y[rows]])
            triangle = np.asarray(np.linalg.qr(np.vstack([triangle, block]), mode="r"))
        # As for the rows themselves: a column that others make up is found in spite of rounding.
        cut_off = np.finfo(np.float64).eps * max(X.shape)
        scaled = np.linalg.lstsq(
            triangle[:, : len(scale)], triangle[:, len(scale) :], rcond=cut_off
        )
        self._coefficients = scaled[0] / scale[:, None]

    def predict(self, problem: Problem) -> Array:
        """Predict the targets, (n, targets)."""
        return np.asarray(_with_one(problem.X) @ self._coefficients)

    def equations(self) -> list[str]:
        """Return a sum for each target."""
        names = ["", *(f"*{name}" for name in self._variables)]
        return [
            " + ".join(f"{value!r}{name}" for value, name in zip(column, names, strict=True))
            for column in self._coefficients.T.tolist()
        ]


def _with_one(X: Array) -> Array:
    return np.column_stack([np.ones(len(X)), X])
