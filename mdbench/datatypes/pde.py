"""Partial differential equations: the 14 systems of MDBench, and fields of the user's."""

from __future__ import annotations

import re
import time
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import IO, TYPE_CHECKING, Any

import numpy as np

from mdbench.data import splits
from mdbench.data.cache import write_whole
from mdbench.data.derivatives import time_derivative
from mdbench.data.features import FieldColumns, feature_names, published_columns, unsupported
from mdbench.data.field_files import FIELD_ENDINGS, FIELD_HINT, read_field_file, refuse_tables
from mdbench.data.noise import add_noise, add_published_noise
from mdbench.data.npz import read_field, write_field
from mdbench.data.smoothing import FEWEST_SAMPLES
from mdbench.datatypes.base import NO_OPTIONS, Dataset, Drawn, Option, Part, Protocol, Source
from mdbench.datatypes.shared.derivatives import DERIVATIVES, smooths
from mdbench.datatypes.shared.equations import (
    AGREEMENT,
    COMPLEXITY,
    NMSE,
    PUBLISHED_NMSE,
    EquationTask,
    EquationType,
    Remembered,
)
from mdbench.datatypes.shared.field_evidence import FieldIncrements, smoothed_field
from mdbench.datatypes.shared.files import by_number, find_files, fingerprint, named, suffix
from mdbench.datatypes.shared.terms import TERM_METRICS
from mdbench.errors import DataError, UsageError, did_you_mean
from mdbench.expressions import parse
from mdbench.metrics.regression import nmse
from mdbench.metrics.spec import MetricSpec, Value
from mdbench.solvers.pde import derivative_names, read_system
from mdbench.solvers.reading import without

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from mdbench.data.field import Field
    from mdbench.datatypes.base import Room, Shown
    from mdbench.datatypes.shared.equations import EquationAnswer
    from mdbench.datatypes.shared.evidence import Evidence
    from mdbench.solvers.pde import PdeSystem

    Array = NDArray[np.float64]

__all__ = ["DATA_TYPE", "Pde", "PdeDataset"]

_PUBLISHED_SEED = 42
"""The seed of the published noise, which seed 0 of a run stands for."""
_QUIET_SECONDS = 2.0
"""Data that are made faster are made without a word."""
_SAY_SECONDS = 10.0


@dataclass(frozen=True)
class Rows:
    """Which samples a method is given for training."""

    most: int | None
    seed: int

    def of(self, n: int) -> NDArray[np.intp] | None:
        """Draw rows without replacement, in rising order; None for all of the n."""
        if self.most is None or self.most >= n:
            return None
        drawn = np.random.default_rng(self.seed).choice(n, self.most, replace=False)
        return np.sort(drawn)


@dataclass(frozen=True, eq=False)
class PdeDataset(Dataset):
    """A field at one noise level.

    Attributes
    ----------
    given
        What a method may see, noise included.
    clean
        The same without the noise that was added here.  Its derivatives are the targets of the
        test; where it has none, they are finite differences of its states.
    explicit
        The coordinates that are variables of the equations, too.
    rows
        Which samples a method is given for training.
    smoothed
        Whether methods are given smoothed states and their derivatives, or the noisy states and
        finite differences in time.
    asked
        The states whose equations are asked for, by their numbers; None for all.  The others,
        such as a pressure, are known at every time.
    unseen_terms
        The terms of the truth that nobody can see in the data, by left-hand side and text.
    """

    given: Field = field(repr=False)
    clean: Field = field(repr=False)
    explicit: tuple[str, ...]
    rows: Rows
    smoothed: bool
    asked: tuple[int, ...] | None = None
    unseen_terms: tuple[tuple[str, str], ...] = ()

    @property
    def states(self) -> tuple[int, ...]:
        """The states whose equations are asked for, by their numbers."""
        return tuple(range(self.clean.dim)) if self.asked is None else self.asked


def _whole_number(text: str) -> int:
    if not re.fullmatch(r"[0-9]{1,12}", text) or int(text) == 0:
        raise UsageError(
            f"--max-rows is {text!r}.", "Give a number of training samples, e.g. 10000."
        )
    return int(text)


_RESIDUAL = MetricSpec(
    name="residual",
    title="residual",
    explanation="NMSE of the equations on the clean field of the test window, whatever noise the "
    "method was given",
    scale="log",
    resolution=1e-12,
    places=frozenset({"board", "answer", "brief", "figure"}),
)


class Pde(EquationType[PdeDataset]):
    """Systems ``u_t = f(u, u_x, u_xx, ...)``, known by one field."""

    name = "pde"
    views = ("table", "field")
    check_datasets = ("burgers", "navier_stokes_channel")
    draws = True
    derivative = "∂"
    metrics = (NMSE, PUBLISHED_NMSE, *TERM_METRICS, _RESIDUAL, COMPLEXITY, AGREEMENT)
    options = (
        DERIVATIVES,
        Option.choice(
            "--variant", ("released",), "Data as they were published, with what is wrong in them."
        ),
        Option(
            "--max-rows",
            "Train on N samples at most, drawn by the seed.",
            metavar="N",
            read=_whole_number,
            views=("table", "field"),
            asks=False,
            method_key="max_rows",
        ),
    )

    def source(self, path: Path | None = None) -> Source[PdeDataset]:
        """Open the 14 systems; or a file of the user's, or a folder of them."""
        if path is not None:
            return _PdeFiles(path, self)
        return _PdeSystems(self)

    def task(self, dataset: PdeDataset, view: str, protocol: Protocol) -> EquationTask[PdeDataset]:
        """Cut a field by time, and differentiate it in space at each time by itself.

        Under `strict` a method is given all times before the test, and the test is a clean field
        with the most accurate features.  Under `published` the whole noisy field is differentiated,
        the rows of a table are cut along space, and the test is noisy but for its targets.

        Raises
        ------
        UsageError
            If there is no such view.
        """
        if view not in self.views:
            raise UsageError(f"{self.name} has no view {view!r}.", did_you_mean(view, self.views))
        variables = _variables(dataset)
        evidence = held_out = None
        if protocol is Protocol.STRICT:
            given, test, evidence, held_out = _strict(dataset, view, dataset.rows)
            parts = given, given, given, test
        elif view == "table":
            variables, parts = _published_table(dataset, dataset.rows)
        else:
            parts = _as_published(dataset, view, dataset.rows)
        targets = tuple(f"u{i}_t" for i in dataset.states)
        return EquationTask(
            dataset,
            view,
            protocol,
            variables,
            targets,
            *parts,
            any_order=view == "table",
            evidence=evidence,
            held_out=held_out,
        )

    def own_scores(
        self,
        task: EquationTask[PdeDataset],
        answer: EquationAnswer,
        found: Mapping[str, Value],  # noqa: ARG002 - the clean field is looked at by itself
    ) -> dict[str, Value]:
        """Give the NMSE of an answer on the test as the other protocol has it.

        Under `strict` that is the noisy field with the features of the published pipeline, and
        under `published` the clean field.  There is none where the field has no such feature as the
        answer uses, or another of its name (the derivatives along z of the published tables).
        """
        strict = task.protocol is Protocol.STRICT
        columns, targets = (
            _noisy_test(task.dataset) if strict else clean_test(task.dataset, task.protocol)
        )
        if any("z" in name for name in set(task.variables) ^ set(columns)):
            return {}
        needed = Remembered(columns)
        try:
            values = np.stack([one.evaluate(needed) for one in answer.read], axis=-1)
        except KeyError:
            return {}
        if not np.isfinite(values).all():
            return {}
        return {(PUBLISHED_NMSE if strict else _RESIDUAL).name: nmse(values, targets)}

    def judged_by(self, task: EquationTask[PdeDataset]) -> tuple[str, ...]:
        """Name the metrics of a task: the residual is the score itself under `strict`."""
        left_out = {_RESIDUAL.name} if task.protocol is Protocol.STRICT else set()
        return tuple(name for name in super().judged_by(task) if name not in left_out)

    def pictures(
        self,
        dataset: PdeDataset,
        answers: Sequence[Shown],
        room: Room,  # noqa: ARG002 - nothing is integrated
    ) -> Drawn:
        """Draw the clean field, and what the truth and answers miss of its change in time."""
        from mdbench.drawing.fields import field_pictures  # noqa: PLC0415 - only reports need it
        from mdbench.drawing.numbers import scientific  # noqa: PLC0415

        found = [("the truth", scientific(dataset.floor), dataset.truth)] if dataset.truth else []
        for one in answers:
            residual = one.metrics.get("residual", one.metrics.get("nmse"))
            number = residual if isinstance(residual, int | float) else None
            found.append((one.method, scientific(number), one.equations))
        return Drawn(field_pictures(dataset.clean, found, dataset.states))

    def files(self, dataset: PdeDataset) -> Iterable[tuple[str, Callable[[IO[bytes]], None]]]:
        """Give the NPZ file of a system in MDBench's layout, ``NAME/NAME_snr_40.npz``."""
        saved = replace(dataset.given, du=dataset.clean.du)
        path = f"{dataset.name}/{dataset.name}{suffix(dataset.snr_db)}.npz"
        yield path, partial(write_field, field=saved)


DATA_TYPE = Pde


class _PdeSystems(Source[PdeDataset]):
    """The project's own systems; their clean fields are made on first use."""

    def __init__(self, kind: Pde) -> None:
        self.folder = kind.systems
        self.cache = kind.cache
        self._kind = kind  # which may be told only later where to say something
        self._short_axes = _ShortAxes(kind)
        self._floors: dict[tuple[str, Protocol], float] = {}

    @cached_property
    def systems(self) -> Mapping[str, PdeSystem]:
        """All systems by name, in the order of their ids."""
        systems = [read_system(path) for path in self.folder.glob("*.toml")]
        if not systems:
            raise DataError(f"{self.folder} has no systems: no file ends in .toml")
        found = {s.name: s for s in sorted(systems, key=lambda system: by_number(system.id))}
        for system in systems:
            if system.made_with not in found:
                path = self.folder / f"{system.name}.toml"
                raise DataError(f"{path}: made_with names no system: {system.made_with!r}")
        return found

    @cached_property
    def _as_published(self) -> Mapping[str, PdeSystem]:
        return {name: each.as_published or each for name, each in self.systems.items()}

    def _variant(self, protocol: Protocol, options: Mapping[str, Any]) -> Mapping[str, PdeSystem]:
        """Give the systems as they are made for a protocol, or as they were released."""
        old = protocol is Protocol.PUBLISHED or _released(options)
        return self._as_published if old else self.systems

    def names(self) -> list[str]:
        return list(self.systems)

    def title(self, name: str) -> str:
        return named(name, self.systems).description

    def notes(self, name: str) -> Sequence[str]:
        return named(name, self.systems).notes

    def at_hand(self, name: str, options: Mapping[str, Any]) -> bool:
        made = (named(name, self._variant(each, options)) for each in Protocol)
        return any(self._path(each, released=_released(options)).is_file() for each in made)

    def load(
        self,
        name: str,
        *,
        snr_db: float | None,
        seed: int,
        protocol: Protocol,
        options: Mapping[str, Any] = NO_OPTIONS,
    ) -> PdeDataset:
        system = named(name, self._variant(protocol, options))
        clean = self._clean(system, released=_released(options))
        self._short_axes.tell(name, clean)
        u = clean.u if snr_db is None else self._noisy(system, clean.u, snr_db, seed, protocol)
        given = replace(clean, u=u, du=None)
        names = feature_names(given, system.explicit)
        smoothed = smooths(options, protocol)
        missing = set(derivative_names(tuple(system.variables), tuple(system.axes))) - set(names)
        dataset = PdeDataset(
            name=name,
            dim=system.dim,
            snr_db=snr_db,
            truth=tuple(without(equation, missing) for equation in system.truth),
            target_source="finite differences",
            fingerprint=_fingerprint(u, clean, snr_db, protocol.value, seed, smoothed=smoothed),
            given=given,
            clean=clean,
            explicit=system.explicit,
            rows=Rows(options.get("max_rows"), seed),
            smoothed=smoothed,
            asked=system.targets,
            unseen_terms=system.unseen,
        )
        key = (dataset.fingerprint, protocol)
        if key not in self._floors:
            self._floors[key] = _floor(dataset, protocol)
        return replace(dataset, floor=self._floors[key])

    def _clean(self, system: PdeSystem, *, released: bool) -> Field:
        try:
            return read_field(self._path(system, released=released))
        except DataError:
            fields = self._make(system, released=released)
        for name, made in fields.items():
            path = self._path(self._alike(system)[name], released=released)
            write_whole(path, partial(write_field, field=made))
        return fields[system.name]

    def _make(self, system: PdeSystem, *, released: bool) -> dict[str, Field]:
        # Finite elements take a second to import, which data that are there can do without.
        from mdbench.solvers.fields import make_fields  # noqa: PLC0415

        progress = _ProgressLine(system.name, self._kind.say)
        return make_fields(
            system,
            self._alike(system),
            released=released and bool(system.released),
            progress=progress.told,
        )

    def _path(self, system: PdeSystem, *, released: bool) -> Path:
        variant = "-released" if released and system.released else ""
        recipe = system.recipe[:8] + self._alike(system)[system.made_with].recipe[:8]
        return self.cache / f"{system.name}{variant}-{recipe}.npz"

    def _alike(self, system: PdeSystem) -> Mapping[str, PdeSystem]:
        """Give all systems, made as this one is."""
        return self._as_published if system.published else self.systems

    def _noisy(
        self, system: PdeSystem, u: Array, snr_db: float, seed: int, protocol: Protocol
    ) -> Array:
        if protocol is Protocol.STRICT:
            return add_noise(u, name=system.name, snr_db=snr_db, seed=seed)
        order = list(self.systems)
        before = sum(self._as_published[each].size for each in order[: order.index(system.name)])
        return add_published_noise(
            u, snr_db=snr_db, seed=_PUBLISHED_SEED + seed, entries_before=before
        )


class _PdeFiles(Source[PdeDataset]):
    """Fields in files of the user's, whose truth nobody has told.

    Every file in the folder, and in the folders in it, is a dataset of the file's name.  A
    name that ends in ``_snr_40`` and the like is a noisy version of the dataset beside it.
    """

    def __init__(self, path: Path, kind: Pde) -> None:
        self._short_axes = _ShortAxes(kind)
        refuse_tables(path)
        self.paths, self.noisy = find_files(path, FIELD_ENDINGS, FIELD_HINT)

    def names(self) -> list[str]:
        return list(self.paths)

    def title(self, name: str) -> str:
        return str(named(name, self.paths))

    def load(
        self,
        name: str,
        *,
        snr_db: float | None,
        seed: int,
        protocol: Protocol,
        options: Mapping[str, Any] = NO_OPTIONS,
    ) -> PdeDataset:
        path = named(name, self.paths)
        noisy = None if snr_db is None else self.noisy.get((name, snr_db))
        clean = read_field_file(path)
        measured = clean if noisy is None else read_field_file(noisy)
        if measured.u.shape != clean.u.shape or not np.array_equal(measured.t, clean.t):
            clean = measured  # nobody knows these states without noise
        self._short_axes.tell(name, clean)
        smoothed = smooths(options, protocol)
        u, noise = measured.u, "file" if noisy else Protocol.STRICT.value
        if snr_db is not None and noisy is None:
            u = add_noise(u, name=name, snr_db=snr_db, seed=seed)
        return PdeDataset(
            name=name,
            dim=clean.dim,
            snr_db=snr_db,
            truth=None,
            target_source="finite differences" if clean.du is None else "file",
            fingerprint=_fingerprint(u, clean, snr_db, noise, seed, smoothed=smoothed),
            given=replace(clean, u=u, du=None),
            clean=clean,
            explicit=(),
            rows=Rows(options.get("max_rows"), seed),
            smoothed=smoothed,
        )


class _ShortAxes:
    """Says once for each dataset which derivatives it has too few nodes for."""

    def __init__(self, kind: Pde) -> None:
        self._kind = kind
        self._told: set[str] = set()

    def tell(self, name: str, clean: Field) -> None:
        if name in self._told:
            return
        self._told.add(name)
        for order, reason in unsupported(clean).items():
            self._kind.say(f"{name}: no feature {order}: {reason}")


class _ProgressLine:
    """Says now and then how far the making of a field is."""

    def __init__(self, name: str, say: Callable[[str], None]) -> None:
        self._name = name
        self._say = say
        self._begin = time.monotonic()
        self._next = self._begin + _QUIET_SECONDS

    def told(self, part: float) -> None:
        now = time.monotonic()
        if now < self._next:
            return
        self._next = now + _SAY_SECONDS
        left = f", {(now - self._begin) * (1 / part - 1):.0f} s left" if part > 0 else ""
        self._say(f"{self._name}: its data are made, once: {part:.0%}{left}")


def _released(options: Mapping[str, Any]) -> bool:
    """Tell whether data are asked for as they were published."""
    return options.get("variant") is not None


def _variables(dataset: PdeDataset) -> tuple[str, ...]:
    return feature_names(dataset.given, dataset.explicit)


def _strict(
    dataset: PdeDataset, view: str, rows: Rows
) -> tuple[Part, Part, Evidence, Evidence | None]:
    """Give what a method is given, the test, and what candidates and an answer are held against.

    Smoothed states are known least at the ends, and the first and the last time are left out.
    """
    refit = splits.chronological(len(dataset.given.t)).refit
    given = _between(dataset.given, refit)
    smoothed, evidence = _evidence(dataset, given)
    if dataset.smoothed:
        inner = slice(1, -1)
        shown, measured = _between(smoothed, inner), _between(given, inner).u
        du = smoothed.du[..., inner, dataset.states] if smoothed.du is not None else given.u
    else:
        shown, measured = given, given.u
        du = _du(given.t, given.u[..., dataset.states], slice(None))
    first = _part(dataset, view, shown, Protocol.STRICT, du=du, rows=rows, measured=measured)
    rows_of_test = splits.chronological(len(dataset.clean.t)).test
    _, targets = clean_test(dataset, Protocol.STRICT)
    test = _between(dataset.clean, rows_of_test)
    last = _part(dataset, view, test, Protocol.STRICT, du=targets, rows=None, measured=test.u)
    known = dataset.clean.du is not None or len(test.t) < FEWEST_SAMPLES
    return first, last, evidence, None if known else _evidence(dataset, test)[1]


def _evidence(dataset: PdeDataset, given: Field) -> tuple[Field, FieldIncrements]:
    """Smooth a field, and put it in the form in which equations are compared with it."""
    smoothed = smoothed_field(given)
    features = _columns(replace(smoothed, du=None), dataset.explicit, Protocol.STRICT)
    return smoothed, FieldIncrements.of(given, features, dataset.states)


def _between(whole: Field, times: slice) -> Field:
    """Cut some times out of a field."""
    cut = [
        None if a is None else np.ascontiguousarray(a[..., times, :]) for a in (whole.u, whole.du)
    ]
    assert cut[0] is not None  # noqa: S101 - a field has states
    return replace(whole, t=whole.t[times].copy(), u=cut[0], du=cut[1])


def _as_published(dataset: PdeDataset, view: str, rows: Rows) -> tuple[Part, Part, Part, Part]:
    """Cut a field by time, and differentiate all of it in time before."""
    given, clean = dataset.given, dataset.clean
    cut = splits.published(len(given.t))
    du = _du(given.t, given.u[..., dataset.states], slice(None))
    test_du = _du(given.t, clean.u, cut.test) if clean.du is None else clean.du[..., cut.test, :]

    def make(times: slice, du: Array, rows: Rows | None) -> Part:
        shown = replace(_between(given, times), du=None)
        return _part(dataset, view, shown, Protocol.PUBLISHED, du=du, rows=rows)

    return (
        make(cut.train, du[..., cut.train, :], rows),
        make(cut.validation, du[..., cut.validation, :], None),
        make(cut.refit, du[..., cut.refit, :], rows),
        make(cut.test, test_du[..., dataset.states], None),
    )


def clean_test(dataset: PdeDataset, protocol: Protocol) -> tuple[FieldColumns, Array]:
    """Give the features of the clean field at the test's times, and its derivatives in time.

    Both are the best that there are: features spectral or of high order, derivatives those
    of the solver or of the file.  Under `published` the features are its second-order ones.
    """
    clean = dataset.clean
    rows = splits.chronological(len(clean.t)).test
    targets = _du(clean.t, clean.u, rows) if clean.du is None else clean.du[..., rows, :]
    cut = replace(clean, t=clean.t[rows], u=np.ascontiguousarray(clean.u[..., rows, :]), du=None)
    return _columns(cut, dataset.explicit, protocol), targets[..., dataset.states]


def _columns(cut: Field, explicit: tuple[str, ...], protocol: Protocol) -> FieldColumns:
    return FieldColumns(cut, explicit, second_order=protocol is Protocol.PUBLISHED)


def _part(
    dataset: PdeDataset,
    view: str,
    shown: Field,
    protocol: Protocol,
    *,
    du: Array,
    rows: Rows | None,
    measured: Array | None = None,
) -> Part:
    columns = _columns(replace(shown, du=None), dataset.explicit, protocol)
    picked = None if rows is None else rows.of(du[..., 0].size)
    if view == "table":
        return _table(columns, du, picked)
    inputs = {"t": shown.t, **shown.grid, "u": shown.u}
    if protocol is Protocol.STRICT and measured is not None:
        # By which a method knows that derivatives are as accurate as can be, and wrap around.
        inputs["periods"] = np.array([shown.periods.get(axis, 0.0) for axis in shown.grid])
        inputs["measured"] = np.ascontiguousarray(measured)
    if picked is not None:
        inputs["rows"] = picked.astype(np.float64)
    return Part(inputs, "du", np.ascontiguousarray(du), Remembered(columns))


def _table(columns: Mapping[str, Array], du: Array, picked: NDArray[np.intp] | None) -> Part:
    """Make rows of a field: those that are picked, or all in C order of (x, ..., t)."""
    targets = du.reshape(-1, du.shape[-1])
    chosen: NDArray[np.intp] | slice = slice(None) if picked is None else picked
    targets = np.ascontiguousarray(targets[chosen])
    # Column by column, so that no more than one of them is there twice.
    table = np.empty((len(columns), len(targets)))
    for row, name in zip(table, columns, strict=True):
        row[:] = columns[name].reshape(-1)[chosen]
    X = np.ascontiguousarray(table.T)
    return Part({"X": X}, "Y", targets, {name: X[:, i] for i, name in enumerate(columns)})


def _published_table(
    dataset: PdeDataset, rows: Rows
) -> tuple[tuple[str, ...], tuple[Part, Part, Part, Part]]:
    """Make a table of the whole field and cut it by rows, which is along space."""
    columns = published_columns(dataset.given)
    du = _du(dataset.given.t, dataset.given.u[..., dataset.states], slice(None))
    clean = dataset.clean
    target = _du(clean.t, clean.u, slice(None)) if clean.du is None else clean.du
    target = target[..., dataset.states]
    cut = splits.published(du[..., 0].size)

    def part(where: slice, values: Array, rows: Rows | None) -> Part:
        flat = {name: column.reshape(-1)[where] for name, column in columns.items()}
        targets = values.reshape(-1, values.shape[-1])[where]
        return _table(flat, targets, None if rows is None else rows.of(len(targets)))

    return tuple(columns), (
        part(cut.train, du, rows),
        part(cut.validation, du, None),
        part(cut.refit, du, rows),
        part(cut.test, target, None),
    )


def _du(t: Array, u: Array, times: slice) -> Array:
    """Differentiate some of the times of a field by themselves."""
    series = np.moveaxis(u[..., times, :], -2, 0)
    return np.moveaxis(time_derivative(t[times], series), 0, -2)


def _floor(dataset: PdeDataset, protocol: Protocol) -> float:
    """Score the truth on the test inputs, through the features of the bench."""
    if protocol is Protocol.STRICT:
        columns, targets = clean_test(dataset, protocol)
    else:
        columns, targets = _noisy_test(dataset)
    values = [parse(text, tuple(columns)).evaluate(columns) for text in dataset.truth or ()]
    return nmse(np.stack(values, axis=-1), targets)


def _noisy_test(dataset: PdeDataset) -> tuple[FieldColumns, Array]:
    """Give the features of the noisy field at the test's times as published, and clean targets."""
    rows = splits.published(len(dataset.given.t)).test
    columns = _columns(_between(dataset.given, rows), dataset.explicit, Protocol.PUBLISHED)
    clean = dataset.clean
    targets = _du(clean.t, clean.u, rows) if clean.du is None else clean.du[..., rows, :]
    return columns, targets[..., dataset.states]


def _fingerprint(
    u: Array, clean: Field, snr_db: float | None, noise: str, seed: int, *, smoothed: bool
) -> str:
    arrays = {"t": clean.t, **clean.grid, "u": u, "clean u": clean.u}
    arrays |= {f"{axis} period": np.array([each]) for axis, each in clean.periods.items()}
    if smoothed:
        arrays["smoothed"] = np.ones(1)
    if clean.du is not None:
        arrays["du"] = clean.du
    return fingerprint(arrays, snr_db, noise, seed)
