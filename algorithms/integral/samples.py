"""Trajectories between their samples, and integrals of terms over their intervals."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np
from scipy.interpolate import make_interp_spline
from scipy.linalg import block_diag

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from dictionary import Summand
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

__all__ = ["Integrals", "Sampled", "stepped"]

_NODES = 5
"""Nodes between two samples at which terms are evaluated (Gauss-Legendre)."""
_PLACES, _WEIGHTS = np.polynomial.legendre.leggauss(_NODES)
_PLACES, _WEIGHTS = (_PLACES + 1) / 2, _WEIGHTS / 2
_NOISY = 3e-4
"""Noise above this share of a state's deviation is smoothed; an integrator's is a tenth of it."""
_SUBSTEPS = 4
_ENDS = slice(None, -1), slice(1, None)
_FEWEST = 8
"""Fewest intervals for a spline of degree 7, and fewest at all."""
_SHORTEST = 3
"""Fewest samples of one of several trajectories."""


@dataclass(frozen=True)
class Sampled:
    """States at the samples and between them, and inputs beside them where there are some.

    There are m intervals: n - 1 of one trajectory, and of several those of one after the other.

    Attributes
    ----------
    u
        The states and inputs at all samples, (n, columns).
    left, right
        The states at both ends of the intervals, (m, d).
    inputs
        The inputs at both ends, (m, columns - d) each.
    steps
        The lengths of the intervals, (m,).
    between
        The states and inputs at the nodes, (m, nodes, columns).
    doubt
        How far off the states between the samples may be over an interval, as a share of the
        states' deviation: the error of an integral, (m,).
    deviation
        Deviation of each state, (d,).
    noise
        Noise of each state, as a share of its deviation; zero where there is too little to smooth.
    pieces
        Number of intervals of each trajectory.
    """

    u: Array = field(repr=False)
    left: Array = field(repr=False)
    right: Array = field(repr=False)
    inputs: tuple[Array, Array] = field(repr=False)
    steps: Array = field(repr=False)
    between: Array = field(repr=False)
    doubt: Array = field(repr=False)
    deviation: Array = field(repr=False)
    noise: float
    pieces: tuple[int, ...]

    @property
    def changes(self) -> Array:
        """Changes of the states over the intervals, (m, d)."""
        return self.right - self.left

    def beside(self, states: Array, place: float) -> Array:
        """Return states (m, d) at a place in all intervals, from 0 to 1, and the inputs there."""
        before, after = self.inputs
        if not before.shape[1]:
            return states
        return np.concatenate([states, (1 - place) * before + place * after], axis=1)

    @classmethod
    def of(
        cls,
        t: Array,
        measured: Array,
        smoothed: Array,
        trajectory: Array | None = None,
        inputs: Array | None = None,
        *,
        held: bool = False,
    ) -> Sampled:
        """Interpolate samples as they are, or smoothed if they are noisy.

        Of several trajectories `trajectory` has the one that each sample is of.  The error between
        samples is estimated by the difference of splines of degrees 5 and 7, or of lower ones
        through fewer samples.  Inputs change evenly from sample to sample, or are held.

        Raises
        ------
        ValueError
            If there are too few samples, or their times do not increase.
        """
        parted = np.zeros(len(t)) if trajectory is None else trajectory
        cuts = np.flatnonzero(np.diff(parted)) + 1
        times = np.split(t, cuts)
        fewest = _SHORTEST if len(times) > 1 else _FEWEST + 1
        few = len(t) - len(times) < _FEWEST or any(len(one) < fewest for one in times)
        if few or any(not (np.diff(one) > 0).all() for one in times):
            raise ValueError(f"more than {_FEWEST} samples at increasing times are needed")
        deviation = np.std(measured, axis=0)
        deviation[deviation == 0] = 1.0
        noise = _noise((measured - smoothed) / deviation)
        u = smoothed if noise else measured
        parts = list(zip(times, np.split(u, cuts), strict=True))
        splines = [_between(*part) for part in parts]
        lower, higher = (np.concatenate([one[place] for one in splines]) for place in (0, 1))
        steps = np.concatenate([np.diff(one) for one in times])
        apart = np.mean(((higher - lower) / deviation) ** 2, axis=1)
        doubt = steps / np.mean(steps) * np.sqrt(np.sum(apart, axis=1))
        left, right = (np.concatenate([one[rows] for _, one in parts]) for rows in _ENDS)
        pieces = tuple(len(one) - 1 for one in times)
        given = np.empty((len(t), 0)) if inputs is None else inputs
        ends = [np.concatenate([one[rows] for one in np.split(given, cuts)]) for rows in _ENDS]
        pair = (ends[0], ends[0] if held else ends[1])
        made = cls(u, left, right, pair, steps, lower, doubt, deviation, noise, pieces)
        return (
            made
            if inputs is None
            else replace(made, u=np.concatenate([u, given], axis=1), between=made.at_nodes(lower))
        )

    def at_nodes(self, states: Array) -> Array:
        """Return states at the nodes (m, nodes, d), and the inputs there."""
        columns = [
            self.beside(each, place)
            for each, place in zip(np.moveaxis(states, 1, 0), _PLACES.tolist(), strict=True)
        ]
        return np.stack(columns, axis=1)


def _between(t: Array, u: Array) -> tuple[Array, Array]:
    """Interpolate one trajectory by splines of degrees 5 and 7, (n - 1, nodes, d) each.

    Through fewer samples than 9 all that they allow is of the first degree, and one less of the
    second.
    """
    steps = np.diff(t)
    places = (t[:-1, None] + steps[:, None] * _PLACES).ravel()
    shape = (len(steps), _NODES, u.shape[1])
    n = len(t)
    degrees = (5, 7) if n > _FEWEST else (min(7, n - 1), min(5, n - 2))
    lower, higher = (make_interp_spline(t, u, k=degree)(places) for degree in degrees)
    return lower.reshape(shape), higher.reshape(shape)


def _noise(residuals: Array) -> float:
    """Estimate noise by what smoothing removes, (n, d); zero where there is too little to smooth.

    Noise is in most samples; what a curve is too smooth for, such as a jump, is in few.
    """
    typical = float(np.max(np.median(np.abs(residuals), axis=0)))
    return float(np.max(np.std(residuals, axis=0))) if typical > _NOISY else 0.0


def stepped(samples: Sampled, right_hand_side: Callable[[Array], Array]) -> tuple[Array, Array]:
    """Follow equations through each interval from its left sample.

    Gives the states and inputs at the nodes (m, nodes, columns), the defect at the end of each
    interval spread along it linearly, and the defects (m, d).  By Runge and Kutta's fourth order.
    """
    u, h = samples.left, samples.steps[:, None]
    places, before = [], 0.0
    with np.errstate(all="ignore"):
        for place in (*_PLACES, 1.0):
            part = h * (place - before) / _SUBSTEPS
            for step in range(_SUBSTEPS):
                begin, middle, end = (
                    before + (place - before) * (step + share) / _SUBSTEPS for share in (0, 0.5, 1)
                )
                first = right_hand_side(samples.beside(u, begin))
                second = right_hand_side(samples.beside(u + part / 2 * first, middle))
                third = right_hand_side(samples.beside(u + part / 2 * second, middle))
                last = right_hand_side(samples.beside(u + part * third, end))
                u = u + part / 6 * (first + 2 * second + 2 * third + last)
            places.append(u)
            before = place
        defect = samples.right - places[-1]
        nodes = [u + place * defect for u, place in zip(places[:-1], _PLACES, strict=True)]
        return samples.at_nodes(np.stack(nodes, axis=1)), defect


class Integrals:
    """Weighted integrals of terms over intervals, or against test functions; each made once.

    Parameters
    ----------
    samples
        The trajectories.
    between
        The states at the nodes, where they are known better than by interpolation.
    weights
        Weights of the intervals, (m,); by default the smaller, the more in doubt.
    """

    def __init__(
        self, samples: Sampled, between: Array | None = None, weights: Array | None = None
    ) -> None:
        self.samples = samples
        self.between = samples.between if between is None else between
        doubt = samples.doubt
        if samples.noise:
            self._rows = block_diag(*(_bumps(each, samples.noise) for each in samples.pieces))
        else:
            weights = 1.0 / (np.median(doubt) + doubt + 1e-12) if weights is None else weights
            self._rows = weights / np.sqrt(np.mean(weights**2))
        self._made: dict[str, Array] = {}
        self._values: dict[str, Array] = {}

    def target(self, state: int) -> Array:
        """Return the changes of a state in units of its deviation, (r,)."""
        changes = self.samples.changes[:, state] / self.samples.deviation[state]
        return self._weighed(changes)

    def column(self, term: Summand, state: int) -> Array:
        """Return the integrals of a term, in the same units, (r,)."""
        if term.text not in self._made:
            self._made[term.text] = self.integrals(term.values(self.between))
        return np.asarray(self._made[term.text] / self.samples.deviation[state])

    def columns(self, terms: Sequence[Summand], state: int) -> Array:
        """Return the integrals of terms, (r, k)."""
        if not terms:
            return np.zeros((len(self._rows), 0))
        return np.stack([self.column(term, state) for term in terms], axis=1)

    def integrals(self, values: Array) -> Array:
        """Integrate values at the nodes, (..., m, nodes), over intervals or test functions."""
        return self._weighed(self.samples.steps * (values @ _WEIGHTS))

    def at_nodes(self, term: Summand) -> Array:
        """Return a term's values at the nodes, (m, nodes)."""
        if term.text not in self._values:
            self._values[term.text] = term.values(self.between)
        return self._values[term.text]

    def _weighed(self, parts: Array) -> Array:
        rows = self._rows
        return np.asarray(parts * rows if rows.ndim == 1 else parts @ rows.T)


def _bumps(intervals: int, noise: float) -> Array:
    """Return test functions (1 - x^2)^3 whose width grows with the cube root of the noise."""
    width = int(np.clip(round(45 * noise ** (1 / 3)), 4, intervals // 2))
    x = np.linspace(-1, 1, width + 2)[1:-1]
    bump = (1 - x**2) ** 3
    bump /= np.linalg.norm(bump)
    starts = range(0, intervals - width + 1, 2)
    rows = np.zeros((len(starts), intervals))
    for row, start in zip(rows, starts, strict=True):
        row[start : start + width] = bump
    return rows
