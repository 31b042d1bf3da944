"""What is drawn: answers as pictures need them, and the room that a page has for them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mdbench.metrics.spec import Value

__all__ = ["Drawn", "Room", "Shown"]


@dataclass(frozen=True)
class Shown:
    """An answer as pictures need it.

    Attributes
    ----------
    method, number
        Whose it is; the number sets colour and dashes.
    equations
        As recorded.
    metrics
        As recorded.
    """

    method: str
    number: int
    equations: tuple[str, ...]
    metrics: Mapping[str, Value]


@dataclass(frozen=True)
class Drawn:
    """What there is to see of a system.

    Attributes
    ----------
    html
        Figures; empty where there are none.
    note
        Why there are none, where the reader can do something about it.
    """

    html: str = ""
    note: str = ""


@dataclass
class Room:
    """What the pictures of a page may still take, so that the same records give the same page.

    Attributes
    ----------
    evaluations
        Of right-hand sides.
    """

    evaluations: int
