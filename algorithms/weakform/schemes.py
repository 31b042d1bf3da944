"""What a scheme of low order leaves of an equation: errors that are no terms of the law.

Data may be solved by differences of second order, or in time of first order.  They obey a modified
equation: the law, and derivatives of higher order times powers of the steps (Warming and Hyett,
J. Comput. Phys. 14, 159, 1974).  So a sum is compared with others together with such derivatives,
as large as the steps of the data's own grid and times let them be.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np
from scipy.optimize import lsq_linear

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from forms import WeakField
    from numpy.typing import NDArray
    from summands import Product

    Array = NDArray[np.float64]

__all__ = ["Scheme"]

_SPACE = 0.5
"""The largest error in space, as a share of a square of a step times two derivatives more."""
_TIME = 1.0
"""The largest error in time, as a share of a step times a derivative in time more."""
_NODES = 16
"""Fewest nodes of an axis along which two more derivatives are taken."""
_PRIOR = 0.01
"""Weight of errors as large as they may be, as a share of what a sum leaves without them."""


@dataclass
class Scheme:
    """What schemes may leave of a target's equation, integrated against test functions.

    Parameters
    ----------
    form
        The field and the test functions.
    state
        The state of the target.
    step
        The step in time.
    """

    form: WeakField
    state: int
    step: float
    _common: list[tuple[Array, float]] = field(default_factory=list)
    _higher: dict[Product, list[tuple[Array, float]]] = field(default_factory=dict)

    def fit(self, terms: Sequence[Product], columns: Array, target: Array) -> tuple[Array, float]:
        """Fit a sum beside the errors of schemes.

        Parameters
        ----------
        terms, columns
            The sum, and the integrals of its terms, (rows, k).
        target
            The integrals of the target, (rows,).

        Returns
        -------
        coefficients, left
            Of the terms, (k,), and what is left as a part of the target's sum of squares.
        """
        plain = np.linalg.lstsq(columns, target, rcond=1e-13)[0]
        errors = list(self._of_equation())
        for one, weight in zip(terms, plain, strict=True):
            errors += [(column, limit * abs(weight)) for column, limit in self._of_term(one)]
        errors = [each for each in errors if np.isfinite(each[0]).all() and each[1] > 0]
        # In units of what each may be at most.
        parts = [column * limit for column, limit in errors]
        size = np.linalg.norm(columns, axis=0)
        whole = np.column_stack([columns / size, *parts])
        rest = target - columns @ plain
        prior = np.zeros((len(errors), whole.shape[1]))
        prior[:, len(terms) :] = (
            np.sqrt(_PRIOR / len(target)) * np.linalg.norm(rest) * np.eye(len(errors))
        )
        matrix = np.column_stack([whole, target])
        triangle = np.asarray(np.linalg.qr(matrix, mode="r"))
        most = np.r_[np.full(len(terms), np.inf), np.ones(len(errors))]
        found = lsq_linear(
            np.vstack([triangle[:, :-1], prior]),
            np.r_[triangle[:, -1], np.zeros(len(errors))],
            (-most, most),
            method="bvls",
        ).x
        rest = triangle[:, -1] - triangle[:, :-1] @ found
        return found[: len(terms)] / size, float(rest @ rest) / max(float(target @ target), 1e-300)

    def within(self, terms: Sequence[Product], coefficients: Sequence[float]) -> list[bool]:
        """Return which terms are as small as the error of a scheme for another one."""
        most: dict[Product, float] = {}
        for term, weight in zip(terms, coefficients, strict=True):
            for place, last in enumerate(term.derivatives):
                limit = _SPACE * self.form.axes[last.axis].step ** 2 * abs(weight)
                higher = _raised(term, place)
                most[higher] = max(limit, most.get(higher, 0.0))
        return [
            abs(weight) <= most.get(term, 0.0)
            for term, weight in zip(terms, coefficients, strict=True)
        ]

    def _of_equation(self) -> list[tuple[Array, float]]:
        """Return more derivatives in time, and two along each axis of the one in time."""
        if not self._common:
            form = self.form
            u, time = form.states[self.state], len(form.axes)
            for order in (2, 3):
                column = (-1) ** order * form.integral(u, time, order)
                self._common.append((column, (_TIME * self.step) ** (order - 1)))
            for axis, one in enumerate(form.axes):
                if form.bumps[axis].half:
                    column = -form.mixed(u, {time: 1, axis: 2})
                    self._common.append((column, _SPACE * one.step**2))
        return self._common

    def _of_term(self, term: Product) -> list[tuple[Array, float]]:
        """Return a term with two orders more of each of its derivatives."""
        if term not in self._higher:
            self._higher[term] = list(self._with_more(term))
            self.form.forget()
        return self._higher[term]

    def _with_more(self, term: Product) -> Iterator[tuple[Array, float]]:
        form = self.form
        for place, last in enumerate(term.derivatives):
            if form.states[0].shape[last.axis] < _NODES:
                continue
            limit = _SPACE * form.axes[last.axis].step ** 2
            if not term.states and len(term.derivatives) == 1:
                twice = form.derivative(last.state, last.axis, 2)
                yield (-1) ** last.order * form.integral(twice, last.axis, last.order), limit
                continue
            yield form.column(_raised(term, place)), limit


def _raised(term: Product, place: int) -> Product:
    """Return a term with two orders more of one of its derivatives."""
    several = list(term.derivatives)
    last = several[place]
    several[place] = replace(last, name=last.name + 2 * last.along, order=last.order + 2)
    return replace(term, derivatives=tuple(several))
