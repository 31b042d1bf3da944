"""Whether an answer is the true equation, where not both are polynomials.

The verdict is about two functions, not about two texts.  The truth is brought to the standard form
with the fewest constants.  The answer is the truth if that form has the answer's values with its
constants moved by 5 % at most (``docs/fidelity.md``).
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from eqverdict.atoms import monomial_text, skeleton_of
from eqverdict.errors import EquationError
from eqverdict.expand import expand
from eqverdict.fidelity.constant_match import (
    ConstantMatcher,
    Equivalence,
    MatchResult,
    MovedTruth,
    constant_shift,
)
from eqverdict.fidelity.moved_terms import moved_error
from eqverdict.fidelity.notation_variants import (
    ONE_TEXT,
    plain_writing,
    shortest_writings,
    shows_its_terms,
)
from eqverdict.fidelity.numeric import ROUNDED
from eqverdict.fidelity.pairs import (
    EquationPair,
    checks_of,
    is_polynomial,
    is_whole,
    pair_of,
)
from eqverdict.fidelity.parametric import with_one_number
from eqverdict.fidelity.printed_digits import (
    may_be_printed,
    printed_shift,
    with_whole_exponents,
    with_whole_ratios,
)
from eqverdict.fidelity.standard_forms import (
    fewest_constants,
    standard_forms,
)
from eqverdict.fidelity.switches import has_switches, with_jumps_of
from eqverdict.fidelity.verdict import TOLERANCE, Symbolic, match
from eqverdict.grammar import read
from eqverdict.interval_eval import ball_value, exact_ball
from eqverdict.tree import needs_a_domain, text_of, value

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Any

    from numpy.typing import NDArray

    from eqverdict.atoms import Monomial, Sum
    from eqverdict.fidelity.pairs import Names
    from eqverdict.tree import Node

    Array = NDArray[np.float64]

_ONE = Fraction(1)
_LONGEST_NUMBER = 10**60
"""Longer whole numbers are rounded when they are read."""
_NAME = re.compile(r"(?<![\w.])[A-Za-z_]\w*")
_ONE_WRITTEN = re.compile(r"(?<![\w.])1(?![\w.])")
_AT_SWITCHES = 2
"""Sets of points of interest up to those between switches."""
_MOST_LEFT_OUT = 12
"""Sums of more terms are not tried with each of them left out."""


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
    truth, prediction = texts
    if t and _is_nothing(truth, names.true):
        truth, t = "0", {}
    written = read(prediction, names.predicted)
    prediction, p = _plainly(prediction, p, names.predicted)
    texts = truth, prediction
    if (t, p) != sums:
        direct = None if direct is None else pair_of(t, p, match(t, p))
    result = _Comparison(texts, (t, p), direct, names, written).result()
    if not result.near:
        result = _compare_with_whole_ratios(texts, t, result, names)
    if not result.near:
        result = _compare_with_moved_jumps(texts, p, result, names)
    if result.values.is_close and not (result.near and result.same_structure):
        result = _compare_without_redundant_parts(texts, t, result, names)
    if result.same_form:
        symbolic = Symbolic.EQUAL
    elif p == sums[1] and not result.extra and _are_other_polynomials(t, p):
        symbolic = Symbolic.UNEQUAL
    else:
        symbolic = Symbolic.NOT_PROVED
    checks = partial(
        checks_of,
        symbolic,
        direct,
        result.values,
        pair=result.pair,
        near=result.near,
        extra=result.extra,
        hidden=result.hidden,
    )
    return replace(result.pair, find_checks=checks)


def _are_other_polynomials(t: Sum, p: Sum) -> bool:
    """Whether two sums are polynomials whose terms or constants differ by more than rounding.

    Numbers that leave a function, as in ``exp(log(3*x))``, are rounded.
    """
    if not (is_polynomial(t) and is_polynomial(p)):
        return False
    return t.keys() != p.keys() or any(abs(p[m] / c - 1) > ROUNDED for m, c in t.items())


def _plainly(text: str, terms: Sum, names: tuple[str, ...]) -> tuple[str, Sum]:
    """Write an answer without what is only the rounding of its numbers, where that is known.

    Returns
    -------
    str
        The equation.
    Sum
        Its terms.
    """
    whole = with_whole_exponents(terms)
    if whole is not None:
        return whole, expand(whole, names)
    if terms and _is_nothing(text, names):
        return "0", {}
    longest = max((max(abs(c.numerator), c.denominator) for c in terms.values()), default=1)
    short = longest < _LONGEST_NUMBER
    if short and is_polynomial(terms) and not needs_a_domain(read(text, names)):
        # What has cancelled to all digits of double precision is gone from these.
        exact = (
            f"({c.numerator}/{c.denominator})*{monomial_text(m, _ONE)}" for m, c in terms.items()
        )
        return " + ".join(exact) or "0", terms
    return text, terms


def _is_nothing(text: str, names: tuple[str, ...]) -> bool:
    """Whether all of an equation cancels, which no number of digits shows."""
    return {} in standard_forms(text, names).values() and not needs_a_domain(read(text, names))


def _compare_with_moved_jumps(
    texts: tuple[str, str], p: Sum, result: _Result, names: Names
) -> _Result:
    """Compare once more with the truth's jumps where those of the answer are, if these are near."""
    truth, prediction = result.values.truth, result.values.prediction
    moved = with_jumps_of(prediction, names.predicted, truth, names.true)
    if moved is None:
        return result
    text, error = moved
    try:
        t = expand(text, names.true)
    except EquationError:
        return result
    other = _Comparison((text, texts[1]), (t, p), pair_of(t, p, match(t, p)), names).result()
    if not other.near:
        return result
    pair = replace(other.pair, error=max(error, other.pair.error or 0.0))
    return replace(other, pair=pair, same_form=False)


def _compare_with_whole_ratios(
    texts: tuple[str, str], t: Sum, result: _Result, names: Names
) -> _Result:
    """Compare once more with whole ratios where the printing of numbers has lost them."""
    other = with_whole_ratios(result.values.prediction)
    if other is None:
        return result
    near = _compare_with(texts[0], other, t, result, names)
    return replace(near, same_form=False, values=result.values)


def _compare_with(truth: str, prediction: Node, t: Sum, result: _Result, names: Names) -> _Result:
    """Compare with another writing of the answer; return what is known so far if it is not near."""
    text = text_of(prediction)
    try:
        p = expand(text, names.predicted)
    except EquationError:
        return result
    other = _Comparison((truth, text), (t, p), pair_of(t, p, match(t, p)), names).result()
    return other if other.near else result


def _compare_without_redundant_parts(
    texts: tuple[str, str], t: Sum, result: _Result, names: Names
) -> _Result:
    """Compare once more without what has no effect on the domain, if there is any."""
    # Imported here, as most answers that differ differ by much.
    from eqverdict.fidelity.redundant_parts import remove_redundant_parts  # noqa: PLC0415

    values = result.values
    reduced = remove_redundant_parts(values.prediction, values.columns, values.box)
    if reduced is None:
        return result
    other = _compare_with(texts[0], reduced, t, result, names)
    return replace(other, extra=True) if other.near else result


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
        written: Node | None = None,
    ) -> None:
        self.truth, self.prediction = texts
        self.t, self.p = sums
        self.direct = direct
        self.names = names
        self.values = ConstantMatcher(*texts, names.true, names.predicted, names.domain)
        self.written = self.values.prediction if written is None else written
        self.switches = has_switches(self.values.truth, self.values.prediction)
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
        if not (needs_a_domain(self.values.truth) or needs_a_domain(self.values.prediction)):
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
        match = self._moved()
        self.near = None if match.relation is Equivalence.UNKNOWN else False
        if match.relation is Equivalence.SAME and not self._differs(match):
            return self._identified(match.error or 0.0)
        if match.relation is Equivalence.OTHER_CONSTANTS:
            return EquationPair(self.t, self.p, len(self.t), 1, match.error, (), ())
        return self._off_by_terms(unknown=match.relation is Equivalence.UNKNOWN)

    def _identified(self, error: float) -> EquationPair:
        self.near = True
        return EquationPair(self.t, self.p, len(self.t), 0, error, (), ())

    def _moved(self) -> MatchResult:
        """Whether the truth's constants can be moved to where the answer's values are."""
        if (known := self._as_a_whole() or self._term_by_term()) is not None:
            return known
        matches = [
            self.values.relation(form)
            for name, form in self.true_forms
            if name != "as written" or self.values.faithful(form, of_truth=True)
        ]
        for (_, form), each in zip(self.true_forms, matches, strict=False):
            if each.relation is Equivalence.SAME and shows_its_terms(form):
                return each
        others = [each for each in matches if each.relation in _MOVED]
        unknown = not matches or any(each.relation is Equivalence.UNKNOWN for each in matches)
        # A factor within a logarithm makes terms that neither side has as it is written.
        if others or unknown or "log" in self.truth or self._has_its_skeleton():
            moved = self._moved_as_written()
            if moved is not None and moved.relation is Equivalence.SAME:
                return moved
            others += [] if moved is None else [moved]
        own = self._moved_as_given()
        if own is None and others:
            return MatchResult(Equivalence.OTHER_CONSTANTS, min(map(_error, others)))
        if (same := own or self._as_printed()) is not None:
            return same
        return MatchResult(Equivalence.UNKNOWN if unknown else Equivalence.APART)

    def _as_a_whole(self) -> MatchResult | None:
        """Whether the values are the truth's as they are, or a multiple of them; None if not."""
        values = self.values
        if values.equal:
            values.is_close = True
            return MatchResult(Equivalence.SAME, 0.0, _of_tree(values.truth))
        factor = values.proportional()
        error = np.inf if factor is None else abs(float(factor - 1))
        if error <= TOLERANCE:
            return MatchResult(Equivalence.SAME, error, _of_tree(values.truth, factor))
        return None

    def _term_by_term(self) -> MatchResult | None:
        """Whether a form of the answer is the truth's but for constants within 5 %; None if not.

        Values do not show where a jump or a steep part is, and what moves constants by values may
        take others: so the constants are compared by themselves.
        """
        own = [] if is_whole(self.p) else [self.p]
        for _, form in self.true_forms:
            for mine in (*own, *self.forms.values()):
                error = moved_error(form, mine)
                if error is None or not shows_its_terms(form):
                    continue
                if not (
                    self.values.faithful(form, of_truth=True)
                    and self.values.faithful(mine, of_truth=False)
                ):
                    continue
                # A form has the values of its equation, but for the sides of switches.
                if self.switches and self._switches_elsewhere(mine):
                    continue
                self.values.is_close = True
                return MatchResult(Equivalence.SAME, error)
        return None

    def _switches_elsewhere(self, mine: Sum) -> bool:
        """Whether a form of the answer is another function next to a switch."""
        form = _of_tree(read(plain_writing(mine), self.names.predicted))
        hidden = self.values.hidden_difference(
            form.floats, form.precise, is_rounded=True, most=_AT_SWITCHES
        )
        return hidden is not None

    def _has_its_skeleton(self) -> bool:
        """Whether in some form the answer is the truth but for its constants."""
        true = [sorted(map(skeleton_of, form)) for _, form in self.true_forms]
        return any(sorted(map(skeleton_of, form)) in true for form in self.forms.values())

    def _moved_as_written(self) -> MatchResult | None:
        """Move the constants of each writing of the forms with the fewest constants."""
        best: MatchResult | None = None
        for written in self._writings():
            match = constant_shift(self.values, written, fixed=ONE_TEXT)
            if match is not None and match.relation is Equivalence.SAME:
                return match
            if match is not None and (best is None or _error(match) < _error(best)):
                best = match
        if any(_units_matter(form) for _, form in self.true_forms):
            return self._moved_in_natural_units() or best
        return best

    def _moved_as_given(self) -> MatchResult | None:
        """Move the constants of the truth in the writing that its suite gives it.

        A writing counts where none of its constants can stand in for others, and a polynomial is
        always multiplied out.  A factor in a logarithm is an intercept, whatever it is written as.
        The 1 of ``1 + exp(...)`` is a constant, or none where others can stand in for it.
        """
        if is_polynomial(self.t) or "log" in self.truth:
            return None
        written = with_one_number(self.values.truth)
        nearby = not self._has_its_skeleton()
        for fixed in ("", "1") if _ONE_WRITTEN.search(self.truth) else ("",):
            match = constant_shift(self.values, written, fixed=fixed, single=True, nearby=nearby)
            if match is not None and match.relation is Equivalence.SAME:
                return match
        return None

    def _writings(self) -> Iterator[Node]:
        """Yield the shortest writings of the truth's forms.

        A truth that has none, as a number in them is too large or too small, is taken as it is.
        """
        if not self.true_forms:
            yield with_one_number(self.values.truth)
        texts = (text for _, form in self.true_forms for text in shortest_writings(form))
        for text in dict.fromkeys(texts):
            try:
                yield read(text, self.names.true)
            except EquationError:
                continue  # a form that is nested deeper than an equation may be

    def _moved_in_natural_units(self) -> MatchResult | None:
        """Move the truth's constants with each variable in units of its middle on the domain.

        A moved exponent changes the factor before its power, by how much depends on the units.
        Zeros are left out; a variable that is always zero keeps its unit.
        """
        columns = self.values.columns
        if {name for name, _, _ in self.names.domain}.issuperset(columns):
            sizes = {name: np.abs(column[column != 0]) for name, column in columns.items()}
            units = {name: float(np.median(each)) for name, each in sizes.items() if len(each)}
        else:
            return None
        texts = _in_units(self.truth, units), _in_units(self.prediction, units)
        domain = tuple(
            (name, low / units.get(name, 1.0), high / units.get(name, 1.0))
            for name, low, high in self.names.domain
        )
        names = replace(self.names, domain=domain)
        values = ConstantMatcher(*texts, names.true, names.predicted, domain)
        for _, form in fewest_constants(texts[0], names.true):
            match = values.relation(form)
            if match.relation is Equivalence.SAME and match.moved is not None:
                moved = match.moved
                return replace(match, moved=_in_given_units(moved, units))
        return None

    def _as_printed(self) -> MatchResult | None:
        """Whether the answer is the truth once its numbers move by the rounding of printing.

        In some standard form the two have the same terms. With the truth's constants moved by 5 %
        at most, each number of the answer equals that of the truth, apart from rounding.
        """
        true = standard_forms(self.truth, self.names.true)
        for _, form in self.true_forms:
            for other, mine in self.forms.items():
                if other not in true or not may_be_printed(true[other], mine):
                    continue
                error = printed_shift(form, other, mine, self.names.true, self.written)
                if error is not None:
                    return MatchResult(Equivalence.SAME, error)
        return None

    def _differs(self, match: MatchResult) -> bool:
        """Whether the two differ where no point that was drawn shows it."""
        if match.moved is None:
            return False  # the same terms, but for the rounding of numbers
        if self._has_its_skeleton() and not self.switches:
            return False  # the same terms, and all points agree
        self.hidden = self.values.hidden_difference(
            match.moved.floats, match.moved.precise, is_rounded=match.is_rounded
        )
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
        pairs = [] if self.direct is None else [self.direct]
        if not (is_polynomial(self.t) and is_polynomial(self.p)):
            # The terms of a polynomial are those it has multiplied out, and no others.
            own = [self.p] if is_polynomial(self.p) else self.forms.values()
            pairs += [
                pair_of(form, mine, match(form, mine))
                for _, form in self.true_forms
                for mine in own
            ]
        if not pairs:
            return _nothing_matched(self.t, self.p)
        return min(pairs, key=lambda pair: (pair.faults, pair.wrong))

    def _but_for_one_term(self) -> EquationPair | None:
        """Leave out one term after the other: of the truth, or of the answer."""
        for _, form in self.true_forms:
            for term in form if 1 < len(form) <= _MOST_LEFT_OUT else ():
                rest = {monomial: c for monomial, c in form.items() if monomial != term}
                match = self.values.relation(rest)
                if match.relation is Equivalence.SAME and not self._differs(match):
                    missing = ((term, form),)
                    return EquationPair(form, self.p, len(form) - 1, 0, match.error, missing, ())
            for term, mine in self._own_terms():
                match = self.values.relation(form, without={term: mine[term]})
                if match.relation is Equivalence.SAME:
                    extra = ((term, mine),)
                    return EquationPair(form, mine, len(form), 0, match.error, (), extra)
        return None

    def _own_terms(self) -> Iterator[tuple[Monomial, Sum]]:
        """Yield the terms of the answer in all its forms, each once."""
        seen: set[tuple[Monomial, Fraction]] = set()
        for mine in (*self.forms.values(), *([] if is_whole(self.p) else [self.p])):
            if not 1 < len(mine) <= _MOST_LEFT_OUT:
                continue
            for term, c in mine.items():
                if (term, c) not in seen:
                    seen.add((term, c))
                    yield term, mine


_MOVED = frozenset({Equivalence.SAME, Equivalence.OTHER_CONSTANTS})


def _error(found: MatchResult) -> float:
    return np.inf if found.error is None else found.error


def _of_tree(tree: Node, factor: Any = 1) -> MovedTruth:
    """Return an equation, or a multiple of it, to be compared everywhere."""
    rounded = float(factor)

    def floats(columns: Mapping[str, Array]) -> Array:
        n = len(next(iter(columns.values())))
        return rounded * np.broadcast_to(np.asarray(value(tree, columns), np.float64), n)

    def precise(point: Mapping[str, Any]) -> Any:
        return factor * ball_value(tree, point)

    return MovedTruth(floats, precise)


def _units_matter(terms: Sum) -> bool:
    """Whether a power is not whole: in other units its factor depends on the exponent."""
    return any(
        (power.denominator != 1 and atom.kind != "exp")
        or _units_matter(dict(atom.inner))
        or _units_matter(dict(atom.second or ()))
        for monomial in terms
        for atom, power in monomial
    )


def _in_units(text: str, units: Mapping[str, float]) -> str:
    """Write an equation in variables that are counted in other units."""
    return _NAME.sub(lambda m: f"({units[m[0]]!r}*{m[0]})" if m[0] in units else m[0], text)


def _in_given_units(moved: MovedTruth, units: Mapping[str, float]) -> MovedTruth:
    """Return a truth in the units of the domain as one in those of the data."""
    return MovedTruth(
        lambda columns: moved.floats(
            {name: c / units.get(name, 1.0) for name, c in columns.items()}
        ),
        lambda point: moved.precise(
            {name: number / exact_ball(units.get(name, 1.0)) for name, number in point.items()}
        ),
    )


def _nothing_matched(t: Sum, p: Sum) -> EquationPair:
    """Return a pair in which nothing is found: terms that are alike stand for other values."""
    missing = tuple((monomial, t) for monomial in t)
    return EquationPair(t, p, 0, 0, None, missing, tuple((monomial, p) for monomial in p))
