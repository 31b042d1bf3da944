"""Fields in weak form, as candidates are compared with them: against closed forms."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pytest

from eqverdict import parse
from mdbench.data.field import Field, FieldColumns
from mdbench.data.noise import add_noise
from mdbench.datatypes.equations.shared_terms import loss_from_terms
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


_FIELDS = [(96, 1, True), (96, 1, False), (40, 2, True), (40, 2, False)]


@pytest.mark.parametrize("level", [None, 40.0, 10.0])
@pytest.mark.parametrize(("n_x", "axes", "periodic"), _FIELDS)
def test_a_loss_from_shared_terms_is_that_of_the_whole_sum(
    n_x: int, axes: int, level: float | None, *, periodic: bool
) -> None:
    field = travelling(n_x, periodic=periodic, axes=axes)
    if level:
        field = replace(field, u=add_noise(field.u, name="travelling", snr_db=level, seed=0))
    names = ["u0", "u0^2", "u0_x", "u0_xx", "u0*u0_x", "sin(u0)", "1", "u0^3"]
    rng = np.random.default_rng(0)
    texts = [
        " + ".join(
            f"{rng.normal() * 10.0 ** rng.integers(-3, 4)}*{names[k]}"
            for k in rng.choice(len(names), rng.integers(1, 6), replace=False)
        )
        for _ in range(40)
    ]
    evidence, whole = held_against(field, *texts)
    shared = [loss_from_terms(parse(text, tuple(evidence.columns)), 0, evidence) for text in texts]
    assert all(loss is not None for loss in shared)
    np.testing.assert_allclose(np.array(shared, float), whole, rtol=1e-9)


def test_where_large_terms_cancel_the_whole_sum_is_evaluated() -> None:
    columns = travelling()
    evidence, _ = held_against(columns)
    names = tuple(evidence.columns)
    tiny = parse("1e12*u0 - 0.7*u0_x", names)
    assert loss_from_terms(tiny, 0, evidence) is not None
    # A writing of 0 with large terms: rounding is no longer far below what is left.
    for size, known in ((1e-3, True), (1.0, True), (1e9, False), (1e12, False)):
        text = f"-0.7*u0_x + {size}*sin(u0)*sin(u0) + {size}*cos(u0)*cos(u0) - {size}"
        assert (loss_from_terms(parse(text, names), 0, evidence) is not None) is known
    assert loss_from_terms(parse("exp(u0)", names), 0, evidence) is None
    assert loss_from_terms(parse("1e99*u0^2 + 1e120*u0", names), 0, evidence) is None
