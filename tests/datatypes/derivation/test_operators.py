"""The operators, held against the paper's figures and against SymPy."""

from __future__ import annotations

import json
from random import Random
from typing import Any

import pytest
import sympy
from sympy import Derivative, Function, Integral, Symbol, cos, exp, log, sin, symbols
from sympy.integrals import manualintegrate as rules

from mdbench.datatypes.derivation import operators
from mdbench.datatypes.derivation.calculus import calculate
from mdbench.datatypes.derivation.datasets import (
    alternative_results,
    expression_exchange,
    renamed,
)
from mdbench.datatypes.derivation.generation import expression
from mdbench.datatypes.derivation.operators import (
    ARITHMETIC,
    OPERATORS,
    antiderivative,
    apply,
    fresh_integrals,
    is_valid,
    learn,
    news,
    replay,
)
from mdbench.datatypes.derivation.records import texts
from mdbench.datatypes.derivation.steps import Derivation, Sides, Step, elements
from mdbench.datatypes.derivation.truth import agree
from mdbench.errors import DataError

x, y, Z, o, g = symbols("x y Z o g")
S = Function("S")
f = Function("f")


def step(op: str, refs: tuple[int, ...], operand: Any, known: list[Sides]) -> Step:
    return Step(op, refs, operand, (), *apply(op, known, refs, operand))


def figure_three() -> tuple[Step, ...]:
    """Derive as figure 3 does: a premise, its derivative, less the derivative, and substitute."""
    steps = [Step("premise", (), None, (), S(Z, o), Integral(Z / o, Z))]
    for op, refs, operand in [
        ("differentiate", (1,), Z),
        ("minus", (1,), Derivative(S(Z, o), Z)),
        ("substitute_LHS_for_RHS", (3, 2), None),
    ]:
        steps.append(step(op, refs, operand, [each.sides for each in steps]))
    return tuple(steps)


def test_figure_three_of_the_paper() -> None:
    _, second, third, fourth = figure_three()
    ds = Derivative(S(Z, o), Z)
    inner = Derivative(Integral(Z / o, Z), Z)
    assert second.sides == (ds, inner)
    assert third.sides == (S(Z, o) - ds, Integral(Z / o, Z) - ds)
    assert fourth.sides == (S(Z, o) - inner, Integral(Z / o, Z) - inner)


def figure_five() -> Derivation:
    """Make an example of our own for what figure 5 shows: a premise, and two next steps."""
    known = [Sides(f(x, y), cos(x) * y)]
    first = Step("premise", (), None, (), *known[0])
    return Derivation(
        0, "figure", (first, step("differentiate", (1,), x, known)),
        (step("times", (1,), y, known),),
    )  # fmt: skip


def test_figure_five_a_names() -> None:
    new = renamed(figure_five(), {"f": "alpha", "x": "beta", "y": "gamma"})
    assert texts(new)[0] == (
        r"[premise, \alpha{(\beta,\gamma)} = \gamma \cos{(\beta)}] [SEP] "
        r"[differentiate, 1, \beta] [SEP] "
        r"\frac{\partial}{\partial \beta} \alpha{(\beta,\gamma)} = "
        r"\frac{\partial}{\partial \beta} \gamma \cos{(\beta)}"
    )
    assert isinstance(new, Derivation)
    replay(new)


def test_figure_five_b_sides() -> None:
    assert texts(expression_exchange(figure_five()))[1] == (
        r"[premise, y \cos{(x)} = f{(x,y)}] [SEP] [differentiate, 1, x] [SEP] "
        r"y^{2} \cos{(x)} = y f{(x,y)}"
    )


def test_figure_five_c_results() -> None:
    right, wrong = texts(alternative_results(figure_five()))
    assert "[times, 1, y] [SEP] y f{(x,y)} = y^{2} \\cos{(x)}" in right
    assert wrong.endswith(texts(figure_five())[0].rpartition("[SEP]")[2])


@pytest.mark.parametrize(
    ("op", "operand", "wanted"),
    [
        ("cos", None, (cos(f(x)), cos(x**2))),
        ("sin", None, (sin(f(x)), sin(x**2))),
        ("exp", None, (exp(f(x)), exp(x**2))),
        ("log", None, (log(f(x)), log(x**2))),
        ("add", g, (f(x) + g, x**2 + g)),
        ("minus", g, (f(x) - g, x**2 - g)),
        ("times", g, (f(x) * g, x**2 * g)),
        ("divide", g, (f(x) / g, x**2 / g)),
        ("power", g, (f(x) ** g, (x**2) ** g)),
        ("differentiate", x, (Derivative(f(x), x), Derivative(x**2, x))),
        ("integrate", x, (Integral(f(x), x), Integral(x**2, x))),
    ],
)
def test_operators_on_both_sides(op: str, operand: Any, wanted: tuple[Any, Any]) -> None:
    assert apply(op, [Sides(f(x), x**2)], (1,), operand) == wanted


def test_expand_evaluate_and_substitute() -> None:
    known = [
        Sides(f(x), (x + 1) ** 2),
        Sides(Derivative(f(x), x), Derivative((x + 1) ** 2, x)),
        Sides(Integral(f(x), x), Integral(x * y, x)),
        Sides(f(x) + 1, x),
    ]
    assert apply("expand", known, (1,)) == (f(x), x**2 + 2 * x + 1)
    assert apply("evaluate_derivatives", known, (2,)) == (Derivative(f(x), x), 2 * x + 2)
    assert fresh_integrals(known[2]) == [Integral(x * y, x)]
    found = apply("evaluate_integrals", known, (3,), None, {Integral(x * y, x): g})
    assert found == (Integral(f(x), x), x**2 * y / 2 + g)
    assert apply("substitute_LHS_for_RHS", known, (4, 1)) == ((x + 1) ** 2 + 1, x)
    assert apply("substitute_RHS_for_LHS", known, (2, 1))[1] == Derivative(f(x), x)


def test_nested_integrals_are_left_as_they_are() -> None:
    known = [Sides(f(x, y), Integral(Integral(x * y, x) * 2, y))]
    assert apply("evaluate_integrals", known, (1,)) == known[0]
    double = [Sides(f(x, y), Integral(x * y, x, y))]
    assert apply("evaluate_integrals", double, (1,)) == double[0]


def test_there_are_eighteen() -> None:
    assert len(OPERATORS) == len(set(OPERATORS)) == 18


@pytest.mark.parametrize(
    ("op", "refs", "operand", "says"),
    [
        ("divid", (1,), x, "Did you mean divide"),
        ("add", (2,), x, "steps 1 to 1"),
        ("add", (0,), x, "steps 1 to 1"),
        ("add", (1, 1), x, "it takes 1"),
        ("substitute_LHS_for_RHS", (1,), None, "it takes 2"),
        ("cos", (1,), x, "has an operand"),
        ("add", (1,), None, "has no operand"),
        ("differentiate", (1,), x**2, "takes a symbol"),
        ("power", (1,), sympy.Integer(10**6), "at most"),
    ],
)
def test_annotations_that_cannot_be_are_refused(
    op: str, refs: tuple[int, ...], operand: Any, says: str
) -> None:
    with pytest.raises(DataError) as caught:
        apply(op, [Sides(f(x), x)], refs, operand)
    assert says in str(caught.value)


def test_an_equation_that_does_not_follow_is_refused() -> None:
    example = figure_five()
    wrong = Step("times", (1,), y, (), f(x, y) * y, cos(x))
    with pytest.raises(DataError, match="step 2 does not replay"):
        replay(example.with_final(wrong, example.negatives[0]))
    strange = Step("renaming_premise", (), None, (), f(x), sin(x))
    with pytest.raises(DataError, match="no earlier equation"):
        replay(example.with_final(strange, example.negatives[0]))
    premise = Step("premise", (), None, (), f(x), sin(y))
    with pytest.raises(DataError, match="all free symbols"):
        replay(example.with_final(premise, example.negatives[0]))


@pytest.mark.parametrize(
    ("sides", "valid"),
    [
        (Sides(f(x), x), True),
        (Sides(x, x), False),
        (Sides(f(x), sympy.I * x), False),
        (Sides(f(x), sympy.zoo), False),
        (Sides(f(x**2), x), False),
        (Sides(f(x), sympy.Piecewise((x, x > 0), (y, True))), False),
        (Sides(f(x), sum((Symbol(f"x{n}") ** n for n in range(2, 60)), start=x)), False),
    ],
)
def test_what_may_be_a_step(sides: Sides, valid: object) -> None:
    assert is_valid(sides) is valid


@pytest.mark.parametrize(
    "body", [x * y, sin(x + y), x**2 * y, log(x) / x, exp(x) * x, cos(x) ** 2, 1 / (x + y), y]
)
def test_an_antiderivative_is_one_in_any_names(body: Any) -> None:
    found = antiderivative(body, x)
    assert found is not None
    assert agree(sympy.diff(found, x), body, everywhere=True)
    other = body.xreplace({x: Symbol("t"), y: Symbol("a")})
    again = antiderivative(other, Symbol("t"))
    assert again == found.xreplace({x: Symbol("t"), y: Symbol("a")})


def test_what_was_worked_out_elsewhere_is_not_worked_out_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked = [x * exp(13 * x), sin(x) / (x + 17)]
    news()
    found = [antiderivative(each, x) for each in asked]
    assert found[0] is not None
    told = json.loads(json.dumps(news()))  # as one process tells another
    assert [answer is None for _, _, answer in told] == [False, True]
    assert news() == []
    monkeypatch.setattr(operators, "_known", {})
    monkeypatch.setattr(operators, "_worked_out", lambda *_: pytest.fail("worked out again"))
    learn(told)
    t = Symbol("t")
    assert [antiderivative(each, x) for each in asked] == found
    assert antiderivative(asked[0].subs(x, t), t) == found[0].subs(x, t)
    assert news() == []  # who was told does not tell it on
    with pytest.raises(DataError):
        learn([["__import__('os')", "x0", None]])


def test_a_derivative_has_the_value_of_sympy_s() -> None:
    rng = Random(5)
    tried = 0
    for _ in range(60):
        body = expression(rng, rng.sample("abcxyzAZ", 3), 4, binary=tuple(ARITHMETIC))
        for each in sorted(body.free_symbols, key=str):
            found = calculate("differentiate", body, each)
            if found is not None:
                # Where signs stand may differ: SymPy sorts by names.
                assert agree(found, sympy.diff(body, each), everywhere=True) is not False
                tried += 1
    assert tried > 60


def test_an_integral_that_sympy_fails_at_is_in_no_other_one_s_way(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def fails(_: object) -> None:
        raise ValueError("at its end")

    inner = x * exp(7 * x)
    with monkeypatch.context() as patch:
        patch.setattr(rules, "parts_rule", fails)
        assert antiderivative(inner + sin(11 * x), x) is None
    found = antiderivative(inner, x)
    assert found is not None
    assert sympy.expand(sympy.diff(found, x) - inner) == 0


def test_what_is_not_elementary_has_none() -> None:
    assert antiderivative(exp(cos(x)), x) is None
    assert antiderivative(sin(x) / x, x) is None


def test_elements_have_no_limits() -> None:
    found = elements(Sides(f(x), Integral(x**2, x)))
    assert set(found) == {f(x), x, Integral(x**2, x), x**2, sympy.Integer(2)}
    assert 1 not in elements(Sides(f(x), Derivative(f(x), x)))
