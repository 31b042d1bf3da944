"""Whether a single term explains what a true equation leaves of its data.

A right law leaves rounding, noise and errors of discretisation, which have many small causes.  A
wrong one leaves above all the term that it lacks.  So each term of a library, with and without a
constant, is fitted by least squares to what the truth leaves of one half of the samples.  It counts
by the share of the other half that it explains, in both directions: chance explains nothing there.
The constants of the truth itself are fitted in the same way.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import combinations_with_replacement
from math import comb
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from eqverdict.grammar import read
from eqverdict.tree import Call, Chain, Negation, Number, Power, value, with_part

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from eqverdict.tree import Node

    Array = NDArray[np.float64]

EXPLAINED = 0.5
"""A term that explains more than this share of a residual, on samples that it was not fitted to,
beats the truth: no other cause is that large."""
ROUNDING = 1e-12
"""A residual below this share of the squared targets is rounding: the resolution of the NMSE."""
DIFFERENCES = 1e-8
"""The same where derivatives are features.  Differences are off by up to 1e-4, and their errors are
multiples of higher derivatives, which explain them (in the channel 4.8e-10 are left, which 49 nodes
instead of 25 make 1e-13)."""
FEWEST = 30
"""With fewer samples some term explains half of the noise by chance."""
_DEGREE = 3
"""The largest degree of products of states, coordinates and derivatives."""
_MOST_PRODUCTS = 30_000
"""The most products; for many columns the degree is lower."""
_DERIVATIVE = re.compile(r"u\d+_[xyzt]+")
_MOST_DERIVATIVES = 2
"""Factors of a product that are derivatives."""
_FUNCTIONS = (
    *("sin({0})", "cos({0})", "tanh({0})", "exp({0})"),
    *("log(abs({0}))", "sqrt(abs({0}))", "abs({0})", "1/{0}", "1/{0}**2"),
)
"""Functions of a single state or coordinate."""
_STEP = 1e-6
"""The relative change of a constant by which its effect is measured."""
_RANK = 1e-9
"""Directions in which constants change values by a smaller share are left as they are."""


@dataclass(frozen=True)
class Gain:
    """What an addition to a true equation explains of its residual.

    Attributes
    ----------
    target
        The name of the left-hand side.
    text
        The term; or the truth's own constants with the values that fit better.
    coefficient
        Of the term, fitted to all samples; of constants the largest relative change.
    before, after
        What the truth leaves of the squared targets, where its constants are free with those that
        fit best; and what it leaves with the addition, of each half of the samples with the
        coefficients that were fitted to the other.
    counted
        Whether the residual is more than rounding, or errors of differences.
    """

    target: str
    text: str
    coefficient: float
    before: float
    after: float
    counted: bool

    @property
    def explained(self) -> float:
        """The share of the residual that is explained; below 0 where a fit was chance."""
        return 1 - self.after / self.before if self.before > 0 else 0.0

    @property
    def beats(self) -> bool:
        """Whether the truth is not the law of its data."""
        return self.counted and self.explained > EXPLAINED


def library(names: Sequence[str]) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Return the terms that are tried, and the names of the factors of each.

    They are products of up to three names, of which up to two are derivatives (``u0_xx``), and the
    usual functions of each other name, which have no factors.

    Examples
    --------
    >>> [text for text, _ in library(["u"])][:6]
    ['1', 'u', 'u**2', 'u**3', 'sin(u)', 'cos(u)']
    """
    yield "1", ()
    degrees = range(1, _DEGREE + 1)
    counts = np.cumsum([comb(len(names) + degree - 1, degree) for degree in degrees])
    for degree, count in zip(degrees, counts, strict=True):
        for factors in combinations_with_replacement(names, degree):
            if degree > 1 and count > _MOST_PRODUCTS:
                break
            if sum(map(is_derivative, factors)) <= _MOST_DERIVATIVES:
                counted = {name: factors.count(name) for name in factors}
                powers = (name if n == 1 else f"{name}**{n}" for name, n in counted.items())
                yield "*".join(powers), factors
    for name in names:
        if not is_derivative(name):
            yield from ((form.format(name), ()) for form in _FUNCTIONS)


def is_derivative(name: str) -> bool:
    """Whether a name is that of a state's derivative in space."""
    return _DERIVATIVE.fullmatch(name) is not None


class Samples(NamedTuple):
    """What is searched.

    Attributes
    ----------
    columns
        The values of each variable, (n,) each.
    targets, values
        The targets, and the values of the true equations, (n, targets).
    any_order
        Whether samples are independent of those next to them.  The halves are then every other
        sample, and else the first and the second half.
    fitted
        Whether the constants of the truth were fitted to these data: a term then counts by what no
        change of these constants explains.
    """

    columns: Mapping[str, Array]
    targets: Array
    values: Array
    any_order: bool
    fitted: bool = False


def best_gain(names: Sequence[str], equations: Sequence[str], samples: Samples) -> Gain | None:
    """Return the addition that explains the largest share of what a true equation leaves.

    A residual that counts comes before one that does not.  None where no equation leaves more than
    rounding, or with fewer samples than `FEWEST`.

    Parameters
    ----------
    names
        Of the targets.
    equations
        The truth, one a target.
    """
    if len(samples.targets) < FEWEST:
        return None
    search = _Search(names, equations, samples)
    gains = [*search.terms()]
    if not samples.fitted:
        gains += search.constants()
    return max(gains, key=lambda gain: (gain.counted, gain.explained), default=None)


class _Search:
    """The residuals that are more than rounding, cut in two."""

    def __init__(self, names: Sequence[str], equations: Sequence[str], samples: Samples) -> None:
        self.columns = samples.columns
        self.n = len(samples.targets)
        power = np.sum(samples.targets**2, axis=0)
        misfit = samples.targets - samples.values
        squares = np.sum(misfit**2, axis=0)
        open_ = (squares > ROUNDING * power) & (power > 0)
        self.places = [int(place) for place in np.flatnonzero(open_)]
        self.names = [names[place] for place in self.places]
        self.trees = [read(equations[place], tuple(self.columns)) for place in self.places]
        self.left = misfit[:, self.places]
        self.power = power[self.places]
        self.halves = (
            (slice(0, None, 2), slice(1, None, 2))
            if samples.any_order
            else (slice(None, self.n // 2), slice(self.n // 2, None))
        )
        self.beside: list[Array] = []
        if samples.fitted:
            self.beside = [_directions(self._effects(tree)[1]) for tree in self.trees]
        self.squares = np.sum(self.left**2, axis=0)
        self.least = self.squares.copy()
        for i, free in enumerate(self.beside):
            self.least[i] = max(self.least[i] - np.sum((free.T @ self.left[:, i]) ** 2), 0.0)
        self.limit = DIFFERENCES if any(map(is_derivative, self.columns)) else ROUNDING

    def terms(self) -> Iterator[Gain]:
        """Return the best term for each equation; it has a constant where that halves the rest."""
        if not len(self.places):
            return
        alone: dict[int, Gain] = {}
        paired: dict[int, Gain] = {}
        for text, factors in library(tuple(self.columns)):
            x = self._values(text, factors)
            largest = float(np.max(np.abs(x)))
            if not 0 < largest < np.inf:  # nor NaN
                continue
            x = x / largest
            both = np.stack([x, np.ones_like(x)], axis=-1)
            ways = ((text, both[:, :1], alone), (f"{text}, with a constant", both, paired))
            for written, columns, best in ways[: 1 + (text != "1")]:
                for i, (coefficients, change) in enumerate(self._fitted_to_each(columns)):
                    gain = self._gain(i, written, coefficients[0] / largest, change)
                    if i not in best or gain.explained > best[i].explained:
                        best[i] = gain
        for i, gain in alone.items():
            pair = paired.get(i, gain)
            yield pair if gain.after > ROUNDING and pair.after < gain.after / 2 else gain

    def _values(self, text: str, factors: tuple[str, ...]) -> Array:
        with np.errstate(all="ignore"):
            product: Array = np.ones(self.n)
            for name in factors:
                product = product * self.columns[name]
            if not factors and text != "1":
                product = product * value(read(text, tuple(self.columns)), self.columns)
        return product

    def constants(self) -> Iterator[Gain]:
        """Fit the constants of each equation, by what depends on them where they stand."""
        for i, tree in enumerate(self.trees):
            known, effects = self._effects(tree)
            if not known:
                continue
            ((moves, change),) = self._fitted(effects, self.left[:, i : i + 1])
            moved = (f"{c:.6g} -> {c * (1 + by):.6g}" for c, by in zip(known, moves, strict=True))
            yield self._gain(i, f"its constants: {', '.join(moved)}", np.abs(moves).max(), change)

    def _effects(self, tree: Node) -> tuple[list[float], Array]:
        """Return the constants of an equation, (k,), and what depends on each, (n, k)."""
        known, effects = [], np.empty((self.n, 0))
        for part in _constants_of(tree):
            effect = self._effect(tree, part)
            if np.isfinite(effect).all() and effect.any():
                known.append(float(part.constant or 0))
                effects = np.column_stack([effects, effect])
        return known, effects

    def _effect(self, tree: Node, part: Node) -> Array:
        """Return the derivative of an equation by the logarithm of one of its constants."""
        ends = []
        for factor in (1 + _STEP, 1 - _STEP):
            number = np.float64((part.constant or 0) * factor)
            other = with_part(tree, part, Number(number, repr(float(number))))
            with np.errstate(all="ignore"):
                ends.append(value(other, self.columns))
        return np.broadcast_to((ends[0] - ends[1]) / (2 * _STEP), self.n)

    def _fitted_to_each(self, columns: Array) -> list[tuple[Array, float]]:
        """Fit columns to each residual, together with its constants where these are free."""
        if not self.beside:
            return self._fitted(columns, self.left)
        fits = []
        for i, free in enumerate(self.beside):
            own = np.column_stack([columns - free @ (free.T @ columns), free])
            fits += self._fitted(own, self.left[:, i : i + 1])
        return fits

    def _fitted(self, columns: Array, misfit: Array) -> list[tuple[Array, float]]:
        """Fit columns (n, k) to each of the residuals (n, m).

        Returns
        -------
        list
            For each residual the coefficients, (k,), fitted to all samples; and by what the sum of
            its squares changes, where each half has the coefficients of the other.
        """
        squares = [columns[half].T @ columns[half] for half in self.halves]
        along = [columns[half].T @ misfit[half] for half in self.halves]
        fits = [_solved(square, each) for square, each in zip(squares, along, strict=True)]
        whole = _solved(squares[0] + squares[1], along[0] + along[1])
        changes = sum(
            np.sum(fit * (square @ fit - 2 * each), axis=0)
            for square, each, fit in zip(squares, along, fits[::-1], strict=True)
        )
        return [(whole[:, i], float(change)) for i, change in enumerate(np.asarray(changes))]

    def _gain(self, i: int, text: str, coefficient: float, change: float) -> Gain:
        power, before = float(self.power[i]), float(self.least[i])
        return Gain(
            self.names[i],
            text,
            float(coefficient),
            before / power,
            max(float(self.squares[i]) + change, 0.0) / power,
            counted=before > self.limit * power,
        )


def _directions(effects: Array) -> Array:
    """Return orthonormal directions, (n, m), in which constants change values."""
    sizes = np.linalg.norm(effects, axis=0)
    u, share, _ = np.linalg.svd(effects / np.where(sizes > 0, sizes, 1.0), full_matrices=False)
    return np.asarray(u[:, share > _RANK])


def _solved(square: Array, along: Array) -> Array:
    """Solve normal equations, in units in which all columns are alike; the shortest solution."""
    size = np.sqrt(np.diag(square))
    size = np.where(size > 0, size, 1.0)
    found = np.linalg.lstsq(square / np.outer(size, size), along / size[:, None], rcond=_RANK)[0]
    return np.asarray(found / size[:, None])


def _constants_of(node: Node) -> Iterator[Node]:
    """Return the largest parts of a tree without a variable, but for 0 and for whole exponents."""
    if node.constant is not None:
        if node.constant != 0:
            yield node
        return
    match node:
        case Chain():
            for part in (node.first, *(operand for _, operand in node.rest)):
                yield from _constants_of(part)
        case Negation():
            yield from _constants_of(node.operand)
        case Power():
            yield from _constants_of(node.base)
            exponent = node.exponent.constant
            if exponent is None or not float(exponent).is_integer():
                yield from _constants_of(node.exponent)
        case Call():
            for part in node.arguments:
                yield from _constants_of(part)
