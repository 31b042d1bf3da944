"""Runs a plan: what is due is done by a backend, and every job leaves one record.

A run plans, decides what is due, and keeps the results files; a backend does jobs and hands over
their records (docs/extending.md).  At the end a command of the user's may be given the
outcome: a program and its arguments, split as a POSIX shell would split them; no shell runs it.
"""

from __future__ import annotations

import json
import os
import shlex
import shutil
import signal
import subprocess
import threading
import time
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, Final, Protocol, overload

from mdbench.errors import MdbenchError, UsageError
from mdbench.records import ANSWERED, Record, RecordStore, Status
from mdbench.runs.due import RecordSummary, SeedRepeats, goes_on, rerun_reason
from mdbench.runs.forecast import Expectation, expect
from mdbench.runs.plan import resolve_jobs
from mdbench.runs.services import service_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from mdbench.records import RecordWriter
    from mdbench.runs.plan import Plan, ResolvedJob
    from mdbench.runs.services import RemoteConnection
    from mdbench.runs.spec import JobSpec
    from mdbench.runs.study import RunOptions
    from mdbench.runtimes.base import Runtime


class Observer(Protocol):
    """Gets messages on how a run goes on; called from several threads."""

    def message(self, text: str) -> None:
        """Show something that a person should know."""

    def prepared(self, to_run: int, done: int) -> None:
        """The jobs are known: how many will be run, how many have their record already."""

    def job_started(self, job: JobSpec) -> None:
        """A job begins."""

    def job_ended(self, job: JobSpec, record: Record) -> None:
        """A job has left its record."""


@dataclass(frozen=True)
class Work:
    """The work that a backend is given.

    Attributes
    ----------
    jobs
        All that is to be done.
    expected
        What a job will probably take.
    leave
        Writes a job's record down; may be called from any thread, once for each job.
    connections
        How other processes reach services; none where jobs are led by this one.
    """

    plan: Plan
    runtime: Runtime
    observer: Observer
    jobs: Sequence[ResolvedJob]
    expected: Callable[[ResolvedJob], Expectation]
    leave: Callable[[JobSpec, Record], None]
    connections: Mapping[str, RemoteConnection] = field(default_factory=dict)


class Backend(ABC):
    """A place where jobs are done.

    Attributes
    ----------
    in_this_process
        Whether jobs are led by threads of this process, which may keep a budget for all of them.
    """

    in_this_process: ClassVar[bool] = False

    @classmethod
    def for_run(cls, options: RunOptions) -> Backend:
        """Return the backend for the options of a run.

        Raises
        ------
        UsageError
            If what it needs is not installed.
        """
        del options
        return cls()

    def prepare(self, result_dir: Path, observer: Observer) -> None:  # noqa: B027 - most need nothing
        """Merge what an earlier run of this backend has left in a results folder."""

    @abstractmethod
    def run(self, work: Work) -> bool:
        """Do the jobs, and leave a record of each; return whether the user interrupted it.

        Raises
        ------
        UsageError, UnavailableError
            If the jobs cannot be done there at all; then none has been begun.
        """

    def __enter__(self) -> Any:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:  # noqa: B027 - most hold nothing
        """Release what the backend holds."""


class LazyRecords(Sequence[Record]):
    """Records that stay in their files, and are read whenever they are asked for.

    Parameters
    ----------
    places
        The records of each file, and a key of them, in order.
    """

    def __init__(self, places: Sequence[tuple[Mapping[str, Record], str]]) -> None:
        self._places = places

    def __len__(self) -> int:
        return len(self._places)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and list(self) == list(other)

    __hash__ = None  # type: ignore[assignment]

    @overload
    def __getitem__(self, index: int) -> Record: ...

    @overload
    def __getitem__(self, index: slice) -> LazyRecords: ...

    def __getitem__(self, index: int | slice) -> Record | LazyRecords:
        if isinstance(index, slice):
            return LazyRecords(self._places[index])
        newest, key = self._places[index]
        return newest[key]


@dataclass
class Summary:
    """The end of a run.

    Attributes
    ----------
    records
        The newest record of every job of the plan that has one, in the plan's order.
    ran, skipped, left
        Jobs run now, jobs that had their record before, jobs without one.
    statuses
        How many of the records have each status.
    """

    records: Sequence[Record] = field(default_factory=list)
    ran: int = 0
    skipped: int = 0
    left: int = 0
    interrupted: bool = False
    statuses: Counter[Status] = field(default_factory=Counter)


def execute(plan: Plan, runtime: Runtime, observer: Observer, backend: Backend) -> Summary:
    """Run all jobs of a plan that have no record yet; safe to call again after any end.

    Parameters
    ----------
    backend
        Where the jobs are done.

    Raises
    ------
    DataError, RecordsError, MethodError
        Before any job is run, if data, results file or a method's folder cannot be used.
    UsageError, UnavailableError
        If the backend cannot do the jobs.
    """
    backend.prepare(plan.result_dir, observer)
    with ExitStack() as stack:
        past: dict[str, dict[str, RecordSummary]] = {name: {} for name in plan.files}
        ledger = _RecordLedger(observer)
        for name, file in plan.files.items():
            each = partial(_remember, name, past[name])
            ledger.writers[name] = stack.enter_context(RecordStore(file).open_for_writing(each))
        for name, writer in ledger.writers.items():
            if writer.dropped_bytes:
                observer.message(
                    f"{plan.files[name]}: a torn last line of {writer.dropped_bytes} bytes "
                    "was cut off; its job is run again."
                )
        ready = resolve_jobs(plan, runtime, observer.message)
        due = [one for one in ready if rerun_reason(one, past[one.job.results], plan)]
        repeats = SeedRepeats.among(due, past, plan.rerun)
        to_run = repeats.to_run
        _check_connections(to_run, plan, backend)
        observer.prepared(len(due), len(ready) - len(due))
        if len(to_run) < len(due):
            observer.message(repeats.text())
        expected = expect({name: list(each.values()) for name, each in past.items()})
        skipped = len(ready) - len(due)
        before = {one.key: past[one.job.results].get(one.key) for one in ready}
        if plan.connections:
            plan = _observed(plan, to_run, before, observer)
        ledger.statuses = {key: None if one is None else one.status for key, one in before.items()}
        del past, before
        interrupted = False
        ledger.repeats = repeats
        if repeats.waiting:
            ledger.take_known()
        if to_run:
            work = Work(plan, runtime, observer, to_run, expected, ledger.leave)
            try:
                with _shared(plan, backend) as shared:
                    interrupted = backend.run(replace(work, connections=shared))
                    rest = repeats.left()
                    if rest and not interrupted:
                        interrupted = backend.run(replace(work, jobs=rest, connections=shared))
            finally:
                for connection in plan.connections.values():
                    connection.close()
        plan.catalog.save()  # of data that changed meanwhile
    newest = {name: writer.newest for name, writer in ledger.writers.items()}
    places = [(newest[one.job.results], one.key) for one in ready]
    records = LazyRecords([place for place in places if place[1] in place[0]])
    statuses = Counter(status for status in ledger.statuses.values() if status is not None)
    ended = sum(count for status, count in statuses.items() if status not in _LEFT)
    left = len(ledger.statuses) - ended
    return Summary(records, ledger.count, skipped, left, interrupted, statuses)


_LEFT = {Status.INTERRUPTED}


def _remember(name: str, past: dict[str, RecordSummary], record: Record, size: int) -> bool:
    """Remember a record of a results file; return whether it is of the file's own method."""
    if own := record.results == name:
        past[record.key] = RecordSummary.of(record, size)
    return own


def _check_connections(to_run: list[ResolvedJob], plan: Plan, backend: Backend) -> None:
    """Refuse to begin jobs that ask a service which they cannot reach, or may not."""
    asking: dict[str, list[ResolvedJob]] = {}
    for one in to_run:
        asking.setdefault(one.method.spec.service, []).append(one)
    asking.pop("", None)
    for name, resolved in asking.items():
        jobs = [one.job for one in resolved]
        if name not in plan.connections:
            raise service_of(name, jobs[0].algorithm).unreachable(jobs[0])
        plan.connections[name].check(jobs, in_this_process=backend.in_this_process)


def _observed(
    plan: Plan,
    to_run: list[ResolvedJob],
    before: Mapping[str, RecordSummary | None],
    observer: Observer,
) -> Plan:
    """Return the plan with connections that report, and know which jobs begin at their start."""
    records = ((one, before[one.key]) for one in to_run)
    restarted = {one.job for one, past in records if past is not None and not goes_on(past)}
    connections = {
        name: connection.observed(observer.message, restarted)
        for name, connection in plan.connections.items()
    }
    return replace(plan, connections=connections)


@contextmanager
def _shared(plan: Plan, backend: Backend) -> Iterator[dict[str, RemoteConnection]]:
    """Return what a backend's processes need to reach services."""
    home, here = plan.catalog.workspace.home, backend.in_this_process
    with ExitStack() as stack:
        shared = {
            name: stack.enter_context(connection.shared(home, in_this_process=here))
            for name, connection in plan.connections.items()
        }
        yield {name: remote for name, remote in shared.items() if remote is not None}


class _RecordLedger:
    """Writes the records of a run, and counts them."""

    def __init__(self, observer: Observer) -> None:
        self._observer = observer
        self._lock = threading.Lock()
        self.writers: dict[str, RecordWriter] = {}
        self.statuses: dict[str, Status | None] = {}
        self.count = 0
        self.repeats = SeedRepeats()

    def take_known(self) -> None:
        """Write the records of jobs that take one that was there before."""
        running = {one.key for one in self.repeats.to_run}
        for key, waiting in list(self.repeats.waiting.items()):
            if key not in running:
                self._write_repeats(self.writers[waiting[0].job.results].newest[key])

    def leave(self, job: JobSpec, record: Record) -> None:
        """Write a job's record, and those of jobs that take it."""
        self._write(job, record)
        self._write_repeats(record)

    def _write_repeats(self, record: Record) -> None:
        with self._lock:
            found = self.repeats.taking(record)
        for one, own in found:
            self._observer.job_started(one.job)
            self._write(one.job, own)

    def _write(self, job: JobSpec, record: Record) -> None:
        self.writers[job.results].append(record)
        with self._lock:
            self.count += 1
            self.statuses[record.key] = record.status
        self._observer.job_ended(job, record)


NOTIFY_SECONDS: Final = 60.0
"""Seconds that the command may take."""
_IN_ENVIRONMENT = ("event", "reason", "folder", "jobs", "answered", "failed", "left", "seconds")
"""Keys that are in the environment, too, as ``MDBENCH_EVENT`` and so on."""


def count_outcome(plan: Plan, summary: Summary, seconds: float) -> dict[str, Any]:
    """Count how the jobs of a plan ended.

    Returns
    -------
    dict
        JSON values: ``folder`` and ``files``; the jobs by what happened to them in this run
        (``ran``, ``skipped``, ``left``); by the status of their records (``statuses``, of which
        ``answered`` and ``failed``); whether it was ``interrupted``; and the ``seconds`` it took.
    """
    statuses = summary.statuses
    answered = sum(statuses[status] for status in ANSWERED)
    return {
        "folder": str(plan.result_dir.absolute()),
        "files": [str(path.absolute()) for path in plan.files.values()],
        "jobs": len(plan.jobs),
        "ran": summary.ran,
        "skipped": summary.skipped,
        "left": summary.left,
        "answered": answered,
        "failed": statuses.total() - answered - statuses[Status.INTERRUPTED],
        "statuses": {str(status): statuses[status] for status in sorted(statuses)},
        "interrupted": summary.interrupted,
        "seconds": round(seconds, 3),
    }


@dataclass
class RunNotification:
    """The message at the end of a run; filled in as its parts become known."""

    folder: Path
    start: float = field(default_factory=time.monotonic)
    found: dict[str, Any] | None = None

    def ended(self, plan: Plan, summary: Summary) -> dict[str, Any]:
        """Record the outcome of the run, and return it as `count_outcome` does."""
        self.found = count_outcome(plan, summary, time.monotonic() - self.start)
        return self.found

    def message(self, error: BaseException | None) -> dict[str, Any]:
        """Return the message that the command gets: with ``event`` and ``reason``."""
        summary = self.found or {
            "folder": str(self.folder.absolute()),
            **dict.fromkeys(("jobs", "answered", "failed", "left")),
            "seconds": round(time.monotonic() - self.start, 3),
        }
        event, reason = "finished", ""
        if isinstance(error, KeyboardInterrupt) or summary.get("interrupted"):
            event = "interrupted"
        elif error is not None:
            event = "failed"
            reason = error.message if isinstance(error, MdbenchError) else type(error).__name__
        return {"schema": 1, "event": event, "reason": reason, **summary}


@contextmanager
def notify_at_end(
    command: Sequence[str],
    folder: Path,
    report: Callable[[str], None],
    seconds: float = NOTIFY_SECONDS,
) -> Iterator[RunNotification]:
    """Run a command when the work within has ended, in whatever way.

    How the command ends changes nothing but the messages.

    Parameters
    ----------
    command
        A program and its arguments; nothing is run where it is empty.
    folder
        Where the results go.
    report
        Called with the reason if the command failed.
    seconds
        It may take; then it is killed with all that it has started.

    Raises
    ------
    UsageError
        At once, if there is no such program.
    """
    if command and shutil.which(command[0]) is None:
        raise UsageError(
            f"--notify: there is no program {command[0]!r}.",
            "Name one that is on PATH, or its path; it has to be executable.",
        )
    news = RunNotification(folder)
    failure: BaseException | None = None
    try:
        yield news
    except BaseException as error:
        failure = error
        raise
    finally:
        if command and (trouble := _run_command(command, news.message(failure), seconds)):
            report(f"--notify {shlex.join(command)}: {trouble}")


def _run_command(command: Sequence[str], news: dict[str, Any], seconds: float) -> str:
    """Run the command; return what went wrong, if anything did."""
    variables = {f"MDBENCH_{name.upper()}": news[name] for name in _IN_ENVIRONMENT}
    environment = {name: "" if value is None else str(value) for name, value in variables.items()}
    try:
        process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=2,  # whoever reads our standard output wants the run's
            env=os.environ
            | {name: value.replace("\0", " ") for name, value in environment.items()},
            start_new_session=True,
        )
    except (OSError, ValueError) as error:
        return f"it cannot be run: {error}"
    try:
        process.communicate(json.dumps(news, allow_nan=False).encode() + b"\n", timeout=seconds)
    except subprocess.TimeoutExpired:
        return f"it was ended after {seconds:g} s"
    except OSError as error:
        return str(error)
    finally:
        if process.poll() is None:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
    if process.returncode < 0:
        return f"it was ended by signal {-process.returncode}"
    return f"it ended with exit status {process.returncode}" if process.returncode else ""
