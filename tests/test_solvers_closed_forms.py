"""Closed forms against the equations that they solve."""

from __future__ import annotations

import numpy as np

from mdbench.solvers.closed_forms import drifting_gaussian, translation


def test_a_translation_moves_the_profile_and_nothing_else() -> None:
    x, t = np.linspace(0, 1, 101), np.linspace(0, 2, 5)
    u = translation(lambda place: place**2, x, t, speed=0.1)
    np.testing.assert_allclose(u[10:, 2], u[:-10, 0])


def test_a_spot_keeps_its_mass_drifts_and_spreads() -> None:
    x, y, t = np.linspace(-30, 20, 401), np.linspace(-35, 25, 401), np.array([0.0, 3.0, 9.0])
    u = drifting_gaussian(x, y, t, height=20.0, velocity=(-0.25, -0.5), diffusion=0.5)
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
    u = drifting_gaussian(x, y, t, height=3.0, velocity=(-0.25, -0.5), diffusion=0.5)
    u_x, u_y, u_t = (np.diff(line[::2])[0] / (2 * h) for line in (u[:, 1, 1], u[1, :, 1], u[1, 1]))
    laplacian = (np.diff(u[:, 1, 1], 2)[0] + np.diff(u[1, :, 1], 2)[0]) / h**2
    np.testing.assert_allclose(u_t, 0.25 * u_x + 0.5 * u_y + 0.5 * laplacian, rtol=1e-5)
