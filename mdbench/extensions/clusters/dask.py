"""The backend of Dask: a cluster of this machine, or a scheduler that runs somewhere.

A Dask task only waits: the job is done in a process of its own (`NodeProcess`), so that the worker
goes on answering its scheduler while a fit holds the interpreter.  Dask does a job whose worker has
died elsewhere, and where it gives up, we try again as often as the run's retries allow.  Only a few
jobs for each worker are handed over at a time: the scheduler's memory does not grow with the plan.
"""

from __future__ import annotations

import queue
import tempfile
import threading
import time
import uuid
from collections import Counter
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from mdbench.backends.local import JobQueue
from mdbench.errors import MdbenchError, UnavailableError, UsageError
from mdbench.extensions.clusters.node import NodeProcess, NodeRequest
from mdbench.installation import command
from mdbench.records import Record
from mdbench.runs.execute import Backend
from mdbench.runs.job import lost_job
from mdbench.runtimes.registry import open_runtime

if TYPE_CHECKING:
    from mdbench.extensions.clusters.node import Opener
    from mdbench.runs.execute import Work
    from mdbench.runs.plan import ResolvedJob
    from mdbench.runs.spec import JobSpec
    from mdbench.runs.study import RunOptions
    from mdbench.runtimes.base import Level

AHEAD: Final = 2
"""Jobs that are handed over for each thread of a worker: one that runs, and one that waits."""
LOOK_SECONDS: Final = 2.0
"""Seconds between two counts of the workers."""
ALONE_SECONDS: Final = 60.0
"""Seconds that a scheduler may be without a worker before a message reports it."""


class DaskBackend(Backend):
    """Workers of a Dask scheduler.

    Parameters
    ----------
    address
        The scheduler's, such as ``tcp://host:8786``; None for a cluster of this machine, with as
        many workers as jobs run at a time.
    require
        What the runtime has to enforce on every node.
    opens
        Opens the runtime on a node.
    connect_seconds
        How long the scheduler may take to answer.

    Raises
    ------
    UsageError
        If Dask is not installed.
    """

    @classmethod
    def for_run(cls, options: RunOptions) -> DaskBackend:
        """Return the backend with the scheduler that was named, or one of its own."""
        return cls(options.scheduler, require=options.require)

    def __init__(
        self,
        address: str | None = None,
        *,
        require: tuple[tuple[str, Level], ...] = (),
        opens: Opener = open_runtime,
        connect_seconds: float = 30.0,
    ) -> None:
        try:
            import distributed  # noqa: F401, PLC0415 - an optional extra, and slow to import
        except ImportError:
            raise UsageError(
                "The backend dask needs Dask, which is not installed.",
                f"Type: {command('./install.sh --cluster')} (in an environment of your own: "
                "pip install distributed)",
            ) from None
        self._address = address
        self._require = require
        self._opens = opens
        self._connect_seconds = connect_seconds

    def run(self, work: Work) -> bool:
        """Submit the jobs, and collect their records as they arrive.

        Raises
        ------
        UnavailableError
            If the scheduler cannot be reached or has gone, or if no job can be done on a node.
        """
        order = NodeRequest.of(
            work.plan,
            work.runtime,
            name=uuid.uuid4().hex,
            require=self._require,
            opens=self._opens,
            connections=work.connections,
        )
        with ExitStack() as stack:
            client = self._connect(stack, work.plan.n_jobs)
            return _DaskRun(client, work, order).all()

    def _connect(self, stack: ExitStack, n_jobs: int) -> Any:
        import dask  # noqa: PLC0415
        import distributed  # noqa: PLC0415

        # Without types in its packages.
        Client: Any = distributed.Client
        LocalCluster: Any = distributed.LocalCluster

        if self._address is not None:
            try:
                return stack.enter_context(
                    Client(self._address, timeout=self._connect_seconds, set_as_default=False)
                )
            except (OSError, ValueError) as error:
                raise UnavailableError(
                    f"No Dask scheduler answers at {self._address}: {error}.",
                    "Start one (dask scheduler), or use --backend dask for a cluster of this "
                    "machine.",
                ) from None
        folder = stack.enter_context(
            tempfile.TemporaryDirectory(prefix="mdbench-dask-", ignore_cleanup_errors=True)
        )
        # We report a worker that dies or ends with its cluster.
        quiet = {"logging": {"distributed": "critical"}}
        stack.enter_context(dask.config.set({"distributed.scheduler.allowed-failures": 0, **quiet}))
        cluster = stack.enter_context(
            LocalCluster(
                n_workers=n_jobs,
                threads_per_worker=1,
                processes=True,
                dashboard_address="127.0.0.1:0",
                memory_limit=0,
                local_directory=folder,
            )
        )
        return stack.enter_context(Client(cluster, set_as_default=False))


@dataclass
class _SubmittedJob:
    """A job that Dask has."""

    one: ResolvedJob
    losses: int = 0
    begun: int = 0


class _DaskRun:
    """One run on a scheduler."""

    def __init__(self, client: Any, work: Work, order: NodeRequest) -> None:
        self._client = client
        self._work = work
        self._order = order
        self._topic = f"mdbench-{order.name}"
        self._line = JobQueue(work.jobs, work.expected, work.plan.memory_total_mb)
        self._handed: dict[Any, _SubmittedJob] = {}
        self._by_key: dict[str, _SubmittedJob] = {}
        self._losses: Counter[str] = Counter()
        self._ended: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self._shown: set[str] = set()
        self._starting: list[Any] = []
        self._lock = threading.Lock()

    def all(self) -> bool:
        """Do all jobs, and return whether the user interrupted it."""
        try:
            self._check_nodes()
            self._client.subscribe_topic(self._topic, self._on_event)
            self._hand_over()
        except KeyboardInterrupt:
            self._work.observer.message("Stopping: the jobs that are running are ended.")
            self._stop()
            return True
        except MdbenchError:
            self._stop()
            raise
        self._client.unsubscribe_topic(self._topic)
        self._forget_nodes()
        return False

    def _check_nodes(self) -> None:
        """Check on each machine that jobs can be done there, before any is sent.

        Raises
        ------
        UnavailableError, UsageError
            If they cannot.
        """
        first: dict[str, str] = {}
        workers = self._workers()
        for address, info in workers.items():
            first.setdefault(str(info.get("host", address)), address)
        methods = list(dict.fromkeys(one.job.algorithm for one in self._work.jobs))
        # All begin to start their processes; one on each machine makes the environments, too.
        checks = {
            address: self._client.submit(
                _prepare_node,
                self._order,
                methods if address in first.values() else [],
                workers=[address],
                pure=False,
            )
            for address in workers
        }
        self._starting = list(checks.values())
        for check in [checks[address] for address in first.values()]:
            try:
                troubles = check.result()
            except UsageError as error:
                raise UnavailableError(error.message, error.hint) from None
            for trouble in troubles:
                self._work.observer.message(trouble)

    def _workers(self) -> dict[str, Any]:
        with suppress(TimeoutError):
            self._client.wait_for_workers(1, timeout=ALONE_SECONDS)
        workers: dict[str, Any] = self._client.scheduler_info(n_workers=-1)["workers"]
        if not workers:
            raise UnavailableError(
                f"The Dask scheduler at {self._client.scheduler.address} has no worker.",
                f"Start some: dask worker {self._client.scheduler.address}",
            )
        return workers

    def _hand_over(self) -> None:
        most, looked = 0, -LOOK_SECONDS
        seen = time.monotonic()
        while self._line or self._handed:
            now = time.monotonic()
            if now - looked >= LOOK_SECONDS:
                looked = now
                threads = self._count_threads()
                # What waits at a worker would hold memory that others could use.
                most = threads * (1 if self._work.plan.memory_total_mb else AHEAD)
                if most:
                    seen = now
                elif now - seen > ALONE_SECONDS:
                    self._work.observer.message("The Dask scheduler has no worker: waiting.")
                    seen = now
            while len(self._handed) < most:
                job = self._line.take(wait=False)
                if job is None:
                    break
                self._submit(job)
            with suppress(queue.Empty):
                self._took(self._ended.get(timeout=0.2))

    def _count_threads(self) -> int:
        try:
            return sum(self._client.nthreads().values())
        except (OSError, RuntimeError, TimeoutError) as error:
            raise UnavailableError(
                f"The Dask scheduler does not answer any more: {error}.",
                "Give the same command again when it does.",
            ) from None

    def _submit(self, job: ResolvedJob) -> None:
        handed = _SubmittedJob(job, self._losses[job.key])
        future = self._client.submit(
            _do_job, self._order, job.job, job.key, self._topic, pure=False, retries=0
        )
        self._handed[future] = handed
        with self._lock:
            self._by_key[job.key] = handed
        future.add_done_callback(self._ended.put)

    def _on_event(self, event: tuple[float, Any]) -> None:
        """Handle the message that a job has begun."""
        key = event[1]
        with self._lock:
            handed = self._by_key.get(key)
            if handed is not None:
                handed.begun += 1
        if handed is not None:
            self._show(handed.one)

    def _show(self, job: ResolvedJob) -> None:
        with self._lock:
            new = job.key not in self._shown
            self._shown.add(job.key)
        if new:
            self._work.observer.job_started(job.job)

    def _took(self, future: Any) -> None:
        handed = self._handed.pop(future, None)
        if handed is None:
            return
        job = handed.one
        if future.status == "finished":
            record = Record.model_validate_json(future.result())
            again = handed.losses + max(0, handed.begun - 1)
            if again:
                measured = record.measured.model_copy(
                    update={"retries": record.measured.retries + again}
                )
                record = record.model_copy(update={"measured": measured})
            self._leave(job, record)
            return
        error = future.exception() if future.status == "error" else None
        if isinstance(error, MdbenchError) and not isinstance(error, UnavailableError):
            raise error
        reason = (
            str(error)
            if isinstance(error, UnavailableError)
            else f"the worker that did it was lost ({type(error).__name__})"
        )
        self._losses[job.key] += max(1, handed.begun)
        if self._losses[job.key] <= self._work.plan.retries:
            self._work.observer.message(f"{job.job}: {reason}; it is done again.")
            self._line.requeue(job)
            return
        plan = self._work.plan
        retries = self._losses[job.key] - 1
        record = lost_job(job, plan.catalog, self._work.runtime, reason, retries)
        self._leave(job, record)

    def _leave(self, job: ResolvedJob, record: Record) -> None:
        self._line.release(job)
        self._show(job)
        with self._lock:
            self._by_key.pop(job.key, None)
        if record.key != job.key:
            parts = record.key_parts.items() ^ job.parts.items()
            names = ", ".join(sorted({name for name, _ in parts}))
            self._work.observer.message(
                f"{job.job}: on its node another job than here; what differs: {names}."
            )
        self._work.leave(job.job, record)

    def _stop(self) -> None:
        """End what runs: the processes of this run on all workers, and what waits."""
        self._line.end()
        with suppress(Exception):
            self._client.cancel(list(self._handed), force=True)
        self._forget_nodes()

    def _forget_nodes(self) -> None:
        with suppress(Exception):  # workers that have gone have no nodes
            self._client.run(_end_nodes, self._order.name, on_error="ignore")


# What follows runs in Dask's workers.

_idle: dict[str, list[NodeProcess]] = {}
_all: dict[str, list[NodeProcess]] = {}
_lock = threading.Lock()


def _node(order: NodeRequest) -> NodeProcess:
    """Return a process that does jobs of a run, and that nobody uses."""
    with _lock:
        if idle := _idle.setdefault(order.name, []):
            return idle.pop()
    node = NodeProcess(order)
    with _lock:
        _all.setdefault(order.name, []).append(node)
    return node


def _free(order: NodeRequest, node: NodeProcess) -> None:
    with _lock:
        _idle.setdefault(order.name, []).append(node)


def _prepare_node(order: NodeRequest, methods: list[str]) -> list[str]:
    node = _node(order)
    try:
        return node.prepare(methods)
    finally:
        _free(order, node)


def _do_job(order: NodeRequest, job: JobSpec, key: str, topic: str) -> bytes:
    from distributed import get_worker  # noqa: PLC0415

    node = _node(order)
    get_worker().log_event(topic, key)
    try:
        line = node.do(job)
    except UnavailableError:
        node.end()  # lost
        raise
    except BaseException:
        _free(order, node)
        raise
    _free(order, node)
    return line


def _end_nodes(name: str) -> None:
    """End the processes of a run in threads, so that the worker goes on answering."""
    with _lock:
        nodes = _all.pop(name, [])
        _idle.pop(name, None)
    for node in nodes:
        threading.Thread(target=node.end, daemon=True).start()
