"""Equations as people write them: the same values, without factors of 1 and nested constants."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import numpy as np
import pytest

from eqverdict.grammar import read
from eqverdict.printers import mathml, names_in
from eqverdict.tidy import tidy, with_powers
from eqverdict.tree import text_of, value
from mdbench.errors import EquationError

if TYPE_CHECKING:
    from collections.abc import Callable


def tidied(text: str) -> str:
    return text_of(tidy(read(text, names_in(text))))


def powers(text: str) -> str:
    return text_of(with_powers(tidy(read(text, names_in(text)))))


@pytest.mark.parametrize(
    ("given", "wanted"),
    [
        ("1*Speed", "Speed"),
        ("-1*u0*u2", "(-(u0 * u2))"),
        ("1.0000049*x", "x"),
        ("(-0.5)*((-2)*x)", "x"),
        ("0*x + 3", "3.0"),
        ("0*x", "0.0"),
        ("3 - 3 + x", "x"),
        ("x - (y - (z - 2)) - 2", "(x - y + z - 4.0)"),
        ("x - -1*y", "(x + y)"),
        ("2*pi*x", "(2.0 * pi * x)"),
        ("x/(2*y)/4", "(0.125 * x / y)"),
        ("1/x", "(1.0 / x)"),
        ("1/(0*x)", "(1.0 / 0.0)"),
        ("x**1", "x"),
        ("sin(1.0*x + 0)", "sin(x)"),
        ("1e308*1e308*x", "(1e+308 * 1e308 * x)"),
    ],
)
def test_what_nobody_writes_is_left_out(given: str, wanted: str) -> None:
    assert tidied(given) == wanted


@pytest.mark.parametrize(
    ("given", "wanted"),
    [
        ("3.1*x*y*x", "(3.1 * (x**2) * y)"),
        ("x*x**2*sin(x)*sin(x)", "((x**3) * (sin(x)**2))"),
        ("y/x/x", "(y / (x**2))"),
        ("x/x", "(x / x)"),  # undefined at 0, and so kept
        ("(x*x)**0.5", "((x**2)**0.5)"),
        ("x**y*x", "((x**y) * x)"),
        ("2*(x + y)*(x + y) - y*y", "((2.0 * ((x + y)**2)) - (y**2))"),
        ("x*y", "(x * y)"),
    ],
)
def test_repeated_factors_are_powers(given: str, wanted: str) -> None:
    assert powers(given) == wanted


def drawn(generator: np.random.Generator, depth: int) -> str:
    """Draw an expression as genetic programs write them: nested, with constants everywhere."""
    if depth == 0:
        constants = ["1", "0", "2", "1.0", "pi", f"{generator.normal():.3f}", "0.5"]
        return f"({generator.choice(['x', 'y', *constants])})"
    one, other = drawn(generator, depth - 1), drawn(generator, depth - 1)
    form = generator.choice(
        ["({0}+{1})", "({0}-{1})", "({0}*{1})", "({0}*{1})", "({0}/{1})", "(-{0})", "sin({0})"]
    )
    made: str = form.format(one, other)
    return made


@pytest.mark.parametrize("written", [tidied, powers])
def test_the_values_stay_the_same(written: Callable[[str], str]) -> None:
    generator = np.random.default_rng(3)
    columns = {name: generator.uniform(0.5, 2, 30) for name in ("x", "y")}
    compared = 0
    for _ in range(600):
        text = drawn(generator, int(generator.integers(1, 5)))
        try:
            read(text, ("x", "y"))
        except EquationError:
            continue  # a part such as 1/0
        with np.errstate(all="ignore"):
            before = value(read(text, ("x", "y")), columns) * np.ones(30)
        if not np.isfinite(before).all():
            continue  # what is not defined may be written in any way
        with np.errstate(all="ignore"):
            after = value(read(written(text), ("x", "y")), columns) * np.ones(30)
        compared += 1
        scale = float(np.abs(before).max())
        assert np.allclose(before, after, rtol=1e-9, atol=1e-9 * scale), text
        # No factor of 1.
        assert not re.search(r"(?<![\d.])1\.0 \*", written(text)), text
    assert compared > 400


def test_mathml_is_tidy_on_demand_and_keeps_the_text() -> None:
    text = "(0.5*(((-0.4)*x0)*((-5.0)*x1)))"
    shown = mathml(text, tidied=True)
    assert shown.startswith(f'<math data-text="{text}">')
    assert re.findall("<mn>(.*?)</mn>", shown) == ["0", "1"]  # of the names alone
    assert re.findall("<mn>(.*?)</mn>", mathml(text)) == ["0.5", "0.4", "0", "5", "1"]
