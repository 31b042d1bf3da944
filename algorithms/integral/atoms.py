"""Terms with constants inside: exponentials, powers, waves, saturation and sigmoids of any scale.

Each family is tried on a grid of its constant, together with sums of powers; what is promising is
made exact by a search in one dimension.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from answers import Answer, answer
from dictionary import CONSTANT, FACTOR, FUNCTION, Term, monomial, monomials
from scipy.optimize import minimize_scalar
from supports import backward, compressed, least_squares, residuals

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray
    from samples import Design

    Array = NDArray[np.float64]
    Support = tuple[int, ...]

__all__ = ["Family", "families", "with_atoms"]

_GRID = 16
_LARGEST = 5
_INNER = CONSTANT + CONSTANT + FUNCTION
_STEP = 0.8
"""How far the constant may move from its grid, in its logarithm."""


@dataclass(frozen=True)
class Family:
    """Terms that share one inner constant."""

    grid: Array
    atoms: Callable[[float], list[Term]]


def families(u: Array, degree: int) -> Iterator[Family]:
    """List the families that are defined on states (n, d)."""
    dim = u.shape[1]
    for i in range(dim):
        x, positive = np.abs(u[:, i]), bool((u[:, i] > 0).all())
        unit = float(np.ptp(u[:, i]))
        slopes = np.geomspace(0.1, 16.0, _GRID // 2) / unit
        yield Family(np.concatenate([-slopes, slopes]), lambda k, i=i: _exponentials(k, i, dim))
        yield Family(slopes, lambda k, i=i: _waves(k, i))
        if positive:
            powers = np.array([-2.5, -1.5, -0.7, -0.35, 0.2, 0.35, 0.5, 0.7, 1.3, 1.6, 2.4, 3.4])
            yield Family(powers, lambda k, i=i: _powers(k, i))
        middle = float(np.exp(np.mean(np.log(x + 1e-6 * x.max()))))
        for n in range(1, degree + 1):
            if positive or n % 2 == 0:
                scales = middle**n * np.geomspace(10**-2.5, 10**2.5, _GRID)
                yield Family(scales, lambda k, i=i, n=n: _saturations(k, i, n, dim))
    for i, j in itertools.combinations(range(dim), 2):
        if (u[:, [i, j]] > 0).all():
            ratio = float(np.exp(np.mean(np.log(u[:, i] / u[:, j]))))
            scales = ratio * np.geomspace(10**-1.5, 10**1.5, _GRID)
            yield Family(scales, lambda k, i=i, j=j: _ratios(k, i, j, dim))


def with_atoms(
    design: Design, state: int, family: Family, base: list[Term], best: float
) -> list[Answer]:
    """Find the best answers of each size that have a term of the family.

    Parameters
    ----------
    base
        Terms without inner constants that may stand beside.
    best
        The least scale known so far: what is far above is not made exact.
    """
    target = design.target(state)
    beside = design.columns(base, state)
    found: dict[Support, tuple[float, float]] = {}
    count = len(family.atoms(float(family.grid[0])))
    tried = _supports(len(base), count)
    for constant in family.grid:
        own = design.columns(family.atoms(float(constant)), state)
        columns = np.column_stack([beside, own])
        size = np.linalg.norm(columns, axis=0)
        if not np.isfinite(size).all() or not (size > 0).all():
            continue
        unit, along = compressed(columns, target)
        supports = list(tried)
        longer = [s for s in backward(unit, along, range(unit.shape[1]), _LARGEST + 1)]
        for group in (*supports, *(np.array([s]) for s in longer if max(s) >= len(base))):
            left = residuals(unit, along, group)
            for k in np.argsort(left, kind="stable")[:6]:
                support = tuple(int(x) for x in group[k])
                if support not in found or left[k] < found[support][0]:
                    found[support] = (float(left[k]), float(constant))
    return _exact(design, state, family, base, found, best)


def _exact(
    design: Design,
    state: int,
    family: Family,
    base: list[Term],
    found: dict[Support, tuple[float, float]],
    best: float,
) -> list[Answer]:
    """Make the constant of the best supports of each size exact."""
    target = design.target(state)
    least = max(best**2 * len(target), min((left for left, _ in found.values()), default=0.0))
    answers = []
    for size in range(1, _LARGEST + 2):
        ranked = sorted((left, s, k) for s, (left, k) in found.items() if len(s) == size)
        for left, support, start in ranked[:3]:
            if left > 1e4 * least:
                break

            def chosen(
                q: float, support: Support = support, sign: float = np.sign(start)
            ) -> list[Term]:
                atoms = family.atoms(float(sign * np.exp(q)))
                return [(*base, *atoms)[i] for i in support]

            def unexplained(q: float) -> float:
                columns = np.stack(
                    [design.integrals(t.values(design.between)) for t in chosen(q)], 1
                )
                return float(np.log(least_squares(columns / scale, target)[1] + 1e-300))

            scale = design.samples.deviation[state]
            middle = float(np.log(abs(start)))
            exact = minimize_scalar(
                unexplained,
                bounds=(middle - _STEP, middle + _STEP),
                method="bounded",
                options={"xatol": 1e-5, "maxiter": 30},
            )
            answers.append(answer(design, state, chosen(float(exact.x))))
    return answers


def _supports(base: int, atoms: int) -> list[Array]:
    """List supports with one atom and up to three others, and with two and up to two, by size."""
    by_size: dict[int, list[tuple[int, ...]]] = {}
    for several, others in ((1, 3), (2, 2)):
        for own in itertools.combinations(range(base, base + atoms), several):
            for count in range(others + 1):
                for beside in itertools.combinations(range(base), count):
                    by_size.setdefault(count + several, []).append((*beside, *own))
    return [np.array(group) for group in by_size.values()]


def _exponentials(k: float, i: int, dim: int) -> list[Term]:
    text = f"exp({k!r}*u{i})"

    def make(u: Array) -> Array:
        return np.exp(k * u[..., i])

    return [_times(one, text, make, _INNER) for one in monomials(dim, 1)]


def _waves(k: float, i: int) -> list[Term]:
    return [
        Term(f"{name}({k!r}*u{i})", _INNER, lambda u, wave=wave: wave(k * u[..., i]))
        for name, wave in (("sin", np.sin), ("cos", np.cos))
    ]


def _powers(k: float, i: int) -> list[Term]:
    return [Term(f"u{i}**({k!r})", _INNER, lambda u: u[..., i] ** k)]


def _saturations(k: float, i: int, n: int, dim: int) -> list[Term]:
    power = monomial([n if j == i else 0 for j in range(dim)])
    own = [monomial([m if j == i else 0 for j in range(dim)]) for m in range(n + 1)]
    others = [
        [m * int(j == i) + int(j == o) for j in range(dim)]
        for o in range(dim)
        if o != i
        for m in (0, n)
    ]
    below = f"({k!r} + {_power_text(i, n)})"
    cost = _INNER + FACTOR * (n - 1)
    return [
        _times(one, f"1/{below}", lambda u: 1.0 / (k + power.make(u)), cost)
        for one in (*own, *map(monomial, others))
    ]


def _ratios(k: float, i: int, j: int, dim: int) -> list[Term]:
    def make(u: Array) -> Array:
        return 1.0 / (u[..., i] + k * u[..., j])

    tops = [one for one in monomials(dim, 2) if one.text in (f"u{i}", f"u{j}", f"u{i}*u{j}")]
    return [_times(one, f"1/(u{i} + {k!r}*u{j})", make, _INNER + FACTOR) for one in tops]


def _power_text(i: int, n: int) -> str:
    return f"u{i}" if n == 1 else f"u{i}**{n}"


def _times(one: Term, text: str, make: Callable[[Array], Array], cost: float) -> Term:
    if one.text == "1":
        return Term(text, cost, make)
    factors = one.text.count("*") + 1
    return Term(f"{one.text}*{text}", cost + FACTOR * factors, lambda u: one.make(u) * make(u))
