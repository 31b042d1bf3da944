"""HROCH: a population of short programs, each bettered by local search."""

from __future__ import annotations

import re
import warnings
from typing import TYPE_CHECKING, Any

import numpy as np
from written_fronts import WrittenFronts

with warnings.catch_warnings():
    warnings.simplefilter("ignore", FutureWarning)  # an argument of scikit-learn's scorers
    from HROCH import SymbolicRegressor

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

__all__ = ["Adapter"]

_FIRST, _LONGEST = 2000, 1_000_000
"""Iterations of the first step, and the most of one."""
_STEP = 0.05
"""A step has at most this part of the budget that is left."""
_EXACT = 1e-28
"""An error over the mean square of the target that is rounding: nothing is left to be found."""


_WORD = re.compile(r"[A-Za-z_]\w*|[\d.]+(?:e[+-]?\d+)?")
"""A function, a variable or a number: a text's size is how many it has."""


class Adapter(WrittenFronts):
    """One population a target; candidates are the smallest of each error that it has had.

    Parameters
    ----------
    seed, threads
        One thread.
    problem
        The package's name of a set of instructions.
    population_size, tournament, neighbours_count, const_size, max_size
        As in ``SymbolicRegressor``; the last two are the most constants and instructions.
    iterations
        The most of a search.
    max_rows
        Largest number of samples in the search; of more, a random part is drawn.
    """

    package = "HROCH"

    def __init__(
        self,
        *,
        seed: int,
        threads: int,
        problem: str,
        population_size: int,
        tournament: int,
        neighbours_count: int,
        const_size: int,
        max_size: int,
        iterations: int,
        max_rows: int,
    ) -> None:
        super().__init__(seed=seed, threads=threads, max_rows=max_rows)
        self._iterations = iterations
        self._parameters: dict[str, Any] = {
            "num_threads": threads,
            "precision": "f64",
            "problem": problem,
            "random_state": seed % (2**32 - 1) + 1,  # 0 is the clock
            "population_settings": {"size": population_size, "tournament": tournament},
            "algo_settings": {"neighbours_count": neighbours_count},
            "code_settings": {
                "min_size": max_size,
                "max_size": max_size,
                "const_size": const_size,
            },
            "time_limit": 0.0,
            "warm_start": True,
        }
        self._front: list[tuple[float, str]] = []

    def search(self, X: Array, y: Array, target: int, limit: float | None) -> list[str]:
        """Go on step by step while another fits into the budget; steps change no result."""
        del limit
        self._front = [(float(np.var(y)), repr(float(np.mean(y))))]
        model = SymbolicRegressor(**self._parameters)
        exact = _EXACT * float(np.mean(y**2))
        left, step = self._iterations, _FIRST
        while left > 0:
            begun = self.budget.spent()
            model.iter_limit = step = min(step, left)
            model.fit(X, y, check_input=False)
            left -= step
            self._keep(model)
            now = self.budget.spent()
            if self._front[-1][0] <= exact:
                break
            rest = self.end - now
            if rest <= now - begun:
                self.stopped_early = left > 0
                break
            fits = step * _STEP * rest / max(now - begun, 1e-9)
            step = int(min(max(fits, _FIRST / 10), 2 * step, _LONGEST))
        return self.found(target)

    def found(self, target: int) -> list[str]:
        """Return the smallest equations of each error, those of a search that was stopped too."""
        del target
        return [text for _, text in self._front]

    def _keep(self, model: Any) -> None:
        """Add the population to the front: larger equations have to be better."""
        members = [(float(each.m.score), str(each.equation)) for each in model.get_models()]
        del model.models_  # or the next step would return them
        front: list[tuple[float, str]] = []
        for error, text in sorted({*self._front, *members}, key=_size):
            if np.isfinite(error) and (not front or error < front[-1][0]):
                front.append((error, text))
        self._front = front


def _size(member: tuple[float, str]) -> tuple[int, float, str]:
    error, text = member
    return len(_WORD.findall(text)), error, text
