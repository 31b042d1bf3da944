"""Surfaces in three dimensions, known by points on them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from mdbench.datatypes.facts import Option, TypeFacts, noise_level

if TYPE_CHECKING:
    from collections.abc import Mapping

VARIANTS = {"wide": "parametric", "cloud": "implicit"}
"""The kind of surface that each variant is for."""
_ORDER = ("explicit", "implicit", "parametric")


def percent(text: str) -> float:
    """Parse a noise level; a UsageError where it is none."""
    return noise_level(
        "--noise-percent", text, "Give percent of the targets' standard deviation: 0, 1, 5 or 10."
    )


def by_representation(name: str, head: Mapping[str, Any]) -> tuple[int, str, int, str]:
    """Return what surfaces are sorted by: representation, letters and number of the name."""
    match = re.fullmatch(r"(\D*)(\d*)(.*)", name)
    letters, number, rest = match.groups() if match else (name, "", "")
    return _ORDER.index(head["representation"]), letters, int(number or 0), rest


FACTS = TypeFacts(
    views=("table",),
    options=(
        Option.choice(
            "--variant",
            tuple(VARIANTS),
            "Parametric surfaces on [-5, 5]; or of implicit ones points on them alone.",
        ),
        Option("--normals", "With --variant cloud: the normals at the points, too.", ""),
        Option(
            "--curvature",
            "More training points where the surface is more curved; the test is the same.",
            "",
        ),
        Option(
            "--noise-percent",
            "Noise in the training targets, in percent of their standard deviation; several "
            "levels: 0,1,5,10.",
            metavar="LEVELS",
            parse=lambda text: [percent(level) for level in text.split(",")],
        ),
    ),
    order=by_representation,
)
