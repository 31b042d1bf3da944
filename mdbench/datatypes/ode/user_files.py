"""Trajectories of people's own: a CSV or NPZ file, what is said beside it, and options."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from mdbench.data.array_files import read_npz
from mdbench.data.columns import LabelledColumn, OwnNames, columns_of, read_description
from mdbench.data.csv import Reading, read_csv
from mdbench.datatypes.equations.options import INPUTS, MISSING_VALUES, TRAJECTORY, TRUTH
from mdbench.datatypes.equations.user_truths import OWN_PAGE, user_truth
from mdbench.errors import DataError, UsageError, did_you_mean
from mdbench.expressions.tree import CONSTANTS, FUNCTIONS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from mdbench.data.trajectory import Trajectory

__all__ = ["UserRecording", "read_recording"]

_TAKEN = frozenset(FUNCTIONS) | frozenset(CONSTANTS)
_TIME = LabelledColumn("time", "t")


"""Options of data types that read trajectories of people's own."""


class _File(BaseModel):
    """What a TOML file beside the data may say."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    schema_: Literal[1] = Field(alias="schema")
    title: str = ""
    source: str = ""
    states: tuple[str, ...] = ()
    inputs: tuple[str, ...] = ()
    trajectory: str = ""
    missing: Literal["refuse", "drop", "interpolate"] = "refuse"
    units: dict[str, str] = {}
    truth: dict[str, str] | None = None


@dataclass(frozen=True, eq=False)
class UserRecording:
    """What is known of a trajectory of somebody's own.

    Attributes
    ----------
    trajectory
        The samples.
    time, states, inputs
        Its columns.
    truth
        The true right-hand sides, in the methods' names; None where nobody says them.
    title, source
        Texts for people.
    """

    trajectory: Trajectory
    time: LabelledColumn
    states: tuple[LabelledColumn, ...]
    inputs: tuple[LabelledColumn, ...]
    truth: tuple[str, ...] | None
    title: str
    source: str

    @property
    def names(self) -> dict[str, str]:
        """The user's names of variables, by those that methods are given; empty for the same."""
        theirs = [f"u{i}" for i in range(len(self.states))]
        theirs += [f"v{i}" for i in range(len(self.inputs))]
        own = [column.name for column in (*self.states, *self.inputs)]
        pairs = dict(zip(theirs, own, strict=True))
        return {} if all(one == other for one, other in pairs.items()) else pairs

    @property
    def units(self) -> dict[str, str]:
        """The unit of each column that has one, by its name; that of the time as ``t``."""
        known = {column.name: column.unit for column in (*self.states, *self.inputs)}
        return {name: unit for name, unit in (known | {"t": self.time.unit}).items() if unit}

    @property
    def description(self) -> list[object]:
        """All that a record of it shows or depends on, besides the samples; empty for nothing."""
        if not (self.names or self.units or self.truth):
            return []
        return [self.names, self.units, self.truth]


def read_recording(
    path: Path, options: Mapping[str, Any], *, beside: Path | None = None
) -> UserRecording:
    """Read a trajectory, a TOML file of its name beside it, and what options say instead.

    Parameters
    ----------
    beside
        The file whose TOML file counts; by default the file itself.

    Raises
    ------
    DataError
        If a file cannot be used; it names the file and the key or the line.
    UsageError
        If an option does not fit the file.
    """
    said = _read_description_of(beside or path)
    how = Reading(
        options.get(MISSING_VALUES.key, said.missing),
        tuple(options.get(INPUTS.key, said.inputs)),
        options.get(TRAJECTORY.key, said.trajectory),
    )
    if path.suffix.lower() == ".npz":
        if how != Reading():
            raise UsageError(
                f"{path} is an NPZ file, which has no columns.",
                f"{INPUTS.name}, {TRAJECTORY.name} and {MISSING_VALUES.name} go with CSV files.",
            )
        trajectory = read_npz(path)
        labels = list(said.states) or [f"u{i}" for i in range(trajectory.u.shape[1])]
        if len(labels) != trajectory.u.shape[1]:
            raise DataError(
                f"{path.with_suffix('.toml')}: key 'states' names {len(labels)}; u has "
                f"{trajectory.u.shape[1]} columns.",
                OWN_PAGE,
            )
        columns = (_TIME, *columns_of(labels, _TAKEN))
    else:
        found = read_csv(path, how, _TAKEN)
        trajectory, columns = found.trajectory, (found.time, *found.states, *found.inputs)
        labels = [one.label for one in found.states]
        if said.states and labels != list(said.states):
            raise DataError(
                f"{path.with_suffix('.toml')}: key 'states' is {list(said.states)}, and the states "
                f"of {path.name} are {labels}.",
                "Leave the key out; it names the columns of NPZ files.",
            )
    time, *others = _with_units(columns, said.units, path)
    states, inputs = tuple(others[: trajectory.u.shape[1]]), tuple(others[trajectory.u.shape[1] :])
    known = UserRecording(trajectory, time, states, inputs, None, said.title, said.source)
    written = {column.name: column.name for column in states}
    written |= {column.label: column.name for column in states}
    truth = user_truth(
        options.get(TRUTH.key),
        said.truth,
        path.with_suffix(".toml"),
        states=written,
        variables=[column.name for column in (*states, *inputs)],
    )
    if truth is not None:
        internal = OwnNames(known.names).internal
        truth = tuple(map(internal, truth))
    return replace(known, truth=truth)


def _read_description_of(path: Path) -> _File:
    file = path.with_suffix(".toml")
    return read_description(file, _File, OWN_PAGE) if file.exists() else _File(schema=1)


def _with_units(
    columns: Sequence[LabelledColumn], units: Mapping[str, str], path: Path
) -> tuple[LabelledColumn, ...]:
    known = {name: place for place, one in enumerate(columns) for name in (one.name, one.label)}
    found = list(columns)
    for name, unit in units.items():
        if name not in known:
            raise DataError(
                f"{path.with_suffix('.toml')}: key 'units.{name}': there is no such column.",
                did_you_mean(name, known),
            )
        found[known[name]] = replace(found[known[name]], unit=unit)
    return tuple(found)
