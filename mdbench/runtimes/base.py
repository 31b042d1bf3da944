"""The interface of runtimes: how a worker is launched, limited and paused; and the choice of one.

A runtime isolates methods in one way.  It names the limits that it enforces and how strictly; what
a limit is, and what it means for a job's status when one is broken, is the same for all runtimes.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Literal, TypeAlias

from mdbench.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from mdbench.methods import Method
    from mdbench.runtimes.worker import Worker

ENFORCED = ("network", "files", "memory", "processes")
"""What a runtime can keep a method from: the net, files that are not its own, and using too much
memory or too many processes."""

Level: TypeAlias = Literal["none", "soft", "hard"]
LEVELS: tuple[Level, ...] = ("none", "soft", "hard")
"""From weak to strong.  ``hard``: the kernel keeps it.  ``soft``: mdbench looks often, and ends
what is over.  ``none``: nobody looks."""

PROCESSES = 256
"""Processes and threads that a job may have at a time, by default."""
OUTPUT_MB = 2048
"""MiB that a job may write, by default."""


class WorkerGoneError(Exception):
    """The worker has ended.

    Attributes
    ----------
    exit_code
        Its exit status, or minus the signal that killed it; None if unknown.
    lost
        Whether it was lost by no doing of the method: what ran it has gone.
    """

    def __init__(self, message: str, exit_code: int | None = None, *, lost: bool = False) -> None:
        super().__init__(message)
        self.exit_code = exit_code
        self.lost = lost


class WorkerTimeoutError(Exception):
    """The worker did not answer in time."""


@dataclass(frozen=True)
class Enforcement:
    """The limits that a runtime enforces on this machine.

    Attributes
    ----------
    levels
        How each of `ENFORCED` is kept.
    how
        By what means, for people.
    """

    levels: Mapping[str, Level]
    how: str

    def details(self) -> dict[str, Any]:
        """Return its part of a record."""
        return {"enforces": dict(self.levels), "how": self.how}


def not_held(levels: Mapping[str, Level], jobs: Mapping[str, Any]) -> list[str]:
    """Return the ways by which a job could still pass something to another job.

    Parameters
    ----------
    levels
        As in `Enforcement`.
    jobs
        What isolates the job, as the record has it: ``new_sandbox``, ``namespaces``,
        ``system_calls``.

    Returns
    -------
    list of str
        From those that carry most to those that carry some noisy bits; docs/isolation.md explains
        each, and tests/support/kept_state.py tries what the kernel keeps.
    """
    alone = jobs.get("new_sandbox") is True
    apart = alone or jobs.get("namespaces") is True
    ways = []
    if not apart and levels.get("files", "none") == "none":
        ways += ["files outside the job's folder", "other processes of the user"]
    if not apart:
        ways += ["what the kernel keeps of the network, the folders and the processes"]
    if jobs.get("system_calls") is not True:
        ways += ["shared memory, message queues and locks"]
    if not alone:
        ways += ["what the adapter changes in the worker at import"]
    return [*ways, "inode numbers of pipes and memory files", "load, caches and free disk space"]


@dataclass(frozen=True)
class Limits:
    """Limits of the jobs of a worker; all but `threads` are of the whole tree.

    Attributes
    ----------
    threads
        Threads that numerical libraries use.
    memory_mb
        Resident memory, in MiB; None for all that the machine has.
    processes
        Processes and threads at a time.
    output_mb
        Bytes that a job may leave in its folder, in MiB.
    """

    threads: int = 1
    memory_mb: int | None = None
    processes: int = PROCESSES
    output_mb: int = OUTPUT_MB


@dataclass(frozen=True)
class Breach:
    """A limit that a job broke and was ended for."""

    limit: Literal["memory", "processes"]
    reason: str


@dataclass(frozen=True)
class JobFolder:
    """A job's own folder: open here, and as the worker names it.

    The host has no name for it, since what is there by that name may be something else by now.

    Attributes
    ----------
    descriptor
        The folder, open.
    inside
        What the worker calls it.
    above
        The folder in which it was made, open, where a job may be able to write, too: then all that
        is in it counts as written by the job.
    """

    descriptor: int
    inside: str
    above: int | None = None


@dataclass(frozen=True)
class Prepared:
    """A method's environment, ready to start workers in.

    Attributes
    ----------
    command
        How a worker is started; what it means is the runtime's affair.
    identity
        What the environment is made of.
    python, packages
        The versions inside it.
    details
        What else a record should hold.
    checkouts
        Folders with commits of git repositories that its jobs may read, by name.
    """

    command: tuple[str, ...]
    identity: str
    python: str
    packages: Mapping[str, str] = field(default_factory=dict)
    details: Mapping[str, Any] = field(default_factory=dict)
    checkouts: Mapping[str, Path] = field(default_factory=dict)


class Runtime(ABC):
    """A way to isolate methods."""

    name: ClassVar[str]

    @abstractmethod
    def probe(self) -> Enforcement:
        """Return what is enforced on this machine.

        Raises
        ------
        UnavailableError
            If the runtime does not work here at all; with the reason, and what to do.
        """

    def missing(self) -> str:
        """Return what has to be fetched or made before any method can run; empty for nothing."""
        return ""

    def close(self) -> None:  # noqa: B027 - most hold nothing
        """Release what the runtime holds; its workers have been closed."""

    @abstractmethod
    def identity(self, method: Method) -> dict[str, str]:
        """Return what a job's key must hold beyond the method's folder and lock.

        Raises
        ------
        UnavailableError
            If it is not known, as the runtime does not work here.
        """

    @abstractmethod
    def prepare(self, method: Method) -> Prepared:
        """Make the method's environment, or find it made.

        Raises
        ------
        UnavailableError
            If it cannot be made on this machine; with the reason.
        MethodError
            If the method's folder lacks what it takes.
        """

    def interrupt(self) -> None:  # noqa: B027 - not every runtime makes something
        """End what is being made, and make nothing more until `resume`; `prepare` then raises."""

    def resume(self) -> None:  # noqa: B027 - the same
        """Make things again: another run begins."""

    @abstractmethod
    def size_mb(self, prepared: Prepared) -> float:
        """Return the space that an environment takes on the disk, in MiB."""

    def save(self, made: Sequence[Prepared], path: Path) -> None:  # noqa: ARG002 - for engines
        """Write images into one file, for a machine without a network; nothing if there are none.

        Raises
        ------
        UsageError
            If methods have no images here.
        UnavailableError
            If the file cannot be written.
        """
        raise UsageError(
            f"--save writes images, and {self.name} has none.", "Add --runtime docker."
        )

    @abstractmethod
    def start(
        self,
        method: Method,
        prepared: Prepared,
        limits: Limits,
        *,
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
            If the adapter cannot be imported; with the reason.
        UnavailableError
            If the runtime does not work any more.
        """


def parse_requirements(texts: Sequence[str]) -> dict[str, Level]:
    """Read values of ``--require``, such as ``network=hard``.

    Raises
    ------
    UsageError
        If one is not of that form.
    """
    levels: dict[str, Level] = {}
    for text in texts:
        match = re.fullmatch(r"(\w+)=(\w+)", text)
        level = next((level for level in LEVELS if match and level == match[2]), None)
        if match is None or match[1] not in ENFORCED or level is None:
            raise UsageError(
                f"--require is {text!r}.",
                f"Give one of {', '.join(ENFORCED)} and how hard it is to be kept "
                f"({', '.join(LEVELS)}), e.g. --require network=hard.",
            )
        levels[match[1]] = level
    return levels
