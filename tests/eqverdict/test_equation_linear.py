from __future__ import annotations

import numpy as np
import pytest
import sympy
from hypothesis import example, given, settings
from hypothesis import strategies as st

from eqverdict import grammar, parse
from eqverdict.equation import linear
from eqverdict.tree import value
from mdbench.errors import EquationError

NAMES = ("u0", "u1", "u2")
FUNCTIONS = ["sin", "cos", "tan", "sinh", "cosh", "tanh", "asin", "acos", "atan", "log"]
SPECIAL = ["0.0", "1.0", "-1.0", "2.0", "1", "-1", "2", "-2", "1e-300", "-1e-400", "1E+5", "0"]

NAME = st.sampled_from(NAMES)
FACTOR = st.one_of(
    NAME,
    st.builds("{}**{}".format, NAME, st.integers(1, 5)),
    st.builds("{}({})".format, st.sampled_from(FUNCTIONS), NAME),
    st.builds("{}({})**{}".format, st.sampled_from(FUNCTIONS), NAME, st.integers(1, 3)),
    st.just("1"),
)
MONOMIAL = st.lists(FACTOR, min_size=1, max_size=4).map("*".join)
COEFFICIENT = st.sampled_from(SPECIAL) | st.floats(-1e6, 1e6).map(repr)
TERM = st.one_of(st.builds("{}*{}".format, COEFFICIENT, MONOMIAL), MONOMIAL, COEFFICIENT)
TERMS = st.lists(st.tuples(st.sampled_from([" + ", " - "]), TERM), min_size=1, max_size=6)
# What the form leaves out, and what is close to it.
FOREIGN = st.sampled_from(
    [
        "u0**1.0",
        "u0**0",
        "u0**-1",
        "u0**100",
        "exp(u0)",
        "abs(u0)",
        "sqrt(u0)",
        "u0/u1",
        "sin(u0 + u1)",
        "sin(2*u0)",
        "(u0 - u1)",
        "-u0",
        "+u0",
        "u0**u1",
        "2**u0",
        "sin(u0)**cos(u1)",
        "u0^2",
    ]
)


def linear_complexity(text: str, names: tuple[str, ...]) -> int | None:
    found = linear(text, names)
    return None if found is None else found.nodes


def by_sympy(text: str) -> int:
    return len(list(sympy.preorder_traversal(sympy.sympify(text))))


def joined(terms: list[tuple[str, str]]) -> str:
    return "".join(part for term in terms for part in term)[3:]


@given(TERMS)
@example([(" + ", "0.1*u0"), (" - ", "0.1*u0")])
@example([(" + ", "0.1*u0"), (" + ", "0.2*u0"), (" - ", "0.3*u0")])
@example([(" + ", "0.5*u0*u1"), (" + ", "-0.5*u1*u0")])
@example([(" + ", "1.2*1"), (" + ", "3.4*u0**1"), (" + ", "5.6*sin(u0)")])
@example([(" + ", "1*u0"), (" - ", "-1*u1")])
@example([(" + ", "2.0"), (" + ", "3*u0**2*u0")])
@settings(max_examples=200)
def test_an_answer_is_that_of_sympy(terms: list[tuple[str, str]]) -> None:
    text = joined(terms)
    assert linear_complexity(text, NAMES) in (None, by_sympy(text))


@given(TERMS, st.integers(-200, 200))
@example([(" + ", "1e-300*u0*u1"), (" - ", "u0*u1*u2")], 200)
@settings(max_examples=200)
def test_values_are_to_the_bit_those_of_the_tree(terms: list[tuple[str, str]], scale: int) -> None:
    text = joined(terms)
    if linear(text, NAMES) is None:
        return
    columns = {name: (k + 0.3) * np.array([0.1, -1.0, 7.7]) for k, name in enumerate(NAMES)}
    columns["u0"] = columns["u0"] * 10.0**scale
    with np.errstate(all="ignore"):
        expected = np.broadcast_to(value(grammar.read(text, NAMES), columns), 3)
    np.testing.assert_array_equal(parse(text, NAMES).evaluate(columns), expected)


@given(st.lists(st.tuples(st.floats(1e-9, 1e6), st.booleans()), min_size=10, max_size=10))
def test_the_usual_candidates_have_an_answer(coefficients: list[tuple[float, bool]]) -> None:
    library = [
        "1",
        "u0",
        "u1**1",
        "u0**2",
        "u0*u1",
        "u0**2*u1",
        "sin(u0)",
        "cos(u1)",
        "u2",
        "u2**4",
    ]
    terms = [
        f"{value!r}*{monomial}"
        for (value, used), monomial in zip(coefficients, library, strict=True)
        if used
    ]
    if terms:
        text = " + ".join(terms)
        assert linear_complexity(text, NAMES) == by_sympy(text)


@given(TERMS, st.sampled_from([" + ", " - ", "*", "**", "/"]), FOREIGN)
def test_no_other_form_is_taken_for_this_one(
    terms: list[tuple[str, str]], operator: str, foreign: str
) -> None:
    text = joined(terms) + operator + foreign
    answer = linear_complexity(text, NAMES)
    if answer is not None:
        assert answer == by_sympy(text)


@given(TERMS | st.text("u0123 .eE+-*^()sin", max_size=20).map(lambda text: [("   ", text)]))
@example([(" + ", "2*"), (" + ", "u0")])
@example([(" + ", "u0"), (" + ", "")])
@settings(max_examples=200)
def test_a_text_with_an_answer_is_within_the_grammar(terms: list[tuple[str, str]]) -> None:
    text = joined(terms)
    if linear_complexity(text, NAMES) is not None:
        grammar.read(text, NAMES)


@pytest.mark.parametrize(
    "text",
    [
        "0.0*u0 + u1",  # vanishes
        "0.1*u0 - 0.1*u0",  # cancels
        "0.1*u0*u1 + 0.2*u1*u0",  # merges
        "sqrt(u0)*sqrt(u0)",  # combines
        "exp(u0)*exp(u1)",
        "1e999*u0",  # too large
        "u3 + u0",  # unknown
        "sin(u0 - u1)",
        "u0 + -",
        "--2*u0",
        "2* u0",
        "u0" + " + u1" * (grammar.MAX_NODES // 4),
    ],
    ids=lambda text: text[:20],
)
def test_leaves_the_rest_to_sympy(text: str) -> None:
    assert linear_complexity(text, NAMES) is None


def test_names_are_checked_again_for_other_variables() -> None:
    assert parse("1.5*u0 + 2.5*u1", ["u0", "u1"]).complexity == 7
    with pytest.raises(EquationError, match="u1"):
        parse("1.5*u0 + 2.5*u1", ["u0"])
