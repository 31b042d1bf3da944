"""Operon's adapter, run inside Operon's own environment."""

from __future__ import annotations

import json
import tomllib
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from harness import ROOT
from inside import Inside, inside
from numpy.typing import NDArray

from eqverdict import parse
from mdbench.runtimes.environments.venvs import prepare
from mdbench.workspace import Workspace

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Iterator

Array = NDArray[np.float64]

pytestmark = pytest.mark.build

FOLDER = ROOT / "algorithms" / "operon"
SPEC = tomllib.loads((FOLDER / "method.toml").read_text(encoding="utf-8"))

DRIVER = """
import json, sys
import numpy as np
from adapter import Adapter
from mdbench.worker import Problem

order = json.load(sys.stdin)
X, Y = np.array(order["X"]), np.array(order["Y"])
names = dict(variables=tuple(order["variables"]), targets=tuple(order["targets"]))
adapter = Adapter(seed=order["seed"], threads=order["threads"], **order["hyperparameters"])
adapter.fit(Problem("table", arrays={"X": X, "Y": Y}, time_limit=order["time_limit"], **names))
inputs = Problem("table", arrays={"X": X[: order["rows"]]}, **names)

def answer():
    return {"equations": adapter.equations(), "predictions": adapter.predict(inputs).tolist()}

result = {
    "stopped early": adapter.stopped_early,
    "candidates": [
        [candidate.target, *candidate.equations, np.asarray(candidate.predictions).tolist()]
        for candidate in adapter.candidates()
    ],
    "by itself": answer(),
}
adapter.choose(order["choose"] or [0] * len(names["targets"]))
json.dump({**result, "chosen": answer()}, sys.stdout)
"""


class Operon:
    """Runs the adapter with a small budget."""

    def __init__(self, environment: Inside) -> None:
        self._environment = environment

    def start(self, X: Array, Y: Array, **options: Any) -> subprocess.CompletedProcess[str]:
        hyperparameters = SPEC["hyperparameters"] | {"max_evaluations": 10_000}
        order = {
            "X": X.tolist(),
            "Y": Y.tolist(),
            "variables": [f"u{i}" for i in range(X.shape[1])],
            "targets": [f"u{i}_t" for i in range(Y.shape[1])],
            "seed": 0,
            "threads": 1,
            "time_limit": None,
            "rows": len(X),
            "choose": None,
            **options,
        }
        order["hyperparameters"] = hyperparameters | options.get("hyperparameters", {})
        return self._environment.run(DRIVER, order)

    def run(self, X: Array, Y: Array, **options: Any) -> Any:
        done = self.start(X, Y, **options)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)


@pytest.fixture(scope="module")
def operon() -> Iterator[Operon]:
    """Make Operon's environment from its lock, or find it made."""
    made = prepare("operon", FOLDER / "requirements.lock", SPEC["python"], Workspace.find().home)
    with inside(made.python, (FOLDER, ROOT)) as environment:
        yield Operon(environment)


def lorenz_table() -> tuple[Array, Array]:
    X = np.random.default_rng(1).uniform(-5, 5, (80, 3))
    x, y, z = X.T
    return X, np.stack([10 * (y - x), x * (28 - z) - y, x * y - 8 / 3 * z], axis=1)


@pytest.fixture(scope="module")
def lorenz(operon: Operon) -> Any:
    return operon.run(*lorenz_table())


def evaluate(text: str, X: Array) -> Array:
    columns = {f"u{i}": X[:, i] for i in range(X.shape[1])}
    return np.broadcast_to(parse(text, list(columns)).evaluate(columns), len(X))


def error(result: Any, Y: Array) -> Array:
    predictions = np.array(result["by itself"]["predictions"])
    return np.asarray(((predictions - Y) ** 2).sum(axis=0) / (Y**2).sum(axis=0))


def test_each_target_has_a_front(lorenz: Any) -> None:
    targets = [target for target, *_ in lorenz["candidates"]]
    assert sorted(set(targets)) == [0, 1, 2]
    assert targets == sorted(targets)
    assert len(targets) > 3


def test_equations_say_what_operon_predicts(lorenz: Any) -> None:
    """Operon computes in single precision; the text is evaluated in double."""
    X, _ = lorenz_table()
    for _, text, predictions in lorenz["candidates"]:
        size = np.abs(predictions).max()
        np.testing.assert_allclose(evaluate(text, X), predictions, rtol=0, atol=1e-5 * size)


def test_by_itself_it_uses_the_most_accurate_members(lorenz: Any) -> None:
    _, Y = lorenz_table()
    for target, text in enumerate(lorenz["by itself"]["equations"]):
        errors = {
            other: ((np.array(predictions) - Y[:, target]) ** 2).sum()
            for of, other, predictions in lorenz["candidates"]
            if of == target
        }
        assert errors[text] == min(errors.values())
    assert error(lorenz, Y)[0] < 1e-10


def test_predicts_with_the_chosen_members(operon: Operon, lorenz: Any) -> None:
    targets = [target for target, *_ in lorenz["candidates"]]
    choose = [targets.index(target) for target in range(3)]
    again = operon.run(*lorenz_table(), choose=choose)
    assert again["candidates"] == lorenz["candidates"]  # the same seed
    assert again["chosen"]["equations"] == [lorenz["candidates"][index][1] for index in choose]
    predicted = [lorenz["candidates"][index][2] for index in choose]
    assert np.array(again["chosen"]["predictions"]).T.tolist() == predicted


def test_another_seed_gives_another_front(operon: Operon, lorenz: Any) -> None:
    assert operon.run(*lorenz_table(), seed=1)["candidates"] != lorenz["candidates"]


def test_runs_on_two_threads(operon: Operon) -> None:
    """With two threads the fronts are mostly, but not always, those of one thread."""
    X, Y = lorenz_table()
    assert error(operon.run(X, Y, threads=2), Y)[0] < 1e-10


def test_analytic_quotient_is_plain_arithmetic(operon: Operon) -> None:
    X = np.random.default_rng(2).uniform(-3, 3, (60, 2))
    Y = (X[:, :1] - 0.5) / np.sqrt(1 + X[:, 1:] ** 2)
    result = operon.run(X, Y, hyperparameters={"max_evaluations": 40_000})
    texts = [text for _, text, _ in result["candidates"]]
    assert any("sqrt" in text for text in texts)
    assert not any("^" in text or "aq" in text for text in texts)
    for _, text, predictions in result["candidates"]:
        size = np.abs(predictions).max()
        np.testing.assert_allclose(evaluate(text, X), predictions, rtol=0, atol=1e-5 * size)
    assert error(result, Y)[0] < 1e-8


def test_names_that_begin_alike_are_not_mixed_up(operon: Operon) -> None:
    X = np.random.default_rng(3).uniform(1, 2, (60, 12))
    Y = (X[:, 11] + 3 * X[:, 1])[:, None]
    result = operon.run(X, Y)
    assert error(result, Y)[0] < 1e-8
    text = result["by itself"]["equations"][0]
    np.testing.assert_allclose(evaluate(text, X), Y[:, 0], rtol=1e-4)


@pytest.mark.parametrize("intercept", [0.0, 1e-3])
def test_an_intercept_of_rounding_is_left_out_and_a_true_one_stays(
    operon: Operon, intercept: float
) -> None:
    X = np.random.default_rng(3).uniform(1.0, 5.0, (200, 2))
    Y = X[:, :1] * X[:, 1:] + intercept
    found = operon.run(X, Y)["by itself"]
    at_origin = evaluate(found["equations"][0], np.zeros((1, 2)))[0]
    assert at_origin == pytest.approx(intercept, rel=0.05, abs=0.0)
    assert np.ravel(found["predictions"]) == pytest.approx(Y[:, 0], rel=1e-4)


def test_a_constant_target_gives_a_constant(operon: Operon) -> None:
    X = np.random.default_rng(4).uniform(1, 2, (40, 1))
    constants = [0.0, 2.5, 1e-7]
    result = operon.run(X, np.tile(constants, (40, 1)))
    for text, expected in zip(result["by itself"]["equations"], constants, strict=True):
        np.testing.assert_allclose(evaluate(text, X), expected, rtol=1e-6, atol=1e-12)


def test_a_constant_variable_is_no_obstacle(operon: Operon) -> None:
    X = np.random.default_rng(5).uniform(1, 2, (40, 2))
    X[:, 1] = 7.0
    Y = 2 * X[:, :1]
    assert error(operon.run(X, Y), Y)[0] < 1e-10


def test_predicts_a_single_row(operon: Operon) -> None:
    X, Y = lorenz_table()
    assert np.shape(operon.run(X, Y, rows=1)["by itself"]["predictions"]) == (1, 3)


def test_targets_share_the_time(operon: Operon) -> None:
    X, Y = lorenz_table()
    enough = {"max_evaluations": 10**9, "generations": 10**6}
    result = operon.run(X, Y, time_limit=4.0, hyperparameters=enough)
    assert result["stopped early"]
    assert {target for target, *_ in result["candidates"]} == {0, 1, 2}


@pytest.mark.parametrize(("x", "y"), [(1.0, 1e20), (1e27, 1.0), (1e-30, 1e-34), (1e27, 1e-34)])
def test_numbers_of_any_size_are_scaled_and_come_back(operon: Operon, x: float, y: float) -> None:
    Z = np.random.default_rng(6).uniform(1, 2, (60, 2))
    X, Y = Z * [x, 1.0], (3.0 * Z[:, :1] * Z[:, 1:] + 1.0) * y
    result = operon.run(X, Y)
    assert error(result, Y)[0] < 1e-10
    columns = {f"u{i}": X[:, i] for i in range(2)}
    for equation, predictions in (
        (result["by itself"]["equations"][0], np.array(result["by itself"]["predictions"])[:, 0]),
        *((text, np.array(values)) for _, text, values in result["candidates"]),
    ):
        read = parse(equation, columns).evaluate(columns)
        np.testing.assert_allclose(read, predictions, rtol=0, atol=1e-5 * np.max(np.abs(Y)))


def test_data_that_are_not_finite_are_refused(operon: Operon) -> None:
    X = np.random.default_rng(6).uniform(1, 2, (40, 1))
    X[3] = np.inf
    assert "the data are not finite" in operon.start(X, X).stderr
