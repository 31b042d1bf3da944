"""What the methods of the editions identified, job by job, in one small file, and a rank in it.

The file is made from the records of `docs/results` (``scripts/edition-index``), so that a method's
author compares with all of them at once, without reading forty thousand records.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from mdbench.drawing.numbers import cleanest_first, noise_name
from mdbench.reports.classes import class_of

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence

    from mdbench.records import Record
    from mdbench.reports.classes import RecordClass

INDEX: Final = Path(__file__).parent / "editions.json"
SCHEMA: Final = 1
FIRST_SEED: Final = 0
"""The seed that every method of an edition has."""
IDENTIFIED: Final = "identified"
"""The metric that says whether an answer is the true law."""
_RIGHT, _WRONG, _NOT_MEASURED, _MISSING = "1", "0", "n", "."
_MOSTLY = 0.5


class Suite(NamedTuple):
    """The jobs that are compared: of one data type, under one rule, with one budget and noise.

    Attributes
    ----------
    rule
        The budget, the protocol and what else makes records comparable, in words.
    work_s
        The budget, in reference seconds; None for one of time.
    """

    data_type: str
    rule: str
    snr_db: float | None
    work_s: float | None

    @property
    def title(self) -> str:
        """All of it as one text."""
        return f"{self.data_type}, {self.rule}, {noise_name(self.snr_db)}"


def rule_of(record: Record) -> str:
    """Return the data type and the rule of a record, as the titles of suites have them."""
    return f"{record.data_type}, {class_of(record).title}"


Verdicts = dict[str, str]
"""By job, a system and its part: whether it was identified, as one letter."""


def verdicts_of(records: Iterable[Record]) -> dict[Suite, dict[str, Verdicts]]:
    """Return by suite and method what was identified of each job; the newest record counts.

    A record with smaller budgets (`measured.smaller_budgets`) has a verdict for each of these.  A
    job without a verdict of the scorer's counts as not identified, as in all shares.
    """
    newest: dict[tuple[Suite, str, str], tuple[Any, str]] = {}
    for record in records:
        if record.seed != FIRST_SEED or not record.attempted or record.dataset_path is not None:
            continue
        job = f"{record.dataset} {record.part}".strip()
        for class_, verdict in _verdicts(record):
            suite = Suite(record.data_type, class_.title, record.snr_db, class_.work_s)
            at = suite, record.method, job
            older = newest.get(at)
            if older is None or older[0] <= record.measured.started:
                newest[at] = record.measured.started, verdict
    by_suite: dict[Suite, dict[str, Verdicts]] = defaultdict(lambda: defaultdict(dict))
    for (suite, method, job), (_, verdict) in newest.items():
        by_suite[suite][method][job] = verdict
    return by_suite


def _verdicts(record: Record) -> Iterator[tuple[RecordClass, str]]:
    if record.truth is None and IDENTIFIED not in record.metrics:
        return  # nobody knows its law
    class_ = class_of(record)
    right = record.answered and record.metrics.get(IDENTIFIED) == 1
    letter = _RIGHT if right else _NOT_MEASURED if record.not_measured else _WRONG
    yield class_, letter
    for smaller in record.measured.smaller_budgets:
        less = class_._replace(work_s=smaller.work_s)
        yield less, _RIGHT if smaller.metrics.get(IDENTIFIED) == 1 else _WRONG


@dataclass(frozen=True)
class EditionIndex:
    """What the methods of the editions identified.

    Attributes
    ----------
    names
        Of the editions.
    marks
        The signs behind the names of methods, such as ‡.
    scorers
        The scorer's version of each data type under each rule; see `rule_of`.
    suites
        By suite and method, the verdict on each job.
    """

    names: tuple[str, ...]
    marks: Mapping[str, str]
    scorers: Mapping[str, str]
    suites: Mapping[Suite, Mapping[str, Verdicts]]

    def to_json(self) -> str:
        """Return the text of the file: a line for each method of each suite, a letter a job."""
        suites = []
        for suite, methods in sorted(self.suites.items(), key=lambda item: _order(item[0])):
            jobs = sorted({job for verdicts in methods.values() for job in verdicts})
            letters = {
                method: "".join(verdicts.get(job, _MISSING) for job in jobs)
                for method, verdicts in sorted(methods.items())
            }
            suites.append({**suite._asdict(), "jobs": jobs, "methods": letters})
        head = {"schema": SCHEMA, "editions": self.names, "marks": dict(self.marks)}
        content = {**head, "scorers": dict(self.scorers), "suites": suites}
        return json.dumps(content, indent=1, ensure_ascii=False, sort_keys=True) + "\n"

    @classmethod
    def read(cls, path: Path = INDEX) -> EditionIndex:
        """Read the file."""
        content = json.loads(path.read_text(encoding="utf-8"))
        suites = {
            Suite(*(part[name] for name in Suite._fields)): {
                method: {
                    job: letter
                    for job, letter in zip(part["jobs"], letters, strict=True)
                    if letter != _MISSING
                }
                for method, letters in part["methods"].items()
            }
            for part in content["suites"]
        }
        return cls(tuple(content["editions"]), content["marks"], content["scorers"], suites)

    def standings(self, records: Sequence[Record], method: str) -> list[Standing]:
        """Return where a method stands, suite by suite; the largest first."""
        return self._standings(verdicts_of(r for r in records if r.algorithm == method))

    def standings_of_its_own(self, method: str) -> list[Standing]:
        """Return where a method of the editions stands by their records, as `standings` does."""
        return self._standings(
            {
                suite: {method: methods[method]}
                for suite, methods in self.suites.items()
                if method in methods
            }
        )

    def _standings(self, own: Mapping[Suite, Mapping[str, Verdicts]]) -> list[Standing]:
        standings = []
        for suite, methods in own.items():
            others = self.suites.get(suite, {})
            known = {job for verdicts in others.values() for job in verdicts}
            for name, verdicts in methods.items():
                shared = {job: verdict for job, verdict in verdicts.items() if job in known}
                if shared:
                    rivals = {rival: theirs for rival, theirs in others.items() if rival != name}
                    unknown = len(verdicts) - len(shared)
                    standings.append(Standing(suite, name, shared, rivals, unknown))
        return sorted(standings, key=lambda s: (-len(s.own), _order(s.suite), s.method))


def _order(suite: Suite) -> tuple[object, ...]:
    return suite.data_type, suite.rule, cleanest_first(suite.snr_db)


class RankedMethod(NamedTuple):
    """A row of the ranking.

    Attributes
    ----------
    rank
        Who identifies as many has the same rank.
    identified
        How many jobs.
    wins, losses
        Jobs that the author's method identifies and this one does not, and the other way round.
    not_measured
        Whether the limit ended most of its jobs too early to say anything.
    """

    rank: int
    method: str
    identified: int
    wins: int
    losses: int
    not_measured: bool


@dataclass(frozen=True)
class Standing:
    """Where a method stands among those of the editions that have done the same jobs.

    Attributes
    ----------
    own
        Its verdicts.
    others
        Those of the other methods.
    unknown
        How many of its jobs no edition has.
    """

    suite: Suite
    method: str
    own: Verdicts
    others: Mapping[str, Verdicts]
    unknown: int

    @cached_property
    def compared(self) -> dict[str, Verdicts]:
        """The other methods that have done all of its jobs."""
        return {
            name: verdicts
            for name, verdicts in self.others.items()
            if self.own.keys() <= verdicts.keys()
        }

    @cached_property
    def rows(self) -> list[RankedMethod]:
        """The ranking, the best first; the method itself before others with as many."""
        mine = _right_of(self.own)
        right = {
            name: _right_of(verdicts) & self.own.keys() for name, verdicts in self.compared.items()
        }
        counts = {self.method: len(mine), **{name: len(jobs) for name, jobs in right.items()}}
        ordered = sorted(counts, key=lambda name: (-counts[name], name != self.method, name))
        return [
            RankedMethod(
                rank=1 + sum(count > counts[name] for count in counts.values()),
                method=name,
                identified=counts[name],
                wins=len(mine - right.get(name, mine)),
                losses=len(right.get(name, mine) - mine),
                not_measured=self._is_not_measured(name),
            )
            for name in ordered
        ]

    def _is_not_measured(self, name: str) -> bool:
        verdicts = self.own if name == self.method else self.compared[name]
        letters = [verdicts[job] for job in self.own]
        return letters.count(_NOT_MEASURED) > _MOSTLY * len(letters)

    @property
    def row(self) -> RankedMethod:
        """The method's own row."""
        return next(row for row in self.rows if row.method == self.method)

    def neighbours(self, number: int) -> list[RankedMethod]:
        """Return the method's row with so many above and below it."""
        at = self.rows.index(self.row)
        return self.rows[max(0, at - number) : at + number + 1]

    @cached_property
    def times_identified(self) -> Counter[str]:
        """How many of the compared methods identify each job."""
        right = (_right_of(verdicts) for verdicts in self.compared.values())
        return Counter(job for jobs in right for job in jobs if job in self.own)

    @property
    def only_mine(self) -> list[str]:
        """The jobs that it alone identifies."""
        return sorted(job for job in _right_of(self.own) if not self.times_identified[job])

    @property
    def missed_by_it_alone(self) -> list[str]:
        """The jobs that it misses and every other method identifies."""
        return self._missed_and_identified_by(list(self.compared))

    @property
    def better(self) -> list[str]:
        """The methods of a better rank."""
        return [row.method for row in self.rows if row.rank < self.row.rank]

    @property
    def missed_unlike_better(self) -> list[str]:
        """The jobs that it misses and every method of a better rank identifies."""
        return self._missed_and_identified_by(self.better)

    def _missed_and_identified_by(self, names: Sequence[str]) -> list[str]:
        if not names:
            return []
        by_all = set.intersection(*(_right_of(self.compared[name]) for name in names))
        return sorted(self.own.keys() & by_all - _right_of(self.own))

    @property
    def missed(self) -> list[tuple[str, int]]:
        """The jobs that it misses and most others identify, with how many; the most first."""
        most = _MOSTLY * len(self.compared)
        missed = self.own.keys() - _right_of(self.own)
        counted = [(job, self.times_identified[job]) for job in missed]
        return sorted(
            ((job, count) for job, count in counted if count > most),
            key=lambda item: (-item[1], item[0]),
        )


def _right_of(verdicts: Verdicts) -> set[str]:
    return {job for job, letter in verdicts.items() if letter == _RIGHT}


def make_index(
    records: Sequence[Record],
    names: Sequence[str],
    apart: Collection[str],
    mark_of: Callable[[str], str],
) -> EditionIndex:
    """Make the index of some editions from their records.

    Parameters
    ----------
    apart
        Methods that are not compared, such as baselines.
    mark_of
        Gives the sign behind a method's name.
    """
    compared = [record for record in records if record.algorithm not in apart]
    newest: dict[str, tuple[Any, str]] = {}
    for record in compared:
        scored = record.measured.started, record.provenance.scorer or ""
        newest[rule_of(record)] = max(newest.get(rule_of(record), scored), scored)
    methods = sorted({record.method for record in compared})
    return EditionIndex(
        names=tuple(names),
        marks={method: mark for method in methods if (mark := mark_of(method))},
        scorers={rule: scorer for rule, (_, scorer) in sorted(newest.items())},
        suites=verdicts_of(compared),
    )
