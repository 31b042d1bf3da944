"""Terms with constants inside: exponentials, powers, waves, fractions and sigmoids of any scale.

Each family has one inner constant or a few.  They follow the rule of cost of ``dictionary``.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
from dictionary import (
    CONSTANT,
    FACTOR,
    FUNCTION,
    Summand,
    function_of,
    inverse_monomial,
    monomial,
    monomials,
    product_of,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from numpy.typing import NDArray

    Array = NDArray[np.float64]

__all__ = ["AtomFamily", "TunedSummand", "families", "fractions"]

_GRID, _STRIDE = 48, 3
_COARSE, _COARSE_STRIDE = 10.0 ** np.linspace(-1.5, 1.5, 9), 4
"""Grid of each of two constants, in units of what balances the terms of a denominator."""
_INNER = CONSTANT + CONSTANT + FUNCTION
_ALL_ABOVE = 2
"""Powers under a bar up to which all products of smaller ones with another state are above it."""
_ANGLE = 1.0
"""Least range of a state whose sine may be under a bar."""
_POWERS = (-2.5, -1.5, -0.7, -0.35, 0.2, 0.35, 0.5, 0.7, 1.3, 1.6, 2.4, 3.4)


@dataclass(frozen=True)
class AtomFamily:
    """Terms that share inner constants: products of the factors in front with inner functions.

    Attributes
    ----------
    grid
        Constants to begin with, (g, c).
    tops
        The factors that each term's inner function is multiplied by.
    which
        The index of each term's inner function.
    inner
        Evaluates the m inner functions, for constants (c,) on states (..., d), to (m, ...).
    write
        Writes them.
    cost
        Cost of a term, without the factors in front.
    stride
        Step through the grid where many terms are tried at once, and then left out.
    signed
        Whether constants keep their sign, so that they are changed by their logarithms.
    limits
        Returns, for constants, simpler families with constants of theirs, to which the family comes
        near where a constant vanishes or outweighs the rest; None: to the factors in front alone.
    """

    grid: Array = field(repr=False)
    tops: tuple[Summand, ...] = field(repr=False)
    which: tuple[int, ...] = field(repr=False)
    inner: Callable[[Array, Array], Array] = field(repr=False)
    write: Callable[[list[float]], list[str]] = field(repr=False)
    cost: float
    stride: int = 1
    signed: bool = True
    limits: Callable[[Array], list[tuple[AtomFamily | None, Array]]] = field(
        default=lambda _: [], repr=False, compare=False
    )

    def atoms(self, constants: Array) -> list[TunedSummand]:
        """Return the family's terms."""
        texts = self.write([float(c) for c in constants])
        return [self._atom(place, top, texts, constants) for place, top in enumerate(self.tops)]

    def _atom(self, place: int, top: Summand, texts: list[str], constants: Array) -> TunedSummand:
        which = self.which[place]
        text = written = texts[which]

        def make(u: Array) -> Array:
            return np.asarray(top.make(u) * self.inner(constants, u)[which])

        if top.text != "1":
            text = f"{top.text}*{text}"
        cost = self.cost + (top.cost - CONSTANT + FACTOR if top.text != "1" else 0.0)
        inside = CONSTANT * len(constants)
        of_all = "constants of " + ", ".join(texts)
        shared = {of_all: inside, written: self.cost - CONSTANT - inside}
        return TunedSummand(text, cost, make, self, constants, place, shared=shared)


@dataclass(frozen=True)
class TunedSummand(Summand):
    """A term of a family, with the constants that made it."""

    family: AtomFamily = field(repr=False, compare=False)
    constants: Array = field(repr=False, compare=False)
    place: int = field(repr=False, compare=False)


def families(u: Array, degree: int) -> Iterator[AtomFamily]:
    """List the families of one inner constant, and sigmoids, that are defined on states (n, d)."""
    dim = u.shape[1]
    for i in range(dim):
        positive = bool((u[:, i] > 0).all())
        slopes = np.geomspace(0.1, 16.0, _GRID // 2) / float(np.ptp(u[:, i]) or 1.0)
        yield _exponentials(np.concatenate([-slopes, slopes]), i, dim)
        yield _waves(slopes, i)
        if positive:
            yield _powers(np.array(_POWERS), i, dim)
        x = np.abs(u[:, i])
        middle = float(np.exp(np.mean(np.log(x + 1e-6 * x.max() + 1e-300))))
        for n in range(1, degree + 1):
            if positive or n % 2 == 0:
                scales = middle**n * np.geomspace(10**-2.5, 10**2.5, _GRID)
                yield _saturations(scales, i, n, u)
        yield _saturations(_poles(u[:, i], positive=positive), i, 1, u)
        if float(np.ptp(u[:, i])) >= _ANGLE:
            yield from _turning(i, dim)
    for i, j in itertools.combinations(range(dim), 2):
        if (u[:, [i, j]] > 0).all():
            ratio = float(np.exp(np.mean(np.log(u[:, i] / u[:, j]))))
            yield _ratios(ratio * np.geomspace(10**-1.5, 10**1.5, _GRID), i, j)
    for count in (1, 2):
        for several in itertools.combinations(range(dim), count):
            above = monomials(dim, 1) if count == 1 else [monomial([0])]
            yield _sigmoids(_sigmoid_grid(u[:, several]), several, above)


def fractions(u: Array) -> Iterator[AtomFamily]:
    """List the families of fractions with two constants under the bar.

    They are ``1/(K + L*a + b)`` for all pairs of products a, b of at most two factors, which are
    of at most two states, and ``1/((K + u_i)*(L + u_j))``, all of states that are positive; those
    of the fewest factors come first.
    """
    dim = u.shape[1]
    positive = [i for i in range(dim) if (u[:, i] > 0).all()]
    for i, j in itertools.combinations(positive, 2):
        yield _two_factors(u, i, j)
    singles: list[tuple[int, ...]] = [(i,) for i in positive]
    squares = list(itertools.combinations_with_replacement(positive, 2))
    pairs = list(itertools.combinations([*singles, *squares], 2))
    pairs.sort(key=lambda pair: len(pair[0]) + len(pair[1]))
    for first, second in pairs:
        if len({*first, *second}) <= 2:  # noqa: PLR2004 - states
            yield _three_terms(u, first, second)


def _one(
    grid: Array,
    tops: Sequence[Summand],
    inner: Callable[[Array, Array], Array],
    write: Callable[[float], str],
    cost: float,
    *,
    limits: Callable[[Array], list[tuple[AtomFamily | None, Array]]] = lambda _: [],
) -> AtomFamily:
    """Return the family of one function with one constant."""
    return AtomFamily(
        grid[:, None],
        tuple(tops),
        (0,) * len(tops),
        lambda constants, u: inner(constants[0], u)[None],
        lambda constants: [write(constants[0])],
        cost,
        _STRIDE if len(grid) >= _GRID // 2 else 1,
        limits=limits,
    )


def _alone(_: Array) -> list[tuple[AtomFamily | None, Array]]:
    """Return the limit in which nothing but the factor in front is left."""
    return [(None, np.empty(0))]


def _sigmoid_grid(u: Array) -> Array:
    """Return slopes and offsets, (g, 1 + states): soft and sharp steps within the data."""
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


def _poles(x: Array, *, positive: bool) -> Array:
    """Return constants K for which ``K + x`` has one sign on the data, its zero not far away."""
    gaps = float(np.ptp(x) or 1.0) * np.geomspace(0.02, 10.0, _GRID // 2)
    above = -(x.max() + gaps)
    return above if positive else np.concatenate([above, gaps - x.min()])


def _exponentials(grid: Array, i: int, dim: int) -> AtomFamily:
    return _one(
        grid,
        monomials(dim, 1),
        lambda k, u: np.asarray(np.exp(k * u[..., i])),
        lambda k: f"exp({k!r}*u{i})",
        _INNER,
        limits=_alone,
    )


def _waves(grid: Array, i: int) -> AtomFamily:
    one = monomial([0])
    return AtomFamily(
        grid[:, None],
        (one, one),
        (0, 1),
        lambda k, u: np.stack([np.sin(k[0] * u[..., i]), np.cos(k[0] * u[..., i])]),
        lambda k: [f"sin({k[0]!r}*u{i})", f"cos({k[0]!r}*u{i})"],
        _INNER,
    )


def _powers(grid: Array, i: int, dim: int) -> AtomFamily:
    others = [one for one in monomials(dim, 1) if one.text != f"u{i}"]
    return _one(
        grid,
        others,
        lambda k, u: np.asarray(u[..., i] ** k),
        lambda k: f"u{i}**({k!r})",
        _INNER,
    )


def _saturations(grid: Array, i: int, n: int, u: Array) -> AtomFamily:
    dim = u.shape[1]
    tops = [_of(dim, [i] * m) for m in range(n + 1)]
    for other in (o for o in range(dim) if o != i):
        tops += [_of(dim, [other] + [i] * m) for m in {0: (0, n), 1: range(n + 1)}[n <= _ALL_ABOVE]]
        tops.append(_of(dim, [other, other]))
        if (u[:, other] > 0).all():
            tops.append(inverse_monomial([n * int(j == i) for j in range(dim)], other))
    return _one(
        grid,
        tops,
        lambda k, u: np.asarray(1.0 / (k + u[..., i] ** n)),
        lambda k: f"1/({k!r} + u{i})" if n == 1 else f"1/({k!r} + u{i}**{n})",
        _INNER + FACTOR * (n - 1),
        limits=lambda _: [(None, np.empty(0)), *([(_inverses(i), np.empty(0))] if n == 1 else [])],
    )


def _turning(i: int, dim: int) -> Iterator[AtomFamily]:
    """List fractions of mechanics: ``1/(K + sin(u)**2)`` and ``1/(K + cos(u))`` of an angle."""
    sine, cosine = function_of("sin", i), function_of("cos", i)
    one = monomial([0])
    tops = [one, sine, cosine, product_of(sine, cosine)]
    for other in (o for o in range(dim) if o != i):
        rate = monomial([int(j == other) for j in range(dim)])
        square = monomial([2 * int(j == other) for j in range(dim)])
        tops += [rate, product_of(rate, cosine), product_of(square, sine)]
        tops.append(product_of(square, sine, cosine))
    squares = np.geomspace(0.03, 10.0, _GRID // 2)
    yield _one(
        squares,
        tops,
        lambda k, u: np.asarray(1.0 / (k + np.sin(u[..., i]) ** 2)),
        lambda k: f"1/({k!r} + sin(u{i})**2)",
        _INNER + FUNCTION + FACTOR,
        limits=_alone,
    )
    shifted = 1.0 + np.geomspace(0.03, 10.0, _GRID // 4)
    yield _one(
        np.concatenate([shifted, -shifted]),
        tops,
        lambda k, u: np.asarray(1.0 / (k + np.cos(u[..., i]))),
        lambda k: f"1/({k!r} + cos(u{i}))",
        _INNER + FUNCTION,
        limits=_alone,
    )


def _ratios(grid: Array, i: int, j: int) -> AtomFamily:
    tops = [_of(max(i, j) + 1, states) for states in ([i], [j], [i, j])]
    return _one(
        grid,
        tops,
        lambda k, u: np.asarray(1.0 / (u[..., i] + k * u[..., j])),
        lambda k: f"1/(u{i} + {k!r}*u{j})",
        _INNER + FACTOR,
        limits=lambda _: [(_inverses(i), np.empty(0)), (_inverses(j), np.empty(0))],
    )


def _two_factors(u: Array, i: int, j: int) -> AtomFamily:
    first, second = (float(np.exp(np.mean(np.log(u[:, k])))) for k in (i, j))
    return AtomFamily(
        np.array(list(itertools.product(first * _COARSE, second * _COARSE))),
        *_before(u.shape[1], (i, j), [(i,), (j,), (i, j), (i, i, j), (i, j, j)]),
        lambda k, u: np.asarray(1.0 / ((k[0] + u[..., i]) * (k[1] + u[..., j])))[None],
        lambda k: [f"1/(({k[0]!r} + u{i})*({k[1]!r} + u{j}))"],
        _INNER + CONSTANT + FACTOR,
        _COARSE_STRIDE,
        limits=lambda k: [(_shifted((i,)), k[:1]), (_shifted((j,)), k[1:])],
    )


def _three_terms(u: Array, first: tuple[int, ...], second: tuple[int, ...]) -> AtomFamily:
    a, b = (partial(_product, states=states) for states in (first, second))
    middle, other = (float(np.exp(np.mean(np.log(each(u))))) for each in (a, b))
    grid = np.array(list(itertools.product(other * _COARSE, other / middle * _COARSE)))
    above = sorted({*_parts(first), *_parts(second)}, key=lambda states: (len(states), states))
    of = sorted({*first, *second})
    if len(of) == 2:  # noqa: PLR2004 - states
        above = [*above, *(s for s in ((of[0], of[1]),) if s not in above)]
    else:
        grid = np.concatenate([grid * signs for signs in itertools.product((1, -1), repeat=2)])
        below = grid[:, :1] + grid[:, 1:] * a(u) + b(u)
        grid = grid[(np.sign(below) == np.sign(below[:, :1])).all(axis=1)]
    texts = ["*".join(f"u{i}" for i in states) for states in (first, second)]
    return AtomFamily(
        grid,
        *_before(u.shape[1], tuple(of), above),
        lambda k, u: np.asarray(1.0 / (k[0] + k[1] * a(u) + b(u)))[None],
        lambda k: [f"1/({k[0]!r} + {k[1]!r}*{texts[0]} + {texts[1]})"],
        _INNER + CONSTANT + FACTOR * (len(first) + len(second) - 1),
        _COARSE_STRIDE,
        limits=lambda k: [
            (_shifted(second), k[:1]),
            (_shifted(first), k[:1] / k[1:]),
            (_sum_of(first, second), k[1:]),
        ],
    )


def _shifted(states: tuple[int, ...]) -> AtomFamily:
    """Return ``1/(K + product)``, into whose place factors in front are to be put."""
    text = "*".join(f"u{i}" for i in states)
    return AtomFamily(
        np.empty((0, 1)),
        (),
        (),
        lambda k, u: np.asarray(1.0 / (k[0] + _product(u, states)))[None],
        lambda k: [f"1/({k[0]!r} + {text})"],
        _INNER + FACTOR * (len(states) - 1),
        limits=_alone,
    )


def _sum_of(first: tuple[int, ...], second: tuple[int, ...]) -> AtomFamily:
    """Return ``1/(K*first + second)``, into whose place factors in front are to be put."""
    texts = ["*".join(f"u{i}" for i in states) for states in (first, second)]
    return AtomFamily(
        np.empty((0, 1)),
        (),
        (),
        lambda k, u: np.asarray(1.0 / (k[0] * _product(u, first) + _product(u, second)))[None],
        lambda k: [f"1/({k[0]!r}*{texts[0]} + {texts[1]})"],
        _INNER + FACTOR * (len(first) + len(second) - 1),
    )


def _inverses(i: int) -> AtomFamily:
    """Return ``1/u``, into whose place factors in front are to be put."""
    return AtomFamily(
        np.empty((0, 0)),
        (),
        (),
        lambda _, u: np.asarray(1.0 / u[..., i])[None],
        lambda _: [f"1/u{i}"],
        CONSTANT + FUNCTION,
    )


def _before(
    dim: int, of: tuple[int, ...], products: Sequence[tuple[int, ...]]
) -> tuple[tuple[Summand, ...], tuple[int, ...]]:
    """Return possible numerators: products, and those with each of the other states."""
    tops = [_of(dim, states) for states in ((), *products)]
    for other in (o for o in range(dim) if o not in of):
        tops += [_of(dim, (*states, other)) for states in ((), *products)]
    return tuple(tops), (0,) * len(tops)


def _parts(states: tuple[int, ...]) -> list[tuple[int, ...]]:
    """List the products of some of the factors."""
    return [part for size in range(1, len(states) + 1) for part in _combinations(states, size)]


def _combinations(states: tuple[int, ...], size: int) -> list[tuple[int, ...]]:
    return list(dict.fromkeys(itertools.combinations(states, size)))


def _product(u: Array, states: tuple[int, ...]) -> Array:
    values = u[..., states[0]]
    for i in states[1:]:
        values = values * u[..., i]
    return np.asarray(values)


def _of(dim: int, states: Sequence[int]) -> Summand:
    """Return the product of states."""
    return monomial([list(states).count(i) for i in range(dim)])


def _sigmoids(grid: Array, states: tuple[int, ...], above: Sequence[Summand]) -> AtomFamily:
    def inner(constants: Array, u: Array) -> Array:
        inside = sum(k * u[..., i] for k, i in zip(constants[:-1], states, strict=True))
        return np.asarray(1.0 / (1.0 + np.exp(inside + constants[-1])))[None]

    def write(constants: list[float]) -> list[str]:
        *slopes, offset = constants
        inside = "".join(f"{k!r}*u{i} + " for k, i in zip(slopes, states, strict=True))
        return [f"1/(1 + exp({inside}{offset!r}))"]

    def limits(constants: Array) -> list[tuple[AtomFamily | None, Array]]:
        if len(states) == 1:
            return []
        empty = np.empty((0, len(states)))
        return [
            (_sigmoids(empty, states[:k] + states[k + 1 :], above), np.delete(constants, k))
            for k in range(len(states))
        ]

    cost = CONSTANT * (2 + len(states)) + 2 * FUNCTION
    return AtomFamily(
        grid,
        tuple(above),
        (0,) * len(above),
        inner,
        write,
        cost,
        signed=False,
        limits=limits,
    )
