"""One place where jobs run, one after the other, in a worker that is kept warm."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Self

from mdbench.errors import MdbenchError, MethodError, UnavailableError, UsageError

if TYPE_CHECKING:
    from pathlib import Path
    from types import TracebackType

    from mdbench.methods import Method
    from mdbench.runs.due import Ready
    from mdbench.runs.inventory import Inventory
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
    """Holds a worker for the jobs that `mdbench.runs.job` does, one at a time.

    To be used by one thread from beginning to end, since a worker dies with the thread that
    started it; only `interrupt` may be called from others.

    Parameters
    ----------
    environments
        Shared by the slots of a run.
    result_dir
        The folder below which the jobs' logs are written.
    """

    def __init__(
        self,
        inventory: Inventory,
        runtime: Runtime,
        environments: Environments,
        result_dir: Path,
    ) -> None:
        self.inventory = inventory
        self.runtime = runtime
        self.environments = environments
        self.result_dir = result_dir
        self.interrupted = False
        self._worker: Worker | None = None
        self._serves: tuple[str, Limits] | None = None
        self._lock = threading.Lock()

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
            self.interrupted = True
            if self._worker is not None:
                self._worker.interrupt()

    def worker(self, one: Ready, prepared: Prepared) -> Worker:
        """Give the worker that is held, if it can serve the job, or else a new one.

        Raises
        ------
        UsageError
            If the method's files are no longer those of the job's key.
        MethodError, UnavailableError
            If the worker cannot be started.
        """
        job, method = one.job, self.inventory.method(one.job.algorithm)
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
            worker = self.runtime.start(method, prepared, job.limits, on_launch=self._hold)
        except MethodError as error:
            self._worker = None
            if not self.interrupted:
                self.environments.not_imported(method, error)
            raise
        self.environments.imported(method)
        self._serves = wanted
        return worker

    def _hold(self, worker: Worker) -> None:
        with self._lock:
            self._worker = worker
            if self.interrupted:
                worker.interrupt()

    def _release(self) -> None:
        with self._lock:
            worker, self._worker, self._serves = self._worker, None, None
        if worker is not None:
            worker.close()
