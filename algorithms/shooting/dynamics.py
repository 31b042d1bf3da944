"""Trajectories in segments: solved from free starts, with their responses to any term.

All segments are solved at once, by Runge and Kutta's fourth order with fixed steps.  The response
of a solution to a small multiple of a term in one equation follows from linearised steps, so that
one solution gives the derivative of all samples by all coefficients, those of terms that are not
in the equations, too.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    Array = NDArray[np.float64]
    Rates = Callable[[Array], Array]

__all__ = ["Segments", "Solution"]

_REACH = 10.0
"""Solutions are stopped so many ranges of the data away from its middle."""
_DIFFERENCE = 1e-6
"""Step of difference quotients, as a share of a state's deviation."""


@dataclass(frozen=True)
class Segments:
    """Samples cut into s segments of at most l intervals; a segment ends where the next begins.

    Attributes
    ----------
    y
        The samples of all segments, (s, l + 1, d); beyond the end of a trajectory the last one.
    steps
        The intervals' lengths, (s, l); zero beyond the end.
    own
        Which samples a segment is compared with, (s, l + 1): each sample once.
    linked
        Segments whose ends are the next one's start, (s,).
    rows
        The number of each sample in the data, (s, l + 1).
    """

    y: Array = field(repr=False)
    steps: Array = field(repr=False)
    own: NDArray[np.bool_] = field(repr=False)
    linked: NDArray[np.bool_] = field(repr=False)
    rows: NDArray[np.intp] = field(repr=False)
    low: Array = field(repr=False)
    high: Array = field(repr=False)
    scale: Array = field(repr=False)
    substeps: int

    @classmethod
    def of(
        cls, t: Array, y: Array, trajectory: Array | None, length: int, substeps: int
    ) -> Segments:
        """Cut samples (n, d) at times (n,) of one trajectory, or of several."""
        parted = np.zeros(len(t)) if trajectory is None else trajectory
        cuts = np.flatnonzero(np.diff(parted)) + 1
        rows, linked, own = [], [], []
        for several in np.split(np.arange(len(t)), cuts):
            starts = range(0, max(len(several) - 1, 1), length)
            for start in starts:
                chosen = several[start : start + length + 1]
                last = start == starts[-1]
                mine = np.zeros(length + 1, dtype=bool)
                mine[: len(chosen) if last else length] = True
                rows.append(np.pad(chosen, (0, length + 1 - len(chosen)), mode="edge"))
                own.append(mine)
                linked.append(not last)
        at = np.array(rows)
        low, high = y.min(axis=0), y.max(axis=0)
        middle, reach = (low + high) / 2, _REACH * (high - low) / 2 + 1e-300
        scale = np.std(y, axis=0)
        scale[scale == 0] = 1.0
        steps = np.diff(t[at], axis=1)
        return cls(
            y[at], steps, np.array(own), np.array(linked), at, middle - reach, middle + reach,
            scale, substeps,
        )  # fmt: skip

    def solve(self, rates: Rates, starts: Array) -> Array:
        """Return states (d, s, m + 1) on the fine grid of m steps a segment, from starts (d, s)."""
        q, length = self.substeps, self.steps.shape[1]
        states = np.empty((*starts.shape, length * q + 1))
        states[..., 0] = u = starts
        low, high = self.low[:, None], self.high[:, None]
        for k in range(length):
            h = self.steps[:, k] / q
            for j in range(q):
                u = np.minimum(np.maximum(_step(rates, u, h), low), high)
                states[..., k * q + j + 1] = u
        return states

    def linearise(self, rates: Rates, states: Array) -> Solution:
        """Return a solution with what its responses are made of."""
        d = len(states)
        before = states[..., :-1].reshape(d, -1)
        h = np.repeat(self.steps, self.substeps, axis=1).ravel() / self.substeps
        begin, end = rates(before), rates(states[..., 1:].reshape(d, -1))
        after = states[..., 1:].reshape(d, -1)
        middle = (before + after) / 2 + h / 8 * (begin - end)
        sizes = _DIFFERENCE * self.scale
        moved = np.concatenate(
            [before[None], before[None] + sizes[:, None, None] * np.eye(d)[:, :, None]]
        )
        many = np.moveaxis(moved, 0, 1).reshape(d, -1)
        ends = _step(rates, many, np.tile(h, d + 1)).reshape(d, d + 1, -1)
        forward = (ends[:, 1:] - ends[:, :1]) / sizes[None, :, None]  # (to, from, s m)
        shape = (len(self.steps), -1)
        return Solution(
            self,
            states,
            np.moveaxis(forward.reshape(d, d, *shape), (2, 3), (0, 1)),
            middle.reshape(d, *shape),
            h.reshape(shape),
        )


def _step(rates: Rates, u: Array, h: Array) -> Array:
    first = rates(u)
    second = rates(u + h / 2 * first)
    third = rates(u + h / 2 * second)
    last = rates(u + h * third)
    return np.asarray(u + h / 6 * (first + 2 * (second + third) + last))


@dataclass(frozen=True)
class Solution:
    """A solution on the fine grid, and its linearised steps.

    Attributes
    ----------
    states
        (d, s, m + 1).
    forward
        Derivative of the state after a step by that before, (s, m, d, d).
    middle
        States in the middle of the steps, (d, s, m).
    h
        Lengths of the steps, (s, m).
    """

    segments: Segments
    states: Array = field(repr=False)
    forward: Array = field(repr=False)
    middle: Array = field(repr=False)
    h: Array = field(repr=False)

    def starts(self) -> Array:
        """Return the derivative of the states at samples by the segment's start, (s, l+1, d, d)."""
        s, m, d, _ = self.forward.shape
        now = np.broadcast_to(np.eye(d), (s, d, d))
        found = [now]
        for k in range(m):
            now = self.forward[:, k] @ now
            if (k + 1) % self.segments.substeps == 0:
                found.append(now)
        return np.stack(found, axis=1)

    def values(self, make: Callable[[Array], Array]) -> Array:
        """Return a term at the ends and the middles of steps, (s, 2 m + 1)."""
        d, s, m = self.middle.shape
        places = np.empty((d, s, 2 * m + 1))
        places[..., ::2], places[..., 1::2] = self.states, self.middle
        return np.broadcast_to(make(np.moveaxis(places, 0, -1)), (s, 2 * m + 1))

    def responses(self, values: Sequence[Array], equation: int | None = None) -> Array:
        """Return the derivatives of the states at samples by coefficients of terms.

        Parameters
        ----------
        values
            The k terms' values, each (s, 2 m + 1).
        equation
            The one that terms are in; None for each.

        Returns
        -------
        Derivatives of each state by each term's coefficient in each equation,
        (s, l + 1, d, d k): of states, by equations and terms.  For one equation (s, l + 1, d, k).
        """
        s, m, d, _ = self.forward.shape
        many = np.stack(values, axis=-1)
        chosen = slice(None) if equation is None else slice(equation, equation + 1)
        one = np.eye(d)[:, chosen]
        k = many.shape[-1]
        begin, middle, end = many[:, :-1:2], many[:, 1::2], many[:, 2::2]
        forward = self.forward[..., chosen]
        half = (forward + one) / 2
        forced = (
            forward[..., None] * begin[:, :, None, None]
            + 4 * half[..., None] * middle[:, :, None, None]
            + one[..., None] * end[:, :, None, None]
        )
        forced = (self.h[:, :, None, None, None] / 6 * forced).reshape(s, m, d, -1)
        now = np.zeros((s, d, one.shape[1] * k))
        found = [now]
        for step in range(m):
            now = self.forward[:, step] @ now + forced[:, step]
            if (step + 1) % self.segments.substeps == 0:
                found.append(now)
        return np.stack(found, axis=1)
