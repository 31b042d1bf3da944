"""Pictures of surfaces: from two sides, shaded, coloured by the distance from the truth."""

from __future__ import annotations

from functools import lru_cache
from html import escape
from typing import TYPE_CHECKING

import numpy as np
from scipy.spatial import cKDTree

from mdbench.data.noise import generator_of
from mdbench.datatypes.surface.clouds import placed, true_points, zeros_of
from mdbench.drawing.numbers import scientific
from mdbench.drawing.svg import LEVELS, colours, png_uri
from mdbench.errors import MdbenchError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from mdbench.datatypes.surface.clouds import Shape

    Array = NDArray[np.float64]

EVALUATIONS = 800
"""Evaluations for a surface, out of those that the pictures of a page may use."""
NEAR, FAR = 0.01, 0.3
"""Ends of the scale of distances, in diagonals of the true cloud's box; points of one surface are
about half of the first apart."""
SIZE = 130
"""Pixels of a picture, either way."""
_SIDES = ((-60.0, 28.0), (120.0, 28.0))
"""Directions of view: degrees around the z axis, and above the plane of x and y."""
_STEPS, _SHADES = 10, 20
"""The palette's steps of distance and of light."""
_DARKEST = 0.4
_CELLS, _LEVEL_CELLS = 48, 33
_POINTS = 30_000
_BEYOND = 0.25
"""Points farther outside of the true box, in its sides, are not drawn."""
_DEEPEST = (1 + 2 * _BEYOND) * np.sqrt(3)
"""How far a point that is drawn may be from the centre, in halves of the true box."""
_MARGIN = 0.93
_MOST_TEXT = 4_000
"""Characters of an equation that is drawn."""


def surface_pictures(
    shape: Shape,
    floor: float | None,
    answers: Sequence[tuple[str, float | None, Sequence[str]]],
) -> str:
    """Draw the truth and answers, the axes scaled so that the truth fills a cube.

    Parameters
    ----------
    floor
        The distance of two drawings of the truth.
    answers
        Who answered, the Chamfer distance, and the equations.

    Returns
    -------
    str
        HTML: one figure.
    """
    truth = true_points(shape).cloud
    if not len(truth):
        return ""
    low, sides = truth.min(axis=0), np.ptp(truth, axis=0)
    sides = np.where(sides > 0, sides, 1.0)
    diagonal = float(np.linalg.norm(np.ptp(truth, axis=0))) or 1.0
    tree = cKDTree(truth)

    def distance(points: Array) -> Array:
        return np.asarray(tree.query(points)[0]) / diagonal

    own = _points(shape, shape.truth, low, sides) if shape.truth else (truth, np.zeros_like(truth))
    panels = [_panel(f"the truth: {scientific(floor)}", own, _no_distance, low, sides)]
    for who, number, equations in answers:
        drawn = None
        if sum(map(len, equations)) <= _MOST_TEXT:
            drawn = _points(shape, equations, low, sides)
        if drawn is None or not len(drawn[0]):
            panels.append(_nothing(who, number))
            continue
        panels.append(_panel(f"{who}: {scientific(number)}", drawn, distance, low, sides))
    ends = zip("xyz", low, low + sides, strict=True)
    ranges = ", ".join(f"{name} from {start:.3g} to {end:.3g}" for name, start, end in ends)
    caption = (
        f"The surfaces from two sides, in the box of the truth: {ranges}. What lies well beyond is "
        "not drawn. Colours are the distance from the truth, as a share of the "
        "diagonal of its box. Numbers are Chamfer distances; the truth’s is that of two drawings "
        "of its own points."
    )
    return (
        f'<figure class="field"><figcaption>{caption}</figcaption>{_bar()}'
        f'<div class="panels">{"".join(panels)}</div></figure>'
    )


def view(
    points: Array, normals: Array, side: tuple[float, float]
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Look at points in a cube from -1 to 1, each of them two by two pixels.

    Parameters
    ----------
    points, normals
        (n, 3); a normal may have either sign, and zero is as light as can be.
    side
        From where it is looked at, in degrees.

    Returns
    -------
    seen, shade
        The number of the point that each pixel shows, -1 where there is none, (SIZE, SIZE), and
        the light of each point, (n,).
    """
    right, up, back = _directions(side)
    light = back + 0.5 * up - 0.4 * right
    light /= np.linalg.norm(light)
    bright = np.where(normals.any(axis=1), np.abs(normals @ light), 1.0)
    shade = np.clip((bright * _SHADES).astype(int), 0, _SHADES - 1)
    scale = _MARGIN * SIZE / 2 / np.sqrt(3)
    x = np.rint(SIZE / 2 + scale * (points @ right)).astype(int)
    y = np.rint(SIZE / 2 - scale * (points @ up)).astype(int)
    depth = points @ back
    # Whole numbers of 16 bits are sorted in a time that grows as their number.
    levels = np.clip((0.5 + 0.5 * depth / _DEEPEST) * 65535, 0, 65535)
    order = np.argsort(levels.astype(np.uint16), kind="stable")  # the nearest last, over the others
    rows = np.clip(y[order][:, None] + [0, 0, 1, 1], 0, SIZE - 1)
    columns = np.clip(x[order][:, None] + [0, 1, 0, 1], 0, SIZE - 1)
    seen = np.full(SIZE * SIZE, -1)
    seen[rows * SIZE + columns] = order[:, None]  # of those of one place the last stays
    return seen.reshape(SIZE, SIZE), shade


def _directions(side: tuple[float, float]) -> tuple[Array, Array, Array]:
    """Return the directions to the right, upwards and towards who looks, each of shape (3,)."""
    turn, rise = np.deg2rad(side)
    right = np.array([-np.sin(turn), np.cos(turn), 0.0])
    back = np.array([np.cos(turn) * np.cos(rise), np.sin(turn) * np.cos(rise), np.sin(rise)])
    return right, np.cross(back, right), back


def _box(left: float, side: tuple[float, float]) -> str:
    """Draw the edges of the box below and behind what is drawn, with the names of the axes."""
    right, up, back = _directions(side)
    scale = _MARGIN * SIZE / 2 / np.sqrt(3)
    near_x, near_y = (float(sign) for sign in np.sign(back[:2]))

    def at(*corner: float) -> tuple[float, float]:
        point = np.array(corner)
        x = left + SIZE / 2 + scale * float(point @ right)
        return x, 18 + SIZE / 2 - scale * float(point @ up)

    corners = [(x, y) for x in (-1.0, 1.0) for y in (-1.0, 1.0)]
    leftmost = min(corners, key=lambda corner: at(*corner, 0.0)[0])
    edges = [
        ("x", at(-1, near_y, -1), at(1, near_y, -1)),
        ("y", at(near_x, -1, -1), at(near_x, 1, -1)),
        ("z", at(*leftmost, -1.0), at(*leftmost, 1.0)),
        ("", at(-near_x, -1, -1), at(-near_x, 1, -1)),
        ("", at(-1, -near_y, -1), at(1, -near_y, -1)),
    ]
    path = "".join(f"M{a:.1f} {b:.1f}L{c:.1f} {d:.1f}" for _, (a, b), (c, d) in edges)
    names = "".join(
        f'<text class="label" x="{(a + c) / 2 - 6 * (name == "z"):.1f}" '
        f'y="{(b + d) / 2 + 10 * (name != "z"):.1f}" text-anchor="middle">{name}</text>'
        for name, (a, b), (c, d) in edges
        if name
    )
    return f'<path class="axis" d="{path}"/>{names}'


def _points(
    shape: Shape, equations: Sequence[str], low: Array, sides: Array
) -> tuple[Array, Array]:
    """Draw points and normals, by area as the picture shows it; none where there are none."""
    try:
        triangles = _triangles(shape, equations)
    except MdbenchError:
        triangles = np.empty((0, 3, 3))
    scaled = (triangles - low) / sides
    with np.errstate(all="ignore"):  # what is not finite is not inside
        inside = (np.abs(scaled - 0.5) <= 0.5 + _BEYOND).reshape(-1, 9).all(axis=1)
    scaled = scaled[inside]
    a, b, c = (scaled[:, k] for k in range(3))
    normals = np.cross(b - a, c - a)
    areas = np.linalg.norm(normals, axis=-1)
    if not areas.sum() > 0:
        return np.empty((0, 3)), np.empty((0, 3))
    generator = generator_of("surface", "picture")
    which = generator.choice(len(areas), _POINTS, p=areas / areas.sum())
    first, second = np.sqrt(generator.random(_POINTS)), generator.random(_POINTS)
    shares = np.stack([1 - first, first * (1 - second), first * second], axis=-1)
    points = np.einsum("nk,nkd->nd", shares, scaled[which])
    return points * sides + low, normals[which] / areas[which][:, None]


def _triangles(shape: Shape, equations: Sequence[str]) -> Array:
    if shape.representation == "implicit":
        return zeros_of(shape, equations[0], _LEVEL_CELLS).triangles
    axes = [np.linspace(low, high, _CELLS + 1) for low, high in shape.domain]
    if shape.integers:
        axes = [np.arange(np.ceil(low), np.floor(high) + 1) for low, high in shape.domain]
    grid = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1)
    images = placed(shape, equations, grid.reshape(-1, 2)).reshape(*grid.shape[:2], 3)
    a, b = images[:-1, :-1], images[1:, :-1]
    c, d = images[1:, 1:], images[:-1, 1:]
    both = [np.stack(each, axis=-2).reshape(-1, 3, 3) for each in ((a, b, c), (a, c, d))]
    return np.concatenate(both)


@lru_cache
def _palette() -> tuple[tuple[int, int, int], ...]:
    """Return colours of distance, each from shadow to light, and one for what is behind."""
    palette = []
    for step in range(_STEPS):
        r, g, b = colours()[round(step * (LEVELS - 1) / (_STEPS - 1))]
        # Of full light the darkest colours are too dark to be shaded.
        base = [60 + 0.76 * part for part in (r, g, b)]
        for shade in range(_SHADES):
            share = _DARKEST + (1 - _DARKEST) * shade / (_SHADES - 1)
            red, green, blue = (round(share * part) for part in base)
            palette.append((red, green, blue))
    return (*palette, (255, 255, 255))


def _panel(
    title: str,
    drawn: tuple[Array, Array],
    distance: Callable[[Array], Array],
    low: Array,
    sides: Array,
) -> str:
    points, normals = drawn
    scaled = 2 * (points - low) / sides - 1
    views = [view(scaled, normals, side) for side in _SIDES]
    visible = np.unique([seen for seen, _ in views])
    visible = visible[visible >= 0]
    # The nearest point of the truth is searched only for points that can be seen.
    with np.errstate(divide="ignore"):
        share = np.log(distance(points[visible]) / NEAR) / np.log(FAR / NEAR)
    steps = np.zeros(len(points), dtype=np.intp)
    steps[visible] = np.clip(share * _STEPS, 0, _STEPS - 1)
    pictures = []
    for i, (side, (seen, shade)) in enumerate(zip(_SIDES, views, strict=True)):
        colour = np.where(seen < 0, _STEPS * _SHADES, (steps * _SHADES + shade)[seen])
        uri = png_uri(colour.astype(np.uint8), _palette(), _STEPS * _SHADES)
        pictures.append(
            f'{_box(i * SIZE, side)}<image x="{i * SIZE}" y="18" width="{SIZE}" '
            f'height="{SIZE}" href="{uri}"/>'
        )
    return _frame(title, "".join(pictures))


def _no_distance(points: Array) -> Array:
    return np.zeros(len(points))


def _nothing(who: str, number: float | None) -> str:
    words = f'<text class="label" x="{SIZE}" y="{SIZE / 2}" text-anchor="middle">'
    return _frame(f"{who}: {scientific(number)}", f"{words}nothing in the box</text>")


def _frame(title: str, inner: str) -> str:
    width, height = 2 * SIZE, SIZE + 22
    return (
        f'<svg class="panel" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
        f'role="img"><title>{escape(title)}</title><text x="4" y="13">{escape(title)}</text>'
        f"{inner}</svg>"
    )


def _bar() -> str:
    row = np.array([[step * _SHADES + _SHADES - 1 for step in range(_STEPS)]], dtype=np.uint8)
    return (
        f'<p class="scale"><b>distance</b> <span>≤ 0.01</span> '
        f'<img src="{png_uri(row, _palette())}" alt="from dark to light"> '
        f"<span>≥ 0.3</span></p>"
    )
