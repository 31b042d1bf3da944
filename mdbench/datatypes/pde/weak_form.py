"""Fields in weak form: smoothed, and integrated against test functions."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, ClassVar, NamedTuple

import numpy as np

from mdbench.data.smoothing import TimeSmoothing, noise_in_time, smooth_in_time, smoother_along
from mdbench.datatypes.equations.selection import INTEGRATED_TO, Evidence

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from mdbench.data.field import Field

    Array = NDArray[np.float64]

_SMOOTHNESS = 6
"""A test function is (1 - s^2) to this power along each axis and in time."""
_TAIL = 7.75
"""Half the width of a test function times the highest wave number that it lets pass: two standard
deviations of its spectrum, which is nearly normal."""
_QUIET = 1e-6
"""Least noise, as a share of the variance, when waves are separated from it."""
_OVERLAP = 2.0
"""Test functions in half the width of one."""
_MOST = 3000
"""Test functions, about."""
_BORDER = 3
"""Nodes at the ends of an axis that is not periodic where no test function is: derivatives are
worse there."""
_LEAST = 0.05
"""The least variance of an integral's noise, as a share of the mean variance."""
_DEGREES = (1, 3, 5)
"""Degrees of the splines between times; the highest for which there are enough times is used."""
_ROUNDING = 8 * float(np.finfo(np.float64).eps)
"""How much an integral may be off by rounding, as a share of the largest value."""
_DIGITS = 1e-8
"""Above this share of what is left, rounding has to be that of the whole sum."""
_NODES = 3
"""At which test functions are integrated between two samples (Gauss and Legendre)."""


class SmoothedField(NamedTuple):
    """A field that was smoothed along all axes and in time.

    Attributes
    ----------
    field
        Its `du` is the derivative in time of the smoothed states.
    remarks
        What has to be known of how it was made; mostly empty.
    """

    field: Field
    remarks: tuple[str, ...]


def smoothed_field(field: Field) -> SmoothedField:
    """Smooth a field along all axes and in time, as much as it takes; with its rates of change."""
    curves = [_smoothed_state(field, field.u[..., state]) for state in range(field.dim)]
    u, du = (
        np.stack(arrays, axis=-1) for arrays in zip(*(each[:2] for each in curves), strict=True)
    )
    remarks = tuple(f"u{state}: {one.remark}" for state, one in enumerate(curves) if one.remark)
    return SmoothedField(replace(field, u=u, du=du), remarks)


def _smoothed_state(field: Field, u: Array) -> TimeSmoothing:
    """Smooth one state along all axes, and then in time; the noise is estimated first."""
    noise = noise_in_time(u, field.t, -1)
    for axis, (name, nodes) in enumerate(field.grid.items()):
        if len(nodes) >= _FEWEST:
            smoother = smoother_along(u, nodes, axis, periodic=name in field.periods, noise=noise)
            u, noise = smoother(u), noise * smoother.left
    return smooth_in_time(u, field.t, -1)


_FEWEST = 12
"""Nodes of an axis along which a field is smoothed; fewer are left as they are."""


@dataclass(frozen=True, eq=False)
class WeakWindows(Evidence):
    """Integrals over windows in space and time, in which changes are to be those of equations.

    A right-hand side is evaluated on the smoothed field, and integrated against test functions
    that fall to zero at the border of their window; the derivative in time is moved on to the test
    function, and integrated with the field as it was measured.  Windows are so wide that the
    test functions let the waves pass that are above the noise, and noise above these as little as
    may be.  An integral counts the less, the more noise is in it.

    Attributes
    ----------
    changes
        For each target, the integrals of its derivative in time, (rows,).
    weights
        The weights of these rows.
    along
        For each target, what integrates along each axis and in time, (rows of the axis, nodes).
    """

    changes: tuple[Array, ...] = field(repr=False)
    weights: tuple[Array, ...] = field(repr=False)
    along: tuple[tuple[Array, ...], ...] = field(repr=False)
    shares_terms: ClassVar[bool] = True

    @classmethod
    def of(
        cls,
        field: Field,
        smoothed: Array,
        columns: Mapping[str, Array],
        states: tuple[int, ...],
        *,
        centred: bool = False,
    ) -> WeakWindows:
        """Make the integrals from a noisy field, the smoothed field, and the latter's features.

        Parameters
        ----------
        smoothed
            Shaped like the states of `field`.
        centred
            Whether states are exact to a share of their deviation, not of their size.
        """
        tiny = np.finfo(float).tiny
        floors, all_changes, all_weights, all_along = [], [], [], []
        for state in states:
            measured, noise_left = field.u[..., state], field.u[..., state] - smoothed[..., state]
            halves, along = _bumps(field, noise_left, smoothed[..., state])
            moved, time_weights = _in_time(field.t, halves[-1], len(along[-1]))
            changes = _integrals(measured, (*along[:-1], moved))
            if centred:  # a derivative in time knows no offset
                measured = measured - np.mean(measured)
            exact = INTEGRATED_TO**2 * float(np.mean(measured**2))
            noise = _integrals(
                noise_left**2 + exact, tuple(each**2 for each in (*along[:-1], moved))
            )
            weights = 1.0 / (noise + _LEAST * np.mean(noise) + tiny)
            whole = float(weights @ changes**2) or 1.0
            floors.append(max(float(weights @ noise) / whole, tiny))
            all_changes.append(changes)
            all_weights.append(weights / whole)
            all_along.append((*along[:-1], time_weights))
        return cls(
            columns, np.array(floors), tuple(all_changes), tuple(all_weights), tuple(all_along)
        )

    def loss(self, values: Array, target: int) -> float:
        """Return the weighted squares of what is left over those of the changes."""
        left = self.changes[target] - self.summary(values, target)
        return float(np.sum(self.weights[target] * left**2))

    def summary(self, values: Array, target: int) -> Array:
        """Return the integrals of values over all windows, (rows,)."""
        return _integrals(values, self.along[target])

    def loss_of_sum(
        self, coefficients: Array, summaries: Array, sizes: Array, target: int
    ) -> float | None:
        """Return the loss of a sum of terms from their integrals, which are sums, too."""
        weights = self.weights[target]
        left = self.changes[target] - coefficients @ summaries
        loss = float(np.sum(weights * left**2))
        # Windows average: no integral is off by much more than its largest value's rounding.
        off = _ROUNDING * float(np.abs(coefficients) @ sizes) * float(np.sqrt(np.sum(weights)))
        return loss if off <= _DIGITS * np.sqrt(loss) else None


def _integrals(values: Array, along: tuple[Array, ...]) -> Array:
    """Integrate values (n_x, ..., n_t) along all axes, (rows,)."""
    for matrix in along:
        values = np.tensordot(values, matrix, axes=(0, 1))
    return values.reshape(-1)


def _bumps(field: Field, noise_left: Array, smoothed: Array) -> tuple[list[int], list[Array]]:
    """Choose windows along each axis and in time: half their widths, and their weights."""
    shape = smoothed.shape
    periodic = [*(name in field.periods for name in field.grid), False]
    halves, wanted, inner = [], [], []
    for axis, (n, around) in enumerate(zip(shape, periodic, strict=True)):
        border = 0 if around else 1 if axis == len(shape) - 1 else min(_BORDER, (n - 1) // 4)
        span = n - 2 * border
        most = max((span - 1) // 4, 0)
        wave = _corner(noise_left, smoothed, axis, periodic=around)
        half = int(np.clip(round(_TAIL / wave), min(2, most), most))
        free = span if around else span - 2 * half
        halves.append(half)
        inner.append((border + half, free))
        wanted.append(max(4.0, _OVERLAP * free / max(half, 1)))
    less = min(1.0, _MOST / float(np.prod(wanted))) ** (1 / len(shape))
    along = []
    for n, around, half, (first, free), many in zip(
        shape, periodic, halves, inner, wanted, strict=True
    ):
        count = max(1, min(round(many * less), free))
        places = np.arange(count) * n / count if around else first + np.linspace(0, free - 1, count)
        away = np.abs(np.arange(n) - np.round(places)[:, None])
        if around:
            away = np.minimum(away, n - away)
        bumps = np.maximum(1 - (away / (half + 1)) ** 2, 0) ** _SMOOTHNESS
        along.append(bumps / bumps.sum(axis=1, keepdims=True))
    return halves, along


def _corner(noise_left: Array, smoothed: Array, axis: int, *, periodic: bool) -> float:
    """Return the highest wave number along an axis that is above the noise, in radians a node."""
    n = smoothed.shape[axis]
    lines = np.moveaxis(smoothed, axis, -1).reshape(-1, n)
    lines = lines - lines.mean()
    noise = max(float(np.mean(noise_left**2)), _QUIET * float(np.mean(lines**2)))
    if not periodic and n > 2:  # noqa: PLR2004 - a line through two nodes leaves nothing
        s = np.linspace(-1, 1, n)
        ends = np.stack([np.ones(n), s])
        lines = lines - (lines @ np.linalg.pinv(ends)) @ ends
        bell = np.cos(np.pi * s / 2) ** 2
        lines = lines * bell / np.sqrt(np.mean(bell**2))
    powers = np.mean(np.abs(np.fft.rfft(lines, axis=1)) ** 2, axis=0) / n
    above = np.flatnonzero(powers > noise)
    return float(2 * np.pi * max(int(above[-1]) if len(above) else 1, 1) / n)


def _in_time(t: Array, half: int, rows: int) -> tuple[Array, Array]:
    """Return matrices (rows, n) that integrate samples times test functions in time.

    The first one times minus their derivatives.  Between samples these are interpolated by
    a spline of degree 5, or less where they are few.
    """
    from scipy.interpolate import make_interp_spline  # noqa: PLC0415 - takes a moment to load

    n = len(t)
    step = (t[-1] - t[0]) / (n - 1)
    width = (half + 1) * step
    middles = np.linspace(t[1] + half * step, t[-2] - half * step, rows)
    nodes, weights = np.polynomial.legendre.leggauss(_NODES)
    halves = np.diff(t)[:, None] / 2
    places = (t[:-1, None] + halves * (nodes + 1)).ravel()
    degree = max(k for k in _DEGREES if k < n)
    between = make_interp_spline(t, np.eye(n), k=degree)(places)
    s = (places - middles[:, None]) / width
    inside = np.maximum(1 - s**2, 0)
    test = inside**_SMOOTHNESS
    slope = -2 * _SMOOTHNESS * s * inside ** (_SMOOTHNESS - 1) / width
    sizes = (halves * weights).ravel()
    norm = np.sum(test * sizes, axis=1, keepdims=True)
    return np.asarray(-(slope * sizes / norm) @ between), np.asarray(
        (test * sizes / norm) @ between
    )
