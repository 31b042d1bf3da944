"""The rules of a benchmark run, by name; a module of its own, since it is all that a verb needs."""

from __future__ import annotations

from enum import StrEnum

__all__ = ["Protocol"]


class Protocol(StrEnum):
    """The rules of a benchmark run."""

    STRICT = "strict"
    """Every split on its own, and what is scored is the answer as it is printed."""
    PUBLISHED = "published"
    """The pipeline behind the published tables, slips included."""
