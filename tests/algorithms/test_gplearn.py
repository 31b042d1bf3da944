"""gplearn's adapter, run inside gplearn's own environment."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from genetic_methods import evaluate_text, law, nmse, specification
from harness import ROOT
from inside import Inside, inside

from mdbench.runtimes.environments.venvs import prepare
from mdbench.workspace import Workspace

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Iterator

    from numpy.typing import NDArray

    Array = NDArray[np.float64]

pytestmark = pytest.mark.build

FOLDER = ROOT / "algorithms" / "gplearn"
SPEC = specification("gplearn")
SPACE = {name: value for name, value in SPEC["hyperparameters"].items() if name != "trial"}

DRIVER = """
import json, sys
import numpy as np
from adapter import Adapter
from mdbench.worker import Problem

order = json.load(sys.stdin)
X, Y = np.array(order["X"]), np.array(order["Y"])
names = dict(
    variables=tuple(f"u{i}" for i in range(X.shape[1])),
    targets=tuple(f"u{i}_t" for i in range(Y.shape[1])),
)
adapter = Adapter(
    seed=order["seed"], threads=1, trial=order["trial"], **order["hyperparameters"]
)
adapter.fit(Problem("table", arrays={"X": X, "Y": Y}, time_limit=order["time_limit"], **names))
inputs = Problem("table", arrays={"X": X}, **names)
json.dump(
    {
        "stopped early": adapter.stopped_early,
        "equations": adapter.equations(),
        "predictions": adapter.predict(inputs).tolist(),
        "setting": {key: repr(value) for key, value in adapter._setting.items()},
    },
    sys.stdout,
)
"""


@pytest.fixture(scope="module")
def gplearn() -> Iterator[Inside]:
    """Make gplearn's environment from its lock, or find it made."""
    lock = FOLDER / "requirements.lock"
    made = prepare("gplearn", lock, SPEC["python"], Workspace.find().home)
    folders = [FOLDER, *(FOLDER.parent / "shared" / name for name in SPEC["uses"]), ROOT]
    with inside(made.python, folders, "-W", "error::RuntimeWarning") as environment:
        yield environment


def start(gplearn: Inside, X: Array, Y: Array, **options: Any) -> subprocess.CompletedProcess[str]:
    small = {"population_size": [150, 200], "generations": [10, 15]}
    order = {
        "X": X.tolist(),
        "Y": Y.tolist(),
        "seed": 0,
        "trial": 0,
        "time_limit": None,
        **options,
        "hyperparameters": SPACE | small | options.get("hyperparameters", {}),
    }
    return gplearn.run(DRIVER, order)


def run(gplearn: Inside, X: Array, Y: Array, **options: Any) -> Any:
    done = start(gplearn, X, Y, **options)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize("name", ["product", "quotient", "parabola", "tiny constant"])
def test_finds_simple_laws_in_any_unit(gplearn: Inside, name: str) -> None:
    X, Y = law(name)
    result = run(gplearn, X, Y)
    assert nmse(np.ravel(result["predictions"]), Y[:, 0]) < 1e-6
    other, expected = law(name, rows=300)
    assert nmse(evaluate_text(result["equations"][0], other), expected[:, 0]) < 1e-6


def test_huge_variables_are_no_obstacle(gplearn: Inside) -> None:
    X = np.random.default_rng(8).uniform(1e26, 1e28, (100, 2))
    Y = 6.6743e-11 * X[:, :1] / X[:, 1:]
    result = run(gplearn, X, Y)
    assert nmse(np.ravel(result["predictions"]), Y[:, 0]) < 1e-6
    assert nmse(evaluate_text(result["equations"][0], X), Y[:, 0]) < 1e-6


def hard() -> tuple[Array, Array]:
    X = np.random.default_rng(3).uniform(-3, 3, (60, 2))  # logarithms and roots have no value
    return X, np.stack([X[:, 0] * np.sin(X[:, 1]) + 2, np.exp(X[:, 0]) - X[:, 1]], axis=1)


@pytest.mark.parametrize("linear_scaling", [False, True])
def test_equations_say_what_is_predicted(gplearn: Inside, linear_scaling: bool) -> None:
    X, Y = hard()
    less = {"generations": [4, 5], "linear_scaling": linear_scaling}
    result = run(gplearn, X, Y, hyperparameters=less)
    predictions = np.array(result["predictions"])
    assert predictions.shape == Y.shape
    for target, text in enumerate(result["equations"]):
        np.testing.assert_allclose(evaluate_text(text, X), predictions[:, target], rtol=1e-9)
        assert nmse(predictions[:, target], Y[:, target]) < 1


def test_seed_and_trial_repeat_the_answer(gplearn: Inside) -> None:
    X, Y = hard()
    tiny = {"population_size": [30, 60], "generations": [2, 4]}
    first, again, trial, seed = (
        run(gplearn, X, Y, hyperparameters=tiny, **options)
        for options in ({}, {}, {"trial": 1}, {"seed": 1})
    )
    assert first["equations"] == again["equations"]
    assert first["setting"] == again["setting"]
    settings = [str(result["setting"]) for result in (first, trial, seed)]
    assert len(set(settings)) == 3


def test_settings_are_of_the_space(gplearn: Inside) -> None:
    """All twenty draws of a seed, by the adapter itself."""
    code = f"""
import sys, json
from adapter import Adapter
hyperparameters = {SPACE!r}
draws = [Adapter(seed=3, threads=1, trial=k, **hyperparameters)._setting for k in range(20)]
json.dump([{{k: v if v is None or k == "const_range" else float(v) for k, v in d.items()}}
           for d in draws], sys.stdout)
"""
    done = gplearn.run(code)
    assert done.returncode == 0, done.stderr
    draws = json.loads(done.stdout)
    assert len({json.dumps(draw) for draw in draws}) == 20
    for name in ("population_size", "generations", "max_samples", "parsimony_coefficient"):
        low, high = SPEC["hyperparameters"][name]
        values = [draw[name] for draw in draws]
        assert low <= min(values) < low + 0.4 * (high - low)
        assert low + 0.6 * (high - low) < max(values) <= high
    assert min(draw["stopping_criteria"] for draw in draws) < 1e-8
    ranges = {json.dumps(draw["const_range"]) for draw in draws}
    assert {"null", "[-1.0, 1.0]", "[-10000.0, 10000.0]"} <= ranges


def test_ends_in_time_and_shares_it(gplearn: Inside) -> None:
    X, Y = hard()
    endless = {"generations": [10**6, 10**6]}
    result = run(gplearn, X, Y, time_limit=6.0, hyperparameters=endless)
    assert result["stopped early"]
    assert len(result["equations"]) == 2


def test_what_is_not_finite_is_refused(gplearn: Inside) -> None:
    X, Y = hard()
    X[0, 0] = np.nan
    done = start(gplearn, X, Y)
    assert "ValueError: the data have values that are not finite" in done.stderr


def test_an_unknown_function_is_refused(gplearn: Inside) -> None:
    done = start(gplearn, *hard(), hyperparameters={"functions": ["add", "sine"]})
    assert "no function is called 'sine'" in done.stderr
