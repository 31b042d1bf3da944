"""How much noisy samples of a system can say: errors of its constants, and rivals of its terms.

The noise is that of `mdbench.data.noise`: a share of each state, with a standard deviation of s.
All numbers here are at s = 1.  A least squared misfit goes as ``1 / s**2`` and a standard error
as ``s``: at a signal-to-noise ratio of q dB they are ``10**(q/10)`` and ``10**(-q/20)`` times as
large.

- An estimator that knows the terms has at least the standard errors of Cramér and Rao: those of
  the inverse of the information matrix of all constants and of the start.
- A *rival* lacks one term, or has another and no longer one in its place.  Its misfit is the
  weighted sum of squares between the solutions, with all its constants and its start where it is
  least.  Likelihoods differ by half of it, on average.

The information in the size of the noise is left out: at 10 dB it is a tenth of all.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from eqverdict.expand import expand
from mdbench.data.trajectory import state_names
from mdbench.datatypes.equations.identifiability import (
    FLOOR,
    NEAREST,
    Finding,
    Findings,
    Limits,
    limits_of,
)
from mdbench.datatypes.ode.fitted_system import FittedSystem, Series, neat
from mdbench.datatypes.ode.fitting import ROUNDS
from mdbench.datatypes.ode.sensitivity import Course, MovingSystem

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from eqverdict.atoms import Monomial
    from mdbench.datatypes.ode.datasets import OdeDataset

    Array = NDArray[np.float64]


@dataclass
class Information:
    """The samples of one system, and what they say of it.

    Parameters
    ----------
    equations
        The true right-hand sides.
    names
        The states, in order.
    starts
        The states at the first time of each trajectory, each (d,).
    t
        The times of the samples, (n,).
    """

    equations: Sequence[str]
    names: tuple[str, ...]
    starts: Sequence[Sequence[float]]
    t: Array
    truth: FittedSystem = field(init=False)

    def __post_init__(self) -> None:
        sums = [expand(text, self.names) for text in self.equations]
        system = MovingSystem(sums, self.names)
        starts = [np.array(start, dtype=float) for start in self.starts]
        series = []
        for start in starts:
            solution = system.solution(system.values, Course(start, self.t, math.inf))
            floor = FLOOR * np.max(np.abs(solution), axis=0)
            weights = 1.0 / np.maximum(np.abs(solution), np.where(floor > 0, floor, 1.0))
            series.append(Series(self.t, solution, weights, float(np.max(np.abs(solution)))))
        self.truth = FittedSystem(sums, self.names, starts, series)

    @classmethod
    def of_dataset(cls, dataset: OdeDataset) -> Information:
        """Return what methods are given of a system: the first four fifths of each trajectory.

        Trajectories have the same times.
        """
        assert dataset.truth is not None  # noqa: S101 - systems have their equations
        given, _ = dataset.parted(dataset.clean)
        starts = [one.u[0].tolist() for one in given]
        return cls(dataset.truth, state_names(dataset.clean), starts, given[0].t)

    def covariance(self) -> Array:
        """Return the least covariance of the free constants; see `FittedSystem.covariance`."""
        return self.truth.covariance()

    def limits(self) -> Limits:
        """Return the noise levels at which the constants of all terms are near enough."""
        return limits_of(self.covariance())

    def findings(self) -> Findings:
        """Find what the samples say of the system; minutes for some."""
        return Findings(tuple(self.terms()), self.limits())

    def terms(self) -> Iterator[Finding]:
        """Find what the samples say of each term."""
        errors = np.sqrt(np.diag(self.covariance()))
        free = self.truth.free.tolist()
        for i, monomial, constants, gone in self.truth.terms():
            own = [errors[free.index(k)] for k in constants if k in free]
            misfit, rival = self._best_rival(i, monomial, gone)
            yield Finding(
                i,
                neat({monomial: Fraction(1)}, self.names),
                float(self.truth.equations[i][monomial]),
                float(max(own)),
                max(misfit, 0.0),  # what the linear model leaves is 0 but for rounding
                rival,
            )

    @property
    def states(self) -> list[Array]:
        """The true states of each trajectory at the times of the samples, each (n, d)."""
        return [each.states for each in self.truth.series]

    def estimate(self, measured: Sequence[Array]) -> Array:
        """Return the most likely constants of the true equations for measured states.

        Parameters
        ----------
        measured
            The measured states of each trajectory, each (n, d).

        Returns
        -------
        moves
            Shape (m,): how far each free constant is from the true one, as a share of its unit.

        Raises
        ------
        ArithmeticError
            If no solution with such constants is near.
        """
        from scipy.optimize import least_squares  # noqa: PLC0415 - a moment that few need

        truth = self.truth
        several = zip(truth.series, measured, strict=True)
        error = np.concatenate([((own.states - u) * own.weights).ravel() for own, u in several])
        free, columns = truth.free, truth.own_columns

        def found(x: Array) -> tuple[Array, Array]:
            placed = truth.placed(truth.system, free, x)
            differences, directions = truth.compared(truth.system, *placed, len(self.t))
            return differences + error, directions[:, columns]

        reached = least_squares(
            lambda x: found(x)[0],
            np.zeros(len(columns)),
            jac=lambda x: found(x)[1],
            x_scale="jac",
            max_nfev=ROUNDS,
        )
        moves: Array = reached.x[: len(free)]
        return moves

    def _best_rival(self, i: int, monomial: Monomial, gone: tuple[int, ...]) -> tuple[float, str]:
        """Return the misfit of the best system without a term of equation i, and its equation."""
        less, *exchanged = self.truth.without(i, monomial, gone)
        nearest = sorted(exchanged, key=lambda each: each.misfit)[:NEAREST]
        found = [self.truth.fitted(change) for change in (less, *nearest)]
        return min(found, default=(math.inf, ""))
