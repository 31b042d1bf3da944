"""Equations from increments: the simplest sums of terms whose integrals are a state's changes."""

from __future__ import annotations

import time
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from answers import RightSide, front
from samples import Integrals, Sampled, stepped
from search import Settings, find

from mdbench.worker import Candidate, Problem, Unsupported

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from numpy.typing import NDArray

    Array = NDArray[np.float64]

_ROUNDS = 4
_TIME_PART = 0.7
"""Of the time limit, for the search."""
_MATTERS = 3e-5
"""Interpolation is good enough where it errs by less of a state's deviation over an interval."""
_FOLLOWED = 0.3
"""Equations that miss the end of an interval by more of a deviation do not describe the data."""


class Adapter:
    """Regression in integral form; ``docs/integral.md`` describes it.

    Parameters
    ----------
    seed, threads
        Not used: nothing is drawn.
    hyperparameters
        Those of `search.Settings`, and ``margin``: of clean data, candidates whose score is worse
        than the best by more decades are not offered to the bench.  Of noisy data all are, since
        the bench knows more of noise than the score does.
    """

    stopped_early: bool = False
    """Whether the last fit ran out of time before its search was over."""

    def __init__(self, *, seed: int, threads: int, margin: float, **settings: Any) -> None:
        del seed, threads
        self._margin = float(margin)
        self._settings = Settings(**settings)
        self._chosen: list[RightSide] = []
        self._fronts: list[list[RightSide]] = []

    def fit(self, problem: Problem) -> None:
        """Search for the equation of each state."""
        start = time.monotonic()
        until = np.inf if problem.time_limit is None else start + _TIME_PART * problem.time_limit
        measured = problem.arrays.get("measured", problem.u)
        try:
            samples = Sampled.of(problem.t, measured, problem.u)
        except ValueError as error:
            raise Unsupported(str(error)) from error
        with np.errstate(all="ignore"):  # what overflows is left out
            pools = _searched(samples, self._settings, lambda: time.monotonic() > until)
        self.stopped_early = time.monotonic() > until
        margin = np.inf if samples.noise else self._margin
        self._fronts = [front(pool, self._settings.weight, margin) for pool in pools]
        self._chosen = [answers[0] for answers in self._fronts]
        for name, answers, pool in zip(problem.targets, self._fronts, pools, strict=True):
            _tell(name, answers[0], pool, self._settings.weight)

    def candidates(self) -> Iterator[Candidate]:
        """Offer the answers for each state, best first."""
        for target, answers in enumerate(self._fronts):
            for one in answers:
                sure = dict(zip((t.text for t in one.terms), one.errors, strict=True))
                told = {"cost": one.cost, "scale": one.scale, "standard_errors": sure}
                yield Candidate((one.text,), hyperparameters=told, target=target)

    def choose(self, indices: Sequence[int]) -> None:
        """Take the candidates of these numbers, one a state."""
        offered = [one for answers in self._fronts for one in answers]
        self._chosen = [offered[k] for k in indices]

    def predict(self, problem: Problem) -> Array:
        """Evaluate the equations at each point."""
        return np.stack([one.values(problem.u) for one in self._chosen], axis=-1)

    def equations(self) -> list[str]:
        """Give one right-hand side for each target."""
        return [one.text for one in self._chosen]


def _searched(
    samples: Sampled, settings: Settings, late: Callable[[], bool]
) -> list[list[RightSide]]:
    """Search, and search again on what the found equations do between samples.

    The second time is for data so coarse that interpolation is what is in the way.
    """
    design, before = Integrals(samples), None
    kept: tuple[float, list[list[RightSide]]] | None = None
    for _ in range(_ROUNDS):
        pools = [find(design, state, settings, late) for state in range(samples.u.shape[1])]
        best = [min(pool, key=lambda one: one.score(settings.weight)) for pool in pools]
        between, defect = stepped(samples, partial(_together, best))
        misses = np.sqrt(np.mean(np.minimum((defect / samples.deviation) ** 2, 1.0), axis=0))
        misses[~np.isfinite(misses)] = 1.0
        if kept is None or misses.sum() < 1.5 * kept[0]:
            kept = float(misses.sum()), pools
        supports = [{term.text for term in one.terms} for one in best]
        enough = samples.noise or samples.doubt.max() < _MATTERS or late() or supports == before
        if enough or not _is_near(samples, between, misses):
            break
        before = supports
        apart = np.sqrt(np.sum((defect / samples.deviation) ** 2, axis=1))
        weights = np.ones(len(apart)) if misses.max() < 1e-3 else 1.0 / (np.median(apart) + apart)  # noqa: PLR2004
        design = Integrals(samples, between, weights)
    assert kept is not None  # noqa: S101 - there is a first round
    return kept[1]


def _together(equations: list[RightSide], u: Array) -> Array:
    return np.stack([one.values(u) for one in equations], axis=-1)


def _is_near(samples: Sampled, between: Array, misses: Array) -> bool:
    """Tell whether equations describe the data well enough to say what is between them."""
    middle = samples.u.mean(axis=0)
    reach = np.abs(samples.u - middle).max(axis=0)
    with np.errstate(invalid="ignore"):
        inside = (np.abs(between - middle) < 1.3 * reach).all()
    return bool(misses.max() < _FOLLOWED and np.isfinite(between).all() and inside)


def _tell(name: str, best: RightSide, pool: list[RightSide], weight: float) -> None:
    """Print what was found, how sure it is, and what the data cannot tell from it."""
    print(f"{name} = {best.text}   (left: {best.scale:.1e} of a deviation)")  # noqa: T201
    for term, value, error in zip(best.terms, best.coefficients, best.errors, strict=True):
        print(f"    {term.text}: {value:.8g} +- {error:.1g}")  # noqa: T201
    ties = [
        one
        for one in pool
        if one.text != best.text
        and one.scale < 1.2 * best.scale
        and one.score(weight) < best.score(weight) + weight
    ]
    for one in sorted(ties, key=lambda one: one.score(weight))[:5]:
        print(f"    fits as well: {one.text}")  # noqa: T201
