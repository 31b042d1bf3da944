"""What noisy samples say of a system, against closed forms, brute force and draws of the noise."""

from __future__ import annotations

import math
from itertools import product

import numpy as np
import pytest
from scipy.integrate import odeint
from scipy.optimize import least_squares
from sweeps import paired, sampled

from mdbench.datatypes.ode.information import Information

T = np.linspace(0.0, 4.0, 60)


def test_a_decay_has_the_error_of_a_straight_line() -> None:
    """The logarithm of u is a line in time, with noise of equal size."""
    (found,) = Information(["-0.7*u0"], ("u0",), [(2.0,)], T).terms()
    assert found.error == pytest.approx(
        1 / (0.7 * math.sqrt(np.sum((T - T.mean()) ** 2))), rel=1e-4
    )
    # Without its only term the state stays where it is: the mean of 1/u over that of 1/u**2.
    u = 2 * np.exp(-0.7 * T)
    start = np.sum(1 / u) / np.sum(1 / u**2)
    assert found.misfit <= np.sum((1 - start / u) ** 2) * (1 + 1e-6)


def test_an_offset_has_the_errors_of_the_closed_form() -> None:
    """u' = a - b u has u = a/b + (s - a/b) exp(-b t), here differentiated by hand."""
    a, b, s = 1.5, 0.8, 0.2
    e = np.exp(-b * T)
    u = a / b + (s - a / b) * e
    by_a = (1 - e) / b
    by_b = -a / b**2 * (1 - e) - T * (s - a / b) * e
    directions = np.stack([a * by_a, b * by_b, e], axis=1) / u[:, None]
    wanted = np.linalg.inv(directions.T @ directions)
    found = Information(["1.5 - 0.8*u0"], ("u0",), [(s,)], T)
    # The second constant is -b: by a share of its size it grows where b falls.
    signs = np.array([[1, -1], [-1, 1]])
    assert found.covariance() == pytest.approx(signs * wanted[:2, :2], rel=1e-3)


def test_several_trajectories_add_their_information() -> None:
    one = Information(["1.5 - 0.8*u0"], ("u0",), [(0.2,)], T).covariance()
    other = Information(["1.5 - 0.8*u0"], ("u0",), [(5.0,)], T).covariance()
    both = Information(["1.5 - 0.8*u0"], ("u0",), [(0.2,), (5.0,)], T).covariance()
    assert np.linalg.inv(both) == pytest.approx(np.linalg.inv(one) + np.linalg.inv(other), rel=1e-3)


def test_a_function_that_looks_like_another_is_its_rival() -> None:
    """For small u the sine is u: nothing has to be found but the best exponential."""
    (found,) = Information(["-0.9*sin(u0)"], ("u0",), [(0.3,)], T).terms()
    u = odeint(lambda u, _: -0.9 * np.sin(u), [0.3], T, rtol=1e-11, atol=1e-13)[:, 0]
    best = least_squares(lambda x: (x[0] * np.exp(x[1] * T) - u) / u, [0.3, -0.9])
    assert "sin" not in found.rival
    assert found.misfit == pytest.approx(2 * best.cost, rel=1e-2)
    # A longer rival, such as a cube for a line, is none.
    (line,) = Information(["-0.9*u0"], ("u0",), [(0.3,)], T).terms()
    assert "sin" not in line.rival


def test_phases_and_factors_of_plain_functions_are_not_estimated() -> None:
    plain = Information(["-0.9*sin(u0)"], ("u0",), [(1.5,)], T).covariance()
    moved = Information(["-0.9*sin(1.3*u0 + 0.2)"], ("u0",), [(1.5,)], T).covariance()
    assert plain.shape == (1, 1)
    assert moved.shape == (3, 3)


def test_what_no_sample_shows_has_a_huge_error() -> None:
    """A state at rest says nothing of its two rates but their quotient."""
    found = list(Information(["0.5 - 0.25*u0"], ("u0",), [(2.0,)], T).terms())
    assert all(each.error > 1e4 for each in found)


SYSTEMS = {
    "decay": (["-0.7*u0"], [2.0]),
    "logistic": (["0.9*u0 - 0.4*u0**2"], [0.3]),
    "oscillator": (["u1", "-2.1*u0 - 0.3*u1"], [1.0, 0.4]),
    "saturation": (["1.2 - 1.8*u0/(u0 + 0.5)"], [0.1]),
}
MORE_SYSTEMS = {
    "gompertz": (["-0.6*u0*log(0.4*u0)"], [0.2]),
    "pendulum": (["u1", "-0.9*sin(u0) - 0.2*u1"], [1.5, 0.3]),
    "predators": (["1.1*u0 - 0.4*u0*u1", "0.3*u0*u1 - 0.9*u1"], [2.0, 1.0]),
    "infection": (["-0.4*u0*u1", "0.4*u0*u1 - 0.3*u1"], [3.0, 0.2]),
    "relaxation": (["u1", "0.8*u1 - 0.8*u0**2*u1 - u0"], [1.2, 0.5]),
    "exponential": (["0.7*exp(-0.9*u0) - 0.1*u0"], [0.4]),
}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "largest"),
    [
        *paired(SYSTEMS, (0.01, 0.03, 0.06)),
        *sampled(product(MORE_SYSTEMS, (0.01, 0.03, 0.06)), share=0, least=0),
    ],
)
def test_estimates_from_draws_of_the_noise_spread_as_the_bound_says(
    name: str, largest: float
) -> None:
    """The bound is reached where errors are small: here at three sizes of the largest one."""
    equations, start = (SYSTEMS | MORE_SYSTEMS)[name]
    names = tuple(f"u{i}" for i in range(len(start)))
    information = Information(equations, names, [start], T)
    bound = np.sqrt(np.diag(information.covariance()))
    deviation = largest / bound.max()
    bound *= deviation
    u = information.states[0]
    weights = 1 / np.maximum(np.abs(u), 1e-3 * np.abs(u).max(axis=0))
    rng = np.random.default_rng(7)
    moves = []
    for _ in range(60):
        drawn = u + deviation * rng.standard_normal(u.shape) / weights
        moves.append(information.estimate([drawn]))
    spread = np.sqrt(np.mean(np.square(moves), axis=0))
    # Sixty draws know a deviation to 9 %, and there are up to four: three deviations.
    assert spread == pytest.approx(bound, rel=0.28)
