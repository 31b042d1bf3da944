"""What contradicts itself in a record, and results of one job that contradict each other.

Scores follow from a record's answer and the data.  What it states of its budget, its key and its
measurements must at least fit together.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from functools import cache
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from mdbench import datatypes, methods
from mdbench.errors import MdbenchError, UsageError, counted
from mdbench.records import ANSWERED, Status, being_written, key_of, results_files
from mdbench.records.files import torn_bytes
from mdbench.reports.bundle import is_bundle
from mdbench.runs.reproduce import Agreement, compare_records
from mdbench.runs.spec import JobSpec, backstop_s

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

    from mdbench.metrics.spec import MetricSpec
    from mdbench.records import FrontEntry, Record
    from mdbench.workspace import Workspace

_OVER_TIME: Final = 1.5
"""Part of its time limit after which a job has ended, whatever it did; a machine may be busy."""
_OVER_WORK: Final = 1.1
_SLACK_S: Final = 120.0
"""Seconds that stopping a job, or waiting for a sandbox, may take."""
_SLACK_WORK_S: Final = 5.0
_OVER_MEMORY: Final = 1.25
_WORK: Final = 0.05
"""Relative difference of what was measured twice, and seconds."""
_SCORE: Final = 2.0
"""Factor between the last score of the curve and the answer's: other versions of a scorer."""
_EXACT: Final = 1e-12
"""Scores below this are rounding errors."""
_FASTEST: Final = 100.0
"""Times the reference core: no core is as fast."""
_FIRST: Final = datetime(2024, 1, 1, tzinfo=UTC)
"""No record is older than the project."""


def contradictions(record: Record, *, now: datetime | None = None) -> list[str]:
    """Return what does not fit together in a record, without its data; empty if all does.

    Parameters
    ----------
    now
        The time at which it is read.
    """
    return [
        *_faults_of_key(record),
        *_faults_of_answer(record),
        *_faults_of_scores_alone(record),
        *_faults_of_measured(record, now or datetime.now(UTC)),
        *_faults_of_front(record.front or ()),
    ]


def _faults_of_key(record: Record) -> Iterator[str]:
    parts = record.key_parts
    if record.key != key_of(parts):
        yield "its key is not that of its key_parts"
    try:
        job = JobSpec.of(record)
        asked = {**job.key_parts(), "view": record.view}
    except (MdbenchError, ValueError, TypeError) as error:
        yield f"its job cannot be read: {error}"
        return
    for name, value in asked.items():
        if parts.get(name, value) != value:
            yield f"{name} is {value!r} in the record and {parts[name]!r} in its key_parts"
    for name, where, known in (
        ("environment", "provenance.lock_sha256", record.provenance.lock_sha256),
        ("scorer", "provenance.scorer", record.provenance.scorer),
        ("target_source", "target_source", record.target_source),
    ):
        if known is not None and parts.get(name, known) != known:
            yield f"{where} is {known!r} and {name} in its key_parts {parts[name]!r}"
    if datatypes.is_known(record.data_type):
        options = datatypes.facts_of(record.data_type).options
        for name, is_, wanted in (
            ("system", record.system, job.system(options)),
            ("part", record.part, job.part(options)),
        ):
            if is_ != wanted:
                yield f"{name} is {is_!r}, and its options give {wanted!r}"


def _faults_of_answer(record: Record) -> Iterator[str]:
    answered = record.status in ANSWERED
    if not answered:
        for name in ("equations", "metrics", "selection", "front"):
            if getattr(record, name):
                yield f"it has {name}, and its status is {record.status}"
        if not record.reason and record.status is not Status.TIMEOUT:
            yield f"its status is {record.status}, without a reason"
        return
    if not record.metrics:
        yield f"its status is {record.status}, and it has no scores"
    if unknown := sorted(set(record.metrics) - set(record.judged_by)):
        yield f"it has a score {unknown[0]!r} that is not in judged_by"
    if record.truth is not None and len(record.truth) != len(record.targets):
        yield f"{len(record.truth)} true equations for {len(record.targets)} targets"
    chosen = record.selection
    if chosen is not None and not 0 <= chosen.invalid <= chosen.candidates:
        yield f"selection: {chosen.invalid} of {chosen.candidates} candidates are invalid"


def _faults_of_scores_alone(record: Record) -> Iterator[str]:
    for spec in _metrics(record.data_type):
        if why := spec.why_impossible(record.metrics.get(spec.name)):
            yield f"metrics.{spec.name} is {record.metrics[spec.name]!r}, and {why}"


@cache
def _metrics(data_type: str) -> tuple[MetricSpec, ...]:
    names = [data_type] if datatypes.is_known(data_type) else []
    return tuple(spec for kind in datatypes.classes(names) for spec in kind.metrics)


def _faults_of_measured(record: Record, now: datetime) -> Iterator[str]:  # noqa: C901 - a list
    measured = record.measured
    if not _FIRST <= measured.started <= now + timedelta(days=1):
        yield f"measured.started is {measured.started:%Y-%m-%d}"
    if measured.wall_s is None and record.attempted:
        yield "measured.wall_s is missing"
    for name, most in _most(record).items():
        value = getattr(measured, name)
        if value is not None and not 0.0 <= value <= most:
            possible = "it is not negative" if value < 0 else f"at most {most:g} is possible"
            yield f"measured.{name} is {value:g}, and {possible}"
    for name in ("speed", "speed_before", "speed_after"):
        value = getattr(measured, name)
        if value is not None and not 0.0 < value < _FASTEST:
            yield f"measured.{name} is {value:g} times the reference core"
    if not (measured.work_s is None or measured.cpu_s is None or measured.speed is None):
        work = measured.cpu_s * measured.speed
        if not math.isclose(measured.work_s, work, rel_tol=_WORK, abs_tol=_SLACK_WORK_S):
            yield f"measured.work_s is {measured.work_s:g}, and cpu_s times speed {work:g}"
    yield from _faults_of_curve(record)
    if record.llm is not None:
        for name in ("calls", "prompt_tokens", "completion_tokens"):
            used, limit = getattr(record.llm, name), getattr(record.llm.budget, name)
            if used is not None and (used < 0 or used > _plus(limit, _OVER_WORK, 1.0)):
                yield f"llm.{name} is {used}, of at most {limit}"


def _faults_of_curve(record: Record) -> Iterator[str]:
    """Yield what is impossible of the scores of earlier answers."""
    curve, measured = record.measured.anytime, record.measured
    shares = [point.share for point in curve]
    if shares != sorted(shares) or any(not 0.0 <= share <= 1.0 for share in shares):
        yield "measured.anytime does not go forward from 0 to 1"
    if not curve:
        return
    if not record.answered:
        yield f"it has measured.anytime, and its status is {record.status}"
    for name, end in (("time_s", measured.wall_s), ("work_s", measured.work_s)):
        known = [value for point in curve if (value := getattr(point, name)) is not None]
        late = bool(known) and end is not None and known[-1] > end * (1 + _WORK) + _WORK
        if known != sorted(known) or late:
            yield f"measured.anytime: {name} goes back, or beyond the end of the job"
    primary = next(iter(_metrics(record.data_type)), None)
    last, score = curve[-1].score, record.metrics.get(primary.name) if primary else None
    if not (isinstance(last, float) and isinstance(score, float)):
        return
    small, large = sorted((abs(last), abs(score)))
    if large > _EXACT and large > _SCORE * small:
        yield f"measured.anytime ends with the score {last:g}, and the answer's is {score:g}"


def _most(record: Record) -> dict[str, float]:
    """Return the largest values that are possible of what was measured."""
    budget, wall = record.budget, record.measured.wall_s
    limit = budget.timeout_s
    if limit is None and budget.work_s is not None:
        limit = backstop_s(budget.work_s)
    within = math.inf if wall is None else wall + 1.0
    cores = max(1, record.provenance.machine.cores)
    return {
        "wall_s": _plus(limit, _OVER_TIME, _SLACK_S),
        "fit_s": within,
        "predict_s": within,
        "cpu_s": (within + _SLACK_S) * cores,
        "work_s": _plus(budget.work_s, _OVER_WORK, _SLACK_WORK_S),
        "peak_memory_mb": _plus(budget.memory_mb, _OVER_MEMORY, 64.0),
        "energy_j": math.inf,
    }


def _plus(limit: float | None, times: float, more: float) -> float:
    return math.inf if limit is None else times * limit + more


def _faults_of_front(front: Sequence[FrontEntry]) -> Iterator[str]:
    for target in dict.fromkeys(entry.target for entry in front):
        of_target = [entry for entry in front if entry.target == target]
        pairs = [(entry.complexity, entry.loss) for entry in of_target]
        known = [(c, loss) for c, loss in pairs if c is not None and loss is not None]
        if any(b[0] <= a[0] or b[1] >= a[1] for a, b in pairwise(known)):
            yield "front: a larger candidate is no better than a smaller one"


_MOST_NAMED = 3
"""Jobs that a line names; more are counted."""


class Conflict(NamedTuple):
    """One job with different results in several files.

    Attributes
    ----------
    record
        The newest of them, which counts.
    files
        The files.
    decides
        Whether it is a failed reproduction: a method whose answers do not differ from run to run
        was not ended by a limit.
    """

    record: Record
    files: tuple[Path, ...]
    decides: bool

    @property
    def name(self) -> str:
        """The job and the files, to read."""
        record = self.record
        noise = "clean" if record.snr_db is None else f"{record.snr_db:g} dB"
        where = ", ".join(map(str, self.files))
        return f"{record.algorithm} · {record.dataset} · {noise} · seed {record.seed} ({where})"

    def as_json(self) -> dict[str, Any]:
        """Return the job's key and name, the files, and whether it is a failed reproduction."""
        return {
            "key": self.record.key,
            "job": self.name,
            "files": [*map(str, self.files)],
            "failed_reproduction": self.decides,
        }


def conflicts_of_jobs(
    rows: Iterable[tuple[Path, Record]], workspace: Workspace | None
) -> list[Conflict]:
    """Return the jobs that have another result in another file, but for rounding.

    Parameters
    ----------
    rows
        Records with their files.
    workspace
        Where the methods are; None where there is none: then a method's answers are taken to be
        the same from run to run.
    """
    by_job: dict[tuple[str, str], list[tuple[Path, Record]]] = defaultdict(list)
    for path, record in rows:
        by_job[record.identity].append((path, record))
    conflicts = []
    for several in by_job.values():
        ordered = sorted(several, key=lambda row: row[1].measured.started)
        newest = ordered[-1][1]
        others = [
            record
            for _, record in ordered[:-1]
            if compare_records(record, newest, chaotic=False).sameness is Agreement.OTHER
        ]
        if others:
            ended = any(record.cut_off for record in [newest, *others])
            decides = not ended and _is_repeatable(newest, workspace)
            files = tuple(dict.fromkeys(path for path, _ in ordered))
            conflicts.append(Conflict(newest, files, decides))
    return conflicts


def _is_repeatable(record: Record, workspace: Workspace | None) -> bool:
    if record.llm is not None:
        return False
    found = methods.discover(workspace.algorithms).get(record.algorithm) if workspace else None
    return found.spec.repeatable if isinstance(found, methods.Method) else True


def conflict_lines(conflicts: Sequence[Conflict]) -> list[str]:
    """Return what there is to say of conflicts, failed reproductions first."""
    lines = []
    for decides, what in (
        (True, "a failed reproduction"),
        (False, "by a limit, or by chance that no seed holds"),
    ):
        own = [conflict for conflict in conflicts if conflict.decides is decides]
        if own:
            names = "; ".join(conflict.name for conflict in own[:_MOST_NAMED])
            more = len(own) - _MOST_NAMED
            lines.append(
                f"{counted(len(own), 'job')} with another result in another file, {what}: {names}"
                f"{f'; and {more} more' if more > 0 else ''}. The newest is shown."
            )
    return lines


def lines_on_names(rows: Iterable[tuple[Path, Record]]) -> list[str]:
    """Return which methods have records of one key: the key is of the folder of one of them."""
    names: dict[str, set[str]] = defaultdict(set)
    for _, record in rows:
        names[record.key].add(record.algorithm)
    shared = Counter(tuple(sorted(several)) for several in names.values() if len(several) > 1)
    return [
        f"{counted(number, 'job')} of {' and '.join(several)} with the same key: all but one of "
        "these names are not that of the method's folder."
        for several, number in sorted(shared.items())
    ]


def torn_lines(places: Iterable[Path]) -> list[str]:
    """Return which files end in a piece of a line, which is left out."""
    lines = []
    for folder in places:
        with suppress(OSError, UsageError):  # a folder of bundles has no results files
            if is_bundle(folder) or being_written(folder):
                continue
            sizes = {path: torn_bytes(path) for path in results_files(folder)}
            lines += [
                f"{path}: its last line is cut off ({size} bytes) and left out."
                for path, size in sizes.items()
                if size
            ]
    return lines
