"""The categories of a data type's systems, each with a comparison of its own."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from mdbench.records import Record
    from mdbench.reports.leaderboard import Leaderboard


@dataclass(frozen=True)
class Category:
    """The comparisons of the methods on the systems of one category alone.

    Attributes
    ----------
    datasets
        Those that there are results of.
    boards
        One of each class of records.
    """

    name: str
    datasets: frozenset[str]
    boards: tuple[Leaderboard, ...]


def by_category(
    results: Sequence[Record], groups: Mapping[str, Sequence[str]]
) -> dict[str, list[Record]]:
    """Sort results of a data type by category, in the order of its groups; none where all are one.

    Parameters
    ----------
    groups
        The datasets of each group; they may overlap.  What is behind a dataset's name, such as
        ``+noise=0.01``, belongs to it.

    Examples
    --------
    >>> by_category([], {"easy": ["a"]})
    {}
    """
    smallest: dict[str, str] = {}
    for group in sorted(groups, key=lambda name: -len(groups[name])):
        smallest |= dict.fromkeys(groups[group], group)
    records: dict[str, list[Record]] = defaultdict(list)
    for record in results:
        known = smallest.get(record.dataset) or smallest.get(record.dataset.partition("+")[0])
        if known is None:
            return {}  # data of the user's own
        records[known].append(record)
    if len(records) < 2:  # noqa: PLR2004 - nothing to compare
        return {}
    return {group: records[group] for group in groups if group in records}


def heading(name: str) -> str:
    """Write a group's name as a heading.

    Examples
    --------
    >>> heading("radially-decaying-surfaces")
    'Radially decaying surfaces'
    """
    words = name.replace("-", " ")
    return words[:1].upper() + words[1:]
