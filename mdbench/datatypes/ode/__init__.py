"""Ordinary differential equations."""

from __future__ import annotations

from mdbench.datatypes.equations.options import DERIVATIVES, OWN_OPTIONS
from mdbench.datatypes.facts import TypeFacts, by_number

FACTS = TypeFacts(
    views=("table", "trajectory"),
    options=(DERIVATIVES, *OWN_OPTIONS),
    order=lambda _, head: by_number(head["id"]),
)
