from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pytest
from house import ROOT

from mdbench.data.field import Field
from mdbench.datatypes import find
from mdbench.datatypes.base import Protocol
from mdbench.datatypes.pde import PdeDataset
from mdbench.solvers.ode import integrate, read_system

if TYPE_CHECKING:
    from pathlib import Path

STRICT = Protocol.STRICT


def test_an_ode_answer_is_compared_and_integrated(tmp_path: Path) -> None:
    ode = find("ode", ROOT / "datasets" / "ode", tmp_path)
    dataset = ode.source().load("lotka-volterra-simple", snr_db=20.0, seed=0, protocol=STRICT)
    task = ode.task(dataset, "table", STRICT)
    right = ode.fidelity(dataset, task, ["u0*(1.84 - 1.45*u1)", "1.62*u0*u1 - 3*u1"])
    assert right is not None
    found = right.as_json()
    assert (found["verdict"], found["f1"], found["edit_distance"]) == ("identified", 1.0, 0.0)
    # Noise is no matter: both trajectories are compared with the clean truth.
    assert found["simulation"]["r2"] > 0.999
    assert found["simulation"]["r2_unseen"] > 0.999
    assert (found["simulation"]["ended"], found["residual"]) == ("whole", None)
    other = ode.fidelity(dataset, task, ["u0**3", "1.62*u0*u1 - 3*u1 + 1e-6*u0"])
    assert other is not None
    found = other.as_json()
    assert found["verdict"] == "different"
    assert found["missing"] == ["u0_t: 1.84*u0", "u0_t: -1.45*u0*u1"]
    assert found["extra"] == ["u0_t: u0**3", "u1_t: 1e-06*u0"]
    assert found["negligible"] == ["u1_t: 1e-06*u0"]
    assert found["simulation"] == {"r2": None, "r2_unseen": None, "ended": "blew_up"}


def test_the_unseen_trajectory_is_that_of_the_second_initial_condition(tmp_path: Path) -> None:
    ode = find("ode", ROOT / "datasets" / "ode", tmp_path)
    dataset = ode.source().load("harmonic-oscillator", snr_db=None, seed=0, protocol=STRICT)
    system = read_system(ROOT / "datasets" / "ode" / "harmonic-oscillator.toml")
    _, u, _ = integrate(system, system.initial_conditions[1])
    made = dataset.unseen()  # type: ignore[attr-defined]
    assert np.array_equal(made.u, u)
    assert not np.array_equal(made.u, dataset.clean.u)  # type: ignore[attr-defined]


def test_without_a_truth_there_is_no_fidelity(tmp_path: Path) -> None:
    ode = find("ode", ROOT / "datasets" / "ode", tmp_path)
    dataset = ode.source().load("rc-circuit", snr_db=None, seed=0, protocol=STRICT)
    task = ode.task(dataset, "table", STRICT)
    assert ode.fidelity(replace(dataset, truth=None), task, ["u0"]) is None


def test_the_residual_of_a_pde_answer_is_on_clean_data(tmp_path: Path) -> None:
    """u = exp(-t) sin(x) solves u_t = u_xx: a coefficient c leaves (1 - c)**2."""
    x, t = np.linspace(0.0, 6.0, 121), np.linspace(0.0, 1.0, 101)
    u = (np.sin(x)[:, None] * np.exp(-t))[..., None]
    clean = Field(t, {"x": x}, u)
    noisy = replace(clean, u=u * 1.5)
    dataset = PdeDataset("heat", 1, 20.0, ("u0_xx",), "", "", given=noisy, clean=clean, explicit=())
    pde = find("pde", ROOT / "datasets" / "pde", tmp_path)
    task = pde.task(dataset, "field", STRICT)
    found = {c: pde.residual(dataset, task, [f"{c}*u0_xx"]) for c in (0.0, 0.5, 1.0)}
    assert found[0.0] == pytest.approx(1.0)
    assert found[0.5] == pytest.approx(0.25, rel=1e-2)
    assert found[1.0] is not None
    assert found[1.0] < 1e-4
    assert pde.residual(dataset, task, ["0"]) == pytest.approx(1.0)
    assert pde.simulation(dataset, task, ["0"]) is None


def test_the_default_is_the_comparison_alone(tmp_path: Path) -> None:
    srsd = find("srsd", ROOT / "datasets" / "srsd", tmp_path)
    name = next(iter(srsd.source().names()))
    dataset = srsd.source().load(name, snr_db=None, seed=0, protocol=STRICT)
    task = srsd.task(dataset, "table", STRICT)
    assert dataset.truth is not None
    found = srsd.fidelity(dataset, task, list(dataset.truth))
    assert found is not None
    shown = found.as_json()
    assert (shown["verdict"], shown["simulation"], shown["residual"]) == ("identified", None, None)
