"""Whether an answer is the true system, by the rule of MDBench, and how much of it is.

The authors compared equations by hand: *identified* are those with all terms, no other, and
every coefficient within 5 %; those with one term missing or too many are told apart.  Here the
same is worked out; ``docs/fidelity.md`` says how, and what a term is.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from mdbench.errors import EquationError
from mdbench.expressions.atoms import monomial_text, whole
from mdbench.expressions.equation import parse
from mdbench.expressions.expand import expand
from mdbench.expressions.fidelity.alternative_forms import AlternativeForms, Names, TimeBudget
from mdbench.expressions.fidelity.constant_match import (
    ConstantMatcher,
    Equivalence,
    MatchResult,
    constant_shift,
)
from mdbench.expressions.fidelity.numeric import EXACT
from mdbench.expressions.fidelity.term_match import TOLERANCE, Match, match, tree_of_sums
from mdbench.expressions.fidelity.verdict import (
    EquivalenceChecks,
    Numerical,
    Structural,
    Symbolic,
    Term,
    TermComparison,
    Verdict,
    combine,
    identified,
)
from mdbench.expressions.grammar import read
from mdbench.expressions.srbench.tree_edit_distance import edit_distance

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from mdbench.expressions.atoms import Monomial, Sum


__all__ = [
    "NEGLIGIBLE",
    "Term",
    "TermComparison",
    "Verdict",
    "compare",
    "negligible",
    "used",
]


MAX_SECONDS = 60.0
"""After this no further writing of an equation is tried."""
_MOST_LEFT_OUT = 12
"""Sums of more terms are not tried with each of them left out."""
_MOST_CELLS = 40_000
"""Trees whose sizes have a larger product are not compared."""
_ROUNDING = Fraction(1, 10**8)
"""What fractions leave where their texts were rounded to 15 digits, as a share."""
_DIGITS = 6
"""Significant digits of the terms that are named."""


@dataclass(frozen=True)
class _Pair:
    """One equation beside the true one."""

    truth: Sum
    prediction: Sum
    found: int
    wrong: int
    error: float | None
    missing: tuple[tuple[Monomial, Sum], ...]
    extra: tuple[tuple[Monomial, Sum], ...]
    decided: bool = True
    findings: EquivalenceChecks | None = None

    @property
    def apart(self) -> bool:
        """Whether it is known not to be the truth, though nothing else is decided."""
        return self.findings is not None and identified(self.findings) is False

    @property
    def faults(self) -> int:
        return len(self.missing) + len(self.extra) + self.wrong


def compare(
    truth: Sequence[str],
    prediction: Sequence[str],
    variables: Sequence[str],
    *,
    truth_variables: Sequence[str] | None = None,
    domain: Mapping[str, tuple[float, float]] | None = None,
    seconds: float = MAX_SECONDS,
) -> TermComparison:
    """Put an answer beside the truth.

    Parameters
    ----------
    truth, prediction
        One right-hand side for each target, in the same order.
    variables
        The names that the answer may use.
    truth_variables
        Those of the truth, where they are others.
    domain
        The least and the largest value of variables, as far as they are known: equations that are
        the same for positive numbers are the same where only such are.  Others have either sign.
    seconds
        CPU time of SymPy's after which no further writing of an equation is tried, and the verdict
        may be `UNDECIDED`: the last resort, far beyond what the limits of size allow.

    Raises
    ------
    EquationError
        If an equation cannot be read.
    ValueError
        If there are not as many equations in the answer as in the truth.

    References
    ----------
    Ziaei Bideh et al., "MDBench", AAAI 2026, tables 3, A5 and A6.

    Examples
    --------
    >>> compare(["u0*(1.84 - 1.45*u1)"], ["1.8*u0 - 1.5*u0*u1"], ["u0", "u1"]).verdict.value
    'identified'
    >>> found = compare(["sin(u0) - u1"], ["cos(u0 - 1.57)"], ["u0", "u1"])
    >>> found.verdict.value, [term.text for term in found.missing]
    ('one_term_off', ['-u1'])
    """
    names = tuple(variables)
    true_names = names if truth_variables is None else tuple(truth_variables)
    ranges = tuple((name, float(low), float(high)) for name, (low, high) in (domain or {}).items())
    known = Names(true_names, names, ranges)
    return _compare(tuple(truth), tuple(prediction), known, seconds)


@lru_cache(maxsize=1_024)
def _compare(
    truth: tuple[str, ...], prediction: tuple[str, ...], names: Names, seconds: float
) -> TermComparison:
    budget = TimeBudget(seconds)
    pairs = [_equation(t, p, names, budget) for t, p in zip(truth, prediction, strict=True)]
    n_true = sum(len(pair.truth) for pair in pairs)
    found = sum(pair.found for pair in pairs)
    n_predicted = found + sum(len(pair.extra) for pair in pairs)
    errors = [pair.error for pair in pairs if pair.error is not None]
    unknown = any(not pair.decided for pair in pairs)
    findings = tuple(pair.findings for pair in pairs if pair.findings is not None)
    return TermComparison(
        verdict=_verdict(pairs),
        precision=_share(found, n_predicted, n_true),
        recall=_share(found, n_true, n_predicted),
        f1=_share(2 * found, n_true + n_predicted, 0),
        coefficient_error=max(errors, default=None),
        edit_distance=None if unknown else _edit_distance(pairs),
        missing=_terms(pair.missing for pair in pairs),
        extra=_terms(pair.extra for pair in pairs),
        matched=_matched(pairs),
        findings=combine(findings, _structural(pairs, findings)),
        by_equation=findings,
    )


def _share(part: int, whole: int, other: int) -> float:
    """Give a share; of nothing at all it is 1 if there is nothing on the other side either."""
    if whole:
        return part / whole
    return 0.0 if other else 1.0


def _verdict(pairs: list[_Pair]) -> Verdict:
    decided = [pair for pair in pairs if pair.decided]
    faults = sum(pair.faults for pair in decided)
    wrong = sum(pair.wrong for pair in decided)
    if faults > 1 or wrong:
        return Verdict.DIFFERENT
    if len(decided) < len(pairs):
        apart = any(pair.apart for pair in pairs)
        return Verdict.NOT_IDENTIFIED if apart or faults else Verdict.UNDECIDED
    if not faults:
        return Verdict.IDENTIFIED
    return Verdict.ONE_TERM_OFF if any(pair.found for pair in pairs) else Verdict.DIFFERENT


def _structural(pairs: list[_Pair], findings: Sequence[EquivalenceChecks]) -> Structural:
    """Say of a system what its terms alone say."""
    known = [each.structural for each in findings]
    if Structural.UNKNOWN in known:
        return Structural.UNKNOWN
    off = [each for each in known if each is not Structural.SAME]
    if not off:
        return Structural.SAME
    lone = off == [Structural.ONE_TERM_OFF] and any(pair.found for pair in pairs)
    return Structural.ONE_TERM_OFF if lone else Structural.OTHER


def _equation(truth: str, prediction: str, names: Names, budget: TimeBudget) -> _Pair:
    """Compare two equations, the cheapest way first.

    Texts; terms, where all are powers of variables; values, as they stand and with the truth's
    constants moved; and only for what is one term off other writings.
    """
    parse(prediction, names.predicted)  # what cannot be read is an error, what is too large is not
    t, p = _terms_or_whole(truth, names.true), _terms_or_whole(prediction, names.predicted)
    if t == p and read(truth, names.true) == read(prediction, names.predicted):
        same = EquivalenceChecks(Symbolic.EQUAL, Numerical.EQUAL, Structural.SAME, "the same text")
        return replace(_pair(t, t, match(t, t)), findings=same)
    large = _is_whole(t) or _is_whole(p)
    direct = None if large else _pair(t, p, match(t, p))
    values = ConstantMatcher(truth, prediction, names.true, names.predicted, names.domain)
    near: bool | None = False
    symbolic = Symbolic.EQUAL if direct is not None and t == p else Symbolic.NOT_PROVED
    if direct is not None and _is_polynomial(t) and _is_polynomial(p):
        # Each has one writing only, and the arithmetic is exact.
        found, faithful = direct, True
        symbolic = Symbolic.EQUAL if t == p else Symbolic.UNEQUAL
    else:
        faithful = direct is not None and not direct.faults and _is_faithful(t, p, values)
        if direct is not None and faithful and (t == p or not _units_matter(t)):
            found = direct
        else:
            asked = _Texts(truth, prediction, names, budget)
            found, near = _by_values_or_writings(t, p, direct, values, asked)
    return replace(
        found, findings=_findings(symbolic, direct, values, faithful=faithful, near=near)
    )


@dataclass(frozen=True)
class _Texts:
    """The texts of two equations, and what there is to make other writings of them."""

    truth: str
    prediction: str
    names: Names
    budget: TimeBudget


def _by_values_or_writings(
    t: Sum, p: Sum, direct: _Pair | None, values: ConstantMatcher, asked: _Texts
) -> tuple[_Pair, bool | None]:
    """Compare by values, then by writings; tell, too, whether it is near by values, if known."""
    known = _by_values(t, {} if direct is None else p, values)
    if known is not None:
        return known, not known.faults
    if direct is None:
        missing = tuple((monomial, t) for monomial in t)
        found = _Pair(t, {}, 0, 0, None, missing, (), decided=False)
        known_apart = not _is_whole(t) and values.relation(t).relation is not Equivalence.UNKNOWN
        return found, False if known_apart else None
    others = AlternativeForms(asked.truth, asked.prediction, asked.names, asked.budget)
    found = _off_by_terms(direct, values, others)
    if not found.decided and values.relation(t).relation is Equivalence.UNKNOWN:
        return found, None
    return found, found.decided and not found.faults


def _findings(
    symbolic: Symbolic,
    direct: _Pair | None,
    values: ConstantMatcher,
    *,
    faithful: bool,
    near: bool | None,
) -> EquivalenceChecks:
    """Put together what is known of two equations."""
    compared = values.compared
    if values.undefined:
        numerical, told = Numerical.APART, "it has no values where the truth has some"
    elif compared.equal is None:
        numerical, told = Numerical.NEAR if near else Numerical.UNKNOWN, ""
    elif compared.equal and not (values.holds_more and not near):
        numerical = Numerical.EQUAL
        told = f"equal to {values.digits} digits at {compared.points} points"
    else:
        numerical = Numerical.NEAR if near else Numerical.APART
        if near is None:
            numerical = Numerical.UNKNOWN
        at = ", ".join(f"{name}={number!r}" for name, number in (compared.point or {}).items())
        told = f"apart by {compared.share:.1g} at {at or 'any point'}"
        if compared.equal:
            told = "equal to rounding, with a part that rounding hides"
    if direct is None:
        structural = Structural.UNKNOWN
    elif direct.faults:
        off = direct.faults == 1 and not direct.wrong
        structural = Structural.ONE_TERM_OFF if off else Structural.OTHER
    else:
        structural = Structural.SAME if faithful or near else Structural.OTHER
    # To the digits that rounded numbers have.
    rounded = values.tolerance > EXACT
    return EquivalenceChecks.of(symbolic, numerical, structural, told, rounded=rounded)


def _off_by_terms(direct: _Pair, values: ConstantMatcher, others: AlternativeForms) -> _Pair:
    """Give what is known of two equations whose terms differ, and whose values do if they can."""
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


def _terms_or_whole(text: str, names: tuple[str, ...]) -> Sum:
    """Multiply out; what is too large to be is one term."""
    try:
        return expand(text, names)
    except EquationError:
        parse(text, names)
        return {((whole(text), 1),): Fraction(1)}


def _is_whole(terms: Sum) -> bool:
    return any(atom.kind == "whole" for monomial in terms for atom, _ in monomial)


def _is_polynomial(terms: Sum) -> bool:
    return all(
        atom.kind == "variable" and power.denominator == 1
        for monomial in terms
        for atom, power in monomial
    )


def _units_matter(terms: Sum) -> bool:
    """Tell whether coefficients change unevenly with the units of variables.

    In other units a logarithm leaves a constant, and a power that is not whole a factor that hangs
    on its exponent.
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


def _nothing_matched(t: Sum, p: Sum) -> _Pair:
    """Give what nothing is found in: terms that are alike stand for other values."""
    missing = tuple((monomial, t) for monomial in t)
    return _Pair(t, p, 0, 0, None, missing, tuple((monomial, p) for monomial in p))


def _by_values(t: Sum, p: Sum, values: ConstantMatcher) -> _Pair | None:
    """Look whether the values are the truth's, as it stands or with its constants moved."""
    if values.undefined:
        return _nothing_matched(t, p)
    factor = 0.0 if values.equal else values.proportional()
    if factor is not None and abs(factor) <= TOLERANCE:
        found = MatchResult(Equivalence.SAME, abs(factor))
    elif _is_whole(t):
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
        return _Pair(t, p, len(t), 0, found.error, (), ())
    if found.relation is Equivalence.OTHER_CONSTANTS:
        return _Pair(t, p, len(t), 1, found.error, (), ())
    return None


def _forms(t: Sum, values: ConstantMatcher) -> Iterator[Sum]:
    """Give the sums of terms whose constants may be moved."""
    if values.faithful(t, of_truth=True):
        yield t


def _pair(t: Sum, p: Sum, matched: Match) -> _Pair:
    return _Pair(
        truth=t,
        prediction=p,
        found=len(matched.pairs),
        wrong=matched.wrong,
        error=matched.error,
        missing=tuple((monomial, t) for monomial in matched.missing),
        extra=tuple((monomial, p) for monomial in matched.extra),
    )


def _by_other_writings(
    t: Sum, p: Sum, values: ConstantMatcher, others: AlternativeForms
) -> _Pair | None:
    """Look for a writing of both in which they are the same, or all but one term is.

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
            return _Pair(t, p, len(t), 0, found.error, (), more)
        if relation is Equivalence.OTHER_CONSTANTS:
            return _Pair(t, p, len(t), max(1, found.wrong), found.error, (), ())
    return None


def _but_for_one_term(t: Sum, p: Sum, values: ConstantMatcher) -> _Pair | None:
    """Leave out one term after the other: of the truth, or of the answer."""
    for left in t if 1 < len(t) <= _MOST_LEFT_OUT else ():
        rest = {monomial: c for monomial, c in t.items() if monomial != left}
        found = values.relation(rest)
        if found.relation is Equivalence.SAME:
            return _Pair(t, p, len(t) - 1, 0, found.error, ((left, t),), ())
    for left in p if 1 < len(p) <= _MOST_LEFT_OUT else ():
        found = values.relation(t, without={left: p[left]})
        if found.relation is Equivalence.SAME:
            return _Pair(t, p, len(t), 0, found.error, (), ((left, p),))
    return None


def _match_rounded(truth: Sum, prediction: Sum) -> Match:
    """Match two sums of which one was written anew from a text of rounded numbers.

    What should have cancelled then leaves terms of about the size of the rounding.
    """
    found = match(truth, prediction)
    least = _ROUNDING * max(map(abs, prediction.values()), default=Fraction(0))
    extra = tuple(monomial for monomial in found.extra if abs(prediction[monomial]) > least)
    return replace(found, extra=extra)


def _edit_distance(pairs: list[_Pair]) -> float | None:
    true = tree_of_sums([pair.truth for pair in pairs])
    # What is the same in another writing is so in that of the truth.
    tree = tree_of_sums([pair.prediction if pair.faults else pair.truth for pair in pairs])
    if true == tree:
        return 0.0
    if len(tree) >= 2 * len(true):
        return 1.0  # no fewer edits than the trees differ in size
    if len(tree) * len(true) > _MOST_CELLS:
        return None
    return min(1.0, edit_distance(true, tree) / len(true))


def _terms(groups: Iterator[tuple[tuple[Monomial, Sum], ...]]) -> tuple[Term, ...]:
    return tuple(
        _term(number, monomial, terms)
        for number, group in enumerate(groups)
        for monomial, terms in group
    )


def _term(equation: int, monomial: Monomial, terms: Sum) -> Term:
    c = terms[monomial]
    return Term(equation, monomial_text(monomial, c, _DIGITS), monomial_text(monomial, c))


def _matched(pairs: list[_Pair]) -> tuple[Term, ...]:
    return tuple(
        _term(number, monomial, pair.prediction)
        for number, pair in enumerate(pairs)
        for monomial in pair.prediction
        if monomial not in {left for left, _ in pair.extra}
    )


NEGLIGIBLE = 1e-3
"""A term whose root mean square is below this share of the target's is negligible."""
_MOST_POINTS = 20_000
"""Of larger fields, points at even distances are looked at."""
_NAME = re.compile(r"[A-Za-z_]\w*")


def used(text: str, columns: Mapping[str, NDArray[np.float64]]) -> list[str]:
    """Name the columns that an equation uses, so that no others need be made."""
    return [name for name in dict.fromkeys(_NAME.findall(text)) if name in columns]


def negligible(
    terms: Iterable[Term],
    columns: Mapping[str, NDArray[np.float64]],
    targets: NDArray[np.float64],
    share: float = NEGLIGIBLE,
) -> list[Term]:
    """Pick the terms that contribute nothing.

    Parameters
    ----------
    terms
        Terms of the truth or of an answer.
    columns
        For each variable its values, shaped like one target.
    targets
        What the equations are to give; the last axis runs over the equations.
    share
        Of the root mean square of the target.

    Returns
    -------
    list of Term
        Those whose values are all defined and small.  None where the target is zero everywhere:
        there is no signal to compare with.
    """
    size = targets[..., 0].size
    step = max(1, -(-size // _MOST_POINTS))
    picked: dict[str, NDArray[np.float64]] = {}
    signals = [_rms(targets[..., i].reshape(-1)) for i in range(targets.shape[-1])]
    small = []
    for term in terms:
        names = used(term.exact, columns)
        for name in names:
            if name not in picked:
                picked[name] = columns[name].reshape(-1)[::step]
        try:
            # A constant has no column of its own.
            values = parse(term.exact, names).evaluate({name: picked[name] for name in names})
        except EquationError:
            continue  # nested deeper than an equation may be
        if _rms(np.atleast_1d(values)) < share * signals[term.equation]:
            small.append(term)
    return small


def _rms(values: NDArray[np.float64]) -> float:
    with np.errstate(all="ignore"):
        return float(np.sqrt(np.mean(np.square(values))))
