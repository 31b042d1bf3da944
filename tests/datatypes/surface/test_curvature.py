"""Rows that are denser where a surface is curved."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from harness import ROOT
from scipy import stats

from mdbench.datatypes.facts import Protocol
from mdbench.datatypes.surface.curvature import curvature, draw_curved_rows
from mdbench.datatypes.surface.data_type import SurfaceType
from mdbench.datatypes.surface.problem import TrueSurface, read_surface
from mdbench.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from mdbench.datatypes.surface.datasets import SurfaceDataset

    Array = NDArray[np.float64]

SOURCE = SurfaceType(ROOT / "datasets" / "surface", Path("no-cache")).source()
STEPS = np.array([1e-3, 1e-3])


def load(name: str) -> SurfaceDataset:
    return SOURCE.load(name, snr_db=None, seed=0, protocol=Protocol.STRICT)


def graph(function: Callable[[Array, Array], Array]) -> Callable[[Array], Array]:
    return lambda x: np.column_stack([x, function(x[:, 0], x[:, 1])])


def sphere(x: Array) -> Array:
    u, v = x.T
    return 3 * np.column_stack([np.sin(u) * np.cos(v), np.sin(u) * np.sin(v), np.cos(u)])


@pytest.mark.parametrize(
    ("points", "expected"),
    [
        (graph(lambda x, y: 2 * x - y), lambda _x, _y: 0.0),
        (sphere, lambda _x, _y: 1 / 3),
        (  # a cylinder of radius 2 has the principal curvatures 1/2 and 0
            lambda x: np.column_stack([2 * np.cos(x[:, 0]), 2 * np.sin(x[:, 0]), x[:, 1]]),
            lambda _x, _y: np.sqrt(0.5) / 2,
        ),
        (  # z = x**2/2: z'' over the cube of the length of the tangent, and 0
            graph(lambda x, _: x**2 / 2),
            lambda x, _: np.sqrt(0.5) / (1 + x**2) ** 1.5,
        ),
    ],
)
def test_curvature_is_that_of_the_closed_form(points: Any, expected: Any) -> None:
    x = np.random.default_rng(2).uniform(0.3, 1.2, (50, 2))
    np.testing.assert_allclose(
        curvature(points, x, STEPS), expected(x[:, 0], x[:, 1]) + np.zeros(50), atol=1e-5
    )


def surface(tmp_path: Path, formula: str) -> TrueSurface:
    text = (ROOT / "datasets" / "surface" / "EBS1.toml").read_text(encoding="utf-8")
    path = tmp_path / "mine.toml"
    path.write_text(text, encoding="utf-8")
    made = read_surface(path)
    return replace(made, truth=(formula,))


def drawn(made: TrueSurface, n: int = 4000) -> Array:
    bands = [[ends] for ends in made.domain]
    return draw_curved_rows(made, bands, n, np.random.default_rng(1)).x


def test_a_plane_is_sampled_uniformly(tmp_path: Path) -> None:
    x = drawn(surface(tmp_path, "2*x - y"))
    for column in x.T:
        assert stats.kstest(column, stats.uniform(-5, 10).cdf).pvalue > 1e-3


@pytest.mark.parametrize("formula", ["exp(-(x**2 + y**2))", "1e9*exp(-(x**2 + y**2))", "abs(x)"])
def test_what_is_curved_has_more_rows_and_the_rest_half_of_the_uniform_ones_at_least(
    tmp_path: Path, formula: str
) -> None:
    x = drawn(surface(tmp_path, formula))
    near = np.abs(x[:, 0]) < 0.1 if "abs" in formula else np.linalg.norm(x, axis=1) < 2
    area = 0.02 if "abs" in formula else np.pi * 4 / 100
    assert near.mean() > 1.5 * area
    corner = (x > 3).all(axis=1).mean()  # flat, 4 % of the square
    assert 0.4 * 0.04 < corner < 0.04
    assert len(np.unique(x, axis=0)) == len(x)


@pytest.mark.parametrize("name", ["EBS1", "NACS3", "PMOS1", "LRDS6"])
def test_the_test_is_the_same_and_so_are_the_rows_each_time(name: str) -> None:
    usual, curved, again = load(name), load(f"{name}+curved"), load(f"{name}+curved")
    assert curved.fingerprint == again.fingerprint != usual.fingerprint
    np.testing.assert_array_equal(curved.test.x, usual.test.x)
    assert curved.beyond is not None
    assert usual.beyond is not None
    np.testing.assert_array_equal(curved.beyond.y, usual.beyond.y)
    assert curved.training.x.shape == usual.training.x.shape
    assert (curved.truth, curved.floor) == (usual.truth, usual.floor)


def test_implicit_surfaces_and_clouds_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="HDIS1 is implicit"):
        load("HDIS1+curved")
    points = tmp_path / "points.csv"
    rows = np.random.default_rng(0).uniform(0, 1, (60, 3))
    np.savetxt(points, rows, delimiter=",", header="x,y,z", comments="")
    own = SurfaceType(ROOT / "datasets" / "surface", tmp_path).source(points)
    with pytest.raises(UsageError, match="is a cloud"):
        own.load("points+curved", snr_db=None, seed=0, protocol=Protocol.STRICT)
