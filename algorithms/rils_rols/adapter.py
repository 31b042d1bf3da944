"""RILS-ROLS: iterated local search over expressions, coefficients by least squares."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import sympy.physics.units  # noqa: F401 - RILS-ROLS makes SymPy import it in each job else
from rils_rols.rils_rols import RILSROLSRegressor
from written_fronts import WrittenFronts

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

__all__ = ["Adapter"]

_NO_LIMIT = 10**9
"""Seconds, as a whole number, which the package requires."""
_FIRST, _MORE = 1000, 10
"""Calls of the first run, and by what each further one has more at most."""
_SAFE, _WORTH = 0.7, 2
"""The part of what is left that a run may be expected to take, and by what it must have more."""
_SHORT = 1e-3
"""Seconds that a run is taken to need at least."""


class Adapter(WrittenFronts):
    """Runs with ever more calls for each target: what each found, and what SymPy makes of that.

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
    _texts: list[str]

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
        """Run it with ever more calls, each run from the start, as far as the budget goes.

        A run gives nothing before it ends, and its own limit is a whole number of seconds.
        """
        del target
        seconds = _NO_LIMIT if limit is None else max(1, math.ceil(limit))
        # A column that is one number is answered with 0.
        self._texts = [repr(float(y[0]))] if (y == y[0]).all() else []
        calls = min(_FIRST, self._calls)
        while calls:
            begun = self.budget.spent()
            model = RILSROLSRegressor(
                max_fit_calls=calls,
                max_time=seconds,
                random_state=self.seed % 2**31,
                **self._parameters,
            )
            model.fit(X, y)
            self._texts += [str(model.model), str(model.model_simp)]
            if model.fit_calls < calls and model.total_time >= seconds:
                self.stopped_early = True
                break
            used = max(self.budget.spent() - begun, _SHORT)
            affordable = calls * _SAFE * (self.end - self.budget.spent()) / used
            calls = self._next(calls, affordable)
        return self._texts

    def found(self, target: int) -> list[str]:
        """Return the equations of the runs that ended."""
        del target
        return self._texts

    def _next(self, calls: int, affordable: float) -> int:
        """Return how many calls the next run has, 0 for none."""
        if calls == self._calls:
            return 0
        if affordable < _WORTH * calls:
            self.stopped_early = True
            return 0
        return int(min(self._calls, _MORE * calls, affordable))
