"""The channel that repeats itself, against closed forms and the balance of its equations."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from scipy.optimize import brentq

from mdbench.data.derivatives import accurate_derivative
from mdbench.datatypes.pde.solvers.channel_waves import StokesModes, repeating_channel, vortices

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

PERIOD = 2.0
NODES = np.linspace(0.125, 0.875, 25)


def quiet(part: float) -> None:
    assert 0 <= part <= 1


def solved(x: Array, y: Array, times: Array, **changes: Any) -> tuple[Array, Array]:
    settings: dict[str, Any] = {
        "start": lambda p: 0.3 * vortices(p),
        "density": 1.0,
        "viscosity": 0.02,
        "drop": 0.2,
        "waves": 14,
        "modes": 22,
        "substeps": 8,
    }
    return repeating_channel(
        places=(x, y), times=times, period=PERIOD, progress=quiet, **(settings | changes)
    )


def test_stokes_modes_decay_as_their_closed_form_states() -> None:
    """Of the even ones k tanh(k/2) = -m tan(m/2), of the odd ones k coth(k/2) = m cot(m/2)."""
    found = StokesModes(PERIOD, 3, 20)
    np.testing.assert_allclose(found.rates[0, :6], (np.pi * np.arange(1, 7)) ** 2, rtol=1e-9)
    for k, rates in zip(found.k[1:], found.rates[1:], strict=True):
        exact = []
        for n in range(1, 4):
            even = [(2 * n - 1) * np.pi + 1e-9, 2 * n * np.pi]
            m = brentq(lambda m, k=k: k * np.tanh(k / 2) + m * np.tan(m / 2), *even, xtol=1e-13)
            exact.append(k**2 + m**2)
            odd = [2 * n * np.pi + 1e-9, (2 * n + 1) * np.pi]
            m = brentq(lambda m, k=k: k / np.tanh(k / 2) - m / np.tan(m / 2), *odd, xtol=1e-13)
            exact.append(k**2 + m**2)
        np.testing.assert_allclose(rates[:6], exact, rtol=1e-8)


def test_start_up_of_poiseuille_s_flow() -> None:
    times = 0.05 * np.arange(1.0, 11.0)
    u, u_t = solved(
        NODES, NODES, times, start=np.zeros_like, density=2.0, viscosity=2.0, drop=16.0, waves=2
    )
    exact = 4 * (NODES * (1 - NODES))[:, None] * np.ones(10)
    rate = np.zeros_like(exact)
    for n in range(1, 80, 2):
        k = n * np.pi
        part = 32 / k**3 * np.sin(k * NODES)[:, None] * np.exp(-(k**2) * times)
        exact -= part
        rate += k**2 * part
    np.testing.assert_allclose(u[0], exact[None] + 0 * u[0], atol=1e-7)
    np.testing.assert_allclose(u_t[0], rate[None] + 0 * u[0], atol=1e-5)
    np.testing.assert_allclose(u[1], 0, atol=1e-12)
    np.testing.assert_allclose(u[2], 16 * (1 - NODES)[:, None, None] + 0 * u[2], atol=1e-9)


def test_vortices_have_no_divergence_and_rest_at_the_walls() -> None:
    place, h = np.random.default_rng(0).random((2, 50)), 1e-5
    along, across = np.array([[h], [0]]), np.array([[0], [h]])
    u_x = (vortices(place + along) - vortices(place - along))[0]
    v_y = (vortices(place + across) - vortices(place - across))[1]
    np.testing.assert_allclose(u_x + v_y, 0, atol=1e-9)
    assert np.abs(vortices(place)).max() > 3
    np.testing.assert_allclose(vortices(place + np.array([[PERIOD], [0]])), vortices(place))
    for wall in (0.0, 1.0):
        at_wall = np.stack([place[0], np.full(50, wall)])
        np.testing.assert_allclose(vortices(at_wall), 0, atol=1e-12)


@pytest.mark.parametrize("density", [pytest.param(1.0, marks=pytest.mark.nightly), 2.0])
def test_the_flow_has_the_balance_of_its_equations_at_every_node(density: float) -> None:
    """The pressure is that of the momentum along x; that along y knows nothing of it."""
    times = 0.02 * np.arange(20.0, 28.0)
    nodes = np.linspace(0.125, 0.875, 49)
    fine = {"density": density, "viscosity": 0.02 * density, "waves": 20, "modes": 32}
    states, rates = solved(nodes, nodes, times, **fine)
    u, v, p = states
    inside = (slice(4, -4),) * 2

    def d(values: Array, axis: int, order: int = 1) -> Array:
        return accurate_derivative(values, nodes, axis, order)

    for w, rate, axis in ((u, rates[0], 0), (v, rates[1], 1)):
        force = 0.02 * density * (d(w, 0, 2) + d(w, 1, 2)) - d(p, axis)
        missed = density * (rate + u * d(w, 0) + v * d(w, 1)) - force
        assert np.square(missed[inside]).sum() < 1e-10 * np.square(density * rate[inside]).sum()
        by_states = accurate_derivative(w, times, 2, 1)[..., 3:-3]
        np.testing.assert_allclose(by_states, rate[..., 3:-3], atol=1e-4)
    assert np.square(d(u, 0) + d(v, 1))[inside].max() < 1e-9
    # The pressure falls by 0.2 along a length of 1, and repeats itself besides.
    once, again = (solved(NODES + a, NODES, times[:2], density=density)[0] for a in (0, PERIOD))
    np.testing.assert_allclose(again[:2], once[:2], atol=1e-12)
    np.testing.assert_allclose(again[2], once[2] - 0.2 * PERIOD, atol=1e-12)


def test_energy_goes_by_friction_and_comes_by_the_fall_of_the_pressure() -> None:
    """Convection takes none: of all the plane, int u . u_t = drop int u - nu int |grad u|^2."""
    x = np.linspace(0, PERIOD, 60, endpoint=False)
    s, weights = np.polynomial.legendre.leggauss(40)
    (u, v, _), (u_t, v_t) = solved(x, (s + 1) / 2, 0.1 * np.arange(2.0, 4.0))
    k = 2j * np.pi / PERIOD * np.fft.fftfreq(60, 1 / 60)
    polynomial = np.polynomial.legendre.legvander(s, 39)
    slope = np.stack(
        [
            2 * np.polynomial.legendre.legval(s, np.polynomial.legendre.legder(each))
            for each in np.linalg.inv(polynomial).T
        ],
        axis=1,
    )

    def whole(f: Array) -> Array:
        return np.asarray(np.einsum("xyt,y->t", f, weights / 2) * PERIOD / 60)

    def squared_slopes(f: Array) -> Array:
        along = np.fft.ifft(k[:, None, None] * np.fft.fft(f, axis=0), axis=0).real
        return np.asarray(along**2 + np.einsum("yz,xzt->xyt", slope, f) ** 2)

    gained = whole(u * u_t + v * v_t)
    friction = 0.02 * whole(squared_slopes(u) + squared_slopes(v))
    assert (friction > 0.1).all()
    np.testing.assert_allclose(gained, 0.2 * whole(u) - friction, atol=1e-8)


def test_finer_ways_give_the_same_flow() -> None:
    times = 0.02 * np.arange(11.0, 20.0)
    base, _ = solved(NODES, NODES, times)
    for change in ({"waves": 20}, {"modes": 30}, {"substeps": 16}):
        finer, _ = solved(NODES, NODES, times, **change)
        np.testing.assert_allclose(finer, base, atol=3e-5)
