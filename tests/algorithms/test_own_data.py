"""Methods on data in units of a user's: what is found for one size and place is found for all."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from harness import imported
from own_data import Found, integrated, solved, table
from sweeps import sampled

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from numpy.typing import NDArray

    Array = NDArray[np.float64]

METHODS = ("sindy", "esindy", "rk4sindy", "integral", "pysindy")
POWERS = range(-12, 13)
SHIFTS = (0.0, 1.0, -30.0, 1e3, -1e5, 1e6)
"""In deviations of the states."""
SYSTEMS = {
    "spring": (lambda _, u: [u[1], -9 * u[0]], [0.8, 0.0], 6, 200),
    "prey": (
        lambda _, u: [1.1 * u[0] - 0.4 * u[0] * u[1], -0.4 * u[1] + 0.1 * u[0] * u[1]],
        [10.0, 5.0],
        15,
        300,
    ),
    "growth": (lambda _, u: [0.8 * u[0] * (1 - u[0] / 10)], [0.5], 10, 100),
}


@pytest.fixture(scope="module", params=METHODS)
def method(request: pytest.FixtureRequest) -> Iterator[tuple[str, Any]]:
    with imported(request.param) as module:
        yield request.param, module


def found_on(
    folder: Path, method: tuple[str, Any], system: str, *, power: int, shift: float
) -> tuple[Found, Array, Array]:
    """Return the answer, the states, and their true rates."""
    slope, start, end, n = SYSTEMS[system]
    t = np.linspace(0, end, n)
    plain = integrated(slope, start, t)
    size = 10.0**power
    u = size * (plain + shift * np.std(plain, axis=0))
    rates = size * np.array([slope(0.0, row) for row in plain])  # type: ignore[no-untyped-call]
    path = table(folder / "a.csv", {"t": t, **{f"x{i}": u[:, i] for i in range(u.shape[1])}})
    name, module = method
    return solved(module, name, path), u, rates


@pytest.mark.parametrize(
    ("method", "system", "power", "shift"),
    [
        case
        for seed, name in enumerate(METHODS)  # each method has cases of its own
        for case in sampled(product([name], SYSTEMS, POWERS, SHIFTS), seed, share=0, least=1)
    ],
    indirect=["method"],
)
def test_equations_are_found_in_any_unit_and_place(
    tmp_path: Path, method: tuple[str, Any], system: str, power: int, shift: float
) -> None:
    found, u, rates = found_on(tmp_path, method, system, power=power, shift=shift)
    assert found.nmse < 1e-6
    names = {f"u{i}": u[:, i] for i in range(u.shape[1])}
    for text, rate in zip(found.equations, rates.T, strict=True):
        value = eval(text, {"exp": np.exp, "sin": np.sin, "cos": np.cos}, names)
        assert np.sqrt(np.mean((value - rate) ** 2) / np.mean(rate**2)) < 1e-3
    assert found.scores["r2_test"] > 0.99
    assert "constant" not in found.notes


def test_noisy_data_of_any_unit_have_the_same_errors(
    tmp_path: Path, method: tuple[str, Any]
) -> None:
    slope, start, end, n = SYSTEMS["prey"]
    t = np.linspace(0, end, n)
    u = integrated(slope, start, t)
    u = u * (1 + 0.01 * np.random.default_rng(0).standard_normal(u.shape))
    name, module = method
    errors = []
    for power in (0, -9):
        x, y = (u * 10.0**power).T
        path = table(tmp_path / "a.csv", {"t": t, "x": x, "y": y})
        errors.append(solved(module, name, path).nmse)
    assert errors[0] < 0.05
    np.testing.assert_allclose(errors, errors[0], rtol=1e-3)
