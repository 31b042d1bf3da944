"""dsr, udsr and eql, run inside their own environment: policy, gradients, laws, contract."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from genetic_methods import evaluate_text, nmse
from numpy.typing import NDArray
from torch_methods import ALGORITHMS, NAMES, specification, torch_inside

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from inside import Inside

Array = NDArray[np.float64]

pytestmark = [pytest.mark.build, pytest.mark.in_turn(among=NAMES)]

SMALL: dict[str, dict[str, Any]] = {
    "dsr": {"samples": 3000, "batch": 300},
    "udsr": {"samples": 600, "batch": 150, "population": 20, "generations": 2},
    "eql": {"starts": 1, "pruned": 1, "steps": 150},
}
TINY: dict[str, dict[str, Any]] = {
    "dsr": {"samples": 600},
    "udsr": {"samples": 150},
    "eql": {"steps": 60},
}
ENDLESS: dict[str, dict[str, Any]] = {
    "dsr": {"samples": 10**9, "stop_error": 0.0},
    "udsr": {"samples": 10**9, "stop_error": 0.0},
    "eql": {"steps": 10**9},
}

PRELUDE = """
import json, sys, time, warnings
import numpy as np
import torch
from adapter import Adapter
from mdbench.worker import Problem
warnings.simplefilter("error")
given = json.load(sys.stdin)
torch.set_num_threads(1)

def problem(name="problem", time_limit=None):
    one = given[name]
    arrays = {key: np.array(value) for key, value in one.items()}
    names = tuple(f"u{i}" for i in range(arrays["X"].shape[1]))
    targets = tuple(f"y{i}" for i in range(arrays["Y"].shape[1]))
    return Problem("table", names, targets, arrays, time_limit=time_limit)

def adapter(seed=0, **changes):
    return Adapter(seed=seed, threads=1, **{**given["hyperparameters"], **changes})

def told(candidates):
    return [[c.target, c.equations[0], c.predictions.tolist()] for c in candidates]
"""


@pytest.fixture(scope="module", params=NAMES)
def name(request: pytest.FixtureRequest) -> str:
    found: str = request.param
    return found


@pytest.fixture(scope="module")
def process(name: str) -> Iterator[Inside]:
    with torch_inside(name) as found:
        yield found


@pytest.fixture(scope="module")
def policy() -> Iterator[Inside]:
    """Where only the shared modules are asked for."""
    with torch_inside("dsr") as found:
        yield found


def answer(process: Inside, code: str, **given: Any) -> Any:
    done = process.run(PRELUDE + code, {"hyperparameters": {}, **given})
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


@pytest.fixture
def ask(process: Inside, name: str) -> Callable[..., Any]:
    """Return a function that runs code with the method's own hyperparameters and a small budget."""
    own = specification(name)["hyperparameters"] | SMALL[name]

    def run(code: str, **given: Any) -> Any:
        return answer(process, code, **{"hyperparameters": own, **given})

    return run


def written(X: Array, Y: Array) -> dict[str, Any]:
    return {"X": X.tolist(), "Y": Y.tolist()}


def two_laws() -> tuple[Array, Array]:
    X = np.random.default_rng(0).uniform(0.5, 2, (60, 2))
    return X, np.stack([1.5 * X[:, 0] * X[:, 1], 2.0 - 0.5 * X[:, 1]], axis=1)


def test_all_share_one_environment() -> None:
    """So one is made for all tests of theirs."""
    lock = (ALGORITHMS / "deepmod" / "requirements.lock").read_bytes()
    assert all((ALGORITHMS / name / "requirements.lock").read_bytes() == lock for name in NAMES)


def test_probabilities_of_all_expressions_add_up_to_one(policy: Inside) -> None:
    """Every expression that the constraints allow, written down without the policy."""
    total, count, entropy, expected = answer(
        policy,
        """
import itertools
from tokens import Tokens
from growth import Growth, Rules
from policy import Learning, Policy
tokens = Tokens(("add", "sin", "exp"), 1)
rules = Rules(min_length=2, max_length=5, max_constants=1)
whole = []
for length in range(1, 6):
    for codes in itertools.product(range(len(tokens)), repeat=length):
        waiting = 1
        for place, code in enumerate(codes):
            waiting += int(tokens.arity[code]) - 1
            if waiting == 0:
                break
        if waiting == 0 and place == length - 1:
            whole.append([*codes, *[-1] * (5 - length)])
codes = np.array(whole)
codes = codes[Growth(len(codes), tokens, rules).follow(codes)]
own = Policy(tokens, rules, Learning(entropy_decay=1.0), seed=3)
logs, entropies = own.likelihood(codes)
chances = torch.exp(logs)
# The entropies of the steps, averaged over all expressions, are the entropy of the whole.
print(json.dumps([float(chances.detach().sum()), len(codes),
    float((chances * entropies).detach().sum()), float(-(chances * logs).detach().sum())]))
""",
    )
    assert count > 20
    assert total == pytest.approx(1.0, abs=1e-5)
    assert entropy == pytest.approx(expected, rel=1e-4)


def test_draws_follow_the_probabilities(policy: Inside) -> None:
    drawn, chances = answer(
        policy,
        """
from tokens import Tokens
from growth import Rules
from policy import Learning, Policy
tokens = Tokens(("add", "sin"), 1, constants=False)
own = Policy(tokens, Rules(min_length=1, max_length=3, length_scale=0), Learning(), seed=1)
codes, many = np.unique(own.sample(20000), axis=0, return_counts=True)
print(json.dumps([(many / 20000).tolist(), torch.exp(own.likelihood(codes)[0]).tolist()]))
""",
    )
    assert len(drawn) == 3  # x, sin x, x + x; there is no sine in a sine, nor of a sum for length
    np.testing.assert_allclose(drawn, chances, atol=0.015)


def test_the_gradient_seeks_risk(policy: Inside) -> None:
    """Against the sum of the definition, and against differences; then a policy that learns."""
    own, expected, differences, before, after = answer(
        policy,
        """
from tokens import Tokens
from growth import Rules
from policy import Learning, Policy, risk_seeking_loss
tokens = Tokens(("add", "mul", "sin"), 2, constants=False)
policy = Policy(tokens, Rules(min_length=1, max_length=7), Learning(entropy_weight=0.0), seed=0)
policy.double()
see = policy._see
policy._see = lambda *both: see(*both).astype(np.float64)
codes = np.unique(policy.sample(40), axis=0)[:12]
rewards = np.linspace(0.2, 0.9, len(codes))
baseline = 0.4
weights = policy.read.bias

def loss():
    return risk_seeking_loss(policy.likelihood(codes)[0], torch.tensor(rewards), baseline)

gradient = torch.autograd.grad(loss(), weights)[0]
each = [torch.autograd.grad(policy.likelihood(codes[i : i + 1])[0][0], weights)[0]
        for i in range(len(codes))]
expected = -sum((r - baseline) * g for r, g in zip(rewards, each)) / len(codes)
differences = []
with torch.no_grad():
    for i in range(len(weights)):
        values = []
        for sign in (1, -1):
            weights[i] += sign * 1e-6
            values.append(float(loss()))
            weights[i] -= sign * 1e-6
        differences.append((values[0] - values[1]) / 2e-6)

policy = Policy(tokens, Rules(min_length=1, max_length=7), Learning(learning_rate=0.02,
    entropy_weight=0.0), seed=0)
wanted = tokens.read("mul x0 x1")

def chance():
    return float(torch.exp(policy.likelihood(np.array([wanted]))[0][0]).detach())

before = chance()
for _ in range(60):
    codes = np.unique(policy.sample(100), axis=0)
    rewards = np.array([float(row[row >= 0].tolist() == wanted) for row in codes])
    baseline = float(np.quantile(rewards, 0.95))
    top = rewards >= baseline
    policy.learn(codes[top], rewards[top], min(baseline, 0.5))
print(json.dumps([gradient.tolist(), expected.tolist(), differences, before, chance()]))
""",
    )
    np.testing.assert_allclose(own, expected, rtol=1e-8, atol=1e-12)
    np.testing.assert_allclose(own, differences, rtol=1e-4, atol=1e-8)
    assert before < 0.2
    assert after > 0.8


def test_rewards_are_remembered_and_right(policy: Inside) -> None:
    first, again, expected, evaluations = answer(
        policy,
        """
from expression_search import ExpressionSearch, SearchPlan
from growth import Rules
from policy import Learning
from tapes import pad
from tokens import Tokens
from trees import evaluate
tokens = Tokens(("add", "mul", "sin", "log"), 2, constants=False)
X = np.random.default_rng(0).uniform(-1, 1, (30, 2))
y = X[:, 0] + 0.3 * X[:, 1]
search = ExpressionSearch(X, y, tokens=tokens, rules=Rules(), learning=Learning(),
    plan=SearchPlan(100))
texts = ["add x0 x1", "log x0", "mul x0 sin x1", "x0"]
codes = pad([tokens.read(text) for text in texts])
first, again = search.rewards(codes), search.rewards(codes[::-1])[::-1]
expected = []
for text in texts:
    f = evaluate(tokens.node(tokens.read(text)), X)
    expected.append(float(1 / (1 + np.sqrt(np.mean((f - y) ** 2)) / np.std(y))))
expected = [0.0 if e != e else e for e in expected]
print(json.dumps([first.tolist(), again.tolist(), expected, search.evaluations]))
""",
    )
    assert first == pytest.approx(expected)
    assert first == again
    assert evaluations == 4


@pytest.mark.parametrize("name", ["eql"], indirect=True, scope="module")
def test_a_formula_states_what_its_network_gives(process: Inside) -> None:
    for division in (False, True):
        network, formula, pruned = answer(
            process,
            """
from network import EquationLearners
from formulas import Formula
from trees import evaluate
units = [["id", "square", "sin", "exp", "mul", "cube"], ["id", "cos", "mul"]]
learners = EquationLearners(3, 2, units, division=given["division"],
    generator=torch.Generator().manual_seed(5))
with torch.no_grad():
    for bias in learners.biases:
        bias += 0.1 * torch.randn(bias.shape, generator=torch.Generator().manual_seed(1))
    for weights in learners.weights:
        weights *= 0.5
X = np.random.default_rng(0).uniform(-1, 1, (20, 2))
values = learners(torch.as_tensor(X))[0].detach().numpy()
own = [Formula(X, [w[i].detach().numpy() for w in learners.weights],
    [b[i, 0].detach().numpy() for b in learners.biases], units) for i in range(3)]
trees = [each.sparse(values[i], longest=3, beam=5, kept=2) for i, each in enumerate(own)]
print(json.dumps([values.tolist(), [evaluate(each.tree, X).tolist() for each in own],
    [len(each) for each in trees]]))
""",
            division=division,
        )
        # Terms below a ten-thousandth of the largest are left out.
        np.testing.assert_allclose(formula, network, atol=0.02)
        assert min(pruned) > 2


def test_finds_what_is_simple(ask: Callable[..., Any]) -> None:
    X, Y = two_laws()
    equations, predictions = ask(
        """
one = adapter()
one.fit(problem())
print(json.dumps([one.equations(), one.predict(problem("inputs")).tolist()]))
""",
        problem=written(X, Y),
        inputs=written(X, Y),
    )
    assert nmse(np.array(predictions)[:, 0], Y[:, 0]) < 1e-10
    assert nmse(np.array(predictions)[:, 1], Y[:, 1]) < 1e-10
    for equation, column in zip(equations, np.array(predictions).T, strict=True):
        np.testing.assert_allclose(evaluate_text(equation, X), column, rtol=1e-9)


def test_a_seed_repeats_its_front_and_candidates_say_what_they_predict(
    name: str, ask: Callable[..., Any]
) -> None:
    X = np.random.default_rng(1).uniform(0.5, 2, (50, 2))
    Y = np.stack([np.exp(-X[:, 0]) * X[:, 1] / (1 + X[:, 0] ** 2), X[:, 0] ** 2], axis=1)
    fronts, chosen = ask(
        """
fronts = []
for seed in (0, 0, 1):
    one = adapter(seed, **given["tiny"])
    one.fit(problem())
    fronts.append(told(one.candidates()))
last = [max(i for i, c in enumerate(fronts[-1]) if c[0] == target) for target in (0, 1)]
one.choose(last)
print(json.dumps([fronts, [last, one.equations(), one.predict(problem()).tolist()]]))
""",
        problem=written(X, Y),
        tiny=TINY[name],
    )
    assert fronts[0] == fronts[1] != fronts[2]
    assert {target for target, *_ in fronts[0]} == {0, 1}
    for target, equation, predictions in fronts[0]:
        np.testing.assert_allclose(evaluate_text(equation, X), predictions, rtol=1e-6, atol=1e-9)
        assert len({equation for t, equation, _ in fronts[0] if t == target}) == sum(
            t == target for t, *_ in fronts[0]
        )
    places, equations, predicted = chosen
    assert equations == [fronts[2][place][1] for place in places]
    np.testing.assert_array_equal(np.array(predicted).T, [fronts[2][place][2] for place in places])


def test_ends_in_time_with_an_answer_for_each_target(name: str, ask: Callable[..., Any]) -> None:
    X = np.random.default_rng(2).uniform(0.5, 2, (60, 3))
    y = X[:, 0] * np.sin(X[:, 1]) / (1 + X[:, 2] ** 2) + np.cos(X[:, 0])
    early, targets, least = ask(
        """
one = adapter(**given["endless"])
one.fit(problem(time_limit=2.0))
print(json.dumps([one.stopped_early, len(one.equations()),
    min(c.target for c in one.candidates())]))
""",
        problem=written(X, np.stack([y, -y], axis=1)),
        endless=ENDLESS[name],
    )
    assert early  # of a search without an end of its own
    assert targets == 2
    assert least == 0


def test_a_fit_that_is_stopped_from_outside_has_a_front(ask: Callable[..., Any], name: str) -> None:
    """The worker asks for candidates after it has ended a fit whose time is up."""
    X, Y = two_laws()
    found = ask(
        """
import signal
class Over(BaseException): ...
def stop(*_): raise Over
signal.signal(signal.SIGALRM, stop)
signal.setitimer(signal.ITIMER_REAL, 1.5)
one = adapter(**given["endless"])
try:
    one.fit(problem())
except Over:
    pass
print(json.dumps(told(one.candidates())))
""",
        problem=written(X, Y + np.sin(9 * X)),
        endless=ENDLESS[name],
    )
    assert found
    assert {target for target, *_ in found} <= {0, 1}


def test_a_constant_target_gives_a_constant(ask: Callable[..., Any]) -> None:
    values = [0.0, 2.5, 1e-34, 1e27]
    X, _ = two_laws()
    predictions = ask(
        "one = adapter()\none.fit(problem())\nprint(json.dumps(one.predict(problem()).tolist()))",
        problem=written(X, np.tile(values, (len(X), 1))),
    )
    np.testing.assert_allclose(predictions, np.tile(values, (len(X), 1)), rtol=1e-6)


def test_units_are_of_no_importance(ask: Callable[..., Any]) -> None:
    """A law of physical constants: its factor is 1e-11, its variables are 1e27."""
    random = np.random.default_rng(3)
    X = np.stack([random.uniform(1e26, 1e28, 80), random.uniform(1e10, 1e11, 80)], axis=1)
    Y = (6.6743e-11 * X[:, 0] * X[:, 1])[:, None]
    predictions = ask(
        "one = adapter()\none.fit(problem())\nprint(json.dumps(one.predict(problem()).tolist()))",
        problem=written(X, Y),
    )
    assert nmse(np.array(predictions)[:, 0], Y[:, 0]) < 1e-10


@pytest.mark.parametrize("broken", [np.nan, np.inf])
def test_what_is_not_finite_is_refused(process: Inside, name: str, broken: float) -> None:
    X, Y = two_laws()
    Y[3] = broken
    given = {"hyperparameters": specification(name)["hyperparameters"], "problem": written(X, Y)}
    assert "not finite" in process.run(PRELUDE + "adapter().fit(problem())", given).stderr


@pytest.mark.parametrize(
    ("name", "changes", "said"),
    [
        ("dsr", {"batch": 0}, "batch is 0; it must be 1 or more"),
        ("dsr", {"epsilon": 0.0}, "epsilon is 0.0; it must be in (0, 1]"),
        ("dsr", {"hidden": 0}, "hidden is 0; it must be 1 or more"),
        ("dsr", {"functions": ["add", "sine"]}, "no function is called 'sine'"),
        ("dsr", {"max_rows": 1}, "max_rows is 1; it must be 2 or more"),
        ("dsr", {"degree_of": 3}, "unexpected keyword argument 'degree_of'"),
        ("udsr", {"generations": -1}, "generations is -1; it must be 0 or more"),
        ("eql", {"units": [[["sinh"]]], "division": [True]}, "no unit is called 'sinh'"),
        ("eql", {"division": [True]}, "division has 1 values and units has 2"),
        ("eql", {"steps": 0}, "steps is 0; it must be 1 or more"),
        ("eql", {"layers": 2}, "unexpected keyword argument 'layers'"),
    ],
    indirect=["name"],
    scope="module",
)
def test_hyperparameters_that_make_no_sense_are_refused(
    process: Inside, name: str, changes: dict[str, Any], said: str
) -> None:
    given = {"hyperparameters": specification(name)["hyperparameters"] | changes}
    assert said in process.run(PRELUDE + "adapter()", given).stderr
