"""Equations as packages print them and people write them: read right, or refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import mpmath
import numpy as np
import pytest
import sympy
from hypothesis import given
from hypothesis import strategies as st
from printed import Case, agree, doubles, random_trees
from scipy.special import expit
from sweeps import sampled
from sympy.printing.numpy import NumPyPrinter

from eqverdict import parse
from eqverdict.notations import in_core_notation
from eqverdict.printers import print_as
from eqverdict.tree import SAME_MEANING
from mdbench.errors import EquationError

if TYPE_CHECKING:
    from collections.abc import Callable

NAMES = ("x", "y", "x0", "x1", "u0", "u1", "prey")
AT = dict(zip(NAMES, np.random.default_rng(3).uniform(0.3, 2.5, (len(NAMES), 5)), strict=True))
x, y, x0, x1, u0, u1, prey = AT.values()


def value(text: str, names: tuple[str, ...] = NAMES) -> Any:
    return parse(text, names).evaluate({name: AT[name] for name in names})


READ: dict[str, Any] = {
    # functions of other languages
    "inv(x)": 1 / x,
    "neg(x)": -x,
    "cbrt(-x)": -np.cbrt(x),
    "pow(x, y)": x**y,
    "Max(x, y, 1)": np.maximum(np.maximum(x, y), 1),
    "Min(x, y, 1, x0)": np.minimum(np.minimum(np.minimum(x, y), 1), x0),
    "fmin(x, y)": np.fmin(x, y),
    "np.sin(x) + numpy.log10(y)": np.sin(x) + np.log10(y),
    "math.pi*x + M_PI": np.pi * x + np.pi,
    "Sin[x]*Sqrt[y + 1]": np.sin(x) * np.sqrt(y + 1),
    "Heaviside(x - 1)": np.heaviside(x - 1, 0.5),
    "acoth(x + 2)": np.arctanh(1 / (x + 2)),
    "asech(x/3)": np.arccosh(3 / x),
    "aq(x, y)": x / np.sqrt(1 + y**2),
    "n2(x) - n3(y) + n4(x0)": x**2 - y**3 + x0**4,
    "safe_sqrt(x)*safe_log(y)": np.sqrt(x) * np.log(y),
    "powabs(-x, y)": x**y,
    "logabs(-x) + sqrtabs(-y)": np.log(x) + np.sqrt(y),
    "Rational(1, 3)*x": x / 3,
    "Add(x, Mul(2, y, x0), Pow(x, 2))": x + 2 * y * x0 + x**2,
    # gplearn's prefix
    "add(mul(x, 0.5), sin(div(y, x0)))": 0.5 * x + np.sin(y / x0),
    "sub(neg(x), max(y, inv(x0)))": -x - np.maximum(y, 1 / x0),
    # products without a sign
    "2x": 2 * x,
    "2.5e-1x y": 0.25 * x * y,
    "2(x + 1)": 2 * (x + 1),
    "3sin(x)": 3 * np.sin(x),
    "(x + 1)(x - 1)": x**2 - 1,
    "(x + 1)y": (x + 1) * y,
    "-0.5 x0^2 x1 + 2.000 1": -0.5 * x0**2 * x1 + 2,
    "x^2 y": x**2 * y,
    "x*2y": x * 2 * y,
    "1 sin(1 x0) cos(2 x1)": np.sin(x0) * np.cos(2 * x1),
    "2x^2": 2 * x**2,
    "2^-1 x": x / 2,
    # signs
    "x .^ 2 .* y ./ x0": x**2 * y / x0,
    "3×x − y·x0 ÷ 2": 3 * x - y * x0 / 2,
    "x² − 2x⁻¹ + y¹⁰": x**2 - 2 / x + y**10,
    "x₀ + u₁": x0 + u1,
    "π·x": np.pi * x,
    "2πx": 2 * np.pi * x,
    "½x + ¾": x / 2 + 0.75,
    "√x + 2√(y + 1)": np.sqrt(x) + 2 * np.sqrt(y + 1),
    "√2·x/√ x₀ - √.25": np.sqrt(2) * x / np.sqrt(x0) - 0.5,
    "√4e2*π/√π": 20 * np.sqrt(np.pi),
    "2 if x > √1 else 3": np.where(x > 1, 2, 3),
    "sin²(x) + cos^2(y)": np.sin(x) ** 2 + np.cos(y) ** 2,
    "|x - 1|": abs(x - 1),
    "|x - |y - 2||": abs(x - abs(y - 2)),
    "2|x - 1| + |y|^3": 2 * abs(x - 1) + y**3,
    "ln|x - 9|": np.log(abs(x - 9)),
    "||x - 2| - 1|": abs(abs(x - 2) - 1),
    "e^x": np.exp(x),
    "e**(-x)*y": np.exp(-x) * y,
    "2e^x": 2 * np.exp(x),
    "x(t) - 2 y(t)": x - 2 * y,
    # left-hand sides
    "y = 2*x": 2 * x,
    "f(x, y) = x + y": x + y,
    "x0' = -0.1 x0 + 2.0 x1": -0.1 * x0 + 2 * x1,
    "(x0)' = x1": x1,
    "dx/dt = -x": -x,
    "d x / d t = -x": -x,
    "dx0(t)/dt = -x": -x,
    "ẋ = y": y,
    "u_t = x": x,
    "∂u/∂t = x": x,
    "Derivative(x(t), t) = x": x,
    # comparisons and branches
    "x > y": x > y,
    "(x > 1)*y + (x <= 1)*2": np.where(x > 1, y, 2),
    "(x > 1) - (x < 1)": np.sign(x - 1),
    "x == x ? y : 2": y,
    "Piecewise((x, Ne(x, x)), (y, True))": y,
    "1 < x < 2": (x > 1) & (x < 2),
    "(x > 1) & (y > 1)": (x > 1) & (y > 1),
    "x > 1 and y > 1 or x0 > 1": (x > 1) & (y > 1) | (x0 > 1),
    "(x > 1) | (y > 1)": (x > 1) | (y > 1),
    "not x > 1": ~(x > 1),
    "x > 1 ? y : -y": np.where(x > 1, y, -y),
    "x if x > 1 else y if y > 1 else 0": np.where(x > 1, x, np.where(y > 1, y, 0)),
    "Piecewise((x, x > 1), (y, x > 0.5), (0, True))": np.where(x > 1, x, np.where(x > 0.5, y, 0)),
    "Piecewise((x**2, And(x > 1, y < 2)), (-x, True))": np.where((x > 1) & (y < 2), x**2, -x),
    "ITE(Ge(x, 1), y, x0)": np.where(x >= 1, y, x0),
    "where(x > 1, y, x0)": np.where(x > 1, y, x0),
    "ifelse(x > 1, y, x0)": np.where(x > 1, y, x0),
    "cond(x - 1, y)": np.where(x > 1, y, 0),
    "greater(x, y)*x0": (x > y) * x0,
    "logical_or(x - 1, y - 1)": (x > 1) | (y > 1),
    # LaTeX
    r"\frac{x_{0}}{2} + e^{-x}": x0 / 2 + np.exp(-x),
    r"\dfrac12 x": x / 2,
    r"$x_0^2 \, u_{1}$": x0**2 * u1,
    r"\sin^{2}{\left(x \right)} + \cos x": np.sin(x) ** 2 + np.cos(x),
    r"\left|{x - 1}\right| \log{\left(y \right)}": abs(x - 1) * np.log(y),
    r"\sqrt{x} + \sqrt[3]{y}": np.sqrt(x) + np.cbrt(y),
    r"1.5 \cdot 10^{-3} x y": 1.5e-3 * x * y,
    r"x \left(y + 1\right)": x * (y + 1),
    r"\mathrm{prey} \, x": prey * x,
    r"\pi \times x / y": np.pi * x / y,
    r"\operatorname{atan}{\left(x \right)} + \arctan(y)": np.arctan(x) + np.arctan(y),
    r"\max\left(x, y\right)": np.maximum(x, y),
    r"\log_{10}(x)": np.log10(x),
    r"\dot{x} = y": y,
    r"\frac{d x_{0}}{d t} = y": y,
    r"\frac{\mathrm{d}}{\mathrm{d} t} x{\left(t \right)} = y": y,
    r"\frac{\partial u}{\partial t} = y": y,
    r"\begin{cases} x & \text{for}\: x > 1 \\0 & \text{otherwise} \end{cases}": np.where(
        x > 1, x, 0
    ),
    "x_{0}^{2}": x0**2,
}


@pytest.mark.parametrize("text", READ)
def test_has_the_value_that_it_means(text: str) -> None:
    np.testing.assert_allclose(value(text), np.asarray(READ[text], float), rtol=1e-12)


EDGES = [-3.5, -2.0, -1.0, -1e-9, -0.0, 0.0, 1e-9, 0.5, 1.0, 2.0, 7.25]
A, B = (
    np.append(np.ravel(grid), drawn)
    for grid, drawn in zip(
        np.meshgrid(EDGES, EDGES), np.random.default_rng(1).uniform(-4, 4, (2, 300)), strict=True
    )
)
BY_NUMPY: dict[str, Any] = {
    "np.clip(x, -1, 2)": np.clip(A, -1, 2),
    "np.clip(x*y, y, 2*x)": np.clip(A * B, B, 2 * A),
    "numpy.clip(x, 2, -1)": np.clip(A, 2, -1),
    "np.clip(x, 0, None)": np.maximum(A, 0),
    "np.clip(x, None, y)": np.minimum(A, B),
    "np.clip(x, None, None)": A,
    "x//2": A // 2,
    "-3*x*y//2 + x": -3 * A * B // 2 + A,
    "(x + 1)//0.5*2": (A + 1) // 0.5 * 2,
    "2**x//4//2": 2**A // 4 // 2,
    "np.floor(x) + np.ceil(y)": np.floor(A) + np.ceil(B),
    "np.heaviside(x, 0)": np.heaviside(A, 0),
    "np.heaviside(x - 1, 0.5)*y": np.heaviside(A - 1, 0.5) * B,
    "np.heaviside(x, 1.0)": np.heaviside(A, 1),
    "np.heaviside(x - 2, 0.25)": np.heaviside(A - 2, 0.25),
    "np.heaviside(x, y)": np.heaviside(A, B),
    "Heaviside(x, 1) + Heaviside(y)": np.heaviside(A, 1) + np.heaviside(B, 0.5),
    "np.arctan2(y, x)": np.arctan2(B + 0.0, A + 0.0),  # 0 has no sign here
    "math.atan2(x - 1, 2*y)": np.arctan2(A - 1 + 0.0, 2 * B + 0.0),
}


@pytest.mark.parametrize("text", BY_NUMPY)
def test_functions_of_numpy_have_its_values_at_edges_too(text: str) -> None:
    at = {"x": A, "y": B}
    equation = parse(text, ("x", "y"))
    np.testing.assert_allclose(equation.evaluate(at), BY_NUMPY[text], rtol=1e-12, atol=1e-300)
    for language in ("plain", "python", "sympy", "latex"):
        back = parse(print_as(equation.text, language), ("x", "y"))
        np.testing.assert_allclose(back.evaluate(at), BY_NUMPY[text], rtol=1e-12, atol=1e-300)


FIELD = ("u", "v", "u_x", "u_y", "v_x", "u_xx", "u_xy", "u_xxy")
DERIVATIVES = {
    "u_yx": "u_xy",
    "2*u_yx - u_xyx": "2*u_xy - u_xxy",
    "u_{yx}": "u_xy",
    "(u*u)_x": "2*u*u_x",
    "(u^2)_x/2": "u*u_x",
    "-3*(u*v - 2*u_x)_x": "-3*(u_x*v + u*v_x - 2*u_xx)",
    "(u_x)_yx": "u_xxy",
    "(u*u_x)_y": "u_y*u_x + u*u_xy",
    "(sin(u)/v)_x": "cos(u)*u_x/v - sin(u)*v_x/v**2",
    "(2*u**3 + 5)_x": "6*u**2*u_x",
    r"2 \partial_x u": "2*u_x",
    r"\partial_x u 2": "2*u_x",
    r"-0.5\partial_{xx} u 3 + \partial_{yx} u": "-1.5*u_xx + u_xy",
    r"\partial_x \left(u^2\right)": "2*u*u_x",
}


@pytest.mark.parametrize("text", DERIVATIVES)
def test_derivatives_of_fields_are_named_as_the_problem_names_them(text: str) -> None:
    at = {n: np.random.default_rng(i).uniform(0.5, 2, 9) for i, n in enumerate(FIELD)}
    found, wanted = (parse(each, FIELD).evaluate(at) for each in (text, DERIVATIVES[text]))
    np.testing.assert_allclose(found, wanted, rtol=1e-12)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("(v*v)_y", "no derivative of v along y"),
        ("v_yx", "unknown name 'v_yx'"),
        ("(u*x)_x", "unknown name"),
        ("(u**v)_x", "is not read"),
        ("(u*u) _x", "unknown name '_x'"),
        ("(u*u)_q", "unknown name '_q'"),
        (r"\partial_x u^2", "can be of a derivative"),
    ],
)
def test_no_derivative_is_guessed(text: str, why: str) -> None:
    with pytest.raises(EquationError, match=why):
        parse(text, FIELD)
    with pytest.raises(EquationError):
        parse("p_yx", ("p_xy", "q"))  # no field p: columns of a table, maybe


REFUSED = {
    # two meanings
    "1/2x": "two ways",
    "x/y x0": "two ways",
    "x^2y": "can end",
    "2^x y": "can end",
    "sin^-1(x)": "inverse",
    "sin^(-1)(x)": "inverse",
    "log(x, 2)": "base first",
    "x(y + 1)": "product and a function",
    "Log(x)": "more than one meaning",
    "lg(x)": "more than one meaning",
    "sinc(x)": "more than one meaning",
    "heaviside(x)": "more than one value at 0",
    "step(x)": "more than one meaning",
    "αx": "product and part",
    "1½x": "sum and a product",
    **dict.fromkeys(
        [
            *("√2x", "√2 x", "√x y", "2√2·√3x", "√2√x", "√2(x + 1)", "√2π", "√x²", "√x^2"),
            *("√x**2", "√sin(x)", "√-x", "√|x|", "√√x", "x + √"),
        ],
        "what a root sign without parentheses is of",
    ),
    r"xy": "unknown name",
    r"\frac{xq}{2}": "product of letters",
    r"\sin x y": "two places",
    r"\theta\left(x\right)": "Heaviside",
    # other numbers
    "0x1F": "suffix",
    "1.5d0*x": "suffix",
    "1.5f*x": "suffix",
    "2e": "suffix",
    "3i": "suffix",
    "2 3": "expected an operator",
    "x 2": "expected an operator",
    "1,5*x": "expected",
    "5%": "expected",
    # what cannot be kept
    "Piecewise((log(x), x > 0), (0, True))": "no value somewhere",
    "Piecewise((1/x, x > 0), (0, True))": "no value somewhere",
    "Piecewise((x**0.5, x > 0), (0, True))": "no value somewhere",
    "Piecewise((x, x > 0))": "no value where none",
    "x ? y : 1": "no comparison",
    "x and y": "no comparison",
    "1//2*x": "a fraction in Julia",
    "x//2y": "two ways",
    "x % 2": "expected an operator",
    "mod(x, 2)": "unknown function",
    "erf(x)": "unknown function",
    # not one equation for one name
    "y == 2*x": "equation and a comparison",
    "Eq(y, 2*x)": "equation and a comparison",
    "x = y = 2": "2 equals signs",
    "2*x = y": "left-hand side",
    "x + y = 2": "left-hand side",
    "x[k+1] = x": "left-hand side",
    "x_{k+1} = x": "left-hand side",
    r"\sum x": "no place",
    r"\int x": "no place",
}


@pytest.mark.parametrize("text", REFUSED)
def test_refuses_what_is_not_certain(text: str) -> None:
    with pytest.raises(EquationError, match=REFUSED[text]) as caught:
        parse(text, NAMES)
    assert caught.value.hint


@pytest.mark.parametrize(
    "text", ["1,5*x", "x + 1,5", "1,5x", "-1,5", "2*x - 1,5*y", "sin(1,5*x)", "y = 1,5*x"]
)
def test_a_decimal_comma_is_named(text: str) -> None:
    with pytest.raises(EquationError) as caught:
        parse(text, NAMES)
    assert caught.value.hint == "Numbers have a decimal point: 1.5, not 1,5."


@pytest.mark.parametrize("text", ["max(1,5) +", "Max(1,5", "pow(2,3))", "x,y", "1,2,3"])
def test_other_commas_are_no_decimal_commas(text: str) -> None:
    with pytest.raises(EquationError) as caught:
        parse(text, NAMES)
    assert "decimal" not in caught.value.hint


def test_a_name_of_the_data_is_that_name() -> None:
    """A column may have the name of a constant, of a word or of a function's suffix."""
    assert in_core_notation("2e", ["e"]) == "2*e"
    assert in_core_notation("e^x", ["e", "x"]) == "e^x"
    assert in_core_notation("2f x", ["f", "x"]) == "2*f*x"
    assert in_core_notation("x_{0} + x₁", ["x_0", "x1"]) == "x_0 + x1"
    assert in_core_notation(r"xy \, z", ["xy", "z"]) == r"xy*z".replace(" ", "")
    assert in_core_notation("if*2x", ["if", "x"]) == "if*2*x"
    assert in_core_notation("1.5 lambda I", None) == "1.5*lambda*I"
    with pytest.raises(EquationError, match="can be x0 and x_0"):
        in_core_notation("x_{0}", ["x0", "x_0"])


def test_what_is_in_the_core_notation_is_left_as_it_is() -> None:
    for text in ("1.50*x + 2^y", "abs(x)", "x**-1", " x "):
        assert in_core_notation(text, NAMES) == text


PYTHONS: dict[str, Callable[[sympy.Expr], str]] = {
    "str": str,
    "latex": sympy.latex,
    "latex, ln": lambda one: sympy.latex(one, ln_notation=True, mul_symbol="dot"),
    "pycode": lambda one: str(sympy.pycode(one)),
    "numpy": lambda one: str(NumPyPrinter().doprint(one)),
    "octave": lambda one: str(sympy.octave_code(one)),
    "julia": lambda one: str(sympy.julia_code(one)),
    "c": lambda one: str(sympy.ccode(one)),
    "mathematica": lambda one: str(sympy.mathematica_code(one)),
    "rust": lambda one: str(sympy.sstr(one, full_prec=True)),
}
"""SymPy's own printers."""


@pytest.fixture(scope="module")
def sympy_trees() -> list[tuple[Any, Any]]:
    """Return trees as SymPy holds them, and their values."""
    names = ("x", "y", "x0", "x1")
    values = [AT[name] for name in names]
    found = []
    for tree in _sympy_trees():
        with np.errstate(all="ignore"):
            value = np.asarray(sympy.lambdify(names, tree, "numpy")(*values), complex)
        found.append((tree, np.broadcast_to(value, (5,))))
    return found


def _sympy_trees() -> list[sympy.Expr]:
    rng = np.random.default_rng(11)
    names = sympy.symbols("x y x0 x1", positive=True)
    unary = [
        sympy.sin, sympy.cos, sympy.exp, sympy.log, sympy.sqrt, sympy.Abs, sympy.tanh,
        sympy.atan, sympy.sinh, sympy.asinh,
        lambda a: a**2, lambda a: 1 / a, lambda a: -a, lambda a: a ** sympy.Rational(1, 3),
    ]  # fmt: skip

    def grown(depth: int) -> Any:
        if depth == 0 or rng.random() < 0.15:
            if rng.random() < 0.35:
                return (
                    sympy.Float(round(float(rng.uniform(-3, 3)), 3))
                    if rng.random() < 0.6
                    else sympy.Integer(int(rng.integers(1, 6)))
                )
            return names[int(rng.integers(len(names)))]
        if rng.random() < 0.4:
            return unary[int(rng.integers(len(unary)))](grown(depth - 1))
        one, other = grown(depth - 1), grown(depth - 1)
        return [one + other, one - other, one * other, one / (other**2 + 1), sympy.Max(one, other)][
            int(rng.integers(5))
        ]

    found: list[sympy.Expr] = []
    while len(found) < 120:
        try:
            one = grown(4)
        except ValueError:  # SymPy's Max of something that is complex
            continue
        if (
            one.free_symbols
            and one.is_real is not False
            and not one.has(sympy.I, sympy.zoo, sympy.nan)
        ):
            found.append(one)
    return found


@pytest.mark.parametrize("printer", sampled(PYTHONS, share=0.4))
def test_reads_what_sympy_prints(printer: str, sympy_trees: list[tuple[Any, Any]]) -> None:
    at = {name: AT[name] for name in ("x", "y", "x0", "x1")}
    read = 0
    for tree, expected in sympy_trees:
        text = PYTHONS[printer](tree)
        try:
            found = parse(text, tuple(at)).evaluate(at)
        except EquationError:
            # Branches that divide, and Julia's fractions, which are whole divisions in Python.
            assert any(mark in text for mark in ("functools", "//", "?")), text
            continue
        read += 1
        real = np.isfinite(expected) & (np.abs(expected.imag) < 1e-12)
        np.testing.assert_allclose(found[real], expected.real[real], rtol=1e-6, err_msg=text)
    assert read >= 60  # of 120; the order in sets is another each time


@pytest.mark.parametrize("language", ["python", "sympy", "julia", "c", "latex"])
def test_reads_what_is_printed_here(language: str) -> None:
    for text in random_trees(300, seed=17):
        case = Case.of(text)
        written = print_as(text, language, derivatives_of=())
        found = parse(written, case.names).evaluate(doubles(case.columns))
        if not case.names:
            found = found[:1]
        assert agree(found, case.values, case.near), (text, written)


PRINTED = json.loads((Path(__file__).parent / "printed_by_packages.json").read_text())
TOLERANCES = {"gplearn": 4e-3, "pyoperon": 1e-3, "pysindy": 1e-6}
"""gplearn prints three decimals, Operon computes with single precision."""


@pytest.mark.parametrize("package", PRINTED, ids=lambda package: package["package"])
def test_reads_what_packages_print(package: dict[str, Any]) -> None:
    """Texts and values are from the packages themselves (`print_by_packages`)."""
    tolerance = TOLERANCES[package["package"].split()[0]]
    at = np.array(package["points"]).T
    for one in package["equations"]:
        names = one.get("columns") or package["columns"]
        try:
            found = parse(one["text"], names).evaluate(dict(zip(names, at, strict=True)))
        except EquationError as error:
            # gplearn takes the root of the size
            assert "no finite real value" in error.message, one["text"]  # noqa: PT017
            continue
        expected = np.array(one["values"])
        good = np.isfinite(found)
        close = tolerance * max(1.0, np.abs(expected).max())
        np.testing.assert_allclose(found[good], expected[good], rtol=tolerance, atol=close)


ORACLES: dict[str, Callable[..., object]] = {
    **{name: getattr(np, name) for name in ("absolute", "add", "cbrt", "divide", "exp2", "expm1")},
    **{name: getattr(np, name) for name in ("fabs", "hypot", "log10", "log1p", "log2", "maximum")},
    **{name: getattr(np, name) for name in ("minimum", "multiply", "negative", "power")},
    **{name: getattr(np, name) for name in ("reciprocal", "subtract")},
    **dict.fromkeys(("inv", "inverse"), np.reciprocal),
    "div": np.divide,
    "mul": np.multiply,
    "neg": np.negative,
    "pow": np.power,
    "sub": np.subtract,
    "sine": np.sin,
    "cosine": np.cos,
    "tangent": np.tan,
    **dict.fromkeys(("sgn", "signum"), np.sign),
    **dict.fromkeys(("logistic", "sigmoid"), expit),
    "relu": lambda x: np.where(x > 0, x, 0.0),
    "sec": lambda x: float(mpmath.sec(x)),
    **dict.fromkeys(("csc", "cosec"), lambda x: float(mpmath.csc(x))),
    "sech": lambda x: float(mpmath.sech(x)),
    "csch": lambda x: float(mpmath.csch(x)),
    "coth": lambda x: float(mpmath.coth(x)),
}
"""What the functions of other languages are, by those who have them."""


@pytest.mark.parametrize("name", sorted(SAME_MEANING))
def test_a_function_of_other_languages_has_its_value(name: str) -> None:
    two = name in TWO
    equation = parse(f"{name}({'x, y' if two else 'x'})", ["x", "y"])
    for one, other in ((0.7, 1.9), (2.3, 0.4)):
        found = equation.evaluate({"x": np.array(one), "y": np.array(other)})
        assert found == pytest.approx(ORACLES[name](one, other) if two else ORACLES[name](one))
    with pytest.raises(EquationError, match=r"is given 3 arguments|expected"):
        parse(f"{name}(x, y, x)" if name not in MANY else f"{name}()", ["x", "y"])


TWO = {
    *("add", "div", "divide", "hypot", "maximum", "minimum", "mul", "multiply", "pow", "power"),
    *("sub", "subtract"),
}
MANY = {"add", "maximum", "minimum", "mul", "multiply"}
"""Functions of any number of arguments."""


@given(st.text(max_size=30) | st.text("xy01 .²₀−|'=<>&?:[]{}√π\\\\^_/()e,sinlogfrac", max_size=40))
def test_any_text_is_read_or_refused(text: str) -> None:
    try:
        plain = in_core_notation(text, ["x", "y"])
    except EquationError:
        return
    assert in_core_notation(plain, ["x", "y"]) == plain


@pytest.mark.parametrize(
    "text", ["[" * 5_000, "|" * 5_000, "2(" * 5_000 + "x", "\\frac" * 5_000, "!" * 9_000 + "x"]
)
def test_what_is_nested_deep_is_refused(text: str) -> None:
    with pytest.raises(EquationError):
        parse(text, ["x"])
