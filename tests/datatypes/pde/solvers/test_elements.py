"""Finite elements against separated solutions, steady states and balances of energy."""

from __future__ import annotations

from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
import pytest
import scipy.sparse as sp
from skfem import Basis, ElementTetP1, ElementTriP2

from mdbench.datatypes.pde.solvers.elements import (
    Quadrature,
    factorised,
    heated_slab,
    kuhn_mesh,
    soil,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[np.float64]


def quiet(part: float) -> None:
    assert 0 <= part <= 1


slab = partial(heated_slab, capacity=3.0, ambient=300.0, progress=quiet)


def suddenly_warm(n: int, dt: float, t: float) -> float:
    """The error at time t of soil of depth 1 whose surface is at 1 from time 0 on."""
    x = np.linspace(-1, 0, n)
    u = soil(
        [x],
        dt,
        round(t / dt),
        diffusivity=1.0,
        initial=0.0,
        surface=lambda _t: 1.0,
        progress=quiet,
    )
    exact = np.ones(n)
    for m in range(30):
        k = (m + 0.5) * np.pi
        exact -= 2 / k * np.exp(-(k**2) * t) * np.sin(-k * x)
    return float(np.abs(u[:, -1] - exact).max())


def test_soil_converges_to_the_separated_solution_in_first_order_of_time() -> None:
    errors = [suddenly_warm(401, dt, 0.2) for dt in (0.02, 0.01, 0.005)]
    assert errors[-1] < 3e-3
    assert [a / b for a, b in pairwise(errors)] == pytest.approx([2, 2], abs=0.2)


@pytest.mark.parametrize("dim", [2, 3])
def test_soil_in_more_dimensions_is_the_same_at_every_depth(dim: int) -> None:
    across, depth = np.linspace(-0.1, 0.1, 5), np.linspace(-1.5, 0, 31)
    line, box = (
        soil(
            axes,
            300.0,
            40,
            diffusivity=1e-6,
            initial=10.0,
            surface=lambda t: 10 + 10 * np.sin(7.27e-5 * t),
            progress=quiet,
        )
        for axes in ([depth], [*[across] * (dim - 1), depth])
    )
    assert box.shape == (*[5] * (dim - 1), 31, 40)
    assert line.max() > 15
    np.testing.assert_allclose(box, np.broadcast_to(line, box.shape), atol=0.1)
    np.testing.assert_allclose(box[..., -1, :].ravel()[:40], line[-1])


def test_a_slab_settles_to_its_steady_state() -> None:
    x, q, h, kappa = np.linspace(0, 2, 21), 5.0, 0.7, 1.3
    u = slab(
        [x],
        1e6,
        3,
        conductivity=kappa,
        transfer=h,
        source=lambda place, _t: np.full(place.shape[1], q),
        source_at=0.0,
    )
    np.testing.assert_allclose(u[:, -1], 300 + q / h + q / (2 * kappa) * x * (2 - x), rtol=1e-6)


@pytest.mark.parametrize(("source_at", "mean"), [(0.0, 0.9), (0.5, 1.0), (1.0, 1.1)])
def test_an_insulated_slab_keeps_all_the_heat_it_gets(source_at: float, mean: float) -> None:
    axes = [np.linspace(0, 1, 4), np.linspace(0, 2, 3), np.linspace(0, 0.1, 3)]
    u = slab(
        axes,
        0.2,
        10,
        conductivity=2.0,
        transfer=0.0,
        source=lambda place, t: np.full(place.shape[1], 3 * t),
        source_at=source_at,
    )
    # The integral of t from 0 to 2 is 2; a rule at the begin or the end of a step misses a tenth.
    np.testing.assert_allclose(u[..., -1], 300 + 2 * mean)


@pytest.mark.parametrize("dim", [1, 2, 3])
def test_simplices_fill_the_box(dim: int) -> None:
    axes = [np.array([0.0, 0.3, 1.0]), np.array([-1.0, 0.5]), np.array([2.0, 2.5, 4.0])][:dim]
    mesh = kuhn_mesh(axes)
    cells = np.prod([len(axis) - 1 for axis in axes])
    assert mesh.nelements == cells * (1, 2, 6)[dim - 1]
    corners = mesh.p[:, mesh.t]
    edges = corners[:, 1:] - corners[:, :1]
    volumes = np.abs(np.linalg.det(np.moveaxis(edges, -1, 0))) / (1, 2, 6)[dim - 1]
    np.testing.assert_allclose(volumes.sum(), np.prod([np.ptp(axis) for axis in axes]))
    expected = np.stack([place.ravel() for place in np.meshgrid(*axes, indexing="ij")])
    np.testing.assert_array_equal(mesh.p, expected)


def test_tables_of_a_basis_integrate_and_differentiate_polynomials() -> None:
    mesh = kuhn_mesh([np.linspace(0, 1, 4), np.linspace(0, 2, 3)])
    basis = Basis(mesh, ElementTriP2(), intorder=4)
    table = Quadrature.of(basis)
    x, y = table.points
    c = basis.project(lambda place: place[0] * place[1] + place[1] ** 2)
    np.testing.assert_allclose(table.values @ c, x * y + y**2, atol=1e-12)
    np.testing.assert_allclose(table.gradients[1] @ c, x + 2 * y, atol=1e-11)
    np.testing.assert_allclose(table.load(x**2).sum(), 2 / 3)
    solid = kuhn_mesh([np.linspace(0, 1, 3)] * 3)
    assert Quadrature.of(Basis(solid, ElementTetP1())).weights.sum() == pytest.approx(1)


def test_factors_solve_what_numpy_solves() -> None:
    generator = np.random.default_rng(1)
    a = generator.normal(size=(30, 30)) * (generator.random((30, 30)) < 0.2)
    a = a + a.T + 30 * np.eye(30)
    b = generator.normal(size=30)
    np.testing.assert_allclose(factorised(sp.csr_array(a))(b), np.linalg.solve(a, b))
