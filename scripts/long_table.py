"""Edition 2's long table: what methods identify with a budget that means something, by suite.

A suite here is a part of the drawn cases (``scripts/edition_draw.py``).  Methods are compared on
the cases that all of them have done.  Each share has Wilson's interval.  There is no order where
none was shown: methods stand in groups, and a method belongs to the group of the first method that
it is not apart from by McNemar's exact test, corrected by Holm.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from functools import cached_property
from math import comb
from statistics import fmean
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from edition_results import FEWEST, FIRST_SEED, TOO_FEW, of_tables
from effort import HEAD, effort_cells
from findings import BASELINES, compared, job_of, known, named, to_table
from scipy.stats import spearmanr

from mdbench.datatypes.facts import Protocol
from mdbench.errors import counted
from mdbench.reports.columns import hides_share, not_measured_text
from mdbench.reports.statistics import holm, wilson

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from mdbench.records import Record
    from mdbench.reports.coverage import Job

    Verdicts = Mapping[Job, float]

LEVEL: Final = 0.05
"""Of the tests between methods."""
SMALLER: Final = (2.0, 10.0)
"""Reference seconds after which the answers of the same jobs are compared as well."""
_FEW: Final = 3
"""Methods below which there is no rank correlation."""


class Part(NamedTuple):
    """Drawn cases of one data type, with their budget.

    Attributes
    ----------
    title
        The head of its column.
    what
        The cases, in a sentence.
    work_s
        The budget of a job, in reference seconds; of measurements that of a fold.
    """

    title: str
    what: str
    data_type: str
    work_s: float

    def holds(self, one: Record) -> bool:
        """Return whether a record is of this part: clean, by the strict rules, the first seed."""
        return (
            one.data_type == self.data_type
            and one.budget.work_s == self.work_s
            and one.snr_db is None
            and one.protocol == Protocol.STRICT
            and one.seed == FIRST_SEED
            and one.attempted
            and one.method not in BASELINES
        )


PARTS: Final = (
    Part("systems", "systems of ODEBench", "ode", 60.0),
    Part("laws", "laws of SRSD and SRBench", "srsd", 60.0),
    Part("surfaces", "surfaces of SurfaceBench", "surface", 60.0),
    Part("fields", "fields simulated here", "pde", 120.0),
    Part("measurements", "tables of measurements with a known law", "real", 12.0),
)


def mcnemar(verdicts: Verdicts, others: Verdicts) -> float:
    """Return the two-sided p-value that two methods identify the same share of the same jobs.

    Of the jobs that one of the two alone identifies, each is the first's with a chance of one half
    (exact; McNemar, Psychometrika 12, 153, 1947).  It is 1 where there are none.

    Parameters
    ----------
    verdicts, others
        1 for each job whose equations were identified; of the same jobs.
    """
    first = sum(value > others[job] for job, value in verdicts.items())
    second = sum(value < others[job] for job, value in verdicts.items())
    pairs = first + second
    tail = sum(comb(pairs, k) for k in range(min(first, second) + 1))
    return float(min(1.0, 2 * tail / 2**pairs))


def groups(verdicts: Mapping[str, Verdicts]) -> list[list[str]]:
    """Put methods into groups that the cases do not tell apart, the best group first.

    Methods are in the order of their shares.  The first of a group is tested against each method
    below it, corrected by Holm, and the first of these that is apart from it begins the next group.
    Tests between neighbours alone would put all into one group wherever shares fall in small steps.

    Parameters
    ----------
    verdicts
        By method, of the same jobs.
    """
    left = sorted(verdicts, key=lambda name: (-sum(verdicts[name].values()), name))
    several = []
    while left:
        first, others = left[0], left[1:]
        p_values = holm([mcnemar(verdicts[first], verdicts[other]) for other in others])
        size = 1 + next((k for k, p in enumerate(p_values) if p < LEVEL), len(others))
        several.append(left[:size])
        left = left[size:]
    return several


def knows(method: str, data_type: str) -> str:
    """Return how a method's maker knew the cases of a data type; empty where nobody did."""
    spec = next((one.spec for one in known() if one.spec.name == method), None)
    return "" if spec is None else spec.knows.get(data_type, "")


@dataclass(frozen=True)
class Compared:
    """What the methods identified of a part, on the jobs that all of them have done.

    Attributes
    ----------
    verdicts
        By method: 1 for each job whose equations were identified.
    records
        By method, those of these jobs.
    """

    part: Part
    verdicts: Mapping[str, Verdicts]
    records: Mapping[str, Sequence[Record]]

    @property
    def jobs(self) -> int:
        """How many jobs, or tables, were compared."""
        return len(next(iter(self.verdicts.values()), ()))

    @cached_property
    def blind(self) -> list[str]:
        """The methods whose makers did not know the cases, which alone are ordered."""
        return [name for name in self.verdicts if not knows(name, self.part.data_type)]

    @cached_property
    def group(self) -> dict[str, int]:
        """The number of each method's group, from 1, of those that are ordered and measured."""
        ordered = [name for name in self.blind if not self.hides(name)]
        several = groups({name: self.verdicts[name] for name in ordered})
        return {name: number for number, one in enumerate(several, 1) for name in one}

    def hides(self, method: str) -> bool:
        """Return whether most of a method's jobs were ended too early to say anything of it."""
        ours = self.records[method]
        return hides_share(sum(one.not_measured for one in ours), len(ours))

    def cell(self, method: str) -> str:
        """Write a method's share with its interval and its group.

        It is bold where the method is alone in the first group, and in brackets where its maker
        knew the cases.
        """
        if method not in self.verdicts:
            return "–"
        share = fmean(self.verdicts[method].values())
        low, high = wilson(share, self.jobs)
        text = f"{share:.0%} [{low:.0%} … {high:.0%}]"
        if self.hides(method):
            return not_measured_text(f"{share:.0%}" if share else "")
        if method not in self.group:
            return f"({text})"
        number = self.group[method]
        alone = number == 1 and sum(one == 1 for one in self.group.values()) == 1
        return f"**{text}** {number}" if alone else f"{text} {number}"

    def after(self, work_s: float) -> dict[str, float]:
        """Return by method the share that its answers after so much work identified."""
        shares = {}
        for method, ours in self.records.items():
            values = [_after(one, work_s) for one in ours]
            if all(value is not None for value in values) and values:
                shares[method] = fmean(value for value in values if value is not None)
        return shares


def _after(one: Record, work_s: float) -> float | None:
    """Return whether the answer after so much work identified the truth; None where unknown."""
    for smaller in one.measured.smaller_budgets:
        if smaller.work_s == work_s:
            return float(smaller.metrics.get("identified") == 1)
    used = one.measured.work_s
    if not one.answered and used is not None and used <= one.budget.work_s:  # type: ignore[operator]
        return 0.0
    return None


class LongTable:
    """The records of edition 2's long table, and what is counted from them.

    Parameters
    ----------
    records
        Of any study: those of a part are found by data type and budget.
    """

    def __init__(self, records: Iterable[Record]) -> None:
        self.records: Final = tuple(records)

    @cached_property
    def compared(self) -> list[Compared]:
        """The parts with at least five jobs that all their methods have done."""
        several = []
        for part in PARTS:
            ours = [one for one in self.records if part.holds(one)]
            verdicts = of_tables(ours) if part.data_type == "real" else compared(ours)
            jobs = {_key(part, job) for job in next(iter(verdicts.values()), ())}
            by_method: dict[str, list[Record]] = defaultdict(list)
            for one in ours:
                if (one.dataset if part.data_type == "real" else job_of(one)) in jobs:
                    by_method[one.method].append(one)
            if len(jobs) >= FEWEST:
                records = {name: by_method[name] for name in verdicts}
                several.append(Compared(part, verdicts, records))
        return several

    @cached_property
    def methods(self) -> list[str]:
        """All methods: by the mean of their groups, then of their shares, over their parts."""

        def place(name: str) -> tuple[float, float, str]:
            ours = [one for one in self.compared if name in one.verdicts]
            shares = [fmean(one.verdicts[name].values()) for one in ours]
            ranked = [one.group.get(name, len(one.verdicts)) for one in ours]
            return fmean(ranked), -fmean(shares), name

        return sorted({name for one in self.compared for name in one.verdicts}, key=place)


def _key(part: Part, job: Job) -> object:
    return job.case.system if part.data_type == "real" else job


def long_table(table: LongTable) -> str:
    """Write what each method identifies of each part, with the interval and the group."""
    parts = table.compared
    if not parts:
        return TOO_FEW
    head = ["method", *(one.part.title for one in parts)]
    jobs = ["*jobs compared*", *(str(one.jobs) for one in parts)]
    lines = [[named(name), *(one.cell(name) for one in parts)] for name in table.methods]
    return to_table(head, [jobs, *lines])


def effort_of_parts(table: LongTable) -> str:
    """Write what a method's jobs cost, and how they ended."""
    lines = []
    for name in table.methods:
        ours = [one for each in table.compared for one in each.records.get(name, ())]
        work = sum(one.measured.work_s or 0.0 for one in ours) / 3600
        silent = sum(not one.answered for one in ours)
        short = sum(one.not_measured for one in ours)
        cells = [str(len(ours)), f"{work:.1f}", str(silent), str(short), *effort_cells(ours)]
        lines.append([named(name), *cells])
    head = ["method", "jobs", "reference h", "no answer", "not measured", *HEAD]
    return to_table(head, lines, texts=(0, len(head) - 1)) if lines else TOO_FEW


def budgets_table(table: LongTable) -> str:
    """Write the share of each part that all methods identify after less work, and ranks' likeness.

    The rank correlation is Spearman's, of the shares of the methods after that work and at the end.
    """
    lines = []
    for one in table.compared:
        last = {name: fmean(values.values()) for name, values in one.verdicts.items()}
        line = [one.part.title]
        for work in SMALLER:
            then = one.after(work)
            line += [_mean(then.values()), _correlation(then, last)]
        lines.append([*line, _mean(last.values())])
    head = ["part"]
    for work in SMALLER:
        head += [f"after {work:.0f} s", "rank correlation"]
    return to_table([*head, "at the end"], lines) if lines else TOO_FEW


def _mean(shares: Iterable[float]) -> str:
    values = list(shares)
    return f"{fmean(values):.1%}" if values else "–"


def _correlation(then: Mapping[str, float], last: Mapping[str, float]) -> str:
    both = sorted(then.keys() & last.keys())
    pairs = [(then[name], last[name]) for name in both]
    if len(both) < _FEW or any(len(set(values)) < 2 for values in zip(*pairs, strict=True)):  # noqa: PLR2004
        return "–"
    return f"{spearmanr(*zip(*pairs, strict=True)).statistic:.2f}"


def home_table(table: LongTable) -> str:
    """Write which methods' makers knew cases of which parts, and how."""
    lines = [
        [named(name), one.part.title, reason]
        for name in table.methods
        for one in table.compared
        if name in one.verdicts and (reason := knows(name, one.part.data_type))
    ]
    return to_table(["method", "part", "how its maker knew the cases"], lines, texts=(0, 1, 2))


def long_finding(table: LongTable) -> str:
    """Say which methods nothing is apart from, in each part, and how much was compared."""
    parts = []
    for one in table.compared:
        first = [name for name, number in one.group.items() if number == 1]
        if not first:
            continue
        best = max(first, key=lambda name: (sum(one.verdicts[name].values()), name))
        share = fmean(one.verdicts[best].values())
        like = len(first) - 1
        others = f"{counted(like, 'other')} not apart from it" if like else "apart from all others"
        what = f"of {one.jobs} {one.part.what} {named(best)} identifies {share:.0%}"
        parts.append(f"{what}, {others}")
    if not parts:
        return TOO_FEW
    jobs = sum(len(ours) for one in table.compared for ours in one.records.values())
    text = "; ".join(parts)
    methods = counted(len(table.methods), "method")
    return f"**{text[0].upper()}{text[1:]}.** {methods}, {jobs:,} jobs."


def rows_of(table: LongTable) -> Iterator[dict[str, Any]]:
    """Yield a line for each method, part and budget, as the CSV and the JSON file have it."""
    for one in table.compared:
        last = {name: fmean(values.values()) for name, values in one.verdicts.items()}
        for work, shares in ((w, one.after(w)) for w in SMALLER):
            for name, share in shares.items():
                yield _row(one, name, work, share)
        for name, share in last.items():
            yield _row(one, name, one.part.work_s, share) | {
                "group": one.group.get(name),
                "not_measured": sum(each.not_measured for each in one.records[name]),
                "without_answer": sum(not each.answered for each in one.records[name]),
                "reference_s": round(sum(each.measured.work_s or 0 for each in one.records[name])),
                "maker_knew_cases": bool(knows(name, one.part.data_type)),
            }


def _row(one: Compared, method: str, work: float, share: float) -> dict[str, Any]:
    low, high = wilson(share, one.jobs)
    return {
        "part": one.part.title,
        "data_type": one.part.data_type,
        "method": method,
        "work_s": work,
        "jobs": one.jobs,
        "identified": round(share * one.jobs),
        "low": round(low, 4),
        "high": round(high, 4),
    }
