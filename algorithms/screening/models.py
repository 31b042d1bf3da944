"""Sums of terms, with all their numbers fitted: the factors linearly, what is inside by steps.

Variable projection (Golub and Pereyra 1973): for any inner numbers the best linear ones are known,
so that Levenberg and Marquardt's steps go over the inner ones alone.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np
from blocks import Factor, number, values
from scipy.optimize import least_squares

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from blocks import Term
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

__all__ = ["EXACT", "LONG", "TermSum", "fitted", "tidied"]

EXACT = 1e-13
"""A share of the variance below which nothing is left to explain."""
LONG = 8
"""Terms of the longest sum from which leaving out each term is tried."""
_GAIN = 1.02
"""A shorter form may be worse by this factor."""


@dataclass(frozen=True)
class TermSum:
    """A sum of terms with a constant, and the share of the variance that it leaves."""

    terms: tuple[Term, ...]
    factors: tuple[float, ...]
    offset: float
    left: float

    @property
    def size(self) -> int:
        """Complexity in comparisons of models: numbers, functions and monomials."""
        return sum(1 + sum(each.size for each in term) for term in self.terms) + (self.offset != 0)

    @property
    def exact(self) -> bool:
        """Whether nothing is left."""
        return self.left < EXACT

    def values(self, X: Array) -> Array:
        """Return the sum's values (n,)."""
        found = np.full(len(X), self.offset)
        for factor, term in zip(self.factors, self.terms, strict=True):
            found += factor * values(term, X)
        return found

    def text(self, names: Sequence[str]) -> str:
        """Write it."""
        parts: list[str] = []
        for factor, term in zip(self.factors, self.terms, strict=True):
            inner = "*".join(each.text(names) for each in term)
            sign = ("-" if factor < 0 else "") if not parts else " - " if factor < 0 else " + "
            one = inner if abs(factor) == 1 and inner else f"{number(abs(factor))}*{inner}"
            parts.append(sign + (one if inner else number(abs(factor))))
        if self.offset or not parts:
            sign = "" if not parts else " + " if self.offset >= 0 else " - "
            parts.append(sign + number(abs(self.offset) if parts else self.offset))
        return "".join(parts)


@dataclass
class _Sum:
    """Columns of terms, of which only those are evaluated again whose numbers have changed."""

    terms: tuple[Term, ...]
    X: Array
    y: Array
    parts: list[list[list[Array]]] = field(init=False)

    def __post_init__(self) -> None:
        known: dict[object, Array] = {}
        self.parts = [
            [[known.setdefault(each, each.values(self.X)) for each in one.quantity] for one in term]
            for term in self.terms
        ]

    @property
    def free(self) -> Array:
        return np.array([number for term in self.terms for one in term for number in one.free])

    def moved(self, numbers: Array) -> tuple[Term, ...]:
        rest = iter(numbers.tolist())
        return tuple(
            tuple(one.moved([next(rest) for _ in one.free]) for one in term) for term in self.terms
        )

    def columns(self, terms: Sequence[Term]) -> Array:
        found = np.ones((len(self.y), len(terms) + 1))
        for place, term in enumerate(terms):
            for one, parts in zip(term, self.parts[place], strict=True):
                found[:, place] *= one.of(parts)
        return found

    def linear(self, terms: Sequence[Term]) -> tuple[Array, Array]:
        """Return the best linear coefficients (k + 1,), and the residuals (n,)."""
        columns = self.columns(terms)
        if not np.isfinite(columns).all():
            return np.zeros(columns.shape[1]), np.full(len(self.y), 1e6) * (np.std(self.y) or 1.0)
        size = np.linalg.norm(columns, axis=0)
        size[size == 0] = 1.0
        best = np.linalg.lstsq(columns / size, self.y, rcond=1e-12)[0]
        return best / size, self.y - (columns / size) @ best


class _LateError(Exception):
    """The time is over in the middle of a fit."""


def fitted(
    terms: Sequence[Term],
    X: Array,
    y: Array,
    *,
    steps: int = 30,
    inner: bool = True,
    late: Callable[[], bool] | None = None,
) -> TermSum:
    """Fit all numbers of a sum, from where they are.

    Parameters
    ----------
    terms
        With inner numbers to start from.
    X, y
        (n, d) and (n,).
    steps
        Number of steps of Levenberg and Marquardt, at most.
    inner
        Whether inner numbers may move.
    late
        Whether the time is over; then inner numbers stay where they were.
    """
    whole = _Sum(tuple(terms), X, y)
    start = whole.free
    variance = float(np.var(y)) or 1.0
    if inner and len(start) and len(start) < len(y):
        scale = float(np.sqrt(variance))

        def left(numbers: Array) -> Array:
            if late is not None and late():
                raise _LateError
            return whole.linear(whole.moved(numbers))[1] / scale

        try:
            before = float(np.mean(left(start) ** 2))
            found = least_squares(
                left, start, method="lm", max_nfev=steps * (len(start) + 1), xtol=1e-14, ftol=1e-14
            )
            if np.isfinite(found.x).all() and float(np.mean(found.fun**2)) <= before:
                whole.terms = whole.moved(found.x)
        except (ValueError, np.linalg.LinAlgError, _LateError):
            pass
    numbers, rest = whole.linear(whole.terms)
    if abs(numbers[-1]) < EXACT * np.sqrt(variance):
        numbers[-1] = 0.0
    return TermSum(
        whole.terms,
        tuple(numbers[:-1].tolist()),
        float(numbers[-1]),
        float(np.mean(rest**2)) / variance,
    )


def tidied(model: TermSum, X: Array, y: Array, late: Callable[[], bool]) -> TermSum:
    """Leave out terms that are not needed, and round numbers where possible.

    Terms, monomials of a quantity and the constant are left out where the others, fitted again,
    explain as much, and functions of small quantities are the quantities; numbers lose the digits
    that have no effect.  A sum of more than `LONG` terms keeps them all.
    """
    for shorter in _shorter(model, X) if len(model.terms) <= LONG else ():
        if late():
            break
        one = fitted(shorter, X, y, late=late)
        if one.left <= max(_GAIN * model.left, EXACT) and one.size < model.size:
            return tidied(one, X, y, late)
    return _rounded_outside(_rounded(model, X, y), X, y)


def _shorter(model: TermSum, X: Array) -> Iterator[tuple[Term, ...]]:
    terms = model.terms
    for place, term in enumerate(terms):
        for spot, one in enumerate(term):
            if plain := _linear(one, X):
                yield (
                    *terms[:place],
                    (*term[:spot], *plain, *term[spot + 1 :]),
                    *terms[place + 1 :],
                )
    if len(terms) > 1:
        for place in range(len(terms)):
            yield (*terms[:place], *terms[place + 1 :])
    for place, term in enumerate(terms):
        for spot, one in enumerate(term):
            if len(term) > 1:
                fewer = (*term[:spot], *term[spot + 1 :])
                yield (*terms[:place], fewer, *terms[place + 1 :])
            if len(one.quantity) > 1 and min(map(abs, one.weights)) < 0.02 * max(
                map(abs, one.weights)
            ):
                kept = int(np.argmax(np.abs(one.weights)))
                weights = (one.weights[kept],)
                less = replace(one, quantity=(one.quantity[kept],), weights=weights)
                fewer = (*term[:spot], less, *term[spot + 1 :])
                yield (*terms[:place], fewer, *terms[place + 1 :])


_LINEAR = {"sin": 1, "tan": 1, "sinh": 1, "tanh": 1, "atan": 1, "exp": 1, "log1": 1, "sin2": 2}
"""Power that each function is of small quantities, up to a constant and a factor."""
_SMALL = 0.05
"""Quantities smaller than this everywhere."""


def _linear(one: Factor, X: Array) -> Term:
    """Return the term that a factor nearly is where its quantity is small; empty elsewhere."""
    power = _LINEAR.get(one.function, 0)
    if not power or one.power != 1:
        return ()
    first = one.weights[0]
    scaled = tuple(weight / first for weight in one.weights) if first else one.weights
    plain = Factor("id", one.quantity, scaled)
    with np.errstate(all="ignore"):
        largest = float(np.abs(first * plain.values(X)).max())
    return (plain,) * power if largest < _SMALL else ()


def _rounded(model: TermSum, X: Array, y: Array) -> TermSum:
    whole = _Sum(model.terms, X, y)
    numbers = whole.free
    for digits in (1, 2, 3, 4, 6, 8):
        round_ones = np.array([float(f"{value:.{digits}g}") for value in numbers])
        one = fitted(whole.moved(round_ones), X, y, inner=False)
        if one.left <= max(_GAIN * model.left, EXACT):
            return one
    return model


def _rounded_outside(model: TermSum, X: Array, y: Array) -> TermSum:
    variance = float(np.var(y)) or 1.0
    size = max(map(abs, model.factors), default=0.0)

    def written(factors: tuple[float, ...], offset: float) -> TermSum | None:
        one = TermSum(model.terms, factors, offset, 0.0)
        left = float(np.mean((one.values(X) - y) ** 2)) / variance
        return replace(one, left=left) if left <= max(_GAIN * model.left, EXACT) else None

    bare = written(model.factors, 0.0) if model.exact and model.terms else None
    for digits in (2, 3, 4, 6, 8):
        offset = round(model.offset, digits) if size > 10.0**-digits else model.offset
        factors = tuple(float(f"{value:.{digits}g}") for value in model.factors)
        if one := written(factors, 0.0 if bare else offset):
            return one
    return bare or model
