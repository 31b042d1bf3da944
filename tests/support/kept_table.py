"""Measures what passes from job to job in each way of isolation, and writes docs/isolation.md.

.venv-dev/bin/python tests/support/kept_table.py        # measures, and writes the table
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import kept_state
from flavours import FLAVOURS, open_flavour
from harness import make_workspace
from isolated import HOME, Bench

from mdbench.records import Status

if TYPE_CHECKING:
    from collections.abc import Mapping

DOCUMENT = Path(__file__).resolve().parents[2] / "docs" / "isolation.md"
BEGIN, END = "<!-- begin: tests/support/kept_table.py -->\n", "<!-- end: kept_table -->\n"
COLUMNS = ("docker", "bubblewrap", "plain")
_SECONDS = 30.0


def measured(bench: Bench) -> Mapping[str, bool]:
    """Return of each place whether a job finds there what the one before has left."""
    bench.add(Path(kept_state.__file__).read_text(encoding="utf-8"))
    summary = bench.run_seeds(*range(2 * len(kept_state.BITS)), timeout=_SECONDS)
    records = sorted(summary.records, key=lambda record: record.seed)
    assert {record.status for record in records} == {Status.OK}, records[0].reason
    return kept_state.passed(bench.log(record) for record in records[1::2])


def table(found: Mapping[str, Mapping[str, bool]]) -> str:
    """Return the table of what was measured, by the ways of isolation."""
    lines = [
        "| what the kernel keeps | with each | " + " | ".join(COLUMNS) + " |",
        "|---" * 5 + "|",
    ]
    for place in kept_state.PLACES:
        seen = [found[each][place.name] for each in COLUMNS]
        if place.per == kept_state.MACHINE and any(seen):
            seen = [True] * len(COLUMNS)  # how much others use it decides what is seen
        cells = ["**passes**" if each else "nothing" for each in seen]
        lines.append(f"| {place.name} | {place.per} | " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def main() -> None:
    """Measure, and write."""
    found = {}
    for column in COLUMNS:
        open_flavour(column, HOME).close()
        with tempfile.TemporaryDirectory() as folder:
            bench = Bench(column, make_workspace(Path(folder), HOME), "")
            found[column] = measured(bench)
            bench.runtime.close()
    text = DOCUMENT.read_text(encoding="utf-8")
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    DOCUMENT.write_text(f"{before}{BEGIN}{table(found)}{END}{after}", encoding="utf-8")


assert {getattr(each, "values", (each,))[0] for each in FLAVOURS} == set(COLUMNS)

if __name__ == "__main__":
    main()
