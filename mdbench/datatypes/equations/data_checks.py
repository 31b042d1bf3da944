"""A description of the user's data in a few lines, before a method is tried on them."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from mdbench.data.smoothing import (
    FEWEST_SAMPLES,
    centred_curves,
    curves_between,
    smooth,
    smooth_in_time,
)
from mdbench.datatypes.equations.alike import levels_line, levels_of, nearly_the_same
from mdbench.datatypes.equations.data_warnings import is_switched, of_states, unit_of_rates
from mdbench.datatypes.equations.data_warnings import of_field as warnings_of_field
from mdbench.errors import counted

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

    from mdbench.data.field import Field
    from mdbench.data.trajectory import Trajectory
    from mdbench.datatypes.real.problem import Measurements

    Array = NDArray[np.float64]

WANTED = 10
"""Samples of the fastest oscillation below which derivatives are rough."""
ROUGH = 0.3
"""Share by which derivatives may be uncertain."""
LONGEST = 10_000
"""Samples of a trajectory that are looked at."""
MOST_LINES = 64
"""Lines along each axis of a field that are looked at."""
_STILL = 1e-9
"""A state that changes by no larger share of its size does not change."""
_FOREIGN = 0.5
"""Share of a state's deviations that the sum of its derivatives may leave."""
_NOTHING = 1e-6
"""Noise below this share of the data's size is none to be seen."""


def of_trajectory(dataset: Any) -> list[str]:
    """Describe trajectories, `given`: spacing, noise, how well derivatives are known."""
    trajectory: Trajectory = dataset.given
    pieces = trajectory.pieces
    names = [dataset.names.get(f"u{i}", f"u{i}") for i in range(trajectory.u.shape[1])]
    unit = dataset.measured_in.get("t", "")
    lengths = sorted({len(one.t) for one in pieces})
    what = f"{lengths[0]:,} samples" if len(lengths) == 1 else f"{lengths[0]:,} to {lengths[-1]:,}"
    many = f"{len(pieces)} trajectories of {what}" if len(pieces) > 1 else what
    first, last = float(trajectory.t.min()), float(trajectory.t.max())
    when = f"time {first:g} to {last:g}{unit and f' {unit}'}"
    lines = [f"{many} of {', '.join(names)}; {when}, {_steps([one.t for one in pieces])}"]
    lines += [*getattr(dataset, "notes", ()), *getattr(dataset, "left_out", ())]
    if trajectory.inputs is not None:
        labels = [dataset.names.get(f"v{i}", f"v{i}") for i in range(trajectory.inputs.shape[1])]
        few = levels_of(dict(zip(labels, trajectory.inputs.T, strict=True)))
        lines += [levels_line(name, values) for name, values in few.items()]
        lines += nearly_the_same(labels, trajectory.inputs)
        lines += [
            f"{name}: where it keeps each value until the next sample, give --hold zero: else it "
            "changes evenly from one to the next"
            for name, column in zip(labels, trajectory.inputs.T, strict=True)
            if not trajectory.held and is_switched(column)
        ]
    if dataset.clean.du is not None:
        known = zip(dataset.clean.pieces, pieces, strict=True)
        lines += _foreign_rates(names, [(one.t, noisy.u, one.du) for one, noisy in known])
    lines += unit_of_rates(spacing([one.t for one in pieces]).median, unit)
    longest = max(pieces, key=lambda one: len(one.t))
    t, u = longest.t[:LONGEST], longest.u[:LONGEST]
    if len(t) < FEWEST_SAMPLES:
        return [*lines, *of_states(names, trajectory, None)]
    curves = centred_curves(t, u)
    sd = np.sqrt(curves.variances)
    lines.append(_noise(names, sd, np.sqrt(np.mean(u**2, axis=0))))
    lines += [
        f"{name}: {remark}" for name, remark in zip(names, curves.remarks, strict=True) if remark
    ]
    moving = [i for i, one in enumerate(np.ptp(u, axis=0)) if one > _STILL * np.abs(u[:, i]).max()]
    if len(moving) < len(names):
        still = ", ".join(name for i, name in enumerate(names) if i not in moving)
        lines.append(f"without change: {still}")
    if len(pieces) == 1:
        lines += _numbering(names, trajectory.u)
    if not moving:
        return [*lines, *of_states(names, trajectory, None)]
    apart = between_halves(t, u[:, moving])
    back = integrated_back(t, curves.u[:, moving], curves.du[:, moving])
    text = f"reconstruction error after re-integration: {_share(float(back.max()))}"
    rough = False
    if apart is not None:
        errors = ", ".join(
            f"{names[i]} {_share(float(one))}" for i, one in zip(moving, apart, strict=True)
        )
        text = f"uncertain by {errors} (every other sample gives others by so much); {text}"
        rough = bool((apart > ROUGH).any())
    lines.append(f"derivatives: {text}" + "; too rough to trust" * rough)
    found = [samples_per_oscillation([curves.u[:, i]], float(sd[i])) for i in moving]
    lines.append(_resolved("sample", "oscillation", found))
    if jumps := [row for row in longest.jumps if row < LONGEST]:
        curves = curves_between(t, u, jumps)
    return [*lines, *of_states(names, trajectory, curves)]


def _numbering(names: Sequence[str], u: Array) -> list[str]:
    """Name states (columns of `u`) of a few whole numbers in blocks, as trajectories have them."""
    lines = []
    for name, column in zip(names, u.T, strict=True):
        blocks = 1 + np.count_nonzero(np.diff(column))
        few = 1 < blocks <= len(column) / FEWEST_SAMPLES
        if few and blocks == len(np.unique(column)) and not (column % 1).any():
            lines.append(
                f"{name}: {blocks} whole numbers, one after the other; where they number "
                f"trajectories: --trajectory {name}"
            )
    return lines


def _foreign_rates(names: Sequence[str], pieces: Iterable[tuple[Array, Array, Array]]) -> list[str]:
    """Name states whose derivatives in the file are not theirs, such as in another unit of time.

    Parameters
    ----------
    pieces
        Times (n,), states and derivatives (n, d) of each trajectory.
    """
    off, size = 0.0, 0.0
    for t, u, du in pieces:
        steps = 0.5 * (du[1:] + du[:-1]) * np.diff(t)[:, None]
        summed = np.cumsum(np.vstack([np.zeros_like(u[:1]), steps]), axis=0)
        off = off + np.var(u - summed, axis=0) * len(t)
        size = size + np.var(u, axis=0) * len(t)
    shares = np.sqrt(off / np.where(size > 0, size, 1.0))
    return [
        f"{name}: du of the file is not its rate (u less what du adds up to varies by "
        f"{_share(float(share))} of what u does): is it in u's units, and of the same column?"
        for name, share in zip(names, np.atleast_1d(shares), strict=True)
        if share > _FOREIGN
    ]


def of_field(dataset: Any) -> list[str]:
    """Describe a field, `given`, along time and along each axis."""
    field: Field = dataset.given
    names = [dataset.names.get(f"u{i}", f"u{i}") for i in range(field.dim)]
    size = " x ".join(f"{len(nodes):,}" for nodes in (*field.grid.values(), field.t))
    axes = [
        f"{axis} {float(nodes[0]):g} to {float(nodes[-1]):g}, {_steps([nodes])}"
        for axis, nodes in {**field.grid, "t": field.t}.items()
    ]
    lines = [f"{size} samples of {', '.join(names)}; {'; '.join(axes)}"]
    if field.labels:
        pairs = [f"{name} is {label}" for name, label in zip(names, field.labels, strict=True)]
        lines.append(f"variables of the file: {', '.join(pairs)}")
    time_axis = field.u.ndim - 2
    if dataset.clean.du is not None:
        series = [
            np.moveaxis(each, time_axis, 0).reshape(len(field.t), -1, field.dim)
            for each in (field.u, dataset.clean.du)
        ]
        places = np.linspace(0, series[0].shape[1] - 1, MOST_LINES).astype(int)
        u, du = series
        lines += _foreign_rates(names, [(field.t, u[:, at], du[:, at]) for at in places])
    if len(field.t) < FEWEST_SAMPLES:
        return lines
    smoothed = [smooth_in_time(field.u[..., i], field.t, time_axis) for i in range(field.dim)]
    sd = np.sqrt([one.noise for one in smoothed])
    flat = field.u.reshape(-1, field.dim)
    lines.append(_noise(names, sd, np.sqrt(np.mean(flat**2, axis=0))))
    lines += [
        f"{name}: {one.remark}" for name, one in zip(names, smoothed, strict=True) if one.remark
    ]
    back = 0.0
    for curves in smoothed:
        u, du = (
            np.moveaxis(each, time_axis, 0).reshape(len(field.t), -1)
            for each in (curves.u, curves.du)
        )
        picked = np.linspace(0, u.shape[1] - 1, MOST_LINES).astype(int)
        extent = max(float(np.std(u[:, picked])), _STILL * float(np.abs(u).max()))
        moving = picked[np.std(u[:, picked], axis=0) > ROUGH * extent]
        if len(moving):
            back = max(back, float(integrated_back(field.t, u[:, moving], du[:, moving]).max()))
    lines.append(
        f"derivatives in time: reconstruction error after re-integration at most {_share(back)}"
    )
    for axis, axis_number in {
        **{name: i for i, name in enumerate(field.grid)},
        "t": time_axis,
    }.items():
        waves = []
        for curves, noise in zip(smoothed, sd, strict=True):
            along = np.moveaxis(curves.u, axis_number, -1).reshape(-1, curves.u.shape[axis_number])
            picked = along[np.linspace(0, len(along) - 1, MOST_LINES).astype(int)]
            waves.append(samples_per_oscillation(list(picked), float(noise)))
        lines.append(_resolved("sample", f"wave along {axis}", waves))
    return [*lines, *warnings_of_field(names, field, [one.du for one in smoothed])]


def of_table(dataset: Any) -> list[str]:
    """Describe a `table`: its columns, rows that come twice, and the target's noise."""
    table: Measurements = dataset.table
    x, y, target = table.x, table.y, table.target
    columns = dict(zip(table.columns, x.T, strict=True))
    still = [name for name, column in columns.items() if np.ptp(column) == 0]
    ranges = ", ".join(
        f"{name} {float(column.min()):g} to {float(column.max()):g}"
        for name, column in columns.items()
    )
    lines = [
        f"{counted(len(y), 'row')}; {ranges}; {target} {float(y.min()):g} to {float(y.max()):g}"
    ]
    if still:
        lines.append(
            f"{', '.join(still)}: the same in all rows, so that nothing can be learnt of it"
        )
    lines += getattr(table, "left_out", ())
    lines += [levels_line(name, values) for name, values in levels_of(columns).items()]
    lines += nearly_the_same(list(columns), x)
    repeated = len(x) - len(np.unique(x, axis=0))
    if repeated:
        lines.append(f"{repeated:,} rows have the inputs of another one")
    variance = near_noise(x, y)
    if variance is None:
        lines.append("too few rows to estimate the noise by neighbours")
    else:
        size = float(np.sqrt(np.mean(y**2)))
        lines.append(_noise([target], np.array([math.sqrt(variance)]), np.array([size])))
    return lines


def _steps(series: Sequence[Array]) -> str:
    steps = spacing(series)
    if steps.regular:
        return f"spacing {steps.median:.4g} (regular)"
    return (
        f"spacing {steps.least:.4g} to {steps.largest:.4g} (irregular, median {steps.median:.4g})"
    )


def _noise(names: Sequence[str], sd: Array, size: Array) -> str:
    levels = []
    for name, noise, whole in zip(names, map(float, sd), map(float, size), strict=True):
        share = noise / whole if whole > 0 else 0.0
        if not math.isfinite(share):
            levels.append(f"{name} not known")
        elif share <= _NOTHING:
            levels.append(f"{name} none to be seen")
        else:
            levels.append(f"{name} {_share(share)} of its size ({-20 * math.log10(share):.0f} dB)")
    return f"noise, estimated: {', '.join(levels)}"


def _resolved(sample: str, wave: str, found: Sequence[float | None]) -> str:
    counts = [one for one in found if one is not None]
    if not counts:
        return f"no whole {wave} to be seen"
    few = min(counts)
    verdict = f": few; {WANTED} or more are wanted" if few < WANTED else ""
    return f"{few:.0f} {sample}s per fastest {wave}{verdict}"


def _share(value: float) -> str:
    if math.isnan(value):
        return "an unknown share"
    return f"{100 * value:.2g} %" if math.isfinite(value) else "all of it"


EVEN = 0.01
"""Steps that differ by less than this share of their median are regular."""
_SWING = 0.05
"""The least share of a curve's range by which an oscillation swings."""
_SIGNAL = 3.0
"""The least number of standard deviations of the noise by which an oscillation swings."""
_FAST = 10
"""Percentile of the oscillations' lengths that counts as the fastest."""
_NEAR = 10
"""Neighbours of a row that the Gamma test looks at."""
FEWEST_ROWS = 30
"""Rows below which a table's noise is not estimated."""


class Spacing(NamedTuple):
    """The steps between samples: the least, the median, the largest."""

    least: float
    median: float
    largest: float

    @property
    def regular(self) -> bool:
        """Whether they are all the same, as far as such data are written."""
        return self.largest - self.least <= EVEN * self.median


def spacing(series: Iterable[Array]) -> Spacing:
    """Measure the steps within one series of places or times, or within several.

    Examples
    --------
    >>> spacing([np.array([0.0, 1.0, 2.0]), np.array([5.0, 7.0])])
    Spacing(least=1.0, median=1.0, largest=2.0)
    """
    steps = np.concatenate([np.diff(one) for one in series])
    return Spacing(float(steps.min()), float(np.median(steps)), float(steps.max()))


def between_halves(t: Array, u: Array) -> Array | None:
    """Return how well derivatives are known: how far those from every other sample are apart.

    Parameters
    ----------
    t
        Increasing times, (n,).
    u
        Values, (n, d).

    Returns
    -------
    array, (d,)
        The root mean square of half the difference of the derivatives of two smoothed curves, one
        through the even samples and one through the odd, over that of their mean; None for too
        few samples.
    """
    if len(t) < 2 * FEWEST_SAMPLES:
        return None
    even, odd = (smooth(t[first::2], u[first::2]) for first in (0, 1))
    at = slice(2, len(t) - 2)  # both curves are known there
    rates = [_rates(curve.t, curve.du, t[at]) for curve in (even, odd)]
    apart = np.sqrt(np.mean((rates[0] - rates[1]) ** 2, axis=0)) / 2
    size = np.sqrt(np.mean(((rates[0] + rates[1]) / 2) ** 2, axis=0))
    return np.asarray(np.divide(apart, size, out=np.full_like(apart, np.inf), where=size > 0))


def _rates(t: Array, du: Array, at: Array) -> Array:
    return np.stack([np.interp(at, t, column) for column in du.T], axis=-1)


def integrated_back(t: Array, u: Array, du: Array) -> Array:
    """Return how far derivatives, integrated by the trapezoidal rule, miss what they are of.

    Parameters
    ----------
    t, u, du
        Times (n,), values and derivatives, (n, d).

    Returns
    -------
    array, (d,)
        The root mean square of the difference, but for a constant, over the standard deviation of
        `u`.
    """
    steps = np.diff(t)[:, None] * (du[1:] + du[:-1]) / 2
    back = np.concatenate([np.zeros((1, u.shape[1])), np.cumsum(steps, axis=0)])
    missed, size = np.std(back - u, axis=0), np.std(u, axis=0)
    return np.asarray(np.divide(missed, size, out=np.zeros_like(missed), where=size > 0))


def turning_points(u: Array, least: float) -> list[int]:
    """Find where a curve turns, (n,), by at least so much on both sides; the ends are none.

    Examples
    --------
    >>> turning_points(np.array([0.0, 2.0, 1.9, 3.0, 0.0, 5.0]), least=1.0)
    [3, 4]
    """
    low = high = 0
    rising: bool | None = None
    points = []
    for i, value in enumerate(u):
        if value > u[high]:
            high = i
        if value < u[low]:
            low = i
        if rising is not False and u[high] - value >= least:
            if rising:
                points.append(high)
            rising, low, high = False, i, i
        elif rising is not True and value - u[low] >= least:
            if rising is False:
                points.append(low)
            rising, low, high = True, i, i
    return points


def samples_per_oscillation(curves: Sequence[Array], noise: float = 0.0) -> float | None:
    """Return how many samples the fastest oscillation has.

    Parameters
    ----------
    curves
        Curves whose noise was taken out, (n,) each, of one quantity.
    noise
        The standard deviation that the noise had.

    Returns
    -------
    float
        Twice the samples between two turning points, of the fastest tenth of such pairs; None
        where nothing goes to and fro.
    """
    extent = max(float(np.max(one)) for one in curves) - min(float(np.min(one)) for one in curves)
    least = max(_SWING * extent, _SIGNAL * noise)
    if least <= 0:
        return None
    turns = [turning_points(one, least) for one in curves]
    halves = [after - before for each in turns for before, after in pairwise(each)]
    return 2.0 * float(np.percentile(halves, _FAST)) if halves else None


def near_noise(x: Array, y: Array) -> float | None:
    """Estimate the variance of the noise in the target of a table.

    The Gamma test: half the mean squared difference of the targets of neighbours, extrapolated
    to neighbours at no distance (Stefánsson, Končar, Jones, Neural Computing & Applications 5, 131
    (1997), equations 8 to 10).

    Parameters
    ----------
    x
        The inputs, (n, d); columns of whatever sizes.
    y
        The target, (n,).

    Returns
    -------
    float
        The variance; None for fewer than `FEWEST_ROWS` rows.
    """
    if len(y) < FEWEST_ROWS:
        return None
    sizes = np.std(x, axis=0)
    scaled = x[:, sizes > 0] / sizes[sizes > 0]
    if not scaled.size:
        return float(np.var(y))
    near = min(_NEAR, len(y) // 3)
    from scipy.spatial import KDTree  # noqa: PLC0415 - takes a moment to load

    distances, neighbours = KDTree(scaled).query(scaled, k=near + 1)
    delta = np.mean(distances[:, 1:] ** 2, axis=0)
    gamma = np.mean((y[neighbours[:, 1:]] - y[:, None]) ** 2, axis=0) / 2
    spread = delta - delta.mean()
    if float(spread @ spread) <= 0:
        return float(gamma.mean())
    slope = max(float(spread @ gamma) / float(spread @ spread), 0.0)
    return float(max(gamma.mean() - slope * delta.mean(), 0.0))
