"""How alike the laws of two collections are."""

from __future__ import annotations

import random

import pytest

from eqverdict.similarity import law_tree, similarity
from eqverdict.tree_edit_distance import edit_distance
from mdbench.errors import EquationError

SAME = [
    ("a*b", "y*x"),
    ("9.81*m*g - z", "p + q*r*0.5"),
    ("x/y", "x*y**-1"),
    ("sqrt(x)", "2*u**0.5"),
    ("-(x - y)", "a + b"),
    ("(x*y)*z", "x*(y*z)"),
    ("x + (y + 1) - 2", "a + b + 3"),
    ("arctan(x)", "atan(t)"),
    ("x**1", "y"),
    ("x**2.7", "x**3.3"),
    ("x**20", "x**30"),
    ("exp(-x**2/2)", "exp(u**2)"),
]
DIFFERENT = [
    ("x**2", "x**3"),
    ("x*y", "x/y"),
    ("x + y", "x*y"),
    ("sin(x)", "cos(x)"),
    ("x", "x + 1"),
    ("x**y", "x**2"),
    ("2", "x"),
    ("sin(x + 1)", "sin(x)"),
]
FORMULAS = [text for pair in SAME + DIFFERENT for text in pair]


@pytest.mark.parametrize(("one", "other"), SAME)
def test_names_numbers_order_and_writing_make_no_difference(one: str, other: str) -> None:
    assert law_tree(one).tree == law_tree(other).tree


@pytest.mark.parametrize(("one", "other"), DIFFERENT)
def test_what_differs_has_another_tree(one: str, other: str) -> None:
    first, second = law_tree(one), law_tree(other)
    assert first.tree != second.tree
    assert 0 <= first.similarity(second) < 1
    assert first.similarity(second) == second.similarity(first)


def test_the_bound_is_never_above_the_distance() -> None:
    trees = [law_tree(text) for text in FORMULAS]
    for one in trees:
        for other in trees:
            assert one.least_distance(other) <= edit_distance(one.tree, other.tree)
            assert one.least_distance(other) == other.least_distance(one)


def test_operators_are_those_that_a_law_has() -> None:
    assert law_tree("x/y + 2*sin(z)**2 - sqrt(x)").operators == {"+", "*", "/", "sin", "power"}
    assert law_tree("3.5*x").operators == set()
    assert law_tree("x**-2").operators == {"/"}


def test_the_nearest_law_is_that_of_all_pairs() -> None:
    draw = random.Random(4)
    texts = draw.sample(FORMULAS, 24)
    laws = {f"a{n}": text for n, text in enumerate(texts[:12])}
    others = {f"b{n}": text for n, text in enumerate(texts[12:])}
    found = similarity(laws, others)
    assert (found.laws, found.others) == (12, 12)
    for each in found.nearest:
        tree = law_tree(laws[each.law])
        every = {name: tree.similarity(law_tree(text)) for name, text in others.items()}
        assert each.trees == max(every.values()) == every[each.other]


def test_a_collection_compared_with_itself_leaves_each_law_out() -> None:
    laws = {"one": "a*b", "two": "sin(a)", "three": "x*y"}
    found = similarity(laws, laws)
    by_name = {each.law: each for each in found.nearest}
    assert by_name["one"].other == "three"
    assert by_name["two"].trees < 1
    assert [each.law for each in found.same] == ["one", "three"]
    assert found.shared == 1
    assert found.quantiles("trees", [0, 1])[1] == 1


def test_a_law_alone_has_no_nearest_one() -> None:
    assert similarity({"one": "a*b"}, {"one": "a*b"}).nearest == ()


def test_a_law_that_cannot_be_read_is_refused() -> None:
    with pytest.raises(EquationError):
        similarity({"one": "a*("}, {"two": "a"})
