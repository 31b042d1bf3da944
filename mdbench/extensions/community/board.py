"""A board: one site of all bundles of a registry, a function of its files alone.

A row of a board is of one bundle: nobody's results are mixed with those of somebody else, so that
no bundle can lift or lower the row of another.  What audits have found is of jobs, and so counts in
every row that has the job.
"""

from __future__ import annotations

import csv
import io
import math
from collections import defaultdict
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TYPE_CHECKING, Final, NamedTuple

from jinja2 import Environment, PackageLoader, StrictUndefined, Template

from mdbench import __version__
from mdbench.datatypes.facts import Choice, Protocol
from mdbench.errors import counted
from mdbench.extensions.community.audits import ENOUGH
from mdbench.extensions.community.checks import Trust
from mdbench.extensions.community.editions import TABLE
from mdbench.extensions.community.evidence import Evidence, count_by_trust, share_run_again
from mdbench.records import comparable
from mdbench.reports.classes import class_of
from mdbench.reports.combine import quoted
from mdbench.runs.reproduce import RESULT
from mdbench.runs.spec import backstop_s

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from mdbench.extensions.community.checks import Folders
    from mdbench.extensions.community.evidence import JudgedRecord
    from mdbench.extensions.community.store import Content, Submission
    from mdbench.metrics.spec import MetricSpec
    from mdbench.records import Record

PAGE: Final = "index.html"
_ORDER: Final = list(Trust)
_MOST_CONFLICTS: Final = 200
"""Conflicts that the page shows."""


class Division(StrEnum):
    """Under which rules a result was made, as MLPerf's divisions."""

    CLOSED = "closed"
    """A budget of work that no limit of time cuts, and the benchmark's protocol and choice."""
    OPEN = "open"
    """Any other: a limit of time, the method's own choice, or a paper's protocol."""


def division_of(record: Record) -> Division:
    """Return the division of a record."""
    rules, limit = class_of(record), record.budget.timeout_s
    ours = (
        rules.work_s is not None
        and (limit is None or limit >= backstop_s(rules.work_s))
        and rules.protocol == Protocol.STRICT
        and rules.choice == Choice.BENCHMARK
        and not rules.own
    )
    return Division.CLOSED if ours else Division.OPEN


@dataclass(frozen=True)
class BoardRow:
    """The results of one method in one bundle, one of each question.

    Attributes
    ----------
    records
        By question and rules.
    bundles
        The short names of the bundles that have exactly these.
    remark
        Which refuted jobs it lacks of bundles whose other results it has; empty where there are
        none.
    """

    records: Mapping[object, JudgedRecord]
    bundles: tuple[str, ...]
    remark: str = ""

    @property
    def name(self) -> str:
        """The bundle as the name of a version: the first, and how many more there are."""
        return "+".join([self.bundles[0], *[str(len(self.bundles) - 1)] * (len(self.bundles) > 1)])

    @property
    def content(self) -> object:
        """Its results, and how far they are trusted: equal for equal rows."""
        return frozenset(
            (question, _result(judged), judged.trust) for question, judged in self.records.items()
        )


def rows_of(
    evidence: Evidence,
    submissions: Iterable[Submission],
    folders: Folders,
    metrics: Mapping[str, Sequence[MetricSpec]],
    wanted: Callable[[Record], bool] | None = None,
) -> list[BoardRow]:
    """Return the rows of a board, those of one method next to each other.

    Parameters
    ----------
    submissions
        In any order.
    folders
        The methods' folders that are here: methods are named by them.
    metrics
        Of each data type, the primary one first.
    wanted
        Whether the board is of a record's job; None for all.  Others are no reason for a remark.
    """
    rows: dict[tuple[str, str], list[BoardRow]] = defaultdict(list)
    for submission in submissions:
        own: dict[tuple[str, str], dict[object, list[JudgedRecord]]] = {}
        for judged in evidence.judge(submission):
            named = replace(judged, record=folders.named(judged.record))
            record = named.record
            questions = own.setdefault((record.data_type, record.method), {})
            questions.setdefault((record.case, class_of(record)), []).append(named)
        for method, questions in own.items():
            # Of several results of one question in a bundle, that which is trusted least counts.
            chosen = {
                question: max(several, key=lambda judged: _rank(judged, metrics))
                for question, several in questions.items()
            }
            rows[method].append(BoardRow(chosen, (submission.name,)))
    methods = [_distinct(several) for _, several in sorted(rows.items())]
    return [
        replace(row, remark=_remark(row, several, wanted)) for several in methods for row in several
    ]


def _distinct(rows: Sequence[BoardRow]) -> list[BoardRow]:
    """Make one row of rows that are equal."""
    groups: dict[object, list[BoardRow]] = defaultdict(list)
    for row in rows:
        groups[row.content].append(row)
    merged = [
        replace(same[0], bundles=tuple(sorted(row.bundles[0] for row in same)))
        for same in groups.values()
    ]
    return sorted(merged, key=lambda row: row.bundles)


def _remark(
    row: BoardRow, rows: Sequence[BoardRow], wanted: Callable[[Record], bool] | None
) -> str:
    """Return which refuted jobs a row lacks of rows of its method whose other results it has.

    Who leaves them out of an archive is seen so.  A row whose own jobs were run again needs no
    such remark.
    """
    unverified = {q: one for q, one in row.records.items() if one.trust is not Trust.RERUN}
    if len(row.records) - len(unverified) >= min(ENOUGH, len(row.records)):
        return ""
    remarks = []
    for other in rows:
        refuted = sum(
            q not in row.records and (wanted is None or wanted(one.record))
            for q, one in other.records.items()
            if one.refuted
        )
        same = refuted and sum(
            q in other.records and _result(one) == _result(other.records[q])
            for q, one in unverified.items()
        )
        if same:
            remarks.append(
                f"without {counted(refuted, 'refuted job')} of {other.name}, with which it has "
                f"{counted(same, 'equal result')}"
            )
    return "; ".join(remarks)


def _result(judged: JudgedRecord) -> str:
    values = comparable(judged.record)
    return repr([values[name] for name in sorted(RESULT)])


def _rank(judged: JudgedRecord, metrics: Mapping[str, Sequence[MetricSpec]]) -> tuple[object, ...]:
    """Return a key by which the result that is trusted least, and of these the worst, is last."""
    record = judged.record
    known = [spec for spec in metrics.get(record.data_type, ()) if spec.name in record.judged_by]
    value = record.metrics.get(known[0].name) if known and record.answered else None
    loss = known[0].loss(float(value)) if isinstance(value, int | float) else math.inf
    return _ORDER.index(judged.trust), loss, _result(judged), record.key


class Conflict(NamedTuple):
    """Results of one job that differ between rows of one method: of each row, in words."""

    job: str
    results: tuple[str, ...]


def conflicts_of(rows: Iterable[BoardRow]) -> list[Conflict]:
    """Return the jobs of which rows of one method have different results."""
    by_question: dict[object, list[tuple[str, JudgedRecord]]] = defaultdict(list)
    for row in rows:
        for question, judged in row.records.items():
            by_question[question].append((row.name, judged))
    return sorted(
        Conflict(
            name_of(several[0][1].record),
            tuple(sorted(f"{name}: {_in_words(judged)}" for name, judged in several)),
        )
        for several in by_question.values()
        if len({_result(judged) for _, judged in several}) > 1
    )


def _in_words(judged: JudgedRecord) -> str:
    record = judged.record
    name, score = next(iter(record.metrics.items()), ("", None))
    text = f"{name} {score:.3g}" if isinstance(score, float) else ""
    return ", ".join(filter(None, [record.status.word, text, str(judged.trust), judged.reason]))


def name_of(record: Record) -> str:
    """Return a name of a record's job to read."""
    noise = "clean" if record.snr_db is None else f"{record.snr_db:g} dB"
    return f"{record.algorithm} · {record.system} · {noise} · seed {record.seed}"


def make_site(
    content: Content,
    folders: Folders,
    metrics: Mapping[str, Sequence[MetricSpec]],
    page: Callable[[Sequence[Record], str], str],
    *,
    title: str,
    wanted: Callable[[Record], bool] | None = None,
    warnings: Sequence[str] = (),
) -> dict[str, str]:
    """Return the files of a board by name.

    Parameters
    ----------
    content
        What the registry has.
    folders
        The methods' folders that are here.
    metrics
        Of each data type, the primary one first.
    page
        Makes a report of records, given its heading; the bundles' names are their versions.
    title
        The heading of the first page.
    wanted
        Whether the board is of a record's job; None for all.
    warnings
        What is to be known before all else.
    """
    evidence = Evidence(content)
    rows = rows_of(evidence, content.submissions, folders, metrics, wanted)
    pairs = [(row, judged) for row in rows for judged in row.records.values()]
    ranked = [
        (row, judged)
        for row, judged in pairs
        if judged.trust is not Trust.CLAIMED and (wanted is None or wanted(judged.record))
    ]
    conflicts = conflicts_of(rows)
    files: dict[str, str] = {}
    boards = []
    for division in Division:
        own = [
            judged.record.as_version(row.name)
            for row, judged in ranked
            if division_of(judged.record) is division
        ]
        if own:
            name = f"{division}.html"
            files[name] = page(own, f"{title}: {division} division")
            boards.append({"name": name, "division": division, "results": len(own)})
    files[PAGE] = _template().render(
        title=title,
        version=__version__,
        boards=boards,
        bundles=[_bundle_row(one, evidence) for one in content.submissions],
        audits=_audit_rows(content),
        methods=_method_rows(rows),
        claimed=_claimed_rows(pairs),
        summary=f"{counted(len(pairs), 'result')} of {counted(len(content.submissions), 'bundle')};"
        f" {len(ranked)} of them are ranked.",
        warnings=warnings,
        conflicts=conflicts[:_MOST_CONFLICTS],
        more_conflicts=len(conflicts[_MOST_CONFLICTS:]),
        left_out=content.left_out,
        trusts=list(Trust),
    )
    files[TABLE] = _table(pairs, metrics)
    return files


def _template() -> Template:
    environment = Environment(
        loader=PackageLoader("mdbench.extensions.community"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return environment.get_template("board.html.j2")


def _bundle_row(submission: Submission, evidence: Evidence) -> dict[str, object]:
    records = [verdict.record for verdict in submission.verdicts]
    days = sorted(record.measured.started.date().isoformat() for record in records)
    machines = sorted({record.provenance.machine.cpu for record in records})
    classes = count_by_trust(evidence.judge(submission))
    return {
        "name": submission.name,
        "sha256": submission.sha256,
        "title": submission.about.get("title", ""),
        "results": len(records),
        "methods": ", ".join(sorted({record.algorithm for record in records})),
        "days": days[0] if days[:1] == days[-1:] else f"{days[0]} to {days[-1]}" if days else "",
        "machines": ", ".join(filter(None, machines)) or "unknown",
        "trust": ", ".join(f"{number} {trust}" for trust, number in classes.items()),
    }


def _audit_rows(content: Content) -> list[tuple[str, str, int, str]]:
    return [
        (checked.name, checked.audited.name, len(checked.audit.jobs), checked.signer)
        for checked in content.audits
    ]


def _method_rows(rows: Sequence[BoardRow]) -> list[dict[str, object]]:
    groups: dict[tuple[str, str, Division, tuple[str, ...], str], list[JudgedRecord]]
    groups = defaultdict(list)
    for row in rows:
        for judged in row.records.values():
            record = judged.record
            kind = record.data_type, record.method, division_of(record)
            groups[*kind, row.bundles, row.remark].append(judged)
    return [
        {
            "data_type": data_type,
            "method": method,
            "division": division,
            "counts": [count_by_trust(group).get(trust, 0) for trust in Trust],
            "run_again": share_run_again(group),
            "remark": remark,
            "bundles": bundles,
        }
        for (data_type, method, division, bundles, remark), group in sorted(groups.items())
    ]


def _claimed_rows(
    pairs: Iterable[tuple[BoardRow, JudgedRecord]],
) -> list[tuple[str, str, int, str]]:
    count: dict[tuple[str, str, str], int] = defaultdict(int)
    for row, judged in pairs:
        if judged.trust is Trust.CLAIMED:
            count[judged.record.method, ", ".join(row.bundles), judged.reason] += 1
    return [
        (method, bundles, number, reason)
        for (method, bundles, reason), number in sorted(count.items())
    ]


def _table(
    pairs: Iterable[tuple[BoardRow, JudgedRecord]], metrics: Mapping[str, Sequence[MetricSpec]]
) -> str:
    text = io.StringIO()
    table = csv.writer(text, lineterminator="\n")
    names = ("key", "data_type", "method", "system", "part", "snr_db", "seed", "status")
    more = ("score", "data", "wall_s", "claimed_wall_s", "trust", "division", "bundles", "reason")
    table.writerow([*names, *more])
    for row, judged in pairs:
        record = judged.record
        own = [getattr(record, name) for name in names]
        primary = next(iter(metrics.get(record.data_type, ())), None)
        score = record.metrics.get(primary.name) if primary else None
        measured = score, record.key_parts.get("dataset"), record.measured.wall_s
        last = judged.trust, division_of(record), " ".join(row.bundles), judged.reason
        table.writerow(map(quoted, [*own, *measured, judged.claimed_wall_s, *last]))
    return text.getvalue()
