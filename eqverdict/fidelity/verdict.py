"""Terms paired one to one, three separate verdicts on an equation, and negligible terms."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction
from operator import itemgetter
from typing import TYPE_CHECKING

import numpy as np

from eqverdict.atoms import constants_of, skeleton_of
from eqverdict.equation import parse
from eqverdict.errors import EquationError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from numpy.typing import NDArray

    from eqverdict.atoms import Exponent, Monomial, Sum
    from eqverdict.fidelity.compare import Term


TOLERANCE = 0.05
"""The largest relative error of a constant that counts as right (MDBench, AAAI 2026)."""
PRINTED = 5e-4
"""Numbers of an answer may be off by this share of themselves, as with four digits."""


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
        """Number of terms that have a wrong coefficient."""
        return sum(error > TOLERANCE for _, _, error in self.pairs)

    @property
    def faults(self) -> int:
        """Number of terms that are missing, too many or wrong."""
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


class Symbolic(StrEnum):
    """The result of rewriting."""

    NOT_PROVED = "not proved"
    EQUAL = "equal"
    """The same tree, or the same terms with the same constants."""
    UNEQUAL = "unequal"
    """Two polynomials with different terms or constants."""


class Numerical(StrEnum):
    """The result of evaluating."""

    APART = "apart"
    """They differ at a point."""
    NEAR = "near"
    """Equal to the truth with its constants moved by 5 % at most."""
    EQUAL = "equal"
    """Equal to ninety digits wherever it was looked at."""
    UNKNOWN = "unknown"


class Structural(StrEnum):
    """The result of comparing the terms of both, multiplied out."""

    OTHER = "other"
    ONE_TERM_OFF = "one term off"
    SAME = "same"
    """All terms, no other, every constant within 5 %."""
    UNKNOWN = "unknown"
    """Too large to be multiplied out."""


@dataclass(frozen=True)
class EquivalenceChecks:
    """The three verdicts on an equation, or on a system of them.

    Attributes
    ----------
    explanation
        The result of evaluation, in words; empty where nothing was evaluated.
    contradictions
        Where two verdicts exclude each other: a fault of the scorer, or of what is known of the
        domain.
    extra_structure
        Whether the answer's text has parts that the truth has not, without an effect on the
        domain.
    """

    symbolic: Symbolic
    numerical: Numerical
    structural: Structural
    explanation: str = ""
    contradictions: tuple[str, ...] = ()
    extra_structure: bool = False

    @classmethod
    def of(
        cls,
        symbolic: Symbolic,
        numerical: Numerical,
        structural: Structural,
        explanation: str = "",
    ) -> EquivalenceChecks:
        """Put three verdicts together, and look whether two of them exclude each other."""
        apart, equal = numerical is Numerical.APART, numerical is Numerical.EQUAL
        contradictions = []
        if symbolic is Symbolic.EQUAL and apart:
            contradictions.append("proved equal, and different by values")
        if symbolic is Symbolic.UNEQUAL and equal:
            contradictions.append("proved unequal, and equal by values")
        return cls(symbolic, numerical, structural, explanation, tuple(contradictions))


def identified(findings: EquivalenceChecks) -> bool | None:
    """Decide from three verdicts on one equation whether it is the truth, constants within 5 %.

    Equal or near by values, or proved equal, is the truth; so are the same terms, as long as they
    have the values of the equations that they were made of, without which they are not called
    the same.  What differs by values, or is proved unequal, is not.
    """
    if findings.numerical in {Numerical.EQUAL, Numerical.NEAR}:
        return True
    if findings.structural is Structural.SAME:
        return True
    if findings.symbolic is Symbolic.EQUAL and findings.numerical is Numerical.UNKNOWN:
        return True
    if findings.numerical is Numerical.APART or findings.symbolic is Symbolic.UNEQUAL:
        return False
    return None


def combine(checks: Sequence[EquivalenceChecks], structural: Structural) -> EquivalenceChecks:
    """Return the verdicts on a system: those of its worst equation."""
    symbolic = {one.symbolic for one in checks}
    numerical = {one.numerical for one in checks}
    order = (Numerical.APART, Numerical.UNKNOWN, Numerical.NEAR, Numerical.EQUAL)
    return EquivalenceChecks(
        next(s for s in (Symbolic.UNEQUAL, Symbolic.NOT_PROVED, Symbolic.EQUAL) if s in symbolic),
        next(n for n in order if n in numerical),
        structural,
        contradictions=tuple(dict.fromkeys(text for one in checks for text in one.contradictions)),
    )


NEGLIGIBLE = 1e-3
"""A term whose root mean square is below this share of the target's is negligible."""
_MOST_POINTS = 20_000
"""The most points that are looked at; of larger fields they are evenly spaced."""
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
