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
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias

from mdbench.drawing.numbers import cleanest_first, noise_name
from mdbench.metrics.spec import above_floor, ranks
from mdbench.records import Status
from mdbench.reports import columns
from mdbench.reports.classes import by_class
from mdbench.reports.coverage import make_plan
from mdbench.reports.entries import (
    NOT_ATTEMPTED,
    aggregate,
    counted_values,
    entry,
    measurements,
    report_order,
    specs_of,
)
from mdbench.reports.ranking import (
    Pair,
    RankedResults,
    common_cases,
    compare_pairs,
    friedman,
    interval,
    ranks_of,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from collections.abc import Set as AbstractSet

    from mdbench.metrics.spec import MetricSpec
    from mdbench.records import Record
    from mdbench.reports.coverage import Job, Plan
    from mdbench.reports.entries import Aggregated, Case, Entry
    from mdbench.reports.statistics import Friedman


Standing: TypeAlias = Literal["compared", "partial", "baseline", "reference", "predictor"]
"""What a method is on a board: compared with the others, short of jobs, or shown apart."""
STANDINGS: tuple[Standing, ...] = ("compared", "partial", "baseline", "reference", "predictor")
APART_FAMILIES: tuple[Standing, ...] = ("baseline", "predictor")
"""The families of methods that others are only held against: the second has no equations."""


class MethodFacts(NamedTuple):
    """Facts of a method besides its results.

    A reference is given the truth; it is shown, and not ranked.  `origin` states whether a public
    package does the work or code of the bench's own, and whose settings it has; `mark` is that
    behind the method's name (`mdbench.method_spec.MethodSpec.mark`).
    """

    family: str = "other"
    reference: bool = False
    origin: str = ""
    mark: str = ""


@dataclass(frozen=True)
class Row:
    """A line of the leaderboard; all of it is of the board's jobs alone.

    Attributes
    ----------
    standing
        Whether the method is compared with the others; why not, if it is not.
    rank
        Its place among the methods that are compared, by the primary metric; equals share one.
        None where it is not compared, or nobody else is.
    mean_rank
        The mean over the systems of its rank on each; None likewise.
    coverage
        The share of the board's jobs that it attempted.
    cases, fit_cases
        How many cases have a score or a failure, and how many of them rank methods.
    values
        Of each metric by name; that of the primary one is over the cases that rank methods, each
        raised to its floor.
    low, high
        The 95 % interval of the primary one's value; None on too few systems.
    above_floor
        The median of score over floor, where ratios matter and the floor is known.
    causes
        How many jobs ended otherwise than ok, by status.
    amounts
        Of each column that has amounts of records as one, by its name, such as ``wall_s``.
    """

    method: str
    family: str
    reference: bool
    origin: str
    mark: str
    standing: Standing
    rank: int | None
    mean_rank: float | None
    coverage: float
    jobs: int
    answered: int
    cases: int
    fit_cases: int
    values: Mapping[str, Aggregated]
    low: float | None
    high: float | None
    above_floor: float | None
    causes: Mapping[str, int]
    amounts: Mapping[str, float | None]

    @property
    def cut_off(self) -> bool:
        """Whether most jobs were ended before they were done, with or without an answer."""
        ended = sum(self.causes.get(status, 0) for status in (Status.TIMEOUT, Status.PARTIAL))
        return 2 * ended > self.jobs

    @property
    def mostly_not_measured(self) -> bool:
        """Whether more than half of its attempts were ended too early to say anything of it."""
        silent = sum(self.causes.get(status, 0) for status in NOT_ATTEMPTED)
        return columns.hides_share(self.amounts.get("not_measured") or 0, self.jobs - silent)

    def as_json(self) -> dict[str, Any]:
        """Return all of it by name; infinite numbers are as they are."""
        return {k: v for k, v in vars(self).items() if k != "amounts"} | {**self.amounts}


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
    """The comparison of methods on one data type, of results of one class.

    Attributes
    ----------
    specs
        Its metrics, the primary one first.
    rows
        Methods with most cases first, by score; then baselines, and references.
    plan
        The jobs that count, and who is compared.
    unfit
        The cases that rank nobody, each with what the truth scores there.
    ranked
        The methods that are compared, in the order of `friedman`'s ranks.
    systems
        The systems on which they are compared: what ranks and tests are over.
    pairs
        Tests of all pairs of them.
    partial_pairs
        Tests of each method that lacks jobs against each that is compared, on the jobs of both.
    losses
        By method and case the primary score, turned so that lower is better: raised to the floor,
        the median over seeds; infinite is a failure.
    entries
        All results of the class, further seeds included; of methods that are shown apart those on
        the board's cases.
    data_type, title
        The data type, and the class in words.
    measured
        Whether what has no noise added is somebody's measurements, which nobody calls clean.
    """

    specs: tuple[MetricSpec, ...]
    rows: tuple[Row, ...]
    plan: Plan
    unfit: Mapping[Case, float]
    ranked: tuple[str, ...]
    systems: tuple[str, ...]
    friedman: Friedman | None
    pairs: tuple[Pair, ...]
    partial_pairs: tuple[Pair, ...]
    losses: Mapping[str, Mapping[Case, float]]
    entries: tuple[Entry, ...]
    data_type: str = ""
    title: str = ""
    measured: bool = False

    def noise_name(self, snr_db: float | None) -> str:
        """Name a noise level of these results."""
        return noise_name(snr_db, measured=self.measured)

    @property
    def name(self) -> str:
        """The data type and the class."""
        return ", ".join(filter(None, [self.data_type, self.title]))

    def is_hidden(self, system: str, snr_db: float | None) -> bool:
        """Whether a flag that methods are to have is not attainable on a case."""
        asked = (spec.attainable for spec in self.known if spec.attainable)
        return any(attainable(system, snr_db) is False for attainable in asked)

    def named(self, method: str) -> str:
        """Return a method's name with its mark."""
        return f"{method} {self._marks[method]}" if self._marks.get(method) else method

    @cached_property
    def _marks(self) -> dict[str, str]:
        return {row.method: row.mark for row in self.rows}

    @property
    def primary(self) -> MetricSpec:
        """The metric that methods are ranked by."""
        return self.specs[0]

    @cached_property
    def common(self) -> AbstractSet[Job]:
        """The jobs that all compared methods attempted; all where none is compared."""
        return self.plan.done[self.ranked[0]] if self.ranked else self.plan.jobs

    @cached_property
    def drawn(self) -> tuple[Row, ...]:
        """The rows that figures have: of methods that are compared, or apart with all their cases.

        Where nobody is compared, all.
        """
        done: dict[str, set[Case]] = defaultdict(set)
        for one in self.entries:
            if one.attempted and one.job in self.common:
                done[one.method].add(one.case)
        cases = {job.case for job in self.common}
        wanted = {"partial"} if self.ranked else set()
        return tuple(
            row
            for row in self.rows
            if row.standing not in wanted and (not self.ranked or cases == done[row.method])
        )

    @cached_property
    def drawn_entries(self) -> tuple[Entry, ...]:
        """The results of these methods on the common jobs."""
        methods = {row.method for row in self.drawn}
        return tuple(e for e in self.entries if e.method in methods and e.job in self.common)

    @cached_property
    def missing(self) -> dict[str, int]:
        """How many jobs each method that is not shown apart has no record of."""
        there: dict[str, set[Job]] = defaultdict(set)
        for one in self.entries:
            there[one.method].add(one.job)
        counts = {method: len(self.plan.jobs - there[method]) for method in self.plan.done}
        return {method: count for method, count in counts.items() if count}

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
    def alarmed(self) -> tuple[MetricSpec, ...]:
        """The known metrics of which some values are to be marked."""
        return tuple(spec for spec in self.known if spec.alarm is not None)

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

    @cached_property
    def by_difficulty(self) -> tuple[str, ...]:
        """All systems, the easiest first: by how often the first flag holds, then by the losses.

        Methods that are shown apart do not count, where there are others.
        """
        apart = {row.method for row in self.rows if row.standing in {*APART_FAMILIES, "reference"}}
        tried = [one for one in self.entries if one.attempted]
        counted = [one for one in tried if one.method not in apart] or tried
        methods = {one.method for one in counted}
        flag = next((spec.name for spec in self.specs if spec.mark), "")
        held: dict[str, list[float]] = defaultdict(list)
        for one in counted:
            held[one.case.system].append(float(one.values.get(flag) == 1))
        losses: dict[str, list[float]] = defaultdict(list)
        for method in methods:
            for case, loss in self.losses[method].items():
                losses[case.system].append(loss)

        def difficulty(system: str) -> tuple[float, float, str]:
            found, known = held.get(system, [0.0]), losses.get(system, [math.inf])
            return -sum(found) / len(found), median(known), system

        return tuple(sorted({one.case.system for one in self.entries}, key=difficulty))

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
    reduced: dict[int, Entry] | None = None,
) -> dict[str, Leaderboard]:
    """Compare methods on each data type and in each class, results in the order of reports.

    Parameters
    ----------
    results
        The records that count.
    kinds
        What is known of the methods; others are of the family ``other``.
    specs
        The metrics of each data type; those of another one are made of what its records hold.
    reduced
        The entries that were made of these very records before, by `id`; new ones are added.

    Returns
    -------
    dict
        By the data type's name; of several classes all but the first have their title behind it.
    """
    results = sorted(results, key=report_order)
    known = specs_of(results, specs)
    reduced = {} if reduced is None else reduced
    apart = {method for method, kind in kinds.items() if _apart(kind)}
    made_boards: dict[str, Leaderboard] = {}
    for (data_type, class_), records in by_class(results, apart).items():
        metrics = known[data_type]
        ordered = _entries(sorted(records, key=report_order), metrics, reduced)
        made = board(ordered, kinds, metrics)
        name = f"{data_type}, {class_.title}" if data_type in made_boards else data_type
        made_boards[name] = replace(
            made, data_type=data_type, title=class_.title, measured=measurements(records)
        )
    return made_boards


def _entries(
    records: Sequence[Record], specs: Sequence[MetricSpec], reduced: dict[int, Entry]
) -> list[Entry]:
    """Reduce results to what is counted; what all parts of a problem have together, each has."""
    for record in records:
        if id(record) not in reduced:
            reduced[id(record)] = entry(record, specs)
    entries = [reduced[id(record)] for record in records]
    parts: dict[tuple[object, ...], list[int]] = defaultdict(list)
    for n, part in enumerate(records):
        if part.part and part.attempted:
            parts[part.method, part.system, part.snr_db, part.protocol, part.seed].append(n)
    for numbers in parts.values():
        together = [records[n] for n in numbers]
        asked = {name for part in together for name in part.judged_by}
        values = {s.name: s.pooled(together) for s in specs if s.pooled and s.name in asked}
        for n in numbers:
            entries[n] = entries[n]._replace(values={**entries[n].values, **values})
    return entries


def _apart(kind: MethodFacts) -> bool:
    return kind.reference or kind.family in APART_FAMILIES


def board(
    entries: Iterable[Entry], kinds: Mapping[str, MethodFacts], specs: Sequence[MetricSpec]
) -> Leaderboard:
    """Compare methods.

    Parameters
    ----------
    entries
        The results of one class of one data type.
    kinds
        What is known of the methods; others are of the family ``other``.
    specs
        The metrics of the data type, the primary one first.
    """
    entries, primary = tuple(entries), specs[0]
    by_method: dict[str, list[Entry]] = defaultdict(list)
    attempts: dict[str, set[Job]] = {}
    for result in entries:
        by_method[result.method].append(result)
        if result.attempted:
            attempts.setdefault(result.method, set()).add(result.job)
    apart = {method for method in by_method if _apart(kinds.get(method, MethodFacts()))}
    alone = apart == {*by_method}
    plan = make_plan({m: attempts.get(m, set()) for m in by_method if m not in apart or alone})
    compared = () if alone else plan.compared
    cases = {job.case for job in plan.jobs}
    floors = _floors(entries, compared)
    unfit = {
        case: floor
        for case, floor in floors.items()
        if floor is not None and not ranks(floor, primary)
    }
    scored = {
        method: RankedResults(
            [one for one in entries_of_method if one.job in plan.jobs or not one.attempted],
            floors,
            unfit,
            primary,
        )
        for method, entries_of_method in by_method.items()
    }
    fit = {method: one.fit for method, one in scored.items()}
    common = common_cases([scored[method].losses for method in compared], unfit)
    systems = tuple(dict.fromkeys(case.system for case in common))
    several = len(compared) > 1
    friedman_test = friedman(scored, compared, common, systems) if several and systems else None
    mean_ranks = dict(zip(compared, friedman_test.mean_ranks, strict=True)) if friedman_test else {}
    places = ranks_of({method: scored[method].order for method in compared}) if several else {}
    rows = []
    for method, each in scored.items():
        kind = kinds.get(method, MethodFacts())
        row = _row(method, each, kind, floors=floors, specs=specs)
        rows.append(
            replace(
                row,
                standing=_standing(method, kind, compared),
                rank=places.get(method),
                mean_rank=mean_ranks.get(method),
                coverage=plan.coverage(attempts.get(method, set())),
            )
        )
    partial = [m for m in plan.done if m not in compared and m not in apart]
    log = primary.scale == "log"
    return Leaderboard(
        specs=tuple(specs),
        rows=tuple(sorted(rows, key=lambda row: _sort_key(row, scored[row.method], plan))),
        plan=plan,
        unfit=unfit,
        ranked=compared,
        systems=systems,
        friedman=friedman_test,
        pairs=compare_pairs(fit, combinations(compared, 2), log=log) if friedman_test else (),
        partial_pairs=tuple(
            pair
            for method in partial
            for pair in compare_pairs(fit, [(method, other) for other in compared], log=log)
        ),
        losses={method: one.losses for method, one in scored.items()},
        entries=tuple(
            one for one in entries if one.method not in apart or one.case in cases or alone
        ),
    )


def _floors(entries: Iterable[Entry], compared: Sequence[str]) -> dict[Case, float | None]:
    """Return what the truth scores on each case, by what the methods that are compared have."""
    known: dict[bool, dict[Case, list[float]]] = {True: defaultdict(list), False: {}}
    for result in entries:
        own = known[result.method in compared].setdefault(result.case, [])
        if result.floor is not None:
            own.append(result.floor)
    return {
        case: _middle(known[True].get(case) or known[False].get(case) or ())
        for case in dict.fromkeys([*known[False], *known[True]])
    }


def _standing(method: str, kind: MethodFacts, compared: Sequence[str]) -> Standing:
    if kind.reference:
        return "reference"
    own_family = (family for family in APART_FAMILIES if family == kind.family)
    if (apart := next(own_family, None)) is not None:
        return apart
    return "compared" if method in compared else "partial"


def _row(
    method: str,
    scored: RankedResults,
    kind: MethodFacts,
    *,
    floors: Mapping[Case, float | None],
    specs: Sequence[MetricSpec],
) -> Row:
    primary, *others = specs
    entries, scores = scored.ones, scored.scores
    low, high = interval(scores, mean=primary.aggregate in {"mean", "share"})
    values = {spec.name: aggregate(spec, *counted_values(entries, spec)) for spec in others}
    unknown = counted_values(entries, primary).undecided
    values[primary.name] = aggregate(primary, [*scores.values()], unknown)
    statuses = Counter(one.status for one in entries)
    return Row(
        method=method,
        family=kind.family,
        reference=kind.reference,
        origin=kind.origin,
        mark=kind.mark,
        standing="partial",
        rank=None,
        mean_rank=None,
        coverage=0.0,
        jobs=len(entries),
        answered=sum(one.answered for one in entries),
        cases=len(scored.losses),
        fit_cases=len({job.case for job in scored.fit}),
        values=values,
        low=low,
        high=high,
        above_floor=_middle(
            above_floor(score, floors[job.case], primary) for job, score in scores.items()
        ),
        causes={str(s): statuses[s] for s in Status if s is not Status.OK and statuses[s]},
        amounts={c.names[0]: c.of_group(entries) for c in columns.COLUMNS if c.amount is not None},
    )


def _middle(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return median(known) if known else None


def _sort_key(row: Row, scored: RankedResults, plan: Plan) -> tuple[object, ...]:
    """Return what rows are sorted by: standing, the number of cases and jobs, and the scores."""
    done = plan.done.get(row.method, ())
    group = max(0, STANDINGS.index(row.standing) - 1)  # both kinds of those that are not apart
    cases = {job.case for job in done}
    return group, -len(cases), -len(done), scored.order, row.method
