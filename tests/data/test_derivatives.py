"""Derivatives against closed forms and against NumPy's own differences."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mdbench.data.derivatives import (
    accurate_derivative,
    fewest_nodes,
    space_derivative,
    time_derivative,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

STEPS = st.lists(st.floats(0.05, 1.0), min_size=2, max_size=40)


def times(steps: list[float], start: float = 0.0) -> Array:
    return start + np.concatenate([[0.0], np.cumsum(steps)])


@given(steps=STEPS, a=st.floats(-3, 3), b=st.floats(-3, 3), c=st.floats(-3, 3))
def test_quadratics_are_exact_on_any_times(
    steps: list[float], a: float, b: float, c: float
) -> None:
    for t in (times(steps), np.linspace(0.0, 3.0, len(steps) + 1)):
        u = np.stack([a * t**2 + b * t + c, c * t - a], axis=1)
        exact = np.stack([2 * a * t + b, np.full_like(t, c)], axis=1)
        tolerance = 1e-11 * (1 + np.abs(u).max()) / np.diff(t).min()
        np.testing.assert_allclose(time_derivative(t, u), exact, rtol=0, atol=tolerance)


@given(steps=STEPS, seed=st.integers(0, 1000), d=st.integers(1, 3))
def test_three_point_stencils_are_unique_so_numpy_has_the_same(
    steps: list[float], seed: int, d: int
) -> None:
    for t in (times(steps), np.linspace(-1.0, 2.0, len(steps) + 1)):
        u = np.random.default_rng(seed).normal(size=(len(t), d))
        expected = np.gradient(u, t, axis=0, edge_order=2)
        np.testing.assert_allclose(time_derivative(t, u), expected, rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("uniform", [True, False])
def test_halving_the_steps_quarters_the_error(uniform: bool) -> None:
    def error(n: int) -> float:
        s = np.linspace(0.0, 1.0, n)
        t = s if uniform else s + 0.1 * np.sin(2 * np.pi * s)
        du = time_derivative(t, np.exp(2 * t)[:, None])[:, 0]
        return float(np.abs(du - 2 * np.exp(2 * t)).max())

    orders = [np.log2(error(n) / error(2 * n - 1)) for n in (41, 81, 161)]
    assert orders == pytest.approx([2, 2, 2], abs=0.15)


def test_nearly_uniform_times_count_as_they_are() -> None:
    t = np.linspace(0.0, 1.0, 21)
    t[10] += 1e-5
    u = (t**2)[:, None]
    np.testing.assert_allclose(time_derivative(t, u)[:, 0], 2 * t, atol=1e-12)


def test_dates_as_times_lose_no_more_than_their_own_rounding() -> None:
    t = 1.7e9 + np.arange(30.0)
    np.testing.assert_allclose(time_derivative(t, (t - t[0])[:, None] ** 2)[:, 0], 2 * (t - t[0]))


@given(n=st.integers(3, 30), k=st.integers(0, 29))
def test_a_sample_moves_only_its_neighbours_derivatives(n: int, k: int) -> None:
    t = np.linspace(0.0, 1.0, n)
    u = np.random.default_rng(n).normal(size=(n, 1))
    other = u.copy()
    other[k % n] += 1.0
    moved = np.flatnonzero(time_derivative(t, u) != time_derivative(t, other))
    assert np.abs(moved - k % n).max() <= 2


def test_memory_layout_makes_no_difference() -> None:
    t = np.linspace(0.0, 1.0, 20)
    u = np.random.default_rng(0).normal(size=(20, 3))
    np.testing.assert_array_equal(time_derivative(t, np.asfortranarray(u)), time_derivative(t, u))


@pytest.mark.parametrize("order", [1, 2, 3, 4])
@pytest.mark.parametrize("extra", [0, 1, 2, 5])
def test_space_derivatives_are_exact_up_to_one_degree_beyond_their_order(
    order: int, extra: int
) -> None:
    """That is what second order means; and so it is with the fewest nodes that will do."""
    x = np.linspace(-1, 2, fewest_nodes(order) + extra)
    for degree in range(order + 2):
        p = np.polynomial.Polynomial.basis(degree)
        u = np.stack([p(x), 3 * p(x)])
        exact = p.deriv(order)(x)
        np.testing.assert_allclose(
            space_derivative(u, x, 1, order), np.stack([exact, 3 * exact]), atol=1e-9
        )


@pytest.mark.parametrize("order", [1, 2, 3, 4])
def test_space_derivatives_are_of_second_order_at_the_ends_too(order: int) -> None:
    def error(n: int) -> float:
        x = np.linspace(0.0, 1.0, n)
        return float(np.abs(space_derivative(np.exp(2 * x), x, 0, order) / 2**order
                            - np.exp(2 * x)).max())  # fmt: skip

    assert error(41) < 0.2
    assert error(41) / error(81) == pytest.approx(4, abs=0.9)


def test_the_weights_of_the_stencils() -> None:
    """They follow from Taylor's series; B. Fornberg, Math. Comp. 51, 699 (1988), has tables."""
    expected: dict[int, tuple[list[float], list[float]]] = {
        1: ([-1.5, 2, -0.5], [-0.5, 0, 0.5]),
        2: ([2, -5, 4, -1], [1, -2, 1]),
        3: ([-2.5, 9, -12, 7, -1.5], [-0.5, 1, 0, -1, 0.5]),
        4: ([3, -14, 26, -24, 11, -2], [1, -4, 6, -4, 1]),
    }
    x = 0.5 * np.arange(12.0)
    for order, (edge, centre) in expected.items():
        weights = space_derivative(np.eye(12), x, 0, order) * 0.5**order
        np.testing.assert_allclose(weights[0, : len(edge)], edge, atol=1e-9)
        np.testing.assert_allclose(weights[-1, ::-1][: len(edge)], (-1) ** order * np.array(edge))
        half = len(centre) // 2
        np.testing.assert_allclose(weights[5, 5 - half : 6 + half], centre, atol=1e-9)


@pytest.mark.parametrize("order", [1, 2, 3, 4])
@pytest.mark.parametrize("extra", [0, 1, 2, 3, 20])
def test_accurate_derivatives_are_exact_for_what_their_nodes_can_hold(
    order: int, extra: int
) -> None:
    """With the fewest nodes of second order; with twenty more of fourth at the ends."""
    x = np.linspace(-1, 2, fewest_nodes(order) + extra)
    for degree in range(order + (4 if extra == 20 else 2)):
        p = np.polynomial.Polynomial.basis(degree)
        u = np.stack([p(x), 3 * p(x)], axis=1)
        exact = p.deriv(order)(x)
        np.testing.assert_allclose(
            accurate_derivative(u, x, 0, order),
            np.stack([exact, 3 * exact], axis=1),
            atol=1e-6 * 2**degree,
        )


@pytest.mark.parametrize("order", [1, 2, 3, 4])
def test_accurate_derivatives_are_of_sixth_order_inside_and_of_fourth_at_the_ends(
    order: int,
) -> None:
    def errors(n: int) -> tuple[float, float]:
        x = np.linspace(0.0, 4.0, n)
        off = np.abs(accurate_derivative(np.sin(x), x, 0, order) - np.sin(x + order * np.pi / 2))
        return float(off[n // 4 : -n // 4].max()), float(off.max())

    coarse, fine = errors(33), errors(65)
    assert coarse[0] / fine[0] == pytest.approx(64, rel=0.4)
    assert coarse[1] / fine[1] == pytest.approx(16, rel=0.5)


@pytest.mark.parametrize("n", [7, 8, 33, 64])
@pytest.mark.parametrize("order", [1, 2, 3, 4])
def test_waves_along_a_periodic_axis_are_differentiated_exactly(n: int, order: int) -> None:
    period, place = 3.0, -1.3
    x = place + period / n * np.arange(float(n))
    for waves in range((n - 1) // 2 + 1):
        k = 2 * np.pi * waves / period
        u = np.stack([np.cos(k * x), np.sin(k * x)])
        exact = k**order * np.stack([
            np.cos(k * x + order * np.pi / 2), np.sin(k * x + order * np.pi / 2),
        ])  # fmt: skip
        found = accurate_derivative(u, x, 1, order, period=period)
        np.testing.assert_allclose(found, exact, atol=1e-11 * max(1.0, k) ** order * n)


def test_too_few_nodes_are_a_mistake_of_ours() -> None:
    with pytest.raises(ValueError, match="order 2 of 3 nodes"):
        space_derivative(np.zeros(3), np.arange(3.0), 0, 2)
    with pytest.raises(ValueError, match="order 2 of 3 nodes"):
        accurate_derivative(np.zeros(3), np.arange(3.0), 0, 2, period=3.0)
