"""Ordinary differential equations."""

from __future__ import annotations

from mdbench.datatypes.equations.options import DERIVATIVES, OWN_OPTIONS
from mdbench.datatypes.facts import Option, TypeFacts, by_number


def _sweep(text: str) -> list[dict[str, str]]:
    from mdbench.datatypes.ode.sweeps import parse_sweep  # noqa: PLC0415 - brings NumPy

    return parse_sweep(text)


SWEEP = Option(
    "--sweep",
    "Conditions under which the systems are sampled, each combination a dataset: "
    "samples=20,50;noise=0,0.01 (samples, dt, noise, noise-kind, uneven, missing, trajectories, "
    "dimension, test).",
    "AXES",
    _sweep,
)
FACTS = TypeFacts(
    views=("table", "trajectory"),
    options=(DERIVATIVES, SWEEP, *OWN_OPTIONS),
    order=lambda _, head: by_number(head["id"]),
)
