"""A board: one site of all bundles of a registry, a function of their set alone."""

from __future__ import annotations

import csv
import io
import math
from collections import defaultdict
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Final, NamedTuple

from jinja2 import Environment, PackageLoader, StrictUndefined

from mdbench import __version__
from mdbench.datatypes.facts import Choice, Protocol
from mdbench.errors import counted
from mdbench.extensions.community.checks import Trust
from mdbench.records import comparable
from mdbench.reports.classes import class_of
from mdbench.runs.reproduce import RESULT

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from mdbench.extensions.community.store import Submission
    from mdbench.metrics.spec import MetricSpec
    from mdbench.records import Record

PAGE: Final = "index.html"
TABLE: Final = "records.csv"
_ORDER: Final = list(Trust)


class Division(StrEnum):
    """Under which rules a result was made, as MLPerf's divisions."""

    CLOSED = "closed"
    """A budget of work, and the benchmark's protocol and choice among candidates."""
    OPEN = "open"
    """Any other: a limit of time, the method's own choice, or a paper's protocol."""


def division_of(record: Record) -> Division:
    """Return the division of a record."""
    rules = class_of(record)
    ours = (
        rules.work_s is not None
        and rules.protocol == Protocol.STRICT
        and rules.choice == Choice.BENCHMARK
        and not rules.own
    )
    return Division.CLOSED if ours else Division.OPEN


@dataclass(frozen=True)
class BoardRecord:
    """One record of a board.

    Attributes
    ----------
    record
        With the scores of this version's scorer.
    trust, reason
        Its class, and why it is no better one.
    bundles
        The short names of the bundles that have it.
    """

    record: Record
    trust: Trust
    reason: str
    bundles: tuple[str, ...]

    @property
    def division(self) -> Division:
        """Its division."""
        return division_of(self.record)


class Conflict(NamedTuple):
    """Results of one job that differ between bundles, and which counts."""

    job: str
    bundles: tuple[str, ...]
    counts: str
    reason: str


def join(
    submissions: Iterable[Submission], metrics: Mapping[str, Sequence[MetricSpec]]
) -> tuple[list[BoardRecord], list[Conflict]]:
    """Return all results of the bundles, one of each job, and where bundles contradict each other.

    Of different results the better class counts, and in one class the worse result: nobody gains
    by another bundle.

    Parameters
    ----------
    submissions
        In any order.
    metrics
        Of each data type, the primary one first.
    """
    by_key: dict[str, list[BoardRecord]] = defaultdict(list)
    for submission in submissions:
        for verdict in submission.verdicts:
            trust, reason = submission.trust(verdict)
            placed = BoardRecord(verdict.record, trust, reason, (submission.name,))
            by_key[verdict.record.key].append(placed)
    joined, conflicts = [], []
    for _, several in sorted(by_key.items()):
        groups: dict[str, list[BoardRecord]] = defaultdict(list)
        for each in several:
            groups[_result(each.record)].append(each)
        merged = sorted(map(_merge, groups.values()), key=lambda each: _rank(each, metrics))
        joined.append(merged[0])
        if len(merged) > 1:
            conflicts.append(_conflict(merged))
    return joined, conflicts


def _result(record: Record) -> str:
    values = comparable(record)
    return repr([values[name] for name in sorted(RESULT)])


def _merge(same: Sequence[BoardRecord]) -> BoardRecord:
    """Make one of equal results of several bundles: the best class counts."""
    ordered = sorted(same, key=lambda one: (_ORDER.index(one.trust), one.bundles))
    names = tuple(sorted({name for one in same for name in one.bundles}))
    best = ordered[0]
    return BoardRecord(best.record, best.trust, best.reason, names)


def _rank(placed: BoardRecord, metrics: Mapping[str, Sequence[MetricSpec]]) -> tuple[object, ...]:
    """Return a key by which the result that counts is the first."""
    record = placed.record
    known = [spec for spec in metrics.get(record.data_type, ()) if spec.name in record.judged_by]
    value = record.metrics.get(known[0].name) if known and record.answered else None
    loss = known[0].loss(float(value)) if isinstance(value, int | float) else math.inf
    return _ORDER.index(placed.trust), -loss, _result(record), placed.bundles


def _conflict(merged: Sequence[BoardRecord]) -> Conflict:
    first, other = merged[0], merged[1]
    record = first.record
    better = first.trust is not other.trust
    return Conflict(
        f"{record.algorithm} · {record.system} · "
        f"{'clean' if record.snr_db is None else f'{record.snr_db:g} dB'} · seed {record.seed}",
        tuple(sorted({name for one in merged for name in one.bundles})),
        ", ".join(first.bundles),
        f"it is {first.trust}" if better else "the worse result",
    )


def make_site(
    submissions: Sequence[Submission],
    left_out: Sequence[str],
    metrics: Mapping[str, Sequence[MetricSpec]],
    page: Callable[[list[tuple[str, Record]], str], str],
    *,
    title: str,
) -> dict[str, str]:
    """Return the files of a board by name.

    Parameters
    ----------
    submissions, left_out
        As `mdbench.extensions.community.store.Registry.submissions` gives them.
    metrics
        Of each data type, the primary one first.
    page
        Makes a report of records, each with the name of its bundle, given its heading.
    title
        The heading of the first page.
    """
    placed, conflicts = join(submissions, metrics)
    verified = [one for one in placed if one.trust is not Trust.CLAIMED]
    files: dict[str, str] = {}
    boards = []
    for division in Division:
        own = [one for one in verified if one.division is division]
        if own:
            name = f"{division}.html"
            rows = [(one.bundles[0], one.record) for one in own]
            files[name] = page(rows, f"{title}: {division} division")
            boards.append({"name": name, "division": division, "results": len(own)})
    environment = Environment(
        loader=PackageLoader("mdbench.extensions.community"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    claimed = [one for one in placed if one.trust is Trust.CLAIMED]
    files[PAGE] = environment.get_template("board.html.j2").render(
        title=title,
        version=__version__,
        boards=boards,
        bundles=[_bundle_row(one) for one in submissions],
        methods=_method_rows(placed),
        claimed=_claimed_rows(claimed),
        summary=f"{counted(len(placed), 'result')} of {counted(len(submissions), 'bundle')}; "
        f"{len(verified)} of them are verified and ranked.",
        conflicts=conflicts,
        left_out=left_out,
        trusts=[(trust, sum(one.trust is trust for one in placed)) for trust in Trust],
    )
    files[TABLE] = _table(placed)
    return files


def _bundle_row(submission: Submission) -> dict[str, object]:
    records = [verdict.record for verdict in submission.verdicts]
    days = sorted(record.measured.started.date().isoformat() for record in records)
    machines = sorted({record.provenance.machine.cpu for record in records})
    trusts = [submission.trust(verdict)[0] for verdict in submission.verdicts]
    return {
        "name": submission.name,
        "sha256": submission.sha256,
        "title": submission.about.get("title", ""),
        "results": len(records),
        "methods": ", ".join(sorted({record.algorithm for record in records})),
        "days": days[0] if days[:1] == days[-1:] else f"{days[0]} to {days[-1]}" if days else "",
        "machines": ", ".join(filter(None, machines)) or "unknown",
        "trust": ", ".join(f"{trusts.count(trust)} {trust}" for trust in Trust if trust in trusts),
        "audits": [f"{audit.name}: {audit.words}" for audit in submission.audits],
    }


def _method_rows(placed: Sequence[BoardRecord]) -> list[dict[str, object]]:
    groups: dict[tuple[str, str, Division], list[BoardRecord]] = defaultdict(list)
    for one in placed:
        groups[one.record.data_type, one.record.method, one.division].append(one)
    return [
        {
            "data_type": data_type,
            "method": method,
            "division": division,
            "counts": [sum(one.trust is trust for one in group) for trust in Trust],
            "bundles": sorted({name for one in group for name in one.bundles}),
        }
        for (data_type, method, division), group in sorted(groups.items())
    ]


def _claimed_rows(claimed: Sequence[BoardRecord]) -> list[tuple[str, str, int, str]]:
    count: dict[tuple[str, str, str], int] = defaultdict(int)
    for one in claimed:
        count[one.record.method, ", ".join(one.bundles), one.reason] += 1
    return [
        (method, bundles, number, reason)
        for (method, bundles, reason), number in sorted(count.items())
    ]


def _table(placed: Sequence[BoardRecord]) -> str:
    text = io.StringIO()
    table = csv.writer(text, lineterminator="\n")
    names = ("key", "data_type", "method", "system", "part", "snr_db", "seed", "status")
    table.writerow([*names, "trust", "division", "bundles", "reason"])
    for one in placed:
        own = [getattr(one.record, name) for name in names]
        table.writerow([*own, one.trust, one.division, " ".join(one.bundles), one.reason])
    return text.getvalue()
