"""Tables and figures of the operators behind right labels, from labels kept with the records."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mdbench.datatypes.derivation.answers import operator_table, pooled, read_labels
from mdbench.datatypes.derivation.plots import (
    OPERATORS_CAPTION,
    operator_bars,
    operator_cells,
    operators_head,
)
from mdbench.records.files import attached, unpack_answers

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from mdbench.datatypes.derivation.answers import OperatorRow
    from mdbench.records import Record

_SHOWN = {
    "structured-2": ("boosting", "transformer"),
    "structured-3": ("boosting",),
    "structured-4": ("tagged_lr",),
}
"""Whose labels are looked at: those that are neither a coin's nor all right."""


def operator_tables(
    records: Sequence[Record], folder: Path
) -> Iterator[tuple[str, dict[str, list[OperatorRow]]]]:
    """Yield for each dataset the tables by method, of the seeds whose labels are in a folder."""
    for dataset, methods in _SHOWN.items():
        found = {}
        for method in methods:
            files = [
                file
                for one in sorted(records, key=lambda one: one.seed)
                if (one.dataset, one.method) == (dataset, method)
                and (file := attached([folder], one.answers))
            ]
            if files:
                runs = (read_labels(unpack_answers(file)) for file in files)
                found[method] = operator_table(pooled(runs))
        if found:
            yield dataset, found


def operators_markdown(rows: Sequence[OperatorRow]) -> str:
    """Write the table of a method."""
    head = operators_head(rows)
    rule = [":--", *["--:"] * (len(head) - 1)]
    return "\n".join(f"| {' | '.join(line)} |" for line in [head, rule, *operator_cells(rows)])


def operators_figure(
    tables: Mapping[str, Sequence[OperatorRow]], numbers: Mapping[str, int]
) -> tuple[str, str]:
    """Return the figure, as SVG, and the sentence that explains it."""
    colours = ", ".join(tables)
    drawn = operator_bars({(method, numbers[method]): rows for method, rows in tables.items()})
    return drawn, f"{OPERATORS_CAPTION} Bars from above: {colours}."
