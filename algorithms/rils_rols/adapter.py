"""RILS-ROLS: iterated local search over expressions, coefficients by least squares."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from rils_rols.rils_rols import RILSROLSRegressor
from written_fronts import WrittenFronts

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

__all__ = ["Adapter"]

_NO_LIMIT = 10**9
"""Seconds, as a whole number, which the package requires."""


class Adapter(WrittenFronts):
    """One run a target: what it found, and what SymPy makes of that.

    Parameters
    ----------
    seed, threads
        The package has one thread.
    max_fit_calls, complexity_penalty, max_complexity, sample_size
        As in ``RILSROLSRegressor``.
    max_rows
        Largest number of samples in the search; of more, a random part is drawn.
    """

    package = "RILS-ROLS"

    def __init__(
        self,
        *,
        seed: int,
        threads: int,
        max_fit_calls: int,
        complexity_penalty: float,
        max_complexity: int,
        sample_size: float,
        max_rows: int,
    ) -> None:
        super().__init__(seed=seed, threads=threads, max_rows=max_rows)
        self._calls = max_fit_calls
        self._parameters = {
            "complexity_penalty": complexity_penalty,
            "max_complexity": max_complexity,
            "sample_size": sample_size,
        }

    def search(self, X: Array, y: Array, target: int, limit: float | None) -> list[str]:
        """Run it; a limit is kept in whole seconds, at least one."""
        del target
        seconds = _NO_LIMIT if limit is None else max(1, math.floor(limit))
        model = RILSROLSRegressor(
            max_fit_calls=self._calls,
            max_time=seconds,
            random_state=self.seed % 2**31,
            **self._parameters,
        )
        model.fit(X, y)
        self.stopped_early |= model.fit_calls < self._calls and model.total_time >= seconds
        # A column that is one number is answered with 0.
        constant = [repr(float(y[0]))] if (y == y[0]).all() else []
        return [str(model.model), str(model.model_simp), *constant]
