"""Whether an answer is the true equation, where not both are polynomials.

The verdict is about two functions, not about two texts.  The truth is brought to the standard form
with the fewest constants, and the answer is the truth if that form has the answer's values with
its constants moved by 5 % at most (``docs/fidelity.md``).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from mdbench.errors import EquationError
from mdbench.expressions.atoms import constants_of, monomial_text, skeleton_of
from mdbench.expressions.expand import expand
from mdbench.expressions.fidelity.compare import EquationPair, checks_of, is_polynomial, is_whole
from mdbench.expressions.fidelity.constant_match import (
    ConstantMatcher,
    Equivalence,
    MatchResult,
    MovedTruth,
    constant_shift,
)
from mdbench.expressions.fidelity.models import parametrize
from mdbench.expressions.fidelity.standard_forms import (
    fewest_constants,
    forms_of,
    standard_forms,
)
from mdbench.expressions.fidelity.verdict import TOLERANCE, Match, Symbolic, match
from mdbench.expressions.fidelity.writings import plain_writing, shortest_writings
from mdbench.expressions.grammar import read
from mdbench.expressions.interval_eval import ball_value
from mdbench.expressions.tree import text_of, value

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Any

    from numpy.typing import NDArray

    from mdbench.expressions.atoms import Exponent, Monomial, Sum
    from mdbench.expressions.fidelity.compare import Names
    from mdbench.expressions.tree import Node

    Array = NDArray[np.float64]

PRINTED = 5e-4
"""Numbers of an answer may be off by this share of themselves: rounding to four digits."""
_MOST_LEFT_OUT = 12
"""Sums of more terms are not tried with each of them left out."""
_STEP = 1e-6
_CORRECTIONS = 3
_HOPELESS = 0.02
_NEAR = 0.3
"""Numbers that are farther from those of the truth, as a share, are not followed."""


def compare_by_values(
    texts: tuple[str, str],
    sums: tuple[Sum, Sum],
    direct: EquationPair | None,
    names: Names,
) -> EquationPair:
    """Compare two equations that are not both polynomials.

    Parameters
    ----------
    texts, sums
        Truth and answer, as they are written and as sums of terms.
    direct
        The two compared term by term; None if one of them is too large to be multiplied out.
    """
    t, p = sums
    whole = _with_whole_exponents(p)
    if whole is not None:
        texts, p = (texts[0], whole), expand(whole, names.predicted)
        direct = None if direct is None else _pair_of(t, p, match(t, p))
    found = _Comparison(texts, (t, p), direct, names).result()
    if found.values.is_close and not (found.near and found.same_structure):
        found = _without_idle_parts(texts, t, found, names)
    if found.same_form:
        symbolic = Symbolic.EQUAL
    elif is_polynomial(t) and is_polynomial(sums[1]) and not found.extra and whole is None:
        symbolic = Symbolic.UNEQUAL
    else:
        symbolic = Symbolic.NOT_PROVED
    checks = partial(
        checks_of,
        symbolic,
        direct,
        found.values,
        found=found.pair,
        near=found.near,
        extra=found.extra,
        hidden=found.hidden,
    )
    return replace(found.pair, find_checks=checks)


def _without_idle_parts(
    texts: tuple[str, str], t: Sum, found: _Result, names: Names
) -> _Result:
    """Compare once more without what has no effect on the domain, if there is any."""
    # Imported here, as most answers that differ differ by much.
    from mdbench.expressions.fidelity.idle_parts import without_idle_parts  # noqa: PLC0415

    values = found.values
    rest = without_idle_parts(values.prediction, values.columns, values.box)
    if rest is None:
        return found
    text = text_of(rest)
    try:
        p = expand(text, names.predicted)
    except EquationError:
        return found
    direct = _pair_of(t, p, match(t, p))
    other = _Comparison((texts[0], text), (t, p), direct, names).result()
    return replace(other, extra=True) if other.near else found


def _pair_of(t: Sum, p: Sum, matched: Match) -> EquationPair:
    return EquationPair(
        t,
        p,
        len(matched.pairs),
        matched.wrong,
        matched.error,
        tuple((monomial, t) for monomial in matched.missing),
        tuple((monomial, p) for monomial in matched.extra),
    )


@dataclass(frozen=True)
class _Result:
    """What is known of two equations.

    Attributes
    ----------
    same_form
        Whether a standard form of both is the same.
    same_structure
        Whether a standard form of both is the same but for its numbers.
    near
        Whether they are the same with the truth's constants moved; None where it is not known.
    extra
        Whether the answer has structure without effect on the domain.
    hidden
        A point at which they differ, where no point drawn at random shows it.
    """

    pair: EquationPair
    values: ConstantMatcher
    same_form: bool
    same_structure: bool
    near: bool | None
    extra: bool
    hidden: Mapping[str, float] | None = None


class _Comparison:
    def __init__(
        self,
        texts: tuple[str, str],
        sums: tuple[Sum, Sum],
        direct: EquationPair | None,
        names: Names,
    ) -> None:
        self.truth, self.prediction = texts
        self.t, self.p = sums
        self.direct = direct
        self.names = names
        self.values = ConstantMatcher(*texts, names.true, names.predicted, names.domain)
        self.true_forms = fewest_constants(self.truth, names.true)
        self.forms = standard_forms(self.prediction, names.predicted)
        self.near: bool | None = False
        self.hidden: Mapping[str, float] | None = None

    def result(self) -> _Result:
        same = self._same_form()
        pair = self._pair(same_form=same)
        alike = same or self._has_its_skeleton()
        return _Result(pair, self.values, same, alike, self.near, False, self.hidden)

    def _same_form(self) -> bool:
        """Whether the two have a form in common, and the values of it."""
        if self.direct is not None and self.t == self.p and self._is_faithful():
            return True
        true = list(standard_forms(self.truth, self.names.true).values())
        if not any(form in true for form in self.forms.values()):
            return False
        if not (_needs_a_domain(self.t) or _needs_a_domain(self.p)):
            return True
        return self.values.equal is not False and not self.values.undefined

    def _is_faithful(self) -> bool:
        return (
            not self.values.undefined
            and self.values.faithful(self.t, of_truth=True)
            and self.values.faithful(self.p, of_truth=False)
        )

    def _pair(self, *, same_form: bool) -> EquationPair:
        if same_form:
            return self._identified(0.0)
        if self.values.undefined:
            return _nothing_matched(self.t, self.p)
        found = self._moved()
        self.near = None if found.relation is Equivalence.UNKNOWN else False
        if found.relation is Equivalence.SAME and not self._differs(found):
            return self._identified(found.error or 0.0)
        if found.relation is Equivalence.OTHER_CONSTANTS:
            return EquationPair(self.t, self.p, len(self.t), 1, found.error, (), ())
        return self._off_by_terms(unknown=found.relation is Equivalence.UNKNOWN)

    def _identified(self, error: float) -> EquationPair:
        self.near = True
        return EquationPair(self.t, self.p, len(self.t), 0, error, (), ())

    def _moved(self) -> MatchResult:
        """Whether the truth's constants can be moved to where the answer's values are."""
        values = self.values
        if values.equal:
            values.is_close = True
            if values.holds_more:
                return MatchResult(Equivalence.APART)
            return MatchResult(Equivalence.SAME, 0.0, _as_written(values))
        factor = values.proportional()
        if factor is not None and abs(factor) <= TOLERANCE and not values.holds_more:
            return MatchResult(Equivalence.SAME, abs(factor), _as_written(values, 1 + factor))
        others = None
        unknown = not self.true_forms
        for name, form in self.true_forms:
            if name == "as written" and not values.faithful(form, of_truth=True):
                continue
            found = values.relation(form)
            if found.relation is Equivalence.SAME and not values.holds_more:
                plain = plain_writing(form) in shortest_writings(form)
                if plain and not _units_matter(form):
                    return found
                found = replace(found, relation=Equivalence.OTHER_CONSTANTS)
            unknown = unknown or found.relation is Equivalence.UNKNOWN
            if found.relation is Equivalence.OTHER_CONSTANTS:
                others = found if others is None else min(others, found, key=_error)
        if others is not None or self._has_its_skeleton():
            moved = self._moved_as_written()
            if moved is not None and moved.relation is Equivalence.SAME:
                return moved
            others = others or moved
        if (printed := self._as_printed()) is not None:
            return printed
        if others is not None:
            return others
        return MatchResult(Equivalence.UNKNOWN if unknown else Equivalence.APART)

    def _has_its_skeleton(self) -> bool:
        """Whether in some form the answer is the truth but for its constants."""
        true = [sorted(map(skeleton_of, form)) for _, form in self.true_forms]
        return any(sorted(map(skeleton_of, form)) in true for form in self.forms.values())

    def _moved_as_written(self) -> MatchResult | None:
        """Move the constants of each writing of the forms with the fewest constants."""
        best: MatchResult | None = None
        writings = [
            text for _, form in self.true_forms for text in shortest_writings(form)
        ]
        if any(_units_matter(form) for _, form in self.true_forms):
            writings.append(self.truth)
        for text in dict.fromkeys(writings):
            try:
                written = read(text, self.names.true)
            except EquationError:
                continue  # a form that is nested deeper than an equation may be
            found = constant_shift(self.values, written)
            if found is None or self.values.holds_more:
                continue
            error, moved = found
            if error <= TOLERANCE:
                return MatchResult(Equivalence.SAME, error, moved)
            if best is None or error < _error(best):
                best = MatchResult(Equivalence.OTHER_CONSTANTS, error)
        return best

    def _as_printed(self) -> MatchResult | None:
        """Whether the answer's numbers, moved by what printing rounds off, make it the truth.

        In some standard form the two have the same terms, and with the truth's constants moved by
        5 % at most each number of the one is that of the other, but for its rounding.
        """
        true = standard_forms(self.truth, self.names.true)
        for _, form in self.true_forms:
            for other, mine in self.forms.items():
                if other not in true or not _are_near(_numbers(true[other], mine), mine):
                    continue
                error = _rounding(form, other, mine, self.names.true)
                if error is not None:
                    return MatchResult(Equivalence.SAME, error)
        return None

    def _differs(self, found: MatchResult) -> bool:
        """Whether the two differ where no point that was drawn shows it."""
        if found.moved is None:
            return False  # the same terms, but for the rounding of numbers
        if self._has_its_skeleton():
            return False  # the same terms, and all points agree
        self.hidden = self.values.hidden_difference(found.moved.floats, found.moved.precise)
        return self.hidden is not None

    def _off_by_terms(self, *, unknown: bool) -> EquationPair:
        """Return what is known of two equations with different values."""
        if self.direct is None and not self.forms:
            missing = tuple((monomial, self.t) for monomial in self.t)
            return EquationPair(self.t, {}, 0, 0, None, missing, (), decided=False)
        best = self._nearest()
        if unknown:
            return replace(best, decided=False)
        if best.faults == 1 and not best.wrong:
            return best
        return self._but_for_one_term() or self._with_faults(best)

    def _with_faults(self, best: EquationPair) -> EquationPair:
        """Return a pair; where all terms seem to be found the values are others all the same."""
        return best if best.faults else _nothing_matched(self.t, self.p)

    def _nearest(self) -> EquationPair:
        """Return the two in the forms in which the fewest terms are wrong."""
        pairs = [
            _pair_of(form, mine, match(form, mine))
            for _, form in self.true_forms
            for mine in self.forms.values()
        ]
        if self.direct is not None:
            pairs.append(self.direct)
        if not pairs:
            return _nothing_matched(self.t, self.p)
        return min(pairs, key=lambda pair: (pair.faults, pair.wrong))

    def _but_for_one_term(self) -> EquationPair | None:
        """Leave out one term after the other: of the truth, or of the answer."""
        for _, form in self.true_forms:
            for left in form if 1 < len(form) <= _MOST_LEFT_OUT else ():
                rest = {monomial: c for monomial, c in form.items() if monomial != left}
                found = self.values.relation(rest)
                if found.relation is Equivalence.SAME and not self._differs(found):
                    missing = ((left, form),)
                    return EquationPair(form, self.p, len(form) - 1, 0, found.error, missing, ())
            for left, mine in self._own_terms():
                found = self.values.relation(form, without={left: mine[left]})
                if found.relation is Equivalence.SAME:
                    extra = ((left, mine),)
                    return EquationPair(form, mine, len(form), 0, found.error, (), extra)
        return None

    def _own_terms(self) -> Iterator[tuple[Monomial, Sum]]:
        """Yield the terms of the answer in all its forms, each once."""
        seen: set[tuple[Monomial, Fraction]] = set()
        for mine in (*self.forms.values(), *([] if is_whole(self.p) else [self.p])):
            if not 1 < len(mine) <= _MOST_LEFT_OUT:
                continue
            for left, c in mine.items():
                if (left, c) not in seen:
                    seen.add((left, c))
                    yield left, mine


def _error(found: MatchResult) -> float:
    return np.inf if found.error is None else found.error


def _as_written(values: ConstantMatcher, factor: float = 1.0) -> MovedTruth | None:
    """Return the truth as it is, to be compared everywhere; None where it is a multiple."""
    if factor != 1:
        return None
    tree = values.truth

    def floats(columns: Mapping[str, Array]) -> Array:
        n = len(next(iter(columns.values())))
        return np.array(np.broadcast_to(np.asarray(value(tree, columns), np.float64), n))

    def precise(point: Mapping[str, Any]) -> Any:
        return ball_value(tree, point)

    return MovedTruth(floats, precise)


def _rounding(form: Sum, name: str, mine: Sum, names: tuple[str, ...]) -> float | None:
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
    truth = parametrize(read(shortest_writings(form)[0], names), named=False)
    wanted = _numbers(mine, mine)
    constants = truth.start.copy()
    here = _numbers_in(truth.with_constants(constants), name, mine)
    if wanted is None or here is None or not all(truth.start):
        return None
    for _ in range(_CORRECTIONS):
        off = wanted / here - 1
        shift = float(np.max(np.abs(constants / truth.start - 1)))
        if np.max(np.abs(off), initial=0.0) <= PRINTED and shift <= TOLERANCE:
            return shift
        if shift > 2 * TOLERANCE:
            return None
        slopes = np.empty((len(here), len(constants)))
        for k, c in enumerate(constants):
            tried = constants.copy()
            tried[k] = c * (1 + _STEP)
            there = _numbers_in(truth.with_constants(tried), name, mine)
            if there is None:
                return None
            slopes[:, k] = (there / here - 1) / _STEP
        steps = np.linalg.lstsq(slopes, off, rcond=1e-10)[0]
        if np.max(np.abs(off - slopes @ steps)) > _HOPELESS:
            return None
        constants = constants * (1 + steps)
        here = _numbers_in(truth.with_constants(constants), name, mine)
        if here is None:
            return None
    return None


def _numbers_in(tree: Node, name: str, mine: Sum) -> Array | None:
    """Return the numbers of a truth in a form, in the order of the answer's."""
    there = forms_of(tree).get(name)
    return None if there is None else _numbers(there, mine)


def _are_near(numbers: Array | None, mine: Sum) -> bool:
    """Whether the truth's numbers are near enough to the answer's to be moved there."""
    wanted = _numbers(mine, mine)
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
        found = match(order, terms)
        if found.missing or found.extra:
            return None
        paired = {one: other for one, other, _ in found.pairs}
    numbers: list[float] = []
    for monomial, other in ((each, paired[each]) for each in order):
        kept = [True, *(bool(each) for each in constants_of(monomial))]
        there = [terms[other], *constants_of(other)]
        numbers += [float(number) for number, is_kept in zip(there, kept, strict=True) if is_kept]
    return np.array(numbers) if all(numbers) else None


def _with_whole_exponents(terms: Sum) -> str | None:
    """Write a sum with whole exponents for those that printing has rounded; None without any."""
    changed = False
    total: Sum = {}
    for monomial, c in terms.items():
        powers: list[tuple[Any, Exponent]] = []
        for atom, power in monomial:
            near = round(power)
            if power.denominator != 1 and near and abs(power - near) <= PRINTED * abs(near):
                if atom.kind != "exp":
                    changed, power = True, near  # noqa: PLW2901
            powers.append((atom, power))
        key = tuple(powers)
        total[key] = total.get(key, Fraction(0)) + c
    if not changed:
        return None
    return " + ".join(f"({monomial_text(monomial, c)})" for monomial, c in total.items())


def _units_matter(terms: Sum) -> bool:
    """Whether coefficients change unevenly with the units of variables.

    In other units a logarithm leaves a constant, and a power that is not whole leaves a factor that
    depends on its exponent.
    """
    return any(
        atom.kind == "log"
        or (power.denominator != 1 and atom.kind != "exp")
        or _units_matter(dict(atom.inner))
        or _units_matter(dict(atom.second or ()))
        for monomial in terms
        for atom, power in monomial
    )


def _needs_a_domain(terms: Sum) -> bool:
    """Whether what has been made of an equation holds for numbers of one sign only."""
    return any(
        atom.kind in {"log", "abs", "whole"}
        or (power.denominator != 1 and atom.kind != "exp")
        or _needs_a_domain(dict(atom.inner))
        or _needs_a_domain(dict(atom.second or ()))
        for monomial in terms
        for atom, power in monomial
    )


def _nothing_matched(t: Sum, p: Sum) -> EquationPair:
    """Return a pair in which nothing is found: terms that are alike stand for other values."""
    missing = tuple((monomial, t) for monomial in t)
    return EquationPair(t, p, 0, 0, None, missing, tuple((monomial, p) for monomial in p))
