"""``mdbench lab sealed``: whether methods were run as they were when a test was sealed."""

from __future__ import annotations

import json
from collections import Counter
from typing import TYPE_CHECKING, Any, NamedTuple

from rich import box
from rich.markup import escape
from rich.table import Table

from mdbench.cli.options import Exit
from mdbench.cli.report import read_results
from mdbench.errors import counted
from mdbench.extensions.laboratory.drawing import frozen_hash, read_commitment

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

    from rich.console import Console

    from mdbench.records import Record

_CHANGED = "its files or its lock have changed since the commitment"
_NEW = "the commitment does not name it"


class Sealed(NamedTuple):
    """Records that a sealed test counts, and those that it refuses.

    Attributes
    ----------
    reasons
        Of each method with refused records: why.
    """

    counts: list[Record]
    refused: list[Record]
    reasons: Mapping[str, str]


def sealed_records(records: Iterable[Record], published: Mapping[str, Any]) -> Sealed:
    """Divide records by whether their method is the one that was committed to.

    A record has the hashes of the method's files and of its lock as they were when it was run.

    Parameters
    ----------
    published
        What `read_commitment` returns.
    """
    frozen = published["methods"]
    counts: list[Record] = []
    refused: list[Record] = []
    reasons: dict[str, str] = {}
    for record in records:
        whole = frozen_hash(record.key_parts["adapter"], str(record.provenance.lock_sha256))
        if frozen.get(record.algorithm) == whole:
            counts.append(record)
        else:
            refused.append(record)
            reasons[record.algorithm] = _CHANGED if record.algorithm in frozen else _NEW
    return Sealed(counts, refused, reasons)


def show_sealed(places: Sequence[Path], commitment: Path, console: Console, *, json_: bool) -> int:
    """Print of each method how many records count, and why others do not.

    Returns
    -------
    int
        1 if a record is refused.

    Raises
    ------
    DataError
        If the file is no commitment.
    UsageError
        If there are no records.
    """
    published = read_commitment(commitment)
    divided = sealed_records(read_results(places), published)
    counts = Counter(one.algorithm for one in divided.counts)
    refused = Counter(one.algorithm for one in divided.refused)
    lines = [
        {
            "algorithm": name,
            "counts": counts[name],
            "refused": refused[name],
            "why": divided.reasons.get(name),
        }
        for name in sorted(counts | refused)
    ]
    if json_:
        print(json.dumps({"schema": 1, "commitment": str(commitment), "methods": lines}, indent=1))
    else:
        table = Table(box=box.SIMPLE_HEAD)
        for title in ("method", "counts", "refused", "why"):
            table.add_column(title, justify="right" if title in {"counts", "refused"} else "left")
        for line in lines:
            table.add_row(*("" if value is None else escape(str(value)) for value in line.values()))
        console.print(table)
        console.print(
            f"{counted(len(divided.counts), 'record')} of methods as they were committed to; "
            f"{len(divided.refused)} refused.",
            soft_wrap=True,
        )
    return Exit.NOT_AS_WISHED if divided.refused else Exit.DONE
