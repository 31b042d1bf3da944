"""Flow in finite elements: a channel, empty or with a cylinder in it, and reactants carried."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp
from scipy.spatial import Delaunay
from skfem import MeshTri

from mdbench.datatypes.pde.solvers.elements import kuhn_mesh
from mdbench.datatypes.pde.solvers.navier_stokes import (
    LinearSpecies,
    QuadraticSpecies,
    Spaces,
    Walls,
    ipcs,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from numpy.typing import NDArray

    from mdbench.datatypes.pde.solvers.navier_stokes import Flow, Reaction

    Array = NDArray[np.float64]
    Progress = Callable[[float], None]

_EDGE = 1e-9
_SMOOTHINGS = 8
_DEGREE = 6
"""Polynomials that a local average leaves as they are."""
_MOST_POINTS = 4_000
"""Points that are looked for in the mesh at a time; some of them are tried in all triangles."""
_FINER = 3
"""Points that are averaged in the distance of two samples, along each axis."""


@dataclass(frozen=True)
class Obstacle:
    """A channel [0, length] x [0, height] with a cylinder across it.

    Attributes
    ----------
    centre, radius
        Of the cylinder.
    inflow
        The largest velocity of the parabolic profile at x = 0.
    """

    length: float
    height: float
    centre: tuple[float, float]
    radius: float
    inflow: float


def empty_channel(
    n_cells: int,
    dt: float,
    n_steps: int,
    places: Sequence[Array],
    *,
    density: float,
    viscosity: float,
    inlet: float,
    progress: Progress,
) -> Array:
    """Solve the flow from rest in the unit square under a pressure drop; no slip at y = 0 and 1.

    Parameters
    ----------
    n_cells
        The number of cells of the mesh along each axis.
    dt, n_steps
        The times of the answer: dt, 2 dt, ..., n_steps dt.
    places
        The x and the y of the grid on which it is wanted.
    inlet
        The pressure at x = 0; it is 0 at x = 1.

    Returns
    -------
    (3, n_x, n_y, n_steps)
        The velocity and the pressure.
    """
    spaces = Spaces(kuhn_mesh([np.linspace(0, 1, n_cells + 1)] * 2))
    walls = Walls(
        velocity_at=lambda p: np.minimum(p[1], 1 - p[1]) < _EDGE,
        velocity=np.zeros_like,
        pressure_at=lambda p: np.minimum(p[0], 1 - p[0]) < _EDGE,
        pressure=lambda p: inlet * (p[0] < _EDGE),
    )
    at_u, at_p = (
        _coefficient_on_grid(spaces.quadratic, places),
        _coefficient_on_grid(spaces.linear, places),
    )
    flows = ipcs(spaces, walls, density=density, viscosity=viscosity, dt=dt)
    states = [
        [*(at_u(component) for component in flow.velocity), at_p(flow.pressure)]
        for flow in _take(flows, n_steps, progress)
    ]
    return np.moveaxis(np.array(states), 0, -1)


def past_cylinder(
    obstacle: Obstacle,
    dt: float,
    n_steps: int,
    places: Sequence[Array],
    *,
    density: float,
    viscosity: float,
    reaction: Reaction,
    every: int,
    spacing: float,
    second_order: bool,
    averaged: float = 0.0,
    first: int = 1,
    progress: Progress,
) -> tuple[Array, Array]:
    """Solve the flow past a cylinder from rest, and the reaction of the species in it.

    Parameters
    ----------
    dt, n_steps
        The times of the flow: dt, 2 dt, ..., n_steps dt.
    places
        The x and the y of the grid on which it is wanted.
    every
        Steps of the flow in one of the reaction.
    spacing
        The length of the mesh's edges away from the cylinder.
    second_order
        Whether all is of second order in time, and the species in quadratic elements, which the
        published ones are not.
    averaged
        Half the width, along each axis, over which states are averaged (see `_averages`); 0 for
        their values at the places.
    first
        The number of the first step that is wanted, one more than a multiple of `every`.

    Returns
    -------
    flow
        Velocity and pressure, (3, n_x, n_y, n_steps - first + 1).
    species
        The concentrations after each `every` of these steps.
    """
    mesh = cylinder_mesh(obstacle, spacing)
    spaces = Spaces(mesh)

    def solid(p: Array) -> NDArray[np.bool_]:
        around = np.hypot(*(p - np.array(obstacle.centre)[:, None])) < 1.01 * obstacle.radius
        walls: NDArray[np.bool_] = np.minimum(p[1], obstacle.height - p[1]) < _EDGE
        return np.asarray(around | walls)

    def inflow(p: Array) -> Array:
        profile = 4 * p[1] * (obstacle.height - p[1]) / obstacle.height**2
        return np.stack([obstacle.inflow * profile * (p[0] < _EDGE), np.zeros(p.shape[1])])

    walls = Walls(
        velocity_at=lambda p: solid(p) | (p[0] < _EDGE),
        velocity=inflow,
        pressure_at=lambda p: p[0] > obstacle.length - _EDGE,
        pressure=lambda p: np.zeros(p.shape[1]),
    )
    at_u, at_p = (
        _coefficient_on_grid(each, places, averaged) for each in (spaces.quadratic, spaces.linear)
    )
    scheme = QuadraticSpecies if second_order else LinearSpecies
    species = scheme(spaces, reaction, every * dt)
    at_c = at_u if second_order else at_p
    flows: list[list[Array]] = []
    concentrations: list[list[Array]] = []
    steps = ipcs(
        spaces, walls, density=density, viscosity=viscosity, dt=dt, extrapolate=second_order
    )
    for number, flow in enumerate(_take(steps, n_steps + second_order, progress), start=1):
        if number >= first:
            flows.append([*(at_u(component) for component in flow.velocity), at_p(flow.pressure)])
        if number % every == 0 and number <= n_steps:
            species.advance(flow)
            if number >= first:
                concentrations.append([at_c(c) for c in species.c])
    states = np.array(flows)
    if second_order:
        # From the middles of the steps to their ends.
        states[:-1, 2] = (states[:-1, 2] + states[1:, 2]) / 2
    kept = states[: n_steps - first + 1]
    return np.moveaxis(kept, 0, -1), np.moveaxis(np.array(concentrations), 0, -1)


def cylinder_mesh(obstacle: Obstacle, spacing: float) -> Any:
    """Triangulate the channel around the cylinder.

    Staggered rings of nodes, whose distances grow with the radius, lead over to a lattice of
    equilateral triangles; a few smoothings even out the joint.  The edges on the cylinder have
    about half of `spacing`.

    Returns
    -------
    A mesh of scikit-fem.
    """
    radius, centre = obstacle.radius, np.array(obstacle.centre)
    n = max(8, 2 * round(2 * np.pi * radius / spacing))
    radii = [radius]
    while (distance := 2 * np.pi * radii[-1] / n) < spacing:
        radii.append(radii[-1] + distance * np.sqrt(3) / 2)
    angles = [2 * np.pi / n * (np.arange(n) + i % 2 / 2) for i in range(len(radii))]
    rings = [
        centre + r * np.stack([np.cos(a), np.sin(a)], axis=1)
        for r, a in zip(radii, angles, strict=True)
    ]
    rows = round(obstacle.height / (spacing * np.sqrt(3) / 2))
    columns = round(obstacle.length / spacing)
    x = np.linspace(0, obstacle.length, columns + 1)
    lattice = []
    for i, y in enumerate(np.linspace(0, obstacle.height, rows + 1)):
        inner = 0 < i < rows
        shifted = np.concatenate([x[:1], (x[1:] + x[:-1]) / 2, x[-1:]])
        nodes = shifted if i % 2 and inner else x
        lattice.append(np.stack([nodes, np.full(len(nodes), y)], axis=1))
    far = np.concatenate(lattice)
    far = far[np.hypot(*(far - centre).T) > radii[-1] + 0.8 * spacing]
    points = np.concatenate([*rings, far])
    box = np.array([obstacle.length, obstacle.height])
    fixed = (np.minimum(points, box - points) < _EDGE).any(axis=1)
    fixed[:n] = True
    for _ in range(_SMOOTHINGS):
        triangles = _triangles(points, centre, radius)
        corners = points[triangles]
        area = _areas(corners)
        moved = np.zeros_like(points)
        total = np.zeros(len(points))
        for corner in triangles.T:
            np.add.at(moved, corner, area[:, None] * corners.mean(axis=1))
            np.add.at(total, corner, area)
        points[~fixed] = (moved / total[:, None])[~fixed]
    return MeshTri(points.T.copy(), _triangles(points, centre, radius).T.copy())


def _triangles(points: Array, centre: Array, radius: float) -> NDArray[np.intp]:
    """Return the Delaunay triangles outside the cylinder, but for slivers along straight walls."""
    triangles: NDArray[np.intp] = Delaunay(points).simplices
    corners = points[triangles]
    outside = np.hypot(*(corners.mean(axis=1) - centre).T) > radius
    area = _areas(corners)
    kept: NDArray[np.intp] = triangles[outside & (area > 1e-6 * area.max())]
    return kept


def _areas(corners: Array) -> Array:
    a, b = (corners[:, i] - corners[:, 0] for i in (1, 2))
    return np.abs(a[:, 0] * b[:, 1] - a[:, 1] * b[:, 0]) / 2


def _coefficient_on_grid(
    basis: Any, places: Sequence[Array], averaged: float = 0.0
) -> Callable[[Array], Array]:
    """Return the function that evaluates coefficients on a grid, or averages them around it."""
    averages = [_averages(place, averaged) for place in places] if averaged else []
    around = [place for place, _ in averages] or places
    grid = np.meshgrid(*around, indexing="ij")
    points = np.stack([place.ravel() for place in grid])
    parts = np.array_split(points, 1 + points.shape[1] // _MOST_POINTS, axis=1)
    probe = sp.vstack([basis.probes(part) for part in parts], format="csr")
    if averages:
        probe = sp.kron(*(weights for _, weights in averages), format="csr") @ probe
    shape = tuple(len(place) for place in places)

    def evaluate(coefficients: Array) -> Array:
        values: Array = probe @ coefficients
        return values.reshape(shape)

    return evaluate


def _averages(point: Array, width: float) -> tuple[Array, Any]:
    """Return places along an axis, and the weights that average values there around each node.

    A function in finite elements has kinks where two elements meet, which are small, and large in
    its derivatives, in which high derivatives of the same samples would explain them.  They are
    gone from the value, at each node, of the polynomial of degree `_DEGREE` that is nearest to the
    function within `width`.  Each place is counted by ``(1 - s^2)^3``, s being its distance in
    widths: a weighted filter of Savitzky and Golay, Analytical Chemistry 36, 1627 (1964).

    Returns
    -------
    around
        (m,), equidistant, beyond both ends of the axis.
    weights
        (n, m).
    """
    step = (point[1] - point[0]) / _FINER
    reach = int(width / step)
    s = np.arange(-reach, reach + 1) * step / width
    powers = np.vander(s, _DEGREE + 1, increasing=True)
    counted = powers * ((1 - s**2) ** 3)[:, None]
    row = np.linalg.solve(counted.T @ powers, counted.T)[0]
    m = (len(point) - 1) * _FINER + len(s)
    begins = _FINER * np.arange(len(point))
    columns = begins[:, None] + np.arange(len(s))
    rows = np.repeat(np.arange(len(point)), len(s))
    weights = sp.csr_array((np.tile(row, len(point)), (rows, columns.ravel())), (len(point), m))
    return point[0] + step * (np.arange(m) - reach), weights


def _take(flows: Iterator[Flow], n: int, progress: Progress) -> Iterator[Flow]:
    for i, flow in zip(range(n), flows, strict=False):
        progress(i / n)
        yield flow
