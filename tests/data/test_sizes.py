"""What is made of data for methods, at all sizes: none at which something switches may be worse.

A seeded part of the sizes, and all near which the code switches, are tried each time; all of them
from 10 to 1,500 in the nightly lane.
"""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING

import numpy as np
import pytest
from sweeps import sampled

from mdbench.data.derivatives import (
    accurate_derivative,
    fewest_nodes,
    space_derivative,
    time_derivative,
)
from mdbench.data.field import Field
from mdbench.data.smoothing import FEWEST_SAMPLES, smooth, smooth_in_time, smoother_along
from mdbench.data.splines import LONGEST_KEPT, MOST_FUNCTIONS
from mdbench.data.trajectory import Trajectory
from mdbench.datatypes.equations.selection import Increments
from mdbench.datatypes.pde.weak_form import smoothed_field

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

LARGEST = 1500
SWITCHES = (FEWEST_SAMPLES, 12, 16, 20, 32, MOST_FUNCTIONS, 2 * MOST_FUNCTIONS, LONGEST_KEPT)
"""Sizes at which the code does something else: fewest samples and nodes, windows, functions."""
AFTER = (1, 2, 5, 13, 26)
"""How far above such a size is looked: the ill-conditioned fits were 1 to 25 samples above one."""
SPACINGS = ("even", "jittered", "random", "growing")
_RESOLVED = np.pi / 3
NOISE = 0.01
RATE = 2.0
DECAY = 0.3


def sizes(seed: int) -> list[int]:
    """Return the sizes that are tried each time: those at each switch, and a part of the others."""
    generator = np.random.default_rng(seed)
    near = {size + after for size in SWITCHES for after in (-1, 0, *generator.choice(AFTER, 2))}
    drawn = generator.integers(10, LARGEST, 4).tolist()
    return sorted(int(size) for size in near | set(drawn) if 10 <= size <= LARGEST)


def times(n: int, spacing: str) -> Array:
    """Return n times from 0 to 10."""
    generator = np.random.default_rng(n)
    t = np.linspace(0, 10, n)
    if spacing == "jittered":
        t[1:-1] += generator.uniform(-0.3, 0.3, n - 2) * t[1]
    elif spacing == "random":
        t = np.sort(generator.uniform(0, 10, n))
    elif spacing == "growing":
        t = np.geomspace(1, 11, n) - 1
    return t


def states(t: Array) -> tuple[Array, Array]:
    """Return three states that oscillate and decay, (n, 3), and their derivatives."""
    wave, turned, fall = np.cos(RATE * t), np.sin(RATE * t), np.exp(-DECAY * t)
    u = np.stack([fall * wave, fall * turned, fall], axis=1)
    du = np.stack(
        [-RATE * u[:, 1] - DECAY * u[:, 0], RATE * u[:, 0] - DECAY * u[:, 1], -DECAY * fall], axis=1
    )
    return u, du


def off(found: Array, true: Array) -> Array:
    """Return the root mean square of errors over that of the truth, of (n, d) for each."""
    return np.asarray(np.sqrt(np.mean((found - true) ** 2, axis=0) / np.mean(true**2, axis=0)))


def allowed(t: Array) -> float:
    """Return how far off a derivative from clean samples may be, by the widest step.

    The splines' own error is about (step times rate)^5 / 100; a parabola's would be its square / 6.
    """
    step = RATE * float(np.diff(t).max())
    return 1e-4 + 0.1 * step**4


def check_series(n: int, spacing: str) -> None:
    t = times(n, spacing)
    u, du = states(t)
    if RATE * float(np.diff(t).max()) > _RESOLVED:  # fewer than six samples to an oscillation
        assert np.isfinite(smooth(t, u).du).all()
        return
    for dim in (1, 2, 3):
        curve = smooth(t, u[:, :dim])
        assert curve.remarks == ("",) * dim
        assert off(curve.du[1:-1], du[1:-1, :dim]).max() < allowed(t)
        assert off(curve.u, u[:, :dim]).max() < allowed(t)
        middle = (t[:-1] + t[1:]) / 2
        assert off(curve.at(middle), states(middle)[0][:, :dim]).max() < allowed(t)
    noisy = u * (1 + NOISE * np.random.default_rng(n).standard_normal(u.shape))
    curve = smooth(t, noisy)
    assert curve.remarks == ("",) * 3
    # Smoothing is to be better than differences are, and never much worse than a good one.
    worst = 0.15 + min(1.0, allowed(t))
    assert off(curve.du[1:-1], du[1:-1]).max() < worst
    assert off(curve.u, u).max() < 1.5 * NOISE + min(1.0, allowed(t))
    # What is integrated of the derivative is the change of the state.
    middle = (t[:-1] + t[1:]) / 2
    steps = np.diff(t)[:, None]
    quarter = [curve.at(middle + place * np.diff(t)) for place in (-1e-3, 1e-3)]
    slopes = (quarter[1] - quarter[0]) / (2e-3 * steps)
    simpson = np.cumsum(steps * (curve.du[:-1] + 4 * slopes + curve.du[1:]) / 6, axis=0)
    assert off(simpson, curve.u[1:] - curve.u[0]).max() < 0.02 + min(1.0, allowed(t))


def spaced(seed: int) -> list[tuple[int, str]]:
    """Return sizes, each with one of the spacings; the nightly sweep has all of both."""
    return [(n, SPACINGS[index % len(SPACINGS)]) for index, n in enumerate(sizes(seed))]


@pytest.mark.parametrize(("n", "spacing"), spaced(1))
def test_series_of_any_size_are_smoothed_well(n: int, spacing: str) -> None:
    check_series(n, spacing)


@pytest.mark.nightly
@pytest.mark.parametrize("spacing", SPACINGS)
@pytest.mark.parametrize("first", range(10, LARGEST, 50))
def test_series_of_every_size_are_smoothed_well(first: int, spacing: str) -> None:
    for n in range(first, min(first + 50, LARGEST + 1)):
        check_series(n, spacing)


def travelling(n_x: int, n_t: int, *, periodic: bool) -> Field:
    """Return a wave that travels and decays, with its derivative in time."""
    x = np.linspace(0, 5, n_x, endpoint=not periodic)
    t = np.linspace(0, 4, n_t)
    angle = 2 * np.pi / 5 * (x[:, None] - 0.7 * t)
    fall = np.exp(-DECAY * t)
    u = fall * np.sin(angle)
    du = -DECAY * u - 0.7 * 2 * np.pi / 5 * fall * np.cos(angle)
    periods = {"x": 5.0} if periodic else {}
    return Field(t, {"x": x}, u[..., None], du[..., None], periods=periods)


def check_field(n_x: int, n_t: int, *, periodic: bool) -> None:
    field = travelling(n_x, n_t, periodic=periodic)
    assert field.du is not None
    true = field.du[..., 1:-1, 0]
    few = (4 / (n_t - 1)) ** 4 + (5 / n_x) ** 4
    for noise, most in ((0.0, 1e-4 + few), (NOISE, 0.1 + few)):
        factor = 1 + noise * np.random.default_rng(n_x * n_t).standard_normal(field.u.shape)
        given = Field(field.t, field.grid, field.u * factor, periods=field.periods)
        found, remarks = smoothed_field(given)
        assert found.du is not None
        assert remarks == ()
        assert off(found.du[..., 1:-1, 0].ravel(), true.ravel()) < most
        assert off(found.u.ravel(), field.u.ravel()) < most / 2


@pytest.mark.parametrize("periodic", [True, False])
@pytest.mark.parametrize("n", sizes(2)[::4])
def test_fields_of_any_size_are_smoothed_well(n: int, *, periodic: bool) -> None:
    check_field(max(n, 12), 24, periodic=periodic)
    check_field(16, max(n, 12), periodic=periodic)


@pytest.mark.nightly
@pytest.mark.parametrize("periodic", [True, False])
@pytest.mark.parametrize("first", range(12, LARGEST, 50))
def test_fields_of_every_size_are_smoothed_well(first: int, *, periodic: bool) -> None:
    for n in range(first, min(first + 50, LARGEST + 1)):
        check_field(n, 24, periodic=periodic)
        check_field(16, n, periodic=periodic)


def check_differences(n: int) -> None:
    """Differences are exact for the polynomials that they are made for, and accurate for a wave."""
    x = np.linspace(-1, 1, n)
    for order in range(1, 5):
        if n < fewest_nodes(order):
            continue
        polynomial = np.polynomial.Polynomial([0.3, -1, 0.5, 0.7, 0.2][: order + 2])
        true = polynomial.deriv(order)(x)
        rounding = 1e-13 * (n / 2) ** order * 10
        for derivative in (space_derivative, accurate_derivative):
            found = derivative(polynomial(x), x, 0, order)
            np.testing.assert_allclose(found, true, atol=1e-9 + rounding)
        period = np.arange(n) * 2 * np.pi / n
        waves = accurate_derivative(np.sin(period), period, 0, order, period=2 * np.pi)
        expected = np.sin(period + order * np.pi / 2)
        np.testing.assert_allclose(waves, expected, atol=1e-9 + 1e-15 * (n / 2) ** order)
    for spacing in SPACINGS:
        t = times(n, spacing)
        parabola = 1 + 2 * t - 0.5 * t**2
        least = float(np.diff(t).min())
        np.testing.assert_allclose(
            time_derivative(t, parabola), 2 - t, atol=1e-9 + 1e-14 * 30 / least
        )


@pytest.mark.parametrize("n", [*range(3, 40), *sizes(3)])
def test_differences_of_any_size_are_exact(n: int) -> None:
    check_differences(n)


@pytest.mark.nightly
def test_differences_of_every_size_are_exact() -> None:
    for n in range(3, LARGEST + 1):
        check_differences(n)


def check_choice(n: int) -> None:
    """The law is better than nothing and than a wrong law, at any number of samples."""
    t = times(n, "even")
    u, _ = states(t)
    curve = smooth(t, u[:, :2])
    evidence = Increments.of([curve], [Trajectory(t, u[:, :2])])
    columns = evidence.columns
    law = -DECAY * columns["u0"] - RATE * columns["u1"]
    wrong = -RATE * columns["u1"]
    assert evidence.loss(law, 0) < min(1e-3, 1e-7 + allowed(t) ** 2)
    assert evidence.loss(wrong, 0) > 1e-3
    assert evidence.loss(0 * law, 0) == pytest.approx(1)


@pytest.mark.parametrize("n", [n for n in sizes(4) if n >= 15])
def test_the_law_is_chosen_at_any_size(n: int) -> None:
    check_choice(n)


@pytest.mark.nightly
def test_the_law_is_chosen_at_every_size() -> None:
    for n in range(15, LARGEST + 1):
        check_choice(n)


@pytest.mark.parametrize(
    ("noise", "series"),
    sampled(product((0.0, NOISE), ((2000, 130), (1000, 70), (4000, 200), (6000, 400))), least=2),
)
def test_long_series_are_followed_however_often_they_swing(
    noise: float, series: tuple[int, int]
) -> None:
    """400 splines cannot follow them: they are smoothed in stretches."""
    n, oscillations = series
    t = np.linspace(0, 1, n)
    omega = 2 * np.pi * oscillations
    clean = np.stack([np.sin(omega * t), np.cos(0.01 * omega * t)], axis=1)
    du = np.stack([omega * np.cos(omega * t), -0.01 * omega * np.sin(0.01 * omega * t)], axis=1)
    u = clean + noise * np.random.default_rng(n).standard_normal(clean.shape)
    curve = smooth(t, u)
    assert off(curve.du, du).max() < 0.05
    assert curve.variances == pytest.approx(noise**2, rel=0.3, abs=3e-4)
    if not noise:
        middle = (t[1:] + t[:-1]) / 2
        assert abs(curve.at(middle)[:, 0] - np.sin(omega * middle)).max() < 0.05
        # The derivative is that of the curve, where two stretches meet, too.
        small = 1e-4 * (t[1] - t[0])
        slopes = (curve.at(middle + small) - curve.at(middle - small)) / (2 * small)
        expected = (curve.du[1:] + curve.du[:-1]) / 2
        assert np.abs(slopes - expected)[:, 0].max() < 0.15 * omega


def test_long_fields_are_followed_however_often_they_swing() -> None:
    t = np.linspace(0, 1, 1500)
    omega = 2 * np.pi * 120
    phases = np.linspace(0, 3, 5)[:, None]
    u = np.sin(omega * t + phases)
    found = smooth_in_time(u, t, 1)
    assert not found.remark
    assert (
        off(found.du[:, 1:-1].ravel(), omega * np.cos(omega * t + phases)[:, 1:-1].ravel()) < 0.05
    )
    smoother = smoother_along(u, t, 1)
    assert off(smoother(u).ravel(), u.ravel()) < 0.02
    noise = np.random.default_rng(0).standard_normal((200, 1500))
    assert np.var(smoother(noise)) == pytest.approx(smoother.left, rel=0.15)
