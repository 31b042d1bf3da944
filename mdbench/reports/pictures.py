"""Pictures of trajectories: what was measured, and what discovered equations make of it."""

from __future__ import annotations

import math
import re
import time
from typing import TYPE_CHECKING

import numpy as np
from scipy.integrate import solve_ivp

from mdbench.data.npz import read_npz
from mdbench.data.splits import chronological
from mdbench.errors import MdbenchError
from mdbench.expressions.grammar import check, read
from mdbench.expressions.tree import value
from mdbench.reports.svg import LEFT, Axis, Plot

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from mdbench.reports.results import Result

    Array = NDArray[np.float64]

__all__ = ["Pictures", "clean_arrays", "simulate", "trajectory_picture"]

MOST_POINTS = 160
"""Points of a line in a picture."""
SECONDS = 0.5
"""What one simulation may take."""


MOST_DRAWN = 3
"""Methods in a picture: those with the smallest errors on clean data."""
ALL_SECONDS = 8.0
"""What all simulations of a page may take together; pictures after that have none."""


class _LateError(Exception):
    """The time for a simulation is up."""


class Pictures:
    """Draws systems whose arrays are in the cache.

    Parameters
    ----------
    arrays
        The folder of all caches, one folder a data type.
    """

    def __init__(self, arrays: Path) -> None:
        self.arrays = arrays
        self.left = ALL_SECONDS

    def draw(
        self, data_type: str, dataset: str, results: Sequence[Result], numbers: Mapping[str, int]
    ) -> tuple[str, list[str]]:
        """Draw one system; give the SVG, empty where there are no arrays, and who is in it."""
        found = clean_arrays(self.arrays / data_type, dataset) if data_type == "ode" else None
        if found is None or results[0].system != dataset:
            return "", []
        t, u = found
        test = chronological(len(t)).test
        best: dict[str, Result] = {}
        for one in results:
            if one.snr_db is None and one.answered and one.equations:
                best.setdefault(one.algorithm, one)
        chosen = sorted(best.values(), key=lambda one: (one.verdict != "identified", one.nmse))
        simulated: dict[str, Array] = {}
        for one in chosen[:MOST_DRAWN]:
            started = time.monotonic()
            if self.left > 0 and len(one.equations or ()) == u.shape[1]:
                states = simulate(one.equations or (), t[test], u[test.start])
                if states is not None and len(states) > 1:
                    simulated[one.algorithm] = states
            self.left -= time.monotonic() - started
        return trajectory_picture(dataset, t, u, simulated, numbers), list(simulated)


def clean_arrays(folder: Path, name: str) -> tuple[Array, Array] | None:
    """Read a system's clean trajectory where it lies in the cache; make nothing.

    Parameters
    ----------
    folder
        The cache of the data type.
    name
        The dataset.

    Returns
    -------
    tuple
        Times, shape ``(n,)``, and states, shape ``(n, dim)``; None where there are none.
    """
    pattern = re.compile(re.escape(name) + r"-[0-9a-f]{16}\.npz")
    if not folder.is_dir():
        return None
    found = [path for path in folder.iterdir() if pattern.fullmatch(path.name)]
    if not found:
        return None
    try:
        series = read_npz(max(found, key=lambda path: path.stat().st_mtime))
    except (MdbenchError, OSError):
        return None
    return series.t, series.u


def simulate(equations: Sequence[str], t: Array, start: Array) -> Array | None:
    """Integrate equations from a state.

    Returns
    -------
    NDArray
        The states at the times that were reached, shape ``(m, dim)``, m at most ``len(t)``:
        fewer where the solution blows up, or takes longer than `SECONDS`.  None where the
        equations cannot be read.
    """
    names = [f"u{i}" for i in range(len(start))]
    try:
        for text in equations:
            check(text)
        trees = [read(text, names) for text in equations]
    except MdbenchError:
        return None
    end = time.monotonic() + SECONDS
    bound = 1e3 * (float(np.abs(start).max()) + 1.0)

    def right_hand_side(_t: float, u: Array) -> list[float]:
        if time.monotonic() > end:
            raise _LateError
        columns = dict(zip(names, u, strict=True))
        return [float(value(tree, columns)) for tree in trees]

    def inside(_t: float, u: Array) -> float:
        size = float(np.abs(u).max())
        return bound - size if math.isfinite(size) else -1.0

    inside.terminal = True  # type: ignore[attr-defined]
    try:
        with np.errstate(all="ignore"):
            done = solve_ivp(
                right_hand_side,
                (t[0], t[-1]),
                start,
                method="RK45",
                t_eval=t,
                rtol=1e-6,
                events=inside,
            )
    except (_LateError, ValueError, FloatingPointError):
        return np.empty((0, len(start)))
    return np.asarray(done.y.T, np.float64)


def trajectory_picture(
    name: str, t: Array, u: Array, simulated: Mapping[str, Array], numbers: Mapping[str, int]
) -> str:
    """Draw the states over time, and from the test window on what methods make of the first state.

    Parameters
    ----------
    name
        The system.
    t, u
        Times and measured states, shapes ``(n,)`` and ``(n, dim)``.
    simulated
        By method the states from the first time of the test window on, shape ``(m, dim)``.
    numbers
        The number of each method, which sets its colour.
    """
    first = chronological(len(t)).test.start or 0
    low, high = float(u.min()), float(u.max())
    margin = 0.15 * (high - low) or 1.0
    y = Axis([low - margin, high + margin], log=False)
    y.low, y.high = low - margin, high + margin
    x = Axis([float(t[0]), float(t[-1])], log=False)
    x.high = float(t[-1])
    plot = Plot(f"Trajectory of {name}", x, y, ("time", "state"))
    split = plot.at_x(float(t[first]))
    plot.parts.append(f'<path class="split" d="M{split:.1f} 14V284"/>')
    plot.text(split - 4, 25, "training", "end")
    plot.text(split + 4, 25, "test", "start")
    step = max(1, len(t) // MOST_POINTS)
    for i in range(u.shape[1]):
        plot.parts.append(f'<path class="measured" d="{_path(plot, t[::step], u[::step, i])}"/>')
        plot.text(LEFT + 5, plot.at_y(float(u[0, i])) - 5, f"u{i}", "start", "halo")
    fine = max(1, (len(t) - first) // (MOST_POINTS // 2))
    for method, states in simulated.items():
        times = t[first : first + len(states)]
        for i in range(states.shape[1]):
            d = _path(plot, times[::fine], states[::fine, i])
            if d:
                plot.parts.append(
                    f'<g class="m{numbers[method] % 7}"><path class="line thin" d="{d}"/></g>'
                )
    return plot.render()


def _path(plot: Plot, times: Array, values: Array) -> str:
    points = [
        f"{plot.at_x(float(t)):.1f} {plot.at_y(float(v)):.1f}"
        for t, v in zip(times, values, strict=True)
        if math.isfinite(v)
    ]
    return "M" + "L".join(points) if len(points) > 1 else ""
