"""gplearn's adapter, run inside gplearn's own environment."""

from __future__ import annotations

import json
import subprocess
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from genetic_methods import evaluate_text, law, nmse, specification
from house import ROOT

from mdbench.runtimes.environments import prepare
from mdbench.workspace import Workspace

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

    Array = NDArray[np.float64]

FOLDER = ROOT / "algorithms" / "gplearn"
SPEC = specification("gplearn")

DRIVER = """
import json, sys, time
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
start = time.monotonic()
adapter.fit(Problem("table", arrays={"X": X, "Y": Y}, time_limit=order["time_limit"], **names))
seconds = time.monotonic() - start
inputs = Problem("table", arrays={"X": X}, **names)
json.dump(
    {
        "seconds": seconds,
        "stopped early": adapter.stopped_early,
        "equations": adapter.equations(),
        "predictions": adapter.predict(inputs).tolist(),
        "setting": {key: repr(value) for key, value in adapter._setting.items()},
    },
    sys.stdout,
)
"""


@pytest.fixture(scope="module")
def python() -> Path:
    """Make gplearn's environment from its lock, or find it made; gives its interpreter."""
    lock = FOLDER / "requirements.lock"
    return prepare("gplearn", lock, SPEC["python"], Workspace.find().home).python


def start(python: Path, X: Array, Y: Array, **options: Any) -> subprocess.CompletedProcess[str]:
    small = {"population_size": [150, 200], "generations": [10, 15]}
    order = {
        "X": X.tolist(),
        "Y": Y.tolist(),
        "seed": 0,
        "trial": 0,
        "time_limit": None,
        **options,
        "hyperparameters": SPEC["hyperparameters"] | small | options.get("hyperparameters", {}),
    }
    folders = [str(ROOT / "algorithms" / name) for name in ("gplearn", *SPEC["uses"])]
    code = f"import sys; sys.path[:0] = {[*folders, str(ROOT)]!r}\n{DRIVER}"
    return subprocess.run(
        [python, "-W", "error::RuntimeWarning", "-c", code],
        input=json.dumps(order),
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )


def run(python: Path, X: Array, Y: Array, **options: Any) -> Any:
    done = start(python, X, Y, **options)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize("name", ["product", "quotient", "parabola", "tiny constant"])
def test_finds_simple_laws_in_any_unit(python: Path, name: str) -> None:
    X, Y = law(name)
    result = run(python, X, Y)
    assert nmse(np.ravel(result["predictions"]), Y[:, 0]) < 1e-6
    other, expected = law(name, rows=300)
    assert nmse(evaluate_text(result["equations"][0], other), expected[:, 0]) < 1e-6


def test_huge_variables_are_no_obstacle(python: Path) -> None:
    X = np.random.default_rng(8).uniform(1e26, 1e28, (100, 2))
    Y = 6.6743e-11 * X[:, :1] / X[:, 1:]
    result = run(python, X, Y)
    assert nmse(np.ravel(result["predictions"]), Y[:, 0]) < 1e-6
    assert nmse(evaluate_text(result["equations"][0], X), Y[:, 0]) < 1e-6


def hard() -> tuple[Array, Array]:
    X = np.random.default_rng(3).uniform(-3, 3, (60, 2))  # logarithms and roots have no value
    return X, np.stack([X[:, 0] * np.sin(X[:, 1]) + 2, np.exp(X[:, 0]) - X[:, 1]], axis=1)


@pytest.mark.parametrize("linear_scaling", [False, True])
def test_equations_say_what_is_predicted(python: Path, linear_scaling: bool) -> None:
    X, Y = hard()
    less = {"generations": [4, 5], "linear_scaling": linear_scaling}
    result = run(python, X, Y, hyperparameters=less)
    predictions = np.array(result["predictions"])
    assert predictions.shape == Y.shape
    for target, text in enumerate(result["equations"]):
        np.testing.assert_allclose(evaluate_text(text, X), predictions[:, target], rtol=1e-9)
        assert nmse(predictions[:, target], Y[:, target]) < 1


def test_seed_and_trial_repeat_the_answer(python: Path) -> None:
    X, Y = hard()
    tiny = {"population_size": [30, 60], "generations": [2, 4]}
    first, again, trial, seed = (
        run(python, X, Y, hyperparameters=tiny, **options)
        for options in ({}, {}, {"trial": 1}, {"seed": 1})
    )
    assert first["equations"] == again["equations"]
    assert first["setting"] == again["setting"]
    settings = [str(result["setting"]) for result in (first, trial, seed)]
    assert len(set(settings)) == 3


def test_settings_are_of_the_space(python: Path) -> None:
    """All twenty draws of a seed, by the adapter itself."""
    code = f"""
import sys, json
sys.path[:0] = {[str(ROOT / "algorithms" / n) for n in ("gplearn", *SPEC["uses"])] + [str(ROOT)]!r}
from adapter import Adapter
hyperparameters = {SPEC["hyperparameters"]!r}
draws = [Adapter(seed=3, threads=1, trial=k, **hyperparameters)._setting for k in range(20)]
json.dump([{{k: v if v is None or k == "const_range" else float(v) for k, v in d.items()}}
           for d in draws], sys.stdout)
"""
    done = subprocess.run(
        [python, "-c", code], capture_output=True, text=True, check=True, timeout=60
    )
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


def test_ends_in_time_and_shares_it(python: Path) -> None:
    X, Y = hard()
    endless = {"generations": [10**6, 10**6]}
    result = run(python, X, Y, time_limit=6.0, hyperparameters=endless)
    assert 3.0 < result["seconds"] < 9.0
    assert result["stopped early"]
    assert len(result["equations"]) == 2


def test_what_is_not_finite_is_refused(python: Path) -> None:
    X, Y = hard()
    X[0, 0] = np.nan
    done = start(python, X, Y)
    assert "ValueError: the data have values that are not finite" in done.stderr


def test_an_unknown_function_is_refused(python: Path) -> None:
    done = start(python, *hard(), hyperparameters={"functions": ["add", "sine"]})
    assert "no function is called 'sine'" in done.stderr
