"""Whether an answer is the true system, by the rule of MDBench, and how much of it is.

The authors compared equations by hand: *identified* are those with all terms, no other, and
every coefficient within 5 %; those with one term missing or too many are counted apart.  Here the
same is computed; ``docs/fidelity.md`` explains it, and what a term is.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum
from fractions import Fraction
from functools import cached_property, lru_cache, partial
from typing import TYPE_CHECKING

from eqverdict.atoms import monomial_text, whole
from eqverdict.equation import parse
from eqverdict.errors import EquationError
from eqverdict.expand import expand
from eqverdict.fidelity.pairs import (
    EquationPair,
    Names,
    checks_of,
    is_polynomial,
    is_whole,
    pair_of,
)
from eqverdict.fidelity.verdict import (
    EquivalenceChecks,
    Numerical,
    Structural,
    Symbolic,
    combine,
    identified,
    match,
)
from eqverdict.grammar import read
from eqverdict.tree import needs_a_domain

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from eqverdict.atoms import Monomial, Sum
    from eqverdict.fidelity.numeric import ValueComparison


_MOST_CELLS = 40_000
"""Trees whose sizes have a larger product are not compared."""
_LITTLE = Fraction(1, 1000)
"""Terms with coefficients below this share of the largest may be the rounding of others."""
_NEAR = 0.2
"""Constants that are farther off are so in every writing."""
_DIGITS = 6
"""Significant digits of the terms that are named."""


class Verdict(StrEnum):
    """The verdict on an answer."""

    IDENTIFIED = "identified"
    """All terms, no other, every constant within 5 %."""
    ONE_TERM_OFF = "one_term_off"
    """Exactly one term is missing or too many in the whole system, at least one is found, and all
    that are found are within 5 %."""
    DIFFERENT = "different"
    NOT_IDENTIFIED = "not identified"
    """It is another system; whether it is one term off is undecided."""
    UNDECIDED = "undecided"
    """A step met a limit, and what is known allows more than one of the others."""


@dataclass(frozen=True)
class Term:
    """A term of one equation.

    Attributes
    ----------
    equation
        The index of the equation.
    text
        To be read by people, with rounded constants.
    exact
        For `parse`, in full precision.
    """

    equation: int
    text: str
    exact: str


class TermComparison:
    """An answer compared with the truth, term by term.

    What is costly and not always needed is worked out when it is asked for.
    """

    def __init__(self, pairs: Sequence[EquationPair]) -> None:
        self._pairs = pairs
        self._n_true = sum(len(pair.truth) for pair in pairs)
        self._n_found = sum(pair.found for pair in pairs)
        self._n_predicted = self._n_found + sum(len(pair.extra) for pair in pairs)

    @cached_property
    def verdict(self) -> Verdict:
        """The verdict on the whole system."""
        decided = [pair for pair in self._pairs if pair.decided]
        faults = sum(pair.faults for pair in decided)
        if faults > 1 or any(pair.wrong for pair in decided):
            return Verdict.DIFFERENT
        if len(decided) < len(self._pairs):
            apart = any(identified(checks) is False for checks in self.by_equation)
            return Verdict.NOT_IDENTIFIED if apart or faults else Verdict.UNDECIDED
        if not faults:
            return Verdict.IDENTIFIED
        return Verdict.ONE_TERM_OFF if self._n_found else Verdict.DIFFERENT

    @property
    def identified(self) -> bool | None:
        """Whether the answer is the truth, by the rule of ``docs/fidelity.md``; None: undecided."""
        return None if self.verdict is Verdict.UNDECIDED else self.verdict is Verdict.IDENTIFIED

    @property
    def precision(self) -> float:
        """Share of the answer's terms that the truth has, whatever their coefficients are."""
        return _share(self._n_found, self._n_predicted, self._n_true)

    @property
    def recall(self) -> float:
        """Share of the truth's terms that the answer has."""
        return _share(self._n_found, self._n_true, self._n_predicted)

    @property
    def f1(self) -> float:
        """Harmonic mean of precision and recall."""
        return _share(2 * self._n_found, self._n_true + self._n_predicted, 0)

    @property
    def coefficient_error(self) -> float | None:
        """Largest relative error of a constant among the terms found; None without any."""
        return max((p.error for p in self._pairs if p.error is not None), default=None)

    @property
    def constants_off(self) -> float | None:
        """Share by which constants are off, where nothing else is; else None."""
        alone = self.verdict is Verdict.DIFFERENT and not self.missing and not self.extra
        return self.coefficient_error if alone else None

    @cached_property
    def edit_distance(self) -> float | None:
        """Nodes to change over nodes of the truth, at most 1, between the multiplied-out systems.

        None if the truth could not be multiplied out.
        """
        if not all(pair.decided for pair in self._pairs):
            return None
        # What is the same in another form is so in that of the truth.
        if not any(pair.faults for pair in self._pairs):
            return 0.0
        # Imported here, as answers without faults do not need it.
        from eqverdict.tree_edit_distance import edit_distance, tree_of_sums  # noqa: PLC0415

        true = tree_of_sums([pair.truth for pair in self._pairs])
        tree = tree_of_sums([p.prediction if p.faults else p.truth for p in self._pairs])
        if true == tree:
            return 0.0
        if len(tree) >= 2 * len(true):
            return 1.0  # no fewer edits than the trees differ in size
        if len(tree) * len(true) > _MOST_CELLS:
            return None
        return min(1.0, edit_distance(true, tree) / len(true))

    @cached_property
    def missing(self) -> tuple[Term, ...]:
        """Terms that only the truth has."""
        return _terms(pair.missing for pair in self._pairs)

    @cached_property
    def extra(self) -> tuple[Term, ...]:
        """Terms that only the answer has."""
        return _terms(pair.extra for pair in self._pairs)

    @cached_property
    def matched(self) -> tuple[Term, ...]:
        """Terms of the answer that the truth has too, as far as they can be named."""
        extra = [{monomial for monomial, _ in pair.extra} for pair in self._pairs]
        return _terms(
            [(monomial, pair.prediction) for monomial in pair.prediction if monomial not in left]
            for pair, left in zip(self._pairs, extra, strict=True)
        )

    @cached_property
    def by_equation(self) -> tuple[EquivalenceChecks, ...]:
        """The three verdicts on each equation."""
        return tuple(pair.checks for pair in self._pairs)

    @cached_property
    def findings(self) -> EquivalenceChecks:
        """The three verdicts on the system, of which `verdict` is made."""
        known = [each.structural for each in self.by_equation]
        off = [each for each in known if each is not Structural.SAME]
        if Structural.UNKNOWN in known:
            structural = Structural.UNKNOWN
        elif not off:
            structural = Structural.SAME
        elif off == [Structural.ONE_TERM_OFF] and self._n_found:
            structural = Structural.ONE_TERM_OFF
        else:
            structural = Structural.OTHER
        return combine(self.by_equation, structural)


def compare(
    truth: Sequence[str],
    prediction: Sequence[str],
    variables: Sequence[str],
    *,
    truth_variables: Sequence[str] | None = None,
    domain: Mapping[str, tuple[float, float]] | None = None,
) -> TermComparison:
    """Compare an answer with the truth.

    Parameters
    ----------
    truth, prediction
        One right-hand side for each target, in the same order.
    variables
        The names that the answer may use.
    truth_variables
        The variables of the truth, where they have other names.
    domain
        The least and the largest value of variables, as far as they are known: equations that are
        the same for positive numbers are the same where only such are.  Others have either sign.

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
    return _compare(tuple(truth), tuple(prediction), known)


@lru_cache(maxsize=1_024)
def _compare(truth: tuple[str, ...], prediction: tuple[str, ...], names: Names) -> TermComparison:
    return TermComparison([_equation(t, p, names) for t, p in zip(truth, prediction, strict=True)])


def _share(part: int, whole: int, other: int) -> float:
    """Return a ratio of counts; of 0 to 0 it is 1 if the other side has none either."""
    if whole:
        return part / whole
    return 0.0 if other else 1.0


def _equation(truth: str, prediction: str, names: Names) -> EquationPair:
    """Compare two equations, the cheapest way first.

    Texts; terms, where all are powers of variables; else values, with the constants of the truth's
    standard form moved.
    """
    parse(prediction, names.predicted)  # what cannot be read is an error, what is too large is not
    t, p = _terms_or_whole(truth, names.true), _terms_or_whole(prediction, names.predicted)
    if t == p and read(truth, names.true) == read(prediction, names.predicted):
        same = EquivalenceChecks(Symbolic.EQUAL, Numerical.EQUAL, Structural.SAME, "the same text")
        return replace(pair_of(t, t, match(t, t)), find_checks=lambda: same)
    large = is_whole(t) or is_whole(p)
    direct = None if large else pair_of(t, p, match(t, p))
    polynomials = is_polynomial(t) and is_polynomial(p)
    polynomials = polynomials and not needs_a_domain(read(prediction, names.predicted))
    if direct is not None and polynomials and not _may_be_the_truth(direct):
        # Each has one form only, and the arithmetic is exact.
        symbolic = Symbolic.EQUAL if t == p else Symbolic.UNEQUAL
        compared = partial(_values, truth, prediction, names)
        # What cancels to all digits of double precision is not in the terms, but in the values.
        checks = partial(checks_of, symbolic, direct, near=t == p)
        return replace(direct, find_checks=lambda: checks(compared()))
    # Imported here, as in `_values`: polynomials do not need it, nor python-flint.
    from eqverdict.fidelity.identify import compare_by_values  # noqa: PLC0415

    return compare_by_values((truth, prediction), (t, p), direct, names)


def _values(truth: str, prediction: str, names: Names) -> ValueComparison:
    from eqverdict.fidelity.numeric import ValueComparison  # noqa: PLC0415

    return ValueComparison(truth, prediction, names.true, names.predicted, names.domain)


def _terms_or_whole(text: str, names: tuple[str, ...]) -> Sum:
    """Multiply out; what is too large to be is one term."""
    try:
        return expand(text, names)
    except EquationError:
        parse(text, names)
        return {((whole(text), 1),): Fraction(1)}


def _may_be_the_truth(pair: EquationPair) -> bool:
    """Whether two polynomials with other terms or constants may be the same by the rule.

    In another writing of the truth all constants may be within 5 %; what is missing or too many
    may be the rounding of numbers, or have no effect.
    """
    if not pair.faults or not pair.truth:
        return False
    if (pair.error or 0.0) > _NEAR:
        return False
    largest = max(map(abs, pair.truth.values()))
    return all(
        abs(terms[monomial]) < _LITTLE * largest for monomial, terms in (*pair.missing, *pair.extra)
    )


def _terms(groups: Iterable[Iterable[tuple[Monomial, Sum]]]) -> tuple[Term, ...]:
    return tuple(
        Term(
            number,
            monomial_text(monomial, terms[monomial], _DIGITS),
            monomial_text(monomial, terms[monomial]),
        )
        for number, group in enumerate(groups)
        for monomial, terms in group
    )
