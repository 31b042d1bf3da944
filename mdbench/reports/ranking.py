"""What methods are ranked by: losses on the jobs of a board, tests of pairs, and intervals."""

from __future__ import annotations

import math
from collections import defaultdict
from dataclasses import dataclass
from statistics import median
from typing import TYPE_CHECKING

import numpy as np

from mdbench.drawing.numbers import cleanest_first
from mdbench.metrics.spec import raised
from mdbench.reports import statistics
from mdbench.reports.entries import aggregate

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from mdbench.metrics.spec import MetricSpec
    from mdbench.reports.coverage import Job
    from mdbench.reports.entries import Case, Entry
    from mdbench.reports.statistics import Friedman, Wilcoxon

RESAMPLES = 1000
FEWEST = 5
"""Systems from which on there is an interval."""
QUANTILES = (0.5, 0.75, 0.9, 1.0, 0.25, 0.1, 0.0)
"""Parts of a method's sorted losses by which methods with the same score are ordered."""


@dataclass(frozen=True)
class Pair:
    """Two methods held against each other; a negative effect is in favour of the first."""

    method: str
    other: str
    test: Wilcoxon
    corrected: float


class RankedResults:
    """The results of a method on the jobs of a board, reduced to what ranks it.

    Attributes
    ----------
    ones
        The results.
    fit
        The loss of each job that ranks methods, as far as it is known; infinite is a failure.
    losses
        By case, those that rank nobody included; the median over seeds.
    order
        What methods with the same jobs are ordered by, the best first.  It is of the method's own
        results alone, so that no other method can change who of two is the better one.
    """

    def __init__(
        self,
        entries: Sequence[Entry],
        floors: Mapping[Case, float | None],
        unfit: Mapping[Case, float],
        primary: MetricSpec,
    ) -> None:
        self.ones = entries
        known: dict[Job, float] = {}
        for entry in entries:
            value = entry.values.get(primary.name)
            if not entry.attempted or (entry.answered and not isinstance(value, int | float)):
                continue  # undecided
            loss = math.inf
            if entry.answered and isinstance(value, int | float):
                floor = floors[entry.case] if entry.floor is None else entry.floor
                loss = primary.loss(raised(value, floor, primary))
            known[entry.job] = loss
        self.fit = {job: loss for job, loss in known.items() if job.case not in unfit}
        seeds: dict[Case, list[float]] = defaultdict(list)
        for job, loss in known.items():
            seeds[job.case].append(loss)
        self.losses = {case: median(found) for case, found in seeds.items()}
        self.scores = {
            job: score
            for job, loss in self.fit.items()
            if (score := primary.failed if math.isinf(loss) else primary.loss(loss)) is not None
        }
        value = aggregate(primary, [*self.scores.values()], 0).value
        ordered = sorted(self.fit.values())
        ordered = ordered or [math.inf]
        parts = [ordered[int(part * (len(ordered) - 1))] for part in QUANTILES]
        self.order = (math.inf if value is None else primary.loss(value), *parts)


def common_cases(losses: Sequence[Mapping[Case, float]], unfit: Mapping[Case, float]) -> list[Case]:
    """Return the cases that rank methods and have a score or a failure of all of them."""
    if not losses:
        return []
    common = [c for c in losses[0] if c not in unfit and all(c in own for own in losses)]
    return sorted(common, key=lambda c: (c.system, cleanest_first(c.snr_db), c.protocol))


def ranks_of(orders: Mapping[str, tuple[float, ...]]) -> dict[str, int]:
    """Number methods from 1 by what they are ordered by; equals share the smallest number."""
    values = sorted(orders.values())
    return {method: values.index(order) + 1 for method, order in orders.items()}


def friedman(
    scored: Mapping[str, RankedResults],
    ranked: Sequence[str],
    common: Sequence[Case],
    systems: Sequence[str],
) -> Friedman:
    """Rank on each case, take the mean over the cases of a system, and rank those."""
    losses = ([scored[m].losses[case] for m in ranked] for case in common)
    ranks = np.array([statistics.midranks(np.array(each)) for each in losses])
    rows: dict[str, list[int]] = {system: [] for system in systems}
    for number, case in enumerate(common):
        rows[case.system].append(number)
    # Sums of sixths and thirds differ in the last digit by the order of adding.
    scores = np.round([np.mean(ranks[rows[system]], axis=0) for system in systems], 9)
    return statistics.friedman(scores)


def compare_pairs(
    fit: Mapping[str, Mapping[Job, float]], pairs: Iterable[tuple[str, str]], *, log: bool
) -> tuple[Pair, ...]:
    """Test pairs, each system counting once: the median of its cases' differences.

    Each pair is compared on the jobs that both have a score or a failure of.
    """
    tests = []
    for method, other in pairs:
        seeds: dict[Case, list[tuple[float, float]]] = defaultdict(list)
        for job, loss in fit[method].items():
            if job in fit[other]:
                seeds[job.case].append((loss, fit[other][job]))
        by_system: dict[str, list[float]] = defaultdict(list)
        for case, found in seeds.items():
            own, theirs = (median(each) for each in zip(*found, strict=True))
            by_system[case.system].append(statistics.difference(own, theirs, log=log))
        if by_system:
            test = statistics.wilcoxon([_median(each) for each in by_system.values()])
            tests.append((method, other, test))
    corrected = statistics.holm([test.p for *_, test in tests])
    return tuple(Pair(*test, p) for test, p in zip(tests, corrected, strict=True))


def _median(differences: Sequence[float]) -> float:
    middle = median(differences)
    return 0.0 if math.isnan(middle) else middle  # of as many failures of one as of the other


def interval(scores: Mapping[Job, float], *, mean: bool) -> tuple[float | None, float | None]:
    """Return the 95 % interval when systems, and of each its seeds, are drawn again."""
    repeats: dict[str, list[str]] = {}
    for job in scores:
        own = repeats.setdefault(job.case.system, [])
        if job.repeat not in own:
            own.append(job.repeat)
    if len(repeats) < FEWEST:
        return None, None
    numbers: dict[tuple[str, str], int] = {}
    for system, own in repeats.items():
        for repeat in own:
            numbers[system, repeat] = len(numbers)
    drawn = statistics.draws(RESAMPLES, [len(own) for own in repeats.values()])
    at = [numbers[job.case.system, job.repeat] for job in scores]
    return statistics.bootstrap([*scores.values()], at, drawn, mean=mean)
