"""The 183 surfaces as they are printed, their files, and the rows drawn from them."""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING

import numpy as np
import pytest
import sympy
from harness import ROOT

from mdbench.data.noise import generator_of
from mdbench.datatypes.surface.problem import (
    REPRESENTATIONS,
    TrueSurface,
    draw_rows,
    group_of,
    read_surface,
    whole_rows,
)
from mdbench.errors import DataError

if TYPE_CHECKING:
    from pathlib import Path

FOLDER = ROOT / "datasets" / "surface"
SURFACES = {path.stem: read_surface(path) for path in sorted(FOLDER.glob("*.toml"))}


def test_there_are_as_many_as_in_the_paper() -> None:
    counts = Counter(each.representation for each in SURFACES.values())
    assert counts == {"explicit": 129, "implicit": 24, "parametric": 30}
    sizes = Counter(group_of(each.category) for each in SURFACES.values())
    assert sizes == {
        "nonlinear-analytic-composition-surfaces": 11,
        "piecewise-surfaces": 10,
        "mixed-transcendental-analytic-surfaces": 9,
        "conditional-multi-regime-surfaces": 9,
        "oscillatory-composite-surfaces": 11,
        "trigonometric-exponential-composition-surfaces": 10,
        "multi-operator-composite-surfaces": 10,
        "elementary-bivariate-surfaces": 10,
        "discrete-integer-grid-surfaces": 10,
        "nonlinear-coupled-surfaces": 10,
        "exponentially-modulated-surfaces": 10,
        "radially-decaying-surfaces": 10,
        "polynomial-transcendental-mixtures": 9,
        "implicit-surfaces": 24,
        "parametric-multi-output-surfaces": 30,
    }


@pytest.mark.parametrize("name", SURFACES)
def test_a_surface_is_what_is_printed(name: str) -> None:
    surface = SURFACES[name]
    generator = np.random.default_rng(0)
    size = (200, len(surface.inputs))
    x = generator.uniform(-5, 5, size)
    if surface.integers:
        x = generator.integers(-10, 11, size).astype(float)
    symbols = {word: sympy.Symbol(word, real=True) for word in surface.inputs}
    names = {**symbols, **dict.fromkeys(("alpha", "beta", "gamma"), sympy.Integer(1))}
    values = surface.values(x)
    for text, found in zip(surface.printed, values.T, strict=True):
        law = sympy.lambdify(list(symbols.values()), sympy.sympify(text, locals=names), "numpy")
        with np.errstate(all="ignore"):
            expected = np.broadcast_to(np.asarray(law(*x.T), dtype=float), len(x))
        np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12)


def test_alpha_beta_and_gamma_are_one_and_the_readings_are_shown() -> None:
    with_parameters = [p for p in FOLDER.glob("*.toml") if "[parameters]" in p.read_text()]
    assert {path.stem for path in with_parameters} == {"MTAS4", "MTAS9", "OCS11"}
    assert SURFACES["MTAS9"].truth == ("1*cos(x) + 1*sin(y**2)",)
    read = {name for name, each in SURFACES.items() if each.other_reading}
    assert {"NACS1", "NACS2", "NACS3", "NACS7", "NACS11", "MOCS2", "MOCS4", "LRDS10"} <= read
    assert all(SURFACES[name].reading for name in read)


def plane(**changes: object) -> TrueSurface:
    given = {
        "name": "plane",
        "category": "c",
        "source": "s",
        "representation": "explicit",
        "inputs": ("x", "y"),
        "truth": ("log(x)",),
        "printed": ("log(x)",),
        "domain": ((-5.0, 5.0), (-5.0, 5.0)),
    }
    return TrueSurface(**{**given, **changes})  # type: ignore[arg-type]


def test_rows_that_are_not_finite_are_drawn_again_and_counted() -> None:
    rows = draw_rows(plane(), [[(-5.0, 5.0)], [(-5.0, 5.0)]], 2_000, generator_of("surface", "a"))
    assert rows.x.shape == (2_000, 2)
    assert np.isfinite(rows.y).all()
    assert rows.drawn_again == pytest.approx(0.5, abs=0.03)
    with pytest.raises(DataError, match="0 are finite; 10 are wanted"):
        draw_rows(
            plane(truth=("log(-1 - x**2)",)), [[(0.0, 1.0)]] * 2, 10, generator_of("surface", "a")
        )


def test_bands_are_drawn_as_often_as_they_are_long() -> None:
    bands = [[(-10.0, -5.0), (5.0, 6.0)], [(0.0, 1.0)]]
    rows = draw_rows(plane(truth=("x",)), bands, 6_000, generator_of("surface", "b"))
    x = rows.x[:, 0]
    assert (((x >= -10) & (x <= -5)) | ((x >= 5) & (x <= 6))).all()
    assert np.mean(x > 0) == pytest.approx(1 / 6, abs=0.02)
    again = draw_rows(plane(truth=("x",)), bands, 6_000, generator_of("surface", "b"))
    np.testing.assert_array_equal(rows.x, again.x)


def test_whole_numbers() -> None:
    rows = whole_rows(plane(truth=("x*y",)), [[(-2.0, 2.0)], [(-3.0, -2.0), (2.0, 3.0)]])
    assert rows.x.tolist()[:3] == [[-2, -3], [-2, -2], [-2, 2]]
    assert len(rows.x) == 5 * 4


GOOD = """
category = "mine"
representation = "explicit"
source = "me"
inputs = ["x", "y"]
[expressions]
z = "k*x + y"
[domain]
x = [0, 1]
y = [-1.5, 2]
[parameters]
k = -2
"""


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("category", "kategory", "key 'category' is missing"),
        ('source = "me"', 'source = "me"\nzzz = 1', "key 'zzz' is not known"),
        ('"explicit"', '"exlicit"', "It is one of: explicit, implicit, parametric"),
        ('"explicit"', '"implicit"', "Names of 3 variables are wanted"),
        ('["x", "y"]', '["x", "x"]', "Names of 2 variables are wanted"),
        ('["x", "y"]', '"xy"', "Names of 2 variables are wanted"),
        ('z = "k*x + y"', 'w = "k*x + y"', "It has the keys z"),
        ('z = "k*x + y"', "z = 3", "expressions.z = 3 has to be a text"),
        ("k*x + y", "k*x + q", "unknown name 'q'"),
        ("k*x + y", "Mod(x, 2)", r"[formulas]"),
        ("x = [0, 1]", "x = [1, 0]", "The first has to be less"),
        ("x = [0, 1]", "x = [1]", "Two numbers are wanted"),
        ("x = [0, 1]", "", "It has the keys x, y"),
        ("x = [0, 1]", "x = [0, inf]", "has to be finite"),
        ("k = -2", "k = 'a'", "has to be a number"),
        ('source = "me"', 'source = "me"\ngrid = "hexagons"', "Give integers"),
        ('source = "me"', "source = 3", "source = 3 has to be a text"),
        ("[domain]", "[domain", "no readable TOML file"),
    ],
)
def test_what_is_wrong_with_a_file_is_said(tmp_path: Path, old: str, new: str, words: str) -> None:
    path = tmp_path / "mine.toml"
    path.write_text(GOOD, encoding="utf-8")
    surface = read_surface(path)
    assert surface.truth == ("(-2)*x + y",)
    assert surface.representation in REPRESENTATIONS
    path.write_text(GOOD.replace(old, new), encoding="utf-8")
    with pytest.raises(DataError, match=re.escape(words)) as caught:
        read_surface(path)
    assert "mine.toml" in str(caught.value)
