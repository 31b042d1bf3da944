"""Problems of the view `field` that tests make themselves, from closed forms."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from mdbench.data.field import Field, feature_names
from mdbench.worker import Problem

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

AXES = "xyz"


def field_problem(t: Array, grid: list[Array], u: Array, du: Array | None) -> Problem:
    """Make a problem as the bench does: `u` is (n_x[, n_y[, n_z]], n_t, d)."""
    axes = dict(zip(AXES, grid, strict=False))
    arrays = {"t": t, **axes, "u": u}
    return Problem(
        view="field",
        variables=feature_names(Field(t, axes, u)),
        targets=tuple(f"u{i}_t" for i in range(u.shape[-1])),
        arrays=arrays if du is None else {**arrays, "du": du},
    )


def without_targets(problem: Problem) -> Problem:
    """Return what a method is to predict from."""
    arrays = {name: array for name, array in problem.arrays.items() if name != "du"}
    return Problem("field", problem.variables, problem.targets, arrays)


def cut(problem: Problem, times: slice) -> Problem:
    """Return some of the times."""
    arrays = {
        name: array[times] if name == "t" else array[..., times, :] if name[-1] == "u" else array
        for name, array in problem.arrays.items()
    }
    return Problem("field", problem.variables, problem.targets, arrays)


def burgers(n_x: int = 120, n_t: int = 60) -> Problem:
    """Two fronts that merge: ``u_t = -u u_x + 0.1 u_xx``, by the transformation of Hopf and Cole.

    With phi a sum of exp(-a x / 0.2 + a^2 t / 0.4), u is -0.2 phi_x / phi.
    """
    nu, speeds = 0.1, np.array([0.2, 0.7, 1.2])
    x, t = np.linspace(-3, 4, n_x), np.linspace(0, 2, n_t)
    X, T = np.meshgrid(x, t, indexing="ij")
    waves = np.exp(-speeds * X[..., None] / (2 * nu) + speeds**2 * T[..., None] / (4 * nu))
    phi = waves.sum(axis=-1)
    phi_x = (waves * -speeds / (2 * nu)).sum(axis=-1)
    phi_t = (waves * speeds**2 / (4 * nu)).sum(axis=-1)
    phi_xt = (waves * -(speeds**3) / (8 * nu**2)).sum(axis=-1)
    u = -2 * nu * phi_x / phi
    du = -2 * nu * (phi_xt / phi - phi_x * phi_t / phi**2)
    return field_problem(t, [x], u[..., None], du[..., None])


def spread(shape: tuple[int, ...], n_t: int, speed: float = 0.25) -> Problem:
    """A drop that spreads and drifts: ``u_t = -0.25 u_x + 0.5 (u_xx + ...)``, in 1D to 3D."""
    grid = [np.linspace(-3, 3, n) for n in shape]
    t = np.linspace(1, 2, n_t)
    *places, T = np.meshgrid(*grid, t, indexing="ij")
    places[0] = places[0] - speed * T
    square = sum(place**2 for place in places)
    u = T ** (-len(shape) / 2) * np.exp(-square / (2 * T))
    du = u * (-len(shape) / (2 * T) + square / (2 * T**2) + speed * places[0] / T)
    return field_problem(t, grid, u[..., None], du[..., None])


def rotation(n_x: int = 50, n_t: int = 40) -> Problem:
    """Waves of two states that exchange: ``u0_t = u1_x``, ``u1_t = u0_x + u0 * 0``."""
    x, t = np.linspace(0, 4, n_x), np.linspace(0, 1, n_t)
    X, T = np.meshgrid(x, t, indexing="ij")
    right, left = np.sin(2 * (X - T)), np.cos(3 * (X + T))
    d_right, d_left = -2 * np.cos(2 * (X - T)), -3 * np.sin(3 * (X + T))
    u = np.stack([right + left, left - right], axis=-1)
    du = np.stack([d_right + d_left, d_left - d_right], axis=-1)
    return field_problem(t, [x], u, du)
