"""Whether an answer is the truth but for the digits that were lost when its numbers were printed.

Numbers that are printed with four digits do not cancel as they should: ``0.5601 - 0.5599/(1 +
exp(x))`` is ``0.56/(1 + exp(-x))``, and has 2e-4 left.  So the numbers of the two are compared in a
form that both have.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from eqverdict.atoms import constants_of, monomial_text, skeleton_of
from eqverdict.fidelity.constant_match import becomes_whole
from eqverdict.fidelity.notation_variants import ONE_TEXT, shortest_writings
from eqverdict.fidelity.parametric import parametrize
from eqverdict.fidelity.standard_forms import forms_of
from eqverdict.fidelity.verdict import PRINTED, TOLERANCE, match
from eqverdict.grammar import read
from eqverdict.tree import Call, Number, mapped, parts

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from eqverdict.atoms import Atom, Exponent, Sum
    from eqverdict.fidelity.parametric import ParametricExpression
    from eqverdict.tree import Node

    Array = NDArray[np.float64]

_STEP = 1e-6
_RANK = 1e-10
_CORRECTIONS = 6
_SAME = 1e-14
"""Numbers of the two are the same that agree to this share; what cancels in them loses digits."""
_HOPELESS = 0.5
"""The share of the differences that moves may leave to first order."""
_FARTHEST = 6.0
"""Moves that are larger, in units of what is allowed, are not followed."""
_MOST_RATIO = 12
_MOST_NUMBERS = 12
_NEAR = 0.3
"""Numbers that are farther from those of the truth, as a share, are not followed."""


def printed_shift(
    form: Sum, name: str, mine: Sum, names: tuple[str, ...], prediction: Node
) -> float | None:
    """Return how far the truth's constants have to move for the rest to be rounding.

    Numbers that the answer has written move by `PRINTED` of themselves at most, and constants of
    the truth by `TOLERANCE`, until the two have the same numbers in one form.

    Parameters
    ----------
    form
        The truth with the fewest constants.
    name, mine
        The form in which the answer is compared, and the answer in it.
    prediction
        The answer as it is written.

    Returns
    -------
    float or None
        The largest share of a constant; None where no such moves are found.
    """
    written = read(shortest_writings(form)[0], names)
    truth = parametrize(written, named=False, fixed=ONE_TEXT)
    answer = parametrize(prediction, named=True)
    if not all(truth.start):
        return None
    sides = _Side(truth, TOLERANCE, name, mine), _Side(answer, PRINTED, name, mine)
    moves = [np.zeros(len(side.equation.start)) for side in sides]
    for _ in range(_CORRECTIONS):
        true, own = (side.numbers(move) for side, move in zip(sides, moves, strict=True))
        if true is None or own is None:
            return None
        slopes = [s.slopes(m, at) for s, m, at in zip(sides, moves, (true, own), strict=True)]
        by_share = np.abs(
            np.hstack([s / side.share for s, side in zip(slopes, sides, strict=True)])
        )
        lost = np.max(by_share, axis=1, initial=1.0)
        off = own / true - 1
        if (np.abs(off) <= _SAME * lost).all():
            constants = truth.start * (1 + TOLERANCE * moves[0])
            is_far = max(float(np.max(np.abs(move), initial=0.0)) for move in moves) > 1
            is_other = is_far or becomes_whole(truth, constants)
            return None if is_other else TOLERANCE * float(np.max(np.abs(moves[0]), initial=0.0))
        both = np.hstack([slopes[0], -slopes[1]])
        step = np.linalg.lstsq(both, off, rcond=_RANK)[0]
        if np.max(np.abs(off - both @ step)) > _HOPELESS * np.max(np.abs(off)):
            return None
        moves = [moves[0] + step[: len(moves[0])], moves[1] + step[len(moves[0]) :]]
        if np.max(np.abs(np.concatenate(moves)), initial=0.0) > _FARTHEST:
            return None
    return None


@dataclass(frozen=True)
class _Side:
    """An equation whose constants move by multiples of a share of themselves, and a form of it."""

    equation: ParametricExpression
    share: float
    name: str
    order: Sum

    def numbers(self, moves: Array) -> Array | None:
        """Return the numbers of the form, in the order of the answer's; None if it has others."""
        tree = self.equation.with_constants(self.equation.start * (1 + self.share * moves))
        terms = forms_of(tree).get(self.name)
        return None if terms is None else _numbers(terms, self.order)

    def slopes(self, moves: Array, here: Array) -> Array:
        """Return how the logarithm of each number moves; what would change the form stands still.

        Returns
        -------
        NDArray
            (numbers, constants)
        """
        slopes = np.zeros((len(here), len(moves)))
        for k in range(len(moves)):
            ahead = moves.copy()
            ahead[k] += _STEP / self.share
            there = self.numbers(ahead)
            if there is not None:
                slopes[:, k] = (there / here - 1) * (self.share / _STEP)
        return slopes


def may_be_printed(terms: Sum, mine: Sum) -> bool:
    """Whether a truth has the terms of an answer, with numbers that are not far from its own."""
    numbers, wanted = _numbers(terms, mine), _numbers(mine, mine)
    if numbers is None or wanted is None:
        return False
    return bool((np.abs(numbers / wanted - 1) < _NEAR).all())


def _numbers(terms: Sum, order: Sum) -> Array | None:
    """Return all constants of a sum, its terms in the order of another's; None if they differ.

    Terms belong together that are the same but for constants.
    """
    alike = {skeleton_of(monomial): monomial for monomial in terms}
    if sorted(map(skeleton_of, order)) != sorted(map(skeleton_of, terms)):
        return None
    if len(alike) == len(terms):
        paired = {monomial: alike[skeleton_of(monomial)] for monomial in order}
    else:
        matching = match(order, terms)
        if matching.missing or matching.extra:
            return None
        paired = {one: other for one, other, _ in matching.pairs}
    numbers: list[float] = []
    for monomial, other in ((each, paired[each]) for each in order):
        kept = [True, *(bool(each) for each in constants_of(monomial))]
        there = [terms[other], *constants_of(other)]
        numbers += [float(number) for number, is_kept in zip(there, kept, strict=True) if is_kept]
    return np.array(numbers) if all(numbers) else None


def with_whole_exponents(terms: Sum) -> str | None:
    """Write a sum with whole exponents for those that printing has rounded; None without any."""
    changed = False
    total: Sum = {}
    for monomial, c in terms.items():
        powers: list[tuple[Atom, Exponent]] = []
        for atom, power in monomial:
            near = round(power)
            rounded = power.denominator != 1 and abs(float(power) - near) <= PRINTED * abs(near)
            changed = changed or (rounded and atom.kind != "exp")
            powers.append((atom, near if rounded and atom.kind != "exp" else power))
        key = tuple(powers)
        total[key] = total.get(key, Fraction(0)) + c
    if not changed:
        return None
    return " + ".join(f"({monomial_text(monomial, c)})" for monomial, c in total.items())


def with_whole_ratios(tree: Node) -> Node | None:
    """Write an equation with whole ratios of the numbers in its functions where printing lost them.

    ``sin(0.1264*x)*cos(0.2527*x)`` has the sines of two angles that are no multiples.

    Returns
    -------
    Node or None
        None where no ratio is nearly whole and not whole.
    """
    inside = {
        id(number): Fraction(number.text)
        for call in parts(tree)
        if isinstance(call, Call)
        for argument in call.arguments
        for number in parts(argument)
        if isinstance(number, Number) and number.constant and number.text[0].isdigit()
    }
    table: dict[Fraction, Fraction] = {}
    numbers = sorted(set(inside.values()))
    for number in numbers:
        for smaller in numbers[:_MOST_NUMBERS]:
            base = table.get(smaller, smaller)
            ratio = round(number / base)
            off = abs(number / (base * max(ratio, 1)) - 1)
            if 1 < ratio <= _MOST_RATIO and 0 < off <= PRINTED:
                table[number] = ratio * base
                break
    if not table:
        return None

    def moved(node: Node) -> Node | None:
        other = table.get(inside[id(node)]) if id(node) in inside else None
        if other is None:
            return None
        shown = Decimal(other.numerator) / Decimal(other.denominator)
        return Number(np.float64(float(other)), f"{shown:f}")

    return mapped(tree, moved)
