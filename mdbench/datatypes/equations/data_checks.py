"""What is to be known of somebody's own data before a method is tried on them, in a few lines."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

import numpy as np

from mdbench.data.quality import (
    between_halves,
    integrated_back,
    near_noise,
    samples_per_oscillation,
    spacing,
)
from mdbench.data.smoothing import FEWEST_SAMPLES, smooth, smooth_in_time
from mdbench.drawing.numbers import counted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from mdbench.data.field import Field
    from mdbench.data.trajectory import Trajectory
    from mdbench.datatypes.base import Dataset
    from mdbench.datatypes.real.problem import Measurements

    Array = NDArray[np.float64]

__all__ = ["Advising", "of_field", "of_table", "of_trajectory"]

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
_NOTHING = 1e-6
"""Noise below this share of the data's size is none to be seen."""


@runtime_checkable
class Advising(Protocol):
    """A data type that has something to say of data before a method is tried on them."""

    def advice(self, dataset: Dataset) -> Sequence[str]:
        """Say it, a line each, the first of them what there is."""


def of_trajectory(dataset: Any) -> list[str]:
    """Say what trajectories, `given`, are like: spacing, noise, how well derivatives are known."""
    given: Trajectory = dataset.given
    pieces = given.pieces
    names = [dataset.names.get(f"u{i}", f"u{i}") for i in range(given.u.shape[1])]
    unit = dataset.measured_in.get("t", "")
    lengths = sorted({len(one.t) for one in pieces})
    what = f"{lengths[0]:,} samples" if len(lengths) == 1 else f"{lengths[0]:,} to {lengths[-1]:,}"
    many = f"{len(pieces)} trajectories of {what}" if len(pieces) > 1 else what
    first, last = float(given.t.min()), float(given.t.max())
    when = f"time {first:g} to {last:g}{unit and f' {unit}'}"
    lines = [f"{many} of {', '.join(names)}; {when}, {_steps([one.t for one in pieces])}"]
    longest = max(pieces, key=lambda one: len(one.t))
    t, u = longest.t[:LONGEST], longest.u[:LONGEST]
    if len(t) < FEWEST_SAMPLES:
        return lines
    curves = smooth(t, u)
    sd = np.sqrt(curves.variances)
    lines.append(_noise(names, sd, np.sqrt(np.mean(u**2, axis=0))))
    lines += [
        f"{name}: {remark}" for name, remark in zip(names, curves.remarks, strict=True) if remark
    ]
    moving = [i for i, one in enumerate(np.ptp(u, axis=0)) if one > _STILL * np.abs(u[:, i]).max()]
    if len(moving) < len(names):
        still = ", ".join(name for i, name in enumerate(names) if i not in moving)
        lines.append(f"without change: {still}")
    if not moving:
        return lines
    apart = between_halves(t, u[:, moving])
    back = integrated_back(t, curves.u[:, moving], curves.du[:, moving])
    told = f"integrated back they miss the smoothed states by {_share(float(back.max()))}"
    rough = False
    if apart is not None:
        each = ", ".join(
            f"{names[i]} {_share(float(one))}" for i, one in zip(moving, apart, strict=True)
        )
        told = f"uncertain by {each} (every other sample gives others by so much); {told}"
        rough = bool((apart > ROUGH).any())
    lines.append(f"derivatives: {told}" + "; too rough to trust" * rough)
    found = [samples_per_oscillation([curves.u[:, i]], float(sd[i])) for i in moving]
    lines.append(_resolved("sample", "oscillation", found))
    return lines


def of_field(dataset: Any) -> list[str]:
    """Say what a field, `given`, is like along time and along each axis."""
    given: Field = dataset.given
    names = [dataset.names.get(f"u{i}", f"u{i}") for i in range(given.dim)]
    size = " x ".join(f"{len(nodes):,}" for nodes in (*given.grid.values(), given.t))
    axes = [
        f"{axis} {float(nodes[0]):g} to {float(nodes[-1]):g}, {_steps([nodes])}"
        for axis, nodes in {**given.grid, "t": given.t}.items()
    ]
    lines = [f"{size} samples of {', '.join(names)}; {'; '.join(axes)}"]
    if len(given.t) < FEWEST_SAMPLES:
        return lines
    time_axis = given.u.ndim - 2
    smoothed = [smooth_in_time(given.u[..., i], given.t, time_axis) for i in range(given.dim)]
    sd = np.sqrt([one.noise for one in smoothed])
    flat = given.u.reshape(-1, given.dim)
    lines.append(_noise(names, sd, np.sqrt(np.mean(flat**2, axis=0))))
    lines += [
        f"{name}: {one.remark}" for name, one in zip(names, smoothed, strict=True) if one.remark
    ]
    back = 0.0
    for one in smoothed:
        u, du = (
            np.moveaxis(each, time_axis, 0).reshape(len(given.t), -1) for each in (one.u, one.du)
        )
        picked = np.linspace(0, u.shape[1] - 1, MOST_LINES).astype(int)
        extent = max(float(np.std(u[:, picked])), _STILL * float(np.abs(u).max()))
        moving = picked[np.std(u[:, picked], axis=0) > ROUGH * extent]
        if len(moving):
            back = max(back, float(integrated_back(given.t, u[:, moving], du[:, moving]).max()))
    lines.append(
        "derivatives in time: integrated back they miss the smoothed states by at most "
        f"{_share(back)}"
    )
    for axis, place in {**{name: i for i, name in enumerate(given.grid)}, "t": time_axis}.items():
        found = []
        for one, noise in zip(smoothed, sd, strict=True):
            along = np.moveaxis(one.u, place, -1).reshape(-1, one.u.shape[place])
            picked = along[np.linspace(0, len(along) - 1, MOST_LINES).astype(int)]
            found.append(samples_per_oscillation(list(picked), float(noise)))
        lines.append(_resolved("sample", f"wave along {axis}", found))
    return lines


def of_table(dataset: Any) -> list[str]:
    """Say what a `table` is like: its columns, rows that come twice, and the target's noise."""
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
        lines.append(f"{', '.join(still)}: the same in all rows, so that nothing can be told of it")
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
    found = spacing(series)
    if found.regular:
        return f"spacing {found.median:.4g} (regular)"
    return (
        f"spacing {found.least:.4g} to {found.largest:.4g} (irregular, median {found.median:.4g})"
    )


def _noise(names: Sequence[str], sd: Array, size: Array) -> str:
    told = []
    for name, noise, whole in zip(names, map(float, sd), map(float, size), strict=True):
        share = noise / whole if whole > 0 else 0.0
        if share <= _NOTHING:
            told.append(f"{name} none to be seen")
        else:
            told.append(f"{name} {_share(share)} of its size ({-20 * math.log10(share):.0f} dB)")
    return f"noise, estimated: {', '.join(told)}"


def _resolved(sample: str, wave: str, found: Sequence[float | None]) -> str:
    counts = [one for one in found if one is not None]
    if not counts:
        return f"no whole {wave} to be seen"
    few = min(counts)
    verdict = f": few; {WANTED} or more are wanted" if few < WANTED else ""
    return f"{few:.0f} {sample}s per fastest {wave}{verdict}"


def _share(value: float) -> str:
    return f"{100 * value:.2g} %" if math.isfinite(value) else "all of it"
