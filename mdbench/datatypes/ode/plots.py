"""Pictures of trajectories: the measured ones, and those of discovered equations."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from eqverdict.grammar import check
from mdbench.data.trajectory import split_chronologically
from mdbench.datatypes.ode.simulation import Frame, simulate
from mdbench.drawing.svg import COLOURS, LEFT, MARKERS, Axis, Plot, dashes, marker
from mdbench.errors import MdbenchError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from mdbench.data.trajectory import Trajectory

    Array = NDArray[np.float64]

MOST_POINTS = 160
"""Points of a line in a picture."""
MARGIN = 0.15
"""Above and below the measured states, as a share of their range."""


MARKS = 4
"""Signs of a method along a line."""
PLANE = 2
"""States of a system that has a phase plane."""
MOST_LETTERS = 40
"""The most letters of the text at an axis."""


class AnswerTrajectories(NamedTuple):
    """The trajectories of an answer.

    Attributes
    ----------
    number
        Sets the colour and the dashes.
    caption
        How well, in words.
    ways
        The states from the first time of the test window on, and from the first time of the
        second trajectory on, each of shape ``(m, dim)``; None where there are none.
    """

    method: str
    number: int
    caption: str
    ways: Sequence[Array | None]


def follow(
    equations: Sequence[str],
    seen: Trajectory,
    unseen: Trajectory | None,
    evaluations: int,
    *,
    holdout: str = "times",
    scaled: bool = False,
) -> tuple[list[Array | None], int]:
    """Integrate equations along both trajectories, as their scores do and as far as they come.

    Parameters
    ----------
    equations
        Right-hand sides in ``u0``, ``u1``, ..., which need not have been read before.
    seen, unseen
        The trajectory of the data, of which the test window is followed, and another one.
    evaluations
        How often the right-hand sides may be evaluated for all of it.

    Returns
    -------
    ways : list of NDArray or None
        As `AnswerTrajectories` has them.
    used : int
        How often they were evaluated.
    """
    first = split_chronologically(len(seen.t)).test.start if holdout == "times" else 0
    starts = [(seen, first)]
    if unseen is not None:
        starts.append((unseen, 0))
    try:
        for text in equations:
            check(text)
    except MdbenchError:
        return [None for _ in starts], 0
    ways: list[Array | None] = []
    used = 0
    for series, first in starts:
        if used >= evaluations:
            ways.append(None)
            continue
        rest = series.rows(slice(first, None))
        frame = Frame.of(rest.t, rest.u) if scaled else None
        done = simulate(equations, rest.t, rest.u, inputs=rest.inputs, held=rest.held, frame=frame)
        used += done.evaluations
        ways.append(done.states if done.states.size else None)
    return ways, used


def trajectory_pictures(
    name: str,
    seen: Trajectory,
    unseen: Trajectory | None,
    answers: Sequence[AnswerTrajectories],
    *,
    titles: Sequence[str] = (),
    measured: bool = False,
    first: int | None = None,
) -> str:
    """Draw the states over time, and the trajectories of answers.

    Parameters
    ----------
    name
        The system.
    seen
        The trajectory that the data are taken from.
    unseen
        That from the second initial condition, if there is one.
    answers
        The trajectories of answers.
    titles
        Of the time and of each state, where they have names of their own.
    measured
        Whether the states were measured, and the true ones are not known.
    first
        The first sample of the test; None for that of the usual split.

    Returns
    -------
    str
        HTML: one figure with one or two pictures.
    """
    if first is None:
        first = split_chronologically(len(seen.t)).test.start
    caption = "Measurements in grey" if measured else "True trajectories in grey"
    if answers:
        of = "the equations" if measured else "the equations found on clean data"
        caption += f", in colour what {of} make of them, integrated from "
        caption += "the first state of the test window"
    if unseen is not None:
        caption += " (first picture) and from " if answers else "; the second is from "
        caption += "an initial condition that no method is given"
        caption += " (second picture)" * bool(answers)
    several = seen.u.shape[1] > 1
    plane = seen.u.shape[1] == PLANE
    caption += "; the last picture is the phase plane" * plane
    keys = [
        f'<span data-m="{escape(answer.method)}">'
        f'<svg class="m{answer.number % COLOURS} stroke" viewBox="0 0 34 8" '
        f'aria-hidden="true"><path class="line"{_dashed(answer, several=several)} d="M1 4H33"/>'
        f"{marker(answer.number, 17, 4, 3.4)}</svg>"
        f"{escape(answer.method)}{f': {escape(answer.caption)}' if answer.caption else ''}</span>"
        for answer in answers
    ]
    keys = [f'<p class="legend">{"".join(keys)}</p>'] if keys else []
    keys += _states(titles[1:] or [f"u{i}" for i in range(seen.u.shape[1])])
    drawn = [_picture(f"Trajectory of {name}", seen, answers, 0, first=first, titles=titles)]
    if unseen is not None:
        title = f"Trajectory of {name} from the second initial condition"
        drawn.append(_picture(title, unseen, answers, 1, titles=titles))
    if plane:
        drawn.append(_phase_plane(name, seen, answers, first=first, titles=titles))
    return (
        f'<figure class="picture"><figcaption>{caption}.{"".join(keys)}</figcaption>'
        f'<div class="pair">{"".join(drawn)}</div></figure>'
    )


def _picture(
    title: str,
    measured: Trajectory,
    answers: Sequence[AnswerTrajectories],
    way: int,
    *,
    first: int = 0,
    titles: Sequence[str] = (),
) -> str:
    time, *names = titles or ("time", *(f"u{i}" for i in range(measured.u.shape[1])))
    t, u = measured.t, measured.u
    y = _axis(u)
    x = Axis([float(t[0]), float(t[-1])], log=False)
    x.high = float(t[-1])
    plot = Plot(title, x, y, (time, _shortened(names)))
    several = len(names) > 1
    if first:
        split = plot.at_x(float(t[first]))
        plot.parts.append(f'<path class="split" d="M{split:.1f} 14V284"/>')
        plot.text(split - 4, 25, "training", "end", "halo")
        plot.text(split + 4, 25, "test", "start", "halo")
    step = max(1, len(t) // MOST_POINTS)
    for i in range(u.shape[1]):
        path = _path(plot, t[::step], u[::step, i])
        plot.parts.append(f'<path class="measured"{_of_state(i)} d="{path}"/>')
    fine = max(1, (len(t) - first) // MOST_POINTS)
    for rank, answer in enumerate(answers):
        states = answer.ways[way]
        if states is None:
            continue
        times = t[first : first + len(states)]
        parts = [f'<g class="m{answer.number % COLOURS}" data-m="{escape(answer.method)}">']
        for i in range(states.shape[1]):
            dashed = _of_state(i) if several else _dashed(answer, several=False)
            if path := _path(plot, times[::fine], states[::fine, i]):
                parts.append(f'<path class="line thin"{dashed} d="{path}"/>')
            if several:
                parts += _marks(plot, answer.number, rank, times, states[:, i])
        plot.parts.append("".join([*parts, "</g>"]))
    taken: list[float] = []
    for i in np.argsort(-u[0]):  # from top to bottom, each below the last one's letters
        at = plot.at_y(float(u[0, i])) - 5
        at = max(at, taken[-1] + 13) if taken else max(at, 40.0)
        taken.append(at)
        plot.text(LEFT + 5, at, names[i], "start", "halo")
    return plot.render()


def _axis(values: Array) -> Axis:
    """Return the axis of measured states, with a margin."""
    low, high = float(values.min()), float(values.max())
    margin = MARGIN * (high - low) or 1.0
    axis = Axis([low - margin, high + margin], log=False)
    axis.low, axis.high = low - margin, high + margin
    return axis


def _phase_plane(
    name: str,
    measured: Trajectory,
    answers: Sequence[AnswerTrajectories],
    *,
    first: int,
    titles: Sequence[str],
) -> str:
    """Draw the second state over the first: the measured one, and those of answers."""
    x, y = titles[1:] or ("u0", "u1")
    plot = Plot(f"Phase plane of {name}", _axis(measured.u[:, 0]), _axis(measured.u[:, 1]), (x, y))
    step = max(1, len(measured.t) // MOST_POINTS)
    path = _path(plot, measured.u[::step, 0], measured.u[::step, 1])
    plot.parts.append(f'<path class="measured" d="{path}"/>')
    fine = max(1, (len(measured.t) - first) // MOST_POINTS)
    for answer in answers:
        states = answer.ways[0]
        if states is None:
            continue
        color, dashed = answer.number % COLOURS, _dashed(answer, several=False)
        path = _path(plot, states[::fine, 0], states[::fine, 1])
        start = marker(answer.number, plot.at_x(states[0, 0]), plot.at_y(states[0, 1]), 3.4)
        plot.parts.append(
            f'<g class="m{color}" data-m="{escape(answer.method)}">'
            f'<path class="line thin"{dashed} d="{path}"/>{start}</g>'
        )
    return plot.render()


def _dashed(one: AnswerTrajectories, *, several: bool) -> str:
    """Return the dashes of a method's line; where there are several states these have them."""
    dash = "" if several else dashes(one.number)
    return f' stroke-dasharray="{dash}"' if dash else ""


def _of_state(number: int) -> str:
    dash = dashes(number % MARKERS)
    return f' stroke-dasharray="{dash}"' if dash else ""


def _states(names: Sequence[str]) -> list[str]:
    """Return which dashes a state's lines have, where there are several."""
    if len(names) == 1:
        return []
    keys = "".join(
        '<span><svg class="stroke" viewBox="0 0 34 8" aria-hidden="true">'
        f'<path class="axis"{_of_state(i)} d="M1 4H33"/></svg>{escape(name)}</span>'
        for i, name in enumerate(names)
    )
    return [f'<p class="legend">{keys}</p>']


def _shortened(names: Sequence[str]) -> str:
    """Return the text at the axis: the names of the states, as far as there is space."""
    joined = ", ".join(names)
    return joined if len(joined) <= MOST_LETTERS else "states"


def _marks(plot: Plot, number: int, rank: int, times: Array, values: Array) -> list[str]:
    """Draw a method's sign a few times along a line, each method's at other times."""
    places = np.linspace(0, len(times), MARKS, endpoint=False) + len(times) * (rank + 1) / (
        4 * MARKS
    )
    inside = [int(i) for i in places if plot.y.low <= values[int(i)] <= plot.y.high]
    return [
        marker(number, plot.at_x(float(times[i])), plot.at_y(float(values[i])), 3.4) for i in inside
    ]


def _path(plot: Plot, times: Array, values: Array) -> str:
    """Join points by lines, as far as they lie inside the picture."""
    x, y = plot.x, plot.y
    parts: list[str] = []
    inside = False
    within = (y.low <= values) & (values <= y.high)
    if isinstance(x, Axis):
        within &= (x.low <= times) & (times <= x.high)
    for i, (t, v, now) in enumerate(zip(times, values, within, strict=True)):
        after = i + 1 < len(values) and within[i + 1]
        if now or inside or after:  # with one point outside, so that a line leaves the picture
            joined = parts and (inside or now)
            parts.append(f"{'L' if joined else 'M'}{plot.at_x(float(t)):.1f} {plot.at_y(v):.1f}")
        inside = now
    return "".join(parts) if len(parts) > 1 else ""
