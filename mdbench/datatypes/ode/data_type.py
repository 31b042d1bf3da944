"""Ordinary differential equations: the 63 systems of ODEBench, and trajectories of the user's."""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import IO, TYPE_CHECKING, Any

import numpy as np

from mdbench.data import splits
from mdbench.data.array_files import write_npz
from mdbench.data.cache import load_or_make
from mdbench.data.derivatives import time_derivative
from mdbench.data.noise import add_noise, add_published_noise
from mdbench.data.smoothing import smooth
from mdbench.data.trajectory import Trajectory, named_columns, state_names
from mdbench.datatypes.base import NO_OPTIONS, Background, Dataset, Plots, Source
from mdbench.datatypes.equations.base import (
    AGREEMENT,
    COMPLEXITY,
    NMSE,
    PUBLISHED_NMSE,
    Course,
    EquationTask,
    EquationType,
)
from mdbench.datatypes.equations.data_checks import of_trajectory
from mdbench.datatypes.equations.files import SystemFiles, find_files, fingerprint, named, suffix
from mdbench.datatypes.equations.options import OWN_OPTIONS, uses_smoothing
from mdbench.datatypes.equations.selection import INTEGRATED_TO, Increments
from mdbench.datatypes.equations.terms import TERM_METRICS
from mdbench.datatypes.ode.facts import FACTS
from mdbench.datatypes.ode.simulation import Ending, simulate, warm
from mdbench.datatypes.ode.systems import N_POINTS, integrate, read_system
from mdbench.datatypes.ode.user_files import read_recording
from mdbench.datatypes.ode.views import (
    Samples,
    concatenated,
    given_samples,
    held_out,
    increments,
    measured_samples,
    needs_of,
    rates,
    split_of,
    user_floor,
)
from mdbench.errors import DataError, UsageError
from mdbench.expressions import parse
from mdbench.metrics.regression import nmse
from mdbench.metrics.spec import MetricSpec, Value, flag
from mdbench.protocols import Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from mdbench.datatypes.base import PlotBudget, PlottedAnswer
    from mdbench.datatypes.equations.base import EquationAnswer
    from mdbench.datatypes.ode.simulation import Simulated
    from mdbench.datatypes.ode.systems import OdeSystem

    Array = NDArray[np.float64]

__all__ = ["DATA_TYPE", "Ode", "OdeDataset"]

ODEBENCH, DEV = "odebench", "dev"
"""The groups of systems, by which ``--dataset`` asks for all of one."""
FOLLOWED = 0.9
"""A trajectory with a larger R2 is followed: the score of ODEFormer."""

_TEST = flag(
    "follows",
    "R² test",
    "answers with R² above 0.9 when they are integrated, by the solver that made the data, through "
    "the test window from its first true state",
    places={"board", "brief"},
)
_UNSEEN = flag(
    "follows_unseen",
    "R² unseen",
    "the same over the whole time from the second initial condition, which no method is given",
    places={"board", "brief", "figure"},
)
_R2_TEST, _R2_UNSEEN = (
    MetricSpec(
        name=name,
        title=title,
        explanation=f"R² of the trajectory {where}; none where it does not come to its end",
        better="higher",
        on_failure=None,
        digits=3,
        places=frozenset({"answer"}),
    )
    for name, title, where in (
        ("r2_test", "R² test", "through the test window"),
        ("r2_unseen", "R² unseen", "from the second initial condition"),
    )
)
_ENDED = MetricSpec(
    name="simulation_ended",
    title="broke off",
    explanation="simulations that did not come to the last time, by cause",
    kind="label",
    labels=(Ending.WHOLE, Ending.BLEW_UP, Ending.STIFF),
    better="neither",
    on_failure=None,
    aggregate="counts",
    places=frozenset({"board", "answer"}),
)


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
    smoothed
        Whether methods are given smoothed states and their derivatives, or the noisy states and
        finite differences.
    unseen
        Makes or reads a true trajectory from another initial condition; None where there is none.
    titles
        What axes say of the time and of each state; empty for those that have no names but the
        methods'.
    """

    given: Trajectory = field(repr=False)
    clean: Trajectory = field(repr=False)
    smoothed: bool
    unseen: Callable[[], Trajectory] | None = field(default=None, repr=False)
    titles: tuple[str, ...] = ()


@dataclass(frozen=True)
class _Unseen:
    """Makes or reads a trajectory when it is first asked for."""

    system: OdeSystem
    start: tuple[float, ...]
    cache: Path

    def __call__(self) -> Trajectory:
        return self._trajectory

    @cached_property
    def _trajectory(self) -> Trajectory:
        place = "_".join(f"{value:g}" for value in self.start)
        path = self.cache / f"{self.system.name}-{self.system.recipe[:16]}-from-{place}.npz"
        return load_or_make(path, lambda: Trajectory(*integrate(self.system, self.start)))


class Ode(EquationType[OdeDataset]):
    """Systems ``du/dt = f(u)``, known by one sampled trajectory."""

    name = "ode"
    from_files = True
    views = FACTS.views
    metrics = (
        NMSE,
        PUBLISHED_NMSE,
        *TERM_METRICS,
        _TEST,
        _R2_TEST,
        _UNSEEN,
        _R2_UNSEEN,
        _ENDED,
        COMPLEXITY,
        AGREEMENT,
    )
    check_datasets = ("rc-circuit", "harmonic-oscillator")
    options = FACTS.options
    has_plots = True
    advice = staticmethod(of_trajectory)

    def source(self, path: Path | None = None) -> Source[OdeDataset]:
        """Open the 63 systems; or an NPZ or CSV file of the user's, or a folder of them."""
        return _OdeSystems(self.systems, self.cache) if path is None else _OdeFiles(path)

    def task(self, dataset: OdeDataset, view: str, protocol: Protocol) -> EquationTask[OdeDataset]:
        """Cut a trajectory by time.

        Under `strict` a method is given all samples before the test, and the test has clean
        states; under `published` the whole noisy series is differentiated, and the states of the
        test are noisy.  The targets of the test are clean.
        """
        self.check_view(view)
        given, variables = dataset.given, state_names(dataset.given)
        make = partial(
            EquationTask,
            dataset=dataset,
            view=view,
            protocol=protocol,
            variables=variables,
            targets=tuple(f"{variable}_t" for variable in variables[: dataset.dim]),
            any_order=view == "table",
            needs=needs_of(given) if view != "table" else (),
        )
        if protocol is not Protocol.STRICT:
            return self._as_published(make, dataset, view)
        tests = held_out(dataset.clean)
        test = split_of(view, [measured_samples(one, rates(one)) for one in tests])
        befores = [one.rows(splits.chronological(len(one.t)).refit) for one in given.pieces]
        curves = [smooth(one.t, one.u) for one in befores]
        shown = split_of(
            view, list(map(partial(given_samples, smoothed=dataset.smoothed), curves, befores))
        )
        return make(
            train=shown,
            validation=shown,
            refit=shown,
            test=test,
            evidence=Increments.of(curves, befores),
            held_out=increments(tests) if dataset.clean.du is None else None,
            remarks=tuple(
                dict.fromkeys(
                    f"{variable}: {remark}"
                    for curve in curves
                    for variable, remark in zip(variables, curve.remarks, strict=False)
                    if remark
                )
            ),
        )

    def _as_published(
        self, make: Callable[..., EquationTask[OdeDataset]], dataset: OdeDataset, view: str
    ) -> EquationTask[OdeDataset]:
        given, clean = dataset.given, dataset.clean
        if needs := needs_of(given):
            raise UsageError(
                f"The protocol published knows no {' and no '.join(needs)}.",
                "Leave out --protocol published.",
            )
        t, u = given.t, given.u
        cut = splits.published(len(t))
        du = time_derivative(t, u)
        train, validation, refit = (
            split_of(view, [Samples(t[rows], u[rows], du[rows], u[rows], None)])
            for rows in (cut.train, cut.validation, cut.refit)
        )
        true = rates(clean.rows(cut.test))
        test = split_of(view, [measured_samples(given.rows(cut.test), true)])
        return make(train=train, validation=validation, refit=refit, test=test)

    def preload(self) -> None:
        """Load the solver while the first worker starts."""
        warm()

    def metric_names(self, task: EquationTask[OdeDataset]) -> tuple[str, ...]:
        """Return a task's metrics: without a second trajectory there are none of it."""
        left_out = set() if task.dataset.unseen else {_UNSEEN.name, _R2_UNSEEN.name}
        return tuple(name for name in super().metric_names(task) if name not in left_out)

    def course(self, task: EquationTask[OdeDataset]) -> Course:
        """Return how the clean trajectories go on to the test."""
        befores = [
            one.rows(splits.chronological(len(one.t)).refit) for one in task.dataset.clean.pieces
        ]
        tests = held_out(task.dataset.clean, task.protocol)
        return Course(
            np.concatenate([rates(one) for one in befores]),
            [one.u for one in befores],
            [one.u for one in tests],
        )

    def own_scores(
        self,
        task: EquationTask[OdeDataset],
        answer: EquationAnswer,
        found: Mapping[str, Value],  # noqa: ARG002 - the trajectories are looked at by themselves
    ) -> dict[str, Value]:
        """Integrate an answer through the test window, and from an initial condition of its own.

        Both are compared with the clean truth, whatever noise the method saw; of several
        trajectories the one counts that is followed worst.  The score of the published pipeline
        stands beside.
        """
        dataset = task.dataset
        noisy = concatenated([named_columns(one) for one in held_out(dataset.given, task.protocol)])
        values = np.stack([one.evaluate(noisy) for one in answer.parsed], axis=-1)
        ways = [
            (simulate(answer.equations, one.t, one.u, inputs=one.inputs), _TEST, _R2_TEST)
            for one in held_out(dataset.clean, task.protocol)
        ]
        if dataset.unseen is not None:
            other = dataset.unseen()
            ways.append((simulate(answer.equations, other.t, other.u), _UNSEEN, _R2_UNSEEN))
        scores: dict[str, Value] = {}
        if np.isfinite(values).all():
            scores[PUBLISHED_NMSE.name] = nmse(values, task.test.targets)
        for follows, r2 in dict.fromkeys((follows, r2) for _, follows, r2 in ways):
            same = [way for way, name, _ in ways if name is follows]
            worst = min(same, key=_quality)
            scores[follows.name] = _follows(worst)
            if worst.r2 is not None or worst.ended is Ending.LATE:
                scores[r2.name] = worst.r2
        # The first of the two that did not come to its end decides.
        ends = [way.ended for way, *_ in ways if way.ended is not Ending.WHOLE]
        ended = ends[0] if ends else Ending.WHOLE
        return scores | {_ENDED.name: None if ended is Ending.LATE else ended.value}

    def plots(
        self, dataset: OdeDataset, answers: Sequence[PlottedAnswer], budget: PlotBudget
    ) -> Plots:
        """Draw the trajectories, and over them what answers make of them."""
        from mdbench.datatypes.ode.plots import Found, follow, trajectory_pictures  # noqa: PLC0415
        from mdbench.drawing.numbers import rounded  # noqa: PLC0415 - only reports need it

        every, unseen = dataset.clean.pieces, dataset.unseen() if dataset.unseen else None
        seen = every[0]
        found = []
        for one in answers:
            ways, used = follow(one.equations, seen, unseen, budget.evaluations)
            budget.evaluations -= used
            known = (one.metrics.get(name) for name in ("r2_test", "r2_unseen"))
            r2 = [rounded(value, 3) for value in known if isinstance(value, int | float)]
            if any(states is not None for states in ways):
                says = f"R² {' and '.join(r2)}" if r2 else ""
                found.append(Found(one.method, one.number, says, ways))
        of = f" (the first of {len(every)} trajectories)" if len(every) > 1 else ""
        measured = dataset.target_source != "equations"
        drawn = trajectory_pictures(
            f"{dataset.name}{of}", seen, unseen, found, titles=dataset.titles, measured=measured
        )
        return Plots(drawn)

    def files(self, dataset: OdeDataset) -> Iterable[tuple[str, Callable[[IO[bytes]], None]]]:
        """Return the NPZ file of a system in MDBench's layout, ``NAME/NAME_snr_40.npz``."""
        series = Trajectory(dataset.given.t, dataset.given.u, dataset.clean.du)
        path = f"{dataset.name}/{dataset.name}{suffix(dataset.snr_db)}.npz"
        yield path, partial(write_npz, trajectory=series)


DATA_TYPE = Ode


class _OdeSystems(Source[OdeDataset]):
    """The project's own systems; their clean arrays are made on first use.

    The 63 of ODEBench are in the folder itself; those that methods may be developed on are in the
    folder ``dev`` in it, and are used only where they are asked for.
    """

    def __init__(self, folder: Path, cache: Path) -> None:
        self.folder = folder
        self.cache = cache
        self._floors: dict[str, float] = {}
        self._unseen: dict[str, _Unseen] = {}
        self._own, self._dev = (
            SystemFiles(each.glob("*.toml"), read_system, FACTS.order)
            for each in (folder, folder / DEV)
        )

    @cached_property
    def _groups(self) -> dict[str, list[str]]:
        own, dev = list(self._own), list(self._dev)
        if not own:
            raise DataError(f"{self.folder} has no systems: no file ends in .toml")
        if twice := set(own) & set(dev):
            raise DataError(f"{self.folder / DEV}: {min(twice)!r} is a system of ODEBench, too")
        return {ODEBENCH: own, DEV: dev}

    def names(self) -> list[str]:
        return self._groups[ODEBENCH]

    def groups(self) -> dict[str, list[str]]:
        return self._groups

    def _system(self, name: str) -> OdeSystem:
        if name in self._dev:
            return self._dev[name]
        return named(name, self._own)

    def title(self, name: str) -> str:
        return self._system(name).description

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
        smoothed = uses_smoothing(options, protocol)
        if own := [option.name for option in OWN_OPTIONS if option.key in options]:
            raise UsageError(
                f"{own[0]} says how a file of your own is read.", "Name one by --dataset-path."
            )
        system = self._system(name)
        path = self.cache / f"{name}-{system.recipe[:16]}.npz"
        clean = load_or_make(path, lambda: Trajectory(*integrate(system)))
        u = clean.u if snr_db is None else self._noisy(name, clean.u, snr_db, seed, protocol)
        given = Trajectory(clean.t, u)
        identity = _fingerprint(u, clean, snr_db, protocol.value, seed, smoothed=smoothed)
        if identity not in self._floors:
            noisy = protocol is Protocol.PUBLISHED and snr_db is not None
            self._floors[identity] = _floor(system, given, clean, noisy=noisy)
        return OdeDataset(
            name=name,
            dim=system.dim,
            snr_db=snr_db,
            truth=system.truth,
            target_source="equations",
            fingerprint=identity,
            floor=self._floors[identity],
            given=given,
            clean=clean,
            smoothed=smoothed,
            unseen=self._other(system),
        )

    def _other(self, system: OdeSystem) -> _Unseen | None:
        """Return how to make the trajectory from the second initial condition, if there is one."""
        if len(system.initial_conditions) < 2:  # noqa: PLR2004
            return None
        made = _Unseen(system, system.initial_conditions[1], self.cache)
        return self._unseen.setdefault(system.name, made)

    def _noisy(self, name: str, u: Array, snr_db: float, seed: int, protocol: Protocol) -> Array:
        if protocol is Protocol.STRICT:
            return add_noise(u, name=name, snr_db=snr_db, seed=seed)
        order = [*self._own, *self._dev]
        before = sum(self._system(each).dim for each in order[: order.index(name)])
        return add_published_noise(u, snr_db=snr_db, seed=seed, entries_before=N_POINTS * before)


class _OdeFiles(Source[OdeDataset]):
    """Trajectories in files of the user's, whose truth nobody has told.

    Every NPZ or CSV file in the folder, and in the folders in it, is a dataset of the file's
    name.  A name that ends in ``_snr_40`` and the like is a noisy version of the dataset beside it.
    """

    def __init__(self, path: Path) -> None:
        self.paths, self.noisy = find_files(
            path,
            (".npz", ".csv"),
            "Give an .npz file (arrays t, u, du), a .csv file (time, then states; the first "
            "line names them), or a folder of such files.",
        )

    def names(self) -> list[str]:
        return list(self.paths)

    def title(self, name: str) -> str:
        path = named(name, self.paths)
        try:
            known = read_recording(path, NO_OPTIONS)
        except (DataError, UsageError):  # options say how it is read, or loading it says why not
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
        smoothed = uses_smoothing(options, protocol)
        path = named(name, self.paths)
        noisy = None if snr_db is None else self.noisy.get((name, snr_db))
        known = read_recording(path, options)
        clean = known.trajectory
        if noisy is not None:
            measured = read_recording(noisy, options, beside=path).trajectory
            if not np.array_equal(measured.t, clean.t):
                clean = measured  # nobody knows these states without noise
            u, noise = measured.u, "file"
        else:
            u, noise = clean.u, Protocol.STRICT.value
            if snr_db is not None:
                u = add_noise(u, name=name, snr_db=snr_db, seed=seed)
        identity = _fingerprint(
            u, clean, snr_db, noise, seed, smoothed=smoothed, said=known.description
        )
        return OdeDataset(
            name=name,
            dim=u.shape[1],
            snr_db=snr_db,
            truth=known.truth,
            target_source="finite differences" if clean.du is None else "file",
            fingerprint=identity,
            floor=None if known.truth is None else user_floor(known.truth, clean),
            given=replace(clean, u=u, du=None),
            clean=clean,
            smoothed=smoothed,
            names=known.names,
            measured_in=known.units,
            titles=(known.time.title, *(one.title for one in known.states)),
        )


def _quality(way: Simulated) -> float:
    """Order simulations; one that nobody knows the end of may be worse than any that follows."""
    if way.ended is Ending.LATE:
        return FOLLOWED
    return -np.inf if way.r2 is None else way.r2


def _follows(way: Simulated) -> float | None:
    if way.ended is Ending.LATE:
        return None
    return float(way.r2 is not None and way.r2 > FOLLOWED)


def _floor(system: OdeSystem, given: Trajectory, clean: Trajectory, *, noisy: bool) -> float:
    """Score the truth on the test inputs.

    Clean ones are known to the tolerance that they were integrated with.  Where the derivatives
    vanish, to be off by this share makes the truth as bad as zero, and so any answer that is right
    but for its last digits: then the floor is what the truth so scores.
    """
    assert clean.du is not None  # noqa: S101 - a system's arrays have derivatives
    rows = splits.chronological(len(clean.t)).test
    targets = clean.du[rows]

    def score(u: Array) -> float:
        columns = dict(zip(system.variables, u.T, strict=True))
        values = [parse(text, columns).evaluate(columns) for text in system.truth]
        return nmse(np.stack(values, axis=-1), targets)

    if noisy:
        return score(given.u[rows])
    off = score(clean.u[rows] * (1.0 + INTEGRATED_TO))
    return off if off >= 1.0 else score(clean.u[rows])


def _fingerprint(
    u: Array,
    clean: Trajectory,
    snr_db: float | None,
    noise: str,
    seed: int,
    *,
    smoothed: bool,
    said: object = None,
) -> str:
    arrays: dict[str, NDArray[Any]] = {"t": clean.t, "u": u, "clean u": clean.u}
    if said:
        arrays["said"] = np.frombuffer(json.dumps(said, sort_keys=True).encode(), dtype=np.uint8)
    if clean.inputs is not None:
        arrays["inputs"] = clean.inputs
    if len(clean.starts) > 1:
        arrays["starts"] = np.array(clean.starts)
    if smoothed:
        arrays["smoothed"] = np.ones(1)
    if clean.du is not None:
        arrays["du"] = clean.du
    return fingerprint(arrays, snr_db, noise, seed)
