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
_SHARE, _SLOWER = 0.25, 2.0
"""What a search may use before it is ended, as some never end by themselves: this part of what is
left of the budget, or so many times what it should take."""
_USED, _GROWTH, _MORE = 0.5, 1.5, 25
"""The next search should take this part of what is left.  A generation of it takes so many times
what one took before, and it has at most so many times the generations."""


class EGraphRounds(WrittenFronts):
    """Searches one after the other, until one is exact; each as long as half of the budget lets it.

    A search looks at no clock, and its candidates, the best expression of each size, come with its
    end: so the first one is short and measures how long a generation takes, and of one that is
    ended nothing is left (the next is half as long).  The package is called in processes of their
    own only: its Haskell runtime keeps to no limit, changes what a process does with signals, and
    does not survive a fork.

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
    """

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
        generations, last, taken = self._generations, 0.0, 0.0
        ended = False
        for _ in range(self._rounds):
            begun = self.budget.spent()
            left = self.end - begun
            if ended := left <= last:
                break
            allowed = min(left, max(_SHARE * left, _SLOWER * taken * generations))
            search = partial(self._front_of, X, y, generations)
            process = SearchProcess(search, self.budget, begun + allowed, self.threads)
            losses = [math.inf]
            for loss, front in process:
                losses.append(loss)
                self._front += front
            if min(losses) <= _EXACT * size:
                break
            ended = process.stopped
            if ended:
                generations, last = max(1, generations // 2), 0.0
                continue
            spent = self.budget.spent()
            taken = _GROWTH * (spent - begun) / generations
            wanted = (self.end - spent) * _USED / taken if taken else math.inf
            last = spent - begun if wanted <= generations else 0.0
            generations = int(min(max(generations, wanted), _MORE * generations))
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
        generations: int,
        send: Callable[[tuple[float, list[str]]], None],
    ) -> None:
        """Send the least loss and the front of a search: in a process that may call the package."""
        model = type(self).estimator(**self._parameters, gen=generations)
        model.fit(X, y)
        texts = [str(text).lower() for text in model.results["Expression"]]
        send((float(model.results["loss_train"].min()), texts))
