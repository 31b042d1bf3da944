"""Where the jobs of a run are done: the seam between a run and the machines that do it.

A run plans, decides what is due, and keeps the results files; a backend does jobs and hands over
their records.  See docs/adding-a-backend.md.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from mdbench.records import Record
    from mdbench.runs.due import Ready
    from mdbench.runs.plan import Plan
    from mdbench.runs.spec import JobSpec
    from mdbench.runtimes.base import Runtime

__all__ = ["Backend", "Expectation", "Observer", "Work"]


class Observer(Protocol):
    """Whoever wants to know how a run goes on; called from several threads."""

    def message(self, text: str) -> None:
        """Tell something that a person should know."""

    def prepared(self, to_run: int, done: int) -> None:
        """The jobs are known: how many will be run, how many have their record already."""

    def job_started(self, job: JobSpec) -> None:
        """A job begins."""

    def job_ended(self, job: JobSpec, record: Record) -> None:
        """A job has left its record."""


@dataclass(frozen=True, slots=True)
class Expectation:
    """What a job will probably take: seconds of wall time, MiB of memory (None: nobody knows)."""

    wall_s: float
    memory_mb: float | None = None


@dataclass(frozen=True)
class Work:
    """What a backend is given.

    Attributes
    ----------
    jobs
        All that is to be done.
    expected
        What a job will probably take.
    leave
        Writes a job's record down; may be called from any thread, once for each job.
    """

    plan: Plan
    runtime: Runtime
    observer: Observer
    jobs: Sequence[Ready]
    expected: Callable[[Ready], Expectation]
    leave: Callable[[JobSpec, Record], None]


class Backend(ABC):
    """A place where jobs are done.

    Attributes
    ----------
    in_this_process
        Whether jobs are led by threads of this process, which may keep a budget for all of them.
    """

    in_this_process: ClassVar[bool] = False

    def prepare(self, result_dir: Path, observer: Observer) -> None:  # noqa: B027 - most need nothing
        """Bring home what an earlier run of this backend has left in a results folder."""

    @abstractmethod
    def run(self, work: Work) -> bool:
        """Do the jobs, and leave a record of each; tell whether the user interrupted it.

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
        """Let go of what the backend holds."""
