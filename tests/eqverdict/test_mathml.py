"""What is set as mathematics is read back, and must have the value of what was given."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from eqverdict import parse
from eqverdict.printers import LONGEST, left_hand_side, mathml
from mdbench.errors import EquationError

NAMES = ["u0", "u1", "u0_xx", "x"]
FUNCTIONS = ("sin", "cos", "exp", "sqrt", "tanh", "abs", "log")


def back(element: ET.Element) -> str:  # noqa: PLR0911 - one for each element
    """Read MathML as a person does, and write it in Python's notation.

    A row is no bracket that anybody sees; what stands in a fraction, a root or an exponent is
    held together by where it stands.
    """
    match element.tag:
        case "math" | "mrow":
            return row(list(element))
        case "mn":
            return element.text or ""
        case "mi":
            return {"π": "pi", "e": "E"}.get(element.text or "", element.text or "")
        case "msub":
            base, below = element
            return f"{back(base)}{back(below)}"
        case "msup":
            base, above = element
            return f"{back(base)}**({back(above)})"
        case "mfrac":
            above, below = element
            return f"(({back(above)})/({back(below)}))"
        case "msqrt":
            return f"sqrt({row(list(element))})"
    raise AssertionError(element.tag)


def row(children: list[ET.Element]) -> str:
    """Read a row: invisible and visible products, bars, functions, derivatives."""
    text, bars = "", 0
    rest = list(children)
    while rest:
        child = rest.pop(0)
        if child.tag == "mo":
            sign = child.text or ""
            if sign == "|":
                bars += 1
                text += "abs(" if bars % 2 else ")"
            else:
                text += {"−": "-", "⋅": "*", "\u2062": "*"}.get(sign, sign)
        elif child.tag == "msub" and child[0].text == "∂":
            text += f"{back(rest.pop(0))}_{child[1].text}"
        elif child.tag == "msup" and child[0].text in FUNCTIONS:  # sin² (x)
            depth, inside = 0, []
            while rest:
                part = rest.pop(0)
                inside.append(part)
                if part.tag == "mo":
                    depth += {"(": 1, ")": -1}.get(part.text or "", 0)
                if depth == 0:
                    break
            text += f"{child[0].text}{row(inside)}**({back(child[1])})"
        else:
            text += back(child)
    return text


leaves = st.one_of(
    st.sampled_from(NAMES),
    st.sampled_from(["2", "0.5", "3.25", "1e-7", "2.5e9", "pi", "1"]),
)


def larger(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    two = st.tuples(inner, inner)
    return st.one_of(
        two.map(lambda p: f"{p[0]} + {p[1]}"),
        two.map(lambda p: f"{p[0]} - ({p[1]})"),
        two.map(lambda p: f"{p[0]} + -{p[1]}"),
        two.map(lambda p: f"({p[0]})*({p[1]})"),
        two.map(lambda p: f"{p[0]}*{p[1]}"),
        two.map(lambda p: f"({p[0]})/({p[1]})"),
        inner.map(lambda p: f"-({p})"),
        inner.map(lambda p: f"({p})**2"),
        inner.map(lambda p: f"({p})**0.5"),
        inner.map(lambda p: f"({p})**-1"),
        st.tuples(st.sampled_from(FUNCTIONS), inner).map(lambda p: f"{p[0]}({p[1]})"),
    )


@settings(max_examples=400)
@given(st.recursive(leaves, larger, max_leaves=7))
def test_it_means_what_was_given(text: str) -> None:
    try:
        equation = parse(text, NAMES)
    except EquationError:
        assume(False)
    shown = mathml(text)
    assume(len(text) <= LONGEST)
    read = back(ET.fromstring(shown))
    columns = {name: np.array([0.7, 1.9]) + place for place, name in enumerate(NAMES)}
    expected = equation.evaluate(columns)
    got = parse(read, NAMES).evaluate(columns)
    assert np.allclose(got, expected, rtol=1e-6, equal_nan=True), (text, read)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("1.84*u0 + -1.45*u0*u1", "1.84⁢u0−1.45⁢u0⁢u1"),
        ("-0.33333333*u0", "−0.3333⁢u0"),
        ("1.5e-07*u0", "1.5⋅10−7⁢u0"),
        ("2*3*u0", "2⋅3⁢u0"),
    ],
)
def test_signs_and_numbers_are_as_in_print(text: str, shown: str) -> None:
    assert "".join(ET.fromstring(mathml(text)).itertext()) == shown


def test_derivatives_look_like_derivatives() -> None:
    assert "".join(ET.fromstring(mathml("u0_xx")).itertext()) == "∂xxu0"
    assert "".join(ET.fromstring(left_hand_side("u0_t", "∂")).itertext()) == "∂u0∂t"
    assert "".join(ET.fromstring(left_hand_side("y")).itertext()) == "y"


@pytest.mark.parametrize(
    "text", ["<script>alert(1)</script>", "u0 +", "u0 & u1", '"u0"', "x" * 700]
)
def test_what_is_no_equation_is_shown_as_text(text: str) -> None:
    shown = mathml(text)
    assert shown.startswith("<code>")
    assert not re.search(r"<(?!/?code>)", shown)
    assert ET.fromstring(shown).text == text
