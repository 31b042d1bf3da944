"""What is compared: the jobs of a board, and who has done them all.

The rule must not depend on who else is there: a method that is added, and has done less than the
others, changes nothing for these.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping
    from collections.abc import Set as AbstractSet

    from mdbench.reports.entries import Case


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
        Those of them that each method has attempted.
    compared
        The methods with the most of them, all the same ones: ranks and tests are theirs.
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
