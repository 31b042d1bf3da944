"""RK4-SINDy: the dictionary is integrated by a Runge-Kutta step, so nothing is differentiated."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from adapters import StateAdapter
from models import Models
from pruning import differentiated, prune
from states import Library
from steps import Steps

from mdbench.worker import columns_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray
    from states import StateTerms

    from mdbench.worker import Problem

    Array = NDArray[np.float64]

_TIME_PART = 0.7
"""Part of the time limit for finding models."""


@dataclass(frozen=True)
class Pruned:
    """A setting: a library, and the size below which coefficients are dropped."""

    library: Library
    threshold: float


class Adapter(StateAdapter):
    """Coefficients for which Runge-Kutta steps lead from sample to sample, forth and back.

    The hyperparameters are ``library``, ``basis``, ``order`` and ``threshold``; see
    ``states.Library`` and ``pruning``.
    """

    @classmethod
    def setting(cls, *, threshold: float = 0.05, **library: Any) -> Pruned:
        """Read a setting."""
        return Pruned(Library.of(**library), float(threshold))

    @classmethod
    def find(
        cls, problem: Problem, terms: StateTerms, settings: Sequence[Pruned], *, seed: int
    ) -> Models:
        """Prune each library from its smallest threshold to its largest."""
        del seed  # nothing is drawn
        is_late = problem.budget.after(_TIME_PART * problem.budget.limit)
        found = np.zeros((len(settings), len(problem.targets), len(terms)))
        features = terms.features(columns_of(problem))
        steps = Steps(terms, problem)
        size = np.maximum(np.std(problem.u, axis=0), np.finfo(float).tiny)
        alike: dict[Library, list[int]] = {}
        for place, setting in enumerate(settings):
            alike.setdefault(setting.library, []).append(place)
        done: list[int] = []
        for library in sorted(alike, key=lambda each: int(terms.columns(each).sum())):
            if done and is_late():
                print(f"left out for lack of time: {library}")  # noqa: T201 - for the log
                continue
            places = sorted(alike[library], key=lambda each: settings[each].threshold)
            thresholds = [settings[place].threshold for place in places]
            columns = terms.columns(library)
            first = np.zeros(found.shape[1:])
            first[:, columns] = differentiated(features[:, columns], problem.du / terms.rate)
            active = np.tile(columns, (len(first), 1))
            found[places] = prune(steps, first, active, size, thresholds)
            done += places
        if len(done) == len(settings):
            return Models(found)
        done.sort()
        return Models(found[done], fitted=done)
