"""Reports: what is shown of records."""

from __future__ import annotations

from mdbench.reports.terminal import failures, run_table, summary

__all__ = ["failures", "run_table", "summary"]
