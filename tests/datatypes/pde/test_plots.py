from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from typing import TYPE_CHECKING

import numpy as np
import pytest
from pngs import pictures

from mdbench.data.field import Field
from mdbench.datatypes.pde.plots import errors, field_pictures
from mdbench.drawing.svg import LEVELS, UNDEFINED

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

TEST = slice(16, 20)
"""Of 20 times."""


def field(*nodes: int, states: int = 1) -> Field:
    """Make a field that grows along every axis by itself: state 0 is x + 2 y + 4 z + 8 t."""
    grid = {axis: np.linspace(0.0, 1.0, n) for axis, n in zip(("x", "y", "z"), nodes, strict=False)}
    t = np.linspace(0.0, 1.0, 20)
    axes = np.meshgrid(*grid.values(), t, indexing="ij")
    u = sum(2.0**power * axis for power, axis in enumerate(axes[:-1])) + 8.0 * axes[-1]
    u = np.stack([(i + 1) * np.asarray(u) for i in range(states)], axis=-1)
    return Field(t, grid, u, np.full_like(u, 8.0) * np.arange(1, states + 1))


def decaying() -> Field:
    """Make ``exp(-t) (2 + sin x)``, whose change in time is known."""
    x, t = np.linspace(0, 2 * np.pi, 60), np.linspace(0, 1, 20)
    u = (np.exp(-t) * (2 + np.sin(x))[:, None])[..., None]
    return Field(t, {"x": x}, u, -u)


def level(value: Array | float, low: float, high: float) -> Array:
    return np.rint((LEVELS - 1) * (np.asarray(value) - low) / (high - low))


def ends(html: str) -> list[str]:
    """Return what is written at the ends of scales."""
    return re.findall(r"<span>(.*?)</span>", html)


def test_a_line_is_drawn_over_time_with_space_upwards() -> None:
    one = field(40, states=2)
    html = field_pictures(one, [])
    first, second = pictures(html)
    assert first.shape == (40, 20)
    u = one.u[..., 0]
    for row, column in ((0, 0), (0, 19), (39, 0), (39, 19), (13, 7)):
        assert first[row, column] == level(u[39 - row, column], u.min(), u.max())
    assert np.array_equal(first, second)  # each state has a scale of its own
    assert ends(html) == ["0", "9", "0", "18"]


def test_a_plane_is_drawn_at_three_times_on_one_scale() -> None:
    one = field(6, 9)
    shown = pictures(field_pictures(one, []))
    assert [picture.shape for picture in shown] == [(9, 6)] * 3
    for picture, moment in zip(shown, (0, 9, 19), strict=True):
        u = one.u[:, :, moment, 0]
        assert np.array_equal(picture, level(u.T[::-1], 0.0, 11.0))
    assert re.findall(r"u0 at t = [\d.]+", field_pictures(one, [])) == [
        "u0 at t = 0",
        "u0 at t = 0.474",
        "u0 at t = 1",
    ]


def test_of_a_space_the_middle_plane_is_drawn() -> None:
    one = field(5, 4, 7)
    html = field_pictures(one, [])
    assert "in the plane z = 0.5" in html
    last = pictures(html)[-1]
    assert np.array_equal(last, level(one.u[:, :, 3, -1, 0].T[::-1], 2.0, 13.0))
    assert ends(html) == ["2", "13"]


@pytest.mark.parametrize(
    ("low", "high", "shown"),
    [
        (-0.25, 1650.0, ["−0.25", "1650"]),
        (-1.9e-15, 1.0, ["0", "1"]),
        (6.07e-5, 3.5e12, ["0", "3.5·10<sup>12</sup>"]),
        (-6.07e-5, 6.07e-5, ["−6.07·10<sup>−5</sup>", "6.07·10<sup>−5</sup>"]),
        (10.0001, 10.0004, ["10.0001", "10.0004"]),
        (7.5, 7.5, ["", "7.5 everywhere"]),
    ],
)
def test_ends_of_scales_are_short_and_differ(low: float, high: float, shown: list[str]) -> None:
    one = field(5)
    u = np.full_like(one.u, low)
    u[3, 4] = high
    html = field_pictures(Field(one.t, one.grid, u), [])
    assert ends(html) == shown


def test_large_fields_are_thinned_and_small() -> None:
    one = field(1000, 300)
    html = field_pictures(one, [])
    assert pictures(html)[0].shape == (128, 128)
    corners = pictures(html)[-1][[0, 0, -1, -1], [0, -1, 0, -1]]
    u = one.u[:, :, -1, 0]
    assert corners.tolist() == level(u[[0, -1, 0, -1], [-1, -1, 0, 0]], 0, 11).tolist()
    assert len(html) < 30_000


def test_what_equations_miss_is_the_closed_form() -> None:
    one = decaying()
    nothing = errors(one, ["-u0"], TEST)
    assert nothing is not None
    assert np.allclose(nothing, 0.0, atol=1e-12)
    missed = errors(one, ["0"], TEST)
    u = one.u[:, TEST, 0]
    assert missed == pytest.approx(np.abs(u) / np.sqrt(np.mean(u**2)))
    # u_xx + u is 2 exp(-t), but for the finite differences.
    missed = errors(one, ["u0_xx - 2*exp(-t)"], TEST)
    assert missed is not None
    assert missed.max() < 0.01
    # Derivatives in time that nobody knows are finite differences.
    unknown = errors(Field(one.t, one.grid, one.u), ["-u0"], TEST)
    assert unknown is not None
    assert 0 < unknown.max() < 0.01


def test_states_that_stand_still_are_left_out() -> None:
    one = decaying()
    still = np.concatenate([one.u, np.ones_like(one.u)], axis=-1)
    change = np.concatenate([-one.u, np.zeros_like(one.u)], axis=-1)
    both = errors(Field(one.t, one.grid, still, change), ["0", "5"], TEST)
    alone = errors(one, ["0"], TEST)
    assert both is not None
    assert alone is not None
    assert np.array_equal(both, alone)
    assert errors(Field(one.t, one.grid, one.u, 0 * one.u), ["0"], TEST) is None


@pytest.mark.parametrize("text", ["u1", "u0_yy", "u0 +", "__import__('os')", "u0_xxxxx"])
def test_equations_that_do_not_fit_are_not_drawn(text: str) -> None:
    assert errors(decaying(), [text], TEST) is None
    assert len(pictures(field_pictures(decaying(), [("<me>", "1.0e0", [text])]))) == 1


def test_errors_have_one_scale_of_powers_of_ten() -> None:
    one = decaying()
    found = [("a", "0", ["-u0"]), ("<b>", "1e-4", ["-1.01*u0"]), ("c", "–", ["log(u0 - 1)"])]
    html = field_pictures(one, found)
    for svg in re.findall(r"<svg.*?</svg>", html, re.DOTALL):
        ET.fromstring(svg)
    assert "&lt;b&gt;: 1e-4" in html
    _, right, near, undefined = pictures(html)
    assert right.max() == 0
    u = one.u[:, TEST, 0]
    share = 0.01 * np.abs(u) / np.sqrt(np.mean(u**2))
    assert np.array_equal(near, level(np.log10(share[::-1]), -6.0, 0.0))
    assert np.array_equal(undefined == UNDEFINED, u[::-1] < 1)
    assert (u < 1).any()
