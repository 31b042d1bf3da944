"""Other forms of two equations, in which they may be seen to be the same.

Sines and cosines of sums and multiples are expanded; fractions become one fraction, or partial
fractions: what SymPy makes of them does not depend on how they were written, as long as their
numbers are exact.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from mdbench.errors import EquationError
from mdbench.expressions.atoms import monomial_text
from mdbench.expressions.equation import MAX_BYTES, SYMPY_WORKER
from mdbench.expressions.expand import expand
from mdbench.expressions.fidelity.verdict import match
from mdbench.limited_process import LimitedProcess

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mdbench.expressions.atoms import Monomial, Sum
    from mdbench.expressions.fidelity.numeric import Domain


_MOST_TOKENS = 250
"""Numbers, names and signs of a sum beyond which its fractions are not written again."""
_TOKEN = re.compile(r"[\w.]+|\*\*|[-+*/^]")


@dataclass(frozen=True)
class Names:
    """What the variables of truth and answer are called, and what is known of their values."""

    true: tuple[str, ...]
    predicted: tuple[str, ...]
    domain: Domain


@dataclass
class TimeBudget:
    """The CPU time that is left for other forms of the equations of an answer."""

    seconds: float


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
        if self._one_fraction_tells():
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

    def _one_fraction_tells(self) -> bool:
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
