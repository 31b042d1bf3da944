from __future__ import annotations

import math
import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst

from mdbench.metrics import nmse

# Squares of these neither overflow nor vanish, so that the laws hold exactly.
MODERATE = st.floats(-1e6, 1e6).filter(lambda x: x == 0 or abs(x) > 1e-6)
ARRAYS = npst.arrays(np.float64, npst.array_shapes(max_dims=3, max_side=4), elements=MODERATE)
PAIRS = ARRAYS.flatmap(
    lambda y: st.tuples(npst.arrays(np.float64, y.shape, elements=MODERATE), st.just(y))
)


def brute_force(predictions: np.ndarray, targets: np.ndarray) -> float:
    pairs = list(zip(predictions.ravel().tolist(), targets.ravel().tolist(), strict=True))
    error = math.fsum((y - y_hat) ** 2 for y_hat, y in pairs)
    return error / (math.fsum(y * y for _, y in pairs) + 1e-10)


@given(PAIRS)
def test_is_the_sum_over_all_elements(pair: tuple[np.ndarray, np.ndarray]) -> None:
    assert nmse(*pair) == pytest.approx(brute_force(*pair), rel=1e-12)


@given(PAIRS)
def test_is_zero_for_equal_arrays_and_positive_for_others(
    pair: tuple[np.ndarray, np.ndarray],
) -> None:
    predictions, targets = pair
    assert nmse(targets, targets) == 0.0
    assert (nmse(predictions, targets) > 0.0) == (not np.array_equal(predictions, targets))


@given(ARRAYS)
def test_does_not_know_the_order_of_samples_and_targets(targets: np.ndarray) -> None:
    predictions = targets + 1.0
    assert nmse(predictions.ravel()[::-1], targets.ravel()[::-1]) == pytest.approx(
        nmse(predictions, targets), rel=1e-12
    )


def test_mean_of_targets_is_no_baseline() -> None:
    # Unlike 1 - R^2, the NMSE is relative to zero, not to the mean.
    assert nmse([2.0, 2.0], [1.0, 3.0]) == pytest.approx(0.2)


def test_is_defined_for_zero_targets() -> None:
    assert nmse([0.0], [0.0]) == 0.0
    assert nmse([1e-5], [0.0]) == pytest.approx(1.0)


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_is_infinite_for_what_is_not_finite(bad: float) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert nmse([1.0, bad], [1.0, 2.0]) == math.inf
        assert nmse([1.0, 2.0], [1.0, bad]) == math.inf
        assert nmse([1.0, bad], [1.0, bad]) == math.inf


def test_is_infinite_where_a_sum_overflows() -> None:
    assert nmse([1e200, 0.0], [1.0, 1.0]) == math.inf
    assert nmse([0.0, 0.0], [1e200, 1.0]) == math.inf
    assert nmse([-1e308], [1e308]) == math.inf


@pytest.mark.parametrize("shape", [(3,), (3, 2), (2, 1), (2,), (1, 2, 2), ()])
def test_refuses_another_shape(shape: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match="shape"):
        nmse(np.ones(shape), np.ones((2, 2)))


def test_refuses_to_score_nothing() -> None:
    with pytest.raises(ValueError, match="no sample"):
        nmse([], [])
