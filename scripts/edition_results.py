"""What methods found in an edition, counted from its records: by suite, by level, by size, by work.

A suite is a set of cases under one rule.  In each suite methods are compared on the jobs that all
of them have; a method without a record of a suite is no part of it.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from statistics import fmean, median
from typing import TYPE_CHECKING, Final, NamedTuple

from findings import BASELINES, compared, known, median_work
from recovery import pool_tables, unexplained

from mdbench.datatypes.facts import Protocol
from mdbench.datatypes.srsd.indistinguishable import indistinguishable
from mdbench.method_spec import PREDICTOR
from mdbench.reports.classes import class_of
from mdbench.reports.coverage import Job
from mdbench.reports.entries import Case

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from mdbench.records import Record

    Verdicts = Mapping[Job, float]

_ROOT: Final = Path(__file__).resolve().parent.parent
_BLACKBOX: Final = _ROOT / "datasets" / "real" / "blackbox"
FEWEST: Final = 5
"""Jobs below which a suite is not shown."""
TOO_FEW: Final = "No suite has five jobs with a record of every method yet."
FIRST_SEED: Final = 0
"""The seed that every method has; later ones are there for some cases alone."""
REPLAY: Final = "replay"
"""The method that works derivations out, and learns nothing: a reference."""


class Suite(NamedTuple):
    """A set of cases under one rule.

    Attributes
    ----------
    title
        The head of its column.
    what
        The cases, in a sentence.
    data_type, protocol, snr_db
        Of the records.
    variant
        Of the data; empty for those simulated here.
    start
        What the names of its datasets begin with; `other` is what they do not begin with.
    without
        Cases on which nobody can tell the law from another one.
    """

    title: str
    what: str
    data_type: str
    snr_db: float | None = None
    protocol: str = Protocol.STRICT
    variant: str = ""
    start: str = ""
    other: tuple[str, ...] = ()
    without: tuple[str, ...] = ()

    def holds(self, one: Record) -> bool:
        """Return whether a record belongs to the suite."""
        return (
            one.data_type == self.data_type
            and one.snr_db == self.snr_db
            and one.protocol == self.protocol
            and class_of(one).variant == self.variant
            and one.dataset.startswith(self.start)
            and not (self.other and one.dataset.startswith(self.other))
            and one.dataset not in self.without
        )


SUITES: Final = (
    Suite("ODEBench", "systems of ODEBench", "ode", other=("dysts-",)),
    Suite("ODEBench, 20 dB", "systems of ODEBench at 20 dB", "ode", 20.0, other=("dysts-",)),
    Suite("flows", "chaotic flows", "ode", start="dysts-"),
    Suite(
        "ODEBench, published",
        "systems of ODEBench, under MDBench's own protocol",
        "ode",
        protocol=Protocol.PUBLISHED,
    ),
    Suite("fields", "fields simulated here", "pde"),
    Suite("fields, 20 dB", "fields simulated here at 20 dB", "pde", 20.0),
    Suite("released fields", "fields as MDBench released them", "pde", variant="released"),
    Suite(
        "released fields, published",
        "fields as MDBench released them, under its own protocol",
        "pde",
        protocol=Protocol.PUBLISHED,
        variant="released",
    ),
    Suite("SRSD", "laws of SRSD", "srsd", other=("srbench-",), without=tuple(indistinguishable())),
    Suite("SRBench", "laws of SRBench", "srsd", start="srbench-"),
    Suite("surfaces", "surfaces of SurfaceBench", "surface"),
    Suite(
        "measurements",
        "tables of measurements with a known law",
        "real",
        without=("kepler-binaries",),  # four rows of three inputs
    ),
)
LABELS: Final = {
    "static": "static_accuracy",
    "VR": "vr_accuracy",
    "EE": "ee_accuracy",
    "AR": "ar_accuracy",
    "s-1": "s1_accuracy",
    "All": "all_derivations",
}
"""The columns of the table of derivations, and their metrics."""


@dataclass(frozen=True)
class Recovered:
    """What the methods recovered of a suite, on the jobs that all of them have.

    Attributes
    ----------
    verdicts
        By method, the best first: 1 for each job whose equations were identified.
    jobs, cases
        How many jobs were compared, and how many cases any method has tried.
    """

    suite: Suite
    verdicts: Mapping[str, Verdicts]
    jobs: int
    cases: int

    @property
    def shares(self) -> dict[str, float]:
        """The share of the jobs that each method recovered."""
        return {method: fmean(each.values()) for method, each in self.verdicts.items()}


def of_tables(records: Sequence[Record]) -> dict[str, Verdicts]:
    """Return by method whether the law of each table was recovered, all folds together."""
    pooled = pool_tables(one for one in records if one.method not in BASELINES)
    most = Counter[str]()
    for (_, table), one in pooled.items():
        most[table] = max(most[table], one.folds)
    found: dict[str, dict[Job, float]] = defaultdict(dict)
    for (method, table), one in pooled.items():
        if one.recovered is not None and one.folds == most[table]:
            found[method][Job(Case(table, None, Protocol.STRICT), "")] = float(one.recovered)
    shared = set.intersection(*map(set, found.values())) if found else set()
    kept = {method: {job: each[job] for job in sorted(shared)} for method, each in found.items()}
    return dict(sorted(kept.items(), key=lambda each: (-sum(each[1].values()), each[0])))


@cache
def predictors() -> frozenset[str]:
    """Return the methods that only predict, and have no equation."""
    return frozenset(one.spec.name for one in known() if one.spec.family == PREDICTOR)


def only_negligible(one: Record) -> bool:
    """Return whether an answer is wrong by negligible terms alone, which it has too many.

    Negligible is a term whose root mean square on the test is below a thousandth of the target's
    (docs/fidelity.md).
    """
    extra, negligible = one.notes.get("extra", ()), one.notes.get("negligible", ())
    return bool(
        one.answered
        and one.metrics.get("identified") == 0
        and extra
        and not one.notes.get("missing")
        and set(extra) <= set(negligible)
    )


def _right(one: Record, metric: str) -> float:
    value = one.metrics.get(metric) if one.answered else None
    return float(value) if isinstance(value, int | float) else 0.0


class Results:
    """The records of an edition, and what is counted from them, each once."""

    def __init__(self, records: Iterable[Record]) -> None:
        self.records: Final = tuple(records)

    @cached_property
    def held(self) -> Mapping[Suite, Sequence[Record]]:
        """Return the records of each suite, of the first seed."""
        return {
            suite: [one for one in ours if one.seed == FIRST_SEED]
            for suite, ours in self._of_all_seeds.items()
        }

    @cached_property
    def _of_all_seeds(self) -> Mapping[Suite, Sequence[Record]]:
        found: dict[Suite, list[Record]] = {suite: [] for suite in SUITES}
        for one in self.records:
            for suite in SUITES:
                if suite.holds(one):
                    found[suite].append(one)
        return found

    @cached_property
    def chance(self) -> tuple[int, int, int]:
        """Return how often the seed decides, of the same code on the same clean data.

        Returns
        -------
        tuple of int
            How many cases methods have with several seeds that were each run; how many of them
            any seed identifies; and how many of these another seed does not.
        """
        found: dict[tuple[str, str, Suite, str], list[bool]] = defaultdict(list)
        for suite, ours in self._of_all_seeds.items():
            for one in ours if suite.snr_db is None else ():
                ran = one.attempted and one.measured.of_seed is None and not one.part
                if ran and one.method not in BASELINES:
                    version = one.key_parts.get("adapter", "")
                    found[one.method, version, suite, one.dataset].append(
                        one.answered and one.metrics.get("identified") == 1
                    )
        several = [verdicts for verdicts in found.values() if len(verdicts) > 1]
        return (
            len(several),
            sum(any(verdicts) for verdicts in several),
            sum(any(verdicts) and not all(verdicts) for verdicts in several),
        )

    @cached_property
    def suites(self) -> list[Recovered]:
        """Return what was recovered of each suite that has records which can be compared.

        Methods that have only `begun` it are left out: all others would be compared on their few
        cases alone.
        """
        found = []
        for suite in SUITES:
            new = self.begun[suite]
            ours = [one for one in self.held[suite] if one.method not in new]
            verdicts = of_tables(ours) if suite.data_type == "real" else compared(ours)
            jobs = len(next(iter(verdicts.values()), ()))
            if jobs:
                cases = {
                    one.dataset for one in ours if one.attempted and one.method not in BASELINES
                }
                found.append(Recovered(suite, verdicts, jobs, len(cases)))
        return found

    @cached_property
    def begun(self) -> dict[Suite, list[str]]:
        """Return by suite the methods with less than half as many cases as methods have mostly."""
        found = {}
        for suite, ours in self.held.items():
            cases: dict[str, set[str]] = defaultdict(set)
            for one in ours:
                if one.attempted and one.method not in BASELINES | predictors():
                    cases[one.method].add(one.dataset)
            counts = {name: len(several) for name, several in cases.items()}
            found[suite] = sorted(
                name for name, count in counts.items() if 2 * count < median(counts.values())
            )
        return found

    @cached_property
    def shown(self) -> list[Recovered]:
        """Return the suites with enough jobs: of others the page has nothing."""
        return [one for one in self.suites if one.jobs >= FEWEST]

    @cached_property
    def without_answer(self) -> dict[str, tuple[int, int]]:
        """Return the methods that mostly give no answer: jobs without one, and all jobs.

        A method that needs more work to begin than a job has is not one that finds nothing.
        Those with no answer in more than half of their jobs are here, the most silent first.
        """
        counts: dict[str, list[bool]] = defaultdict(list)
        for one in self.records:
            if one.attempted and one.method not in BASELINES:
                counts[one.method].append(not one.answered)
        found = {name: (sum(each), len(each)) for name, each in counts.items()}
        mostly = [name for name, (none, every) in found.items() if 2 * none > every]
        return {
            name: found[name]
            for name in sorted(mostly, key=lambda one: (-found[one][0] / found[one][1], one))
        }

    @cached_property
    def folds(self) -> Mapping[str, Mapping[str, Mapping[str, Record]]]:
        """Return the records of tables without a law, by table, method and fold."""
        known = {path.stem for path in _BLACKBOX.glob("*.toml")}
        found: dict[str, dict[str, dict[str, Record]]] = defaultdict(lambda: defaultdict(dict))
        for one in self.records:
            there = one.data_type == "real" and one.dataset in known and one.attempted
            if there and one.method not in {"truth", "zero"}:
                found[one.dataset][one.method][one.part] = one
        return found

    @cached_property
    def errors(self) -> Mapping[str, Mapping[str, float]]:
        """Return by table without a law and by method the FVU, the mean of the folds.

        Tables are left out of which any method lacks a fold.
        """
        tables = self.folds.values()
        everyone = {name for methods in tables for name in methods}
        every_fold = {part for methods in tables for each in methods.values() for part in each}
        return {
            table: {
                name: fmean(unexplained(one) for one in each.values())
                for name, each in methods.items()
            }
            for table, methods in sorted(self.folds.items())
            if set(methods) == everyone
            and all(set(each) == every_fold for each in methods.values())
        }

    @cached_property
    def labelled(self) -> dict[str, dict[str, float]]:
        """Return the shares of right labels by method and column, the best first."""
        found: dict[str, dict[tuple[str, int], Record]] = defaultdict(dict)
        for one in self.records:
            if one.data_type == "derivation" and one.attempted:
                found[one.method][one.dataset, one.seed] = one
        shared = set.intersection(*map(set, found.values())) if found else set()
        if not shared:
            return {}
        rows = {
            name: {
                title: fmean(_right(each[at], metric) for at in sorted(shared))
                for title, metric in LABELS.items()
            }
            for name, each in found.items()
        }
        return dict(sorted(rows.items(), key=lambda each: (-each[1]["static"], each[0])))

    @cached_property
    def sizes(self) -> dict[str, dict[str, list[float]]]:
        """Return by method the nodes of right and other answers, over those of the truth."""
        truth = {
            (one.data_type, one.system): float(nodes)
            for one in self.records
            if one.method == "truth"
            and isinstance(nodes := one.metrics.get("complexity"), int | float)
        }
        found: dict[str, dict[str, list[float]]] = defaultdict(
            lambda: {"identified": [], "other": []}
        )
        for one in self.records:
            nodes, size = one.metrics.get("complexity"), truth.get((one.data_type, one.system))
            verdict = one.metrics.get("identified")
            if one.method in BASELINES or not one.answered or verdict is None:
                continue
            if isinstance(nodes, int | float) and size:
                found[one.method]["identified" if verdict == 1 else "other"].append(nodes / size)
        return found

    @cached_property
    def of_every_level(self) -> list[Record]:
        """Return the records of ODEBench that show what noise alone takes away.

        They are those of the methods with the most noise levels, on the systems and seeds that
        each of these has at each level: a line through other systems at each level would show
        which systems these are.
        """
        of_ode = SUITES[0]
        found: dict[str, dict[float | None, dict[tuple[str, int], Record]]] = defaultdict(
            lambda: defaultdict(dict)
        )
        for one in self.records:
            here = of_ode._replace(snr_db=one.snr_db).holds(one)
            if here and one.attempted and one.method not in BASELINES:
                found[one.method][one.snr_db][one.system, one.seed] = one
        most = max(map(len, found.values()), default=0)
        full = [levels for levels in found.values() if len(levels) == most > 1]
        if not full:
            return []
        shared = set.intersection(*(set(ones) for levels in full for ones in levels.values()))
        return [
            one
            for levels in full
            for ones in levels.values()
            for at, one in ones.items()
            if at in shared
        ]

    def work(self, one: Recovered) -> dict[str, float]:
        """Return by method the median work of the jobs that are compared, in reference seconds."""
        return median_work(self.held[one.suite], one.verdicts)


def share_text(value: float) -> str:
    """Write a share of the variance; above 10 it says no more than that."""
    return f"{value:.2f}" if value < 10 else "> 10"  # noqa: PLR2004
