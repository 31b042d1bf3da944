"""Triangular factors that are made block by block, against those of all rows at once."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from harness import imported

if TYPE_CHECKING:
    from collections.abc import Iterator

WIDTH = 300
"""Columns of which a thousand rows are a large block."""


@pytest.fixture(scope="module")
def modules() -> Iterator[dict[str, Any]]:
    with imported("pdefind") as module:
        yield {name: sys.modules[name] for name in ("triangles", "stlsq")} | {"adapter": module}


@pytest.fixture
def updates(modules: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """Return which blocks were added by a Cholesky decomposition."""
    quick: list[bool] = []
    plain = modules["triangles"]._updated

    def watched(*arguments: Any) -> Any:
        factor = plain(*arguments)
        quick.append(factor is not None)
        return factor

    monkeypatch.setattr(modules["triangles"], "_updated", watched)
    return quick


def problem(n: int, p: int, *, condition: float = 1.0) -> tuple[Any, Any]:
    """Return features of a condition number, and two targets that they explain."""
    rng = np.random.default_rng(p)
    features = rng.standard_normal((n, p))
    if condition > 1:
        turned = np.linalg.qr(rng.standard_normal((p, p)))[0]
        features = np.linalg.qr(features)[0] * np.geomspace(1, 1 / condition, p) @ turned
        features *= 10.0 ** rng.uniform(-6, 6, p)
    lengths = np.linalg.norm(features, axis=0)
    return features, features @ (rng.standard_normal((p, 2)) / lengths[:, None])


def blocks(features: Any, targets: Any, size: int) -> Iterator[tuple[Any, Any]]:
    for start in range(0, len(features), size):
        yield features[start : start + size], targets[start : start + size]


@pytest.mark.parametrize(("size", "n"), [(5000, 2000), (700, 2000), (333, 2000), (50, 400)])
def test_the_product_of_a_factor_is_that_of_all_rows(
    modules: dict[str, Any], size: int, n: int
) -> None:
    features, targets = problem(n, WIDTH)
    factor = modules["triangles"].fold(blocks(features, targets, size))
    rows = np.concatenate([features, targets], axis=1)
    np.testing.assert_allclose(factor.T @ factor, rows.T @ rows, atol=1e-10 * n)
    assert not np.tril(factor, -1).any()


@pytest.mark.parametrize("condition", [1.0, 1e6, 1e11])
def test_a_factor_has_the_digits_of_the_rows(
    modules: dict[str, Any], updates: list[bool], condition: float
) -> None:
    """Least squares are as good as of the whole matrix; from a Gram matrix they would not be."""
    features, targets = problem(4500, WIDTH, condition=condition)
    factor = modules["triangles"].fold(blocks(features, targets, 1500))
    assert updates == [True, True, True]
    lengths = np.linalg.norm(features, axis=0)
    r, right = factor[:, :WIDTH] / lengths, factor[:, WIDTH:]
    folded = np.linalg.lstsq(r, right, rcond=None)[0]
    whole = np.linalg.lstsq(features / lengths, targets, rcond=None)[0]
    worst = 1e-13 * condition * np.abs(whole).max()
    np.testing.assert_allclose(folded, whole, atol=worst)
    values = np.linalg.svd(r, compute_uv=False)
    expected = np.linalg.svd(features / lengths, compute_uv=False)
    np.testing.assert_allclose(values, expected, atol=1e-13 * expected[0])


@pytest.mark.parametrize("kind", ["zero column", "equal columns", "late column"])
def test_rows_that_a_factor_cannot_be_preconditioned_for(
    modules: dict[str, Any], updates: list[bool], kind: str
) -> None:
    features, targets = problem(2000, WIDTH)
    if kind == "zero column":
        features[:, 7] = 0.0
    elif kind == "equal columns":
        features[:, 7] = features[:, 200]
    else:
        features[:1000, 7] *= 1e-9  # next to nothing in the first block
    factor = modules["triangles"].fold(blocks(features, targets, 1000))
    if kind != "equal columns":  # where a rounding error may do
        assert not all(updates)
    rows = np.concatenate([features, targets], axis=1)
    np.testing.assert_allclose(factor.T @ factor, rows.T @ rows, atol=1e-9)


@pytest.mark.parametrize(("n", "p"), [(1, 1), (3, 5), (40, 3), (500, 256)])
def test_narrow_factors_are_lapacks(modules: dict[str, Any], n: int, p: int) -> None:
    features, targets = problem(n, p)
    factor = modules["triangles"].fold([(features, targets)])
    rows = np.concatenate([features, targets], axis=1)
    np.testing.assert_array_equal(factor, np.linalg.qr(rows, mode="r"))


def test_no_rows_are_refused(modules: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="no rows"):
        modules["triangles"].fold([])


@pytest.mark.parametrize("dependent", [False, True])
def test_models_of_many_terms_are_those_of_singular_values(
    modules: dict[str, Any], dependent: bool
) -> None:
    """Also where some singular values count as zero."""
    stlsq = modules["stlsq"]
    features, targets = problem(400, 60)
    if dependent:
        features[:, 50] = features[:, 3] - 2 * features[:, 9]
    factor = modules["triangles"].fold([(features, targets)])
    regression = stlsq.Regression(factor, 400, 60, mixed_units=True)
    masks = np.random.default_rng(2).random((8, 60)) < 0.9
    masks[:, [3, 9, 50]] = True
    paths = stlsq.Paths(
        np.arange(8) % 2, np.zeros(8), np.zeros(8), masks, np.zeros(8, dtype=np.intp)
    )
    models = regression.refits(masks, paths)
    cut = np.finfo(np.float64).eps * 400
    for model, mask, target in zip(models, masks, paths.target, strict=True):
        scaled = features[:, mask] * regression._scale[mask]
        expected = np.linalg.lstsq(scaled, targets[:, target], rcond=cut)[0]
        np.testing.assert_allclose(model[mask], expected * regression._scale[mask], atol=1e-10)
        assert not model[~mask].any()


class Terms:
    """All terms for every library."""

    def __init__(self, p: int) -> None:
        self.p = p

    def columns(self, library: Any) -> Any:
        return np.arange(self.p) < library


@pytest.mark.parametrize("longest", [5, 12, 60])
def test_long_models_are_left_unfitted_but_for_the_shortest(
    modules: dict[str, Any], longest: int
) -> None:
    stlsq = modules["stlsq"]
    features, targets = problem(300, 40)
    regression = stlsq.Regression.of(features, targets)
    settings = [stlsq.Stlsq(p, 1e-5, 1e-9) for p in (10, 20, 40)]
    every = regression.models(Terms(40), settings)[0]
    some = regression.models(Terms(40), settings, longest=longest)[0]
    np.testing.assert_array_equal(some != 0, every != 0)
    fitted = [np.isfinite(each).all() for each in some]
    assert fitted == [True, longest == 60, longest == 60]
    for ours, theirs, is_fitted in zip(some, every, fitted, strict=True):
        if is_fitted:
            np.testing.assert_array_equal(ours, theirs)
