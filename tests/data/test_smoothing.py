"""Smoothing against closed forms and against dense matrices that say the same."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.interpolate import BSpline

from mdbench.data.smoothing import (
    FEWEST_SAMPLES,
    smooth,
    smooth_in_time,
    smoother_along,
)
from mdbench.data.splines import MOST_FUNCTIONS

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[np.float64]


def noisy(n: int = 80, sigma: float = 0.05, seed: int = 0) -> tuple[Array, Array]:
    t = np.linspace(0, 3, n)
    noise = np.random.default_rng(seed).standard_normal(n)
    return t, np.sin(2 * t) + sigma * noise


def test_parabolas_are_what_they_are() -> None:
    t = np.sort(np.random.default_rng(0).uniform(0, 5, 40))
    u = np.stack([1 + 2 * t - 0.5 * t**2, 3 * np.ones(40)], axis=1)
    curve = smooth(t, u)
    np.testing.assert_allclose(curve.u, u, atol=1e-8)
    np.testing.assert_allclose(curve.du[:, 0], 2 - t, atol=1e-7)
    np.testing.assert_allclose(curve.du[:, 1], 0, atol=1e-7)
    np.testing.assert_allclose(curve.variances, 0, atol=1e-12)


def test_the_series_without_noise_is_kept_and_its_derivative_accurate() -> None:
    t = np.linspace(0, 8, 120)
    curve = smooth(t, np.stack([np.sin(t), np.exp(-t)], axis=1))
    np.testing.assert_allclose(curve.u[:, 0], np.sin(t), atol=1e-6)
    np.testing.assert_allclose(curve.du[:, 0], np.cos(t), atol=1e-4)
    np.testing.assert_allclose(curve.du[1:-1, 1], -np.exp(-t)[1:-1], atol=1e-4)
    middle = (t[:-1] + t[1:]) / 2
    np.testing.assert_allclose(curve.at(middle)[:, 0], np.sin(middle), atol=1e-5)
    np.testing.assert_allclose(curve.at(t), curve.u, atol=1e-9)


def test_the_noise_is_estimated_and_taken_out() -> None:
    estimates, errors = [], []
    for seed in range(20):
        t, u = noisy(seed=seed)
        curve = smooth(t, u[:, None])
        estimates.append(curve.variances[0])
        errors.append(np.mean((curve.u[:, 0] - np.sin(2 * t)) ** 2))
    assert np.mean(estimates) == pytest.approx(0.05**2, rel=0.15)
    assert np.mean(errors) < 0.2 * 0.05**2


def test_spikes_without_noise_are_kept() -> None:
    """One smoothness for all of such a series is likeliest where the spikes are noise."""
    t = np.linspace(0, 10, 120)
    u = 1 + 20 * np.exp(-((np.mod(t, 2.5) - 1.2) ** 2) / 0.012)
    curve = smooth(t, u[:, None])
    assert np.std(curve.u[:, 0] - u) < 0.01 * np.std(u)
    noise = np.random.default_rng(0).standard_normal(120)
    for noisy in (u + 6 * noise, u * (1 + 0.6 * noise)):
        assert smooth(t, noisy[:, None]).variances[0] > 0.3 * np.var(noisy - u)


def test_the_smoothness_is_the_likeliest() -> None:
    """The curve is that of a dense Gaussian process at its least restricted likelihood."""
    t, y = noisy(40)
    places, weights = np.polynomial.legendre.leggauss(6)
    knots = np.concatenate([[t[0]] * 6, t[3:-3], [t[-1]] * 6])
    splines = BSpline(knots, np.eye(len(t)), 5)
    edges = np.unique(knots)
    half = np.diff(edges)[:, None] / 2
    at = (edges[:-1, None] + half * (places + 1)).ravel()
    bent = splines(at, nu=3) * np.sqrt((half * weights).ravel())[:, None]
    values = splines(t)
    kernel = values @ np.linalg.pinv(bent.T @ bent, rcond=1e-13) @ values.T
    free = np.stack([np.ones_like(t), t, t**2], axis=1)

    def unlikely(exponent: float) -> float:
        inverse = np.linalg.inv(np.eye(len(t)) + kernel * 10.0**-exponent)
        inner = free.T @ inverse @ free
        left = inverse - inverse @ free @ np.linalg.solve(inner, free.T @ inverse)
        return float(
            -np.linalg.slogdet(inverse)[1]
            + np.linalg.slogdet(inner)[1]
            + (len(t) - 3) * np.log(y @ left @ y)
        )

    exponents = np.arange(-6.0, 2.0, 0.05)
    best = 10.0 ** exponents[int(np.argmin([unlikely(each) for each in exponents]))]
    expected = values @ np.linalg.solve(values.T @ values + best * bent.T @ bent, values.T @ y)
    curve = smooth(t, y[:, None])
    np.testing.assert_allclose(curve.u[:, 0], expected, atol=2e-3)
    assert np.std(expected - y) > 0.02


@settings(max_examples=30)
@given(
    n=st.integers(FEWEST_SAMPLES, 60),
    scale=st.floats(1e-6, 1e6),
    stretch=st.floats(1e-3, 1e3),
    seed=st.integers(0, 99),
)
def test_units_do_not_matter(*, n: int, scale: float, stretch: float, seed: int) -> None:
    generator = np.random.default_rng(seed)
    t, u = np.cumsum(generator.uniform(0.5, 1.5, n)), generator.standard_normal((n, 2))
    one, other = smooth(t, u), smooth(stretch * t + 3, scale * u)
    np.testing.assert_allclose(other.u, scale * one.u, atol=1e-4 * scale)
    np.testing.assert_allclose(other.du * stretch, scale * one.du, atol=1e-3 * scale)


def test_too_few_samples_are_refused() -> None:
    with pytest.raises(ValueError, match="6 samples; 7"):
        smooth(np.arange(6.0), np.zeros((6, 1)))


def test_long_series_have_as_many_functions_as_there_may_be() -> None:
    t, u = noisy(MOST_FUNCTIONS + 1000, 0.1)
    curve = smooth(t, u[:, None])
    np.testing.assert_allclose(curve.u[:, 0], np.sin(2 * t), atol=0.05)
    np.testing.assert_allclose(curve.du[20:-20, 0], 2 * np.cos(2 * t)[20:-20], atol=0.3)


@pytest.mark.parametrize("n", [32, 33])
def test_waves_along_a_periodic_axis_are_kept(n: int) -> None:
    x = np.arange(n) * 2 * np.pi / n
    field = np.stack([np.cos(3 * x), np.sin(x) + 2], axis=1)
    np.testing.assert_allclose(smoother_along(field, x, 0, periodic=True)(field), field, atol=1e-5)
    noise = 0.1 * np.random.default_rng(0).standard_normal((n, 200))
    clean = np.sin(x)[:, None] * np.linspace(1, 2, 200)
    smoother = smoother_along(clean + noise, x, 0, periodic=True)
    left = smoother(clean + noise) - clean
    assert np.std(left) < 0.045  # a fifth of all waves would leave 0.045
    assert np.std(smoother(noise)) == pytest.approx(0.1 * smoother.left**0.5, rel=0.05)


def test_detail_that_is_no_noise_is_kept_where_the_noise_is_known() -> None:
    x = np.arange(32) / 32
    steps = np.sign(np.sin(2 * np.pi * (x[:, None] + np.linspace(0, 1, 40))) + 0.1)
    blurred = smoother_along(steps, x, 0, periodic=True)(steps)
    assert np.abs(blurred - steps).max() > 0.1
    kept = smoother_along(steps, x, 0, periodic=True, noise=1e-8)(steps)
    np.testing.assert_allclose(kept, steps, atol=1e-3)


def test_a_field_is_smoothed_along_the_axis_that_is_named() -> None:
    t, u = noisy(50)
    field: Any = np.stack([u, 2 * u, -u], axis=0)
    along = smoother_along(field, t, 1)(field)
    np.testing.assert_allclose(along[1], 2 * along[0], atol=1e-9)
    one = smooth(t, u[:, None])
    np.testing.assert_allclose(along[0], one.u[:, 0], atol=2e-3)
    smoothed, rate, noise, remark = smooth_in_time(field, t, 1)
    assert not remark
    assert noise == pytest.approx(float(np.mean([1, 4, 1])) * one.variances[0], rel=0.1)
    np.testing.assert_allclose(smoothed, along, atol=1e-9)
    np.testing.assert_allclose(rate[0], one.du[:, 0], atol=0.05)
