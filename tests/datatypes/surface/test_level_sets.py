"""Zeros of functions: closed forms of areas and places, poles, jumps, and zeros that touch."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from eqverdict.grammar import read
from mdbench.datatypes.surface.clouds import Shape, fraction, zeros_of
from mdbench.datatypes.surface.level_sets import gradient, level_set, move_onto_zeros

if TYPE_CHECKING:
    from mdbench.datatypes.surface.level_sets import LevelSet

LOW, HIGH = np.full(3, -5.0), np.full(3, 5.0)
SPHERE = "x**2 + y**2 + z**2 - 9"
NAMES = ("x", "y", "z")
SHAPE = Shape("implicit", NAMES, (), ((-5.0, 5.0),) * 3)


def zeros(text: str, cells: int = 33) -> LevelSet:
    return zeros_of(SHAPE, text, cells)


@pytest.mark.parametrize(
    ("text", "area", "error"),
    [
        (SPHERE, 36 * np.pi, 2e-3),
        ("x", 100.0, 1e-9),
        ("x + y + z", 75 * np.sqrt(3), 2e-3),
        ("x*y", 200.0, 0.01),
        ("x**2 + y**2 - 4", 40 * np.pi, 3e-3),
        ("(x - 0.3)**3", 100.0, 1e-9),
        ("(x - 1.234)**2", 100.0, 1e-9),
        (f"-({SPHERE})**2", 36 * np.pi, 2e-3),
        ("x**2 + 2*x*y + y**2", np.sqrt(2) * 100, 2e-3),
        ("sign(x - 0.3)*abs(x - 0.3)**(1/3)", 100.0, 1e-9),
        ("tan(z)", 300.0, 1e-6),
        ("1/x", 0.0, 0.0),
        ("1/(x - 0.1)", 0.0, 0.0),
        ("sign(x - 0.1) + 0.5", 0.0, 0.0),
        ("x**2 + 1", 0.0, 0.0),
        ("1", 0.0, 0.0),
        ("log(x)", 100.0, 1e-9),
        ("(x**2 - 1)/(x - 1)", 100.0, 1e-9),
        ("x/tan(x)", 400.0, 1e-6),
    ],
)
def test_areas(text: str, area: float, error: float) -> None:
    found = zeros(text)
    assert not found.vanishes
    assert found.area == pytest.approx(area, rel=error, abs=1e-9)


@pytest.mark.parametrize(
    ("text", "area"),
    [
        (f"1 - cos(({SPHERE})/20)", 36 * np.pi),
        ("1 - cos(x - 1.234)", 100.0),
        ("sin(x + y)**2 + (x + y)**4", np.sqrt(2) * 100),
    ],
)
def test_zeros_without_a_change_of_sign_are_found(text: str, area: float) -> None:
    found = zeros(text, 49)
    assert len(found.triangles) == 0
    assert found.area == pytest.approx(area, rel=0.35)  # by counting lines of the grid
    tree = read(text, NAMES)
    columns = dict(zip(NAMES, found.touching.T, strict=True))
    assert np.abs(fraction(tree, columns)[0]).max() < 1e-6


def test_what_only_comes_near_zero_does_not_touch_it() -> None:
    assert zeros(f"({SPHERE})**2 + 0.001").area == 0.0


@pytest.mark.parametrize("text", ["0", "x - x", "0*sin(x)"])
def test_what_vanishes_is_no_surface(text: str) -> None:
    found = zeros(text)
    assert found.vanishes
    assert found.area == 0.0
    assert found.draw(10, np.random.default_rng(0)).shape == (0, 3)


def test_poles_and_jumps_are_counted() -> None:
    assert zeros("log(abs(x - 0.1)) + 100").poles == 0
    assert zeros("sign(x - 0.1) + 0.5").poles > 1_000
    # A pole that no fraction shows: its values show it.
    assert zeros("sign(x - 0.1)*exp(-log(abs(x - 0.1)))").poles > 1_000


def test_points_drawn_are_on_the_sphere_and_even() -> None:
    def function(points: np.ndarray) -> np.ndarray:
        return np.asarray(np.sum(points**2, axis=1) - 9)

    found = level_set(function, LOW, HIGH, 33)
    points, left = move_onto_zeros(function, found.draw(20_000, np.random.default_rng(0)), 0.3)
    assert np.abs(np.linalg.norm(points, axis=1) - 3).max() < 1e-12
    assert left.max() < 1e-9
    # Archimedes: heights of even points on a sphere are uniform.
    shares, _ = np.histogram(points[:, 2], bins=6, range=(-3, 3))
    np.testing.assert_allclose(shares / 20_000, 1 / 6, atol=0.012)


def test_no_point_is_moved_farther_than_it_may() -> None:
    points = np.random.default_rng(0).uniform(-1, 1, (100, 3))
    moved, left = move_onto_zeros(lambda p: p[:, 0] - 0.5, points, 0.3)
    assert np.linalg.norm(moved - points, axis=1).max() <= 0.3
    assert (left[np.abs(points[:, 0] - 0.5) < 0.29] < 1e-9).all()
    still, endless = move_onto_zeros(lambda p: np.ones(len(p)), points, 0.3)
    np.testing.assert_array_equal(still, points)
    assert np.isinf(endless).all()


def test_gradients() -> None:
    points = np.random.default_rng(0).uniform(-1, 1, (50, 3))
    found = gradient(lambda p: p[:, 0] * p[:, 1] + p[:, 2] ** 2, points, 1e-5)
    x, y, z = points.T
    np.testing.assert_allclose(found, np.stack([y, x, 2 * z], axis=-1), atol=1e-9)


@pytest.mark.parametrize(
    "text",
    [
        "x**6 - y**4*z**2 + tan(z) - 2",
        "x/y - z/(x + y)",
        "1/(1/x + 1/y)",
        "(x/(y - z))**3 - cot(x)/2*tan(y)",
        "-x**-2 + 3*(y - 1)/(x*z)/(x*z)",
        "exp(x/y) + sin(tan(z))",
        "x**0.5 + 2**y",
        "x*y - 3",
        " + ".join(f"y/(x + {i})" for i in range(30)),
    ],
)
def test_fractions_are_what_they_are_of(text: str) -> None:
    columns = dict(zip(NAMES, np.random.default_rng(0).uniform(0.3, 1.4, (3, 200)), strict=True))
    x, y, z = columns.values()
    top, bottom = fraction(read(text, NAMES), columns)
    known = {"tan": np.tan, "exp": np.exp, "sin": np.sin, "cot": lambda a: 1 / np.tan(a)}
    expected = eval(text, {"__builtins__": {}, **known, "x": x, "y": y, "z": z})
    np.testing.assert_allclose(top / bottom, expected, rtol=1e-9)


def test_denominators_that_are_the_same_count_once() -> None:
    columns = dict(zip(NAMES, np.random.default_rng(0).uniform(0.3, 1.4, (3, 9)), strict=True))
    top, bottom = fraction(read("tan(z) + 3*tan(z) + x", NAMES), columns)
    np.testing.assert_allclose(bottom, np.cos(columns["z"]))
    np.testing.assert_allclose(
        top, 4 * np.sin(columns["z"]) + columns["x"] * np.cos(columns["z"]), rtol=1e-12
    )


def test_zeros_next_to_poles_are_found() -> None:
    # tan(z) = 1000: within 0.001 of each of its poles, closer than nodes are.
    assert zeros("tan(z) - 1000").area == pytest.approx(400.0, rel=1e-6)


def test_functions_without_values_have_zeros_where_they_have_values() -> None:
    found = zeros("log(x - 1) + 0*sqrt(y)")
    assert found.area == pytest.approx(50.0, rel=0.05)
    assert found.triangles[..., 0] == pytest.approx(2.0)
