"""Singular values without LAPACK against LAPACK's, and fits that go on where it gives up."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from harness import imported

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(scope="module")
def modules() -> Iterator[dict[str, Any]]:
    with imported("sindy"):
        yield {name: sys.modules[name] for name in ("singular", "stlsq")}


def matrices() -> Iterator[Any]:
    rng = np.random.default_rng(0)
    for shape in [(1, 1), (7, 4), (4, 7), (20, 20), (40, 3)]:
        columns = rng.standard_normal(shape)
        yield columns
        yield columns * 10.0 ** rng.uniform(-8, 8, shape[1])
        yield columns @ np.diag(rng.integers(0, 2, shape[1]))
    dependent = rng.standard_normal((30, 9))
    dependent[:, 4] = dependent[:, 1] - 2 * dependent[:, 7]
    yield dependent
    yield np.ones((6, 5))
    yield np.zeros((5, 3))
    yield 1e-200 * rng.standard_normal((8, 5))
    yield np.vander(np.linspace(0.9, 1.1, 30), 12)


@pytest.mark.parametrize("matrix", list(matrices()))
def test_rotations_give_lapacks_singular_values(modules: dict[str, Any], matrix: Any) -> None:
    rotate = modules["singular"]._rotate
    tall = matrix if matrix.shape[0] >= matrix.shape[1] else matrix.T
    u, values, vt = rotate(tall)
    expected = np.linalg.svd(tall, compute_uv=False)
    np.testing.assert_allclose(values, expected, rtol=1e-10, atol=1e-13 * expected.max())
    np.testing.assert_allclose((u * values) @ vt, tall, atol=1e-13 * np.abs(tall).max())
    np.testing.assert_allclose(vt @ vt.T, np.eye(len(vt)), atol=1e-13)
    there = u[:, values > 1e-10 * values.max(initial=0)]
    np.testing.assert_allclose(there.T @ there, np.eye(there.shape[1]), atol=1e-13)


@pytest.mark.parametrize("shape", [(30, 6), (4, 6)])
def test_a_fit_goes_on_where_lapack_gives_up(
    modules: dict[str, Any], shape: tuple[int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """One matrix of a stack has no singular values: as OpenBLAS on one processor of six."""
    rng = np.random.default_rng(1)
    stack = rng.standard_normal((3, *shape))
    stack[:, :, 5] = stack[:, :, 0] + stack[:, :, 1]
    right = rng.standard_normal((3, shape[0], 2))
    expected = modules["singular"].least_squares(stack, right, 1e-12)
    real = np.linalg.svd

    def fails(matrix: Any, *args: Any, **more: Any) -> Any:
        if (matrix == stack[1]).all(axis=(-2, -1)).any():
            raise np.linalg.LinAlgError("SVD did not converge")
        return real(matrix, *args, **more)

    def never(*_: Any, **__: Any) -> Any:
        raise np.linalg.LinAlgError("SVD did not converge in Linear Least Squares")

    monkeypatch.setattr(np.linalg, "svd", fails)
    monkeypatch.setattr(np.linalg, "lstsq", never)
    found = modules["singular"].least_squares(stack, right, 1e-12)
    np.testing.assert_allclose(found, expected, atol=1e-12)
    one = modules["singular"].lstsq(stack[1], right[1, :, 0], 1e-12)
    np.testing.assert_allclose(one, expected[1, :, 0], atol=1e-12)


def test_what_is_not_finite_has_no_singular_values(modules: dict[str, Any]) -> None:
    matrix = np.full((1, 4, 3), np.nan)
    with pytest.raises(np.linalg.LinAlgError):
        modules["singular"].svd(matrix)


def test_a_singular_system_decides_about_itself_only(modules: dict[str, Any]) -> None:
    """A pivot that one kernel rounds to zero leaves the other systems of its stack alone."""
    rng = np.random.default_rng(2)
    columns = rng.standard_normal((4, 9, 5))
    ill = columns[1:2] * 10.0 ** np.array([0, 0, -6, 0, 0])
    stack = columns.swapaxes(1, 2) @ columns
    stack[1] = ill.swapaxes(1, 2)[0] @ ill[0]
    right = rng.standard_normal((4, 5))
    alone = modules["stlsq"]._solve(stack, right)
    singular = np.ones((1, 5, 5))
    both = modules["stlsq"]._solve(np.concatenate([stack, singular]), np.vstack([right, right[:1]]))
    np.testing.assert_array_equal(both[:4], alone)
    np.testing.assert_allclose(both[4], np.full(5, right[0].sum() / 25), rtol=1e-12)


def test_solutions_beyond_all_numbers_are_those_of_least_squares(modules: dict[str, Any]) -> None:
    tiny = np.diag([1.0, 1e-320])
    found = modules["stlsq"]._solve(tiny[None], np.array([[2.0, 1.0]]))
    np.testing.assert_array_equal(found, [[2.0, 0.0]])
    endless = modules["stlsq"]._solve(np.full((1, 2, 2), np.inf), np.ones((1, 2)))
    assert not np.isfinite(endless).any()
