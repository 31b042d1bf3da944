"""The seam of data types: how a kind of problem tells the bench all that it needs to know.

A data type is one module in this folder with a class that is named by the module's
``DATA_TYPE``, plus its data files under ``datasets/<name>/``.  Nothing outside knows which
data types there are.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, ClassVar

from mdbench.datatypes._fidelity import score
from mdbench.errors import UsageError, did_you_mean
from mdbench.metrics.regression import nmse
from mdbench.metrics.selection import fitness

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    import numpy as np
    from numpy.typing import NDArray

    from mdbench.datatypes._fidelity import Fidelity, Motion

    Array = NDArray[np.float64]

__all__ = ["DataType", "Dataset", "Option", "Part", "Protocol", "Source", "Task"]


@dataclass(frozen=True)
class Option:
    """An option of ``mdbench run`` that one data type has, and the others have not.

    Attributes
    ----------
    name
        As it is typed, such as ``--target-noise``.
    takes_value
        Whether a value follows; if not, the option's value is an empty text.
    help
        What it does, in a line.
    """

    name: str
    takes_value: bool = True
    help: str = ""


class Protocol(StrEnum):
    """The rules of a benchmark run."""

    STRICT = "strict"
    """Every split on its own: no sample of a later one influences an earlier one."""
    PUBLISHED = "published"
    """The pipeline behind the published tables, slips included."""


@dataclass(frozen=True)
class Part:
    """One split of a dataset, in one view.

    Attributes
    ----------
    inputs
        The arrays of the view without its targets, by name.
    target_name
        The name of the targets in the view: ``Y`` for a table, else ``du``.
    targets
        What is to be predicted; the last axis runs over the targets.
    columns
        For each variable of the equations its values, shaped like one target: what an
        equation is evaluated on by the bench itself.
    """

    inputs: Mapping[str, Array] = field(repr=False)
    target_name: str
    targets: Array = field(repr=False)
    columns: Mapping[str, Array] = field(repr=False)


@dataclass(frozen=True)
class Task:
    """A dataset cut for one job: what a method of some view is given, and what it is scored on.

    `train` and `validation` serve a ``grid`` method's tuning, `refit` its last fit and the one
    fit of the others, `test` the score.  The targets of `test` never leave the host.
    """

    variables: tuple[str, ...]
    targets: tuple[str, ...]
    train: Part
    validation: Part
    refit: Part
    test: Part


@dataclass(frozen=True)
class Dataset:
    """Arrays sampled from a system at one noise level; data types add their own arrays.

    Attributes
    ----------
    name
        The name by which it is asked for.
    dim
        The number of equations.
    snr_db
        The noise level in dB, or None for clean data.
    truth
        The true right-hand sides with their constants put in, or None where nobody knows them.
    target_source
        Where the test targets come from: ``equations``, ``file`` or ``finite differences``.
    fingerprint
        SHA-256 of all that the dataset's bytes are; two datasets with equal ones are equal.
    nmse_floor
        The NMSE of the truth on the test inputs, by the features that the bench itself makes;
        None where it is not known, or is not set by them.  See `mdbench.metrics.floor`.
    max_rows
        How many training samples a method is given at most; None for all.
    row_seed
        The seed by which they are drawn.
    """

    name: str
    dim: int
    snr_db: float | None
    truth: tuple[str, ...] | None
    target_source: str
    fingerprint: str
    nmse_floor: float | None = field(default=None, kw_only=True)
    max_rows: int | None = field(default=None, kw_only=True)
    row_seed: int = field(default=0, kw_only=True)


def _say_nothing(text: str) -> None:
    """Take a message that nobody wants to see."""


class Source(ABC):
    """A set of named datasets: the project's own systems, or the user's files."""

    @abstractmethod
    def names(self) -> Sequence[str]:
        """Give the names of all datasets, in the order in which they are run."""

    @abstractmethod
    def title(self, name: str) -> str:
        """Say in a few words what the dataset is."""

    def at_hand(self, name: str) -> bool:  # noqa: ARG002 - of most kinds all are
        """Tell whether a dataset is loaded in a moment: its arrays are there, or soon made."""
        return True

    def groups(self) -> Mapping[str, Sequence[str]]:
        """Give the names by which several datasets can be asked for at once."""
        return {}

    @abstractmethod
    def load(self, name: str, *, snr_db: float | None, seed: int, protocol: Protocol) -> Dataset:
        """Make or read one dataset at one noise level.

        Raises
        ------
        DataError
            If the data cannot be used; it names the file, the key and the value.
        """


class DataType(ABC):
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
    check_datasets: ClassVar[tuple[str, ...]]
    """Small datasets of its own on which ``mdbench check`` tries a method."""
    options: ClassVar[tuple[Option, ...]] = ()
    """What can be asked for beyond the options that all data types share."""
    validates_fronts: ClassVar[bool] = False
    """Whether a front is fitted on the training split and compared on the validation split, by the
    bench's own evaluation of its equations; else it is fitted and compared on both together."""
    snr_levels: ClassVar[bool] = True
    """Whether its data have noise levels in dB."""

    variants: ClassVar[tuple[str, ...]] = ()
    """Other makes of its datasets that can be asked for, beside the right one."""
    subsampled_views: ClassVar[tuple[str, ...]] = ()
    """The views in which a method may be given a part of the training samples."""

    def __init__(self, systems: Path, cache: Path) -> None:
        self.systems = systems
        self.cache = cache
        self.variant: str | None = None
        self.say: Callable[[str], None] = _say_nothing

    def use_variant(self, variant: str | None) -> None:
        """Make datasets in one of the `variants` from now on; None for the right one.

        Raises
        ------
        UsageError
            If there is no such variant.
        """
        if variant is not None and variant not in self.variants:
            raise UsageError(
                f"{self.name} has no variant {variant!r}.", did_you_mean(variant, self.variants)
            )
        self.variant = variant

    @abstractmethod
    def source(self, path: Path | None = None) -> Source:
        """Open the project's own systems, or the user's data at `path`.

        Raises
        ------
        DataError
            If there is nothing at `path` that this data type can read.
        """

    def with_options(self, names: Sequence[str], given: Mapping[str, str]) -> list[str]:
        """Name the datasets that the options make of those named; the names say it all.

        Parameters
        ----------
        names
            Names of a source of this data type.
        given
            The value of each of the `options` that was given, by its name.

        Raises
        ------
        UsageError
            If a value is not one of those allowed.
        """
        del given
        return list(names)

    @abstractmethod
    def task(self, dataset: Dataset, view: str, protocol: Protocol) -> Task:
        """Cut a dataset by the protocol's rules and show it in one of the `views`."""

    @abstractmethod
    def write_all(
        self,
        out: Path,
        *,
        with_noise: bool = False,
        seed: int = 0,
        protocol: Protocol = Protocol.STRICT,
    ) -> int:
        """Write all datasets below `out` in upstream's file format; give the number of files."""

    def loss(self, predictions: Array, targets: Array) -> float:
        """Compare predictions with targets when a candidate is selected; lower is better."""
        return nmse(predictions, targets)

    def fitness(self, loss: float, complexity: int) -> float:
        """Weigh accuracy against simplicity when a candidate is selected; higher is better."""
        return fitness(loss, complexity)

    def metrics(self, predictions: Array, targets: Array) -> dict[str, float]:
        """Score predictions on the test split."""
        return {"nmse": nmse(predictions, targets)}

    def warm(self) -> None:  # noqa: B027 - most have nothing to load
        """Begin, in the background, to load what scoring equations takes long to load."""

    def equation_metrics(
        self, dataset: Dataset, equations: Sequence[str], metrics: Mapping[str, float]
    ) -> dict[str, float]:
        """Score an answer's equations beside the truth by measures of the data type's own.

        Parameters
        ----------
        dataset
            What the answer is for.
        equations
            One right-hand side for each target.
        metrics
            What `metrics` gave for the answer.
        """
        del dataset, equations, metrics
        return {}

    def fidelity(self, dataset: Dataset, task: Task, equations: Sequence[str]) -> Fidelity | None:
        """Put an answer that was scored beside the truth; None where nobody knows the truth.

        Parameters
        ----------
        dataset, task
            What the answer is for.
        equations
            One right-hand side for each target, all of which `mdbench.expressions.parse` reads.
        """
        if dataset.truth is None:
            return None
        return score(
            dataset.truth,
            equations,
            task,
            simulation=self.simulation(dataset, task, equations),
            residual=self.residual(dataset, task, equations),
        )

    def simulation(self, dataset: Dataset, task: Task, equations: Sequence[str]) -> Motion | None:
        """Integrate an answer where it is a system that can be; None where it is not."""
        del dataset, task, equations
        return None

    def residual(self, dataset: Dataset, task: Task, equations: Sequence[str]) -> float | None:
        """Give the NMSE of an answer on clean data; None where the data type has no use for it."""
        del dataset, task, equations
        return None
