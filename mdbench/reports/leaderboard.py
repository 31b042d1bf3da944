"""Methods compared on one data type: who finds what, how accurately, how simply, at what cost.

The page computes the same anew under its filters (``templates/report.js``); a browser test
holds the two together.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from dataclasses import dataclass, replace
from itertools import combinations
from statistics import median
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from mdbench.records import Status
from mdbench.reports import statistics
from mdbench.reports.entries import ENDS, entry
from mdbench.drawing.numbers import cleanest_first
from mdbench.reports.results import report_order

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from collections.abc import Set as AbstractSet

    from mdbench.reports.entries import Case, Entry
    from mdbench.reports.results import Result
    from mdbench.reports.statistics import Friedman, Wilcoxon

__all__ = ["RESAMPLES", "ROUND_OFF", "Board", "Kind", "Pair", "Row", "board", "boards"]

ROUND_OFF = 1e-12
"""Errors below this are round-off, and count as this."""
UNFIT = 1.0
"""Where the true equations score this or worse, an error says nothing: zero scores 1."""
RESAMPLES = 1000
COVERAGE = 0.5
"""A method is ranked if it did at least this share of the cases that the busiest one did."""


class Kind(NamedTuple):
    """What is known of a method besides its results.

    A reference is told the truth; it is shown, and not ranked.
    """

    family: str = "other"
    reference: bool = False


@dataclass(frozen=True)
class Row:
    """A line of the leaderboard.

    Attributes
    ----------
    rank
        Mean rank over the systems; None where the method is not ranked.
    cases, fit_cases
        How many cases were attempted, and how many of them errors are compared on.
    median, low, high
        The median error over those cases, raised to the floor, and its 95 % interval; infinite
        is a failure; None without any.
    above_floor
        The median of error over floor, where the floor is known.
    identified, one_term_off, undecided, judged
        How many results say so, of how many with a known truth, failures included.
    holds, simulated, holds_unseen, simulated_unseen
        How many answers' trajectories follow the true one, of how many jobs that would have had
        one, failures included: from the test window's first state, and from the second initial
        condition.
    ended
        How many simulations did not come to the last time, by the reason.
    residual
        The median over jobs of the error on clean data; infinite is a failure; None without any.
    accurate, tabled, solved, compared
        How many answers have an R2 above 0.999, and how many are symbolic solutions, of how many
        jobs, failures included.
    distance
        The mean normalized edit distance over those jobs, 1 for a failure.
    causes
        How many jobs ended otherwise than ok, by status.
    """

    method: str
    family: str
    reference: bool
    rank: float | None
    jobs: int
    answered: int
    cases: int
    fit_cases: int
    median: float | None
    low: float | None
    high: float | None
    above_floor: float | None
    identified: int
    one_term_off: int
    undecided: int
    judged: int
    f1: float | None
    holds: int
    simulated: int
    holds_unseen: int
    simulated_unseen: int
    ended: Mapping[str, int]
    residual: float | None
    accurate: int
    tabled: int
    solved: int
    compared: int
    distance: float | None
    complexity: float | None
    causes: Mapping[str, int]
    wall_s: float | None
    total_s: float
    memory_mb: float | None


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
        """Give what there is of a method on a system, which may be nothing."""
        return self.cells.get((system, method), ())


@dataclass(frozen=True)
class Board:
    """All that is said of one data type.

    Attributes
    ----------
    rows
        Ranked methods first, by rank; then those that are not ranked, and references.
    unfit
        The cases on which errors are not compared, each with the reason.
    ranked
        The methods that are ranked, in the order of `friedman`'s ranks.
    systems
        The systems that every ranked method attempted: what ranks and tests are over.
    losses
        By method and case: the median over seeds of the error, raised to the floor.
    """

    rows: tuple[Row, ...]
    unfit: Mapping[Case, str]
    ranked: tuple[str, ...]
    systems: tuple[str, ...]
    friedman: Friedman | None
    pairs: tuple[Pair, ...]
    losses: Mapping[str, Mapping[Case, float]]
    entries: tuple[Entry, ...]

    @property
    def noise_levels(self) -> list[float | None]:
        """All noise levels, the cleanest first."""
        return sorted({one.case.snr_db for one in self.entries}, key=cleanest_first)

    @property
    def has_simulations(self) -> bool:
        """Whether answers of this data type are integrated."""
        return any(row.simulated for row in self.rows)

    @property
    def has_residuals(self) -> bool:
        """Whether they have an error on clean data."""
        return any(row.residual is not None for row in self.rows)

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


def boards(results: Iterable[Result], kinds: Mapping[str, Kind]) -> dict[str, Board]:
    """Compare methods on each data type, results in the order of reports."""
    by_type: dict[str, list[Entry]] = defaultdict(list)
    for result in sorted(results, key=report_order):
        by_type[result.data_type].append(entry(result))
    return {data_type: board(entries, kinds) for data_type, entries in by_type.items()}


def board(entries: Iterable[Entry], kinds: Mapping[str, Kind]) -> Board:
    """Compare methods.

    Parameters
    ----------
    entries
        The results of one data type.
    kinds
        What is known of the methods; others are of the family ``other``.
    """
    entries = tuple(_with_floor(one, kinds) for one in entries)
    by_case: dict[Case, list[Entry]] = defaultdict(list)
    by_method: dict[str, list[Entry]] = defaultdict(list)
    for one in entries:
        by_case[one.case].append(one)
        by_method[one.method].append(one)
    unfit = {case: reason for case, ones in by_case.items() if (reason := _unfit(ones))}
    floors = {case: _floor(ones) for case, ones in by_case.items()}
    losses = {
        method: _losses((one for one in ones if one.attempted), floors)
        for method, ones in by_method.items()
    }
    ranked, common = _ranked(losses, kinds, unfit)
    systems = tuple(dict.fromkeys(case.system for case in common))
    found = _friedman(losses, ranked, common, systems) if len(ranked) > 1 and systems else None
    ranks = dict(zip(ranked, found.mean_ranks, strict=True)) if found else {}
    judged_at_all = any(one.verdict for one in entries)
    moved_at_all = any(one.holds is not None for one in entries)
    tabled_at_all = any(one.accurate is not None for one in entries)
    compared_at_all = any(one.solved is not None for one in entries)
    # An answer without a residual is undefined on clean data where others are not.
    with_residual = {_question(one) for one in entries if one.residual is not None}
    rows = [
        _row(
            method,
            ones,
            kinds.get(method, Kind()),
            losses=losses[method],
            unfit=unfit,
            floors=floors,
            with_residual=with_residual,
        )
        for method, ones in by_method.items()
    ]
    rows = [
        replace(
            row,
            rank=ranks.get(row.method),
            judged=row.judged if judged_at_all else 0,
            simulated=row.simulated if moved_at_all else 0,
            simulated_unseen=row.simulated_unseen if moved_at_all else 0,
            tabled=row.tabled if tabled_at_all else 0,
            compared=row.compared if compared_at_all else 0,
            distance=row.distance if compared_at_all else None,
        )
        for row in rows
    ]
    rows.sort(key=_place)
    return Board(
        rows=tuple(rows),
        unfit=unfit,
        ranked=ranked,
        systems=systems,
        friedman=found,
        pairs=_pairs(losses, ranked, common, systems) if found else (),
        losses=losses,
        entries=entries,
    )


def _with_floor(one: Entry, kinds: Mapping[str, Kind]) -> Entry:
    """Take the error of a method that is told the truth for the floor, where none is given."""
    if one.floor is None and one.answered and kinds.get(one.method, Kind()).reference:
        return one._replace(floor=one.nmse)
    return one


def _floor(ones: Iterable[Entry]) -> float:
    floors = [one.floor for one in ones if one.floor is not None]
    return median(floors) if floors else 0.0


def _unfit(ones: Sequence[Entry]) -> str:
    """Say why errors are not compared on a case; empty where they are."""
    if _floor(ones) >= UNFIT:
        return f"the true equations score {_floor(ones):.2g}"
    found = [one.nmse for one in ones if one.verdict == "identified" and one.nmse >= UNFIT]
    return f"an identified equation scores {max(found):.2g}" if found else ""


def _losses(ones: Iterable[Entry], floors: Mapping[Case, float]) -> dict[Case, float]:
    seeds: dict[Case, list[float]] = defaultdict(list)
    for one in ones:
        seeds[one.case].append(max(one.nmse, floors[one.case], ROUND_OFF))
    return {case: median(errors) for case, errors in seeds.items()}


def _ranked(
    losses: Mapping[str, Mapping[Case, float]],
    kinds: Mapping[str, Kind],
    unfit: Mapping[Case, str],
) -> tuple[tuple[str, ...], list[Case]]:
    """Choose who is ranked, and on what: the cases that all of them attempted."""
    own = {m: cases for m, cases in losses.items() if not kinds.get(m, Kind()).reference}
    most = max((len(cases) for cases in own.values()), default=0)
    ranked = tuple(m for m, cases in own.items() if cases and len(cases) >= COVERAGE * most)
    if not ranked:
        return (), []
    first = own[ranked[0]]
    common = [c for c in first if c not in unfit and all(c in own[m] for m in ranked)]
    return ranked, sorted(common, key=_case_order)


def _friedman(
    losses: Mapping[str, Mapping[Case, float]],
    ranked: Sequence[str],
    common: Sequence[Case],
    systems: Sequence[str],
) -> Friedman:
    """Rank on each case, take the mean over the cases of a system, and rank those."""
    ranks: dict[str, list[list[float]]] = {system: [] for system in systems}
    for case in common:
        ranks[case.system].append(list(statistics.midranks([losses[m][case] for m in ranked])))
    # Sums of sixths and thirds differ in the last digit by the order of adding.
    scores = np.round([np.mean(ranks[system], axis=0) for system in systems], 9)
    return statistics.friedman(scores)


def _pairs(
    losses: Mapping[str, Mapping[Case, float]],
    ranked: Sequence[str],
    common: Sequence[Case],
    systems: Sequence[str],
) -> tuple[Pair, ...]:
    """Test all pairs, each system counting once: the median of its cases' differences."""
    tests = []
    for method, other in combinations(ranked, 2):
        by_system: dict[str, list[float]] = {system: [] for system in systems}
        for case in common:
            by_system[case.system].append(
                statistics.difference(losses[method][case], losses[other][case])
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
    kind: Kind,
    *,
    losses: Mapping[Case, float],
    unfit: Mapping[Case, str],
    floors: Mapping[Case, float],
    with_residual: AbstractSet[tuple[str, str]],
) -> Row:
    fit = [case for case in losses if case not in unfit]
    errors = [losses[case] for case in fit]
    numbers: dict[str, int] = {}
    places = [numbers.setdefault(system, len(numbers)) for system in _systems(fit)]
    low = high = None
    if errors:
        counts = statistics.draws(RESAMPLES, len(numbers))
        low, high = statistics.bootstrap_medians(errors, places, counts)
    above = [losses[case] / floors[case] for case in fit if floors[case]]
    done = [one for one in ones if one.attempted]
    verdicts = Counter(one.verdict for one in done)
    statuses = Counter(one.status for one in ones)
    failed = sum(one.judged and not one.answered for one in done)
    ends = Counter(one.ended for one in done)
    residuals = [
        math.inf if one.residual is None else one.residual
        for one in done
        if one.judged and _question(one) in with_residual
    ]
    distances = [1.0] * failed + [one.distance for one in done if one.distance is not None]
    return Row(
        method=method,
        family=kind.family,
        reference=kind.reference,
        rank=None,
        jobs=len(ones),
        answered=sum(one.answered for one in ones),
        cases=len(losses),
        fit_cases=len(fit),
        median=median(errors) if errors else None,
        low=low,
        high=high,
        above_floor=median(above) if above else None,
        identified=verdicts["identified"],
        one_term_off=verdicts["one_term_off"],
        undecided=verdicts["undecided"],
        judged=sum(one.judged for one in done),
        f1=_middle(one.f1 if one.answered else 0.0 for one in done if one.judged),
        holds=sum(bool(one.holds) for one in done),
        simulated=failed + sum(one.holds is not None for one in done),
        holds_unseen=sum(bool(one.holds_unseen) for one in done),
        simulated_unseen=failed + sum(one.holds_unseen is not None for one in done),
        ended={end: ends[end] for end in ENDS[1:] if ends[end]},
        residual=median(residuals) if residuals else None,
        accurate=sum(bool(one.accurate) for one in done),
        tabled=failed + sum(one.accurate is not None for one in done),
        solved=sum(bool(one.solved) for one in done),
        compared=failed + sum(one.solved is not None for one in done),
        distance=sum(distances) / len(distances) if distances else None,
        complexity=_middle(one.complexity for one in ones),
        causes={str(s): statuses[s] for s in Status if s is not Status.OK and statuses[s]},
        wall_s=_middle(one.wall_s for one in done),
        total_s=sum(one.wall_s or 0.0 for one in ones),
        memory_mb=max((one.memory_mb for one in ones if one.memory_mb is not None), default=None),
    )


def _question(one: Entry) -> tuple[str, str]:
    return one.case.system, one.case.protocol


def _systems(cases: Iterable[Case]) -> list[str]:
    return [case.system for case in cases]


def _middle(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return median(known) if known else None


def _case_order(case: Case) -> tuple[str, float, str]:
    return case.system, cleanest_first(case.snr_db), case.protocol


def _place(row: Row) -> tuple[bool, float, bool, float, str]:
    error = math.inf if row.median is None else row.median
    rank = math.inf if row.rank is None else row.rank
    return row.rank is None, rank, row.reference, error, row.method
