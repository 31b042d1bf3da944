"""The kinds of input of docs/datasets.md: a test of each has its name."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, TypeVar

from harness import ROOT

if TYPE_CHECKING:
    from collections.abc import Callable

_T = TypeVar("_T")
FILES = (
    "tests/data/test_kinds_of_tables.py",
    "tests/data/test_kinds_of_layouts.py",
    "tests/data/test_kinds_of_data.py",
)
"""The files with the tests."""


def kind(name: str) -> Callable[[_T], _T]:
    """Name the kind of input that a test has members of."""
    del name
    return lambda test: test


def with_a_test() -> list[str]:
    """Return the names of all kinds that have a test."""
    texts = [(ROOT / file).read_text(encoding="utf-8") for file in FILES]
    return [
        name for text in texts for name in re.findall(r'^@kind\("([^"]+)"\)', text, re.MULTILINE)
    ]


def documented() -> list[str]:
    """Return the names of all kinds in the table of the page."""
    page = (ROOT / "docs" / "datasets.md").read_text(encoding="utf-8")
    table = page.partition("| kind of input | what happens |")[2].partition("\n\n")[0]
    rows = [row for row in table.splitlines()[2:] if row.startswith("| ")]
    return [row.split("|")[1].strip() for row in rows]
