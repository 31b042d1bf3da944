"""Terms with constants inside: exponentials, powers, waves, saturation and sigmoids of any scale.

Each family has one inner constant or a few.  They follow the rule of cost of ``dictionary``.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
from dictionary import CONSTANT, FACTOR, FUNCTION, Summand, monomial, monomials

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

    Array = NDArray[np.float64]

__all__ = ["AtomFamily", "TunedSummand", "families"]

_GRID = 16
_INNER = CONSTANT + CONSTANT + FUNCTION
_POWERS = (-2.5, -1.5, -0.7, -0.35, 0.2, 0.35, 0.5, 0.7, 1.3, 1.6, 2.4, 3.4)


@dataclass(frozen=True)
class AtomFamily:
    """Terms that share inner constants.

    Attributes
    ----------
    grid
        Constants to begin with, (g, c).
    make
        Gives the terms for some constants (c,).
    """

    grid: Array = field(repr=False)
    make: Callable[[Array], list[Summand]] = field(repr=False)

    def atoms(self, constants: Array) -> list[TunedSummand]:
        """Give the family's terms."""
        return [
            TunedSummand(term.text, term.cost, term.make, self, constants, place)
            for place, term in enumerate(self.make(constants))
        ]


@dataclass(frozen=True)
class TunedSummand(Summand):
    """A term of a family, with the constants that made it."""

    family: AtomFamily = field(repr=False, compare=False)
    constants: Array = field(repr=False, compare=False)
    place: int = field(repr=False, compare=False)


def families(u: Array, degree: int) -> Iterator[AtomFamily]:
    """List the families that are defined on states (n, d)."""
    dim = u.shape[1]
    for i in range(dim):
        positive = bool((u[:, i] > 0).all())
        slopes = np.geomspace(0.1, 16.0, _GRID // 2) / float(np.ptp(u[:, i]) or 1.0)
        yield _one(np.concatenate([-slopes, slopes]), partial(_exponentials, i=i, dim=dim))
        yield _one(slopes, partial(_waves, i=i))
        if positive:
            yield _one(np.array(_POWERS), partial(_powers, i=i, dim=dim))
        x = np.abs(u[:, i])
        middle = float(np.exp(np.mean(np.log(x + 1e-6 * x.max() + 1e-300))))
        for n in range(1, degree + 1):
            if positive or n % 2 == 0:
                scales = middle**n * np.geomspace(10**-2.5, 10**2.5, _GRID)
                yield _one(scales, partial(_saturations, i=i, n=n, dim=dim))
    for i, j in itertools.combinations(range(dim), 2):
        if (u[:, [i, j]] > 0).all():
            ratio = float(np.exp(np.mean(np.log(u[:, i] / u[:, j]))))
            scales = ratio * np.geomspace(10**-1.5, 10**1.5, _GRID)
            yield _one(scales, partial(_ratios, i=i, j=j, dim=dim))
    for count in (1, 2):
        for several in itertools.combinations(range(dim), count):
            yield AtomFamily(_sigmoid_grid(u[:, several]), partial(_sigmoids, states=several))


def _one(grid: Array, make: Callable[[float], list[Summand]]) -> AtomFamily:
    def from_first(constants: Array) -> list[Summand]:
        return make(float(constants[0]))

    return AtomFamily(grid[:, None], from_first)


def _sigmoid_grid(u: Array) -> Array:
    """Give slopes and offsets, (g, 1 + states): soft and sharp steps within the data."""
    deviation = np.std(u, axis=0)
    deviation[deviation == 0] = 1.0
    sharp = (0.5, 1.5, 4.0) if u.shape[1] == 1 else (0.7, 2.5)
    signs = itertools.product((1.0, -1.0), repeat=u.shape[1] - 1)
    grid = []
    for rest in signs:
        for size in itertools.product(sharp, repeat=u.shape[1]):
            slopes = np.array((1.0, *rest)) * size / deviation
            along = u @ slopes
            grid += [(*slopes, -float(q)) for q in np.quantile(along, (0.1, 0.5, 0.9))]
    return np.array(grid)


def _exponentials(k: float, i: int, dim: int) -> list[Summand]:
    text = f"exp({k!r}*u{i})"

    def make(u: Array) -> Array:
        return np.asarray(np.exp(k * u[..., i]))

    return [_times(one, text, make, _INNER) for one in monomials(dim, 1)]


def _waves(k: float, i: int) -> list[Summand]:
    def sine(u: Array) -> Array:
        return np.asarray(np.sin(k * u[..., i]))

    def cosine(u: Array) -> Array:
        return np.asarray(np.cos(k * u[..., i]))

    return [
        Summand(f"sin({k!r}*u{i})", _INNER, sine),
        Summand(f"cos({k!r}*u{i})", _INNER, cosine),
    ]


def _powers(k: float, i: int, dim: int) -> list[Summand]:
    def make(u: Array) -> Array:
        return np.asarray(u[..., i] ** k)

    others = [one for one in monomials(dim, 1) if one.text != f"u{i}"]
    return [_times(one, f"u{i}**({k!r})", make, _INNER) for one in others]


def _saturations(k: float, i: int, n: int, dim: int) -> list[Summand]:
    def make(u: Array) -> Array:
        return np.asarray(1.0 / (k + u[..., i] ** n))

    own = [monomial([m * int(j == i) for j in range(dim)]) for m in range(n + 1)]
    others = [
        monomial([m * int(j == i) + int(j == o) for j in range(dim)])
        for o in range(dim)
        if o != i
        for m in (0, n)
    ]
    text = f"1/({k!r} + u{i})" if n == 1 else f"1/({k!r} + u{i}**{n})"
    return [_times(one, text, make, _INNER + FACTOR * (n - 1)) for one in (*own, *others)]


def _ratios(k: float, i: int, j: int, dim: int) -> list[Summand]:
    def make(u: Array) -> Array:
        return np.asarray(1.0 / (u[..., i] + k * u[..., j]))

    tops = [one for one in monomials(dim, 2) if one.text in {f"u{i}", f"u{j}", f"u{i}*u{j}"}]
    return [_times(one, f"1/(u{i} + {k!r}*u{j})", make, _INNER + FACTOR) for one in tops]


def _sigmoids(constants: Array, states: tuple[int, ...]) -> list[Summand]:
    *slopes, offset = map(float, constants)

    def make(u: Array) -> Array:
        inside = sum(slope * u[..., i] for slope, i in zip(slopes, states, strict=True))
        return np.asarray(1.0 / (1.0 + np.exp(inside + offset)))

    inside = "".join(f"{slope!r}*u{i} + " for slope, i in zip(slopes, states, strict=True))
    cost = CONSTANT * (2 + len(states)) + 2 * FUNCTION
    return [Summand(f"1/(1 + exp({inside}{offset!r}))", cost, make)]


def _times(one: Summand, text: str, make: Callable[[Array], Array], cost: float) -> Summand:
    if one.text == "1":
        return Summand(text, cost, make)
    factors = one.text.count("*") + 1

    def both(u: Array) -> Array:
        return one.make(u) * make(u)

    return Summand(f"{one.text}*{text}", cost + FACTOR * factors, both)
