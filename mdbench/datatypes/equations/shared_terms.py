"""Losses of sums whose terms are worked out once for all candidates."""

from __future__ import annotations

from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

import numpy as np

from eqverdict import parse

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from eqverdict import Equation
    from mdbench.datatypes.equations.selection import Evidence

    Array = NDArray[np.float64]

_MOST_TERMS = 2_000
"""Terms that are remembered with a job's evidence, of some 24 kB each."""
_LARGEST = 1e100
"""Values from which on a sum is worked out as a whole, as its squares may not be finite."""
_TERMS: WeakKeyDictionary[Evidence, dict[tuple[str, int], tuple[Array, float]]] = (
    WeakKeyDictionary()
)


def loss_from_terms(equation: Equation, target: int, evidence: Evidence) -> float | None:
    """Return the loss of a sum of terms that are worked out once for all candidates.

    None where it has to be worked out as a whole: there is no such sum, a value is not finite or
    nearly so, or digits are lost.
    """
    terms = equation.terms if evidence.shares_terms else None
    if terms is None:
        return None
    known = _TERMS.setdefault(evidence, {})
    summaries, sizes = [], []
    for _, monomial in terms:
        term = known.get((monomial, target))
        if term is None:
            values = parse(monomial, equation.variables).evaluate(evidence.columns)
            summary = evidence.summary(values, target)
            term = summary, max(float(np.max(values)), -float(np.min(values)))
            if len(known) < _MOST_TERMS:
                known[monomial, target] = term
        summaries.append(term[0])
        sizes.append(term[1])
    coefficients, largest = np.array([each for each, _ in terms]), np.array(sizes)
    with np.errstate(all="ignore"):
        if not float(np.abs(coefficients) @ largest) < _LARGEST:  # or NaN
            return None
        return evidence.loss_of_sum(coefficients, np.array(summaries), largest, target)
