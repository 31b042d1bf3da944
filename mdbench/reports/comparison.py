"""Results compared with those of another run.

Two sets of results are paired by the question they answer.  The tests are those of the report: a
signed-rank test over systems for each method (`mdbench.reports.leaderboard`), corrected after Holm
for the number of methods.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias

from mdbench.datatypes.facts import Choice
from mdbench.errors import UsageError
from mdbench.metrics.spec import raised
from mdbench.reports import statistics
from mdbench.reports.classes import RecordClass, class_of
from mdbench.reports.entries import entry, report_order, specs_of
from mdbench.reports.leaderboard import board

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from mdbench.metrics.spec import MetricSpec
    from mdbench.records import Record
    from mdbench.reports.entries import Entry
    from mdbench.reports.statistics import Wilcoxon

Way: TypeAlias = Literal["better", "worse", "same", "other"]
"""The way in which a result differs: by its primary score, or in something without an order."""
_LEVEL = 0.05


@dataclass(frozen=True)
class Change:
    """One question, with two answers that differ.

    Attributes
    ----------
    way
        By status and primary score: an answer is better than none.
    flags
        Flags with a mark that hold for one of the two only: whether that is the later one.
    made_with
        What differs of what the two were made with: parts of the key, ``machine``, ``kernel``.
    """

    before: Record
    after: Record
    way: Way
    flags: Mapping[str, bool]
    made_with: tuple[str, ...]


@dataclass(frozen=True)
class MethodChange:
    """The change of one method on one data type, in one class of records.

    Attributes
    ----------
    conditions
        The class in words; without the budget where budgets are compared.
    pairs, better, worse, same
        Questions that both have, and how their primary scores differ.
    gained, lost
        How many more, and fewer, answers have each flag with a mark.
    failures
        Jobs without an answer, before and after.
    test
        Over systems; a negative effect is in favour of the earlier results.  None without pairs.
    corrected
        Its p-value for all methods together.
    """

    data_type: str
    conditions: str
    method: str
    pairs: int
    better: int
    worse: int
    same: int
    gained: Mapping[str, int]
    lost: Mapping[str, int]
    failures: tuple[int, int]
    test: Wilcoxon | None
    corrected: float

    @property
    def verdict(self) -> str:
        """The difference beyond chance, in words."""
        if self.pairs == self.same:
            return "the same"
        if self.test is None or self.corrected >= _LEVEL or self.test.effect == 0:
            return "not significant"
        return "worse" if self.test.effect < 0 else "better"


@dataclass(frozen=True)
class Changes:
    """All that differs between two sets of results.

    Attributes
    ----------
    methods
        By data type and name.
    each
        Single questions whose answers differ, in the order of reports.
    only_before, only_after
        Questions that one has alone, by data type and method.
    made_with
        In how many pairs each of what they were made with differs.
    specs
        The metrics of each data type, the primary one first.
    """

    methods: tuple[MethodChange, ...]
    each: tuple[Change, ...]
    only_before: Mapping[tuple[str, str], int]
    only_after: Mapping[tuple[str, str], int]
    made_with: Mapping[str, int]
    specs: Mapping[str, Sequence[MetricSpec]]


def changes(
    before: Iterable[Record],
    after: Iterable[Record],
    known: Mapping[str, Sequence[MetricSpec]],
    *,
    across: bool = False,
    across_budgets: bool = False,
) -> Changes:
    """Compare results with later ones.

    Parameters
    ----------
    before, after
        The records that count, of all data types.
    known
        The metrics of each data type; those of another one are made of what its records hold.
    across
        Whether options of the data type make no other question of a dataset.
    across_budgets
        Whether results with unlike budgets are compared, too.

    Raises
    ------
    UsageError
        If, across options or budgets, one side has several results for one question.
    """
    old, new = (
        _by_question(side, across=across, across_budgets=across_budgets) for side in (before, after)
    )
    specs = specs_of([*old.values(), *new.values()], known)
    shared = [question for question in old if question in new]
    method_changes, result_changes = [], []
    groups: dict[tuple[str, str, str], list[_Question]] = defaultdict(list)
    made_with: Counter[str] = Counter()
    for question in shared:
        one, class_ = old[question], question.record_class
        words = class_.words[1:] if across_budgets else class_.words
        groups[one.data_type, ", ".join(words), one.method].append(question)
    for (data_type, conditions, method), questions in sorted(groups.items()):
        pairs = [(old[question], new[question]) for question in questions]
        compared = [_compared(*pair, specs[data_type]) for pair in pairs]
        made_with.update(name for one in compared for name in one.made_with)
        result_changes += [one for one in compared if one.way != "same" or one.flags]
        made = _of_method(data_type, method, compared, specs[data_type])
        method_changes.append(replace(made, conditions=conditions))
    corrected = statistics.holm([one.test.p for one in method_changes if one.test])
    ordered = iter(corrected)
    methods = tuple(
        replace(one, corrected=next(ordered)) if one.test else one for one in method_changes
    )
    return Changes(
        methods,
        tuple(result_changes),
        Counter((old[q].data_type, old[q].method) for q in old if q not in new),
        Counter((new[q].data_type, new[q].method) for q in new if q not in old),
        made_with,
        specs,
    )


class _Question(NamedTuple):
    case: tuple[object, ...]
    record_class: RecordClass


def _by_question(
    results: Iterable[Record], *, across: bool, across_budgets: bool
) -> dict[_Question, Record]:
    records: dict[_Question, Record] = {}
    for record in sorted(results, key=report_order):
        case, class_ = record.case, class_of(record)
        if across:
            case = tuple(record.dataset if part == record.system else part for part in case)
            class_ = class_._replace(variant="", derivatives="", choice="")
        if across_budgets:
            class_ = class_._replace(work_s=None, timeout_s=None, threads=1)
        question = _Question(case, class_)
        other = records.get(question)
        if other is not None and across and _system_label(other) != _system_label(record):
            raise UsageError(
                f"One side has {record.method} on both {_system_label(other)} and "
                f"{_system_label(record)}, which --across-options takes for the same job.",
                "Name results files that have one of them, or leave out --across-options.",
            )
        if other is not None and across_budgets:
            raise UsageError(
                f"One side has {record.method} on {record.system} with {class_of(other).budget} "
                f"and with {class_of(record).budget}, which --across-budgets takes for the same "
                "job.",
                "Name results files that have one of them, or leave out --across-budgets.",
            )
        records[question] = record
    return records


def _system_label(record: Record) -> str:
    """Name the system, and who chose where that was the method."""
    choice = class_of(record).choice
    return record.system if choice == Choice.BENCHMARK else f"{record.system} (choice {choice})"


def _compared(before: Record, after: Record, specs: Sequence[MetricSpec]) -> Change:
    old_entry, new_entry = entry(before, specs), entry(after, specs)
    flags = {
        spec.name: new_entry.values.get(spec.name) == 1
        for spec in specs
        if spec.mark
        and (old_entry.values.get(spec.name) == 1) != (new_entry.values.get(spec.name) == 1)
    }
    made = _made_with(before), _made_with(after)
    names = sorted(made[0].keys() | made[1].keys())
    differ = tuple(name for name in names if made[0].get(name) != made[1].get(name))
    return Change(before, after, _way(old_entry, new_entry, specs[0]), flags, differ)


def _made_with(record: Record) -> dict[str, str | None]:
    """Return what a record was made with: the parts of its key, its machine and its kernel."""
    cpu = record.provenance.machine.cpu
    return record.key_parts | {"machine": cpu, "kernel": record.measured.blas_kernel}


def _way(before: Entry, after: Entry, primary: MetricSpec) -> Way:
    if not (before.attempted and after.attempted):
        return "same" if before.status is after.status else "other"
    if before.answered != after.answered:
        return "better" if after.answered else "worse"
    if not after.answered:
        return "same" if before.status is after.status else "other"
    values = before.values.get(primary.name), after.values.get(primary.name)
    old, new = values
    if not isinstance(old, int | float) or not isinstance(new, int | float):
        return "same" if old == new else "other"
    # Below what the truth itself scores there is neither better nor worse.
    losses = [
        primary.loss(raised(value, one.floor, primary))
        for value, one in ((old, before), (new, after))
    ]
    if losses[0] == losses[1]:
        return "same"
    return "better" if losses[1] < losses[0] else "worse"


def _of_method(
    data_type: str, method: str, compared: Sequence[Change], specs: Sequence[MetricSpec]
) -> MethodChange:
    ways = Counter(one.way for one in compared)
    flags = [(name, now) for one in compared for name, now in one.flags.items()]
    # The case of the one before is used for both: across options they may have other names.
    entries = [
        entry(result, specs)._replace(method=side, case=entry(one.before, specs).case)
        for one in compared
        for side, result in (("before", one.before), ("after", one.after))
    ]
    tested = board(entries, {}, specs).pairs
    attempted = [one for one in compared if one.before.attempted and one.after.attempted]
    return MethodChange(
        data_type=data_type,
        conditions="",
        method=method,
        pairs=len(compared),
        better=ways["better"],
        worse=ways["worse"],
        same=ways["same"],
        gained=Counter(name for name, now in flags if now),
        lost=Counter(name for name, now in flags if not now),
        failures=(
            sum(not one.before.answered for one in attempted),
            sum(not one.after.answered for one in attempted),
        ),
        test=tested[0].test if tested else None,
        corrected=1.0,
    )
