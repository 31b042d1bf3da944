"""PySINDy's adapter, run inside PySINDy's own environment."""

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
    from collections.abc import Iterator

Array = NDArray[np.float64]

pytestmark = pytest.mark.build

FOLDER = ROOT / "algorithms" / "pysindy"
SPEC = tomllib.loads((FOLDER / "method.toml").read_text(encoding="utf-8"))
SUMS = ("stlsq", "sr3", "ssr", "frols")

DRIVER = """
import json, sys
import numpy as np
from adapter import Adapter
from mdbench.worker import Problem

order = json.load(sys.stdin)
u, du = np.array(order["u"]), np.array(order["du"])
names = tuple(order["variables"])
targets = tuple(f"{name}_t" for name in names)
arrays = {"t": np.arange(len(u)) * 0.01, "u": u}
result = {}
try:
    adapter = Adapter(seed=0, threads=1, **order["hyperparameters"])
    adapter.fit(Problem("trajectory", names, targets, {**arrays, "du": du}, order["limit"]))
    found = list(adapter.candidates())
    result["candidates"] = [[c.target, *c.equations, c.predictions.tolist()] for c in found]
    result["equations"] = adapter.equations()
    result["predictions"] = adapter.predict(Problem("trajectory", names, targets, arrays)).tolist()
    result["early"] = adapter.stopped_early
    places = [max(n for n, c in enumerate(found) if c.target == t) for t in range(len(names))]
    adapter.choose(places)
    result["last"] = adapter.equations()
except Exception as error:
    result["error"] = f"{type(error).__name__}: {error}"
json.dump(result, sys.stdout)
"""


@pytest.fixture(scope="module")
def environment() -> Iterator[Inside]:
    """Make PySINDy's environment from its lock, or find it made."""
    made = prepare("pysindy", FOLDER / "requirements.lock", SPEC["python"], Workspace.find().home)
    with inside(made.python, (FOLDER, ROOT)) as environment:
        yield environment


def run(
    environment: Inside, u: Array, du: Array, limit: float | None = None, **hyperparameters: Any
) -> Any:
    order = {
        "u": u.tolist(),
        "du": du.tolist(),
        "variables": [f"u{i}" for i in range(u.shape[1])],
        "limit": limit,
        "hyperparameters": {"thresholds": [1e-3, 0.1], "orders": [1, 2], **hyperparameters},
    }
    done = environment.run(DRIVER, order)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout[done.stdout.index("{") :])  # LAPACK prints before it


def evaluate(text: str, u: Array) -> Array:
    columns = {f"u{i}": u[:, i] for i in range(u.shape[1])}
    return np.broadcast_to(parse(text, tuple(columns)).evaluate(columns), len(u))


def lorenz() -> tuple[Array, Array]:
    u = np.random.default_rng(1).uniform(-5, 5, (80, 3))
    x, y, z = u.T
    return u, np.stack([10 * (y - x), x * (28 - z) - y, x * y - 8 / 3 * z], axis=1)


@pytest.mark.parametrize("optimizer", SUMS)
def test_each_optimizer_has_the_law_among_its_candidates(
    environment: Inside, optimizer: str
) -> None:
    u, du = lorenz()
    found = run(environment, u, du, optimizers=[optimizer])
    terms = [2, 3, 2]
    for target, size in enumerate(terms):
        mine = [(text, values) for at, text, values in found["candidates"] if at == target]
        assert len({text for text, _ in mine}) == len(mine)
        right = [
            text
            for text, values in mine
            if text.count("*u") - text.count("*u0*u") <= size + 1
            and "/" not in text
            and np.allclose(values, du[:, target], rtol=1e-9, atol=1e-9)
        ]
        assert right, [text for text, _ in mine]
        assert any(text.count(" + ") == size - 1 for text in right)


def test_predictions_are_those_of_the_equations(environment: Inside) -> None:
    rng = np.random.default_rng(0)
    u, du = rng.uniform(0.5, 2, (40, 2)), rng.normal(size=(40, 2))
    found = run(environment, u, du, bases=["polynomial", "polynomial+sin+cos"], orders=[2])
    assert len(found["candidates"]) > 50
    for _, text, values in found["candidates"]:
        expected = evaluate(text, u)
        scale = float(np.max(np.abs(expected)))
        np.testing.assert_allclose(values, expected, rtol=1e-6, atol=1e-8 * scale)
    mine = np.stack([evaluate(text, u) for text in found["equations"]], axis=1)
    np.testing.assert_allclose(found["predictions"], mine, rtol=1e-7, atol=1e-7)
    lasts = [[c[1] for c in found["candidates"] if c[0] == target][-1] for target in (0, 1)]
    assert found["last"] == lasts


def test_a_rational_law_takes_sindy_pi(environment: Inside) -> None:
    u = np.random.default_rng(1).uniform(0.1, 5, (100, 1))
    du = 0.6 - 1.5 * u / (0.3 + u)
    (equation,) = run(environment, u, du)["equations"]
    v = np.linspace(0.2, 6, 17)[:, None]
    assert "/" in equation
    np.testing.assert_allclose(
        evaluate(equation, v)[:, None], 0.6 - 1.5 * v / (0.3 + v), 1e-9, 1e-12
    )


def test_a_quotient_that_is_a_sum_is_none(environment: Inside) -> None:
    u = np.random.default_rng(2).uniform(1, 3, (60, 1))
    found = run(environment, u, 2.1 * u, optimizers=["sindy_pi"], orders=[3])
    assert not [text for _, text, _ in found["candidates"] if text.endswith("/(1.0*u0)")]
    assert len(found["candidates"]) > 1
    (equation,) = run(environment, u, 2 / u, optimizers=["sindy_pi"], orders=[3])["equations"]
    np.testing.assert_allclose(evaluate(equation, u)[:, None], 2 / u, 1e-6)


def test_powers_have_no_products(environment: Inside) -> None:
    u, du = lorenz()
    found = run(environment, u, du, library="powers", optimizers=["stlsq", "ssr"], orders=[3])
    texts = " ".join(text for _, text, _ in found["candidates"])
    assert "u0**3" in texts
    assert "u0*u1" not in texts


@pytest.mark.parametrize("u", [np.ones((30, 2)), np.zeros((30, 1))], ids=["ones", "zeros"])
def test_a_state_at_rest_is_no_failure(environment: Inside, u: Array) -> None:
    found = run(environment, u, np.zeros_like(u))
    assert all(np.max(np.abs(evaluate(text, u))) < 1e-9 for text in found["equations"])


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"u": np.full((9, 1), np.nan)}, "ValueError: the data are not finite"),
        ({"u": np.full((9, 1), 1e200), "orders": [2]}, "ValueError: the terms of every library"),
        ({"most_terms": 1}, "Unsupported: 2 terms for 1 states; at most"),
        ({"optimizers": ["lasso"]}, "ValueError: optimizers has lasso; there are stlsq, sr3"),
        ({"bases": ["sin"]}, "ValueError: bases has 'sin'; each is"),
        ({"orders": [0]}, "ValueError: orders has 0"),
        ({"library": "all"}, "ValueError: library is 'all'; it must be one of cross, powers"),
        ({"threshold": 3}, "TypeError"),
    ],
)
def test_what_is_refused(environment: Inside, changes: dict[str, Any], words: str) -> None:
    given = {"u": np.ones((9, 1)), "du": np.ones((9, 1)), "optimizers": ["stlsq"], **changes}
    assert words in run(environment, **given)["error"]


def test_no_time_left_gives_what_there_is(environment: Inside) -> None:
    u, du = lorenz()
    found = run(environment, u, du, limit=1e-9)
    assert found["early"]
    assert {target for target, *_ in found["candidates"]} == {0, 1, 2}
