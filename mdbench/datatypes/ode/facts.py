"""Facts of the data type ``ode``."""

from __future__ import annotations

from mdbench.datatypes.equations.derivatives import DERIVATIVES
from mdbench.datatypes.equations.files import by_number
from mdbench.datatypes.equations.own_options import OWN_OPTIONS
from mdbench.datatypes.facts import TypeFacts

__all__ = ["FACTS"]

FACTS = TypeFacts(
    views=("table", "trajectory"),
    options=(DERIVATIVES, *OWN_OPTIONS),
    order=lambda _, head: by_number(head["id"]),
)
