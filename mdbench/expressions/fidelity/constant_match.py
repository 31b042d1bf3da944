"""Whether the truth's constants can be moved to where an answer's values are."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any

import numpy as np

from mdbench.expressions.fidelity.numeric import (
    CHECKED,
    CLOSE,
    EXACT,
    ROUNDED,
    Values,
    balls,
    spread,
)
from mdbench.expressions.fidelity.sum_model import FARTHEST, Model, fitted
from mdbench.expressions.fidelity.term_match import TOLERANCE
from mdbench.expressions.interval_eval import DIGITS, exactly, precise_value, working

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from mdbench.expressions.atoms import Sum

    Array = NDArray[np.float64]

__all__ = ["Moving", "Related", "Relation"]

_POLISHED = 1e-100
"""Constants are moved until values agree to this share, as what lies far away needs them so."""
_STEPS = 20


class Relation(StrEnum):
    """How the values of an answer are related to those of the truth."""

    SAME = "same"
    """Equal, with the truth's constants moved by 5 % at most."""
    OTHER_CONSTANTS = "other constants"
    """Equal, with constants that have moved farther."""
    APART = "apart"
    """Told apart by their values."""
    UNKNOWN = "unknown"


@dataclass(frozen=True)
class Related:
    """A relation, with the largest relative error of a constant where there is one."""

    relation: Relation
    error: float | None = None


class Moving(Values):
    """The values of truth and answer, where the truth's constants may move."""

    def relation(self, terms: Sum, without: Sum | None = None, *, exact: bool = False) -> Related:
        """Say whether the constants of terms can be moved to where the answer's values are.

        Parameters
        ----------
        terms
            The truth, or a part of it.
        without
            Terms that are taken away from the answer.
        exact
            Whether no number of the answer may be rounded.
        """
        tolerance = EXACT if exact else self.tolerance
        model = Model(terms)
        values, left = self.values, None if without is None else Model(without)
        if left is not None:
            with np.errstate(all="ignore"):
                values = values - left.dual(self.columns, np.zeros(len(left.moving)))[0][0]
        fit = fitted(model, self.columns, values)
        if fit is None:
            return Related(Relation.UNKNOWN)
        if fit.residual > CLOSE or np.max(np.abs(fit.shifts), initial=0.0) > FARTHEST:
            return Related(Relation.APART)
        error = float(np.max(np.abs(fit.shifts), initial=0.0))
        if error > TOLERANCE * (1 + ROUNDED**0.5):
            return Related(Relation.OTHER_CONSTANTS, error)
        agreed, moved = self._polished(model, fit.shifts, left)
        if agreed is None:
            return Related(Relation.UNKNOWN)
        if agreed > tolerance or not self.agrees_far(
            lambda point: model.precise_terms(point, moved), left
        ):
            return Related(Relation.APART)
        shifts = np.array([float(shift) for shift in moved])
        error = float(np.max(np.abs(shifts), initial=0.0))
        exponents = [float(model.moving[i].value) * (1 + shifts[i]) for i in model.exponents]
        whole = any(abs(exponent - round(exponent)) < ROUNDED for exponent in exponents)
        kept = error <= TOLERANCE and not whole
        return Related(Relation.SAME if kept else Relation.OTHER_CONSTANTS, error)

    def _polished(
        self, model: Model, shifts: Array, left: Model | None
    ) -> tuple[float | None, Sequence[Any]]:
        """Move constants on with all digits; give by what share values then differ at most."""
        # Where constants can stand in for others, those that need not move do not.
        moving = np.abs(shifts) > CLOSE
        found = self._moved_on(model, np.where(moving, shifts, 0.0), moving, left)
        if found[0] is None or found[0] <= EXACT:
            return found
        return self._moved_on(model, shifts, np.ones(len(shifts), bool), left)

    def _moved_on(
        self, model: Model, shifts: Array, moving: NDArray[np.bool_], left: Model | None
    ) -> tuple[float | None, Sequence[Any]]:
        with np.errstate(all="ignore"):
            dual, sizes = model.dual(self.columns, shifts)
            if left is not None:
                sizes = sizes + left.dual(self.columns, np.zeros(len(left.moving)))[1]
            usable = np.isfinite(dual).all(axis=0) & np.isfinite(self.values) & (sizes > 0)
        chosen = spread(np.flatnonzero(usable), self.base, len(shifts) + CHECKED)
        if len(chosen) <= len(shifts):
            return None, []
        inverse = np.zeros((len(shifts), len(chosen)))
        inverse[moving] = np.linalg.pinv(
            (dual[1:][:, chosen][moving] / sizes[chosen]).T, rcond=1e-12
        )
        with working(DIGITS):
            exact = [exactly(float(shift)) for shift in shifts]
            try:
                wanted = [self._wanted(i, left) for i in chosen]
                worst = np.inf
                for _ in range(_STEPS):
                    errors = [
                        ((target - model.precise(point, exact)) / exactly(float(size))).mid()
                        for (target, point), size in zip(wanted, sizes[chosen], strict=True)
                    ]
                    error = float(max(map(abs, errors)))
                    if error <= _POLISHED or error > worst / 2:
                        return min(worst, error), exact
                    worst = error
                    step = inverse @ np.array([float(each) for each in errors])
                    exact = [
                        (a + exactly(float(b))).mid() for a, b in zip(exact, step, strict=True)
                    ]
            except ArithmeticError:
                return None, []
        return worst, exact

    def _wanted(self, i: int, left: Model | None) -> tuple[Any, dict[str, Any]]:
        point = balls(self.point(i))
        target = precise_value(self.prediction, point)
        if left is not None:
            target -= left.precise(point, [0] * len(left.moving))
        return target, point
