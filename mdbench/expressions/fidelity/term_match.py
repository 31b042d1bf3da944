"""Which terms of two sums are the same, and how far apart their constants are."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from operator import itemgetter
from typing import TYPE_CHECKING

from mdbench.expressions.atoms import constants_of, skeleton_of
from mdbench.expressions.srbench.tree_edit_distance import Tree

if TYPE_CHECKING:
    from mdbench.expressions.atoms import Atom, Exponent, Monomial, Sum

TOLERANCE = 0.05
"""The largest relative error of a constant that counts as right (MDBench, AAAI 2026)."""

_CONSTANT = "constant"


@dataclass(frozen=True)
class Match:
    """Two sums, term by term.

    Attributes
    ----------
    pairs
        Terms of the truth and of the prediction that are alike, with the largest relative error
        of a constant in them, the coefficient's own included.
    missing, extra
        Terms that only the truth, or only the prediction, has.
    """

    pairs: tuple[tuple[Monomial, Monomial, float], ...]
    missing: tuple[Monomial, ...]
    extra: tuple[Monomial, ...]

    @property
    def wrong(self) -> int:
        """How many terms are there with a wrong coefficient."""
        return sum(error > TOLERANCE for _, _, error in self.pairs)

    @property
    def faults(self) -> int:
        """How many terms are not as they should be."""
        return len(self.missing) + len(self.extra) + self.wrong

    @property
    def error(self) -> float | None:
        """The largest relative error among the pairs."""
        return max((error for _, _, error in self.pairs), default=None)


def match(truth: Sum, prediction: Sum) -> Match:
    """Pair the terms of two sums one to one, those first whose constants are nearest.

    Terms can be a pair if they are the same but for constants, and the constants within them
    (inside functions, and exponents) are within `TOLERANCE`; an exponent that is whole on either
    side has to be equal.  Their coefficients may be anything.
    """
    offered: dict[str, list[Monomial]] = {}
    for monomial in prediction:
        offered.setdefault(skeleton_of(monomial), []).append(monomial)
    candidates: list[tuple[float, int, Monomial, Monomial]] = []
    for t in truth:
        for p in offered.get(skeleton_of(t), ()):
            inner = _inner_error(t, p)
            if inner is not None:
                error = max(inner, _relative(prediction[p], truth[t]))
                candidates.append((error, len(candidates), t, p))
    pairs = []
    taken_t: set[Monomial] = set()
    taken_p: set[Monomial] = set()
    for error, _, t, p in sorted(candidates, key=itemgetter(0, 1)):
        if t not in taken_t and p not in taken_p:
            taken_t.add(t)
            taken_p.add(p)
            pairs.append((t, p, error))
    return Match(
        tuple(pairs),
        tuple(t for t in truth if t not in taken_t),
        tuple(p for p in prediction if p not in taken_p),
    )


def _inner_error(truth: Monomial, prediction: Monomial) -> float | None:
    """Return the largest error of the constants in two products; None if one is too large."""
    if truth == prediction:
        return 0.0
    largest = 0.0
    marks = (mark for mark in skeleton_of(truth) if mark in "#^~")
    values = zip(constants_of(truth), constants_of(prediction), strict=True)
    for mark, (t, p) in zip(marks, values, strict=True):
        if t == p:
            continue
        if mark == "^" and 1 in {t.denominator, p.denominator}:
            return None
        # A phase that is off by 0.05 changes a wave by 5 % of its amplitude.
        error = abs(float(p - t)) if mark == "~" else _relative(p, t)
        if error > TOLERANCE:
            return None
        largest = max(largest, error)
    return largest


def _relative(value: Exponent, true: Exponent) -> float:
    if not true:
        return float(value != 0)
    try:
        return float(abs(Fraction(value) / Fraction(true) - 1))
    except OverflowError:
        return math.inf


def tree_of_sums(sums: list[Sum]) -> Tree:
    """Write a system as one labelled tree in postorder; all constants are alike.

    Terms stand in a fixed order, and each has its coefficient, 1 too: a fitted number is never 1,
    and that is no difference in structure.
    """
    labels: list[str] = []
    children: list[int] = []
    for each in sums:
        terms = sorted(each.items(), key=lambda term: (skeleton_of(term[0]), constants_of(term[0])))
        _write_sum(tuple(terms), labels, children)
    if len(sums) > 1:
        labels.append("system")
        children.append(len(sums))
    return Tree(tuple(labels), tuple(children))


def _write_sum(
    terms: tuple[tuple[Monomial, Fraction], ...], labels: list[str], children: list[int]
) -> None:
    for monomial, _ in terms:
        _write(_CONSTANT, 0, labels, children)
        factors = 1
        for atom, power in monomial:
            _write_power(atom, power, labels, children)
            factors += 1
        if factors > 1:
            _write("Mul", factors, labels, children)
    if not terms:
        _write(_CONSTANT, 0, labels, children)
    elif len(terms) > 1:
        _write("Add", len(terms), labels, children)


def _write_power(atom: Atom, power: Exponent, labels: list[str], children: list[int]) -> None:
    if atom.kind == "variable":
        _write(atom.text, 0, labels, children)
    elif atom.kind == "exp" and atom.inner:
        # The power of an exp is the coefficient of its argument.
        _write_sum(tuple((monomial, c * power) for monomial, c in atom.inner), labels, children)
        _write("exp", 1, labels, children)
        return
    else:
        terms = atom.inner
        if atom.kind == "wave" and atom.text.startswith("sin") and atom.constants[-1]:
            terms = (*terms, ((), Fraction(atom.constants[-1])))
        _write_sum(terms, labels, children)
        if atom.kind != "sum":
            name = atom.text.partition("(")[0]
            _write(name, 1, labels, children)
    if power != 1:
        # Whole powers are told apart: u0**2 is not u0**3.
        whole = power.denominator == 1
        _write(str(power) if whole else _CONSTANT, 0, labels, children)
        _write("Pow", 2, labels, children)


def _write(label: str, count: int, labels: list[str], children: list[int]) -> None:
    labels.append(label)
    children.append(count)
