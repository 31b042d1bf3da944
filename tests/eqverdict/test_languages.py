"""Equations in other languages have the values that they had."""

from __future__ import annotations

import math
import re

import numpy as np
import pytest
import sympy
from hypothesis import given
from hypothesis import strategies as st

from eqverdict import parse
from eqverdict.printers import LANGUAGES, names_in, print_as, rounded_to
from eqverdict.tree import FUNCTIONS
from mdbench.errors import EquationError, UsageError

AT = {"u0": np.array([0.31, 0.72]), "prey": np.array([0.83, 0.44])}
ARITY = {name: function.arity for name, function in FUNCTIONS.items()}

atoms = st.sampled_from(["u0", "prey", "2", "0.5", "1.5e-1", "pi", "E", "3"])


def _grown(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    two = st.tuples(inner, inner)
    calls = st.sampled_from(sorted(name for name, arity in ARITY.items() if arity == 1))
    return st.one_of(
        two.flatmap(
            lambda pair: st.sampled_from("+-*/").map(lambda s: f"({pair[0]}){s}({pair[1]})")
        ),
        two.flatmap(lambda pair: st.sampled_from("+-*/").map(lambda s: f"{pair[0]}{s}{pair[1]}")),
        inner.map(lambda text: f"-{text}"),
        inner.map(lambda text: f"({text})**2"),
        inner.map(lambda text: f"({text})**(-1)"),
        inner.map(lambda text: f"2**({text})"),
        inner.map(lambda text: f"-({text})**3"),
        st.tuples(calls, inner).map(lambda pair: f"{pair[0]}({pair[1]})"),
        two.map(lambda pair: f"max({pair[0]}, {pair[1]})"),
    )


texts = st.recursive(atoms, _grown, max_leaves=6)


def value(text: str) -> np.ndarray[tuple[int, ...], np.dtype[np.float64]]:
    return parse(text, AT).evaluate(AT)


def same(one: object, text: str) -> None:
    expected = value(text)
    found = np.broadcast_to(np.asarray(one, dtype=float), expected.shape)
    good = np.isfinite(expected) & (np.abs(expected) < 1e100)
    np.testing.assert_allclose(found[good], expected[good], rtol=1e-6, atol=1e-9)


@given(texts)
def test_python_has_the_same_values(text: str) -> None:
    try:
        parse(text, AT)
    except EquationError:
        return
    with np.errstate(all="ignore"):
        same(eval(print_as(text, "python"), {"np": np} | AT), text)


@given(texts)
def test_what_is_written_plainly_is_read_back(text: str) -> None:
    try:
        parse(text, AT)
    except EquationError:
        return
    julia = print_as(text, "julia").replace("exp(1)", "E")
    same(value(julia), text)


@pytest.mark.parametrize("name", sorted(FUNCTIONS))
def test_sympy_has_the_same_values(name: str) -> None:
    text = f"{name}({', '.join(['u0', '0.4'][: ARITY[name]])}) - u0**2/(prey - 3)"
    found = sympy.sympify(print_as(text, "sympy"))
    at = [
        float(found.subs({"u0": a, "prey": b}))
        if "acosh" not in name and name != "arccosh"
        else math.nan
        for a, b in zip(AT["u0"], AT["prey"], strict=True)
    ]
    if not math.isnan(at[0]):
        same(at, text)


EVERY = [
    *(f"{name}({', '.join(['u0 + 0.1', '0.4'][:arity])})" for name, arity in sorted(ARITY.items())),
    "1/2*u0",
    "u0**-2*prey",
    "-u0**2",
    "(-u0)**2",
    "2**-prey",
    "u0 - (prey - 1)",
    "u0 - -prey",
    "u0/(prey/2)",
    "u0/prey/2",
    "u0*(prey + 1)",
    "-(u0 + prey)",
    "3 - pi*E",
    "1e-3*u0",
    "7/2",
    "(u0**2)**3",
    "u0**2**0.5",
    "2*-u0",
]


C = {"pow": np.power, "fabs": np.abs, "floor": np.floor, "fmax": np.maximum, "fmin": np.minimum}
C |= {
    f"a{name}": getattr(np, f"arc{name}") for name in ("cos", "cosh", "sin", "sinh", "tan", "tanh")
}
C |= {
    n: getattr(np, n) for n in ("cos", "cosh", "exp", "log", "sin", "sinh", "sqrt", "tan", "tanh")
}


@pytest.mark.parametrize("text", EVERY)
def test_c_has_the_same_values(text: str) -> None:
    """What C says of these characters is what Python says of them, but for whole numbers."""
    written = print_as(text, "c")
    assert "**" not in written
    assert not re.search(r"(?<![\w.\-])\d+(?![\w.])", written), "an integer, which C divides as one"
    with np.errstate(all="ignore"):
        scope = C | AT
        found = eval(
            re.sub(r"\((.*) > 0\.0\) - \((.*) < 0\.0\)", r"np.sign(\1)", written),
            {"np": np} | scope,
        )
        same(found, text)


@pytest.mark.parametrize("text", EVERY)
def test_python_and_julia_of_hard_cases(text: str) -> None:
    with np.errstate(all="ignore"):
        same(eval(print_as(text, "python"), {"np": np} | AT), text)
    same(value(print_as(text, "julia").replace("exp(1)", "E")), text)


@pytest.mark.parametrize(
    ("text", "latex"),
    [
        ("u0**2/(1 + prey)", r"\frac{{u_{0}}^{2}}{1 + \mathrm{prey}}"),
        ("(u0 + 1)**2", r"{\left(u_{0} + 1\right)}^{2}"),
        ("-1.5e-7*theta", r"-1.5 \cdot 10^{-7} \, \theta"),
        ("u0*(2 - sqrt(prey))", r"u_{0} \cdot \left(2 - \sqrt{\mathrm{prey}}\right)"),
        ("u0_xx - asin(u0)*3", r"\partial_{xx} u_{0} - \arcsin\left(u_{0}\right) \cdot 3"),
    ],
)
def test_latex(text: str, latex: str) -> None:
    assert print_as(text, "latex") == latex


def test_other_languages_are_refused_by_name() -> None:
    with pytest.raises(UsageError, match="julia"):
        print_as("u0", "jullia")
    with pytest.raises(EquationError):
        print_as("__import__('os')", "python")
    assert LANGUAGES[0] == "plain"


def test_names_and_numbers_are_found() -> None:
    assert names_in("sin(u0)*max(prey, E) + 2e3*u0_x") == ("u0", "prey", "u0_x")
    assert rounded_to("0.1234567 - 12*u0 + 3e5*x1.5", 3) == "0.123 - 12*u0 + 3e+05*x1.5"
