"""The rules of a benchmark run, by name; a module of its own, since it is all that a verb needs."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping


class Protocol(StrEnum):
    """The rules of a benchmark run."""

    STRICT = "strict"
    """Every split on its own, and what is scored is the answer as it is printed."""
    PUBLISHED = "published"
    """The pipeline behind the published tables, slips included."""

    @property
    def usual(self) -> Mapping[str, str]:
        """What options are under it where none is typed, for those that every report names."""
        return {"derivatives": "smooth" if self is Protocol.STRICT else "fd"}
