"""Systems are read safely, and integrated to what MDBench's own files hold."""

from __future__ import annotations

import json
import pickle
import unicodedata
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import sympy
from sweeps import sampled

from mdbench.datatypes.ode.systems import integrate, read_system
from mdbench.errors import DataError

FOLDER = Path(__file__).parents[3] / "datasets" / "ode"
SYSTEMS = {system.id: system for system in map(read_system, FOLDER.glob("*.toml"))}
REFERENCE = json.loads((Path(__file__).parents[2] / "golden" / "odebench.json").read_text("utf-8"))
"""Numbers of MDBench's public datasets: index 0 is system I1."""

NUMBERED = [pytest.param(f"I{i}", each, id=each["name"]) for i, each in enumerate(REFERENCE, 1)]

PENDULUM = """
id = "X1"
title = "Pendulum"
description = "A pendulum"
source = "none"
initial_conditions = [[0.5, 0.0], [1.0, -0.5]]
[variables]
u0 = "angle"
u1 = "angular velocity"
[equations]
u0_t = "u1"
u1_t = "-g * sin(u0)"
[constants]
g = { value = 9.81, meaning = "gravity over length" }
"""


def write(folder: Path, text: str = PENDULUM, name: str = "pendulum") -> Path:
    path = folder / f"{name}.toml"
    path.write_text(text, encoding="utf-8")
    return path


def one_equation(folder: Path, equation: str, *, start: float = 1.0, constants: str = "") -> Path:
    return write(
        folder,
        f"""
        id = "X2"
        title = "T"
        description = "D"
        source = "S"
        initial_conditions = [[{start}]]
        variables = {{ u0 = "state" }}
        equations = {{ u0_t = {json.dumps(equation)} }}
        constants = {{ {constants} }}
        """,
    )


def test_the_63_systems_are_there_under_their_published_names() -> None:
    assert [SYSTEMS[f"I{i}"].name for i in range(1, 64)] == [each["name"] for each in REFERENCE]
    assert len(SYSTEMS) == 63
    assert [system.dim for system in SYSTEMS.values()].count(1) == 23


@pytest.mark.parametrize(("number", "reference"), NUMBERED)
def test_right_hand_sides_agree_with_the_reference(number: str, reference: dict[str, Any]) -> None:
    system = SYSTEMS[number]
    assert len(system.initial_conditions) == 2
    for u, du in zip(system.initial_conditions, reference["du_at_initial_conditions"], strict=True):
        np.testing.assert_allclose(system.right_hand_side(0.0, np.array(u)), du, rtol=1e-12)


@pytest.mark.parametrize(("number", "reference"), NUMBERED)
def test_truth_is_the_right_hand_side_with_its_constants(
    number: str, reference: dict[str, Any]
) -> None:
    system = SYSTEMS[number]
    states = sympy.symbols([f"u{i}" for i in range(system.dim)])
    for u, du in zip(system.initial_conditions, reference["du_at_initial_conditions"], strict=True):
        for text, value in zip(system.truth, du, strict=True):
            expression = sympy.sympify(text, locals={str(state): state for state in states})
            assert expression.free_symbols <= set(states)
            at = expression.subs(dict(zip(states, u, strict=True)))
            assert float(at) == pytest.approx(value, rel=1e-12)


@pytest.mark.parametrize(("number", "reference"), sampled(NUMBERED))
def test_trajectories_agree_with_the_reference(number: str, reference: dict[str, Any]) -> None:
    t, u, du = integrate(SYSTEMS[number])
    assert u.shape == du.shape == (150, SYSTEMS[number].dim)
    np.testing.assert_allclose(t, 10 * np.arange(150) / 149, rtol=1e-15)
    # Processors and releases of SciPy round differently.  What that makes of a chaotic system is
    # seen by moving its start by rounding errors.
    for seen, wanted in ((_last, "u_last"), (_sum_du2, "sum_du2_test")):
        value = seen(u, du)
        moved = [seen(*_moved(number, by)) for by in (-3, -2, -1, 1, 2, 3)]
        spread = max(np.max(np.abs(other - value)) for other in moved)
        np.testing.assert_allclose(value, reference[wanted], rtol=1e-7, atol=10 * spread)


def test_most_systems_are_not_chaotic() -> None:
    calm = [n for n in SYSTEMS if np.allclose(_last(*_moved(n, 1)), _last(*_moved(n, 0)), 1e-6)]
    assert len(calm) >= 50


def _moved(number: str, by: int) -> tuple[Any, Any]:
    start = np.array(SYSTEMS[number].initial_conditions[0]) * (1 + by * 2.3e-16)
    _, u, du = integrate(SYSTEMS[number], start.tolist())
    return u, du


def _last(u: Any, _du: Any) -> Any:
    return u[-1]


def _sum_du2(_u: Any, du: Any) -> Any:
    return np.sum(du[-30:] ** 2)


def test_the_solution_is_near_the_closed_form() -> None:
    system = SYSTEMS["I24"]
    omega = np.sqrt(system.constants["c0"])
    x, v = system.initial_conditions[1]
    t, u, du = integrate(system, system.initial_conditions[1])
    exact = x * np.cos(omega * t) + v / omega * np.sin(omega * t)
    np.testing.assert_allclose(u[:, 0], exact, atol=1e-3)
    np.testing.assert_array_equal(du[:, 0], u[:, 1])


def test_derivatives_of_a_series_are_those_of_its_samples() -> None:
    system = SYSTEMS["I35"]
    u = np.array([[1.13, 2.4, 0.2], [-0.3, 1.7, 0.9]])
    one_by_one = [system.right_hand_side(0.0, column) for column in u.T]
    np.testing.assert_allclose(system.right_hand_side(0.0, u).T, one_by_one, rtol=1e-14)


def test_a_constant_right_hand_side_holds_for_every_sample(tmp_path: Path) -> None:
    system = read_system(one_equation(tmp_path, "0.5"))
    np.testing.assert_array_equal(
        system.right_hand_side(0.0, np.ones((1, 4))), np.full((1, 4), 0.5)
    )


@pytest.mark.parametrize("equation", ["c**2 * u0", "u0**c", "-c - c", "1 - c*u0", "2 / c"])
def test_negative_constants_keep_their_sign_in_the_truth(tmp_path: Path, equation: str) -> None:
    path = one_equation(tmp_path, equation, constants='c = { value = -1.25, meaning = "m" }')
    (truth,) = read_system(path).truth
    assert "c" not in truth
    expected = eval(equation, {"u0": 3.5, "c": -1.25})
    assert eval(truth, {"u0": 3.5}) == expected


def test_names_are_composed_whatever_the_file_system_makes_of_them(tmp_path: Path) -> None:
    path = write(tmp_path, name=unicodedata.normalize("NFD", "rössler"))
    assert read_system(path).name == unicodedata.normalize("NFC", "rössler")


def test_the_recipe_changes_with_what_decides_the_arrays_and_with_nothing_else(
    tmp_path: Path,
) -> None:
    recipe = read_system(write(tmp_path)).recipe
    for old, new in (("9.81", "9.82"), ("[[0.5", "[[0.6"), ("sin(u0)", "sin(u1)")):
        assert read_system(write(tmp_path, PENDULUM.replace(old, new))).recipe != recipe
    for old, new in (("A pendulum", "Another"), ("[1.0, -0.5]", "[2.0, 3.0]"), ("angle", "tilt")):
        assert read_system(write(tmp_path, PENDULUM.replace(old, new))).recipe == recipe


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('id = "X1"', "", "'id' is missing"),
        ('id = "X1"', "id = 1", "id = 1 has to be a text"),
        ('title = "Pendulum"', 'title = " "', "title"),
        ('source = "none"', 'source = "none"\ncolour = "red"', "unknown key 'colour'"),
        ("[equations]", "[equation]", "'equations' is missing"),
        ("u1_t", "u2_t", "has the keys"),
        ('u1 = "angular velocity"', "", "has the keys"),
        ("[[0.5, 0.0]", "[[0.5]", "initial_conditions"),
        ("[[0.5, 0.0]", '[["a", 0.0]', "'a' has to be a finite number"),
        ("[[0.5, 0.0]", "[[nan, 0.0]", "nan has to be a finite number"),
        ("9.81", "inf", "constants.g.value = inf"),
        ("9.81", "true", "constants.g.value = True"),
        ('{ value = 9.81, meaning = "gravity over length" }', "9.81", "constants.g = 9.81"),
        ("g = {", "sin = {", "constants.sin"),
        ("g = {", "u7 = {", "constants.u7"),
        ("[constants]\ng =", "[[constants]]\ng =", "has to be a table"),
        ("[variables]", "[variables", "no readable TOML"),
    ],
)
def test_a_broken_file_is_refused_by_file_and_key(
    tmp_path: Path, old: str, new: str, message: str
) -> None:
    assert old in PENDULUM
    with pytest.raises(DataError) as caught:
        read_system(write(tmp_path, PENDULUM.replace(old, new)))
    assert "pendulum.toml" in str(caught.value)
    assert message in str(caught.value)


def test_a_missing_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"none\.toml"):
        read_system(tmp_path / "none.toml")


@pytest.mark.parametrize(
    "equation",
    [
        "__import__('os').system('true')",
        "(lambda: 1)()",
        "u0.real",
        "[u0][0]",
        "u0 if u0 else 1",
        "u0 < 1",
        "u1",
        "sin",
        "sin(u0, u0)",
        "sin(x=u0)",
        "open(u0)",
        "sin()(u0)",
        "'text'",
        "True * u0",
        "1j * u0",
        "u0 // 2",
        "u0 @ u0",
        "(y := u0)",
        "u0)",
        "",
        "u0, u0",
        "f'{u0}'",
    ],
)
def test_only_arithmetic_passes_the_whitelist(tmp_path: Path, equation: str) -> None:
    with pytest.raises(DataError) as caught:
        read_system(one_equation(tmp_path, equation))
    assert "u0_t" in str(caught.value)


def test_a_solution_that_does_not_reach_the_end_is_an_error(tmp_path: Path) -> None:
    system = read_system(one_equation(tmp_path, "-1 / u0**3"))
    with pytest.warns(UserWarning, match="lsoda"), pytest.raises(DataError, match="Unexpected"):
        integrate(system)


@pytest.mark.parametrize(("equation", "value"), [("u0**2", "inf"), ("-1 - 0.001 * log(u0)", "nan")])
def test_a_solution_that_leaves_the_domain_is_an_error(
    tmp_path: Path, equation: str, value: str
) -> None:
    system = read_system(one_equation(tmp_path, equation))
    with pytest.raises(DataError, match=rf"pendulum cannot .*: at t = .* du is \[{value}\]"):
        integrate(system)


def test_a_system_can_be_pickled_before_and_after_its_function_is_made() -> None:
    system = next(iter(SYSTEMS.values()))
    before = pickle.dumps(system)
    start = np.array(system.initial_conditions[0])
    rates = system.right_hand_side(0.0, start)
    for each in (before, pickle.dumps(system)):
        sent = pickle.loads(each)
        assert sent == system
        np.testing.assert_array_equal(sent.right_hand_side(0.0, start), rates)
