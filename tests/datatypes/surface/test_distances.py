"""Distances of clouds, and the transforms that bring one to another."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.distance import cdist
from sweeps import sampled

from mdbench.datatypes.surface.clouds import Distances, diagonal, distances
from mdbench.datatypes.surface.scoring import Similarity, best_distances, corresponding, iterated


def circle(radius: float, n: int = 10_000) -> np.ndarray:
    angles = 2 * np.pi * np.arange(n) / n
    return radius * np.stack([np.cos(angles), np.sin(angles), 0 * angles], axis=-1)


def sphere(n: int = 10_000) -> np.ndarray:
    points = np.random.default_rng(1).standard_normal((n, 3))
    return np.asarray(points / np.linalg.norm(points, axis=1, keepdims=True))


def bent(n: int = 500) -> np.ndarray:
    """Draw points on a surface that looks like itself from one side only."""
    u, v = np.random.default_rng(2).uniform(0, 1, (2, n))
    return np.stack([2 * u, v, u**2 + 0.5 * v**3 - 0.7 * u * v], axis=-1)


def similarity(seed: int) -> Similarity:
    generator = np.random.default_rng(seed)
    q, _ = np.linalg.qr(generator.standard_normal((3, 3)))
    q *= np.sign(np.linalg.det(q))
    return Similarity(float(generator.uniform(0.2, 5)), q, generator.uniform(-9, 9, 3))


def test_circles_are_as_far_apart_as_their_radii() -> None:
    found = distances(circle(2.0), circle(3.5))
    assert found.chamfer == pytest.approx(3.0, abs=1e-3)
    assert found.hausdorff == pytest.approx(1.5, abs=1e-3)
    assert found.hausdorff_95 == pytest.approx(1.5, abs=1e-3)


def test_parallel_planes() -> None:
    plane = np.random.default_rng(0).uniform(-5, 5, (10_000, 3)) * [1, 1, 0]
    found = distances(plane, plane + np.array([0, 0, 0.7]))
    assert (found.chamfer, found.hausdorff) == pytest.approx((1.4, 0.7), abs=1e-3)


def test_a_shifted_sphere() -> None:
    shift = 4.0
    found = distances(sphere(), sphere() + np.array([shift, 0, 0]))
    # From a point of the one, c = cos of its angle, to the other: sqrt(1 + s^2 - 2 s c) - 1.
    mean = ((shift + 1) ** 3 - (shift - 1) ** 3) / (6 * shift) - 1
    assert found.chamfer == pytest.approx(2 * mean, abs=2e-3)
    assert found.chamfer / 2 == pytest.approx(mean, abs=1e-3)
    assert found.hausdorff == pytest.approx(shift, abs=1e-3)


def test_as_by_all_pairs_with_points_that_coincide() -> None:
    generator = np.random.default_rng(3)
    a, b = generator.integers(0, 4, (300, 3)).astype(float), generator.normal(2, 1, (200, 3))
    whole = cdist(a, b)
    there, back = whole.min(axis=1), whole.min(axis=0)
    found = distances(a, b)
    assert found.chamfer == pytest.approx(there.mean() + back.mean())
    assert found.hausdorff == pytest.approx(max(there.max(), back.max()))
    expected = max(np.quantile(there, 0.95), np.quantile(back, 0.95))
    assert found.hausdorff_95 == pytest.approx(expected)


@settings(max_examples=30)
@given(st.integers(0, 2**32), st.floats(0.01, 100))
def test_distances_are_symmetric_zero_to_oneself_and_grow_with_the_unit(
    seed: int, unit: float
) -> None:
    a, b = np.random.default_rng(seed).normal(size=(2, 40, 3))
    first, second = distances(a, b), distances(b, a)
    assert first.chamfer == pytest.approx(second.chamfer)
    assert (first.hausdorff, first.hausdorff_95) == (second.hausdorff, second.hausdorff_95)
    assert first.hausdorff_95 <= first.hausdorff
    assert distances(a, a) == Distances(0.0, 0.0, 0.0)
    assert distances(unit * a, unit * b).over(unit).chamfer == pytest.approx(first.chamfer)


def test_what_is_not_there_is_a_diagonal_away() -> None:
    cube = np.array([[0.0, 0, 0], [1, 2, 2]])
    assert diagonal(cube) == 3.0
    assert diagonal(cube[:1]) == 1.0
    assert Distances.of_nothing(3.0).over(3.0) == Distances(2.0, 1.0, 1.0)


@pytest.mark.parametrize("seed", range(10))
def test_similarities_are_undone_where_points_correspond(seed: int) -> None:
    moved = similarity(seed)
    found = corresponding(moved(bent()), bent())
    np.testing.assert_allclose(found(moved(bent())), bent(), atol=1e-9)
    assert found.scale * moved.scale == pytest.approx(1.0)
    assert np.linalg.det(found.rotation) == pytest.approx(1.0)


@pytest.mark.parametrize("seed", sampled(range(10)))
def test_similarities_are_undone_where_it_is_unknown_which_points_correspond(seed: int) -> None:
    moved = similarity(100 + seed)
    cloud = moved(bent())[np.random.default_rng(seed).permutation(500)]
    np.testing.assert_allclose(
        distances(iterated(cloud, bent())(cloud), bent()).hausdorff, 0, atol=1e-6
    )


def test_the_closed_form_is_the_best_there_is() -> None:
    generator = np.random.default_rng(5)
    source = bent()
    target = similarity(7)(source) + generator.normal(0, 0.05, source.shape)
    best = corresponding(source, target)
    least = np.sum((best(source) - target) ** 2)
    for seed in range(20):
        near = np.random.default_rng(seed)
        other = Similarity(
            best.scale * (1 + near.normal(0, 1e-3)),
            best.rotation,
            best.shift + near.normal(0, 1e-3, 3),
        )
        assert np.sum((other(source) - target) ** 2) >= least


def test_a_mirrored_cloud_is_not_turned_inside_out() -> None:
    mirrored = bent() * [1, 1, -1]
    assert np.linalg.det(corresponding(mirrored, bent()).rotation) == pytest.approx(1.0)


def test_points_that_are_all_the_same_are_moved_and_no_more() -> None:
    point = np.ones((20, 3))
    found = corresponding(point, bent(20))
    assert found.scale == 1.0
    np.testing.assert_allclose(found(point)[0], bent(20).mean(axis=0))
    assert math.isfinite(distances(iterated(point, bent(20))(point), bent(20)).chamfer)


@pytest.mark.parametrize("correspond", [True, False])
def test_no_transform_makes_distances_larger(*, correspond: bool) -> None:
    source, target = bent(), bent() + np.random.default_rng(0).normal(0, 0.3, (500, 3))
    plain = distances(source, target)
    partners = target if correspond else None
    found = best_distances(source, target, partners=partners, plain=plain)
    assert found.chamfer <= plain.chamfer
