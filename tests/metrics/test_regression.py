from __future__ import annotations

import math
import warnings
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst

from mdbench.metrics.regression import (
    PUBLISHED_CONSTANT,
    is_accurate,
    nmse,
    r2,
    relative_error,
)

if TYPE_CHECKING:
    from collections.abc import Callable

# Squares of these neither overflow nor vanish, so that the laws hold exactly.
MODERATE = st.floats(-1e6, 1e6).filter(lambda x: x == 0 or abs(x) > 1e-6)
ARRAYS = npst.arrays(np.float64, npst.array_shapes(max_dims=3, max_side=4), elements=MODERATE)
PAIRS = ARRAYS.flatmap(
    lambda y: st.tuples(npst.arrays(np.float64, y.shape, elements=MODERATE), st.just(y))
)


def brute_force(predictions: np.ndarray, targets: np.ndarray) -> float:
    pairs = list(zip(predictions.ravel().tolist(), targets.ravel().tolist(), strict=True))
    error = math.fsum((y - y_hat) ** 2 for y_hat, y in pairs)
    return error / (math.fsum(y * y for _, y in pairs) or 1e-10)


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


@given(PAIRS, st.integers(-900, 900))
def test_targets_of_any_size_score_the_same(
    pair: tuple[np.ndarray, np.ndarray], exponent: int
) -> None:
    predictions, targets = pair
    assume(np.any(targets))
    sizes = np.abs(np.concatenate([predictions.ravel(), targets.ravel()]))
    assume(np.all((sizes == 0) | (sizes > 1e-6)))
    moved = np.ldexp(predictions, exponent), np.ldexp(targets, exponent)
    assert nmse(*moved) == nmse(predictions, targets)


@pytest.mark.parametrize("size", [1e-300, 1e-20, 1e-9, 1e-5, 1.0, 1e9, 1e160, 1e300])
def test_zero_scores_one(size: float) -> None:
    targets = size * np.array([1.0, -0.3, 0.01])
    assert nmse(0 * targets, targets) == pytest.approx(1.0, rel=1e-15)
    # The constant of MDBench is of use to be put beside its numbers alone.
    power = float(np.sum(targets**2)) if size < 1e150 else math.inf
    published = nmse(0 * targets, targets, constant=PUBLISHED_CONSTANT)
    right = math.inf if math.isinf(power) else power / (power + 1e-10)
    assert published == pytest.approx(right, rel=1e-12)


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
    assert nmse([0.0, 0.0], [1e200, 1.0], constant=PUBLISHED_CONSTANT) == math.inf
    assert nmse([0.0, 0.0], [1e200, 1.0]) == 1.0
    assert nmse([-1e308], [1e308]) == 4.0


@pytest.mark.parametrize("shape", [(3,), (3, 2), (2, 1), (2,), (1, 2, 2), ()])
def test_refuses_another_shape(shape: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match="shape"):
        nmse(np.ones(shape), np.ones((2, 2)))


def test_refuses_to_score_nothing() -> None:
    with pytest.raises(ValueError, match="no sample"):
        nmse([], [])


@given(PAIRS)
def test_r2_is_one_minus_the_unexplained_share(pair: tuple[np.ndarray, np.ndarray]) -> None:
    predictions, targets = pair
    y, y_hat = targets.ravel().tolist(), predictions.ravel().tolist()
    mean = math.fsum(y) / len(y)
    spread = math.fsum((a - mean) ** 2 for a in y)
    assume(spread > 1e-6 * max(1e-12, *(a * a for a in y)))
    error = math.fsum((a - b) ** 2 for a, b in zip(y, y_hat, strict=True))
    assert r2(predictions, targets) == pytest.approx(1 - error / spread, rel=1e-6, abs=1e-6)


@pytest.mark.parametrize("unit", [1e-200, 1e-30, 1.0, 1e27, 1e200])
def test_r2_and_relative_error_do_not_know_the_unit(unit: float) -> None:
    y, y_hat = np.array([1.0, 2.0, 4.0]), np.array([1.5, 2.0, 3.0])
    assert r2(y_hat * unit, y * unit) == pytest.approx(1 - 1.25 / (14 / 3))
    assert relative_error(y_hat * unit, y * unit) == pytest.approx((0.25 + 0 + 0.0625) / 3)


def test_r2_of_the_mean_is_zero_and_of_constant_targets_all_or_nothing() -> None:
    assert r2([2.0, 2.0], [1.0, 3.0]) == 0.0
    assert r2([3.3, 3.3, 3.3], [3.3, 3.3, 3.3]) == 1.0
    assert r2([3.3, 3.3, 3.3000001], [3.3, 3.3, 3.3]) == -math.inf
    assert r2([1.0], [1.0]) == 1.0


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_what_is_not_finite_is_as_bad_as_can_be(bad: float) -> None:
    for pair in (([1.0, bad], [1.0, 2.0]), ([1.0, 2.0], [1.0, bad]), ([1.0, bad], [1.0, bad])):
        assert r2(*pair) == -math.inf
        assert relative_error(*pair) == math.inf
    assert r2([-1e308, 0.0], [1e308, 1.0]) == pytest.approx(-7)
    assert r2([1e308, 0.0], [1e-10, 1.0]) == -math.inf
    assert relative_error([1e308, 1.0], [1e-308, 1.0]) == math.inf


def test_zero_targets_have_no_relative_error() -> None:
    assert relative_error([5.0, 1.1], [0.0, 1.0]) == pytest.approx(0.01)
    assert relative_error([0.0, 0.0], [0.0, 0.0]) == 0.0
    assert relative_error([0.0, 1e-300], [0.0, 0.0]) == math.inf


def test_accuracy_is_strict() -> None:
    assert [is_accurate(x) for x in (1.0, 0.9990001, 0.999, -math.inf, math.nan, None)] == [
        *(True, True),
        *(False, False, False, False),
    ]


@pytest.mark.parametrize("metric", [r2, relative_error])
def test_others_refuse_another_shape_and_nothing_too(metric: Callable[..., float]) -> None:
    with pytest.raises(ValueError, match="shape"):
        metric(np.ones(3), np.ones((3, 1)))
    with pytest.raises(ValueError, match="no sample"):
        metric([], [])
