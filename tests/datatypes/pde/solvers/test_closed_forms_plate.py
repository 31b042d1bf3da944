"""The plate under a beam against its equation, its boundary, and finite elements."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from mdbench.data.derivatives import accurate_derivative
from mdbench.datatypes.pde.solvers.closed_forms import Modes, heated_plate
from mdbench.datatypes.pde.solvers.elements import heated_slab

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

AXES = [np.linspace(0.0, 1.0, 41), np.linspace(0.0, 1.2, 41), np.linspace(0.0, 0.2, 9)]
TRANSFER, AMBIENT, POWER, NARROWNESS, CAPACITY, CONDUCTIVITY = 0.02, 300.0, 50.0, 20.0, 2.0, 0.08


def quiet(part: float) -> None:
    assert 0 <= part <= 1


def beam(t: Array) -> tuple[Array, Array]:
    return 0.5 + 0.1 * np.sin(t), 0.5 + 0.2 * t


def plate(dt: float, n_steps: int, substeps: int) -> tuple[Array, Array]:
    return heated_plate(
        AXES,
        dt,
        n_steps,
        capacity=CAPACITY,
        conductivity=CONDUCTIVITY,
        transfer=TRANSFER,
        ambient=AMBIENT,
        power=POWER,
        narrowness=NARROWNESS,
        beam=beam,
        substeps=substeps,
        progress=quiet,
    )


def test_modes_cool_at_both_ends_and_are_orthogonal() -> None:
    modes = Modes.of(0.3, 2.0, 0.7, 9)
    h = 1e-5
    for end, outward in ((0.3, -1), (2.3, 1)):
        value = modes.at(np.array([end]))[0]
        slope = np.diff(modes.at(np.array([end - h, end + h])), axis=0)[0] / (2 * h)
        np.testing.assert_allclose(outward * slope, -0.7 * value, atol=1e-6)
    np.testing.assert_allclose(modes.shares(lambda place: modes.at(place).T), np.eye(9), atol=1e-12)
    assert (np.diff(modes.waves) > 0).all()


def test_the_plate_solves_its_equation_at_every_node() -> None:
    u, u_t = plate(0.01, 60, 4)
    t = 0.01 * np.arange(1.0, 61.0)
    middle = slice(20, 40)
    rate = accurate_derivative(u, t, 3, 1)
    np.testing.assert_allclose(u_t[..., middle], rate[..., middle], atol=1e-5)
    laplacian = sum(accurate_derivative(u, nodes, axis, 2) for axis, nodes in enumerate(AXES))
    x, y = beam(t)
    r2 = (AXES[0][:, None, None, None] - x) ** 2 + (AXES[1][:, None, None] - y) ** 2
    heat = POWER / CAPACITY * np.exp(-NARROWNESS * r2)
    expected = CONDUCTIVITY / CAPACITY * np.asarray(laplacian) + heat
    inside = (slice(4, -4), slice(4, -4), slice(2, -2), middle)
    size = float(np.abs(u_t).max())
    np.testing.assert_allclose(u_t[inside], expected[inside], atol=2e-3 * size)
    # Through a face flows what the air takes.
    slope = accurate_derivative(u, AXES[2], 2, 1)[:, :, [0, -1]] * np.array([[-1], [1]])
    taken = -TRANSFER / CONDUCTIVITY * (u[:, :, [0, -1]] - AMBIENT)
    np.testing.assert_allclose(slope, taken, atol=2e-2 * float(np.abs(taken).max()))


def test_shorter_steps_change_nothing() -> None:
    for a, b in zip(plate(0.05, 4, 3), plate(0.05, 4, 9), strict=True):
        np.testing.assert_allclose(a, b, atol=1e-8 * float(np.abs(b).max()))


def test_finite_elements_tend_to_the_plate() -> None:
    """The published way to make the data: of second order in space, of first in time."""
    exact = plate(0.4, 1, 8)[0][..., 0]

    def source(place: Array, t: float) -> Array:
        x, y = beam(np.asarray(t))
        r2 = (place[0] - x) ** 2 + (place[1] - y) ** 2
        return np.asarray(POWER * np.exp(-NARROWNESS * r2))

    errors = []
    for cells, steps in ((10, 10), (20, 40)):
        axes = [np.linspace(0, axis[-1], cells + 1) for axis in AXES[:2]]
        u = heated_slab(
            [*axes, AXES[2][:: 40 // cells]],
            0.4 / steps,
            steps,
            capacity=CAPACITY,
            conductivity=CONDUCTIVITY,
            transfer=TRANSFER,
            ambient=AMBIENT,
            source=source,
            source_at=0.5,
            progress=quiet,
        )[..., -1]
        every = 40 // cells
        errors.append(float(np.sqrt(np.square(u - exact[::every, ::every, ::every]).mean())))
    assert errors[1] < 0.02 * float(exact.max() - AMBIENT)
    assert errors[0] / errors[1] == pytest.approx(4, abs=0.6)
