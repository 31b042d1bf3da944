"""Whether an answer follows a trajectory when it is integrated."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from mdbench.datatypes.ode.simulation import (
    MAX_EVALUATIONS,
    Ending,
    Frame,
    simulate,
)
from mdbench.datatypes.ode.systems import SOLVER
from mdbench.metrics.spec import ALL_SAMPLES, PARTLY

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from mdbench.data.smoothing import Smoothed
    from mdbench.data.trajectory import (
        Trajectory,
    )
    from mdbench.datatypes.ode.datasets import (
        OdeDataset,
    )
    from mdbench.datatypes.ode.simulation import Simulation

    Array = NDArray[np.float64]

FOLLOWED = 0.9
"""A trajectory with a larger R2 is followed: the score of ODEFormer."""

AWAY = 0.7
"""Half of how far two courses with the same deviation are apart that have nothing in common."""
STAYS = 0.8
"""A solution that leaves before the test, the last fifth of the samples, is marked."""
_NEAR = 1e-3
"""The least distance of another start, in deviations of a state; it is larger with more noise."""


def integrate_along(
    series: Trajectory,
    equations: Sequence[str],
    evaluations: int = MAX_EVALUATIONS,
    *,
    scaled: bool,
    solver: Mapping[str, Any] = SOLVER,
) -> Simulation:
    """Integrate equations along one trajectory, from its first state."""
    return simulate(
        equations,
        series.t,
        series.u,
        evaluations,
        inputs=series.inputs,
        held=series.held,
        frame=Frame.of(series.t, series.u) if scaled else None,
        solver=solver,
    )


def time_with_data(
    dataset: OdeDataset, curves: Sequence[Smoothed], equations: Sequence[str]
) -> tuple[float | None, str, str]:
    """Return how long solutions stay with the data, by samples, and the word and text of a note.

    It starts at the first sample as it is smoothed, or as it was measured, whichever lasts longer.
    Where a solution goes on and those from nearly equal starts part as well, as those of chaotic
    systems do, to leave the data is no fault of the equations.  A share that is not known, because
    a simulation was killed, is None.
    """
    pieces = dataset.given.pieces
    deviations = np.std(dataset.given.u, axis=0)
    deviations = np.where(deviations > 0, deviations, np.inf)
    left_at: list[float] = []
    stayed = excused = 0
    for series, curve in zip(pieces, curves, strict=True):
        count, course, start = 0, None, curve.u
        for begin in (curve.u, series.u):
            way = integrate_along(replace(series, u=begin), equations, scaled=True)
            if way.ended is Ending.LATE:
                return None, ALL_SAMPLES, ""
            together = _samples_together(way.states, curve.u, deviations)
            if course is None or together > count:
                count, course, start = together, way, begin
            if count == len(series.t):
                break
        stayed += count
        if course is None or count == len(series.t):
            continue
        left_at.append(float(series.t[count]))
        off = np.maximum(np.sqrt(curve.variances), _NEAR * np.std(series.u, axis=0))
        other = integrate_along(replace(series, u=start + off), equations, scaled=True)
        apart = _samples_together(other.states, course.states, deviations)
        if course.ended is Ending.WHOLE and apart < min(2 * count, len(other.states)):
            excused += len(series.t) - count
    n = len(dataset.given.t)
    share = stayed / n
    if not left_at:
        return share, ALL_SAMPLES, "the solution from the first sample stays with the data"
    of = f" in {len(left_at)} of {len(pieces)} trajectories, first" if len(pieces) > 1 else ""
    text = f"the solution from the first sample leaves the data{of} at t = {min(left_at):.6g}"
    if excused:
        text += ", as do solutions from nearly the same start"
    return share, PARTLY if stayed + excused < STAYS * n else ALL_SAMPLES, text


def _samples_together(states: Array, others: Array, deviations: Array) -> int:
    """Return for how many samples two courses (n, d) are together."""
    n = min(len(states), len(others))
    with np.errstate(all="ignore"):
        off = (states[:n] - others[:n]) / deviations
        away = np.flatnonzero(~(np.sqrt(np.mean(off**2, axis=1)) <= AWAY))
    return int(away[0]) if len(away) else n


def quality(way: Simulation) -> float:
    """Return a key to order simulations; one that was killed may be any below `FOLLOWED`."""
    if way.ended is Ending.LATE:
        return FOLLOWED
    return -np.inf if way.r2 is None else way.r2
