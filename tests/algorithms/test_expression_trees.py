"""Trees of the genetic methods, and their way into the data's own units."""

from __future__ import annotations

import math
import operator
from random import Random
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from genetic_methods import evaluate_text, modules

from eqverdict import parse

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

PLAIN: dict[str, Callable[..., float]] = {
    "add": operator.add,
    "sub": operator.sub,
    "mul": operator.mul,
    "div": operator.truediv,
    "neg": operator.neg,
    "sin": math.sin,
    "cos": math.cos,
    "tan": math.tan,
    "atan": math.atan,
    "tanh": math.tanh,
    "exp": math.exp,
    "log": math.log,
    "sqrt": math.sqrt,
    "square": lambda x: x**2,
    "cube": lambda x: x**3,
}


@pytest.fixture(scope="module")
def load() -> Iterator[Any]:
    with modules("afp") as importer:
        yield importer


@pytest.fixture(scope="module")
def trees(load: Any) -> Any:
    return load("trees")


@pytest.fixture(scope="module")
def scaling(load: Any) -> Any:
    return load("scaling")


def many(load: Any, number: int, variables: int = 3, size: int = 24) -> list[Any]:
    """Draw trees of all functions."""
    language = load("language").Language(
        list(PLAIN),
        variables,
        max_size=40,
        max_depth=16,
        max_initial_size=size,
        random=Random(3),
    )
    return [language.new() for _ in range(number)]


def by_hand(tree: Any, row: Any) -> float:
    """Evaluate a tree on one row with Python's own numbers."""
    if tree.name == "constant":
        return float(tree.value)
    if tree.name == "variable":
        return float(row[tree.value])
    return PLAIN[tree.name](*(by_hand(child, row) for child in tree.children))


def every(tree: Any) -> Iterator[Any]:
    yield tree
    for child in tree.children:
        yield from every(child)


def test_all_functions_are_tried(trees: Any) -> None:
    assert set(trees.FUNCTIONS) == set(PLAIN)


def test_values_are_those_of_plain_python(load: Any, trees: Any) -> None:
    X = np.random.default_rng(0).uniform(0.2, 2, (4, 3))
    compared = 0
    for tree in many(load, 400):
        values = trees.evaluate(tree, X)
        for row, value in zip(X, values, strict=True):
            try:
                expected = by_hand(tree, row)
            except (ValueError, OverflowError, ZeroDivisionError):
                continue  # where mathematics gives no value, NumPy gives no finite one, or inf
            if abs(expected) < 1e6:  # beyond, sines of rounding errors are compared
                compared += 1
                assert value == pytest.approx(expected, rel=1e-6, abs=1e-9)
    assert compared > 800


def test_positions_are_those_of_a_walk(load: Any, trees: Any) -> None:
    new = trees.Node.variable(2)
    for tree in many(load, 60):
        walk = list(every(tree))
        assert len(walk) == tree.size
        assert sum(node.name == "constant" for node in walk) == tree.constants
        for position, node in enumerate(walk):
            assert trees.at(tree, position) is node
            other = list(every(trees.put(tree, position, new)))
            assert other[position] is new
            assert len(other) == tree.size - node.size + 1


def test_a_change_shares_what_it_leaves(trees: Any) -> None:
    left = trees.Node("sin", (trees.Node.variable(0),))
    right = trees.Node("exp", (trees.Node.variable(1),))
    tree = trees.put(trees.Node("add", (left, right)), 4, trees.Node.constant(2.0))
    assert tree.children[0] is left
    assert repr(tree) == "add(sin(x0), exp(2.0))"


def test_one_constant_is_altered(load: Any, trees: Any) -> None:
    for tree in many(load, 60):
        values = list(trees.constants(tree))
        for number in range(tree.constants):
            altered = trees.alter_constant(tree, number, lambda value: value + 100.0)
            expected = [v + 100.0 * (i == number) for i, v in enumerate(values)]
            assert list(trees.constants(altered)) == expected
            assert repr(trees.with_constants(tree, expected)) == repr(altered)


def test_texts_say_what_trees_give(load: Any, trees: Any, scaling: Any) -> None:
    X = np.random.default_rng(1).uniform(0.3, 2, (20, 3))
    compared = 0
    for tree in many(load, 300):
        values = trees.evaluate(tree, X)
        if not (np.isfinite(values).all() and np.abs(values).max() < 1e6):
            continue
        whole = scaling.line(1.0, tree, 0.0, like=values)
        text = scaling.text(whole, ["u0", "u1", "u2"])
        compared += 1
        # The same operations in the same order, but for a power of NumPy's.
        np.testing.assert_allclose(
            evaluate_text(text, X), trees.evaluate(whole, X), rtol=1e-7, atol=1e-9
        )
        np.testing.assert_allclose(
            evaluate_text(text, X), values, rtol=1e-6, atol=1e-9 + 1e-9 * np.abs(values).max()
        )
    assert compared > 100


def test_own_units_give_the_same_values(load: Any, trees: Any, scaling: Any) -> None:
    scales = [2.0**90, 2.0**-100, 1.0]
    Z = np.random.default_rng(2).uniform(0.3, 2, (20, 3))
    compared = 0
    for tree in many(load, 300, size=12):
        values = trees.evaluate(tree, Z)
        if not (np.isfinite(values).all() and np.abs(values).max() < 1e6):
            continue
        own = scaling.in_own_units(tree, scales)
        compared += 1
        np.testing.assert_allclose(trees.evaluate(own, Z * scales), values, rtol=1e-6, atol=1e-9)
    assert compared > 150


def test_units_leave_no_trace_in_a_product(trees: Any, scaling: Any) -> None:
    x, y = trees.Node.variable(0), trees.Node.variable(1)
    scales = [2.0**90, 2.0**-100]
    tree = trees.Node("mul", (x, trees.Node("square", (y,))))
    own = scaling.in_own_units(tree, scales)
    whole = scaling.line(2.0**-110, own, 0.0, like=np.ones(1))
    assert scaling.text(whole, ["a", "b"]) == "a*b**2"


@pytest.mark.parametrize(
    ("slope", "offset", "text"),
    [
        (1.0 + 1e-15, 3e-16, "u0"),
        (-2.0, 0.5, "-2.0*u0 + 0.5"),
        (2.0, -0.5, "2.0*u0 - 0.5"),
        (0.0, 4.0, "4.0"),
    ],
)
def test_a_line_is_rounded_to_what_can_be_meant(
    trees: Any, scaling: Any, slope: float, offset: float, text: str
) -> None:
    tree = scaling.line(slope, trees.Node.variable(0), offset, like=np.ones(3))
    assert scaling.text(tree, ["u0"]) == text


def test_offsets_are_drawn_together(trees: Any, scaling: Any) -> None:
    x, two = trees.Node.variable(0), trees.Node.constant(2.0)
    inner = trees.Node("mul", (trees.Node.constant(3.0), trees.Node("add", (x, two))))
    tree = trees.Node("sub", (trees.Node.constant(7.0), inner))  # 7 - 3 (x + 2)
    whole = scaling.line(2.0, tree, -2.0, like=np.ones(1))
    assert scaling.text(whole, ["x"]) == "-6.0*x"


@pytest.mark.parametrize("size", [1e-300, 1e-34, 1e-4, 0.01, 1.0, 500.0, 1e5, 1e27, 1e300])
def test_scales_are_powers_of_two_near_what_is_typical(scaling: Any, size: float) -> None:
    values = size * np.array([0.5, -1.0, 1.5])
    scale = scaling.power_of_two(values)
    assert math.frexp(scale)[0] == 0.5
    if 1e-3 < size < 1e3:
        assert scale == 1.0
    else:
        assert 0.3 < size / scale < 3


def test_zeros_need_no_scale(scaling: Any) -> None:
    assert scaling.power_of_two(np.zeros(3)) == 1.0


def test_deep_trees_are_within_the_grammar(trees: Any, scaling: Any) -> None:
    tree = trees.Node.variable(0)
    for name in ["sin", "square", "neg", "exp"] * 4:
        tree = trees.Node(name, (tree,))
    assert tree.depth == 17
    assert parse(scaling.text(tree, ["u0"]), ["u0"]).complexity > 17
