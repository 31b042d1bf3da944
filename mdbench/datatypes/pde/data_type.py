"""Partial differential equations: the 14 systems of MDBench, and fields of the user's."""

from __future__ import annotations

import json
import time
from dataclasses import replace
from functools import cached_property, partial
from typing import IO, TYPE_CHECKING, Any

import numpy as np

from mdbench.data.descriptions import read_field_description
from mdbench.data.field import feature_names, unsupported
from mdbench.data.field_files import (
    field_hint,
    read_field,
    read_field_file,
    refuse_tables,
    write_field,
)
from mdbench.data.noise import add_noise, add_published_noise
from mdbench.data.trajectory import split_chronologically
from mdbench.datatypes.base import NO_OPTIONS, Plots, Source
from mdbench.datatypes.equations.base import (
    AGREEMENT,
    COMPLEXITY,
    NMSE,
    PUBLISHED_NMSE,
    EquationTask,
    EquationType,
)
from mdbench.datatypes.equations.files import (
    Suites,
    find_files,
    fingerprint,
    named,
    suffix,
    without,
)
from mdbench.datatypes.equations.options import (
    AXES_ORDER,
    EXACT,
    OWN_FIELDS,
    SCALING,
    TRUTH,
    derivatives_asked,
    require_exact,
    user_truth,
)
from mdbench.datatypes.equations.remarks import EXPLAINED, Course
from mdbench.datatypes.equations.terms import noise_allows, term_metrics
from mdbench.datatypes.facts import Protocol
from mdbench.datatypes.pde import FACTS
from mdbench.datatypes.pde.systems import derivative_names, read_system
from mdbench.datatypes.pde.tasks import (
    CachedColumns,
    PdeDataset,
    Rows,
    clean_test,
    floor_of,
    last_times,
    noisy_test,
    published_splits,
    published_table,
    strict_splits,
    user_floor,
    variables_of,
)
from mdbench.datatypes.pde.turned_fields import refuse_turned
from mdbench.errors import DataError, UsageError
from mdbench.metrics.regression import PUBLISHED_CONSTANT, nmse
from mdbench.metrics.spec import MetricSpec, Value
from mdbench.workspace import write_whole

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from mdbench.data.field import Field
    from mdbench.datatypes.base import CheckSplit, PlotBudget, PlottedAnswer
    from mdbench.datatypes.equations.base import EquationAnswer
    from mdbench.datatypes.pde.systems import PdeSystem

    Array = NDArray[np.float64]

_PUBLISHED_SEED = 42
"""The seed of the published noise, which seed 0 of a run uses."""
_QUIET_SECONDS = 2.0
"""Data that are made faster are made without a word."""
_REPORT_SECONDS = 10.0


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
    scorer_version = 6
    nmse_constant = PUBLISHED_CONSTANT
    from_files = True
    views = FACTS.views
    check_datasets = ("burgers", "navier_stokes_channel")
    has_plots = True
    derivative = "∂"
    metrics = (
        NMSE,
        PUBLISHED_NMSE,
        *term_metrics(partial(noise_allows, "pde")),
        _RESIDUAL,
        EXPLAINED,
        COMPLEXITY,
        AGREEMENT,
    )
    options = FACTS.options
    fresh_problems = 12

    def advice(self, dataset: PdeDataset) -> list[str]:
        """Describe the data before a method is tried on them."""
        from mdbench.datatypes.equations.data_checks import of_field  # noqa: PLC0415 - few runs need it

        return of_field(dataset)

    def source(self, path: Path | None = None) -> Source[PdeDataset]:
        """Open the 14 systems; or a file of the user's, or a folder of them."""
        if path is not None:
            return _PdeFiles(path, self)
        return _PdeSystems(self)

    def task(self, dataset: PdeDataset, view: str, protocol: Protocol) -> EquationTask[PdeDataset]:
        """Cut a field by time, and differentiate it in space at each time by itself.

        Under `strict` a method is given all times before the test.  The test is a clean field with
        the most accurate features; samples next to an end of an axis are not scored.  Under
        `published` the whole noisy field is differentiated, the rows of a table are cut along
        space, and the test is noisy but for its targets.
        """
        self.check_view(view)
        variables = variables_of(dataset)
        evidence = held_out = scored = None
        remarks: tuple[str, ...] = ()
        if protocol is Protocol.STRICT:
            shown, test, evidence, held_out, scored, remarks = strict_splits(
                dataset, view, dataset.rows
            )
            parts = shown, shown, shown, test
        elif view == "table":
            variables, parts = published_table(dataset, dataset.rows)
        else:
            parts = published_splits(dataset, view, dataset.rows)
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
            scored=scored,
            remarks=remarks,
            scaled=dataset.scaled,
        )

    def prediction_check(self, task: EquationTask[PdeDataset], seed: int) -> CheckSplit | None:
        """Return the last times of the fit for a view of fields, of which no points are drawn."""
        if task.view == "table" or task.protocol is not Protocol.STRICT or not task.has_equations:
            return super().prediction_check(task, seed)
        return last_times(task)

    def fresh(self, seed: str, count: int, grammar: int) -> Iterator[tuple[str, str]]:
        """Draw fields: see the module ``fresh``."""
        from mdbench.datatypes.pde.fresh import fresh_fields  # noqa: PLC0415 - few need it

        known = Suites(self.systems, read_system, FACTS.order).known()
        return fresh_fields(seed, count, known, grammar)

    def course(self, task: EquationTask[PdeDataset]) -> Course | None:
        """Return how the clean field goes on in the test; published tables are cut along space."""
        if task.protocol is not Protocol.STRICT:
            return None
        clean, states = task.dataset.clean, task.dataset.states
        u, cut = clean.u[..., states], split_chronologically(len(clean.t))
        rates = task.refit.targets if clean.du is None else clean.du[..., cut.refit, states]
        return Course(
            rates.reshape(-1, rates.shape[-1]), [u[..., cut.refit, :]], [u[..., cut.test, :]]
        )

    def own_scores(
        self,
        task: EquationTask[PdeDataset],
        answer: EquationAnswer,
        found: Mapping[str, Value],  # noqa: ARG002 - the clean field is looked at by itself
    ) -> dict[str, Value]:
        """Return the NMSE of an answer on the test as the other protocol has it.

        Under `strict` that is the noisy field with the features of the published pipeline, and
        under `published` the clean field.  There is none where the field has no such feature as the
        answer uses, or another of its name (the derivatives along z of the published tables).
        """
        strict = task.protocol is Protocol.STRICT
        columns, targets = (
            noisy_test(task.dataset) if strict else clean_test(task.dataset, task.protocol)
        )
        if any("z" in name for name in set(task.variables) ^ set(columns)):
            return {}
        needed = CachedColumns(columns)
        try:
            values = np.stack([one.evaluate(needed) for one in answer.parsed], axis=-1)
        except KeyError:
            return {}
        if not np.isfinite(values).all():
            return {}
        return {(PUBLISHED_NMSE if strict else _RESIDUAL).name: nmse(values, targets)}

    def metric_names(self, task: EquationTask[PdeDataset]) -> tuple[str, ...]:
        """Return the names of a task's metrics: the residual is the score itself under `strict`."""
        left_out = {_RESIDUAL.name} if task.protocol is Protocol.STRICT else set()
        return tuple(name for name in super().metric_names(task) if name not in left_out)

    def plots(
        self,
        dataset: PdeDataset,
        answers: Sequence[PlottedAnswer],
        budget: PlotBudget,  # noqa: ARG002 - nothing is integrated
    ) -> Plots:
        """Draw the clean field, and what the truth and answers miss of its change in time."""
        from mdbench.datatypes.pde.plots import field_pictures  # noqa: PLC0415 - only reports need it
        from mdbench.drawing.numbers import scientific  # noqa: PLC0415

        answered = (
            [("the truth", scientific(dataset.floor), dataset.truth)] if dataset.truth else []
        )
        for answer in answers:
            residual = answer.metrics.get("residual", answer.metrics.get("nmse"))
            number = residual if isinstance(residual, int | float) else None
            answered.append((answer.method, scientific(number), answer.equations))
        return Plots(field_pictures(dataset.clean, answered, dataset.states))

    def files(self, dataset: PdeDataset) -> Iterable[tuple[str, Callable[[IO[bytes]], None]]]:
        """Return the NPZ file of a system in MDBench's layout, ``NAME/NAME_snr_40.npz``."""
        saved = replace(dataset.given, du=dataset.clean.du)
        path = f"{dataset.name}/{dataset.name}{suffix(dataset.snr_db)}.npz"
        yield path, partial(write_field, field=saved)


DATA_TYPE = Pde


class _PdeSystems(Source[PdeDataset]):
    """The project's own systems; their clean fields are made on first use."""

    def __init__(self, kind: Pde) -> None:
        self.folder = kind.systems
        self.cache = kind.cache
        self._kind = kind  # whose `on_progress` may be set later
        self._short_axes = _ShortAxes(kind)
        self._floors: dict[tuple[str, Protocol], float] = {}

    @cached_property
    def systems(self) -> Suites[PdeSystem]:
        """All systems by name, in the order of their ids; those of suites behind them."""
        systems = Suites(self.folder, self._read, FACTS.order)
        if not systems.own.unordered:
            raise DataError(f"{self.folder} has no systems: no file ends in .toml")
        return systems

    def _read(self, path: Path) -> PdeSystem:
        system = read_system(path)
        if system.made_with not in self.systems:
            raise DataError(f"{path}: made_with names no system: {system.made_with!r}")
        return system

    def _system(self, name: str, protocol: Protocol, options: Mapping[str, Any]) -> PdeSystem:
        """Return a system as it is made for a protocol, or as it was released."""
        system = named(name, self.systems)
        old = protocol is Protocol.PUBLISHED or _released(options)
        return system.as_published or system if old else system

    def names(self) -> list[str]:
        return list(self.systems.own)

    def groups(self) -> dict[str, list[str]]:
        return {title: list(suite) for title, suite in self.systems.suites.items()}

    def title(self, name: str) -> str:
        return named(name, self.systems).description

    def laws(self, name: str) -> tuple[str, ...]:
        return tuple(named(name, self.systems).truth)

    def notes(self, name: str) -> Sequence[str]:
        return named(name, self.systems).notes

    def is_cached(self, name: str, options: Mapping[str, Any]) -> bool:
        made = (self._system(name, each, options) for each in Protocol)
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
        if own := [option.name for option in OWN_FIELDS if option.key in options]:
            raise UsageError(
                f"{own[0]} is an option for a file of your own.", "Name one by --dataset-path."
            )
        system = self._system(name, protocol, options)
        clean = self._clean(system, released=_released(options))
        self._short_axes.report(name, clean)
        u = clean.u if snr_db is None else self._noisy(system, clean.u, snr_db, seed, protocol)
        measured = replace(clean, u=u, du=None)
        names = feature_names(measured, system.explicit)
        derivatives = derivatives_asked(options, protocol)
        require_exact(derivatives, name, clean.du)
        missing = set(derivative_names(tuple(system.variables), tuple(system.axes))) - set(names)
        dataset = PdeDataset(
            name=name,
            dim=system.dim,
            snr_db=snr_db,
            truth=tuple(without(equation, missing) for equation in system.truth),
            target_source="finite differences",
            fingerprint=_fingerprint(
                u, clean, snr_db, protocol.value, seed, derivatives=derivatives
            ),
            given=measured,
            clean=clean,
            explicit=system.explicit,
            rows=Rows(options.get("max_rows"), seed),
            derivatives=derivatives,
            asked=system.targets,
            unseen_terms=system.unseen,
        )
        key = (dataset.fingerprint, protocol)
        if key not in self._floors:
            self._floors[key] = floor_of(dataset, protocol)
        return replace(dataset, floor=self._floors[key])

    def _clean(self, system: PdeSystem, *, released: bool) -> Field:
        try:
            return read_field(self._path(system, released=released))
        except DataError:
            fields = self._make(system, released=released)
        for name, made in fields.items():
            path = self._path(self._alike(system, name), released=released)
            write_whole(path, partial(write_field, field=made))
        return fields[system.name]

    def _make(self, system: PdeSystem, *, released: bool) -> dict[str, Field]:
        # Finite elements take a second to import, which data that are there can do without.
        from mdbench.datatypes.pde.generators import make_fields  # noqa: PLC0415

        progress = _ProgressLine(system.name, self._kind.on_progress)
        return make_fields(
            system,
            {name: self._alike(system, name) for name in self.systems},
            released=released and bool(system.released),
            progress=progress.update,
        )

    def _path(self, system: PdeSystem, *, released: bool) -> Path:
        variant = "-released" if released and system.released else ""
        recipe = system.recipe[:8] + self._alike(system, system.made_with).recipe[:8]
        return self.cache / f"{system.name}{variant}-{recipe}.npz"

    def _alike(self, system: PdeSystem, name: str) -> PdeSystem:
        """Return another system, made as this one is."""
        other = self.systems[name]
        return other.as_published or other if system.published else other

    def _noisy(
        self, system: PdeSystem, u: Array, snr_db: float, seed: int, protocol: Protocol
    ) -> Array:
        if protocol is Protocol.STRICT:
            return add_noise(u, name=system.name, snr_db=snr_db, seed=seed)
        order = list(self.systems)
        others = (self.systems[each] for each in order[: order.index(system.name)])
        before = sum((each.as_published or each).size for each in others)
        return add_published_noise(
            u, snr_db=snr_db, seed=_PUBLISHED_SEED + seed, entries_before=before
        )


class _PdeFiles(Source[PdeDataset]):
    """Fields in files of the user's, whose truth is known only where they give it.

    Every file in the folder, and in the folders in it, is a dataset of the file's name.  A
    name that ends in ``_snr_40`` and the like is a noisy version of that dataset.
    """

    def __init__(self, path: Path, kind: Pde) -> None:
        self._floors: dict[tuple[str, Protocol], float | None] = {}
        self._short_axes = _ShortAxes(kind)
        refuse_tables(path)
        self.paths, self.noisy = find_files(path, "field", field_hint())

    def names(self) -> list[str]:
        return list(self.paths)

    def title(self, name: str) -> str:
        path = named(name, self.paths)
        try:
            title = read_field_description(path).title
        except DataError:  # loading it gives the error
            title = ""
        return f"{title}: {path}" if title else str(path)

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
        order = options.get(AXES_ORDER.key, ())
        clean = read_field_file(path, order)
        if not order:
            refuse_turned(path, clean)
        measured = clean if noisy is None else read_field_file(noisy, order)
        if measured.u.shape != clean.u.shape or not np.array_equal(measured.t, clean.t):
            clean = measured  # these states are not known without noise
        self._short_axes.report(name, clean)
        derivatives = derivatives_asked(options, protocol)
        require_exact(derivatives, name, clean.du)
        u, noise = measured.u, "file" if noisy else Protocol.STRICT.value
        if snr_db is not None and noisy is None:
            u = add_noise(u, name=name, snr_db=snr_db, seed=seed)
        shown = replace(clean, u=u, du=None)
        truth = user_truth(
            options.get(TRUTH.key),
            read_field_description(path).truth,
            path.with_suffix(".toml"),
            states={f"u{state}": f"u{state}" for state in range(clean.dim)},
            variables=feature_names(shown, ()),
        )
        scaled = protocol is Protocol.STRICT and options.get(SCALING.key, "on") == "on"
        dataset = PdeDataset(
            name=name,
            dim=clean.dim,
            snr_db=snr_db,
            truth=truth,
            target_source="finite differences" if clean.du is None else "file",
            fingerprint=_fingerprint(
                *(u, clean, snr_db, noise, seed),
                derivatives=derivatives,
                truth=truth,
                scaled=scaled,
            ),
            given=shown,
            clean=clean,
            explicit=(),
            rows=Rows(options.get("max_rows"), seed),
            derivatives=derivatives,
            scaled=scaled,
            own=True,
        )
        if truth is None:
            return dataset
        key = (dataset.fingerprint, protocol)
        if key not in self._floors:
            self._floors[key] = user_floor(dataset, protocol)
        return replace(dataset, floor=self._floors[key])


class _ShortAxes:
    """Report once for each dataset the derivatives for which it has too few nodes."""

    def __init__(self, kind: Pde) -> None:
        self._kind = kind
        self._reported: set[str] = set()

    def report(self, name: str, clean: Field) -> None:
        if name in self._reported:
            return
        self._reported.add(name)
        for order, reason in unsupported(clean).items():
            self._kind.on_progress(f"{name}: no feature {order}: {reason}")


class _ProgressLine:
    """Reports the progress of making a field, at intervals."""

    def __init__(self, name: str, report: Callable[[str], None]) -> None:
        self._name = name
        self._report = report
        self._begin = time.monotonic()
        self._next = self._begin + _QUIET_SECONDS

    def update(self, part: float) -> None:
        now = time.monotonic()
        if now < self._next:
            return
        self._next = now + _REPORT_SECONDS
        left = f", {(now - self._begin) * (1 / part - 1):.0f} s left" if part > 0 else ""
        self._report(f"{self._name}: its data are made, once: {part:.0%}{left}")


def _released(options: Mapping[str, Any]) -> bool:
    """Whether data are asked for as they were published."""
    return options.get("variant") is not None


def _fingerprint(
    u: Array,
    clean: Field,
    snr_db: float | None,
    noise: str,
    seed: int,
    *,
    derivatives: str,
    truth: tuple[str, ...] | None = None,
    scaled: bool = False,
) -> str:
    arrays: dict[str, NDArray[Any]] = {"t": clean.t, **clean.grid, "u": u, "clean u": clean.u}
    arrays |= {f"{axis} period": np.array([each]) for axis, each in clean.periods.items()}
    if derivatives == "smooth":
        arrays["smoothed"] = np.ones(1)
    if derivatives == EXACT:
        arrays["exact"] = np.ones(1)
    if clean.du is not None:
        arrays["du"] = clean.du
    if scaled:
        arrays["scaled"] = np.ones(1)
    if truth is not None:
        arrays["truth"] = np.frombuffer(json.dumps(truth).encode(), np.uint8)
    return fingerprint(arrays, snr_db, noise, seed)
