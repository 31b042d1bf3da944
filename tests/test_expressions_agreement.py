from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mdbench.expressions import agreement, parse

U = np.array([1.0, 2.0, 3.0])
COLUMNS = {"u0": U, "u1": -U}
EQUATIONS = [parse("2*u0", COLUMNS), parse("u0*u1 + 1", COLUMNS)]
VALUES = np.stack([2 * U, 1 - U**2], axis=-1)


def test_is_zero_for_a_method_that_predicts_by_its_equations() -> None:
    assert agreement(EQUATIONS, VALUES, COLUMNS) == 0.0


def test_is_the_error_relative_to_the_larger_side() -> None:
    error, power = 3 * 0.1**2, np.sum(VALUES**2)
    predictions = VALUES + np.array([0.1, 0.0])
    larger = max(power, np.sum(predictions**2))
    assert agreement(EQUATIONS, predictions, COLUMNS) == pytest.approx(error / larger)
    assert agreement(EQUATIONS, -VALUES, COLUMNS) == pytest.approx(4.0)


@given(st.integers(-300, 300))
def test_knows_no_scale(exponent: int) -> None:
    equation = parse(f"1.0e{exponent}*u0", ["u0"])
    scaled = agreement([equation], (1.1 * 10.0**exponent * U)[:, None], {"u0": U})
    assert scaled == pytest.approx(0.01 / 1.21)


def test_is_defined_for_zero() -> None:
    zero, one = [parse("0", ["u0"])], [parse("u0", ["u0"])]
    nothing = np.zeros((3, 1))
    assert agreement(zero, nothing, {"u0": U}) == 0.0
    assert agreement(one, nothing, {"u0": U}) == 1.0
    assert agreement(zero, U[:, None], {"u0": U}) == 1.0


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_is_infinite_for_what_is_not_finite(bad: float) -> None:
    predictions = VALUES.copy()
    predictions[1, 1] = bad
    assert agreement(EQUATIONS, predictions, COLUMNS) == math.inf
    assert agreement([parse("log(u1)", COLUMNS)], U[:, None], COLUMNS) == math.inf


def test_works_for_fields() -> None:
    grid = np.linspace(1.0, 2.0, 12).reshape(4, 3)
    assert agreement([parse("u**2", ["u"])], (grid**2)[..., None], {"u": grid}) == 0.0


@pytest.mark.parametrize("shape", [(3,), (3, 1), (2, 2), (6,)])
def test_refuses_another_shape(shape: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match="shape"):
        agreement(EQUATIONS, np.ones(shape), COLUMNS)
