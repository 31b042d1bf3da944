"""All records of a folder as one table."""

from __future__ import annotations

import contextlib
import csv
import json
from typing import TYPE_CHECKING, Any

from mdbench.errors import UnavailableError, UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from mdbench.records import Record

FORMATS = (".csv", ".parquet")
CONFLICT = "conflict"
"""The column with the other files that have another result of the job."""

_SPREAD = {"options", "metrics", "selection", "measured", "budget", "llm"}
"""Objects whose keys become columns of their own, such as ``measured.wall_s``."""
_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n")
"""The first letters of texts that a spreadsheet computes."""
_LEFT_OUT = {"key_parts", "front", "provenance"}
"""Keys that are not in the table; the records have them."""
_FIRST = ("file", "algorithm", "data_type", "dataset", "dim", "snr_db", "seed", "protocol")


def flatten(file: str, record: Record) -> dict[str, Any]:
    """Return a record as a row: plain values, and lists and objects as JSON.

    Parameters
    ----------
    file
        The name of the results file.
    record
        The record.

    Returns
    -------
    dict
        With ``undecided``, the names of scores that are null: an empty cell is one that is missing.
    """
    row: dict[str, Any] = {"file": file}
    data = record.model_dump(mode="json", by_alias=True, exclude=_LEFT_OUT)
    for name, value in data.items():
        if name in _SPREAD:
            for inner, part in (value or {}).items():
                row[f"{name}.{inner}"] = _plain(part)
        elif name == "runtime":
            row["runtime"] = (value or {}).get("name")
        else:
            row[name] = _plain(value)
    row["undecided"] = _plain([name for name, each in record.metrics.items() if each is None])
    return row


def columns_of(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return the columns of all rows: who and what first, then as in the records."""
    columns = dict.fromkeys(name for name in _FIRST if any(name in row for row in rows))
    groups: dict[str, dict[str, None]] = {}
    for row in rows:
        for name in row:
            groups.setdefault(name.partition(".")[0], {})[name] = None
    for names in groups.values():  # parts of one object are next to each other
        columns.update(names)
    return list(columns)


def write_table(rows: Sequence[Mapping[str, Any]], out: Path) -> None:
    """Write rows as CSV or Parquet, by the name's ending.

    A value that is missing is an empty cell of a CSV, and null in Parquet.  A text of a CSV that
    would be a formula for a spreadsheet gets an apostrophe in front.  The file is there
    whole or not at all.

    Raises
    ------
    UsageError
        If the name has another ending, or if the file cannot be written.
    UnavailableError
        If Parquet is asked for and pyarrow is not installed.
    """
    ending = out.suffix.lower()
    if ending not in FORMATS:
        raise UsageError(f"{out} ends in {ending!r}.", f"Allowed are {' and '.join(FORMATS)}.")
    part = out.with_name(f".{out.name}.part")
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        if ending == ".csv":
            _write_csv(rows, part)
        else:
            _write_parquet(rows, part)
        part.replace(out)
    except OSError as error:
        raise UsageError(
            f"{out} cannot be written: {error.strerror or error}.", "Choose another --out."
        ) from None
    finally:
        with contextlib.suppress(OSError):
            part.unlink(missing_ok=True)


def _plain(value: Any) -> Any:
    if isinstance(value, dict | list | tuple):
        return json.dumps(value, ensure_ascii=False)
    return value


def _write_csv(rows: Sequence[Mapping[str, Any]], path: Path) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        columns = columns_of(rows)
        writer = csv.writer(file)
        writer.writerow(map(quoted, columns))
        writer.writerows([quoted(row.get(name, "")) for name in columns] for row in rows)


def quoted(value: Any) -> Any:
    """Write a text so that no spreadsheet takes it for a formula: with an apostrophe before it."""
    return f"'{value}" if isinstance(value, str) and value.startswith(_FORMULA) else value


def _write_parquet(rows: Sequence[Mapping[str, Any]], path: Path) -> None:
    try:
        import pyarrow as pa  # noqa: PLC0415 - optional
        from pyarrow import parquet  # noqa: PLC0415 - optional
    except ImportError:
        raise UnavailableError(
            "Parquet needs the package pyarrow, which is not installed.",
            "Write a .csv, or add it (160 MB): "
            ".venv/bin/uv pip install --python .venv/bin/python pyarrow",
        ) from None
    arrays = {}
    for name in columns_of(rows):
        values = [row.get(name) for row in rows]
        kinds = {type(value) for value in values if value is not None}
        if kinds == {int, float}:
            values = [None if value is None else float(value) for value in values]
        elif len(kinds) > 1:  # such as a hyperparameter of several methods
            values = [None if value is None else str(value) for value in values]
        arrays[name] = pa.array(values) if kinds else pa.nulls(len(values), pa.string())
    parquet.write_table(pa.table(arrays), path, compression="zstd")
