"""Symbolic derivations: is this step right?  Its public names are in the module `library`."""

from __future__ import annotations

from mdbench.datatypes.facts import TypeFacts

FACTS = TypeFacts(
    views=("sequence", "trees"),
    families=("classifier",),
    order=lambda name, head: (head["train"], name),
)
