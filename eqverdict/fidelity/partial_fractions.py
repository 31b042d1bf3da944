"""Fractions of polynomials parted into fractions with one factor below each."""

from __future__ import annotations

from fractions import Fraction
from itertools import islice, product
from typing import TYPE_CHECKING, Any

from flint import fmpq, fmpq_mat

from eqverdict.fidelity.rational import Rational, Ring, as_fraction, polynomial

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_MOST_UNKNOWNS = 160
"""Partial fractions of more coefficients are not looked for."""
_MOST_LAYOUTS = 200
_MOST_TIES = 6

PartialFraction = tuple[Any, Any, int]
"""Numerator, factor of the denominator, and its power."""


def partial_fractions(
    value: Rational, factors: list[tuple[Any, int]]
) -> tuple[Any, list[PartialFraction]] | None:
    """Part a fraction into a polynomial and one fraction for each factor and power.

    The coefficients are those of an ansatz, solved for exactly; None where it has no solution, as
    fractions of several variables need not have partial fractions.
    """
    ring, below = value.ring, value.below
    most = [int(d) for d in value.above.degrees()]
    total = [int(d) for d in below.degrees()]
    unknowns: list[tuple[int, tuple[int, ...], Any]] = []
    places: list[tuple[Any, int]] = []
    for factor, power in factors:
        main = _main_variable(factor)
        degrees = [int(d) for d in factor.degrees()]
        for raised in range(1, power + 1):
            cofactor = divmod(below, factor**raised)[0]
            of_rest = [int(d) for d in cofactor.degrees()]
            limits = [
                degrees[v] - 1 if v == main else max(0, most[v] - of_rest[v])
                for v in range(len(most))
            ]
            unknowns += [
                (len(places), exponents, cofactor)
                for exponents in product(*(range(limit + 1) for limit in limits))
            ]
            places.append((factor, raised))
    limits = [max(0, m - t) for m, t in zip(most, total, strict=True)]
    for exponents in product(*(range(limit + 1) for limit in limits)):
        unknowns.append((-1, exponents, below))
        if len(unknowns) > _MOST_UNKNOWNS:
            return None
    if len(unknowns) > _MOST_UNKNOWNS:
        return None
    columns = [
        (polynomial(ring, {exponents: Fraction(1)}) * rest).to_dict()
        for _, exponents, rest in unknowns
    ]
    solution = _solved(columns, value.above.to_dict())
    if solution is None:
        return None
    gathered: dict[int, dict[tuple[int, ...], Fraction]] = {}
    for (place, exponents, _), c in zip(unknowns, solution, strict=True):
        if c:
            gathered.setdefault(place, {})[exponents] = c
    fractions = [
        (polynomial(ring, gathered[place]), factor, raised)
        for place, (factor, raised) in enumerate(places)
        if place in gathered
    ]
    return polynomial(ring, gathered.get(-1, {})), fractions


def _main_variable(factor: Any) -> int:
    """Choose the variable by which a factor divides: its first of the lowest degree."""
    degrees = [int(d) for d in factor.degrees()]
    return min((d, v) for v, d in enumerate(degrees) if d)[1]


def _solved(
    columns: list[Mapping[tuple[int, ...], Any]], wanted: Mapping[tuple[int, ...], Any]
) -> list[Fraction] | None:
    """Solve linear equations exactly; what they leave open is zero."""
    monomials = sorted({*wanted, *(monomial for column in columns for monomial in column)})
    width = len(columns) + 1
    table = fmpq_mat(
        len(monomials),
        width,
        [each.get(monomial, fmpq(0)) for monomial in monomials for each in (*columns, wanted)],
    )
    solved, rank = table.rref()
    solution = [Fraction(0)] * len(columns)
    for row in range(rank):
        pivot = next(i for i in range(width) if solved[row, i] != 0)
        if pivot == width - 1:
            return None
        solution[pivot] = as_fraction(solved[row, width - 1])
    return solution


def fewest_terms(
    parts: tuple[Any, list[PartialFraction]], ring: Ring
) -> list[tuple[Any, list[PartialFraction]]]:
    """Move polynomials into the fractions such that the fewest terms are left.

    So ``1 - k/(k + x)`` is ``x/(k + x)``.
    """
    whole, fractions = parts
    choices = [[ring.constant(Fraction(0)), *_absorbing_terms(*each, ring)] for each in fractions]
    by_size: dict[int, list[tuple[Any, list[PartialFraction]]]] = {}
    for moved in islice(product(*choices), _MOST_LAYOUTS):
        remainder = whole
        made = []
        for (above, factor, power), part in zip(fractions, moved, strict=True):
            remainder -= part
            made.append((above + part * factor**power, factor, power))
        size = len(remainder) + sum(len(above) for above, _, _ in made)
        by_size.setdefault(size, []).append((remainder, made))
    return by_size[min(by_size)][:_MOST_TIES] if by_size else []


def _absorbing_terms(above: Any, factor: Any, power: int, ring: Ring) -> Iterator[Any]:
    """Return the single terms which, moved into a fraction, cancel a term of its numerator."""
    below = factor**power
    for exponents, c in above.to_dict().items():
        for others, d in below.to_dict().items():
            left = tuple(int(a) - int(b) for a, b in zip(exponents, others, strict=True))
            if min(left) >= 0:
                yield polynomial(ring, {left: -as_fraction(c) / as_fraction(d)})
