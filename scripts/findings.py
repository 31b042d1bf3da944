"""What stands first on a page: a table of what was identified, and the finding in words.

Both are made from the records, so that no number of them can be another one.
"""

from __future__ import annotations

from collections import defaultdict
from functools import cache
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Final

from mdbench.drawing.numbers import cleanest_first, noise_name
from mdbench.errors import counted
from mdbench.methods import Method, discover
from mdbench.reports.classes import class_of
from mdbench.reports.columns import NOT_MEASURED, hides_share
from mdbench.reports.coverage import Job
from mdbench.reports.entries import Case
from mdbench.reports.ranking import interval

if TYPE_CHECKING:
    from collections.abc import Collection, Container, Iterable, Mapping, Sequence

    from mdbench.records import Record

    Verdicts = Mapping[Job, float]

BASELINES: Final = frozenset({"truth", "zero", "mean", "linear"})
"""Methods that take no part in what is compared."""
_ALGORITHMS: Final = Path(__file__).resolve().parent.parent / "algorithms"


@cache
def known() -> tuple[Method, ...]:
    """Return the methods of the project."""
    return tuple(one for one in discover(_ALGORITHMS).values() if isinstance(one, Method))


@cache
def marks() -> dict[str, str]:
    """Return the marks behind the names of methods, as their folders have them."""
    return {one.spec.name: one.spec.mark for one in known() if one.spec.mark}


def named(method: str) -> str:
    """Return a method's name with its mark: ‡ was designed here, and § rewritten here."""
    mark = marks().get(method)
    return f"{method} {mark}" if mark else method


def share_interval(ones: Verdicts) -> tuple[float | None, float | None]:
    """Return the 95 % interval of the share of systems that were identified.

    Cases, and of each its seeds, are drawn again.  Where all verdicts are alike that draw says
    nothing, and the interval is exact (Clopper and Pearson, Biometrika 26, 404, 1934): of n
    systems of which none was identified the upper end is ``1 - 0.025**(1/n)``.
    """
    low, high = interval(ones, mean=True)
    if low is None or len(values := set(ones.values())) > 1:
        return low, high
    bound = 0.025 ** (1 / len({job.case.system for job in ones}))
    return (0.0, 1 - bound) if values == {0.0} else (bound, 1.0)


def verdicts_of(records: Iterable[Record]) -> dict[str, dict[Job, float]]:
    """Return by method whether each job identified its system; a failure did not.

    Jobs that are no attempt, and those that the scorer could not decide, are left out.
    """
    found: dict[str, dict[Job, float]] = defaultdict(dict)
    for one in records:
        verdict = one.metrics.get("identified") if one.answered else 0.0
        if not one.attempted:
            continue
        ours = found[one.method]
        if verdict is not None:
            ours[job_of(one)] = float(verdict == 1)
    return dict(found)


def job_of(one: Record) -> Job:
    """Return what a record answers, whichever method it is of."""
    repeat = f"{one.seed}, {one.part}" if one.part else str(one.seed)
    return Job(Case(one.system, one.snr_db, one.protocol), repeat)


def median_work(
    records: Iterable[Record], verdicts: Mapping[str, Container[Job]]
) -> dict[str, float]:
    """Return by method the median work of its jobs among those given, in reference seconds.

    A share next to it is then of the same jobs.  Methods without a measured one are left out.
    """
    used: dict[str, list[float]] = defaultdict(list)
    for one in records:
        measured = one.attempted and one.measured.work_s is not None
        if measured and job_of(one) in verdicts.get(one.method, ()):
            used[one.method].append(one.measured.work_s or 0.0)
    return {method: median(each) for method, each in used.items()}


def compared(records: Iterable[Record], apart: Collection[str] = BASELINES) -> dict[str, Verdicts]:
    """Return the verdicts on the jobs that all methods have, by method; the best first."""
    found = {name: each for name, each in verdicts_of(records).items() if name not in apart}
    shared = set.intersection(*(set(each) for each in found.values())) if found else set()
    kept = {
        name: {job: each[job] for job in sorted(shared, key=_place)} for name, each in found.items()
    }
    return dict(sorted(kept.items(), key=lambda each: (-sum(each[1].values()), each[0])))


def _place(job: Job) -> tuple[object, ...]:
    return cleanest_first(job.case.snr_db), job.case.system, job.repeat


def recovered_table(records: Sequence[Record]) -> str:
    """Write what each method identified at each noise level, of the jobs that all methods have.

    Returns
    -------
    str
        Markdown; in brackets the 95 % interval when systems, and of each its seeds, are drawn
        again.  Methods designed here have the sign ‡, those rewritten here §.  Where most jobs were
        ended too early to be measured, the share is in brackets.  The last columns
        count the cases whose seeds disagree, and have the median work.
    """
    found = compared(records)
    work = median_work(records, found)
    short = {(one.method, job_of(one)) for one in records if one.not_measured}
    levels = sorted(
        {job.case.snr_db for each in found.values() for job in each}, key=cleanest_first
    )
    head = ["method", *map(noise_name, levels), "all", "seeds disagree", "work"]
    lines = []
    for method, verdicts in found.items():
        cells = []
        for wanted in [[level] for level in levels] + [levels]:
            ones = {job: value for job, value in verdicts.items() if job.case.snr_db in wanted}
            few = hides_share(sum((method, job) in short for job in ones), len(ones))
            cells.append(f"{NOT_MEASURED} ({share_of(ones)})" if few else share_of(ones))
        by_case: dict[Case, list[float]] = defaultdict(list)
        for job, value in verdicts.items():
            by_case[job.case].append(value)
        several = [values for values in by_case.values() if len(values) > 1]
        split = sum(len(set(values)) > 1 for values in several)
        middle = f"{work[method]:.2f} s" if method in work else "–"
        lines.append([named(method), *cells, f"{split} of {len(several)}", middle])
    return to_table(head, lines)


def share_of(ones: Verdicts) -> str:
    """Write how many systems were identified, of how many, with the 95 % interval."""
    if not ones:
        return ""
    low, high = share_interval(ones)
    text = f"{sum(ones.values()):.0f} of {len(ones)}"
    return text if low is None or high is None else f"{text} [{low:.0%} … {high:.0%}]"


def to_table(
    head: Sequence[str], lines: Iterable[Sequence[str]], texts: Collection[int] = (0,)
) -> str:
    """Write a table; `texts` are the places of columns of text, and the others have numbers."""
    rule = [":--" if place in texts else "--:" for place in range(len(head))]
    return "\n".join(f"| {' | '.join(line)} |" for line in [head, rule, *lines])


def finding_of_work(records: Sequence[Record]) -> str:
    """Say which methods identify most with the same work, at each noise level."""
    found = compared(records)
    if not found:
        return "No record is here yet."
    levels = sorted(
        {job.case.snr_db for each in found.values() for job in each}, key=cleanest_first
    )
    budgets = sorted({class_of(one).budget for one in records if one.method in found})
    jobs = {
        level: len([job for job in next(iter(found.values())) if job.case.snr_db == level])
        for level in levels
    }
    if not sum(jobs.values()):
        return "No job has a record of every method yet."
    parts = []
    for level in levels:
        counts = {
            name: sum(value for job, value in each.items() if job.case.snr_db == level)
            for name, each in found.items()
        }
        order = sorted(counts.items(), key=lambda each: (-each[1], each[0]))
        best = [name for name, count in order if count == order[0][1]]
        least = [name for name, count in order if count == order[-1][1]]
        second = next((each for each in order if each[1] < order[0][1]), None)
        text = f"{'on clean data' if level is None else f'at {noise_name(level)}'} "
        text += f"{_names(best)} {'identify' if len(best) > 1 else 'identifies'} "
        text += f"{order[0][1]:.0f} of {jobs[level]}"
        if second is not None:
            text += f", then `{second[0]}` {second[1]:.0f}"
            text += f", and {_names(least)} the fewest, {order[-1][1]:.0f}"
        parts.append(text)
    intro = f"**Of {len(found)} methods with the same budget ({' and '.join(budgets)} a job), "
    tried = {job for each in verdicts_of(records).values() for job in each}
    merit = (
        "How much of this is the benchmark's smoothing and choice: [whose merit](whose-merit.md)."
    )
    done = (
        f" Counted are the {sum(jobs.values())} of {counted(len(tried), 'case')}, each with one "
        "seed, of which every method has a record."
    )
    return f"{intro}{'; '.join(parts)}.**{done} {merit}"


def _names(names: Sequence[str]) -> str:
    shown = [f"`{name}`" for name in names]
    return " and ".join([", ".join(shown[:-1]), shown[-1]]) if len(shown) > 1 else shown[0]
