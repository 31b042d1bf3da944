"""Pictures of small tables: the rows, the accepted law, and the curves of answers."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from eqverdict import parse
from mdbench.drawing.svg import COLOURS, Axis, Plot, dashes, marker
from mdbench.errors import EquationError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from mdbench.datatypes.real.problem import Measurements

    Array = NDArray[np.float64]

POINTS = 200
"""Points of a line in a picture."""
_DECADES = 2.0
"""Inputs that span more are drawn on a logarithmic axis."""
_MARGIN = 0.15


class Curve(NamedTuple):
    """The answer of a method on a table.

    Attributes
    ----------
    number
        Sets the colour and the dashes.
    equation
        In the columns' names; it need not have been read before.
    """

    method: str
    number: int
    equation: str


def table_pictures(table: Measurements, law: str | None, curves: Sequence[Curve]) -> str:
    """Draw rows with the reference and the answers, and next to them the residuals.

    With one input the target is drawn over it; with several, over the target's own value, on whose
    diagonal a perfect answer lies.

    Parameters
    ----------
    law
        With its constants, if there is one; it is drawn in grey.
    curves
        The answers of methods.

    Returns
    -------
    str
        HTML: one figure with one or two pictures.
    """
    single = len(table.columns) == 1
    columns = dict(zip(table.columns, table.x.T, strict=True))
    name, x = next(iter(columns.items())) if single else (table.target, table.y)
    across = _axis(x)
    low, high = float(table.y.min()), float(table.y.max())
    margin = _MARGIN * (high - low) or 1.0
    up = Axis([low - margin, high + margin], log=False)
    shown = Plot(
        f"Rows of {table.name}",
        across,
        up,
        (_label(name, table.units[name] if single else table.unit), _target(table)),
    )
    plot = Plot(
        f"What answers leave of {table.name}",
        _axis(x),
        Axis([-1.0, 1.0], log=False),
        (name, "left over, of the range"),
    )
    fine = _fine(x, log=across.log) if single else None
    if not single:
        ends = [(shown.at_x(end), shown.at_y(end)) for end in (low, high)]
        path = "L".join(f"{at:.1f} {height:.1f}" for at, height in ends)
        shown.parts.append(f'<path class="split" d="M{path}"/>')
    if law is not None and fine is not None:
        curve = _values(law, {name: fine})
        if curve is not None:
            shown.parts.append(f'<path class="measured" d="{_path(shown, fine, curve)}"/>')
    shown.parts += [
        f'<circle class="axis" cx="{shown.at_x(a):.1f}" cy="{shown.at_y(b):.1f}" r="3.5"/>'
        for a, b in zip(x, table.y, strict=True)
        if single
    ]
    keys = []
    for answer in curves:
        values = _values(answer.equation, columns)
        if values is None:
            continue
        css, dash = f"m{answer.number % COLOURS}", dashes(answer.number)
        dashed = f' stroke-dasharray="{dash}"' if dash else ""
        if fine is not None:
            curve = _values(answer.equation, {name: fine})
            if curve is not None:
                path = _path(shown, fine, curve)
                shown.parts.append(
                    f'<g class="{css}"><path class="line thin"{dashed} d="{path}"/></g>'
                )
        else:
            shown.parts.append(f'<g class="{css}">{_marks(shown, answer.number, x, values)}</g>')
        off = (table.y - values) / ((high - low) or 1.0)
        plot.parts.append(f'<g class="{css}">{_marks(plot, answer.number, x, off)}</g>')
        keys.append(
            f'<span><svg class="{css} stroke" viewBox="0 0 34 8" aria-hidden="true">'
            f'<path class="line"{dashed} d="M1 4H33"/></svg>{escape(answer.method)}</span>'
        )
    caption = f"Rows of {escape(table.name)} ({table.origin})"
    caption += (", the law that people found in grey" if law and single else "") + (
        ", in colour the answers of one fold and, in the second picture, what they leave"
        if keys
        else ""
    )
    legend = f'<p class="legend">{"".join(keys)}</p>' if keys else ""
    second = plot.render() if keys else ""
    return (
        f'<figure class="picture"><figcaption>{caption}.{legend}</figcaption>'
        f'<div class="pair">{shown.render()}{second}</div></figure>'
    )


def _axis(x: Array) -> Axis:
    positive = float(x.min()) > 0
    log = positive and float(np.log10(x.max() / x.min())) > _DECADES
    axis = Axis([float(value) for value in x], log=log)
    if not log:
        axis.low -= 0.04 * (axis.high - axis.low)
    return axis


def _fine(x: Array, *, log: bool) -> Array:
    ends = float(x.min()), float(x.max())
    return np.geomspace(*ends, POINTS) if log else np.linspace(*ends, POINTS)


def _label(name: str, unit: str) -> str:
    return f"{name} ({unit.replace('_', ' ')})" if unit and unit != "1" else name


def _target(table: Measurements) -> str:
    if table.logarithm:
        return table.target
    return _label(table.target, table.unit)


def _values(text: str, columns: Mapping[str, Array]) -> Array | None:
    """Evaluate an answer, which need not have been read before."""
    try:
        values = parse(text, tuple(columns)).evaluate(columns)
    except EquationError:
        return None
    n = len(next(iter(columns.values())))
    return np.asarray(np.broadcast_to(values, (n,)))


def _path(plot: Plot, x: Array, y: Array) -> str:
    """Join points by lines, but for those that are outside of the picture."""
    parts, inside = [], False
    for at, value in zip(x, y, strict=True):
        now = bool(plot.y.low <= value <= plot.y.high)
        if now:
            parts.append(f"{'L' if inside else 'M'}{plot.at_x(at):.1f} {plot.at_y(value):.1f}")
        inside = now
    return "".join(parts)


def _marks(plot: Plot, number: int, x: Array, y: Array) -> str:
    return "".join(
        marker(number, plot.at_x(a), plot.at_y(b), 3.0)
        for a, b in zip(x, y, strict=True)
        if plot.y.low <= b <= plot.y.high
    )
