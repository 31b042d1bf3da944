"""Results: the record of a job, and the files that keep records."""

from __future__ import annotations

from mdbench.records.folders import (
    latest_by_case,
    read_content,
    read_folder,
    read_latest,
    results_files,
)
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
from mdbench.records.store import RecordStore, RecordWriter, parse_records
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
    "latest_by_case",
    "parse_records",
    "read_content",
    "read_folder",
    "read_latest",
    "results_files",
    "upgrade",
]
