"""The interface of data types: datasets, tasks, candidates, answers and scores.

A data type is one folder in this one, or in one that ``$MDBENCH_DATATYPES`` names.  The module
``data_type`` has its subclass of `DataType` as ``DATA_TYPE``; its data are in ``datasets/<name>/``.
Data types whose answers are equations inherit all but the data from
`mdbench.datatypes.equations.base.EquationType`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from types import MappingProxyType
from typing import IO, TYPE_CHECKING, Any, ClassVar, Generic

from mdbench.data.noise import SNR_LEVELS_DB
from mdbench.datatypes.facts import Protocol
from mdbench.datatypes.tasks import (
    Answer,
    Background,
    Candidate,
    CheckSplit,
    D,
    Dataset,
    PlotBudget,
    Plots,
    PlottedAnswer,
    ScoredCandidate,
    Scores,
    Selection,
    Split,
    T,
    Task,
    with_fewer_rows,
)
from mdbench.errors import DataError, RecordsError, UsageError, did_you_mean
from mdbench.metrics.spec import best_by_complexity
from mdbench.workspace import write_whole

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    import numpy as np
    from numpy.typing import NDArray

    from eqverdict.difficulty import Difficulty
    from mdbench.datatypes.facts import Option
    from mdbench.metrics.spec import MetricSpec, Value

    Array = NDArray[np.float64]

__all__ = [
    "NO_OPTIONS",
    "Answer",
    "Background",
    "Candidate",
    "CheckSplit",
    "DataType",
    "Dataset",
    "PlotBudget",
    "Plots",
    "PlottedAnswer",
    "ScoredCandidate",
    "Scores",
    "Selection",
    "Source",
    "Split",
    "Task",
    "select_per_target",
    "with_fewer_rows",
]

NO_OPTIONS: Mapping[str, Any] = MappingProxyType({})


class Source(ABC, Generic[D]):
    """A set of named datasets: the project's own systems, or the user's files."""

    @abstractmethod
    def names(self) -> Sequence[str]:
        """Return the names of all datasets, in the order in which they are run."""

    def __contains__(self, name: str) -> bool:
        """Whether there is a dataset of this name; may be known sooner than all names in order."""
        return name in self.names()

    @abstractmethod
    def title(self, name: str) -> str:
        """Return in a few words what the dataset is."""

    def notes(self, name: str) -> Sequence[str]:  # noqa: ARG002 - most have none
        """Return remarks of the dataset's own file that a reader of scores should know."""
        return ()

    def background(self, name: str) -> Background:  # noqa: ARG002 - of most nothing is known
        """Return the knowledge of a dataset besides its data, for prompts that may use it."""
        return Background()

    def laws(self, name: str) -> tuple[str, ...]:  # noqa: ARG002 - where there are equations
        """Return the true right-hand sides, without making data; none where they are not known."""
        return ()

    def is_cached(self, name: str, options: Mapping[str, Any]) -> bool:  # noqa: ARG002 - most are
        """Whether a dataset loads in a moment: its arrays are there, or quickly made."""
        return True

    def groups(self) -> Mapping[str, Sequence[str]]:
        """Return the names by which several datasets can be asked for at once."""
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
    on_progress
        Called with a line of text while data are made that take long.
    packages
        Makes an environment of the packages of a lock, in which data lie, and returns its folder of
        packages; whoever runs jobs sets it.
    """

    name: ClassVar[str]
    views: ClassVar[tuple[str, ...]]
    """The views in which its datasets can be given to a method."""
    families: ClassVar[tuple[str, ...]] = ()
    """Families of methods beyond those that all data types share."""
    metrics: ClassVar[tuple[MetricSpec, ...]]
    """The metrics of answers; methods are ranked by the first."""
    check_datasets: ClassVar[tuple[str, ...]]
    """Small datasets of its own on which ``mdbench check`` tries a method."""
    options: ClassVar[tuple[Option, ...]] = ()
    """Options beyond those that all data types share."""
    work: ClassVar[float | None] = None
    """Reference seconds of a job's work where no budget is asked for, and the method has no work of
    its own; None for the method's time alone."""
    snr_levels: ClassVar[bool] = True
    """Whether its data have noise levels in dB."""
    scorer_version: ClassVar[int] = 1
    """The version of the scorer, in every record's key: it is raised with each change after which
    some answer scores otherwise (see CONTRIBUTING.md)."""
    metrics_since: ClassVar[Mapping[str, int]] = {}
    """Metrics that take long, each with the scorer version since which it is computed as now:
    ``mdbench rescore --reuse`` takes their values from records of that version or a later one."""
    has_exact_truth: ClassVar[bool] = False
    """Whether its data follow true equations exactly, which then are the best answers there are."""
    from_files: ClassVar[bool] = False
    """Whether its datasets follow from code, from the files in `systems` and at the user's path,
    and from the options, and nothing else: then their fingerprints are remembered."""
    axes: ClassVar[Mapping[str, str]] = {}
    """The axes that its datasets can be swept along, which are in their names as ``+noise=0.1``,
    each with its value where a name has none; empty where that depends on the dataset."""
    draws_data: ClassVar[bool] = False
    """Whether its data are drawn by a seed from configurations, of which the user may have some."""
    has_plots: ClassVar[bool] = False
    """Whether it has `plots`."""
    fresh_problems: ClassVar[int] = 0
    """The number of problems that ``mdbench lab fresh`` draws by default; 0 where it draws none."""
    of_predictions: ClassVar[tuple[str, ...]] = ()
    """The metrics of predictions without equations, where answers have equations; none where such
    answers cannot be scored."""
    derivative: ClassVar[str] = "d"
    """The letter of derivatives on left-hand sides, such as that of the target ``u0_t``."""

    def __init__(self, systems: Path, cache: Path) -> None:
        self.systems = systems
        self.cache = cache
        self.on_progress: Callable[[str], None] = lambda _: None
        self.packages: Callable[[Path], Path] = _no_packages

    @abstractmethod
    def source(self, path: Path | None = None) -> Source[D]:
        """Open the project's own systems, or the user's data at `path`.

        Raises
        ------
        DataError
            If there is nothing at `path` that this data type can read.
        """

    def difficulty(self, name: str) -> Difficulty | None:  # noqa: ARG002
        """Return how hard a dataset's law is; None where the data type has no rule for it."""
        return None

    def expand_options(
        self, names: Sequence[str], options: Mapping[str, Any]
    ) -> list[tuple[str, Mapping[str, Any]]]:
        """Return the datasets that options make of those named, each with its job's options.

        Parameters
        ----------
        names
            Names of a source of this data type.
        options
            The values of the options that were given, by their keys.

        Raises
        ------
        UsageError
            If a value does not fit.
        """
        return [(name, options) for name in names]

    @abstractmethod
    def task(self, dataset: D, view: str, protocol: Protocol) -> T:
        """Split a dataset by the protocol's rules, in a view that it has; else a UsageError."""

    def check_view(self, view: str) -> None:
        """Raise a `UsageError` where there is no such view."""
        if view not in self.views:
            raise UsageError(f"{self.name} has no view {view!r}.", did_you_mean(view, self.views))

    def fit_and_validation(self, task: T, tuning: str) -> tuple[Split, Split]:
        """Return the data of the first fit, and those that candidates are compared on."""
        return (task.train, task.validation) if tuning == "grid" else (task.refit, task.refit)

    def prediction_check(self, task: T, seed: int) -> CheckSplit | None:  # noqa: ARG002 - most score predictions
        """Return where a method is to predict in place of the test, which it then never sees.

        None where predictions themselves are scored.

        Parameters
        ----------
        seed
            The seed of all random numbers.
        """
        return None

    def tuned_by_error(self, task: T) -> T:
        """Return a task in which a grid is chosen from by its error on samples held out for it.

        It is for `Choice.OWN`.  Its `validation` is no part of its `train`, and candidates are
        compared by the targets that methods are given.
        """
        return task

    def why_not_predicted(self, task: T) -> str:  # noqa: ARG002 - of most always the same
        """Return why predictions without equations cannot be scored; empty where they can."""
        return ""

    def predicted(self, task: T) -> T:
        """Return a task whose answers are predictions without equations."""
        return task

    def metric_names(self, task: T) -> tuple[str, ...]:  # noqa: ARG002 - of most always the same
        """Return the names of the metrics that apply to a task."""
        return tuple(spec.name for spec in self.metrics)

    @abstractmethod
    def read_answer(self, task: T, answer: Answer) -> Answer:
        """Parse and check an answer, and return it with what `score` needs.

        Raises
        ------
        AnswerError
            If nothing in it may be scored; the message has the reason.
        """

    @abstractmethod
    def score(self, task: T, answer: Answer) -> Scores:
        """Score an answer that was read, by the metrics that `metric_names` returns.

        The scores depend on task and answer alone, never on how fast the machine is.
        """

    def kept_answers(self, task: T, answer: Answer) -> bytes | None:  # noqa: ARG002
        """Return what is kept of an answer that was read, in a file next to its record.

        Scores of many examples are means; what each was answered is lost with them.

        Returns
        -------
        bytes or None
            JSON lines, one an example; None where there is nothing but the record.
        """
        return None

    def answer_of(self, task: T, kept: bytes) -> Answer:  # noqa: ARG002 - of most nothing is kept
        """Return the answer that `kept_answers` kept, to score it again.

        Raises
        ------
        RecordsError
            If it is not of this task, or does not suffice.
        """
        raise RecordsError(f"what is kept of answers to {self.name} does not suffice for scores")

    def primary_score(self, task: T, answer: Answer) -> Value:
        """Return the score by the primary metric alone; None where there is none.

        Raises
        ------
        AnswerError
            If nothing in the answer may be scored.
        """
        return self.score(task, answer).metrics.get(self.metrics[0].name)

    @abstractmethod
    def evaluate_candidate(self, task: T, data: Split, candidate: Candidate) -> ScoredCandidate:
        """Read a candidate and compare it with the targets of a split.

        Raises
        ------
        AnswerError
            If it is not valid; the message has the reason.
        """

    def select(self, task: T, candidates: Sequence[ScoredCandidate]) -> Selection | None:
        """Select the fittest of the best at each complexity; None where there is none.

        Where the candidates are for one target each, one is selected for every target.
        """
        return select_per_target(candidates, len(task.targets), _fittest_of_front)

    def compares_equations(self, task: T) -> bool:  # noqa: ARG002 - of most always the same
        """Whether candidates are evaluated without their predictions."""
        return False

    def plots(self, dataset: D, answers: Sequence[PlottedAnswer], budget: PlotBudget) -> Plots:  # noqa: ARG002
        """Plot a system on clean data, with some answers."""
        return Plots()

    def files(self, dataset: D) -> Iterable[tuple[str, Callable[[IO[bytes]], None]]]:
        """Return the files of a dataset in upstream's layout: their paths, and what writes each.

        Raises
        ------
        UsageError
            If there is no such layout.
        """
        raise UsageError(f"{self.name} has no files to write: {dataset.name} is made when needed.")

    def write_all(
        self,
        out: Path,
        source: Source[D] | None = None,
        names: Sequence[str] | None = None,
        *,
        with_noise: bool = False,
        seed: int = 0,
        protocol: Protocol = Protocol.STRICT,
        options: Mapping[str, Any] = NO_OPTIONS,
    ) -> int:
        """Write datasets below `out` in upstream's layout; return the number of files.

        Parameters
        ----------
        source, names
            Where they are, and which; without them all of the project's own.
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
        source, written = source or self.source(), set()
        names = source.names() if names is None else names
        for name, options_of_name in self.expand_options(list(names), options):
            for snr_db in (None, *SNR_LEVELS_DB) if with_noise else (None,):
                dataset = source.load(
                    name, snr_db=snr_db, seed=seed, protocol=protocol, options=options_of_name
                )
                for path, write in self.files(dataset):
                    write_whole(out / path, write)
                    written.add(path)
        return len(written)

    def fresh(self, seed: str, count: int, grammar: int) -> Iterator[tuple[str, str]]:
        """Draw problems by a seed, the same on every machine; yield names and texts of files.

        None has the structure of a system in `systems`, but for those of ``fresh-`` suites.

        Raises
        ------
        UsageError
            If problems of this data type are not drawn.
        DataError
            If too few are found.
        """
        raise UsageError(f"Problems of {self.name} are not drawn: {seed}, {count}, {grammar}.")

    @classmethod
    def integrate(
        cls,
        equations: Sequence[str],
        t: Array,
        start: Array,
        inputs: Array | None,
        options: Mapping[str, Any],
    ) -> tuple[Array, str]:
        """Return the states that equations of rates reach, and why no further; empty for the end.

        Parameters
        ----------
        equations
            The rate of each state in ``u0``, ``u1``, ...
        t
            Increasing times, (n,).
        start
            The states at the first time, (len(equations),).
        inputs
            The values of ``v0``, ``v1``, ... at these times, (n, k), where there are some.
        options
            The options of the job.

        Raises
        ------
        UsageError
            If answers of this data type are no rates of states.
        """
        del equations, t, start, inputs, options
        raise UsageError(
            f"Equations of {cls.name} are not integrated.", "Those of --data-type ode are."
        )

    def preload(self) -> None:
        """Begin, in the background, to load what scoring takes long to load."""


def _no_packages(lock: Path) -> Path:
    raise DataError(f"The data lie in packages ({lock}), of which an environment is made in a run.")


def select_per_target(
    candidates: Sequence[ScoredCandidate],
    targets: int,
    best: Callable[[Sequence[ScoredCandidate]], ScoredCandidate | None],
) -> Selection | None:
    """Select one candidate for all targets, or one for each where they are for one target each."""
    whole = [one for one in candidates if one.candidate.target is None]
    by_target = ([c for c in candidates if c.candidate.target == k] for k in range(targets))
    selected = [best(group) for group in ([whole] if whole else by_target)]
    found = tuple(one for one in selected if one is not None)
    return Selection(found) if found and len(found) == len(selected) else None


def _fittest_of_front(candidates: Sequence[ScoredCandidate]) -> ScoredCandidate | None:
    kept = best_by_complexity([o.loss for o in candidates], [o.complexity for o in candidates])
    return max((candidates[index] for index in kept), key=lambda o: o.fitness, default=None)
