"""Services: what is outside of a job's sandbox and may be asked while the job runs.

A method may ask the service that its ``method.toml`` names below ``[access]``.  The core has none:
they come in by the door `SERVICES` (docs/extending.md), language models among them.  Their
options are options of a run; those of `Service.job_options` are in a job's key and its record.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from contextlib import nullcontext, suppress
from dataclasses import dataclass, fields
from functools import cache
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

from mdbench.doors import SERVICES
from mdbench.errors import MdbenchError, UnavailableError, UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
    from contextlib import AbstractContextManager
    from pathlib import Path

    from mdbench.datatypes.base import Background, ScoredCandidate, Split, Task
    from mdbench.records import Record
    from mdbench.runs.scoring import JobResult
    from mdbench.runs.spec import JobSpec
    from mdbench.runs.study import RunOptions


@dataclass(frozen=True)
class TaskView:
    """A problem as a method is shown it: here as it is.

    Attributes
    ----------
    variables, targets
        The names that are shown, in that order.
    """

    variables: tuple[str, ...]
    targets: tuple[str, ...]

    @classmethod
    def plain(cls, task: Task[Any]) -> TaskView:
        """Return a task as it is: what every method is shown that asks no service."""
        return TaskView(task.variables, task.targets)

    @property
    def description(self) -> str | None:
        """What is shown besides names and data; None for nothing."""
        return None

    def reordered(self, part: Split) -> Split:
        """Return a part with its columns in the order in which they are shown."""
        return part

    def equation(self, text: str) -> str:
        """Translate an answer into the names of the task."""
        return text


class Turn(Protocol):
    """The turn of a job on the cores, where more jobs are under way than there are cores."""

    @property
    def waited_s(self) -> float:
        """Seconds for which answers have waited for it."""

    def lent(self) -> AbstractContextManager[None]:
        """Leave it to others while a request is answered."""

    def hang_up(self) -> None:
        """Wait no more for it."""


class ServiceUse:
    """What a job has used of a service: here nothing that is worth a word.

    Attributes
    ----------
    network
        What the job could reach, as ``runtime.details`` of the record has it.
    """

    network: ClassVar[str] = "one endpoint"

    @property
    def ended(self) -> str:
        """Why the service ended the job, which is no doing of the method's; empty if it did not."""
        return ""

    @property
    def has_failed(self) -> bool:
        """Whether the result follows from a fault of the service, so that it says nothing else."""
        return bool(self.ended)

    def correct(self, result: JobResult) -> None:
        """Keep the service's faults from being the method's."""

    def recorded(self, settings: Mapping[str, Any], result: JobResult) -> dict[str, Any]:
        """Return keys of the job's record; `settings` are those of the specification."""
        del settings, result
        return {}

    def measured(self) -> dict[str, Any]:
        """Return keys of the record's part ``measured``."""
        return {}


class ServiceSession:
    """The access of one job to a service.

    Attributes
    ----------
    view
        How the problem is shown to the method.
    order
        Fields of the job's order: how its process reaches the service.
    """

    view: TaskView
    order: Mapping[str, Any] = MappingProxyType({})

    @property
    def waited_s(self) -> float:
        """Seconds that the job waited for the service; they do not count as its own time."""
        return 0.0

    def use(self, candidates: Sequence[ScoredCandidate]) -> ServiceUse:
        """Return what a job has used that has ended; `candidates` are those of the job."""
        del candidates
        return ServiceUse()


class RemoteConnection(ABC):
    """What another process needs to reach a service; it can be pickled, and has no secret."""

    @abstractmethod
    def open(self) -> Connection:
        """Return the connection there.

        Raises
        ------
        UsageError
            If it cannot be used.
        """


class Connection(ABC):
    """The way in which a run reaches a service; may be used from several threads."""

    @abstractmethod
    def session(
        self,
        job: JobSpec,
        task: Task[Any],
        background: Background,
        *,
        folder: int,
        log: Path,
        turn: Turn | None,
    ) -> AbstractContextManager[ServiceSession]:
        """Open the session of a job, which may ask as long as the context lasts.

        Parameters
        ----------
        background
            What people know of the problem.
        folder
            The job's folder, open, in which nobody else is yet.
        log
            The job's log.
        turn
            The job's turn on the cores; None where there are no turns.
        """

    def check(self, jobs: Sequence[JobSpec], *, in_this_process: bool) -> None:  # noqa: B027
        """Refuse jobs that may not be begun, such as for what they could cost together.

        Raises
        ------
        UsageError
            If a job may not be begun.
        """

    def observed(self, report: Callable[[str], None], restarted: Collection[JobSpec]) -> Connection:
        """Return it with whom it reports to, and the jobs that begin at their start.

        Other jobs go on from what earlier attempts have left.
        """
        del report, restarted
        return self

    def shared(
        self, home: Path, *, in_this_process: bool
    ) -> AbstractContextManager[RemoteConnection | None]:
        """Keep secrets from processes that are started meanwhile; return what others need.

        Parameters
        ----------
        home
            A folder for what only the user may read.
        in_this_process
            Whether no other process leads jobs; then it is None.
        """
        del home, in_this_process
        return nullcontext()

    def begin(self, job: JobSpec, log: Path) -> ServiceUse | None:
        """Get ready for a job; return why it need not be begun, as its use, else None."""
        del job, log
        return None

    def exchanges(self, log: Path) -> Path:
        """Return the file of what was asked and answered, next to the job's log; need not exist."""
        return log.with_suffix(".exchanges")

    def finish(self, log: Path) -> None:  # noqa: B027 - most have nothing to forget
        """Forget the earlier attempts at a job that has ended for good."""

    def close(self) -> None:  # noqa: B027 - most hold nothing
        """Close it."""


class Service(ABC):
    """A service that methods may ask.

    Attributes
    ----------
    title
        What its options are below in the help.
    job_options
        A frozen dataclass of the options of a job (`mdbench.runs.options.option`), each with the
        access that it needs.
    run_options
        The same of the options of a run: nothing of them is in a key or a record.
    """

    title: ClassVar[str]
    job_options: ClassVar[type[Any]]
    run_options: ClassVar[type[Any]]

    def check(self, options: RunOptions, methods: Sequence[str]) -> None:  # noqa: B027
        """Refuse options that do not go together, or do not suffice for methods that ask.

        Raises
        ------
        UsageError
            If options do not go together, or do not suffice.
        """

    @abstractmethod
    def connect(self, options: RunOptions) -> Connection | None:
        """Return the connection that was asked for; None where nothing was.

        Raises
        ------
        UsageError
            If it cannot be used.
        """

    @abstractmethod
    def replay(self, logs: Mapping[JobSpec, Path]) -> Connection:
        """Return a connection that answers jobs from files of their exchanges."""

    def unreachable(self, job: JobSpec) -> UsageError:
        """Return the error of a job that asks, in a run without a connection."""
        return UsageError(
            f"{job.algorithm} asks a service, and no option says how it is reached.",
            f"mdbench run --help has the options below {self.title!r}.",
        )

    def key_parts(self, job: JobSpec, background: Background) -> dict[str, str]:
        """Return parts of the key of a job that asks, besides its options."""
        del job, background
        return {}

    def control_settings(self, job: JobSpec) -> dict[str, Any]:
        """Return hyperparameters of the job of a control, which asks nobody."""
        del job
        return {}

    def at_a_time(self, options: RunOptions) -> int | None:
        """Return how many jobs that ask may be under way; None for no number of their own."""
        del options
        return None

    def ended(self, record: Record | dict[str, Any]) -> bool:
        """Whether it ended a job, which then goes on when it is run again."""
        del record
        return False

    def forecast(self, jobs: Sequence[JobSpec]) -> str:
        """Write what jobs may ask at most; empty where none asks."""
        del jobs
        return ""

    def summary(self, records: Iterable[Record]) -> str:
        """Write what jobs have used; empty where none has asked."""
        del records
        return ""


@cache
def services() -> Mapping[str, Service]:
    """Return all services that can be used, by the names that ``[access]`` has for them."""
    members: dict[str, Service] = {}
    for name in SERVICES.names():
        with suppress(UnavailableError):  # `service_of` has the reason, for who needs it
            members[name] = _loaded(name)
    return members


def service_of(name: str, who: str) -> Service:
    """Return the service that a method asks.

    Parameters
    ----------
    who
        The method, in an error.

    Raises
    ------
    UsageError
        If nothing here provides it, or what does cannot be used.
    """
    if name not in services():
        try:
            _loaded(name)
        except MdbenchError as error:
            raise UsageError(
                f"{who} asks the service {name!r}, which is not here: {error.message}",
                "Install the package that provides it, or put its folder back into "
                "mdbench/extensions; or leave this method out.  "
                f"Services here: {', '.join(services()) or 'none'}.",
            ) from None
    return services()[name]


def _loaded(name: str) -> Service:
    member = SERVICES.load(name)
    try:
        service: Service = member()
        fits = all(
            kind.__dataclass_params__.frozen and all(declared.kw_only for declared in fields(kind))
            for kind in (service.job_options, service.run_options)
        )
    except Exception as error:
        raise UnavailableError(f"The service {name} cannot be used: {error}.") from error
    if not fits:
        raise UnavailableError(
            f"The service {name} cannot be used: its options are no dataclass with frozen=True and "
            "kw_only=True."
        )
    return service


def options_of(kind: str) -> type[Any]:
    """Return a class with the options that all services have, to derive from.

    Parameters
    ----------
    kind
        ``job_options`` or ``run_options``.
    """
    bases = dict.fromkeys(getattr(service, kind) for service in services().values())
    return type(kind, tuple(bases), {})
