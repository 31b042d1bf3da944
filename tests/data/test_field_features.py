"""Features of a field against closed forms."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from mdbench.data.derivatives import space_derivative
from mdbench.data.field import Field, FieldColumns, feature_names, published_columns, unsupported

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[np.float64]


def field(*counts: int) -> Field:
    """Products of polynomials of degree 5 in each coordinate, and of the times; two states."""
    *nodes, n_t = counts
    grid = {axis: np.linspace(-0.5, 1, n) for axis, n in zip("xyz", nodes, strict=False)}
    t = np.linspace(1, 2, n_t)
    places = np.meshgrid(*grid.values(), t, indexing="ij")
    first = np.prod([1 + place**3 for place in places], axis=0)
    return Field(t, grid, np.stack([first, np.sin(places[0])], axis=-1))


def test_names_come_by_state_axis_and_order() -> None:
    assert feature_names(field(7, 7, 4))[:6] == ("u0", "u1", "u0_x", "u0_xx", "u0_xxx", "u0_xxxx")
    assert feature_names(field(7, 7, 4))[-1] == "u1_yyyy"
    assert len(feature_names(field(7, 7, 8, 4))) == 2 + 2 * 3 * 4
    assert feature_names(field(7, 4), ("x", "t"))[-2:] == ("x", "t")


def test_a_short_axis_loses_its_high_orders_only() -> None:
    names = feature_names(field(9, 6, 3, 4))
    assert [name for name in names if name.startswith("u0_")] == [
        *("u0_x", "u0_xx", "u0_xxx", "u0_xxxx"),
        *("u0_y", "u0_yy", "u0_yyy"),
        "u0_z",
    ]
    reasons = unsupported(field(9, 6, 3, 4))
    assert list(reasons) == ["yyyy", "zz", "zzz", "zzzz"]
    assert reasons["zz"] == ("unsupported: a derivative of order 2 takes 4 nodes, and z has 3")
    assert not unsupported(field(7, 4))


def test_each_feature_is_the_derivative_that_its_name_states() -> None:
    given = field(61, 41, 9, 4)
    columns = FieldColumns(given, ("y", "t"))
    x, y, z, t = np.meshgrid(*given.grid.values(), given.t, indexing="ij")
    exact = {
        "u0": (1 + x**3) * (1 + y**3) * (1 + z**3) * (1 + t**3),
        "u0_x": 3 * x**2 * (1 + y**3) * (1 + z**3) * (1 + t**3),
        "u0_yy": (1 + x**3) * 6 * y * (1 + z**3) * (1 + t**3),
        "u0_zzz": (1 + x**3) * (1 + y**3) * 6 * (1 + t**3),
        "u0_xxxx": np.zeros_like(x),
        "u1_xxx": -np.cos(x),
        "u1_y": np.zeros_like(x),
        "y": y,
        "t": t,
    }
    for name, value in exact.items():
        scale = max(1.0, float(np.abs(value).max()))
        np.testing.assert_allclose(columns[name], value, atol=4e-3 * scale, err_msg=name)
        assert columns[name].flags.c_contiguous
    assert set(columns) >= set(exact)
    assert len(columns) == len(list(columns)) == 2 + 2 * 12 + 2
    assert "x" not in columns
    with pytest.raises(KeyError):
        columns["u0_xxxxx"]


def test_periodic_axes_wrap_around_and_published_features_do_not() -> None:
    x, y, t = np.arange(16.0) / 16, np.linspace(0, 1, 9), np.arange(3.0)
    u = (np.sin(2 * np.pi * x)[:, None, None] * (1 + y**2)[:, None] * (1 + t))[..., None]
    given = Field(t, {"x": x, "y": y}, u, None, {"x": 1.0})
    exact = (-((2 * np.pi) ** 2) * u[..., 0]).astype(np.float64)
    np.testing.assert_allclose(FieldColumns(given)["u0_xx"], exact, atol=1e-10)
    off = np.abs(FieldColumns(given, second_order=True)["u0_xx"] - exact)
    assert off.max() > 0.1
    ends = [
        space_derivative(u[..., 0], nodes, axis, 2)
        for axis, nodes in enumerate(given.grid.values())
    ]
    for name, values in zip(("u0_xx", "u0_yy"), ends, strict=True):
        np.testing.assert_array_equal(FieldColumns(given, second_order=True)[name], values)


def test_no_time_influences_another() -> None:
    given = field(8, 6)
    changed = Field(given.t, given.grid, given.u.copy())
    changed.u[:, 3:] *= 7
    for name in feature_names(given):
        before, after = FieldColumns(given)[name], FieldColumns(changed)[name]
        np.testing.assert_array_equal(before[:, :3], after[:, :3])


def test_published_features_repeat_the_first_derivative() -> None:
    given = field(12, 8, 3, 4)
    columns = published_columns(given)
    assert list(columns)[:3] == ["u0", "u1", "u0_x"]
    assert [name for name in columns if "z" in name] == ["u0_zzzz", "u1_zzzz"]
    value = given.u[..., 0]
    for order in range(1, 5):
        value = np.gradient(value, given.grid["y"], axis=1, edge_order=2)
        np.testing.assert_allclose(columns["u0_" + "y" * order], value, atol=1e-6)
    once = np.gradient(given.u[..., 1], given.grid["z"], axis=2, edge_order=2)
    np.testing.assert_allclose(columns["u1_zzzz"], once, atol=1e-9)
