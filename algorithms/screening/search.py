"""The search for one target: sums of products by themselves, behind a link, in parts."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

import numpy as np
from blocks import number
from borders import borders, meeting
from models import EXACT, LONG, TermSum, fitted, tidied
from sums import Products, Sums

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from borders import Border
    from numpy.typing import NDArray
    from sums import ScreeningSettings

    Array = NDArray[np.float64]

__all__ = ["Explanation", "TargetSearch"]

_LAST_ROWS = 1500
"""Rows that answers are tidied and compared on."""
_SURE = 1e-18
"""Residual of a quotient below which nothing else is searched."""
_STRONG = 0.35
"""Borders that leave less than this of what is left without them are looked at early."""
_SIDE = 1e-3
"""A part that leaves more than this is rejected."""


@dataclass(frozen=True)
class Explanation:
    """An equation that was found.

    Attributes
    ----------
    values
        Gives its values (n,) from X (n, d).
    text
        Writes it with the names of the variables.
    size
        Its complexity.
    left
        The share of the variance that it leaves, on the rows that answers are compared on.
    """

    values: Callable[[Array], Array]
    text: Callable[[Sequence[str]], str]
    size: int
    left: float


@dataclass(frozen=True)
class _Link:
    """A function of a sum: the sum is fitted to ``there`` of the target."""

    there: Callable[[Array], Array]
    back: Callable[[Array], Array]
    text: str


_LINKS = (
    _Link(np.log, np.exp, "exp({})"),
    _Link(np.square, np.sqrt, "sqrt({})"),
    _Link(lambda y: 1 / y, lambda u: 1 / u, "1/({})"),
    _Link(np.arctanh, np.tanh, "tanh({})"),
    _Link(np.exp, np.log, "log({})"),
    _Link(np.tan, np.arctan, "atan({})"),
    _Link(np.arcsin, np.sin, "sin({})"),
    _Link(np.arccos, np.cos, "cos({})"),
)


class TargetSearch:
    """All that is tried for one target.

    Parameters
    ----------
    X, y
        (n, d) and (n,).
    settings
        The width of the search.
    late
        Whether the time is over.
    seed
        Seed of the rows that are drawn.
    """

    def __init__(
        self, X: Array, y: Array, settings: ScreeningSettings, late: Callable[[], bool], seed: int
    ) -> None:
        self._X, self._y, self._settings, self._late = X, y, settings, late
        self._random = np.random.default_rng(seed)
        self._rows = self._drawn(np.arange(len(X)), settings.rows)
        self._last = self._drawn(np.arange(len(X)), _LAST_ROWS)

    def answers(self) -> Iterator[Explanation]:
        """Yield answers as they are found; it ends after a step that leaves nothing."""
        yield self._answer(TermSum((), (), float(np.mean(self._y)), 1.0))
        if not np.std(self._y[self._rows]):
            return
        products = Products(self._X[self._rows], self._settings)
        sums = Sums(products, self._y[self._rows], self._late)

        @cache
        def lines() -> tuple[list[Border], list[Border]]:
            """Return the borders that are strong, and the best that are not."""
            found = borders(self._X[self._last], self._y[self._last], self._late)
            strong = [one for one in found if one.left < _STRONG][:3]
            return strong, [one for one in found[:3] if one not in strong]

        steps: list[Callable[[], Iterator[Explanation]]] = [
            lambda: self._simple(sums),
            lambda: self._parted(lines()[0]),
            lambda: map(self._tidy, sums.climbed()),
            lambda: self._linked(products),
            lambda: map(self._tidy, sums.triples()),
            lambda: self._parted(lines()[1]),
            lambda: map(self._tidy, sums.beam(sums.start, self._settings.terms, triples=True)),
            lambda: map(self._tidy, sums.beam(sums.cubic(), self._settings.terms, triples=True)),
        ]
        for step in steps:
            exact = False
            for one in step():
                yield one
                exact |= one.left < EXACT
            if exact or self._late():
                return

    def _drawn(self, rows: NDArray[np.int64], most: int) -> NDArray[np.int64]:
        if len(rows) <= most:
            return rows
        return np.sort(self._random.choice(rows, most, replace=False))

    # What is tried, in turn.

    def _simple(self, sums: Sums) -> Iterator[Explanation]:
        for step in (sums.quotients, sums.spanned, sums.single, sums.pairs):
            exact = False
            for model in step():
                one = self._tidy(model)
                yield one
                # Powers of what is added to 1 come near many a function.
                sure = step != sums.quotients or model.left < _SURE
                exact |= sure and one.left < EXACT
            if (exact and step != sums.spanned) or self._late():
                return

    def _linked(self, products: Products) -> Iterator[Explanation]:
        kinds = max(1, self._settings.kinds // 2)
        for link in _LINKS:
            if self._late():
                return
            with np.errstate(all="ignore"):
                there = link.there(self._y)
            if not np.isfinite(there).all() or np.abs(there).max() > 1e6 * np.std(there):
                continue
            sums = Sums(products, there[self._rows], self._late)
            exact = False
            for models in (sums.spanned, lambda s=sums: s.single(kinds), sums.pairs):
                for model in models()[:2]:
                    whole = fitted(
                        model.terms,
                        self._X[self._last],
                        there[self._last],
                        steps=8,
                        late=self._late,
                    )
                    tidy = tidied(whole, self._X[self._last], there[self._last], self._late)
                    one = self._with_link(link, tidy)
                    yield one
                    exact |= one.left < EXACT
                if exact:
                    return

    # Parts of the domain.

    def _parted(self, lines: Sequence[Border]) -> Iterator[Explanation]:
        """Look for an equation on each side of a border."""
        for line in lines:
            u = line.quantity.values(self._X)
            parts: list[TermSum] = []
            for side in (u < line.low, u > line.high):
                rows = np.flatnonzero(side)
                if len(rows) < 12 or self._late():  # noqa: PLR2004
                    break
                parts.append(self._part(rows))
                if parts[-1].left > _SIDE:
                    break
            if len(parts) == 2 and parts[1].left <= _SIDE:  # noqa: PLR2004
                one = self._joined(line, parts[0], parts[1])
                yield one
                if one.left < EXACT:
                    return

    def _part(self, rows: NDArray[np.int64]) -> TermSum:
        """Return the best sum for some rows."""
        drawn = self._drawn(rows, self._settings.rows)
        if np.ptp(self._y[rows]) < 1e-12 * (np.ptp(self._y) or 1.0):
            return TermSum((), (), float(self._y[rows].mean()), 0.0)
        sums = Sums(Products(self._X[drawn], self._settings), self._y[drawn], self._late)
        found = [sums.start]
        for step in (sums.spanned, sums.single, sums.pairs):
            found += step()
            exact = [one for one in found if one.exact]
            if (exact and step != sums.spanned) or self._late():
                break
        best = min(exact, key=lambda one: one.size) if exact else min(found, key=_left)
        last = self._drawn(rows, _LAST_ROWS)
        best = fitted(best.terms, self._X[last], self._y[last], steps=10, late=self._late)
        return tidied(best, self._X[last], self._y[last], self._late)

    def _joined(self, line: Border, below: TermSum, above: TermSum) -> Explanation:
        border = line.quantity
        u = border.values(self._X)
        with np.errstate(all="ignore"):
            first = np.abs(below.values(self._X) - self._y)
            second = np.abs(above.values(self._X) - self._y)
        level = meeting(u, first < second, (line.low + line.high) / 2)
        size = below.size + above.size + border.size + 2

        def values(X: Array) -> Array:
            side = np.sign(border.values(X) - level)
            one, other = below.values(X), above.values(X)
            return np.asarray((one + other) / 2 + side * (other - one) / 2)

        def text(names: Sequence[str]) -> str:
            where = border.text(names)
            if level:
                where += f" - {number(level)}" if level > 0 else f" + {number(-level)}"
            one, other = below.text(names), above.text(names)
            return f"(({one}) + ({other}))/2 + sign({where})*(({other}) - ({one}))/2"

        return self._compared(values, text, size)

    # Answers.

    def _tidy(self, model: TermSum) -> Explanation:
        rows = self._last if model.exact else self._rows
        X, y = self._X[rows], self._y[rows]
        inner = len(model.terms) <= LONG
        whole = (
            fitted(model.terms, X, y, steps=8, inner=inner, late=self._late)
            if model.exact
            else model
        )
        return self._answer(tidied(whole, X, y, self._late))

    def _answer(self, model: TermSum) -> Explanation:
        return self._compared(model.values, model.text, model.size)

    def _with_link(self, link: _Link, model: TermSum) -> Explanation:
        return self._compared(
            lambda X: link.back(model.values(X)),
            lambda names: link.text.format(model.text(names)),
            model.size + 1,
        )

    def _compared(
        self, values: Callable[[Array], Array], text: Callable[[Sequence[str]], str], size: int
    ) -> Explanation:
        y = self._y[self._last]
        with np.errstate(all="ignore"):
            left = float(np.mean((values(self._X[self._last]) - y) ** 2))
        left /= float(np.var(y)) or 1.0
        return Explanation(values, text, size, left if np.isfinite(left) else np.inf)


def _left(model: TermSum) -> float:
    return model.left
