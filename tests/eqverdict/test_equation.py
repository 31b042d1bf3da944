from __future__ import annotations

import dataclasses
import subprocess
import sys
import warnings
from typing import Any

import numpy as np
import pytest
import sympy
from hypothesis import given, reject
from hypothesis import strategies as st

from eqverdict import Equation, parse
from mdbench.errors import EquationError

NAMES = ("u0", "u1")
COLUMNS = {
    "u0": np.array([-2.0, -0.5, 0.0, 0.3, 1.0, 2.5, 40.0]),
    "u1": np.array([0.7, -1.0, 3.0, 0.0, -2.0, 2.5, -0.1]),
}
UNARY = ["sin", "cos", "tan", "tanh", "sinh", "exp", "log", "sqrt", "abs", "sign", "atan", "asin"]

LEAVES = st.sampled_from(["u0", "u1", "0", "1", "2", "3", "0.0", "1.0", "2.0", "0.5", "pi", "E"])
NUMBERS = st.floats(1e-3, 1e3).map(repr) | st.integers(0, 12).map(str)


def _grown(trees: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.one_of(
        st.builds("({} {} {})".format, trees, st.sampled_from("+-*/"), trees),
        st.builds("{} {} {}".format, trees, st.sampled_from("+-*/"), trees),
        st.builds("({})**{}".format, trees, st.sampled_from(["2", "3", "0.5", "1", "2.0", "(-1)"])),
        st.builds("(-{})".format, trees),
        st.builds("{}({})".format, st.sampled_from(UNARY), trees),
    )


TREES = st.recursive(LEAVES | NUMBERS, _grown, max_leaves=10)


def parsed(text: str) -> Equation:
    try:
        return parse(text, NAMES)
    except EquationError:  # a constant part without a finite real value
        return reject()


def by_sympy(text: str) -> int:
    return len(list(sympy.preorder_traversal(sympy.sympify(text))))


def by_python(text: str) -> np.ndarray:
    """Evaluate a text that this file has made, as Python and NumPy read it."""
    # Of integers, some functions give integers, which have no negative powers.
    found = {name: getattr(np, name) for name in UNARY if hasattr(np, name)}
    floats: dict[str, Any] = {
        name: lambda x, of=of: of(np.asarray(x, float)) for name, of in found.items()
    }
    floats |= {"asin": np.arcsin, "atan": np.arctan, "pi": np.pi, "E": np.e}
    with np.errstate(all="ignore"):
        return np.broadcast_to(eval(text, floats | COLUMNS), (7,))


@given(TREES)
def test_evaluates_like_numpy(text: str) -> None:
    equation = parsed(text)
    np.testing.assert_allclose(equation.evaluate(COLUMNS), by_python(text), rtol=1e-12)


@given(TREES)
def test_complexity_is_that_of_sympy(text: str) -> None:
    assert parsed(text).complexity == by_sympy(text)


@given(TREES)
def test_makes_the_expression_that_sympy_makes(text: str) -> None:
    assert parsed(text).to_sympy() == sympy.sympify(text)


@pytest.mark.parametrize(
    ("text", "complexity"),
    [
        ("0", 1),
        ("0.0", 1),
        ("-0.0", 1),
        ("u0 - u0", 1),
        ("0*u0", 1),
        ("u0", 1),
        ("-u0", 3),
        ("u0 + u0", 3),
        ("u0 - u1", 5),
        ("u0/u1", 5),
        ("u0 + u1 + 2", 4),
        ("2*(u0 + u1)", 7),
        ("sin(u0)", 2),
        ("sqrt(u0)", 3),
        ("u0*exp(2*u1)", 6),
        ("square(u0)", 3),
        ("cube(u0)^2", 3),
    ],
)
def test_complexity_of_small_equations(text: str, complexity: int) -> None:
    assert parse(text, NAMES).complexity == complexity


@pytest.mark.parametrize(
    "text",
    [
        "-u0**2",
        "2**-u0",
        "u0**u1**2",
        "u0 - u1 - 3",
        "u0/u1/3*2",
        "1/(2*u0)",
        "- -u0",
        "+u0",
        ".5*u0 + 2.",
        "1E-3*u0",
        "log(abs(u0))",
    ],
)
def test_precedence_is_that_of_python(text: str) -> None:
    f = sympy.lambdify(sympy.symbols(NAMES), sympy.sympify(text))
    with np.errstate(all="ignore"):
        expected = f(COLUMNS["u0"], COLUMNS["u1"])
    np.testing.assert_allclose(parse(text, NAMES).evaluate(COLUMNS), expected, rtol=1e-13)


@pytest.mark.parametrize(
    ("text", "same"),
    [
        ("u0^2", "u0**2"),
        ("ln(u0)", "log(u0)"),
        ("Abs(u0)", "abs(u0)"),
        ("arcsin(u0)", "asin(u0)"),
        ("arctan(u0)", "atan(u0)"),
        ("square(u0)", "u0**2"),
        ("cube(u0)", "u0**3"),
        ("cot(u0)", "1/tan(u0)"),
        ("max(u0, u1)", "(u0 + u1 + abs(u0 - u1))/2"),
        ("Min(u0, u1)", "(u0 + u1 - abs(u0 - u1))/2"),
        ("asinh(u0)", "log(u0 + sqrt(u0**2 + 1))"),
        ("cosh(u0)", "(exp(u0) + exp(-u0))/2"),
    ],
)
def test_other_ways_to_write_a_function(text: str, same: str) -> None:
    given_, plain = (parse(t, NAMES).evaluate(COLUMNS) for t in (text, same))
    np.testing.assert_allclose(given_, plain, rtol=1e-8, atol=1e-12)


@pytest.mark.parametrize("text", ["max(u0, u1)", "min(u0, 2)", "cot(u0)", "acosh(u0)", "ln(u0)"])
def test_sympy_has_every_function(text: str) -> None:
    values = {"u0": 1.25, "u1": 3.5}
    ours = parse(text, NAMES).evaluate({name: np.array(x) for name, x in values.items()})
    assert float(parse(text, NAMES).to_sympy().subs(values)) == pytest.approx(float(ours))


def test_undefined_values_are_values() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        values = parse("log(u0) + 1/u0 + exp(u0)**9", ["u0"]).evaluate(
            {"u0": np.array([-1.0, 0.0, 1.0, 1e5])}
        )
    assert np.isnan(values[:2]).all()
    assert np.isfinite(values[2])
    assert values[3] == np.inf


@pytest.mark.parametrize("text", ["1.5", "pi", "u0", "u0*u1", "2*3 + 0*u1"])
@pytest.mark.parametrize("shape", [(), (0,), (5,), (4, 3)])
def test_result_is_new_and_shaped_like_the_columns(text: str, shape: tuple[int, ...]) -> None:
    columns = {name: np.full(shape, 2) for name in NAMES}
    values = parse(text, NAMES).evaluate(columns)
    assert values.shape == shape
    assert values.dtype == np.float64
    values[...] = 7.0
    assert (columns["u0"] == 2).all()


def test_variables_come_before_constants() -> None:
    assert parse("E + pi", ["E", "pi"]).evaluate({"E": np.ones(1), "pi": np.ones(1)}) == [2.0]
    assert parse("E*pi", ["E", "pi"]).complexity == 3
    assert parse("E*pi + 0*x", ["E", "x"]).to_sympy() == sympy.Symbol("E") * sympy.pi


def test_symbols_are_real_where_asked() -> None:
    equation = parse("sqrt(u0**2)", ["u0"])
    assert equation.to_sympy() != sympy.Abs(sympy.Symbol("u0"))
    assert equation.to_sympy(real=True) == sympy.Abs(sympy.Symbol("u0", real=True))


def test_an_equation_cannot_be_changed_or_made_of_an_attack() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        parse("u0", NAMES).text = "u1"  # type: ignore[misc]
    with pytest.raises(EquationError):
        Equation("__import__('os')", NAMES)


def test_equal_texts_make_equal_equations() -> None:
    assert parse("u0 + 1", ["u0"]) == parse("u0 + 1", ("u0",))
    assert len({parse("u0", ["u0"]), parse("u0", ["u0"]), parse("u0", NAMES)}) == 2


def test_sympy_is_not_imported_for_linear_combinations() -> None:
    code = (
        "import sys; from eqverdict import parse\n"
        "assert parse('1.5*u0 + -0.2*u0*u1', ['u0', 'u1']).complexity == 8\n"
        "assert parse('0', ['u0']).complexity == 1\n"
        "assert 'sympy' not in sys.modules, 'sympy is imported'\n"
        "from eqverdict import equation\n"
        "assert equation._child.process is None, 'a child is started'"
    )
    subprocess.run([sys.executable, "-W", "error", "-c", code], check=True)
