"""What is asked: the options of a run, a dataset, and the task that is cut from it."""

from __future__ import annotations

from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from mdbench.errors import UsageError, did_you_mean

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from mdbench.protocols import Protocol

    Array = NDArray[np.float64]

__all__ = ["NO_OPTIONS", "Background", "D", "Dataset", "Option", "Part", "T", "Task"]

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
    remarks
        What has to be known of how the data that methods are given were made, such as derivatives
        that had to be made in another way than usual: a line each, shown and kept in the record.
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
    remarks: tuple[str, ...] = field(default=(), kw_only=True)


T = TypeVar("T", bound=Task[Any])
