"""Periodic systems against closed forms, symmetries and conserved quantities."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING

import numpy as np
import pytest

from mdbench.datatypes.pde.solvers import spectral

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[np.float64]


def quiet(part: float) -> None:
    assert 0 <= part <= 1


def nodes(n: int, length: float) -> Array:
    return -length / 2 + length / n * np.arange(float(n))


def test_etdrk4_is_of_fourth_order_on_logistic_growth() -> None:
    def error(step: float) -> float:
        states = spectral.etdrk4(
            np.array([1.0]), lambda v: -(v**2), np.array([0.1 + 0j]), step=step, every=1
        )
        last = next(islice(states, round(4 / step), None))
        return float(abs(last[0] - 1 / (1 + 9 * np.exp(-4))))

    orders = [np.log2(error(step) / error(step / 2)) for step in (0.5, 0.25, 0.125)]
    assert orders == pytest.approx([4, 4, 4], abs=0.4)


def test_a_linear_system_is_exact_for_any_step() -> None:
    rates = np.array([0.0, -1e4, 3j, 1e-9])
    states = spectral.etdrk4(rates, np.zeros_like, np.ones(4, complex), step=0.7, every=3)
    np.testing.assert_allclose(next(islice(states, 1, None)), np.exp(2.1 * rates), atol=1e-14)


def test_burgers_is_what_cole_and_hopf_make_of_a_wave_of_heat() -> None:
    nu, length = 0.1, 2.0
    x, k = nodes(128, length), np.pi

    def exact(t: float) -> Array:
        decay = 0.9 * np.exp(-nu * k**2 * t)
        return np.asarray(2 * nu * k * decay * np.sin(k * x) / (1 + decay * np.cos(k * x)))

    u, u_t = spectral.burgers(exact(0), length, 0.1, 11, nu=nu, substeps=50, progress=quiet)
    for i in (5, 10):
        np.testing.assert_allclose(u[:, i], exact(0.1 * i), atol=1e-9)
        rate = (exact(0.1 * i + 1e-4) - exact(0.1 * i - 1e-4)) / 2e-4
        np.testing.assert_allclose(u_t[:, i], rate, atol=1e-7)


@pytest.mark.parametrize("c", [1.0, 0.5])
def test_a_soliton_runs_at_its_speed_and_keeps_its_shape(c: float) -> None:
    x = nodes(512, 120.0)

    def soliton(t: float) -> Array:
        return np.asarray(c / 2 / np.cosh(np.sqrt(c) / 2 * (x + 20 - c * t)) ** 2)

    u, _ = spectral.korteweg_de_vries(soliton(0), 120.0, 5.0, 4, substeps=1500, progress=quiet)
    np.testing.assert_allclose(u[:, -1], soliton(15.0), atol=1e-6)


def test_kdv_conserves_mass_momentum_and_energy() -> None:
    x, h = nodes(256, 40.0), 40.0 / 256
    k = 2 * np.pi * np.fft.fftfreq(256, h)
    u, _ = spectral.korteweg_de_vries(np.exp(-(x**2)), 40.0, 0.5, 5, substeps=500, progress=quiet)
    slope = np.fft.ifft(1j * k[:, None] * np.fft.fft(u, axis=0), axis=0).real
    for conserved in (u, u**2, u**3 - slope**2 / 2):
        np.testing.assert_allclose(conserved.sum(axis=0), conserved[:, 0].sum(), rtol=1e-6)


def test_small_waves_of_ks_grow_and_decay_by_the_dispersion_relation() -> None:
    length = 32 * np.pi
    x = nodes(256, length)
    for k in (0.25, 0.75, 1.25):
        start = 1e-7 * np.cos(k * x)
        u, u_t = spectral.kuramoto_sivashinsky(start, length, 1.0, 3, substeps=20, progress=quiet)
        np.testing.assert_allclose(u[:, -1], np.exp(2 * (k**2 - k**4)) * start, atol=1e-12)
        np.testing.assert_allclose(u_t[:, -1], (k**2 - k**4) * u[:, -1], atol=1e-12)


def test_ks_looks_the_same_to_an_observer_who_moves() -> None:
    """If u solves the equation, so does u(x - c t, t) + c."""
    n, length, t = 256, 32 * np.pi, 8.0
    c = 4 * (length / n) / t  # by four nodes
    start = np.cos(nodes(n, length) / 16) * (1 + np.sin(nodes(n, length) / 16))
    at_rest, moving = (
        spectral.kuramoto_sivashinsky(u, length, t, 2, substeps=400, progress=quiet)[0][:, -1]
        for u in (start, start + c)
    )
    assert np.abs(at_rest - start).max() > 0.5
    np.testing.assert_allclose(moving, np.roll(at_rest, 4) + c, atol=1e-6)


def test_the_breather_of_two_solitons() -> None:
    """From 2 sech x the solution is known (Satsuma and Yajima, 1974); here its conjugate."""
    x, dt = nodes(512, 40.0), np.pi / 20

    def exact(t: float) -> NDArray[np.complex128]:
        top = 4 * (np.cosh(3 * x) + 3 * np.exp(4j * t) * np.cosh(x)) * np.exp(0.5j * t)
        bottom = np.cosh(4 * x) + 4 * np.cosh(2 * x) + 3 * np.cos(4 * t)
        return np.asarray(top / bottom).conj()

    start = (2 / np.cosh(x)).astype(np.complex128)
    psi, psi_t = spectral.schroedinger(start, 40.0, dt, 11, substeps=400, progress=quiet)
    for i in (3, 10):
        np.testing.assert_allclose(psi[:, i], exact(i * dt), atol=1e-6)
        rate = (exact(i * dt + 1e-4) - exact(i * dt - 1e-4)) / 2e-4
        np.testing.assert_allclose(psi_t[:, i], rate, atol=1e-5)


def test_a_spiral_s_arms_far_away_are_plane_waves() -> None:
    d, beta, length = 0.1, 0.7, 20.0
    k = 2 * np.pi / length * np.array([3, -1])
    x, y = np.meshgrid(nodes(32, length), nodes(32, length), indexing="ij")
    height = 1 - d * (k @ k)

    def wave(t: float) -> Array:
        phase = k[0] * x + k[1] * y - beta * height * t
        return np.asarray(np.sqrt(height) * np.stack([np.cos(phase), np.sin(phase)]))

    u, u_t = spectral.reaction_diffusion(
        wave(0), length, 0.1, 21, diffusion=d, beta=beta, substeps=10, progress=quiet
    )
    assert u.shape == (2, 32, 32, 21)
    np.testing.assert_allclose(u[..., -1], wave(2.0), atol=1e-8)
    turned = beta * height * np.stack([wave(2.0)[1], -wave(2.0)[0]])
    np.testing.assert_allclose(u_t[..., -1], turned, atol=1e-7)


def test_whatever_equations_are_solved_as_those_with_solvers_of_their_own() -> None:
    length, n = 16.0, 128
    x = nodes(n, length)
    start = np.exp(-(x**2))
    sampled = {"dt": 0.1, "n_t": 6, "substeps": 50, "progress": quiet}
    cases = {
        "burgers": ({"nu": 0.1}, lambda v: -v[0] * v[1] + 0.1 * v[2]),
        "korteweg_de_vries": ({}, lambda v: -6 * v[0] * v[1] - v[3]),
        "kuramoto_sivashinsky": ({}, lambda v: -v[0] * v[1] - v[2] - v[4]),
    }
    for name, (constants, rates) in cases.items():
        known = getattr(spectral, name)(start, length, **sampled, **constants)
        found = spectral.equations(start[None], length, **sampled, right_hand_sides=rates)  # type: ignore[arg-type]
        for ours, theirs in zip(found, known, strict=True):
            np.testing.assert_allclose(ours[0], theirs, atol=2e-7, err_msg=name)


def test_two_states_that_pass_into_each_other_and_are_carried_along() -> None:
    """At the same speed, with an exchange: sum and difference have closed forms."""
    length, n, speed, rate = 4.0, 64, 0.7, 0.3
    x, k = nodes(n, length), 2 * np.pi / length

    def exchange(v: Array) -> Array:
        (one, other), (one_x, other_x) = v[0], v[1]
        return np.stack(
            [-speed * one_x + rate * (other - one), -speed * other_x + rate * (one - other)]
        )

    start = np.stack([1 + np.sin(k * x), 0.5 * np.cos(2 * k * x)])
    u, u_t = spectral.equations(
        start, length, 0.25, 9, right_hand_sides=exchange, substeps=40, progress=quiet
    )
    t = 2.0
    moved = [1 + np.sin(k * (x - speed * t)), 0.5 * np.cos(2 * k * (x - speed * t))]
    total, difference = moved[0] + moved[1], (moved[0] - moved[1]) * np.exp(-2 * rate * t)
    np.testing.assert_allclose(u[0, :, -1], (total + difference) / 2, atol=1e-8)
    np.testing.assert_allclose(u[1, :, -1], (total - difference) / 2, atol=1e-8)
    orders = [spectral.derivatives_along(u[:, :, -1], length, order) for order in (0, 1)]
    np.testing.assert_allclose(u_t[:, :, -1], exchange(np.stack(orders)), atol=1e-10)
