"""The baselines: what they say is known beforehand."""

from __future__ import annotations

import importlib.util
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from harness import ROOT, HereRuntime, Quiet, execute, known, number

from eqverdict import parse
from eqverdict.tree import FUNCTIONS
from mdbench.authoring.check import check_method
from mdbench.records import Status
from mdbench.runs.plan import make_plan
from mdbench.runs.study import RunOptions
from mdbench.worker import Problem, Unsupported
from mdbench.workspace import Workspace

if TYPE_CHECKING:
    from pathlib import Path

NAMES = ("zero", "mean", "linear")


@pytest.fixture(scope="module")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    """The project's own methods and systems; arrays are made once."""
    return Workspace(ROOT, tmp_path_factory.mktemp("home"))


def adapter(name: str) -> Any:
    path = ROOT / "algorithms" / name / "adapter.py"
    spec = known(importlib.util.spec_from_file_location(f"baseline_{name}", path))
    module = importlib.util.module_from_spec(spec)
    known(spec.loader).exec_module(module)
    return module


def problem(X: Any, Y: Any) -> Problem:
    return Problem("table", ("u0", "u0_x"), ("u0_t", "u1_t"), {"X": X, "Y": Y})


@pytest.mark.parametrize("name", NAMES)
def test_each_states_what_it_predicts(name: str) -> None:
    generator = np.random.default_rng(0)
    X, Y = generator.normal(size=(2, 500, 2)) * [1.0, 1e5]
    method = adapter(name).Adapter(seed=0, threads=1)
    method.fit(problem(X, Y))
    predictions = method.predict(problem(X, Y))
    design = np.column_stack([np.ones(500), X])
    expected = {
        "zero": 0 * Y,
        "mean": np.full_like(Y, Y.mean(axis=0)),
        "linear": design @ np.linalg.lstsq(design, Y, rcond=None)[0],
    }[name]
    np.testing.assert_allclose(predictions, expected, rtol=1e-9, atol=1e-9)
    columns = {"u0": X[:, 0], "u0_x": X[:, 1]}
    for i, text in enumerate(method.equations()):
        read = parse(text, columns).evaluate(columns)
        np.testing.assert_allclose(read, predictions[:, i], rtol=1e-12, atol=1e-9)


def test_blocks_make_no_difference(monkeypatch: pytest.MonkeyPatch) -> None:
    X = np.random.default_rng(1).normal(size=(1000, 2)) * [1e-6, 1e9]
    Y = X @ np.array([[3.0, 0.0], [1e-9, 2e-9]]) + [5.0, -1.0]
    module = adapter("linear")
    monkeypatch.setattr(module, "_BLOCK", 77)
    method = module.Adapter(seed=0, threads=1)
    method.fit(problem(X, Y))
    expected = [[5.0, -1.0], [3.0, 0.0], [1e-9, 2e-9]]
    np.testing.assert_allclose(method._coefficients, expected, rtol=1e-6, atol=1e-3)
    np.testing.assert_allclose(method.predict(problem(X, Y)), Y, rtol=1e-9)


@pytest.mark.parametrize(
    "name",
    [
        *(pytest.param(name, marks=pytest.mark.nightly) for name in ("zero", "mean", "truth")),
        "linear",
    ],
)
def test_each_keeps_the_contract(name: str, workspace: Workspace) -> None:
    findings = list(check_method(name, workspace, HereRuntime()))
    assert not [finding for finding in findings if not finding.passed]
    assert any("pde" in finding.point for finding in findings)


def test_the_truth_scores_the_floor_of_the_data(tmp_path: Path, workspace: Workspace) -> None:
    names = ("advection1d", "navier_stokes_channel")
    for data_type, datasets in (("pde", names), ("ode", ("glider",))):
        options = RunOptions(("truth",), data_type, datasets, result_dir=tmp_path / "results")
        for record in execute(make_plan(options, workspace), HereRuntime(), Quiet()).records:
            assert record.status is Status.OK, record.reason
            assert record.equations == record.truth
            if data_type == "pde":
                assert record.metrics["nmse"] == pytest.approx(known(record.floor), rel=1e-9)


def test_the_truth_knows_every_function_that_a_system_may_have() -> None:
    functions = adapter("truth")._FUNCTIONS
    values = np.array([0.2, 0.7])
    for name, function in FUNCTIONS.items():
        if not name.startswith("arc"):  # texts of the project's own systems do without
            arguments = [values + (2.0 if name == "acosh" else 0.0)] * function.arity
            expected = function.numpy(*arguments)
            np.testing.assert_allclose(functions[name](*arguments), expected, rtol=1e-15)


@pytest.mark.parametrize(
    ("truth", "lacking"),
    [("u0_x + 2 * u0_zz", "u0_zz"), ("sin(u0) * exp(-t) + x", "t, x"), ("pi * abs(u0)", "")],
)
def test_what_a_truth_needs_and_methods_are_not_given_is_named(truth: str, lacking: str) -> None:
    X = np.ones((3, 2))
    arrays = {"X": X, "Y": X[:, :1]}
    one = Problem("table", ("u0", "u0_x"), ("u0_t",), arrays, truth=(truth,))
    method = adapter("truth").Adapter(seed=0, threads=1)
    if not lacking:
        method.fit(one)
        np.testing.assert_allclose(method.predict(one), np.pi * X[:, :1])
        return
    with pytest.raises(Unsupported, match=f"have {lacking}, which methods are not given"):
        method.fit(one)


def test_nobody_knows_the_truth_of_the_users_data(tmp_path: Path) -> None:
    mine = tmp_path / "mine.npz"
    t = np.linspace(0, 1, 50)
    np.savez(mine, t=t, u=np.exp(-t)[:, None], du=-np.exp(-t)[:, None])
    options = RunOptions(("truth",), "ode", dataset_path=mine, result_dir=tmp_path / "results")
    plan = make_plan(options, Workspace(ROOT, tmp_path / "home"))
    (record,) = execute(plan, HereRuntime(), Quiet()).records
    assert record.status is Status.UNSUPPORTED
    assert "true equations of these data are unknown" in record.reason


def test_a_run_on_fields_from_the_systems_to_the_records(
    tmp_path: Path, workspace: Workspace
) -> None:
    options = RunOptions(
        NAMES, "pde", ("advection1d", "navier_stokes_channel"), result_dir=tmp_path / "results"
    )
    summary = execute(make_plan(options, workspace), HereRuntime(), Quiet())
    scores = {(r.algorithm, r.dataset): r for r in summary.records}
    assert {record.status for record in summary.records} == {Status.OK}
    assert scores["zero", "advection1d"].metrics["nmse"] == pytest.approx(1)
    linear = scores["linear", "advection1d"]
    assert number(linear.metrics["nmse"]) < 1e-4
    assert linear.truth == ("-0.1 * u0_x",)
    channel = scores["linear", "navier_stokes_channel"]
    assert channel.targets == ("u0_t", "u1_t")
    assert number(channel.metrics["agreement"]) < 1e-12
