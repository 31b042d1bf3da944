"""Numbers of moderate size for the search, and equations in the data's own units afterwards.

Scales are powers of two, so that scaling and back loses no digit.  A column that is of moderate
size stays as it is: the sine of an angle, or the exponential of a ratio, is then found
without a constant in between.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from trees import CONSTANT, FUNCTIONS, VARIABLE, Node, columns

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

Array = NDArray[np.float64]

__all__ = ["in_own_units", "line", "power_of_two", "text"]

_HANDY = 1e-3, 1e3
"""A typical size between these needs no scale."""
_SMALLEST, _LARGEST = 1e-290, 1e290
"""Factors beyond these are not drawn together: they would lose digits, or overflow."""
_DIGITS = 12
"""Digits of a factor or an offset by least squares that data in double precision can settle."""

_SHORT = 8
"""Largest number of digits of a number that is meant exactly."""

_SUM, _PRODUCT, _SIGN, _POWER, _ATOM = range(5)
"""Precedence of a text's outermost operation."""


def power_of_two(values: Array) -> float:
    """Return the power of two near the root mean square, or 1 where that is not extreme."""
    largest = float(np.max(np.abs(values), initial=0.0))
    if largest == 0.0:
        return 1.0
    typical = largest * math.sqrt(float(np.mean(np.square(values / largest))))
    if _HANDY[0] <= typical <= _HANDY[1]:
        return 1.0
    # One short of the extremes, so that its inverse is a number with all its digits too.
    return math.ldexp(1.0, max(-1020, min(1020, round(math.log2(typical)))))


def in_own_units(tree: Node, scales: Sequence[float]) -> Node:
    """Write a tree of scaled variables in the variables themselves.

    Parameters
    ----------
    tree
        In variables that were divided by their scales.
    scales
        One for each column.

    Returns
    -------
    Node
        With the scales and other factors gathered in front of sums, products and powers.
    """
    return _whole(*_draw_out(tree, scales))


def line(slope: float, tree: Node, intercept: float, *, like: Array, exact: bool = False) -> Node:
    """Write ``slope * tree + intercept``, with the outer numbers combined.

    The factor and the offset are then rounded to the digits that can be meant: a one or a zero
    is found as such.

    Parameters
    ----------
    slope, tree, intercept
        The parts.
    like
        Values (n,) that the whole is to be near, which decide how many digits count.
    exact
        Whether a factor that is no short number keeps all its digits: the data are exact.
    """
    ones = [1.0] * (1 + max(columns(tree), default=-1))
    factor, rest = _draw_out(tree, ones)
    factor *= slope
    while rest is not None and rest.name in {"add", "sub"}:
        left, right = rest.children
        sign = 1.0 if rest.name == "add" else -1.0
        if right.name == CONSTANT:
            intercept += factor * sign * float(right.own)
            more, rest = _draw_out(left, ones)
        elif left.name == CONSTANT:
            intercept += factor * float(left.own)
            more, rest = _draw_out(right, ones)
            more *= sign
        else:
            break
        factor *= more
    intercept = _on_grid(intercept, float(np.max(np.abs(like), initial=0.0)))
    if rest is None or factor == 0.0:
        return Node.constant(factor * (rest is None) + intercept)
    rounded = f"{factor:.{_DIGITS - 1}e}"
    if exact and float(rounded) != float(f"{factor:.{_SHORT - 1}e}"):
        rounded = repr(factor)
    scaled = times(float(rounded), rest)
    if intercept == 0.0:
        return scaled
    if intercept < 0.0:
        return Node("sub", (scaled, Node.constant(-intercept)))
    return Node("add", (scaled, Node.constant(intercept)))


def _on_grid(value: float, size: float) -> float:
    """Round to the digits that a number of that size has."""
    if size == 0.0 or not math.isfinite(value):
        return value
    digits = _DIGITS - 1 - math.floor(math.log10(size))
    if abs(digits) > 300:  # noqa: PLR2004 - where round() gives up
        return value
    return round(value, digits)


def times(factor: float, tree: Node) -> Node:
    """Multiply a tree by a number, leaving out a one."""
    if factor == 1.0:
        return tree
    if tree.name == CONSTANT:
        return Node.constant(factor * float(tree.own))
    if tree.name == "div" and tree.children[0].name == CONSTANT:
        top = factor * float(tree.children[0].own)
        if _safe(top):
            return Node("div", (Node.constant(top), tree.children[1]))
    return Node("mul", (Node.constant(factor), tree))


def _safe(factor: float) -> bool:
    return _SMALLEST < abs(factor) < _LARGEST


def _whole(factor: float, tree: Node | None) -> Node:
    return Node.constant(factor) if tree is None else times(factor, tree)


def _draw_out(tree: Node, scales: Sequence[float]) -> tuple[float, Node | None]:
    """Split a tree into a factor and the rest; a number has no rest."""
    if tree.name == CONSTANT:
        return float(tree.own), None
    if tree.name == VARIABLE:
        return 1.0 / scales[int(tree.own)], Node.variable(int(tree.own))
    parts = [_draw_out(child, scales) for child in tree.children]
    if all(rest is None for _, rest in parts):
        return float(FUNCTIONS[tree.name].numpy(*(np.float64(f) for f, _ in parts))), None
    drawn = _RULES[tree.name](*parts) if tree.name in _RULES else None
    if drawn is None or not _safe(drawn[0]):
        return 1.0, Node(tree.name, tuple(_whole(*part) for part in parts))
    return drawn


_Part = tuple[float, "Node | None"]


def _mul(left: _Part, right: _Part) -> _Part:
    factor = left[0] * right[0]
    if left[1] is None or right[1] is None:
        return factor, left[1] or right[1]
    return factor, Node("mul", (left[1], right[1]))


def _div(left: _Part, right: _Part) -> _Part | None:
    if right[0] == 0.0:
        return None
    factor = left[0] / right[0]
    if right[1] is None:
        return factor, left[1]
    return factor, Node("div", (left[1] or Node.constant(1.0), right[1]))


def _add(left: _Part, right: _Part, name: str = "add") -> _Part | None:
    """Draw out the factor of the first part that is no number."""
    factor = right[0] if left[1] is None else left[0]
    if factor == 0.0:
        return None
    ratios = left[0] / factor, right[0] / factor
    if not all(_safe(ratio) or ratio == 0.0 for ratio in ratios):
        return None
    return factor, Node(name, (_whole(ratios[0], left[1]), _whole(ratios[1], right[1])))


def _sub(left: _Part, right: _Part) -> _Part | None:
    return _add(left, right, "sub")


def _neg(part: _Part) -> _Part:
    return -part[0], part[1]


def _square(part: _Part) -> _Part:
    return part[0] * part[0], Node("square", (_whole(1.0, part[1]),))


def _cube(part: _Part) -> _Part:
    return part[0] * part[0] * part[0], Node("cube", (_whole(1.0, part[1]),))


def _sqrt(part: _Part) -> _Part | None:
    return (math.sqrt(part[0]), Node("sqrt", (_whole(1.0, part[1]),))) if part[0] > 0.0 else None


_RULES: dict[str, Callable[..., _Part | None]] = {
    "mul": _mul,
    "div": _div,
    "add": _add,
    "sub": _sub,
    "neg": _neg,
    "square": _square,
    "cube": _cube,
    "sqrt": _sqrt,
}


def text(tree: Node, names: Sequence[str]) -> str:
    """Write a tree in the bench's grammar, numbers with all their digits."""
    return _text(tree, names)[0]


def _text(tree: Node, names: Sequence[str]) -> tuple[str, int]:
    if tree.name == CONSTANT:
        value = float(tree.own)
        return repr(value), _ATOM if math.copysign(1.0, value) > 0 else _SIGN
    if tree.name == VARIABLE:
        return names[int(tree.own)], _ATOM
    parts = [_text(child, names) for child in tree.children]
    if tree.name not in _OPERATORS:
        return f"{tree.name}({parts[0][0]})", _ATOM
    pattern, strength, *needed = _OPERATORS[tree.name]
    return pattern.format(*map(_in, parts, needed)), strength


_OPERATORS: dict[str, tuple[Any, ...]] = {
    "add": ("{} + {}", _SUM, _SUM, _PRODUCT),
    "sub": ("{} - {}", _SUM, _SUM, _PRODUCT),
    "mul": ("{}*{}", _PRODUCT, _PRODUCT, _POWER),
    "div": ("{}/{}", _PRODUCT, _PRODUCT, _POWER),
    "neg": ("-{}", _SIGN, _POWER),
    "square": ("{}**2", _POWER, _ATOM),
    "cube": ("{}**3", _POWER, _ATOM),
}
"""For each operator: its text, its precedence, and the least precedence of its
parts."""


def _in(part: tuple[str, int], least: int) -> str:
    """Put a part into brackets where its precedence is lower than required."""
    return part[0] if part[1] >= least else f"({part[0]})"
