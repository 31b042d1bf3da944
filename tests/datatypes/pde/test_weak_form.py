"""Fields in weak form, as candidates are compared with them: against closed forms."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pytest

from eqverdict import parse
from mdbench.data.field import Field, FieldColumns
from mdbench.data.noise import add_noise
from mdbench.datatypes.pde.weak_form import WeakWindows, smoothed_field

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[np.float64]


def travelling(n_x: int = 96, n_t: int = 60, *, periodic: bool = True, axes: int = 1) -> Field:
    """``u_t = -0.7 u_x - 0.4 u`` in closed form, alike along any further axis."""
    grid = {axis: np.arange(n_x) * 5.0 / n_x for axis in "xyz"[:axes]}
    t = np.linspace(0, 2, n_t)
    *places, T = np.meshgrid(*grid.values(), t, indexing="ij")
    angle = 2 * np.pi / 5 * (places[0] - 0.7 * T)
    u = np.exp(-0.4 * T) * (np.sin(angle) + 0.3 * np.cos(3 * angle + 1))
    for further in places[1:]:
        u = u * (1.2 + np.cos(2 * np.pi / 5 * further))
    return Field(t, grid, u[..., None], periods=dict.fromkeys(grid, 5.0) if periodic else {})


def held_against(given: Field, *equations: str) -> tuple[WeakWindows, list[float]]:
    smoothed = smoothed_field(given).field
    columns = FieldColumns(replace(smoothed, du=None))
    evidence = WeakWindows.of(given, smoothed.u, columns, tuple(range(given.dim)))
    read = [parse(text, tuple(columns)) for text in equations]
    return evidence, [evidence.loss(each.evaluate(columns), 0) for each in read]


@pytest.mark.parametrize("periodic", [True, False])
@pytest.mark.parametrize("axes", [1, 2])
def test_the_law_leaves_next_to_nothing_of_clean_data(axes: int, *, periodic: bool) -> None:
    given = travelling(40 if axes == 2 else 96, periodic=periodic, axes=axes)
    evidence, (law, nothing, wrong) = held_against(given, "-0.7*u0_x - 0.4*u0", "0", "-0.7*u0_x")
    assert nothing == pytest.approx(1)
    assert law < 1e-6
    assert wrong > 1e-3
    assert evidence.floors[0] < 1e-6


@pytest.mark.parametrize("level", [40.0, 20.0])
def test_the_law_leaves_about_what_noise_does(level: float) -> None:
    """And a law with another speed, or without a small term, more."""
    clean = travelling()
    given = replace(clean, u=add_noise(clean.u, name="travelling", snr_db=level, seed=0))
    evidence, (law, slower, short) = held_against(
        given, "-0.7*u0_x - 0.4*u0", "-0.6*u0_x - 0.4*u0", "-0.7*u0_x"
    )
    assert 0.1 < law / evidence.floors[0] < 10
    assert min(slower, short) > 5 * law


def test_windows_are_wider_under_noise() -> None:
    clean = travelling()
    noisy = replace(clean, u=add_noise(clean.u, name="travelling", snr_db=20.0, seed=0))
    (sharp, _), (wide, _) = held_against(clean, "0"), held_against(noisy, "0")
    for narrow_rows, wide_rows in zip(sharp.along[0], wide.along[0], strict=True):
        count = [np.count_nonzero(np.abs(rows[0]) > 1e-9) for rows in (narrow_rows, wide_rows)]
        assert count[0] <= count[1]


def test_each_state_has_windows_of_its_own() -> None:
    """A smooth state next to a rough one is not looked at through windows as narrow."""
    x, t = np.arange(96) * 2 * np.pi / 96, np.linspace(0, 2, 40)
    rough = np.sin(9 * x[:, None] - t) + np.cos(x[:, None])
    u = np.stack([rough, np.sin(x[:, None] + t)], axis=-1)
    clean = Field(t, {"x": x}, u, periods={"x": 2 * np.pi})
    noisy = replace(clean, u=add_noise(u, name="two", snr_db=30.0, seed=0))
    evidence, _ = held_against(noisy, "0")
    first, second = (rows[0] for rows in evidence.along)
    assert len(first) > len(second)


def test_short_axes_and_few_times_are_enough() -> None:
    x, y, t = np.linspace(0, 1, 12), np.linspace(0, 1, 3), np.linspace(0, 1, 9)
    X, Y, T = np.meshgrid(x, y, t, indexing="ij")
    given = Field(t, {"x": x, "y": y}, (np.sin(2 * X - T) + Y)[..., None])
    _, (law, nothing) = held_against(given, "-0.5*u0_x", "0")
    assert law < 0.05 * nothing
