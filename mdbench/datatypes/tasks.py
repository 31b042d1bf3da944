"""What jobs are made of: datasets, splits, tasks, candidates, answers, scores, and their plots."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import numpy as np

from mdbench.data.noise import generator_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from mdbench.datatypes.facts import Protocol
    from mdbench.metrics.spec import Value

    Array = NDArray[np.float64]


@dataclass(frozen=True)
class Background:
    """Knowledge of a problem besides its data, by the names of its task.

    Nothing here names a file, a collection or a category, or states the law.

    Attributes
    ----------
    names
        The usual names of variables and targets.
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
class Split:
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
        The values of each variable of the equations, shaped like one target: the benchmark
        evaluates equations on them.  Empty where answers are no equations.
    """

    inputs: Mapping[str, NDArray[Any]] = field(repr=False)
    target_name: str
    targets: NDArray[Any] = field(repr=False)
    columns: Mapping[str, Array] = field(repr=False, default_factory=dict)


@dataclass(frozen=True)
class CheckSplit(Split):
    """Inputs on which predictions are compared with equations; its targets are not used.

    Attributes
    ----------
    drawn
        Which samples, along the first axis, were drawn and not given for the fit, (n,); None where
        none were.
    """

    drawn: NDArray[np.bool_] | None = field(default=None, kw_only=True, repr=False)


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
        The true right-hand sides with the values of their constants; None where they are not known.
    target_source
        Where the test targets come from: ``equations``, ``file`` or ``finite differences``.
    fingerprint
        SHA-256 of all its bytes; two datasets with equal ones are equal.
    floor
        The primary score of the truth, with the features that the benchmark makes; None where it
        is not known.  See `mdbench.metrics.spec`.
    units
        For each variable and target, the exponents of m, kg, s, A, K, mol and cd; None where they
        are not known.  Methods that ask for them get them (``given = ["units"]``).
    names, measured_in
        The user's own name of a variable, and its unit as text.
    own
        Whether it is from a file of the user's.
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
    own: bool = field(default=False, kw_only=True)


D = TypeVar("D", bound=Dataset)


@dataclass(frozen=True)
class Task(Generic[D]):
    """A dataset split for one job: what a method with some view gets, and what it is scored on.

    `train` and `validation` serve the choice among candidates, `refit` the last fit, `test` the
    score.  The targets of `test` never leave the host.

    Attributes
    ----------
    has_equations
        Whether an answer has equations, one a target.
    any_order
        Whether the order of the test's rows has no meaning; they are then shuffled by the job's
        seed.
    needs
        What a method must be able to use beyond the view's usual arrays, as ``takes`` of its
        ``method.toml`` names it: ``trajectories`` and ``inputs``.
    remarks
        What users have to know of how the data were made, such as derivatives that were made in
        another way than usual: a line each, shown and kept in the record.
    scaled
        Whether values are in units of the user's, so that methods may centre and scale them.
    held
        Whether inputs keep their values until the next sample; else they change evenly.
    """

    dataset: D
    view: str
    protocol: Protocol
    variables: tuple[str, ...]
    targets: tuple[str, ...]
    train: Split
    validation: Split
    refit: Split
    test: Split
    has_equations: bool = field(default=True, kw_only=True)
    any_order: bool = field(default=False, kw_only=True)
    needs: tuple[str, ...] = field(default=(), kw_only=True)
    remarks: tuple[str, ...] = field(default=(), kw_only=True)
    scaled: bool = field(default=False, kw_only=True)
    held: bool = field(default=False, kw_only=True)


T = TypeVar("T", bound=Task[Any])


def with_fewer_rows(task: T, most: int, seed: int) -> T:
    """Return a task whose fits are given no more rows of a table; of more, some are drawn.

    What candidates are compared with, and the test, stay whole.

    Parameters
    ----------
    most
        Rows of each fit.
    seed
        Of the draw; rows keep their order.
    """
    fewer: dict[int, Split] = {}
    for part in (task.train, task.refit):
        count = len(part.targets)
        if count > most:
            rows = np.sort(generator_of("rows", seed, count).permutation(count)[:most])
            fewer[id(part)] = Split(
                {name: array[rows] for name, array in part.inputs.items()},
                part.target_name,
                part.targets[rows],
                {name: column[rows] for name, column in part.columns.items()},
            )
    if not fewer:
        return task
    train, refit = (fewer.get(id(part), part) for part in (task.train, task.refit))
    return replace(task, train=train, refit=refit)


@dataclass(frozen=True)
class Candidate:
    """A candidate of a method.

    Attributes
    ----------
    index
        Its place in the order of arrival.
    equations
        One a target, or a single one for `target`.
    hyperparameters
        Those with which it was found.
    target
        The one target that it is for, or None for all.
    predictions
        What the method predicts on the data of its fit or of its validation; None where
        candidates are compared by their equations.
    arrived_s
        Seconds from the start of the job to its arrival, by the benchmark's clock.
    arrived_work_s
        Reference seconds of work of the job up to then; None where they are not measured.
    """

    index: int
    equations: tuple[str, ...]
    hyperparameters: Mapping[str, Any]
    target: int | None = None
    predictions: NDArray[Any] | None = field(default=None, repr=False)
    arrived_s: float = 0.0
    arrived_work_s: float | None = None


@dataclass(frozen=True)
class ScoredCandidate:
    """A valid candidate, and how good it is on the data of the choice.

    Attributes
    ----------
    loss
        Lower is better.
    complexity
        What accuracy is traded for; 0 where nothing is.
    fitness
        What it is selected by; higher is better.
    """

    candidate: Candidate
    loss: float
    complexity: int
    fitness: float


@dataclass(frozen=True)
class Selection:
    """The selected candidate: one for all targets, or one for each of them."""

    candidates: tuple[ScoredCandidate, ...]

    @property
    def equations(self) -> tuple[str, ...]:
        """One equation a target."""
        return tuple(text for one in self.candidates for text in one.candidate.equations)

    @property
    def indices(self) -> list[int]:
        """The places of the candidates in the order of arrival."""
        return [one.candidate.index for one in self.candidates]

    @property
    def hyperparameters(self) -> dict[str, Any]:
        """The hyperparameters; where they differ by target, a list of all under ``by_target``."""
        settings = [dict(one.candidate.hyperparameters) for one in self.candidates]
        if all(one == settings[0] for one in settings):
            return settings[0]
        return {"by_target": settings}

    @property
    def fitness(self) -> float:
        """The fitness; the mean over the targets where each has its own candidate."""
        return float(np.mean([one.fitness for one in self.candidates]))

    @property
    def loss(self) -> float:
        """The loss; the mean over the targets where each has its own candidate."""
        return float(np.mean([one.loss for one in self.candidates]))


@dataclass(frozen=True)
class Answer:
    """A method's answer, of the right size and type, and not trusted beyond that.

    Attributes
    ----------
    equations
        One a target; none where the task asks for none.
    predictions
        What the method predicts, shaped like the targets of the inputs that it was given for that;
        None where it could not be asked, as it ran out of time, or as only its record is there.
    recorded
        Metrics that need not be computed, where only its record is there.
    asked
        The inputs of the predictions, where they are not those of the test.
    """

    equations: tuple[str, ...] = ()
    predictions: NDArray[Any] | None = field(default=None, repr=False)
    recorded: Mapping[str, Value] = field(default_factory=dict)
    asked: CheckSplit | None = field(default=None, repr=False)


@dataclass(frozen=True)
class Scores:
    """The scores of an answer.

    Attributes
    ----------
    metrics
        By name; None where the scorer could not decide, which is never the method's fault.  What
        an answer does not have is left out: a trajectory that breaks off has no R2.
    notes
        Remarks on the answer, by topic: ``missing`` terms.
    """

    metrics: Mapping[str, Value]
    notes: Mapping[str, Sequence[str]] = field(default_factory=dict)


@dataclass(frozen=True)
class PlottedAnswer:
    """An answer as plots need it: method, number (sets colour and dashes), and what is recorded."""

    method: str
    number: int
    equations: tuple[str, ...]
    metrics: Mapping[str, Value]
    kept: bytes | None = field(default=None, repr=False)
    """The bytes that `DataType.kept_answers` returned, where the file exists."""


@dataclass(frozen=True)
class Plots:
    """The plots of a system."""

    html: str = ""
    """Figures; empty where there are none."""
    note: str = ""
    """Why there are none, or what they lack, where the reader can do something about it."""


@dataclass
class PlotBudget:
    """Number of evaluations of right-hand sides that the plots of a page may still use.

    A limit in seconds would give other pages for the same records.
    """

    evaluations: int
