"""The cost of a plan's jobs, estimated from records of similar jobs.

A job is estimated from at least `FEWEST` records of its method on its dataset; else on data of its
number of equations; else of its data type; else from its budget, which is the most that it may
take.  A record of a job that its time limit stopped means nothing for a job that may take longer:
there it counts as all of that job's time.

The total of many jobs is uncertain for two reasons: each takes another time, and their mean is
known from few records only.  Both are drawn: means from records drawn with replacement (the
bootstrap), and the sum of that many jobs around them (the central limit).
"""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

import numpy as np

from mdbench.records import RERUN_ALWAYS, Status
from mdbench.runs.due import (
    REPEATED,
    SINCE,
    read_summaries,
    rerun_reasons,
    resolve_for_reasons,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from mdbench.runs.due import RecordSummary
    from mdbench.runs.plan import Plan, ResolvedJob
    from mdbench.runs.spec import JobSpec
    from mdbench.runtimes.base import Runtime

    Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Expectation:
    """Expected cost of a job: seconds of wall time, MiB of memory (None: unknown)."""

    wall_s: float
    memory_mb: float | None = None


FEWEST: Final = 3
"""Records that it takes to estimate a job."""
MOST: Final = 500
"""Records of a group that are looked at, the newest."""
COVERAGE: Final = 0.9
"""The probability of intervals."""
DRAWS: Final = 400
_CHANGED: Final = re.compile(r"(?<= changed) \([^()]*\)")
"""The old and the new value in a reason: too much detail for many jobs."""
_LOGS: Final = 50
"""Logs whose sizes are looked at, of each results file."""


@dataclass(frozen=True)
class Interval:
    """A quantity with the interval that has it with probability `COVERAGE`."""

    low: float
    value: float
    high: float


@dataclass(frozen=True, slots=True)
class PendingJob:
    """A job that would be run.

    Attributes
    ----------
    why
        The reason.
    basis
        ``dataset``, ``size``, ``method`` or ``budget``: what the expectation comes from.
    records
        Their number.
    wall_s
        Seconds, of this job alone.
    """

    job: JobSpec
    why: str
    basis: str
    records: int
    wall_s: Interval


@dataclass(frozen=True)
class CostEstimate:
    """Cost of the jobs of a method on a data type together.

    Attributes
    ----------
    jobs, done, repeated
        In the plan, those with a record, and those that take the record of another seed.
    basis
        How many of the rest are estimated from what.
    job_s
        Seconds of one job.
    wall_s
        Seconds of all, one after the other.
    cpu_s
        CPU seconds of all; None where no record has any.
    memory_mb
        The peak of a job; None where no record and no budget has it.
    disk_mb
        What records and logs will take; None where there is none yet.
    """

    algorithm: str
    data_type: str
    jobs: int
    done: int
    basis: Mapping[str, int]
    job_s: Interval | None = None
    wall_s: Interval | None = None
    cpu_s: Interval | None = None
    memory_mb: Interval | None = None
    disk_mb: Interval | None = None
    repeated: int = 0

    @property
    def to_run(self) -> int:
        """The jobs that would be run."""
        return self.jobs - self.done - self.repeated


@dataclass(frozen=True)
class Forecast:
    """All that is known of a plan before it is run.

    Attributes
    ----------
    reasons
        Why jobs would be run, or would take the record of another seed, with how many; most first.
    n_jobs
        Jobs at a time.
    wall_s
        Seconds from the start to the end, environments aside.
    memory_mb
        The memory of all jobs that run at a time, at their peaks.
    """

    costs: Sequence[CostEstimate]
    due: Sequence[PendingJob]
    reasons: Mapping[str, int]
    n_jobs: int
    wall_s: Interval
    cpu_s: Interval | None
    memory_mb: Interval | None
    disk_mb: Interval | None

    @property
    def jobs(self) -> int:
        """The jobs of the plan."""
        return sum(each.jobs for each in self.costs)

    @property
    def repeated(self) -> int:
        """The jobs that would not be run, and take the record of another seed."""
        return self.reasons.get(REPEATED, 0)


@dataclass
class _Group:
    """Jobs that are estimated from the same records."""

    basis: str
    past: Sequence[RecordSummary]
    jobs: list[JobSpec] = field(default_factory=list)


def forecast(plan: Plan, runtime: Runtime) -> Forecast:
    """Return which jobs of a plan would be run, why, and what they will take; nothing is run.

    Raises
    ------
    DataError, MethodError, RecordsError
        If data, a method's folder or a results file cannot be used.
    """
    rng = np.random.default_rng(0)
    costs: list[CostEstimate] = []
    due: list[PendingJob] = []
    together = _Total()
    longest = 0.0
    counts: dict[str, int] = defaultdict(int)
    all_ask = True
    for name, part in plan.parts():  # one after the other, as each job takes some kB
        past = read_summaries(part.files)
        asked = list(rerun_reasons(resolve_for_reasons(part, runtime, past), past, part))
        cost, own, walls = _cost(asked, past[name], plan.result_dir, rng)
        costs.append(cost)
        due += own
        together.add(walls)
        longest = max([longest, *(each.wall_s.value for each in own)])
        for job, why in asked:
            if why:
                all_ask &= bool(job.method.spec.service)
                counts[_CHANGED.sub("", why.partition(SINCE)[0])] += 1
    most = plan.n_jobs
    if plan.n_asking is not None and all_ask:
        most = plan.n_asking
    at_a_time = max(1, min(most, len(due)))
    shared = together.expected(at_a_time, longest)
    memory = [each.memory_mb for each in costs if each.to_run]
    return Forecast(
        costs,
        due,
        dict(sorted(counts.items(), key=lambda each: -each[1])),
        most,
        shared,
        _sum(each.cpu_s for each in costs if each.to_run),
        _times(_largest(memory), at_a_time) if due else None,
        _sum(each.disk_mb for each in costs if each.to_run),
    )


def _cost(
    jobs_and_reasons: Sequence[tuple[ResolvedJob, str]],
    past: Sequence[RecordSummary],
    result_dir: Path,
    rng: np.random.Generator,
) -> tuple[CostEstimate, list[PendingJob], _Total]:
    """Return the cost of one results file's jobs, the jobs, and their seconds together."""
    job = jobs_and_reasons[0][0].job
    known = _History(past)
    groups: dict[tuple[object, ...], _Group] = {}
    due: list[PendingJob] = []
    single: dict[tuple[object, ...], Interval] = {}
    for resolved, why in jobs_and_reasons:
        if why in {"", REPEATED}:
            continue
        basis, where, like = known.like(resolved)
        key = (
            basis,
            where,
            resolved.job.timeout_s,
            resolved.job.work_s,
            resolved.job.threads,
            resolved.job.memory_mb,
        )
        group = groups.setdefault(key, _Group(basis, like))
        group.jobs.append(resolved.job)
        if key not in single:
            single[key] = _single(_seconds(like, resolved.job), resolved.job)
        due.append(PendingJob(resolved.job, why, basis, len(like), single[key]))
    basis_counts: dict[str, int] = defaultdict(int)
    walls, cpus, has_cpu = _Total(), _Total(), True
    peaks: list[float] = []
    limits: list[float | None] = []
    for group in groups.values():
        first, number = group.jobs[0], len(group.jobs)
        basis_counts[group.basis] += number
        seconds = _seconds(group.past, first)
        walls.draw(seconds, number, _limit(seconds, first), rng)
        cpu = np.array([each.cpu_s for each in group.past if each.cpu_s is not None])
        has_cpu = has_cpu and (cpu.size > 0 or not group.past)
        if has_cpu:
            cpus.draw(cpu, number, _limit(cpu, first) * first.threads, rng)
        found = [each.peak_memory_mb for each in group.past if each.peak_memory_mb is not None]
        peaks += found
        if not found:
            limits.append(first.memory_mb)
    count = len(due)
    jobs = len(jobs_and_reasons)
    repeated = sum(why == REPEATED for _, why in jobs_and_reasons)
    done = jobs - count - repeated
    if not count:
        nothing = CostEstimate(job.algorithm, job.data_type, jobs, done, {}, repeated=repeated)
        return nothing, [], walls
    one_job = Interval(
        min(each.wall_s.low for each in due),
        float(np.mean([each.wall_s.value for each in due])),
        max(each.wall_s.high for each in due),
    )
    cost = CostEstimate(
        job.algorithm,
        job.data_type,
        jobs,
        done,
        dict(basis_counts),
        one_job,
        walls.expected(),
        cpus.expected() if has_cpu else None,
        _memory(peaks, limits),
        _disk(past, count, result_dir),
        repeated,
    )
    return cost, due, walls


class _History:
    """Records of a method on a data type, in the groups that jobs are estimated from."""

    def __init__(self, past: Iterable[RecordSummary]) -> None:
        useful = [
            each for each in past if each.status not in RERUN_ALWAYS and each.wall_s is not None
        ]
        self._all = useful[-MOST:]
        self._by: dict[tuple[str, object], list[RecordSummary]] = defaultdict(list)
        for each in useful:
            self._by["dataset", each.dataset].append(each)
            self._by["size", each.dim].append(each)

    def groups(self) -> Iterator[tuple[tuple[str, object], Sequence[RecordSummary]]]:
        """Return the groups of records that are large enough, by what they have in common."""
        for where, found in (*self._by.items(), (("method", None), self._all)):
            if len(found) >= FEWEST:
                yield where, found[-MOST:]

    def like(self, one: ResolvedJob) -> tuple[str, object, Sequence[RecordSummary]]:
        """Return the kind of group that a job is estimated from, and its records."""
        for where in (("dataset", one.job.dataset), ("size", one.dim)):
            found = self._by.get(where, [])
            if len(found) >= FEWEST:
                return *where, found[-MOST:]
        if len(self._all) >= FEWEST:
            return "method", None, self._all
        return "budget", None, ()


def _seconds(past: Iterable[RecordSummary], job: JobSpec) -> Array:
    """Return the seconds that records expect of a job."""
    return np.array(list(_each_second(past, job)))


def _each_second(past: Iterable[RecordSummary], job: JobSpec) -> Iterator[float]:
    for summary in past:
        stopped = summary.status in {Status.TIMEOUT, Status.PARTIAL}
        longer = summary.timeout_s is not None and job.timeout_s > summary.timeout_s
        yield (
            job.usual_s if stopped and longer else min(float(summary.wall_s or 0.0), job.timeout_s)
        )


def _limit(values: Array, job: JobSpec) -> float:
    """Return the most that a job takes, or what it usually takes at most where nothing is known."""
    return job.timeout_s if values.size else job.usual_s


def _single(values: Array, job: JobSpec) -> Interval:
    if not values.size:
        return Interval(0.0, job.usual_s, job.usual_s)
    low, high = np.quantile(values, _TAILS)
    return Interval(float(low), float(values.mean()), float(high))


_TAILS = ((1 - COVERAGE) / 2, (1 + COVERAGE) / 2)


class _Total:
    """Cost of many jobs together: drawn where there are records, else at most the budget."""

    def __init__(self) -> None:
        self.drawn = np.zeros(DRAWS)
        self.at_most = 0.0

    def draw(self, values: Array, number: int, limit: float, rng: np.random.Generator) -> None:
        """Add a number of jobs that are estimated from these values."""
        if not values.size:
            self.at_most += number * limit
            return
        drawn = values[rng.integers(values.size, size=(DRAWS, values.size))]
        spread = np.sqrt(number) * drawn.std(axis=1) * rng.standard_normal(DRAWS)
        self.drawn += np.clip(number * drawn.mean(axis=1) + spread, 0.0, number * limit)

    def add(self, other: _Total) -> None:
        """Add what others take."""
        self.drawn += other.drawn
        self.at_most += other.at_most

    def expected(self, at_a_time: int = 1, least: float = 0.0) -> Interval:
        """Return the total with its interval; of a budget all may be needed, or nothing."""
        low, high = np.quantile(self.drawn, _TAILS)
        parts = (low, self.drawn.mean() + self.at_most, high + self.at_most)
        low, value, high = (float(part) / at_a_time for part in parts)
        return Interval(low, max(value, least), max(high, least))


def expect(past: Mapping[str, Sequence[RecordSummary]]) -> Callable[[ResolvedJob], Expectation]:
    """Return what jobs will probably take: the means of records like them, else their budgets.

    Parameters
    ----------
    past
        The newest record of each key of every results file, by `JobSpec.results`.
    """
    means = {name: _means(records) for name, records in past.items() if records}

    def expected(resolved: ResolvedJob) -> Expectation:
        job = resolved.job
        seconds, memory = means.get(job.results, ({}, None))
        groups = (("dataset", job.dataset), ("size", resolved.dim), ("method", None))
        mean = next((seconds[group] for group in groups if group in seconds), None)
        usual = job.usual_s if mean is None else min(mean, job.timeout_s)
        return Expectation(usual, job.memory_mb or memory)

    return expected


def _means(
    past: Sequence[RecordSummary],
) -> tuple[dict[tuple[str, object], float], float | None]:
    """Return the mean seconds of groups of records, and the largest memory in MB."""
    peaks = (each.peak_memory_mb for each in past if each.peak_memory_mb is not None)
    groups = _History(past).groups()
    return {place: _mean(each) for place, each in groups}, max(peaks, default=None)


def _mean(past: Sequence[RecordSummary]) -> float:
    return float(np.mean([each.wall_s or 0.0 for each in past]))


def _memory(peaks: Sequence[float], limits: Sequence[float | None]) -> Interval | None:
    if peaks:
        low, value, high = np.quantile(peaks, (_TAILS[0], 0.5, _TAILS[1]))
        most = max([float(high), *(limit for limit in limits if limit)])
        return Interval(float(low), float(value), most)
    known = [limit for limit in limits if limit]
    return Interval(0.0, max(known), max(known)) if len(known) == len(limits) and known else None


def _disk(past: Sequence[RecordSummary], number: int, result_dir: Path) -> Interval | None:
    if not past:
        return None
    lines = np.array([each.size for each in past[-MOST:]]) / 2**20
    logs = []
    for each in past[-_LOGS:]:
        try:
            logs.append((result_dir / each.log).stat().st_size / 2**20 if each.log else 0.0)
        except OSError:
            continue
    kept = np.array(logs or [0.0])
    low, high = (np.quantile(lines, _TAILS) + np.quantile(kept, _TAILS)) * number
    return Interval(float(low), float(number * (lines.mean() + kept.mean())), float(high))


def _sum(parts: Iterable[Interval | None]) -> Interval | None:
    known = []
    for interval in parts:
        if interval is None:
            return None
        known.append(interval)
    return Interval(*(sum(getattr(e, n) for e in known) for n in ("low", "value", "high")))


def _largest(parts: Iterable[Interval | None]) -> Interval | None:
    intervals = list(parts)
    if not intervals or None in intervals:
        return None
    known = [each for each in intervals if each is not None]
    return Interval(*(max(getattr(e, n) for e in known) for n in ("low", "value", "high")))


def _times(one: Interval | None, number: int) -> Interval | None:
    return one and Interval(one.low * number, one.value * number, one.high * number)
