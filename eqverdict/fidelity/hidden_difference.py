"""A search for points at which two functions differ that agree at all points drawn at random.

Where a function changes within a narrow region, no point drawn at random need lie there: the
middle of ``exp(-1e6*(x - 0.1)**2)``, the switch of ``tanh(1e7*(x - 0.1))``, the far branch of a
``max``.  Such a region is where the argument of a function, an exponent or a denominator is
largest, smallest, or zero.  These places are solved for within the domain.
"""

from __future__ import annotations

import random
from itertools import islice, product
from typing import TYPE_CHECKING

import numpy as np

from eqverdict.fidelity.switches import has_switches, switch_points
from eqverdict.tree import Call, Chain, Node, Power, parts, value

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    Array = NDArray[np.float64]
    Box = Mapping[str, tuple[float, float]]

RANDOM_POINTS = 2_048
_MOST_CORNERS = 64
_MOST_ARGUMENTS = 24
"""Arguments of functions that are looked at, the innermost first."""
_STARTS = 3
_SMALLEST = 2.0**-40
_MOST_STEPS = 160
_OFFSETS = 17
"""Distances from a place of interest, each an eighth of the one before."""
_EXPONENTIAL = frozenset({"exp", "sinh", "cosh"})


def places_of_interest(trees: Sequence[Node], box: Box) -> Iterator[dict[str, Array]]:
    """Yield sets of points at which two functions may differ though they do nowhere else.

    Parameters
    ----------
    trees
        The two functions.
    box
        The least and the largest value of each variable.

    Yields
    ------
    dict
        The values of each variable at some points: first drawn at random and the corners, then
        between the switches of both, then around the places of each argument.
    """
    if not box:
        return
    base = _draw_points(box)
    yield base
    if has_switches(*trees):
        yield switch_points(trees, box)
    seen: set[str] = set()
    for tree in trees:
        for argument in islice(_arguments(tree), _MOST_ARGUMENTS):
            if repr(argument) in seen or argument.constant is not None:
                continue
            seen.add(repr(argument))
            yield _around(argument, base, box)


def _draw_points(box: Box) -> dict[str, Array]:
    """Draw points in a box, the same ones each time, and add its corners."""
    generator = random.Random("box")  # noqa: S311 - the same for all, not secrets
    corners = list(islice(product(*box.values()), _MOST_CORNERS))
    drawn = [
        [generator.uniform(low, high) for low, high in box.values()] for _ in range(RANDOM_POINTS)
    ]
    table = np.array(drawn + [list(corner) for corner in corners])
    return {name: table[:, i].copy() for i, name in enumerate(box)}


def _arguments(tree: Node) -> Iterator[Node]:
    """Yield what functions, exponents and fraction bars are applied to."""
    for part in parts(tree):
        match part:
            case Call():
                if len(part.arguments) > 1:
                    yield Chain(None, part.arguments[0], (("-", part.arguments[1]),))
                yield from part.arguments
            case Power():
                yield part.base
                if part.exponent.constant is None:
                    yield part.exponent
            case Chain():
                yield from (operand for symbol, operand in part.rest if symbol == "/")
                exponents = [
                    each.arguments[0]
                    for each in (part.first, *(operand for _, operand in part.rest))
                    if isinstance(each, Call) and each.function in _EXPONENTIAL
                ]
                # The product of two narrow peaks is where both are.
                if len(exponents) > 1:
                    yield Chain(None, exponents[0], tuple(("+", each) for each in exponents[1:]))


def _around(argument: Node, base: Mapping[str, Array], box: Box) -> dict[str, Array]:
    """Return points where an argument is largest, smallest and zero, and around these."""
    names = list(box)
    low, high = (np.array([ends[k] for ends in box.values()]) for k in (0, 1))

    def of(points: Array) -> Array:
        columns = {name: points[:, i] for i, name in enumerate(names)}
        with np.errstate(all="ignore"):
            found = np.broadcast_to(np.asarray(value(argument, columns), np.float64), len(points))
        return np.where(np.isfinite(found), found, np.nan)

    table = np.array([base[name] for name in names]).T
    values = of(table)
    if np.isnan(values).all():
        return {name: np.empty(0) for name in names}
    midpoints = [
        _climbed(of, table, values, low, high),
        _climbed(lambda points: -of(points), table, -values, low, high),
        _climbed(lambda points: -np.abs(of(points)), table, -np.abs(values), low, high),
    ]
    crossing = _crossing(
        of, np.vstack([table, *midpoints]), np.append(values, of(np.vstack(midpoints)))
    )
    middles = np.vstack([*midpoints, *([] if crossing is None else [crossing])])
    moved = [middles]
    for i in range(len(names)):
        for k in range(_OFFSETS):
            for sign in (-1.0, 1.0):
                shifted = middles.copy()
                shifted[:, i] += sign * (high[i] - low[i]) * 8.0 ** (-k - 1)
                moved.append(shifted)
    points = np.clip(np.vstack(moved), low, high)
    return {name: points[:, i] for i, name in enumerate(names)}


def _climbed(
    of: Callable[[Array], Array], table: Array, values: Array, low: Array, high: Array
) -> Array:
    """Search for the largest value from the best points there are, by steps that are halved."""
    points = table[np.argsort(np.where(np.isnan(values), np.inf, -values), kind="stable")[:_STARTS]]
    best, rows = of(points), np.arange(len(points))
    width, n = (high - low) / 8, table.shape[1]
    sizes = np.ones(len(points))
    directions = np.vstack([np.diag(width), -np.diag(width)])
    for _ in range(_MOST_STEPS):
        tried = np.clip(points[:, None] + sizes[:, None, None] * directions, low, high)
        heights = of(tried.reshape(-1, n)).reshape(len(points), -1)
        heights = np.where(np.isnan(heights), -np.inf, heights)
        chosen = np.argmax(heights, axis=1)
        better = heights[rows, chosen] > best
        points = np.where(better[:, None], tried[rows, chosen], points)
        best = np.where(better, heights[rows, chosen], best)
        sizes[~better] /= 2
        if sizes.max() < _SMALLEST:
            break
    return points


def _crossing(of: Callable[[Array], Array], table: Array, values: Array) -> Array | None:
    """Return points at which a value is zero, found by bisection; None if it has one sign."""
    positive, negative = np.flatnonzero(values > 0), np.flatnonzero(values < 0)
    if not (len(positive) and len(negative)):
        return None
    # Between points of either sign: neighbours, and the farthest of each.
    n = min(len(positive), len(negative), 8)
    positive_rows, negative_rows = table[positive[-n:]].copy(), table[negative[-n:]].copy()
    for _ in range(80):
        middle = (positive_rows + negative_rows) / 2
        above = of(middle) > 0
        positive_rows[above], negative_rows[~above] = middle[above], middle[~above]
    return np.vstack([positive_rows, negative_rows])
