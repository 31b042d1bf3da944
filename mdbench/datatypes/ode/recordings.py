"""Recordings of the user's: a file of samples, the TOML file of its name, and options."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from eqverdict.tree import CONSTANTS, FUNCTIONS
from mdbench.data.columns import LabelledColumn, OwnNames, columns_of
from mdbench.data.descriptions import OWN_PAGE, read_description
from mdbench.data.readers import description_of, reader_of
from mdbench.data.trajectory import (
    FEWEST_EACH,
    FEWEST_PIECES,
    MIN_SAMPLES,
    Trajectory,
)
from mdbench.datatypes.equations.options import (
    HOLD,
    HOLDOUT,
    READ_OPTIONS,
    STATES,
    TRUTH,
    user_truth,
)
from mdbench.errors import DataError, UsageError, did_you_mean

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

TIMES, TRAJECTORIES, LAST = "times", "trajectories", "last"
FIFTH = 5
"""One trajectory in so many is held out."""
_TAKEN = frozenset(FUNCTIONS) | frozenset(CONSTANTS)
_TIME = LabelledColumn("time", "t")


class _File(BaseModel):
    """The TOML file of a data file."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    schema_: Literal[1] = Field(alias="schema")
    title: str = ""
    source: str = ""
    states: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    skip: int = Field(default=0, ge=0)
    step: str = ""
    na_values: tuple[str, ...] = ()
    time: str = ""
    time_format: str = ""
    time_zone: str = ""
    pivot: str = ""
    repeats: Literal["refuse", "average"] = "refuse"
    inputs: tuple[str, ...] = ()
    hold: Literal["zero", "linear"] = "linear"
    trajectory: str = ""
    holdout: Literal["", "times", "trajectories"] = ""
    missing: Literal["refuse", "drop", "interpolate"] = "refuse"
    units: dict[str, str] = {}
    truth: dict[str, str] | None = None


@dataclass(frozen=True, eq=False)
class UserRecording:
    """A trajectory of the user's, and what is known of it.

    Attributes
    ----------
    trajectory
        The samples.
    time, states, inputs
        Its columns.
    truth
        The true right-hand sides, in the methods' names; None where they are not known.
    title, source
        Texts for people.
    holdout
        What the test is of several trajectories.
    notes
        How the file was read, for people.
    """

    trajectory: Trajectory
    time: LabelledColumn
    states: tuple[LabelledColumn, ...]
    inputs: tuple[LabelledColumn, ...]
    truth: tuple[str, ...] | None
    title: str
    source: str
    holdout: str = TIMES
    notes: tuple[str, ...] = ()

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


def holdout_of(series: Trajectory, asked: str, path: Path) -> str:
    """Return what the test of trajectories is, and refuse those that it cannot be made of.

    Raises
    ------
    DataError
        If trajectories are too short, or too few.
    """
    pieces = series.pieces
    shortest = min(len(one.t) for one in pieces)
    if not asked:
        many = len(pieces) >= FIFTH and FEWEST_EACH <= shortest < MIN_SAMPLES
        asked = TRAJECTORIES if many else TIMES
    if asked == TRAJECTORIES and len(pieces) < FEWEST_PIECES:
        raise DataError(
            f"{path}: there is one trajectory, and --holdout trajectories needs {FEWEST_PIECES}.",
            "Name the column that separates them (--trajectory COLUMN), put the files of a folder "
            "together (--pool), or leave --holdout out.",
        )
    series.check(path, FEWEST_EACH if asked == TRAJECTORIES else MIN_SAMPLES)
    return asked


def read_recording(
    path: Path,
    options: Mapping[str, Any],
    *,
    described_by: Path | None = None,
    pooled: bool = False,
) -> UserRecording:
    """Read a trajectory, the TOML file of its name, and options that replace what is in it.

    Parameters
    ----------
    described_by
        The file whose TOML file counts; by default the file itself.
    pooled
        Whether it is one of several that are put together, and may be short.

    Raises
    ------
    DataError
        If a file cannot be used; it names the file and the key or the line.
    UsageError
        If an option does not fit the file.
    """
    # Imported here, as the project's own systems do not need it.
    from mdbench.data.arrangement import Reading  # noqa: PLC0415
    from mdbench.data.csv import read_table  # noqa: PLC0415

    described = _read_description_of(described_by or path)
    asked: dict[str, Any] = {
        option.key: _fixed(options.get(option.key, getattr(described, option.key)))
        for option in READ_OPTIONS
    }
    how = Reading(**asked)
    series = reader_of(path).series(path, skip=how.skip, fewest=1 if how.step else 2)
    notes: tuple[str, ...] = ()
    if isinstance(series, Trajectory):
        trajectory, columns = series, _named_by(series, asked, path)
    else:
        recording = read_table(path, series, how, _TAKEN, FEWEST_EACH)
        trajectory, notes = recording.trajectory, recording.notes
        columns = (recording.time, *recording.states, *recording.inputs)
    time, *others = _with_units(columns, described.units, path)
    states, inputs = tuple(others[: trajectory.u.shape[1]]), tuple(others[trajectory.u.shape[1] :])
    holdout = TIMES
    if not pooled:
        holdout = holdout_of(trajectory, options.get(HOLDOUT.key, described.holdout), path)
    if inputs:
        held = options.get(HOLD.key, described.hold) == "zero"
        trajectory = replace(trajectory, held=held)
    known = UserRecording(
        *(trajectory, time, states, inputs, None, described.title, described.source),
        holdout=holdout,
        notes=notes,
    )
    written = {column.name: column.name for column in states}
    written |= {column.label: column.name for column in states}
    truth = user_truth(
        options.get(TRUTH.key),
        described.truth,
        description_of(path),
        states=written,
        variables=[column.name for column in (*states, *inputs)],
    )
    if truth is not None:
        internal = OwnNames(known.names).internal
        truth = tuple(map(internal, truth))
    return replace(known, truth=truth)


def _fixed(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


def _named_by(
    series: Trajectory, asked: Mapping[str, Any], path: Path
) -> tuple[LabelledColumn, ...]:
    """Return the columns of a file of arrays t and u, whose states an option may name."""
    states = asked[STATES.key]
    others = {key: each for key, each in asked.items() if key != STATES.key}
    usual = _File(schema=1)
    if wrong := [key for key, each in others.items() if each != getattr(usual, key)]:
        names = ", ".join(option.name for option in READ_OPTIONS if option is not STATES)
        raise UsageError(
            f"{path} has the arrays t and u, and has no columns: --{wrong[0].replace('_', '-')} "
            "means nothing there.",
            f"{names} go with tables, and with files in which each array is a column of its own.",
        )
    labels = list(states) or [f"u{i}" for i in range(series.u.shape[1])]
    if len(labels) != series.u.shape[1]:
        raise DataError(
            f"{path}: 'states' names {len(labels)}; u has {series.u.shape[1]} columns.",
            f"Name each, by --states or the key 'states' of a TOML file.  {OWN_PAGE}",
        )
    return (_TIME, *columns_of(labels, _TAKEN))


def _read_description_of(path: Path) -> _File:
    file = description_of(path)
    return read_description(file, _File, OWN_PAGE) if file.exists() else _File(schema=1)


def _with_units(
    columns: Sequence[LabelledColumn], units: Mapping[str, str], path: Path
) -> tuple[LabelledColumn, ...]:
    known = {name: place for place, one in enumerate(columns) for name in (one.name, one.label)}
    found = list(columns)
    for name, unit in units.items():
        if name not in known:
            raise DataError(
                f"{description_of(path)}: key 'units.{name}': there is no such column.",
                did_you_mean(name, known),
            )
        found[known[name]] = replace(found[known[name]], unit=unit)
    return tuple(found)
