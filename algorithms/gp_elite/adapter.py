"""gp-elite: genetic programming with constants fitted by least squares."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import numpy as np
from gp_elite import symbolic_regression
from written_fronts import WrittenFronts

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    Array = NDArray[np.float64]

__all__ = ["Adapter"]

_SHARE = 0.85
"""Part of what is left of the budget that a search may use: it ends a generation late."""
_LEAST = 0.1
"""A search is begun while this part of the target's budget is left."""
_EXACT = 1e-28
"""An error over the mean square of the target that is rounding: nothing is left to be found."""


class Adapter(WrittenFronts):
    """Searches one after the other, each with a seed of its own, until one is exact.

    Candidates are the package's fronts of error and size, of all searches.

    Parameters
    ----------
    seed, threads
        One thread.
    operators, speed, normalize, validation_split, generations
        As in ``symbolic_regression``.
    searches
        The most for a target.
    max_rows
        Largest number of samples in the search; of more, a random part is drawn.
    """

    package = "gp-elite"

    def __init__(
        self,
        *,
        seed: int,
        threads: int,
        operators: str,
        speed: str,
        normalize: str,
        validation_split: float,
        generations: int,
        searches: int,
        max_rows: int,
    ) -> None:
        super().__init__(seed=seed, threads=threads, max_rows=max_rows)
        self._searches = searches
        self._parameters: dict[str, Any] = {
            "operators": operators,
            "speed": speed,
            "normalize": normalize,
            "validation_split": validation_split,
            "generations": generations,
            "parallel": False,
        }
        self._front: list[str] = []

    def search(self, X: Array, y: Array, target: int, limit: float | None) -> list[str]:
        """Search again and again; return the fronts of all searches."""
        del target
        self._front = [repr(float(np.mean(y)))]
        begun = self.budget.spent()
        exact = _EXACT * float(np.mean(y**2))
        seeds = np.random.SeedSequence(self.seed).generate_state(min(self._searches, 1000))
        for seed in seeds:
            left = 1.0 if limit is None else (self.end - self.budget.spent()) / (self.end - begun)
            if left < _LEAST:
                self.stopped_early = True
                break
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # overflow in expressions that are tried
                result = symbolic_regression(
                    X,
                    y,
                    [f"x{place}" for place in range(X.shape[1])],
                    seed=int(seed),
                    time_limit=None if limit is None else _SHARE * left * limit,
                    **self._parameters,
                )
                self._front += _texts([result, *(result.pareto or ())])
                if float(np.mean((result.predict(X) - y) ** 2)) <= exact:
                    break
        return self._front

    def found(self, target: int) -> list[str]:
        """Return the equations of the searches that have ended."""
        del target
        return self._front


def _texts(entries: list[Any]) -> Iterator[str]:
    """Yield the formulas in the inputs' own values, of those that have one."""
    for entry in entries:
        try:
            yield entry.sympy()
        except (ValueError, RuntimeError):  # an operation or clipping that no formula shows
            continue
