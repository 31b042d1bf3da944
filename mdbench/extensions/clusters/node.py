"""A place on another machine, or in another process, that does jobs of a run one after the other.

`ClusterNode` does the work, in a process of its own: `NodeProcess` starts one, hands it
specifications and waits for records.  It ends when whoever started it does, and with it all that
it has started.
"""

from __future__ import annotations

import os
import pickle
import socket
import struct
import subprocess
import sys
import threading
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, TypeAlias

import mdbench
from mdbench import __version__
from mdbench.errors import MdbenchError, MethodError, UnavailableError, UsageError
from mdbench.installation import PACKAGE
from mdbench.runs.calibration import PERIOD_S
from mdbench.runs.catalog import Catalog
from mdbench.runs.job import begin_job
from mdbench.runs.plan import environment_key, resolve_job
from mdbench.runs.worker_pool import GRACE_S, EnvironmentCache, RetryPolicy, WorkerSlot
from mdbench.runtimes.registry import open_runtime
from mdbench.workspace import Workspace, code_fingerprint

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from mdbench.records import Record
    from mdbench.runs.plan import Plan
    from mdbench.runs.services import Connection, RemoteConnection
    from mdbench.runs.spec import JobSpec
    from mdbench.runtimes.base import Level, Runtime

Opener: TypeAlias = "Callable[..., Runtime]"
"""Opens a runtime, as `mdbench.runtimes.registry.open_runtime`; it pickles."""


@dataclass(frozen=True)
class NodeRequest:
    """The options by which a node does the jobs of a run, as in `Plan`; it can be pickled.

    Attributes
    ----------
    name
        Of the run; no other one has it.
    version
        Of mdbench, which has to be the node's, too.
    root, home
        The workspace here; a node that has no such folder looks for its own.
    runtime
        The runtime's name, never ``auto``: it has been decided.
    result_dir
        The folder below which logs are written; on the node it may be another disk's.
    seen_from
        The folder from which relative paths, such as those of the user's data, are seen.
    opens
        Opens the runtime.
    connections
        How services are reached.
    code
        The fingerprint of the code here, which has to be the node's, too.
    """

    name: str
    version: str
    root: Path
    home: Path
    runtime: str
    require: tuple[tuple[str, Level], ...]
    result_dir: Path
    retries: int
    fresh_sandbox: bool
    seen_from: Path
    opens: Opener = open_runtime
    connections: Mapping[str, RemoteConnection] = field(default_factory=dict)
    code: str = ""

    @classmethod
    def of(
        cls,
        plan: Plan,
        runtime: Runtime,
        *,
        name: str,
        require: tuple[tuple[str, Level], ...] = (),
        opens: Opener = open_runtime,
        connections: Mapping[str, RemoteConnection] | None = None,
    ) -> NodeRequest:
        """Return the request that a plan makes."""
        workspace = plan.catalog.workspace
        return cls(
            name=name,
            version=__version__,
            root=workspace.root.absolute(),
            home=workspace.home.absolute(),
            runtime=runtime.name,
            require=require,
            result_dir=plan.result_dir.absolute(),
            retries=plan.retries,
            fresh_sandbox=plan.fresh_sandbox,
            seen_from=Path.cwd(),
            opens=opens,
            connections=dict(connections or {}),
            code=code_fingerprint(mdbench),
        )

    def workspace(self) -> Workspace:
        """Return the workspace on this node.

        Raises
        ------
        UsageError
            If there is none here, or one of another version.
        """
        if self.version != __version__:
            raise UsageError(
                f"{_host()} has mdbench {__version__}, and the run is of {self.version}.",
                "Install the same version on all nodes.",
            )
        if self.code != code_fingerprint(mdbench):
            raise UsageError(
                f"{_host()} has mdbench {__version__} of another commit, in {PACKAGE}.",
                "Check out the same commit on all nodes, and start their Dask workers again.",
            )
        if (self.root / "algorithms").is_dir():
            return Workspace(self.root, self.home)
        return Workspace.find()

    def open(self, on_line: Callable[[str], None] | None = None) -> Runtime:
        """Open the runtime on this node.

        Raises
        ------
        UnavailableError
            If it does not work here, or keeps less than is required; names the node.
        """
        try:
            return self.opens(
                self.runtime, self.workspace().home, on_line, require=dict(self.require)
            )
        except UnavailableError as error:
            raise UnavailableError(
                f"{_host()}: {error.message}", error.hint, passing=error.passing
            ) from None

    def open_connections(self) -> dict[str, Connection]:
        """Open the connections to services on this node."""
        return {name: remote.open() for name, remote in self.connections.items()}


class ClusterNode:
    """Does jobs on this machine, one at a time, with workers that are kept warm.

    Raises
    ------
    UsageError, UnavailableError
        If no job can be done here: as `NodeRequest.workspace` and `NodeRequest.open`.
    """

    def __init__(self, order: NodeRequest, on_line: Callable[[str], None] | None = None) -> None:
        self._catalog = Catalog(order.workspace(), on_line)
        self._runtime = order.open(on_line)
        self._environments = EnvironmentCache(self._runtime, RetryPolicy(order.retries))
        self._keys: dict[str, dict[str, str]] = {}
        self.slot = WorkerSlot(
            self._catalog,
            self._runtime,
            self._environments,
            order.result_dir,
            fresh_sandbox=order.fresh_sandbox,
            period_s=PERIOD_S,
            connections=order.open_connections(),
            grace_s=GRACE_S,
        )
        self.slot.has_next = True

    def prepare(self, methods: Sequence[str]) -> list[str]:
        """Make the environments of methods; return what went wrong."""
        troubles = []
        for name in methods:
            try:
                self._environments.get(self._catalog.method(name))
            except (UnavailableError, MethodError) as error:
                troubles.append(f"{_host()}: {error.message}")
        return troubles

    def do(self, job: JobSpec) -> Record:
        """Do a job, and return its record.

        Raises
        ------
        DataError, MethodError, UsageError
            If it cannot be begun here.
        """
        if job.algorithm not in self._keys:
            method = self._catalog.method(job.algorithm)
            self._keys[job.algorithm] = environment_key(method, self._runtime)
        one = resolve_job(job, self._catalog, self._keys[job.algorithm])
        return begin_job(one, self.slot)()

    def close(self) -> None:
        """End the workers, and let go of the runtime."""
        with suppress(MdbenchError):
            self.slot.__exit__(None, None, None)
        self._runtime.close()
        for connection in self.slot.connections.values():
            connection.close()


class NodeProcess:
    """A node in a process of its own, which ends when this one does.

    Raises
    ------
    UsageError, UnavailableError
        If no job can be done here.
    """

    def __init__(self, order: NodeRequest) -> None:
        # The same modules as here, from wherever they are.
        path = os.pathsep.join(filter(None, sys.path))
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-c", _SERVE],  # no code of the folder where it was typed
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=os.environ | {"PYTHONPATH": path},
            cwd=order.seen_from if order.seen_from.is_dir() else None,
            start_new_session=True,
        )
        try:
            self._ask(order)
        except BaseException:
            self.end()
            raise

    def prepare(self, methods: Sequence[str]) -> list[str]:
        """Make environments, as `ClusterNode.prepare`."""
        troubles: list[str] = self._ask(("prepare", list(methods)))
        return troubles

    def do(self, job: JobSpec) -> bytes:
        """Do a job, and return the line of its record.

        Raises
        ------
        DataError, MethodError, UsageError
            If it cannot be begun here.
        UnavailableError
            If the process was lost.
        """
        line: bytes = self._ask(("do", job))
        return line

    def _ask(self, question: Any) -> Any:
        assert self._process.stdin is not None  # noqa: S101 - for the type checker
        assert self._process.stdout is not None  # noqa: S101
        try:
            _send(self._process.stdin, question)
            answer = _receive(self._process.stdout)
        except (OSError, EOFError, struct.error):
            raise UnavailableError(
                f"{_host()}: the process that does jobs was lost "
                f"(exit status {self._process.poll()}).",
                passing=True,
            ) from None
        if isinstance(answer, MdbenchError):
            raise answer
        return answer

    def end(self) -> None:
        """End it, and the job that it does."""
        for stream in (self._process.stdin, self._process.stdout):
            if stream is not None:
                with suppress(OSError):
                    stream.close()
        try:
            self._process.wait(_END_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()


_END_SECONDS = 10.0
_LENGTH = struct.Struct("<Q")


def _send(stream: IO[bytes], what: Any) -> None:
    content = pickle.dumps(what)
    stream.write(_LENGTH.pack(len(content)) + content)
    stream.flush()


def _receive(stream: IO[bytes]) -> Any:
    (length,) = _LENGTH.unpack(stream.read(_LENGTH.size))
    content = stream.read(length)
    if len(content) < length:
        raise EOFError
    return pickle.loads(content)  # noqa: S301 - from a process that we have started, or from whoever did


def _host() -> str:
    return socket.gethostname()


_SERVE = "from mdbench.extensions.clusters.node import serve; serve()"


def serve() -> None:
    """Serve whoever started this process, until its end of the pipe is closed."""
    questions = os.fdopen(os.dup(0), "rb")
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(2, 1)  # what anything prints is no answer
    asked: list[Any] = []
    there = threading.Semaphore(0)
    node: ClusterNode | None = None

    def listen() -> None:
        with suppress(OSError, EOFError, struct.error):
            while True:
                asked.append(_receive(questions))
                there.release()
        if node is not None:
            node.slot.interrupt()
        asked.append(None)
        there.release()

    threading.Thread(target=listen, daemon=True).start()
    while True:
        there.acquire()
        question = asked.pop(0)
        if question is None:
            break
        try:
            if isinstance(question, NodeRequest):
                node = ClusterNode(question)
                answer: Any = None
            else:
                assert node is not None  # noqa: S101 - the order comes first
                verb, what = question
                answer = node.prepare(what) if verb == "prepare" else _line(node.do(what))
        except MdbenchError as error:
            answer = error
        try:
            _send(answers, answer)
        except OSError:
            break
    if node is not None:
        node.close()


def _line(record: Record) -> bytes:
    return record.to_line().encode() + b"\n"
