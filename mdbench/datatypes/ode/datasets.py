"""Datasets of ODEs: trajectories of the project's systems, and of the user's files."""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from eqverdict import parse
from mdbench.data.derivatives import time_derivative
from mdbench.data.noise import add_noise, add_published_noise
from mdbench.data.smoothing import FEWEST_SAMPLES, Smoothed, curves_between, smooth
from mdbench.data.trajectory import (
    Trajectory,
    load_or_make,
    split_as_published,
    split_chronologically,
)
from mdbench.datatypes.base import NO_OPTIONS, Background, Dataset, Source
from mdbench.datatypes.equations.files import Suites, fingerprint, named
from mdbench.datatypes.equations.options import (
    EXACT,
    OWN_OPTIONS,
    derivatives_asked,
)
from mdbench.datatypes.equations.selection import INTEGRATED_TO, Increments
from mdbench.datatypes.facts import Protocol
from mdbench.datatypes.ode import FACTS
from mdbench.datatypes.ode.sweeps import SECOND_START, SETS, Conditions
from mdbench.datatypes.ode.systems import SOLVER, read_system
from mdbench.errors import DataError, UsageError
from mdbench.metrics.regression import nmse

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from mdbench.datatypes.ode.systems import OdeSystem

    Array = NDArray[np.float64]

TIMES, TRAJECTORIES, LAST, NOTHING = "times", "trajectories", "last", "none"
FIFTH = 5
"""One trajectory in so many is held out."""
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
    exact_until
        The time up to which the samples from each start are those of the equations; empty where
        all are, or where nobody knows.
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
    exact_until: tuple[float, ...] = ()

    def parted(
        self, series: Trajectory, protocol: Protocol = Protocol.STRICT
    ) -> tuple[list[Trajectory], list[Trajectory]]:
        """Return what of its trajectories comes before the test, and the test."""
        if self.holdout == TRAJECTORIES:
            return _whole_ones(series.pieces)
        if self.holdout == LAST:
            return series.pieces[:-1], series.pieces[-1:]
        if self.holdout == NOTHING:
            return list(series.pieces), list(series.pieces)
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
    folder: Path

    def __call__(self) -> Trajectory:
        return self._trajectory

    @cached_property
    def _trajectory(self) -> Trajectory:
        start = self.system.initial_conditions[1]
        place = "_".join(f"{value:g}" for value in start)
        path = self.cache / f"{self.system.name}-{self.system.recipe[:16]}-from-{place}.npz"
        return load_or_make(path, lambda: _made(self.system, 1, self.folder))


def _made(system: OdeSystem, number: int, folder: Path) -> Trajectory:
    from mdbench.datatypes.ode.accuracy import checked_trajectory  # noqa: PLC0415 - made once

    return checked_trajectory(system, number, folder)


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

    def __contains__(self, name: str) -> bool:
        return name in self._systems.own.unordered

    def groups(self) -> dict[str, list[str]]:
        groups = {ODEBENCH: self.names()}
        for title, suite in self._systems.suites.items():
            groups[title] = list(suite)
            new = [name for name in suite if not suite.heads[name].get("repeats")]
            if len(new) < len(suite):
                groups[f"{title}-new"] = new
        for title in (ODEBENCH, *(name for name in groups if name.endswith("-new"))):
            for end, condition in SETS.items():
                groups[f"{title}-{end}"] = [f"{name}+{condition}" for name in groups[title]]
        return groups

    def _system(self, name: str) -> OdeSystem:
        return named(name.partition("+")[0], self._systems)

    def title(self, name: str) -> str:
        system = self._system(name)
        again = f" (repeats {', '.join(system.repeats)})" if system.repeats else ""
        times = " and ".join(f"{time:g}" for time in system.exact_until)
        exact = f" (samples are the solver's after t = {times})" if times else ""
        return f"{system.description}{again}{exact}"

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
        if conditions.noise:
            u = conditions.noisy(u, name, seed)
        measured = replace(clean, u=u, du=None)
        holdout, unseen = TIMES, self._unseen(name, system)
        if conditions.test == SECOND_START:
            holdout, unseen, second = LAST, None, conditions.second(self._system(name), self.cache)
            measured, clean = (Trajectory.joined([one, second]) for one in (measured, clean))
            measured = replace(measured, du=None)
        identity = fingerprint_of(
            *(measured.u, clean, snr_db, protocol.value, seed),
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
            given=measured,
            clean=clean,
            derivatives=derivatives,
            unseen=unseen,
            holdout=holdout,
            lyapunov=system.lyapunov,
            solver=system.solver,
            exact_until=system.exact_until,
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
            self._clean[name] = load_or_make(path, lambda: _made(system, 0, self.folder))
        return self._clean[name]

    def _unseen(self, name: str, system: OdeSystem) -> _SecondTrajectory | None:
        if len(system.initial_conditions) < 2:  # noqa: PLR2004
            return None
        return self._second.setdefault(name, _SecondTrajectory(system, self.cache, self.folder))

    def _noisy(self, name: str, u: Array, snr_db: float, seed: int, protocol: Protocol) -> Array:
        if protocol is Protocol.STRICT:
            return add_noise(u, name=name, snr_db=snr_db, seed=seed)
        order = list(self._systems)
        earlier = [self._system(each) for each in order[: order.index(name)]]
        before = sum(each.samples * each.dim for each in earlier)
        return add_published_noise(u, snr_db=snr_db, seed=seed, entries_before=before)


def rates(series: Trajectory) -> Array:
    """Return the derivatives of one trajectory, by finite differences where they are not known."""
    return time_derivative(series.t, series.u) if series.du is None else series.du


def concatenated(columns: Sequence[Mapping[str, Array]]) -> dict[str, Array]:
    """Concatenate the columns of several trajectories."""
    return {name: np.concatenate([one[name] for one in columns]) for name in columns[0]}


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


def fingerprint_of(
    u: Array,
    clean: Trajectory,
    snr_db: float | None,
    noise: str,
    seed: int,
    *,
    derivatives: str,
    description: object = None,
) -> str:
    """Return the SHA-256 of all that a trajectory's dataset is made of."""
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
