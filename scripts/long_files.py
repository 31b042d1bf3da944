"""The long table of edition 2 as files: a line for each method, part and budget, and their hashes.

``docs/results/edition-2-long-table.csv`` and ``.json`` hold the same lines;
``edition-2-long-table.schema.json`` says what a line has.
"""

from __future__ import annotations

import csv
import json
from io import StringIO
from typing import TYPE_CHECKING, Any, Final

from bundles import parts_of
from findings import to_table
from long_table import LongTable, rows_of

from mdbench.cli.report import write
from mdbench.reports.bundle import sha256_of

if TYPE_CHECKING:
    from pathlib import Path

COLUMNS: Final[dict[str, tuple[str, str]]] = {
    "part": ("string", "the part of the edition"),
    "data_type": ("string", "the data type of its cases"),
    "method": ("string", "the method's name"),
    "work_s": ("number", "the budget of a job, in reference seconds"),
    "jobs": ("integer", "the jobs that all methods have done"),
    "identified": ("integer", "those whose equations were identified"),
    "low": ("number", "the lower end of Wilson's 95 % interval of the share"),
    "high": ("number", "its upper end"),
    "group": ("integer|null", "the group, from 1; null where the method is not ordered"),
    "not_measured": ("integer|null", "jobs that were ended before 10,000 evaluations"),
    "without_answer": ("integer|null", "jobs without an answer"),
    "reference_s": ("integer|null", "the work of these jobs, in reference seconds"),
    "maker_knew_cases": ("boolean|null", "whether the method's makers knew the cases"),
}
"""By column: its type in JSON, and what it is.  The last five are of the largest budget alone."""


def schema() -> dict[str, Any]:
    """Return the JSON Schema of the file of lines."""
    columns = {
        name: {"type": kind.split("|") if "|" in kind else kind, "description": what}
        for name, (kind, what) in COLUMNS.items()
    }
    line = {
        "type": "object",
        "properties": columns,
        "required": list(columns),
        "additionalProperties": False,
    }
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "mdbench edition 2, the long table",
        "type": "object",
        "properties": {
            "schema": {"const": 1},
            "edition": {"const": 2},
            "rows": {"type": "array", "items": line},
        },
        "required": ["schema", "edition", "rows"],
        "additionalProperties": False,
    }


def write_files(table: LongTable, folder: Path, name: str) -> list[Path]:
    """Write the table as CSV and as JSON, with its schema, into a folder; return the files."""
    rows = [dict.fromkeys(COLUMNS) | row for row in rows_of(table)]
    lines = StringIO()
    writer = csv.DictWriter(lines, list(COLUMNS), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    whole = {"schema": 1, "edition": 2, "rows": rows}
    texts = {
        f"{name}-table.csv": lines.getvalue(),
        f"{name}-table.json": json.dumps(whole, indent=1, ensure_ascii=False) + "\n",
        f"{name}-table.schema.json": json.dumps(schema(), indent=1) + "\n",
    }
    for file, text in texts.items():
        write(folder / file, text)
    return [folder / file for file in texts]


def files_table(table: LongTable, folder: Path, name: str, bundles: Path) -> str:
    """Write the files of the table, and return a line for each of them and of their records.

    Parameters
    ----------
    folder
        Of the table's files.
    bundles
        Of the records.
    """
    what = ("the table", "the same", "what a line has")
    files = zip(write_files(table, folder, name), what, strict=True)
    records = ((path, "its records") for path in parts_of(bundles, name))
    lines = [
        [f"[{path.name}]({path.name})", meaning, sha256_of(path)]
        for path, meaning in (*files, *records)
    ]
    return to_table(["file", "what it is", "SHA-256"], lines, texts=(0, 1, 2))
