"""Which measurement next: after the proposed experiment the right law is chosen."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest
from scipy.integrate import solve_ivp

from mdbench.errors import UsageError
from mdbench.extensions.estimators.dynamics import Dynamics
from mdbench.extensions.estimators.experiments import Run, Table
from mdbench.extensions.estimators.proposals import alike, propose, settings_in
from mdbench.extensions.estimators.regressor import Regressor
from mdbench.extensions.estimators.structures import Structure

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    Array = NDArray[np.float64]

pytestmark = pytest.mark.extension("estimators")
T = np.linspace(0, 4, 50)


def measured(law: Callable[..., Any], start: list[float], size: float, seed: int) -> pd.DataFrame:
    made = solve_ivp(lambda _, u: law(*u), (0, 4), start, t_eval=T, rtol=1e-9).y.T
    made += size * np.random.default_rng(seed).standard_normal(made.shape)
    return pd.DataFrame(made, columns=["q", "v"][: made.shape[1]])


def beyond(model: Dynamics) -> float:
    """Return how much worse the second law is than the best one."""
    best, second = (option.fitted for option in model.rivals_.options[:2])
    assert best is not None
    assert second is not None
    return second.misfit - best.misfit


@pytest.mark.usefixtures("methods")
@pytest.mark.parametrize(
    ("law", "guess", "start", "box", "size"),
    [
        (
            lambda q, v: [v, -4 * np.sin(q)],
            "q' = v; v' = -a*sin(q)",
            [0.1, 0.0],
            {"q": (-2.5, 2.5), "v": (-1.0, 1.0)},
            0.01,
        ),
        (lambda q: [0.8 * q - 0.08 * q**2], "q' = a*q - b*q**2", [0.05], {"q": (0.05, 20.0)}, 0.02),
    ],
)
def test_after_the_proposed_experiment_the_right_law_is_chosen(
    law: Any, guess: str, start: list[float], box: Any, size: float
) -> None:
    first = measured(law, start, size, 0)
    model = Dynamics("lines", work=3, progress=False, guess=guess).fit(T, first)
    before = beyond(model)
    proposal = model.next_experiment(box, T)
    assert proposal.separation > 10
    assert "Measure at q = " in str(proposal)
    assert "<svg" in proposal._repr_html_()
    chosen = [proposal.setting.point[name] for name in model.states_]
    for value, name in zip(chosen, model.states_, strict=True):
        assert box[name][0] <= value <= box[name][1]
    second = measured(law, chosen, size, 1)
    model.fit([T, T], [first, second])
    assert model.choice_.options[0].origin == "the guess"
    assert beyond(model) > max(before, 0) + 100


@pytest.mark.usefixtures("methods")
def test_the_row_to_measure_is_where_two_laws_are_farthest_apart() -> None:
    x = np.linspace(-0.4, 0.4, 40)
    y = np.sin(x) + 0.02 * np.random.default_rng(0).standard_normal(40)
    law = Regressor("lines", work=2, progress=False, guess="a*sin(x)")
    law.fit(pd.DataFrame({"x": x}), y)
    proposal = law.next_experiment({"x": (-3.0, 3.0)})
    assert abs(proposal.setting.point["x"]) > 2.0
    assert proposal.separation > 10
    assert proposal._repr_html_().startswith("<pre>Measure at x = ")


def test_the_separation_is_the_difference_over_noise_and_doubt() -> None:
    x = np.linspace(1, 2, 30)
    y = 2 * x + 0.1 * np.random.default_rng(0).standard_normal(30)
    table = Table((Run({"x": x}, y[:, None]),))
    fits = [table.fit(Structure.of([text], ["x"])) for text in ("2*x", "1.5*x**2")]

    def predict(fitted: Any, setting: Any, constants: Array) -> Array:
        columns = {"x": np.array([setting.point["x"]])}
        return np.asarray(fitted.structure.values(columns, constants))

    [at] = settings_in({"x": 3.0}, ["x"])[:1]
    proposal = propose(fits, [at], predict, np.array([0.1]), names=("y",))
    line, square = (fitted.constants[0, 0] for fitted in fits)
    doubts = [fitted.errors[0, 0] * size for fitted, size in zip(fits, (3.0, 9.0), strict=True)]
    wanted = abs(3 * line - 9 * square) / np.sqrt(0.1**2 + np.sum(np.square(doubts)))
    assert proposal.separation == pytest.approx(wanted, rel=1e-3)


def test_a_law_and_the_same_with_a_term_more_are_no_pair_to_tell_apart() -> None:
    x = np.linspace(1, 2, 30)
    y = 2 * x + 0.1 * np.random.default_rng(0).standard_normal(30)
    table = Table((Run({"x": x}, y[:, None]),))
    line, square, both = (
        table.fit(Structure.of([text], ["x"])) for text in ("2*x", "1.5*x**2", "2*x + 0.01*x**3")
    )

    def predict(fitted: Any, setting: Any, constants: Array) -> Array:
        columns = {"x": np.array([setting.point["x"]])}
        return np.asarray(fitted.structure.values(columns, constants))

    def apart(*fits: Any) -> float:
        at = settings_in({"x": 3.0}, ["x"])[:1]
        return propose(fits, at, predict, np.array([0.1]), names=("y",)).separation

    assert apart(line, square, both) == min(apart(line, square), apart(square, both))
    assert apart(line, both) < apart(line, square, both)  # where there is no other pair it counts


def test_settings_fill_the_box_with_its_corners() -> None:
    settings = settings_in({"x": (0.0, 2.0), "y": (-1.0, 1.0)}, ["x", "y"])
    rows = np.array([[one.point["x"], one.point["y"]] for one in settings])
    assert {(0.0, -1.0), (2.0, 1.0)} <= set(map(tuple, rows.tolist()))
    assert rows.min(axis=0).tolist() == [0.0, -1.0]
    assert np.abs(rows.mean(axis=0) - [1.0, 0.0]).max() < 0.05
    several = settings_in({"x": 1.0}, ["x"], inputs=3)
    assert {one.inputs for one in several} == {0, 1, 2}


@pytest.mark.parametrize("box", [{}, {"x": (1, 0)}, {"x": (0, 1), "z": 1}, {"x": (0, np.inf)}])
def test_boxes_that_say_nothing_are_refused(box: Any) -> None:
    with pytest.raises(UsageError):
        settings_in(box, ["x"])


def test_one_law_has_no_rival() -> None:
    with pytest.raises(UsageError, match="one law only"):
        alike([])


@pytest.mark.usefixtures("methods")
def test_rivals_of_motion_are_searched_for() -> None:
    start = measured(lambda q: [-0.5 * q], [2.0], 0.01, 1)
    model = Dynamics("lines", work=3, progress=False, guess="q' = -k*q").fit(T, start)
    options = model.find_rivals(seconds=10).options
    assert {"another in one term"} <= {one.origin for one in options}
    assert options[0].origin == "the guess"
