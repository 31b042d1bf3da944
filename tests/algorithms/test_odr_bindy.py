"""ODR-BINDy: its loss against differences, its evidence, and the paper's Van der Pol system."""

from __future__ import annotations

import sys
import tomllib
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from harness import ROOT, imported
from scipy.integrate import solve_ivp
from weakident_numbers import numbers

from mdbench.data.smoothing import smooth
from mdbench.worker import Problem, Unsupported

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    Array = NDArray[np.float64]

GIVEN = tomllib.loads((ROOT / "algorithms/odr_bindy/method.toml").read_text())["hyperparameters"]


@pytest.fixture(scope="module")
def odr() -> Iterator[Any]:
    with imported("odr_bindy") as module:
        yield module


@pytest.fixture(scope="module")
def regression(odr: Any) -> Any:
    del odr  # it has imported it
    return sys.modules["regression"]


def van_der_pol(t: Array) -> Array:
    """The paper's system, from its start."""

    def rates(_: float, u: Array) -> list[float]:
        return [u[1], 0.5 * (1 - u[0] ** 2) * u[1] - u[0]]

    solved = solve_ivp(rates, (0, t[-1]), [-2, 1], t_eval=t, rtol=1e-10, atol=1e-12)
    return np.asarray(solved.y.T)


def problem_of(t: Array, measured: Array) -> Problem:
    names = tuple(f"u{k}" for k in range(measured.shape[1]))
    curve = smooth(t, measured)
    arrays = {"t": t, "u": curve.u, "measured": measured, "du": curve.du}
    return Problem("trajectory", names, tuple(f"{name}_t" for name in names), arrays)


def fitted(odr: Any, problem: Problem) -> Any:
    method = odr.Adapter(seed=0, threads=1, **GIVEN)
    method.fit(problem)
    return method


@pytest.mark.slow
@pytest.mark.parametrize(("share", "off"), [(0.0, 1e-5), (0.1, 0.08)])
def test_the_papers_van_der_pol_system_is_found(odr: Any, share: float, off: float) -> None:
    t = np.linspace(0, 8, 118)
    u = van_der_pol(t)
    noise = share * u.std() * np.random.default_rng(0).standard_normal(u.shape)
    first, second = fitted(odr, problem_of(t, u + noise)).equations()
    assert numbers(first, ("u1",)) == {"u1": pytest.approx(1, rel=off)}
    assert numbers(second, ("u0", "u1", "u0**2*u1")) == {
        "u0": pytest.approx(-1, rel=off),
        "u1": pytest.approx(0.5, rel=off),
        "u0**2*u1": pytest.approx(-0.5, rel=off),
    }


def small(odr: Any, regression: Any) -> tuple[Any, Array]:
    """A regression of few samples, and states that are not its minimum."""
    rng = np.random.default_rng(1)
    t = np.cumsum(rng.uniform(0.05, 0.15, 12))
    u = van_der_pol(t)
    library = odr._on_states(odr._powers(("u0", "u1"), 2), np.zeros((12, 0)), None)
    made = regression.Regression(
        regression.central_differences(t, [np.arange(12)]),
        u + 0.1 * rng.standard_normal(u.shape),
        library,
        np.full(u.shape, 0.1),
        np.array([0.1, 0.2]),
        np.full((2, 6), 3.0),
    )
    return made, u


def test_the_curvature_is_that_of_a_dense_gauss_newton_matrix(odr: Any, regression: Any) -> None:
    """Band and border against J'J by differences: after the states are eliminated, C is alike."""
    made, u = small(odr, regression)
    mask = np.random.default_rng(0).random((2, 6)) < 0.6
    fit = made.fit(u, np.where(mask, 0.3, 0.0), mask, 60, lambda: False)

    def misses(z: Array) -> Array:
        states, coefficients = z[:24].reshape(12, 2), np.zeros((2, 6))
        coefficients[mask] = z[24:]
        rows = np.diff(made._d.indptr) > 0
        left = (made._d @ states - made.library.values(states) @ coefficients.T)[rows]
        parts = [(states - made.samples) / 0.1, left / [0.1, 0.2], coefficients[mask] / 3]
        return np.concatenate([part.ravel() for part in parts])

    z = np.concatenate([fit.states.ravel(), fit.coefficients[mask]])
    assert fit.loss == pytest.approx(misses(z) @ misses(z) / 2)
    steps = 1e-6 * np.eye(len(z))
    jacobian = np.stack([(misses(z + h) - misses(z - h)) / 2e-6 for h in steps], axis=1)
    dense = np.linalg.inv(jacobian.T @ jacobian)[24:, 24:]
    np.testing.assert_allclose(fit.covariance, dense, rtol=1e-5, atol=1e-9)
    volume = -np.linalg.slogdet(dense)[1] / 2
    assert fit.cost == pytest.approx(fit.loss + mask.sum() * np.log(3.0) + volume, rel=1e-6)
    slope = jacobian.T @ misses(z)
    assert slope @ np.linalg.solve(jacobian.T @ jacobian, slope) < 0.05  # it is the minimum


def test_a_removal_costs_about_what_is_predicted(odr: Any, regression: Any) -> None:
    made, u = small(odr, regression)
    fit = made.first(u, np.ones((2, 6), dtype=bool), 100, lambda: False)
    predicted = made.predicted(fit)
    place = int(np.argmin(predicted))
    assert made.without(fit, place, 60, lambda: False).cost == pytest.approx(
        predicted[place], abs=0.3
    )


def test_central_differences_are_exact_on_polynomials_and_stay_in_a_trajectory(
    regression: Any,
) -> None:
    t = np.concatenate([np.sort(np.random.default_rng(s).random(9)) for s in range(2)])
    matrix = regression.central_differences(t, [np.arange(9), np.arange(9, 18)])
    has = np.diff(matrix.indptr) > 0
    assert has.sum() == 6
    np.testing.assert_allclose((matrix @ t**6)[has], 6 * t[has] ** 5, rtol=1e-6, atol=1e-8)
    assert not matrix.toarray()[:9, 9:].any()


def test_too_few_samples_are_refused(odr: Any) -> None:
    t = np.linspace(0, 1, 6)
    u = np.exp(-t)[:, None]
    arrays = {"t": t, "u": u, "measured": u, "du": -u}
    with pytest.raises(Unsupported, match="7 samples"):
        fitted(odr, Problem("trajectory", ("u0",), ("u0_t",), arrays))
