"""Programs that strangers write are read without being run, and their constants are found."""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from torch_methods import ALGORITHMS, modules

from eqverdict import parse

if TYPE_CHECKING:
    from collections.abc import Iterator

NAMES = ["x0", "x1"]
X = np.random.default_rng(1).uniform(0.2, 0.9, (40, 2))


@pytest.fixture(scope="module")
def programs() -> Iterator[Any]:
    """Yield what the shared modules have, by name."""
    shared = ALGORITHMS / "shared"
    with modules(shared / "programs", shared / "language_loops") as imported:
        found: dict[str, Any] = {}
        for name in ("graphs", "reading", "fitting", "writing"):
            found |= vars(imported(f"formula_{name}"))
        found |= vars(imported("grammar_draws"))
        yield SimpleNamespace(**{key: value for key, value in found.items() if key[0] != "_"})


def function(*lines: str) -> str:
    return "\n".join(["def equation(x0, x1, params):", *(f"    {line}" for line in lines)])


def read(programs: Any, text: str, outputs: int = 1) -> Any:
    return programs.read_function(text, NAMES, outputs, parameters=4)


BENIGN = [
    function("return params[0] * x0 + params[1]"),
    function(
        "'''Words.'''",
        "a, b = params[0], params[1]",
        "c = a * np.sin(b * x0)",
        "c /= x1",
        "return c",
    ),
    function("a, b = params[:2]", "return x0 ** a - -b ** 2 / (x1 - 3) ** 2"),
    function(
        "r: float = np.sqrt(np.square(x0) + x1 ** 2)", "return np.exp(-r) * np.log10(x1) + np.pi"
    ),
    function("return np.maximum(x0, params[2]) - np.minimum(x1, 0.5) + abs(x0 - x1)"),
    function(
        "return np.cbrt(x0 - 0.5) + np.hypot(x0, x1) + np.log1p(x0) + np.expm1(x1) + np.exp2(x0)"
    ),
    function("return np.arctan(x0) * np.tanh(x1) + np.arcsinh(params[3]) + np.log2(x0)"),
    function(
        "return np.clip(x0, 0.3, 0.6) + np.reciprocal(x1) + np.power(x0, 3) + np.sign(x0 - 0.5)"
    ),
    function("return np.ones_like(x0) * 2.5 - np.full_like(x1, 1.5) * x1"),
    function("return ((x0 - x1) - (x0 - 2)) / (x1 / (x0 / 3)) / 2 - (-x0) ** 2 * 1e-7"),
]


@pytest.mark.parametrize("text", BENIGN)
def test_a_formula_is_what_python_makes_of_the_program(programs: Any, text: str) -> None:
    """The texts are our own, so that Python may run them here."""
    (root,) = read(programs, text).roots
    values = [1.3, 0.7, 0.4, -0.2]
    space: dict[str, Any] = {"np": np}
    exec(text, space)
    expected = np.broadcast_to(space["equation"](X[:, 0], X[:, 1], values), len(X))
    settled = programs.settled(root, dict(enumerate(values)))
    np.testing.assert_allclose(programs.evaluate_formula(settled, X), expected, rtol=1e-12)
    written = programs.written(settled, NAMES)
    columns = dict(zip(NAMES, X.T, strict=True))
    there = np.broadcast_to(parse(written, NAMES).evaluate(columns), len(X))
    np.testing.assert_allclose(there, expected, rtol=1e-12)


HOSTILE = {
    "forbidden import": "import os\n" + function("return x0"),
    "import inside": function("import subprocess", "return x0"),
    "endless loop": function("while True:", "    pass"),
    "loop": function("for i in range(3):", "    x0 = x0 * 2", "return x0"),
    "branch": function("if x0 > 1:", "    return x1", "return x0"),
    "choice": function("return x0 if x1 else 2"),
    "where": function("return np.where(x0 > x1, x0, x1)"),
    "way out": function("return x0.__class__.__mro__"),
    "dunder call": function("return __import__('os').system('true')"),
    "eval": function("return eval('1')"),
    "open": function("return open('/etc/passwd')"),
    "lambda": function("return (lambda: 1)()"),
    "comprehension": function("return sum([x for x in params])"),
    "attribute of a module": function("return np.linalg.norm(x0)"),
    "file of numpy": function("return np.fromfile(x0)"),
    "subscript": function("return x0[0]"),
    "parameter that is not there": function("return params[4]"),
    "negative index": function("return params[-1]"),
    "computed index": function("return params[1 + 1]"),
    "unknown name": function("return x7"),
    "earlier version": function("return equation_v0(x0, x1, params)"),
    "text": function("return 'x0'"),
    "truth": function("return True"),
    "complex": function("return 1j * x0"),
    "comparison": function("return x0 > x1"),
    "walrus": function("return (a := x0)"),
    "set": function("params[0] = 3", "return x0"),
    "global": function("global x", "return x0"),
    "assert": function("assert x0", "return x0"),
    "delete": function("del x0", "return x1"),
    "nothing": function("pass"),
    "several": function("return x0, x1"),
    "keyword": function("return np.sin(x0, out=x1)"),
    "stars": function("return np.add(*params)"),
    "decorator": "@exit\n" + function("return x0"),
    "default run": function("return x0").replace("params)", "params, *rest)"),
    "statement outside": "exit()\n" + function("return x0"),
    "class": "class A:\n    pass",
    "async": "async " + function("return x0"),
    "no code": "x0 + 1",
    "syntax": function("return x0 +"),
    "null": function("return x0\0"),
    "huge number": function("return 1e999 * x0"),
    "long number": function(f"return {'9' * 400} * x0"),
    "longer number": function(f"return {'9' * 5000} * x0"),
    "doubling": function(*(["x0 = x0 + x0"] * 300), "return x0"),
    "long sum": function(f"return {' + '.join(['x0'] * 2000)}"),
    "deep brackets": function(f"return {'(' * 5000}x0{')' * 5000}"),
    "deep signs": function(f"return {'-' * 5000}x0"),
    "long text": function("return x0 #" + "a" * 30_000),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_what_is_not_a_formula_is_refused(programs: Any, name: str) -> None:
    with pytest.raises(programs.ProgramError):
        read(programs, HOSTILE[name])


def test_a_tower_of_powers_is_no_number(programs: Any) -> None:
    """Python would never end with its whole numbers; here they are double precision."""
    (root,) = read(programs, function("return 9 ** 9 ** 9 ** 9 * x0")).roots
    with pytest.raises(programs.ProgramError, match="not finite"):
        programs.settled(root, {})


def test_names_and_order_of_arguments(programs: Any) -> None:
    def columns(text: str) -> Any:
        (root,) = read(programs, text).roots
        return programs.written(root, NAMES)

    assert columns("def f(x1, x0, params):\n    return x0 - x1") == "x0 - x1"
    assert columns("def f(a, b, params):\n    return a - b") == "x0 - x1"
    assert columns("def f(x1):\n    return x1") == "x1"
    (root,) = read(programs, "def f(x0, x1, theta):\n    return theta[1] * x0").roots
    assert programs.parameters_of(root) == [1]
    with pytest.raises(programs.ProgramError, match="arguments are a, b, c"):
        columns("def f(a, b, c, params):\n    return a")


def test_several_outputs_may_be_gathered(programs: Any) -> None:
    for gathered in ("x0, x1", "[x0, x1]", "np.array([x0, x1])", "np.stack((x0, x1))"):
        roots = read(programs, function(f"return {gathered}"), outputs=2).roots
        assert [programs.written(root, NAMES) for root in roots] == NAMES


LAW = """
import torch
import torch.nn as nn
class Law(nn.Module):
    '''Words.'''
    def __init__(self, first: float = 2.0):
        super().__init__()
        self.a = nn.Parameter(torch.tensor(first))
        self.b = torch.nn.Parameter(torch.tensor([-1.5]))
        self.c = nn.Parameter(torch.ones(1))
    def forward(self, x0: torch.Tensor, x1: torch.Tensor) -> torch.Tensor:
        return self.a * torch.sin(self.b * x0) + self.c * x1 ** 2
"""


def test_a_class_gives_its_parameters_and_its_formula(programs: Any) -> None:
    law = programs.read_class(LAW, NAMES, 1)
    assert (law.names, law.start) == (("a", "b", "c"), (2.0, -1.5, 1.0))
    root = programs.settled(law.roots[0], dict(enumerate(law.start)))
    expected = 2 * np.sin(-1.5 * X[:, 0]) + X[:, 1] ** 2
    np.testing.assert_allclose(programs.evaluate_formula(root, X), expected)


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("torch.ones(1)", "torch.ones(3)", "no single number"),
        ("[-1.5]", "[1.0, 2.0]", "no single number"),
        ("torch.ones(1)", "nn.Linear(2, 1)", "no single number"),
        ("        super().__init__()", "        exit()", "not allowed in __init__"),
        ("def forward", "def backward", "no method forward"),
        ("self.c * x1", "self.d * x1", "not allowed"),
        ("import torch\n", "import shutil\n", "import of 'shutil' is forbidden"),
        ("first: float = 2.0", "first", "no default"),
        ("class Law(nn.Module):", "if True:", "not allowed"),
        ("    '''Words.'''", "    x = print(1)", "not allowed"),
    ],
)
def test_a_class_that_does_more_is_refused(programs: Any, old: str, new: str, words: str) -> None:
    assert old in LAW
    with pytest.raises(programs.ProgramError, match=words):
        programs.read_class(LAW.replace(old, new), NAMES, 1)


def test_derivatives_are_those_of_small_differences(programs: Any) -> None:
    inside = {"acosh": 2.0, "atanh": 0.0, "acos": 0.0, "asin": 0.0}
    for name, arity in programs.ARITIES.items():
        offset = programs.number(inside.get(name, 0.3))
        parts = []
        for place in range(arity):
            scaled = programs.GraphNode("*", (programs.parameter(place), programs.variable(place)))
            parts.append(programs.GraphNode("+", (scaled, offset)))
        root = programs.GraphNode(
            "*", (programs.GraphNode(name, tuple(parts)), programs.parameter(0))
        )
        graph = programs.FormulaGraph(root, X)
        at = np.array([[0.61, 0.43], [0.35, 0.87]])[:, :arity]
        values, slopes = graph.linearised(at)
        np.testing.assert_array_equal(values, graph.values(at))
        for place in range(arity):
            step = np.zeros(arity)
            step[place] = 1e-6
            expected = (graph.values(at + step) - graph.values(at - step)) / 2e-6
            close = np.abs(slopes[:, place] - expected) < 1e-6
            assert close.mean() > 0.9, name  # not where max and min have their corner


def test_what_is_drawn_is_read_and_written_as_it_is(programs: Any) -> None:
    draws = programs.GrammarDraws(0, NAMES)
    columns = dict(zip(NAMES, X.T, strict=True))
    tried = 0
    for _ in range(200):
        text, count = draws.expression(lambda index: f"params[{index}]")
        (root,) = programs.read_function(function(f"return {text}"), NAMES, 1, parameters=10).roots
        assert len(programs.parameters_of(root)) == count
        try:
            settled = programs.settled(root, {index: 1.5 - 0.7 * index for index in range(count)})
            written = programs.written(settled, NAMES)
        except programs.ProgramError:
            continue
        expected = programs.evaluate_formula(settled, X)
        if np.isfinite(expected).all():
            tried += 1
            found = np.broadcast_to(parse(written, NAMES).evaluate(columns), len(X))
            np.testing.assert_allclose(found, expected, rtol=1e-9)
    assert tried > 100


FITS = [
    ("params[0] * np.exp(-params[1] * x0) * np.cos(x1) + params[2]", [3.0, 0.5, -1.0]),
    ("params[0] * x0 ** params[1] / (params[2] + x1 ** 2)", [2.0, 0.5, 3.0]),
    ("params[0] * x0 * x1", [6.6743e-11]),
    ("params[0] * np.tanh(params[1] * x0 - params[2])", [4.0, 2.0, 0.7]),
    ("params[0] * x0 + params[1] * x0 + params[2]", [1.0, 2.0, 3.0]),
]


@pytest.mark.parametrize(("text", "values"), FITS)
def test_constants_are_found(programs: Any, text: str, values: list[float]) -> None:
    (root,) = read(programs, function(f"return {text}")).roots
    y = programs.evaluate_formula(programs.settled(root, dict(enumerate(values))), X)
    starts = programs.fixed_starts(8, 4, 0)
    fitted = programs.fit_formula(root, X, y, starts, iterations=100)
    assert fitted.error < 1e-20
    assert fitted == programs.fit_formula(root, X, y, starts, iterations=100)


def test_a_formula_without_values_has_no_error_that_is_finite(programs: Any) -> None:
    (root,) = read(programs, function("return np.log(-x0) * params[0]")).roots
    fitted = programs.fit_formula(root, X, X[:, 0], programs.fixed_starts(2, 4, 0), iterations=9)
    assert math.isinf(fitted.error)


def test_starts_are_ones_first_and_always_the_same(programs: Any) -> None:
    starts = programs.fixed_starts(5, 3, 0)
    assert starts.shape == (5, 3)
    assert (starts[0] == 1).all()
    np.testing.assert_array_equal(starts, programs.fixed_starts(5, 3, 0))


def test_adam_lowers_the_loss_and_reports_its_course(programs: Any) -> None:
    roots = read(programs, function("return params[0] * x0 + params[1], params[0] * x1"), 2).roots
    Y = np.stack([1.5 * X[:, 0] + 0.2, 1.5 * X[:, 1]], axis=1)
    adam = programs.Adam(steps=1000, rate=3e-2, clip=1.0)
    constants, loss, curve = adam.fit(roots, X, Y, [1.0, 1.0])
    assert loss < 1e-9
    assert constants == pytest.approx((1.5, 0.2), abs=1e-3)
    assert curve[0] > 1000 * loss
    assert 2 <= len(curve) <= 11
    assert (
        programs.Adam(steps=5, rate=1.0, clip=1.0).fit(
            read(programs, function("return np.log(-x0) * params[0]")).roots, X, Y[:, :1], [1.0]
        )[1]
        == math.inf
    )


def test_what_comes_to_nothing_leaves_the_formula(programs: Any) -> None:
    (root,) = read(programs, function("return 0 * x0 + 1 * x1 ** 1 / 1 + params[0] * x0")).roots
    assert programs.written(programs.settled(root, {0: 0.0}), NAMES) == "x1"
    assert programs.written(programs.settled(root, {0: -0.5}), NAMES) == "x1 + (-0.5)*x0"
