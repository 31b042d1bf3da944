"""How the derivatives are made that methods are given: an option of several data types."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mdbench.datatypes.facts import Option
from mdbench.errors import UsageError
from mdbench.protocols import Protocol

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["DERIVATIVES", "smooths"]

DERIVATIVES = Option.choice(
    "--derivatives",
    ("fd", "smooth"),
    "Derivatives that methods are given: finite differences of the noisy data, or of smoothed data "
    "(the default under strict).",
)


def smooths(options: Mapping[str, Any], protocol: Protocol) -> bool:
    """Tell whether methods are given smoothed data and their derivatives.

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
