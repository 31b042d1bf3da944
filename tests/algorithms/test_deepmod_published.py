"""DeepMoD as published, run inside its own environment: the loss, thresholds, small recoveries."""

from __future__ import annotations

import json
import subprocess
import tomllib
from typing import Any

import numpy as np
import pytest
from fields import field_problem
from harness import ROOT

from mdbench.runtimes.environments.venvs import prepare
from mdbench.workspace import Workspace

pytestmark = pytest.mark.build

FOLDER = ROOT / "algorithms" / "deepmod_published"
USED = [ROOT / "algorithms" / "deepmod", ROOT / "algorithms" / "shared" / "sparse_regression"]

CODE = """
import json, sys
import numpy as np
import torch
torch.set_num_threads(1)
from adapter import Adapter, _samples
from joint import JointLearner
from library import FieldTerms
from mdbench.worker import Problem, Unsupported

given = json.load(sys.stdin)

def problem(time_limit=None, rows=None, **changes):
    arrays = {name: np.array(value) for name, value in given.items()} | changes
    if rows is not None:
        arrays["rows"] = np.arange(rows)
    return Problem("field", ("u0", "u0_x", "u0_xx"), ("u0_t",), arrays, time_limit=time_limit)

def fitted(one, **hyperparameters):
    adapter = Adapter(seed=0, threads=1, **hyperparameters)
    adapter.fit(one)
    return adapter.equations(), np.abs(adapter.predict(one)).max(), adapter.stopped_early

def why(kind, one, **hyperparameters):
    try:
        fitted(one, **hyperparameters)
    except kind as error:
        return str(error)

found = {}
small = {"layers": 2, "width": 8, "derivative_order": 1, "order": 1}
setting = Adapter.setting(**small)
terms = FieldTerms([setting.library], problem())
points, states = _samples(problem())
learner = JointLearner(points, states, terms, setting.network, seed=1)
library = terms.columns(setting.library)
masks = library[None]

# The slope of the loss along a direction, against differences with the coefficients free to move.
network = learner._network.double()
learner._train = tuple(each.double() for each in learner._train)
for name in ("_ratio", "_shift"):
    setattr(learner._columns, name, getattr(learner._columns, name).double())
learner._joint_loss(masks).backward()
way = [torch.randn(each.shape, generator=torch.Generator().manual_seed(5)).double()
       for each in network.parameters()]
slope = sum(float((each.grad * step).sum()) for each, step in zip(network.parameters(), way))
def moved(size):
    with torch.no_grad():
        for each, step in zip(network.parameters(), way):
            each += size * step
        loss = float(learner._joint_loss(masks))
        for each, step in zip(network.parameters(), way):
            each -= size * step
    return loss
found["slopes"] = slope, (moved(1e-4) - moved(-1e-4)) / 2e-4

learner._every = learner._every.double()
features, targets = learner.features(library)
sizes = np.sqrt(np.mean(features**2, axis=0))
plain = np.linalg.lstsq(features / sizes, targets[:, 0] / np.sqrt(np.mean(targets**2)))[0]
found["sizes"] = np.abs(plain).tolist()
limits = [0.0001, *(np.sort(np.abs(plain)) * 1.001)]
found["kept"] = [learner._over_threshold(library, limit)[0][library].tolist() for limit in limits]
found["limits"] = list(map(float, limits))

long = {"layers": 2, "width": 20, "learning_rate": 5e-3, "steps": 600}
found["advection"] = fitted(problem(), derivative_order=1, order=1, **long)[0]
found["again"] = fitted(problem(), derivative_order=1, order=1, **long)[0]
found["in time"] = fitted(problem(1e-3), **small)[2]
grid = [{"derivative_order": k, "order": 1, "threshold": 0.1} for k in (2, 1)]
swept = list(Adapter.sweep(problem(1e-3), problem(), grid, seed=0, threads=1, layers=1, width=4))
found["sweep"] = [each.hyperparameters for each in swept], Adapter.stopped_early
found["diverges"] = fitted(problem(), **small, learning_rate=1e30)
found["refused"] = why(ValueError, problem(), **small, patience=0)
found["unknown"] = why(TypeError, problem(), **small, batch=3)
found["few"] = why(Unsupported, problem(rows=9), **small)
wrong = np.array(given["u"])
wrong[0, 0, 0] = np.nan
found["nan"] = why(ValueError, problem(u=wrong), **small)
print(json.dumps(found))
"""


@pytest.fixture(scope="module")
def found() -> Any:
    """Run all of it in one process, since PyTorch takes seconds to be imported."""
    spec = tomllib.loads((FOLDER / "method.toml").read_text(encoding="utf-8"))
    home = Workspace.find().home
    python = prepare("deepmod_published", FOLDER / "requirements.lock", spec["python"], home).python
    t, x = np.linspace(0, 2, 20), np.linspace(0, 4, 25)
    u = np.sin(1.5 * (x[:, None] - 0.5 * t))[..., None]
    problem = field_problem(t, [x], u, None)
    sent = {name: array.tolist() for name, array in problem.arrays.items() if name != "rows"}
    path = list(map(str, [FOLDER, *USED, ROOT]))
    done = subprocess.run(
        [python, "-c", f"import sys; sys.path[:0] = {path!r}\n{CODE}"],
        input=json.dumps(sent),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


def test_the_loss_needs_no_derivatives_of_the_coefficients(found: Any) -> None:
    slope, differences = found["slopes"]
    assert slope == pytest.approx(differences, rel=1e-5)


def test_terms_are_chosen_once_from_a_fit_of_the_whole_library(found: Any) -> None:
    sizes, limits = np.array(found["sizes"]), found["limits"]
    for limit, kept in zip(limits, found["kept"], strict=True):
        assert kept == (sizes >= limit).tolist()
    assert [sum(kept) for kept in found["kept"]] == [*range(len(sizes), -1, -1)]


def test_an_advection_is_found_and_found_again(found: Any) -> None:
    (equation,) = found["advection"]
    coefficient, _, term = equation.partition("*")
    assert term == "u0_x"
    assert float(coefficient) == pytest.approx(-0.5, rel=0.02)
    assert found["again"] == found["advection"]


def test_time_ends_a_training_and_a_sweep_and_both_give_an_answer(found: Any) -> None:
    assert found["in time"]
    proposed, stopped = found["sweep"]
    assert [each["derivative_order"] for each in proposed] == [1]  # the smaller library first
    assert stopped


def test_a_training_that_diverges_has_no_equation(found: Any) -> None:
    equations, largest, _ = found["diverges"]
    assert (equations, largest) == (["0"], 0.0)


def test_what_cannot_be_trained_is_refused(found: Any) -> None:
    assert found["refused"] == "patience is 0; it must be above 0"
    assert "batch" in found["unknown"]
    assert "cannot be trained on 9 samples" in found["few"]
    assert "not finite" in found["nan"]
