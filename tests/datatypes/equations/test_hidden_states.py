"""What one column hides is named among the causes, for systems of which it is known."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from mdbench.data.smoothing import smooth
from mdbench.data.trajectory import Trajectory
from mdbench.datatypes.equations.data_warnings import _not_of_states

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    Array = NDArray[np.float64]

ORDER, MORE, DELAY = "second order", "two states more", "a delay of about"


def first_state(law: Any, start: list[float], end: float, count: int) -> tuple[Array, Array]:
    t = np.linspace(0, end, count)
    made = solve_ivp(lambda _, u: law(*u), (0, end), start, t_eval=t, rtol=1e-9, atol=1e-10)
    return t, made.y[0]


def delayed(
    law: Callable[[float, float], float], lag: float, end: float, count: int, begin: float
) -> tuple[Array, Array]:
    """Solve x' = law(x(t), x(t - lag)) by Heun's steps."""
    behind = 200
    step = lag / behind
    steps = round(end / step)
    x = np.full(steps + behind + 1, begin)
    for k in range(behind, steps + behind):
        now = law(x[k], x[k - behind])
        then = law(x[k] + step * now, x[k + 1 - behind])
        x[k + 1] = x[k] + step * (now + then) / 2
    t = np.linspace(0, end, count)
    return t, np.interp(t, np.arange(steps + 1) * step, x[behind:])


def lorenz(x: float, y: float, z: float) -> list[float]:
    return [10 * (y - x), x * (28 - z) - y, x * y - 8 / 3 * z]


def roessler(x: float, y: float, z: float) -> list[float]:
    return [-y - z, x + 0.2 * y, 0.2 + z * (x - 5.7)]


def duffing(x: float, v: float) -> list[float]:
    return [v, x - x**3 - 0.1 * v]


CASES = {
    "pendulum": (first_state(lambda q, v: [v, -4 * np.sin(q)], [2.0, 0.0], 12, 600), ORDER),
    "oscillator": (first_state(lambda x, v: [v, -x - 0.2 * v], [1.0, 0.0], 20, 600), ORDER),
    "van der Pol": (
        first_state(lambda x, v: [v, 2 * (1 - x * x) * v - x], [0.5, 0.0], 20, 600),
        ORDER,
    ),
    "duffing": (first_state(duffing, [1.8, 0.0], 25, 600), ORDER),
    "lorenz": (first_state(lorenz, [1.0, 1.0, 20.0], 20, 1500), MORE),
    "roessler": (first_state(roessler, [1.0, 1.0, 0.0], 80, 1500), MORE),
    "mackey-glass": (
        delayed(lambda x, y: 0.2 * y / (1 + y**10) - 0.1 * x, 17, 500, 1000, 1.2),
        DELAY,
    ),
    "delayed logistic": (delayed(lambda x, y: 1.8 * x * (1 - y), 1, 30, 600, 0.5), DELAY),
    "delayed sine": (delayed(lambda _, y: -1.7 * np.sin(y), 1, 30, 600, 0.5), DELAY),
}


@pytest.mark.parametrize("noise", [0.0, 0.005])
@pytest.mark.parametrize("name", CASES)
def test_the_true_cause_is_named(name: str, noise: float) -> None:
    (t, x), cause = CASES[name]
    x = x + noise * np.std(x) * np.random.default_rng(0).standard_normal(len(x))
    states = x[:, None]
    curve = smooth(t, states)
    steps = np.zeros(len(t), dtype=bool)
    [said] = _not_of_states(["x"], Trajectory(t, states), curve, steps)
    assert cause in said
    assert "to tell, " in said
    if cause == ORDER:
        assert said.index(ORDER) == min(said.find(other) % 10**6 for other in (ORDER, MORE, DELAY))
    if name in {"roessler", "mackey-glass"}:  # no law of second order is near them
        assert ORDER not in said


def test_a_delay_is_as_long_as_it_was() -> None:
    for name, lag in (("mackey-glass", 17.0), ("delayed logistic", 1.0)):
        (t, x), _ = CASES[name]
        states = x[:, None]
        curve = smooth(t, states)
        [said] = _not_of_states(["x"], Trajectory(t, states), curve, np.zeros(len(t), dtype=bool))
        named = float(said.partition(f"{DELAY} ")[2].partition(" ")[0])
        assert named == pytest.approx(lag, rel=0.15)
