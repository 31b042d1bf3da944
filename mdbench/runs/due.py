"""Which jobs of a plan are to be run, and why: their keys compared with the records there are.

Of jobs of several seeds one is enough where neither the method nor its data depend on the seed: a
method whose ``method.toml`` has ``seedable = false`` gives one answer to one set of data, and clean
data are the same for all seeds.  Of such jobs one is run.  The others take its record, under their
own seed and key, and ``measured.of_seed`` names the seed that was run (`SeedRepeats`).
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from datetime import datetime
from sys import intern
from typing import TYPE_CHECKING, Any, Final, Self

from pydantic_core import from_json

from mdbench.errors import MdbenchError, counted
from mdbench.records import RERUN_ALWAYS, RecordStore, Status, key_of
from mdbench.records.schema import check_schema
from mdbench.runs.plan import ResolvedJob, resolve_jobs
from mdbench.runs.services import services
from mdbench.runs.spec import JobSpec

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from mdbench.records import Record
    from mdbench.runs.plan import Plan
    from mdbench.runtimes.base import Runtime


@dataclass(frozen=True, slots=True)
class RecordSummary:
    """A record, as far as plans ask.

    Attributes
    ----------
    question
        That of its job, as `mdbench.runs.spec.JobSpec.question`.
    begun
        When the job began, as ISO 8601 has it.
    front, selection
        True where there is one, else None.
    ended
        Whether the service that it asked ended the job.
    timeout_s, threads
        What the job might use.
    wall_s, cpu_s, peak_memory_mb
        What it took; None where nobody measured it.
    size
        Bytes of its line.
    """

    key: str
    key_parts: Mapping[str, str]
    question: tuple[Any, ...]
    dataset: str
    dim: int | None
    status: Status
    begun: str
    front: bool | None
    selection: bool | None
    ended: bool
    timeout_s: float | None
    wall_s: float | None
    cpu_s: float | None
    peak_memory_mb: float | None
    log: str | None
    size: int

    @classmethod
    def of(cls, record: Record | dict[str, Any], size: int) -> Self:
        """Return the summary of a record (or of its line as read) whose line has so many bytes."""
        get: Callable[[Any, str], Any] = dict.__getitem__ if isinstance(record, dict) else getattr
        measured, parts = get(record, "measured"), get(record, "key_parts")
        begun = get(measured, "started")
        return cls(
            key=get(record, "key"),
            key_parts={intern(name): intern(value) for name, value in parts.items()},
            question=JobSpec.question_in(record),
            dataset=intern(get(record, "dataset")),
            dim=get(record, "dim"),
            status=Status(get(record, "status")),
            begun=begun if isinstance(begun, str) else begun.isoformat(),
            front=None if get(record, "front") is None else True,
            selection=None if get(record, "selection") is None else True,
            ended=ended_by_service(record),
            timeout_s=get(get(record, "budget"), "timeout_s"),
            wall_s=get(measured, "wall_s"),
            cpu_s=get(measured, "cpu_s"),
            peak_memory_mb=get(measured, "peak_memory_mb"),
            log=get(record, "log"),
            size=size,
        )

    @property
    def started(self) -> datetime:
        """When the job began."""
        return datetime.fromisoformat(self.begun)


def read_summaries(files: Mapping[str, Path]) -> dict[str, list[RecordSummary]]:
    """Read the newest record of each key of every file, oldest first; none where there is no file.

    A record under another method's name is passed over: a key says nothing of the name.

    Raises
    ------
    RecordsError
        As `mdbench.records.RecordStore.read`.
    """
    return {name: list(_read_file(name, file)) for name, file in files.items()}


def _read_file(name: str, path: Path) -> list[RecordSummary]:
    summaries: dict[str, RecordSummary] = {}
    try:
        with path.open("rb") as file:
            for line in file:
                if not line.isspace():
                    data = from_json(line)
                    check_schema(data)
                    if f"{data['algorithm']}-{data['data_type']}" == name:
                        one = RecordSummary.of(data, len(line))
                        summaries[one.key] = one
    except FileNotFoundError:
        return []
    except (
        *(OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError, MdbenchError),
    ):
        # A torn line, or worse: the store reports which.
        own = {one.key: one for one in RecordStore(path).read() if one.results == name}
        return [RecordSummary.of(record, len(record.to_line())) for record in own.values()]
    return list(summaries.values())


def ended_by_service(record: Record | RecordSummary | dict[str, Any]) -> bool:
    """Whether the service that it asked ended a job, which then goes on from its log."""
    if isinstance(record, RecordSummary):
        return record.ended
    return any(service.ended(record) for service in services().values())


def goes_on(record: Record | RecordSummary) -> bool:
    """Whether a job that is run again goes on from where it was: it meant nothing for its method.

    Else it begins at its start, since the user wants it.
    """
    return record.status in RERUN_ALWAYS or ended_by_service(record)


def explain(plan: Plan, runtime: Runtime) -> Iterator[tuple[JobSpec, str]]:
    """Return for each job, file by file, why it will be run; empty or `REPEATED` where it will not.

    Nothing is run; datasets are made as by `resolve_for_reasons`.

    Raises
    ------
    DataError, MethodError, RecordsError
        If data, a method's folder or the results file cannot be used.
    """
    for _, part in plan.parts():
        past = read_summaries(part.files)
        for one, reason in rerun_reasons(resolve_for_reasons(part, runtime, past), past, part):
            yield one.job, reason


def resolve_for_reasons(
    plan: Plan, runtime: Runtime, past: Mapping[str, Sequence[RecordSummary]]
) -> list[ResolvedJob]:
    """Resolve the jobs of a plan for `rerun_reasons`; only data that these need are made.

    These are the user's own, which may have errors; those of methods that have records, with
    whose keys they are compared; and those of jobs of several seeds of which one may be enough.
    That is no job whose noise or data are drawn by the seed.
    """
    jobs = resolve_jobs(
        plan,
        runtime,
        with_data=lambda job: job.dataset_path is not None or bool(past[job.results]),
    )
    questions = [_question_without_data(one) for one in jobs]
    counts = Counter(questions)
    resolved = [
        one.with_dataset(plan.catalog.info(one.job)) if question and counts[question] > 1 else one
        for one, question in zip(jobs, questions, strict=True)
    ]
    plan.catalog.save()
    return resolved


def _question_without_data(job: ResolvedJob) -> str | None:
    drawn = job.job.snr_db is not None or job.data_type.draws_data
    return None if drawn or "dataset" in job.parts else _question(job)


def rerun_reasons(
    ready: Iterable[ResolvedJob], past: Mapping[str, Sequence[RecordSummary]], plan: Plan
) -> Iterator[tuple[ResolvedJob, str]]:
    """Return for each job why it will be run; an empty text or `REPEATED` where it will not be.

    Parameters
    ----------
    past
        The newest record of each key of every results file, by the names of `Plan.files`.
    """
    by_key = {name: {record.key: record for record in each} for name, each in past.items()}
    nearest: dict[str, dict[object, RecordSummary]] = {}
    asked = [(one, rerun_reason(one, by_key[one.job.results], plan)) for one in ready]
    repeats = SeedRepeats.among([one for one, reason in asked if reason], by_key, plan.rerun)
    repeated = {one.key for one in repeats.left()}
    for job, why in asked:
        name, reason = job.job.results, why
        if job.key in repeated:
            reason = REPEATED
        elif reason == _NO_RECORD:
            if name not in nearest:
                nearest[name] = _newest(past[name])
            near = nearest[name].get(job.job.question)
            if near is not None:
                reason = f"{_differences(job, near)}{SINCE}{near.started:%Y-%m-%d %H:%M} UTC"
        yield job, reason


REPEATED: Final = (
    "it takes the record of another seed, since neither its method nor its data depend on the seed"
)
"""Why a job that has no record is not run either; see `SeedRepeats`."""
SINCE: Final = " since its record of "
"""The text between a reason and the time of the record that it is about."""
_NO_RECORD = "it has no record"


def rerun_reason(
    job: ResolvedJob, records: Mapping[str, Record] | Mapping[str, RecordSummary], plan: Plan
) -> str:
    """Return why a job is to be run, given the newest record of each key; empty where it is not."""
    record = records.get(job.key)
    if record is None:
        return _NO_RECORD
    if record.key_parts != job.parts:
        return "its record was edited: its key_parts are not those of its key"
    if record.status in RERUN_ALWAYS or ended_by_service(record):
        return _why_always(record)
    if record.status in plan.rerun:
        return f"it ended as {record.status}, which --rerun asks for"
    if job.job.save_pareto and record.front is None and record.selection is not None:
        return "its record was made without --save-pareto"
    return ""


def _why_always(record: Record | RecordSummary) -> str:
    if record.status in RERUN_ALWAYS:
        return f"it ended as {record.status}, which is always run again"
    return "the service that it asks ended it, and it goes on from its log"


def _newest(records: Iterable[RecordSummary]) -> dict[object, RecordSummary]:
    """Return the newest record of each question."""
    newest: dict[object, RecordSummary] = {}
    for record in records:
        other = newest.get(record.question)
        if record.status is not Status.INTERRUPTED and (
            other is None or record.started >= other.started
        ):
            newest[record.question] = record
    return newest


def _scorer(version: str) -> str:
    return "an older scorer" if version == "-" else f"scorer version {version[:12]}"


def _differences(job: ResolvedJob, record: RecordSummary) -> str:
    names = sorted(job.parts.keys() | record.key_parts.keys())
    changes = []
    for name in names:
        before, now = record.key_parts.get(name, "-"), job.parts.get(name, "-")
        if before != now and name == "scorer":
            changes.append(f"scored by {_scorer(before)}; now it is {now}")
        elif before != now:
            changes.append(f"{name} changed ({before[:12]} -> {now[:12]})")
    return ", ".join(changes)


_TAKEN: Final = {Status.OK, Status.UNSUPPORTED, Status.INVALID_OUTPUT}
"""Ends that have nothing to do with the machine; after any other a job of each seed is run."""
_SEED: Final = "seed"


def question_of(job: ResolvedJob) -> str | None:
    """Return what is equal for jobs that differ in nothing but a seed that changes nothing.

    Returns
    -------
    str or None
        A hash of the parts of the key but the seed, with the data's own among them; None where
        the seed may change the answer, as that of a method that draws numbers does, and where
        the data were not looked at.
    """
    return _question(job) if "dataset" in job.parts else None


def _question(job: ResolvedJob) -> str | None:
    spec = job.method.spec
    if spec.seedable is not False or not spec.repeatable or spec.service:
        return None
    own = [option.key for option in job.data_type.options if option.method_key == "max_rows"]
    given = any(key in job.job.options for key in own)
    draws_rows = given if own else spec.most_rows(job.job.data_type) is not None
    return None if draws_rows else _without_seed(job.parts)


def _without_seed(parts: Mapping[str, str]) -> str:
    return key_of({name: value for name, value in parts.items() if name != _SEED})


@dataclass
class SeedRepeats:
    """Jobs that are due, divided.

    Attributes
    ----------
    to_run
        The jobs that are run.
    waiting
        Those that take the record of another job, by its key: of one in `to_run`, or of a record
        that is there already.
    """

    to_run: list[ResolvedJob] = field(default_factory=list)
    waiting: dict[str, list[ResolvedJob]] = field(default_factory=dict)

    @classmethod
    def among(
        cls,
        due: Sequence[ResolvedJob],
        past: Mapping[str, Mapping[str, RecordSummary]],
        rerun: Iterable[Status] = (),
    ) -> SeedRepeats:
        """Divide jobs.

        Parameters
        ----------
        due
            In the order in which they are run.
        past
            By the names of results files, the newest record of each key.
        rerun
            Records of these ends are not taken.
        """
        questions = {one.key: question for one in due if (question := question_of(one))}
        names = {one.job.results for one in due if one.key in questions}
        known: dict[tuple[str, str], tuple[str, RecordSummary | None]] = {}
        taken = _TAKEN - {*rerun}
        for name in names:
            for key, there in past.get(name, {}).items():
                if key not in questions and there.status in taken:
                    known.setdefault((name, _without_seed(there.key_parts)), (key, there))
        repeats = cls()
        for job in due:
            if job.key not in questions:
                repeats.to_run.append(job)
                continue
            file_and_question = job.job.results, questions[job.key]
            key, record = known.get(file_and_question, ("", None))
            lacks_front = record is not None and job.job.save_pareto and not record.front
            if not key or lacks_front:
                known[file_and_question] = job.key, None
                repeats.to_run.append(job)
            else:
                repeats.waiting.setdefault(key, []).append(job)
        return repeats

    def text(self) -> str:
        """Write how many jobs take a record, in a sentence."""
        jobs = self.left()
        methods = ", ".join(dict.fromkeys(one.job.algorithm for one in jobs))
        return (
            f"{counted(len(jobs), 'job')} of {methods} will not be run: each takes the record of "
            "another seed, since neither its method nor its data depend on the seed."
        )

    def taking(self, record: Record) -> list[tuple[ResolvedJob, Record]]:
        """Return the jobs that take a record, each with its own, and wait no more.

        There are none where a job did not end in a way that a seed cannot change.
        """
        if record.status not in _TAKEN:
            return []
        return [(one, with_seed(record, one)) for one in self.waiting.pop(record.key, [])]

    def left(self) -> list[ResolvedJob]:
        """Return the jobs that still wait; they are to be run themselves."""
        return [one for several in self.waiting.values() for one in several]


def with_seed(record: Record, job: ResolvedJob) -> Record:
    """Return a record as that of another seed's job."""
    seed = record.seed if record.measured.of_seed is None else record.measured.of_seed
    return record.model_copy(
        update={
            "key": job.key,
            "key_parts": dict(job.parts),
            "seed": job.job.seed,
            "study": job.job.study,
            "measured": record.measured.model_copy(update={"of_seed": seed}),
        }
    )
