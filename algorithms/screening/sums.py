"""Sums of screened products for one column of values on some rows."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations, product
from typing import TYPE_CHECKING

import numpy as np
from blocks import Factor, Monomial, values
from dictionary import factors, plane_waves
from logarithms import Logarithms
from models import TermSum, fitted
from screen import Screen

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from blocks import Term
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

__all__ = ["Products", "ScreeningSettings", "Sums"]

_SURE = 0.9999
"""Products that explain more are fitted without moving their inner numbers first."""
_RIVALS = 0.05
"""Terms whose gain is less by no more than this are tried together with one that leaves nothing."""
_NOTHING = 1e-9
"""A term whose part of the values is smaller is left out of a sum that leaves nothing."""
_HALF = 0.5
"""Part of the variance: a quotient that leaves more is rejected."""
_CLIMBED = 4
"""Terms of a sum that grows along one path."""
_CROSSED = 8
"""Factors of one variable that are multiplied by those of another."""
_HIGHEST = {1: 8, 2: 7, 3: 7}
"""Degree of the plain monomials of so many variables; of more, 3."""
_WIDEST = 400
"""Columns of the widest sum that is solved for at once."""


@dataclass(frozen=True)
class ScreeningSettings:
    """Width of the search.

    Attributes
    ----------
    rows
        Number of rows that are screened on.
    most
        Factors at the left of a product; on the right there are waves over planes, too.
    directions
        Frequencies along each axis of those.
    kinds
        Products whose numbers are fitted, at each step.
    beam
        Sums that are grown further.
    terms
        Of the longest sum.
    """

    rows: int = 400
    most: int = 2500
    directions: int = 14
    kinds: int = 24
    beam: int = 4
    terms: int = 6


class Products:
    """The factors for some rows, and their products.

    Parameters
    ----------
    X
        (n, d), the rows.
    settings
        Numbers of factors and products.
    """

    def __init__(self, X: Array, settings: ScreeningSettings) -> None:
        self.X, self.settings = X, settings
        self.left = factors(X, settings.most)
        self.screen = Screen(self.left, [*self.left, *plane_waves(X, settings.directions)], X)
        self._small: Screen | None = None
        self._plain: tuple[list[Term], Array] | None = None

    def triples(self, rest: Array) -> list[tuple[float, Term]]:
        """Return products of three that explain most of what is left (n,), the best first."""
        if self._small is None:
            few = [one for one in self.left if len(one.quantity) == 1]
            self._small = Screen(few[:400], self.left[:900], self.X)
        found = [each for one in self._thirds() for each in self._small.best(rest, 6, one)]
        return sorted(found, key=lambda one: -one[0])[: self.settings.kinds]

    def _thirds(self) -> list[Factor]:
        d = self.X.shape[1]
        one = [Monomial(tuple(int(i == k) for i in range(d))) for k in range(d)]
        return [Factor(name, (each,), (1.0,)) for name in ("id", "sin", "cos") for each in one]

    @property
    def plain(self) -> tuple[list[Term], Array]:
        """Products of simple factors of one variable each, and their columns (n, k)."""
        if self._plain is None:
            terms = list(_plain(self.X))[:_WIDEST]
            columns = [(term, values(term, self.X)) for term in terms]
            kept = [(term, one) for term, one in columns if np.isfinite(one).all()]
            self._plain = [term for term, _ in kept], np.column_stack([one for _, one in kept])
        return self._plain


class Sums:
    """Sums that are found for a column of values.

    Parameters
    ----------
    products
        Of the rows.
    y
        (n,), the values there.
    late
        Whether the time is over.
    """

    def __init__(self, products: Products, y: Array, late: Callable[[], bool]) -> None:
        self._products, self._y, self._late = products, y, late
        self._settings = products.settings
        self.start = TermSum((), (), float(y.mean()), 1.0)

    def quotients(self) -> list[TermSum]:
        """Return products of powers and of functions of one or two quantities."""
        X, y = self._products.X, self._y
        found = []
        for term in Logarithms(X, y).products():
            if self._late():
                break
            one = fitted([term], X, y, late=self._late)
            if one.exact:
                return [one]
            if one.left < _HALF:  # near a pole a logarithm shows little of values
                found.append(one)
        return found

    def single(self, kinds: int | None = None) -> list[TermSum]:
        """Return products that are the whole, as far as one product can."""
        return self.grown(self.start, kinds)

    def triples(self) -> list[TermSum]:
        """Return products of three factors."""
        found = self._products.triples(self._y - self.start.offset)
        return self._tried(self.start, [(gain, (term,)) for gain, term in found])

    def spanned(self) -> list[TermSum]:
        """Return the sum of plain products that leaves nothing, if there is one.

        It is solved for with all of them at once; then those that are not needed are left out.
        """
        terms, columns = self._products.plain
        X, y = self._products.X, self._y
        if len(terms) * 2 > len(y):
            terms, columns = terms[: len(y) // 2], columns[:, : len(y) // 2]
        size = np.linalg.norm(columns, axis=0)
        scaled = columns / np.where(size > 0, size, 1.0)
        columns = np.column_stack([scaled, np.ones(len(y))]).astype(np.float64)
        kept = np.arange(len(terms) + 1)
        whole = float(np.linalg.norm(y - y.mean())) or 1.0
        numbers: Array = np.zeros(0)
        for _ in range(len(terms)):
            numbers = np.asarray(np.linalg.lstsq(columns[:, kept], y, rcond=1e-13)[0])
            if float(np.linalg.norm(y - columns[:, kept] @ numbers)) > _NOTHING * whole:
                return []
            parts = np.abs(numbers) * np.linalg.norm(columns[:, kept], axis=0)
            needed = parts > _NOTHING * whole * 100
            if needed.all():
                break
            kept = kept[needed]
        kept = _without_idle(columns, y, kept, _NOTHING * whole)
        chosen = [terms[place] for place in kept.tolist() if place < len(terms)]
        return [fitted(chosen, X, y, inner=False)] if chosen else []

    def pairs(self) -> list[TermSum]:
        """Return sums of two factors."""
        found = self._products.screen.sums(self._y - self._y.mean(), self._settings.kinds)
        return self._tried(self.start, found)

    def grown(
        self, model: TermSum, kinds: int | None = None, *, triples: bool = False
    ) -> list[TermSum]:
        """Return a model with one term more, the best few."""
        rest = self._y - model.values(self._products.X)
        kinds = kinds or self._settings.kinds
        found = self._products.screen.best(rest, kinds)
        if triples:
            more = self._products.triples(rest)[: kinds // 2]
            found = sorted([*found, *more], key=lambda one: -one[0])
        return self._tried(model, [(gain, (term,)) for gain, term in found])

    def climbed(self) -> list[TermSum]:
        """Return sums of up to a few terms, each the best so far with one term more."""
        found = [self.start]
        for _ in range(_CLIMBED):
            more = self.grown(found[-1])
            if not more or self._late():
                break
            found.append(more[0])
            if more[0].exact:
                break
        return found[2:]

    def beam(self, start: TermSum, terms: int, *, triples: bool = False) -> Iterator[TermSum]:
        """Yield ever longer sums, the best of each length."""
        beam = [start]
        for _ in range(terms):
            grown: dict[float, TermSum] = {}
            for model in beam:
                if self._late():
                    break
                for one in self.grown(model, triples=triples):
                    grown.setdefault(float(f"{one.left:.6g}"), one)
            beam = sorted(grown.values(), key=lambda one: one.left)[: self._settings.beam]
            for model in beam[:2]:
                yield model
                if model.exact:
                    return
            if not beam or self._late():
                return

    def cubic(self) -> TermSum:
        """Return the best cubic: what it leaves may be simple."""
        terms = [
            (one,)
            for one in self._products.left
            if one.function == "id"
            and len(one.quantity) == 1
            and min(one.quantity[0].powers) >= 0
            and 0 < sum(one.quantity[0].powers) <= 3  # noqa: PLR2004
        ]
        return fitted(terms, self._products.X, self._y, inner=False)

    def _tried(
        self, model: TermSum, found: Sequence[tuple[float, tuple[Term, ...]]]
    ) -> list[TermSum]:
        """Fit the numbers of a model with each of these terms: all for a few steps, some fully."""
        X, y = self._products.X, self._y
        quick: list[TermSum] = []
        enough = 0.0
        for gain, terms in found:
            if self._late() or gain < enough:
                break
            one = fitted((*model.terms, *terms), X, y, inner=gain < _SURE, steps=4, late=self._late)
            if gain >= _SURE and not one.exact:
                one = fitted(one.terms, X, y, steps=10, late=self._late)
            quick.append(one)
            if one.exact:
                enough = max(enough, gain - _RIVALS)
        if exact := [one for one in quick if one.exact]:
            return sorted(exact, key=lambda one: one.size)[:2]
        quick.sort(key=lambda one: one.left)
        whole = []
        for one in quick[: self._settings.beam]:
            whole.append(fitted(one.terms, X, y, steps=40, late=self._late))
            if whole[-1].exact:
                return [whole[-1]]
        return sorted([*whole, *quick[self._settings.beam :][:2]], key=lambda one: one.left)


def _plain(X: Array) -> Iterator[Term]:
    """Yield products of factors of one variable each, the simple ones first."""
    d = X.shape[1]
    for total in range(1, _HIGHEST.get(d, 3) + 1):
        for powers in product(range(total + 1), repeat=d):
            if sum(powers) == total:
                yield (Factor("id", (Monomial(powers),), (1.0,)),)
    own = [_of_one(d, i) for i in range(d)]
    for each in own:
        yield from ((one,) for one in each if one.function != "id")
    for i, j in combinations(range(d), 2):
        yield from ((one,) for one in _of_two(d, i, j))
    for one, other in combinations(own, 2):
        for first, second in product(one[:_CROSSED], other[:_CROSSED]):
            if first.function != "id" or second.function != "id":
                yield (first, second)


def _of_two(d: int, i: int, j: int) -> Iterator[Factor]:
    """Yield factors of two of d variables together."""
    both = Monomial(tuple(int(k in {i, j}) for k in range(d)))
    for name in ("sin", "cos", "exp", "tan"):
        yield Factor(name, (both,), (1.0,))
    squares = tuple(Monomial(tuple(2 * (k == one) for k in range(d))) for one in (i, j))
    for name in ("sqrt", "sin", "cos", "log1"):
        yield Factor(name, squares, (1.0, 1.0))


def _of_one(d: int, column: int) -> list[Factor]:
    """Return factors of one of d variables."""
    line, square = ((Monomial(tuple(power * (k == column) for k in range(d))),) for power in (1, 2))
    return [
        *(Factor(name, line, (1.0,)) for name in ("sin", "cos", "id")),
        *(Factor("exp", line, (rate,)) for rate in (1.0, -1.0)),
        Factor("exp", square, (-1.0,)),
        *(Factor(name, line, (2.0,)) for name in ("sin", "cos")),
        *(Factor(name, line, (1.0,)) for name in ("tanh", "abs", "tan")),
        *(Factor(name, square, (1.0,)) for name in ("log1", "sin", "cos")),
    ]


def _without_idle(
    columns: Array, y: Array, kept: NDArray[np.int64], most: float
) -> NDArray[np.int64]:
    """Leave out, one by one, columns without which no more than `most` is left."""
    for place in sorted(kept.tolist(), reverse=True):
        less = kept[kept != place]
        if not len(less) or len(kept) > 60:  # noqa: PLR2004
            break
        numbers = np.linalg.lstsq(columns[:, less], y, rcond=1e-13)[0]
        if float(np.linalg.norm(y - columns[:, less] @ numbers)) <= most:
            kept = less
    return kept
