"""What samples say of their noise: against noise of known form and size."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

import numpy as np
import pytest

from mdbench import datatypes
from mdbench.datatypes.facts import Protocol
from mdbench.worker import Noise, Problem
from mdbench.workspace import Workspace

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

T = np.linspace(0.0, 10.0, 400)
SIGNAL = np.column_stack([3.0 + 2.0 * np.sin(T), 1e6 * np.exp(-0.2 * T)])
DEVELOPED = ("pitchfork", "logistic-prey", "lotka-volterra-harvest", "arneodo", "seirs")


def found(measured: Array, u: Array | None = None, **others: Array) -> Noise:
    arrays = {"t": T, "u": measured if u is None else u, "measured": measured, **others}
    noise = Problem("trajectory", ("u0", "u1"), ("u0_t", "u1_t"), arrays).noise
    assert noise is not None
    return noise


def normal(seed: int = 0, shape: tuple[int, ...] = SIGNAL.shape) -> Array:
    return np.random.default_rng(seed).standard_normal(shape)


@pytest.mark.parametrize("share", [0.3, 0.1, 0.01, 1e-4])
def test_proportional_noise_has_its_share(share: float) -> None:
    noise = found(SIGNAL * (1 + share * normal()), SIGNAL)
    assert noise.form == "proportional"
    np.testing.assert_allclose(noise.share, share, rtol=4 * noise.error.max())
    np.testing.assert_array_equal(noise.constant, 0)
    rms = np.sqrt(np.mean(SIGNAL**2, axis=0))
    np.testing.assert_allclose(noise.size, share * rms, rtol=4 * noise.error.max())


def test_constant_noise_has_its_size_in_each_states_unit() -> None:
    noise = found(SIGNAL + normal() * [0.1, 1e4], SIGNAL)
    assert noise.form == "constant"
    np.testing.assert_allclose(noise.constant, [0.1, 1e4], rtol=4 * noise.error.max())
    np.testing.assert_allclose(noise.deviation(SIGNAL), noise.constant + 0 * SIGNAL)
    np.testing.assert_allclose(noise.weights(SIGNAL), 1)


def test_noise_of_both_kinds_has_both() -> None:
    u = np.column_stack([np.exp(-0.6 * T), 50 * np.exp(-0.6 * T)])
    noise = found(u * (1 + 0.1 * normal()) + normal(1) * [5e-3, 0.25], u)
    assert noise.form == "both"
    np.testing.assert_allclose(noise.share, 0.1, rtol=0.35)
    np.testing.assert_allclose(noise.constant, [5e-3, 0.25], rtol=0.35)


def test_clean_samples_have_none_whether_smoothed_or_not() -> None:
    for noise in (found(SIGNAL), found(SIGNAL, SIGNAL + 1e-9 * normal()), found(0 * SIGNAL)):
        assert noise.form == "none"
        np.testing.assert_array_equal(noise.size, 0)
        np.testing.assert_array_equal(noise.weights(SIGNAL), 1)


def test_weights_are_one_over_the_deviation_and_finite_at_a_zero() -> None:
    u = np.column_stack([np.sin(T), np.cos(T)])
    noise = found(u * (1 + 0.1 * normal()), u)
    weights = noise.weights(u)
    assert np.isfinite(weights).all()
    np.testing.assert_allclose(weights.mean(axis=0), 1)
    assert (weights.max(axis=0) <= 1001 * weights.min(axis=0)).all()
    inside = np.abs(u) > 0.1
    np.testing.assert_allclose((weights * np.abs(u))[inside].std() / weights.min(), 0, atol=0.2)


@pytest.mark.parametrize("power", [-150, -12, 0, 12, 150])
def test_units_change_sizes_alone(power: int) -> None:
    measured = SIGNAL * (1 + 0.1 * normal())
    one, other = found(measured, SIGNAL), found(measured * 10.0**power, SIGNAL * 10.0**power)
    assert one.form == other.form
    np.testing.assert_allclose(other.share, one.share)
    np.testing.assert_allclose(other.size, one.size * 10.0**power)


def test_uneven_times_and_several_trajectories() -> None:
    t = np.sort(np.random.default_rng(3).uniform(0, 10, 400))
    u = np.column_stack([3 + 2 * np.sin(t), np.exp(-0.2 * t)])
    jump = np.vstack([u, u[::-1] + 100.0])
    times, number = np.concatenate([t, 10 - t[::-1]]), np.repeat([0.0, 1.0], 400)
    jump[400:] = np.column_stack([3 + 2 * np.cos(times[400:]), 7 + times[400:]])
    noise = found(jump * (1 + 0.05 * normal(2, jump.shape)), jump, t=times, trajectory=number)
    np.testing.assert_allclose(noise.share, 0.05, rtol=4 * noise.error.max())


def test_of_a_field_all_places_are_taken_together() -> None:
    x = np.linspace(0, 1, 60)
    u = (2 + np.sin(6 * x[:, None] + T[None, :]))[..., None]
    arrays = {"x": x, "t": T, "u": u, "measured": u + 0.01 * normal(4, u.shape)}
    noise = Problem("field", ("u0",), ("u0_t",), arrays).noise
    assert noise is not None
    assert noise.form == "constant"
    assert noise.constant[0] == pytest.approx(0.01, rel=0.02)
    assert noise.error[0] < 0.01


def test_a_table_and_too_few_samples_have_no_noise_to_know() -> None:
    table = Problem("table", ("u0",), ("u0_t",), {"X": SIGNAL, "Y": SIGNAL})
    assert table.noise is None
    short = {"t": T[:5], "u": SIGNAL[:5]}
    noise = Problem("trajectory", ("u0", "u1"), ("u0_t", "u1_t"), short).noise
    assert noise is not None
    assert noise.form == "none"


@cache
def known(name: str, snr: float | None) -> tuple[Noise, Array]:
    """Return the noise of what methods are given of a system, and the states' sizes."""
    place = Workspace.find()
    kind = datatypes.find("ode", place.datasets / "ode", place.arrays / "ode")
    dataset = kind.source().load(name, snr_db=snr, seed=0, protocol=Protocol.STRICT)
    task = kind.task(dataset, "trajectory", Protocol.STRICT)
    arrays = dict(task.refit.inputs)
    noise = Problem("trajectory", tuple(task.variables), tuple(task.targets), arrays).noise
    assert noise is not None
    return noise, np.sqrt(np.mean(arrays["u"] ** 2, axis=0))


@pytest.mark.parametrize("name", DEVELOPED)
def test_clean_systems_have_none(name: str) -> None:
    noise, _ = known(name, None)
    assert noise.form == "none"


def test_systems_have_the_noise_that_was_added() -> None:
    """Most sizes are within twice their standard error, and all are within half of themselves."""
    off, sizes = [], []
    for name in DEVELOPED:
        for snr in (40.0, 30.0, 20.0, 10.0):
            noise, rms = known(name, snr)
            share = noise.size / rms / 10 ** (-snr / 20)
            sizes += share.tolist()
            off += ((share - 1) / noise.error).tolist()
            assert noise.form in {"proportional", "both"}
    assert np.mean(np.abs(off) < 2) > 0.8
    assert abs(np.median(sizes) - 1) < 0.06
    assert max(sizes) < 1.5
    assert min(sizes) > 0.65
