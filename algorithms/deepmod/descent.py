"""Levenberg-Marquardt minimisation of a sum of squares whose Jacobian fits into memory."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import numpy as np
import torch

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

__all__ = ["Marquardt", "NormalEquations", "SumOfSquares"]

_MOST_DAMPING = 1e8
"""Largest damping, in units of the curvature: steps beyond it are negligible."""
_LEAST_DAMPING = 1e-9
"""Smallest damping, in the same units: single precision resolves no smaller curvature."""


@dataclass
class NormalEquations:
    """Linearisation of a sum of squares at one point.

    Attributes
    ----------
    loss
        The sum of squared residuals r.
    slope
        J^T r, (p,).
    curvature
        J^T J, (p, p).
    """

    loss: float
    slope: Array
    curvature: Array


class SumOfSquares(Protocol):
    """A sum of squares to be minimised."""

    def parameters(self) -> Array:
        """Return the parameters, (p,)."""

    def set_parameters(self, place: Array) -> None:
        """Set the parameters."""

    def loss(self) -> float:
        """Return the sum of squares; it may be infinite or NaN where it overflows."""

    def normal_equations(self) -> NormalEquations:
        """Linearise the residuals."""


class Marquardt:
    """Damped Gauss-Newton steps.

    Parameters
    ----------
    goal
        The sum of squares to be minimised.
    damping
        At first, in units of the largest curvature.

    Notes
    -----
    The damping follows Nielsen's rule: it falls smoothly with the ratio of the gain to the one
    that the linear residuals promise, and rises ever faster when a step is refused.  See Madsen,
    Nielsen and Tingleff, Methods for Non-Linear Least Squares Problems (2004), algorithm 3.16.
    """

    def __init__(self, goal: SumOfSquares, damping: float = 1e-3) -> None:
        self._goal = goal
        self._damping = damping

    def step(self) -> bool:
        """Take a step that makes the sum smaller, and return whether there was one."""
        here = self._goal.normal_equations()
        unit = float(here.curvature.diagonal().max())
        if not (np.isfinite(here.loss) and np.isfinite(unit) and unit > 0):
            return False
        place, growth = self._goal.parameters(), 2.0
        while self._damping < _MOST_DAMPING:
            step = _solve(here, self._damping * unit)
            if step is not None:
                promised = -float(step @ (2 * here.slope + here.curvature @ step))
                self._goal.set_parameters(place + step)
                gain = here.loss - self._goal.loss()
                if gain > 0 and promised > 0:
                    less = max(1 / 10, 1 - (2 * gain / promised - 1) ** 3)
                    self._damping = max(self._damping * less, _LEAST_DAMPING)
                    return True
            self._damping *= growth
            growth *= 2
        self._goal.set_parameters(place)
        return False


def _solve(here: NormalEquations, damping: float) -> Array | None:
    damped = here.curvature.copy()
    damped.flat[:: len(damped) + 1] += damping
    factor, failed = torch.linalg.cholesky_ex(torch.from_numpy(damped))
    if int(failed):
        return None
    step = torch.cholesky_solve(torch.from_numpy(-here.slope[:, None]), factor)[:, 0].numpy()
    return step if np.isfinite(step).all() else None
