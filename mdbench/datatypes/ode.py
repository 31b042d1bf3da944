"""Ordinary differential equations: the 63 systems of ODEBench, and trajectories of the user's."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import IO, TYPE_CHECKING, Any

import numpy as np

from mdbench.data import splits
from mdbench.data.cache import load_or_make
from mdbench.data.csv import read_csv
from mdbench.data.derivatives import time_derivative
from mdbench.data.noise import add_noise, add_published_noise
from mdbench.data.npz import read_npz, write_npz
from mdbench.data.trajectory import Trajectory
from mdbench.datatypes.base import NO_OPTIONS, Dataset, Drawn, Part, Protocol, Source, Task
from mdbench.datatypes.shared.equations import AGREEMENT, COMPLEXITY, NMSE, EquationType
from mdbench.datatypes.shared.files import by_number, find_files, fingerprint, named, suffix
from mdbench.datatypes.shared.terms import TERM_METRICS
from mdbench.errors import DataError, UsageError, did_you_mean
from mdbench.expressions import parse
from mdbench.metrics.regression import nmse
from mdbench.metrics.spec import MetricSpec, Value, flag
from mdbench.solvers.ode import N_POINTS, SOLVER, integrate, read_system
from mdbench.solvers.simulation import Ending, simulate, warm

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from mdbench.datatypes.base import Room, Shown
    from mdbench.datatypes.shared.equations import EquationAnswer
    from mdbench.solvers.ode import OdeSystem
    from mdbench.solvers.simulation import Simulated

    Array = NDArray[np.float64]

__all__ = ["DATA_TYPE", "Ode", "OdeDataset"]

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
        The same without the noise that was added here.  Its derivatives are the targets of the
        test; where it has none, they are finite differences of its states.
    unseen
        Makes or reads a true trajectory from another initial condition; None where there is none.
    """

    given: Trajectory = field(repr=False)
    clean: Trajectory = field(repr=False)
    unseen: Callable[[], Trajectory] | None = field(default=None, repr=False)


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
    views = ("table", "trajectory")
    metrics = (
        NMSE,
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
    draws = True

    def source(self, path: Path | None = None) -> Source[OdeDataset]:
        """Open the 63 systems; or an NPZ or CSV file of the user's, or a folder of them."""
        return _OdeSystems(self.systems, self.cache) if path is None else _OdeFiles(path)

    def task(self, dataset: OdeDataset, view: str, protocol: Protocol) -> Task[OdeDataset]:
        """Cut a trajectory by time.

        Under `strict` the training and the validation samples are differentiated each on their
        own, under `published` the whole noisy series is.  The targets of the test are clean.

        Raises
        ------
        UsageError
            If there is no such view.
        """
        if view not in self.views:
            raise UsageError(f"{self.name} has no view {view!r}.", did_you_mean(view, self.views))
        t, u = dataset.given.t, dataset.given.u
        clean = dataset.clean
        if protocol is Protocol.STRICT:
            cut = splits.chronological(len(t))
            each = (cut.train, cut.validation)
            du = np.concatenate([time_derivative(t[rows], u[rows]) for rows in each])
        else:
            cut = splits.published(len(t))
            du = time_derivative(t, u)
        if clean.du is None:
            test_du = time_derivative(t[cut.test], clean.u[cut.test])
        else:
            test_du = clean.du[cut.test]
        variables = tuple(f"u{i}" for i in range(dataset.dim))
        return Task(
            dataset=dataset,
            view=view,
            protocol=protocol,
            variables=variables,
            targets=tuple(f"{variable}_t" for variable in variables),
            train=_part(view, t[cut.train], u[cut.train], du[cut.train]),
            validation=_part(view, t[cut.validation], u[cut.validation], du[cut.validation]),
            refit=_part(view, t[cut.refit], u[cut.refit], du[cut.refit]),
            test=_part(view, t[cut.test], u[cut.test], test_du),
            any_order=view == "table",
        )

    def warm(self) -> None:
        """Let the solver be loaded while the first worker starts."""
        warm()

    def judged_by(self, task: Task[OdeDataset]) -> tuple[str, ...]:
        """Name the metrics of a task: without a second trajectory there are none of it."""
        left_out = set() if task.dataset.unseen else {_UNSEEN.name, _R2_UNSEEN.name}
        return tuple(name for name in super().judged_by(task) if name not in left_out)

    def own_scores(
        self,
        task: Task[OdeDataset],
        answer: EquationAnswer,
        found: Mapping[str, Value],  # noqa: ARG002 - the trajectories are looked at by themselves
    ) -> dict[str, Value]:
        """Integrate an answer through the test window, and from an initial condition of its own.

        Both are compared with the clean truth, whatever noise the method saw.
        """
        dataset, rows = task.dataset, len(task.test.targets)
        seen = simulate(answer.texts, dataset.clean.t[-rows:], dataset.clean.u[-rows:])
        ways = [(seen, _TEST, _R2_TEST)]
        if dataset.unseen is not None:
            other = dataset.unseen()
            ways.append((simulate(answer.texts, other.t, other.u), _UNSEEN, _R2_UNSEEN))
        scores: dict[str, Value] = {}
        for way, follows, r2 in ways:
            scores[follows.name] = _follows(way)
            if way.r2 is not None or way.ended is Ending.LATE:
                scores[r2.name] = way.r2
        # The first of the two that did not come to its end decides.
        ends = [way.ended for way, *_ in ways if way.ended is not Ending.WHOLE]
        ended = ends[0] if ends else Ending.WHOLE
        return scores | {_ENDED.name: None if ended is Ending.LATE else ended.value}

    def pictures(self, dataset: OdeDataset, answers: Sequence[Shown], room: Room) -> Drawn:
        """Draw the trajectories, and over them what answers make of them."""
        from mdbench.drawing.numbers import rounded  # noqa: PLC0415 - only reports need it
        from mdbench.drawing.trajectories import Found, follow, trajectory_pictures  # noqa: PLC0415

        seen, unseen = dataset.clean, dataset.unseen() if dataset.unseen else None
        found = []
        for one in answers:
            ways, used = follow(one.equations, seen, unseen, room.evaluations)
            room.evaluations -= used
            known = (one.metrics.get(name) for name in ("r2_test", "r2_unseen"))
            r2 = [rounded(value, 3) for value in known if isinstance(value, int | float)]
            if any(states is not None for states in ways):
                says = f"R² {' and '.join(r2)}" if r2 else ""
                found.append(Found(one.method, one.number, says, ways))
        return Drawn(trajectory_pictures(dataset.name, seen, unseen, found))

    def files(self, dataset: OdeDataset) -> Iterable[tuple[str, Callable[[IO[bytes]], None]]]:
        """Give the NPZ file of a system in MDBench's layout, ``NAME/NAME_snr_40.npz``."""
        series = Trajectory(dataset.given.t, dataset.given.u, dataset.clean.du)
        path = f"{dataset.name}/{dataset.name}{suffix(dataset.snr_db)}.npz"
        yield path, partial(write_npz, trajectory=series)


DATA_TYPE = Ode


class _OdeSystems(Source[OdeDataset]):
    """The project's own systems; their clean arrays are made on first use."""

    def __init__(self, folder: Path, cache: Path) -> None:
        self.folder = folder
        self.cache = cache
        self._floors: dict[str, float] = {}
        self._unseen: dict[str, _Unseen] = {}

    @cached_property
    def systems(self) -> Mapping[str, OdeSystem]:
        """All systems by name, in the order of their ids."""
        systems = [read_system(path) for path in self.folder.glob("*.toml")]
        if not systems:
            raise DataError(f"{self.folder} has no systems: no file ends in .toml")
        return {system.name: system for system in sorted(systems, key=_order)}

    def names(self) -> list[str]:
        return list(self.systems)

    def title(self, name: str) -> str:
        return named(name, self.systems).description

    def load(
        self,
        name: str,
        *,
        snr_db: float | None,
        seed: int,
        protocol: Protocol,
        options: Mapping[str, Any] = NO_OPTIONS,  # noqa: ARG002 - it has none
    ) -> OdeDataset:
        system = named(name, self.systems)
        path = self.cache / f"{name}-{system.recipe[:16]}.npz"
        clean = load_or_make(path, lambda: Trajectory(*integrate(system)))
        u = clean.u if snr_db is None else self._noisy(name, clean.u, snr_db, seed, protocol)
        given = Trajectory(clean.t, u)
        identity = _fingerprint(u, clean, snr_db, protocol.value, seed)
        if identity not in self._floors:
            self._floors[identity] = _floor(system, given, clean, noisy=snr_db is not None)
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
            unseen=self._other(system),
        )

    def _other(self, system: OdeSystem) -> _Unseen | None:
        """Say how to make the trajectory from the second initial condition, if there is one."""
        if len(system.initial_conditions) < 2:  # noqa: PLR2004
            return None
        made = _Unseen(system, system.initial_conditions[1], self.cache)
        return self._unseen.setdefault(system.name, made)

    def _noisy(self, name: str, u: Array, snr_db: float, seed: int, protocol: Protocol) -> Array:
        if protocol is Protocol.STRICT:
            return add_noise(u, name=name, snr_db=snr_db, seed=seed)
        order = list(self.systems)
        before = sum(self.systems[each].dim for each in order[: order.index(name)])
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
        if _is_npz(path):
            return str(path)
        _, states = read_csv(path)
        return f"{path} ({', '.join(f'u{i}: {state}' for i, state in enumerate(states))})"

    def load(
        self,
        name: str,
        *,
        snr_db: float | None,
        seed: int,
        protocol: Protocol,  # noqa: ARG002 - published noise exists for published systems only
        options: Mapping[str, Any] = NO_OPTIONS,  # noqa: ARG002 - it has none
    ) -> OdeDataset:
        path = named(name, self.paths)
        noisy = None if snr_db is None else self.noisy.get((name, snr_db))
        if noisy is not None:
            clean = _read(noisy)
            u, noise = clean.u, "file"
        else:
            clean = _read(path)
            u, noise = clean.u, Protocol.STRICT.value
            if snr_db is not None:
                u = add_noise(u, name=name, snr_db=snr_db, seed=seed)
        return OdeDataset(
            name=name,
            dim=u.shape[1],
            snr_db=snr_db,
            truth=None,
            target_source="finite differences" if clean.du is None else "file",
            fingerprint=_fingerprint(u, clean, snr_db, noise, seed),
            given=Trajectory(clean.t, u),
            clean=clean,
        )


def _follows(way: Simulated) -> float | None:
    if way.ended is Ending.LATE:
        return None
    return float(way.r2 is not None and way.r2 > FOLLOWED)


def _floor(system: OdeSystem, given: Trajectory, clean: Trajectory, *, noisy: bool) -> float:
    """Score the truth on test inputs that are as accurate as the data are.

    Noisy inputs are as they are.  Clean ones are known to the tolerance that they were integrated
    with, and so are raised by this share of themselves: where the derivatives vanish, that alone
    makes the truth miss them.
    """
    assert clean.du is not None  # noqa: S101 - a system's arrays have derivatives
    rows = splits.chronological(len(clean.t)).test
    u = given.u[rows] if noisy else clean.u[rows] * (1.0 + SOLVER["rtol"])
    columns = dict(zip(system.variables, u.T, strict=True))
    predictions = [parse(text, columns).evaluate(columns) for text in system.truth]
    return nmse(np.stack(predictions, axis=-1), clean.du[rows])


def _part(view: str, t: Array, u: Array, du: Array) -> Part:
    u, du = np.ascontiguousarray(u), np.ascontiguousarray(du)
    columns = {f"u{i}": np.ascontiguousarray(column) for i, column in enumerate(u.T)}
    if view == "table":
        return Part({"X": u}, "Y", du, columns)
    return Part({"t": np.ascontiguousarray(t), "u": u}, "du", du, columns)


def _fingerprint(u: Array, clean: Trajectory, snr_db: float | None, noise: str, seed: int) -> str:
    arrays = {"t": clean.t, "u": u, "clean u": clean.u}
    if clean.du is not None:
        arrays["du"] = clean.du
    return fingerprint(arrays, snr_db, noise, seed)


def _order(system: OdeSystem) -> tuple[str, int]:
    return by_number(system.id)


def _read(path: Path) -> Trajectory:
    return read_npz(path) if _is_npz(path) else read_csv(path)[0]


def _is_npz(path: Path) -> bool:
    return path.suffix.lower() == ".npz"
