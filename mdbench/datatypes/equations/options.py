"""Options of runs on data of people's own: how their files are read, and what is true of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mdbench.data.columns import MISSING
from mdbench.datatypes.facts import Option, Protocol
from mdbench.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping


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


DERIVATIVES = Option.choice(
    "--derivatives",
    ("fd", "smooth"),
    "Derivatives that methods are given: finite differences of the noisy data, or of smoothed data "
    "(the default under strict).",
)


def uses_smoothing(options: Mapping[str, Any], protocol: Protocol) -> bool:
    """Whether methods are given smoothed data and their derivatives.

    Raises
    ------
    UsageError
        If they are asked for under `published`, which has finite differences.
    """
    asked = options.get(DERIVATIVES.key)
    if protocol is Protocol.PUBLISHED:
        if asked == "smooth":
            raise UsageError(
                "The protocol published has finite differences alone.",
                "Leave out --derivatives smooth, or give --protocol strict.",
            )
        return False
    return asked != "fd"
