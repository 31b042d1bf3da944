"""Ranks of methods on problems that nobody has seen, compared with those on a known suite."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from findings import compared, named, share_of, to_table
from scipy.stats import kendalltau, rankdata, spearmanr

from mdbench.datatypes.facts import FRESH

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from findings import Verdicts

    from mdbench.records import Record

_DRAWS = 2000
_KNOWN = {"ode": ("systems", "ODEBench"), "srsd": ("laws", "SRSD")}
"""By data type what its problems are called, and the suite that fresh ones are compared with."""


class Ranks(NamedTuple):
    """Methods on both suites.

    Attributes
    ----------
    fresh, known
        By method whether each job identified its system, of the jobs that all methods have.
    spearman, kendall
        Correlations of the ranks by identified shares; ties have their mean rank (tau-b).
    low, high
        The 95 % interval of Spearman's when the systems of both suites are drawn again.
    """

    fresh: Mapping[str, Verdicts]
    known: Mapping[str, Verdicts]
    spearman: float
    kendall: float
    low: float
    high: float


def ranks_of(records: Sequence[Record]) -> Ranks:
    """Compare ranks on fresh problems with those on all others."""
    parts = [
        {
            method: {job: v for job, v in each.items() if job.case.system.startswith(FRESH) == new}
            for method, each in compared(records).items()
        }
        for new in (True, False)
    ]
    methods = list(parts[0])
    tables = [np.array([list(part[method].values()) for method in methods]) for part in parts]
    shares = [table.mean(axis=1) for table in tables]
    generator = np.random.default_rng(0)
    drawn = []
    for _ in range(_DRAWS):
        again = [t[:, generator.integers(t.shape[1], size=t.shape[1])].mean(axis=1) for t in tables]
        if all(len(set(each)) > 1 for each in again):
            drawn.append(spearmanr(*again).statistic)
    low, high = np.quantile(drawn, [0.025, 0.975])
    found = spearmanr(*shares).statistic, kendalltau(*shares).statistic
    fresh, known = parts
    return Ranks(fresh, known, *map(float, (*found, low, high)))


def ranks_finding(records: Sequence[Record]) -> str:
    """Write the finding in words."""
    found = ranks_of(records)
    problems, suite = _KNOWN[records[0].data_type]
    parts = found.fresh, found.known
    sums = [
        sum(sum(each.values()) for each in part.values()) / sum(map(len, part.values()))
        for part in parts
    ]
    first = [_first(part) for part in parts]
    names, others = (" and ".join(f"`{method}`" for method in each) for each in first)
    counts = [_count(part[each[0]]) for part, each in zip(parts, first, strict=True)]
    best = f"First on fresh {problems}: {names} ({counts[0]}); on {suite}: {others} ({counts[1]})"
    between = f"{found.spearman:.2f} [{found.low:.2f} … {found.high:.2f}]"
    return (
        f"**The ranks of {len(found.fresh)} methods on {problems} that nobody had seen and on "
        f"{suite} have a Spearman correlation of {between} (Kendall's tau-b "
        f"{found.kendall:.2f}).** {best}. All methods together identify "
        f"{sums[0]:.0%} of the fresh {problems} and {sums[1]:.0%} of those of {suite}."
    )


def ranks_table(records: Sequence[Record]) -> str:
    """Write shares and ranks of methods on both, those first that identify most fresh systems."""
    found = ranks_of(records)
    followed: dict[tuple[str, bool], list[float]] = defaultdict(list)
    jobs = {job for each in (found.fresh, found.known) for v in each.values() for job in v}
    systems = {job.case.system for job in jobs}
    for one in records:
        if one.data_type == "ode" and one.system in systems and one.attempted:
            value = one.metrics.get("follows_unseen") if one.answered else 0.0
            if value is not None:
                followed[one.method, one.system.startswith(FRESH)].append(float(value == 1))
    methods = list(found.fresh)
    places = [
        rankdata([-sum(part[method].values()) for method in methods])
        for part in (found.fresh, found.known)
    ]
    lines = []
    for number in np.argsort(places[0], kind="stable"):
        method = methods[number]
        cells = [named(method)]
        for part, place, new in zip((found.fresh, found.known), places, (True, False), strict=True):
            cells += [share_of(part[method]), f"{place[number]:g}"]
            if unseen := followed.get((method, new)):
                cells.append(f"{sum(unseen):.0f} of {len(unseen)}")
        lines.append(cells)
    head = ["method"]
    for name in ("fresh", _KNOWN[records[0].data_type][1]):
        head += [f"{name}: identified", "rank"]
        head += ["followed from the second start"] * bool(followed)
    return to_table(head, lines)


def _first(part: Mapping[str, Verdicts]) -> list[str]:
    most = max(sum(each.values()) for each in part.values())
    return [method for method, each in part.items() if sum(each.values()) == most]


def _count(verdicts: Verdicts) -> str:
    return f"{sum(verdicts.values()):.0f} of {len(verdicts)}"
