"""Datasets of ODEs: trajectories of the project's systems, and of the user's files."""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import takewhile
from typing import TYPE_CHECKING, Any

import numpy as np

from eqverdict import parse
from mdbench.data.derivatives import time_derivative
from mdbench.data.noise import add_noise, add_published_noise
from mdbench.data.readers import choice
from mdbench.data.roles import lasting
from mdbench.data.smoothing import FEWEST_SAMPLES, Smoothed, curves_between, smooth
from mdbench.data.times import UNIT_SECONDS
from mdbench.data.trajectory import (
    Trajectory,
    load_or_make,
    named_columns,
    split_as_published,
    split_chronologically,
    state_names,
)
from mdbench.datatypes.base import NO_OPTIONS, Background, Dataset, Source
from mdbench.datatypes.equations.alike import independent_columns
from mdbench.datatypes.equations.files import Suites, find_files, fingerprint, named
from mdbench.datatypes.equations.options import (
    EXACT,
    HOLDOUT,
    OWN_OPTIONS,
    POOL,
    SCALING,
    derivatives_asked,
    require_exact,
)
from mdbench.datatypes.equations.selection import INTEGRATED_TO, Increments
from mdbench.datatypes.facts import Protocol
from mdbench.datatypes.ode import FACTS
from mdbench.datatypes.ode.recordings import (
    FIFTH,
    LAST,
    TIMES,
    TRAJECTORIES,
    UserRecording,
    holdout_of,
    read_recording,
)
from mdbench.datatypes.ode.sweeps import SECOND_START, SETS, Conditions
from mdbench.datatypes.ode.systems import SOLVER, integrate, read_system
from mdbench.errors import DataError, UsageError
from mdbench.metrics.regression import nmse

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from mdbench.datatypes.ode.systems import OdeSystem

    Array = NDArray[np.float64]

ODEBENCH = "odebench"
"""The group of the systems in the folder itself."""


@dataclass(frozen=True, eq=False)
class OdeDataset(Dataset):
    """A trajectory at one noise level.

    Attributes
    ----------
    given
        What a method may see: times and states, noise included.
    clean
        The same without the noise that was added here, as far as anybody knows it: what the test
        asks about.  Its derivatives are the targets; where it has none the test asks for integrals.
    derivatives
        What methods are given: the noisy states with finite differences (``fd``) or with the true
        derivatives (``exact``), or smoothed states with their derivatives (``smooth``).
    unseen
        Makes or reads a true trajectory from another initial condition; None where there is none.
    titles
        Titles of the axes for the time and for each state; empty for those without names of their
        own.
    holdout
        What the test is of several trajectories: ``times``, ``trajectories`` or the ``last``; see
        `parted`.
    scaled
        Whether the states are in units of the user's, which mean nothing.
    notes
        How the files were read, for people.
    left_out
        A line for each column that was left out, and why.
    lyapunov
        The largest Lyapunov exponent, per unit of time; None where it is not known.
    solver
        The settings of the solver that the states were made with, and answers are simulated with.
    """

    given: Trajectory = field(repr=False)
    clean: Trajectory = field(repr=False)
    derivatives: str
    unseen: Callable[[], Trajectory] | None = field(default=None, repr=False)
    titles: tuple[str, ...] = ()
    holdout: str = TIMES
    scaled: bool = False
    notes: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()
    lyapunov: float | None = None
    solver: Mapping[str, Any] = field(default_factory=SOLVER.copy, repr=False)

    def parted(
        self, series: Trajectory, protocol: Protocol = Protocol.STRICT
    ) -> tuple[list[Trajectory], list[Trajectory]]:
        """Return what of its trajectories comes before the test, and the test."""
        if self.holdout == TRAJECTORIES:
            return _whole_ones(series.pieces)
        if self.holdout == LAST:
            return series.pieces[:-1], series.pieces[-1:]
        if protocol is Protocol.STRICT:
            cuts = [split_chronologically(len(one.t)) for one in series.pieces]
        else:
            cuts = [split_as_published(len(one.t)) for one in series.pieces]
        pairs = list(zip(series.pieces, cuts, strict=True))
        return [one.rows(cut.refit) for one, cut in pairs], [
            one.rows(cut.test) for one, cut in pairs
        ]

    def curves(self, pieces: Sequence[Trajectory]) -> list[Smoothed]:
        """Smooth trajectories; those in units of the user's about their means."""
        if not self.scaled:
            return [smooth(one.t, one.u) for one in pieces]
        return [curves_between(one.t, one.u, one.jumps) for one in pieces]

    def increments(self, tests: Sequence[Trajectory]) -> Increments | None:
        """Return what equations are compared with where derivatives are not known.

        None where a trajectory has too few samples.
        """
        if not self.scaled and any(len(one.t) < FEWEST_SAMPLES for one in tests):
            return None
        return Increments.of(self.curves(tests), tests, centred=self.scaled)


def _whole_ones(pieces: Sequence[Trajectory]) -> tuple[list[Trajectory], list[Trajectory]]:
    """Hold out every fifth trajectory; of fewer than five the last."""
    out = set(range(FIFTH - 1, len(pieces), FIFTH)) or {len(pieces) - 1}
    kept = [one for place, one in enumerate(pieces) if place not in out]
    return kept, [one for place, one in enumerate(pieces) if place in out]


@dataclass(frozen=True)
class _SecondTrajectory:
    """The trajectory from the second initial condition, made or read when it is first needed.

    A dataclass, so that the cache of a process sees that it holds no large array of its own.
    """

    system: OdeSystem
    cache: Path

    def __call__(self) -> Trajectory:
        return self._trajectory

    @cached_property
    def _trajectory(self) -> Trajectory:
        start = self.system.initial_conditions[1]
        place = "_".join(f"{value:g}" for value in start)
        path = self.cache / f"{self.system.name}-{self.system.recipe[:16]}-from-{place}.npz"
        return load_or_make(path, lambda: Trajectory(*integrate(self.system, start)))


class OdeSystems(Source[OdeDataset]):
    """The project's own systems; their clean arrays are made on first use.

    The 63 of ODEBench are in the folder itself.  The folders in it are suites, such as ``dev`` of
    the systems that methods may be developed on; they are used only where they are asked for.
    """

    def __init__(self, folder: Path, cache: Path) -> None:
        self.folder = folder
        self.cache = cache
        self._floors: dict[str, float] = {}
        self._clean: dict[str, Trajectory] = {}
        self._second: dict[str, _SecondTrajectory] = {}
        self._systems = Suites(folder, read_system, FACTS.order)

    def names(self) -> list[str]:
        if not self._systems.own.unordered:
            raise DataError(f"{self.folder} has no systems: no file ends in .toml")
        return list(self._systems.own)

    def groups(self) -> dict[str, list[str]]:
        found = {ODEBENCH: self.names()}
        for title, suite in self._systems.suites.items():
            found[title] = list(suite)
            new = [name for name in suite if not suite.heads[name].get("repeats")]
            if len(new) < len(suite):
                found[f"{title}-new"] = new
        for title in (ODEBENCH, *(name for name in found if name.endswith("-new"))):
            for end, condition in SETS.items():
                found[f"{title}-{end}"] = [f"{name}+{condition}" for name in found[title]]
        return found

    def _system(self, name: str) -> OdeSystem:
        return named(name.partition("+")[0], self._systems)

    def title(self, name: str) -> str:
        system = self._system(name)
        again = f" (repeats {', '.join(system.repeats)})" if system.repeats else ""
        return f"{system.description}{again}"

    def laws(self, name: str) -> tuple[str, ...]:
        _, conditions = Conditions.read(name)
        system = self._system(name)
        return (conditions.system(system) if conditions.moved else system).truth

    def background(self, name: str) -> Background:
        system = self._system(name)
        rates = {f"{state}_t": f"the rate of change of {state}" for state in system.variables}
        return Background(meanings=dict(system.variables) | rates, about=system.description)

    def load(
        self,
        name: str,
        *,
        snr_db: float | None,
        seed: int,
        protocol: Protocol,
        options: Mapping[str, Any] = NO_OPTIONS,
    ) -> OdeDataset:
        derivatives = derivatives_asked(options, protocol)
        if own := [option.name for option in OWN_OPTIONS if option.key in options]:
            raise UsageError(
                f"{own[0]} is an option for a file of your own.", "Name one by --dataset-path."
            )
        system, (_, conditions) = self._system(name), Conditions.read(name)
        if conditions.usual:
            clean = self._usual(name, system)
        elif protocol is Protocol.PUBLISHED:
            raise UsageError("The protocol published knows no --sweep.", "Leave one of them out.")
        else:
            system, clean = conditions.system(system), conditions.sampled(system, self.cache)
        u = clean.u if snr_db is None else self._noisy(name, clean.u, snr_db, seed, protocol)
        given = replace(clean, u=conditions.noisy(u, name, seed), du=None)
        holdout, unseen = TIMES, self._unseen(name, system)
        if conditions.test == SECOND_START:
            holdout, unseen, second = LAST, None, conditions.second(self._system(name), self.cache)
            given, clean = (Trajectory.joined([one, second]) for one in (given, clean))
            given = replace(given, du=None)
        identity = _fingerprint(
            *(given.u, clean, snr_db, protocol.value, seed),
            derivatives=derivatives,
            description=None if holdout == TIMES else holdout,
        )
        made = OdeDataset(
            name=name,
            dim=system.dim,
            snr_db=snr_db,
            truth=system.truth,
            target_source="equations",
            fingerprint=identity,
            given=given,
            clean=clean,
            derivatives=derivatives,
            unseen=unseen,
            holdout=holdout,
            lyapunov=system.lyapunov,
            solver=system.solver,
        )
        noisy = protocol is Protocol.PUBLISHED and snr_db is not None
        scored = identity if noisy else name  # the truth is scored on the clean data of the name
        if scored not in self._floors:
            self._floors[scored] = _floor(made, noisy=noisy)
        return replace(made, floor=self._floors[scored])

    def _usual(self, name: str, system: OdeSystem) -> Trajectory:
        """Return the clean trajectory, which is read once for all levels of noise and seeds."""
        if name not in self._clean:
            path = self.cache / f"{name}-{system.recipe[:16]}.npz"
            self._clean[name] = load_or_make(path, lambda: Trajectory(*integrate(system)))
        return self._clean[name]

    def _unseen(self, name: str, system: OdeSystem) -> _SecondTrajectory | None:
        if len(system.initial_conditions) < 2:  # noqa: PLR2004
            return None
        return self._second.setdefault(name, _SecondTrajectory(system, self.cache))

    def _noisy(self, name: str, u: Array, snr_db: float, seed: int, protocol: Protocol) -> Array:
        if protocol is Protocol.STRICT:
            return add_noise(u, name=name, snr_db=snr_db, seed=seed)
        order = list(self._systems)
        earlier = [self._system(each) for each in order[: order.index(name)]]
        before = sum(each.samples * each.dim for each in earlier)
        return add_published_noise(u, snr_db=snr_db, seed=seed, entries_before=before)


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
        return list(self.paths)

    def title(self, name: str) -> str:
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
        kept = [known.holdout, scaled] if scaled or known.holdout != TIMES else []
        identity = _fingerprint(
            *(u, clean, snr_db, noise, seed),
            derivatives=derivatives,
            description=[*known.description, *kept],
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
    kept, lines = independent_columns(names, columns, dim)
    if known.truth is not None or len(kept) == len(names):
        return known, lambda one: one, ()
    states = [place for place in kept if place < dim]
    inputs = [place - dim for place in kept if place >= dim]

    def picked(one: Trajectory) -> Trajectory:
        return replace(
            one,
            u=np.ascontiguousarray(one.u[:, states]),
            du=None if one.du is None else np.ascontiguousarray(one.du[:, states]),
            inputs=None
            if one.inputs is None or not inputs
            else np.ascontiguousarray(one.inputs[:, inputs]),
            held=one.held and bool(inputs),
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
    found = []
    for path, one in zip(paths, several, strict=True):
        pairs = [
            (f"{mine.name} in {mine.unit}", f"in {other.unit}")
            for mine, other in zip(
                (*one.states, *one.inputs), (*first.states, *first.inputs), strict=True
            )
            if mine.unit != other.unit and mine.unit and other.unit
        ]
        mine, other = (each.time.unit or lasting(each.time.label) for each in (one, first))
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
        series = one.trajectory
        found.append(replace(series, t=series.t * factor) if factor != 1.0 else series)
    return found


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


def rates(series: Trajectory) -> Array:
    """Return the derivatives of one trajectory, by finite differences where they are not known."""
    return time_derivative(series.t, series.u) if series.du is None else series.du


def concatenated(columns: Sequence[Mapping[str, Array]]) -> dict[str, Array]:
    """Concatenate the columns of several trajectories."""
    return {name: np.concatenate([one[name] for one in columns]) for name in columns[0]}


def user_floor(dataset: OdeDataset) -> float | None:
    """Score the user's truth of a trajectory, as answers are scored."""
    clean = dataset.clean
    _, tests = dataset.parted(clean)
    at = concatenated([named_columns(one) for one in tests])
    read = [parse(text, state_names(clean)) for text in dataset.truth or ()]
    if clean.du is not None:
        values = np.stack([one.evaluate(at) for one in read], axis=-1)
        targets = np.concatenate([rates(one) for one in tests])
        return nmse(values, targets, scaled=dataset.scaled)
    if (evidence := dataset.increments(tests)) is None:
        return None
    values = np.array(
        [evidence.loss(one.evaluate(evidence.columns), i) for i, one in enumerate(read)]
    )
    return float(np.mean(values)) if np.isfinite(values).all() else None


def _floor(dataset: OdeDataset, *, noisy: bool) -> float:
    """Score the truth on the test inputs.

    Clean ones are known to the tolerance that they were integrated with.  Where the derivatives
    vanish, to be off by this share makes the truth as bad as zero, and so any answer that is right
    but for its last digits: then the floor is what the truth so scores.
    """
    _, tests = dataset.parted(dataset.clean)
    targets = np.concatenate([rates(one) for one in tests])

    names = [f"u{i}" for i in range(targets.shape[1])]
    equations = [parse(text, names) for text in dataset.truth or ()]

    def score(u: Array) -> float:
        columns = dict(zip(names, u.T, strict=True))
        values = [each.evaluate(columns) for each in equations]
        return nmse(np.stack(values, axis=-1), targets)

    if noisy:
        return score(np.concatenate([one.u for one in dataset.parted(dataset.given)[1]]))
    test = np.concatenate([one.u for one in tests])
    off = score(test * (1.0 + INTEGRATED_TO))
    return off if off >= 1.0 else score(test)


def _fingerprint(
    u: Array,
    clean: Trajectory,
    snr_db: float | None,
    noise: str,
    seed: int,
    *,
    derivatives: str,
    description: object = None,
) -> str:
    arrays: dict[str, NDArray[Any]] = {"t": clean.t, "u": u, "clean u": clean.u}
    if description:
        arrays["said"] = np.frombuffer(
            json.dumps(description, sort_keys=True).encode(), dtype=np.uint8
        )
    if clean.inputs is not None:
        arrays["inputs"] = clean.inputs
        if clean.held:
            arrays["held"] = np.ones(1)
    if len(clean.starts) > 1:
        arrays["starts"] = np.array(clean.starts)
    if derivatives == "smooth":
        arrays["smoothed"] = np.ones(1)
    if derivatives == EXACT:
        arrays["exact"] = np.ones(1)
    if clean.du is not None:
        arrays["du"] = clean.du
    return fingerprint(arrays, snr_db, noise, seed)
