"""The page of an edition: recovery by suite, findings in words, and figures, all from its records.

A suite is a set of cases under one rule.  In each suite methods are compared on the jobs that all
of them have; a method without a record of a suite is no part of it.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from statistics import fmean, median
from typing import TYPE_CHECKING, Final, NamedTuple

from box_plots import Drawn, boxes
from findings import BASELINES, compared, to_table
from recovery import pool, unexplained
from scipy.stats import rankdata

from mdbench.datatypes.facts import Protocol
from mdbench.datatypes.real.data_type import MARGIN
from mdbench.drawing.numbers import cleanest_first, noise_name, scientific
from mdbench.drawing.svg import RIGHT, Axis, Plot
from mdbench.errors import counted
from mdbench.methods import PREDICTOR, Method, discover
from mdbench.reports.classes import class_of
from mdbench.reports.comparison import papers_of_sets, read_published, read_published_sets
from mdbench.reports.coverage import Job
from mdbench.reports.entries import Case
from mdbench.reports.figures import LETTER, LONGEST_LABEL, by_noise, name_and_mark
from mdbench.reports.ranking import interval

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from mdbench.records import Record
    from mdbench.reports.leaderboard import Leaderboard

    Verdicts = Mapping[Job, float]

_ROOT: Final = Path(__file__).resolve().parent.parent
_ALGORITHMS: Final = _ROOT / "algorithms"
_BLACKBOX: Final = _ROOT / "datasets" / "real" / "blackbox"
_FEWEST: Final = 5
"""Jobs below which a suite is not shown."""
_TOO_FEW: Final = "No suite has five jobs with a record of every method yet."
_DRAWN: Final = 20
"""Methods of a figure with names: as many as there is space for."""
_RULES: Final = {
    "srbench_solution": "solved, by SRBench",
    "solution": "solved",
    "skeleton": "equal but for constants, by a language model",
}
"""The metrics of papers' tables that are shown, and what they say."""
_REPLAY: Final = "replay"
"""The method that works derivations out, and learns nothing: a reference."""
_CHANCE: Final = "direct_nollm"
"""The method that draws formulas at random, and fits their constants."""
_CLOSE: Final = 1e-6
"""The NMSE below which an answer fits as if it were right."""
_LINES: Final = 8
"""Methods of a figure of lines."""


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
    """

    title: str
    what: str
    data_type: str
    snr_db: float | None = None
    protocol: str = Protocol.STRICT
    variant: str = ""
    start: str = ""
    other: tuple[str, ...] = ()

    def holds(self, one: Record) -> bool:
        """Return whether a record belongs to the suite."""
        return (
            one.data_type == self.data_type
            and one.snr_db == self.snr_db
            and one.protocol == self.protocol
            and class_of(one).variant == self.variant
            and one.dataset.startswith(self.start)
            and not (self.other and one.dataset.startswith(self.other))
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
    Suite("SRSD", "laws of SRSD", "srsd", other=("srbench-",)),
    Suite("SRBench", "laws of SRBench", "srsd", start="srbench-"),
    Suite("surfaces", "surfaces of SurfaceBench", "surface"),
    Suite("measurements", "tables of measurements with a known law", "real"),
)
PARTS: Final = {
    "Equations of motion": ("ode",),
    "Fields": ("pde",),
    "Laws, surfaces and measurements": ("srsd", "surface", "real"),
}
"""The tables of the page, and the data types of their columns."""
LABELS: Final = {
    "static": "static_accuracy",
    "VR": "vr_accuracy",
    "EE": "ee_accuracy",
    "AR": "ar_accuracy",
    "s-1": "s1_accuracy",
    "all sets": "all_sets",
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


def recovered(records: Sequence[Record]) -> list[Recovered]:
    """Return what was recovered of each suite that has records which can be compared."""
    found = []
    for suite in SUITES:
        ours = [one for one in records if suite.holds(one)]
        verdicts = _of_tables(ours) if suite.data_type == "real" else compared(ours)
        jobs = len(next(iter(verdicts.values()), ()))
        if jobs:
            cases = {one.dataset for one in ours if one.attempted and one.method not in BASELINES}
            found.append(Recovered(suite, verdicts, jobs, len(cases)))
    return found


def _shown_suites(records: Sequence[Record]) -> list[Recovered]:
    """Return what was recovered of the suites with enough jobs: of fewer the page has nothing."""
    return [one for one in recovered(records) if one.jobs >= _FEWEST]


def _of_tables(records: Sequence[Record]) -> dict[str, Verdicts]:
    """Return by method whether the law of each table was recovered, all folds together."""
    pooled = pool((one for one in records if one.method not in BASELINES), MARGIN)
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
def _known() -> tuple[Method, ...]:
    return tuple(one for one in discover(_ALGORITHMS).values() if isinstance(one, Method))


@cache
def _ours() -> frozenset[str]:
    """Return the methods that were designed here: their paper is this project's."""
    return frozenset(one.spec.name for one in _known() if one.spec.paper.startswith("mdbench,"))


@cache
def _predictors() -> frozenset[str]:
    return frozenset(one.spec.name for one in _known() if one.spec.family == PREDICTOR)


def _shown(method: str, silent: Iterable[str] = ()) -> str:
    return f"{method}{' ‡' * (method in _ours())}{' °' * (method in silent)}"


def without_answer(records: Iterable[Record]) -> dict[str, tuple[int, int]]:
    """Return the methods that mostly give no answer: how many jobs have none, and how many all are.

    A method that needs more work to begin than a job has is not one that finds nothing.  Those with
    no answer in more than half of their jobs are returned, the most silent first.
    """
    counts: dict[str, list[bool]] = defaultdict(list)
    for one in records:
        if one.attempted and one.method not in BASELINES:
            counts[one.method].append(not one.answered)
    found = {name: (sum(each), len(each)) for name, each in counts.items()}
    mostly = [name for name, (none, every) in found.items() if 2 * none > every]
    return {
        name: found[name]
        for name in sorted(mostly, key=lambda one: (-found[one][0] / found[one][1], one))
    }


def suites_table(records: Sequence[Record]) -> str:
    """Write the share that each method recovered of each suite, a table for each kind of data.

    Returns
    -------
    str
        Markdown; in brackets the 95 % interval when cases, and of each its seeds, are drawn again.
        The best of a column is bold.  The first line of a table has the number of jobs.
    """
    found = _shown_suites(records)
    silent = without_answer(records)
    parts = []
    for title, kinds in PARTS.items():
        ours = [one for one in found if one.suite.data_type in kinds]
        if not ours:
            continue
        shares = {one.suite: one.shares for one in ours}
        methods = {method for one in ours for method in one.verdicts}
        order = sorted(
            methods,
            key=lambda name: (-sum(each.get(name, 0.0) for each in shares.values()), name),
        )
        lines = [["*jobs compared*", *(str(one.jobs) for one in ours)]]
        lines += [[_shown(name, silent), *(_cell(one, name) for one in ours)] for name in order]
        table = to_table(["method", *(one.suite.title for one in ours)], lines)
        parts.append(f"**{title}**\n\n{table}")
    return "\n\n".join(parts) or _TOO_FEW


def _cell(one: Recovered, method: str) -> str:
    if method not in one.verdicts:
        return "–"
    share = one.shares[method]
    low, high = interval(one.verdicts[method], mean=True)
    text = (
        f"{share:.0%}" if low is None or high is None else f"{share:.0%} [{low:.0%} … {high:.0%}]"
    )
    return f"**{text}**" if share == max(one.shares.values()) > 0 else text


def suites_finding(records: Sequence[Record]) -> str:
    """Say in one paragraph who is best in the suites with most cases, and how far the run is."""
    found = _shown_suites(records)
    if not found:
        return _TOO_FEW
    wanted = {"ODEBench", "fields", "SRSD", "surfaces"}
    parts = [_best(one) for one in found if one.suite.title in wanted] or [_best(found[0])]
    methods = {method for one in found for method in one.verdicts}
    number = sum(one.jobs for one in found)
    best = "; ".join(parts)
    return (
        f"**{best[:1].upper()}{best[1:]}.** {len(methods)} methods with equal work in each suite "
        f"are compared on {counted(number, 'job')} of {counted(len(found), 'suite')} that every "
        "method of a suite has done."
    )


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


def negligible_table(records: Sequence[Record]) -> str:
    """Write what each method would identify if negligible terms too many did not count.

    Returns
    -------
    str
        Markdown, on the same jobs as the tables of recovery: ``a to b`` where leaving out what is
        negligible raises a count, of methods of which it raises any.
    """
    shown = [one for one in _shown_suites(records) if one.suite.data_type != "real"]
    forgiving = [
        one.model_copy(update={"metrics": {**one.metrics, "identified": 1.0}})
        if only_negligible(one)
        else one
        for one in records
    ]
    other = {one.suite: one for one in recovered(forgiving)}
    counts = {
        one.suite.title: {
            name: (round(sum(each.values())), round(sum(other[one.suite].verdicts[name].values())))
            for name, each in one.verdicts.items()
        }
        for one in shown
    }
    counts = {title: each for title, each in counts.items() if any(b > a for a, b in each.values())}
    gains = Counter[str]()
    for each in counts.values():
        for name, (before, after) in each.items():
            gains[name] += after - before
    methods = [name for name, gain in sorted(gains.items(), key=lambda x: (-x[1], x[0])) if gain]
    if not methods:
        return "No answer on the compared jobs is wrong by negligible terms alone."
    lines = [
        ["*jobs compared*", *(str(one.jobs) for one in shown if one.suite.title in counts)],
        *(
            [_shown(name), *(_change(each.get(name)) for each in counts.values())]
            for name in methods
        ),
    ]
    return to_table(["method", *counts], lines)


def _change(counts: tuple[int, int] | None) -> str:
    if counts is None:
        return "–"
    before, after = counts
    return f"{before} to {after}" if after > before else str(before)


def without_law(
    records: Iterable[Record],
) -> tuple[Mapping[str, Mapping[str, Mapping[str, Record]]], Mapping[str, Mapping[str, float]]]:
    """Return what methods predict of tables without a law.

    Returns
    -------
    tuple
        The records by table, method and fold, and of the tables that are compared the mean FVU by
        table and method.
    """
    known = {path.stem for path in _BLACKBOX.glob("*.toml")}
    folds: dict[str, dict[str, dict[str, Record]]] = defaultdict(lambda: defaultdict(dict))
    for one in records:
        there = one.data_type == "real" and one.dataset in known and one.attempted
        if there and one.method not in {"truth", "zero"}:
            folds[one.dataset][one.method][one.part] = one
    everyone = {name for methods in folds.values() for name in methods}
    every_fold = {part for methods in folds.values() for each in methods.values() for part in each}
    errors = {
        table: {
            name: fmean(unexplained(one) for one in each.values()) for name, each in methods.items()
        }
        for table, methods in sorted(folds.items())
        if set(methods) == everyone and all(set(each) == every_fold for each in methods.values())
    }
    return folds, errors


def predictions_table(records: Iterable[Record]) -> str:
    """Write how well each method predicts the tables of which no law is known.

    Returns
    -------
    str
        Markdown: the median over tables of the share of the variance that is left unexplained (FVU,
        the mean of the folds; no answer leaves all of it and more), with the 95 % interval when
        tables are drawn again, the mean rank by it, and the median nodes.  Compared are tables of
        which every method has a record of every fold.
    """
    folds, errors = without_law(records)
    if len(errors) < _FEWEST:
        return f"No five tables have a record of every method yet: {len(errors)} have."
    everyone = sorted(next(iter(errors.values())))
    of_tables = [rankdata([each[name] for name in everyone]) for each in errors.values()]
    ranks = dict(zip(everyone, map(fmean, zip(*of_tables, strict=True)), strict=True))
    lines = [["*tables compared*", str(len(errors)), "", ""]]
    for name in sorted(everyone, key=lambda name: (ranks[name], name)):
        jobs = {
            Job(Case(table, None, Protocol.STRICT), ""): each[name]
            for table, each in errors.items()
        }
        low, high = interval(jobs, mean=False)
        nodes = [
            size
            for table in errors
            for one in folds[table][name].values()
            if one.answered and isinstance(size := one.metrics.get("complexity"), int | float)
        ]
        sign = " ▫" * (name in _predictors())
        spread = "" if low is None or high is None else f" [{_share(low)} … {_share(high)}]"
        lines.append(
            [
                f"{_shown(name)}{sign}",
                f"{_share(median(jobs.values()))}{spread}",
                f"{ranks[name]:.1f}",
                f"{median(nodes):.0f}" if nodes else "–",
            ]
        )
    return to_table(["method", "unexplained, median", "mean rank", "nodes, median"], lines)


def _share(value: float) -> str:
    return f"{value:.2f}" if value < 10 else "> 10"  # noqa: PLR2004


def labelled(records: Iterable[Record]) -> dict[str, dict[str, float]]:
    """Return the shares of right labels by method and column, the best first."""
    found: dict[str, dict[tuple[str, int], Record]] = defaultdict(dict)
    for one in records:
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


def derivations_table(records: Iterable[Record]) -> str:
    """Write the share of right labels of each method on the small sets of derivations.

    Returns
    -------
    str
        Markdown: means over the sets and seeds that every method has.
    """
    rows = labelled(records)
    if not rows:
        return "No set of derivations has a record of every method yet."
    best = {
        title: max(row[title] for name, row in rows.items() if name != _REPLAY) for title in LABELS
    }
    lines = []
    for name, row in rows.items():
        shares = {title: f"{value:.3f}" for title, value in row.items()}
        if name != _REPLAY:
            shares = {
                title: f"**{text}**" if row[title] == best[title] else text
                for title, text in shares.items()
            }
        lines.append([_shown(name), *shares.values()])
    return to_table(["method", *LABELS], lines)


def _right(one: Record, metric: str) -> float:
    value = one.metrics.get(metric) if one.answered else None
    return float(value) if isinstance(value, int | float) else 0.0


def _best(one: Recovered) -> str:
    """Say which methods recover most of a suite, and the best that was not designed here."""
    order = sorted(one.shares.items(), key=lambda each: (-each[1], each[0]))
    top = [name for name, share in order if share == order[0][1]]
    text = f"of {counted(one.jobs, 'job')} on {one.suite.what} "
    if order[0][1] == 0:
        return f"{text}no method identifies one"
    text += f"{_names(top)} "
    text += f"{'identify' if len(top) > 1 else 'identifies'} {order[0][1] * one.jobs:.0f}"
    second = next((each for each in order if each[1] < order[0][1]), None)
    if second is not None:
        text += f", then `{second[0]}` {second[1] * one.jobs:.0f}"
        other = next((each for each in order if each[0] not in _ours()), None)
        if other is not None and other[1] < second[1]:
            text += f", and the best from elsewhere `{other[0]}` {other[1] * one.jobs:.0f}"
    return text


def _names(names: Sequence[str]) -> str:
    shown = [f"`{name}`" for name in names[:4]] + ["others"] * (len(names) > 4)  # noqa: PLR2004
    return " and ".join([", ".join(shown[:-1]), shown[-1]]) if len(shown) > 1 else shown[0]


def edition_findings(records: Sequence[Record]) -> str:
    """Write the findings as a numbered list; each names its column or its figure."""
    found = _shown_suites(records)
    if not found:
        return _TOO_FEW
    by_title = {one.suite.title: one for one in found}
    lines = []
    for one in found:
        text = _best(one)
        lines.append(f"{text[:1].upper()}{text[1:]} (column *{one.suite.title}*).")
    lines += [
        line
        for line in (
            _of_noise(by_title.get("ODEBench"), by_title.get("ODEBench, 20 dB")),
            _of_levels(records),
            _of_protocol(
                by_title.get("released fields"), by_title.get("released fields, published")
            ),
            _of_nobody(found),
            _of_chance(by_title.get("SRSD")),
            _of_fit(records),
            _of_negligible(records),
            _of_predictions(records),
            _of_derivations(records),
            _of_silence(records),
            _of_size(records),
            _of_work(records, found),
        )
        if line
    ]
    numbered = (f"{number}. {line}" for number, line in enumerate(lines, start=1))
    return "\n".join(numbered)


def _of_noise(clean: Recovered | None, noisy: Recovered | None) -> str:
    if clean is None or noisy is None:
        return ""
    most, left = max(clean.shares.values()), max(noisy.shares.values())
    none = sum(share == 0 for share in noisy.shares.values())
    return (
        f"Noise of 20 dB takes most of it: the best method identifies {most:.0%} of the clean "
        f"systems of ODEBench and {left:.0%} of the noisy ones, and {none} of {len(noisy.shares)} "
        "methods none (columns *ODEBench* and *ODEBench, 20 dB*)."
    )


def _at(snr_db: float | None) -> str:
    return "clean" if snr_db is None else f"at {noise_name(snr_db)}"


def _of_levels(records: Iterable[Record]) -> str:
    """Say what the best of the methods of all levels identifies at each, on the same systems."""
    ours = of_every_level(records)
    found: dict[float | None, dict[str, list[bool]]] = defaultdict(lambda: defaultdict(list))
    for one in ours:
        found[one.snr_db][one.method].append(one.answered and one.metrics.get("identified") == 1)
    systems = {one.system for one in ours}
    if len(systems) < _FEWEST:
        return ""
    parts = []
    for level in sorted(found, key=cleanest_first):
        shares = {name: fmean(values) for name, values in found[level].items()}
        best = min(shares, key=lambda name: (-shares[name], name))
        parts.append(f"{shares[best]:.0%} {_at(level)} (`{best}`)")
    return (
        f"Of {counted(len(systems), 'system')} of ODEBench that the "
        f"{counted(len(found[None]), 'method')} with all levels have, the best identifies "
        f"{', '.join(parts)} (figure of noise)."
    )


def _of_protocol(strict: Recovered | None, published: Recovered | None) -> str:
    if strict is None or published is None:
        return ""
    best, other = max(strict.shares.values()), max(published.shares.values())
    return (
        f"On the released fields the best method identifies {best:.0%} under our protocol, and "
        f"{other:.0%} under MDBench's own (the two columns *released fields*)."
    )


def _of_nobody(found: Iterable[Recovered]) -> str:
    by_job: dict[tuple[Suite, str], float] = defaultdict(float)
    for one in found:
        for each in one.verdicts.values():
            for job in {job.case.system for job in each}:
                by_job[one.suite, job] += any(
                    value for at, value in each.items() if at.case.system == job
                )
    none = sum(value == 0 for value in by_job.values())
    alone = sum(value == 1 for value in by_job.values())
    return (
        f"{none} of {len(by_job)} cases are identified by no method, and {alone} by one alone "
        "(all columns)."
    )


def _of_chance(laws: Recovered | None) -> str:
    if laws is None or _CHANCE not in laws.verdicts:
        return ""
    share = laws.shares[_CHANCE]
    others = [value for name, value in laws.shares.items() if not name.endswith("_nollm")]
    no_more = sum(value <= share for value in others)
    return (
        f"Chance is an opponent: `{_CHANCE}`, the best of random formulas with fitted constants, "
        f"identifies {share * laws.jobs:.0f} of {counted(laws.jobs, 'law')} of SRSD, and {no_more} "
        f"of {counted(len(others), 'method')} no more (column *SRSD*)."
    )


def _of_fit(records: Iterable[Record]) -> str:
    close = [
        verdict
        for one in records
        if one.method not in BASELINES and one.answered
        if isinstance(error := one.metrics.get("nmse"), float) and error < _CLOSE
        if (verdict := one.metrics.get("identified")) is not None
    ]
    if len(close) < _FEWEST:
        return ""
    wrong = sum(verdict != 1 for verdict in close)
    return (
        f"A small error is no proof: of {len(close)} answers whose NMSE on the test is below "
        f"{scientific(_CLOSE)}, {wrong / len(close):.0%} are not the true equations (all suites)."
    )


def _of_negligible(records: Iterable[Record]) -> str:
    ours = [
        one
        for one in records
        if one.method not in BASELINES and one.answered and one.metrics.get("identified") == 0
    ]
    only = Counter(one.method for one in ours if only_negligible(one))
    if not only:
        return ""
    most = [
        f"`{name}` {count}"
        for name, count in sorted(only.items(), key=lambda each: (-each[1], each[0]))[:3]
    ]
    return (
        f"{only.total()} of {len(ours)} answers that are not identified have all true terms, and "
        f"besides them only terms below a thousandth of the target; most are of {', '.join(most)} "
        "(table of negligible terms)."
    )


def _of_predictions(records: Iterable[Record]) -> str:
    _, errors = without_law(records)
    if len(errors) < _FEWEST:
        return ""
    left = {
        name: median(each[name] for each in errors.values()) for name in next(iter(errors.values()))
    }
    order = sorted(left, key=lambda name: (left[name], name))
    first = order[0]
    text = (
        f"Of {len(errors)} tables without a law `{first}` leaves least unexplained in the median, "
        f"{_share(left[first])} of the variance"
    )
    written = next((name for name in order if name not in _predictors() | BASELINES), None)
    if first in _predictors() and written is not None:
        text += f"; of methods with equations `{written}`, {_share(left[written])}"
    if "linear" in left and first != "linear":
        text += f"; least squares {_share(left['linear'])}"
    return f"{text} (table *without a law*)."


def _of_derivations(records: Iterable[Record]) -> str:
    rows = labelled(records)
    order = [name for name in rows if name != _REPLAY]
    if not order:
        return ""
    first = rows[order[0]]
    return (
        f"On small sets of derivations `{order[0]}` labels {first['static']:.0%} of the static "
        f"steps rightly, and {first['EE']:.0%} with the sides exchanged (table of derivations)."
    )


def _of_silence(records: Iterable[Record]) -> str:
    silent = without_answer(records)
    if not silent:
        return ""
    several = [f"`{name}` in {none} of {every} jobs" for name, (none, every) in silent.items()]
    return (
        f"Some methods need more work than a job has, and give no answer: {', '.join(several)} "
        "(all suites, sign °)."
    )


def _sizes(records: Iterable[Record]) -> dict[str, dict[str, list[float]]]:
    """Return by method the nodes of its answers over those of the truth: right and other ones."""
    records = list(records)
    truth = {
        (one.data_type, one.system): float(nodes)
        for one in records
        if one.method == "truth" and isinstance(nodes := one.metrics.get("complexity"), int | float)
    }
    found: dict[str, dict[str, list[float]]] = defaultdict(lambda: {"identified": [], "other": []})
    for one in records:
        nodes, size = one.metrics.get("complexity"), truth.get((one.data_type, one.system))
        verdict = one.metrics.get("identified")
        if one.method in BASELINES or not one.answered or verdict is None:
            continue
        if isinstance(nodes, int | float) and size:
            found[one.method]["identified" if verdict == 1 else "other"].append(nodes / size)
    return found


def _of_size(records: Iterable[Record]) -> str:
    sizes = _sizes(records)
    wrong = [ratio for each in sizes.values() for ratio in each["other"]]
    if len(wrong) < _FEWEST:
        return ""
    larger = sum(ratio > 1 for ratio in wrong) / len(wrong)
    return (
        f"Of answers that are not identified {larger:.0%} are larger than the truth; in the median "
        f"they have {median(wrong):.1f} times its nodes (figure of sizes)."
    )


def _work(records: Iterable[Record]) -> dict[str, float]:
    used: dict[str, list[float]] = defaultdict(list)
    for one in records:
        if one.attempted and one.measured.work_s is not None:
            used[one.method].append(one.measured.work_s)
    return {method: median(each) for method, each in used.items()}


def _of_work(records: Iterable[Record], found: Iterable[Recovered]) -> str:
    ode = next((one for one in found if one.suite.title == "ODEBench"), None)
    if ode is None:
        return ""
    work = _work(one for one in records if ode.suite.holds(one))
    shares = ode.shares
    quick = {name: shares[name] for name in shares if work.get(name, math.inf) < 1}
    if not quick or len(quick) == len(shares):
        return ""
    slow = {name: share for name, share in shares.items() if name not in quick}
    first, other = max(quick, key=lambda name: quick[name]), max(slow, key=lambda name: slow[name])
    return (
        f"Work does not decide: of the {len(quick)} methods that need less than one reference "
        f"second for a system of ODEBench the best identifies {quick[first]:.0%} (`{first}`), of "
        f"the {len(slow)} others {slow[other]:.0%} (`{other}`; figure of work)."
    )


def of_every_level(records: Iterable[Record]) -> list[Record]:
    """Return the records of ODEBench that show what noise alone takes away.

    They are those of the methods with the most noise levels, on the systems and seeds that each of
    these methods has at each level: a line through other systems at each level would show which
    systems these are.
    """
    of_ode = SUITES[0]
    found: dict[str, dict[float | None, dict[tuple[str, int], Record]]] = defaultdict(
        lambda: defaultdict(dict)
    )
    for one in records:
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


def edition_figures(records: Sequence[Record], boards: Iterable[Leaderboard]) -> list[Drawn]:
    """Draw recovery against work, recovery by noise, and the sizes of answers.

    Parameters
    ----------
    boards
        Of the records of `of_every_level`.
    """
    numbers = {name: number for number, name in enumerate(sorted({one.method for one in records}))}
    found = {one.suite.title: one for one in _shown_suites(records)}
    if not found:
        return []
    drawn = [
        figure
        for title in ("ODEBench", "SRSD", "surfaces")
        if title in found and (figure := _against_work(found[title], records, numbers)) is not None
    ]
    board = next(iter(boards), None)
    known = {each.name: each for each in board.known} if board else {}
    if board is not None and "identified" in known and len(board.systems) >= _FEWEST:
        best = list(board.ranked)[:_LINES]
        lines = by_noise(known["identified"], board, numbers, best)
        if lines is not None:
            text = (
                f"{lines.caption} The methods that are run at all levels, on the "
                f"{counted(len(board.systems), 'system')} that all of them have at each level."
            )
            legend = {name: numbers[name] for name in best}
            drawn.append(Drawn(lines.title, text, lines.svg, legend))
    rows = {
        method: {name: tuple(each) for name, each in kinds.items()}
        for method, kinds in sorted(_sizes(records).items())
    }
    if rows:
        text = (
            "Nodes of the answers over those of the truth, all suites. A box is from the lower to "
            "the upper quartile, its line the median, the thin line from the 10 % to the 90 % "
            "quantile. From above: identified answers, then the others."
        )
        drawn.append(
            Drawn("Size of the answers", text, boxes("nodes, times the truth", rows, log=True))
        )
    return drawn


def _against_work(
    one: Recovered, records: Iterable[Record], numbers: Mapping[str, int]
) -> Drawn | None:
    work = _work(each for each in records if one.suite.holds(each))
    best = [name for name in one.verdicts if name in work][:_DRAWN]
    if not best:  # records of earlier versions have no work
        return None
    places = {name: (max(work[name], 1e-3), 100 * one.shares[name]) for name in best}
    title = f"{one.suite.title}: recovery against work"
    right = RIGHT + 18 + LETTER * min(LONGEST_LABEL, max(map(len, places)))
    x = Axis([at for at, _ in places.values()], log=True)
    y = Axis([share for _, share in places.values()], log=False, zero=True)
    plot = Plot(title, x, y, ("work of a job (reference seconds)", "identified (%)"), right=right)
    name_and_mark(plot, places, numbers)
    text = (
        f"Share of {counted(one.jobs, 'job')} that were identified, against the median work of a "
        "job."
    )
    if len(one.verdicts) > len(places):
        text += f" The {len(places)} best of {len(one.verdicts)} methods."
    return Drawn(title, text, plot.render())


def methods_table(records: Iterable[Record]) -> str:
    """Write of which files and which environment the records of each method are.

    Returns
    -------
    str
        Markdown: the first digits of the sums that are a part of each record's key; several where
        a method was changed during the run.
    """
    made: dict[str, dict[str, set[str]]] = defaultdict(lambda: defaultdict(set))
    for one in records:
        for part in ("adapter", "environment"):
            if digest := one.key_parts.get(part):
                made[one.method][part].add(digest[:12])
    lines = [
        [_shown(name), _digests(parts["adapter"]), _digests(parts["environment"])]
        for name, parts in sorted(made.items())
    ]
    return to_table(["method", "adapter", "environment"], lines)


def _digests(digests: Iterable[str]) -> str:
    return ", ".join(f"`{each}`" for each in sorted(digests))


def elsewhere_table(records: Iterable[Record]) -> str:
    """Write the published numbers of methods without a record here, each with its conditions.

    Returns
    -------
    str
        Markdown: shares of systems, fields, laws and surfaces without noise, as papers count them.
    """
    here = {one.method for one in records}
    paper = read_published()
    lines = []
    for data_type, systems in paper.marks.items():
        entries = [(name, mark.sign) for row in systems.values() for name, mark in row.items()]
        cases = "ODEBench" if data_type == "ode" else "released fields"
        for name in sorted({name for name, _ in entries} - here):
            signs = [sign for method, sign in entries if method == name]
            number = f"{signs.count(paper.best)} of {len(signs)}"
            lines.append([name, cases, number, f"identified, by {paper.title}"])
    for each in map(read_published_sets, papers_of_sets()):
        groups = [pair for sets in each.values.values() for pair in sets.items()]
        for group, by_method in (pair for pair in groups if "+" not in pair[0]):
            for name, values in sorted(by_method.items()):
                rule = next((key for key in _RULES if key in values), None)
                if name not in here and rule is not None:
                    share = f"{values[rule]:.0%}"
                    lines.append([name, f"{each.title}, {group}", share, _RULES[rule]])
    return to_table(["method", "cases", "published", "by the rule"], lines)
