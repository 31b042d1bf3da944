"""Steps of an equation that are done again one by one give the values of the whole, to the bit."""

from __future__ import annotations

import pytest

from eqverdict.fidelity.parametric import parametrize
from eqverdict.grammar import read
from eqverdict.interval_eval import DIGITS, TracedTree, exact_ball, precision


@pytest.mark.parametrize(
    "text",
    [
        "3*x + 2.5*x**2*y - 1.1",
        "sin(2*x)*exp(-0.3*y) + (1.5*x + 2)/(y - 0.7)**2.3",
        "-(2*x - 3)**3 + max(x, 2*y)*pi",
        "abs(x)/3 - y*0.1/(0.2 + x)",
        "x",
        "2",
    ],
)
def test_a_constant_moves_as_if_all_was_evaluated_again(text: str) -> None:
    equation = parametrize(read(text, ("x", "y")), named=True)
    with precision(DIGITS):
        point = {"x": exact_ball(0.37), "y": exact_ball(1.9)}
        constants = [exact_ball(float(c)) for c in equation.start]
        names = [f"#{k}" for k in range(len(constants))]
        tree = TracedTree(equation.tree, names)
        values = tree.start(point | dict(zip(names, constants, strict=True)))
        for shift in (0.0, 0.125, 1e-9):
            moved = [c + exact_ball(shift) for c in constants]
            assert repr(tree.move(values, moved)) == repr(equation.precise(point, moved))
            for k in range(len(constants)):
                number = moved[k] * exact_ball(0.9)
                other = equation.precise(point, [*moved[:k], number, *moved[k + 1 :]])
                assert repr(tree.moved_by(values, k, number)) == repr(other)
                assert repr(tree.move(values, moved)) == repr(equation.precise(point, moved))


def test_what_has_no_value_is_an_error() -> None:
    equation = parametrize(read("1/(x - 0.5) + sqrt(x - 0.25)", ("x",)), named=True)
    constants = [exact_ball(float(c)) for c in equation.start]
    names = [f"#{k}" for k in range(len(constants))]
    tree = TracedTree(equation.tree, names)
    values = tree.start({"x": exact_ball(0.75)} | dict(zip(names, constants, strict=True)))
    for number in (-0.75, -5.0):
        with pytest.raises(ArithmeticError):
            tree.move(values, [exact_ball(number)] * len(names))
