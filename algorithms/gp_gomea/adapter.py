"""GP-GOMEA: symbolic regression by gene-pool optimal mixing."""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING, Any

import numpy as np
from evaluation import Samples
from genotypes import Template
from mixing import Mixing
from regressor import AgeFitness, _TargetRun
from scaling import power_of_two
from trees import FUNCTIONS

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


class Adapter(AgeFitness):
    """One search for each target; what is not the search is that of AFP.

    Parameters
    ----------
    seed
        Every target starts from the same one.
    threads
        Not used: the search has one thread.
    functions
        Names of ``trees.FUNCTIONS``; constants and variables are always there.
    height
        Levels of the template below its root.
    max_rows
        Largest number of samples in the search; of more, a random part is drawn.
    search
        See ``mixing.Mixing``.
    """

    def __init__(
        self,
        *,
        seed: int,
        threads: int,
        functions: Sequence[str],
        height: int,
        max_rows: int,
        first_population: int,
        growth: int,
        largest_population: int,
        generations: int,
        stop_threshold: float,
    ) -> None:
        del threads
        unknown = [name for name in functions if name not in FUNCTIONS]
        if unknown:
            raise ValueError(f"no function is called {unknown[0]!r}; there are {list(FUNCTIONS)}")
        self._seed, self._functions, self._height = seed, tuple(functions), height
        self._max_rows = max_rows
        self._settings: dict[str, Any] = {
            "first_population": first_population,
            "growth": growth,
            "largest_population": largest_population,
            "generations": generations,
            "stop_threshold": stop_threshold,
        }

    def _make_run(self, target: int, is_late: Callable[[], bool]) -> _TargetRun:
        X, y = self._problem.X, self._problem.Y[:, target]
        if len(X) > self._max_rows:
            random = Random(self._seed)  # noqa: S311 - a search, no secret
            rows = sorted(random.sample(range(len(X)), self._max_rows))
            X, y = X[rows], y[rows]
        scales = [power_of_two(X[:, column]) for column in range(X.shape[1])]
        scale = power_of_two(y)
        search: Any = Mixing(
            Samples(X / scales, y / scale, linear_scaling=True),
            Template(self._functions, X.shape[1], self._height),
            rng=np.random.default_rng(self._seed),
            is_late=is_late,
            **self._settings,
        )
        return _TargetRun(target, search, scales, scale)
