"""Flows against closed forms, the balance of volume, and the geometry of the mesh."""

from __future__ import annotations

from dataclasses import replace
from itertools import islice
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from mdbench.data.derivatives import accurate_derivative
from mdbench.datatypes.pde.solvers import channels
from mdbench.datatypes.pde.solvers.channel_waves import vortices
from mdbench.datatypes.pde.solvers.channels import (
    Obstacle,
    cylinder_mesh,
    empty_channel,
    past_cylinder,
)
from mdbench.datatypes.pde.solvers.elements import kuhn_mesh
from mdbench.datatypes.pde.solvers.navier_stokes import (
    Flow,
    LinearSpecies,
    QuadraticSpecies,
    Reaction,
    Spaces,
    Walls,
    ipcs,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

OBSTACLE = Obstacle(length=2.2, height=0.41, centre=(0.2, 0.2), radius=0.05, inflow=1.5)
REACTION = Reaction(
    diffusivity=0.01, rate=10.0, feed=0.1, discs=((0.1, 0.1), (0.1, 0.3)), radius=0.05
)


def quiet(part: float) -> None:
    assert 0 <= part <= 1


def poiseuille(y: Array, t: Array, drop: float, viscosity: float) -> Array:
    """The velocity at (y, t) of a flow that starts from rest at t = 0; its series."""
    u = drop / (2 * viscosity) * (y * (1 - y))[:, None] * np.ones_like(t)
    for n in range(1, 60, 2):
        k = n * np.pi
        u -= 4 * drop / (viscosity * k**3) * np.sin(k * y)[:, None] * np.exp(-viscosity * k**2 * t)
    return u


def test_start_up_of_poiseuille_s_flow() -> None:
    x, y, dt = np.array([0.3, 0.7]), np.linspace(0, 1, 9), 0.01
    u = empty_channel(8, dt, 60, [x, y], density=1.0, viscosity=1.0, inlet=8.0, progress=quiet)
    exact = poiseuille(y, dt * np.arange(1.0, 61.0), 8.0, 1.0)
    for along in u[0]:
        np.testing.assert_allclose(along[:, 15:], exact[:, 15:], atol=8e-3)
        np.testing.assert_allclose(along[:, -1], exact[:, -1], atol=2e-4)
    assert np.abs(u[1, ..., 15:]).max() < 1e-3
    np.testing.assert_allclose(u[2, ..., -1], 8 * (1 - x[:, None]) + 0 * y, atol=1e-2)


def test_steps_of_second_order_leave_less_of_the_balance() -> None:
    """Derivatives of the states in space and time, at every node of a stirred flow."""
    nodes = np.linspace(0.125, 0.875, 25)
    places = np.stack([each.ravel() for each in np.meshgrid(nodes, nodes, indexing="ij")])
    spaces = Spaces(kuhn_mesh([np.linspace(0, 1, 33)] * 2))
    walls = Walls(
        velocity_at=lambda p: np.minimum(p[1], 1 - p[1]) < 1e-9,
        velocity=np.zeros_like,
        pressure_at=lambda p: np.minimum(p[0], 1 - p[0]) < 1e-9,
        pressure=lambda p: 0.2 * (p[0] < 1e-9),
    )
    at_u, at_p = spaces.quadratic.probes(places), spaces.linear.probes(places)

    def missed(dt: float, *, extrapolate: bool) -> float:
        flows = ipcs(
            spaces,
            walls,
            density=1.0,
            viscosity=0.02,
            dt=dt,
            start=lambda p: 0.3 * vortices(p),
            extrapolate=extrapolate,
        )
        states = np.stack(
            [
                np.reshape([*(at_u @ c for c in each.velocity), at_p @ each.pressure], (3, 25, 25))
                for each in islice(flows, round(0.4 / dt) + 1)
            ],
            axis=-1,
        )
        if extrapolate:
            states[2, ..., :-1] = (states[2, ..., :-1] + states[2, ..., 1:]) / 2
        u, v, p = states[..., :-1]

        def d(values: Array, axis: int, order: int = 1) -> Array:
            return accurate_derivative(values, nodes, axis, order)

        moment, left, right = round(0.3 / dt), 0.0, 0.0
        for w, axis in ((u, 0), (v, 1)):
            rate = accurate_derivative(w, dt * np.arange(w.shape[-1]), 2, 1)[..., moment]
            one, along, across, press = (each[..., moment] for each in (w, u, v, p))
            force = 0.02 * (d(one, 0, 2) + d(one, 1, 2)) - d(press, axis)
            carried = along * d(one, 0) + across * d(one, 1)
            left += float(np.square(rate - force + carried).sum())
            right += float(np.square(rate).sum())
        return left / right

    first = missed(0.01, extrapolate=False)
    assert missed(0.0025, extrapolate=False) < 0.5 * first
    assert missed(0.01, extrapolate=True) < 0.1 * first


def test_the_steady_flow_of_kovasznay() -> None:
    """A closed form in which convection, pressure and viscosity are all of the same size."""
    viscosity = 1 / 40
    lam = 20 - np.sqrt(400 + 4 * np.pi**2)

    def velocity(p: Array) -> Array:
        wave = np.exp(lam * p[0])
        u = 1 - wave * np.cos(2 * np.pi * p[1])
        return np.stack([u, lam / (2 * np.pi) * wave * np.sin(2 * np.pi * p[1])])

    def pressure(p: Array) -> Array:
        return np.asarray(-np.exp(2 * lam * p[0]) / 2)

    def rim(p: Array) -> NDArray[np.bool_]:
        from_side = np.minimum(np.abs(p[0] + 0.5), np.abs(p[0] - 1))
        return np.asarray(np.minimum(from_side, 0.5 - np.abs(p[1])) < 1e-9)

    errors = []
    for n in (6, 12):
        spaces = Spaces(kuhn_mesh([np.linspace(-0.5, 1, n + 1), np.linspace(-0.5, 0.5, n + 1)]))
        walls = Walls(rim, velocity, lambda p: np.abs(p[0] - 1) < 1e-9, pressure)
        flows = ipcs(spaces, walls, density=1.0, viscosity=viscosity, dt=0.02)
        flow = next(islice(flows, 400, None))
        off = flow.velocity - velocity(spaces.quadratic.doflocs)
        errors.append(float(np.sqrt((off**2).mean())))
    assert errors[1] < 0.01
    assert errors[0] / errors[1] > 4


@pytest.fixture(scope="module", params=[False, True], ids=["published", "second order"])
def coarse(request: pytest.FixtureRequest) -> tuple[Array, Array, Array, Array]:
    """A flow on a coarse mesh: velocity and pressure, species, and the x and y of the grid."""
    x, y = np.array([0.12, 0.3, 0.6, 1.5]), np.linspace(0, 0.41, 201)
    flow, species = past_cylinder(
        OBSTACLE,
        0.001,
        100,
        [x, y],
        density=1.0,
        viscosity=0.001,
        reaction=REACTION,
        every=10,
        spacing=0.035,
        second_order=request.param,
        progress=quiet,
    )
    return flow, species, x, y


def test_averages_keep_polynomials_and_take_kinks_away() -> None:
    place = np.linspace(0.2, 0.8, 31)
    around, weights = channels._averages(place, 0.09)
    assert around[0] == pytest.approx(0.2 - 13 * 0.02 / 3)
    assert around[-1] == pytest.approx(0.8 + 13 * 0.02 / 3)
    for degree in range(7):
        np.testing.assert_allclose(weights @ around**degree, place**degree, rtol=1e-9)
    # Linear elements on an edge of 0.03: the errors of second derivatives are the kinks.
    nodes = np.arange(-10, 50) * 0.03 + 0.007
    rough = [np.interp(points, nodes, np.sin(6 * nodes)) for points in (place, around)]
    exact = -36 * np.sin(6 * place)[4:-4]
    at_nodes, averaged = (
        np.abs(np.diff(values, 2)[3:-3] / 0.02**2 - exact).max()
        for values in (rough[0], weights @ rough[1])
    )
    assert averaged < 0.1 * at_nodes


def test_a_flow_averaged_from_a_later_step_is_a_part_of_the_whole() -> None:
    places = [np.linspace(0.6, 0.9, 7), np.linspace(0.12, 0.3, 5)]

    def made(averaged: float, first: int) -> tuple[Array, Array]:
        return past_cylinder(
            OBSTACLE,
            0.001,
            24,
            places,
            density=1.0,
            viscosity=0.001,
            reaction=REACTION,
            every=4,
            spacing=0.05,
            second_order=True,
            averaged=averaged,
            first=first,
            progress=quiet,
        )

    whole, late = made(0.06, 1), made(0.06, 9)
    assert [each.shape[-1] for each in (*whole, *late)] == [24, 6, 16, 4]
    for every, part in zip(whole, late, strict=True):
        np.testing.assert_array_equal(every[..., -part.shape[-1] :], part)
    # Local averages of a smooth flow are the flow.
    flow, _ = made(0.0, 1)
    assert 0 < np.abs(whole[0] - flow).max() < 0.02 * np.abs(flow).max()


def test_what_enters_passes_every_cross_section(coarse: tuple[Array, ...]) -> None:
    flow, _, _, y = coarse
    through = np.trapezoid(flow[0], y, axis=1)
    np.testing.assert_allclose(through[:, 10:], 1.5 * 0.41 * 2 / 3, rtol=0.01)
    # Slow behind the cylinder, fast at its sides.
    behind, beside = (flow[0, 1, y > 0.19][:10], flow[0, 1, y > 0.3][:10])
    assert (behind[:, -1] < 0.5 * beside[:, -1]).all()
    # The last correction of a step disturbs the velocity at the walls a little.
    assert np.abs(flow[:2, :, [0, -1], -1]).max() < 0.02


def test_species_are_carried_downstream_and_react(coarse: tuple[Array, ...]) -> None:
    _, species, _, y = coarse
    assert species.shape == (3, 4, 201, 10)
    fed, product = species[:2, ..., -1], species[2, ..., -1]
    for reactant, side in zip(fed, (y < 0.2, y > 0.2), strict=True):
        # In the first tenth of a second: at its disc and a little behind, on its side.
        assert reactant[0].max() == pytest.approx(0.1 * 0.06, rel=0.4)
        assert reactant[1].max() < 0.2 * reactant[0].max()
        assert np.abs(reactant[2:]).max() < 1e-4 * reactant[0].max()
        assert np.abs(reactant[0, ~side]).max() < 0.1 * reactant[0].max()
    assert 0 < product.max() < fed.max() ** 2


@pytest.mark.parametrize(("scheme", "order"), [(LinearSpecies, 1), (QuadraticSpecies, 2)])
def test_a_reaction_in_a_still_vessel_follows_its_rate_equations(scheme: Any, order: int) -> None:
    f, k, t = 0.4, 10.0, 1.0
    everywhere = Reaction(diffusivity=0.01, rate=k, feed=f, discs=((0, 0), (0, 0)), radius=9.0)
    spaces = Spaces(kuhn_mesh([np.linspace(0, 1, 3)] * 2))
    still = Flow(np.zeros((2, spaces.u.values.shape[1])), np.zeros(9))
    errors = []
    for n in (100, 200):
        species = scheme(spaces, everywhere, t / n)
        for _ in range(n):
            species.advance(still)
        exact = np.sqrt(f / k) * np.tanh(np.sqrt(f * k) * t)
        np.testing.assert_allclose(species.c[1], species.c[0])
        errors.append(float(np.abs(species.c[0] - exact).max()) / exact)
        # In the end the product decays as fast as it is made: k c1 c2 = k c3.
        assert species.c[2] == pytest.approx(species.c[0] ** 2, rel=0.05)
    assert errors[1] < 2e-3
    assert errors[0] / errors[1] == pytest.approx(2**order, rel=0.15)


def test_species_spread_and_are_carried() -> None:
    """A wave that no flux leaves decays by exp(-eps pi^2 t); a drop goes with the stream."""
    spaces = Spaces(kuhn_mesh([np.linspace(0, 1, 17)] * 2))
    none = Reaction(diffusivity=0.05, rate=0.0, feed=0.0, discs=((0, 0), (0, 0)), radius=0.1)
    still = Flow(np.zeros((2, spaces.u.values.shape[1])), np.zeros(9))
    species = QuadraticSpecies(spaces, none, 0.01)
    wave = np.cos(np.pi * spaces.quadratic.doflocs[0])
    species.c = np.stack([wave, 2 * wave, 0 * wave])
    for _ in range(100):
        species.advance(still)
    np.testing.assert_allclose(species.c[1], 2 * np.exp(-0.05 * np.pi**2) * wave, atol=2e-3)
    x, y = spaces.quadratic.doflocs
    drop = np.exp(-50 * ((x - 0.3) ** 2 + (y - 0.5) ** 2))
    stream = Flow(np.stack([np.full(len(x), 0.4), np.zeros(len(x))]), np.zeros(9))
    species = QuadraticSpecies(spaces, replace(none, diffusivity=1e-3), 0.005)
    species.advance(stream)
    species.c = np.stack([drop, drop, drop])
    for _ in range(150):
        species.advance(stream)
    spread = 1 + 4 * 1e-3 * 50 * 0.75
    exact = np.exp(-50 * ((x - 0.6) ** 2 + (y - 0.5) ** 2) / spread) / spread
    inside = np.abs(x - 0.6) < 0.3
    np.testing.assert_allclose(species.c[0][inside], exact[inside], atol=0.01)


@pytest.mark.parametrize("spacing", [0.0167, 0.03])
def test_the_mesh_is_of_good_triangles_around_a_round_hole(spacing: float) -> None:
    mesh = cylinder_mesh(OBSTACLE, spacing)
    corners = mesh.p[:, mesh.t]
    edges = np.stack([corners[:, i] - corners[:, i - 1] for i in range(3)])
    lengths = np.hypot(edges[:, 0], edges[:, 1])
    areas = np.abs(edges[0, 0] * edges[1, 1] - edges[0, 1] * edges[1, 0]) / 2
    # 1 for an equilateral triangle
    assert (4 * np.sqrt(3) * areas / (lengths**2).sum(axis=0)).min() > 0.7
    assert lengths.max() < 1.6 * spacing
    np.testing.assert_allclose(areas.sum(), 2.2 * 0.41 - np.pi * 0.05**2, rtol=5e-4)
    # One hole: vertices - edges + triangles = 0; and the rim is the walls and the circle.
    assert mesh.nvertices - mesh.nfacets + mesh.nelements == 0
    rim = mesh.p[:, mesh.boundary_nodes()]
    on_wall = np.minimum(rim, np.array([[2.2], [0.41]]) - rim).min(axis=0) < 1e-12
    on_circle = np.abs(np.hypot(*(rim - 0.2)) - 0.05) < 1e-12
    assert (on_wall ^ on_circle).all()
    assert set(np.unique(mesh.t)) == set(range(mesh.nvertices))


def test_another_cylinder_makes_another_mesh() -> None:
    mesh = cylinder_mesh(replace(OBSTACLE, centre=(0.5, 0.2), radius=0.07), 0.03)
    assert np.hypot(mesh.p[0] - 0.5, mesh.p[1] - 0.2).min() == pytest.approx(0.07)
