"""Classes of results, with an equal budget and equal rules, and categories of their systems.

Only records of one class are compared.

A board is of one class of one data type.  Baselines and references are on every board of their
rules, whatever time they had: they take no part in what is compared.
"""

from __future__ import annotations

import hashlib
import re
from collections import defaultdict
from contextlib import suppress
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from mdbench.datatypes.facts import Choice, Protocol
from mdbench.drawing.numbers import duration
from mdbench.errors import UsageError
from mdbench.records import latest_by_case

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from mdbench.records import Record
    from mdbench.reports.leaderboard import Leaderboard


class RecordClass(NamedTuple):
    """The conditions under which records may be compared.

    Attributes
    ----------
    own
        Whether the data are the user's own: these are never mixed with a benchmark's.
    variant, derivatives
        The options of these names; derivatives are named, where nobody asked, by what the protocol
        gives.
    choice
        Who chose among a method's candidates.
    work_s, timeout_s
        The budget of work, in reference seconds; where there is none, the time limit in seconds.
    """

    own: bool
    protocol: str
    variant: str
    derivatives: str
    choice: str
    work_s: float | None
    timeout_s: float | None
    threads: int

    @property
    def rules(self) -> tuple[object, ...]:
        """All of it but the budget."""
        return self[:5]

    @property
    def seconds(self) -> float | None:
        """The budget: of work, or of time."""
        return self.timeout_s if self.work_s is None else self.work_s

    @property
    def budget(self) -> str:
        """The budget in words."""
        if self.seconds is None:
            text = "no limit"
        else:
            kind = "limit" if self.work_s is None else "work"
            text = f"{kind} {duration(self.seconds)}"
        return text if self.threads == 1 else f"{text}, {self.threads} threads"

    @property
    def words(self) -> list[str]:
        """All of it in words, the budget first; derivatives only where they are not the usual."""
        return [
            self.budget,
            self.protocol,
            *[f"variant {self.variant}"] * bool(self.variant),
            *[f"derivatives {self.derivatives}"]
            * (self.derivatives not in {"", _usual(self.protocol)}),
            *[f"choice {self.choice}"] * (self.choice not in {"", Choice.BENCHMARK}),
            *["own data"] * self.own,
        ]

    @property
    def title(self) -> str:
        """All of it as one text."""
        return _title(self)


@cache
def _title(class_: RecordClass) -> str:
    return ", ".join(class_.words)


@cache
def _usual(protocol: str) -> str:
    with suppress(ValueError):  # a protocol of a later version
        return Protocol(protocol).usual["derivatives"]
    return ""


def class_of(record: Record) -> RecordClass:
    """Return the class of a record."""
    budget = record.budget
    work_s: float | None = getattr(budget, "work_s", None)  # records of earlier versions have none
    return _class(
        record.dataset_path is not None,
        record.protocol,
        str(record.options.get("variant", "")),
        str(record.options.get("derivatives", _usual(record.protocol))),
        str(record.options.get("choice", Choice.BENCHMARK)),
        work_s,
        budget.timeout_s if work_s is None else None,
        budget.threads,
    )


_class = lru_cache(maxsize=None, typed=True)(RecordClass)  # many records have one of a few


def latest(records: Iterable[Record]) -> list[Record]:
    """Return the records that count: the newest of each question and class."""
    return latest_by_case(records, apart=class_of)


def by_class(
    results: Iterable[Record], apart: Collection[str]
) -> dict[tuple[str, RecordClass], list[Record]]:
    """Sort results by data type and class, the class with most results of a data type first.

    Parameters
    ----------
    apart
        Methods that are shown apart: their results are in every class with their rules.  Where no
        other method has these rules they have classes of their own.
    """
    records: dict[tuple[str, RecordClass], list[Record]] = defaultdict(list)
    guests: dict[tuple[object, ...], list[Record]] = defaultdict(list)
    for record in results:
        if record.method in apart:
            guests[record.data_type, *class_of(record).rules].append(record)
        else:
            records[record.data_type, class_of(record)].append(record)
    sizes = {key: len(ones) for key, ones in records.items()}
    for rules, records_of_rules in guests.items():
        hosts = [key for key in records if (key[0], *key[1].rules) == rules]
        for host in hosts:
            records[host] += _one_budget(records_of_rules, host[1])
        for record in records_of_rules if not hosts else ():
            records[record.data_type, class_of(record)].append(record)
    order = sorted(
        records, key=lambda key: (key[0], key[1].own, -sizes.get(key, 0), _sortable(key))
    )
    return {key: records[key] for key in order}


def _one_budget(records: Sequence[Record], wanted: RecordClass) -> list[Record]:
    """Keep one record of each question: that of the class itself, else the newest."""
    newest: dict[tuple[object, ...], Record] = {}
    for one in sorted(records, key=lambda one: (class_of(one) == wanted, one.measured.started)):
        newest[one.case] = one
    return list(newest.values())


def _sortable(key: tuple[str, RecordClass]) -> tuple[object, ...]:
    class_ = key[1]
    shorter = class_.seconds is None, class_.seconds or 0.0
    return (class_.protocol != Protocol.STRICT, *shorter, *map(str, class_))


class RecordFilter(NamedTuple):
    """The records that are asked for: of some studies, with one budget; of all where none is named.

    Attributes
    ----------
    studies
        Files, or the beginnings of SHA-256 sums.
    budget_s
        The budget, of work or of time, in seconds.
    keys
        The keys of the records; None for all.
    """

    studies: Sequence[str] = ()
    budget_s: float | None = None
    keys: Collection[str] | None = None

    def of(self, records: Sequence[Record], folder: object) -> list[Record]:
        """Return the records that are asked for.

        Raises
        ------
        UsageError
            If a study asked for none of them, or none has the budget.
        """
        chosen = [one for one in records if self.keys is None or one.key in self.keys]
        if self.keys is not None and not chosen:
            raise UsageError(
                f"None of the results asked for is in {folder}.", "Read them again: mdbench.load()"
            )
        if self.studies:
            sums = study_sums(self.studies, {one.study or "" for one in chosen}, folder)
            chosen = [one for one in chosen if one.study in sums]
        if self.budget_s is None:
            return chosen
        budgets = {class_of(one).seconds: class_of(one).budget for one in chosen}
        if chosen and self.budget_s not in budgets:
            known = ", ".join(budgets[each] for each in sorted(budgets, key=lambda x: x or 0.0))
            raise UsageError(
                f"No record in {folder} has a budget of {self.budget_s:g} s.", f"There are: {known}"
            )
        return [one for one in chosen if class_of(one).seconds == self.budget_s]


_SUM = re.compile("[0-9a-f]{6,64}")


def study_sums(studies: Iterable[str], known: Collection[str], folder: object) -> set[str]:
    """Return the SHA-256 sums of studies that records name.

    Parameters
    ----------
    studies
        Files, or the beginnings of sums, of six digits at least.
    known
        The sums of the records' studies.

    Raises
    ------
    UsageError
        If a file cannot be read, or no record, or records of several studies, fit.
    """
    sums = set()
    for study in studies:
        path = Path(study)
        if path.is_file():
            try:
                wanted = hashlib.sha256(path.read_bytes()).hexdigest()
            except OSError as error:
                raise UsageError(f"The study {study} cannot be read: {error.strerror}.") from error
            what = f"{study} (SHA-256 {wanted[:12]})"
        elif _SUM.fullmatch(study):
            wanted = what = study
        else:
            raise UsageError(
                f"--study is {study!r}: there is no such file.",
                "Give a study's file, or the first digits of its SHA-256.",
            )
        fit = [one for one in known if one and one.startswith(wanted)]
        if len(fit) != 1:
            asked = ", ".join(sorted(one[:12] for one in known if one)) or "none"
            some = "Records of several studies" if fit else "No record"
            raise UsageError(
                f"{some} in {folder} {'begin with' if fit else 'was asked for by'} {what}.",
                f"The records' studies: {asked}.  A study that was changed is another one.",
            )
        sums.update(fit)
    return sums


@dataclass(frozen=True)
class Category:
    """The comparisons of the methods on the systems of one category alone.

    Attributes
    ----------
    datasets
        The datasets that have results.
    boards
        One of each class of records.
    """

    name: str
    datasets: frozenset[str]
    boards: tuple[Leaderboard, ...]


def by_category(
    results: Sequence[Record], groups: Mapping[str, Sequence[str]]
) -> dict[str, list[Record]]:
    """Sort results of a data type by category, in the order of its groups; none where all are one.

    Parameters
    ----------
    groups
        The datasets of each group; they may overlap.  What is behind a dataset's name, such as
        ``+noise=0.01``, belongs to it.

    Examples
    --------
    >>> by_category([], {"easy": ["a"]})
    {}
    """
    smallest: dict[str, str] = {}
    for group in sorted(groups, key=lambda name: -len(groups[name])):
        smallest |= dict.fromkeys(groups[group], group)
    records: dict[str, list[Record]] = defaultdict(list)
    for record in results:
        known = smallest.get(record.dataset) or smallest.get(record.dataset.partition("+")[0])
        if known is None:
            return {}  # data of the user's own
        records[known].append(record)
    if len(records) < 2:  # noqa: PLR2004 - nothing to compare
        return {}
    return {group: records[group] for group in groups if group in records}


def heading(name: str) -> str:
    """Write a group's name as a heading.

    Examples
    --------
    >>> heading("radially-decaying-surfaces")
    'Radially decaying surfaces'
    """
    words = name.replace("-", " ")
    return words[:1].upper() + words[1:]
