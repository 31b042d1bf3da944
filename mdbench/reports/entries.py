"""What reports need of records: one `Entry` for each, their order, and what all have in common."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from contextlib import suppress
from functools import cache
from statistics import median
from typing import TYPE_CHECKING, NamedTuple

from mdbench.datatypes.facts import Protocol
from mdbench.drawing.numbers import ENDLESS, cleanest_first, fixed
from mdbench.metrics.spec import MetricSpec
from mdbench.records import ANSWERED, RERUN_ALWAYS, Status
from mdbench.reports import columns
from mdbench.reports.classes import class_of
from mdbench.reports.coverage import Job

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

    from mdbench.metrics.spec import Place, Value
    from mdbench.records import Machine, Record
    from mdbench.reports.columns import Measure

NOT_ATTEMPTED = RERUN_ALWAYS | {Status.UNSUPPORTED}
"""Statuses of jobs that were not attempted: missing in the coverage, but no failures."""


class Case(NamedTuple):
    """A case that is compared: a system at one noise level under one protocol; seeds are merged."""

    system: str
    snr_db: float | None
    protocol: str

    @property
    def conditions(self) -> str:
        """What stands behind the system in a dataset's name, as ``noise=0.1``; mostly nothing."""
        return conditions_of(self.system)


def conditions_of(dataset: str) -> str:
    """Return the conditions in the name of a dataset; empty where there are none.

    Examples
    --------
    >>> conditions_of("feynman-i.12.1+dummy+noise=0.1")
    'dummy+noise=0.1'
    """
    return dataset.partition("+")[2]


class Entry(NamedTuple):
    """One result, reduced to what is counted; numbers are rounded to six digits.

    Attributes
    ----------
    values
        By name what the answer has, None where the scorer could not decide; without an answer
        None for all by which one would have been scored.
    floor
        Score of the truth by the primary metric, where that is known.
    speed
        Result of the calibration job of the run.
    so_far
        What the best answer up to a share of the budget scores by the primary metric: share and
        score.
    repeat
        The seed, with the part of the dataset where there are parts, such as folds.
    machine
        The machine that the job ran on.
    amounts
        What the columns of a leaderboard take from the record.
    """

    method: str
    case: Case
    dim: int | None
    status: Status
    values: Mapping[str, Value]
    floor: float | None
    amounts: Mapping[Measure, float | None]
    speed: float | None = None
    so_far: tuple[tuple[float, Value], ...] = ()
    repeat: str = "0"
    machine: str = ""

    @property
    def wall_s(self) -> float | None:
        """The wall time, in seconds."""
        return self.amounts.get(columns.wall_s)

    @property
    def memory_mb(self) -> float | None:
        """The peak memory."""
        return self.amounts.get(columns.memory_mb)

    @property
    def system(self) -> str:
        """The name of the system."""
        return self.case.system

    @property
    def job(self) -> Job:
        """What was asked, whichever method answered."""
        return Job(self.case, self.repeat)

    @property
    def attempted(self) -> bool:
        """Whether it counts as an attempt of the method."""
        return self.status not in NOT_ATTEMPTED

    @property
    def answered(self) -> bool:
        """Whether there is an answer."""
        return self.status in ANSWERED

    def alarms(self, specs: Iterable[MetricSpec]) -> list[MetricSpec]:
        """Return the metrics whose values are to be marked."""
        return [spec for spec in specs if spec.alarming(self.values.get(spec.name))]


class Outcome(NamedTuple):
    """What of a result is counted for a metric: a part of an `Entry`."""

    status: Status
    values: Mapping[str, Value]
    system: str


class CountedValues(NamedTuple):
    """The values of a metric over several jobs, failures included where they count.

    A flag that the scorer could not decide counts as 0, and is counted by itself, too.
    """

    values: list[float | str]
    undecided: int


def entry(result: Record, specs: Iterable[MetricSpec]) -> Entry:
    """Reduce a result to what is counted."""
    return Entry(
        method=result.method,
        case=Case(result.system, result.snr_db, result.protocol),
        dim=result.dim,
        status=result.status,
        values=outcome(result, specs).values,
        floor=_six_digits(result.floor),
        amounts={amount: _six_digits(amount(result)) for amount in columns.amounts()},
        speed=result.measured.speed,
        so_far=tuple(
            (each.share, _six_digits(each.score) if isinstance(each.score, float) else each.score)
            for each in result.measured.anytime
        ),
        repeat=f"{result.seed} {result.part}".strip(),
        machine=_machine(result.provenance.machine),
    )


def outcome(result: Record, specs: Iterable[MetricSpec]) -> Outcome:
    """Reduce a result to the values of its metrics; None for all where there is no answer."""
    answered, metrics = result.answered, result.metrics
    names = metrics if answered else result.judged_by
    values = {
        spec.name: _value(spec, metrics[spec.name]) if answered else None
        for spec in specs
        if spec.name in names
    }
    return Outcome(result.status, values, result.system)


def counted_values(entries: Iterable[Entry | Outcome], spec: MetricSpec) -> CountedValues:
    """Gather the values of a metric; a flag's without systems whose clean data do not allow a 1."""
    values: list[float | str] = []
    undecided, name, failed = 0, spec.name, spec.failed
    for entry in entries:
        if name not in entry.values or entry.status in NOT_ATTEMPTED:
            continue
        if spec.is_out_of_reach(entry.system):
            continue
        answered = entry.status in ANSWERED
        value = entry.values[name] if answered else failed
        undecided += answered and value is None
        if value is None and spec.aggregate == "share":
            value = failed  # what nobody could decide is not shown to be right
        if value is not None:
            values.append(value)
    return CountedValues(values, undecided)


class Aggregated(NamedTuple):
    """The values of a metric over several jobs as one.

    Attributes
    ----------
    value
        The median, the mean, ... or the share of a flag; of labels how many are not the usual
        one.  Infinite where it is that of failures, None without any.
    of
        Of how many values.
    counts
        How many have each label but the usual one.
    """

    value: float | None
    of: int
    undecided: int
    counts: Mapping[str, int]


def aggregate(spec: MetricSpec, values: Sequence[float | str], undecided: int) -> Aggregated:
    """Make one value of those of several jobs, as the metric asks for."""
    counts: Counter[str] = Counter()
    numbers = [value for value in values if isinstance(value, int | float)]
    value: float | None
    match spec.aggregate:
        case "counts":
            labels = Counter(values)
            counts.update({name: labels[name] for name in spec.labels[1:] if labels[name]})
            value = float(counts.total()) if values else None
        case "max":
            value = max(numbers, default=None)
        case "mean" | "share":
            value = sum(numbers) / len(numbers) if numbers else None
        case "median":
            value = median(numbers) if numbers else None
    return Aggregated(value, len(values), undecided, counts)


def marked(specs: Iterable[MetricSpec]) -> list[MetricSpec]:
    """Return the flags that have a mark; the first is the best that an answer can have."""
    return [spec for spec in specs if spec.mark]


def best_mark(
    specs: Iterable[MetricSpec], values: Mapping[str, Value]
) -> tuple[MetricSpec | None, bool]:
    """Return the first flag with a mark that holds, and whether one of them is unknown."""
    flags = marked(specs)
    held = (spec for spec in flags if values.get(spec.name) == 1)
    return next(held, None), any(values.get(spec.name, 0) is None for spec in flags)


def best_first(specs: Sequence[MetricSpec]) -> Callable[[Record], tuple[bool | float, ...]]:
    """Return the key that sorts answers: those known to be right first, then by primary metric."""
    primary, flags = specs[0], marked(specs)

    def key(record: Record) -> tuple[bool | float, ...]:
        score = _read(primary, record)
        loss = primary.loss(score) if isinstance(score, int | float) else math.inf
        return *(_read(flag, record) != 1 for flag in flags), loss

    return key


def specs_of(
    results: Iterable[Record], known: Mapping[str, Sequence[MetricSpec]]
) -> dict[str, tuple[MetricSpec, ...]]:
    """Return the metrics of each data type, the primary one first.

    For an unknown data type they are made of the names that are found: the lower
    the better, and the first is primary.
    """
    values_by_name: dict[str, dict[str, set[str]]] = defaultdict(dict)
    for record in results:
        names = values_by_name[record.data_type]
        if record.data_type in known:
            continue
        for name in (*record.metrics, *record.judged_by):
            value = record.metrics.get(name)
            names.setdefault(name, set()).update([value] if isinstance(value, str) else [])
    return {
        data_type: tuple(known.get(data_type, ()))
        or tuple(_plain(name, labels) for name, labels in (names or {"score": set()}).items())
        for data_type, names in values_by_name.items()
    }


def _plain(name: str, labels: set[str]) -> MetricSpec:
    title = name.replace("_", " ")
    if labels:
        return MetricSpec(
            name=name,
            title=title,
            explanation="",
            kind="label",
            labels=tuple(sorted(labels)),
            on_failure=None,
            aggregate="counts",
        )
    places: frozenset[Place] = frozenset({"board", "answer"})
    return MetricSpec(name=name, title=title, explanation="", digits=3, places=places)


def _read(spec: MetricSpec, result: Record) -> Value:
    return _value(spec, result.metrics.get(spec.name) if result.answered else None)


def _value(spec: MetricSpec, value: Value) -> Value:
    if spec.kind == "label":
        return value if value in spec.labels else None
    if value is None or isinstance(value, str):
        return None
    if value in _SHORT:
        return value
    if not -ENDLESS < value < ENDLESS:
        value = math.copysign(ENDLESS, value)  # sums of several stay finite
    return float(f"{value:.5e}")


_SHORT = frozenset(map(float, range(100)))
"""Values of most flags and counts, which need no rounding."""


def _six_digits(value: float | None) -> float | None:
    return None if value is None else float(f"{value:.5e}")


def studies(results: Iterable[Record]) -> list[tuple[str, int]]:
    """Return the SHA-256 of the studies that asked for results, with how many; most first.

    An empty name means the results that a command line asked for; where all are so, there
    is nothing to name.
    """
    counts = Counter(result.study or "" for result in results)
    return counts.most_common() if any(counts) else []


def measurements(results: Iterable[Record]) -> bool:
    """Return whether all results without added noise are of the user's own measurements."""
    plain = [one for one in results if one.snr_db is None]
    return bool(plain) and all(one.dataset_path and one.truth is None for one in plain)


def report_order(result: Record) -> tuple[str, str, float, str, str, int, str]:
    """Sort results as reports do: by data type and system, the cleanest first.

    The order is part of the numbers, as it decides which systems the bootstrap draws.
    """
    noise = cleanest_first(result.snr_db)
    return (
        result.data_type,
        result.system,
        noise,
        result.protocol,
        result.method,
        result.seed,
        result.part,
    )


MOST_VALUES = 6
"""Values that are listed; more are counted."""
UNKNOWN = "unknown"


class RunCondition(NamedTuple):
    """A condition of the results: one value for all, or the list of its values."""

    name: str
    value: str


def run_conditions(
    results: Iterable[Record], options: Mapping[str, Collection[str]] | None = None
) -> list[RunCondition]:
    """Gather limits, seeds, machines, versions, runtimes, protocols, what was given, and studies.

    Where results differ, each value has the number of its results in brackets, the most
    frequent first; results whose records do not have it are counted as unknown.

    Parameters
    ----------
    results
        The records of a report, of any age.
    options
        The keys of the options that each data type has.
    """
    known = list(results)
    readers: dict[str, Callable[[Record], str]] = {
        "budget of a job": lambda one: class_of(one).budget,
        "threads of a job": lambda one: str(one.budget.threads),
        "seeds": lambda one: str(one.seed),
        "run by another seed, which changes nothing": _of_another_seed,
        "protocol": lambda one: one.protocol,
        "choice": lambda one: class_of(one).choice,
        "machine": lambda one: _machine(one.provenance.machine),
        "mdbench": lambda one: one.mdbench,
        "Python": _python,
        "runtime": lambda one: one.runtime.name,
        "study (SHA-256)": lambda one: one.study or "none",
    }
    if all(one.measured.of_seed is None for one in known):
        del readers["run by another seed, which changes nothing"]
    # Thousands of results have a few conditions: each is put into words once.
    alike: dict[tuple[object, ...], list[Record]] = defaultdict(list)
    for one in known:
        alike[_conditions(one)].append(one)
    conditions = []
    for name, read in readers.items():
        counts: Counter[str] = Counter()
        for ones in alike.values():
            counts[read(ones[0]) or UNKNOWN] += len(ones)
        if set(counts) - {UNKNOWN, "none"}:
            conditions.append(RunCondition(name, _listed(counts, numbers=name == "seeds")))
        if name == "protocol":
            conditions += given_options(known, options or {})
    return conditions


def _conditions(record: Record) -> tuple[object, ...]:
    """Return all that `run_conditions` reads of a result."""
    machine, provenance = record.provenance.machine, record.provenance
    return (
        class_of(record),
        record.seed,
        record.measured.of_seed,
        *(machine.cpu, machine.cores, machine.memory_mb, machine.os),
        record.mdbench,
        *(provenance.core.get("python"), provenance.python),
        record.runtime.name,
        record.study,
    )


def _of_another_seed(one: Record) -> str:
    return "none" if one.measured.of_seed is None else f"seed {one.measured.of_seed}"


def given_options(
    results: Sequence[Record], options: Mapping[str, Collection[str]]
) -> list[RunCondition]:
    """Return how methods were given their data: options of which each protocol has a usual value.

    Results of data types without such an option are left out.
    """
    counts: dict[str, Counter[str]] = {}
    for record in results:
        with suppress(ValueError):  # a protocol of a later version
            for key, usual in Protocol(record.protocol).usual.items():
                if key in options.get(record.data_type, ()):
                    counts.setdefault(key, Counter())[str(record.options.get(key, usual))] += 1
    return [RunCondition(key, _listed(each, numbers=False)) for key, each in counts.items()]


def _listed(counts: Counter[str], *, numbers: bool) -> str:
    if len(counts) == 1:
        return next(iter(counts))
    if numbers:  # by value, and without counts where all have as many
        values = sorted(counts, key=lambda text: (len(text), text))
        if len({*counts.values()}) == 1 and len(values) <= MOST_VALUES:
            return f"{', '.join(values)} (each {_many(counts[values[0]])})"
    # In a fixed order, whatever that of the records.
    ordered = sorted(counts.items(), key=lambda each: (-each[1], each[0]))
    shown = [f"{text} ({_many(count)})" for text, count in ordered[:MOST_VALUES]]
    rest = len(ordered) - len(shown)
    return "; ".join([*shown, *[f"and {rest} more"] * (rest > 0)])


def _many(count: int) -> str:
    return f"{count:,} {'result' if count == 1 else 'results'}"


def _machine(machine: Machine) -> str:
    """Describe a machine, as far as it is known."""
    return _described(machine.cpu, machine.cores, machine.memory_mb, machine.os)


@cache
def _described(cpu: str, cores: int, memory_mb: int, system: str) -> str:
    parts = [cpu]
    if cores:
        parts.append(f"{cores} {'core' if cores == 1 else 'cores'}")
    if memory_mb:
        parts.append(f"{fixed(memory_mb / 1024)} GiB")
    return ", ".join(filter(None, [*parts, system]))


def _python(one: Record) -> str:
    core, method = one.provenance.core.get("python", ""), one.provenance.python or ""
    if not core or not method or core == method:
        return core or method
    return f"{core}, methods {method}"
