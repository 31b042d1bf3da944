from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from harness import ROOT

from eqverdict import parse
from mdbench.datatypes.ode.simulation import Ending, answer, compiled, simulate, trajectory_r2
from mdbench.datatypes.ode.systems import SOLVER, integrate, read_system
from mdbench.errors import DataError

T = np.linspace(0.0, 2.0, 21)


def test_a_closed_form() -> None:
    true = np.stack([np.exp(-T), np.cos(T), -np.sin(T)], axis=-1)
    found = simulate(["-u0", "u2", "-u1"], T, true)
    assert found.ended is Ending.WHOLE
    assert found.r2 == pytest.approx(1.0, abs=1e-6)


def test_a_wrong_rate_has_the_r2_of_its_closed_form() -> None:
    true = np.exp(-T)[:, None]
    wrong = np.exp(-2 * T)[:, None]
    wanted = 1 - np.sum((true - wrong) ** 2) / np.sum((true - true.mean()) ** 2)
    assert simulate(["-2*u0"], T, true).r2 == pytest.approx(wanted, abs=1e-4)


@pytest.mark.parametrize(
    ("equation", "ended"),
    [
        ("u0**2 + 1", Ending.BLEW_UP),  # tan(t + pi/4) has a pole at 0.79
        ("exp(exp(u0))", Ending.BLEW_UP),
        ("log(-u0)", Ending.BLEW_UP),
        ("(-u0)**0.5", Ending.BLEW_UP),
        ("1/(u0 - 1)", Ending.BLEW_UP),
        ("-1e3*sign(u0 - 0.5)", Ending.STIFF),
    ],
)
def test_failures_have_names(equation: str, ended: Ending) -> None:
    found = simulate([equation], T, np.exp(T)[:, None])
    assert (found.r2, found.ended) == (None, ended)


def test_what_would_run_without_end_is_killed() -> None:
    slow = " + ".join(["sin(u0)"] * 4_000)
    # It oscillates so fast that the solver goes in small steps, each of which is slow.
    equations = [f"1e6*cos(1e4*u1) + 1e-9*({slow})", "1"]
    states = np.stack([np.exp(T), T], axis=-1)
    # A fast machine makes all the evaluations that it may in that time.
    found = simulate(equations, T, states, evaluations=10**9)
    assert found.ended is Ending.LATE
    assert simulate(["-u0"], T, np.exp(-T)[:, None]).ended is Ending.WHOLE


def test_the_true_systems_come_back_to_their_data() -> None:
    """All but those where the truth itself says nothing: see docs/scoring.md."""
    below = []
    for path in sorted(Path(ROOT, "datasets", "ode").glob("*.toml")):
        system = read_system(path)
        for k, start in enumerate(system.initial_conditions[:2]):
            t, u, _ = integrate(system, start)
            rows = slice(120, None) if k == 0 else slice(None)
            found = simulate(system.truth, t[rows], u[rows])
            assert found.ended is Ending.WHOLE
            if found.r2 is None or found.r2 < 0.999:
                below.append((system.id, k))
    assert sorted(below) == [("I12", 0), ("I55", 1), ("I6", 0)]


@pytest.mark.parametrize(
    ("equation", "ended", "fewest", "most"),
    [
        ("u0**2", Ending.BLEW_UP, 5, 11),  # infinite at t = 1
        ("log(1.2 - u0)", Ending.WHOLE, 30, 30),  # never comes to u0 = 1.2
        ("1 + sqrt(1.2 - u0)", Ending.BLEW_UP, 1, 29),  # undefined from u0 = 1.2 on
        ("exp(exp(exp(u0)))", Ending.BLEW_UP, 1, 5),
    ],
)
def test_the_states_are_kept_as_far_as_it_came(
    equation: str, ended: Ending, fewest: int, most: int
) -> None:
    done = simulate([equation], np.linspace(0, 3, 30), np.ones((30, 1)))
    assert done.ended is ended
    assert fewest <= len(done.states) <= most
    assert np.isfinite(done.states).all()
    assert (done.r2 is None) == (ended is not Ending.WHOLE)


def test_a_simulation_ends_after_so_many_evaluations() -> None:
    t, true = np.linspace(0, 1000, 1000), np.tile([0.0, 1.0], (1000, 1))
    done = simulate(["u1", "-u0"], t, true, evaluations=500)
    assert (done.ended, done.evaluations) == (Ending.STIFF, 500)
    assert 10 < len(done.states) < 500


def test_an_unfit_start_is_no_error() -> None:
    with pytest.raises(DataError):
        integrate(read_system(ROOT / "datasets" / "ode" / "gompertz-law-tumor-growth.toml"), [-1.0])
    assert simulate(["u0*log(u0)"], T, -np.ones((21, 1))).ended is Ending.BLEW_UP


@pytest.mark.parametrize(
    "text",
    [
        "-u0*u1 + 2/(1 + exp(u1))",
        "+".join(f"{i}.5*u0 - u1" for i in range(300)),
        "*".join(["u0"] * 30) + "/u1/u1",
        "tanh(u0) + asinh(u1) + acosh(u0 + 1) + atanh(0.1*u0) + cot(u1) + tan(u0)",
        "asin(0.1*u0) + acos(0.2*u1) + atan(u0) + sinh(u1) + cosh(u0) + sqrt(u1) + log(u0)",
        "max(u0, u1)*min(u0, u1) + abs(-u0) + sign(-u1) + sign(0*u0) + square(u0) - cube(u1)",
        "1/(1 + exp(1000*u0)) + exp(-1000*u1)",
        "u0**-2 - -u1**0.5 + 2**u0",
        "floor(u0 + 2*u1) - floor(-u0)/3",
    ],
)
def test_compiled_equations_have_the_values_of_the_grammar(text: str) -> None:
    state = {"u0": np.array([1.3]), "u1": np.array([0.7])}
    wanted = parse(text, state).evaluate(state)[0]
    assert compiled([text, "u0"])(1.3, 0.7)[0] == pytest.approx(wanted, rel=1e-12)


def test_r2() -> None:
    true = np.array([[0.0, 1.0], [1.0, 3.0], [2.0, 8.0]])
    # By hand: the means are 1 and 4, the variances' sums 2 and 26.
    assert trajectory_r2(true + [[1.0, 0.0]] * 3, true) == pytest.approx(1 - 3 / 28)
    assert trajectory_r2(np.full((3, 2), 1e300), true) is None
    flat = np.ones((3, 1))
    assert (trajectory_r2(flat, flat), trajectory_r2(flat + 1e-9, flat)) == (1.0, 0.0)


OTHERWISE = """
real = simulation.import_module
def laid_out_otherwise(name):
    if name.endswith({end!r}):
        raise ImportError(name)
    return real(name)
simulation.import_module = laid_out_otherwise
"""


@pytest.mark.parametrize(
    ("before", "is_whole"),
    [
        ("", False),
        ("import scipy.integrate", True),
        (OTHERWISE.format(end="_ode"), True),
        (OTHERWISE.format(end="lsoda"), True),
    ],
)
def test_the_solver_is_the_same_however_much_of_scipy_is_loaded(
    before: str, *, is_whole: bool
) -> None:
    question = {
        "equations": ["10*(u1 - u0)", "u0*(28 - u2) - u1", "u0*u1 - 8/3*u2"],
        "t": np.linspace(0, 3, 40).tolist(),
        "start": [1.0, 2.0, 3.0],
        "limit": 1e6,
        "evaluations": 20_000,
        "solver": {name: value for name, value in SOLVER.items() if name != "method"},
    }
    lines = [
        "import json",
        "from mdbench.datatypes.ode import simulation",
        before,
        "simulation.prepare()",
        f"found = simulation.answer({question!r})",
        "import scipy.integrate, scipy.sparse",
        "assert scipy.sparse.coo_matrix([[1.0]]).nnz == 1",
        "print(json.dumps([found, hasattr(scipy.integrate, 'quad')]))",
    ]
    done = subprocess.run(
        [sys.executable, "-c", "\n".join(lines)],
        check=True,
        capture_output=True,
        text=True,
        cwd=ROOT,
    )
    found, whole = json.loads(done.stdout)
    assert whole is is_whole
    assert found == json.loads(json.dumps(answer(question)))
