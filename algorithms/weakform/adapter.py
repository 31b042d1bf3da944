"""Equations of fields from their weak form: small sums of terms, exhaustively."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import numpy as np
from forms import WeakField, corners, values_of
from grids import target_states
from search import Regression, RightSide, find, fitted
from summands import products

from mdbench.worker import Candidate, Problem, Unsupported

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from numpy.typing import NDArray

    Array = NDArray[np.float64]

_TIME_PART = 0.6
"""Of the time limit, for the search."""
_NOISY = 3e-4
"""Noise above this share of a state's deviation is heeded."""


class Adapter:
    """Regression in weak form; ``docs/weakform.md`` describes it.

    Parameters
    ----------
    seed, threads
        Not used: nothing is drawn.
    terms, noisy_terms
        How many terms there may be, for clean and for noisy data.
    dearest
        The highest cost of a term.
    widths
        Of test functions, in units of what the spectrum of the data says.
    """

    stopped_early: bool = False
    """Whether the last fit ran out of time before its search was over."""

    def __init__(
        self,
        *,
        seed: int,
        threads: int,
        terms: int,
        noisy_terms: int,
        dearest: float,
        widths: Sequence[float],
    ) -> None:
        del seed, threads
        self._most = int(terms), int(noisy_terms)
        self._dearest = float(dearest)
        self._widths = tuple(map(float, widths))
        self._fronts: list[list[RightSide]] = []
        self._chosen: list[RightSide] = []

    def fit(self, problem: Problem) -> None:
        """Search for the equation of each target."""
        start = time.monotonic()
        until = np.inf if problem.time_limit is None else start + _TIME_PART * problem.time_limit
        if "rows" in problem.arrays:
            raise Unsupported(
                "the weak form integrates over whole fields, so that it cannot do with a part of "
                "the rows; run it without --max-rows"
            )
        with np.errstate(all="ignore"):  # what overflows is left out
            self._fronts = _searched(
                problem, self._most, self._dearest, self._widths, lambda: time.monotonic() > until
            )
        self.stopped_early = time.monotonic() > until
        self._chosen = [_liked(front) for front in self._fronts]
        for name, one in zip(problem.targets, self._chosen, strict=True):
            print(f"{name} = {one.text}   (left: {one.left:.1e})")  # noqa: T201 - for the log
            for term, value, error in zip(one.terms, one.coefficients, one.errors, strict=True):
                print(f"    {term.text or '1'}: {value:.8g} +- {error:.1g}")  # noqa: T201

    def candidates(self) -> Iterator[Candidate]:
        """Offer the answers for each target, the short ones first."""
        for target, front in enumerate(self._fronts):
            for one in front:
                sure = dict(zip((t.text or "1" for t in one.terms), one.errors, strict=True))
                told = {"left": one.left, "standard_errors": sure}
                yield Candidate((one.text,), hyperparameters=told, target=target)

    def choose(self, indices: Sequence[int]) -> None:
        """Take the candidates of these numbers, one a target."""
        offered = [one for front in self._fronts for one in front]
        self._chosen = [offered[k] for k in indices]

    def predict(self, problem: Problem) -> Array:
        """Evaluate the equations at each point."""
        return np.stack(
            [values_of(problem, one.terms, one.coefficients) for one in self._chosen], axis=-1
        )

    def equations(self) -> list[str]:
        """Give one right-hand side for each target."""
        return [one.text for one in self._chosen]


def _searched(
    problem: Problem,
    most: tuple[int, int],
    dearest: float,
    widths: Sequence[float],
    late: Callable[[], bool],
) -> list[list[RightSide]]:
    smoothed = problem.u
    measured = problem.arrays.get("measured", smoothed)
    rest = (measured - smoothed) / np.maximum(np.std(measured, axis=tuple(range(measured.ndim - 1))), 1e-300)
    noisy = float(np.median(np.abs(rest).reshape(-1, rest.shape[-1]), axis=0).max()) > _NOISY
    terms = tuple(products(problem.variables, measured.shape[-1], most[noisy], dearest))
    field = smoothed if noisy else measured
    states = target_states(problem)
    regressions: list[list[Regression]] = [[] for _ in states]
    known: dict[tuple[int, ...], tuple[WeakField, Array]] = {}
    for width in widths:
        for own, state in zip(regressions, states, strict=True):
            if own and late():
                break
            waves = corners(problem, measured[..., state], smoothed[..., state])
            form = WeakField(problem, field, field, width, waves)
            halves = tuple(bumps.half for bumps in form.bumps)
            if halves not in known:
                known[halves] = form, np.stack([form.column(term) for term in terms], axis=1)
            form, columns = known[halves]
            weights = form.weights((measured - smoothed)[..., state] if noisy else None)
            target = form.target(state)
            usable = np.isfinite(columns).all(axis=0)
            kept = tuple(term for term, use in zip(terms, usable, strict=True) if use)
            own.append(
                Regression(
                    kept, columns[:, usable] * weights[:, None], target * weights, form.apart
                )
            )
    fronts = []
    for own in regressions:
        supports: dict[tuple[int, ...], None] = {}
        for each in own:
            for several in find(each, late).values():
                supports.update(dict.fromkeys(several))
        front = [RightSide((), (), (), 1.0)]
        for support in sorted(supports, key=lambda one: (len(one), one)):
            front.append(min((fitted(each, support) for each in own), key=lambda one: one.surest))
        fronts.append(front)
    return fronts


def _liked(front: Sequence[RightSide]) -> RightSide:
    """Give what the method itself likes best: each term has to halve what is left."""
    return min(front, key=lambda one: np.log(one.left + 1e-12) + 0.7 * len(one.terms))
