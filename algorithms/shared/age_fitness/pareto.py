"""Selection by error and age, and the archive of the best trees by error and size."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from random import Random

    from evaluation import Fit
    from trees import Node

__all__ = ["Archive", "front", "survivors"]

_PATIENCE = 10
"""Tournaments without a loser, for each one in the population, before the search for losers
becomes thorough."""

_GAIN = 1e-7
"""Smallest part of an error that a larger tree removes: the errors of two forms of one function
differ by as little as rounding, and an error of 1e-7 of the variance is known to 1e-8 of itself."""


def survivors(
    errors: Sequence[float], births: Sequence[float], number: int, random: Random
) -> list[int]:
    """Hold tournaments of two until so many are left (Schmidt and Lipson 2011).

    One beats another if it is no worse in error and no older; of equals the first drawn wins.
    A beaten individual is removed.  The front of those that none beats is never reduced by a
    tournament; where it alone is larger than `number`, its oldest are removed.

    Parameters
    ----------
    errors
        One each; lower is better.
    births
        When each one's oldest ancestor was made; higher is younger.
    number
        Number of individuals to be left.
    random
        Draws the pairs.

    Returns
    -------
    list of int
        Indices of those that are left, at most `number` of them.
    """
    alive = list(range(len(errors)))
    tries = _PATIENCE * len(alive)
    draw = random.random
    while len(alive) > number and tries:
        count = len(alive)
        place, other = int(draw() * count), int(draw() * count)
        if place == other:
            continue
        first, second = alive[place], alive[other]
        if errors[first] <= errors[second] and births[first] >= births[second]:
            loser = other
        elif errors[second] <= errors[first] and births[second] >= births[first]:
            loser = place
        else:
            tries -= 1
            continue
        alive[loser] = alive[-1]
        alive.pop()
        tries = _PATIENCE * len(alive)
    if len(alive) > number:
        best = set(front([errors[i] for i in alive], [-births[i] for i in alive]))
        beaten = [i for place, i in enumerate(alive) if place not in best]
        random.shuffle(beaten)
        unbeaten = sorted((alive[place] for place in best), key=lambda i: -births[i])
        alive = (unbeaten + beaten)[:number]
    return alive


def front(first: Sequence[float], second: Sequence[float]) -> list[int]:
    """Return the indices of the Pareto front, both numbers to be low; one of equals."""
    order = sorted(range(len(first)), key=lambda i: (first[i], second[i], i))
    kept = []
    lowest = math.inf
    for index in order:
        if second[index] < lowest:
            lowest = second[index]
            kept.append(index)
    return kept


class Archive:
    """The best tree of every size so far."""

    def __init__(self) -> None:
        self._best: dict[int, tuple[Node, Fit]] = {}

    def improves(self, tree: Node, error: float) -> bool:
        """Return whether a tree would be kept."""
        if tree.size not in self._best:
            return error < math.inf
        return error < self._best[tree.size][1].error

    def add(self, tree: Node, fit: Fit) -> None:
        """Keep a tree if it is the best of its size."""
        if self.improves(tree, fit.error):
            self._best[tree.size] = tree, fit

    def front(self) -> Iterator[tuple[Node, Fit]]:
        """Yield what is better than all smaller trees, by more than rounding, smallest first."""
        lowest = math.inf
        for size in sorted(self._best):
            tree, fit = self._best[size]
            if fit.error < (1 - _GAIN) * lowest:
                lowest = fit.error
                yield tree, fit

    @property
    def error(self) -> float:
        """The lowest error of all."""
        return min((fit.error for _, fit in self._best.values()), default=math.inf)
