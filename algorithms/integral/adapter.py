"""Equations from increments: the simplest sums of terms whose integrals are a state's changes."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from answers import Offer, RightSide, front, others, together
from constants import exact
from samples import Integrals, Sampled, stepped
from search import Settings, find
from simpler import is_more

from mdbench.worker import Alternative, Candidate, Coordinates, Problem, Unsupported, columns_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from numpy.typing import NDArray

    Array = NDArray[np.float64]

_ROUNDS = 4
_TIME_PART = 0.7
"""Part of the time limit for the search."""
_MATTERS = 3e-5
"""Largest accepted error of interpolation over an interval, as a share of a state's deviation."""
_POLISHED, _NEARER = 6, 0.8
"""Equations are fitted to their own solutions between samples, so many times at most, while their
misses are less than this share of those before."""
_POLISHED_EACH = 60
"""Answers of each state that are fitted so."""
_UNLIKE_NOISE, _INTERVALS_EACH = 0.2, 5
"""Equations that lead from sample to sample with less than this share of the noise refute it, if
there are so many intervals for each term."""
_FAR = 2.0
"""States whose means are so many deviations from zero are centred, too, in units of a user's."""
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
        self._chosen: list[Offer] = []
        self._fronts: list[list[Offer]] = []
        self._pools: list[list[tuple[Integrals, list[RightSide], Coordinates | None]]] = []

    def fit(self, problem: Problem) -> None:
        """Search for the equation of each state."""
        ways: list[Coordinates | None] = [None]
        if problem.scaled:
            ways = [*Coordinates.choices(columns_of(problem), problem.du, _FAR)]
        self._fronts = [[] for _ in problem.targets]
        self._pools = [[] for _ in problem.targets]
        self.stopped_early = False
        for number, way in enumerate(ways):
            share = _TIME_PART / (len(ways) - number)
            late = problem.budget.after(share * problem.budget.remaining())
            self._fit(problem, way, late)
            self.stopped_early |= late()
        weight = self._settings.weight
        if len(ways) == 1:
            self._chosen = [several[0] for several in self._fronts]
        else:
            self._chosen = [
                min(several, key=lambda one: one.side.score(weight)) for several in self._fronts
            ]

    def _fit(self, problem: Problem, way: Coordinates | None, late: Callable[[], bool]) -> None:
        """Search in the values themselves, or in centred ones."""
        d = problem.u.shape[1]
        plain = None
        if way is not None:
            few = ["all" if angle else "powers" for angle in way.angles]
            plain = tuple(
                "none" if c else one for c, one in zip(way.centre.tolist(), few, strict=True)
            )
        centre = 0.0 if way is None else way.centre[:d]
        moved = way if way is not None and way.name == "centred" else None
        given = problem.arrays.get("inputs")
        if given is not None and way is not None:
            given = given - way.centre[d:]
        measured, u = problem.arrays.get("measured", problem.u) - centre, problem.u - centre
        several = problem.arrays.get("trajectory")
        try:
            samples, raw = (
                replace(
                    Sampled.of(problem.t, measured, each, several, given, held=problem.held),
                    plain=plain,
                )
                for each in (u, measured)
            )
        except ValueError as error:
            raise Unsupported(str(error)) from error
        with np.errstate(all="ignore"):  # what overflows is left out
            if samples.noise and _is_followed(raw, samples.noise, self._settings, late):
                samples = raw
            pools = _searched(
                samples, self._settings, late, report=partial(self._keep, problem, moved)
            )
        margin = np.inf if samples.noise else self._margin
        design = Integrals(samples)
        best = [None] * len(pools) if samples.noise else together(pools, self._settings.weight)
        for target, (name, pool) in enumerate(zip(problem.targets, pools, strict=True)):
            if not self._pools[target]:
                self._fronts[target] = []  # what was kept meanwhile
            answers = front(pool, self._settings.weight, margin, best[target])
            self._fronts[target] += [
                Offer(one, problem.variables, target, moved) for one in answers
            ]
            self._pools[target].append((design, pool, moved))
            _report(name, answers[0])

    def _keep(
        self, problem: Problem, way: Coordinates | None, target: int, pool: list[RightSide]
    ) -> None:
        """Keep the best so far for a target, in case that the time is over before the search."""
        if not self._pools[target]:
            best = min(pool, key=lambda one: one.score(self._settings.weight))
            self._fronts[target] = [Offer(best, problem.variables, target, way)]

    def candidates(self) -> Iterator[Candidate]:
        """Yield the answers for each state, best first."""
        for target, answers in enumerate(self._fronts):
            for offer in answers:
                one = offer.side
                sure = dict(zip((t.text for t in one.terms), one.errors, strict=True))
                values = {"cost": one.cost, "scale": one.scale, "standard_errors": sure}
                if offer.way is not None:
                    values["coordinates"] = offer.way.name
                yield Candidate((offer.text,), hyperparameters=values, target=target)

    def choose(self, indices: Sequence[int]) -> None:
        """Use these candidates, one for each state."""
        offered = [one for answers in self._fronts for one in answers]
        self._chosen = [offered[k] for k in indices]

    def alternatives(self) -> Iterator[Alternative]:
        """Yield other equations that fit and cost nearly as well as those chosen."""
        weight = self._settings.weight
        for target, (chosen, pools) in enumerate(zip(self._chosen, self._pools, strict=True)):
            best = chosen.side
            for design, pool, way in pools:
                if way is not chosen.way:
                    continue
                rows = len(design.target(target))
                for one in others(design, target, best, pool, weight, is_more=is_more):
                    yield Alternative(
                        target,
                        replace(chosen, side=one).text,
                        worse=one.score(weight) - best.score(weight),
                        log_likelihood=rows * float(np.log(best.scale / one.scale)),
                    )

    def predict(self, problem: Problem) -> Array:
        """Evaluate the equations at each point."""
        columns = columns_of(problem)
        return np.stack([one.values(columns) for one in self._chosen], axis=-1)

    def equations(self) -> list[str]:
        """Return one right-hand side for each target."""
        return [one.text for one in self._chosen]


def _searched(
    samples: Sampled,
    settings: Settings,
    late: Callable[[], bool],
    *,
    inner: bool = True,
    report: Callable[[int, list[RightSide]], None] = lambda *_: None,
) -> list[list[RightSide]]:
    """Search, and search again on the solutions of the equations that were found.

    The second time is for data so coarse that interpolation is what is in the way; terms with
    constants inside are then tried last.
    """
    coarse = not samples.noise and samples.doubt.max() >= _MATTERS
    design, before = Integrals(samples), None
    kept: tuple[float, list[list[RightSide]]] | None = None
    with_inner = inner and not coarse
    for _ in range(_ROUNDS):
        pools = find(design, settings, late, inner=with_inner, report=report)
        followed = _followed(samples, pools, settings.weight)
        if coarse:
            followed = _polished(samples, followed, settings.weight)
        if kept is None or followed.misses.sum() < 1.5 * kept[0]:
            kept = float(followed.misses.sum()), followed.pools
        supports = followed.supports
        again = coarse and followed.near and supports != before and not late()
        if again:
            before, design = supports, followed.design()
        elif with_inner or not inner or late():
            break
        else:
            with_inner = True
    assert kept is not None  # noqa: S101 - there is a first round
    return kept[1]


@dataclass(frozen=True)
class _Followed:
    """Equations, and their solutions from sample to sample.

    Attributes
    ----------
    misses
        By how much they miss the ends of intervals, as a share of a deviation, (d,).
    near
        Whether they describe the states between samples better than interpolation does.
    """

    samples: Sampled
    pools: list[list[RightSide]]
    supports: list[set[str]]
    between: Array
    defect: Array
    misses: Array
    near: bool

    def design(self) -> Integrals:
        """Return the integrals over the solutions of the equations between samples."""
        apart = np.sqrt(np.sum((self.defect / self.samples.deviation) ** 2, axis=1))
        exactly = self.misses.max() < 1e-3  # noqa: PLR2004
        weights = np.ones(len(apart)) if exactly else 1.0 / (np.median(apart) + apart)
        return Integrals(self.samples, self.between, weights)


def _followed(samples: Sampled, pools: list[list[RightSide]], weight: float) -> _Followed:
    best = [min(pool, key=lambda one: one.score(weight)) for pool in pools]
    between, defect = stepped(samples, partial(_together, best))
    misses = np.sqrt(np.mean(np.minimum((defect / samples.deviation) ** 2, 1.0), axis=0))
    misses[~np.isfinite(misses)] = 1.0
    supports = [{term.text for term in one.terms} for one in best]
    near = _is_near(samples, between, misses)
    return _Followed(samples, pools, supports, between, defect, misses, near)


def _polished(samples: Sampled, followed: _Followed, weight: float) -> _Followed:
    """Fit the same terms to their solutions between samples, while that reduces the misses."""
    for _ in range(_POLISHED):
        if not followed.near:
            break
        design = followed.design()
        pools = [
            [exact(design, state, one.terms) for one in _ranked(pool, weight)]
            for state, pool in enumerate(followed.pools)
        ]
        further = _followed(samples, pools, weight)
        if further.misses.sum() > _NEARER * followed.misses.sum():
            break
        followed = further
    return followed


def _ranked(pool: list[RightSide], weight: float) -> list[RightSide]:
    return sorted(pool, key=lambda one: one.score(weight))[:_POLISHED_EACH]


def _is_followed(raw: Sampled, noise: float, settings: Settings, late: Callable[[], bool]) -> bool:
    """Return whether equations lead from each sample to the next, nearer than noise would allow.

    Where a motion is fast, smoothing removes more than noise.
    """
    few = replace(settings, terms=settings.noisy_terms, nested=False)
    followed = _followed(raw, _searched(raw, few, late, inner=False), settings.weight)
    apart = np.median(np.abs(followed.defect / raw.deviation), axis=0)
    enough = len(raw.steps) >= _INTERVALS_EACH * max(map(len, followed.supports))
    return bool(enough and apart.max() < _UNLIKE_NOISE * noise)


def _together(equations: list[RightSide], u: Array) -> Array:
    return np.stack([one.values(u) for one in equations], axis=-1)


def _is_near(samples: Sampled, between: Array, misses: Array) -> bool:
    """Return whether equations describe the states between samples better than interpolation."""
    d = len(samples.deviation)
    u = samples.u[:, :d]
    middle = u.mean(axis=0)
    reach = np.abs(u - middle).max(axis=0)
    with np.errstate(invalid="ignore"):
        inside = (np.abs(between[..., :d] - middle) < 1.3 * reach).all()
    doubt = float(np.sqrt(np.mean(samples.doubt**2)))
    return bool(misses.max() < min(_FOLLOWED, doubt) and np.isfinite(between).all() and inside)


def _report(name: str, best: RightSide) -> None:
    """Print the best answer and its standard errors."""
    print(f"{name} = {best.text}   (left: {best.scale:.1e} of a deviation)")  # noqa: T201
    for term, value, error in zip(best.terms, best.coefficients, best.errors, strict=True):
        print(f"    {term.text}: {value:.8g} +- {error:.1g}")  # noqa: T201
