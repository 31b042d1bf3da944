"""Proposed right-hand sides, with cost, residuals and standard errors."""

from __future__ import annotations

import itertools
import math
import re
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import ndtri
from supports import least_squares

from mdbench.worker import sum_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from dictionary import Summand
    from numpy.typing import NDArray
    from samples import Integrals

    from mdbench.worker import Coordinates

    Array = NDArray[np.float64]

__all__ = [
    "Offer",
    "RightSide",
    "answer",
    "front",
    "others",
    "structure",
    "student_scale",
    "together",
]

_NUMBER = re.compile(r"(?<![\w.])-?(?:\d+\.\d*(?:e[-+]?\d+)?|\d+e[-+]?\d+)")
_AS_WELL, _SAME, _MOST_OTHERS = 1.0, 0.02, 5
"""Units of cost by which an answer may be worse than the best and still be named beside it; the
share of the residuals by which it differs at least; and how many are named."""
_STATE = re.compile(r"\bu(\d+)\b")
_FREEDOM = 3.0
"""Degrees of freedom of Student's distribution, so that a few coarse intervals do not decide."""
_CANCEL = 300.0
"""Terms so many times as large as their sum cancel: they approximate another term."""
_TOGETHER, _COMBINED, _NEAR = 12, 5000, 4.0
"""Answers of a state, combinations of all states' answers, and units of cost from the best, within
which shared constants may decide."""


@dataclass(frozen=True)
class RightSide:
    """One right-hand side.

    Attributes
    ----------
    scale
        Scale of the residuals of a state's change over an interval, as a share of its deviation.
    errors
        The standard error of each coefficient.
    """

    terms: tuple[Summand, ...] = field(repr=False)
    coefficients: tuple[float, ...]
    errors: tuple[float, ...] = field(repr=False)
    cost: float
    scale: float

    def score(self, weight: float) -> float:
        """Weigh the residual, in decades, against the cost; lower is better."""
        return float(np.log10(self.scale + 1e-300)) + weight * self.cost

    @property
    def structure(self) -> str:
        """Write its terms without the values of constants."""
        return structure(self.terms)

    @property
    def text(self) -> str:
        """Write it with all digits."""
        parts = [
            repr(c) if term.text == "1" else f"{c!r}*{term.text}"
            for c, term in zip(self.coefficients, self.terms, strict=True)
        ]
        return " + ".join(parts).replace("+ -", "- ") or "0"

    def values(self, u: Array) -> Array:
        """Evaluate it on states (..., d)."""
        values = np.zeros(u.shape[:-1])
        for c, term in zip(self.coefficients, self.terms, strict=True):
            values = values + c * term.values(u)
        return values


@dataclass(frozen=True)
class Offer:
    """A right-hand side as it is offered: in the problem's names and values.

    Attributes
    ----------
    side
        In the names u0, u1, ... for states and then inputs, and in centred values where `way` is.
    variables
        The problem's names of these.
    target
        The number of the target.
    way
        The coordinates; None for the values themselves.
    """

    side: RightSide
    variables: tuple[str, ...]
    target: int
    way: Coordinates | None

    def values(self, columns: Array) -> Array:
        """Evaluate it on states and inputs (..., columns)."""
        return self.side.values(columns if self.way is None else columns - self.way.centre)

    @property
    def text(self) -> str:
        """Write it with all digits."""
        way, one = self.way, self.side
        if way is None:
            return _STATE.sub(lambda found: self.variables[int(found[1])], one.text)
        products: dict[tuple[int, ...], float] = {}
        others: list[tuple[float, str]] = []
        moved = way.moved(self.variables)
        for term, weight in zip(one.terms, one.coefficients, strict=True):
            factors = [] if term.text == "1" else term.text.split("*")
            if all(map(_STATE.fullmatch, factors)):
                key = tuple(sorted(int(factor[1:]) for factor in factors))
                size = math.prod(float(way.size[i]) for i in key)
                products[key] = weight * size / float(way.rate[self.target])
            else:
                others.append((weight, _STATE.sub(lambda found: moved[int(found[1])], term.text)))
        written = way.write(products, self.variables, self.target) if products else []
        return sum_of([*written, *others])


def answer(design: Integrals, state: int, terms: Sequence[Summand]) -> RightSide:
    """Fit coefficients by least squares."""
    columns, target = design.columns(terms, state), design.target(state)
    size = np.linalg.norm(columns, axis=0)
    if not (np.isfinite(size) & (size > 0)).all():  # no answer at all
        none = (0.0,) * len(terms)
        return RightSide(tuple(terms), none, none, cost_of(terms), np.inf)
    coefficients, square = least_squares(columns, target)
    parts = np.max(np.abs(coefficients) * size, initial=0.0)
    if parts > _CANCEL * np.linalg.norm(target):
        square = np.inf
    left = target - columns @ coefficients
    errors = np.zeros(len(terms))
    if terms:
        inverse = np.linalg.pinv(columns / size)
        variance = square / max(len(target) - len(terms), 1)
        errors = np.sqrt(variance * np.sum(inverse**2, axis=1)) / size
    cost = cost_of(terms)
    scale = student_scale(left) if np.isfinite(square) else np.inf
    as_floats = tuple(map(float, coefficients)), tuple(map(float, errors))
    return RightSide(tuple(terms), *as_floats, cost, scale)


def structure(terms: Sequence[Summand]) -> str:
    """Write terms without the values of constants inside."""
    return " + ".join(sorted(_NUMBER.sub("K", term.text) for term in terms))


def others(
    design: Integrals,
    state: int,
    chosen: RightSide,
    pool: Iterable[RightSide],
    weight: float,
    *,
    is_more: Callable[[RightSide, RightSide], bool],
) -> list[RightSide]:
    """Return what fits and costs nearly as well as an answer, the best first.

    Each differs from the answer, and from the others, by more than another way to write it, and
    is not the answer with terms or constants added, which no data could exclude.

    Parameters
    ----------
    is_more
        Whether one is another with something added.
    """
    limit = chosen.score(weight) + weight * _AS_WELL
    several: dict[str, RightSide] = {}
    for one in sorted(pool, key=lambda one: one.score(weight)):
        if one.score(weight) > limit:
            break
        if not is_more(one, chosen):
            several.setdefault(one.structure, one)
    kept = [(chosen, design.columns(chosen.terms, state) @ np.array(chosen.coefficients))]
    for one in several.values():
        values = design.columns(one.terms, state) @ np.array(one.coefficients)
        apart = [float(np.sqrt(np.mean((values - known) ** 2))) for _, known in kept]
        if min(apart) > _SAME * one.scale and len(kept) <= _MOST_OTHERS:
            kept.append((one, values))
    return [one for one, _ in kept[1:]]


def cost_of(terms: Sequence[Summand]) -> float:
    """Return the cost of terms; what several share, such as a constant inside, counts once."""
    shared: dict[str, float] = {}
    for term in terms:
        shared |= term.shared
    return sum(term.cost - sum(term.shared.values()) for term in terms) + sum(shared.values())


def front(
    answers: Iterable[RightSide], weight: float, margin: float, first: RightSide | None = None
) -> list[RightSide]:
    """Return those not worse in both respects, and near the best; the best first.

    Parameters
    ----------
    first
        The one that is the best together with the other states' equations.
    """
    kept: list[RightSide] = []
    best_scale = np.inf
    for one in sorted(answers, key=lambda one: (one.cost, one.scale)):
        if one.scale < best_scale:
            best_scale = one.scale
            kept.append(one)
    kept.sort(key=lambda one: one.score(weight))
    near = [one for one in kept if one.score(weight) <= kept[0].score(weight) + margin]
    if first is None:
        return near
    return [first, *(one for one in near if margin and one.text != first.text)]


def together(pools: Sequence[Sequence[RightSide]], weight: float) -> list[RightSide]:
    """Return one answer for each state: the best of all, where shared constants cost once.

    Those that fit and cost nearly as well as the best of each state are tried with each other.
    """
    most = max(1, min(_TOGETHER, int(_COMBINED ** (1 / len(pools)))))
    several = []
    for pool in pools:
        ranked = sorted(pool, key=lambda one: one.score(weight))
        limit = ranked[0].score(weight) + _NEAR * weight
        near = {one.text: one for one in reversed(ranked) if one.score(weight) <= limit}
        several.append(sorted(near.values(), key=lambda one: one.score(weight))[:most])
    scores = [[one.score(weight) for one in each] for each in several]
    inside = [[_inside(one) for one in each] for each in several]
    best = min(
        itertools.product(*(range(len(each)) for each in several)),
        key=lambda chosen: _total(chosen, scores, inside, weight),
    )
    return [each[k] for each, k in zip(several, best, strict=True)]


def _inside(one: RightSide) -> dict[str, float]:
    """Return the costs of the constants inside, by the functions that have them."""
    parts = {name: cost for term in one.terms for name, cost in term.shared.items()}
    return {name: cost for name, cost in parts.items() if name.startswith("constants of")}


def _total(
    chosen: Sequence[int],
    scores: list[list[float]],
    inside: list[list[dict[str, float]]],
    weight: float,
) -> float:
    parts = [each[k] for each, k in zip(inside, chosen, strict=True)]
    once: dict[str, float] = {}
    for part in parts:
        once |= part
    twice = sum(sum(part.values()) for part in parts) - sum(once.values())
    return sum(each[k] for each, k in zip(scores, chosen, strict=True)) - weight * twice


def student_scale(left: Array) -> float:
    """Return the scale of highest likelihood of residuals; for normal ones, their deviation."""
    return float(np.exp(_negative_log_likelihood(left) - _normal()))


def _negative_log_likelihood(left: Array) -> float:
    square = float(np.mean(left**2)) + 1e-300
    power = (_FREEDOM + 1) / 2
    for _ in range(12):
        square = 2 * power * float(np.mean(left**2 / (_FREEDOM + left**2 / square))) + 1e-300
    return 0.5 * float(np.log(square)) + power * float(
        np.mean(np.log1p(left**2 / (_FREEDOM * square)))
    )


@cache
def _normal() -> float:
    return _negative_log_likelihood(ndtri((np.arange(4000) + 0.5) / 4000))
