"""Writes the table of what a new scorer changed: ``score_changes.py CHANGES.csv``.

CHANGES.csv is what ``mdbench rescore --changes`` writes.  Each score of a data type is a row, with
how many records have another value, and what became what; the reasons in the last column are
written by hand, and stay when the table is made again.
"""

from __future__ import annotations

import argparse
import csv
import re
from collections import Counter, defaultdict
from pathlib import Path
from typing import Final

PAGE: Final = Path(__file__).resolve().parent.parent / "docs" / "reproducibility.md"
_BLOCK: Final = re.compile(r"(<!-- changes -->\n).*?(<!-- end -->)", re.DOTALL)
_ROW: Final = re.compile(r"^\| (\S+) \| `(\w+)` \|.*\| ([^|]*) \|$", re.MULTILINE)
HEAD: Final = (
    "| data type | score | records | what became what | why |\n| :-- | :-- | --: | :-- | :-- |"
)
MOST: Final = 4
"""Kinds of change that a row names."""


def kind(before: str, after: str) -> str:
    """Name a change: labels and 0 or 1 as they are, other numbers by their direction."""
    shown = [_short(text) for text in (before, after)]
    if None not in shown:
        return f"{shown[0]} → {shown[1]}"
    try:
        old, new = float(before), float(after)
    except ValueError:
        return f"{shown[0] or 'a number'} → {shown[1] or 'a number'}"
    return "higher" if new > old else "lower"


def _short(text: str) -> str | None:
    """Return a value that is one of few; None for a number."""
    if text in {"", "None"}:
        return "undecided"
    try:
        number = float(text)
    except ValueError:
        return text
    return f"{number:.0f}" if number in {0.0, 1.0} else None


def table(rows: list[dict[str, str]], reasons: dict[tuple[str, str], str]) -> str:
    """Return the table.

    Parameters
    ----------
    rows
        Of CHANGES.csv.
    reasons
        By data type and score.
    """
    kinds: dict[tuple[str, str], Counter[str]] = defaultdict(Counter)
    for row in rows:
        kinds[row["data_type"], row["score"]][kind(row["before"], row["after"])] += 1
    lines = [HEAD]
    for (data_type, score), counts in sorted(kinds.items()):
        parts = [f"{name}: {count}" for name, count in counts.most_common(MOST)]
        more = counts.total() - sum(count for _, count in counts.most_common(MOST))
        text = ", ".join(parts + ([f"other: {more}"] if more else []))
        why = reasons.get((data_type, score), "")
        lines.append(f"| {data_type} | `{score}` | {counts.total()} | {text} | {why} |")
    return "\n".join(lines)


def main() -> None:
    """Write the table into its page."""
    parser = argparse.ArgumentParser(description="Write the table of what a new scorer changed.")
    parser.add_argument("changes", type=Path, help="what mdbench rescore --changes has written")
    with parser.parse_args().changes.open(encoding="utf-8", newline="") as file:
        rows = [*csv.DictReader(file)]
    page = PAGE.read_text(encoding="utf-8")
    reasons = {(row[1], row[2]): row[3] for row in _ROW.finditer(page)}
    content = table(rows, reasons)
    written = _BLOCK.sub(lambda block: f"{block[1]}{content}\n{block[2]}", page)
    PAGE.write_text(written, encoding="utf-8")


if __name__ == "__main__":
    main()
