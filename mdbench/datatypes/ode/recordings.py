"""Recordings of the user's and their datasets: files of samples, TOML files, and options."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import takewhile
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from pydantic import BaseModel, ConfigDict, Field

from eqverdict import parse
from eqverdict.tree import CONSTANTS, FUNCTIONS
from mdbench.data.columns import LabelledColumn, OwnNames, columns_of
from mdbench.data.descriptions import OWN_PAGE, read_description
from mdbench.data.noise import add_noise
from mdbench.data.readers import choice, description_of, reader_of
from mdbench.data.roles import lasting
from mdbench.data.times import UNIT_SECONDS
from mdbench.data.trajectory import (
    FEWEST_EACH,
    FEWEST_PIECES,
    MIN_SAMPLES,
    Trajectory,
    named_columns,
    state_names,
)
from mdbench.datatypes.base import NO_OPTIONS, Source
from mdbench.datatypes.equations.alike import independent_columns
from mdbench.datatypes.equations.files import find_files, named
from mdbench.datatypes.equations.options import (
    HOLD,
    HOLDOUT,
    POOL,
    READ_OPTIONS,
    SCALING,
    STATES,
    TRUTH,
    derivatives_asked,
    require_exact,
    user_truth,
)
from mdbench.datatypes.facts import Protocol
from mdbench.datatypes.ode.datasets import (
    FIFTH,
    NOTHING,
    TIMES,
    TRAJECTORIES,
    OdeDataset,
    concatenated,
    fingerprint_of,
    rates,
)
from mdbench.errors import DataError, UsageError, did_you_mean
from mdbench.metrics.regression import nmse

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

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
    holdout: Literal["", "times", "trajectories", "none"] = ""
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
    short = asked == TRAJECTORIES or (asked == NOTHING and len(pieces) > 1)
    series.check(path, FEWEST_EACH if short else MIN_SAMPLES)
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
    labels = list(columns)
    for name, unit in units.items():
        if name not in known:
            raise DataError(
                f"{description_of(path)}: key 'units.{name}': there is no such column.",
                did_you_mean(name, known),
            )
        labels[known[name]] = replace(labels[known[name]], unit=unit)
    return tuple(labels)


class OdeFiles(Source[OdeDataset]):
    """Trajectories in files of the user's, whose truth is not known.

    Every table or file of arrays in the folder, and in the folders in it, is a dataset of the
    file's name.  A name that ends in ``_snr_40`` and the like is a noisy version of that dataset.
    """

    def __init__(self, path: Path) -> None:
        self.paths, self.noisy = find_files(
            path,
            "series",
            f"Give a file that ends in {choice('series')}, or a folder of such files. A table has "
            "the time, then states, and the first line names them; a file of arrays has t, u and, "
            "if it is known, du.",
        )

    def names(self) -> list[str]:
        """Return the files' names."""
        return list(self.paths)

    def title(self, name: str) -> str:
        """Return the title of a recording, its file, and what the user calls its states."""
        if name not in self.paths:  # a pool
            return f"{len(self.paths)} files"
        path = self.paths[name]
        try:
            known, _, _ = _independent(read_recording(path, NO_OPTIONS))
        except (DataError, UsageError):  # it needs options, or loading it raises the error
            return str(path)
        names = ", ".join(f"{theirs}: {own}" for theirs, own in known.names.items())
        return f"{f'{known.title}: ' * bool(known.title)}{path}{f' ({names})' * bool(names)}"

    def load(
        self,
        name: str,
        *,
        snr_db: float | None,
        seed: int,
        protocol: Protocol,
        options: Mapping[str, Any] = NO_OPTIONS,
    ) -> OdeDataset:
        """Read a recording, or several that are pooled; see `Source.load`."""
        derivatives = derivatives_asked(options, protocol)
        if POOL.key in options:
            known, noisy = self._pooled(options), None
        else:
            if "+" in name and name not in self.paths:
                raise UsageError(
                    "--sweep is of the project's own systems.",
                    "Leave it out: files of your own are as they were sampled.",
                )
            path = named(name, self.paths)
            noisy = None if snr_db is None else self.noisy.get((name, snr_db))
            known = read_recording(path, options)
        known, picked, left_out = _independent(known)
        clean = known.trajectory
        if noisy is not None:
            measured = picked(read_recording(noisy, options, described_by=path).trajectory)
            if not np.array_equal(measured.t, clean.t):
                clean = measured  # these states are not known without noise
            u, noise = measured.u, "file"
        else:
            u, noise = clean.u, Protocol.STRICT.value
            if snr_db is not None:
                u = add_noise(u, name=name, snr_db=snr_db, seed=seed)
        require_exact(derivatives, name, clean.du)
        scaled = protocol is Protocol.STRICT and options.get(SCALING.key, "on") == "on"
        remarks = [known.holdout, scaled] if scaled or known.holdout != TIMES else []
        identity = fingerprint_of(
            *(u, clean, snr_db, noise, seed),
            derivatives=derivatives,
            description=[*known.description, *remarks],
        )
        made = OdeDataset(
            name=name,
            dim=u.shape[1],
            snr_db=snr_db,
            truth=known.truth,
            target_source="finite differences" if clean.du is None else "file",
            fingerprint=identity,
            given=replace(clean, u=u, du=None),
            clean=clean,
            derivatives=derivatives,
            names=known.names,
            measured_in=known.units,
            titles=(known.time.title, *(one.title for one in known.states)),
            holdout=known.holdout,
            scaled=scaled,
            notes=known.notes,
            left_out=left_out,
            own=True,
        )
        return made if known.truth is None else replace(made, floor=user_floor(made))

    def _pooled(self, options: Mapping[str, Any]) -> UserRecording:
        """Read several files as trajectories of one experiment."""
        paths = [named(name, self.paths) for name in options[POOL.key]]
        several = [read_recording(path, options, pooled=True) for path in paths]
        first = several[0]
        columns = [one.name for one in (*first.states, *first.inputs)]
        for path, one in zip(paths, several, strict=True):
            if (other := [each.name for each in (*one.states, *one.inputs)]) != columns:
                raise DataError(
                    f"{path} has the columns {', '.join(other)}, and {paths[0]} has "
                    f"{', '.join(columns)}.",
                    "With --pool all files have the same; name those that do: --dataset NAME ...",
                )
        times = _in_one_unit(paths, several)
        whole = Trajectory.joined(times)
        holdout = holdout_of(whole, options.get(HOLDOUT.key, ""), paths[0].parent)
        return replace(first, trajectory=whole, holdout=holdout)


def _independent(
    known: UserRecording,
) -> tuple[UserRecording, Callable[[Trajectory], Trajectory], tuple[str, ...]]:
    """Leave out the columns that are constant, or the same as another one but for a factor.

    Where the user gives a truth, which may have all of them, none is left out.

    Returns
    -------
    recording, function, lines
        What is kept; what does the same to another trajectory of these columns; and a line for each
        column that is left out.
    """
    series = known.trajectory
    dim = series.u.shape[1]
    names = [column.name for column in (*known.states, *known.inputs)]
    columns = np.stack([*named_columns(series).values()], axis=1)
    chosen, lines = independent_columns(names, columns, dim)
    if known.truth is not None or len(chosen) == len(names):
        return known, lambda one: one, ()
    states = [place for place in chosen if place < dim]
    inputs = [place - dim for place in chosen if place >= dim]

    def picked(trajectory: Trajectory) -> Trajectory:
        return replace(
            trajectory,
            u=np.ascontiguousarray(trajectory.u[:, states]),
            du=None if trajectory.du is None else np.ascontiguousarray(trajectory.du[:, states]),
            inputs=None
            if trajectory.inputs is None or not inputs
            else np.ascontiguousarray(trajectory.inputs[:, inputs]),
            held=trajectory.held and bool(inputs),
        )

    less = replace(
        known,
        trajectory=picked(series),
        states=tuple(known.states[place] for place in states),
        inputs=tuple(known.inputs[place] for place in inputs),
    )
    return less, picked, tuple(lines)


def _in_one_unit(paths: Sequence[Path], several: Sequence[UserRecording]) -> list[Trajectory]:
    """Return trajectories with all times in the unit of the first file's.

    Raises
    ------
    DataError
        If columns are in other units: how values go over into one another is not known.
    """
    first = several[0]
    series_in_unit = []
    for path, recording in zip(paths, several, strict=True):
        pairs = [
            (f"{mine.name} in {mine.unit}", f"in {other.unit}")
            for mine, other in zip(
                (*recording.states, *recording.inputs), (*first.states, *first.inputs), strict=True
            )
            if mine.unit != other.unit and mine.unit and other.unit
        ]
        mine, other = (each.time.unit or lasting(each.time.label) for each in (recording, first))
        known = mine in UNIT_SECONDS and other in UNIT_SECONDS
        if mine != other and not known:
            pairs.append((f"times in {mine or 'no unit'}", f"in {other or 'none'}"))
        if pairs:
            raise DataError(
                f"{path} has {pairs[0][0]}, and {paths[0]} {pairs[0][1]}.",
                "With --pool all files have the same units, in their headers or of their dates: "
                "write them so.",
            )
        factor = UNIT_SECONDS[mine] / UNIT_SECONDS[other] if mine != other else 1.0
        series = recording.trajectory
        series_in_unit.append(replace(series, t=series.t * factor) if factor != 1.0 else series)
    return series_in_unit


def pool_name(names: Sequence[str]) -> str:
    """Return the name of several files as one dataset: how all their names begin.

    Examples
    --------
    >>> pool_name(["run-01", "run-02"]), pool_name(["a", "b"])
    ('run', 'pooled')
    """
    alike = takewhile(lambda letters: len(set(letters)) == 1, zip(*names, strict=False))
    begin = "".join(letters[0] for letters in alike)
    return begin.rstrip("-_. 0123456789") or "pooled"


def user_floor(dataset: OdeDataset) -> float | None:
    """Score the user's truth of a trajectory, as answers are scored."""
    clean = dataset.clean
    _, tests = dataset.parted(clean)
    at = concatenated([named_columns(one) for one in tests])
    read = [parse(text, state_names(clean)) for text in dataset.truth or ()]
    if clean.du is not None:
        values = np.stack([one.evaluate(at) for one in read], axis=-1)
        targets = np.concatenate([rates(one) for one in tests])
        return nmse(values, targets)
    if (evidence := dataset.increments(tests)) is None:
        return None
    values = np.array(
        [evidence.loss(one.evaluate(evidence.columns), i) for i, one in enumerate(read)]
    )
    return float(np.mean(values)) if np.isfinite(values).all() else None
