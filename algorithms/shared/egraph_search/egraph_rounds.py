"""Common part of eggp and symregg: searches on an e-graph, each longer than the one before."""

from __future__ import annotations

import math
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from estimators import parameters_of
from search_process import SearchProcess
from written_fronts import WrittenFronts

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from numpy.typing import NDArray

    Array = NDArray[np.float64]

__all__ = ["EGraphRounds"]

_EXACT = 1e-28
"""An error over the mean square of the target that is rounding: nothing is left to be found."""
_SHARE, _PATIENCE, _SLOWER = 0.25, 60.0, 8.0
"""What a search may use: this part of what is left of the budget, at most so much of it, or so many
times what the last one took.  Some never end."""
_LEAST_S, _ASKED, _ALLOWED, _MOST = 2.0, 0.7, 0.8, 1_000_000
"""Seconds from which on a package that looks at the clock is given a part of them, in whole
seconds, with so many generations; and the part at which it is ended, should it hang."""


class EGraphRounds(WrittenFronts):
    """Searches one after the other, each of twice as many generations, until one is exact.

    Unless it is `timed`, a search looks at no clock, and its candidates, the best expression of
    each size, come with its end: so the first one is short, and of one that is ended nothing is
    left (the next is half as long).  The package is called in processes of their own only: its
    Haskell runtime keeps to no limit, changes what a process does with signals, and does not
    survive a fork.

    Parameters
    ----------
    seed, threads
        The packages take no seed, and have one thread.
    generations
        Of the first search.
    rounds
        The most searches.
    max_rows
        Largest number of samples in a search; of more, a random part is drawn.
    parameters
        Those of the estimator.

    Attributes
    ----------
    timed
        Whether the estimator has ``max_time``, whole seconds by the clock, after which it ends
        with what it has: then one search takes most of the budget, as its authors run it, and
        another one what is left.
    """

    timed: ClassVar[bool] = False

    estimator: ClassVar[Callable[..., Any]]
    calls: Mapping[str, str] = {"recip": "(1/({0}))"}

    def __init__(
        self,
        *,
        seed: int,
        threads: int,
        generations: int,
        rounds: int,
        max_rows: int,
        **parameters: Any,
    ) -> None:
        super().__init__(seed=seed, threads=threads, max_rows=max_rows)
        kind = type(self).estimator
        self._parameters = parameters_of(kind, parameters, seed=seed, threads=threads)
        self._generations, self._rounds = generations, rounds
        self._front: list[str] = []

    def search(self, X: Array, y: Array, target: int, limit: float | None) -> list[str]:
        """Search again and again; return the fronts of all searches."""
        del target, limit
        self._front = [repr(float(np.mean(y)))]  # for a budget in which no search ends
        size = float(np.mean(y**2)) or 1.0
        generations, last = self._generations, 0.0
        ended = False
        for _ in range(self._rounds):
            begun = self.budget.spent()
            left = self.end - begun
            if ended := left <= last:
                break
            seconds = self.budget.seconds(left)
            if type(self).timed and _LEAST_S <= seconds < math.inf:
                settings = {"gen": _MOST, "max_time": int(_ASKED * seconds)}
                allowed = _ALLOWED * left
            else:
                settings = {"gen": generations}
                allowed = min(left, max(min(_SHARE * left, _PATIENCE), _SLOWER * last))
            search = partial(self._front_of, X, y, settings)
            process = SearchProcess(search, self.budget, begun + allowed, self.threads)
            losses = [math.inf]
            for loss, front in process:
                losses.append(loss)
                self._front += front
            if min(losses) <= _EXACT * size:
                break
            ended = process.stopped
            if ended:
                generations = max(1, generations // 2)
            else:
                generations, last = 2 * generations, self.budget.spent() - begun
        self.stopped_early |= ended
        return self._front

    def found(self, target: int) -> Iterable[str]:
        """Return the fronts of the searches that have ended."""
        del target
        return self._front

    def _front_of(
        self,
        X: Array,
        y: Array,
        settings: Mapping[str, int],
        send: Callable[[tuple[float, list[str]]], None],
    ) -> None:
        """Send the least loss and the front of a search: in a process that may call the package."""
        model = type(self).estimator(**self._parameters, **settings)
        model.fit(X, y)
        texts = [str(text).lower() for text in model.results["Expression"]]
        send((float(model.results["loss_train"].min()), texts))
