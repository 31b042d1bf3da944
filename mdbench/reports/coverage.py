"""What is compared: the jobs of a board, who has done them all, and notes on what is missing.

The rule must not depend on who else is there: a method that is added, and has done less than the
others, changes nothing for these.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from dataclasses import dataclass
from statistics import median
from typing import TYPE_CHECKING, NamedTuple

from mdbench.drawing.numbers import cleanest_first
from mdbench.method_spec import MARKS_EXPLAINED
from mdbench.reports.columns import CUT

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from collections.abc import Set as AbstractSet

    from mdbench.metrics.spec import MetricSpec
    from mdbench.reports.entries import Case
    from mdbench.reports.leaderboard import Leaderboard, Row


class Job(NamedTuple):
    """A case with one seed, and with one part (such as a fold) of datasets that have parts."""

    case: Case
    repeat: str


@dataclass(frozen=True)
class Plan:
    """The jobs of a board.

    Attributes
    ----------
    jobs
        All that count.
    done
        The jobs among these that each method has attempted.
    compared
        The methods that attempted the most jobs, all the same: ranks and tests compare them.
    """

    jobs: frozenset[Job]
    done: Mapping[str, frozenset[Job]]
    compared: tuple[str, ...]

    def coverage(self, done: AbstractSet[Job]) -> float:
        """Return the share of the jobs that are among those done."""
        return len(self.jobs & done) / len(self.jobs) if self.jobs else 0.0


def make_plan(attempts: Mapping[str, AbstractSet[Job]]) -> Plan:
    """Choose the jobs that count, and the methods that are compared.

    The cases are those that any method attempted.  Of the seeds of a case those count that more
    than half of the methods with the most cases attempted there: neither further seeds of one
    method nor a method with fewer seeds change the comparison of the others.  Where no such method
    attempted the case, all seeds count.

    Parameters
    ----------
    attempts
        The jobs that each method attempted, without baselines and references.
    """
    cases = {method: {job.case for job in jobs} for method, jobs in attempts.items()}
    most = max(map(len, cases.values()), default=0)
    voters = [method for method, own in cases.items() if own and len(own) == most]
    repeats: dict[Case, Counter[str]] = defaultdict(Counter)
    for method in voters:
        for case, repeat in attempts[method]:
            repeats[case][repeat] += 1
    half = {case: sum(case in cases[method] for method in voters) / 2 for case in repeats}
    chosen = {
        case: {repeat for repeat, count in counts.items() if count > half[case]} or {*counts}
        for case, counts in repeats.items()
    }
    done = {
        method: frozenset(
            job for job in jobs if job.case not in chosen or job.repeat in chosen[job.case]
        )
        for method, jobs in attempts.items()
    }
    jobs = frozenset[Job]().union(*done.values())
    groups: dict[frozenset[Job], list[str]] = defaultdict(list)
    for method, own in done.items():
        if own:
            groups[own].append(method)
    size = max(map(len, groups), default=0)
    largest = [group for own, group in groups.items() if len(own) == size]
    compared = max(largest, key=len) if largest else []
    return Plan(jobs, done, tuple(compared))


UNLIKE = 1.25
"""Speeds by the calibration jobs that differ by more than this factor are mentioned."""


def pooling_note(board: Leaderboard) -> str:
    """Return a note on times of machines of different speed, or of one under other work.

    Empty where times are alike.
    """
    speeds: dict[str, list[float]] = {}
    for one in board.entries:
        if one.speed:
            speeds.setdefault(one.machine, []).append(one.speed)
    typical = [median(each) for each in speeds.values()]
    if typical and max(typical) > UNLIKE * min(typical):
        return (
            "Times are pooled of machines that are not alike: by the calibration jobs the fastest "
            f"was {max(typical) / min(typical):.2g} times as fast as the slowest."
        )
    most = max((max(each) / min(each) for each in speeds.values()), default=1.0)
    if most <= UNLIKE:
        return ""
    if max(speeds.get("", [1.0])) > UNLIKE * min(speeds.get("", [1.0])):
        return (
            "Times are pooled of machines, or under other work, that were not alike (the records "
            f"do not say which): the calibration jobs differ by a factor of {most:.2g}."
        )
    return (
        f"By the calibration jobs the speed of the machine varied by a factor of {most:.2g}: it "
        "had other work, too."
    )


MOST_NAMED = 5
"""Methods, or machines, that a note names; more are counted."""


def machine_notes(board: Leaderboard) -> str:
    """Return notes on which methods were run on which machine, and on times of unlike machines.

    Empty where all were run on one, at one speed.
    """
    methods: dict[str, list[str]] = {}
    for one in board.entries:
        methods.setdefault(one.machine or "a machine that is not known", []).append(one.method)
    if len(methods) == 1:
        return pooling_note(board)
    ordered = sorted(methods.items(), key=lambda each: (-len(each[1]), each[0]))
    named = [f"{_named(names)} on {machine}" for machine, names in ordered[:MOST_NAMED]]
    if rest := len(ordered) - len(named):
        named.append(f"and others on {rest} more")
    return f"Run on {len(methods)} machines: {'; '.join(named)}. {pooling_note(board)}".strip()


def _named(names: Sequence[str]) -> str:
    """Name the methods of a machine, each once."""
    each = sorted({*names})
    rest = len(each) - MOST_NAMED
    return ", ".join([*each[:MOST_NAMED], *[f"{rest} more methods"] * (rest > 0)])


def missing_jobs_note(board: Leaderboard) -> str:
    """Return a note on jobs without a record, as while a run goes on; empty where none is missing.

    Jobs that a method cannot do have records that say so, and are not among them.
    """
    if not board.missing:
        return ""
    most = sorted(board.missing.items(), key=lambda each: (-each[1], each[0]))
    named = [f"{method} {count}" for method, count in most[:MOST_NAMED]]
    rest = len(most) - len(named)
    names = ", ".join([*named, *[f"{rest} more methods"] * bool(rest)])
    return (
        f"In progress, or incomplete: there is no record yet of some of the {len(board.plan.jobs)} "
        f"jobs ({names}). Methods in grey are not ranked."
    )


def conditions_note(board: Leaderboard) -> str:
    """Return a note on conditions in the names of datasets, as noise of the targets.

    Empty where all datasets have the same.  A board has one row for each method, and so its numbers
    are over all of them.
    """
    conditions = sorted({job.case.conditions for job in board.plan.jobs})
    if len(conditions) <= 1:
        return ""
    named = [each or "none" for each in conditions[:MOST_NAMED]]
    if rest := len(conditions) - len(named):
        named.append(f"{rest} more")
    return (
        f"Datasets under {len(conditions)} conditions are counted together, each as a system of "
        "its "
        f"own: {', '.join(named)}."
    )


def attainable_cases(spec: MetricSpec, board: Leaderboard) -> dict[float | None, list[bool]]:
    """Return by noise level whether each noisy case allows what a flag asks for, where known."""
    known_cases: dict[float | None, list[bool]] = {}
    if spec.attainable is not None:
        for case in {job.case for job in board.plan.jobs if job.case.snr_db is not None}:
            allowed = spec.attainable(case.system, case.snr_db)
            if allowed is not None:
                known_cases.setdefault(case.snr_db, []).append(allowed)
    return known_cases


def attainable_note(board: Leaderboard) -> str:
    """Return how many of the noisy cases allow what a flag asks for; empty where nobody knows."""
    texts = []
    for spec in board.known:
        counts = attainable_cases(spec, board)
        levels = [
            f"{sum(counts[level])} of {len(counts[level])} at {board.noise_name(level)}"
            for level in sorted(counts, key=cleanest_first)
        ]
        if levels:
            texts.append(
                f"Systems that can be {spec.title} under noise: {', '.join(levels)}. For the "
                "others another equation is as likely, or a constant cannot be known to 5 %."
            )
    return " ".join([*texts, *_out_of_reach(board), *_moved_laws(board)])


def _out_of_reach(board: Leaderboard) -> Iterator[str]:
    """Yield which systems no flag counts, as not even their clean data allow it."""
    systems = sorted({job.case.system for job in board.plan.jobs})
    flags = [spec for spec in board.known if spec.kind == "flag"]
    names = [name for name in systems if any(spec.is_out_of_reach(name) for spec in flags)]
    if names:
        titles = " and ".join(spec.title for spec in flags if any(map(spec.is_out_of_reach, names)))
        yield (
            f"Left out of the shares of {titles}: {len(names)} of {len(systems)} systems, whose "
            f"ranges do not tell them from a simpler function ({', '.join(names)})."
        )


_MOVED = re.compile(r"\+moved=[1-9]\d*")
"""The condition of a dataset whose law is that of another one with other constants and starts."""


def _moved_laws(board: Leaderboard) -> Iterator[str]:
    """Yield what each method identifies of laws as they are, and of the same ones moved.

    A method that knows a benchmark's laws by heart has fewer of the second.
    """
    flag = next((spec for spec in board.known if spec.kind == "flag" and spec.mark), None)
    if flag is None:
        return
    laws_by_method: dict[str, dict[tuple[str, float | None, str], dict[bool, float]]] = {}
    for entry in board.entries:
        value = entry.values.get(flag.name, 0.0) if entry.answered else 0.0
        if entry.attempted and isinstance(value, float | int):
            law = _MOVED.sub("", entry.case.system), entry.case.snr_db, entry.repeat
            moved = _MOVED.search(entry.case.system) is not None
            laws_by_method.setdefault(entry.method, {}).setdefault(law, {}).setdefault(
                moved, float(value)
            )
    texts = []
    for method, laws in laws_by_method.items():
        pairs = [(both[False], both[True]) for both in laws.values() if len(both) == 2]  # noqa: PLR2004
        if pairs:
            here, there = (sum(values) for values in zip(*pairs, strict=True))
            texts.append(f"{method} {here:.0f} and {there:.0f} of {len(pairs)}")
    if texts:
        yield (
            f"Laws that were {flag.title} as they are, and with other constants, starts and order "
            f"of states: {', '.join(texts)}. Far fewer of the second mean that a method knows the "
            "laws."
        )


def undecided_note(board: Leaderboard) -> str:
    """Return how many values the scorer could not decide; empty where it could decide all."""
    counts = {
        spec.title: sum(row.values[spec.name].undecided for row in board.rows)
        for spec in board.known
    }
    texts = ", ".join(f"{title} {count}" for title, count in counts.items() if count)
    return (
        "Values that the scorer could not decide; shares count them as not reached, means not "
        f"at all: {texts}."
        if texts
        else ""
    )


def cut_off_note(rows: Sequence[Row]) -> str:
    """Explain the sign of methods most of whose jobs were cut off; empty where there are none."""
    return CUT_EXPLAINED if any(row.cut_off for row in rows) else ""


def marks_note(rows: Sequence[Row]) -> str:
    """Explain the marks that are behind the names of methods."""
    there = {row.mark for row in rows}
    return " ".join(f"{mark} {text}" for mark, text in MARKS_EXPLAINED.items() if mark in there)


CUT_EXPLAINED = (
    f"{CUT} Most of its jobs were cut off at the limit (timeout, partial): it may do better with "
    "more time."
)
