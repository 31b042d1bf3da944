"""Dense clouds of points on a true surface, drawn by area, and those of an answer beside them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from mdbench.datatypes.surface.distances import diagonal, distances
from mdbench.datatypes.surface.level_sets import CELLS as LEVEL_CELLS
from mdbench.datatypes.surface.level_sets import LevelSet, level_set, onto
from mdbench.datatypes.surface.problem import OUTPUTS, generator_of
from mdbench.datatypes.surface.quotients import fraction
from mdbench.expressions import parse
from mdbench.expressions.grammar import read

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from mdbench.datatypes.surface.level_sets import Function
    from mdbench.expressions.tree import Node

    Array = NDArray[np.float64]

__all__ = [
    "POINTS",
    "Shape",
    "TruePoints",
    "floor_of",
    "function_of",
    "level_points",
    "placed",
    "true_points",
    "zeros_of",
]

POINTS = 10_000
"""Of a dense cloud."""
CELLS = 128
"""Of the grid of inputs, along each axis, on which explicit and parametric surfaces are cut."""
_REACH = 1.5
"""Points are moved onto a level set by so many cells at most."""


@dataclass(frozen=True)
class Shape:
    """All that the geometry of an answer depends on.

    Attributes
    ----------
    representation, inputs, truth, domain, integers
        As those of `TrueSurface`; `truth` is empty where only points are known.
    points
        Points on the surface where they are all that is known of it.
    """

    representation: str
    inputs: tuple[str, ...]
    truth: tuple[str, ...]
    domain: tuple[tuple[float, float], ...]
    integers: bool = False
    points: tuple[tuple[float, ...], ...] = ()

    @property
    def corners(self) -> tuple[Array, Array]:
        """The opposite corners of the domain."""
        low, high = np.array(self.domain, dtype=np.float64).T
        return low, high


@dataclass(frozen=True, eq=False)
class TruePoints:
    """A cloud on the truth.

    Attributes
    ----------
    cloud
        (n, 3).
    inputs
        Where on the surface these are, (n, 2): what an answer is evaluated at; None for implicit
        surfaces.
    set
        The level set; None for others.
    """

    cloud: Array
    inputs: Array | None = None
    set: LevelSet | None = None


@lru_cache(maxsize=8)
def true_points(shape: Shape, drawing: str = "truth") -> TruePoints:
    """Draw the truth's cloud; another `drawing` has other points, which are always the same."""
    if shape.points:
        return TruePoints(np.array(shape.points))
    if shape.representation == "implicit":
        found = _true_set(shape)
        cloud = level_points(function_of(shape.truth[0], shape.inputs), found, shape, drawing)
        return TruePoints(cloud, set=found)
    inputs = _whole(shape) if shape.integers else _by_area(shape, drawing)
    cloud = placed(shape, shape.truth, inputs)
    finite = np.isfinite(cloud).all(axis=-1)
    return TruePoints(cloud[finite], inputs[finite])


@lru_cache(maxsize=64)
def floor_of(shape: Shape) -> float:
    """Give the Chamfer distance of two drawings of the truth, in diagonals of its box.

    Of points alone it is that of their two halves.
    """
    if shape.points:
        points = np.array(shape.points)
        return distances(points[::2], points[1::2]).over(diagonal(points)).chamfer
    truth, other = true_points(shape).cloud, true_points(shape, "answer").cloud
    if not len(truth):
        return 0.0
    return distances(other, truth).over(diagonal(truth)).chamfer


def function_of(text: str, inputs: Sequence[str]) -> Function:
    """Make a function of points, (n, 3) to (n,), that is zero where an equation is.

    It is the numerator of the equation, see `quotients`.
    """
    tree = _read(text, inputs)
    return lambda points: fraction(tree, _columns(points, inputs))[0]


def zeros_of(shape: Shape, text: str, cells: int = LEVEL_CELLS) -> LevelSet:
    """Find where an equation is zero in a shape's domain."""
    tree = _read(text, shape.inputs)
    low, high = shape.corners
    ends = _columns(np.stack([low, high]), shape.inputs)
    below = None
    if np.any(fraction(tree, ends)[1] != 1.0):

        def below(points: Array) -> Array:
            return fraction(tree, _columns(points, shape.inputs))[1]

    return level_set(function_of(text, shape.inputs), low, high, cells, below)


def _read(text: str, inputs: Sequence[str]) -> Node:
    parse(text, inputs)
    return read(text, inputs)


def _columns(points: Array, inputs: Sequence[str]) -> dict[str, Array]:
    return {name: np.ascontiguousarray(points[:, i]) for i, name in enumerate(inputs)}


def level_points(function: Function, found: LevelSet, shape: Shape, drawing: str) -> Array:
    """Draw points on a level set, and move them onto the zeros."""
    low, high = shape.corners
    points = found.draw(POINTS, generator_of("cloud", drawing))
    if not len(points):
        return points
    reach = _REACH * float(np.max(high - low)) / LEVEL_CELLS
    return np.clip(onto(function, points, reach)[0], low, high)


def placed(shape: Shape, equations: Sequence[str], inputs: Array) -> Array:
    """Give the points that equations make of inputs, (n, 3); not finite where they have none."""
    columns = {name: np.ascontiguousarray(inputs[:, i]) for i, name in enumerate(shape.inputs)}
    values = [parse(text, shape.inputs).evaluate(columns) for text in equations]
    if shape.representation == "explicit":
        values = [*columns.values(), *values]
    with np.errstate(all="ignore"):
        return np.stack(values, axis=-1)


@lru_cache(maxsize=4)
def _true_set(shape: Shape) -> LevelSet:
    if len(shape.truth) != len(OUTPUTS["implicit"]):
        raise AssertionError("an implicit surface has one equation")
    return zeros_of(shape, shape.truth[0])


def _whole(shape: Shape) -> Array:
    axes = [np.arange(np.ceil(low), np.floor(high) + 1) for low, high in shape.domain]
    return np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, len(axes))


def _by_area(shape: Shape, drawing: str) -> Array:
    """Draw inputs so that the surface's points are uniform by area.

    Each square of a grid is cut into two triangles.  Those are drawn by the area of their images,
    and points uniformly within; squares with a corner that is not finite are left out.
    """
    axes = [np.linspace(low, high, CELLS + 1) for low, high in shape.domain]
    grid = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1)
    images = placed(shape, shape.truth, grid.reshape(-1, 2)).reshape(CELLS + 1, CELLS + 1, 3)
    corners = [slice(0, CELLS), slice(1, CELLS + 1)]
    inputs, areas = [], []
    for path in (((0, 0), (1, 0), (1, 1)), ((0, 0), (1, 1), (0, 1))):
        a, b, c = (images[corners[i], corners[j]] for i, j in path)
        with np.errstate(all="ignore"):
            areas.append(np.linalg.norm(np.cross(b - a, c - a), axis=-1).ravel() / 2)
        inputs.append(np.stack([grid[corners[i], corners[j]] for i, j in path], axis=-2))
    triangles = np.concatenate([each.reshape(-1, 3, 2) for each in inputs])
    weights = np.nan_to_num(np.concatenate(areas), nan=0.0, posinf=0.0)
    if not weights.sum() > 0:  # a surface that is a curve or a point
        weights = np.ones(len(weights))
    generator = generator_of("cloud", drawing)
    which = generator.choice(len(weights), POINTS, p=weights / weights.sum())
    first, second = np.sqrt(generator.random(POINTS)), generator.random(POINTS)
    shares = np.stack([1 - first, first * (1 - second), first * second], axis=-1)
    return np.asarray(np.einsum("nk,nkd->nd", shares, triangles[which]))
