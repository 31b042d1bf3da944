"""What predictors share: scales, seeds, threads and hyperparameters, with made-up estimators."""

from __future__ import annotations

from contextlib import nullcontext
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import pytest
from harness import ROOT
from inside import inside
from stand_ins import adapter, module, problem
from sweeps import sampled
from torch_methods import ALGORITHMS, folders, specification

from mdbench.runtimes.environments.venvs import prepare
from mdbench.workspace import Workspace

if TYPE_CHECKING:
    from collections.abc import Iterator

PREDICTORS = tuple(
    sorted(
        file.parent.name
        for file in ALGORITHMS.glob("*/method.toml")
        if "equations = false" in file.read_text(encoding="utf-8")
    )
)
LIMITS: list[int] = []


class Nearest:
    """Gives the target of the nearest row, as far as single precision can tell them apart."""

    made: ClassVar[list[dict[str, Any]]] = []

    def __init__(self, *, depth: int = 1, random_state: int = 0, n_jobs: int = 1) -> None:
        Nearest.made.append({"depth": depth, "random_state": random_state, "n_jobs": n_jobs})

    def get_params(self) -> dict[str, Any]:
        return {"depth": 1, "random_state": 0, "n_jobs": 1}

    def fit(self, X: Any, y: Any) -> Nearest:
        self.X, self.y = X.astype(np.float32), y.astype(np.float32)
        return self

    def predict(self, X: Any) -> Any:
        off = X.astype(np.float32)[:, None, :] - self.X[None]
        return self.y[np.argmin(np.square(off).sum(axis=-1), axis=1)]


def limits(limits: int) -> Any:
    LIMITS.append(limits)
    return nullcontext()


@pytest.fixture
def forest() -> Iterator[Any]:
    Nearest.made.clear()
    LIMITS.clear()
    stand_ins = {
        "threadpoolctl": module("threadpoolctl", threadpool_limits=limits),
        "sklearn": module("sklearn"),
        "sklearn__ensemble": module("sklearn.ensemble", RandomForestRegressor=Nearest),
    }
    with adapter("random_forest", **stand_ins) as imported:
        yield imported


X = np.random.default_rng(0).uniform(-1, 1, (40, 2))
Y = (X[:, 0] ** 2 + X[:, 1], np.sin(3 * X[:, 1]))


@pytest.mark.parametrize(("shift", "factor"), [(0.0, 1.0), (1e9, 1e-3), (0.0, 1e-38), (-3.0, 1e30)])
def test_data_of_any_size_and_place_are_predicted_alike(
    forest: Any, shift: float, factor: float
) -> None:
    moved = X * 2.0 + shift  # the factor of two is exact
    model = forest.Adapter(seed=0, threads=1)
    model.fit(problem(moved, *(factor * y for y in Y)))
    found = model.predict(problem(moved, *Y))
    assert found.shape == (40, 2)
    np.testing.assert_allclose(found, factor * np.stack(Y, axis=1), rtol=1e-5, atol=1e-5 * factor)
    assert model.equations() == []


def test_a_target_or_an_input_that_is_one_number_is_predicted(forest: Any) -> None:
    same = np.column_stack([X[:, 0], np.full(40, 7.0)])
    model = forest.Adapter(seed=0, threads=1)
    model.fit(problem(same, np.full(40, 3.0)))
    np.testing.assert_array_equal(model.predict(problem(same, Y[0])), np.full((40, 1), 3.0))


def test_seed_threads_and_hyperparameters_are_handed_on(forest: Any) -> None:
    model = forest.Adapter(seed=2**31 + 5, threads=3, depth=4)
    model.fit(problem(X, Y[0]))
    model.predict(problem(X, Y[0]))
    assert Nearest.made[-1] == {"depth": 4, "random_state": 5, "n_jobs": 3}
    assert LIMITS == [3, 3]
    with pytest.raises(TypeError, match=r"no hyperparameter 'deep'; there are depth, n_jobs"):
        forest.Adapter(seed=0, threads=1, deep=4)


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_data_that_are_not_finite_are_refused(forest: Any, bad: float) -> None:
    broken = X.copy()
    broken[3, 1] = bad
    for given in (problem(broken, Y[0]), problem(X, broken[:, 1])):
        with pytest.raises(ValueError, match="not finite"):
            forest.Adapter(seed=0, threads=1).fit(given)


def test_predictors_have_one_lock_and_the_same_shape() -> None:
    assert len(PREDICTORS) >= 6
    locks = {(ALGORITHMS / name / "requirements.lock").read_bytes() for name in PREDICTORS}
    assert len(locks) == 1
    for name in PREDICTORS:
        spec = specification(name)
        assert spec["family"] == "predictor"
        assert "surface" not in spec["data_types"]  # which scores equations alone


@pytest.mark.slow
@pytest.mark.build
@pytest.mark.parametrize("name", sampled(PREDICTORS, least=2))
def test_each_predicts_a_smooth_law_within_the_rows(name: str) -> None:
    spec = specification(name)
    lock = ALGORITHMS / name / "requirements.lock"
    python = prepare(name, lock, spec["python"], Workspace.find().home).python
    with inside(python, [*folders(name), ROOT]) as there:
        done = there.run(SMOOTH, spec["hyperparameters"])
    assert done.returncode == 0, done.stderr
    assert float(done.stdout) < 0.2  # AdaBoost: 0.11


SMOOTH = """
import json, sys
import numpy as np
from adapter import Adapter
from mdbench.worker import Problem
rng = np.random.default_rng(1)
X, Z = rng.uniform(-1, 1, (400, 2)), rng.uniform(-0.9, 0.9, (100, 2))
law = lambda x: (1e-9 * (x[:, 0] ** 2 + x[:, 1]) + 5e-9)[:, None]
model = Adapter(seed=0, threads=1, **json.load(sys.stdin))
model.fit(Problem("table", ("a", "b"), ("y",), {"X": X, "Y": law(X)}))
off = model.predict(Problem("table", ("a", "b"), ("y",), {"X": Z})) - law(Z)
print(float(np.mean(off**2) / np.var(law(Z))))
"""
