"""Whether an answer is the truth but for the digits that were lost when its numbers were printed.

Numbers that are printed with four digits do not cancel as they should: ``0.5601 - 0.5599/(1 +
exp(x))`` is ``0.56/(1 + exp(-x))``, and has 2e-4 left.  So the numbers of the two are compared in a
form that both have.
"""

from __future__ import annotations

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

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from eqverdict.atoms import Atom, Exponent, Sum
    from eqverdict.fidelity.parametric import ParametricExpression
    from eqverdict.tree import Node

    Array = NDArray[np.float64]

_STEP = 1e-6
_RANK = 1e-10
_CORRECTIONS = 3
_HOPELESS = 0.02
"""The relative error after the first step above which no second step is tried."""
_NEAR = 0.3
"""Numbers that are farther from those of the truth, as a share, are not followed."""


def printed_shift(form: Sum, name: str, mine: Sum, names: tuple[str, ...]) -> float | None:
    """Return how far the truth's constants have to move for the rest to be rounding.

    Parameters
    ----------
    form
        The truth with the fewest constants.
    name, mine
        The form in which the answer is compared, and the answer in it.

    Returns
    -------
    float or None
        The largest share of a constant; None where it is more than 5 %, or where a number would
        still be off by more than `PRINTED`.
    """
    written = read(shortest_writings(form)[0], names)
    truth = parametrize(written, named=False, fixed=ONE_TEXT)
    wanted = _numbers(mine, mine)
    constants = truth.start.copy()
    here = _numbers_in(truth.with_constants(constants), name, mine)
    if wanted is None or here is None or not all(truth.start):
        return None
    for _ in range(_CORRECTIONS):
        off = wanted / here - 1
        shift = float(np.max(np.abs(constants / truth.start - 1)))
        if np.max(np.abs(off), initial=0.0) <= PRINTED and shift <= TOLERANCE:
            return None if becomes_whole(truth, constants) else shift
        steps = _steps(truth, constants, wanted, name, mine) if shift <= _NEAR else None
        if steps is None:
            return None
        constants = constants * (1 + steps)
        here = _numbers_in(truth.with_constants(constants), name, mine)
        if here is None:
            return None
    return None


def _steps(
    truth: ParametricExpression, constants: Array, wanted: Array, name: str, mine: Sum
) -> Array | None:
    """Return the relative moves of constants; None where the error after them is too large."""
    here = _numbers_in(truth.with_constants(constants), name, mine)
    if here is None:
        return None
    off = wanted / here - 1
    slopes = np.empty((len(here), len(constants)))
    for k, c in enumerate(constants):
        tried = constants.copy()
        tried[k] = c * (1 + _STEP)
        there = _numbers_in(truth.with_constants(tried), name, mine)
        if there is None:
            return None
        slopes[:, k] = (there / here - 1) / _STEP
    steps: Array = np.linalg.lstsq(slopes, off, rcond=_RANK)[0].astype(np.float64)
    return None if np.max(np.abs(off - slopes @ steps)) > _HOPELESS else steps


def _numbers_in(tree: Node, name: str, mine: Sum) -> Array | None:
    """Return the numbers of a truth in a form, in the order of the answer's."""
    there = forms_of(tree).get(name)
    return None if there is None else _numbers(there, mine)


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
