"""Samples that are the solver's and not the equations': they are seen, named and refused."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
import pytest
import sweeps
from harness import ROOT
from scipy.integrate import solve_ivp

from mdbench.datatypes.equations.files import Suites
from mdbench.datatypes.facts import Protocol
from mdbench.datatypes.ode import FACTS
from mdbench.datatypes.ode.accuracy import (
    CHECKED,
    EXACT,
    checked_trajectory,
    digest,
    errors,
    exact_until,
)
from mdbench.datatypes.ode.datasets import OdeSystems
from mdbench.datatypes.ode.systems import integrate, read_system
from mdbench.errors import DataError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

FOLDER = ROOT / "datasets" / "ode"
SYSTEMS = Suites(FOLDER, read_system, FACTS.order)
GROWTH = """
id = "G"
title = "Growth"
description = "A state that grows from a number below the tolerance"
source = "closed form"
initial_conditions = [[{start}]]
end = 3.0
samples = 50
{more}
[variables]
u0 = "state"

[equations]
u0_t = "8 * u0 * (1 - u0)"
"""


def _system(folder: Path, start: float, more: str = "") -> Path:
    path = folder / "growth.toml"
    path.write_text(GROWTH.format(start=start, more=more), encoding="utf-8")
    return path


def test_errors_are_those_of_the_closed_form(tmp_path: Path) -> None:
    """A logistic curve from 1e-10 with an absolute tolerance of 1e-6."""
    system = read_system(_system(tmp_path, 1e-10, "tolerances = [1e-6, 1e-6]"))
    t, u, _ = integrate(system)
    exact = 1 / (1 + (1 / 1e-10 - 1) * np.exp(-8 * t))
    off = np.abs(u[:, 0] - exact) / np.std(u[:, 0])
    assert off.max() > EXACT
    np.testing.assert_allclose(errors(system, 0, u), off, atol=0.05 * off.max())


def test_samples_of_the_solver_are_refused_with_the_line_to_write(tmp_path: Path) -> None:
    path = _system(tmp_path, 1e-12, "tolerances = [1e-4, 1e-5]")
    system = read_system(path)
    with pytest.raises(DataError, match=r"start 1 the solver's error reaches 10%") as caught:
        checked_trajectory(system, 0, tmp_path / "none")
    line = str(caught.value.hint).split(" into ")[0].removeprefix("Write ")
    marked = read_system(_system(tmp_path, 1e-12, f"tolerances = [1e-4, 1e-5]\n{line}"))
    assert 0 <= marked.exact_until[0] < 3.0
    assert np.array_equal(checked_trajectory(marked, 0, tmp_path / "none").u, integrate(system)[1])
    (tmp_path / CHECKED).write_text(digest(system), encoding="utf-8")
    assert np.array_equal(checked_trajectory(system, 0, tmp_path).u, integrate(system)[1])
    with pytest.raises(DataError):
        checked_trajectory(
            read_system(_system(tmp_path, 1.1e-12, "tolerances = [1e-4, 1e-5]")), 0, tmp_path
        )
    exact = read_system(_system(tmp_path, 1e-12, "tolerances = [1e-11, 1e-22]"))
    assert exact_until(exact, 0) == 3.0


@pytest.mark.parametrize("key", ["tolerances = [1e-9]", "exact_until = [0]", "exact_until = 3"])
def test_a_bad_value_is_named(tmp_path: Path, key: str) -> None:
    with pytest.raises(DataError, match=key.split(maxsplit=1)[0]):
        read_system(_system(tmp_path, 0.1, key))


def _ours() -> Iterator[str]:
    yield from SYSTEMS


def test_each_system_that_is_not_compared_again_was_compared() -> None:
    """Whoever changes a system runs all of the next test, and then writes the file's new lines."""
    digests = sorted(digest(SYSTEMS[name]) for name in SYSTEMS)
    file = FOLDER / CHECKED
    assert file.read_text(encoding="utf-8").split() == digests, "\n".join(digests)


@pytest.mark.parametrize("name", sweeps.sampled(_ours(), share=0.03))
def test_data_are_those_of_the_equations_as_far_as_the_file_says(name: str) -> None:
    """By a method of order 8 and not by LSODA, to ten times the error that a file is marked by."""
    system = SYSTEMS[name]
    for number, start in enumerate(system.initial_conditions):
        t, u, _ = integrate(system, start)
        with np.errstate(all="ignore"):
            exact = solve_ivp(
                *(system.right_hand_side, (0.0, system.end), start),
                method="DOP853",
                t_eval=t,
                rtol=3e-13,
                atol=1e-24,
            ).y.T
        until = system.exact_until[number] if system.exact_until else math.inf
        off = np.sqrt(np.mean(((u - exact) / np.maximum(np.std(u, axis=0), 1e-300)) ** 2, axis=1))
        assert off[t <= until].max() <= 10 * EXACT


def test_the_record_and_the_list_say_from_when_samples_are_the_solvers(tmp_path: Path) -> None:
    source = OdeSystems(FOLDER, tmp_path)
    name = "lorenz-equations-chaotic"
    until = SYSTEMS[name].exact_until
    assert f"{until[0]:g} and {until[1]:g}" in source.title(name)
    dataset = source.load(name, snr_db=None, seed=0, protocol=Protocol.STRICT)
    assert dataset.exact_until == until
