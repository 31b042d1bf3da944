"""Terms and derivatives in time, integrated against test functions."""

from __future__ import annotations

from math import comb
from typing import TYPE_CHECKING

import numpy as np
from bumps import Bumps, corner, half_width
from grids import axes_of, differentiate

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from grids import Derivative
    from numpy.typing import NDArray
    from summands import Product

    from mdbench.worker import Problem

    Array = NDArray[np.float64]

__all__ = ["WeakField", "corners", "values_of"]

FUNCTIONS: dict[str, Callable[[Array], Array]] = {"sin": np.sin, "cos": np.cos}
_CLEAN = 1e-6
_ROWS = 3000
"""Test functions at most."""
_LEAST = 0.05
"""Part of the mean variance that each integral is taken to have at least."""
_REMEMBERED = 16_000_000
"""Numbers in derivatives that are kept, at most."""
_OVERLAP = 2.0
"""Test functions along an axis in the width of half of one."""


class WeakField:
    """A field, and integrals of terms over it.

    Derivatives are moved on to the test functions: those of a state alone wholly, and those of the
    form D(u^p); of other products half.

    Parameters
    ----------
    problem
        The field.
    states
        Its states as they are integrated (n_x, ..., n_t, d).
    halves
        Half the width of test functions along each axis and in time, in nodes.
    rows
        Test functions at most, about.
    overlap
        Test functions along an axis in the width of half of one.
    """

    def __init__(
        self,
        problem: Problem,
        states: Array,
        halves: Sequence[int],
        rows: int = _ROWS,
        overlap: float = _OVERLAP,
    ) -> None:
        self.axes = axes_of(problem)
        self.states = [np.ascontiguousarray(states[..., k]) for k in range(states.shape[-1])]
        shape = states.shape[:-1]
        steps = [*(axis.step for axis in self.axes), float(np.diff(problem.t).mean())]
        periodic = periodic_axes(problem)
        wanted = rows_along(shape, halves, periodic, overlap)
        less = min(1.0, rows / float(np.prod(wanted))) ** (1 / len(shape))
        self.bumps = [
            Bumps.along(n, step, half, max(3, round(many * less)), periodic=around)
            for n, step, half, many, around in zip(
                shape, steps, halves, wanted, periodic, strict=True
            )
        ]
        self._derived: dict[tuple[int, int, int], Array] = {}

    def target(self, state: int) -> Array:
        """Return the integrals of a state's derivative in time, (rows,)."""
        return -self.integral(self.states[state], len(self.axes), 1)

    def integral(self, values: Array, axis: int = 0, order: int = 0) -> Array:
        """Integrate values times a derivative of the test functions along one axis, (rows,)."""
        return self.mixed(values, {axis: order})

    def mixed(self, values: Array, orders: dict[int, int]) -> Array:
        """Integrate values times derivatives of the test functions along some axes, (rows,)."""
        for k, bumps in enumerate(self.bumps):
            weights = bumps.weights[orders.get(k, 0)]
            values = np.tensordot(values, weights, axes=(0, 1))
        return values.reshape(-1)

    @property
    def apart(self) -> float:
        """Approximate number of independent test functions: one for each half width."""
        count = 1.0
        for bumps in self.bumps:
            rows, nodes = bumps.weights[0].shape
            count *= min(rows, nodes / bumps.half if bumps.half else rows)
        return count

    def weights(self, residuals: Array | None) -> Array:
        """Return the inverse of the noise of each integral, (rows,), of mean square 1.

        Parameters
        ----------
        residuals
            The part of the target's state that smoothing removed; None for equal weights.
        """
        if residuals is None:
            return np.ones(int(np.prod([len(bumps.weights[0]) for bumps in self.bumps])))
        squares = residuals**2
        for k, bumps in enumerate(self.bumps):
            moved = bumps.weights[1 if k == len(self.axes) and bumps.half else 0]
            squares = np.tensordot(squares, moved**2, axes=(0, 1))
        squares = squares.reshape(-1)
        weights = 1.0 / np.sqrt(squares + _LEAST * np.mean(squares) + 1e-300)
        return np.asarray(weights / np.sqrt(np.mean(weights**2)))

    def column(self, term: Product) -> Array:
        """Integrate a term, (rows,)."""
        factor = np.ones(self.states[0].shape)
        for number in term.states:
            factor = factor * FUNCTIONS.get(term.function, np.asarray)(self.states[number])
        if len(term.derivatives) != 1 or not self.bumps[term.derivatives[0].axis].half:
            for each in term.derivatives:
                factor = factor * self.derivative(each.state, each.axis, each.order)
            return self.integral(factor)
        (last,) = term.derivatives
        u, power, sign = self.states[last.state], len(term.states), (-1) ** last.order
        if set(term.states) <= {last.state} and last.order <= (4, 2)[power > 0]:
            whole = sign * self.integral(factor * u / (power + 1), last.axis, last.order)
            if last.order == 1 or not power:
                return np.asarray(whole)
            # u^p u_xx is (u^(p+1)/(p+1))_xx - p u^(p-1) u_x^2.
            slope = self.derivative(last.state, last.axis, 1)
            return np.asarray(whole - power * self.integral(u ** (power - 1) * slope**2))
        return self._by_half(factor, last)

    def _by_half(self, factor: Array, last: Derivative) -> Array:
        moved = last.order // 2
        rest = self.derivative(last.state, last.axis, last.order - moved)
        total = np.zeros(1)
        for k in range(moved + 1):
            part = differentiate(factor, last.axis, self.axes[last.axis], k) if k else factor
            total = total + comb(moved, k) * self.integral(part * rest, last.axis, moved - k)
        return np.asarray((-1) ** moved * total)

    def forget(self) -> None:
        """Free the memory of derivatives."""
        self._derived.clear()

    def derivative(self, state: int, axis: int, order: int) -> Array:
        """Differentiate a state along an axis."""
        key = state, axis, order
        if key not in self._derived:
            size = self.states[state].size
            while self._derived and (len(self._derived) + 1) * size > _REMEMBERED:
                del self._derived[next(iter(self._derived))]
            self._derived[key] = differentiate(self.states[state], axis, self.axes[axis], order)
        return self._derived[key]


def periodic_axes(problem: Problem) -> list[bool]:
    """Return whether each axis, and time, is periodic."""
    return [*(bool(axis.period) for axis in axes_of(problem)), False]


def halves_of(problem: Problem, factor: float, waves: Sequence[float], part: int = 4) -> list[int]:
    """Return half the width of test functions along each axis and in time, in nodes.

    Parameters
    ----------
    factor
        In units of the width that the spectrum gives.
    waves
        The highest wave number along each axis and in time that is above the noise, in radians a
        node.
    part
        The largest half width is an axis over this.
    """
    return [
        half_width(wave, factor, n, periodic=around, part=part)
        for wave, n, around in zip(waves, problem.u.shape[:-1], periodic_axes(problem), strict=True)
    ]


def rows_along(
    shape: Sequence[int], halves: Sequence[int], periodic: Sequence[bool], overlap: float
) -> list[float]:
    """Return how many test functions are wanted along each axis and in time."""
    return [
        max(4.0, overlap * (n if around else n - 2 * half) / half)
        for n, half, around in zip(shape, halves, periodic, strict=True)
    ]


def corners(problem: Problem, measured: Array, smoothed: Array) -> list[float]:
    """Return the highest wave number of a state along each axis and in time."""
    return [
        corner(measured, smoothed, axis, periodic=around, clean=_CLEAN)
        for axis, around in enumerate(periodic_axes(problem))
    ]


def values_of(problem: Problem, terms: Sequence[Product], coefficients: Sequence[float]) -> Array:
    """Evaluate a sum of terms at each point of a field, shaped like one state."""
    axes, u = axes_of(problem), problem.u
    total = np.zeros(u.shape[:-1])
    for term, coefficient in zip(terms, coefficients, strict=True):
        value = np.full(u.shape[:-1], coefficient)
        for number in term.states:
            value = value * FUNCTIONS.get(term.function, np.asarray)(u[..., number])
        for each in term.derivatives:
            state = np.ascontiguousarray(u[..., each.state])
            value = value * differentiate(state, each.axis, axes[each.axis], each.order)
        total += value
    return total
