"""WeakIdent on trajectories: the paper's systems, in its noise, against its numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from harness import imported
from scipy.integrate import solve_ivp
from weakident_numbers import noisy, numbers

from eqverdict import parse
from mdbench.worker import Problem, Unsupported

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

    Array = NDArray[np.float64]


@pytest.fixture(scope="module")
def trajectories() -> Iterator[Any]:
    with imported("weakident_ode") as module:
        yield module


LAWS: dict[str, tuple[Callable[[float, Array], list[float]], list[float], Array]] = {
    "van der pol": (
        lambda _, u: [u[1], 4 * (1 - u[0] ** 2) * u[1] - u[0]],
        [0.0, 1.0],
        np.linspace(0, 15, 1000),
    ),
    "lotka-volterra": (
        lambda _, u: [2 / 3 * u[0] - 4 / 3 * u[0] * u[1], u[0] * u[1] - u[1]],
        [1.5, 1.0],
        np.linspace(0, 20, 1001),
    ),
    "lorenz": (
        lambda _, u: [5 * (u[1] - u[0]), u[0] * (15 - u[2]) - u[1], u[0] * u[1] - 2 * u[2]],
        [-8.0, 7.0, 10.0],
        np.linspace(0, 10, 1000),
    ),
    "duffing": (
        lambda _, u: [u[1], -0.2 * u[1] - 0.05 * u[0] - u[0] ** 3],
        [0.0, 2.0],
        np.linspace(0, 10, 1001),
    ),
}


def trajectory(law: str, share: float = 0.0, seed: int = 0, **more: Any) -> Problem:
    """The paper's systems; where its states begin, and how long they run, could not be read."""
    f, start, t = LAWS[law]
    t = more.pop("t", t)
    solved = solve_ivp(f, (t[0], t[-1]), start, t_eval=t, rtol=1e-10, atol=1e-12)
    u = solved.y.T
    du = np.array([f(0.0, each) for each in u])
    return of_states(t, noisy(u, share, seed), du, **more)


def of_states(t: Array, u: Array, du: Array, **more: Any) -> Problem:
    names = tuple(f"u{k}" for k in range(u.shape[1]))
    arrays = {"t": t, "u": u, "measured": u, "du": du, **more.pop("arrays", {})}
    return Problem("trajectory", names, tuple(f"{n}_t" for n in names), arrays, **more)


def solved(module: Any, problem: Problem, **changes: Any) -> Any:
    parameters: dict[str, Any] = {"order": 5, "most_terms": 35}
    method = module.Adapter(seed=0, threads=1, **{**parameters, **changes})
    method.fit(problem)
    return method


TRUTHS: dict[str, list[dict[str, float]]] = {
    "van der pol": [{"u1": 1}, {"u0": -1, "u1": 4, "u0**2*u1": -4}],
    "lotka-volterra": [{"u0": 2 / 3, "u0*u1": -4 / 3}, {"u1": -1, "u0*u1": 1}],
    "lorenz": [
        {"u0": -5, "u1": 5},
        {"u0": 15, "u1": -1, "u0*u2": -1},
        {"u2": -2, "u0*u1": 1},
    ],
}


@pytest.mark.parametrize(
    ("law", "published"), [("van der pol", 0.0127), ("lotka-volterra", 0.0210), ("lorenz", 0.0041)]
)
def test_the_papers_systems_are_found_about_as_well_as_by_the_authors(
    trajectories: Any, law: str, published: float
) -> None:
    """At a noise of a tenth: the right terms, and errors of the size of the authors' one draw."""
    method = solved(trajectories, trajectory(law, 0.1))
    off = size = 0.0
    for equation, truth in zip(method.equations(), TRUTHS[law], strict=True):
        found = numbers(equation, tuple(truth))
        assert found.keys() == truth.keys()
        off += sum((found[term] - value) ** 2 for term, value in truth.items())
        size += sum(value**2 for value in truth.values())
    assert np.sqrt(off / size) < 3 * published


@pytest.mark.parametrize("law", TRUTHS)
def test_clean_systems_are_found_exactly(trajectories: Any, law: str) -> None:
    method = solved(trajectories, trajectory(law), order=3)
    for equation, truth in zip(method.equations(), TRUTHS[law], strict=True):
        found = numbers(equation, tuple(truth))
        assert found == {term: pytest.approx(value, rel=1e-5) for term, value in truth.items()}


def test_a_small_term_is_trimmed_as_by_the_authors(trajectories: Any) -> None:
    """Of Duffing's equation the authors' output lacks -0.05 x, too: three of four terms."""
    method = solved(trajectories, trajectory("duffing", 0.1))
    assert numbers(method.equations()[0], ("u1",))["u1"] == pytest.approx(1, abs=0.02)
    found = numbers(method.equations()[1], ("u1", "u0**3"))
    assert found["u1"] == pytest.approx(-0.2, abs=0.05)
    assert found["u0**3"] == pytest.approx(-1, abs=0.1)


def test_times_need_not_be_equally_far_apart(trajectories: Any) -> None:
    rng = np.random.default_rng(0)
    steps = rng.uniform(0.5, 1.5, 1000)
    t = 20 * np.concatenate([[0.0], np.cumsum(steps) / steps.sum()])
    method = solved(trajectories, trajectory("lotka-volterra", t=t), order=3)
    for equation, truth in zip(method.equations(), TRUTHS["lotka-volterra"], strict=True):
        found = numbers(equation, tuple(truth))
        assert found == {term: pytest.approx(value, rel=0.02) for term, value in truth.items()}


def test_no_window_reaches_from_one_trajectory_into_the_next(trajectories: Any) -> None:
    """Two decays that start far apart: across the jump no decay would be seen."""
    t = np.linspace(0, 1, 40)
    u = np.concatenate([np.exp(-2 * t), 50 * np.exp(-2 * t)])[:, None]
    several = {"trajectory": np.repeat([0.0, 1.0], 40)}
    problem = of_states(np.tile(t, 2), u, -2 * u, arrays=several)
    [equation] = solved(trajectories, problem).equations()
    assert numbers(equation, ("u0",))["u0"] == pytest.approx(-2, rel=1e-3)


def test_values_in_units_of_a_users_change_nothing_but_the_numbers(trajectories: Any) -> None:
    plain = trajectory("lotka-volterra")
    scaled = of_states(plain.t, plain.u * 1e6, plain.du * 1e6, scaled=True)
    found = solved(trajectories, scaled, order=3).equations()
    assert numbers(found[0], ("u0", "u0*u1")) == {
        "u0": pytest.approx(2 / 3, rel=1e-4),
        "u0*u1": pytest.approx(-4 / 3 * 1e-6, rel=1e-4),
    }


def test_what_is_printed_is_what_is_predicted(trajectories: Any) -> None:
    problem = trajectory("lorenz", 0.1)
    method = solved(trajectories, problem, order=2)
    columns = dict(zip(problem.variables, problem.u.T, strict=True))
    offered = list(method.candidates())
    assert {each.target for each in offered} == {0, 1, 2}
    for each in offered:
        values = parse(each.equations[0], problem.variables).evaluate(columns)
        np.testing.assert_allclose(each.predictions, np.broadcast_to(values, (1000,)), rtol=1e-9)


def test_a_state_at_rest_has_the_rate_zero(trajectories: Any) -> None:
    t = np.linspace(0, 1, 50)
    u = np.stack([np.exp(-t), np.full(50, 3.0)], axis=1)
    method = solved(trajectories, of_states(t, u, np.stack([-u[:, 0], 0 * t], axis=1)))
    rest = {"u0": np.ones(1), "u1": np.full(1, 3.0)}
    assert abs(parse(method.equations()[1], ("u0", "u1")).evaluate(rest)) < 1e-9


def test_trajectories_that_are_too_short_are_refused(trajectories: Any) -> None:
    t = np.linspace(0, 1, 10)
    with pytest.raises(Unsupported, match="takes 11 samples of a trajectory"):
        solved(trajectories, of_states(t, np.exp(-t)[:, None], -np.exp(-t)[:, None]))
