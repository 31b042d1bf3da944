from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mdbench.metrics.regression import agreement

U = np.array([1.0, 2.0, 3.0])
VALUES = np.stack([2 * U, 1 - U**2], axis=-1)


def test_is_zero_for_a_method_that_predicts_by_its_equations() -> None:
    assert agreement(VALUES, VALUES) == 0.0


def test_is_the_error_relative_to_the_larger_side() -> None:
    error, power = 3 * 0.1**2, np.sum(VALUES**2)
    predictions = VALUES + np.array([0.1, 0.0])
    larger = max(power, np.sum(predictions**2))
    assert agreement(VALUES, predictions) == pytest.approx(error / larger)
    assert agreement(VALUES, -VALUES) == pytest.approx(4.0)


@given(st.integers(-300, 300))
def test_knows_no_scale(exponent: int) -> None:
    scaled = agreement(10.0**exponent * U, 1.1 * 10.0**exponent * U)
    assert scaled == pytest.approx(0.01 / 1.21)


def test_is_defined_for_zero() -> None:
    nothing = np.zeros(3)
    assert agreement(nothing, nothing) == 0.0
    assert agreement(U, nothing) == agreement(nothing, U) == 1.0


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_is_infinite_for_what_is_not_finite(bad: float) -> None:
    predictions = VALUES.copy()
    predictions[1, 1] = bad
    assert agreement(VALUES, predictions) == agreement(predictions, VALUES) == math.inf


@pytest.mark.parametrize("shape", [(3,), (3, 1), (2, 2), (6,)])
def test_refuses_another_shape(shape: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match="shape"):
        agreement(VALUES, np.ones(shape))
