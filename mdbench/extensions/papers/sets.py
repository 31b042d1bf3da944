"""Tables of whole sets of datasets: means of metrics next to those that a paper reports."""

from __future__ import annotations

from collections import defaultdict
from statistics import fmean, median
from typing import TYPE_CHECKING

from mdbench.drawing.numbers import NOTHING, fixed, rounded
from mdbench.reports.columns import NOT_MEASURED, hides_share
from mdbench.reports.tables import text_table, to_markdown

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from mdbench.extensions.papers.published import PublishedSets
    from mdbench.metrics.spec import MetricSpec
    from mdbench.records import Record


def sets_table(
    results: Iterable[Record],
    data_type: str,
    groups: Mapping[str, Sequence[str]],
    specs: Mapping[str, MetricSpec],
    published: PublishedSets,
    *,
    every: bool = False,
    named: Callable[[str], str] = str,
) -> str:
    """Write what a paper reports of methods on whole sets, and what was measured next to it.

    A row is a method that both have, on a set; a pair of columns is a metric.  What the scorer
    could not decide is left out of means, and a job without an answer counts by the rule of the
    metric.

    Parameters
    ----------
    groups
        The datasets of each set.
    specs
        Those of the data type's metrics that are shown, by name.
    every
        Whether methods that only one of the two has are rows, too.
    named
        Writes the name of a method that was run here, with its mark.
    """
    by_cell: dict[tuple[str, str], list[Record]] = defaultdict(list)
    tables = published.values[data_type]
    set_of = published.set_of(data_type, groups)
    for one in results:
        if one.data_type == data_type and one.dataset in set_of and one.attempted:
            by_cell[one.method, set_of[one.dataset]].append(one)
    lines = []
    methods = [each for rows in tables.values() for each in rows]
    for method in dict.fromkeys([*methods, *(method for method, _ in by_cell)]):
        for group, rows in tables.items():
            records = by_cell.get((method, group), [])
            sides = bool(records), method in rows
            if not (any(sides) if every else all(sides)):
                continue
            problems = len({one.dataset for one in records})
            name_here = named(method) if records else method
            line = [
                name_here,
                group,
                f"{problems} of {len(groups.get(group.partition('+')[0], ()))}",
            ]
            for name, spec in specs.items():
                there = rows.get(method, {}).get(name)
                line.append(NOTHING if there is None else fixed(there, 3))
                line.append(_mean(records, spec, median if name in published.medians else fmean))
            lines.append(line)
    head = ["method", "set", "problems here"]
    for spec in specs.values():
        head += [f"{spec.title}, {published.title}", "here"]
    return to_markdown(text_table(head, lines, {"method", "set"}))


def _mean(
    records: Iterable[Record], spec: MetricSpec, mean: Callable[[list[float]], float] = fmean
) -> str:
    """Write the mean of a metric over results, those without an answer included.

    There is none of a share most of whose jobs were ended too early to be measured.
    """
    records = list(records)
    short = sum(one.not_measured for one in records)
    if spec.aggregate == "share" and hides_share(short, len(records)):
        return NOT_MEASURED if records else NOTHING
    values = [
        one.metrics[spec.name] if one.answered and spec.name in one.metrics else spec.failed
        for one in records
    ]
    known = [value for value in values if isinstance(value, int | float)]
    return rounded(mean(known), 3) if known else NOTHING
