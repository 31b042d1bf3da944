"""Common part of packages that search in a process of their own, and send what they find."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np
from search_process import SearchProcess
from written_fronts import WrittenFronts

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    Array = NDArray[np.float64]
    Found = list[tuple[str, float]]

__all__ = ["ProcessFronts"]


class ProcessFronts(WrittenFronts):
    """One search a target, in a process of its own; all that it sends is kept, and the mean."""

    def run(self, X: Array, y: Array, send: Callable[[Found], None]) -> None:
        """Search, and send equations in ``x0``, ``x1``, ..., each with its error.

        Parameters
        ----------
        X, y
            (n, variables) and (n,).
        """
        raise NotImplementedError

    def error_of_mean(self, y: Array) -> float:
        """Return the error of a constant, as `run` measures errors."""
        raise NotImplementedError

    def search(self, X: Array, y: Array, target: int, limit: float | None) -> list[str]:
        """Search until the share of the budget is used up, and return all, the best first."""
        del target, limit
        self._errors = {repr(float(np.mean(y))): self.error_of_mean(y)}
        process = SearchProcess(partial(self.run, X, y), self.budget, self.end, self.threads)
        for found in process:
            self._errors |= dict(found)
        self.stopped_early |= process.stopped
        return list(self.found(0))
