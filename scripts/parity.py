"""SINDy under the published protocol, system by system, next to the authors' code and the paper."""

from __future__ import annotations

import csv
import math
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from findings import to_table

from mdbench.extensions.papers.published import Mark, read_published

if TYPE_CHECKING:
    from collections.abc import Iterable

    from mdbench.records import Record

UPSTREAM = Path(__file__).resolve().parents[1] / "docs" / "results" / "upstream-sindy.csv"
"""What the authors' code gave: ID, system, NMSE, complexity."""
_CLOSE = 0.01
"""Share by which an NMSE may differ from that of the authors' code."""


class _Row(NamedTuple):
    number: str
    system: str
    nmse: float
    complexity: int
    identified: bool
    upstream: tuple[float, int]
    paper: Mark

    @property
    def as_upstream(self) -> bool:
        nmse, complexity = self.upstream
        return self.complexity == complexity and math.isclose(self.nmse, nmse, rel_tol=_CLOSE)

    @property
    def as_paper(self) -> bool:
        if self.paper.power is None:
            return self.identified
        power = round(math.log10(self.nmse)) if self.nmse > 0 else None
        return power == self.paper.power and self.complexity == self.paper.size


def _rows(records: Iterable[Record]) -> list[_Row]:
    ours = {one.dataset: one for one in records if one.algorithm == "sindy" and one.answered}
    paper = read_published()
    found = []
    with UPSTREAM.open(encoding="utf-8", newline="") as file:
        for line in csv.DictReader(file):
            one = ours.get(line["system"])
            mark = paper.of("ode", line["system"], "sindy")
            if one is None or mark is None:
                continue
            found.append(
                _Row(
                    line["id"],
                    line["system"],
                    float(one.metrics["nmse"] or math.nan),
                    int(one.metrics["complexity"] or 0),
                    one.metrics["identified"] == 1,
                    (float(line["nmse"]), int(line["complexity"])),
                    mark,
                )
            )
    return found


def parity_table(records: Iterable[Record]) -> str:
    """Write what agrees in short, and each system: ours, the authors' code, and the paper.

    Parameters
    ----------
    records
        Of SINDy on the clean systems under the published protocol.
    """
    rows = _rows(records)
    ticked = [row for row in rows if row.paper.power is None]
    others = [row for row in rows if row.paper.power is not None]
    alike = sum(row.as_upstream for row in rows)
    found, more = (sum(row.identified for row in ones) for ones in (ticked, others))
    close = sum(row.as_paper for row in others)
    short = f"""\
- {alike} of {len(rows)} systems have upstream's complexity, and its NMSE within {_CLOSE:.0%}.
- {found} of the {len(ticked)} systems that the paper ticks are identified, and {more} others.
- Of the other {len(others)}, {close} have the paper's complexity and power of ten (others: `*`)."""
    lines = [
        [
            row.number,
            row.system,
            f"{row.nmse:.3g} ({row.complexity})",
            f"{row.upstream[0]:.3g} ({row.upstream[1]})",
            ("identified" if row.paper.power is None else str(row.paper))
            + " *" * (not row.as_paper),
        ]
        for row in rows
    ]
    table = to_table(["ID", "system", "here", "upstream's path", "paper"], lines)
    return f"{short}\n\n{table}"
