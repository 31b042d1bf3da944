"""Results: what a record says, and the file that keeps it."""

from __future__ import annotations

from mdbench.records.schema import (
    ANSWERED,
    RERUN_ALWAYS,
    SCHEMA,
    Budget,
    FrontEntry,
    Machine,
    Measured,
    Provenance,
    Record,
    Runtime,
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
    "Machine",
    "Measured",
    "Provenance",
    "Record",
    "RecordStore",
    "RecordWriter",
    "Runtime",
    "Selection",
    "Status",
    "comparable",
    "key_of",
    "upgrade",
]
