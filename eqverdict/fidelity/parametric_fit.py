"""The constants of an equation as it is written, fitted to values in double precision."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from eqverdict.fidelity.switches import SAME_BRANCH, has_switches

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from eqverdict.fidelity.parametric import ParametricExpression

    Array = NDArray[np.float64]

_FIT_STEPS = 60
_NEARBY_STEPS = 15
_STALLED = 0.999
"""A step that leaves more than this of the error is the last."""
_SHARES = (0.25, 0.5, 1.0)
"""Shares of the points, nearest to the middle first: waves and poles are found near it."""
_TRIES = 6
_ENOUGH = 1e-13
_SEEN = 1e-6
"""Slopes that are smaller than the largest by this share are rounding."""
_ALIKE = 1e-12
"""Columns are a sum of others where a singular value is smaller than the largest by this."""
_NEAR = 1e-6
"""Residuals below this are looked at with more digits."""


def fit_parametric(
    equation: ParametricExpression,
    columns: Mapping[str, Array],
    wanted: Array,
    start: Array,
    free: Sequence[int],
    *,
    nearby: bool = False,
) -> Array | None:
    """Move some constants until an equation has some values, to double precision.

    Parameters
    ----------
    nearby
        Whether only what a few steps reach is looked for.

    Returns
    -------
    NDArray or None
        None where no way was found.
    """
    fit = _Fit(equation, columns, wanted, _least(wanted))
    if equation.is_linear:
        constants = fit.solved(start, free)
        return constants if fit.is_near(constants) else None
    order = np.argsort(_distances(columns), kind="stable")
    constants = start
    for share in _SHARES[-1:] if nearby else _SHARES:
        kept = order[: max(int(share * len(order)), 2 * len(start) + 2)]
        steps = _NEARBY_STEPS if nearby else _FIT_STEPS
        constants = fit.at(kept).stepped(constants, free, steps)
    if not fit.is_near(constants) and has_switches(equation.tree):
        # Values that are far apart may be on two sides of a switch that moves.
        far = np.abs(fit.residuals(start)[0])
        rows = np.flatnonzero(far <= np.quantile(far, SAME_BRANCH))
        constants = fit.at(rows).stepped(start, free, steps)
    return constants if fit.is_near(constants) else None


def _least(wanted: Array) -> float:
    """Return the size below which differences from what is wanted count by themselves."""
    sizes = np.abs(wanted[wanted != 0])
    return 1e-2 * float(np.median(sizes)) if len(sizes) else 1e-300


def _distances(columns: Mapping[str, Array]) -> Array:
    """Return how far from the middle each point is."""
    far = []
    for column in columns.values():
        apart = np.abs(column - np.median(column))
        far.append(apart / (np.median(apart) or 1.0))
    return np.asarray(np.max(far, axis=0), np.float64)


@dataclass(frozen=True)
class _Fit:
    """An equation, and the values that it has to have at some points."""

    equation: ParametricExpression
    columns: Mapping[str, Array]
    wanted: Array
    least: float

    def at(self, rows: NDArray[np.intp]) -> _Fit:
        """Return the same at some of the points."""
        columns = {name: column[rows] for name, column in self.columns.items()}
        return replace(self, columns=columns, wanted=self.wanted[rows])

    def residuals(self, constants: Array) -> tuple[Array, Array]:
        """Return differences over sizes, none above 1, so that no pole outweighs the rest."""
        with np.errstate(all="ignore"):
            values = self.equation.values(self.columns, constants)
            weights = 1 / (np.abs(self.wanted) + np.abs(values) + self.least)
            error = (values - self.wanted) * weights
        undefined = ~np.isfinite(error)
        return np.where(undefined, 1.0, error), np.where(undefined, 0.0, weights)

    def is_near(self, constants: Array) -> bool:
        """Whether more digits are useful."""
        return float(np.max(np.abs(self.residuals(constants)[0]))) <= _NEAR

    def solved(self, start: Array, free: Sequence[int]) -> Array:
        """Solve for constants that the values are linear in, the nearest to the start there are.

        What least squares of all points do not reach within some share, no choice of them does.
        """
        chosen = list(free)
        fixed = start.copy()
        fixed[chosen] = 0.0
        fixed_part, bare = (
            self.equation.values(self.columns, each) for each in (fixed, np.zeros(len(start)))
        )
        slopes = np.empty((len(bare), len(chosen)))
        for place, unit in enumerate(np.eye(len(start))[chosen]):
            slopes[:, place] = self.equation.values(self.columns, unit) - bare
        weights = 1 / (np.abs(self.wanted) + self.least)
        with np.errstate(all="ignore"):
            slopes, missing = slopes * weights[:, None], (self.wanted - fixed_part) * weights
        if not (np.isfinite(slopes).all() and np.isfinite(missing).all()):
            return start
        lengths = np.max(np.abs(slopes), axis=0, initial=0.0)
        lengths[lengths == 0] = 1.0
        slopes /= lengths
        left, sizes, right = np.linalg.svd(slopes, full_matrices=False)
        seen = sizes > _ALIKE * sizes.max(initial=0.0)
        there = (right[seen].T / sizes[seen]) @ left[:, seen].T
        solution = there @ missing
        solution += there @ (missing - slopes @ solution)
        if not seen.all():
            own = start[chosen] * lengths
            solution += own - there @ (slopes @ own)
        solved = start.copy()
        solved[chosen] = solution / lengths
        return solved

    def stepped(self, start: Array, free: Sequence[int], steps: int) -> Array:
        """Take damped steps (Levenberg and Marquardt) as long as they lead nearer."""
        constants, damping = start.copy(), 1e-3
        error, weights = self.residuals(constants)
        for _ in range(steps):
            now = np.linalg.norm(error)
            if now <= _ENOUGH:
                break
            with np.errstate(all="ignore"):
                slopes = self.equation.slopes(self.columns, constants)[:, free] * weights[:, None]
                slopes[~np.isfinite(slopes)] = 0.0
                lengths = np.max(np.abs(slopes), axis=0)
            # What double precision hardly shows does not move here.
            lost = ~(lengths > _SEEN * np.max(lengths, initial=0.0)) | ~np.isfinite(lengths)
            slopes[:, lost], lengths[lost] = 0.0, 1.0
            slopes = slopes / lengths
            for _ in range(_TRIES):
                lifted = np.vstack([slopes, np.sqrt(damping) * np.eye(len(free))])
                shift = np.zeros(len(start))
                moves = np.linalg.lstsq(lifted, np.append(-error, np.zeros(len(free))), rcond=None)[
                    0
                ]
                with np.errstate(all="ignore"):
                    shift[free] = moves / lengths
                    tried = constants + shift * np.where(constants == 0, 1.0, np.abs(constants))
                new, new_weights = self.residuals(tried)
                if np.linalg.norm(new) < now:
                    constants, error, weights = tried, new, new_weights
                    damping = max(damping / 10, 1e-14)
                    break
                damping *= 10
            else:
                break
            if np.linalg.norm(error) > _STALLED * now:
                break
        return constants
