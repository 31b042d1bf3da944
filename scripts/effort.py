"""What methods could do with their work, and where a share is no result (docs/budgets.md)."""

from __future__ import annotations

from collections import Counter, defaultdict
from statistics import fmean, median
from typing import TYPE_CHECKING, Final

from findings import BASELINES, job_of, named, to_table

from mdbench.reports.columns import counts_text, hides_share, not_measured_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from edition_results import Recovered, Results

    from mdbench.records import Record

HEAD: Final = ("partial", "evaluations", "no answer")
"""The heads of `effort_cells`."""


def records_of(results: Results, one: Recovered) -> dict[str, list[Record]]:
    """Return by method the records of the jobs of a suite that are compared.

    Of tables of measurements these are all folds of the tables that are compared.
    """
    tables = {job.case.system for each in one.verdicts.values() for job in each}
    of_tables = one.suite.data_type == "real"
    records: dict[str, list[Record]] = {method: [] for method in one.verdicts}
    for each in results.held[one.suite]:
        jobs = one.verdicts.get(each.method)
        if jobs is not None and each.attempted:
            compared = each.dataset in tables if of_tables else job_of(each) in jobs
            records[each.method] += [each] * compared
    return records


def not_measured(results: Results, one: Recovered) -> dict[str, int]:
    """Return by method how many jobs of a suite were ended too early to say anything of it.

    Of measurements a table counts where more than half of its folds do.
    """
    counts = {}
    for method, records in records_of(results, one).items():
        by_job: dict[object, list[bool]] = defaultdict(list)
        for each in records:
            job = each.dataset if one.suite.data_type == "real" else job_of(each)
            by_job[job].append(each.not_measured)
        counts[method] = sum(hides_share(sum(ones), len(ones)) for ones in by_job.values())
    return counts


def share_cell(one: Recovered, method: str, count: int) -> str:
    """Write what stands in place of a share where more than half of the jobs are not measured.

    Returns
    -------
    str
        With the number of these jobs, and what the share is at least; empty for a share.
    """
    if not hides_share(count, one.jobs):
        return ""
    share = one.shares[method]
    return f"{not_measured_text(f'{share:.0%}' if share else '')}, {count} of {one.jobs}"


def effort_cells(records: Sequence[Record]) -> list[str]:
    """Write the share of jobs that a limit ended, evaluations (median), and failures by cause."""
    tried = [one for one in records if one.attempted]
    counts = [n for one in tried if (n := one.measured.evaluations) is not None]
    causes = Counter(one.status.value for one in tried if not one.answered)
    return [
        f"{fmean(one.cut_off for one in tried):.0%}" if tried else "–",
        f"{median(counts):,.0f}" if counts else "–",
        counts_text(dict(sorted(causes.items()))),
    ]


def effort_table(results: Results) -> str:
    """Write for each method its jobs of all suites, those not measured, and `effort_cells`.

    Returns
    -------
    str
        Markdown; evaluations are in each method's own count, and – where it keeps none.
    """
    by_method: dict[str, list[Record]] = defaultdict(list)
    for one in results.records:
        if one.attempted and one.method not in BASELINES:
            by_method[one.method].append(one)
    lines = [
        [named(name), str(len(ones)), _count(ones), *effort_cells(ones)]
        for name, ones in sorted(by_method.items())
    ]
    return to_table(["method", "jobs", "not measured", *HEAD], lines, texts=(0, 5))


def _count(records: Iterable[Record]) -> str:
    return str(sum(one.not_measured for one in records))
