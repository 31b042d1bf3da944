"""One place where jobs run, one after the other, in a worker that is kept warm."""

from __future__ import annotations

import tempfile
import threading
from dataclasses import replace
from typing import TYPE_CHECKING, Self

from mdbench.errors import DataError, MdbenchError, MethodError, UnavailableError, UsageError
from mdbench.records import Status
from mdbench.runs.attempt import Attempt, Outcome, Setting
from mdbench.runs.due import load_dataset
from mdbench.runs.write import Stopwatch, make_record

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path
    from types import TracebackType

    from mdbench.datatypes._fidelity import Fidelity
    from mdbench.datatypes.base import Dataset, Task
    from mdbench.methods import Method
    from mdbench.records import Record
    from mdbench.runs.due import Ready
    from mdbench.runs.plan import Job, Plan
    from mdbench.runtimes.base import Limits, Prepared, Runtime, Worker

__all__ = ["Environments", "Slot"]


class Environments:
    """Each method's environment, made once, by whichever slot needs it first."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime
        self._made: dict[str, Prepared | MdbenchError] = {}
        self._worked: set[str] = set()
        self._lock = threading.Lock()

    def get(self, method: Method) -> Prepared:
        """Give the method's environment.

        Raises
        ------
        UnavailableError, MethodError
            If it cannot be made or used; the same for every job, and tried once.
        """
        with self._lock:
            if method.name not in self._made:
                try:
                    self._made[method.name] = self._runtime.prepare(method)
                except (UnavailableError, MethodError) as error:
                    self._made[method.name] = error
            made = self._made[method.name]
        if isinstance(made, MdbenchError):
            raise made
        return made

    def imported(self, method: Method) -> None:
        """Remember that the method's adapter can be imported."""
        with self._lock:
            self._worked.add(method.name)

    def not_imported(self, method: Method, error: MethodError) -> None:
        """Remember that it cannot, unless it could before: then only this job has failed."""
        with self._lock:
            if method.name not in self._worked:
                self._made[method.name] = error


class Slot:
    """Runs one job at a time.

    To be used by one thread from beginning to end, since a worker dies with the thread that
    started it; only `interrupt` may be called from others.
    """

    def __init__(self, plan: Plan, runtime: Runtime, environments: Environments) -> None:
        self._plan = plan
        self._runtime = runtime
        self._environments = environments
        self._worker: Worker | None = None
        self._serves: tuple[str, Limits] | None = None
        self._lock = threading.Lock()
        self._interrupted = False

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._release()

    def interrupt(self) -> None:
        """End the job that is running, whose record then says so."""
        with self._lock:
            self._interrupted = True
            if self._worker is not None:
                self._worker.interrupt()

    def run(self, one: Ready) -> Callable[[], Record]:
        """Do a job, and give what makes its record; whatever the method does, there is one.

        The record is made by a function, which may be called from another thread while the slot
        does its next job: what it takes to compare an answer with the truth is no time of the
        method's.

        Raises
        ------
        DataError
            If the dataset cannot be loaded any more, or if the job's files cannot be written.
        """
        job = one.job
        method = self._plan.methods[job.algorithm]
        watch = Stopwatch()
        dataset = load_dataset(self._plan, job)
        task = self._plan.data_type.task(dataset, method.spec.view, job.protocol)
        prepared: Prepared | None = None
        log = self._log_path(one)
        try:
            _refuse_limits(method, job, dataset)
            with watch.stopped():  # made once and kept warm: not this job's time
                prepared = self._environments.get(method)
                self._plan.data_type.warm()
                worker = self._warm_worker(method, prepared, one)
            outcome = self._attempt(one, task, worker, log, dataset.truth)
        except OSError as error:
            raise DataError(
                f"The files of a job cannot be written: {error}.",
                f"Make room in {tempfile.gettempdir()} (or set TMPDIR) and in "
                f"{self._plan.result_dir}, and give the same command again.",
            ) from error
        except _LimitError as limit:
            outcome = Outcome(Status.UNSUPPORTED, limit.reason)
        except UnavailableError as error:
            outcome = Outcome(Status.UNAVAILABLE, str(error))
        except MethodError as error:
            outcome = Outcome(Status.FAILED, str(error))
        if self._interrupted and outcome.status not in {Status.OK, Status.PARTIAL}:
            outcome = Outcome(Status.INTERRUPTED, "the run was stopped")
        seconds = watch.seconds

        def record() -> Record:
            scored, fidelity = self._beside_the_truth(dataset, task, outcome)
            return make_record(
                job,
                dataset,
                scored,
                key_parts=one.parts,
                targets=task.targets,
                dataset_path=self._plan.dataset_path,
                runtime=self._runtime,
                prepared=prepared,
                log=str(log.relative_to(self._plan.result_dir)) if log.exists() else None,
                started=watch.started,
                wall_s=seconds,
                fidelity=fidelity,
            )

        return record

    def _beside_the_truth(
        self, dataset: Dataset, task: Task, outcome: Outcome
    ) -> tuple[Outcome, Fidelity | None]:
        """Score an answer's equations: their metrics join the others, and their fidelity."""
        if outcome.equations is None:
            return outcome, None
        data_type = self._plan.data_type
        texts = [equation.text for equation in outcome.equations]
        found = data_type.equation_metrics(dataset, texts, outcome.metrics)
        scored = replace(outcome, metrics=outcome.metrics | found)
        return scored, data_type.fidelity(dataset, task, texts)

    def _log_path(self, one: Ready) -> Path:
        job = one.job
        folder = self._plan.result_dir / "logs" / f"{job.algorithm}-{job.data_type}"
        return folder / f"{job.file_name}_{one.key[:8]}.log"

    def _warm_worker(self, method: Method, prepared: Prepared, one: Ready) -> Worker:
        """Give the worker that is held, if it can serve the job, or else a new one."""
        job = one.job
        wanted = (job.algorithm, job.limits)
        reusable = method.spec.fork_safe and wanted == self._serves
        if self._worker is not None and reusable and self._worker.alive:
            return self._worker
        self._release()
        if method.fingerprint() != one.parts["adapter"]:
            raise UsageError(
                f"{method.folder} was edited while the run was going on.",
                "Give the same command again: its jobs are run with the files as they are now.",
            )
        try:
            worker = self._runtime.start(method, prepared, job.limits, on_launch=self._hold)
        except MethodError as error:
            self._worker = None
            if not self._interrupted:
                self._environments.not_imported(method, error)
            raise
        self._environments.imported(method)
        self._serves = wanted
        return worker

    def _hold(self, worker: Worker) -> None:
        with self._lock:
            self._worker = worker
            if self._interrupted:
                worker.interrupt()

    def _attempt(
        self,
        one: Ready,
        task: Task,
        worker: Worker,
        log: Path,
        truth: tuple[str, ...] | None,
    ) -> Outcome:
        method = self._plan.methods[one.job.algorithm]
        folder = worker.make_folder()
        try:
            worker.begin_log(log, one.key)
            return Attempt(
                one.job,
                method,
                self._plan.data_type,
                task,
                Setting.of(method, one.job),
                worker=worker,
                folder=folder,
                identity=one.key,
                truth=truth,
            ).run()
        finally:
            worker.end_log()
            worker.remove_folder(folder)

    def _release(self) -> None:
        with self._lock:
            worker, self._worker, self._serves = self._worker, None, None
        if worker is not None:
            worker.close()


class _LimitError(Exception):
    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


def _refuse_limits(method: Method, job: Job, dataset: Dataset) -> None:
    for limit in method.spec.limits:
        if limit.covers(job.data_type, job.dataset, dataset.dim):
            raise _LimitError(limit.reason)
