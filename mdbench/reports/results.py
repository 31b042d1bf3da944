"""What reports need of all their records together: order, studies, kind of data."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from mdbench.drawing.numbers import cleanest_first

if TYPE_CHECKING:
    from collections.abc import Iterable

    from mdbench.records import Record

__all__ = ["measurements", "report_order", "studies"]


def studies(results: Iterable[Record]) -> list[tuple[str, int]]:
    """Name the studies that asked for results by their SHA-256, with how many; most first.

    An empty name stands for the results that a command line asked for; where all are so, there
    is nothing to name.
    """
    counts = Counter(result.study or "" for result in results)
    return counts.most_common() if any(counts) else []


def measurements(results: Iterable[Record]) -> bool:
    """Tell whether all results to whose data no noise was added are of the user's measurements."""
    plain = [one for one in results if one.snr_db is None]
    return bool(plain) and all(one.dataset_path and one.truth is None for one in plain)


def report_order(result: Record) -> tuple[str, str, float, str, str, int, str]:
    """Sort results as reports do: by data type and system, the cleanest first.

    The order is part of the numbers, as it says which systems the bootstrap draws.
    """
    noise = cleanest_first(result.snr_db)
    return (
        result.data_type,
        result.system,
        noise,
        result.protocol,
        result.method,
        result.seed,
        result.part,
    )
