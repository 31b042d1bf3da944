"""A page of a report with pictures, made from records."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from reporting import KINDS, boards

from mdbench.data.field import Field
from mdbench.data.trajectory import Trajectory
from mdbench.datatypes.base import Plots
from mdbench.datatypes.ode.plots import AnswerTrajectories, trajectory_pictures
from mdbench.datatypes.pde.plots import field_pictures
from mdbench.records import Record
from mdbench.reports.html import Parts, page

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from mdbench.reports.leaderboard import MethodFacts


def html(
    records: list[dict[str, Any]],
    kinds: Mapping[str, MethodFacts] = KINDS,
    parts: Parts | None = None,
) -> str:
    results = [Record.model_validate(one) for one in records]
    shown = boards(records, kinds)
    return page(results, shown, picture=drawn, derivatives={"ode": "∂"}, parts=parts)


def drawn(results: Sequence[Record], numbers: Mapping[str, int]) -> Plots:
    """Draw a trajectory, a line and planes of the first system, and say something of the second."""
    if results[0].dataset == "system 1":
        return Plots(note="No picture here.")
    if results[0].dataset != "system 0":
        return Plots()
    t, x = np.linspace(0, 1, 20), np.linspace(0, 1, 30)
    one = Trajectory(t, np.stack([t, t**2], axis=1))
    found = [AnswerTrajectories("operon", numbers["operon"], "R² 0.990", [one.u[16:], one.u])]
    u = (x[:, None] * np.exp(t))[..., None]
    line = Field(t, {"x": x}, u, u)
    plane = Field(t, {"x": x, "y": x}, np.stack([u] * 30), np.stack([u] * 30))
    pictures = trajectory_pictures("system 0", one, one, found)
    pictures += field_pictures(line, [("operon", "1.0e-3", ["1.1*u0"])])
    return Plots(pictures + field_pictures(plane, []))
