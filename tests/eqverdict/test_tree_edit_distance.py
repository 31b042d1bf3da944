from __future__ import annotations

import random

import pytest
from forest_distance import Nested, brute

from eqverdict.tree_edit_distance import Tree, edit_distance


def flat(tree: Nested) -> Tree:
    labels: list[str] = []
    children: list[int] = []

    def walk(node: Nested) -> None:
        for child in node[1]:
            walk(child)
        labels.append(node[0])
        children.append(len(node[1]))

    walk(tree)
    return Tree(tuple(labels), tuple(children))


def drawn(generator: random.Random, size: int) -> Nested:
    """Draw an ordered tree of some size with labels from a small alphabet."""
    left = size - 1
    children = []
    while left:
        part = generator.randint(1, left)
        children.append(drawn(generator, part))
        left -= part
    return generator.choice("abc"), tuple(children)


@pytest.mark.parametrize("seed", range(300))
def test_the_distance_is_that_of_the_recursive_definition(seed: int) -> None:
    generator = random.Random(seed)
    one = drawn(generator, generator.randint(1, 9))
    other = drawn(generator, generator.randint(1, 9))
    assert edit_distance(flat(one), flat(other)) == brute((one,), (other,))


def test_labels_are_equal_or_not() -> None:
    # A library that compares labels as strings would find 0.5 or so.
    assert edit_distance(Tree(("x10",), (0,)), Tree(("x11",), (0,))) == 1


def test_the_example_of_zhang_and_shasha() -> None:
    one = flat(("f", (("d", (("a", ()), ("c", (("b", ()),)))), ("e", ()))))
    other = flat(("f", (("c", (("d", (("a", ()), ("b", ()))),)), ("e", ()))))
    assert edit_distance(one, other) == 2


def test_it_is_symmetric_and_zero_for_equal_trees() -> None:
    generator = random.Random(7)
    for _ in range(20):
        one, other = flat(drawn(generator, 30)), flat(drawn(generator, 25))
        assert edit_distance(one, other) == edit_distance(other, one)
        assert edit_distance(one, one) == 0
        assert edit_distance(one, other) >= 5
