"""Dimensions of equations: rules by hand, and what no rewriting of units may change."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mdbench.datatypes.real.dimensions import consistent, dimension_of
from mdbench.errors import DataError, EquationError

UNITS = {"x": "m", "t": "s", "v": "m/s", "m": "kg", "n": "1"}
RIGHT = [
    ("v*t", "m"),
    ("x", "m"),
    ("x/t", "m/s"),
    ("9.81*t**2/2", "m"),
    ("sqrt(x*x)", "m"),
    ("(x**2)**0.5 + abs(v)*t", "m"),
    ("x*exp(-t/3.5)", "m"),
    ("x*sin(n)", "m"),
    ("x + 3", "m"),
    ("x*n**n", "m"),
    ("m*v**2/2", "J"),
    ("max(x, v*t)", "m"),
    ("x*sign(v)", "m"),
    ("0*t + x", "m"),
    ("x/2 - -x", "m"),
    ("2.5", "m"),
    ("x*log(v/2.5)", "m"),
]
WRONG = [
    ("x", "s"),
    ("x + t", "m"),
    ("exp(x)", "m"),
    ("x + x**2", "m"),
    ("x**n", "m"),
    ("n**x", "m"),
    ("sin(t)*x", "m"),
    ("max(x, t)", "m"),
    ("sqrt(x)", "m"),
    ("x*x/t", "m"),
    ("tanh(v)", "1"),
]


@pytest.mark.parametrize(("equation", "unit"), RIGHT)
def test_what_can_be_right(equation: str, unit: str) -> None:
    assert consistent(equation, UNITS, unit)


@pytest.mark.parametrize(("equation", "unit"), WRONG)
def test_what_cannot(equation: str, unit: str) -> None:
    assert not consistent(equation, UNITS, unit)


@given(st.lists(st.tuples(st.sampled_from("xtvm"), st.integers(-3, 3)), min_size=1, max_size=5))
def test_a_product_has_the_dimension_that_counting_gives(
    factors: list[tuple[str, int]],
) -> None:
    text = "*".join(f"{name}**{power}" for name, power in factors)
    power = dict.fromkeys("xtvm", 0)
    for name, times in factors:
        power[name] += times
    metres, seconds = power["x"] + power["v"], power["t"] - power["v"]
    unit = f"m^{metres} * s^{seconds} * kg^{power['m']}"
    assert consistent(text, UNITS, unit)
    assert not consistent(text, UNITS, f"{unit} * m")


@given(st.sampled_from(RIGHT + WRONG))
def test_sizes_of_units_do_not_matter(case: tuple[str, str]) -> None:
    equation, unit = case
    other = {"x": "mile", "t": "year", "v": "km/h", "m": "1000 g", "n": "1"}
    assert consistent(equation, UNITS, unit) == consistent(equation, other, unit)


def test_units_that_are_none_are_named() -> None:
    with pytest.raises(DataError, match="'parsnip' is no unit"):
        dimension_of("parsnip")
    assert dimension_of("1000 day") == {"[time]": 1.0}
    assert dimension_of("1") == {}


def test_what_is_no_equation_is_refused() -> None:
    with pytest.raises(EquationError):
        consistent("x +", UNITS, "m")
