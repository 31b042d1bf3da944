from __future__ import annotations

import re
import xml.etree.ElementTree as ET

import numpy as np
import pytest

from mdbench.data.trajectory import Trajectory
from mdbench.datatypes.ode.plots import AnswerTrajectories, follow, trajectory_pictures
from mdbench.datatypes.ode.simulation import simulate


def circle(start: float = 0.0) -> Trajectory:
    t = np.linspace(0, 10, 150)
    u = np.stack([np.sin(t + start), np.cos(t + start)], axis=1)
    return Trajectory(t, u, np.gradient(u, t, axis=0))


def lines(svg: str) -> list[list[tuple[float, float]]]:
    """Return the points of the simulated lines; each starts where a pen is set down."""
    paths = re.findall(r'class="line thin"[^>]* d="([^"]*)"', svg)
    return [
        [tuple(map(float, point.split())) for point in re.split("[ML]", path)[1:]]  # type: ignore[misc]
        for path in paths
    ]


def test_what_is_drawn_is_what_was_scored() -> None:
    seen = circle()
    (states, other), used = follow(["u1", "-u0"], seen, circle(1.0), 10_000)
    assert states is not None
    assert other is not None
    assert np.allclose(states, seen.u[120:], atol=1e-4)
    assert other.shape == seen.u.shape
    scored = [
        simulate(["u1", "-u0"], one.t[n:], one.u[n:]) for one, n in ((seen, 120), (circle(1.0), 0))
    ]
    assert np.array_equal(states, scored[0].states)
    assert used == sum(one.evaluations for one in scored)


def test_what_is_drawn_takes_no_more_evaluations_than_there_are() -> None:
    ways, used = follow(["u1", "-u0"], circle(), circle(1.0), 1)
    assert ways[0] is not None
    assert ways[1] is None
    assert used > 1  # a line that was begun is drawn
    assert follow(["u1", "-u0"], circle(), circle(), 0) == ([None, None], 0)
    assert len(follow(["u1", "-u0"], circle(), None, 100)[0]) == 1


@pytest.mark.parametrize("equation", ["u0 +", "open('x')", "(" * 50_000, "ü"])
def test_what_is_no_equation_is_not_simulated(equation: str) -> None:
    assert follow([equation, "u0"], circle(), None, 99) == ([None], 0)


def test_both_ways_are_drawn_side_by_side() -> None:
    seen, unseen = circle(), circle(1.0)
    found = [
        AnswerTrajectories("<a>", 2, "R² 0.990 and 0.500", [seen.u[120:], unseen.u]),
        AnswerTrajectories("b", 9, "", [seen.u[120:125], None]),
    ]
    html = trajectory_pictures("ring", seen, unseen, found)
    ET.fromstring(html)
    assert "&lt;a&gt;: R² 0.990 and 0.500" in html
    first, second, plane = re.findall(r'<svg class="plot".*?</svg>', html, re.DOTALL)
    assert [len(lines(svg)) for svg in (first, second)] == [4, 2]
    # The test window begins four fifths of the way; the second run at the axis.
    left, right = 58, 480 - 12
    assert lines(first)[0][0][0] == pytest.approx(left + (right - left) * 120 / 149, abs=0.1)
    assert lines(second)[0][0][0] == left
    assert ">test<" in first
    assert ">test<" not in second
    # A circle in the phase plane: the second state over the first, from where the test begins.
    assert "Phase plane of ring" in plane
    assert len(lines(plane)) == 2
    points = np.array(lines(plane)[0])
    centre = (points.max(axis=0) + points.min(axis=0)) / 2
    assert (points[:, 0] < centre[0]).any()
    only = trajectory_pictures("ring", seen, None, [])
    assert only.count('<svg class="plot"') == 2
    ET.fromstring(only)


def test_states_differ_by_their_dashes_and_axes_have_their_names() -> None:
    seen = circle()
    found = [
        AnswerTrajectories("a", 2, "", [seen.u[120:]]),
        AnswerTrajectories("b", 3, "", [seen.u[120:]]),
    ]
    html = trajectory_pictures("ring", seen, None, found, titles=("time (h)", "prey (1/m²)", "<b>"))
    svg, _ = re.findall(r'<svg class="plot".*?</svg>', html, re.DOTALL)
    drawn = re.findall(r'<path class="(?:measured|line thin)"([^>]*?) d=', svg)
    assert len(drawn) == 6
    assert len(set(drawn)) == 2  # each state has its own, in grey and in each method's colour
    assert all(html.count(f'class="axis"{dash} d="M1 4H33"') == 1 for dash in set(drawn))
    assert ">prey (1/m²), &lt;b&gt;<" in svg
    assert ">time (h)<" in svg
    signs = [len(re.findall(r"<path d=", part)) for part in svg.split('data-m="')[1:]]
    assert min(signs) >= 4  # methods are distinguished by their signs along the lines


def test_a_line_that_leaves_the_picture_is_cut_there() -> None:
    seen = circle()
    away = seen.u[120:].copy()
    away[5:10] = 1e6
    away[20:] = -1e6
    (first, _, _) = lines(
        trajectory_pictures("ring", seen, None, [AnswerTrajectories("a", 0, "", [away])])
    )
    whole = seen.t[120:]
    # One point outside at each edge; nothing runs along the frame.
    assert len(first) == len(whole) - (5 - 2) - (10 - 1)
    edges = {y for _, y in first if y in (14.0, 284.0)}
    assert edges == {14.0, 284.0}
