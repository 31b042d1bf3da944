"""The search for terms with constants inside: on a grid, then exactly."""

from __future__ import annotations

import itertools
from functools import cache
from typing import TYPE_CHECKING

import numpy as np
from answers import RightSide, answer
from atoms import AtomFamily, TunedSummand
from scipy.optimize import least_squares as descend
from scipy.optimize import minimize_scalar
from supports import backward, compressed, least_squares, residuals

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dictionary import Summand
    from numpy.typing import NDArray
    from samples import Integrals

    Array = NDArray[np.float64]
    Support = tuple[int, ...]

__all__ = ["exact", "with_family"]

_LARGEST = 6
_PROMISING = 3
"""Supports of each size that are made exact."""
_FAR = 1e4
"""Those whose sum of squares is so many times the least are not."""
_STEP = 0.8
"""How far a constant may move from its grid, in its logarithm."""


def with_family(
    design: Integrals, state: int, family: AtomFamily, base: list[Summand], least_scale: float
) -> list[RightSide]:
    """Find the best answers of each size that have a term of the family.

    Parameters
    ----------
    base
        Terms that may stand beside.
    least_scale
        Of all answers known so far.
    """
    target = design.target(state)
    beside = design.columns(base, state)
    count = len(family.atoms(family.grid[0]))
    found: dict[Support, tuple[float, int]] = {}
    for place, constants in enumerate(family.grid):
        own = design.columns(family.atoms(constants), state)
        columns = np.column_stack([beside, own])
        size = np.linalg.norm(columns, axis=0)
        if not (np.isfinite(size) & (size > 0)).all():
            continue
        unit, along = compressed(columns, target)
        nested = backward(unit, along, range(unit.shape[1]), _LARGEST)
        groups = [np.array([one]) for one in nested if max(one) >= len(base)]
        for group in (*_supports(len(base), count), *groups):
            left = residuals(unit, along, group)
            for k in np.argsort(left, kind="stable")[:_PROMISING]:
                support = tuple(int(x) for x in group[k])
                if support not in found or left[k] < found[support][0]:
                    found[support] = (float(left[k]), place)
    least = max(
        least_scale**2 * len(target), min((left for left, _ in found.values()), default=0.0)
    )
    answers: list[RightSide] = []
    for size in range(1, _LARGEST + 1):
        ranked = sorted((left, one, k) for one, (left, k) in found.items() if len(one) == size)
        for square, support, place in ranked[:_PROMISING]:
            if square > _FAR * least:
                break
            terms = [*base, *family.atoms(family.grid[place])]
            answers.append(exact(design, state, [terms[k] for k in support]))
    return [*answers, *_shorter(design, state, answers)]


def exact(design: Integrals, state: int, terms: Sequence[Summand]) -> RightSide:
    """Fit the inner constants, too, from where they are."""
    groups = {id(t.constants): t for t in terms if isinstance(t, TunedSummand)}
    if not groups:
        return answer(design, state, terms)
    target = design.target(state)
    scale = design.samples.deviation[state]
    start = np.concatenate([each.constants for each in groups.values()])
    steady = [None if isinstance(t, TunedSummand) else design.column(t, state) for t in terms]

    def moved(constants: Array) -> list[Summand]:
        made, place = {}, 0
        for key, each in groups.items():
            size = len(each.constants)
            made[key] = each.family.atoms(constants[place : place + size].copy())
            place += size
        return [made[id(t.constants)][t.place] if isinstance(t, TunedSummand) else t for t in terms]

    def left(constants: Array) -> Array:
        columns = np.stack(
            [
                design.integrals(term.values(design.between)) / scale if known is None else known
                for term, known in zip(moved(constants), steady, strict=True)
            ],
            axis=1,
        )
        coefficients, square = least_squares(columns, target)
        if not np.isfinite(square):
            return np.full(len(target), 1e3)
        return target - columns @ coefficients

    if len(start) == 1:
        middle, sign = float(np.log(abs(start[0]))), float(np.sign(start[0]))

        def unexplained(q: float) -> float:
            return float(np.log(np.sum(left(np.array([sign * np.exp(q)])) ** 2) + 1e-300))

        bounds = (middle - _STEP, middle + _STEP)
        options = {"xatol": 1e-5, "maxiter": 30}
        best = minimize_scalar(unexplained, bounds=bounds, method="bounded", options=options)
        found = np.array([sign * np.exp(float(best.x))])
    else:
        norm = np.linalg.norm(target) + 1e-300
        size = np.maximum(np.abs(start), 1e-3)
        with np.errstate(all="ignore"):
            found = (
                descend(
                    lambda x: left(x * size) / norm,
                    start / size,
                    method="lm",
                    max_nfev=60 * len(start),
                ).x
                * size
            )
    return answer(design, state, moved(found))


def _shorter(design: Integrals, state: int, answers: list[RightSide]) -> list[RightSide]:
    """Leave out the term that is missed least, fit the constants anew, and so on."""
    found: list[RightSide] = []
    for size in range(2, _LARGEST + 1):
        several = [one for one in answers if len(one.terms) == size]
        if not several:
            continue
        last = min(several, key=lambda one: one.scale)
        limit = 100.0 * last.scale
        while len(last.terms) > 1 and last.scale < limit:
            unit, along = compressed(design.columns(last.terms, state), design.target(state))
            support = backward(unit, along, range(len(last.terms)), len(last.terms) - 1)[0]
            terms = [last.terms[k] for k in support]
            if not any(isinstance(term, TunedSummand) for term in terms):
                break
            last = exact(design, state, terms)
            found.append(last)
    return found


@cache
def _supports(base: int, atoms: int) -> list[Array]:
    """List supports with one atom and up to two others, and with two and up to one, by size."""
    by_size: dict[int, list[Support]] = {}
    for several, others in ((1, 2), (2, 1)):
        for own in itertools.combinations(range(base, base + atoms), several):
            for count in range(min(others, base) + 1):
                for beside in itertools.combinations(range(base), count):
                    by_size.setdefault(count + several, []).append((*beside, *own))
    return [np.array(group) for group in by_size.values()]
