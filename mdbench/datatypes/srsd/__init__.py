"""Laws of physics, known by samples of their variables."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from mdbench.datatypes.facts import Option, TypeFacts, noise_level

if TYPE_CHECKING:
    from collections.abc import Mapping

SETS = ("easy", "medium", "hard")


def target_noise(text: str) -> float:
    """Parse a noise level; a UsageError where it is none."""
    return noise_level(
        "--target-noise",
        text,
        "Give the relative deviation of the training targets: 0, 0.001, 0.01 or 0.1.",
    )


def by_difficulty(name: str, head: Mapping[str, Any]) -> tuple[int, list[tuple[bool, int, str]]]:
    """Return what problems are sorted by: difficulty, then i.6.20 before i.12.1."""
    rank = SETS.index(head["set"]) if head["set"] in SETS else len(SETS)
    words = re.findall(r"\d+|\D+", name)
    return rank, [(word.isdigit(), int(word) if word.isdigit() else 0, word) for word in words]


FACTS = TypeFacts(
    views=("table",),
    options=(
        Option.choice(
            "--variant",
            ("released", "paper"),
            "Data with the slips of those released, or with the ranges of the paper's tables.",
        ),
        Option("--dummy-columns", "One to three columns that the target does not depend on.", ""),
        Option(
            "--target-noise",
            "Noise in the training targets, of this times their root mean square; several levels: "
            "0,0.01.",
            metavar="LEVELS",
            parse=lambda text: [target_noise(level) for level in text.split(",")],
        ),
    ),
    order=by_difficulty,
)
