"""The seam of data types: all that the bench knows of a kind of problem.

A data type is one module in this folder (or in one that ``$MDBENCH_DATATYPES`` names) with a class
that is named by the module's ``DATA_TYPE``, plus its data files under ``datasets/<name>/``.  It
says what a method is given (`DataType.task`), what an answer is (`DataType.read_answer`), how it
is scored (`DataType.judge`, `DataType.metrics`) and how candidates are compared
(`DataType.weigh`, `DataType.select`).  Nothing outside knows which data types there are, or what
any of them measures.

Data types whose answers are equations inherit all of this but the data from
`mdbench.datatypes.shared.equations.EquationType`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import IO, TYPE_CHECKING, Any, ClassVar, Generic, TypeVar

import numpy as np

from mdbench.data.cache import write_whole
from mdbench.data.noise import SNR_LEVELS_DB
from mdbench.errors import UsageError, did_you_mean
from mdbench.metrics.selection import best_by_complexity
from mdbench.protocols import Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from mdbench.metrics.spec import MetricSpec, Value

    Array = NDArray[np.float64]

__all__ = [
    "NO_OPTIONS",
    "Answer",
    "Background",
    "Choice",
    "DataType",
    "Dataset",
    "Drawn",
    "Offer",
    "Option",
    "Part",
    "Proposal",
    "Protocol",
    "RawAnswer",
    "Room",
    "Scores",
    "Shown",
    "Source",
    "Task",
    "chosen",
]


NO_OPTIONS: Mapping[str, Any] = MappingProxyType({})


@dataclass(frozen=True)
class Option:
    """An option of a run that one data type has, and others may not have.

    It is declared here and nowhere else: the command line, the help, the job's key, its record
    and study files take it from this.

    Attributes
    ----------
    name
        As it is typed, such as ``--target-noise``.
    help
        What it does, in a line.
    metavar
        What is shown for its value; empty for an option without one, whose value is ``True``.
    read
        Makes the value, which JSON can hold, of the text that was typed.  Raises `UsageError`.
    views
        The methods' views that it goes with; empty for all.
    asks
        Whether it asks another question, so that its value stands behind the dataset's name
        wherever answers are compared; else it is a limit of the method.
    parts
        Whether each value asks about another part of the same question, such as a fold: answers
        to all parts stand side by side, and are merged as those of several seeds are.
    method_key
        The key of ``method.toml`` that gives its value where none was typed; empty for none.
    """

    name: str
    help: str = ""
    metavar: str = "VALUE"
    read: Callable[[str], Any] = str
    views: tuple[str, ...] = ()
    asks: bool = True
    parts: bool = False
    method_key: str = ""

    @property
    def key(self) -> str:
        """The name in specifications and records: ``target_noise``."""
        return self.name.removeprefix("--").replace("-", "_")

    @classmethod
    def choice(cls, name: str, values: Sequence[str], help_: str) -> Option:
        """Declare an option whose value is one of a few words."""

        def read(text: str) -> str:
            if text not in values:
                raise UsageError(f"{name} is {text!r}.", did_you_mean(text, values))
            return text

        return cls(name, help_, "|".join(values), read)


@dataclass(frozen=True)
class Background:
    """What people know of a problem beside its data, by the names of its task.

    Nothing here names a file, a collection or a category, or says what the law is.

    Attributes
    ----------
    names
        What people call a variable or a target.
    meanings, units
        What it is, and what it is measured in.
    about
        What the problem is about.
    """

    names: Mapping[str, str] = field(default_factory=dict)
    meanings: Mapping[str, str] = field(default_factory=dict)
    units: Mapping[str, str] = field(default_factory=dict)
    about: str = ""


@dataclass(frozen=True)
class Part:
    """One split of a dataset, in one view.

    Attributes
    ----------
    inputs
        The arrays of the view without its targets, by name: numbers or texts.
    target_name
        The name of the targets in the view, such as ``Y`` or ``du``.
    targets
        What is to be predicted: float64, or texts; the last axis runs over the targets.
    columns
        For each variable of the equations its values, shaped like one target: what an equation is
        evaluated on by the bench itself.  Empty where answers are no equations.
    """

    inputs: Mapping[str, NDArray[Any]] = field(repr=False)
    target_name: str
    targets: NDArray[Any] = field(repr=False)
    columns: Mapping[str, Array] = field(repr=False, default_factory=dict)


@dataclass(frozen=True)
class Dataset:
    """Arrays sampled from a system at one noise level; data types add their own arrays.

    Attributes
    ----------
    name
        The name by which it is asked for.
    dim
        The number of equations, or of targets.
    snr_db
        The noise level in dB, or None for clean data.
    truth
        The true right-hand sides with their constants put in, or None where nobody knows them.
    target_source
        Where the test targets come from: ``equations``, ``file`` or ``finite differences``.
    fingerprint
        SHA-256 of all that the dataset's bytes are; two datasets with equal ones are equal.
    floor
        What the truth scores by the primary metric, through the features that the bench itself
        makes; None where it is not known.  See `mdbench.metrics.floor`.
    units
        Of each variable and target, by name: the exponents of m, kg, s, A, K, mol and cd; None
        where nobody says them.  Methods that ask for them are told (``given = ["units"]``).
    """

    name: str
    dim: int
    snr_db: float | None
    truth: tuple[str, ...] | None
    target_source: str
    fingerprint: str
    floor: float | None = field(default=None, kw_only=True)
    units: Mapping[str, tuple[float, ...]] | None = field(default=None, kw_only=True)
    names: Mapping[str, str] = field(default_factory=dict, kw_only=True)
    measured_in: Mapping[str, str] = field(default_factory=dict, kw_only=True)


D = TypeVar("D", bound=Dataset)


@dataclass(frozen=True)
class Task(Generic[D]):
    """A dataset cut for one job: what a method of some view is given, and what it is scored on.

    `train` and `validation` serve the choice among candidates, `refit` the last fit, `test` the
    score.  The targets of `test` never leave the host.

    Attributes
    ----------
    equations
        Whether an answer has equations, one a target.
    any_order
        Whether the rows of the test mean the same in any order; they are then given in one that
        the job's seed draws.
    needs
        What a method has to be able to use beyond the view's usual arrays, as ``takes`` of its
        ``method.toml`` names it: ``trajectories`` and ``inputs``.
    """

    dataset: D
    view: str
    protocol: Protocol
    variables: tuple[str, ...]
    targets: tuple[str, ...]
    train: Part
    validation: Part
    refit: Part
    test: Part
    equations: bool = field(default=True, kw_only=True)
    any_order: bool = field(default=False, kw_only=True)
    needs: tuple[str, ...] = field(default=(), kw_only=True)


T = TypeVar("T", bound=Task[Any])


@dataclass(frozen=True)
class RawAnswer:
    """What a method says, of the right size and type, and not trusted beyond that.

    Attributes
    ----------
    equations
        As many texts as there are targets; none where the task asks for none.
    predictions
        What the method predicts on the test inputs, shaped like the targets; None where it could
        not be asked, as it ran out of time, or as only its record is there.
    recorded
        Its metrics where only its record is there: what had come of its predictions.
    """

    equations: tuple[str, ...]
    predictions: NDArray[Any] | None = None
    recorded: Mapping[str, Value] = field(default_factory=dict)


@dataclass(frozen=True)
class Answer:
    """An answer that has been read; data types add what they judge.

    Attributes
    ----------
    equations
        As they are recorded; None where an answer has none.
    """

    equations: tuple[str, ...] | None


@dataclass(frozen=True)
class Scores:
    """What an answer is worth.

    Attributes
    ----------
    metrics
        By name; None where the scorer could not decide, which is never the method's fault.  What
        an answer does not have, such as a trajectory that breaks off has no R2, is left out.
    notes
        What is to be told of the answer, by a word for what it is: ``missing`` terms.
    """

    metrics: Mapping[str, Value]
    notes: Mapping[str, Sequence[str]] = field(default_factory=dict)


@dataclass(frozen=True)
class Proposal:
    """One proposal of a method.

    Attributes
    ----------
    index
        Its place in the order of arrival.
    equations
        One a target, or a single one where `target` says of which.
    hyperparameters
        The setting that gave it.
    target
        The one target that it is for, or None for all.
    predictions
        What the method predicts on the data of its fit or of its validation; None where
        candidates are compared by their equations.
    heard_s
        Seconds from the start of the job to its arrival, by the bench's clock.
    """

    index: int
    equations: tuple[str, ...]
    hyperparameters: Mapping[str, Any]
    target: int | None = None
    predictions: NDArray[Any] | None = field(default=None, repr=False)
    heard_s: float = 0.0


@dataclass(frozen=True)
class Offer:
    """A candidate that may win, and how good it is on the data of the choice.

    Attributes
    ----------
    loss
        Lower is better.
    complexity
        What accuracy is weighed against; 0 where nothing is.
    fitness
        What it is chosen by; higher is better.
    """

    candidate: Proposal
    loss: float
    complexity: int
    fitness: float


@dataclass(frozen=True)
class Choice:
    """The winner: one offer for all targets, or one for each of them."""

    offers: tuple[Offer, ...]

    @property
    def equations(self) -> tuple[str, ...]:
        """One equation a target."""
        return tuple(text for offer in self.offers for text in offer.candidate.equations)

    @property
    def indices(self) -> list[int]:
        """The places of the winners in the order in which the candidates came."""
        return [offer.candidate.index for offer in self.offers]

    @property
    def hyperparameters(self) -> dict[str, Any]:
        """The setting of the winner; where each target has its own, and they differ, all of them.

        They are then a list under ``by_target``, in the order of the targets.
        """
        settings = [dict(offer.candidate.hyperparameters) for offer in self.offers]
        if all(one == settings[0] for one in settings):
            return settings[0]
        return {"by_target": settings}

    @property
    def fitness(self) -> float:
        """The fitness of the winner; the mean over the targets where each has its own."""
        return float(np.mean([offer.fitness for offer in self.offers]))

    @property
    def loss(self) -> float:
        """The loss of the winner; the mean over the targets where each has its own."""
        return float(np.mean([offer.loss for offer in self.offers]))


@dataclass(frozen=True)
class Shown:
    """An answer as pictures need it.

    Attributes
    ----------
    method, number
        Whose it is; the number sets colour and dashes.
    equations
        As recorded.
    metrics
        As recorded.
    """

    method: str
    number: int
    equations: tuple[str, ...]
    metrics: Mapping[str, Value]


@dataclass(frozen=True)
class Drawn:
    """What there is to see of a system.

    Attributes
    ----------
    html
        Figures; empty where there are none.
    note
        Why there are none, where the reader can do something about it.
    """

    html: str = ""
    note: str = ""


@dataclass
class Room:
    """What the pictures of a page may still take, so that the same records give the same page.

    Attributes
    ----------
    evaluations
        Of right-hand sides.
    """

    evaluations: int


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
    rooms: ClassVar[tuple[str, ...]] = ()
    """Rooms of the house that only some data types score with; their code is part of the scorer."""
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


def chosen(
    offers: Iterable[Offer], targets: int, fittest: Callable[[Sequence[Offer]], Offer | None]
) -> Choice | None:
    """Choose one offer for all targets, or where they are for one target each, one for each."""
    offers = list(offers)
    whole = [offer for offer in offers if offer.candidate.target is None]
    groups = [whole] if whole else _by_target(offers, targets)
    winners = tuple(winner for group in groups if (winner := fittest(group)) is not None)
    return Choice(winners) if winners and len(winners) == len(groups) else None


def _by_target(offers: Iterable[Offer], targets: int) -> list[list[Offer]]:
    groups: list[list[Offer]] = [[] for _ in range(targets)]
    for offer in offers:
        if offer.candidate.target is not None:
            groups[offer.candidate.target].append(offer)
    return groups


def _fittest(group: Sequence[Offer]) -> Offer | None:
    kept = best_by_complexity([o.loss for o in group], [o.complexity for o in group])
    return max((group[index] for index in kept), key=lambda o: o.fitness, default=None)
