"""Where a function of space is zero: triangles, and points on them.

Marching tetrahedra in NumPy rather than a library's marching cubes: the triangles only show where
to draw points, which Newton's steps then put onto the surface. Every edge that a zero cuts is
looked at to separate zeros from poles, which no library does.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import permutations
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    Array = NDArray[np.float64]
    Whole = NDArray[np.int64]

Function: TypeAlias = "Callable[[Array], Array]"
"""Values (n,) at points (n, 3); NaN or infinite where there are none."""

CELLS = 65
"""Along each axis; an odd number, so that no node lies in a plane of symmetry."""
_HALVINGS = 6
"""Halvings of an interval in each of two rounds."""
_SHRINKS = 0.5
"""Values at the ends of a bracket shrink by more in a round if it holds a zero."""
_NEWTON = 40
"""Steps at most; where a zero is a multiple one they are ever shorter, and many."""
_SETTLED = 1e-10
"""Steps that are shorter, over the reach, are the last."""
_MOST_ZEROS = 0.5
"""A function that is zero at more of the nodes vanishes."""
_TOUCHES = 1e-6
"""Largest ratio of a minimum to the values next to it that makes it a zero."""
_GOLDEN_ROUNDS = 24
_ROUND_OFF = 1e-13
_MOST_CELLS = 40_000
"""The most cells with a zero of which all are looked at.  A surface has 20,000; where zeros fill
the box, every second or third cell is enough."""
_COMMON = 1e-7
"""A denominator that is smaller, over its median in the box, is zero."""
_NEAR_COMMON = 1e-2
"""The same where zeros are not separated from those next to them: without a change of sign."""


@dataclass(frozen=True)
class LevelSet:
    """The zeros of a function in a box, as far as they were found.

    Attributes
    ----------
    triangles
        The corners of the triangles where the function changes its sign, (m, 3, 3).
    touching
        Points where it is zero without a change of sign, (k, 3): those on lines of the grid, so
        that only surfaces of them are found.
    weight
        The area that each of these represents.
    poles
        How many edges of the grid have a change of sign that is no zero, but a pole or a jump.
    vanishes
        Whether it is zero everywhere, or all but.
    """

    triangles: Array
    touching: Array
    weight: float
    poles: int
    vanishes: bool = False

    @property
    def areas(self) -> Array:
        """The area of each triangle, (m,)."""
        a, b, c = (self.triangles[:, k] for k in range(3))
        return np.asarray(np.linalg.norm(np.cross(b - a, c - a), axis=-1) / 2)

    @property
    def area(self) -> float:
        """The area of the whole surface."""
        return float(self.areas.sum()) + self.weight * len(self.touching)

    def draw(self, n: int, generator: np.random.Generator) -> Array:
        """Draw points by area, (n, 3); none where there is no area."""
        areas = np.concatenate([self.areas, np.full(len(self.touching), self.weight)])
        if not areas.sum() > 0:
            return np.empty((0, 3))
        which = generator.choice(len(areas), n, p=areas / areas.sum())
        first, second = np.sqrt(generator.random(n)), generator.random(n)
        shares = np.stack([1 - first, first * (1 - second), first * second], axis=-1)
        corners = np.concatenate([self.triangles, np.repeat(self.touching[:, None], 3, axis=1)])
        return np.asarray(np.einsum("nk,nkd->nd", shares, corners[which]))


def level_set(
    function: Function,
    low: Array,
    high: Array,
    cells: int = CELLS,
    denominator: Function | None = None,
) -> LevelSet:
    """Find the zeros of a function in a box.

    Parameters
    ----------
    function
        It is evaluated on a grid, and along those of its edges on which it may be zero.
    low, high
        Opposite corners of the box, (3,).
    denominator
        Where this is zero, too, zeros of the function are none: it is a numerator.
    """
    axes = [np.linspace(low[k], high[k], cells + 1) for k in range(3)]
    nodes = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, 3)
    values = function(nodes)
    nothing = np.empty((0, 3, 3)), np.empty((0, 3)), 0.0
    if np.mean(values == 0) > _MOST_ZEROS:
        return LevelSet(*nothing, 0, vanishes=True)
    tetrahedra = _cut_tetrahedra(values, cells + 1)
    edges, triangles = _cut_edges(tetrahedra, values)
    points, is_zero = _crossings(function, nodes, values, edges)
    touching = _touching(function, nodes, values, cells + 1)
    if denominator is not None:
        size = float(np.median(np.abs(denominator(nodes))))
        is_zero &= np.abs(denominator(points)) > _COMMON * size
        touching = touching[np.abs(denominator(touching)) > _NEAR_COMMON * size]
    inside = triangles[is_zero[triangles].all(axis=-1)] if len(triangles) else triangles
    step = (high - low) / cells
    # By Cauchy and Crofton lines of a grid meet an area 1.5 times per square of the mesh.
    weight = float(np.prod(step) ** (2 / 3)) / 1.5
    return LevelSet(points[inside], touching, weight, int((~is_zero).sum()))


def gradient(function: Function, points: Array, step: float) -> Array:
    """Return the gradient by central differences, (n, 3)."""
    shifts = np.concatenate([np.eye(3), -np.eye(3)]) * step
    moved = (points[None] + shifts[:, None]).reshape(-1, 3)
    values = function(moved).reshape(6, -1)
    with np.errstate(all="ignore"):
        return np.asarray(((values[:3] - values[3:]) / (2 * step)).T)


def newton(values: Array, slopes: Array) -> Array:
    """Return the steps to where functions are zero if they are linear, (n, 3).

    Parameters
    ----------
    values, slopes
        (n,) and (n, 3); of any size, as squares are of what is near 1.

    Returns
    -------
    NDArray
        What is to be taken off; not finite where there is no slope.
    """
    with np.errstate(all="ignore"):
        size = np.max(np.abs(slopes), axis=-1)
        units = slopes / size[:, None]
        return np.asarray(units * (values / size / np.sum(units**2, axis=-1))[:, None])


def move_onto_zeros(function: Function, points: Array, reach: float) -> tuple[Array, Array]:
    """Move points along the gradient onto the zeros of a function, by Newton's steps.

    Parameters
    ----------
    points
        (n, 3), near the zeros.
    reach
        How far a point may be moved; one that would go farther stays where it was.

    Returns
    -------
    points
        (n, 3).
    left
        The length of the step that would come next, which is about the distance to the nearest
        zero; infinite where there is no gradient.
    """
    now = points.copy()
    distance = np.full(len(points), np.inf)
    moving = np.arange(len(points))
    for _ in range(_NEWTON):
        here = now[moving]
        value, slope = function(here), gradient(function, here, 1e-5 * reach)
        with np.errstate(all="ignore"):
            step = newton(value, slope)
            length = np.linalg.norm(step, axis=-1)
            good = np.linalg.norm(here - step - points[moving], axis=-1) <= reach
        distance[moving] = np.where(np.isfinite(length), length, np.where(value == 0, 0.0, np.inf))
        now[moving] = np.where(good[:, None], here - step, here)
        moving = moving[good & (length > _SETTLED * reach)]
        if not len(moving):
            break
    return now, distance


def _cut_tetrahedra(values: Array, n: int) -> Whole:
    """Return the tetrahedra with a change of sign, (m, 4), by the numbers of their nodes.

    Each cell of the grid is cut into the six along its diagonal (Kuhn).
    """
    cube = values.reshape(n, n, n)
    signs = (cube >= 0).astype(np.int8) + 9 * ~np.isfinite(cube)
    total = np.zeros((n - 1,) * 3, np.int8)
    for corner in np.ndindex(2, 2, 2):
        total += signs[tuple(slice(c, n - 1 + c) for c in corner)]
    cells = np.argwhere((total > 0) & (total < 8))  # noqa: PLR2004 - corners
    cells = cells[:: 1 + len(cells) // _MOST_CELLS]
    strides = np.array([n * n, n, 1])
    first = cells @ strides
    offsets = []
    for order in permutations(range(3)):
        path = np.cumsum([0, *strides[list(order)]])
        offsets.append(path)
    tetrahedra = (first[:, None, None] + np.array(offsets)).reshape(-1, 4)
    inside = (values[tetrahedra] >= 0).sum(axis=-1)
    return np.asarray(tetrahedra[(inside > 0) & (inside < 4)], dtype=np.int64)  # noqa: PLR2004


_CUTS = {
    1: (((0, 1), (0, 2), (0, 3)),),
    2: (((0, 2), (0, 3), (1, 3)), ((0, 2), (1, 3), (1, 2))),
    3: (((3, 0), (3, 1), (3, 2)),),
}
"""The triangles in a tetrahedron whose first 1, 2 or 3 nodes are negative, by the edges cut."""


def _cut_edges(tetrahedra: Whole, values: Array) -> tuple[Whole, Whole]:
    """Return the edges that are cut, (k, 2), and triangles (m, 3) of numbers of these."""
    if not len(tetrahedra):
        return np.empty((0, 2), np.int64), np.empty((0, 3), np.int64)
    positive = values[tetrahedra] >= 0
    order = np.argsort(positive, axis=-1, kind="stable")
    tetrahedra = np.take_along_axis(tetrahedra, order, axis=-1)
    negative = 4 - positive.sum(axis=-1)
    edge_pairs = []
    for count, cuts in _CUTS.items():
        those = tetrahedra[negative == count]
        edge_pairs += [those[:, np.array(cut)] for cut in cuts]  # (m, 3, 2)
    edges = np.sort(np.concatenate(edge_pairs), axis=-1)
    keys = edges[..., 0] * len(values) + edges[..., 1]
    unique, index = np.unique(keys, return_inverse=True)
    pairs = np.stack(np.divmod(unique, len(values)), axis=-1)
    return pairs, index.reshape(-1, 3)


def _crossings(
    function: Function, nodes: Array, values: Array, edges: Whole
) -> tuple[Array, NDArray[np.bool_]]:
    """Halve each edge on which the sign changes, and return whether it is zero there.

    Between the ends of a bracket that holds a zero, values shrink as it does; at a pole they
    grow, and at a jump they stay.
    """
    a, b = nodes[edges[:, 0]], nodes[edges[:, 1]]
    at_a, at_b = values[edges[:, 0]], values[edges[:, 1]]
    size = float(np.median(np.abs(values[np.isfinite(values)]))) if len(edges) else 0.0
    sizes = []
    for _ in range(2):
        for _ in range(_HALVINGS):
            middle = (a + b) / 2
            value = function(middle)
            left = (value >= 0) == (at_a >= 0)
            a, at_a = np.where(left[:, None], middle, a), np.where(left, value, at_a)
            b, at_b = np.where(left[:, None], b, middle), np.where(left, at_b, value)
        sizes.append(np.maximum(np.abs(at_a), np.abs(at_b)))
    with np.errstate(all="ignore"):
        is_zero = (sizes[1] <= _SHRINKS * sizes[0]) | (sizes[1] <= _ROUND_OFF * size)
        is_zero &= np.isfinite(sizes[0])  # halving may meet a pole itself
        share = np.abs(at_a) / (np.abs(at_a) + np.abs(at_b))
    share = np.where(np.isfinite(share), share, 0.5)[:, None]
    return a + share * (b - a), is_zero


def _touching(function: Function, nodes: Array, values: Array, n: int) -> Array:
    """Find zeros without a change of sign, between three neighbours along an axis.

    Where the size of the values is least at the one in the middle, the minimum is looked for along
    the axis (golden section); a zero is what all but vanishes there.
    """
    cube = values.reshape(n, n, n)
    numbers = np.arange(n**3).reshape(n, n, n)
    starts = []
    for axis in range(3):
        three = [np.moveaxis(cube, axis, 0)[k : n - 2 + k] for k in range(3)]
        low, middle, high = map(np.abs, three)
        signs = [each >= 0 for each in three]
        with np.errstate(all="ignore"):
            least = (middle <= low) & (middle < high) & (signs[0] == signs[1])
            least &= (signs[1] == signs[2]) & np.isfinite(low) & np.isfinite(high)
            # What is far from zero at the least of the three is so between them.
            curve = low - 2 * middle + high
            bottom = middle - (high - low) ** 2 / (8 * curve)
            least &= bottom <= _NEARLY * np.minimum(low, high)
        inner = np.moveaxis(numbers, axis, 0)[1 : n - 1][least]
        starts.append((inner, np.full(len(inner), axis)))
    centre = nodes[np.concatenate([each for each, _ in starts])]
    if not len(centre):
        return np.empty((0, 3))
    axes = np.concatenate([each for _, each in starts])
    some = slice(None, None, 1 + len(centre) // _MOST_CELLS)
    centre, axes = centre[some], axes[some]
    steps = (nodes[-1] - nodes[0]) / (n - 1)
    along = np.eye(3)[axes] * steps[axes][:, None]
    return _least_along(function, centre, along)


_NEARLY = 0.3
"""A parabola through three values has its bottom below this share of the outer ones at a zero."""


def _least_along(function: Function, centre: Array, along: Array) -> Array:
    """Return the points of zero size on segments of twice a step around their centres."""

    def size(place: Array) -> Array:
        return np.abs(function(centre + place[:, None] * along))

    ratio = (np.sqrt(5) - 1) / 2
    low, high = np.full(len(centre), -1.0), np.ones(len(centre))
    neighbours = np.minimum(size(low), size(high))
    first, second = high - ratio * (high - low), low + ratio * (high - low)
    at_first, at_second = size(first), size(second)
    for _ in range(_GOLDEN_ROUNDS):
        is_first = at_first < at_second
        low, high = np.where(is_first, low, first), np.where(is_first, second, high)
        fresh = np.where(is_first, high - ratio * (high - low), low + ratio * (high - low))
        at_fresh = size(fresh)
        first, second = np.where(is_first, fresh, second), np.where(is_first, first, fresh)
        at_first, at_second = (
            np.where(is_first, at_fresh, at_second),
            np.where(is_first, at_first, at_fresh),
        )
    best = np.where(at_first < at_second, first, second)
    zero = np.minimum(at_first, at_second) <= _TOUCHES * neighbours
    return np.asarray((centre + best[:, None] * along)[zero])
