"""Methods compared on one data type: who finds what, how accurately, how simply, at what cost.

The page computes the same again under its filters (``templates/report.js``); a browser test
holds the two together.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections import Counter, defaultdict
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations
from statistics import median
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from mdbench.drawing.numbers import cleanest_first, noise_name
from mdbench.metrics.spec import above_floor, raised, ranks
from mdbench.records import Status
from mdbench.reports import statistics
from mdbench.reports.entries import (
    aggregate,
    counted_values,
    entry,
    measurements,
    report_order,
    specs_of,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from mdbench.metrics.spec import MetricSpec
    from mdbench.records import Record
    from mdbench.reports.entries import Aggregated, Case, Entry
    from mdbench.reports.statistics import Friedman, Wilcoxon


BASELINE = "baseline"
"""The family of methods that others are only held against."""
RESAMPLES = 1000
COVERAGE = 0.5
"""A method is ranked if it did at least this share of the cases that the busiest one did."""


class MethodFacts(NamedTuple):
    """Facts of a method besides its results.

    A reference is given the truth; it is shown, and not ranked.  `origin` states whether a public
    package does the work or code of the bench's own, and whose settings it has.
    """

    family: str = "other"
    reference: bool = False
    origin: str = ""


@dataclass(frozen=True)
class Row:
    """A line of the leaderboard.

    Attributes
    ----------
    rank
        Mean rank over the systems; None where the method is not ranked.
    cases, fit_cases
        How many cases were attempted, and how many of them rank methods.
    values
        Of each metric by name; that of the primary one is over the cases that rank methods, each
        raised to its floor.
    low, high
        The 95 % interval of the primary one's value; None without any.
    above_floor
        The median of score over floor, where ratios matter and the floor is known.
    causes
        How many jobs ended otherwise than ok, by status.
    """

    method: str
    family: str
    reference: bool
    origin: str
    rank: float | None
    jobs: int
    answered: int
    cases: int
    fit_cases: int
    values: Mapping[str, Aggregated]
    low: float | None
    high: float | None
    above_floor: float | None
    causes: Mapping[str, int]
    wall_s: float | None
    total_s: float
    memory_mb: float | None

    @property
    def cut_off(self) -> bool:
        """Whether most jobs were ended before they were done, with or without an answer."""
        ended = sum(self.causes.get(status, 0) for status in (Status.TIMEOUT, Status.PARTIAL))
        return 2 * ended > self.jobs


@dataclass(frozen=True)
class Pair:
    """Two methods held against each other; a negative effect is in favour of the first."""

    method: str
    other: str
    test: Wilcoxon
    corrected: float


class Grid(NamedTuple):
    """Results at one noise level; the methods in the order of the leaderboard."""

    systems: Sequence[str]
    methods: Sequence[str]
    cells: Mapping[tuple[str, str], Sequence[Entry]]

    def cell(self, system: str, method: str) -> Sequence[Entry]:
        """Return what there is of a method on a system, which may be nothing."""
        return self.cells.get((system, method), ())


@dataclass(frozen=True)
class Leaderboard:
    """The comparison of methods on one data type.

    Attributes
    ----------
    specs
        Its metrics, the primary one first.
    rows
        Ranked methods first, by rank; then those that are not ranked, and references.
    unfit
        The cases that rank nobody, each with what the truth scores there.
    ranked
        The methods that are ranked, in the order of `friedman`'s ranks.
    systems
        The systems that every ranked method attempted: what ranks and tests are over.
    losses
        By method and case the primary score, turned so that lower is better: raised to the floor,
        the median over seeds; infinite is a failure.
    measured
        Whether what has no noise added is somebody's measurements, which nobody calls clean.
    """

    specs: tuple[MetricSpec, ...]
    rows: tuple[Row, ...]
    unfit: Mapping[Case, float]
    ranked: tuple[str, ...]
    systems: tuple[str, ...]
    friedman: Friedman | None
    pairs: tuple[Pair, ...]
    losses: Mapping[str, Mapping[Case, float]]
    entries: tuple[Entry, ...]
    measured: bool = False

    def noise_name(self, snr_db: float | None) -> str:
        """Name a noise level of these results."""
        return noise_name(snr_db, measured=self.measured)

    @property
    def primary(self) -> MetricSpec:
        """The metric that methods are ranked by."""
        return self.specs[0]

    @cached_property
    def known(self) -> tuple[MetricSpec, ...]:
        """The primary metric, and of those that are shown anywhere what any answer has."""
        names = {name for one in self.entries if one.answered for name in one.values}
        return tuple(
            spec
            for spec in self.specs
            if spec is self.primary or (spec.name in names and (spec.places or spec.mark))
        )

    @cached_property
    def weighs(self) -> MetricSpec | None:
        """The metric that accuracy is weighed against, where it is known."""
        return next((spec for spec in self.known if spec.weighs), None)

    @cached_property
    def has_floors(self) -> bool:
        """Whether the truth's scores are known, and how many times these an answer has matters."""
        ratios = self.primary.scale == "log" and self.primary.better == "lower"
        return ratios and any(
            one.floor is not None and one.floor > self.primary.resolution
            for one in self.entries
            if ranks(one.floor, self.primary)
        )

    @property
    def noise_levels(self) -> list[float | None]:
        """All noise levels, the cleanest first."""
        return sorted({one.case.snr_db for one in self.entries}, key=cleanest_first)

    @cached_property
    def _sorted_losses(self) -> list[float]:
        found = (one.values.get(self.primary.name) for one in self.entries if one.answered)
        return sorted(self.primary.loss(v) for v in found if isinstance(v, int | float))

    def badness(self, value: float) -> float:
        """Return from 0 to 1 how bad a primary score is: by value within 0 and 1, else by place."""
        losses = self._sorted_losses
        low, high = sorted(map(self.primary.loss, (losses[0], losses[-1])))
        if low >= 0 and high <= 1:
            return 1 - value if self.primary.better == "higher" else value
        return bisect_left(losses, self.primary.loss(value)) / len(losses)

    def grid(self, snr_db: float | None) -> Grid:
        """Lay the results at one noise level out, systems against methods."""
        cells: dict[tuple[str, str], list[Entry]] = defaultdict(list)
        for one in self.entries:
            if one.case.snr_db == snr_db:
                cells[one.case.system, one.method].append(one)
        there = {method for _, method in cells}
        return Grid(
            systems=list(dict.fromkeys(system for system, _ in cells)),
            methods=[row.method for row in self.rows if row.method in there],
            cells=dict(cells),
        )


def boards(
    results: Iterable[Record],
    kinds: Mapping[str, MethodFacts],
    specs: Mapping[str, Sequence[MetricSpec]],
) -> dict[str, Leaderboard]:
    """Compare methods on each data type, results in the order of reports.

    Parameters
    ----------
    results
        Those that count.
    kinds
        What is known of the methods; others are of the family ``other``.
    specs
        The metrics of each data type; those of another one are made of what its records hold.
    """
    results = sorted(results, key=report_order)
    known = specs_of(results, specs)
    by_type: dict[str, list[Entry]] = defaultdict(list)
    for result in results:
        by_type[result.data_type].append(entry(result, known[result.data_type]))
    found = {}
    for name, entries in by_type.items():
        own = measurements(one for one in results if one.data_type == name)
        found[name] = replace(board(entries, kinds, known[name]), measured=own)
    return found


def board(
    entries: Iterable[Entry], kinds: Mapping[str, MethodFacts], specs: Sequence[MetricSpec]
) -> Leaderboard:
    """Compare methods.

    Parameters
    ----------
    entries
        The results of one data type.
    kinds
        What is known of the methods; others are of the family ``other``.
    specs
        The metrics of the data type, the primary one first.
    """
    entries, primary = tuple(entries), specs[0]
    by_case: dict[Case, list[Entry]] = defaultdict(list)
    by_method: dict[str, list[Entry]] = defaultdict(list)
    for one in entries:
        by_case[one.case].append(one)
        by_method[one.method].append(one)
    floors = {case: _middle(one.floor for one in ones) for case, ones in by_case.items()}
    unfit = {
        case: floor
        for case, floor in floors.items()
        if floor is not None and not ranks(floor, primary)
    }
    losses = {method: _losses(ones, floors, primary) for method, ones in by_method.items()}
    ranked, common = _ranked(losses, kinds, unfit)
    systems = tuple(dict.fromkeys(case.system for case in common))
    found = _friedman(losses, ranked, common, systems) if len(ranked) > 1 and systems else None
    mean_ranks = dict(zip(ranked, found.mean_ranks, strict=True)) if found else {}
    rows = []
    for method, ones in by_method.items():
        kind = kinds.get(method, MethodFacts())
        fit = {case: loss for case, loss in losses[method].items() if case not in unfit}
        row = _row(method, ones, kind, fit=fit, floors=floors, specs=specs)
        rows.append(replace(row, rank=mean_ranks.get(method), cases=len(losses[method])))
    return Leaderboard(
        specs=tuple(specs),
        rows=tuple(sorted(rows, key=lambda row: _place(row, primary))),
        unfit=unfit,
        ranked=ranked,
        systems=systems,
        friedman=found,
        pairs=_pairs(losses, ranked, common, systems, log=primary.scale == "log") if found else (),
        losses=losses,
        entries=entries,
    )


def _losses(
    ones: Iterable[Entry], floors: Mapping[Case, float | None], primary: MetricSpec
) -> dict[Case, float]:
    seeds: dict[Case, list[float]] = defaultdict(list)
    for one in ones:
        value = one.values.get(primary.name)
        if not one.attempted or (one.answered and not isinstance(value, int | float)):
            continue  # undecided
        loss = math.inf
        if one.answered and isinstance(value, int | float):
            loss = primary.loss(raised(value, floors[one.case], primary))
        seeds[one.case].append(loss)
    return {case: median(found) for case, found in seeds.items()}


def _ranked(
    losses: Mapping[str, Mapping[Case, float]],
    kinds: Mapping[str, MethodFacts],
    unfit: Mapping[Case, float],
) -> tuple[tuple[str, ...], list[Case]]:
    """Choose who is ranked, and on what: the cases that all of them attempted."""
    own = {m: cases for m, cases in losses.items() if not kinds.get(m, MethodFacts()).reference}
    most = max((len(cases) for cases in own.values()), default=0)
    ranked = tuple(m for m, cases in own.items() if cases and len(cases) >= COVERAGE * most)
    if not ranked:
        return (), []
    first = own[ranked[0]]
    common = [c for c in first if c not in unfit and all(c in own[m] for m in ranked)]
    return ranked, sorted(common, key=lambda c: (c.system, cleanest_first(c.snr_db), c.protocol))


def _friedman(
    losses: Mapping[str, Mapping[Case, float]],
    ranked: Sequence[str],
    common: Sequence[Case],
    systems: Sequence[str],
) -> Friedman:
    """Rank on each case, take the mean over the cases of a system, and rank those."""
    from scipy.stats import rankdata  # noqa: PLC0415 - takes a second

    found = rankdata([[losses[m][case] for m in ranked] for case in common], axis=1)
    rows: dict[str, list[int]] = {system: [] for system in systems}
    for number, case in enumerate(common):
        rows[case.system].append(number)
    # Sums of sixths and thirds differ in the last digit by the order of adding.
    scores = np.round([np.mean(found[rows[system]], axis=0) for system in systems], 9)
    return statistics.friedman(scores)


def _pairs(
    losses: Mapping[str, Mapping[Case, float]],
    ranked: Sequence[str],
    common: Sequence[Case],
    systems: Sequence[str],
    *,
    log: bool,
) -> tuple[Pair, ...]:
    """Test all pairs, each system counting once: the median of its cases' differences."""
    tests = []
    for method, other in combinations(ranked, 2):
        by_system: dict[str, list[float]] = {system: [] for system in systems}
        for case in common:
            by_system[case.system].append(
                statistics.difference(losses[method][case], losses[other][case], log=log)
            )
        found = statistics.wilcoxon([_median(each) for each in by_system.values()])
        tests.append((method, other, found))
    corrected = statistics.holm([test.p for *_, test in tests])
    return tuple(Pair(*test, p) for test, p in zip(tests, corrected, strict=True))


def _median(differences: Sequence[float]) -> float:
    middle = median(differences)
    return 0.0 if math.isnan(middle) else middle  # of as many failures of one as of the other


def _row(
    method: str,
    ones: Sequence[Entry],
    kind: MethodFacts,
    *,
    fit: Mapping[Case, float],
    floors: Mapping[Case, float | None],
    specs: Sequence[MetricSpec],
) -> Row:
    primary, *others = specs
    scores = {c: primary.failed if math.isinf(x) else primary.loss(x) for c, x in fit.items()}
    kept = {case: score for case, score in scores.items() if score is not None}
    low = high = None
    if kept:
        numbers: dict[str, int] = {}
        places = [numbers.setdefault(case.system, len(numbers)) for case in kept]
        drawn = statistics.draws(RESAMPLES, len(numbers))
        mean = primary.aggregate in {"mean", "share"}
        low, high = statistics.bootstrap([*kept.values()], places, drawn, mean=mean)
    values = {spec.name: aggregate(spec, *counted_values(ones, spec)) for spec in others}
    unknown = counted_values(ones, primary).undecided
    values[primary.name] = aggregate(primary, [*kept.values()], unknown)
    done = [one for one in ones if one.attempted]
    statuses = Counter(one.status for one in ones)
    return Row(
        method=method,
        family=kind.family,
        reference=kind.reference,
        origin=kind.origin,
        rank=None,
        jobs=len(ones),
        answered=sum(one.answered for one in ones),
        cases=0,
        fit_cases=len(fit),
        values=values,
        low=low,
        high=high,
        above_floor=_middle(
            above_floor(score, floors[case], primary) for case, score in kept.items()
        ),
        causes={str(s): statuses[s] for s in Status if s is not Status.OK and statuses[s]},
        wall_s=_middle(one.wall_s for one in done),
        total_s=sum(one.wall_s or 0.0 for one in ones),
        memory_mb=max((one.memory_mb for one in ones if one.memory_mb is not None), default=None),
    )


def _middle(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return median(known) if known else None


def _place(row: Row, primary: MetricSpec) -> tuple[bool, float, bool, float, str]:
    value = row.values[primary.name].value
    loss = math.inf if value is None else primary.loss(value)
    rank = math.inf if row.rank is None else row.rank
    return row.rank is None, rank, row.reference, loss, row.method


@dataclass(frozen=True)
class Category:
    """The comparison of the methods on the systems of one category alone.

    Attributes
    ----------
    datasets
        Those that there are results of.
    """

    name: str
    datasets: frozenset[str]
    board: Leaderboard


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
    found: dict[str, list[Record]] = defaultdict(list)
    for one in results:
        known = smallest.get(one.dataset) or smallest.get(one.dataset.partition("+")[0])
        if known is None:
            return {}  # data of the user's own
        found[known].append(one)
    if len(found) < 2:  # noqa: PLR2004 - nothing to compare
        return {}
    return {group: found[group] for group in groups if group in found}


def heading(name: str) -> str:
    """Write a group's name as a heading.

    Examples
    --------
    >>> heading("radially-decaying-surfaces")
    'Radially decaying surfaces'
    """
    words = name.replace("-", " ")
    return words[:1].upper() + words[1:]
