"""The seam of runtimes: how a worker is launched and held."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar, Self

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path
    from types import TracebackType

    from pydantic import BaseModel

    from mdbench.methods import Method
    from mdbench.runtimes.protocol import Message

__all__ = ["Prepared", "Runtime", "Worker", "WorkerGoneError", "WorkerTimeoutError"]


class WorkerGoneError(Exception):
    """The worker has ended; `exit_code` is minus the signal that killed it, None if unknown."""

    def __init__(self, message: str, exit_code: int | None = None) -> None:
        super().__init__(message)
        self.exit_code = exit_code


class WorkerTimeoutError(Exception):
    """The worker did not answer in time."""


@dataclass(frozen=True)
class Prepared:
    """A method's environment, ready to start workers in.

    Attributes
    ----------
    command
        How a worker is started; what it means is the runtime's affair.
    identity
        What the environment is made of: part of every record's key.
    python, packages
        The versions inside it.
    """

    command: tuple[str, ...]
    identity: str
    python: str
    packages: Mapping[str, str] = field(default_factory=dict)


class Worker(ABC):
    """A running worker: one process inside a method's environment that serves jobs.

    Start and use it from one thread; `interrupt` may be called from any.
    """

    @property
    @abstractmethod
    def alive(self) -> bool:
        """Whether the worker can serve another job."""

    @abstractmethod
    def begin_log(self, path: Path, job: str) -> None:
        """Write what the job prints to `path` from now on, up to a cap."""

    @abstractmethod
    def end_log(self) -> None:
        """Close the job's log once all that the job printed is in it."""

    @abstractmethod
    def send(self, message: BaseModel) -> None:
        """Send a message.

        Raises
        ------
        WorkerGoneError
            If the worker has ended.
        """

    @abstractmethod
    def receive(self, timeout: float | None) -> Message:
        """Wait at most `timeout` seconds for a message.

        Raises
        ------
        WorkerTimeoutError
            If none came in time.
        WorkerGoneError
            If the worker has ended.
        ProtocolError
            If what came is no message.
        """

    @abstractmethod
    def kill_job(self, pid: int) -> None:
        """Kill the job's process and all that it started in its session, at once."""

    @abstractmethod
    def interrupt(self) -> None:
        """Kill the worker with its job; whoever waits for it gets WorkerGoneError."""

    @abstractmethod
    def close(self) -> None:
        """End the worker; no process of it is left afterwards."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


class Runtime(ABC):
    """A way to isolate methods."""

    name: ClassVar[str]

    @abstractmethod
    def prepare(self, method: Method) -> Prepared:
        """Make the method's environment, or find it made.

        Raises
        ------
        UnavailableError
            If it cannot be made on this machine; says why.
        MethodError
            If the method's folder lacks what it takes.
        """

    @abstractmethod
    def start(
        self,
        method: Method,
        prepared: Prepared,
        *,
        threads: int,
        on_launch: Callable[[Worker], None] | None = None,
    ) -> Worker:
        """Start a worker and wait until its adapter is imported.

        Parameters
        ----------
        on_launch
            Given the worker before the wait, so that it can be interrupted.

        Raises
        ------
        MethodError
            If the adapter cannot be imported; says why.
        """
