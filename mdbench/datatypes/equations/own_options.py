"""Options of runs on data of people's own: how their files are read, and what is true of them."""

from __future__ import annotations

from mdbench.data.columns import MISSING
from mdbench.datatypes.facts import Option
from mdbench.errors import UsageError

__all__ = ["INPUTS", "MISSING_VALUES", "OWN_OPTIONS", "TRAJECTORY", "TRUTH"]


def _labels(text: str) -> list[str]:
    found = [part.strip() for part in text.split(",")]
    if not all(found):
        raise UsageError(f"--inputs is {text!r}.", "Give names of columns, separated by commas.")
    return found


INPUTS = Option(
    "--inputs",
    "Columns of the user's files that act on the system and are known: they are given to methods, "
    "and not to be predicted.",
    "COL[,COL]",
    _labels,
    changes_system=False,
)
TRAJECTORY = Option(
    "--trajectory",
    "The column of the user's files that tells several trajectories apart.",
    "COL",
    changes_system=False,
)
MISSING_VALUES = Option(
    "--missing",
    "What to do about cells without a value: refuse them (the default), leave their lines out, or "
    "fill them on the straight line between those before and after.",
    "|".join(MISSING),
    Option.choice("--missing", MISSING, "").parse,
    changes_system=False,
)
TRUTH = Option(
    "--truth",
    "The true equations of the user's data, where they are known: \"prey = prey*(2 - hunter); "
    'hunter = hunter*(prey - 1)"; answers then have a verdict.',
    "EQUATIONS",
    changes_system=False,
)
OWN_OPTIONS = (INPUTS, TRAJECTORY, MISSING_VALUES, TRUTH)
