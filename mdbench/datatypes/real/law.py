"""A law with free constants: its values, and its constants by least squares."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy.optimize import least_squares

from mdbench.expressions import parse

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from mdbench.expressions import Equation

    Array = NDArray[np.float64]

__all__ = ["Law"]

_NAME = re.compile(r"[A-Za-z_]\w*")
_EXACT = 1e-15


@dataclass(frozen=True)
class Law:
    """A right-hand side in columns and constants.

    Attributes
    ----------
    text
        As it is written, such as ``b1*a**1.5``.
    start
        The constants of the best fit to all rows, by name, from which other fits set out.
    residual
        The sum of squared residuals of that fit, as its source certifies it; None where none does.
    """

    text: str
    start: Mapping[str, float]
    residual: float | None = None

    def values(self, columns: Mapping[str, Array], constants: Mapping[str, float]) -> Array:
        """Work the law out on columns of n rows, (n,).

        Raises
        ------
        EquationError
            If it is no equation in the columns and the constants.
        """
        return self._evaluated(self._read(columns), columns, constants)

    def fitted(self, columns: Mapping[str, Array], y: Array) -> dict[str, float]:
        """Give the constants with the least sum of squared residuals (Levenberg and Marquardt).

        Parameters
        ----------
        columns, y
            The rows to fit, at least as many as there are constants, else those of `start` are
            given.
        """
        names = list(self.start)
        if not names or len(y) < len(names):
            return dict(self.start)
        read = self._read(columns)
        size = np.array([abs(self.start[name]) or 1.0 for name in names])
        spread = float(np.std(y)) or 1.0

        def residuals(scaled: Array) -> Array:
            constants = dict(zip(names, scaled * size, strict=True))
            with np.errstate(all="ignore"):
                off = (self._evaluated(read, columns, constants) - y) / spread
            return np.where(np.isfinite(off), off, 1e10)

        first = np.array([self.start[name] for name in names]) / size
        found = least_squares(
            residuals, first, method="lm", ftol=_EXACT, xtol=_EXACT, gtol=_EXACT, max_nfev=2000
        )
        return dict(zip(names, (found.x * size).tolist(), strict=True))

    def written(self, constants: Mapping[str, float]) -> str:
        """Put constants in, with all their digits."""

        def put_in(match: re.Match[str]) -> str:
            name = match[0]
            return f"({constants[name]!r})" if name in constants else name

        return _NAME.sub(put_in, self.text)

    def _read(self, columns: Mapping[str, Array]) -> Equation:
        return parse(self.text, (*columns, *self.start))

    def _evaluated(
        self, read: Equation, columns: Mapping[str, Array], constants: Mapping[str, float]
    ) -> Array:
        n = len(next(iter(columns.values())))
        filled = {name: np.full(n, value) for name, value in constants.items()}
        return np.asarray(np.broadcast_to(read.evaluate({**columns, **filled}), (n,)))
