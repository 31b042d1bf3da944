"""Checks of derivatives against samples: sound ones pass, spoiled ones do not."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mdbench.data.splines import contradicted_derivatives, contradicted_values, strongest_wave

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[np.float64]


def times(n: int, spacing: str, seed: int) -> Array:
    """Return n times from 0 to 1."""
    generator = np.random.default_rng(seed)
    if spacing == "even":
        return np.linspace(0, 1, n)
    if spacing == "growing":
        grown: Array = np.cumsum(1.1 ** np.arange(float(n)))
        return np.asarray((grown - grown[0]) / (grown[-1] - grown[0]))
    steps = generator.uniform(0.5, 1.5, n)
    found = np.cumsum(steps)
    return np.asarray((found - found[0]) / (found[-1] - found[0]))


class Wave(NamedTuple):
    """An oscillation, by the samples that one has where they are widest apart."""

    n: int
    spacing: str
    per_oscillation: float
    scale: float
    offset: float
    seed: int

    def sampled(self, fewest: float = 0.0) -> tuple[Array, Array, Array]:
        """Return times, values and derivatives, (n,), (n, 1), (n, 1)."""
        t = times(self.n, self.spacing, self.seed)
        many = max(self.per_oscillation, fewest)
        omega = 2 * np.pi / (many * np.diff(t).max())
        phase = self.seed * 0.1
        u = self.scale * (self.offset + np.sin(omega * t + phase))
        return t, u[:, None], (self.scale * omega * np.cos(omega * t + phase))[:, None]


waves = st.builds(
    Wave,
    n=st.integers(7, 120),
    spacing=st.sampled_from(["even", "uneven", "growing"]),
    per_oscillation=st.floats(4, 200),
    scale=st.floats(1e-9, 1e9),
    offset=st.floats(-1e3, 1e3),
    seed=st.integers(0, 999),
)
SAMPLED = Wave(50, "even", 25, 1, 0, 0)


@given(wave=waves)
def test_true_derivatives_are_never_contradicted(wave: Wave) -> None:
    assert not contradicted_derivatives(*wave.sampled()).any()


@given(
    wave=waves,
    wrong=st.sampled_from(["huge", "nan", "infinite", "sign", "zero", "alternating"]),
)
def test_spoiled_derivatives_are(wave: Wave, wrong: str) -> None:
    t, u, du = wave.sampled(fewest=20)
    largest = int(np.argmax(np.abs(du[1:-1, 0]))) + 1
    if wrong == "sign":
        du = -du
    elif wrong == "zero":
        du = np.zeros_like(du)
    elif wrong == "alternating":
        du = du * (1 + 0.8 * (-1) ** np.arange(len(t)))[:, None]
    else:
        du[largest] = {"huge": 1e12 * du[largest], "nan": np.nan, "infinite": np.inf}[wrong]
    assert contradicted_derivatives(t, u, du).all()


def test_each_series_is_checked_by_itself() -> None:
    t, u, du = SAMPLED.sampled()
    found = contradicted_derivatives(t, np.hstack([u, 2 * u, u]), np.hstack([du, 2 * du, 0 * du]))
    assert found.tolist() == [False, False, True]


def test_what_is_checked_may_not_be_finite() -> None:
    t, u, du = SAMPLED.sampled()
    u[20] = np.inf
    assert contradicted_derivatives(t, u, du).all()
    u[20] = np.nan
    assert contradicted_derivatives(t, u, du).all()
    u[20] = 1e308
    assert contradicted_derivatives(t, u, du).all()


@pytest.mark.parametrize("spacing", ["even", "uneven", "growing"])
def test_a_curve_that_swings_between_the_samples_is_contradicted(spacing: str) -> None:
    t = times(60, spacing, 3)
    u = np.sin(6 * t)[:, None]
    between = np.sin(3 * (t[1:] + t[:-1]))[:, None]
    assert not contradicted_values(t, u, between).any()
    swinging = between + 0.5 * (-1.0) ** np.arange(59)[:, None]
    assert contradicted_values(t, u, swinging).all()
    between[7] = np.nan
    assert contradicted_values(t, u, between).all()


def test_an_oscillation_is_distinguished_from_white_noise() -> None:
    generator = np.random.default_rng(0)
    noise = generator.standard_normal((200, 500))
    shares, _ = strongest_wave(noise)
    assert shares.max() < 0.15
    swing = np.sin(2 * np.pi * np.arange(200) / 5)[:, None] + 0.3 * noise
    shares, lengths = strongest_wave(swing)
    assert shares.min() > 0.5
    np.testing.assert_allclose(lengths, 5)
    assert strongest_wave(np.ones((50, 1)))[0].tolist() == [0.0]
