"""What is said of an answer: its terms, three verdicts kept apart, and the rule of one of them."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = [
    "EquivalenceChecks",
    "Numerical",
    "Structural",
    "Symbolic",
    "Term",
    "TermComparison",
    "Verdict",
    "combine",
    "identified",
]


class Symbolic(StrEnum):
    """What rewriting has proved."""

    NOT_PROVED = "not proved"
    EQUAL = "equal"
    """The same tree, or the same terms with the same constants."""
    UNEQUAL = "unequal"
    """Two polynomials with different terms or constants."""


class Numerical(StrEnum):
    """What evaluating has proved."""

    APART = "apart"
    """Told apart at a point."""
    NEAR = "near"
    """Equal to the truth with its constants moved by 5 % at most."""
    EQUAL = "equal"
    """Equal to ninety digits, or twelve where numbers are rounded, wherever it was looked at."""
    UNKNOWN = "unknown"


class Structural(StrEnum):
    """What the terms say, as both are multiplied out."""

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
    told
        What evaluating has found, for people; empty where nothing was evaluated.
    contradictions
        Where two verdicts exclude each other: a fault of the scorer, or of what is known of the
        domain.
    """

    symbolic: Symbolic
    numerical: Numerical
    structural: Structural
    told: str = ""
    contradictions: tuple[str, ...] = ()

    @classmethod
    def of(
        cls,
        symbolic: Symbolic,
        numerical: Numerical,
        structural: Structural,
        told: str = "",
        *,
        rounded: bool = False,
    ) -> EquivalenceChecks:
        """Put three verdicts together, and look whether two of them exclude each other.

        Where numbers are rounded, what is not the same may be equal to as many digits as there are.
        """
        apart, equal = numerical is Numerical.APART, numerical is Numerical.EQUAL
        found = []
        if symbolic is Symbolic.EQUAL and apart:
            found.append("proved equal, and told apart by values")
        if symbolic is Symbolic.UNEQUAL and equal and not rounded:
            found.append("proved unequal, and equal by values")
        return cls(symbolic, numerical, structural, told, tuple(found))


def identified(findings: EquivalenceChecks) -> bool | None:
    """Decide from three verdicts on one equation whether it is the truth, constants within 5 %.

    Equal or near by values, or proved equal, is the truth; so are the same terms, as long as they
    have the values of the equations that they were made of, without which they are not called
    the same.  What was told apart, or proved unequal, is not.
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


def combine(each: Sequence[EquivalenceChecks], structural: Structural) -> EquivalenceChecks:
    """Give the verdicts on a system: what is said of its worst equation."""
    symbolic = {one.symbolic for one in each}
    numerical = {one.numerical for one in each}
    order = (Numerical.APART, Numerical.UNKNOWN, Numerical.NEAR, Numerical.EQUAL)
    return EquivalenceChecks(
        next(s for s in (Symbolic.UNEQUAL, Symbolic.NOT_PROVED, Symbolic.EQUAL) if s in symbolic),
        next(n for n in order if n in numerical),
        structural,
        contradictions=tuple(dict.fromkeys(text for one in each for text in one.contradictions)),
    )


class Verdict(StrEnum):
    """What an answer is."""

    IDENTIFIED = "identified"
    """All terms, no other, every constant within 5 %."""
    ONE_TERM_OFF = "one_term_off"
    """Exactly one term is missing or too many in the whole system, at least one is found, and all
    that are found are within 5 %."""
    DIFFERENT = "different"
    NOT_IDENTIFIED = "not identified"
    """Told apart; whether it is one term off is undecided."""
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
        For people, with rounded constants.
    exact
        For `parse`, in full precision.
    """

    equation: int
    text: str
    exact: str


@dataclass(frozen=True)
class TermComparison:
    """An answer beside the truth.

    Attributes
    ----------
    precision, recall, f1
        Of terms over the whole system.  A term counts as found whatever its coefficient is.
    coefficient_error
        The largest relative error of a constant among the terms found; None where there is none.
    edit_distance
        Nodes to change over nodes of the truth, at most 1, between the multiplied-out systems;
        None if the truth could not be multiplied out.
    missing, extra
        Terms that only the truth, or only the answer, has.
    matched
        The terms of the answer that the truth has too, as far as they can be named.
    findings, by_equation
        The three verdicts that the one is made of: on the system, and on each equation.
    """

    verdict: Verdict
    precision: float
    recall: float
    f1: float
    coefficient_error: float | None
    edit_distance: float | None
    missing: tuple[Term, ...]
    extra: tuple[Term, ...]
    matched: tuple[Term, ...]
    findings: EquivalenceChecks
    by_equation: tuple[EquivalenceChecks, ...]

    @property
    def identified(self) -> bool | None:
        """Whether the answer is the truth, by the rule of ``docs/fidelity.md``; None: undecided."""
        return None if self.verdict is Verdict.UNDECIDED else self.verdict is Verdict.IDENTIFIED

    @property
    def constants_off(self) -> float | None:
        """By what share constants are off, where nothing else is; None where that is not so."""
        alone = self.verdict is Verdict.DIFFERENT and not self.missing and not self.extra
        return self.coefficient_error if alone else None
