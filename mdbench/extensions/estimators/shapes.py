"""What is known of the shape of a law: its sign, its bounds, and where it rises or falls."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from mdbench.errors import UsageError, did_you_mean

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import NDArray

    Array = NDArray[np.float64]
    Values = Callable[[Mapping[str, Array]], Array]

__all__ = ["Shape", "read_shapes", "violation"]

_NUMBER = r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?"
_BOUND = re.compile(rf"^(?P<left>.+?)\s*(?P<sign>>=|<=|>|<)\s*(?P<value>{_NUMBER})$")
_TREND = re.compile(r"^(?P<left>.+?)\s+(?P<way>increases|decreases)\s+(?:with|in)\s+(?P<name>\w+)$")
_WHERE = re.compile(rf"^(?P<name>\w+)\s+in\s+(?P<low>{_NUMBER})\s*\.\.\s*(?P<high>{_NUMBER})$")
_RATE = re.compile(r"^d\s*(\w+)\s*/\s*d\s*t$")
_POINTS = 2000
"""Where a shape is looked at besides the rows, spread over the box."""
_SLACK = 1e-9
"""What rounding may take, as a share of the size of the values."""
_STEP = 1e-5
"""Of slopes, as a share of the range."""
_EXAMPLE = (
    "Write 'y >= 0', 'y <= 2.5', 'y increases with x' or 'dx/dt decreases with x', and where it "
    "holds beyond the data: 'y >= 0 for x in 0..10'."
)


class Shape(NamedTuple):
    """One thing that is known.

    Attributes
    ----------
    text
        As it was typed.
    target
        The number of the equation.
    name
        The variable that it rises or falls with; empty for a bound.
    sign
        1 where values or slopes are above `bound`, -1 where they are below.
    bound
        0 for slopes.
    box
        Ends of variables that are not those of the data.
    """

    text: str
    target: int
    name: str
    sign: int
    bound: float
    box: Mapping[str, tuple[float, float]]


def read_shapes(
    text: str | Sequence[str], targets: Sequence[str], names: Sequence[str]
) -> list[Shape]:
    """Read what is typed: several are separated by semicolons.

    Raises
    ------
    UsageError
        If one cannot be read, or names no target or no variable.
    """
    parts = text.split(";") if isinstance(text, str) else text
    shapes = []
    for part in filter(None, map(str.strip, parts)):
        said, _, where = part.partition(" for ")
        box = {}
        for one in filter(None, map(str.strip, where.split(","))):
            match = _WHERE.match(one)
            if match is None or float(match["low"]) >= float(match["high"]):
                raise UsageError(f"shape has {part!r}.", _EXAMPLE)
            _refuse_unknown(match["name"], names, part)
            box[match["name"]] = float(match["low"]), float(match["high"])
        match = _BOUND.match(said) or _TREND.match(said)
        if match is None:
            raise UsageError(f"shape has {part!r}.", _EXAMPLE)
        left = match["left"].strip()
        rate = _RATE.match(left)
        target = rate[1] if rate else left
        _refuse_unknown(target, targets, part)
        number = list(targets).index(target)
        if "sign" in match.groupdict():
            sign = 1 if match["sign"].startswith(">") else -1
            shapes.append(Shape(part, number, "", sign, float(match["value"]), box))
        else:
            _refuse_unknown(match["name"], names, part)
            sign = 1 if match["way"] == "increases" else -1
            shapes.append(Shape(part, number, match["name"], sign, 0.0, box))
    return shapes


def _refuse_unknown(name: str, known: Sequence[str], part: str) -> None:
    if name not in known:
        raise UsageError(f"shape has {part!r}, and there is no {name}.", did_you_mean(name, known))


def violation(shape: Shape, values: Values, columns: Mapping[str, Array]) -> str:
    """Return where a law has not a shape; empty where it has it.

    It is looked at in the rows, and at points all over the box of their ends.

    Parameters
    ----------
    values
        Gives the right-hand sides of points, (points, targets).
    columns
        The rows by variable, (rows,).
    """
    points = _points(shape, columns)
    with np.errstate(all="ignore"):
        if shape.name:
            along = points[shape.name]
            step = _STEP * (float(np.ptp(along)) or 1.0)
            ahead = values({**points, shape.name: along + step})[:, shape.target]
            behind = values({**points, shape.name: along - step})[:, shape.target]
            seen = (ahead - behind) / (2 * step)
            slack = 1e-5 * float(np.max(np.abs(seen), initial=0.0))
        else:
            seen = values(points)[:, shape.target] - shape.bound
            slack = _SLACK * float(np.max(np.abs(seen), initial=0.0))
    bad = ~(shape.sign * seen >= -slack)
    if not bad.any():
        return ""
    worst = int(np.argmin(np.where(np.isfinite(seen), shape.sign * seen, -np.inf)))
    at = ", ".join(f"{name} = {column[worst]:.4g}" for name, column in points.items())
    return f"not {shape.text}: at {at}"


def _points(shape: Shape, columns: Mapping[str, Array]) -> dict[str, Array]:
    generator = np.random.default_rng(0)
    points = {}
    rows = len(next(iter(columns.values())))
    inside = np.ones(rows, dtype=bool)
    for name, column in columns.items():
        low, high = shape.box.get(name, (float(column.min()), float(column.max())))
        inside &= (column >= low) & (column <= high)
        spread = generator.uniform(low, high, _POINTS)
        spread[:2] = low, high
        points[name] = spread
    return {
        name: np.concatenate([np.asarray(columns[name])[inside], spread])
        for name, spread in points.items()
    }
