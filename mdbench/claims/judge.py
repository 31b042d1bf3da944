"""Whether records confirm a claim, contradict it, or cannot say; and why.

The rule is that of docs/claims.md.  A record can be held against a claim where method, data, noise,
protocol, choice and metric are alike.  Then two things decide: whether the values agree within the
error of sampling, and which side had the larger budget.  More time makes a result no worse: what is
reached in less confirms a claim, and what is not reached in more contradicts it.
"""

from __future__ import annotations

import math
from collections import defaultdict
from dataclasses import dataclass, replace
from enum import StrEnum
from statistics import fmean, median
from typing import TYPE_CHECKING, NamedTuple

from mdbench.drawing.numbers import duration, fixed
from mdbench.errors import counted
from mdbench.records import Status
from mdbench.reports.classes import RecordClass, class_of
from mdbench.reports.entries import NOT_ATTEMPTED, counted_values, entry
from mdbench.reports.ranking import FEWEST, RESAMPLES
from mdbench.reports.statistics import bootstrap, draws, wilson

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

    from mdbench.claims.read import Claim
    from mdbench.metrics.spec import MetricSpec
    from mdbench.records import Record

ALIKE = 2.0
"""Budgets whose ratio is at most this are alike: two machines of one age differ as much."""
OWN_END = 0.5
"""A job that used at most this share of its budget has ended by itself."""


class Outcome(StrEnum):
    """What records say of a claim."""

    CONFIRMED = "confirmed"
    CONTRADICTED = "contradicted"
    CANNOT_SAY = "cannot say"


class Budget(StrEnum):
    """The budget of the records, seen from that of the claim."""

    ALIKE = "alike"
    LESS = "less"
    MORE = "more"
    UNKNOWN = "unknown"


class Agreement(StrEnum):
    """The value of the records, seen from that of the claim."""

    WORSE = "worse"
    ALIKE = "alike"
    BETTER = "better"


@dataclass(frozen=True)
class Verdict:
    """What records say of a claim.

    Attributes
    ----------
    reason
        In a few words, for people.
    claimed
        The claim's value over the cases that there are records of.
    measured, low, high
        The records' value with its 95 % interval; None where none is alike.
    cases
        How many cases it is over.
    """

    outcome: Outcome
    reason: str
    claimed: float | None = None
    measured: float | None = None
    low: float | None = None
    high: float | None = None
    cases: int = 0


OWN_CODE = "the method here is code of our own, not the authors'"


def cannot_say(reason: str) -> Verdict:
    """Return the verdict where nothing alike was measured."""
    return Verdict(Outcome.CANNOT_SAY, reason)


def judge(
    claim: Claim,
    records: Sequence[Record],
    spec: MetricSpec | None,
    members: Collection[str],
    methods: Collection[str],
    *,
    own_code: Collection[str] = (),
) -> Verdict:
    """Hold records against a claim.

    Parameters
    ----------
    records
        Of each question and class the newest (`classes.latest`).
    spec
        The claim's metric.
    members
        The names of the datasets of the claim's set.
    methods
        The methods of this benchmark.
    own_code
        Those whose code was written here after a paper: what they find is shown with the claim,
        and neither confirms nor contradicts it.
    """
    if claim.unlike or spec is None:
        return cannot_say(claim.unlike or "no such metric here")
    if claim.method not in methods:
        return cannot_say("this benchmark has no such method")
    wanted = set(claim.by_case or members)
    found = list(records)
    for reason, alike in _stages(claim, wanted):
        kept = [one for one in found if alike(one)]
        if not kept:
            return cannot_say(f"{reason}{_instead(reason, found)}")
        found = kept
    settings: dict[tuple[str, RecordClass], list[Record]] = defaultdict(list)
    for one in found:
        settings[one.method, class_of(one)].append(one)
    verdicts = [_judge_setting(claim, ones, spec, wanted) for ones in settings.values()]
    if claim.method in own_code:
        verdicts = [replace(one, outcome=Outcome.CANNOT_SAY, reason=OWN_CODE) for one in verdicts]
    decided = [one for one in verdicts if one.outcome is not Outcome.CANNOT_SAY]
    if len({one.outcome for one in decided}) > 1:
        return cannot_say(f"versions or budgets disagree ({len(settings)} of them)")
    return max(decided or verdicts, key=lambda one: one.cases)


def _stages(claim: Claim, wanted: Collection[str]) -> list[tuple[str, Callable[[Record], bool]]]:
    """Return the conditions, each with what it means that no record meets it."""
    return [
        (
            "no record of this method",
            lambda one: one.data_type == claim.data_type and one.algorithm == claim.method,
        ),
        ("no record on these data", lambda one: not class_of(one).own and one.dataset in wanted),
        ("other noise", lambda one: one.snr_db == claim.snr_db),
        ("other protocol", lambda one: claim.protocol in {None, one.protocol}),
        ("other version of the data", lambda one: class_of(one).variant == claim.variant),
        (
            "other derivatives",
            lambda one: not any(word.startswith("derivatives") for word in class_of(one).words),
        ),
        (
            "other choice among candidates",
            lambda one: claim.choice in {None, class_of(one).choice},
        ),
        ("not attempted", lambda one: one.status not in NOT_ATTEMPTED),
        ("not scored by this metric", lambda one: claim.metric in {*one.metrics, *one.judged_by}),
    ]


def _instead(reason: str, found: Sequence[Record]) -> str:
    """Say what the records have, where a condition failed."""
    have: set[str] = set()
    if reason == "other noise":
        have = {"clean" if one.snr_db is None else f"{one.snr_db:g} dB" for one in found}
    elif reason == "other protocol":
        have = {one.protocol for one in found}
    elif reason == "other version of the data":
        have = {class_of(one).variant or "made here" for one in found}
    elif reason == "other choice among candidates":
        have = {class_of(one).choice for one in found}
    return f": {', '.join(sorted(have))}" if have else ""


def _judge_setting(
    claim: Claim, ones: Sequence[Record], spec: MetricSpec, wanted: Collection[str]
) -> Verdict:
    """Hold the records of one version of a method under one class of conditions against a claim."""
    measured = _measure(claim, ones, spec)
    if measured is None:
        return cannot_say("the scorer could not decide")
    missing = len(wanted) - measured.cases
    if missing and (claim.by_case is None or measured.cases < FEWEST):
        return Verdict(
            Outcome.CANNOT_SAY,
            f"records of {measured.cases} of {len(wanted)} cases",
            cases=measured.cases,
        )
    by_case = claim.by_case or {}
    value = fmean(by_case[one] for one in measured.names) if by_case else claim.value
    number = measured.cases if by_case else claim.cases
    agreement = agreement_of(value, number, measured, spec)
    budget = budget_of(claim, ones)
    outcome, reason = decide(budget, agreement, reaches=claim.relation == "reaches")
    if missing:
        reason += f"; on {measured.cases} of {len(wanted)} cases"
    return Verdict(
        outcome,
        f"{reason}{_budgets(claim, ones, budget)}",
        claimed=value,
        measured=measured.value,
        low=measured.low,
        high=measured.high,
        cases=measured.cases,
    )


def decide(budget: Budget, agreement: Agreement, *, reaches: bool) -> tuple[Outcome, str]:
    """Return what follows from two budgets and two values.

    A result becomes no worse with more time.  So what is reached in less time is reached in the
    claim's, and what is not reached in more is not reached in the claim's.

    Parameters
    ----------
    budget, agreement
        Of the records, seen from the claim.
    reaches
        Whether a better value is what is claimed, too.
    """
    if reaches and agreement is Agreement.BETTER:
        agreement = Agreement.ALIKE
    if budget is Budget.UNKNOWN:
        return Outcome.CANNOT_SAY, "the paper's time is not known"
    return _FOLLOWS[budget, agreement]


_FOLLOWS = {
    (Budget.ALIKE, Agreement.WORSE): (Outcome.CONTRADICTED, "not reached"),
    (Budget.ALIKE, Agreement.ALIKE): (Outcome.CONFIRMED, "agrees"),
    (Budget.ALIKE, Agreement.BETTER): (Outcome.CONTRADICTED, "better"),
    (Budget.LESS, Agreement.WORSE): (Outcome.CANNOT_SAY, "not reached, in less time"),
    (Budget.LESS, Agreement.ALIKE): (Outcome.CONFIRMED, "reached in less time"),
    (Budget.LESS, Agreement.BETTER): (Outcome.CONTRADICTED, "better in less time"),
    (Budget.MORE, Agreement.WORSE): (Outcome.CONTRADICTED, "not reached in more time"),
    (Budget.MORE, Agreement.ALIKE): (Outcome.CANNOT_SAY, "reached, in more time"),
    (Budget.MORE, Agreement.BETTER): (Outcome.CANNOT_SAY, "better, in more time"),
}


class Measured(NamedTuple):
    """The value of records over cases; `low` and `high` are the ends of its 95 % interval."""

    value: float
    low: float
    high: float
    names: tuple[str, ...]
    flag: bool

    @property
    def cases(self) -> int:
        """How many cases."""
        return len(self.names)


def _measure(claim: Claim, ones: Sequence[Record], spec: MetricSpec) -> Measured | None:
    """Return the value of the claim's metric; None where the scorer did not decide any."""
    values: dict[str, list[float]] = defaultdict(list)
    undecided: dict[str, int] = defaultdict(int)
    for one in ones:
        found = counted_values([entry(one, [spec])], spec)
        values[one.dataset] += [each for each in found.values if not isinstance(each, str)]
        undecided[one.dataset] += found.undecided
    flag = spec.kind == "flag"
    if flag:  # what is undecided may be either
        names = tuple(sorted(name for name in values if values[name] or undecided[name]))
        sums = [(sum(values[name]), len(values[name]), undecided[name]) for name in names]
        if not any(known for _, known, _ in sums):
            return None
        low = fmean(total / (known + open_) for total, known, open_ in sums)
        high = fmean((total + open_) / (known + open_) for total, known, open_ in sums)
        value = (low + high) / 2
        return Measured(value, wilson(low, len(names))[0], wilson(high, len(names))[1], names, flag)
    names = tuple(sorted(name for name, each in values.items() if each))
    if not names or any(undecided.values()):
        return None
    middle = median if claim.median else fmean
    of_cases = [middle(values[name]) for name in names]
    drawn = draws(RESAMPLES, [1] * len(names))
    low, high = bootstrap(of_cases, range(len(names)), drawn, mean=not claim.median)
    return Measured(middle(of_cases), low, high, names, flag)


def agreement_of(
    value: float, number: int | None, measured: Measured, spec: MetricSpec
) -> Agreement:
    """Compare two values within the error of sampling.

    Of two shares the difference has the interval of Newcombe (Stat. Med. 17, 873, 1998, method
    10), built of the two intervals of Wilson; a value of which nothing is known but itself is
    compared with the interval of the records.
    """
    low, high = measured.low, measured.high
    if measured.flag and number is not None:
        below, above = wilson(value, number)
        difference = measured.value - value
        lowest = difference - math.hypot(measured.value - measured.low, above - value)
        highest = difference + math.hypot(measured.high - measured.value, value - below)
        low, high = value + lowest, value + highest
    slack = 1e-9 * max(1.0, abs(value))
    if low - slack <= value <= high + slack:
        return Agreement.ALIKE
    higher = low > value
    return Agreement.BETTER if higher == (spec.better == "higher") else Agreement.WORSE


def budget_of(claim: Claim, ones: Sequence[Record]) -> Budget:
    """Compare the budget of records with that of a claim, in seconds of one core.

    Jobs that have ended by themselves, well before their limit, would have ended so under a longer
    one: what counts of them is the time that they took.
    """
    limit = claim.core_seconds
    needed = _needed(ones)
    if needed is not None:
        return Budget.MORE if limit is not None and needed > ALIKE * limit else Budget.ALIKE
    own = _limit(ones[0])
    if limit is None:
        return Budget.UNKNOWN
    if own is None or own > ALIKE * limit:
        return Budget.MORE
    return Budget.LESS if own < limit / ALIKE else Budget.ALIKE


def _limit(one: Record) -> float | None:
    """Return the budget of a record, in seconds of one core; None for no limit."""
    seconds = class_of(one).seconds
    return None if seconds is None else seconds * (1 if one.budget.work_s else one.budget.threads)


def _needed(ones: Sequence[Record]) -> float | None:
    """Return the most that a job used where all have ended by themselves; else None."""
    most = 0.0
    for one in ones:
        if one.status in {Status.PARTIAL, Status.TIMEOUT, Status.OUT_OF_MEMORY}:
            return None
        measured = one.measured
        used = measured.work_s if one.budget.work_s else measured.wall_s
        if used is not None and not one.budget.work_s:
            used *= one.budget.threads
        limit = _limit(one)
        if used is None or (limit is not None and used > OWN_END * limit):
            return None
        most = max(most, used)
    return most


def _budgets(claim: Claim, ones: Sequence[Record], budget: Budget) -> str:
    """Say what the two budgets were, where they differ."""
    if budget is Budget.ALIKE:
        return ""
    own = _limit(ones[0])
    here = "no limit" if own is None else duration(own)
    limit = claim.core_seconds
    return f" ({here} here)" if limit is None else f" ({here} here, {duration(limit)} there)"


def summary(verdicts: Sequence[Verdict]) -> str:
    """Return how many claims have which outcome, in words."""
    counts = {each: sum(one.outcome is each for one in verdicts) for each in Outcome}
    parts = [f"{number} {outcome}" for outcome, number in counts.items() if number]
    return f"{counted(len(verdicts), 'claim')}: {', '.join(parts) or 'none'}"


def shown(verdict: Verdict) -> str:
    """Return the records' value with its interval; empty without one."""
    if verdict.measured is None or verdict.low is None or verdict.high is None:
        return ""
    return f"{_short(verdict.measured)} ({_short(verdict.low)} … {_short(verdict.high)})"


def _short(value: float) -> str:
    return fixed(value, 3) if abs(value) < 1000 else f"{value:.3g}"  # noqa: PLR2004 - for people
