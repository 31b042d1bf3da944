"""Closed forms against the equations that they solve."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest

from mdbench.datatypes.pde.solvers.closed_forms import drifting_gaussian, translation, warmed_ground
from mdbench.datatypes.pde.solvers.elements import soil


def test_a_translation_moves_the_profile_and_nothing_else() -> None:
    x, t = np.linspace(0, 1, 101), np.linspace(0, 2, 5)
    u = translation(lambda place: place**2, x, t, speed=0.1)
    np.testing.assert_allclose(u[10:, 2], u[:-10, 0])


def test_a_spot_keeps_its_mass_drifts_and_spreads() -> None:
    x, y, t = np.linspace(-30, 20, 401), np.linspace(-35, 25, 401), np.array([0.0, 3.0, 9.0])
    u, _ = drifting_gaussian(x, y, t, height=20.0, velocity=(-0.25, -0.5), diffusion=0.5)
    mass = u.sum(axis=(0, 1)) * (x[1] - x[0]) * (y[1] - y[0])
    np.testing.assert_allclose(mass, 20 * np.pi, rtol=1e-9)
    for axis, place, speed in ((0, x, -0.25), (1, y, -0.5)):
        share = u.sum(axis=1 - axis) / u.sum(axis=(0, 1))
        mean = place @ share
        np.testing.assert_allclose(mean, speed * t, atol=1e-9)
        variance = ((place[:, None] - mean) ** 2 * share).sum(axis=0)
        np.testing.assert_allclose(variance, 0.5 + 2 * 0.5 * t, rtol=1e-9)


def test_a_spot_solves_its_equation() -> None:
    h = 1e-3
    x, y, t = (place + h * np.arange(-1.0, 2.0) for place in (0.3, -0.8, 1.7))
    u, rate = drifting_gaussian(x, y, t, height=3.0, velocity=(-0.25, -0.5), diffusion=0.5)
    u_x, u_y, u_t = (np.diff(line[::2])[0] / (2 * h) for line in (u[:, 1, 1], u[1, :, 1], u[1, 1]))
    laplacian = (np.diff(u[:, 1, 1], 2)[0] + np.diff(u[1, :, 1], 2)[0]) / h**2
    np.testing.assert_allclose(u_t, 0.25 * u_x + 0.5 * u_y + 0.5 * laplacian, rtol=1e-5)
    np.testing.assert_allclose(rate[1, 1, 1], u_t, rtol=1e-5)


@pytest.mark.parametrize("wave_number", [0.0, 4.0])
def test_warmed_ground_solves_its_equation_from_rest(wave_number: float) -> None:
    """Differences of its own values, its surface, its bottom, and its begin."""
    ground = partial(
        warmed_ground, height=1.5, diffusivity=2e-2, omega=0.7, wave_number=wave_number
    )
    h = 1e-3
    z, t = -0.4 + h * np.arange(-1.0, 2.0), 1.3 + h * np.arange(-1.0, 2.0)
    v, v_t = ground(z, t)
    np.testing.assert_allclose(v_t[1, 1], (v[1, 2] - v[1, 0]) / (2 * h), rtol=1e-5)
    v_zz = np.diff(v[:, 1], 2)[0] / h**2
    np.testing.assert_allclose(v_t[1, 1], 2e-2 * (v_zz - wave_number**2 * v[1, 1]), rtol=1e-4)
    t = np.linspace(0.5, 9.0, 8)
    edges, rates = ground(np.array([-1.5, -1.5 + h, 0.0]), t)
    np.testing.assert_allclose(edges[2], np.sin(0.7 * t), atol=1e-12)
    np.testing.assert_allclose(rates[2], 0.7 * np.cos(0.7 * t), atol=1e-12)
    np.testing.assert_allclose(edges[1], edges[0], atol=1e-5)
    begin, _ = ground(np.array([-1.2, -0.5]), np.array([1e-4]))
    np.testing.assert_allclose(begin, 0, atol=1e-10)


def test_warmed_ground_is_what_finite_elements_tend_to() -> None:
    """The published way to make the data, on a finer mesh and with shorter steps."""
    z = np.linspace(-1.5, 0, 51)
    fine = np.linspace(-1.5, 0, 201)
    errors = []
    for steps in (20, 40):
        u = soil(
            [fine],
            3000.0 / steps,
            steps,
            diffusivity=9.6e-7,
            initial=0.0,
            surface=lambda t: float(np.sin(7.27e-5 * t)),
            progress=lambda _part: None,
        )
        exact, _ = warmed_ground(
            z, np.array([3000.0]), height=1.5, diffusivity=9.6e-7, omega=7.27e-5
        )
        errors.append(float(np.abs(u[::4, -1] - exact[:, 0]).max()))
    assert errors[1] < 1e-3
    assert errors[0] / errors[1] == pytest.approx(2, abs=0.3)
