"""RK4-SINDy against steps written out by hand, finite differences, and known systems."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from harness import imported
from scipy.integrate import solve_ivp

from eqverdict.fidelity.compare import compare
from mdbench.worker import Problem

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    Array = NDArray[np.float64]

NAMES = ("u0", "u1")
PREY = ["1.84*u0 - 1.45*u0*u1", "-3.0*u1 + 1.62*u0*u1"]


@pytest.fixture(scope="module")
def rk4sindy() -> Iterator[Any]:
    with imported("rk4sindy") as module:
        yield module


def predator_and_prey(t: Array, noise: float = 0.0) -> Problem:
    def slope(_: float, u: Any) -> list[float]:
        return [u[0] * (1.84 - 1.45 * u[1]), -u[1] * (3.0 - 1.62 * u[0])]

    u = solve_ivp(slope, t[[0, -1]], [3.3, 1.4], t_eval=t, rtol=1e-9, atol=1e-10).y.T
    u = u + noise * np.random.default_rng(5).standard_normal(u.shape)
    arrays = {"t": t, "u": u, "du": np.gradient(u, t, axis=0)}
    return Problem("trajectory", NAMES, ("u0_t", "u1_t"), arrays)


def steps_of(terms: Any, t: Array, u: Array, **more: Array) -> Any:
    problem = Problem("trajectory", NAMES, (), {"t": t, "u": u, **more})
    return sys.modules["steps"].Steps(terms, problem)


def library(*, order: int = 2, basis: str = "polynomial+sin+cos") -> tuple[Any, Any]:
    states = sys.modules["states"]
    chosen = states.Library("cross", basis, order)
    return chosen, states.StateTerms([chosen], NAMES)


@pytest.mark.usefixtures("rk4sindy")
def test_the_slopes_of_terms_are_those_of_differences() -> None:
    _, terms = library(order=4)
    u = np.random.default_rng(0).uniform(-2, 2, (20, 2))
    u[0] = 0.0
    found = terms.gradients(u)
    for state, h in enumerate(np.eye(2) * 1e-6):
        expected = (terms.features(u + h) - terms.features(u - h)) / 2e-6
        np.testing.assert_allclose(found[..., state], expected, atol=1e-7)


def written_out(terms: Any, coefficients: Array, u: Array, h: float) -> Array:
    def slope(place: Array) -> Array:
        return np.asarray(terms.features(place[None])[0] @ coefficients.T)

    one = slope(u)
    two = slope(u + h / 2 * one)
    three = slope(u + h / 2 * two)
    four = slope(u + h * three)
    return np.asarray(u + h / 6 * (one + 2 * two + 2 * three + four))


@pytest.mark.usefixtures("rk4sindy")
def test_steps_lead_forth_and_back_by_uneven_times() -> None:
    _, terms = library()
    generator = np.random.default_rng(1)
    t = np.cumsum(generator.uniform(0.05, 0.2, 6))
    u = generator.uniform(0.5, 1.5, (6, 2))
    coefficients = generator.normal(size=(2, len(terms)))
    found = steps_of(terms, t, u).misses(coefficients)
    for k, h in enumerate(np.diff(t)):
        forth = written_out(terms, coefficients, u[k], h) - u[k + 1]
        back = written_out(terms, coefficients, u[k + 1], -h) - u[k]
        np.testing.assert_allclose(found[k], forth, atol=1e-13)
        np.testing.assert_allclose(found[k + 5], back, atol=1e-13)


@pytest.mark.usefixtures("rk4sindy")
def test_the_change_of_the_misses_is_that_of_differences() -> None:
    _, terms = library()
    generator = np.random.default_rng(2)
    steps = steps_of(terms, np.linspace(0, 1, 8), generator.uniform(-1, 1, (8, 2)))
    active = generator.random((2, len(terms))) < 0.6
    coefficients = np.where(active, generator.normal(size=active.shape), 0.0)
    misses, change = steps.with_change(coefficients, active)
    np.testing.assert_allclose(misses, steps.misses(coefficients), atol=1e-14)
    for number, place in enumerate(zip(*np.nonzero(active), strict=True)):
        ends = []
        for h in (1e-6, -1e-6):
            moved = coefficients.copy()
            moved[place] += h
            ends.append(steps.misses(moved))
        expected = (ends[0] - ends[1]) / 2e-6
        np.testing.assert_allclose(change[..., number], expected, atol=1e-7)


@pytest.mark.usefixtures("rk4sindy")
def test_what_is_kept_is_above_the_threshold_and_at_a_minimum() -> None:
    problem = predator_and_prey(np.linspace(0, 6, 100), noise=0.02)
    _, terms = library(basis="polynomial")
    steps = steps_of(terms, problem.t, problem.u)
    size = np.std(problem.u, axis=0)
    pruning, thresholds = sys.modules["pruning"], [0.01, 0.3, 1.0, 1e6]
    start = pruning.differentiated(terms.features(problem.u), problem.du)
    found = pruning.prune(steps, start, np.ones(start.shape, dtype=bool), size, thresholds)
    for threshold, coefficients in zip(thresholds[:-1], found[:-1], strict=True):
        kept = coefficients != 0
        assert (np.abs(coefficients[kept]) >= threshold).all()
        misses, change = steps.with_change(coefficients, kept)
        slope = np.einsum("md,mdk->k", misses / size**2, change)
        bound = np.sqrt(np.sum((misses / size) ** 2)) * np.linalg.norm(
            change / size[:, None], axis=(0, 1)
        )
        assert (np.abs(slope) < 2e-3 * bound).all()
    assert not found[-1].any()


@pytest.mark.parametrize("even", [True, False])
def test_coarse_samples_are_enough(rk4sindy: Any, *, even: bool) -> None:
    """Where differences of the samples are off by a tenth and more, steps are not."""
    t = np.linspace(0, 6, 70)
    if not even:
        t[1:-1] += np.random.default_rng(3).uniform(-0.02, 0.02, 68)
    problem = predator_and_prey(t)
    adapter = rk4sindy.Adapter(seed=0, threads=1, order=2, threshold=0.3)
    adapter.fit(problem)
    equations = adapter.equations()
    assert compare(PREY, equations, NAMES).verdict.value == "identified"
    assert adapter.predict(problem).shape == problem.u.shape


def test_a_sweep_gives_what_each_setting_gives(rk4sindy: Any) -> None:
    problem = predator_and_prey(np.linspace(0, 6, 60), noise=0.01)
    grid = [{"threshold": value, "order": order} for value in (0.03, 0.3) for order in (1, 2, 3)]
    swept = list(rk4sindy.Adapter.sweep(problem, problem, grid, seed=0, threads=1))
    assert not rk4sindy.Adapter.stopped_early
    assert any(compare(PREY, one.equations, NAMES).verdict.value == "identified" for one in swept)
    for one in swept:
        alone = rk4sindy.Adapter(seed=0, threads=1, **one.hyperparameters)
        if one.hyperparameters["threshold"] == 0.03:  # a larger one starts from where it ended
            alone.fit(problem)
            np.testing.assert_allclose(alone.predict(problem), one.predictions, rtol=1e-6)
            kept = [equation.count("u") for equation in one.equations]
            assert [equation.count("u") for equation in alone.equations()] == kept


def test_time_that_is_up_leaves_large_libraries_out(rk4sindy: Any) -> None:
    problem = predator_and_prey(np.linspace(0, 6, 60))
    limited = Problem("trajectory", NAMES, problem.targets, dict(problem.arrays), time_limit=1e-6)
    grid = [{"threshold": 0.3, "order": order} for order in (3, 1)]
    swept = list(rk4sindy.Adapter.sweep(limited, limited, grid, seed=0, threads=1))
    assert rk4sindy.Adapter.stopped_early
    assert [one.hyperparameters["order"] for one in swept] == [1]


def test_steps_that_leave_the_range_of_numbers_leave_an_answer(rk4sindy: Any) -> None:
    generator = np.random.default_rng(0)
    t, u = np.linspace(0, 100, 40), 1e3 * generator.standard_normal((40, 2))
    arrays = {"t": t, "u": u, "du": np.gradient(u, t, axis=0)}
    problem = Problem("trajectory", NAMES, ("u0_t", "u1_t"), arrays)
    adapter = rk4sindy.Adapter(seed=0, threads=1, order=4, threshold=1e-9)
    adapter.fit(problem)
    assert len(adapter.equations()) == 2


@pytest.mark.usefixtures("rk4sindy")
def test_no_step_leads_from_one_trajectory_to_the_next() -> None:
    _, terms = library()
    generator = np.random.default_rng(4)
    t = np.concatenate([np.linspace(0, 1, 7), np.linspace(0, 2, 5)])
    u = generator.uniform(0.5, 1.5, (12, 2))
    coefficients = generator.normal(size=(2, len(terms)))
    which = np.repeat([0.0, 1.0], [7, 5])
    joined = steps_of(terms, t, u, trajectory=which).misses(coefficients)
    first, second = (
        steps_of(terms, t[rows], u[rows]).misses(coefficients)
        for rows in (slice(7), slice(7, None))
    )
    expected = np.concatenate([first[:6], second[:4], first[6:], second[4:]])
    np.testing.assert_array_equal(joined, expected)
