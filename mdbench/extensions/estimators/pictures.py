"""Pictures of data and answers, for notebooks."""

from __future__ import annotations

from importlib import resources
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from mdbench.drawing.svg import Axis, Plot

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    Array = NDArray[np.float64]

_MOST = 400
"""Points of data that are drawn; of more, evenly chosen ones."""


class Curve(NamedTuple):
    """Data of one quantity, and what an answer makes of it.

    Attributes
    ----------
    name
        Of the quantity.
    x, y
        The data, (points,).
    at, values
        Where the answer was evaluated, and what it gives, (places,).
    """

    name: str
    x: Array
    y: Array
    at: Array
    values: Array


def picture(title: str, label: str, curves: Sequence[Curve]) -> str:
    """Draw data as points, and over them the answer as lines.

    Parameters
    ----------
    title
        For those who do not see it.
    label
        Of the horizontal axis.

    Returns
    -------
    str
        An SVG with its style; empty where nothing is finite.
    """
    x = np.concatenate([one.x for one in curves])
    y = np.concatenate([one.y for one in curves])
    if not (len(x) and np.isfinite(x).all() and np.isfinite(y).all()):
        return ""
    names = ", ".join(one.name for one in curves)
    plot = Plot(title, Axis(x.tolist(), log=False), Axis(y.tolist(), log=False), (label, names))
    low, high = np.min(y) - np.ptp(y), np.max(y) + np.ptp(y)
    for number, curve in enumerate(curves):
        chosen = np.linspace(0, len(curve.x) - 1, min(len(curve.x), _MOST)).astype(int)
        points = list(zip(curve.x[chosen].tolist(), curve.y[chosen].tolist(), strict=True))
        plot.series(number, curve.name, points, joined=False, size=2.0)
        inside = np.isfinite(curve.values) & (curve.values > low) & (curve.values < high)
        places = zip(curve.at[inside].tolist(), curve.values[inside].tolist(), strict=True)
        path = "L".join(f"{plot.at_x(a):.1f} {plot.at_y(b):.1f}" for a, b in places)
        if path:
            plot.parts.append(f'<g class="m{number}"><path class="line" d="M{path}"/></g>')
    style = resources.files("mdbench.reports").joinpath("templates/figure.css").read_text("utf-8")
    head, _, body = plot.render().partition(">")
    return f'{head} style="max-width: 40em"><style>{style}</style>{body}'
