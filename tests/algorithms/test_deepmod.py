"""DeepMoD, run inside its own environment: derivatives, least squares, small recoveries."""

from __future__ import annotations

import itertools
import json
import subprocess
import tomllib
from typing import TYPE_CHECKING, Any

import mpmath
import numpy as np
import pytest
from fields import field_problem, rotation, spread, without_targets
from harness import ROOT

from eqverdict import parse
from mdbench.data.field import Field, FieldColumns
from mdbench.runtimes.environments.venvs import prepare
from mdbench.workspace import Workspace

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from numpy.typing import NDArray

    from mdbench.worker import Problem

    Array = NDArray[np.float64]

pytestmark = pytest.mark.build

FOLDER = ROOT / "algorithms" / "deepmod"
SHARED = ROOT / "algorithms" / "shared" / "sparse_regression"
SPEC = tomllib.loads((FOLDER / "method.toml").read_text(encoding="utf-8"))
SMALL = {"layers": 2, "width": 15, "data_steps": 500}
TINY = {
    "layers": 1,
    "width": 5,
    "batch": 50,
    "data_steps": 25,
    "polish_steps": 2,
    "equation_steps": 1,
}

SERVER = """
import contextlib, json, os, sys, time, traceback
import numpy as np
import torch
from adapter import Adapter
from mdbench.worker import Problem

def problem(name, time_limit=None):
    one = given[name]
    arrays = {key: np.array(value) for key, value in one["arrays"].items()}
    names = tuple(one["variables"]), tuple(one["targets"])
    return Problem("field", *names, arrays, time_limit=time_limit)

def adapter(seed=0, threads=1, **hyperparameters):
    return Adapter(seed=seed, threads=threads, **{**given["hyperparameters"], **hyperparameters})

for line in sys.stdin:
    job = json.loads(line)
    child = os.fork()
    if child:
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
        continue
    given, code = job["given"], 0
    with open(job["stdout"], "w") as out, open(job["stderr"], "w") as err:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            try:
                exec(job["code"])
            except BaseException:
                traceback.print_exc()
                code = 1
    os._exit(code)
"""


@pytest.fixture(scope="module")
def python() -> Path:
    """Make the method's environment from its lock, or find it made; gives its interpreter."""
    return prepare(
        "deepmod", FOLDER / "requirements.lock", SPEC["python"], Workspace.find().home
    ).python


@pytest.fixture(scope="module")
def start(
    python: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Callable[..., subprocess.CompletedProcess[str]]]:
    """Yield a function that runs code in the environment; the code finds its arguments in `given`.

    One process imports PyTorch and forks a child for each run, as the bench's worker does.
    """
    path = [str(FOLDER), str(SHARED), str(ROOT)]
    command = [str(python), "-c", f"import sys; sys.path[:0] = {path!r}\n{SERVER}"]
    folder = tmp_path_factory.mktemp("deepmod")
    files = {name: folder / name for name in ("stdout", "stderr")}
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as server:
        assert server.stdin is not None
        assert server.stdout is not None
        to_server, answer = server.stdin, server.stdout

        def run(code: str, **given: Any) -> subprocess.CompletedProcess[str]:
            places = {name: str(file) for name, file in files.items()}
            job = {"code": code, "given": {"hyperparameters": {}, **given}, **places}
            to_server.write(json.dumps(job) + "\n")
            to_server.flush()
            status = int(answer.readline())
            read = {name: file.read_text(encoding="utf-8") for name, file in files.items()}
            return subprocess.CompletedProcess([], status, **read)

        yield run


@pytest.fixture(scope="module")
def inside(start: Callable[..., subprocess.CompletedProcess[str]]) -> Callable[..., Any]:
    """Return a function that runs code in the environment and reads its last line."""

    def run(code: str, **given: Any) -> Any:
        done = start(code, **given)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout.splitlines()[-1])

    return run


def sent(problem: Problem) -> dict[str, Any]:
    """Write a problem as JSON."""
    arrays = {name: array.tolist() for name, array in problem.arrays.items()}
    return {"variables": problem.variables, "targets": problem.targets, "arrays": arrays}


def evaluate(equations: list[str], problem: Problem) -> Array:
    """Evaluate equations on the bench's own features."""
    axes = {name: problem.arrays[name] for name in "xyz" if name in problem.arrays}
    columns = FieldColumns(Field(problem.t, axes, problem.u), second_order=True)
    return np.stack(
        [
            np.broadcast_to(
                parse(each, problem.variables).evaluate(columns), problem.u[..., 0].shape
            )
            for each in equations
        ],
        axis=-1,
    )


def coefficients(equation: str) -> dict[str, float]:
    """Read an equation that the adapter wrote."""
    summands = [each.partition("*") for each in equation.replace("- ", "+ -").split(" + ")]
    return {term: float(value) for value, _, term in summands}


def agree(equations: list[str], predictions: Any, problem: Problem) -> None:
    predicted = np.array(predictions)
    expected = evaluate(equations, problem)
    assert predicted.shape == expected.shape
    np.testing.assert_allclose(predicted, expected, rtol=0, atol=1e-6 * np.abs(expected).max())


def numerical_derivative(
    weights: Any, biases: Any, point: list[float], *, state: int, axis: int, order: int
) -> float:
    """Differentiate a tanh network along an axis by mpmath, in 50 digits."""

    def network(workspace: Any) -> Any:
        values = [workspace if i == axis else mpmath.mpf(each) for i, each in enumerate(point)]
        for layer, (weight, bias) in enumerate(zip(weights, biases, strict=True)):
            values = [mpmath.fdot(values, column) for column in zip(*weight, strict=True)]
            values = [value + each for value, each in zip(values, bias, strict=True)]
            if layer < len(weights) - 1:
                values = [mpmath.tanh(value) for value in values]
        return values[state]

    with mpmath.workdps(50):
        return float(mpmath.diff(network, mpmath.mpf(point[axis]), order))


def test_derivatives_are_those_of_the_closed_form(inside: Callable[..., Any]) -> None:
    """Two hidden layers and three axes."""
    weights = [
        [[0.7, -0.4], [0.3, 0.9], [-0.5, 0.6]],
        [[0.8, -0.3], [0.2, 1.1]],
        [[0.5, -1.2], [1.5, 0.4]],
    ]
    biases = [[0.1, -0.2], [0.3, 0.05], [0.0, -0.7]]
    point = [0.3, -0.6, 0.2]
    orders = [1, 4, 3]
    found = np.array(
        inside(
            """
from network import FieldNetwork
network = FieldNetwork(3, 2, [2, 2], torch.Generator().manual_seed(0)).double()
for own, values in [*zip(network.weights, given["weights"]), *zip(network.biases, given["biases"])]:
    own.data[...] = torch.tensor(values, dtype=torch.float64)
points = torch.tensor([given["point"]] * 2, dtype=torch.float64)
series = network.derivatives(points, given["orders"])
print(json.dumps(series.tolist()))
""",
            weights=weights,
            biases=biases,
            point=point,
            orders=orders,
        )
    )
    wanted = [(0, 0), *((axis, k) for axis in range(3) for k in range(1, orders[axis] + 1))]
    expected = [
        [
            numerical_derivative(weights, biases, point, state=state, axis=axis, order=k)
            for state in range(2)
        ]
        for axis, k in wanted
    ]
    assert found.shape == (9, 2, 2)
    np.testing.assert_allclose(found[:, 0], expected, rtol=1e-10)
    np.testing.assert_array_equal(found[:, 0], found[:, 1])


def test_terms_are_products_in_the_units_of_the_data(inside: Callable[..., Any]) -> None:
    """In 2D with two states, against nested automatic differentiation by the data's coordinates."""
    field = spread((7, 8), 6)
    u = np.concatenate([1e3 * field.u + 5e3, 1e-4 * field.u**2], axis=-1)
    grid = [1e-3 * field.x, 50 * field.y]
    problem = field_problem(field.t, grid, u, None)
    found = inside(
        """
from adapter import _samples
from library import FieldLibrary, FieldTerms
from training import Learner, Options
one = problem("problem")
terms = FieldTerms([FieldLibrary.of(derivative_order=4, order=2)], one)
points, states = _samples(one)
learner = Learner(points, states, terms, Options(1, 6), seed=3)
features, targets = learner.features(np.ones(len(terms), dtype=bool))
columns, scales, network = learner._columns, learner._columns._scales, learner._network.double()

at = torch.tensor(points, requires_grad=True)
scaled = (at - torch.tensor(scales.centre)) / torch.tensor(scales.half)
value = network(scaled) * torch.tensor(scales.deviation) + torch.tensor(scales.mean)
known = {name: value[:, i] for i, name in enumerate(("u0", "u1"))}
for i in (0, 1):
    for axis, name in enumerate("txy"):
        for k in range(1, 5 if axis else 2):
            before = known[f"u{i}_" + name * (k - 1) if k > 1 else f"u{i}"]
            gradient = torch.autograd.grad(before.sum(), at, create_graph=True)[0]
            known[f"u{i}_" + name * k] = gradient[:, axis]
worst = {}
ours = np.concatenate([features * columns.units(), targets * columns.target_units()], axis=1)
for text, column in zip([*terms.texts(), "u0_t", "u1_t"], ours.T):
    expected = eval(text, known).detach().numpy()
    worst[text] = float(np.abs(column - expected).max() / np.abs(expected).max())
print(json.dumps(worst))
""",
        problem=sent(problem),
    )
    assert {"u0", "u0*u1", "u1**2*u0_xxxx", "u0*u1*u1_yyy", "u1_t"} <= found.keys()
    assert len(found) == 6 * (1 + 16) - 1 + 2
    assert max(found.values()) < 1e-4  # of single precision, which the network works in


@pytest.fixture(scope="module")
def linearised(inside: Callable[..., Any]) -> Any:
    """Linearise the loss of a network of two states by hand, and by nested differentiation."""
    problem = spread((6, 7), 5)
    u = np.concatenate([problem.u, problem.u**2], axis=-1)
    two = field_problem(problem.t, [problem.arrays[name] for name in "xy"], u, u)
    return inside(
        """
from adapter import _samples
from library import FieldLibrary, FieldTerms
from training import Learner, Options
one = problem("problem")
terms = FieldTerms([FieldLibrary.of(derivative_order=2, order=2)], one)
learner = Learner(*_samples(one), terms, Options(2, 4), seed=3)
learner._target_sizes[:] = 0.5, 3.0
network, (points, values) = learner._network, learner._train
texts = terms.texts()
masks = np.array([[text in own for text in texts] for own in given["terms"]])
wanted = masks.any(axis=0)
chosen = np.flatnonzero(wanted).tolist()
orders = learner._columns.orders(chosen)

class Everything(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.one = network
    def forward(self):
        series = network.derivatives(points, orders)
        return series, learner._columns.evaluate(series, orders, chosen)

everything = Everything()
shapes = {f"one.{name}": value.shape for name, value in network.named_parameters()}

def outputs(vector):
    sizes = [shape.numel() for shape in shapes.values()]
    parts = zip(shapes, vector.split(sizes), shapes.values())
    weights = {name: part.view(shape) for name, part, shape in parts}
    return torch.func.functional_call(everything, weights, ())

# The learner's own order is that of the layers, and not weights first.
vector = torch.cat([value.detach().reshape(-1) for value in network.parameters()])
numbers = torch.arange(float(len(vector)))
before = network.flat()
torch.nn.utils.vector_to_parameters(numbers, network.parameters())
order = network.flat().long().numpy()
network.set_flat(before)
assert torch.equal(network.flat(), vector[order])

values = values.double().numpy()
series, features = (each.detach().numpy().astype(float) for each in outputs(vector))
by_weights = torch.autograd.functional.jacobian(outputs, vector)
of_series, of_features = (each.numpy().astype(float)[..., order] for each in by_weights)
loss, slope, curvature = 0.0, 0.0, 0.0
for state, size in ((0, 0.5), (1, 3.0)):
    own = masks[state][wanted]
    xi = np.linalg.lstsq(features[:, own], series[1, :, state])[0]
    left = series[1, :, state] - features[:, own] @ xi
    jacobian = of_series[1, :, state] - np.einsum("nkp,k->np", of_features[:, own], xi)
    along = np.linalg.qr(features[:, own])[0]
    jacobian = jacobian - along @ (along.T @ jacobian)
    misfit = series[0, :, state] - values[:, state]
    for r, j in ((misfit, of_series[0, :, state]), (left / size, jacobian / size)):
        loss, slope, curvature = loss + r @ r, slope + j.T @ r, curvature + j.T @ j
n = values.size
found = learner.normal_equations(masks)
print(json.dumps([
    [found.loss, found.slope.tolist(), found.curvature.tolist()],
    [loss / n, (slope / n).tolist(), (curvature / n).tolist()],
]))
""",
        problem=sent(two),
        terms=[["u0_xx", "u0_yy", "u0*u1"], ["u1_x", "u1**2", "u0_xx"]],
    )


def test_normal_equations_are_those_of_nested_differentiation(linearised: Any) -> None:
    """The Jacobian of data and equation, whose coefficients are eliminated."""
    found, expected = linearised
    for ours, theirs in zip(found, expected, strict=True):
        size = np.abs(theirs).max()
        assert size > 0
        np.testing.assert_allclose(ours, theirs, rtol=0, atol=1e-4 * size)


def test_levenberg_and_marquardt_go_round_the_bend(inside: Callable[..., Any]) -> None:
    """Rosenbrock's valley, whose lowest place is (1, 1); and a place that none is lower than."""
    found, least, moved = inside(
        """
from descent import Marquardt, NormalEquations

class Valley:
    at = np.array([-1.2, 1.0])
    def parameters(self):
        return self.at.copy()
    def set_parameters(self, place):
        self.at = place
    def residuals(self):
        return np.array([10 * (self.at[1] - self.at[0] ** 2), 1 - self.at[0]])
    def loss(self):
        return float(np.sum(self.residuals() ** 2))
    def normal_equations(self):
        j = np.array([[-20 * self.at[0], 10], [-1, 0]])
        return NormalEquations(self.loss(), j.T @ self.residuals(), j.T @ j)

valley = Valley()
descent = Marquardt(valley)
losses = [valley.loss()]
while len(losses) < 50 and descent.step():
    losses.append(valley.loss())
assert all(after < before for before, after in zip(losses, losses[1:]))
least = valley.at.tolist()
valley.at = np.array([1.0, 1.0])
print(json.dumps([least, losses[-1], Marquardt(valley).step()]))
"""
    )
    np.testing.assert_allclose(found, 1, rtol=1e-6)
    assert least < 1e-12
    assert not moved


def test_rows_are_compressed_without_a_change_of_any_fit(inside: Callable[..., Any]) -> None:
    features, target = regression()
    found = inside(
        """
from sparsity import compress, normalised_fit
features, targets = compress(np.array(given["features"]), np.array(given["target"])[:, None])
print(json.dumps([len(features), normalised_fit(features[:, [0, 2, 5]], targets[:, 0]).tolist()]))
""",
        features=features.tolist(),
        target=target.tolist(),
    )
    rows, fit = found
    assert rows == features.shape[1] + 1
    np.testing.assert_allclose(fit, brute_force(features[:, [0, 2, 5]], target), rtol=1e-8)


def regression() -> tuple[Array, Array]:
    """Return correlated features of very different sizes, one that vanishes, and a target."""
    rng = np.random.default_rng(4)
    features = rng.normal(size=(60, 6)) @ (np.eye(6) + 0.3 * rng.normal(size=(6, 6)))
    target = features @ [2.0, 0.0, -0.7, 0.05, 0.0, 0.4] + 0.1 * rng.normal(size=60)
    return np.column_stack([features * 10.0 ** np.arange(-6, 6, 2), np.zeros(60)]), target


def brute_force(features: Array, target: Array) -> Array:
    """Solve the normal equations of columns of size one."""
    scaled = features / np.sqrt((features**2).mean(axis=0))
    own = target / np.sqrt((target**2).mean())
    return np.asarray(np.linalg.solve(scaled.T @ scaled, scaled.T @ own))


def brute_mask(features: Array, target: Array, threshold: float) -> list[int]:
    left = list(range(features.shape[1]))
    while left:
        sizes = np.abs(brute_force(features[:, left], target))
        if sizes.min() >= threshold:
            break
        left = [column for column, size in zip(left, sizes, strict=True) if size >= threshold]
    return left


def test_least_squares_and_thresholds_against_brute_force(inside: Callable[..., Any]) -> None:
    features, target = regression()
    thresholds = [0.01, 0.05, 0.1, 0.2, 0.3, 0.5, 0.8, 2.0]
    found = inside(
        """
from sparsity import normalised_fit, threshold_mask
features, target = np.array(given["features"]), np.array(given["target"])
masks = [threshold_mask(features, target, one) for one in given["thresholds"]]
zero = normalised_fit(features, 0 * target)
fits = [normalised_fit(features, target), zero]
print(json.dumps([[fit.tolist() for fit in fits], [np.flatnonzero(m).tolist() for m in masks]]))
""",
        features=features.tolist(),
        target=target.tolist(),
        thresholds=thresholds,
    )
    (fit, zero), masks = found
    np.testing.assert_allclose(fit[:6], brute_force(features[:, :6], target), rtol=1e-8)
    assert fit[6] == 0
    assert not np.any(zero)
    assert masks == [brute_mask(features[:, :6], target, each) for each in thresholds]
    assert len({len(mask) for mask in masks}) >= 4
    assert masks[-1] == []


@pytest.fixture(scope="module")
def drop(inside: Callable[..., Any]) -> Any:
    """Recover ``u_t = -0.25 u_x + 0.5 u_xx``, in a child that is forked after the import."""
    problem = spread((40,), 30)
    return inside(
        """
one = adapter(derivative_order=2, order=1, threshold=0.1)
one.fit(problem("problem"))
predictions = one.predict(problem("inputs")).tolist()
print(json.dumps([one.equations(), predictions, one.stopped_early]))
""",
        problem=sent(problem),
        inputs=sent(without_targets(problem)),
        hyperparameters=SMALL,
    )


def test_recovers_drift_and_diffusion(drop: Any) -> None:
    equations, _, stopped_early = drop
    found = coefficients(equations[0])
    assert found.keys() == {"u0_x", "u0_xx"}
    assert found["u0_x"] == pytest.approx(-0.25, rel=0.05)
    assert found["u0_xx"] == pytest.approx(0.5, rel=0.05)
    assert not stopped_early


def test_equations_say_what_it_predicts(drop: Any) -> None:
    equations, predictions, _ = drop
    agree(equations, predictions, spread((40,), 30))


@pytest.mark.parametrize("shape", [(8, 9), (8, 7, 8)])
def test_works_in_two_and_three_dimensions(
    inside: Callable[..., Any], shape: tuple[int, ...]
) -> None:
    problem = spread(shape, 6)
    u = np.concatenate([problem.u, 2 - problem.u], axis=-1)
    two = field_problem(problem.t, [problem.arrays[name] for name in "xyz"[: len(shape)]], u, u)
    equations, predictions = inside(
        """
one = adapter(derivative_order=2, order=2, threshold=1e-3)
one.fit(problem("problem"))
print(json.dumps([one.equations(), one.predict(problem("inputs")).tolist()]))
""",
        problem=sent(two),
        inputs=sent(without_targets(two)),
        hyperparameters=TINY,
    )
    assert len(equations) == 2
    agree(equations, predictions, two)
    assert "xyz"[len(shape) - 1] * 2 in equations[0]


def test_uses_only_the_rows_that_it_is_given(inside: Callable[..., Any]) -> None:
    """The other samples may be anything."""
    problem = spread((40,), 30)
    rows = np.sort(np.random.default_rng(0).choice(40 * 30, 200, replace=False))
    wild = problem.u.copy()
    wild.reshape(-1)[np.setdiff1d(np.arange(40 * 30), rows)] = 1e6
    given = {}
    for name, u in {"tame": problem.u, "wild": wild}.items():
        given[name] = sent(problem)
        given[name]["arrays"] |= {"u": u.tolist(), "rows": rows.astype(float).tolist()}
    equations = inside(
        """
found = []
for name in ("tame", "wild"):
    one = adapter(derivative_order=2, order=1)
    one.fit(problem(name))
    found.append(one.equations())
print(json.dumps(found))
""",
        **given,
        hyperparameters=TINY,
    )
    assert equations[0] == equations[1]


def test_a_sweep_gives_different_equations_from_short_to_long(inside: Callable[..., Any]) -> None:
    problem = rotation(16, 12)
    names = ("derivative_order", "order", "threshold")
    settings = itertools.product((1, 2), (1, 2), (0.1, 3.0))
    grid = [dict(zip(names, each, strict=True)) for each in settings]
    found, again, other = inside(
        """
def sweep(seed):
    options = {"seed": seed, "threads": 1, **given["hyperparameters"]}
    sent = Adapter.sweep(problem("problem"), problem("inputs"), given["grid"], **options)
    return [[one.equations, one.predictions.tolist(), one.hyperparameters] for one in sent]
print(json.dumps([sweep(0), sweep(0), sweep(1)]))
""",
        problem=sent(problem),
        inputs=sent(without_targets(problem)),
        grid=grid,
        hyperparameters=TINY,
    )
    assert found == again  # the same seed
    assert found != other
    texts = [tuple(equations) for equations, *_ in found]
    assert len(set(texts)) == len(texts) > 2
    assert texts[0] == ("0", "0")
    for equations, predictions, setting in found:
        agree(equations, predictions, problem)
        assert setting in grid


def test_time_that_is_up_ends_fit_and_sweep_with_an_answer(inside: Callable[..., Any]) -> None:
    problem = spread((40,), 30)
    fit, sweep = inside(
        """
one = adapter()
one.fit(problem("problem", 10.0))
fit = [one.stopped_early, one.equations()]
grid = [{"threshold": each} for each in (1e-3, 1e-2, 0.1)]
options = {"seed": 0, "threads": 1, **given["hyperparameters"]}
sent = list(Adapter.sweep(problem("problem", 10.0), problem("inputs"), grid, **options))
print(json.dumps([fit, [Adapter.cut_short, len(sent)]]))
""",
        problem=sent(problem),
        inputs=sent(without_targets(problem)),
        hyperparameters={**TINY, "data_steps": 10**9},
    )
    for early, answer in (fit, sweep):
        assert early  # of training that would never end
        assert answer


@pytest.mark.parametrize(
    ("hyperparameters", "said"),
    [
        ({"threshold": 0}, "threshold is 0; it must be above 0"),
        ({"width": 0}, "width is 0; it must be above 0"),
        ({"learning_rate": -1.0}, "learning_rate is -1.0; it must be above 0"),
        ({"order": 0}, "order is 0; it must be 1 or more"),
        ({"derivative_order": 0}, "derivative_order is 0; it must be 1 or more"),
        ({"depth": 3}, "unexpected keyword argument 'depth'"),
    ],
)
def test_hyperparameters_that_make_no_sense_are_refused(
    start: Callable[..., subprocess.CompletedProcess[str]],
    hyperparameters: dict[str, Any],
    said: str,
) -> None:
    assert said in start("adapter()", hyperparameters=hyperparameters).stderr


def test_data_that_it_cannot_learn_are_refused(
    start: Callable[..., subprocess.CompletedProcess[str]],
) -> None:
    hole = spread((8,), 6)
    hole.u[3, 2] = np.nan
    few = sent(spread((8,), 6))
    few["arrays"]["rows"] = [0.0, 3.0]
    code = 'adapter().fit(problem("problem"))'
    assert "the data are not finite" in start(code, problem=sent(hole)).stderr
    assert "cannot be trained on 2 samples; it needs 10" in start(code, problem=few).stderr


def test_a_field_at_rest_has_the_equation_zero(inside: Callable[..., Any]) -> None:
    x, t = np.linspace(0, 1, 9), np.linspace(0, 1, 8)
    still = field_problem(t, [x], np.full((9, 8, 1), 3.0), np.zeros((9, 8, 1)))
    equations, threads = inside(
        """
one = adapter(threads=2)
one.fit(problem("problem"))
print(json.dumps([one.equations(), torch.get_num_threads()]))
""",
        problem=sent(still),
        hyperparameters=TINY,
    )
    assert threads == 2
    assert np.abs(evaluate(equations, still)).max() < 1
