"""The seam of data types: all that the bench knows of a kind of problem.

A data type is one folder in this one (or in one that ``$MDBENCH_DATATYPES`` names).  ``DATA_TYPE``
of its module ``data_type`` is the class; its data files are under ``datasets/<name>/``.  It says
what a method is given (`DataType.task`), what an answer is (`DataType.read_answer`), how it is
scored (`DataType.judge`, `DataType.metrics`) and how candidates are compared (`DataType.weigh`,
`DataType.select`).  Nothing outside knows which data types there are, or what any of them measures.

Data types whose answers are equations inherit all of this but the data from
`mdbench.datatypes.equations.base.EquationType`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import IO, TYPE_CHECKING, Any, ClassVar, Generic

from mdbench.data.cache import write_whole
from mdbench.data.noise import SNR_LEVELS_DB
from mdbench.datatypes.seam.answers import chosen
from mdbench.datatypes.seam.pictures import Drawn
from mdbench.datatypes.seam.questions import NO_OPTIONS, Background, D, T
from mdbench.errors import UsageError
from mdbench.metrics.selection import best_by_complexity
from mdbench.protocols import Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from pathlib import Path

    import numpy as np
    from numpy.typing import NDArray

    from mdbench.datatypes.seam.answers import Answer, Choice, Offer, Proposal, RawAnswer, Scores
    from mdbench.datatypes.seam.pictures import Room, Shown
    from mdbench.datatypes.seam.questions import Option, Part
    from mdbench.metrics.spec import MetricSpec, Value

    Array = NDArray[np.float64]

__all__ = ["DataType", "Source"]


def _say_nothing(text: str) -> None:
    """Take a message that nobody wants to see."""


class Source(ABC, Generic[D]):
    """A set of named datasets: the project's own systems, or the user's files."""

    @abstractmethod
    def names(self) -> Sequence[str]:
        """Give the names of all datasets, in the order in which they are run."""

    @abstractmethod
    def title(self, name: str) -> str:
        """Say in a few words what the dataset is."""

    def notes(self, name: str) -> Sequence[str]:  # noqa: ARG002 - most have none
        """Give what the dataset's own file says of its data that a reader of scores should know."""
        return ()

    def background(self, name: str) -> Background:  # noqa: ARG002 - of most nothing is known
        """Give what people know of a dataset beside its data, for prompts that may tell it."""
        return Background()

    def at_hand(self, name: str, options: Mapping[str, Any]) -> bool:  # noqa: ARG002 - of most all are
        """Tell whether a dataset is loaded in a moment: its arrays are there, or soon made."""
        return True

    def groups(self) -> Mapping[str, Sequence[str]]:
        """Give the names by which several datasets can be asked for at once."""
        return {}

    @abstractmethod
    def load(
        self,
        name: str,
        *,
        snr_db: float | None,
        seed: int,
        protocol: Protocol,
        options: Mapping[str, Any] = NO_OPTIONS,
    ) -> D:
        """Make or read one dataset at one noise level.

        Parameters
        ----------
        options
            The values of the data type's options, by their keys.

        Raises
        ------
        DataError
            If the data cannot be used; it names the file, the key and the value.
        """


class DataType(ABC, Generic[D, T]):
    """A kind of problem.

    Parameters
    ----------
    systems
        The folder with the data files of its systems.
    cache
        A folder for arrays that are made on first use; need not exist yet.

    Attributes
    ----------
    say
        Told, in a line of text, how the making of data that takes long goes on.
    """

    name: ClassVar[str]
    views: ClassVar[tuple[str, ...]]
    """The views in which its datasets can be given to a method."""
    families: ClassVar[tuple[str, ...]] = ()
    """Families of methods beyond those that all data types share."""
    metrics: ClassVar[tuple[MetricSpec, ...]]
    """What answers are scored by; the first is what methods are ranked by."""
    check_datasets: ClassVar[tuple[str, ...]]
    """Small datasets of its own on which ``mdbench check`` tries a method."""
    options: ClassVar[tuple[Option, ...]] = ()
    """What can be asked for beyond the options that all data types share."""
    snr_levels: ClassVar[bool] = True
    """Whether its data have noise levels in dB."""
    scorer_version: ClassVar[int] = 1
    """The version of all that makes scores of its answers, in every record's key: it is raised with
    each change after which some answer scores otherwise (see CONTRIBUTING.md)."""
    lawful: ClassVar[bool] = False
    """Whether its data follow true equations exactly, which then are the best answers there are."""
    from_files: ClassVar[bool] = False
    """Whether its datasets follow from code, from the files in `systems` and at the user's path,
    and from what is asked for, and nothing else: then what they are known by is remembered."""
    draws: ClassVar[bool] = False
    """Whether it has `pictures`."""
    derivative: ClassVar[str] = "d"
    """The letter of derivatives on left-hand sides, such as that of the target ``u0_t``."""

    def __init__(self, systems: Path, cache: Path) -> None:
        self.systems = systems
        self.cache = cache
        self.say: Callable[[str], None] = _say_nothing

    @abstractmethod
    def source(self, path: Path | None = None) -> Source[D]:
        """Open the project's own systems, or the user's data at `path`.

        Raises
        ------
        DataError
            If there is nothing at `path` that this data type can read.
        """

    def asked(
        self, names: Sequence[str], given: Mapping[str, Any]
    ) -> list[tuple[str, Mapping[str, Any]]]:
        """Name the datasets that options make of those named, each with what the job keeps of them.

        Parameters
        ----------
        names
            Names of a source of this data type.
        given
            The values of the options that were given, by their keys.

        Raises
        ------
        UsageError
            If a value does not fit.
        """
        return [(name, given) for name in names]

    @abstractmethod
    def task(self, dataset: D, view: str, protocol: Protocol) -> T:
        """Cut a dataset by the protocol's rules and show it in one of the `views`."""

    def parts(self, task: T, tuning: str) -> tuple[Part, Part]:
        """Give the data of the first fit, and those that candidates are compared on."""
        return (task.train, task.validation) if tuning == "grid" else (task.refit, task.refit)

    def judged_by(self, task: T) -> tuple[str, ...]:  # noqa: ARG002 - of most always the same
        """Name the metrics that any answer to a task has, whether there is one or not."""
        return tuple(spec.name for spec in self.metrics)

    @abstractmethod
    def read_answer(self, task: T, raw: RawAnswer) -> Answer:
        """Read an answer, and check it against itself.

        Raises
        ------
        AnswerError
            If nothing in it may be scored; says why.
        """

    @abstractmethod
    def judge(self, task: T, answer: Answer) -> Scores:
        """Score an answer by the metrics that `judged_by` names.

        The scores depend on task and answer alone, never on how fast the machine is.
        """

    def primary_score(self, task: T, answer: Answer) -> Value:
        """Give an answer's score by the primary metric alone; None where it has none.

        Raises
        ------
        AnswerError
            If nothing in it may be scored.
        """
        return self.judge(task, answer).metrics.get(self.metrics[0].name)

    @abstractmethod
    def weigh(self, task: T, part: Part, candidate: Proposal) -> Offer:
        """Read a candidate and compare it with the targets of a part.

        Raises
        ------
        AnswerError
            If it cannot win; says why.
        """

    def select(self, task: T, offers: Sequence[Offer]) -> Choice | None:
        """Choose the fittest of the best at each complexity; None where there is none.

        Where the candidates are for one target each, one is chosen for every target.
        """
        return chosen(offers, len(task.targets), _fittest)

    def compares_equations(self, task: T) -> bool:  # noqa: ARG002 - of most always the same
        """Tell whether candidates are weighed without what they predict."""
        return False

    def pictures(self, dataset: D, answers: Sequence[Shown], room: Room) -> Drawn:  # noqa: ARG002
        """Draw a system on clean data, and what answers make of it."""
        return Drawn()

    def files(self, dataset: D) -> Iterable[tuple[str, Callable[[IO[bytes]], None]]]:
        """Give the files of a dataset in upstream's layout: their paths, and what writes each.

        Raises
        ------
        UsageError
            If there is no such layout.
        """
        raise UsageError(f"{self.name} has no files to write: {dataset.name} is made when needed.")

    def write_all(
        self,
        out: Path,
        *,
        with_noise: bool = False,
        seed: int = 0,
        protocol: Protocol = Protocol.STRICT,
        options: Mapping[str, Any] = NO_OPTIONS,
    ) -> int:
        """Write all datasets below `out` in upstream's layout; give the number of files.

        Parameters
        ----------
        with_noise
            Whether to write the four noisy versions of each, too.
        seed, protocol
            The noise; seed 0 under `published` draws as the published files were drawn.
        options
            The values of the data type's options, by their keys.

        Raises
        ------
        UsageError
            If there is no layout, or if noise is asked for and there are no levels of it.
        DataError
            If a file cannot be written.
        """
        if with_noise and not self.snr_levels:
            own = ", ".join(option.name for option in self.options)
            raise UsageError(
                f"{self.name} has no noisy files.", f"Options of its runs: {own}." if own else ""
            )
        source, count = self.source(), 0
        for name, kept in self.asked(list(source.names()), options):
            for snr_db in (None, *SNR_LEVELS_DB) if with_noise else (None,):
                dataset = source.load(
                    name, snr_db=snr_db, seed=seed, protocol=protocol, options=kept
                )
                for path, write in self.files(dataset):
                    write_whole(out / path, write)
                    count += 1
        return count

    def warm(self) -> None:
        """Begin, in the background, to load what judging takes long to load."""


def _fittest(group: Sequence[Offer]) -> Offer | None:
    kept = best_by_complexity([o.loss for o in group], [o.complexity for o in group])
    return max((group[index] for index in kept), key=lambda o: o.fitness, default=None)
