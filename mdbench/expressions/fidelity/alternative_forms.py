"""Two equations that are not both polynomials, compared by values and in other forms.

In another form two equations may be the same.
Sines and cosines of sums and multiples are expanded; fractions become one fraction, or partial
fractions: what SymPy makes of them does not depend on how they were written, as long as their
numbers are exact.
"""

from __future__ import annotations

import re
from dataclasses import replace
from fractions import Fraction
from functools import lru_cache, partial
from typing import TYPE_CHECKING

from mdbench.errors import EquationError
from mdbench.expressions.atoms import monomial_text
from mdbench.expressions.equation import MAX_BYTES, SYMPY_WORKER
from mdbench.expressions.expand import expand
from mdbench.expressions.fidelity.compare import EquationPair, checks_of, is_whole
from mdbench.expressions.fidelity.constant_match import (
    ConstantMatcher,
    Equivalence,
    MatchResult,
    constant_shift,
)
from mdbench.expressions.fidelity.verdict import TOLERANCE, Match, Symbolic, match
from mdbench.limited_process import LimitedProcess

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from mdbench.expressions.atoms import Monomial, Sum
    from mdbench.expressions.fidelity.compare import Names, TimeBudget


_MOST_TOKENS = 250
"""Numbers, names and signs of a sum beyond which its fractions are not written again."""
_MOST_LEFT_OUT = 12
"""Sums of more terms are not tried with each of them left out."""
_ROUNDING = Fraction(1, 10**8)
"""Remainder of fractions whose texts were rounded to 15 digits, as a share."""
_TOKEN = re.compile(r"[\w.]+|\*\*|[-+*/^]")


def compare_forms(
    texts: tuple[str, str],
    sums: tuple[Sum, Sum],
    direct: EquationPair | None,
    names: Names,
    budget: TimeBudget,
) -> EquationPair:
    """Compare two equations that are not both polynomials: by values, and then in other forms.

    Parameters
    ----------
    texts, sums
        Truth and answer, as they are written and as sums of terms.
    direct
        The two compared term by term; None if one of them is too large to be multiplied out.
    """
    t, p = sums
    values = ConstantMatcher(*texts, names.true, names.predicted, names.domain)
    near: bool | None = False
    symbolic = Symbolic.EQUAL if direct is not None and t == p else Symbolic.NOT_PROVED
    faithful = direct is not None and not direct.faults and _is_faithful(t, p, values)
    if direct is not None and faithful and (t == p or not _units_matter(t)):
        found = direct
    else:
        forms = partial(AlternativeForms, *texts, names, budget)
        found, near = _by_values_or_forms(t, p, direct, values, forms)
    checks = partial(checks_of, symbolic, direct, values, faithful=faithful, near=near)
    return replace(found, find_checks=checks)


def _by_values_or_forms(
    t: Sum,
    p: Sum,
    direct: EquationPair | None,
    values: ConstantMatcher,
    forms: Callable[[], AlternativeForms],
) -> tuple[EquationPair, bool | None]:
    """Compare by values, then by other forms; return, too, whether it is near by values."""
    known = _by_values(t, {} if direct is None else p, values)
    if known is not None:
        return known, not known.faults
    if direct is None:
        missing = tuple((monomial, t) for monomial in t)
        found = EquationPair(t, {}, 0, 0, None, missing, (), decided=False)
        known_apart = not is_whole(t) and values.relation(t).relation is not Equivalence.UNKNOWN
        return found, False if known_apart else None
    found = _off_by_terms(direct, values, forms())
    if not found.decided and values.relation(t).relation is Equivalence.UNKNOWN:
        return found, None
    return found, found.decided and not found.faults


def _off_by_terms(
    direct: EquationPair, values: ConstantMatcher, others: AlternativeForms
) -> EquationPair:
    """Return what is known of two equations with other terms, and with other values if known."""
    t, p = direct.truth, direct.prediction
    if values.relation(t).relation is Equivalence.UNKNOWN:
        return replace(direct, decided=False)
    if not direct.faults:
        return _nothing_matched(t, p)
    if direct.faults == 1 and not direct.wrong:
        return direct
    best = _but_for_one_term(t, p, values) or _by_other_writings(t, p, values, others)
    if best is not None:
        return best
    return direct if others.complete else replace(direct, decided=False)


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


def _is_faithful(t: Sum, p: Sum, values: ConstantMatcher) -> bool:
    return (
        not values.undefined
        and values.faithful(t, of_truth=True)
        and values.faithful(p, of_truth=False)
    )


def _nothing_matched(t: Sum, p: Sum) -> EquationPair:
    """Return a pair in which nothing is found: terms that are alike stand for other values."""
    missing = tuple((monomial, t) for monomial in t)
    return EquationPair(t, p, 0, 0, None, missing, tuple((monomial, p) for monomial in p))


def _by_values(t: Sum, p: Sum, values: ConstantMatcher) -> EquationPair | None:
    """Whether the values are the truth's, as it is or with its constants moved."""
    if values.undefined:
        return _nothing_matched(t, p)
    factor = 0.0 if values.equal else values.proportional()
    if factor is not None and abs(factor) <= TOLERANCE:
        found = MatchResult(Equivalence.SAME, abs(factor))
    elif is_whole(t):
        return None
    else:
        relations = (values.relation(terms) for terms in _forms(t, values))
        known = {Equivalence.SAME, Equivalence.OTHER_CONSTANTS}
        found = next(
            (each for each in relations if each.relation in known), MatchResult(Equivalence.APART)
        )
    if not values.equal and (found.relation is Equivalence.OTHER_CONSTANTS or _units_matter(t)):
        error = constant_shift(values)
        if error is not None:
            if error <= TOLERANCE:
                found = MatchResult(Equivalence.SAME, error)
            elif found.relation is Equivalence.SAME:
                found = MatchResult(Equivalence.OTHER_CONSTANTS, error)
    if found.relation is Equivalence.SAME and not values.holds_more:
        return EquationPair(t, p, len(t), 0, found.error, (), ())
    if found.relation is Equivalence.OTHER_CONSTANTS:
        return EquationPair(t, p, len(t), 1, found.error, (), ())
    return None


def _forms(t: Sum, values: ConstantMatcher) -> Iterator[Sum]:
    """Return the sums of terms whose constants may be moved."""
    if values.faithful(t, of_truth=True):
        yield t


def _by_other_writings(
    t: Sum, p: Sum, values: ConstantMatcher, others: AlternativeForms
) -> EquationPair | None:
    """Search for a writing of both in which they are the same, or all but one term is.

    None if there is no such writing.  What is found has to have the answer's values.
    """
    for one, other in others.both():
        found = _match_rounded(one, other)
        if found.missing or len(found.extra) > 1 or (found.extra and found.wrong):
            continue
        extra = found.extra[0] if found.extra else None
        without = None if extra is None else {extra: other[extra]}
        relation = values.relation(one, without).relation
        if relation is Equivalence.SAME:
            more = () if extra is None else ((extra, other),)
            return EquationPair(t, p, len(t), 0, found.error, (), more)
        if relation is Equivalence.OTHER_CONSTANTS:
            return EquationPair(t, p, len(t), max(1, found.wrong), found.error, (), ())
    return None


def _but_for_one_term(t: Sum, p: Sum, values: ConstantMatcher) -> EquationPair | None:
    """Leave out one term after the other: of the truth, or of the answer."""
    for left in t if 1 < len(t) <= _MOST_LEFT_OUT else ():
        rest = {monomial: c for monomial, c in t.items() if monomial != left}
        found = values.relation(rest)
        if found.relation is Equivalence.SAME:
            return EquationPair(t, p, len(t) - 1, 0, found.error, ((left, t),), ())
    for left in p if 1 < len(p) <= _MOST_LEFT_OUT else ():
        found = values.relation(t, without={left: p[left]})
        if found.relation is Equivalence.SAME:
            return EquationPair(t, p, len(t), 0, found.error, (), ((left, p),))
    return None


def _match_rounded(truth: Sum, prediction: Sum) -> Match:
    """Match two sums of which one was written again from a text of rounded numbers.

    What should have cancelled then leaves terms of about the size of the rounding.
    """
    found = match(truth, prediction)
    least = _ROUNDING * max(map(abs, prediction.values()), default=Fraction(0))
    extra = tuple(monomial for monomial in found.extra if abs(prediction[monomial]) > least)
    return replace(found, extra=extra)


class AlternativeForms:
    """The other forms of two equations, each made when it is asked for.

    Attributes
    ----------
    complete
        Whether all that was asked for could be made in time.
    """

    def __init__(
        self,
        truth: str,
        prediction: str,
        names: Names,
        budget: TimeBudget,
    ) -> None:
        self.complete = True
        self._texts = truth, prediction
        self._names = names.true, names.predicted
        self._budget = budget
        sums = expand(truth, names.true), expand(prediction, names.predicted)
        angles = [_has_angles(each) for each in sums]
        self._angles = any(angles)
        # A fraction bar in the truth alone is seen as a term that is missing.
        direct = match(*sums)
        both_differ = bool(direct.missing and direct.extra)
        self._fractions = both_differ and _has_fractions(sums[1])

    def both(self) -> Iterator[tuple[Sum, Sum]]:
        """Yield the two in the same form."""
        if self._angles:
            try:
                one, other = (
                    expand(text, names, angles=True)
                    for text, names in zip(self._texts, self._names, strict=True)
                )
                yield one, other
            except EquationError:
                self.complete = False
        if self._fractions:
            yield from self._as_fractions(
                tuple(
                    _without(text, names, None)
                    for text, names in zip(self._texts, self._names, strict=True)
                )
            )

    def _as_fractions(self, texts: tuple[str, ...]) -> Iterator[tuple[Sum, Sum]]:
        found = [
            self._rewritten(text, names) for text, names in zip(texts, self._names, strict=True)
        ]
        one, other = found
        if one is None or other is None:
            return
        if max(len(one), len(other)) > 1:
            # Partial fractions, or the one fraction where that cannot be parted.
            yield one[-1], other[-1]
        if self._one_fraction_shows_all():
            yield one[0], other[0]

    def _rewritten(self, text: str, names: tuple[str, ...]) -> list[Sum] | None:
        """Expand the writings of one equation; None, and not complete, if time is up."""
        ways = None
        if self._budget.seconds > 0 and len(_TOKEN.findall(text)) <= _MOST_TOKENS:
            ways, cpu_s = fraction_forms(text, names)
            self._budget.seconds -= cpu_s
        try:
            sums = None if ways is None else [expand(way, names) for way in ways]
        except EquationError:
            sums = None
        self.complete = self.complete and sums is not None
        return sums

    def _one_fraction_shows_all(self) -> bool:
        """Whether every term of the truth is seen in one fraction.

        There 100 + x/(1 + x) is (100 + 101*x)/(1 + x), and the lack of its second term no more
        than an error of 1 % in one coefficient.
        """
        text, names = self._texts[0], self._names[0]
        whole = self._rewritten(_without(text, names, None), names)
        for monomial in expand(text, names):
            rest = self._rewritten(_without(text, names, monomial), names)
            if whole is None or rest is None or not match(whole[0], rest[0]).faults:
                return False
        return True


@lru_cache(maxsize=1_024)
def _without(text: str, names: tuple[str, ...], left: Monomial | None) -> str:
    """Write an equation multiplied out, without one of its terms if one is named."""
    rest = [
        monomial_text(monomial, c)
        for monomial, c in expand(text, names).items()
        if monomial != left
    ]
    return " + ".join(rest) or "0"


def _has_fractions(terms: Sum) -> bool:
    return any(atom.kind == "sum" and power < 0 for monomial in terms for atom, power in monomial)


def _has_angles(terms: Sum) -> bool:
    return any(
        len(atom.inner) > 1
        or power > 1
        or (atom.inner[0][1].denominator == 1 and atom.inner[0][1] > 1)
        or atom.constants[-1] != 0
        for monomial in terms
        for atom, power in monomial
        if atom.kind == "wave"
    )


MAX_SECONDS = 20
"""CPU time for one equation; the kernel counts in whole seconds, and may give one more."""


@lru_cache(maxsize=4_096)
def fraction_forms(text: str, variables: tuple[str, ...]) -> tuple[tuple[str, ...] | None, float]:
    """Write the fractions of an equation again, as one fraction, and as partial fractions.

    Returns
    -------
    tuple of str or None
        Those of the two that there are; None if it took too long.
    float
        The CPU time that it took, in s.
    """
    found = _child.ask({"ask": "fractions", "text": text, "variables": variables})
    return None if "error" in found else tuple(found["texts"]), found["cpu_s"]


_child = LimitedProcess(SYMPY_WORKER, MAX_SECONDS, MAX_BYTES)
