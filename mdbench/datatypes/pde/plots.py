"""Pictures of fields, and of what equations miss of their change in time."""

from __future__ import annotations

from dataclasses import replace
from html import escape
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from eqverdict import parse
from eqverdict.fidelity.verdict import used
from mdbench.data.derivatives import time_derivative
from mdbench.data.field import FieldColumns, feature_names
from mdbench.data.trajectory import split_chronologically
from mdbench.drawing.svg import LEVELS, UNDEFINED, Axis, levels, png_uri, ticks
from mdbench.errors import MdbenchError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from mdbench.data.field import Field

    Array = NDArray[np.float64]

MOST_PIXELS = 128
"""Nodes along an axis that are drawn; of more, some at even distances."""
SMALLEST, LARGEST = 1e-6, 1.0
"""Ends of the scale of errors, as shares of the true change."""
TIMES_SHOWN = 3
LINE_SIZE, PLANE_SIZE, LEAST_SIZE = (330, 190), 170, 48
"""Pixels of a space-time picture, and of the longer and the shorter side of a plane."""
LEFT, TOP, RIGHT, BOTTOM = 46, 20, 14, 36
AXES_OF_PLANE = 2
MOST_DIGITS = 9
ROUND_OFF = 1e-9
"""Ends of a scale that are this small compared with the other one are written as 0."""
PLAIN = 999.5
"""Larger numbers get four digits at least, so that they need no power of ten."""


class _Side(NamedTuple):
    """One axis of a picture: its name and the nodes that are drawn."""

    name: str
    nodes: Array

    def ends(self) -> tuple[float, float]:
        """Return the outer ends of the first and the last pixel."""
        half = (self.nodes[-1] - self.nodes[0]) / (len(self.nodes) - 1) / 2
        return float(self.nodes[0] - half), float(self.nodes[-1] + half)


def field_pictures(
    field: Field,
    answers: Sequence[tuple[str, str, Sequence[str]]],
    states: Sequence[int] | None = None,
) -> str:
    """Draw a clean field, and where equations differ from its change in time.

    A field in one dimension is drawn over space and time, one in two at three times, and of one
    in three dimensions the plane in the middle.

    Parameters
    ----------
    field
        The field without noise.
    answers
        Equations to compare with it: who gave them, a few words, and the right-hand sides.
    states
        Whose right-hand sides they are, by number; all states' by default.

    Returns
    -------
    str
        HTML: one figure, and another one where there are equations.
    """
    html = _space_time(field) if len(field.grid) == 1 else _planes(field)
    drawn = [_error_panel(field, *each, states) for each in answers]
    panels = "".join(panel for panel in drawn if panel)
    if panels:
        where = "in the test window"
        if len(field.grid) > 1:
            where = f"at t = {_number(field.t[_moment(field)])}, in the test window"
        caption = f"What the right-hand sides miss of the clean field’s change in time {where}, as "
        caption += "a share of its root mean square. The true equations are evaluated on the same "
        caption += "derivatives in space: what they miss is the error of these. Numbers are "
        caption += "residuals, over what is scored of the test window."
        bar = _bar("error", "≤ 10<sup>−6</sup>", "≥ 1")
        html += f'<figure class="field"><figcaption>{caption}</figcaption>{bar}'
        html += f'<div class="panels">{panels}</div></figure>'
    return html


def errors(
    field: Field,
    equations: Sequence[str],
    times: slice,
    states: Sequence[int] | None = None,
) -> Array | None:
    """Return where equations miss the change in time.

    Parameters
    ----------
    field
        The field without noise; where it has no derivatives in time, they are finite differences.
    equations
        A right-hand side for each of the states asked for, in the features of a field.
    times
        Which times to look at.
    states
        Those asked for, by number; all by default.

    Returns
    -------
    NDArray
        At each node and time the root mean square over the states of the error, each over the
        root mean square of its true derivative at these times; states that do not change are left
        out.  None where an equation cannot be read or uses another feature.
    """
    explicit = (*field.grid, "t")
    change = field.du
    if change is None:
        u = np.moveaxis(field.u, -2, 0)
        change = np.moveaxis(time_derivative(field.t, u), 0, -2)
    change = change[..., times, :]
    if states is not None:
        change = change[..., list(states)]
    cut = replace(field, t=field.t[times], u=np.ascontiguousarray(field.u[..., times, :]), du=None)
    columns = FieldColumns(cut, explicit)
    total, counted = np.zeros(change.shape[:-1]), 0
    with np.errstate(all="ignore"):
        for i, text in enumerate(equations):
            try:
                needed = {name: columns[name] for name in used(text, columns)}
                values = parse(text, feature_names(cut, explicit)).evaluate(needed)
            except (MdbenchError, KeyError):
                return None
            size = np.mean(np.square(change[..., i]))
            if size > 0:
                total += np.square(values - change[..., i]) / size
                counted += 1
        return np.sqrt(total / counted) if counted else None


def _space_time(field: Field) -> str:
    across, space = _picked(len(field.t)), _picked(len(field.grid["x"]))
    sides = _Side("t", field.t[across]), _Side("x", field.grid["x"][space])
    test = float(field.t[split_chronologically(len(field.t)).test.start])
    states = []
    for i in range(field.dim):
        u = field.u[..., i]
        low, high = float(u.min()), float(u.max())
        numbers = levels(u[np.ix_(space, across)][::-1], low, high)
        panel = _panel(numbers, sides, LINE_SIZE, f"u{i} over time and space", mark=test)
        states.append(_state(_scale(i, low, high), panel))
    caption = "The field without noise; the test window begins at the line."
    return _figure(caption, states)


def _planes(field: Field) -> str:
    chosen, sides = _drawn_nodes(field)
    last = len(field.t) - 1
    moments = list(dict.fromkeys((0, last // (TIMES_SHOWN - 1), last)))
    states = []
    for i in range(field.dim):
        planes = [_plane(field.u[..., moment, i])[chosen] for moment in moments]
        low, high = float(min(map(np.min, planes))), float(max(map(np.max, planes)))
        panels = [
            _panel(
                levels(plane.T[::-1], low, high),
                sides,
                _size(*sides),
                f"u{i} at t = {_number(field.t[moment])}",
            )
            for plane, moment in zip(planes, moments, strict=True)
        ]
        states.append(_state(_scale(i, low, high), *panels))
    return _figure(f"The field without noise{_where(field)}.", states)


def _error_panel(
    field: Field, who: str, words: str, equations: Sequence[str], states: Sequence[int] | None
) -> str:
    rows = split_chronologically(len(field.t)).test
    line = len(field.grid) == 1
    moment = _moment(field)
    missed = errors(field, equations, rows if line else slice(moment, moment + 1), states)
    if missed is None:
        return ""
    if line:
        across, space = _picked(missed.shape[1]), _picked(missed.shape[0])
        sides = _Side("t", field.t[rows][across]), _Side("x", field.grid["x"][space])
        shown, size = missed[np.ix_(space, across)][::-1], (PLANE_SIZE, LINE_SIZE[1])
    else:
        chosen, sides = _drawn_nodes(field)
        shown = _plane(missed[..., 0])[chosen].T[::-1]
        size = _size(*sides)
    with np.errstate(all="ignore"):
        scaled = np.log10(np.where(shown == 0, SMALLEST, shown))
    numbers = levels(scaled, np.log10(SMALLEST), np.log10(LARGEST))
    return _panel(numbers, sides, size, f"{who}: {words}")


def _drawn_nodes(field: Field) -> tuple[tuple[NDArray[np.intp], ...], tuple[_Side, _Side]]:
    """Choose the nodes of a plane: an index of arrays like it, and its two sides."""
    (x, x_nodes), (y, y_nodes) = list(field.grid.items())[:AXES_OF_PLANE]
    across, up = _picked(len(x_nodes)), _picked(len(y_nodes))
    return np.ix_(across, up), (_Side(x, x_nodes[across]), _Side(y, y_nodes[up]))


def _moment(field: Field) -> int:
    """Choose the middle of the test window."""
    rows = split_chronologically(len(field.t)).test
    return int((rows.start + len(field.t) - 1) // 2)


def _plane(values: Array) -> Array:
    """Return the plane in the middle of what has three dimensions."""
    return values[..., values.shape[-1] // 2] if values.ndim > AXES_OF_PLANE else values


def _where(field: Field) -> str:
    if len(field.grid) <= AXES_OF_PLANE:
        return ""
    nodes = field.grid["z"]
    return f", in the plane z = {_number(nodes[len(nodes) // 2])}"


def _picked(n: int) -> NDArray[np.intp]:
    return np.unique(np.linspace(0, n - 1, min(n, MOST_PIXELS)).round().astype(np.intp))


def _size(x: _Side, y: _Side) -> tuple[int, int]:
    """Return a plane its true shape, as far as it stays readable."""
    wide, tall = (float(side.nodes[-1] - side.nodes[0]) for side in (x, y))
    scale = PLANE_SIZE / max(wide, tall)
    return max(LEAST_SIZE, round(wide * scale)), max(LEAST_SIZE, round(tall * scale))


def _figure(caption: str, states: Sequence[str]) -> str:
    inner = "".join(states)
    return (
        f'<figure class="field"><figcaption>{caption}</figcaption>'
        f'<div class="states">{inner}</div></figure>'
    )


def _state(bar: str, *panels: str) -> str:
    return f'<div class="state">{bar}<div class="panels">{"".join(panels)}</div></div>'


def _scale(state: int, low: float, high: float) -> str:
    small = ROUND_OFF * max(abs(low), abs(high))
    ends = [0.0 if abs(value) < small else value for value in (low, high)]
    # As many digits as make them differ.
    many = (tuple(_power(value, digits) for value in ends) for digits in range(3, MOST_DIGITS + 1))
    shown = next((each for each in many if len({*each}) > 1), ("", f"{_power(high)} everywhere"))
    return _bar(f"u{state}", *shown)


def _bar(name: str, low: str, high: str) -> str:
    ramp = png_uri(np.arange(LEVELS, dtype=np.uint8)[None])
    return (
        f'<p class="scale"><b>{name}</b> <span>{low}</span> '
        f'<img src="{ramp}" alt="from dark to light"> <span>{high}</span></p>'
    )


def _panel(
    numbers: NDArray[np.uint8],
    sides: tuple[_Side, _Side],
    size: tuple[int, int],
    title: str,
    *,
    mark: float | None = None,
) -> str:
    """Draw numbers of colours in a frame with two axes; `mark` is a line across at some x."""
    wide, tall = size
    axes = []
    for side in sides:
        low, high = side.ends()
        axis = Axis([low, high], log=False)
        axis.low, axis.high = low, high
        axes.append(axis)
    x, y = axes
    right, bottom = LEFT + wide, TOP + tall
    parts = [
        f'<text x="{LEFT}" y="13">{escape(title)}</text>',
        f'<image x="{LEFT}" y="{TOP}" width="{wide}" height="{tall}" preserveAspectRatio="none"',
        f' href="{png_uri(numbers)}"/>',
    ]
    if UNDEFINED in numbers:
        parts.append(f"<title>{escape(title)}; grey where it is undefined</title>")
    for value in _ticks(x, wide):
        at = LEFT + wide * x.place(value)
        parts.append(f'<path class="axis" d="M{at:.1f} {bottom}v4"/>')
        parts.append(
            f'<text x="{at:.1f}" y="{bottom + 16}" text-anchor="middle">{x.label(value)}</text>'
        )
    for value in _ticks(y, tall):
        at = bottom - tall * y.place(value)
        parts.append(f'<path class="axis" d="M{LEFT} {at:.1f}h-4"/>')
        parts.append(
            f'<text x="{LEFT - 7}" y="{at + 4:.1f}" text-anchor="end">{y.label(value)}</text>'
        )
    if mark is not None:
        at = LEFT + wide * x.place(mark)
        parts.append(f'<path class="mark" d="M{at:.1f} {TOP}V{bottom}"/>')
    middle, level = LEFT + wide / 2, bottom + 31
    parts.append(f'<text class="label" x="{middle}" y="{level}" text-anchor="middle">')
    parts.append(f"{sides[0].name}</text>")
    parts.append(f'<text class="label" x="8" y="{TOP + tall / 2 + 4}">{sides[1].name}</text>')
    width, height = right + RIGHT, bottom + BOTTOM
    return (
        f'<svg class="panel" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
        f'role="img">{"".join(parts)}</svg>'
    )


def _ticks(axis: Axis, pixels: int) -> list[float]:
    """Choose at least two round values, and more where there is space."""
    numbers: list[float] = []
    for most in range(max(2, pixels // 50), 9):
        numbers = ticks(axis.low, axis.high, log=False, most=most)
        if len(numbers) > 1:
            break
    return numbers


def _number(value: float, digits: int = 3) -> str:
    return f"{value:.{max(4, digits) if abs(value) > PLAIN else digits}g}".replace("-", "−")


def _power(value: float, digits: int = 3) -> str:
    """Write a number as HTML, with powers of ten as such."""
    mantissa, e, power = _number(value, digits).partition("e")
    if not e:
        return mantissa
    sign = "−" * power.startswith("−")
    return f"{mantissa}·10<sup>{sign}{power.lstrip('+−0')}</sup>"
