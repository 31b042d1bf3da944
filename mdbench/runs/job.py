"""One job, from its specification to its record."""

from __future__ import annotations

import secrets
import tempfile
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from mdbench.errors import DataError, MethodError, UnavailableError
from mdbench.methods import discover
from mdbench.records import ANSWERED, Status
from mdbench.records.files import ANSWERS, SUFFIX, pack_answers
from mdbench.runs.catalog import Catalog, DatasetInfo
from mdbench.runs.plan import environment_key, resolve_job
from mdbench.runs.record import Stopwatch, energy_meter, load_average, make_record
from mdbench.runs.scoring import JobResult, score_result
from mdbench.runs.session import JobSession
from mdbench.runs.worker_pool import EnvironmentCache, WorkerSlot
from mdbench.runtimes.job_folder import PathRedactor
from mdbench.workspace import Workspace, write_whole

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from mdbench.datatypes.base import Task
    from mdbench.records import Record
    from mdbench.runs.calibration import SpeedGauge
    from mdbench.runs.plan import ResolvedJob
    from mdbench.runs.services import Connection
    from mdbench.runs.spec import JobSpec
    from mdbench.runtimes.base import Prepared, Runtime
    from mdbench.runtimes.worker import Worker


LOGS = "logs"
"""The folder of what methods print, below that of the results."""


def run_job(
    job: JobSpec,
    runtime: Runtime,
    *,
    workspace: Workspace | None = None,
    result_dir: Path = Path("results"),
    connections: Mapping[str, Connection] | None = None,
) -> Record:
    """Run one job by itself: its result follows from its specification alone.

    Parameters
    ----------
    workspace
        Where methods and systems are; by default the one that is found from here.
    result_dir
        The folder below which the job's log is written; the record is not written.
    connections
        How services are reached that methods may ask, by their names.

    Returns
    -------
    Record
        Whatever the method does, there is one.

    Raises
    ------
    UsageError, DataError, MethodError
        If the job cannot be begun: what it names does not exist here, or cannot be used.
    """
    catalog = Catalog(workspace or Workspace.find())
    resolved = resolve_job(job, catalog, environment_key(catalog.method(job.algorithm), runtime))
    with WorkerSlot(
        catalog, runtime, EnvironmentCache(runtime), result_dir, connections=connections or {}
    ) as slot:
        return begin_job(resolved, slot)()


def begin_job(resolved: ResolvedJob, slot: WorkerSlot) -> Callable[[], Record]:
    """Do a job in a slot, and return what makes its record; whatever the method does, there is one.

    The record is made by a function, which may be called from another thread while the slot
    does its next job: scoring an answer takes no time of the method's.

    Raises
    ------
    DataError
        If the dataset cannot be loaded any more, or if the job's files cannot be written.
    """
    job, method = resolved.job, resolved.method
    watch = Stopwatch()
    conditions: dict[str, Any] = {"load": load_average()}
    joules = energy_meter()
    dataset = slot.catalog.load(job)
    resolved = resolved.with_dataset(DatasetInfo.from_dataset(dataset))  # as it is now
    task = slot.catalog.task(resolved, dataset)
    prepared: Prepared | None = None
    folder = slot.result_dir / LOGS / job.results
    log = folder / f"{job.file_name}_{resolved.key[:8]}.log"
    connection = slot.connections.get(method.spec.service)
    try:
        outcome = _unsupported(resolved, task) or _not_here(resolved, connection, log)
        if outcome is None:
            with watch.stopped():  # made once and kept warm: not this job's time
                prepared = slot.environments.get(method, resolved.parts)
                resolved.data_type.preload()
            outcome = _run_with_retries(resolved, task, slot, prepared, watch=watch, log=log)
            if outcome.use is None or not outcome.use.has_failed:
                slot.environments.record_unavailable(method, outcome)
    except OSError as error:
        raise _not_written(error, slot.result_dir) from error
    except UnavailableError as error:
        retries = slot.environments.retries(method)
        outcome = JobResult(Status.UNAVAILABLE, str(error), retries=retries)
    except MethodError as error:
        outcome = JobResult(Status.FAILED, str(error))
    outcome.reason = PathRedactor({method.folder.parent: "algorithms"}).redact(outcome.reason)
    if slot.interrupted and outcome.status not in ANSWERED:
        outcome = JobResult(
            Status.INTERRUPTED, "the run was stopped", use=outcome.use, front=outcome.front
        )
    if connection is not None and outcome.is_final:
        connection.finish(log)
    seconds = watch.seconds
    conditions |= {"cores": slot.cores, "energy_j": joules()}
    conditions["speed_after"] = None if outcome.speed is None else slot.speed_after(job)

    def record() -> Record:
        scored = score_result(resolved.data_type, task, outcome, job)
        return make_record(
            resolved,
            task,
            scored,
            runtime=slot.runtime,
            prepared=prepared,
            log=_relative(log, slot.result_dir),
            exchanges=None
            if connection is None
            else _relative(connection.exchanges(log), slot.result_dir),
            answers=None
            if scored.kept is None
            else _keep_answers(scored.kept, log, slot.result_dir),
            started=watch.started,
            wall_s=seconds,
            conditions=conditions,
        )

    return record


def _not_written(error: OSError, result_dir: Path) -> DataError:
    return DataError(
        f"The files of a job cannot be written: {error}.",
        f"Free some space in {tempfile.gettempdir()} (or set TMPDIR) and in "
        f"{result_dir}, and give the same command again.",
    )


def _keep_answers(answers: bytes, log: Path, result_dir: Path) -> str:
    """Write the answers example by example; return the file's name."""
    place = log.relative_to(result_dir / LOGS).with_suffix(SUFFIX)
    path, content = result_dir / ANSWERS / place, pack_answers(answers)
    try:
        write_whole(path, lambda file: file.write(content))
    except OSError as error:
        raise _not_written(error, result_dir) from error
    return str(path.relative_to(result_dir))


def lost_job(
    job: ResolvedJob, catalog: Catalog, runtime: Runtime, reason: str, retries: int
) -> Record:
    """Return the record of a job that nobody could do: what it ran on was lost each time.

    Raises
    ------
    DataError
        If the dataset cannot be loaded.
    """
    watch = Stopwatch()
    task = catalog.task(job, catalog.load(job.job))
    outcome = JobResult(Status.UNAVAILABLE, reason, lost=True, retries=retries)
    return make_record(
        job,
        task,
        score_result(job.data_type, task, outcome),
        runtime=runtime,
        prepared=None,
        log=None,
        exchanges=None,
        started=watch.started,
        wall_s=0.0,
    )


def _relative(file: Path, folder: Path) -> str | None:
    return str(file.relative_to(folder)) if file.exists() else None


def _unsupported(job: ResolvedJob, task: Task[Any]) -> JobResult | None:
    spec = job.method.spec
    for limit in spec.limits:
        if limit.covers(job.job.data_type, job.job.dataset, task.dataset.dim):
            return JobResult(Status.UNSUPPORTED, limit.reason)
    if missing := [need for need in task.needs if need not in spec.takes]:
        able = _that_take(task.needs, job.job.data_type, job.method.folder.parent)
        return JobResult(
            Status.UNSUPPORTED,
            f"the data have {' and '.join(task.needs)}; of these it takes no {missing[0]}"
            + f"; methods that do: {', '.join(able)}, and those for tables" * bool(able),
        )
    if not spec.equations and (why := job.data_type.why_not_predicted(task)):
        return JobResult(Status.UNSUPPORTED, why)
    if (name := _not_finite(task)) is not None:
        return JobResult(
            Status.UNSUPPORTED,
            f"{name} cannot be computed from these data as finite numbers, so no method is run on "
            "them; give times and values in other units, so that none is extremely large or small",
        )
    return None


def _not_here(job: ResolvedJob, connection: Connection | None, log: Path) -> JobResult | None:
    """Return the result of a job that need not be begun, since this machine lacks what it needs."""
    if job.method.spec.gpu and not gpus():
        return JobResult(Status.UNAVAILABLE, NO_GPU)
    if connection is not None and (use := connection.begin(job.job, log)) is not None:
        return JobResult(Status.UNAVAILABLE, use.ended, use=use)
    return None


def _that_take(needs: Sequence[str], data_type: str, algorithms: Path) -> list[str]:
    """Return the names of the methods that can use what some data have."""
    return [
        name
        for name, method in discover(algorithms).items()
        if not isinstance(method, MethodError)
        and data_type in method.spec.data_types
        and set(needs) <= set(method.spec.takes)
    ]


NO_GPU = (
    "the method needs a GPU (gpu = true in its method.toml), and this machine shows none at "
    "/dev/nvidia0; run it on one that does, and bring its results as a bundle"
)


def gpus() -> list[Path]:
    """Return the devices of the GPUs that this machine shows."""
    return sorted(Path("/dev").glob("nvidia[0-9]*"))


def _not_finite(task: Task[Any]) -> str | None:
    """Return the name of an array that a method would be given and that has no finite number."""
    parts = {id(part): part for part in (task.train, task.validation, task.refit, task.test)}
    for part in parts.values():
        for name, values in {**part.inputs, part.target_name: part.targets}.items():
            if values.dtype.kind == "f" and not np.isfinite(values).all():
                return name
    return None


def _run_with_retries(
    job: ResolvedJob,
    task: Task[Any],
    slot: WorkerSlot,
    prepared: Prepared,
    *,
    watch: Stopwatch,
    log: Path,
) -> JobResult:
    """Attempt a job, and again where what ran it was lost; the time is that of the last try."""
    outcome = JobResult(Status.UNAVAILABLE, "the run was stopped")
    for number in slot.environments.retry_policy.tries():
        if number:
            watch.restart()
        try:
            with watch.stopped():
                worker = slot.worker(job, prepared)
                gauge = slot.gauge(job.job)
            outcome = _run_session(job, task, slot, worker, gauge=gauge, log=log, watch=watch)
            if outcome.use is not None:
                outcome.use.correct(outcome)
        except UnavailableError as error:
            if not error.passing:
                raise
            outcome = JobResult(Status.UNAVAILABLE, str(error), lost=True)
        except OSError:
            if not number:
                raise
            break  # the first try has the reason
        outcome.retries = number
        if outcome.killed or outcome.lost:
            slot.wait_for_end()
        if not outcome.lost or slot.interrupted:
            break
    return outcome


def _run_session(
    job: ResolvedJob,
    task: Task[Any],
    slot: WorkerSlot,
    worker: Worker,
    *,
    gauge: SpeedGauge | None,
    log: Path,
    watch: Stopwatch,
) -> JobResult:
    def before_test() -> None:
        with watch.stopped():
            slot.before_test()

    folder = worker.make_folder()
    try:
        start_s = worker.meter.start_s or 0.0
        worker.meter.charge(slot.environments.start_beyond_first(job.method, start_s))
        fresh = not slot.keeps(worker, job.method)
        name = secrets.token_hex(16)
        worker.begin_log(log, name)
        with ExitStack() as stack:
            access = None
            if (connection := slot.connections.get(job.method.spec.service)) is not None:
                background = job.source.background(job.job.dataset)
                access = stack.enter_context(
                    connection.session(
                        *(job.job, task, background),
                        folder=folder.descriptor,
                        log=log,
                        turn=slot.turn,
                    )
                )
            session = JobSession(
                job,
                task,
                worker=worker,
                folder=folder,
                name=name,
                access=access,
                gauge=gauge,
                interrupted=lambda: slot.interrupted,
                before_test=before_test,
            )
            if session.sends_test_inputs:
                fresh = slot.retire(job.method) or fresh
            outcome = session.run()
        forks = worker.hello is not None and worker.hello.forks
        if outcome.isolation:
            outcome.isolation = {**outcome.isolation, "new_sandbox": fresh}
        if fresh and (forks or slot.fresh_sandbox):  # else it says itself why it imports again
            outcome.isolation = {**outcome.isolation, "process": "a new sandbox for each job"}
        outcome.use = None if access is None else access.use(session.candidates)
        return outcome
    finally:
        worker.log.end()
        worker.remove_folder(folder)
