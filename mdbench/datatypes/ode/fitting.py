"""The fit of a system's constants and starts to samples, over a part of these first.

A long solution depends on its constants in a way that has many lowest points, a short one has few.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from mdbench.datatypes.ode.sensitivity import LostError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from mdbench.datatypes.ode.fitted_system import FittedSystem
    from mdbench.datatypes.ode.sensitivity import MovingSystem

    Array = NDArray[np.float64]

ROUNDS = 30
_LOST = 1e3
"""The least difference that stands for one where there is no solution."""
_FAR = 10.0
"""It is at least as much as so many times the largest state makes: with little noise, a solution
that is some percent off is a thousand deviations away, and must not be worse than none."""
_PARTS = (1, 2, 5)
"""A fit begins with a fifth of the samples, then with half of them."""


class LeastMisfit(NamedTuple):
    """Moves of constants and starts (m + d * trajectories,) where the misfit is least."""

    moves: Array
    misfit: float


class Fitting:
    """The fit of a system next to a fitted one.

    Attributes
    ----------
    counts
        Samples of each trajectory that it is fitted to, one after another.

    Parameters
    ----------
    fitted
        The system that it is next to: with its samples, and the starts that are moved.
    system
        The system whose constants are moved.
    free
        The numbers of those that are.
    """

    def __init__(self, fitted: FittedSystem, system: MovingSystem, free: NDArray[np.intp]) -> None:
        self._fitted, self._system, self._free = fitted, system, free
        m, d = len(system.values), system.dim
        self._columns = [*free.tolist(), *range(m, m + d * len(fitted.starts))]
        parts = (max(fitted.longest // k, len(self._columns) + 2) for k in _PARTS)
        self.counts = sorted(set(parts))
        far = max(float(np.max(one.weights)) * one.size for one in fitted.series)
        self._lost = max(_LOST, _FAR * far)
        self._known: tuple[tuple[bytes, int], tuple[Array, Array]] | None = None

    def through(self, moves: Array) -> LeastMisfit | None:
        """Fit to more and more samples, from some moves on; None where there is no solution."""
        reached: LeastMisfit | None = None
        for samples in self.counts:
            reached = self.fit(moves if reached is None else reached.moves, samples)
        return reached

    def fit(self, moves: Array, samples: int) -> LeastMisfit | None:
        """Fit to the first samples of each trajectory, from some moves on.

        None where there is no solution for these moves.
        """
        from scipy.optimize import least_squares  # noqa: PLC0415 - a moment that few need

        if np.all(self._found(moves, samples)[0] == self._lost):
            return None
        reached = least_squares(
            lambda x: self._found(x, samples)[0],
            moves,
            jac=lambda x: self._found(x, samples)[1],
            x_scale="jac",
            max_nfev=ROUNDS,
            xtol=1e-8,
            ftol=1e-5,
            gtol=1e-12,
        )
        return LeastMisfit(reached.x, 2 * float(reached.cost))

    def _found(self, moves: Array, samples: int) -> tuple[Array, Array]:
        key = moves.tobytes(), samples
        if self._known is None or self._known[0] != key:
            self._known = key, self._compared(moves, samples)
        return self._known[1]

    def _compared(self, moves: Array, samples: int) -> tuple[Array, Array]:
        fitted, system = self._fitted, self._system
        try:
            differences, directions = fitted.compared(
                system, *fitted.placed(system, self._free, moves), samples
            )
        except LostError:
            n = system.dim * sum(min(samples, len(one.t)) for one in fitted.series)
            return np.full(n, self._lost), np.zeros((n, len(self._columns)))
        return differences, directions[:, self._columns]
