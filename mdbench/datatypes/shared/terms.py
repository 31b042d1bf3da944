"""Fidelity as records have it: an answer beside the truth, in terms, in motion, in its residual."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from mdbench.errors import EquationError
from mdbench.expressions.contribution import negligible
from mdbench.expressions.fidelity import compare
from mdbench.expressions.functions import CONSTANTS, FUNCTIONS
from mdbench.solvers.simulation import Ended

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from mdbench.datatypes.base import Task
    from mdbench.expressions.fidelity import Comparison, Term
    from mdbench.solvers.simulation import Simulated

__all__ = ["Fidelity", "Motion", "score"]

_NAME = re.compile(r"[A-Za-z_]\w*")


@dataclass(frozen=True)
class Motion:
    """A discovered system, integrated.

    Attributes
    ----------
    r2
        Of the trajectory through the test window, from its first true state; None where there is
        no whole one.
    r2_unseen
        From an initial condition that no method was given.
    ended
        How they ended: the first of the two that did not come to its end decides.
    """

    r2: float | None
    r2_unseen: float | None
    ended: Ended

    @classmethod
    def of(cls, seen: Simulated, unseen: Simulated | None) -> Motion:
        """Put the two trajectories together."""
        both = [seen] if unseen is None else [seen, unseen]
        ends = [each.ended for each in both if each.ended is not Ended.WHOLE]
        return cls(seen.r2, None if unseen is None else unseen.r2, ends[0] if ends else Ended.WHOLE)


@dataclass(frozen=True)
class Fidelity:
    """What a record says of an answer beside the truth.

    Attributes
    ----------
    comparison
        The equations, term by term; None where the truth is too large to be multiplied out.
    negligible
        Those of their terms that contribute nothing on the test window.
    targets
        The names of the left-hand sides.
    simulation
        None where there is nothing to integrate.
    residual
        The NMSE of the answer on clean data; None where there is none, or the answer has no
        value there.
    """

    comparison: Comparison | None
    negligible: tuple[Term, ...]
    targets: tuple[str, ...]
    simulation: Motion | None
    residual: float | None

    def as_json(self) -> dict[str, Any]:
        """Give the keys of the record's ``fidelity``."""
        found = self.comparison
        motion = self.simulation
        return {
            "verdict": "undecided" if found is None else found.verdict.value,
            "precision": None if found is None else found.precision,
            "recall": None if found is None else found.recall,
            "f1": None if found is None else found.f1,
            "coefficient_error": None if found is None else found.coefficient_error,
            "edit_distance": None if found is None else found.edit_distance,
            "missing": [] if found is None else self._named(found.missing),
            "extra": [] if found is None else self._named(found.extra),
            "negligible": self._named(self.negligible),
            "simulation": None
            if motion is None
            else {"r2": motion.r2, "r2_unseen": motion.r2_unseen, "ended": motion.ended.value},
            "residual": self.residual,
        }

    def _named(self, terms: Iterable[Term]) -> list[str]:
        return [f"{self.targets[term.equation]}: {term.text}" for term in terms]


def score(
    truth: Sequence[str],
    equations: Sequence[str],
    task: Task,
    *,
    simulation: Motion | None,
    residual: float | None,
) -> Fidelity:
    """Put an answer beside the truth; `equations` have been read before."""
    # A table may lack a feature that the truth has.
    unknown = {name for text in truth for name in _NAME.findall(text)} - {*CONSTANTS, *FUNCTIONS}
    names = dict.fromkeys((*task.variables, *sorted(unknown)))
    found: Comparison | None
    try:
        found = compare(truth, equations, task.variables, truth_variables=tuple(names))
        terms = (*found.matched, *found.extra, *found.missing)
        small = tuple(negligible(terms, task.test.columns, task.test.targets))
    except EquationError:
        found, small = None, ()
    return Fidelity(found, small, task.targets, simulation, residual)
