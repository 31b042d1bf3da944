from __future__ import annotations

import re
import xml.etree.ElementTree as ET

import numpy as np
import pytest

from mdbench.data.trajectory import Trajectory
from mdbench.drawing.trajectories import Found, simulate, trajectory_pictures
from mdbench.solvers import simulation

LOTKA = ["u0*(1.84 - 1.45*u1)", "-u1*(3.0 - 1.62*u0)"]


def circle(start: float = 0.0) -> Trajectory:
    t = np.linspace(0, 10, 150)
    u = np.stack([np.sin(t + start), np.cos(t + start)], axis=1)
    return Trajectory(t, u, np.gradient(u, t, axis=0))


def lines(svg: str) -> list[list[tuple[float, float]]]:
    """Give the points of the simulated lines; each starts where a pen is set down."""
    paths = re.findall(r'class="line thin"[^>]* d="([^"]*)"', svg)
    return [
        [tuple(map(float, point.split())) for point in re.split("[ML]", path)[1:]]  # type: ignore[misc]
        for path in paths
    ]


def test_simulations_follow_the_closed_form() -> None:
    t = np.linspace(0, 3, 30)
    states, _ = simulate(["u1", "-u0"], t, np.array([0.0, 1.0]))
    assert states is not None
    assert np.allclose(states[:, 0], np.sin(t), atol=1e-4)


def test_what_is_drawn_is_what_was_scored() -> None:
    t = np.linspace(0, 10, 150)
    true = np.array([[8.3, 3.4]] * 150) + np.sin(t)[:, None]
    states, _ = simulate(LOTKA, t, true[0])
    assert states is not None
    scored = simulation.simulate(LOTKA, t, true)
    assert simulation.trajectory_r2(states, true) == scored.r2


@pytest.mark.parametrize(
    ("equation", "fewest", "most"),
    [
        ("u0**2", 5, 11),  # infinite at t = 1
        ("log(1.2 - u0)", 1, 30),  # undefined from u0 = 1.2 on
        ("exp(exp(exp(u0)))", 1, 5),
    ],
)
def test_what_was_reached_is_drawn(equation: str, fewest: int, most: int) -> None:
    t = np.linspace(0, 3, 30)
    states, _ = simulate([equation], t, np.array([1.0]))
    assert states is not None
    assert fewest <= len(states) <= most
    assert np.isfinite(states).all()


def test_a_simulation_ends_after_so_many_evaluations() -> None:
    t, start = np.linspace(0, 1000, 1000), np.array([0.0, 1.0])
    states, used = simulate(["u1", "-u0"], t, start, most=500)
    assert used == 500
    assert states is not None
    assert 10 < len(states) < 500


@pytest.mark.parametrize("equation", ["u7", "u0 +", "open('x')"])
def test_what_is_no_equation_is_not_simulated(equation: str) -> None:
    assert simulate([equation], np.linspace(0, 1, 9), np.array([1.0])) == (None, 0)


def test_both_ways_are_drawn_beside_each_other() -> None:
    seen, unseen = circle(), circle(1.0)
    found = [
        Found("<a>", 2, "0.990 and 0.500", [seen.u[120:], unseen.u]),
        Found("b", 9, "", [seen.u[120:125], None]),
    ]
    html = trajectory_pictures("ring", seen, unseen, found)
    ET.fromstring(html)
    assert "&lt;a&gt;: R² 0.990 and 0.500" in html
    first, second = re.findall(r'<svg class="plot".*?</svg>', html, re.DOTALL)
    assert [len(lines(svg)) for svg in (first, second)] == [4, 2]
    # The test window begins four fifths of the way; the second run at the axis.
    left, right = 58, 480 - 12
    assert lines(first)[0][0][0] == pytest.approx(left + (right - left) * 120 / 149, abs=0.1)
    assert lines(second)[0][0][0] == left
    assert ">test<" in first
    assert ">test<" not in second
    only = trajectory_pictures("ring", seen, None, [])
    assert only.count("<svg") == 1
    ET.fromstring(only)


def test_a_line_that_leaves_the_picture_is_cut_there() -> None:
    seen = circle()
    away = seen.u[120:].copy()
    away[5:10] = 1e6
    away[20:] = -1e6
    (first, _) = lines(trajectory_pictures("ring", seen, None, [Found("a", 0, "", [away])]))
    whole = seen.t[120:]
    # One point outside at each edge; nothing runs along the frame.
    assert len(first) == len(whole) - (5 - 2) - (10 - 1)
    edges = {y for _, y in first if y in (14.0, 284.0)}
    assert edges == {14.0, 284.0}
