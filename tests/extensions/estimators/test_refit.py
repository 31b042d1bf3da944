"""Refits, against the constants that made the data and against SciPy's own fits."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.optimize import curve_fit

from mdbench import datatypes
from mdbench.errors import UsageError
from mdbench.extensions.estimators.experiments import Run
from mdbench.extensions.estimators.refit import refit, refit_dynamics

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    Array = NDArray[np.float64]

pytestmark = pytest.mark.extension("estimators")
X = np.linspace(0.5, 4.0, 80)


def noise(seed: int, size: float) -> Array:
    return size * np.random.default_rng(seed).standard_normal(len(X))


@pytest.mark.parametrize("known", [False, True])
def test_constants_and_errors_are_those_of_curve_fit(known: bool) -> None:
    y = 2.5 * np.exp(-0.8 * X) + 0.3 + noise(1, 0.02)
    sigma = np.full(len(X), 0.02) if known else None
    fitted = refit("2*exp(-1.1*x) + 0.1", {"x": X}, y, sigma=sigma)
    right, covariance = curve_fit(
        lambda x, a, b, c: a * np.exp(b * x) + c,
        *(X, y, [2.0, -1.1, 0.1]),
        sigma=sigma,
        absolute_sigma=known,
    )
    # Sorted by size, as those of the law are in the order of its writing.
    order, wanted = np.argsort(np.abs(fitted.constants)), np.argsort(np.abs(right))
    np.testing.assert_allclose(np.abs(fitted.constants)[order], np.abs(right)[wanted], rtol=1e-5)
    errors = np.sqrt(np.diag(covariance))[wanted]
    np.testing.assert_allclose(fitted.errors[order], errors, rtol=1e-3)
    assert fitted.holds
    assert "contradicts" in str(fitted)


def test_errors_cover_the_truth_as_often_as_they_say() -> None:
    within = 0
    for seed in range(200):
        fitted = refit("1*x + 1", {"x": X}, 2.0 * X - 1.0 + noise(seed, 0.3))
        slope = fitted.constants[np.argmin(np.abs(fitted.constants - 2.0))]
        error = fitted.errors[np.argmin(np.abs(fitted.constants - 2.0))]
        within += abs(slope - 2.0) < 1.96 * error
    assert 180 <= within <= 198


@pytest.mark.parametrize("seed", range(5))
def test_a_law_that_holds_no_longer_is_contradicted(seed: int) -> None:
    off = noise(seed, 0.05)
    assert refit("2*x**2 + 1", {"x": X}, 3 * X**2 + 0.5 + off).holds
    assert refit("2*x**2 + 1", {"x": X}, 3 * X**2.4 + 0.5 + off).holds is False
    assert refit("2*x + 1", {"x": X}, 3 * X + 0.5 + off, sigma=0.005).holds is False


def test_constants_that_no_row_shows_have_no_error() -> None:
    fitted = refit("2*x*3.5**1.5 + 1", {"x": X}, 5 * X + 1 + noise(0, 0.01))
    assert np.isinf(fitted.errors).sum() in {0, 2}
    fitted = refit("a*1.0 + b*2.0", {"a": X, "b": X}, 3 * X)
    assert np.isinf(fitted.errors).all()
    assert "not shown" in str(fitted)


@pytest.mark.parametrize(
    ("equation", "rows", "message"),
    [("2*x + 1", 2, "2 values for 2 constants"), ("log(x - 1)*2", 80, "no finite value")],
)
def test_what_cannot_be_fitted_is_refused(equation: str, rows: int, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        refit(equation, {"x": X[:rows]}, X[:rows])
    with pytest.raises(UsageError, match="standard error"):
        refit("2*x", {"x": X}, X, sigma=0.0)


def integrate(texts: Sequence[str], t: Array, start: Array, inputs: Array | None) -> Array:
    states, _ = datatypes.classes(["ode"])[0].integrate(texts, t, start, inputs, {})
    return states


def test_equations_of_motion_get_the_constants_of_another_trajectory() -> None:
    t = np.linspace(0, 12, 120)
    made = solve_ivp(
        lambda _, u: [1.3 * u[0] - 0.5 * u[0] * u[1], 0.2 * u[0] * u[1] - 0.6 * u[1]],
        *((0, 12), [3.0, 1.0]),
        t_eval=t,
        rtol=1e-10,
        atol=1e-12,
    ).y.T
    x = made + 0.02 * np.random.default_rng(0).standard_normal(made.shape)
    run = Run({"u0": x[:, 0], "u1": x[:, 1]}, x, None, t)
    equations = ["1.1*u0 - 0.4*u0*u1", "0.1*u0*u1 - 0.4*u1"]
    fitted = refit_dynamics(equations, ["u0", "u1"], [run], integrate)
    right = [1.3, 0.5, 0.2, 0.6]
    for value, wanted, error in zip(fitted.constants, right, fitted.errors, strict=True):
        assert abs(value) == pytest.approx(wanted, rel=0.03)
        assert abs(abs(value) - wanted) < 4 * error
    assert fitted.holds
    # Without the second interaction the trajectory is another one.
    other = refit_dynamics(["1.1*u0 - 0.4*u0*u1", "0.1 - 0.4*u1"], ["u0", "u1"], [run], integrate)
    assert other.holds is False
