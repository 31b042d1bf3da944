"""Shapes of answers compared with true ones, why answers fail, and how their values are scored."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from harness import ROOT

from mdbench.datatypes.surface import scoring
from mdbench.datatypes.surface.clouds import (
    POINTS,
    Shape,
    floor_of,
    function_of,
    placed,
    true_points,
)
from mdbench.datatypes.surface.data_type import (
    WORST,
    _shape_notes,
    may_be_solution,
    pooled_nmse,
)
from mdbench.datatypes.surface.level_sets import gradient, newton
from mdbench.datatypes.surface.metrics import SHAPES, failure, families
from mdbench.datatypes.surface.problem import read_surface
from mdbench.metrics.spec import raised

BOX = ((-5.0, 5.0), (-5.0, 5.0))
PLANE = Shape("explicit", ("x", "y"), ("x",), BOX)
BALL = Shape("implicit", ("x", "y", "z"), ("x**2 + y**2 + z**2 - 4",), (*BOX, (-5.0, 5.0)))
TUBE = Shape("parametric", ("u", "v"), ("cos(u)", "sin(u)", "v"), ((-2.0, 2.0), (-2.0, 2.0)))


def shape_of(name: str) -> Shape:
    s = read_surface(ROOT / "datasets" / "surface" / f"{name}.toml")
    return Shape(s.representation, s.inputs, s.truth, s.domain, s.integers)


def compared(shape: Shape, *equations: str) -> dict[str, Any]:
    found = scoring.geometry(shape, equations)
    assert "error" not in found, found
    return found


def test_points_are_drawn_by_area() -> None:
    steep = Shape("explicit", ("x", "y"), ("10*(abs(x - 1) + x - 1)",), BOX)
    cloud = true_points(steep).cloud
    assert cloud.shape == (POINTS, 3)
    # Flat on six tenths of the square, and of slope 20 on the rest.
    expected = 6 / (6 + 4 * np.sqrt(401))
    assert np.mean(cloud[:, 0] < 1) == pytest.approx(expected, abs=0.01)
    np.testing.assert_allclose(cloud, placed(steep, steep.truth, cloud[:, :2]))


def test_a_shifted_plane_is_as_far_as_it_is_shifted() -> None:
    flat = Shape("explicit", ("x", "y"), ("0*x",), BOX)
    found = compared(flat, "0.25")
    assert found["raw"]["chamfer"] == pytest.approx(0.5, abs=1e-3)
    assert found["raw"]["hausdorff"] == pytest.approx(0.25, abs=1e-3)
    assert found["diagonal"] == pytest.approx(10 * np.sqrt(2), rel=1e-2)
    assert found["scaled"]["chamfer"] == pytest.approx(0.5 / found["diagonal"])
    # What a similarity transform undoes is no distance after it.
    assert found["aligned"]["hausdorff"] < 1e-9


def test_concentric_spheres() -> None:
    found = compared(BALL, "x**2 + y**2 + z**2 - 9")
    assert found["raw"]["chamfer"] == pytest.approx(2.0, abs=5e-3)
    assert found["raw"]["hausdorff"] == pytest.approx(1.0, abs=2e-2)
    assert found["aligned"]["chamfer"] == pytest.approx(floor_of(BALL) * found["diagonal"], rel=0.3)
    assert found["same"] is False


@pytest.mark.parametrize("name", ["NACS9", "PDS10", "DIGS7", "MOCS9", "PMOS22", "PMOS3"])
def test_the_truth_is_not_apart_from_itself(name: str) -> None:
    shape = shape_of(name)
    found = compared(shape, *shape.truth)
    assert found["coverage"] == 1.0
    for form in ("raw", "aligned", "scaled"):
        assert max(found[form].values()) <= 1e-12


@pytest.mark.parametrize("name", ["NACS9", "PMOS22", "DIGS7"])
def test_a_map_that_is_moved_a_little_does_not_tie_with_the_truth(name: str) -> None:
    shape = shape_of(name)
    assert floor_of(shape) == compared(shape, *shape.truth)["scaled"]["chamfer"] == 0.0
    *others, last = shape.truth
    moved = compared(shape, *others, f"{last} + 1e-4")["scaled"]["chamfer"]
    assert raised(moved, floor_of(shape), SHAPES[0]) == moved > 1e-7


@pytest.mark.parametrize("name", ["HDIS1", pytest.param("HDIS6", marks=pytest.mark.nightly)])
def test_an_implicit_truth_is_within_its_own_floor(name: str) -> None:
    shape = shape_of(name)
    found = compared(shape, *shape.truth)
    assert found["same"] is True
    assert 0 < found["scaled"]["chamfer"] <= 2 * floor_of(shape)
    assert floor_of(shape) < 0.03


@pytest.mark.parametrize(
    ("factor", "same"),
    [
        pytest.param("-3", True, marks=pytest.mark.nightly),
        ("1e-200", True),
        pytest.param("1e200", True, marks=pytest.mark.nightly),
        ("exp(x - y)", True),
        pytest.param("(2 + sin(z))", True, marks=pytest.mark.nightly),
        pytest.param("(x - 1)", False, marks=pytest.mark.nightly),
        ("(x - 1)**2", False),
    ],
)
def test_factors_change_nothing_unless_they_are_zero_somewhere(factor: str, *, same: bool) -> None:
    assert compared(BALL, f"{factor}*(x**2 + y**2 + z**2 - 4)")["same"] is same


def test_a_power_has_the_same_zeros() -> None:
    for power in (2, 3):
        assert compared(BALL, f"(x**2 + y**2 + z**2 - 4)**{power}")["same"] is True


def test_a_line_of_zeros_is_not_overlooked() -> None:
    # The truth is (x + y + z) times what is zero on the line x = y = z alone.
    assert compared(shape_of("HDIS1"), "x + y + z")["same"] is False


@pytest.mark.parametrize("equation", ["1", "x**2 + 1", "exp(x)", "0", "log(-1 - x**2)"])
def test_without_zeros_there_is_no_surface(equation: str) -> None:
    found = compared(BALL, equation)
    assert found["points"] == 0
    assert found["vanishes"] is (equation == "0")
    assert found["scaled"] == {"chamfer": 2.0, "hausdorff": 1.0, "hausdorff_95": 1.0}
    assert not found["same"]


def test_points_without_values_are_counted() -> None:
    assert compared(PLANE, "x + 0*log(y)")["coverage"] == pytest.approx(0.5, abs=0.02)
    found = compared(PLANE, "x + 0*log(y)")
    assert found["raw"]["chamfer"] > 0.5  # half of the truth is far from the answer
    nothing = compared(TUBE, "log(-1 - u**2)", "sin(u)", "v")
    assert nothing["coverage"] == 0.0
    assert nothing["scaled"]["chamfer"] == 2.0


def test_one_perfect_point_is_no_shape() -> None:
    cheat = "x + 0*sqrt(0.01 - x**2 - y**2)"
    found = compared(PLANE, cheat)
    assert found["coverage"] < 0.01
    assert found["scaled"]["chamfer"] > 0.2


@pytest.mark.parametrize(
    "equations", [("0", "0", "0"), ("1e200*u", "v", "u"), ("u**900", "v", "1")]
)
def test_answers_without_area_or_measure_are_compared(equations: tuple[str, ...]) -> None:
    found = compared(TUBE, *equations)
    for form in ("raw", "aligned", "scaled"):
        assert all(np.isfinite(value) for value in found[form].values())


def test_a_turned_and_grown_tube_is_aligned() -> None:
    found = compared(TUBE, "2*v + 1", "2*cos(u)", "2*sin(u) - 4")
    assert found["raw"]["chamfer"] > 1
    assert found["aligned"]["hausdorff"] < 1e-9


def test_what_is_too_large_is_not_drawn_and_nobody_is_charged() -> None:
    found = scoring.geometry(BALL, [" + ".join(["sin(x)"] * scoring.MOST_TOKENS)])
    assert "drawn" in found["error"]


def test_points_of_a_user_are_the_truth() -> None:
    ball = tuple(map(tuple, true_points(BALL).cloud[:2_000].tolist()))
    cloud = Shape("implicit", BALL.inputs, (), BALL.domain, points=ball)
    assert compared(cloud, *BALL.truth)["scaled"]["chamfer"] < 3 * floor_of(cloud)
    assert compared(cloud, *BALL.truth)["same"] is None
    assert compared(cloud, "x**2 + y**2 + z**2 - 9")["raw"]["chamfer"] > 1.9


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("x + y**2 - 3", set()),
        ("x**-1", {"rational"}),
        ("x/y", {"rational"}),
        ("x**0.5", {"root"}),
        ("sqrt(x)/x", {"root", "rational"}),
        ("2**x", {"exponential"}),
        ("x**y", {"exponential"}),
        ("exp(x)*tanh(y)", {"exponential", "hyperbolic"}),
        ("cos(3) + x", set()),
        ("abs(x) + sign(y)", {"modulus", "step"}),
        ("log(atan(x))", {"logarithmic", "inverse trigonometric"}),
    ],
)
def test_families(text: str, expected: set[str]) -> None:
    assert families([text], ["x", "y"]) == expected


def test_failures_are_distinguished_by_rule() -> None:
    def told(answer: str, *, found: bool | None) -> str | None:
        return failure(["sin(x) + y"], [answer], ["x", "y"], identified=found)

    assert told("sin(x) + y", found=True) == "none"
    assert told("sin(2*x)", found=False) == "fitting"
    assert told("exp(x) + y", found=False) == "search"
    assert told("sin(x) + exp(y)", found=False) == "search"
    assert told("sin(x) + y", found=None) is None
    assert told("x", found=None) == "search"


def test_nmse_is_pooled_over_outputs() -> None:
    generator = np.random.default_rng(0)
    y = generator.normal(0, [1, 2, 3], (100_000, 3))
    error = generator.normal(0, 0.1, y.shape)
    assert pooled_nmse(y + error, y) == pytest.approx(0.03 / 14, rel=0.02)
    assert pooled_nmse(y.mean(axis=0) + 0 * y, y) == pytest.approx(1.0)
    assert pooled_nmse((y + error) * 1e-30, y * 1e-30) == pytest.approx(0.03 / 14, rel=0.02)
    assert pooled_nmse(y, y) == 0.0
    assert pooled_nmse(y * np.nan, y) == WORST
    assert pooled_nmse(1e300 * y, y) == WORST
    constant = np.full((10, 1), 0.3)
    assert pooled_nmse(constant, constant) == 0.0
    assert pooled_nmse(constant + 0.1, constant) == WORST


def test_what_may_be_a_solution() -> None:
    y = np.random.default_rng(0).normal(size=1_000)
    assert may_be_solution(y + 7, y)
    assert may_be_solution(-1e9 * y, y)
    assert may_be_solution(1.0000001 * y + 1e-7, y)
    assert not may_be_solution(y**2, y)
    assert not may_be_solution(2 * y + 1, y)
    assert not may_be_solution(y * np.nan, y)


PLANES = Shape("implicit", ("x", "y", "z"), ("(z - x)*y",), (*BOX, (-5.0, 5.0)))


@pytest.mark.parametrize(
    "writing",
    [
        "(z - x)**2*y",
        "y*(z - x)**4",
        "-3*(z - x)*y**3",
        "abs(z - x)*y/(1 + x**2)",
        "(z*y - x*y)**2",
        "0.1*(z - x)*(z - x)*y",
        "z**2*y - 2*x*y*z + x**2*y",
        "y**3*x - y**3*z",
    ],
)
def test_how_often_a_factor_counts_makes_no_other_surface(writing: str) -> None:
    found = compared(PLANES, writing)
    assert found["same"] is True
    assert found["points"] == POINTS
    assert found["touching"] < 10
    assert found["scaled"]["chamfer"] < 1.1 * floor_of(PLANES)


def test_other_powers_stay_what_they_are() -> None:
    assert compared(PLANES, "(z - x)*y + 0.1")["same"] is False
    assert compared(PLANES, "(z - x)**2*y + 0.1")["same"] is False
    assert compared(PLANES, "z - x")["same"] is False


@pytest.mark.parametrize("name", ["HDIS7", "HDIS11", "HDIS13", "HDIS15"])
def test_each_point_of_a_cloud_is_on_the_surface(name: str) -> None:
    shape = shape_of(name)
    low, high = shape.corners
    function = function_of(shape.truth[0], shape.inputs)
    for drawing in ("truth", "answer", f"{name} rows"):
        cloud = true_points(shape, drawing).cloud
        assert len(cloud) == POINTS
        value, slope = function(cloud), gradient(function, cloud, 1e-7 * float(np.max(high - low)))
        steps = np.where(value == 0, 0.0, np.linalg.norm(newton(value, slope), axis=-1))
        assert np.all(steps <= 2e-6 * np.linalg.norm(high - low))


def test_a_distance_that_hangs_on_the_points_drawn_is_marked() -> None:
    shape = Shape("explicit", ("x", "y"), ("x*y",), BOX)
    by_pole = compared(shape, "x*y + 0.1/(x - y - 0.1234)")
    assert by_pole["chamfer_drawn_again"] != by_pole["scaled"]["chamfer"]
    [note] = _shape_notes(by_pole)["shape"]
    assert note.startswith("its distances are those of one drawing of points: Chamfer ")
    for answer in ("x*y", "x*y + 0.5", "1.1*x*y", "sin(x)*y", "0"):
        assert not _shape_notes(compared(shape, answer)), answer
