"""Results: what a record says, and the file that keeps it."""

from __future__ import annotations

from mdbench.records.schema import (
    ANSWERED,
    RERUN_ALWAYS,
    SCHEMA,
    Budget,
    FrontEntry,
    Isolation,
    LlmBudget,
    LlmPoint,
    LlmUse,
    Machine,
    Measured,
    Provenance,
    Record,
    ScoreSoFar,
    Selection,
    Status,
    comparable,
    key_of,
)
from mdbench.records.store import RecordStore, RecordWriter
from mdbench.records.upgrades import upgrade

__all__ = [
    "ANSWERED",
    "RERUN_ALWAYS",
    "SCHEMA",
    "Budget",
    "FrontEntry",
    "Isolation",
    "LlmBudget",
    "LlmPoint",
    "LlmUse",
    "Machine",
    "Measured",
    "Provenance",
    "Record",
    "RecordStore",
    "RecordWriter",
    "ScoreSoFar",
    "Selection",
    "Status",
    "comparable",
    "key_of",
    "upgrade",
]
