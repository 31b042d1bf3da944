"""Rooms: reports name no metric and no data type, and drawing knows nothing above it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest
from harness import ROOT

from mdbench import datatypes

if TYPE_CHECKING:
    from pathlib import Path

REPORTS = sorted(
    path
    for path in (ROOT / "mdbench" / "reports").rglob("*")
    if path.suffix in {".py", ".js", ".j2", ".css"}
)
DRAWING = sorted((ROOT / "mdbench" / "drawing").glob("*.py"))


def words() -> set[str]:
    kinds = datatypes.classes()
    names = {spec.name for kind in kinds for spec in kind.metrics}
    return {kind.name for kind in kinds} | names | {name.replace("_", " ") for name in names}


@pytest.mark.parametrize("path", REPORTS, ids=lambda path: path.name)
def test_reports_name_no_metric_and_no_data_type(path: Path) -> None:
    text = path.read_text(encoding="utf-8").lower()
    assert [word for word in words() if re.search(rf"\b{re.escape(word)}\b", text)] == []


@pytest.mark.parametrize("path", DRAWING, ids=lambda path: path.name)
def test_drawing_knows_nothing_of_data_types_records_and_reports(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    imported = set(re.findall(r"(?:from|import) mdbench\.(\w+)", text))
    assert imported <= {
        "data",
        "drawing",
        "errors",
        "expressions",
        "measurements",
        "solvers",
        "surfaces",
    }
