"""Pictures of surfaces: what is seen, from where, and in which colours."""

from __future__ import annotations

import base64
import re

import numpy as np
import pytest
from pngs import decode

from mdbench.datatypes.surface.clouds import Shape, true_points
from mdbench.datatypes.surface.plots import SIZE, surface_pictures, view

BOX = ((-5.0, 5.0),) * 3
BOWL = Shape("explicit", ("x", "y"), ("x**2 + y**2",), BOX[:2])
BALL = Shape("implicit", ("x", "y", "z"), ("x**2 + y**2 + z**2 - 9",), BOX)
LOOP = Shape("parametric", ("u", "v"), ("cos(u)", "sin(u)", "v"), BOX[:2])
GRID = Shape("explicit", ("i", "j"), ("i*j",), BOX[:2], integers=True)


def pixels(html: str) -> list[np.ndarray]:
    found = re.findall(r'<image[^>]*href="data:image/png;base64,([^"]+)"', html)
    return [decode(base64.b64decode(text))[0] for text in found]


@pytest.mark.parametrize("shape", [BOWL, BALL, LOOP, GRID])
def test_a_truth_is_drawn_from_two_sides(shape: Shape) -> None:
    first, second = pixels(surface_pictures(shape, 0.01, []))
    assert first.shape == (SIZE, SIZE)
    behind = first.max()
    for one in (first, second):
        assert 0.05 < np.mean(one < behind) < 0.6
        assert len(np.unique(one)) > 5  # it is shaded


def test_answers_are_coloured_by_their_distance() -> None:
    html = surface_pictures(BOWL, 0.01, [("near", 0.0, ["x**2 + y**2"]), ("far", 0.5, ["25"])])
    assert "near: 0<" in html
    assert "far: 0.50" in html
    truth, _, near, _, far, _ = pixels(html)
    assert np.mean(truth == near) > 0.99
    behind = truth.max()
    assert far[far < behind].max() > near[near < behind].max()


@pytest.mark.parametrize("answer", ["1e300", "log(-1 - x**2)", "x" + " + x" * 2_000, "1/0*x", "q"])
def test_what_cannot_be_drawn_is_said(answer: str) -> None:
    html = surface_pictures(BOWL, None, [("m", None, [answer])])
    assert "nothing in the box" in html
    assert len(pixels(html)) == 2


def test_points_alone_are_drawn() -> None:
    points = tuple(map(tuple, true_points(BALL).cloud[:3_000].tolist()))
    html = surface_pictures(Shape("implicit", BALL.inputs, (), BOX, points=points), 0.02, [])
    assert len(pixels(html)) == 2


def test_what_is_nearer_hides_what_is_behind() -> None:
    sides = (0.0, 0.0)  # from the end of the x axis
    points = np.array([[0.9, 0, 0], [-0.9, 0, 0]])
    normals = np.zeros((2, 3))
    for order in ([0, 1], [1, 0]):
        seen, shade = view(points[order], normals[order], sides)
        assert [order[number] for number in np.unique(seen[seen >= 0])] == [0]
        assert shade.tolist() == [19, 19]


def test_up_is_up_and_right_is_right() -> None:
    sides = (0.0, 0.0)
    up, _ = view(np.array([[0.0, 0, 0.9]]), np.zeros((1, 3)), sides)
    right, _ = view(np.array([[0.0, 0.9, 0]]), np.zeros((1, 3)), sides)
    assert np.argwhere(up == 0)[:, 0].max() < SIZE / 2
    assert np.argwhere(right == 0)[:, 1].min() > SIZE / 2


def test_names_are_text() -> None:
    assert "<b>&" not in surface_pictures(BOWL, None, [("<b>&", 0.1, ["x"])])
