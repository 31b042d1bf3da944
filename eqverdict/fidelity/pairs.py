"""Two equations compared term by term, and what is known of them by values and other forms."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

from eqverdict.fidelity.verdict import (
    EquivalenceChecks,
    Match,
    Numerical,
    Structural,
    Symbolic,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from eqverdict.atoms import Monomial, Sum
    from eqverdict.fidelity.numeric import ValueComparison
    from eqverdict.fidelity.points import Domain


@dataclass(frozen=True)
class Names:
    """The names of the variables of truth and answer, and the known ranges of their values."""

    true: tuple[str, ...]
    predicted: tuple[str, ...]
    domain: Domain


@dataclass(frozen=True)
class EquationPair:
    """One equation and the true one.

    Attributes
    ----------
    found, wrong
        How many of the truth's terms were found, and how many of these have a wrong coefficient.
    error
        The largest relative error of a constant among them.
    missing, extra
        Terms of one side only, each with the sum that it is of.
    decided
        Whether all of this is known.
    """

    truth: Sum
    prediction: Sum
    found: int
    wrong: int
    error: float | None
    missing: tuple[tuple[Monomial, Sum], ...]
    extra: tuple[tuple[Monomial, Sum], ...]
    decided: bool = True
    find_checks: Callable[[], EquivalenceChecks] | None = None

    @cached_property
    def checks(self) -> EquivalenceChecks:
        """The three verdicts, worked out when they are asked for."""
        if self.find_checks is None:
            raise AssertionError("an equation has been compared without its checks")
        return self.find_checks()

    @property
    def faults(self) -> int:
        """Number of terms that are missing, too many or wrong."""
        return len(self.missing) + len(self.extra) + self.wrong


def checks_of(
    symbolic: Symbolic,
    direct: EquationPair | None,
    values: ValueComparison,
    *,
    pair: EquationPair | None = None,
    near: bool | None = False,
    extra: bool = False,
    hidden: Mapping[str, float] | None = None,
) -> EquivalenceChecks:
    """Return the three verdicts on two equations.

    Parameters
    ----------
    direct
        The two compared term by term; None if one of them is too large to be multiplied out.
    pair
        What is known of them by values and other forms, where they are not polynomials.
    near
        Whether they are the same with the truth's constants moved; None where it is not known.
    extra
        Whether the answer has structure without effect on the domain.
    hidden
        A point where they differ though they do not at any point drawn at random.
    """
    from eqverdict.fidelity.numeric import EXACT  # noqa: PLC0415 - see `_equation`

    compared = values.compared
    if hidden is not None:
        numerical, at = Numerical.APART, _at(hidden)
        explanation = f"the same at all points drawn at random, and apart at {at}"
    elif values.undefined:
        numerical, explanation = Numerical.APART, "it has no values where the truth has some"
    elif compared.equal and (pair is None or near):
        numerical = Numerical.EQUAL
        digits = round(-math.log10(EXACT))
        explanation = f"equal to {digits} digits at {compared.points} points"
    elif compared.equal is None:
        numerical, explanation = Numerical.NEAR if near else Numerical.UNKNOWN, ""
    else:
        numerical = Numerical.NEAR if near else Numerical.APART
        if near is None:
            numerical = Numerical.UNKNOWN
        explanation = f"apart by {compared.share:.1g} at {_at(compared.point or {})}"
    known = direct if pair is None or pair.faults else pair
    if known is None:
        structural = Structural.UNKNOWN
    elif known.faults:
        off = known.faults == 1 and not known.wrong
        structural = Structural.ONE_TERM_OFF if off else Structural.OTHER
    elif pair is not None and pair.faults:
        structural = Structural.OTHER
    else:
        structural = Structural.SAME
    checks = EquivalenceChecks.of(symbolic, numerical, structural, explanation)
    return replace(checks, extra_structure=extra and numerical is not Numerical.APART)


def _at(point: Mapping[str, float]) -> str:
    return ", ".join(f"{name}={number!r}" for name, number in point.items()) or "any point"


def is_whole(terms: Sum) -> bool:
    """Whether a sum is one term that was too large to be multiplied out."""
    return any(atom.kind == "whole" for monomial in terms for atom, _ in monomial)


def is_polynomial(terms: Sum) -> bool:
    """Whether a sum has whole powers of variables only."""
    return all(
        atom.kind == "variable" and power.denominator == 1
        for monomial in terms
        for atom, power in monomial
    )


def pair_of(t: Sum, p: Sum, matched: Match) -> EquationPair:
    """Return what the terms of two sums show."""
    return EquationPair(
        truth=t,
        prediction=p,
        found=len(matched.pairs),
        wrong=matched.wrong,
        error=matched.error,
        missing=tuple((monomial, t) for monomial in matched.missing),
        extra=tuple((monomial, p) for monomial in matched.extra),
    )
