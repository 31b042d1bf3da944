"""Whether methods have the order that SRBench published for them, on the same laws by its metric.

``scripts/results`` writes it into docs/results/published-parity.md.  By itself it reads a folder of
results, as before and after a change of settings::

    .venv/bin/python scripts/rank_correlation.py results
"""

from __future__ import annotations

import sys
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np
from findings import named, to_table
from scipy.stats import rankdata, spearmanr

from mdbench.datatypes.facts import Protocol
from mdbench.extensions.papers.published import read_published_sets
from mdbench.records import read_folder
from mdbench.reports.classes import latest
from mdbench.reports.columns import hides_share
from mdbench.reports.statistics import wilson

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from mdbench.records import Record

METHODS: Final = {
    **{name: name for name in ("afp", "afp_fe", "operon", "dsr", "gplearn", "aifeynman", "itea")},
    "gp_gomea": "gpgomea",
}
"""The methods here that have the name of one of SRBench (2021), and that name."""
_GROUP, _METRIC = "srbench-feynman", "srbench_solution"
_GOAL: Final = 0.7
_FEWEST: Final = 3
"""Methods below which there is no rank correlation."""
_DRAWS: Final = 10_000


class Pair(NamedTuple):
    """The share of laws that a method solves, here and in SRBench's tables.

    Attributes
    ----------
    jobs, not_measured
        Its jobs here, and those that were ended too early.
    """

    method: str
    here: float
    published: float
    jobs: int
    not_measured: int


def pairs(records: Iterable[Record]) -> list[Pair]:
    """Return the pairs of the methods with a record of the same laws, in the published order.

    Counted are clean laws under `strict` that each of these methods has a record of, all seeds.
    """
    published = _published()
    ours: dict[str, list[Record]] = {}
    for one in latest(list(records)):
        of_srbench = one.data_type == "srsd" and one.dataset.startswith(f"{_GROUP}-")
        plain = one.snr_db is None and one.protocol == Protocol.STRICT and "+" not in one.dataset
        if of_srbench and plain and one.attempted and one.algorithm in published:
            ours.setdefault(one.algorithm, []).append(one)
    laws = [{one.dataset for one in several} for several in ours.values()]
    shared = set.intersection(*laws) if laws else set()
    made = []
    for method, several in ours.items():
        jobs = [one for one in several if one.dataset in shared]
        if jobs:
            here = fmean(float(one.metrics.get(_METRIC) == 1) for one in jobs)
            short = sum(one.not_measured for one in jobs)
            made.append(Pair(method, here, published[method], len(jobs), short))
    return sorted(made, key=lambda one: (-one.published, one.method))


def _published() -> dict[str, float]:
    by_method = read_published_sets("srbench").values["srsd"][_GROUP]
    return {name: by_method[theirs][_METRIC] for name, theirs in METHODS.items()}


def correlation(found: Sequence[Pair]) -> float | None:
    """Return Spearman's rank correlation of both shares; None of fewer than three methods."""
    if len(found) < _FEWEST or len({one.here for one in found}) == 1:
        return None
    return float(spearmanr([one.here for one in found], [one.published for one in found]).statistic)


def chance_of_goal(found: Sequence[Pair]) -> float:
    """Return how often so few jobs would reach the goal if each share here were the published one.

    Jobs are drawn independently of each other.  Methods that solve equally many share a rank.
    """
    published = np.array([one.published for one in found])
    jobs = np.array([one.jobs for one in found])
    drawn = np.random.default_rng(0).binomial(jobs, published, (_DRAWS, len(found))) / jobs
    ranks = rankdata(drawn, axis=1)
    ranks -= ranks.mean(axis=1, keepdims=True)
    wanted = rankdata(published)
    wanted -= wanted.mean()
    sizes = np.linalg.norm(ranks, axis=1) * np.linalg.norm(wanted)
    return float(np.mean(ranks @ wanted >= _GOAL * np.where(sizes > 0, sizes, np.inf)))


def share_text(share: float, jobs: int) -> str:
    """Write a share of jobs with Wilson's interval of 95 %."""
    low, high = wilson(share, jobs)
    return f"{share:.1%} [{low:.0%} … {high:.0%}]"


def ranks_text(records: Iterable[Record]) -> str:
    """Write the rank correlation in words, and a line for each method.

    Returns
    -------
    str
        Markdown: the correlation of all methods, and of those most of whose jobs were measured.
    """
    found = pairs(records)
    measured = [one for one in found if not hides_share(one.not_measured, one.jobs)]
    every, some = correlation(found), correlation(measured)
    if every is None:
        return "No three of these methods have a record of the same laws."
    laws = max(one.jobs for one in found)
    text = (
        f"- The rank correlation (Spearman's) of {len(found)} methods is **{every:.2f}**; the goal "
        f"is {_GOAL}. Each method has {laws} jobs at most.\n"
        f"- If each method solved laws here with the published probability, so many jobs would "
        f"reach {_GOAL} in {chance_of_goal(found):.0%} of {_DRAWS:,} draws."
    )
    left = len(found) - len(measured)
    if left:
        value = "too few are left for one" if some is None else f"it is {some:.2f}"
        text += (
            f"\n- Of {left} of these most jobs were ended too early to be measured; without them "
            f"{value}."
        )
    lines = [
        [
            named(one.method),
            share_text(one.here, one.jobs),
            f"{one.published:.1%}",
            str(one.jobs),
            str(one.not_measured),
        ]
        for one in found
    ]
    head = ["method", "solved here", "SRBench (2021)", "jobs here", "not measured"]
    return f"{text}\n\n{to_table(head, lines)}"


def main() -> int:
    """Print it for the folder of results that the command line names."""
    if len(sys.argv) != 2 or not Path(sys.argv[1]).is_dir():  # noqa: PLR2004 - name and folder
        print("Give a folder of results, such as: scripts/rank_correlation.py results")
        return 2
    print(ranks_text(record for _, record in read_folder(Path(sys.argv[1]))))
    return 0


if __name__ == "__main__":
    sys.exit(main())
