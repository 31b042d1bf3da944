"""Coordinates of size 1, against values worked out in fractions."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations_with_replacement

import numpy as np
import pytest

from mdbench.worker import Coordinates, FieldCoordinates, Problem, columns_of, sum_of

NAMES = ("u0", "u1", "v0")


def made(size: float, shift: float, seed: int = 0) -> tuple[np.ndarray, Coordinates]:
    rng = np.random.default_rng(seed)
    columns = size * (rng.uniform(-1, 1, (200, 3)) + shift * np.array([1.0, -0.5, 0.0]))
    targets = size * rng.uniform(-3, 3, (200, 2))
    return columns, Coordinates.choices(columns, targets)[-1]


@pytest.mark.parametrize("size", [1e-12, 1e-3, 1.0, 1e12])
@pytest.mark.parametrize("shift", [0.0, 10.0, 1e4, 1e6])
@pytest.mark.parametrize("degree", [1, 2, 3])
def test_what_is_written_has_the_value_in_coordinates(
    size: float, shift: float, degree: int
) -> None:
    rng = np.random.default_rng(7)
    columns, coordinates = made(size, shift)
    parts = {
        chosen: float(rng.normal())
        for count in range(degree + 1)
        for chosen in combinations_with_replacement(range(3), count)
    }
    text = sum_of(coordinates.write(parts, NAMES, 1))
    at = columns[::20]
    written = eval(text, {}, dict(zip(NAMES, at.T, strict=True)))
    for row, value in zip(at.tolist(), written.tolist(), strict=True):
        z = [
            (Fraction(u) - Fraction(float(c))) / Fraction(float(s))
            for u, c, s in zip(row, coordinates.centre, coordinates.size, strict=True)
        ]
        exact = Fraction(0)
        for factors, weight in parts.items():
            term = Fraction(weight)
            for factor in factors:
                term *= z[factor]
            exact += term
        rate = float(coordinates.rate[1])
        assert abs(value - float(exact) * rate) < 1e-7 * rate


def test_coordinates_go_with_units_and_offsets() -> None:
    columns, coordinates = made(1.0, 100.0)
    z = coordinates.states(columns)
    assert coordinates.name == "centred"
    assert coordinates.centre[2] == 0.0  # it is near zero
    for k in range(-12, 13):
        moved, others = made(10.0**k, 100.0)
        np.testing.assert_allclose(others.states(moved), z, rtol=1e-9, atol=1e-9)
        assert others.name == "centred"


def test_near_zero_nothing_is_centred_and_far_away_all_is() -> None:
    targets = np.ones((50, 1))
    column = np.sin(np.arange(50.0))[:, None]
    names = [
        [one.name for one in Coordinates.choices(column + shift, targets)]
        for shift in (0.0, 1.0, 10.0, 1e5)
    ]
    assert names == [["scaled"], ["scaled"], ["scaled", "centred"], ["centred"]]
    still = Coordinates.choices(np.full((50, 1), 7.0), targets)
    assert [one.name for one in still] == ["scaled"]
    assert np.isfinite(still[0].states(np.full((50, 1), 7.0))).all()


def test_a_sum_that_loses_no_digits_is_multiplied_out() -> None:
    columns, coordinates = made(1.0, 10.0)
    del columns
    linear = sum_of(coordinates.write({(): 1.0, (0,): 2.0}, NAMES, 0))
    assert "(" not in linear
    square = sum_of(coordinates.write({(0, 0): 2.0}, NAMES, 0))
    assert square.count("(u0 - ") == 1  # one term and not three


def test_inputs_stand_beside_the_states() -> None:
    arrays = {"u": np.ones((5, 2)), "inputs": np.zeros((5, 1))}
    assert columns_of(Problem("trajectory", NAMES, (), arrays)).shape == (5, 3)
    del arrays["inputs"]
    assert columns_of(Problem("trajectory", NAMES[:2], (), arrays)).shape == (5, 2)


def field(
    length: float, size: float, time: float, offset: float, *, scaled: bool = True
) -> Problem:
    x, t = np.linspace(0, 6, 40), np.linspace(0, 2, 30)
    u = np.sin(x[:, None] - t) + 0.3 * np.cos(2 * x[:, None] + t) + offset
    arrays = {"x": x * length, "t": t * time, "u": (u * size)[..., None]}
    arrays["du"] = np.gradient(arrays["u"], time * (t[1] - t[0]), axis=1)
    return Problem("field", ("u0", "u0_x"), ("u0_t",), arrays, scaled=scaled)


def test_fields_of_sizes_near_one_and_those_of_the_benchmark_stay_as_they_are() -> None:
    assert FieldCoordinates.of(field(1, 1, 1, 0), [0]) is None
    assert FieldCoordinates.of(field(1, 1e-9, 1, 0, scaled=False), [0]) is None


@pytest.mark.parametrize(
    ("length", "size", "time", "offset"),
    [(1e-6, 1e-9, 1, 0), (1, 1, 1, 1e4), (1e9, 1e12, 1e-5, 100), (1, 1e5, 1e3, 0)],
)
def test_fields_are_brought_to_size_one(
    length: float, size: float, time: float, offset: float
) -> None:
    problem = field(length, size, time, offset)
    made = FieldCoordinates.of(problem, [0])
    assert made is not None
    shown = made.problem(problem)
    assert 0.3 < np.std(shown.u) < 3
    assert 0.3 < np.std(shown.du) < 3
    slope = np.gradient(shown.u[..., 0], shown.x[1] - shown.x[0], axis=0)
    assert 0.2 < np.std(slope) < 5
    raw = np.gradient(problem.u[..., 0], problem.x[1] - problem.x[0], axis=0)
    np.testing.assert_allclose(raw * made.slope(0, 0, 1), slope, rtol=1e-6, atol=1e-9)
    text = made.write({("u0_x", made.slope(0, 0, 1)): {(0,): 2.0, (): 1.0}}, ("u0", "u0_x"), 0)
    value = eval(text, {}, {"u0": problem.u[..., 0], "u0_x": raw})
    rate = float(made.states.rate[0])
    np.testing.assert_allclose(
        value, rate * (2 * shown.u[..., 0] + 1) * slope, rtol=1e-6, atol=1e-6 * rate
    )
